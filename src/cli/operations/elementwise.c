/* elementwise.c - functions of single elements, taking by indices and concatenation, for the commands that take an
 * operation. */
#include "sizing.h"

#include <string.h>

enum { UNARY, BINARY, TAKE, GATHER, CONCAT };

static const char *unary_at(void *unused, int index) {
    static const char *const names[] = {
#define X(number, name, text) text,
        BP_UNARY_MAP(X)
#undef X
    };
    (void)unused;
    return index < BP_UNARY_KINDS ? names[index] : NULL;
}

static const char *binary_at(void *unused, int index) {
    static const char *const names[] = {
#define X(number, name, text) text,
        BP_BINARY_MAP(X)
#undef X
    };
    (void)unused;
    return index < BP_BINARY_KINDS ? names[index] : NULL;
}

/* ---- Options ---- */

/* Finds a name in a list of functions. */
static int find_kind(const cli_job *job, const char *word, bp__name_at name_at, int *kind) {
    for (int i = 0; name_at(NULL, i); i++) {
        if (strcmp(name_at(NULL, i), word) == 0) {
            *kind = i;
            return CLI_OK;
        }
    }
    return cli_fail(CLI_USAGE, "%s: there is no kind '%s'%s", job->operation->name, word,
                    cli_suggest(word, "", name_at, NULL));
}

static int read_kind(cli_job *job) {
    const bool unary = job->operation->number == UNARY;
    const char *word = cli_value(job->args, "kind");
    if (!word) {
        return cli_fail(CLI_USAGE, "%s: --kind is missing, such as --kind %s", job->operation->name,
                        unary ? "gelu" : "add");
    }
    return find_kind(job, word, unary ? unary_at : binary_at, &job->words.elementwise.kind);
}

int job_activation(const cli_job *job, bp_unary_kind *activation) {
    const char *word = cli_value(job->args, "activation");
    int kind = cli_has(job->args, "relu") ? BP_UNARY_RELU : BP_UNARY_COPY;
    if (word && kind == BP_UNARY_RELU) {
        return cli_fail(CLI_USAGE, "%s: --relu is the same as --activation relu; give one of them",
                        job->operation->name);
    }
    const int code = word ? find_kind(job, word, unary_at, &kind) : CLI_OK;
    *activation = (bp_unary_kind)kind;
    return code;
}

/* The type of the result of a copy; other functions keep the input's type. */
static int read_type(cli_job *job, bp_dtype *dtype) {
    const char *word = cli_value(job->args, "to");
    *dtype = word ? bp_dtype_from_name(word) : bp_dtype_from_dlpack(job->inputs[0].tensor.dtype);
    if (*dtype == BP_DTYPE_NONE) {
        return cli_fail(CLI_USAGE, "no such element type: '%s'", word ? word : "?");
    }
    return CLI_OK;
}

/* Reads the dimension. Whether it is one of the input, the library checks. */
static int read_axis(cli_job *job) {
    int64_t values[BP_MAX_NDIM];
    int count = 0;
    const int code = operand_numbers(job->args, "dim", values, &count);
    if (code == CLI_OK && count > 1) {
        return cli_fail(CLI_USAGE, "%s takes one --dim, not %d", job->operation->name, count);
    }
    const int64_t axis = count == 1 ? values[0] : 0;
    job->words.elementwise.axis = axis < -BP_MAX_NDIM || axis > BP_MAX_NDIM ? BP_MAX_NDIM : (int)axis;
    return code;
}

static bp_status shape_of(const cli_job *job, int *ndim, int64_t *shape) {
    const DLTensor *const *in = job->tensors, *like = in[job->operation->number == GATHER];
    switch (job->operation->number) {
    case BINARY:
        return bp_binary_shape(in[0], in[1], ndim, shape);
    case TAKE:
        return bp_take_shape(in[0], in[1], job->words.elementwise.axis, ndim, shape);
    case CONCAT:
        return bp_concat_shape(job->input_count, in, job->words.elementwise.axis, ndim, shape);
    default:
        *ndim = like->ndim;
        memcpy(shape, like->shape, (size_t)like->ndim * sizeof *shape);
        return BP_OK;
    }
}

