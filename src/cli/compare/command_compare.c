/* command_compare.c - `backplane compare`: runs an operation on every candidate and shows time, error and the choice.
 */
#include "compare_run.h"

#include "cli/operations/sizing.h"

#include <math.h>
#include <stdlib.h>

static bool is_checked(const comparison *c) {
    return isfinite(c->check.bound);
}

static void print_table(const comparison *c) {
    char time[32];
    cli_table *table = cli_table_new("LIBRARY|PROVIDER|~VERSION|~ALGORITHM|>THREADS|>TIME|>IQR|>ERROR|CHOSEN|REASON");
    for (int i = 0; i < c->candidates.count; i++) {
        const timed_candidate *one = &c->timed[i];
        const cli_candidate *is = one->candidate;
        bool ran = one->times.count > 0;
        cli_cell(table, CLI_STRONG, "%s", is->library);
        cli_cell(table, CLI_PLAIN, "%s", is->provider);
        cli_cell(table, CLI_PLAIN, "%s", is->version[0] ? is->version : "-");
        cli_cell(table, CLI_PLAIN, "%s", is->algorithm[0] ? is->algorithm : "-");
        cli_cell(table, CLI_PLAIN, ran ? "%d" : "-", is->threads);
        cli_cell(table, CLI_PLAIN, "%s", ran ? bp__duration(one->times.median, time, sizeof time) : "-");
        cli_cell(table, CLI_PLAIN, ran ? "%.0f %%" : "-", 100 * one->spread);
        cli_cell(table, one->wrong ? CLI_BAD : CLI_PLAIN, ran && is_checked(c) ? "%.1e" : "-", one->error);
        cli_cell(table, is->chosen ? CLI_GOOD : CLI_PLAIN, "%s", is->chosen ? "yes" : "no");
        cli_cell(table, CLI_PLAIN, "%s", is->why);
    }
    cli_table_end(table);
}

/* " over 200 of 360000 elements" */
static char *elements_text(const comparison *c) {
    const reference *values = &c->check.values;
    return values->values
               ? cli_format(", over %lld of %lld elements", (long long)values->count, (long long)values->total)
               : cli_format("%s", "");
}

static void print_notes(const comparison *c) {
    char *elements = elements_text(c);
    char *error =
        is_checked(c)
            ? cli_format("ERROR: %s%s. A correct result has at most %.1e.", c->check.text, elements, c->check.bound)
            : cli_format("%s", "The results are not checked: there is no reference of this operation and size.");
    char *text = cli_format("%s. TIME: median of at most %d samples in two turns. IQR: interquartile range / TIME. %s",
                            bp_explanation_problem(c->candidates.explanation), c->repeat, error);
    putchar('\n');
    cli_paragraph(0, text);
    free(text);
    free(error);
    free(elements);
}

static void candidate_json(const comparison *c, const timed_candidate *one) {
    bool ran = one->times.count > 0;
    const cli_candidate *is = one->candidate;
    json_open(NULL, '{');
    json_text("library", is->library);
    json_text("provider", is->provider);
    json_text("version", is->version);
    json_text("algorithm", is->algorithm);
    json_bool("ran", ran);
    json_int("threads", is->threads);
    json_number("time_ns", ran ? one->times.median : NAN);
    json_number("fastest_ns", ran ? one->times.fastest : NAN);
    json_number("spread", ran ? one->spread : NAN);
    json_int("samples", one->times.count);
    json_number("error", ran && is_checked(c) ? one->error : NAN);
    json_bool("wrong", one->wrong);
    json_bool("chosen", is->chosen);
    json_text("why", is->why);
    json_close();
}

static void print_json(const comparison *c) {
    const reference *values = &c->check.values;
    json_open(NULL, '{');
    json_text("operation", c->job.operation->name);
    json_text("problem", bp_explanation_problem(c->candidates.explanation));
    json_text("decision", bp_explanation_decision(c->candidates.explanation));
    json_int("repeat", c->repeat);
    json_text("error_text", is_checked(c) ? c->check.text : NULL);
    json_int("elements", values->total);
    json_int("elements_checked", values->count);
    json_number("error_bound", c->check.bound);
    json_open("libraries", '[');
    for (int i = 0; i < c->candidates.count; i++) {
        candidate_json(c, &c->timed[i]);
    }
    json_close();
    json_close();
}

static int check_results(const comparison *c) {
    int code = CLI_LIBRARY;
    for (int i = 0; i < c->candidates.count; i++) {
        const timed_candidate *one = &c->timed[i];
        if (one->wrong) {
            return cli_fail(CLI_FINDING,
                            "%s (provider %s) gave a wrong result: its error is %.1e; rounding explains at most %.1e",
                            one->candidate->library, one->candidate->provider, one->error, c->check.bound);
        }
        code = one->times.count > 0 ? CLI_OK : code;
    }
    if (code == CLI_OK) {
        return CLI_OK;
    }
    /* A matrix that is singular fails on every library, with the exit code of that failure. */
    return c->failure == BP_OK ? cli_fail(CLI_LIBRARY, "no library can run this operation")
                               : cli_fail(cli_exit_of(c->failure), "every library failed; REASON says why");
}

static int enter_settings(comparison *c, const cli_args *args) {
    char *text = cli_options_text(args, NULL);
    bp_status status = bp_scope_enter(&c->scope, text);
    free(text);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static int run_comparison(comparison *c, const cli_args *args) {
    int64_t repeat;
    int code = cli_number(args, "repeat", 1, 10000, 11, &repeat);
    code = code == CLI_OK ? job_check_pipe(&c->job) : code;
    code = code == CLI_OK ? enter_settings(c, args) : code;
    code = code == CLI_OK ? job_read(&c->job) : code;
    c->job.wanted = c->job.operation->sizing->results;
    code = code == CLI_OK ? job_prepare(&c->job) : code;
    code = code == CLI_OK ? comparison_run(c, (int)repeat) : code;
    if (code != CLI_OK) {
        return code;
    }
    if (cli_has(args, "json")) {
        print_json(c);
    } else {
        print_table(c);
        print_notes(c);
    }
    return check_results(c);
}

static int compare(const cli_args *args) {
    comparison c = {.job = {.args = args}};
    int code = job_operation(&c.job);
    code = code == CLI_OK ? job_check(&c.job) : code;
    if (code == CLI_OK && !c.job.operation->measured) {
        code = cli_fail(CLI_USAGE, "%s uses no library, so there is nothing to compare", c.job.operation->name);
    }
    code = code == CLI_OK ? run_comparison(&c, args) : code;
    comparison_free(&c);
    return code;
}

static const cli_option options[] = {
    {"repeat", 'n', "N", "Samples per candidate, default 11; slow operations get fewer."},
    CLI_OPTION_SET,
    {"bf16", 0, NULL, "Read '<V2' arrays (ml_dtypes) as bfloat16."},
    CLI_OPTION_JSON,
    OPTIONS_PRODUCTS,
    OPTIONS_SEARCH,
    OPTIONS_FAMILIES,
    {NULL, 0, NULL, NULL},
};

const cli_command command_compare = {
    .name = "compare",
    .summary = "Run an operation on every candidate: time, error, which one is chosen and why.",
    .operands = "OPERATION [EXPRESSION] A.npy [B.npy ...]",
    .details =
        "\nTakes the operations of eval, with the same arrays and options. Results are checked against a reference "
        "or by the equations that they must satisfy. Exit code 1: a library gave a wrong result. `backplane "
        "compare OPERATION --help` shows the options of one operation.",
    .least = 1,
    .most = JOB_MANY,
    .options = options,
    .run = compare,
    .help = job_help,
};
