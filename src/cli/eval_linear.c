/* eval_linear.c - linear layers, for the commands that take an operation. */
#include "operations.h"

#include <string.h>

static int prepare(cli_job *job) {
    bp_linear_call *call = &job->words.linear;
    const DLTensor *input = &job->inputs[0].tensor, *weight = &job->inputs[1].tensor;
    int64_t shape[BP_MAX_NDIM];
    *call = (bp_linear_call){.struct_size = sizeof *call,
                             .input = input,
                             .weight = weight,
                             .bias = job->input_count > 2 ? &job->inputs[2].tensor : NULL,
                             .output = &job->results[0].tensor};
    if (input->ndim < 1 || weight->ndim != 2) {
        return cli_fail(CLI_INPUT, "linear: INPUT has %d dimensions and WEIGHT %d; they must have at least 1 and 2",
                        input->ndim, weight->ndim);
    }
    memcpy(shape, input->shape, (size_t)input->ndim * sizeof *shape);
    shape[input->ndim - 1] = weight->shape[0];
    const int code = job_activation(job, &call->activation);
    return code == CLI_OK ? job_result(job, 0, bp_dtype_from_dlpack(input->dtype), input->ndim, shape) : code;
}

static bp_status run(cli_job *job) {
    return bp_linear_run(job->options, &job->words.linear);
}

static bp_status explain(const cli_job *job, bp_explanation **explanation) {
    return bp_linear_explain(explanation, job->options, &job->words.linear);
}

static bp_status plan(const cli_job *job, bp_plan **made, bp_operand *operands, int *count) {
    const bp_linear_call *call = &job->words.linear;
    const DLTensor *const tensors[] = {call->input, call->weight, call->bias, call->output};
    for (*count = 0; *count < 4; ++*count) {
        operands[*count] = job_operand(tensors[*count]);
    }
    return bp_linear_plan(made, job->options, call);
}

static const cli_measured measured = {"conv.preferred", plan, check_linear};
static const char *const options[] = {"activation", "relu", NULL};

const cli_operation operations_linear[] = {
    {"linear", "INPUT WEIGHT [BIAS]", 2, 3, 1, 0, options, prepare, run, explain, false, &measured},
    {.name = NULL},
};
