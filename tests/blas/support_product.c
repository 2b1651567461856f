/* support_product.c - runs matrix products in every layout, with guards around C. */
#include "blas/support_blas.h"
#include "support/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const bp_provider *test_provider = &bp_provider_blas;

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

/* Makes a view of an operand with all items. */
static void view_operand(bp_view *view, const test_product *p, const operand *x, int64_t rows, int64_t columns) {
    int64_t shape[4], strides[4];
    int ndim = 0;
    for (int d = 0; d < 2; d++) {
        if (p->batch[d] > 0) {
            shape[ndim] = p->batch[d];
            strides[ndim++] = x->step[d];
        }
    }
    shape[ndim] = rows;
    strides[ndim++] = x->row;
    shape[ndim] = columns;
    strides[ndim++] = x->column;
    assert_int_equal(bp_view_init(view, x->origin, p->dtype, ndim, shape, strides), BP_OK);
}

/* Makes the reference of the product; C is as before the run. */
static void make_reference(reference_results *made, const test_product *p, const trial *t, bp_view views[3]) {
    view_operand(&views[0], p, &t->a, p->m, p->k);
    view_operand(&views[1], p, &t->b, p->k, p->n);
    view_operand(&views[2], p, &t->c, p->m, p->n);
    assert_int_equal(reference_of_gemm(made, p->conjugate_a ? BP_CONJUGATE : BP_AS_IS,
                                       p->conjugate_b ? BP_CONJUGATE : BP_AS_IS, &t->scalars[0], &views[0].tensor,
                                       &views[1].tensor, &t->scalars[1], &views[2].tensor),
                     BP_OK);
}

/* Checks that only elements of C were written: the old block gets the new elements, and both must be equal. */
static void check_surroundings(const test_product *p, trial *t, const char *text) {
    const int64_t inner = p->batch[1] > 0 ? p->batch[1] : 1, size = size_of(p->dtype);
    for (int64_t at = 0; at < items_of(p) * p->m * p->n; at++) {
        const int64_t q = at / (p->m * p->n);
        const char *element = address(&t->c, size, at / p->n % p->m, at % p->n, q / inner, q % inner);
        memcpy(t->before + (element - t->c.block), element, (size_t)size);
    }
    if (memcmp(t->before, t->c.block, t->c.size) != 0) {
        fail_msg("%s: memory around C was written", text);
    }
}

/* Runs an offer and checks it. The bound is k + 4 roundings; the reference allows k + 8 of them for real types,
 * and one hundredth more. */
static void check_offer(const test_product *p, trial *t, const test_offers *offers, int index,
                        const reference_results *of) {
    char text[256];
    const double part = is_complex(p->dtype) ? 0.99 : (double)(p->k + 4) / (1.01 * (double)(p->k + 8));
    snprintf(text, sizeof text, "'%s': %s %ldx%ldx%ld layouts %d %d %d conjugates %d %d alpha %g beta %g batch %ldx%ld",
             offers->of[index].verdict.algorithm, bp_dtype_name(p->dtype), (long)p->m, (long)p->n, (long)p->k,
             (int)p->a, (int)p->b, (int)p->c, p->conjugate_a, p->conjugate_b, p->alpha, p->beta, (long)p->batch[0],
             (long)p->batch[1]);
    run_offer(t, offers, index);
    test_compare_results(of, part, text);
    check_surroundings(p, t, text);
}

/* Runs every accepted offer, or the offer of one algorithm. Returns how many were run. */
static int run_offers(void *instance, const test_product *p, const char *algorithm, bp_verdict *verdict) {
    trial t;
    test_offers offers;
    bp_view views[3];
    reference_results made;
    int count = 0;
    make_trial(&t, p, 7);
    make_reference(&made, p, &t, views);
    test_offers_ask(&offers, test_provider, instance, &t.problem);
    *verdict = *test_offers_verdict(&offers);
    for (int i = test_offers_next(&offers, -1); i >= 0; i = test_offers_next(&offers, i)) {
        const char *own = offers.of[i].verdict.algorithm;
        if (!algorithm || strcmp(own, algorithm) == 0) {
            check_offer(p, &t, &offers, i, &made);
            count++;
        }
    }
    test_offers_free(&offers);
    reference_results_free(&made);
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
