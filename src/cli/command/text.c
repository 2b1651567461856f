/* text.c - formats short texts. If memory runs out, the program exits with CLI_MEMORY. */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *block) {
    if (!block) {
        fputs("backplane: out of memory\n", stderr);
        exit(CLI_MEMORY);
    }
    return block;
}

void *cli_allocate(size_t size) {
    return checked(calloc(1, size ? size : 1));
}

void *cli_grow(void *block, size_t size) {
    return checked(realloc(block, size ? size : 1));
}

char *cli_format_v(const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    size_t size = (length > 0 ? (size_t)length : 0) + 1;
    char *text = cli_allocate(size);
    vsnprintf(text, size, format, args);
    return text;
}

char *cli_format(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    return text;
}

char *cli_join(char *head, const char *separator, const char *tail) {
    bool first = !head || !head[0];
    char *text = cli_format("%s%s%s", first ? "" : head, first ? "" : separator, tail);
    free(head);
    return text;
}

char *cli_join_lines(const char *lines, const char *ends, const char *separator) {
    char *all = NULL;
    for (const char *line = lines; *line; line += line[0] == '\n') {
        char *part = cli_format("%.*s", (int)strcspn(line, ends), line);
        all = cli_join(all, separator, part);
        free(part);
        line += strcspn(line, "\n");
    }
    return all;
}

/* Returns a word for a shell. */
static char *shell_word(const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
    if (*word && !word[strspn(word, plain)]) {
        return cli_format("%s", word);
    }
    char *quoted = cli_format("%s", "'");
    for (const char *at = word; *at; at++) {
        char one[2] = {*at, '\0'};
        quoted = cli_join(quoted, "", *at == '\'' ? "'\\''" : one);
    }
    return cli_join(quoted, "", "'");
}

char *cli_join_word(char *words, const char *word) {
    char *quoted = shell_word(word), *all = cli_join(words, " ", quoted);
    free(quoted);
    return all;
}

const char *cli_shape(int ndim, const int64_t *shape, char *buffer, size_t size) {
    if (ndim == 0) {
        snprintf(buffer, size, "scalar");
        return buffer;
    }
    size_t used = 0;
    buffer[0] = 0;
    for (int i = 0; i < ndim && used < size; i++) {
        int wrote = snprintf(buffer + used, size - used, "%s%lld", i ? "x" : "", (long long)shape[i]);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    return buffer;
}

const char *cli_suggest(const char *wrong, const char *mark, bp__name_at name_at, void *list) {
    static char text[200];
    char near[180];
    bp__suggest_marked(wrong, mark, name_at, list, near, sizeof near);
    snprintf(text, sizeof text, "%s%s", near[0] ? "; " : "", near);
    return text;
}
