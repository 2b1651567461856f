/* vectors.c - vector norms, and products of vectors and of several matrices, for the commands that take an
 * operation. */
#include "sizing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- vector_norm ---- */

/* Any number, inf and -inf among them. */
static int read_order(const cli_args *args, double *order) {
    const char *text = cli_value(args, "ord");
    char *end = NULL;
    *order = text ? strtod(text, &end) : 2;
    return !text || (end != text && !*end && !isnan(*order))
               ? CLI_OK
               : cli_fail(CLI_USAGE, "--ord is '%s'; it must be a number, inf or -inf.", text);
}

static int prepare_norm(cli_job *job) {
    vector_words *words = &job->words.vector;
    bp_linalg_call *call = &words->call;
    bp_dtype dtype;
    int ndim, count;
    int64_t shape[BP_MAX_NDIM];
    *call = (bp_linalg_call){.struct_size = sizeof *call, .op = BP_OP_VECTOR_NORM, .mode = BP_NORM_P};
    call->input[0] = &job->inputs[0].tensor;
    call->keep = cli_has(job->args, "keepdim");
    int code = read_order(job->args, &call->order);
    code = code == CLI_OK ? operand_dims(job->args, "dim", words->dims, &count) : code;
    if (code != CLI_OK) {
        return code;
    }
    call->axes = count > 0 ? words->dims : NULL;
    call->axis_count = count;
    bp_status status = bp_linalg_shape(call, 0, &dtype, &ndim, shape);
    code = status == BP_OK ? job_result(job, 0, dtype, ndim, shape) : cli_fail_status(status);
    call->output[0] = &job->results[0].tensor;
    return code;
}

static bp_status run_norm(cli_job *job) {
    return bp_linalg_run(job->options, &job->words.vector.call);
}

static bp_status explain_norm(const cli_job *job, bp_explanation **explanation) {
    return bp_linalg_explain(explanation, job->options, &job->words.vector.call);
}

static bp_status plan_norm(const cli_job *job, bp_plan **plan, bp_operand *operands, int *count) {
    *count = job_operands(job, operands);
    return bp_linalg_plan(plan, job->options, &job->words.vector.call);
}

/* ---- vecdot ---- */

static int result_like_first(cli_job *job, bp_status status, int ndim, const int64_t *shape) {
    return status == BP_OK ? job_result(job, 0, bp_dtype_from_dlpack(job->inputs[0].tensor.dtype), ndim, shape)
                           : cli_fail_status(status);
}

static int prepare_dot(cli_job *job) {
    vector_words *words = &job->words.vector;
    int ndim = 0, count;
    int64_t shape[BP_MAX_NDIM];
    words->dims[0] = -1;
    int code = operand_dims(job->args, "dim", words->dims, &count);
    if (code == CLI_OK && count > 1) {
        code = cli_fail(CLI_USAGE, "--dim has %d dimensions; vecdot takes one.", count);
    }
    if (code != CLI_OK) {
        return code;
    }
    bp_status status = bp_vecdot_shape(&job->inputs[0].tensor, &job->inputs[1].tensor, words->dims[0], &ndim, shape);
    return result_like_first(job, status, ndim, shape);
}

static bp_status run_dot(cli_job *job) {
    return bp_vecdot_run(job->options, &job->inputs[0].tensor, &job->inputs[1].tensor, job->words.vector.dims[0],
                         &job->results[0].tensor);
}

static bp_status explain_dot(const cli_job *job, bp_explanation **explanation) {
    return bp_vecdot_explain(explanation, job->options, &job->inputs[0].tensor, &job->inputs[1].tensor,
                             job->words.vector.dims[0], &job->results[0].tensor);
}

static bp_status plan_dot(const cli_job *job, bp_plan **plan, bp_operand *operands, int *count) {
    *count = job_operands(job, operands);
    return bp_vecdot_plan(plan, job->options, &job->inputs[0].tensor, &job->inputs[1].tensor, job->words.vector.dims[0],
                          &job->results[0].tensor);
}

/* ---- multi_dot ---- */