static int prepare(cli_job *job) {
    int64_t shape[BP_MAX_NDIM];
    int ndim = 0;
    bp_dtype dtype = BP_DTYPE_NONE;
    int code = job->operation->number <= BINARY ? read_kind(job) : read_axis(job);
    code = code == CLI_OK ? read_type(job, &dtype) : code;
    if (code != CLI_OK) {
        return code;
    }
    const bp_status status = shape_of(job, &ndim, shape);
    return status == BP_OK ? job_result(job, 0, dtype, ndim, shape) : cli_fail_status(status);
}

/* ---- Calls ---- */

static bp_status run(cli_job *job) {
    const elementwise_words *words = &job->words.elementwise;
    const DLTensor *const *in = job->tensors;
    DLTensor *out = &job->results[0].tensor;
    switch (job->operation->number) {
    case UNARY:
        return bp_unary_run(job->options, (bp_unary_kind)words->kind, in[0], out);
    case BINARY:
        return bp_binary_run(job->options, (bp_binary_kind)words->kind, in[0], in[1], out);
    case TAKE:
        return bp_take_run(job->options, in[0], in[1], words->axis, out);
    case GATHER:
        return bp_gather_run(job->options, in[0], in[1], words->axis, out);
    default:
        return bp_concat_run(job->options, job->input_count, in, words->axis, out);
    }
}

static bp_status explain(const cli_job *job, bp_explanation **explanation) {
    const elementwise_words *words = &job->words.elementwise;
    const DLTensor *const *in = job->tensors, *out = &job->results[0].tensor;
    switch (job->operation->number) {
    case UNARY:
        return bp_unary_explain(explanation, job->options, (bp_unary_kind)words->kind, in[0], out);
    case BINARY:
        return bp_binary_explain(explanation, job->options, (bp_binary_kind)words->kind, in[0], in[1], out);
    case TAKE:
        return bp_take_explain(explanation, job->options, in[0], in[1], words->axis, out);
    default:
        return bp_gather_explain(explanation, job->options, in[0], in[1], words->axis, out);
    }
}

static bp_status plan(const cli_job *job, bp_plan **made, bp_operand *operands, int *count) {
    const elementwise_words *words = &job->words.elementwise;
    const DLTensor *const *in = job->tensors, *out = &job->results[0].tensor;
    *count = job_operands(job, operands);
    switch (job->operation->number) {
    case UNARY:
        return bp_unary_plan(made, job->options, (bp_unary_kind)words->kind, in[0], out);
    case BINARY:
        return bp_binary_plan(made, job->options, (bp_binary_kind)words->kind, in[0], in[1], out);
    case TAKE:
        return bp_take_plan(made, job->options, in[0], in[1], words->axis, out);
    default:
        return bp_gather_plan(made, job->options, in[0], in[1], words->axis, out);
    }
}

static const cli_measured unary = {BP_OP_UNARY, plan, check_unary}, binary = {BP_OP_BINARY, plan, check_binary},
                          take = {BP_OP_TAKE, plan, check_take}, gather = {BP_OP_GATHER, plan, check_gather};
#define SIZING(arrays, options)                                                                                        \
    { arrays, options, NULL, work_elements, "1 for each element", true, {64, 4096, 262144, 4194304}, 0, NULL }
static const cli_sizing unary_sizing = SIZING("n", "kind=exp"), binary_sizing = SIZING("n n", "kind=add"),
                        indices_sizing = SIZING("n n:below:n", NULL);
static const char *const unary_options[] = {"kind", "to", NULL};
static const char *const binary_options[] = {"kind", NULL};
static const char *const axis_options[] = {"dim", NULL};

const cli_operation operations_elementwise[] = {
    {"unary", "INPUT", 1, 1, 1, UNARY, unary_options, prepare, run, explain, false, &unary, NULL, &unary_sizing},
    {"binary", "A B", 2, 2, 1, BINARY, binary_options, prepare, run, explain, false, &binary, NULL, &binary_sizing},
    {"take", "INPUT INDICES", 2, 2, 1, TAKE, axis_options, prepare, run, explain, false, &take, NULL, &indices_sizing},
    {"gather", "INPUT INDICES", 2, 2, 1, GATHER, axis_options, prepare, run, explain, false, &gather, NULL,
     &indices_sizing},
    {"concat", "A [B ...]", 1, JOB_MANY, 1, CONCAT, axis_options, prepare, run, NULL, false, NULL, NULL, NULL},
    {.name = NULL},
};
