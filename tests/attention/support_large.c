/* support_large.c - calls of attention whose scores are large and finite: masks of a type's lowest number, and products
 * of queries and keys near the greatest one. Scores are numbers of the computation's type, so the reference is softmax
 * of exactly these, in long double, with bounds that do not grow with the scores. */
#include "attention/cases.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 5, COLUMNS = 3, GRADIENTS = 4 };

/* ---- Cases ---- */

static double lowest(bp_dtype dtype) {
    return dtype == BP_F16 ? -65504 : dtype == BP_BF16 ? -0x1.fep127 : dtype == BP_F32 ? -(double)FLT_MAX : -DBL_MAX;
}

static bool has_mask(attention_large kind) {
    return kind <= ATTENTION_PADDED_F32;
}

/* Small numbers, such that all scores are exact. */
static void put_small(test_array *t, double step) {
    for (int64_t i = 0; i < test_array_count(t); i++) {
        test_array_set(t, i, (double)test_array_between(-8, 8) * step);
    }
}

/* Scores of 1.75 x 2^127 in f32 and bf16, of 1.75 x 2^1023 in f64: above the greatest number divided by log2(e). */
static void put_large(attention_case *c, attention_large kind) {
    const bp_dtype dtype = c->shape.dtype;
    test_array *query = &c->tensor[BP_ATTENTION_QUERY], *key = &c->tensor[BP_ATTENTION_KEY];
    const double q = dtype == BP_F16 ? 0x1p10 : dtype == BP_F64 ? 0x1p511 : 0x1p63;
    const double k = dtype == BP_F16 ? 0x1.cp15 : (dtype == BP_F64 ? 0x1.cp512 : 0x1.cp64) / c->call.scale;
    static const double mixed[] = {-1, 0.75, 1, 0, 0x1p-10, 0.5};
    put_small(query, 0);
    put_small(key, 0);
    for (int64_t row = 0; row < c->shape.queries; row++) {
        test_array_set(query, row * SIZE, kind == ATTENTION_MIXED && row % 2 ? -q : q);
    }
    for (int64_t row = 0; row < c->shape.keys; row++) {
        test_array_set(key, row * SIZE,
                       k * (kind == ATTENTION_MIXED ? mixed[row % 6]
                            : kind == ATTENTION_LOW ? -1
                                                    : 1));
    }
}

/* Padding: all rows, or every second one, have the lowest number for all keys; others have it for some. */
static void put_mask(attention_case *c, attention_large kind) {
    test_array *mask = &c->tensor[BP_ATTENTION_MASK];
    const int64_t columns = mask->view.shape[mask->view.tensor.ndim - 1];
    for (int64_t i = 0; i < test_array_count(mask); i++) {
        const bool padded = kind == ATTENTION_PADDED || i / columns % 2 == 0 || test_array_between(0, 2) == 0;
        test_array_set(mask, i, padded ? lowest(mask->dtype) : 0.25 * (double)test_array_between(-4, 4));
    }
}

void attention_begin_large(attention_case *c, attention_large kind, bp_dtype dtype, int64_t queries, int64_t keys) {
    const bool causal = !has_mask(kind) && test_array_between(0, 1);
    const attention_shape shape = {.dtype = dtype,
                                   .queries = queries,
                                   .keys = keys,
                                   .size = SIZE,
                                   .value_size = COLUMNS,
                                   .mask = !has_mask(kind)                ? ATTENTION_NO_MASK
                                           : kind == ATTENTION_PADDED_F32 ? ATTENTION_F32
                                                                          : ATTENTION_OWN,
                                   .causal = causal,
                                   .logsumexp = true,
                                   .scale = kind == ATTENTION_SCALED ? 0.25 : 1};
    attention_begin(c, &shape);
    put_small(&c->tensor[BP_ATTENTION_VALUE], 0.125);
    if (has_mask(kind)) {
        put_small(&c->tensor[BP_ATTENTION_QUERY], 0.25);
        put_small(&c->tensor[BP_ATTENTION_KEY], 0.25);
        put_mask(c, kind);
    } else {
        put_large(c, kind);
    }
    snprintf(c->text + strlen(c->text), sizeof c->text - strlen(c->text), ", large scores %d", (int)kind);
}

