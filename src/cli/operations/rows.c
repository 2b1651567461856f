/* rows.c - reductions, and softmax with its gradients, for the commands that take an operation. */
#include "sizing.h"

#include <math.h>
#include <string.h>

/* ---- Reductions ---- */

static const char *const kinds[] = {"sum", "prod", "mean", "max", "min", "argmax", "argmin", NULL};

static int read_kind(cli_job *job, bp_reduce_kind *kind) {
    const char *name = cli_value(job->args, "kind");
    for (int i = 0; kinds[i]; i++) {
        if (strcmp(name ? name : kinds[0], kinds[i]) == 0) {
            *kind = (bp_reduce_kind)i;
            return CLI_OK;
        }
    }
    return cli_fail(CLI_USAGE, "--kind is '%s'; it must be sum, prod, mean, max, min, argmax or argmin.", name);
}

static int read_axes(cli_job *job, rows_words *words) {
    int64_t dims[BP_MAX_NDIM];
    int count = 0;
    const int code = operand_numbers(job->args, "dim", dims, &count);
    words->axis_count = count;
    for (int i = 0; i < count; i++) {
        words->axes[i] = dims[i] < -BP_MAX_NDIM || dims[i] > BP_MAX_NDIM ? BP_MAX_NDIM : (int)dims[i];
    }
    return code;
}

/* The axes of the call; NULL: all. */
static const int *axes_of(const rows_words *words) {
    return words->axis_count > 0 ? words->axes : NULL;
}

/* Sums and products of i32 are i64, as in Python. */
static bp_dtype result_type(const DLTensor *input, bp_reduce_kind kind) {
    const bp_dtype dtype = bp_dtype_from_dlpack(input->dtype);
    const bool is_i64 = kind >= BP_REDUCE_ARGMAX || (kind <= BP_REDUCE_PROD && dtype == BP_I32);
    return is_i64 ? BP_I64 : dtype;
}

static int prepare_reduction(cli_job *job) {
    rows_words *words = &job->words.rows;
    const DLTensor *input = &job->inputs[0].tensor;
    int64_t shape[BP_MAX_NDIM];
    int ndim;
    int code = read_kind(job, &words->kind);
    code = code == CLI_OK ? read_axes(job, words) : code;
    words->keep = cli_has(job->args, "keepdim");
    if (code != CLI_OK) {
        return code;
    }
    const bp_status status = bp_reduce_shape(input, words->axis_count, axes_of(words), words->keep, &ndim, shape);
    return status == BP_OK ? job_result(job, 0, result_type(input, words->kind), ndim, shape) : cli_fail_status(status);
}

static bp_status run_reduction(cli_job *job) {
    const rows_words *w = &job->words.rows;
    return bp_reduce_run(job->options, w->kind, &job->inputs[0].tensor, w->axis_count, axes_of(w), w->keep,
                         &job->results[0].tensor);
}

static bp_status explain_reduction(const cli_job *job, bp_explanation **explanation) {
    const rows_words *w = &job->words.rows;
    return bp_reduce_explain(explanation, job->options, w->kind, &job->inputs[0].tensor, w->axis_count, axes_of(w),
                             w->keep, &job->results[0].tensor);
}

static bp_status plan_reduction(const cli_job *job, bp_plan **plan, bp_operand *operands, int *count) {
    const rows_words *w = &job->words.rows;
    *count = job_operands(job, operands);
    return bp_reduce_plan(plan, job->options, w->kind, &job->inputs[0].tensor, w->axis_count, axes_of(w), w->keep,
                          &job->results[0].tensor);
}

/* ---- Softmax ---- */

/* The number of an entry: the kind, plus this for the gradient. */
enum { GRADIENT = 16 };

static bp_softmax_kind softmax_kind(const cli_job *job) {
    return (bp_softmax_kind)(job->operation->number % GRADIENT);
}