static int prepare_chain(cli_job *job) {
    int ndim = 0;
    int64_t shape[BP_MAX_NDIM];
    bp_status status = bp_multi_dot_shape(job->input_count, job->tensors, &ndim, shape);
    return result_like_first(job, status, ndim, shape);
}

static bp_status run_chain(cli_job *job) {
    return bp_multi_dot_run(job->options, job->input_count, job->tensors, &job->results[0].tensor);
}

static bp_status explain_chain(const cli_job *job, bp_explanation **explanation) {
    return bp_multi_dot_explain(explanation, job->options, job->input_count, job->tensors, &job->results[0].tensor);
}

static bp_status plan_chain(const cli_job *job, bp_plan **plan, bp_operand *operands, int *count) {
    *count = job->input_count < JOB_OPERANDS ? job_operands(job, operands) : 0;
    return *count ? bp_multi_dot_plan(plan, job->options, job->input_count, job->tensors, &job->results[0].tensor)
                  : BP_E_UNSUPPORTED;
}

/* ---- matrix_power ---- */

static int prepare_power(cli_job *job) {
    int64_t numbers[BP_MAX_NDIM];
    int count;
    int code = operand_numbers(job->args, "power", numbers, &count);
    if (code == CLI_OK && count != 1) {
        code = cli_fail(CLI_USAGE, "matrix_power takes one whole number: --power N.");
    }
    if (code != CLI_OK) {
        return code;
    }
    job->words.vector.power = numbers[0];
    return result_like_first(job, BP_OK, job->inputs[0].tensor.ndim, job->inputs[0].shape);
}

static bp_status run_power(cli_job *job) {
    return bp_matrix_power_run(job->options, &job->inputs[0].tensor, job->words.vector.power, &job->results[0].tensor);
}

static bp_status explain_power(const cli_job *job, bp_explanation **explanation) {
    return bp_matrix_power_explain(explanation, job->options, &job->inputs[0].tensor, job->words.vector.power,
                                   &job->results[0].tensor);
}

/* ---- The entries ---- */

static const char *const norm_options[] = {"ord", "dim", "keepdim", NULL};
static const char *const dot_options[] = {"dim", NULL};
static const char *const power_options[] = {"power", NULL};

static const cli_measured norm = {BP_OP_VECTOR_NORM, plan_norm, check_norm};
static const cli_measured dot = {BP_OP_GEMM, plan_dot, check_vecdot};
static const cli_measured chain = {BP_OP_GEMM, plan_chain, check_contraction};
static const cli_measured power = {BP_OP_GEMM, NULL, check_contraction}; /* each step has a plan of its own */

#define VECTORS(arrays)                                                                                                \
    { arrays, NULL, NULL, work_sum, "2 n", true, {64, 4096, 262144, 4194304}, 0, NULL }
static const cli_sizing norm_sizing = VECTORS("n"), dot_sizing = VECTORS("n n"),
                        chain_sizing = {"nxn nxn nx1",       NULL, NULL, work_chain, "4 n^2", false,
                                        {16, 64, 256, 1024}, 0,    NULL},
                        power_sizing = {"nxn", "power=3",          NULL, work_power, "4 n^3",
                                        false, {16, 64, 256, 768}, 0,    NULL};

const cli_operation operations_vectors[] = {
    {"vector_norm", "A", 1, 1, 1, 0, norm_options, prepare_norm, run_norm, explain_norm, false, &norm, NULL,
     &norm_sizing, NULL},
    {"vecdot", "A B", 2, 2, 1, 0, dot_options, prepare_dot, run_dot, explain_dot, false, &dot, NULL, &dot_sizing, NULL},
    {"multi_dot", "A B [C ...]", 2, JOB_MANY, 1, 0, NULL, prepare_chain, run_chain, explain_chain, false, &chain, NULL,
     &chain_sizing, NULL},
    {"matrix_power", "A", 1, 1, 1, 0, power_options, prepare_power, run_power, explain_power, false, &power, NULL,
     &power_sizing, NULL},
    {.name = NULL},
};
