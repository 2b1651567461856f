/* eval_pool.c - pooling, for the commands that take an operation. */
#include "operations.h"

/* The number of an entry: the dimensions, plus these. */
enum { AVERAGE = 4, ADAPTIVE = 8 };

static int read_number(cli_job *job, const char *option, int64_t *to) {
    int64_t values[BP_MAX_NDIM];
    int count;
    const int code = operand_numbers(job->args, option, values, &count);
    *to = code == CLI_OK && count > 0 ? values[0] : 0;
    if (code == CLI_OK && (count > 1 || (count == 1 && values[0] == 0))) {
        return cli_fail(CLI_USAGE, "--%s takes one number, which must not be 0", option);
    }
    return code;
}

static int read_words(cli_job *job) {
    pool_words *words = &job->words.pool;
    bp_pool_call *call = &words->call;
    int code = job_each(job, "kernel", call->ndim, words->kernel, &call->kernel);
    code = code == CLI_OK ? job_each(job, "stride", call->ndim, words->stride, &call->stride) : code;
    code = code == CLI_OK ? job_each(job, "padding", call->ndim, words->padding, &call->padding) : code;
    code = code == CLI_OK ? job_each(job, "dilation", call->ndim, words->dilation, &call->dilation) : code;
    code = code == CLI_OK ? job_each(job, "output-size", call->ndim, words->output_size, &call->output_size) : code;
    code = code == CLI_OK ? read_number(job, "divisor", &call->divisor) : code;
    const bool adaptive = job->operation->number >= ADAPTIVE;
    if (code == CLI_OK && !(adaptive ? call->output_size : call->kernel)) {
        return cli_fail(CLI_USAGE, "--%s is missing; %s needs it", adaptive ? "output-size" : "kernel",
                        job->operation->name);
    }
    return code;
}

static int prepare(cli_job *job) {
    bp_pool_call *call = &job->words.pool.call;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    *call = (bp_pool_call){.struct_size = sizeof *call,
                           .kind = job->operation->number & AVERAGE ? BP_POOL_AVERAGE : BP_POOL_MAX,
                           .ndim = job->operation->number % AVERAGE,
                           .input = &job->inputs[0].tensor,
                           .ceil_mode = cli_has(job->args, "ceil"),
                           .exclude_padding = cli_has(job->args, "exclude-padding")};
    int code = read_words(job);
    if (code != CLI_OK) {
        return code;
    }
    const bp_status status = bp_pool_shape(call, &dtype, &ndim, shape);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    code = job_result(job, 0, dtype, ndim, shape);
    call->output = &job->results[0].tensor;
    job->result_count = 1;
    if (code == CLI_OK && job->operation->results > 1 && job->wanted > 1) {
        code = job_result(job, 1, BP_I64, ndim, shape);
        call->indices = &job->results[1].tensor;
        job->result_count = 2;
    }
    return code;
}

static bp_status run(cli_job *job) {
    return bp_pool_run(job->options, &job->words.pool.call);
}

static bp_status explain(const cli_job *job, bp_explanation **explanation) {
    return bp_pool_explain(explanation, job->options, &job->words.pool.call);
}

static bp_status plan(const cli_job *job, bp_plan **made, bp_operand *operands, int *count) {
    const bp_pool_call *call = &job->words.pool.call;
    *count = call->kind == BP_POOL_MAX ? 3 : 2;
    operands[0] = job_operand(call->input);
    operands[1] = job_operand(call->output);
    operands[2] = job_operand(call->indices);
    return bp_pool_plan(made, job->options, call);
}

static const cli_measured measured = {NULL, plan, check_pooling};
static const char *const max_options[] = {"kernel", "stride", "padding", "dilation", "ceil", NULL};
static const char *const avg_options[] = {"kernel", "stride", "padding", "ceil", "exclude-padding", "divisor", NULL};
static const char *const adaptive_options[] = {"output-size", NULL};

#define POOLING(ndim, text)                                                                                            \
    {"max_pool" text, "INPUT", 1, 1, 2, ndim, max_options, prepare, run, explain, false, &measured},                   \
        {"avg_pool" text, "INPUT", 1, 1, 1, ndim + AVERAGE, avg_options, prepare, run, explain, false, &measured},     \
        {"adaptive_max_pool" text, "INPUT", 1,   1,       2,     ndim + ADAPTIVE,                                      \
         adaptive_options,         prepare, run, explain, false, &measured},                                           \
        {"adaptive_avg_pool" text, "INPUT", 1,   1,       1,     ndim + AVERAGE + ADAPTIVE,                            \
         adaptive_options,         prepare, run, explain, false, &measured},

const cli_operation operations_pool[] = {
    POOLING(1, "1d") POOLING(2, "2d") POOLING(3, "3d"){.name = NULL},
};