static int prepare_softmax(cli_job *job) {
    rows_words *words = &job->words.rows;
    const DLTensor *input = &job->inputs[0].tensor;
    const int code = read_axes(job, words);
    if (code != CLI_OK) {
        return code;
    }
    if (words->axis_count > 1) {
        return cli_fail(CLI_USAGE, "--dim has %d dimensions; softmax takes one.", (int)words->axis_count);
    }
    if (words->axis_count == 0) {
        words->axes[0] = -1;
    }
    return job_result(job, 0, bp_dtype_from_dlpack(input->dtype), input->ndim, input->shape);
}

static bp_status run_softmax(cli_job *job) {
    const DLTensor *const *in = job->tensors;
    DLTensor *out = &job->results[0].tensor;
    const int axis = job->words.rows.axes[0];
    return job->operation->number >= GRADIENT
               ? bp_softmax_backward_run(job->options, softmax_kind(job), in[0], in[1], axis, out)
               : bp_softmax_run(job->options, softmax_kind(job), in[0], axis, out);
}

static bp_status explain_softmax(const cli_job *job, bp_explanation **explanation) {
    const DLTensor *const *in = job->tensors, *out = &job->results[0].tensor;
    const int axis = job->words.rows.axes[0];
    return job->operation->number >= GRADIENT
               ? bp_softmax_backward_explain(explanation, job->options, softmax_kind(job), in[0], in[1], axis, out)
               : bp_softmax_explain(explanation, job->options, softmax_kind(job), in[0], axis, out);
}

static bp_status plan_softmax(const cli_job *job, bp_plan **plan, bp_operand *operands, int *count) {
    const DLTensor *const *in = job->tensors, *out = &job->results[0].tensor;
    const int axis = job->words.rows.axes[0];
    *count = job_operands(job, operands);
    return job->operation->number >= GRADIENT
               ? bp_softmax_backward_plan(plan, job->options, softmax_kind(job), in[0], in[1], axis, out)
               : bp_softmax_plan(plan, job->options, softmax_kind(job), in[0], axis, out);
}

static const cli_measured reduction = {BP_OP_REDUCE, plan_reduction, check_reduction},
                          softmax = {BP_OP_SOFTMAX, plan_softmax, check_softmax},
                          gradient = {BP_OP_SOFTMAX_BACKWARD, plan_softmax, check_softmax_gradient};
static const char *const reduce_options[] = {"kind", "dim", "keepdim", NULL};
static const char *const softmax_options[] = {"dim", NULL};

static const cli_sizing
    reduce_sizing = {"256xn", "dim=-1", NULL, work_elements, "1 for each element", true, {64, 256, 1024, 4096},
                     0,       NULL},
    softmax_sizing = {"256xn", NULL, NULL, work_elements, "1 for each element", true, {64, 256, 1024, 4096}, 0, NULL},
    gradient_sizing = {"256xn 256xn",         NULL, NULL, work_elements, "1 for each element", true,
                       {64, 256, 1024, 4096}, 0,    NULL};

#define SOFTMAX(name, arrays, inputs, number, measured, sizing)                                                        \
    {                                                                                                                  \
        name, arrays, inputs, inputs, 1, number, softmax_options, prepare_softmax, run_softmax, explain_softmax,       \
            false, &measured, NULL, &sizing                                                                            \
    }

const cli_operation operations_rows[] = {
    {"reduce", "INPUT", 1, 1, 1, 0, reduce_options, prepare_reduction, run_reduction, explain_reduction, false,
     &reduction, NULL, &reduce_sizing},
    SOFTMAX("softmax", "INPUT", 1, BP_SOFTMAX, softmax, softmax_sizing),
    SOFTMAX("log_softmax", "INPUT", 1, BP_LOG_SOFTMAX, softmax, softmax_sizing),
    SOFTMAX("softmax_input", "OUTPUT OUTPUT_GRADIENT", 2, BP_SOFTMAX + GRADIENT, gradient, gradient_sizing),
    SOFTMAX("log_softmax_input", "OUTPUT OUTPUT_GRADIENT", 2, BP_LOG_SOFTMAX + GRADIENT, gradient, gradient_sizing),
    {.name = NULL},
};
