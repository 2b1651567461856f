/* support_product.c - runs matrix products in every layout, with guards around C and a long double reference. */
#include "blas/support_blas.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const bp_provider *test_provider = &bp_provider_blas;

typedef long double complex wide;

typedef struct operand {
    char *block;  /* the whole allocation */
    size_t size;  /* bytes of the block */
    char *origin; /* element (0, 0) of item 0 */
    int64_t row, column, step[2];
} operand;

static bool is_complex(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

static bool is_wide(bp_dtype dtype) {
    return dtype == BP_F64 || dtype == BP_C128;
}

static int64_t size_of(bp_dtype dtype) {
    return dtype == BP_F32 ? 4 : dtype == BP_C128 ? 16 : 8;
}

static wide load(bp_dtype dtype, const char *at) {
    const float *f = (const void *)at;
    const double *d = (const void *)at;
    wide i = 1.0iL;
    return dtype == BP_F32 ? f[0] : dtype == BP_F64 ? d[0] : dtype == BP_C64 ? f[0] + i * f[1] : d[0] + i * d[1];
}

static double draw(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(int32_t)*seed / 2147483648.0;
}

static const char *address(const operand *x, int64_t size, int64_t i, int64_t j, int64_t p, int64_t q) {
    return x->origin + (i * x->row + j * x->column + p * x->step[0] + q * x->step[1]) * size;
}

static void place(operand *x, test_layout layout, int64_t rows, int64_t columns) {
    int64_t r = rows > 0 ? rows : 1, c = columns > 0 ? columns : 1;
    x->row = layout == TEST_ROWS_APART ? c + 3 : layout == TEST_GENERAL ? 2 * c + 1 : layout == TEST_REPEATED ? 0 : c;
    x->column = layout == TEST_GENERAL ? 2 : 1;
    if (layout == TEST_COLUMNS || layout == TEST_COLUMNS_APART || layout == TEST_COLUMNS_BACKWARDS) {
        x->row = 1;
        x->column = layout == TEST_COLUMNS_APART ? r + 5 : r;
    } else if (layout == TEST_OVERLAPPING) {
        x->row = x->column = 1;
    }
    if (layout == TEST_BACKWARDS) {
        x->row = -x->row;
    } else if (layout == TEST_COLUMNS_BACKWARDS) {
        x->column = -x->column;
    }
}

#define GUARD 32 /* elements before and after */

static void make_operand(operand *x, const test_product *p, test_layout layout, int64_t rows, int64_t columns,
                         bool broadcast, unsigned *seed) {
    int64_t size = size_of(p->dtype);
    place(x, layout, rows, columns);
    int64_t last_row = (rows > 1 ? rows - 1 : 0) * x->row, last_column = (columns > 1 ? columns - 1 : 0) * x->column;
    int64_t low = (last_row < 0 ? last_row : 0) + (last_column < 0 ? last_column : 0);
    int64_t high = (last_row > 0 ? last_row : 0) + (last_column > 0 ? last_column : 0);
    /* If the layout has no gaps, items follow each other without a gap, so that a batch can be merged into one product.
     */
    int64_t item = layout == TEST_ROWS || layout == TEST_COLUMNS ? rows * columns : high - low + 3;
    int64_t inner = p->batch[1] > 0 ? p->batch[1] : 1, outer = p->batch[0] > 0 ? p->batch[0] : 1;
    x->step[1] = broadcast ? 0 : item;
    x->step[0] = broadcast ? item : item * inner;
    int64_t elements = GUARD * 2 + (high - low + 1) + item * inner * outer;
    x->size = (size_t)(elements * size) + 128;
    x->block = aligned_alloc(64, (x->size + 63) & ~(size_t)63);
    assert_non_null(x->block);
    x->origin = x->block + p->shift + (GUARD - low) * size;
    int64_t scalars = (elements * size) / (is_wide(p->dtype) ? 8 : 4);
    for (int64_t i = 0; i < scalars; i++) {
        double value = draw(seed);
        if (is_wide(p->dtype)) {
            memcpy(x->block + p->shift + i * 8, &value, 8);
        } else {
            float narrow = (float)value;
            memcpy(x->block + p->shift + i * 4, &narrow, 4);
        }
    }
}

static bp_scalar scalar_of(bp_dtype dtype, double value) {
    bool plain = value == 0 || value == 1 || !is_complex(dtype);
    return (bp_scalar){value, plain ? 0 : value / 2 - 1};
}

static uint8_t factor_of(double value) {
    return value == 0 ? BP_FACTOR_ZERO : value == 1 ? BP_FACTOR_ONE : BP_FACTOR_ANY;
}

static void describe(bp_problem *problem, const test_product *p, const operand *a, const operand *b, const operand *c) {
    memset(problem, 0, sizeof *problem);
    problem->struct_size = sizeof *problem;
    problem->op = BP_OP_GEMM;
    problem->dtype = p->dtype;
    problem->policy.threads = p->threads > 0 ? p->threads : 1;
    problem->policy.deterministic = (uint8_t)p->deterministic;
    bp_gemm_problem *g = &problem->of.gemm;
    g->m = p->m;
    g->n = p->n;
    g->k = p->k;
    g->a_row = p->m == 1 ? 0 : a->row;
    g->a_column = p->k == 1 ? 0 : a->column;
    g->b_row = p->k == 1 ? 0 : b->row;
    g->b_column = p->n == 1 ? 0 : b->column;
    g->c_row = p->m == 1 ? 0 : c->row;
    g->c_column = p->n == 1 ? 0 : c->column;
    g->conjugate_a = p->conjugate_a;
    g->conjugate_b = p->conjugate_b;
    g->alpha = factor_of(p->alpha);
    g->beta = factor_of(p->beta);
    g->batch = 1;
    for (int d = 0; d < 2; d++) {
        if (p->batch[d] > 0) {
            g->batch_shape[g->batch_ndim] = p->batch[d];
            g->batch_a[g->batch_ndim] = a->step[d];
            g->batch_b[g->batch_ndim] = b->step[d];
            g->batch_c[g->batch_ndim] = c->step[d];
            g->batch *= p->batch[d];
            g->batch_ndim++;
        }
    }
}

bp_problem test_problem(const test_product *p) {
    operand a = {0}, b = {0}, c = {0};
    place(&a, p->a, p->m, p->k);
    place(&b, p->b, p->k, p->n);
    place(&c, p->c, p->m, p->n);
    bp_problem problem;
    describe(&problem, p, &a, &b, &c);
    return problem;
}

typedef struct trial {
    operand a, b, c;
    char *fresh;  /* C's block before a run */
    char *before; /* a copy of it; checked elements are overwritten with the result */
    bp_scalar scalars[2];
    bp_problem problem;
} trial;

static int64_t items_of(const test_product *p) {
    return (p->batch[0] > 0 ? p->batch[0] : 1) * (p->batch[1] > 0 ? p->batch[1] : 1);
}

/* Fills C with NaN if it must not be read. */
static void poison(operand *c, const test_product *p) {
    int64_t inner = p->batch[1] > 0 ? p->batch[1] : 1, size = size_of(p->dtype);
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            for (int64_t q = 0; q < items_of(p); q++) {
                memset((char *)(uintptr_t)address(c, size, i, j, q / inner, q % inner), 0xff, (size_t)size);
            }
        }
    }
}

