/* command_report.c - `backplane report`: writes all that a ticket needs about this machine into one file. */
#include "cli/arrays/npy.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

static int gather_report(report *r) {
    int code = report_findings(r);
    code = code == CLI_OK ? report_machine(r) : code;
    code = code == CLI_OK ? report_libraries(r) : code;
    code = code == CLI_OK ? report_settings(r) : code;
    if (code == CLI_OK) {
        report_environment(r);
        code = report_choices(r);
    }
    if (code == CLI_OK) {
        report_files(r);
        report_programs(r);
    }
    return code;
}

static void print_report(const report *r, const cli_args *args) {
    if (cli_has(args, "json")) {
        report_json(r);
    } else if (cli_has(args, "html")) {
        char *page = report_page(r);
        fputs(page, stdout);
        free(page);
    } else {
        report_text(r);
    }
}

static int write_to(const report *r, const cli_args *args, const char *path) {
    bp__npy_error error;
    size_t length;
    const int code = cli_out_capture(-1);
    if (code != CLI_OK) {
        return code;
    }
    print_report(r, args);
    char *text = cli_out_captured(&length);
    if (!text) {
        return CLI_MEMORY;
    }
    const bp_status status = npy_write_text(path, text, length, &error);
    free(text);
    if (status != BP_OK) {
        return cli_fail(cli_exit_of(status), "%s", error.text);
    }
    cli_say(CLI_PLAIN, "%s\n", path);
    return CLI_OK;
}

static int run_report(const cli_args *args) {
    const char *path = cli_value(args, "output");
    report r = {.count = 0};
    if (cli_has(args, "json") && cli_has(args, "html")) {
        return cli_fail(CLI_USAGE, "--json and --html are different forms; give one of them");
    }
    cli_progress_begin(CLI_EXAMINING);
    int code = gather_report(&r);
    cli_progress_end();
    if (code == CLI_OK && path && strcmp(path, "-") != 0) {
        code = write_to(&r, args, path);
    } else if (code == CLI_OK) {
        print_report(&r, args);
    }
    report_free(&r);
    return code;
}

static const cli_option options[] = {
    {"output", 'o', "FILE", "Write to a file; \"-\" is standard output."},
    {"html", 0, NULL, "Write a page: one file without scripts."},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL},
};

const cli_command command_report = {
    .name = "report",
    .summary = "Write all that a ticket needs about this machine into one file.",
    .operands = "",
    .details =
        "\nFindings, what to do, the machine, libraries and their kernels, settings and their origins, candidates of "
        "typical "
        "problems, and versions of NumPy, SciPy, PyTorch, R and others. Home directories and the user's name are "
        "shortened, and the host's name is left out. Nothing is measured, and no program is started.",
    .quiet = true,
    .options = options,
    .run = run_report,
};
