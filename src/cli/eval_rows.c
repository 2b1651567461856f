/* eval_rows.c - reductions, softmax with its gradients, and layer, RMS and group normalization, for the commands that
 * take an operation.
 */
#include "operations.h"

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
        words->axes[i] = dims[i] < -BP_MAX_NDIM || dims[i] > BP_MAX_NDIM ? BP_MAX_NDIM : (int32_t)dims[i];
    }
    return code;
}

/* The axes of the call; NULL: all. */
static const int32_t *axes_of(const rows_words *words) {
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
    int32_t ndim;
    int code = read_kind(job, &words->kind);
    code = code == CLI_OK ? read_axes(job, words) : code;
    words->keep = cli_has(job->args, "keepdim");
    if (code != CLI_OK) {
        return code;
    }
    const bp_status status = bp_reduce_shape(input, axes_of(words), words->axis_count, words->keep, &ndim, shape);
    return status == BP_OK ? job_result(job, 0, result_type(input, words->kind), ndim, shape) : cli_fail_status(status);
}

static bp_status run_reduction(cli_job *job) {
    const rows_words *w = &job->words.rows;
    return bp_reduce_run(job->options, w->kind, &job->inputs[0].tensor, axes_of(w), w->axis_count, w->keep,
                         &job->results[0].tensor);
}

static bp_status explain_reduction(const cli_job *job, bp_explanation **explanation) {
    const rows_words *w = &job->words.rows;
    return bp_reduce_explain(explanation, job->options, w->kind, &job->inputs[0].tensor, axes_of(w), w->axis_count,
                             w->keep, &job->results[0].tensor);
}

