/* support_product.c - runs matrix products in every layout, with guards around C. */
#include "blas/support_blas.h"
#include "support/arrays.h"
#include "support/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const bp_provider *test_provider = &bp_provider_blas;

typedef struct operand {
    test_array array;
    int64_t row, column, step[2];
} operand;

static bool is_complex(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

static void place(operand *x, matrix_layout layout, int64_t rows, int64_t columns) {
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

/* If the layout has no gaps, items follow each other without a gap, so that a batch can be merged into one product. */
static void make_operand(operand *x, const test_product *p, matrix_layout layout, int64_t rows, int64_t columns,
                         bool broadcast) {
    place(x, layout, rows, columns);
    const int64_t last_row = rows > 1 ? llabs((rows - 1) * x->row) : 0,
                  last_column = columns > 1 ? llabs((columns - 1) * x->column) : 0;
    const bool compact = layout == TEST_ROWS || layout == TEST_COLUMNS;
    const int64_t item = compact ? rows * columns : last_row + last_column + 3;
    int64_t shape[4], strides[4];
    int ndim = 0;
    x->step[1] = broadcast ? 0 : item;
    x->step[0] = broadcast ? item : item * (p->batch[1] > 0 ? p->batch[1] : 1);
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
    test_array_make_strided(&x->array, p->dtype, ndim, shape, strides, p->shift);
    test_array_fill(&x->array, 1);
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
    test_array fresh; /* C before a run */
    bp_scalar scalars[2];
    bp_problem problem;
} trial;

/* C is NaN if it must not be read. */
static void make_trial(trial *t, const test_product *p, unsigned seed) {
    memset(t, 0, sizeof *t);
    test_array_random = seed;
    make_operand(&t->a, p, p->a, p->m, p->k, p->broadcast_a);
    make_operand(&t->b, p, p->b, p->k, p->n, p->broadcast_b);
    make_operand(&t->c, p, p->c, p->m, p->n, false);
    for (int64_t i = 0; p->beta == 0 && i < test_array_count(&t->c.array); i++) {
        test_array_set_complex(&t->c.array, i, (bp_scalar){NAN, NAN});
    }
    test_array_copy(&t->fresh, &t->c.array);
    t->scalars[0] = scalar_of(p->dtype, p->alpha);
    t->scalars[1] = scalar_of(p->dtype, p->beta);
    describe(&t->problem, p, &t->a, &t->b, &t->c);
}

static void *data_of(const operand *x) {
    return x->array.view.tensor.data;
}

/* Makes the plan. If it tells that the library computes the problem in another way than offered, asks for the offers
 * again. */
static bp_status plan_offer(void *instance, const test_offers *offers, int index, const bp_problem *problem,
                            bp_prepared **prepared) {
    test_offers again;
    bp_status status = test_offers_plan(offers, index, problem, prepared);
    if (status == BP_E_UNSUPPORTED) {
        test_offers_ask(&again, test_provider, instance, problem);
        const int first = test_offers_next(&again, -1);
        status = first < 0 ? status : test_offers_plan(&again, first, problem, prepared);
        test_offers_free(&again);
    }
    return status;
}

static void run_offer(void *instance, trial *t, const test_offers *offers, int index) {
    const char *algorithm = offers->of[index].verdict.algorithm;
    bp_prepared *prepared = NULL;
    test_array_restore(&t->c.array, &t->fresh);
    bp_status status = plan_offer(instance, offers, index, &t->problem, &prepared);
    if (status != BP_OK) {
        fail_msg("plan of '%s': %s: %s", algorithm, bp_status_name(status), test_error);
    }
    status = test_enqueue(prepared, (void *[]){data_of(&t->a), data_of(&t->b), data_of(&t->c)}, 3, t->scalars);
    prepared->destroy(prepared);
    if (status != BP_OK) {
        fail_msg("run of '%s': %s: %s", algorithm, bp_status_name(status), test_error);
    }
}

static void discard(trial *t) {
    test_array_free(&t->a.array);
    test_array_free(&t->b.array);
    test_array_free(&t->c.array);
    test_array_free(&t->fresh);
}

/* Makes the reference of the product; C is as before the run. */
static void make_reference(reference_results *made, const test_product *p, const trial *t) {
    assert_int_equal(reference_of_gemm(made, p->conjugate_a ? BP_CONJUGATE : BP_AS_IS,
                                       p->conjugate_b ? BP_CONJUGATE : BP_AS_IS, &t->scalars[0],
                                       &t->a.array.view.tensor, &t->b.array.view.tensor, &t->scalars[1],
                                       &t->c.array.view.tensor),
                     BP_OK);
}

/* Runs an offer and checks it. The bound is k + 4 roundings; the reference allows k + 8 of them for real types,
 * and one hundredth more. */
static void check_offer(void *instance, const test_product *p, trial *t, const test_offers *offers, int index,
                        const reference_results *of) {
    char text[256];
    const double part = is_complex(p->dtype) ? 0.99 : (double)(p->k + 4) / (1.01 * (double)(p->k + 8));
    snprintf(text, sizeof text, "'%s': %s %ldx%ldx%ld layouts %d %d %d conjugates %d %d alpha %g beta %g batch %ldx%ld",
             offers->of[index].verdict.algorithm, bp_dtype_name(p->dtype), (long)p->m, (long)p->n, (long)p->k,
             (int)p->a, (int)p->b, (int)p->c, p->conjugate_a, p->conjugate_b, p->alpha, p->beta, (long)p->batch[0],
             (long)p->batch[1]);
    run_offer(instance, t, offers, index);
    test_compare_results(of, part, text);
    test_array_check_gaps(&t->c.array, text);
}

/* Runs every accepted offer, or the offer of one algorithm. Returns how many were run. */
static int run_offers(void *instance, const test_product *p, const char *algorithm, bp_verdict *verdict) {
    trial t;
    test_offers offers;
    reference_results made;
    int count = 0;
    make_trial(&t, p, 7);
    make_reference(&made, p, &t);
    test_offers_ask(&offers, test_provider, instance, &t.problem);
    *verdict = *test_offers_verdict(&offers);
    for (int i = test_offers_next(&offers, -1); i >= 0; i = test_offers_next(&offers, i)) {
        const char *own = offers.of[i].verdict.algorithm;
        if (!algorithm || strcmp(own, algorithm) == 0) {
            check_offer(instance, p, &t, &offers, i, &made);
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

/* Copies the elements of the first item. */
static size_t copy_bits(const test_product *p, const trial *t, char *bits, size_t size) {
    const size_t element = bp_dtype_size(p->dtype);
    size_t used = 0;
    for (int64_t i = 0; i < p->m * p->n && used + element <= size; i++, used += element) {
        memcpy(bits + used, test_array_at(&t->c.array, i), element);
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
        run_offer(instance, &t, &offers, i);
        used += copy_bits(p, &t, (char *)bits + used, size / (size_t)accepted);
    }
    test_offers_free(&offers);
    discard(&t);
    return used;
}
