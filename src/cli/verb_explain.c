/* verb_explain.c - `backplane explain`: which library would run an operation on such arrays, and why, without any data.
 */
#include "operations.h"

static const char *dtype_at(const void *unused, int index) {
    (void)unused;
    static const char *const names[] = {
#define X(number, name, text, code, bits) text,
        BP_DTYPE_MAP(X)
#undef X
    };
    return index < (int)(sizeof names / sizeof names[0]) ? names[index] : NULL;
}

/* Shapes are those of the operation's arrays; --trans tells of their layout where it is no part of the operation. */
static int read_views(cli_job *job) {
    static const char *const layouts[] = {"trans-a", "trans-b"};
    const cli_args *args = job->args;
    bp_dtype dtype = bp_dtype_from_name(args->operands[1]);
    if (dtype == BP_DTYPE_NONE) {
        return cli_fail(CLI_USAGE, "no such element type: '%s'.%s", args->operands[1],
                        cli_suggest(args->operands[1], "", dtype_at, NULL));
    }
    int code = CLI_OK;
    for (int i = 0; i < job->input_count && code == CLI_OK; i++) {
        int64_t shape[BP_MAX_NDIM];
        int ndim;
        bool transposed = i < 2 && cli_has(args, layouts[i]) && !job_takes(job, layouts[i]);
        code = operand_shape(args->operands[i + 2], &ndim, shape);
        code = code == CLI_OK ? operand_view(&job->inputs[i], dtype, ndim, shape, transposed) : code;
    }
    return code;
}

static int answer(const cli_job *job) {
    bp_explanation *explanation = NULL;
    bp_status status = job->operation->explain(job, &explanation);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    if (cli_has(job->args, "json")) {
        json_raw(NULL, bp_explanation_json(explanation));
    } else {
        cli_say(CLI_PLAIN, "%s", bp_explanation_text(explanation));
    }
    bool chosen = false;
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    for (int i = 0; bp_explanation_at(explanation, i, &candidate); i++) {
        chosen |= candidate.chosen != 0;
    }
    bp_explanation_free(explanation);
    return chosen ? CLI_OK : CLI_LIBRARY;
}

static int explain(const cli_args *args) {
    cli_job job = {.args = args, .dry = true};
    int code = job_operation(&job, args->operands[0]);
    code = code == CLI_OK ? job_check(&job, args->count - 2) : code;
    code = code == CLI_OK ? read_views(&job) : code;
    code = code == CLI_OK ? operand_options(args, &job.options) : code;
    code = code == CLI_OK ? job_prepare(&job) : code;
    code = code == CLI_OK ? answer(&job) : code;
    job_free(&job);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_SET, CLI_OPTION_JSON, OPTIONS_PRODUCTS, OPTIONS_FFT, OPTIONS_LINALG, {NULL, 0, NULL, NULL},
};

const cli_verb verb_explain = {
    .name = "explain",
    .summary = "Show which library would run an operation on arrays of these shapes, and why.",
    .operands = "OPERATION DTYPE SHAPE [SHAPE ...]",
    .details = "\nExample: backplane explain matmul f32 512x512 512x512 --set num_threads=1\n"
               "Operations are those of eval; shapes are 512, 512x64, 8x64x32. Ends with 4 when no library takes it.",
    .least = 3,
    .most = 2 + JOB_INPUTS,
    .options = options,
    .run = explain,
};
