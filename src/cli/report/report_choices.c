/* report_choices.c - reports the candidates of some typical problems with their expected times, and whether these were
 * measured on this machine. Nothing is measured for the report. */
#include "cli/operations/operations.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

extern const cli_command command_explain;

/* Arguments of `backplane explain`. */
static const char *const problems[] = {
    "matmul f32 32x32 32x32",
    "matmul f32 1024x1024 1024x1024",
    "matmul f64 1024x1024 1024x1024",
    "matmul f64 1000x1000 1000x1",
    "solve f64 500x500 500x1",
    "svd f64 200x200",
    "fft c128 4096",
    "conv2d f32 1x64x56x56 64x64x3x3",
};

#define PROBLEMS ((int)(sizeof problems / sizeof problems[0]))

static void add_candidates(report *r, const char *problem, const bp_explanation *explanation) {
    bp_candidate_info info = {.struct_size = sizeof info};
    for (int i = 0; bp_explanation_at(explanation, i, &info); i++) {
        char time[32];
        if (!info.accepted && info.reason == BP_REASON_OP) {
            continue; /* a provider of other operations */
        }
        report_cell(r, "%s", problem);
        report_cell(r, "%s", info.library);
        report_cell(r, "%s", info.provider);
        report_cell(r, "%s", info.algorithm);
        report_cell(r, "%s", info.chosen ? "chosen" : info.accepted ? "accepted" : "refused");
        report_cell(r, "%.0d", info.accepted ? info.threads : 0);
        report_cell(r, "%s", info.accepted ? bp__duration(info.cost_ns, time, sizeof time) : "");
        report_cell(r, "%s", info.accepted ? bp_time_source_name(info.time_source) : "");
        report_cell(r, "%s", info.text);
    }
}

static int explain_choice(report *r, const char *problem) {
    char *text = cli_format("--set\ncalibration=read\n%s", problem), *words[16];
    int count = 0;
    for (char *at = text; *at;) {
        const size_t length = strcspn(at, " \n");
        words[count++] = at;
        at += length + (at[length] != '\0');
        words[count - 1][length] = '\0';
    }
    cli_args args;
    cli_job job = {.args = &args};
    bp_explanation *explanation = NULL;
    int code = cli_args_parse(&args, &command_explain, count, words);
    code = code == CLI_OK ? job_shapes(&job) : code;
    code = code == CLI_OK ? operand_options(&args, &job.options) : code;
    code = code == CLI_OK ? job_prepare(&job) : code;
    if (code == CLI_OK && job.operation->explain(&job, &explanation) == BP_OK) {
        add_candidates(r, problem, explanation);
    }
    bp_explanation_release(explanation);
    job_free(&job);
    cli_args_free(&args);
    free(text);
    return code;
}

int report_choices(report *r) {
    int code = CLI_OK;
    report_begin(r, "choices", "Candidates of typical problems",
                 "PROBLEM|LIBRARY|PROVIDER|ALGORITHM|VERDICT|>THREADS|>TIME|SOURCE|~REMARK", "none");
    for (int i = 0; i < PROBLEMS && code == CLI_OK; i++) {
        cli_progress(-1, "candidates of problem %d/%d", i + 1, PROBLEMS);
        code = explain_choice(r, problems[i]);
    }
    return code;
}
