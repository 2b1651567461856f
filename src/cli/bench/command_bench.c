/* command_bench.c - `backplane bench`: measures operations on all libraries, and shows the speeds, the choice, errors
 * and overheads. */
#include "bench.h"

#include "cli/model/model.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Returns an exit code after a message if a library gave a wrong result, or nothing ran. */
static int check_results(const bench_report *report) {
    for (int i = 0; i < report->case_count; i++) {
        const bench_case *c = &report->cases[i];
        for (int r = 0; r < c->count; r++) {
            if (c->results[r].wrong) {
                return cli_fail(CLI_FINDING, "%s gave a wrong result: %s, error %.1e; rounding explains at most %.1e",
                                c->results[r].library, c->problem, c->results[r].error, c->error_bound);
            }
        }
    }
    return report->library_count || report->interrupted ? CLI_OK
                                                        : cli_fail(CLI_LIBRARY, "no library ran any operation");
}

/* Ends as a program that Ctrl-C has ended, so that scripts notice it. */
static void end_by_interrupt(void) {
    fflush(stdout);
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
}

static int show_bench(const bench_report *report, const cli_args *args) {
    const char *path = cli_value(args, "html");
    int code = path ? bench_write_html(report, path) : CLI_OK;
    if (cli_has(args, "json")) {
        bench_print_json(report);
    } else if (!path || strcmp(path, "-") != 0) {
        bench_print_text(report);
    }
    return code == CLI_OK ? check_results(report) : code;
}

static int enter_settings(const cli_args *args, bp_scope **scope) {
    char *text = cli_options_text(args, NULL);
    bp_status status = bp_scope_enter(scope, text);
    free(text);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

/* Finds out before the measurement whether the page can be written. */
static int check_target(const cli_args *args) {
    const char *path = cli_value(args, "html");
    bp__npy_error error;
    if (path && strcmp(path, "-") == 0 && cli_has(args, "json")) {
        return cli_fail(CLI_USAGE, "--html - and --json both write to standard output");
    }
    bp_status status = path ? npy_check_target(path, &error) : BP_OK;
    return status == BP_OK ? CLI_OK : cli_fail(cli_exit_of(status), "%s", error.text);
}

static int bench(const cli_args *args) {
    bench_request request;
    bench_report report = {.case_count = 0};
    bp_scope *scope = NULL;
    if (args->count > 0 && model_is_named(args->operands[0])) {
        return model_bench(args);
    }
    /* Otherwise MKL's idle threads spin for 0.2 s, which takes a core from the next library. */
    setenv("KMP_BLOCKTIME", "20", 0);
    int code = model_options_absent(args);
    code = code == CLI_OK ? bench_request_read(&request, args) : code;
    code = code == CLI_OK ? check_target(args) : code;
    code = code == CLI_OK ? enter_settings(args, &scope) : code;
    code = code == CLI_OK ? bench_measure(&report, &request) : code;
    code = code == CLI_OK ? show_bench(&report, args) : code;
    bool interrupted = report.interrupted;
    bench_report_free(&report);
    bp_scope_leave(&scope);
    if (interrupted) {
        end_by_interrupt();
    }
    return code;
}

static void print_operations(void) {
    const cli_operation *operation;
    cli_say(CLI_STRONG, "\nOperations\n");
    cli_table *table = cli_table_new("NAME|ARRAYS OF SIZE N|OPERATIONS COUNTED|LEAST AND LARGEST");
    for (int i = 0; (operation = bench_operation_at(i)); i++) {
        cli_cell(table, CLI_PLAIN, "  %s", operation->name);
        char *shapes = bench_shapes(operation);
        const int64_t *sizes = operation->sizing->sizes;
        cli_cell(table, CLI_PLAIN, "%s", shapes);
        cli_cell(table, CLI_PLAIN, "%s", operation->sizing->count);
        cli_cell(table, CLI_PLAIN, "%lld %lld", (long long)sizes[0], (long long)sizes[SIZING_SIZES - 1]);
        free(shapes);
    }
    cli_table_end(table);
}

static void print_options(const cli_args *args, const cli_job *job) {
    for (const cli_option *option = args->command->options; option->name; option++) {
        if (job ? !bench_own_option(option->name) && job_takes(job, option->name) : bench_own_option(option->name)) {
            cli_option_help(option);
        }
    }
}

/* Prints the help of the command, or of the first operation that is named. */
static int help(const cli_args *args) {
    const cli_operation *operation;
    if (args->count == 0) {
        cli_command_help(args->command);
        return CLI_OK;
    }
    for (int i = 0; (operation = bench_operation_at(i)) && strcmp(operation->name, args->operands[0]) != 0; i++) {
    }
    if (!operation) {
        return bench_no_operation(args->operands[0]);
    }
    const cli_job job = {.args = args, .operation = operation};
    char *shapes = bench_shapes(operation);
    cli_say(CLI_STRONG, "Usage\n");
    printf("  backplane bench %s [options]\n\n  ", operation->name);
    char *text = cli_format("Measures it on arrays of each size n: %s; --shapes takes others.", shapes);
    cli_paragraph(2, text);
    free(text);
    free(shapes);
    if (operation->options) {
        cli_say(CLI_STRONG, "\nOptions of %s\n", operation->name);
        print_options(args, &job);
    }
    cli_say(CLI_STRONG, "\nOptions of all operations\n");
    print_options(args, NULL);
    cli_option_help(&cli_help_option);
    return CLI_OK;
}

static const cli_option options[] = {
    {"sizes", 0, "LIST", "Sizes n of the arrays: 64,256. Default: seven from the least to the largest below."},
    {"dtype", 0, "LIST",
     "Element types: f32, f64, c64, c128, f16, bf16, i32, i64; default f32,f64. Of fft and fft2 f32 means c64."},
    {"threads", 0, "LIST", "Numbers of threads: 1,4. Default: all cores."},
    {"libraries", 0, "LIST", "Ids of libraries to measure, besides the choice. Default: all."},
    {"seconds", 0, "X", "Time limit; default 20, of a model 2. A call that runs then is finished first."},
    {"shapes", 0, "LIST",
     "Shapes of the arrays of one operation, such as 8x64xnxn,64x64x3x3; n is each size. Default: those below."},
    {"html", 0, "FILE", "Also write a page with charts to this file."},
    CLI_OPTION_SET,
    CLI_OPTION_JSON,
    OPTIONS_MODEL,
    OPTIONS_PRODUCTS,
    OPTIONS_PATH,
    OPTIONS_FAMILIES,
    {NULL, 0, NULL, NULL},
};

const cli_command command_bench = {
    .name = "bench",
    .summary = "Measure operations on all libraries: speed, the choice, errors, overhead.",
    .operands = "[OPERATION ...] | MODEL.onnx",
    .details =
        "\nWithout an operation, the first three below are measured. Options of operations apply to all that are "
        "named; `backplane bench OPERATION --help` shows one operation's options. Each library runs kept plans in "
        "interleaved "
        "turns, and the choice is compared with the fastest one. Of an ONNX model, runs on random inputs are measured. "
        "Ctrl-C ends the measurement and shows what is "
        "done. Exit code 1: a library gave a wrong result.",
    .least = 0,
    .most = BENCH_MOST_OPERATIONS,
    .options = options,
    .run = bench,
    .help = help,
    .appendix = print_operations,
};
