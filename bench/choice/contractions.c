/* contractions.c - makes contractions: the ones in einsum.c with two operands or more, and random products of two
 * tensors whose dimensions are in random order. */
#include "choice.h"

#include "../labels.h"

#define MOST_MULTIPLICATIONS 2e7
#define MOST_ELEMENTS 1e6 /* of an operand */

static const struct {
    const char *expression, *sizes;
} examples[] = {
#define CASE(name, expression, sizes) {expression, sizes},
#include "../einsum_cases.h"
#undef CASE
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

static void make(problem *p, bp_dtype dtype, const char *expression, const int64_t size[128]) {
    int64_t shape[BP_MAX_NDIM];
    const char *term = expression;
    do {
        const int ndim = labels_shape(size, term, shape, &term);
        problem_add(p, dtype, ndim, shape);
        p->inputs[p->operands - 1] = &p->views[p->operands - 1].tensor;
    } while (term);
    snprintf(p->expression, sizeof p->expression, "%s", expression);
    p->einsum = (bp_einsum_call){
        .struct_size = sizeof p->einsum, .expression = p->expression, .count = p->operands - 1, .operands = p->inputs};
    int used = snprintf(p->name, sizeof p->name, "%s %s", bp_dtype_name(dtype), expression);
    for (int label = 'a'; label <= 'z'; label++) {
        if (strchr(expression, label) && used < (int)sizeof p->name) {
            used += snprintf(p->name + used, sizeof p->name - (size_t)used, " %c=%d", label, (int)size[label]);
        }
    }
}

static void make_fixed(problem *p, int index) {
    int64_t size[128] = {0};
    labels_read_sizes(size, examples[index % EXAMPLES].sizes);
    make(p, index < EXAMPLES ? BP_F32 : BP_F64, examples[index % EXAMPLES].expression, size);
}

/* Appends the labels in random order. */
static char *add_shuffled(char *to, const char *labels, uint64_t *state) {
    const int count = (int)strlen(labels);
    memcpy(to, labels, (size_t)count + 1);
    for (int i = count - 1; i > 0; i--) {
        const int other = random_below(state, i + 1);
        const char label = to[i];
        to[i] = to[other];
        to[other] = label;
    }
    return to + count;
}

static double elements(const char *labels, const int64_t size[128]) {
    double product = 1;
    for (; *labels; labels++) {
        product *= (double)size[(int)*labels];
    }
    return product;
}

/* Up to one label of a batch (a), one or two of the left (b, c) and the right operand (d, e), and one or two that are
 * summed (f, g). */
static void make_random(problem *p, uint64_t *state) {
    static const char *const batches[] = {"", "a"}, *const lefts[] = {"b", "bc"}, *const rights[] = {"d", "de"},
                             *const sums[] = {"f", "fg"};
    char left[8], right[8], out[8], all[16], expression[32];
    int64_t size[128] = {0};
    const char *batch = batches[random_below(state, 2)], *rows = lefts[random_below(state, 2)];
    const char *columns = rights[random_below(state, 2)], *summed = sums[random_below(state, 2)];
    snprintf(left, sizeof left, "%s%s%s", batch, rows, summed);
    snprintf(right, sizeof right, "%s%s%s", batch, summed, columns);
    snprintf(out, sizeof out, "%s%s%s", batch, rows, columns);
    snprintf(all, sizeof all, "%s%s%s%s", batch, rows, columns, summed);
    do {
        for (int label = 'a'; label <= 'g'; label++) {
            size[label] = 1 + random_size(state, 127);
        }
    } while (elements(all, size) > MOST_MULTIPLICATIONS || elements(left, size) > MOST_ELEMENTS ||
             elements(right, size) > MOST_ELEMENTS || elements(out, size) > MOST_ELEMENTS);
    char *at = add_shuffled(expression, left, state);
    *at++ = ',';
    at = add_shuffled(at, right, state);
    *at++ = '-';
    *at++ = '>';
    add_shuffled(at, out, state);
    const bp_dtype dtype = random_below(state, 2) ? BP_F64 : BP_F32;
    make(p, dtype, expression, size);
}

static bp_status plan(bp_plan **plan, const bp_options *options, const problem *p) {
    return bp_einsum_plan(plan, options, &p->einsum, &p->views[p->operands - 1].tensor);
}

static bp_status explain(bp_explanation **explanation, const bp_options *options, const problem *p) {
    return bp_einsum_explain(explanation, options, &p->einsum, &p->views[p->operands - 1].tensor);
}

static bp_status run(const problem *p) {
    return bp_einsum_run(NULL, &p->einsum, (DLTensor *)&p->views[p->operands - 1].tensor);
}

const family family_contractions = {
    .name = "contractions",
    .preferred = "blas.preferred",
    .fixed = 2 * EXAMPLES,
    .make_fixed = make_fixed,
    .make_random = make_random,
    .plan = plan,
    .explain = explain,
    .run = run,
};