static void make_trial(trial *t, const test_product *p, unsigned seed) {
    memset(t, 0, sizeof *t);
    make_operand(&t->a, p, p->a, p->m, p->k, p->broadcast_a, &seed);
    make_operand(&t->b, p, p->b, p->k, p->n, p->broadcast_b, &seed);
    make_operand(&t->c, p, p->c, p->m, p->n, false, &seed);
    if (p->beta == 0) {
        poison(&t->c, p);
    }
    t->fresh = malloc(t->c.size);
    t->before = malloc(t->c.size);
    assert_non_null(t->fresh);
    assert_non_null(t->before);
    memcpy(t->fresh, t->c.block, t->c.size);
    t->scalars[0] = scalar_of(p->dtype, p->alpha);
    t->scalars[1] = scalar_of(p->dtype, p->beta);
    describe(&t->problem, p, &t->a, &t->b, &t->c);
}

static void run_offer(trial *t, const test_offers *offers, int index) {
    const char *algorithm = offers->of[index].verdict.algorithm;
    bp_prepared *prepared = NULL;
    memcpy(t->c.block, t->fresh, t->c.size);
    memcpy(t->before, t->fresh, t->c.size);
    bp_status status = test_offers_plan(offers, index, &t->problem, &prepared);
    if (status != BP_OK) {
        fail_msg("plan of '%s': %s: %s", algorithm, bp_status_name(status), test_error);
    }
    status = test_enqueue(prepared, (void *[]){t->a.origin, t->b.origin, t->c.origin}, 3, t->scalars);
    prepared->destroy(prepared);
    if (status != BP_OK) {
        fail_msg("run of '%s': %s: %s", algorithm, bp_status_name(status), test_error);
    }
}

static void discard(trial *t) {
    free(t->a.block);
    free(t->b.block);
    free(t->c.block);
    free(t->fresh);
    free(t->before);
}

/* Returns an upper bound of the absolute value, at most 1.5 times as large; much faster than cabsl. */
static long double size_of_value(wide value) {
    return fabsl(creall(value)) + fabsl(cimagl(value));
}

static wide conjugated(wide value, bool conjugate) {
    return conjugate ? conjl(value) : value;
}