static bp_status plan_reduction(const cli_job *job, bp_plan **plan, bp_operand *operands, int *count) {
    const rows_words *w = &job->words.rows;
    *count = job_operands(job, operands);
    return bp_reduce_plan(plan, job->options, w->kind, &job->inputs[0].tensor, axes_of(w), w->axis_count, w->keep,
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
    const DLTensor *const *in = job->tensors, *out = &job->results[0].tensor;
    const int32_t axis = job->words.rows.axes[0];
    return job->operation->number >= GRADIENT
               ? bp_softmax_backward_run(job->options, softmax_kind(job), in[0], in[1], axis, out)
               : bp_softmax_run(job->options, softmax_kind(job), in[0], axis, out);
}

static bp_status explain_softmax(const cli_job *job, bp_explanation **explanation) {
    const DLTensor *const *in = job->tensors, *out = &job->results[0].tensor;
    const int32_t axis = job->words.rows.axes[0];
    return job->operation->number >= GRADIENT
               ? bp_softmax_backward_explain(explanation, job->options, softmax_kind(job), in[0], in[1], axis, out)
               : bp_softmax_explain(explanation, job->options, softmax_kind(job), in[0], axis, out);
}

static bp_status plan_softmax(const cli_job *job, bp_plan **plan, bp_operand *operands, int *count) {
    const DLTensor *const *in = job->tensors, *out = &job->results[0].tensor;
    const int32_t axis = job->words.rows.axes[0];
    *count = job_operands(job, operands);
    return job->operation->number >= GRADIENT
               ? bp_softmax_backward_plan(plan, job->options, softmax_kind(job), in[0], in[1], axis, out)
               : bp_softmax_plan(plan, job->options, softmax_kind(job), in[0], axis, out);
}

/* ---- Normalization ---- */

/* The machine epsilon for rms_norm, as PyTorch's default. */
static double default_eps(const cli_job *job) {
    switch (bp_dtype_from_dlpack(job->inputs[0].tensor.dtype)) {
    case BP_F16:
        return job->operation->number == BP_RMS_NORM ? 0x1p-10 : 1e-5;
    case BP_BF16:
        return job->operation->number == BP_RMS_NORM ? 0x1p-7 : 1e-5;
    case BP_F32:
        return job->operation->number == BP_RMS_NORM ? 0x1p-23 : 1e-5;
    default:
        return job->operation->number == BP_RMS_NORM ? 0x1p-52 : 1e-5;
    }
}

static int read_rows(cli_job *job, bp_layer_norm_call *call) {
    int64_t number;
    if (call->kind == BP_GROUP_NORM) {
        return cli_number(job->args, "groups", 1, INT64_MAX, 1, &call->groups);
    }
    const int64_t otherwise = call->weight && call->weight->ndim > 0 ? call->weight->ndim : 1;
    const int code = cli_number(job->args, "row-dims", 1, BP_MAX_NDIM, otherwise, &number);
    call->dims = (int32_t)number;
    return code;
}

static int prepare_norm(cli_job *job) {
    bp_layer_norm_call *call = &job->words.layer_norm;
    const DLTensor *input = &job->inputs[0].tensor;
    bp_scalar eps;
    bool given;
    *call = (bp_layer_norm_call){.struct_size = sizeof *call,
                                 .kind = (bp_layer_norm_kind)job->operation->number,
                                 .input = input,
                                 .weight = job->input_count > 1 ? &job->inputs[1].tensor : NULL,
                                 .bias = job->input_count > 2 ? &job->inputs[2].tensor : NULL};
    int code = operand_scalar(job->args, "eps", &eps, &given);
    call->eps = !given ? default_eps(job) : eps.im == 0 ? eps.re : (double)NAN; /* the library reports it */
    code = code == CLI_OK ? read_rows(job, call) : code;
    code = code == CLI_OK ? job_result(job, 0, bp_dtype_from_dlpack(input->dtype), input->ndim, input->shape) : code;
    call->output = &job->results[0].tensor;
    return code;
}

static bp_status run_norm(cli_job *job) {
    return bp_layer_norm_run(job->options, &job->words.layer_norm);
}

static bp_status explain_norm(const cli_job *job, bp_explanation **explanation) {
    return bp_layer_norm_explain(explanation, job->options, &job->words.layer_norm);
}

static bp_status plan_norm(const cli_job *job, bp_plan **plan, bp_operand *operands, int *count) {
    const bp_layer_norm_call *call = &job->words.layer_norm;
    const DLTensor *const tensors[] = {call->input,  call->weight, call->bias,
                                       call->output, call->mean,   call->inverse_std};
    for (*count = 0; *count < 6; ++*count) {
        operands[*count] = job_operand(tensors[*count]);
    }
    return bp_layer_norm_plan(plan, job->options, call);
}

static const cli_measured reduction = {NULL, plan_reduction, check_reduction},
                          softmax = {NULL, plan_softmax, check_softmax},
                          gradient = {NULL, plan_softmax, check_softmax_gradient},
                          normalization = {NULL, plan_norm, check_row_normalization};
static const char *const reduce_options[] = {"kind", "dim", "keepdim", NULL};
static const char *const softmax_options[] = {"dim", NULL};
static const char *const norm_options[] = {"row-dims", "eps", NULL};
static const char *const group_options[] = {"groups", "eps", NULL};

#define SOFTMAX(name, arrays, inputs, number, measured)                                                                \
    {                                                                                                                  \
        name, arrays, inputs, inputs, 1, number, softmax_options, prepare_softmax, run_softmax, explain_softmax,       \
            false, &measured                                                                                           \
    }
#define NORMALIZATION(name, arrays, most, number, options)                                                             \
    { name, arrays, 1, most, 1, number, options, prepare_norm, run_norm, explain_norm, false, &normalization }

const cli_operation operations_rows[] = {
    {"reduce", "INPUT", 1, 1, 1, 0, reduce_options, prepare_reduction, run_reduction, explain_reduction, false,
     &reduction},
    SOFTMAX("softmax", "INPUT", 1, BP_SOFTMAX, softmax),
    SOFTMAX("log_softmax", "INPUT", 1, BP_LOG_SOFTMAX, softmax),
    SOFTMAX("softmax_input", "OUTPUT OUTPUT_GRADIENT", 2, BP_SOFTMAX + GRADIENT, gradient),
    SOFTMAX("log_softmax_input", "OUTPUT OUTPUT_GRADIENT", 2, BP_LOG_SOFTMAX + GRADIENT, gradient),
    NORMALIZATION("layer_norm", "INPUT [WEIGHT [BIAS]]", 3, BP_LAYER_NORM, norm_options),
    NORMALIZATION("rms_norm", "INPUT [WEIGHT]", 2, BP_RMS_NORM, norm_options),
    NORMALIZATION("group_norm", "INPUT [WEIGHT [BIAS]]", 3, BP_GROUP_NORM, group_options),
    {.name = NULL},
};