void attention_turn_large(attention_case *c) {
    attention_turn(c);
    put_small(&c->tensor[BP_ATTENTION_OUTPUT_GRADIENT], 0x1p-6);
}

/* ---- Reference ---- */

static double epsilon(bp_dtype dtype) {
    return dtype == BP_F64 ? 0x1p-53 : dtype == BP_F32 ? 0x1p-24 : dtype == BP_F16 ? 0x1p-11 : 0x1p-8;
}

static double computed_epsilon(const attention_case *c) {
    return epsilon(c->shape.dtype == BP_F64 ? BP_F64 : BP_F32);
}

static long double rounded(const attention_case *c, long double x) {
    return c->shape.dtype == BP_F64 ? (long double)(double)x : (long double)(float)x;
}

static double get(const attention_case *c, int which, int64_t index) {
    return test_array_get(&c->tensor[which], index);
}

/* Index in the mask of a row's key, or -1. */
static int64_t mask_index(const attention_case *c, int64_t row, int64_t key) {
    const test_array *mask = &c->tensor[BP_ATTENTION_MASK];
    if (!mask->memory) {
        return -1;
    }
    const int64_t *size = &mask->view.shape[mask->view.tensor.ndim - 2];
    return (size[0] == 1 ? 0 : row) * size[1] + (size[1] == 1 ? 0 : key);
}

/* Computes the weights of a row. Returns the logarithm of the sum of exponentials. */
static long double weigh(const attention_case *c, int64_t row, long double *weight) {
    long double top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < c->shape.keys; j++) {
        long double score = 0;
        for (int64_t e = 0; e < SIZE; e++) {
            score += (long double)get(c, BP_ATTENTION_QUERY, row * SIZE + e) * get(c, BP_ATTENTION_KEY, j * SIZE + e);
        }
        const int64_t at = mask_index(c, row, j);
        score = rounded(c, score * c->call.scale);
        score = at < 0 ? score : rounded(c, score + get(c, BP_ATTENTION_MASK, at));
        weight[j] = c->call.is_causal && j > row ? -INFINITY : score;
        top = weight[j] > top ? weight[j] : top;
    }
    for (int64_t j = 0; j < c->shape.keys; j++) {
        weight[j] = expl(weight[j] - top);
        sum += weight[j];
    }
    for (int64_t j = 0; j < c->shape.keys; j++) {
        weight[j] /= sum;
    }
    return top + logl(sum);
}

static void compare(const attention_case *c, const char *name, int64_t index, double got, long double want,
                    double bound) {
    if (!(fabsl(got - want) <= (long double)bound)) {
        fail_msg("%s: %s %" PRId64 " is %.9g; it must be %.9g, within %.3g", c->text, name, index, got, (double)want,
                 bound);
    }
}

static double least(bp_dtype dtype) {
    return dtype == BP_F16 ? 0x1p-24 : 0x1p-120;
}

static void compare_row(const attention_case *c, int64_t row, long double *weight) {
    const long double logarithm = weigh(c, row, weight);
    const double eps = computed_epsilon(c), error = (double)(c->shape.keys + 40) * eps;
    compare(c, "logsumexp", row, get(c, BP_ATTENTION_LOGSUMEXP, row), logarithm,
            error + eps * (double)fabsl(logarithm));
    for (int64_t e = 0; e < COLUMNS; e++) {
        long double want = 0, size = 0;
        for (int64_t j = 0; j < c->shape.keys; j++) {
            want += weight[j] * get(c, BP_ATTENTION_VALUE, j * COLUMNS + e);
            size += weight[j] * fabs(get(c, BP_ATTENTION_VALUE, j * COLUMNS + e));
        }
        const double bound = (error + c->weight_error) * (double)size + epsilon(c->shape.dtype) * (double)fabsl(want) +
                             least(c->shape.dtype);
        compare(c, "output", row * COLUMNS + e, get(c, BP_ATTENTION_OUTPUT, row * COLUMNS + e), want, bound);
    }
}

