/* command_tune.c - `backplane tune`: measures the candidates of problems, and shows, moves and removes the records. */
#include "cli/operations/operations.h"
#include "tune_input.h"
#include "tune_machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MEASURE_NOW "benchmark=true, tuning.start=now"

/* ---- Records ---- */

/* The fastest candidate of a record. */
typedef struct fastest {
    const char *name;
    int length;
    double ns;
    int measured; /* candidates with a time */
} fastest;

/* Returns whether a number was read: "1234.5 NAME", or with the expected time "1234.5/1100 NAME". */
static bool is_time(const char *at, const char *end) {
    return end != at && (*end == ' ' || *end == '/') && strchr(end, ' ');
}

static fastest find_fastest(const char *times) {
    fastest best = {.ns = INFINITY, .name = ""};
    for (const char *at = strchr(times, '|'); at; at = strchr(at, '|')) {
        char *end;
        double ns = strtod(++at, &end);
        bool timed = is_time(at, end) && ns > 0;
        best.measured += timed;
        if (timed && ns < best.ns) {
            best.ns = ns;
            best.name = end + strcspn(end, " ") + 1;
            best.length = (int)strcspn(best.name, "@|");
        }
    }
    return best;
}

static void age_text(int64_t written_s, char *buffer, size_t size) {
    const time_t then = (time_t)written_s;
    struct tm date;
    if (!localtime_r(&then, &date) || strftime(buffer, size, "%Y-%m-%d %H:%M", &date) == 0) {
        snprintf(buffer, size, "-");
    }
}

static int show_record(void *user, const bp_tuning_record *record) {
    cli_table *table = user;
    const fastest best = find_fastest(record->times);
    char time[32], age[64];
    const char *machine = strstr(record->problem, "; machine ");
    cli_cell(table, CLI_PLAIN, "%.*s", machine ? (int)(machine - record->problem) : (int)strlen(record->problem),
             record->problem);
    cli_cell(table, CLI_STRONG, "%.*s", best.length ? best.length : 1, best.length ? best.name : "-");
    cli_cell(table, CLI_PLAIN, "%s", best.measured ? bp__duration(best.ns, time, sizeof time) : "-");
    cli_cell(table, CLI_PLAIN, "%d", best.measured);
    age_text(record->written_s, age, sizeof age);
    cli_cell(table, CLI_FAINT, "%s", age);
    return 1;
}

static int show_json(void *user, const bp_tuning_record *record) {
    (void)user;
    json_open(NULL, '{');
    json_text("problem", record->problem);
    json_int("written_s", record->written_s);
    json_open("candidates", '[');
    for (const char *at = strchr(record->times, '|'); at; at = strchr(at, '|')) {
        char *end;
        double ns = strtod(++at, &end);
        const char *space = strchr(at, ' ');
        if (space) {
            char *name = cli_format("%.*s", (int)strcspn(space + 1, "|"), space + 1);
            json_open(NULL, '{');
            json_text("candidate", name);
            json_number("time_ns", is_time(at, end) ? ns : NAN);
            json_number("expected_ns", is_time(at, end) && *end == '/' ? strtod(end + 1, NULL) : NAN);
            json_bool("failed", strncmp(at, "failed", 6) == 0);
            json_close();
            free(name);
        }
    }
    json_close();
    json_close();
    return 1;
}

