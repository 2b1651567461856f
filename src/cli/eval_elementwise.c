/* eval_elementwise.c - functions of single elements, taking by indices and concatenation, for the commands that take an
 * operation. */
#include "operations.h"

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

static int read_kind(cli_job *job) {
    bp__name_at name_at = job->operation->number == UNARY ? unary_at : binary_at;
    const char *word = cli_value(job->args, "kind");
    if (!word) {
        return cli_fail(CLI_USAGE, "%s: --kind is missing, such as --kind %s", job->operation->name,
                        job->operation->number == UNARY ? "gelu" : "add");
    }
    for (int i = 0; name_at(NULL, i); i++) {
        if (strcmp(name_at(NULL, i), word) == 0) {
            job->words.elementwise.kind = i;
            return CLI_OK;
        }
    }
    return cli_fail(CLI_USAGE, "%s: there is no kind '%s'%s", job->operation->name, word,
                    cli_suggest(word, "", name_at, NULL));
}

/* The type of the result of a copy; other functions keep that of the input. */
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

/* ---- Shapes ---- */

/* Returns the axis counted from the first dimension; -1 if there is no such dimension. */
static int axis_of(const cli_job *job) {
    const int ndim = job->inputs[0].tensor.ndim, axis = job->words.elementwise.axis;
    return axis < -ndim || axis >= ndim ? -1 : axis < 0 ? axis + ndim : axis;
}

/* Each shape is that of a call without errors; if there is one, the library reports it. */
static int shape_of_broadcast(const cli_job *job, int64_t *shape) {
    const DLTensor *a = &job->inputs[0].tensor, *b = &job->inputs[1].tensor;
    const int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int d = 0; d < ndim; d++) {
        const int i = d - (ndim - a->ndim), j = d - (ndim - b->ndim);
        const int64_t m = i < 0 ? 1 : a->shape[i], n = j < 0 ? 1 : b->shape[j];
        shape[d] = m == 1 ? n : m;
    }
    return ndim;
}

static int shape_of_taken(const cli_job *job, int64_t *shape) {
    const DLTensor *input = &job->inputs[0].tensor, *indices = &job->inputs[1].tensor;
    int ndim = 0;
    for (int d = 0; d < input->ndim; d++) {
        for (int i = 0; d == axis_of(job) && i < indices->ndim && ndim < BP_MAX_NDIM; i++) {
            shape[ndim++] = indices->shape[i];
        }
        if (d != axis_of(job) && ndim < BP_MAX_NDIM) {
            shape[ndim++] = input->shape[d];
        }
    }
    return ndim;
}

static int shape_of_all(const cli_job *job, int64_t *shape) {
    const DLTensor *first = &job->inputs[0].tensor;
    const int axis = axis_of(job);
    for (int d = 0; d < first->ndim; d++) {
        shape[d] = first->shape[d];
    }
    for (int i = 1; i < job->input_count && axis >= 0; i++) {
        const DLTensor *more = &job->inputs[i].tensor;
        shape[axis] += more->ndim == first->ndim ? more->shape[axis] : 0;
    }
    return first->ndim;
}

static int prepare(cli_job *job) {
    const int number = job->operation->number;
    const DLTensor *shaped = &job->inputs[number == GATHER ? 1 : 0].tensor;
    int64_t shape[BP_MAX_NDIM];
    bp_dtype dtype = BP_DTYPE_NONE;
    int code = number <= BINARY ? read_kind(job) : read_axis(job);
    code = code == CLI_OK ? read_type(job, &dtype) : code;
    if (code != CLI_OK) {
        return code;
    }
    const int ndim = number == BINARY   ? shape_of_broadcast(job, shape)
                     : number == TAKE   ? shape_of_taken(job, shape)
                     : number == CONCAT ? shape_of_all(job, shape)
                                        : shaped->ndim;
    return job_result(job, 0, dtype, ndim, number == UNARY || number == GATHER ? shaped->shape : shape);
}

/* ---- Calls ---- */

static bp_status run(cli_job *job) {
    const elementwise_words *words = &job->words.elementwise;
    const DLTensor *const *in = job->tensors, *out = &job->results[0].tensor;
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
        return bp_concat_run(job->options, in, job->input_count, words->axis, out);
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

static bp_status check(cli_check *made, const cli_job *job) {
    (void)job;
    return check_nothing(made);
}

static const cli_measured measured = {NULL, plan, check};
static const char *const unary_options[] = {"kind", "to", NULL};
static const char *const binary_options[] = {"kind", NULL};
static const char *const axis_options[] = {"dim", NULL};

const cli_operation operations_elementwise[] = {
    {"unary", "INPUT", 1, 1, 1, UNARY, unary_options, prepare, run, explain, false, &measured},
    {"binary", "A B", 2, 2, 1, BINARY, binary_options, prepare, run, explain, false, &measured},
    {"take", "INPUT INDICES", 2, 2, 1, TAKE, axis_options, prepare, run, explain, false, &measured},
    {"gather", "INPUT INDICES", 2, 2, 1, GATHER, axis_options, prepare, run, explain, false, &measured},
    {"concat", "A [B ...]", 1, JOB_MANY, 1, CONCAT, axis_options, prepare, run, NULL, false, NULL},
    {.name = NULL},
};