/* Checks one element and copies it to the old block, so that the rest of both blocks must be equal. */
static void check_element(const test_product *p, trial *t, const char *algorithm, int64_t i, int64_t j, int64_t x,
                          int64_t y) {
    int64_t size = size_of(p->dtype);
    const char *at = address(&t->c, size, i, j, x, y);
    char *old = t->before + (at - t->c.block);
    if (p->m * p->n * p->k > 100000 && (i * p->n + j) % 37 != 0) { /* large products are sampled */
        memcpy(old, at, (size_t)size);
        return;
    }
    wide sum = 0;
    long double magnitude = 0;
    for (int64_t l = 0; l < p->k; l++) {
        wide a = conjugated(load(p->dtype, address(&t->a, size, i, l, x, y)), p->conjugate_a);
        wide b = conjugated(load(p->dtype, address(&t->b, size, l, j, x, y)), p->conjugate_b);
        sum += a * b;
        magnitude += size_of_value(a) * size_of_value(b);
    }
    wide alpha = t->scalars[0].re + 1.0iL * t->scalars[0].im, beta = t->scalars[1].re + 1.0iL * t->scalars[1].im;
    wide expected = p->alpha == 0 ? 0 : alpha * sum;
    magnitude *= size_of_value(alpha);
    if (p->beta != 0) {
        wide c = load(p->dtype, old);
        expected += beta * c;
        magnitude += size_of_value(beta) * size_of_value(c);
    }
    long double unit = is_wide(p->dtype) ? 0x1p-53L : 0x1p-24L;
    long double bound = (long double)(p->k + 4) * unit * magnitude * (is_complex(p->dtype) ? 2 : 1);
    wide got = load(p->dtype, at);
    if (!(cabsl(got - expected) <= bound)) {
        fail_msg(
            "'%s': %s %ldx%ldx%ld layouts %d %d %d conjugates %d %d alpha %g beta %g batch %ldx%ld, element (%ld,%ld) "
            "of item "
            "(%ld,%ld): got %Lg%+Lgi, not %Lg%+Lgi, bound %Lg",
            algorithm, bp_dtype_name(p->dtype), (long)p->m, (long)p->n, (long)p->k, (int)p->a, (int)p->b, (int)p->c,
            p->conjugate_a, p->conjugate_b, p->alpha, p->beta, (long)p->batch[0], (long)p->batch[1], (long)i, (long)j,
            (long)x, (long)y, creall(got), cimagl(got), creall(expected), cimagl(expected), bound);
    }
    memcpy(old, at, (size_t)size);
}

static void check_trial(const test_product *p, trial *t, const char *algorithm) {
    int64_t inner = p->batch[1] > 0 ? p->batch[1] : 1;
    for (int64_t q = 0; q < items_of(p); q++) {
        for (int64_t i = 0; i < p->m; i++) {
            for (int64_t j = 0; j < p->n; j++) {
                check_element(p, t, algorithm, i, j, q / inner, q % inner);
            }
        }
    }
    if (memcmp(t->before, t->c.block, t->c.size) != 0) {
        fail_msg("'%s': %s %ldx%ldx%ld layouts %d %d %d: memory around C was written", algorithm,
                 bp_dtype_name(p->dtype), (long)p->m, (long)p->n, (long)p->k, (int)p->a, (int)p->b, (int)p->c);
    }
}

/* Runs every accepted offer, or the offer of one algorithm. Returns how many were run. */
static int run_offers(void *instance, const test_product *p, const char *algorithm, bp_verdict *verdict) {
    trial t;
    test_offers offers;
    int count = 0;
    make_trial(&t, p, 7);
    test_offers_ask(&offers, test_provider, instance, &t.problem);
    *verdict = *test_offers_verdict(&offers);
    for (int i = test_offers_next(&offers, -1); i >= 0; i = test_offers_next(&offers, i)) {
        const char *own = offers.of[i].verdict.algorithm;
        if (!algorithm || strcmp(own, algorithm) == 0) {
            run_offer(&t, &offers, i);
            check_trial(p, &t, own);
            count++;
        }
    }
    test_offers_free(&offers);
    discard(&t);
    return count;
}

bool test_run_product(void *instance, const test_product *p, bp_verdict *verdict) {
    return run_offers(instance, p, NULL, verdict) > 0;
}

void test_run_algorithm(void *instance, const test_product *p, const char *algorithm) {
    bp_verdict verdict;
    if (run_offers(instance, p, algorithm, &verdict) != 1) {
        fail_msg("'%s' is not offered, but '%s': %s", algorithm, verdict.algorithm, verdict.text);
    }
}

static size_t copy_bits(const test_product *p, const trial *t, char *bits, size_t size) {
    size_t element = (size_t)size_of(p->dtype), used = 0;
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n && used + element <= size; j++, used += element) {
            memcpy(bits + used, address(&t->c, (int64_t)element, i, j, 0, 0), element);
        }
    }
    return used;
}

size_t test_bits_of_product(void *instance, const test_product *p, unsigned seed, void *bits, size_t size) {
    trial t;
    test_offers offers;
    size_t used = 0;
    int accepted = 0;
    make_trial(&t, p, seed);
    test_offers_ask(&offers, test_provider, instance, &t.problem);
    for (int i = test_offers_next(&offers, -1); i >= 0; i = test_offers_next(&offers, i)) {
        accepted++;
    }
    if (accepted == 0) {
        fail_msg("refused: %s", test_offers_verdict(&offers)->text);
    }
    for (int i = test_offers_next(&offers, -1); i >= 0; i = test_offers_next(&offers, i)) {
        run_offer(&t, &offers, i);
        used += copy_bits(p, &t, (char *)bits + used, size / (size_t)accepted);
    }
    test_offers_free(&offers);
    discard(&t);
    return used;
}
