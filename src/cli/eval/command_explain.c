/* command_explain.c - `backplane explain`: shows which library would run an operation on arrays of given shapes, and
 * why.
 */
#include "explain_ranks.h"

#include "cli/list/list_devices.h"
#include "cli/model/model.h"
#include "cli/operations/operations.h"

/* Returns whether a candidate is chosen: for each part of einsum, which runs several plans in sequence. */
static bool is_decided(const bp_explanation *explanation) {
    const bp_explanation *part = bp_explanation_part(explanation, 0);
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    /* A copy, as of a matrix to the power 1, has neither parts nor candidates. */
    bool chosen = part != NULL || !bp_explanation_at(explanation, 0, &candidate);
    for (int i = 0; (part = bp_explanation_part(explanation, i)); i++) {
        chosen &= is_decided(part);
    }
    for (int i = 0; bp_explanation_at(explanation, i, &candidate); i++) {
        chosen |= candidate.chosen != 0;
    }
    return chosen;
}

static int print_explanation(const cli_job *job) {
    bp_explanation *explanation = NULL;
    cli_progress_begin(CLI_EXAMINING);
    bp_status status = job->operation->explain(job, &explanation);
    cli_progress_end();
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    if (cli_has(job->args, "json")) {
        json_raw(NULL, bp_explanation_json(explanation));
    } else {
        cli_page(bp_explanation_text(explanation));
    }
    bool chosen = is_decided(explanation);
    bp_explanation_release(explanation);
    return chosen ? CLI_OK : CLI_LIBRARY;
}

static int all_option(const cli_args *args) {
    bp_status status = cli_has(args, "all") ? bp_set_explain_all(1) : BP_OK;
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static int explain_job(const cli_args *args) {
    cli_job job = {.args = args};
    const bool on_ranks = cli_has(args, "ranks");
    if (model_is_named(args->operands[0])) {
        return on_ranks ? cli_fail(CLI_USAGE, "--ranks is for operations, not for models") : model_explain(args);
    }
    int code = model_options_absent(args);
    code = code == CLI_OK ? explain_check_ranks(args) : code;
    code = code == CLI_OK ? all_option(args) : code;
    if (code == CLI_OK && on_ranks) {
        return explain_on_ranks(args);
    }
    code = code == CLI_OK ? device_option(args, &job.device) : code;
    code = code == CLI_OK ? job_shapes(&job) : code;
    code = code == CLI_OK ? operand_options(args, &job.options) : code;
    code = code == CLI_OK ? job_prepare(&job) : code;
    code = code == CLI_OK ? print_explanation(&job) : code;
    job_free(&job);
    return code;
}

static const cli_option options[] = {
    CLI_OPTION_SET,
    CLI_OPTION_JSON,
    {"all", 0, NULL, "Also list the algorithms of each library's own list; libraries may be opened for it."},
    {"device", 0, "ID", "Device of the arrays (see list --devices), or a file with the description of one."},
    OPTIONS_PLANNED_RANKS,
    OPTIONS_MODEL,
    OPTIONS_PRODUCTS,
    OPTIONS_LEADING,
    OPTIONS_SEARCH,
    OPTIONS_FAMILIES,
    {NULL, 0, NULL, NULL},
};

const cli_command command_explain = {
    .name = "explain",
    .summary = "Show which library would run an operation on arrays of these shapes, and why.",
    .operands = "OPERATION [EXPRESSION] [DTYPE] SHAPE [SHAPE ...] | MODEL.onnx",
    .details = "\nExample: backplane explain matmul f32 512x512 512x512 --set num_threads=1\n"
               "Shapes are 512, 512x64, 8x64x32, and '' for a scalar. DTYPE is f64 unless given; u8,i8 is one for "
               "each array. The expression of einsum is before it. `backplane explain OPERATION --help` shows the "
               "options of one operation. With --ranks the matrices are divided among ranks of MPI, on machines that "
               "need not be "
               "here: explain solve f64 100000x100000 100000 --ranks 64,1024 --latency 2us --bandwidth 25GB/s. Of an "
               "ONNX model, each node is explained. Exit "
               "code 4: no library can run it.",
    .least = 1,
    .most = JOB_MANY,
    .options = options,
    .run = explain_job,
    .help = job_help,
};
