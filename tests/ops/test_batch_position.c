/* test_batch_position.c - with deterministic=threads, all items of a batch of products are bitwise equal, on every
 * candidate that the setting admits. All items have the same values. Shapes are such that dispatch merges the batch
 * into the rows or into the columns of one product, or cannot merge it; so does einsum. */
#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ITEMS 9

/* Which operand all items share. */
typedef enum sharing { SHARES_NOTHING, SHARES_A, SHARES_B } sharing;

typedef struct work {
    bp_dtype dtype;
    int64_t m, n, k;
    sharing sharing;
    void *a, *b, *c;
    bp_view views[3];
} work;

static size_t bytes_of(bp_dtype dtype) {
    return dtype == BP_F32 ? 4 : dtype == BP_C128 ? 16 : 8;
}

/* Values with full mantissas, so that the order of a sum shows. */
static void fill(const work *w, void *data, int64_t elements, int64_t period) {
    const int64_t parts = w->dtype == BP_C64 || w->dtype == BP_C128 ? 2 : 1;
    const bool single = w->dtype == BP_F32 || w->dtype == BP_C64;
    for (int64_t i = 0; i < elements * parts; i++) {
        const unsigned mixed = (unsigned)(i % (period * parts) + 1) * 2654435761u;
        const double value = ((double)(mixed >> 8) + 0.3) / (1 << 23) - 1;
        if (single) {
            ((float *)data)[i] = (float)value;
        } else {
            ((double *)data)[i] = value;
        }
    }
}

static void *matrix(const work *w, bp_view *view, int64_t rows, int64_t columns, bool shared) {
    const int64_t shape[] = {ITEMS, rows, columns};
    const int64_t elements = rows * columns * (shared ? 1 : ITEMS);
    void *data = malloc((size_t)elements * bytes_of(w->dtype));
    assert_non_null(data);
    fill(w, data, elements, rows * columns);
    assert_int_equal(bp_view_init(view, data, w->dtype, shared ? 2 : 3, shared ? shape + 1 : shape, NULL), BP_OK);
    return data;
}

static void set_up(work *w) {
    w->a = matrix(w, &w->views[0], w->m, w->k, w->sharing == SHARES_A);
    w->b = matrix(w, &w->views[1], w->k, w->n, w->sharing == SHARES_B);
    const int64_t columns = ITEMS * w->n;
    if (w->sharing == SHARES_A) { /* the columns of all items lie next to each other */
        const int64_t shape_b[] = {ITEMS, w->k, w->n}, stride_b[] = {w->n, columns, 1};
        const int64_t shape_c[] = {ITEMS, w->m, w->n}, stride_c[] = {w->n, columns, 1};
        for (int64_t i = w->k - 1; i >= 0; i--) { /* repeats the row of item 0 */
            fill(w, (char *)w->b + (size_t)(i * columns) * bytes_of(w->dtype), columns, w->n);
        }
        assert_int_equal(bp_view_init(&w->views[1], w->b, w->dtype, 3, shape_b, stride_b), BP_OK);
        w->c = calloc((size_t)(w->m * columns), bytes_of(w->dtype));
        assert_int_equal(bp_view_init(&w->views[2], w->c, w->dtype, 3, shape_c, stride_c), BP_OK);
        return;
    }
    w->c = matrix(w, &w->views[2], w->m, w->n, false);
}

static const char *item_at(const work *w, int64_t item, int64_t row) {
    const int64_t columns = w->sharing == SHARES_A ? ITEMS * w->n : w->n;
    const int64_t start = w->sharing == SHARES_A ? item * w->n : item * w->m * w->n;
    return (const char *)w->c + (size_t)(start + row * columns) * bytes_of(w->dtype);
}

static void check_items(const work *w, const char *settings) {
    for (int64_t item = 1; item < ITEMS; item++) {
        for (int64_t row = 0; row < w->m; row++) {
            if (memcmp(item_at(w, item, row), item_at(w, 0, row), (size_t)w->n * bytes_of(w->dtype)) != 0) {
                fail_msg("%s, %s %dx%dx%d, sharing %d: item %d differs from item 0", settings, bp_dtype_name(w->dtype),
                         (int)w->m, (int)w->n, (int)w->k, w->sharing, (int)item);
            }
        }
    }
}

