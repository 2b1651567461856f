/* eval_norm.c - batch normalization with given statistics, for the commands that take an operation. */
#include "operations.h"

#include <math.h>

static int read_eps(cli_job *job, double *eps) {
    bp_scalar number;
    bool given;
    const int code = operand_scalar(job->args, "eps", &number, &given);
    *eps = code != CLI_OK || !given ? 1e-5 : number.im == 0 ? number.re : (double)NAN; /* the library reports it */
    return code;
}

static int prepare(cli_job *job) {
    bp_batch_norm_call *call = &job->words.norm;
    const DLTensor *input = &job->inputs[0].tensor;
    *call = (bp_batch_norm_call){.struct_size = sizeof *call,
                                 .relu = cli_has(job->args, "relu"),
                                 .input = input,
                                 .running_mean = &job->inputs[1].tensor,
                                 .running_var = &job->inputs[2].tensor,
                                 .weight = job->input_count > 3 ? &job->inputs[3].tensor : NULL,
                                 .bias = job->input_count > 4 ? &job->inputs[4].tensor : NULL};
    int code = read_eps(job, &call->eps);
    code = code == CLI_OK ? job_result(job, 0, bp_dtype_from_dlpack(input->dtype), input->ndim, input->shape) : code;
    call->output = &job->results[0].tensor;
    return code;
}

static bp_status run(cli_job *job) {
    return bp_batch_norm_run(job->options, &job->words.norm);
}

static bp_status explain(const cli_job *job, bp_explanation **explanation) {
    return bp_batch_norm_explain(explanation, job->options, &job->words.norm);
}

static bp_status plan(const cli_job *job, bp_plan **made, bp_operand *operands, int *count) {
    const bp_batch_norm_call *call = &job->words.norm;
    const DLTensor *const tensors[] = {call->input,        call->weight,      call->bias,
                                       call->running_mean, call->running_var, call->output};
    for (*count = 0; *count < 6; ++*count) {
        operands[*count] = job_operand(tensors[*count]);
    }
    return bp_batch_norm_plan(made, job->options, call);
}

static const cli_measured measured = {NULL, plan, check_normalization};
static const char *const options[] = {"eps", "relu", NULL};

const cli_operation operations_norm[] = {
    {"batch_norm", "INPUT MEAN VARIANCE [WEIGHT [BIAS]]", 3, 5, 1, 0, options, prepare, run, explain, false, &measured},
    {.name = NULL},
};
