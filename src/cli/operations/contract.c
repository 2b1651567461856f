/* contract.c - einsum for the commands that take an operation: an expression, and one array for each of its
 * operands. */
#include "sizing.h"

static int prepare_einsum(cli_job *job) {
    bp_einsum_call *call = &job->words.einsum;
    bp_dtype dtype = BP_DTYPE_NONE;
    int ndim = 0;
    int64_t shape[BP_MAX_NDIM];
    int code = search_read(job->args, &job->search);
    if (code != CLI_OK) {
        return code;
    }
    *call = (bp_einsum_call){.struct_size = sizeof *call,
                             .expression = job->expression,
                             .count = job->input_count,
                             .operands = job->tensors,
                             .search = &job->search.fields};
    bp_status status = bp_einsum_shape(call, &dtype, &ndim, shape);
    return status == BP_OK ? job_result(job, 0, dtype, ndim, shape) : cli_fail_status(status);
}

static bp_status run_einsum(cli_job *job) {
    return bp_einsum_run(job->options, &job->words.einsum, &job->results[0].tensor);
}

static bp_status explain_einsum(const cli_job *job, bp_explanation **explanation) {
    return bp_einsum_explain(explanation, job->options, &job->words.einsum, &job->results[0].tensor);
}

static bp_status plan_einsum(const cli_job *job, bp_plan **made, bp_operand *operands, int *count) {
    *count = job->input_count < JOB_OPERANDS ? job_operands(job, operands) : 0;
    return *count ? bp_einsum_plan(made, job->options, &job->words.einsum, &job->results[0].tensor) : BP_E_UNSUPPORTED;
}

static const cli_measured measured = {BP_OP_EINSUM, plan_einsum, check_contraction};

static const char *const own_options[] = {"strategy", "minimize", "memory-limit",     "trials", "seconds",
                                          "work",     "seed",     "contraction-path", NULL};

static const cli_sizing sizing = {
    "nxnxn nxn nxn", NULL, "abc,cd,be->ade", work_tucker, "4 n^4", false, {8, 16, 32, 64}, 0, NULL};

const cli_operation operations_contract[] = {
    {"einsum", "EXPRESSION A [B ...]", 1, JOB_MANY, 1, 0, own_options, prepare_einsum, run_einsum, explain_einsum, true,
     &measured, NULL, &sizing, NULL},
    {.name = NULL},
};
