/* command_compare.c - `backplane compare`: runs one product on every candidate and shows time, error and the choice. */
#include "compare_run.h"
#include "operands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print_table(const comparison *c) {
    char time[32];
    cli_table *table = cli_table_new("LIBRARY|PROVIDER|~VERSION|~ALGORITHM|>THREADS|>TIME|>IQR|>ERROR|CHOSEN|REASON");
    for (int i = 0; i < c->count; i++) {
        const candidate *one = &c->candidates[i];
        bool ran = one->samples > 0;
        cli_cell(table, CLI_STRONG, "%s", one->library);
        cli_cell(table, CLI_PLAIN, "%s", one->provider);
        cli_cell(table, CLI_PLAIN, "%s", one->version[0] ? one->version : "-");
        cli_cell(table, CLI_PLAIN, "%s", one->algorithm[0] ? one->algorithm : "-");
        cli_cell(table, CLI_PLAIN, ran ? "%d" : "-", one->threads);
        cli_cell(table, CLI_PLAIN, "%s", ran ? bp__duration(one->median, time, sizeof time) : "-");
        cli_cell(table, CLI_PLAIN, ran ? "%.0f %%" : "-", 100 * one->spread);
        cli_cell(table, one->wrong ? CLI_BAD : CLI_PLAIN, ran ? "%.1e" : "-", one->error);
        cli_cell(table, one->chosen ? CLI_GOOD : CLI_PLAIN, "%s", one->chosen ? "yes" : "no");
        cli_cell(table, CLI_PLAIN, "%s", one->why);
    }
    cli_table_end(table);
}

static void print_notes(const comparison *c) {
    char text[768];
    snprintf(text, sizeof text,
             "%s. TIME: median of at most %d samples in two turns. IQR: interquartile range / TIME. ERROR: largest "
             "|C - reference| / (|A| |B|) over %lld of %lld elements; the reference sums float64 products in twice "
             "float64's precision. A correct sum stays below %.1e.",
             bp_explanation_problem(c->explanation), c->repeat, (long long)c->reference.count,
             (long long)c->reference.total, c->bound);
    putchar('\n');
    cli_paragraph(0, text);
}

static void print_json(const comparison *c) {
    json_open(NULL, '{');
    json_text("problem", bp_explanation_problem(c->explanation));
    json_text("decision", bp_explanation_decision(c->explanation));
    json_int("repeat", c->repeat);
    json_int("elements", c->reference.total);
    json_int("elements_checked", c->reference.count);
    json_number("error_bound", c->bound);
    json_open("libraries", '[');
    for (int i = 0; i < c->count; i++) {
        const candidate *one = &c->candidates[i];
        bool ran = one->samples > 0;
        json_open(NULL, '{');
        json_text("library", one->library);
        json_text("provider", one->provider);
        json_text("version", one->version);
        json_text("algorithm", one->algorithm);
        json_bool("ran", ran);
        json_int("threads", one->threads);
        json_number("time_ns", ran ? one->median : NAN);
        json_number("fastest_ns", ran ? one->fastest : NAN);
        json_number("spread", ran ? one->spread : NAN);
        json_int("samples", one->samples);
        json_number("error", ran ? one->error : NAN);
        json_bool("wrong", one->wrong);
        json_bool("chosen", one->chosen);
        json_text("why", one->why);
        json_close();
    }
    json_close();
    json_close();
}

static int check_results(const comparison *c) {
    int code = CLI_LIBRARY;
    for (int i = 0; i < c->count; i++) {
        const candidate *one = &c->candidates[i];
        if (one->wrong) {
            return cli_fail(CLI_FINDING,
                            "%s (provider %s) gave a wrong result: its error is %.1e; rounding explains at most %.1e",
                            one->library, one->provider, one->error, c->bound);
        }
        code = one->samples > 0 ? CLI_OK : code;
    }
    return code == CLI_OK ? CLI_OK : cli_fail(CLI_LIBRARY, "no library can run this product");
}

static int run(const cli_args *args, comparison *c) {
    int64_t repeat;
    int code = cli_number(args, "repeat", 1, 10000, 11, &repeat);
    code = code == CLI_OK ? comparison_run(c, args, (int)repeat) : code;
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

/* The operations that are compared. */
static const char *operation_at(void *unused, int index) {
    (void)unused;
    return index == 0 ? "matmul" : NULL;
}

static int compare(const cli_args *args) {
    if (strcmp(args->operands[0], "matmul") != 0) {
        const char *near = cli_suggest(args->operands[0], "", operation_at, NULL);
        return cli_fail(CLI_USAGE, "operation is '%s'%s", args->operands[0], near[0] ? near : "; it must be matmul");
    }
    if (args->count != 3) {
        return cli_fail(CLI_USAGE, "matmul: %d array%s given; it takes A.npy B.npy", args->count - 1,
                        args->count == 2 ? "" : "s");
    }
    unsigned flags = cli_has(args, "bf16") ? NPY_BF16 : 0;
    comparison c = {.count = 0};
    int code = operand_read(args->operands[1], flags, &c.array_a, &c.a);
    code = code == CLI_OK ? operand_read(args->operands[2], flags, &c.array_b, &c.b) : code;
    code = code == CLI_OK ? run(args, &c) : code;
    comparison_free(&c);
    return code;
}

static const cli_option options[] = {
    {"repeat", 'n', "N", "Samples per candidate, default 11; slow products get fewer."},
    CLI_OPTION_SET,
    {"bf16", 0, NULL, "Read '<V2' arrays (ml_dtypes) as bfloat16."},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL},
};

const cli_command command_compare = {
    .name = "compare",
    .summary = "Run one product on every candidate: time, error, which one is chosen and why.",
    .operands = "matmul A.npy B.npy",
    .details = "\nmatmul is the one operation that is compared. Exit code 1: a library gave a wrong result.",
    .least = 1,
    .most = 3,
    .options = options,
    .run = compare,
};
