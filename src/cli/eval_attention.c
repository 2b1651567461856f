/* eval_attention.c - scaled dot-product attention, for the commands that take an operation. */
#include "operations.h"

#include <math.h>

static int read_number(cli_job *job, const char *option, double *number, bool *given) {
    bp_scalar read = {0, 0};
    const int code = operand_scalar(job->args, option, &read, given);
    *number = read.im == 0 ? read.re : (double)NAN; /* the library reports it */
    return code;
}

/* Makes the seed, if there is dropout. One that is given without dropout is passed on, so that the library reports it.
 */
static int read_seed(cli_job *job) {
    attention_words *words = &job->words.attention;
    const int code = cli_number(job->args, "seed", 0, INT64_MAX, 0, &words->seed[0]);
    if (code != CLI_OK || (words->call.dropout == 0 && !cli_has(job->args, "seed"))) {
        return code;
    }
    const int64_t shape[] = {2};
    const bp_status status = bp_view_init(&words->seed_view, words->seed, BP_I64, 1, shape, NULL);
    words->call.seed = job->seed = &words->seed_view.tensor;
    if (job->dry && job->device.device_type) {
        words->seed_view.tensor.device = job->device;
        words->seed_view.tensor.data = NULL;
    }
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static int read_words(cli_job *job) {
    attention_words *words = &job->words.attention;
    bool given;
    *words = (attention_words){.call = {.struct_size = sizeof words->call,
                                        .pass = BP_ATTENTION_FORWARD,
                                        .is_causal = cli_has(job->args, "causal"),
                                        .enable_gqa = cli_has(job->args, "gqa"),
                                        .query = &job->inputs[0].tensor,
                                        .key = &job->inputs[1].tensor,
                                        .value = &job->inputs[2].tensor,
                                        .mask = job->input_count > 3 ? &job->inputs[3].tensor : NULL}};
    int code = read_number(job, "scale", &words->call.scale, &given);
    words->call.has_scale = given;
    code = code == CLI_OK ? read_number(job, "dropout", &words->call.dropout, &given) : code;
    return code == CLI_OK ? read_seed(job) : code;
}

static int prepare(cli_job *job) {
    bp_attention_call *call = &job->words.attention.call;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    int code = read_words(job);
    if (code != CLI_OK) {
        return code;
    }
    const bp_status status = bp_attention_shape(call, &dtype, &ndim, shape);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    code = job_result(job, 0, dtype, ndim, shape);
    call->output = &job->results[0].tensor;
    job->result_count = 1;
    if (code == CLI_OK && job->wanted > 1) {
        code = job_result(job, 1, dtype == BP_F64 ? BP_F64 : BP_F32, ndim - 1, shape);
        call->logsumexp = &job->results[1].tensor;
        job->result_count = 2;
    }
    return code;
}

static bp_status run(cli_job *job) {
    return bp_attention_run(job->options, &job->words.attention.call);
}

static bp_status explain(const cli_job *job, bp_explanation **explanation) {
    return bp_attention_explain(explanation, job->options, &job->words.attention.call);
}

static bp_status plan(const cli_job *job, bp_plan **made, bp_operand *operands, int *count) {
    const bp_attention_call *call = &job->words.attention.call;
    const DLTensor *const tensors[] = {call->query, call->key,    call->value,    call->mask,
                                       call->seed,  call->output, call->logsumexp};
    for (*count = 0; *count < 7; ++*count) {
        operands[*count] = job_operand(tensors[*count]);
    }
    return bp_attention_plan(made, job->options, call);
}

static const cli_measured measured = {NULL, plan, check_attention};
static const char *const options[] = {"causal", "gqa", "scale", "dropout", "seed", NULL};

const cli_operation operations_attention[] = {
    {"sdpa", "QUERY KEY VALUE [MASK]", 3, 4, 2, 0, options, prepare, run, explain, false, &measured},
    {.name = NULL},
};