static int show_tuning(const cli_args *args) {
    char path[4096];
    bp_status status;
    if (cli_has(args, "json")) {
        json_open(NULL, '{');
        json_text("file", bp_tuning_path(path, sizeof path));
        json_open("records", '[');
        status = bp_tuning_visit(show_json, NULL);
        json_close();
        json_close();
    } else {
        cli_table *table = cli_table_new("~PROBLEM|FASTEST|>TIME|>MEASURED|WHEN");
        status = bp_tuning_visit(show_record, table);
        cli_table_end(table);
        cli_say(CLI_FAINT, "%s\n", *bp_tuning_path(path, sizeof path) ? path : "There is no cache directory.");
    }
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

/* ---- Measuring ---- */

typedef struct session {
    const cli_args *args;
    cli_table *table; /* NULL: JSON */
    double until;     /* time of the monotonic clock in seconds; infinite without --seconds */
    int done, total, failed, left;
    int unkept; /* exit code if the file of records cannot be written */
} session;

static double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void report_json(const bp_explanation *e) {
    bp_candidate_info c = {.struct_size = sizeof c};
    json_open(NULL, '{');
    json_text("problem", bp_explanation_problem(e));
    json_text("decision", bp_explanation_decision(e));
    json_open("candidates", '[');
    for (int i = 0; bp_explanation_at(e, i, &c); i++) {
        if (c.accepted) {
            json_open(NULL, '{');
            json_text("library", c.library);
            json_text("provider", c.provider);
            json_text("algorithm", c.algorithm);
            json_bool("chosen", c.chosen);
            json_number("time_ns", c.measured_ns > 0 ? c.measured_ns : NAN);
            json_number("estimate_ns", c.cost_ns);
            json_close();
        }
    }
    json_close();
    json_close();
}

/* Adds a row: the choice, its time, and how much longer the choice by estimates takes. */
static void report_row(const session *s, const bp_explanation *e) {
    bp_candidate_info c = {.struct_size = sizeof c}, chosen = {0}, estimated = {.cost_ns = INFINITY};
    char time[32];
    int measured = 0;
    for (int i = 0; bp_explanation_at(e, i, &c); i++) {
        chosen = c.chosen ? c : chosen;
        estimated = c.accepted && c.cost_ns < estimated.cost_ns ? c : estimated;
        measured += c.measured_ns > 0;
    }
    bool timed = chosen.measured_ns > 0;
    cli_cell(s->table, CLI_PLAIN, "%s", bp_explanation_problem(e));
    cli_cell(s->table, CLI_STRONG, "%s", chosen.library ? chosen.library : "-");
    cli_cell(s->table, CLI_PLAIN, "%s", chosen.algorithm ? chosen.algorithm : "-");
    cli_cell(s->table, CLI_PLAIN, "%s", timed ? bp__duration(chosen.measured_ns, time, sizeof time) : "-");
    cli_cell(s->table, CLI_PLAIN, "%d", measured);
    if (timed && estimated.measured_ns > 0) {
        cli_cell(s->table, CLI_GOOD, "%.2f", estimated.measured_ns / chosen.measured_ns);
    } else {
        cli_cell(s->table, CLI_FAINT, "%s", timed ? "-" : bp_explanation_decision(e));
    }
}

static void report_tuning(const session *s, const bp_explanation *e) {
    const bp_explanation *part = bp_explanation_part(e, 0);
    for (int i = 0; (part = bp_explanation_part(e, i)); i++) {
        report_tuning(s, part);
    }
    if (bp_explanation_part(e, 0)) {
        return;
    }
    if (s->table) {
        report_row(s, e);
    } else {
        report_json(e);
    }
}

/* Returns whether a candidate was measured: of an einsum, one of a part. */
static bool is_measured(const bp_explanation *e) {
    bp_candidate_info c = {.struct_size = sizeof c};
    const bp_explanation *part;
    for (int i = 0; (part = bp_explanation_part(e, i)); i++) {
        if (is_measured(part)) {
            return true;
        }
    }
    for (int i = 0; bp_explanation_at(e, i, &c); i++) {
        if (c.measured_ns > 0) {
            return true;
        }
    }
    return false;
}

static int judge_tuning(const bp_explanation *e) {
    const bp_explanation *part = bp_explanation_part(e, 0);
    return is_measured(e) ? CLI_OK
                          : cli_fail(CLI_LIBRARY, "nothing is measured: %s", bp_explanation_decision(part ? part : e));
}

/* Measures one problem: under these settings, an explanation measures as the call would. */
static int measure_problem(session *s, const cli_args *words) {
    cli_job job = {.args = words};
    bp_explanation *explanation = NULL;
    char *settings = cli_options_text(s->args, MEASURE_NOW);
    int code = job_shapes(&job);
    bp_status status = code == CLI_OK ? bp_options_new(&job.options, settings) : BP_OK;
    free(settings);
    code = status == BP_OK ? code : cli_fail_status(status);
    code = code == CLI_OK ? job_prepare(&job) : code;
    if (code == CLI_OK) {
        status = job.operation->explain(&job, &explanation);
        code = status == BP_OK ? CLI_OK : cli_fail_status(status);
    }
    if (code == CLI_OK) {
        report_tuning(s, explanation);
        code = judge_tuning(explanation);
    }
    bp_explanation_release(explanation);
    job_free(&job);
    s->done++;
    return code;
}

static void begin_tuning(session *s, int total) {
    s->total = total;
    s->table = cli_has(s->args, "json") ? NULL : cli_table_new("~PROBLEM|LIBRARY|~ALGORITHM|>TIME|>MEASURED|GAIN");
    if (!s->table) {
        json_open(NULL, '{');
        json_open("problems", '[');
    }
    cli_progress_begin(CLI_EXAMINING);
}

/* Returns whether the settings let records be written. */
static bool is_kept(void) {
    const char *store, *other;
    return bp_get("tuning.store", &store, NULL, NULL) == BP_OK && strcmp(store, "read-write") == 0 &&
           bp_get("tuning.store_path", &other, NULL, NULL) == BP_OK && !other[0];
}

/* Makes sure that the times are in the file: writes the records of this process again. Returns an exit code after a
 * message. */
static int check_kept(const session *s) {
    char path[4096];
    if (!is_kept() || s->done <= s->failed || !*bp_tuning_path(path, sizeof path)) {
        return CLI_OK;
    }
    const bp_status status = bp_tuning_export(path);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static void end_tuning(session *s, int unread) {
    char path[4096];
    cli_progress_end();
    s->unkept = check_kept(s);
    if (!s->table) {
        json_close();
        json_int("failed", s->failed);
        json_int("unread", unread);
        json_int("left", s->left);
        json_text("file", bp_tuning_path(path, sizeof path));
        json_close();
        return;
    }
    cli_table_end(s->table);
    if (unread > 0) {
        cli_say(CLI_CAUTION, "%d calls are not determined by their description, such as strided operands.\n", unread);
    }
    if (s->left > 0) {
        cli_say(CLI_CAUTION, "%d problems are left; --seconds was reached.\n", s->left);
    }
    char *text = cli_format("GAIN: time of the candidate with the least estimate / TIME. Records: %s",
                            !is_kept()  ? "none are kept, as tuning.store or tuning.store_path says"
                            : s->unkept ? "none are kept, because the file cannot be written"
                            : *bp_tuning_path(path, sizeof path) ? path
                                                                 : "none are kept, as there is no cache directory");
    cli_paragraph(0, text);
    free(text);
}

static int measure_file(session *s, const char *path) {
    tune_list list;
    int code = tune_read(&list, path), worst = list.lines > 0 ? CLI_USAGE : CLI_OK;
    if (code == CLI_OK) {
        s->failed = list.lines;
        begin_tuning(s, list.count);
        for (int i = 0; i < list.count; i++) {
            cli_args words;
            if (seconds_now() >= s->until) {
                s->left++;
                continue;
            }
            cli_progress(list.count > 1 ? (double)i / list.count : -1, "%d/%d", i, list.count);
            code = cli_args_parse(&words, s->args->command, list.problems[i].count, list.problems[i].words);
            code = code == CLI_OK && words.count == 0 ? cli_fail(CLI_USAGE, "a line has no operation") : code;
            code = code == CLI_OK ? measure_problem(s, &words) : code;
            cli_args_free(&words);
            s->failed += code != CLI_OK;
            worst = code != CLI_OK ? code : worst;
        }
        end_tuning(s, list.unread);
    }
    tune_list_free(&list);
    code = code != CLI_OK ? code : worst;
    return code != CLI_OK ? code : s->unkept;
}

static int measure_words(session *s) {
    cli_args words = *s->args;
    words.given = cli_allocate((size_t)(words.given_count + 1) * sizeof *words.given);
    words.given_count = 0;
    for (int i = 0; i < s->args->given_count; i++) { /* --seconds also is an option of einsum */
        if (strcmp(s->args->given[i].option->name, "seconds") != 0) {
            words.given[words.given_count++] = s->args->given[i];
        }
    }
    begin_tuning(s, 1);
    int code = measure_problem(s, &words);
    s->failed = code != CLI_OK;
    end_tuning(s, 0);
    free(words.given);
    return code != CLI_OK ? code : s->unkept;
}

/* ---- The command ---- */

static int changed(bp_status status, const char *what, const char *path) {
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    cli_say(CLI_PLAIN, "%s %s\n", what, path);
    return CLI_OK;
}

static int tune(const cli_args *args) {
    char path[4096];
    int64_t seconds;
    const char *from = cli_value(args, "from"), *to = cli_value(args, "export"), *other = cli_value(args, "import");
    const int jobs = cli_has(args, "machine") + cli_has(args, "show") + cli_has(args, "clear") + (to != NULL) +
                     (other != NULL) + (from != NULL) + (args->count > 0);
    int code = cli_number(args, "seconds", 1, 1000000, 0, &seconds);
    if (code != CLI_OK) {
        return code;
    }
    if (jobs != 1) {
        return cli_fail(CLI_USAGE, jobs == 0
                                       ? "give an operation with its shapes, --from FILE, --machine, --show, --clear, "
                                         "--export FILE or --import FILE"
                                       : "give one of: an operation, --from, --machine, --show, --clear, --export, "
                                         "--import");
    }
    if (cli_has(args, "machine")) {
        return tune_machine(args, seconds);
    }
    if (cli_has(args, "show")) {
        return show_tuning(args);
    }
    if (cli_has(args, "clear")) {
        return changed(bp_tuning_clear(), "Removed the records of", bp_tuning_path(path, sizeof path));
    }
    if (to || other) {
        return changed(to ? bp_tuning_export(to) : bp_tuning_import(other),
                       to ? "Exported the records to" : "Imported the records of", to ? to : other);
    }
    session s = {.args = args, .until = seconds > 0 ? seconds_now() + (double)seconds : INFINITY};
    return from ? measure_file(&s, from) : measure_words(&s);
}

static const cli_option options[] = {
    {"from", 0, "FILE",
     "Measure the problems of a trace, a verbose log, or a list with one problem per line; - reads standard input."},
    {"machine", 0, NULL, "Measure all libraries over lattices of sizes, so that choices use measured times."},
    {"seconds", 0, "N", "Begin no further problem after this time; for --machine 60 by default."},
    {"show", 0, NULL, "Show the records."},
    {"clear", 0, NULL, "Remove all records."},
    {"export", 0, "FILE", "Add the records to a file."},
    {"import", 0, "FILE", "Add the records of a file, in place of older ones."},
    CLI_OPTION_SET,
    CLI_OPTION_JSON,
    OPTIONS_PRODUCTS,
    OPTIONS_LEADING,
    OPTIONS_FAMILIES,
    {NULL, 0, NULL, NULL},
};

const cli_command command_tune = {
    .name = "tune",
    .summary = "Measure the candidates of a problem, and keep their times for later processes.",
    .operands = "[OPERATION [EXPRESSION] [DTYPE] SHAPE ...]",
    .details = "\nExample: backplane tune matmul f32 512x512 512x512\n"
               "Operations, types and shapes are as in `backplane explain`. Each candidate runs on random operands, "
               "its result is checked, and the fastest is used from then on. If nothing of a problem can be "
               "measured, that is an error that says why; with "
               "--from, those with one candidate are only counted.",
    .least = 0,
    .most = JOB_MANY,
    .options = options,
    .run = tune,
    .help = job_help,
};