void attention_compare_large(const attention_case *c) {
    long double *weight = malloc((size_t)c->shape.keys * sizeof *weight);
    assert_non_null(weight);
    for (int64_t row = 0; row < c->shape.queries; row++) {
        compare_row(c, row, weight);
    }
    free(weight);
}

/* ---- Gradients ---- */

/* Sums of a gradient, and bounds of their errors relative to the errors of weights and slopes. */
typedef struct sums {
    long double *value, *size;
} sums;

static void add(sums *to, int64_t index, long double factor, long double size, double by) {
    to->value[index] += factor * by;
    to->size[index] += size * fabs(by);
}

static void add_row(const attention_case *c, int64_t row, long double *weight, sums of[GRADIENTS]) {
    const long double logarithm = fabsl(weigh(c, row, weight));
    const double eps = computed_epsilon(c), scale = c->call.scale;
    /* A weight is computed from LOGSUMEXP unless this has too few digits. */
    const double error =
        eps * ((double)(c->shape.keys + 8 * c->shape.queries + 64) + (logarithm < 1024 ? (double)logarithm : 0));
    long double share = 0, share_size = 0;
    for (int64_t i = 0; i < c->shape.keys * COLUMNS; i++) {
        const double product =
            get(c, BP_ATTENTION_OUTPUT_GRADIENT, row * COLUMNS + i % COLUMNS) * get(c, BP_ATTENTION_VALUE, i);
        share += weight[i / COLUMNS] * product;
        share_size += weight[i / COLUMNS] * fabs(product);
    }
    for (int64_t j = 0; j < c->shape.keys; j++) {
        long double slope = 0, size = share_size;
        for (int64_t e = 0; e < COLUMNS; e++) {
            const double g = get(c, BP_ATTENTION_OUTPUT_GRADIENT, row * COLUMNS + e);
            slope += g * get(c, BP_ATTENTION_VALUE, j * COLUMNS + e);
            size += fabs(g * get(c, BP_ATTENTION_VALUE, j * COLUMNS + e));
            add(&of[2], j * COLUMNS + e, weight[j], weight[j] * error, g);
        }
        slope = weight[j] * (slope - share);
        size = weight[j] * size * (error + 2 * epsilon(c->shape.dtype) + c->weight_error);
        for (int64_t e = 0; e < SIZE; e++) {
            add(&of[0], row * SIZE + e, slope * scale, size * scale, get(c, BP_ATTENTION_KEY, j * SIZE + e));
            add(&of[1], j * SIZE + e, slope * scale, size * scale, get(c, BP_ATTENTION_QUERY, row * SIZE + e));
        }
        if (of[3].value) {
            add(&of[3], mask_index(c, row, j), slope, size, 1);
        }
    }
}

void attention_compare_large_gradients(const attention_case *c) {
    static const char *const names[GRADIENTS] = {"gradient by query", "gradient by key", "gradient by value",
                                                 "gradient by mask"};
    const int count = c->call.mask_gradient ? GRADIENTS : GRADIENTS - 1;
    long double *weight = malloc((size_t)c->shape.keys * sizeof *weight);
    sums of[GRADIENTS] = {{NULL, NULL}};
    assert_non_null(weight);
    for (int i = 0; i < count; i++) {
        const size_t elements = (size_t)test_array_count(&c->tensor[BP_ATTENTION_QUERY + i]);
        of[i] = (sums){calloc(elements, sizeof(long double)), calloc(elements, sizeof(long double))};
        assert_true(of[i].value && of[i].size);
    }
    for (int64_t row = 0; row < c->shape.queries; row++) {
        add_row(c, row, weight, of);
    }
    for (int i = 0; i < count; i++) {
        const bp_dtype dtype = c->tensor[BP_ATTENTION_QUERY + i].dtype;
        for (int64_t e = 0; e < test_array_count(&c->tensor[BP_ATTENTION_QUERY + i]); e++) {
            const double bound = (double)(of[i].size[e] + epsilon(dtype) * fabsl(of[i].value[e])) + least(dtype);
            compare(c, names[i], e, get(c, BP_ATTENTION_QUERY_GRADIENT + i, e), of[i].value[e], bound);
        }
        free(of[i].value);
        free(of[i].size);
    }
    free(weight);
}