static void in_scope(const work *w, const char *settings, bp_explanation **explanation) {
    const DLTensor *a = &w->views[0].tensor, *b = &w->views[1].tensor;
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, settings), BP_OK);
    if (explanation) {
        assert_int_equal(bp_matmul_explain(explanation, NULL, a, b, &w->views[2].tensor), BP_OK);
    } else {
        DLTensor c = w->views[2].tensor;
        assert_int_equal(bp_matmul(a, b, &c), BP_OK);
    }
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
}

static void tear_down(work *w) {
    free(w->a);
    free(w->b);
    free(w->c);
}

/* Runs the accepted candidates one after the other. Returns how many there are. */
static int check(work *w) {
    bp_explanation *explanation;
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    int accepted = 0;
    set_up(w);
    in_scope(w, "deterministic=threads", &explanation);
    for (int i = 0; bp_explanation_at(explanation, i, &candidate); i++) {
        if (candidate.reason != BP_REASON_ACCEPTED) {
            continue;
        }
        char settings[256];
        snprintf(settings, sizeof settings, "deterministic=threads,dispatch.fallback=strict,blas.preferred=%s:%.*s",
                 candidate.library, (int)strcspn(candidate.algorithm, " "), candidate.algorithm);
        in_scope(w, settings, NULL);
        check_items(w, settings);
        accepted++;
    }
    bp_explanation_release(explanation);
    tear_down(w);
    return accepted;
}

static void every_item_gets_the_same_bits(void **state) {
    (void)state;
    static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_C64, BP_C128};
    static const int64_t shapes[][3] = {{1, 64, 8},  {1, 8, 64},    {1, 33, 129}, {3, 5, 70},
                                        {4, 1, 200}, {13, 37, 301}, {2, 2, 2},    {65, 17, 129}};
    int most = 0;
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            for (int shared = SHARES_NOTHING; shared <= SHARES_B; shared++) {
                work w = {.dtype = dtypes[d],
                          .m = shapes[s][0],
                          .n = shapes[s][1],
                          .k = shapes[s][2],
                          .sharing = (sharing)shared};
                const int accepted = check(&w);
                assert_true(accepted > 0);
                most = accepted > most ? accepted : most;
            }
        }
    }
    print_message("up to %d candidates\n", most);
}

/* A batch in one product is refused to a library without a guarantee for rows; the reason names it. */
static void the_refusal_names_the_rows(void **state) {
    (void)state;
    work w = {.dtype = BP_F32, .m = 3, .n = 5, .k = 70, .sharing = SHARES_B};
    set_up(&w);
    bp_explanation *explanation;
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    in_scope(&w, "deterministic=threads", &explanation);
    int refused = 0, openblas = 0;
    for (int i = 0; bp_explanation_at(explanation, i, &candidate); i++) {
        if (strcmp(candidate.library, "native") == 0 && candidate.reason == BP_REASON_ACCEPTED) {
            assert_true(candidate.properties & BP_PROPERTY_ROW_INVARIANT);
        }
        const bool for_rows = candidate.reason == BP_REASON_DETERMINISM && strstr(candidate.text, "rows and columns");
        refused += for_rows;
        openblas += strcmp(candidate.library, "openblas") == 0;
    }
    assert_true(refused > 0 || openblas == 0);
    bp_explanation_release(explanation);
    tear_down(&w);
}

/* ---- einsum: the batch is label b, the first of the operands that have it, and of the output ---- */

typedef struct contraction {
    const char *expression;
    int64_t size[5]; /* of b, i, j, k, l */
} contraction;

static int64_t size_of(const contraction *c, char label) {
    return c->size[label == 'b' ? 0 : label - 'i' + 1];
}

