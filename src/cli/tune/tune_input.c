/* tune_input.c - reads the problems of a trace, a log or a list. */
#include "tune_input.h"
#include "cli/operations/operations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void free_words(char **words, int count) {
    for (int i = 0; i < count; i++) {
        free(words[i]);
    }
    free(words);
}

void tune_list_free(tune_list *list) {
    for (int i = 0; i < list->count; i++) {
        free_words(list->problems[i].words, list->problems[i].count);
    }
    free(list->problems);
    free(list->first_word);
    *list = (tune_list){0};
}

static bool same_problem(const tune_problem *p, char *const *words, int count) {
    bool equal = p->count == count;
    for (int i = 0; equal && i < count; i++) {
        equal = strcmp(p->words[i], words[i]) == 0;
    }
    return equal;
}

/* Takes ownership of the words. */
static void add_input(tune_list *list, char **words, int count, double us) {
    for (int i = 0; i < list->count; i++) {
        if (same_problem(&list->problems[i], words, count)) {
            list->problems[i].total_us += us;
            free_words(words, count);
            return;
        }
    }
    list->problems = cli_grow(list->problems, (size_t)(list->count + 1) * sizeof *list->problems);
    list->problems[list->count++] = (tune_problem){words, count, us};
}

static void add_text(tune_list *list, const char *operation, const char *text, double us) {
    int count;
    char **words = tune_words(operation, text, &count);
    if (words) {
        add_input(list, words, count, us);
    } else if (strcmp(operation, "einsum") != 0) { /* its parts have lines of their own */
        list->unread++;
    }
}

/* ---- Traces: an event per line ---- */

/* Copies the text behind "key":" into `value`. */
static bool json_field(const char *line, const char *key, char *value, size_t size) {
    char *quoted = cli_format("\"%s\":", key);
    const char *at = strstr(line, quoted);
    at = at ? at + strlen(quoted) : NULL;
    free(quoted);
    if (!at) {
        return false;
    }
    at += strspn(at, " ");
    bool text = *at == '"';
    at += text;
    size_t length = strcspn(at, text ? "\"" : ",}");
    if (length >= size) {
        return false;
    }
    memcpy(value, at, length);
    value[length] = '\0';
    return true;
}

static void read_event(tune_list *list, const char *line) {
    char name[64], problem[512], us[64];
    if (json_field(line, "name", name, sizeof name) && json_field(line, "problem", problem, sizeof problem) &&
        json_field(line, "dur", us, sizeof us)) {
        add_text(list, name, problem, strtod(us, NULL));
    }
}

/* ---- Logs: "backplane,gemm,blas,openblas,gemm,f32 5x6 @ 6x7 -> 5x7,threads 2,plan hit,OK,12.3 us" ---- */

/* Returns where the problem begins: behind a comma, with an element type. Names of algorithms may have commas. */
static const char *find_problem(const char *line) {
    for (const char *at = strchr(line, ','); at; at = strchr(at, ',')) {
        char word[8];
        size_t length = strcspn(++at, " ,");
        if (length > 0 && length < sizeof word && at[length] == ' ') {
            memcpy(word, at, length);
            word[length] = '\0';
            if (bp_dtype_from_name(word) != BP_DTYPE_NONE) {
                return at;
            }
        }
    }
    return NULL;
}

static void read_log_line(tune_list *list, char *line) {
    char *operation = strchr(line, ',') + 1, *end = strchr(operation, ',');
    char *problem = end ? (char *)(uintptr_t)find_problem(end) : NULL;
    char *behind = problem ? strstr(problem, ",threads ") : NULL, *us = strrchr(line, ',');
    if (!behind) {
        return; /* a line about candidates */
    }
    *end = *behind = '\0';
    add_text(list, operation, problem, strtod(us + 1, NULL));
}

/* ---- Lists ---- */

/* Counts a line whose first word is no operation: there may be one for each line of a wrong file. */
static void note_line(tune_list *list, const char *word, int number) {
    if (list->lines++ == 0) {
        list->first_line = number;
        list->first_word = cli_format("%.40s", word);
    }
}

static void read_words(tune_list *list, char *line, int number) {
    char **words = NULL;
    int count = 0;
    line[strcspn(line, "#")] = '\0';
    for (char *word = strtok(line, " \t\r"); word; word = strtok(NULL, " \t\r")) {
        words = cli_grow(words, (size_t)(count + 1) * sizeof *words);
        words[count++] = cli_format("%s", word);
    }
    if (words && !cli_operation_named(words[0])) {
        note_line(list, words[0], number);
        free_words(words, count);
    } else if (words) {
        add_input(list, words, count, 0);
    }
}

static int longest_first(const void *left, const void *right) {
    const tune_problem *a = left, *b = right;
    return (a->total_us < b->total_us) - (a->total_us > b->total_us);
}

static void read_line(tune_list *list, char *line, int number) {
    line += strspn(line, " \t");
    if (*line == '{') {
        read_event(list, line);
    } else if (strncmp(line, "backplane,", 10) == 0) {
        read_log_line(list, line);
    } else if (*line != '[' && *line != ']') {
        read_words(list, line, number);
    }
}

/* Lists keep their order, because all their problems have the time 0. */
static void sort(tune_list *list) {
    bool timed = false;
    for (int i = 0; i < list->count; i++) {
        timed |= list->problems[i].total_us > 0;
    }
    if (timed) {
        qsort(list->problems, (size_t)list->count, sizeof *list->problems, longest_first);
    }
}

/* Tells of lines that are no problems: once, whatever their number. The problems of other lines are measured. */
static int check_lines(const tune_list *list, const char *path) {
    if (list->lines == 0) {
        return CLI_OK;
    }
    char *more =
        list->lines > 1 ? cli_format(", and %d further lines begin with none", list->lines - 1) : cli_format("%s", "");
    const int code = cli_fail(CLI_USAGE,
                              "%s:%d: no such operation: '%s' is the first word%s; the file must be a trace, a verbose "
                              "log, or a list with one problem per line",
                              path, list->first_line, list->first_word, more);
    free(more);
    return list->count > 0 ? CLI_OK : code;
}

int tune_read(tune_list *list, const char *path) {
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    char *line = NULL;
    size_t capacity = 0;
    int number = 0;
    *list = (tune_list){0};
    if (!file) {
        return cli_fail(CLI_IO, "%s: cannot open it: %s", path, strerror(errno));
    }
    for (ssize_t length; (length = getline(&line, &capacity, file)) > 0;) {
        line[strcspn(line, "\n")] = '\0';
        read_line(list, line, ++number);
    }
    bool failed = ferror(file) != 0;
    free(line);
    if (file != stdin) {
        fclose(file);
    }
    sort(list);
    return failed ? cli_fail(CLI_IO, "%s: cannot read it: %s", path, strerror(errno)) : check_lines(list, path);
}
