/* eval_conv.c - convolutions, for the commands that take an operation. */
#include "operations.h"

#include <string.h>

/* The number of an entry: the dimensions, plus this for transposed convolutions. */
enum { TRANSPOSED = 4 };

int job_each(cli_job *job, const char *option, int ndim, int64_t values[BP_MAX_NDIM], const int64_t **to) {
    int count;
    const int code = operand_numbers(job->args, option, values, &count);
    *to = count > 0 ? values : NULL;
    if (code != CLI_OK || count == 0 || count == ndim) {
        return code;
    }
    if (count != 1) {
        return cli_fail(CLI_USAGE, "--%s has %d numbers; %s takes %d, or one for all dimensions", option, count,
                        job->operation->name, ndim);
    }
    for (int d = 1; d < ndim; d++) {
        values[d] = values[0];
    }
    return CLI_OK;
}

/* Reads --padding: numbers, or a word. */
static int read_padding(cli_job *job) {
    conv_words *words = &job->words.conv;
    const char *text = cli_value(job->args, "padding");
    if (text && (strcmp(text, "same") == 0 || strcmp(text, "valid") == 0)) {
        words->call.mode = *text == 's' ? BP_CONV_SAME : BP_CONV_VALID;
        return CLI_OK;
    }
    const int code = job_each(job, "padding", words->call.ndim, words->padding, &words->call.padding);
    return code == CLI_OK ? job_each(job, "padding-end", words->call.ndim, words->padding_end, &words->call.padding_end)
                          : code;
}

static int prepare(cli_job *job) {
    conv_words *words = &job->words.conv;
    bp_conv_call *call = &words->call;
    bp_dtype dtype;
    int ndim, count;
    int64_t shape[BP_MAX_NDIM], groups[BP_MAX_NDIM];
    *call = (bp_conv_call){.struct_size = sizeof *call,
                           .ndim = job->operation->number % TRANSPOSED,
                           .transposed = job->operation->number >= TRANSPOSED,
                           .input = &job->inputs[0].tensor,
                           .weight = &job->inputs[1].tensor,
                           .bias = job->input_count > 2 ? &job->inputs[2].tensor : NULL};
    int code = job_each(job, "stride", call->ndim, words->stride, &call->stride);
    code = code == CLI_OK ? job_each(job, "dilation", call->ndim, words->dilation, &call->dilation) : code;
    code = code == CLI_OK ? job_each(job, "output-padding", call->ndim, words->output_padding, &call->output_padding)
                          : code;
    code = code == CLI_OK ? read_padding(job) : code;
    code = code == CLI_OK ? job_activation(job, &call->activation) : code;
    code = code == CLI_OK ? operand_numbers(job->args, "groups", groups, &count) : code;
    if (code != CLI_OK) {
        return code;
    }
    call->groups = count > 0 ? groups[0] : 1;
    const bp_status status = bp_conv_shape(call, &dtype, &ndim, shape);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    code = job_result(job, 0, dtype, ndim, shape);
    call->output = &job->results[0].tensor;
    return code;
}

static bp_status run(cli_job *job) {
    return bp_conv_run(job->options, &job->words.conv.call);
}

static bp_status explain(const cli_job *job, bp_explanation **explanation) {
    return bp_conv_explain(explanation, job->options, &job->words.conv.call);
}

static bp_status plan(const cli_job *job, bp_plan **made, bp_operand *operands, int *count) {
    const bp_conv_call *call = &job->words.conv.call;
    const DLTensor *const tensors[] = {call->input, call->weight, call->bias, call->output};
    for (*count = 0; *count < 4; ++*count) {
        operands[*count] = job_operand(tensors[*count]);
    }
    return bp_conv_plan(made, job->options, call);
}

static const cli_measured measured = {"conv.preferred", plan, check_convolution};
static const char *const options[] = {"stride", "padding",    "padding-end", "dilation",
                                      "groups", "activation", "relu",        NULL};
static const char *const transposed_options[] = {"stride",         "padding",    "padding-end", "dilation", "groups",
                                                 "output-padding", "activation", "relu",        NULL};

#define CONVOLUTION(ndim, text)                                                                                        \
    {"conv" text, "INPUT WEIGHT [BIAS]", 2, 3, 1, ndim, options, prepare, run, explain, false, &measured},             \
        {"conv_transpose" text,                                                                                        \
         "INPUT WEIGHT [BIAS]",                                                                                        \
         2,                                                                                                            \
         3,                                                                                                            \
         1,                                                                                                            \
         ndim + TRANSPOSED,                                                                                            \
         transposed_options,                                                                                           \
         prepare,                                                                                                      \
         run,                                                                                                          \
         explain,                                                                                                      \
         false,                                                                                                        \
         &measured},

const cli_operation operations_conv[] = {
    CONVOLUTION(1, "1d") CONVOLUTION(2, "2d") CONVOLUTION(3, "3d"){.name = NULL},
};