/* Makes a tensor of the labels up to `end`, whose items are equal. Returns the end. */
static const char *tensor_of(const work *w, const contraction *c, bp_view *view, void **data, const char *labels) {
    int64_t shape[4], elements = 1, items = 1;
    int ndim = 0;
    for (; *labels && *labels != ',' && *labels != '-'; labels++) {
        shape[ndim] = size_of(c, *labels);
        elements *= shape[ndim++];
        items *= *labels == 'b' ? size_of(c, 'b') : 1;
    }
    *data = malloc((size_t)elements * bytes_of(w->dtype));
    assert_non_null(*data);
    fill(w, *data, elements, elements / items);
    assert_int_equal(bp_view_init(view, *data, w->dtype, ndim, shape, NULL), BP_OK);
    return labels;
}

static void check_contraction(const work *w, const contraction *c, const char *library) {
    bp_view views[4];
    void *data[4];
    const DLTensor *operands[3];
    int count = 0;
    char settings[256];
    bp_options *options;
    const char *at = c->expression;
    for (; *at != '-'; at += *at == ',') {
        at = tensor_of(w, c, &views[count], &data[count], at);
        operands[count] = &views[count].tensor;
        count++;
    }
    tensor_of(w, c, &views[count], &data[count], at + 2);
    snprintf(settings, sizeof settings, "deterministic=threads,dispatch.fallback=allow,blas.preferred=%s", library);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    bp_einsum_call call = {
        .struct_size = sizeof call, .expression = c->expression, .count = count, .operands = operands};
    assert_int_equal(bp_einsum_run(options, &call, &views[count].tensor), BP_OK);
    int64_t bytes = (int64_t)bytes_of(w->dtype);
    for (int d = 1; d < views[count].tensor.ndim; d++) {
        bytes *= views[count].tensor.shape[d];
    }
    for (int64_t item = 1; item < c->size[0]; item++) {
        if (memcmp((char *)data[count] + item * bytes, data[count], (size_t)bytes) != 0) {
            fail_msg("%s, %s %s: item %d differs from item 0", settings, c->expression, bp_dtype_name(w->dtype),
                     (int)item);
        }
    }
    bp_options_release(options);
    for (int i = 0; i <= count; i++) {
        free(data[i]);
    }
}

/* On each library, if the setting admits it, otherwise on another one. */
static void items_of_einsum_get_the_same_bits(void **state) {
    (void)state;
    static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_C64, BP_C128};
    static const contraction all[] = {
        {"bij,j->bi", {3, 2, 8}},
        {"bij,j->bi", {17, 5, 31}},
        {"bij,j->bi", {9, 1, 37}}, /* a label of size 1 is dropped, so that b is the only one */
        {"bij,jk->bik", {5, 3, 29, 1}},
        {"bij,jk->bik", {9, 1, 70, 7}},
        {"bij,jk->bik", {17, 5, 12, 3}},
        {"ij,bjk->bik", {17, 4, 8, 1}},
        {"ij,bjk->bik", {5, 6, 33, 3}},
        {"bj,j->b", {17, 1, 23}},
        {"bij,ij->b", {9, 4, 11}},
        {"bijk,jkl->bil", {17, 1, 24, 33, 3}},
        {"bij,jk,kl->bil", {5, 3, 13, 9, 6}},
        {"bij,bjk->bik", {5, 3, 13, 9}},
    };
    const char *libraries[] = {"native", "openblas", "openblas-openmp", "mkl", "blis", "netlib", "onednn", "libxsmm"};
    for (size_t l = 0; l < sizeof libraries / sizeof *libraries; l++) {
        bp_library_info info = {.struct_size = sizeof info};
        if (strcmp(libraries[l], "native") != 0 && bp_library_find(libraries[l], &info) != BP_OK) {
            continue;
        }
        for (size_t i = 0; i < sizeof all / sizeof *all * 4; i++) {
            const work w = {.dtype = dtypes[i % 4]};
            check_contraction(&w, &all[i / 4], libraries[l]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_item_gets_the_same_bits),
                                       cmocka_unit_test(the_refusal_names_the_rows),
                                       cmocka_unit_test(items_of_einsum_get_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
