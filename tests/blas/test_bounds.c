/* test_bounds.c - products on every candidate whose operands end at a page without access, or begin after one:
 * candidates of BLAS, of MKL's batches, of kernels that libxsmm generates, of oneDNN, and our own.
 *
 * A candidate that accesses more than its operands ends this process; the probe must have refused it. The shapes
 * include the shapes of a known defect of OpenBLAS 0.3.21: a vector of 7 numbers by a matrix of 7 x 126, in c64. */
#include "backplane.h"

#include "support/guarded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A product of batches: (items, m, k) by (items, k, n). `items` 0: matrices. */
typedef struct product {
    bp_dtype a, b;
    int64_t items, m, n, k;
    bool by_columns, at_end;
} product;

typedef struct operand {
    bp_view view;
    char *memory;
    size_t bytes;
} operand;

/* All elements are zero, so that a value from outside would show. */
static void make(operand *o, const product *p, bp_dtype dtype, int64_t rows, int64_t columns) {
    const int64_t items = p->items > 0 ? p->items : 1, shape[3] = {items, rows, columns};
    const int64_t strides[3] = {rows * columns, p->by_columns ? 1 : columns, p->by_columns ? rows : 1};
    const int skip = p->items == 0;
    o->bytes = (size_t)(items * rows * columns) * bp_dtype_size(dtype);
    o->memory = test_guarded(o->bytes, p->at_end);
    assert_int_equal(bp_view_init(&o->view, o->memory, dtype, 3 - skip, shape + skip, strides + skip), BP_OK);
}

static void assert_zeros(const operand *o, const char *settings) {
    for (size_t i = 0; i < o->bytes; i++) {
        if (o->memory[i] != 0) {
            fail_msg("%s: byte %zu is not zero", settings, i);
        }
    }
}

/* Counts of calls by provider. */
typedef struct counts {
    int blas, xsmm, onednn, native;
} counts;

static void count(counts *ran, const char *provider) {
    ran->blas += strcmp(provider, "blas") == 0;
    ran->xsmm += strcmp(provider, "xsmm") == 0;
    ran->onednn += strcmp(provider, "onednn") == 0;
    ran->native += strcmp(provider, "native") == 0;
}

/* Runs each accepted candidate. The last line that was printed tells which one ended the process. */
static void run_all(const product *p, counts *ran) {
    operand a, b, c;
    bp_options *alone;
    bp_explanation *explanation;
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    make(&a, p, p->a, p->m, p->k);
    make(&b, p, p->b, p->k, p->n);
    make(&c, p, p->a == BP_I8 || p->a == BP_U8 ? BP_I32 : p->a, p->m, p->n);
    assert_int_equal(bp_options_new(&alone, "num_threads=1"), BP_OK);
    assert_int_equal(bp_matmul_explain(&explanation, alone, &a.view.tensor, &b.view.tensor, &c.view.tensor), BP_OK);
    for (int i = 0; bp_explanation_at(explanation, i, &candidate); i++) {
        char settings[256];
        bp_options *options;
        if (candidate.reason != BP_REASON_ACCEPTED) {
            continue;
        }
        snprintf(settings, sizeof settings, "num_threads=1,dispatch.fallback=strict,blas.preferred=%s:%.*s",
                 candidate.library, (int)strcspn(candidate.algorithm, " "), candidate.algorithm);
        print_message("%s, %s by %s %dx%dx%dx%d, by %s, at %s\n", settings, bp_dtype_name(p->a), bp_dtype_name(p->b),
                      (int)p->items, (int)p->m, (int)p->n, (int)p->k, p->by_columns ? "columns" : "rows",
                      p->at_end ? "the end" : "the start");
        assert_int_equal(bp_options_new(&options, settings), BP_OK);
        memset(c.memory, 1, c.bytes);
        const bp_status status = bp_matmul_run(options, &a.view.tensor, &b.view.tensor, &c.view.tensor);
        assert_string_equal(status == BP_OK ? "" : bp_last_error(), "");
        assert_zeros(&c, settings);
        bp_options_release(options);
        count(ran, candidate.provider);
    }
    bp_explanation_release(explanation);
    bp_options_release(alone);
    test_guarded_free(a.memory, a.bytes);
    test_guarded_free(b.memory, b.bytes);
    test_guarded_free(c.memory, c.bytes);
}

static void run_types(bp_dtype a, bp_dtype b) {
    static const int64_t shapes[][3] = {{1, 126, 7},  {126, 1, 7}, {1, 6, 3},  {6, 1, 3},   {2, 1, 3},
                                        {3, 2, 1},    {2, 3, 1},   {1, 1, 13}, {5, 7, 9},   {34, 3, 6},
                                        {17, 33, 10}, {1, 66, 34}, {8, 8, 8},  {13, 16, 5}, {65, 67, 66}};
    static const int64_t items[] = {0, 3, 40};
    counts ran = {0};
    for (size_t i = 0; i < 4 * 3 * sizeof shapes / sizeof *shapes; i++) {
        const int64_t *shape = shapes[i / 12];
        const product p = {a, b, items[i / 4 % 3], shape[0], shape[1], shape[2], i % 2 == 1, i / 2 % 2 == 1};
        run_all(&p, &ran);
    }
    print_message("%s by %s: blas %d, xsmm %d, onednn %d, native %d calls\n", bp_dtype_name(a), bp_dtype_name(b),
                  ran.blas, ran.xsmm, ran.onednn, ran.native);
    assert_true(ran.native >= 12 * (int)(sizeof shapes / sizeof *shapes)); /* it takes all of them */
}

static void floating_products_stay_within_their_operands(void **state) {
    (void)state;
    for (bp_dtype dtype = BP_F16; dtype <= BP_C128; dtype = (bp_dtype)(dtype + 1)) {
        run_types(dtype, dtype);
    }
}

static void integer_products_stay_within_their_operands(void **state) {
    static const bp_dtype types[] = {BP_I8, BP_U8};
    (void)state;
    for (int i = 0; i < 4; i++) {
        run_types(types[i / 2], types[i % 2]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(floating_products_stay_within_their_operands),
                                       cmocka_unit_test(integer_products_stay_within_their_operands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
