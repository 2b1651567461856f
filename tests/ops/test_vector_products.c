/* test_vector_products.c - checks vector norms, vecdot, multi_dot and matrix_power against plain loops in long double.
 */
#include "backplane.h"
#include "support/arrays.h"
#include "support/linalg.h"
#include "support/results.h"

#include <complex.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef long double complex number;

static void set(bp_dtype dtype, void *at, int64_t i, double re, double im) {
    switch (dtype) {
    case BP_F32:
        ((float *)at)[i] = (float)re;
        break;
    case BP_F64:
        ((double *)at)[i] = re;
        break;
    case BP_C64:
        ((float *)at)[2 * i] = (float)re;
        ((float *)at)[2 * i + 1] = (float)im;
        break;
    default:
        ((double *)at)[2 * i] = re;
        ((double *)at)[2 * i + 1] = im;
    }
}

static bp_dtype real_of(bp_dtype dtype) {
    return dtype == BP_C64 ? BP_F32 : dtype == BP_C128 ? BP_F64 : dtype;
}

static void draw_all(bp_dtype dtype, void *at, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const double re = test_array_uniform(), im = test_array_uniform();
        set(dtype, at, i, re, im);
    }
}

#define EACH_DTYPE(dtype) for (bp_dtype dtype = BP_F32; dtype <= BP_C128; dtype = (bp_dtype)(dtype + 1))

/* ---- Vector norms ---- */

static const double orders[] = {2, 1, 0, (double)INFINITY, -(double)INFINITY, 3, 0.5, -1, -2.5};
#define ORDERS (int)(sizeof orders / sizeof *orders)

enum { P = 3, Q = 4, R = 5 };

/* Reduces the dimensions with a bit in `reduced`, of a tensor of P x Q x R with these strides. */
static void norms_of(bp_dtype dtype, const int64_t *strides, const void *memory, int64_t first, unsigned reduced,
                     int keepdim) {
    const int64_t shape[] = {P, Q, R};
    int dims[3], count = 0, kept_ndim = 0;
    int64_t kept_shape[3];
    for (int d = 0; d < 3; d++) {
        if (reduced >> d & 1) {
            dims[count++] = d % 2 ? d : d - 3; /* from either end */
        }
        if (!(reduced >> d & 1) || keepdim) {
            kept_shape[kept_ndim++] = reduced >> d & 1 ? 1 : shape[d];
        }
    }
    const size_t element = bp_dtype_size(dtype);
    bp_view a, out;
    char result[P * Q * R * 8];
    assert_int_equal(bp_view_init(&a, (char *)(uintptr_t)memory + first * (int64_t)element, dtype, 3, shape, strides),
                     BP_OK);
    assert_int_equal(bp_view_init(&out, result, real_of(dtype), kept_ndim, kept_shape, NULL), BP_OK);
    const bool all = reduced == 7;
    for (int o = 0; o < ORDERS; o++) {
        const bp_linalg_call call = {.struct_size = sizeof call,
                                     .op = BP_OP_VECTOR_NORM,
                                     .mode = BP_NORM_P,
                                     .order = orders[o],
                                     .axis_count = all ? 0 : count,
                                     .axes = all ? NULL : dims,
                                     .keep = keepdim};
        reference_results made;
        assert_int_equal(reference_of_vector_norm(&made, &call, &a.tensor, &out.tensor), BP_OK);
        for (int again = 0; again < 2; again++) { /* the second call comes from the thread cache */
            memset(result, 0x55, sizeof result);
            assert_int_equal(bp_vector_norm(&a.tensor, orders[o], call.axis_count, call.axes, keepdim, &out.tensor),
                             BP_OK);
            test_compare_results(&made, 1, bp_dtype_name(dtype));
        }
        reference_results_free(&made);
    }
}

static void vector_norms_of_any_dimensions_and_strides(void **unused) {
    (void)unused;
    enum { CAPACITY = 4 * P * Q * R };
    static const struct {
        int64_t first, strides[3];
    } layouts[] = {{0, {Q * R, R, 1}},
                   {0, {1, P, P * Q}},
                   {Q * R - 1 + (P - 1) * Q * R, {-Q * R, -R, -1}},
                   {0, {2 * Q * R + 9, 2 * R + 1, 2}}, /* no two dimensions merge */
                   {R - 1, {2 * Q * R + 9, 2 * R + 1, -1}},
                   {0, {0, R, 1}}};
    EACH_DTYPE(dtype) {
        char memory[CAPACITY * 16];
        draw_all(dtype, memory, CAPACITY);
        for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
            for (unsigned reduced = 0; reduced < 8; reduced++) {
                norms_of(dtype, layouts[i].strides, memory, layouts[i].first, reduced, (int)reduced & 1);
                norms_of(dtype, layouts[i].strides, memory, layouts[i].first, reduced, !(reduced & 1));
            }
        }
    }
}

static double norm_of(const double *values, int64_t count, double order) {
    bp_view a, out;
    double norm = -7;
    bp_view_init(&a, (void *)(uintptr_t)values, BP_F64, 1, &count, NULL);
    bp_view_init(&out, &norm, BP_F64, 0, NULL, NULL);
    assert_int_equal(bp_vector_norm(&a.tensor, order, 0, NULL, 0, &out.tensor), BP_OK);
    return norm;
}

static bool same(double x, double y) {
    return (isnan(x) && isnan(y)) || x == y || fabs(x - y) <= 1e-14 * fabs(y);
}

static void vector_norms_of_extreme_values(void **unused) {
    (void)unused;
    const double inf = (double)INFINITY, nan = (double)NAN;
    const struct {
        double values[3], want[ORDERS];
    } cases[] = {
        {{nan, 1, 2}, {nan, nan, 3, nan, nan, nan, nan, nan, nan}},
        {{inf, 1, 2}, {inf, inf, 3, inf, 1, inf, inf, 1 / 1.5, pow(1 + pow(2, -2.5), -0.4)}},
        {{-inf, inf, inf}, {inf, inf, 3, inf, inf, inf, inf, inf, inf}},
        {{0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0}},
        {{0, -3, 4}, {5, 7, 2, 4, 0, cbrt(91), 4 * sqrt(3) + 7, 0, 0}},
        {{1e300, -1e300, 1e300},
         {sqrt(3) * 1e300, 3e300, 3, 1e300, 1e300, cbrt(3) * 1e300, 9e300, 1e300 / 3, pow(3, -0.4) * 1e300}},
        {{1e-300, -1e-300, 1e-300},
         {sqrt(3) * 1e-300, 3e-300, 3, 1e-300, 1e-300, cbrt(3) * 1e-300, 9e-300, 1e-300 / 3, pow(3, -0.4) * 1e-300}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int o = 0; o < ORDERS; o++) {
            const double got = norm_of(cases[i].values, 3, orders[o]);
            if (!same(got, cases[i].want[o])) {
                fail_msg("case %zu, order %g: %g in place of %g", i, orders[o], got, cases[i].want[o]);
            }
        }
    }
    /* As columns side by side, which are reduced together. */
    enum { CASES = (int)(sizeof cases / sizeof *cases), COLUMNS = 2 * CASES };
    double columns[3][COLUMNS], norms[COLUMNS];
    for (int i = 0; i < 3 * COLUMNS; i++) {
        columns[i / COLUMNS][i % COLUMNS] = cases[i % COLUMNS % CASES].values[i / COLUMNS];
    }
    bp_view a, out;
    bp_view_init(&a, columns, BP_F64, 2, (const int64_t[]){3, COLUMNS}, NULL);
    bp_view_init(&out, norms, BP_F64, 1, (const int64_t[]){COLUMNS}, NULL);
    for (int o = 0; o < ORDERS; o++) {
        assert_int_equal(bp_vector_norm(&a.tensor, orders[o], 1, (const int[]){0}, 0, &out.tensor), BP_OK);
        for (int i = 0; i < COLUMNS; i++) {
            if (!same(norms[i], cases[i % CASES].want[o])) {
                fail_msg("column %d, order %g: %g in place of %g", i, orders[o], norms[i], cases[i % CASES].want[o]);
            }
        }
    }
    const double none[1] = {1};
    for (int o = 0; o < ORDERS; o++) {
        if (orders[o] != -inf) {
            assert_true(norm_of(none, 0, orders[o]) == (orders[o] < 0 ? inf : 0));
        }
    }
}

/* Sums are cut by sizes alone. */
static void vector_norms_have_the_same_bits_on_any_number_of_threads(void **unused) {
    (void)unused;
    enum { COUNT = 300000 };
    double *values = malloc(COUNT * sizeof *values);
    assert_non_null(values);
    draw_all(BP_F64, values, COUNT);
    for (int o = 0; o < ORDERS; o++) {
        double norms[3];
        for (int i = 0; i < 3; i++) {
            char text[64];
            bp_scope *scope;
            snprintf(text, sizeof text, "num_threads=%d, deterministic=threads", i + 1);
            assert_int_equal(bp_scope_enter(&scope, text), BP_OK);
            norms[i] = norm_of(values, COUNT, orders[o]);
            assert_int_equal(bp_scope_leave(&scope), BP_OK);
        }
        assert_memory_equal(&norms[0], &norms[1], sizeof(double));
        assert_memory_equal(&norms[0], &norms[2], sizeof(double));
    }
    free(values);
}

static void refused(bp_status got, bp_status want, const char *words) {
    assert_int_equal(got, want);
    if (!strstr(bp_last_error(), words)) {
        fail_msg("'%s' lacks '%s'", bp_last_error(), words);
    }
}

static void vector_norms_are_checked(void **unused) {
    (void)unused;
    double a[24] = {0}, n[24];
    bp_view view, out, scalar;
    bp_view_init(&view, a, BP_F64, 3, (const int64_t[]){2, 3, 4}, NULL);
    bp_view_init(&out, n, BP_F64, 2, (const int64_t[]){2, 4}, NULL);
    bp_view_init(&scalar, n, BP_F64, 0, NULL, NULL);
    const DLTensor *t = &view.tensor;
    refused(bp_vector_norm(t, (double)NAN, 0, NULL, 0, &scalar.tensor), BP_E_ARGUMENT, "order is nan");
    refused(bp_vector_norm(t, 2, 1, (const int[]){3}, 0, &out.tensor), BP_E_ARGUMENT, "dimension 3 is outside A");
    refused(bp_vector_norm(t, 2, 2, (const int[]){1, -2}, 0, &out.tensor), BP_E_ARGUMENT,
            "dimension -2 is given twice");
    refused(bp_vector_norm(t, 2, 1, NULL, 0, &out.tensor), BP_E_ARGUMENT, "axes is NULL");
    refused(bp_vector_norm(t, 2, 4, (const int[]){0, 1, 2, 3}, 0, &out.tensor), BP_E_ARGUMENT, "axis_count is 4");
    refused(bp_vector_norm(t, 2, 1, (const int[]){0}, 0, &out.tensor), BP_E_SHAPE, "it must have shape (3, 4)");
    refused(bp_vector_norm(t, 2, 1, (const int[]){1}, 1, &out.tensor), BP_E_SHAPE, "it must have shape (2, 1, 4)");
    refused(bp_vector_norm(NULL, 2, 0, NULL, 0, &scalar.tensor), BP_E_ARGUMENT, "NULL");
    refused(bp_vector_norm(t, 2, 0, NULL, 0, NULL), BP_E_ARGUMENT, "NULL");
    scalar.tensor.data = a + 5;
    refused(bp_vector_norm(t, 2, 0, NULL, 0, &scalar.tensor), BP_E_OVERLAP, "overlaps A");
    bp_view_init(&scalar, n, BP_F32, 0, NULL, NULL);
    refused(bp_vector_norm(t, 2, 0, NULL, 0, &scalar.tensor), BP_E_DTYPE, "must be f64");
    bp_view_init(&scalar, n, BP_F64, 0, NULL, NULL);
    bp_view_init(&view, a, BP_F64, 1, (const int64_t[]){0}, NULL);
    refused(bp_vector_norm(t, -(double)INFINITY, 0, NULL, 0, &scalar.tensor), BP_E_SHAPE, "without elements");
    bp_view_init(&view, a, BP_I32, 1, (const int64_t[]){2}, NULL);
    refused(bp_vector_norm(t, 2, 0, NULL, 0, &scalar.tensor), BP_E_DTYPE, "i32");
    /* The general form has shapes, plans and explanations; other operations take no dims. */
    bp_view_init(&view, a, BP_C64, 2, (const int64_t[]){3, 4}, NULL);
    bp_linalg_call call = {.struct_size = sizeof call, .op = BP_OP_VECTOR_NORM, .input = {t}, .keep = 1};
    call.axes = (const int[]){0};
    call.axis_count = 1;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    assert_int_equal(bp_linalg_shape(&call, 0, &dtype, &ndim, shape), BP_OK);
    assert_true(dtype == BP_F32 && ndim == 2 && shape[0] == 1 && shape[1] == 4);
    bp_view_init(&out, n, dtype, ndim, shape, NULL);
    call.output[0] = &out.tensor;
    bp_plan *plan;
    assert_int_equal(bp_linalg_plan(&plan, NULL, &call), BP_OK);
    bp_plan_release(plan);
    bp_explanation *explanation;
    assert_int_equal(bp_linalg_explain(&explanation, NULL, &call), BP_OK);
    assert_non_null(strstr(bp_explanation_text(explanation), "vector_norm"));
    bp_explanation_release(explanation);
    call.op = BP_OP_MATRIX_NORM;
    refused(bp_linalg_run(NULL, &call), BP_E_ARGUMENT, "axes is set; this operation");
}

/* ---- vecdot ---- */

static void dots_broadcast_and_conjugate(void **unused) {
    (void)unused;
    EACH_DTYPE(dtype) {
        char a[3 * 5 * 16], b[4 * 5 * 16], c[12 * 16];
        bp_view x, y, out;
        draw_all(dtype, a, 15);
        draw_all(dtype, b, 20);
        bp_view_init(&x, a, dtype, 3, (const int64_t[]){3, 1, 5}, NULL);
        bp_view_init(&y, b, dtype, 2, (const int64_t[]){4, 5}, (const int64_t[]){1, 4}); /* transposed */
        bp_view_init(&out, c, dtype, 2, (const int64_t[]){3, 4}, NULL);
        for (int dim = -1; dim <= 2; dim += 3) {
            reference_results made;
            memset(c, 0x55, sizeof c);
            assert_int_equal(reference_of_vecdot(&made, dim, &x.tensor, &y.tensor, &out.tensor), BP_OK);
            assert_int_equal(bp_vecdot(&x.tensor, &y.tensor, dim, &out.tensor), BP_OK);
            test_check_results(&made, bp_dtype_name(dtype));
        }
        int ndim;
        int64_t shape[BP_MAX_NDIM];
        assert_int_equal(bp_vecdot_shape(&x.tensor, &y.tensor, -1, &ndim, shape), BP_OK);
        assert_true(ndim == 2 && shape[0] == 3 && shape[1] == 4);
        /* Two vectors give a scalar; vectors without elements give 0. */
        bp_view_init(&x, a, dtype, 1, (const int64_t[]){0}, NULL);
        bp_view_init(&out, c, dtype, 0, NULL, NULL);
        assert_int_equal(bp_vecdot(&x.tensor, &x.tensor, 0, &out.tensor), BP_OK);
        assert_memory_equal(c, (const char[16]){0}, bp_dtype_size(dtype));
    }
}

static void dots_are_checked_planned_and_explained(void **unused) {
    (void)unused;
    double a[12] = {1, 2, 3}, c[12];
    bp_view x, y, out, scalar;
    bp_view_init(&x, a, BP_F64, 2, (const int64_t[]){3, 4}, NULL);
    bp_view_init(&y, a, BP_F64, 1, (const int64_t[]){1}, NULL);
    bp_view_init(&out, c, BP_F64, 1, (const int64_t[]){3}, NULL);
    bp_view_init(&scalar, c, BP_F64, 0, NULL, NULL);
    refused(bp_vecdot(&x.tensor, &y.tensor, -1, &out.tensor), BP_E_SHAPE, "must have the same size in both");
    refused(bp_vecdot(&x.tensor, &y.tensor, -2, &out.tensor), BP_E_ARGUMENT, "axis is -2");
    refused(bp_vecdot(&x.tensor, &x.tensor, 0, &out.tensor), BP_E_SHAPE, "it must have shape (4)");
    refused(bp_vecdot(&x.tensor, &scalar.tensor, 0, &out.tensor), BP_E_SHAPE, "b is a scalar");
    refused(bp_vecdot(&x.tensor, &x.tensor, INT_MIN, &out.tensor), BP_E_ARGUMENT, "axis is -2147483648");
    refused(bp_vecdot(&x.tensor, &x.tensor, INT_MAX, &out.tensor), BP_E_ARGUMENT, "axis is 2147483647");
    bp_plan *plan;
    assert_int_equal(bp_vecdot_plan(&plan, NULL, &x.tensor, &x.tensor, -1, &out.tensor), BP_OK);
    const bp_operand operands[] = {{a, 0}, {a, 0}, {c, 0}};
    assert_int_equal(bp_execute(plan, operands, NULL), BP_OK);
    assert_true(c[0] == 14 && c[1] == 0);
    bp_plan_release(plan);
    bp_explanation *explanation;
    assert_int_equal(bp_vecdot_explain(&explanation, NULL, &x.tensor, &x.tensor, -1, &out.tensor), BP_OK);
    assert_non_null(strstr(bp_explanation_text(explanation), "native"));
    bp_explanation_release(explanation);
}

/* ---- multi_dot ---- */

static void chains_of_products(void **unused) {
    (void)unused;
    enum { MOST = 24 };
    static const int64_t sizes[] = {2, 7, 1, 5, 3, 6, 2, 4};
    EACH_DTYPE(dtype) {
        for (int count = 2; count <= MOST; count += count < 7 ? 1 : 17) {
            for (int vectors = 0; vectors < 4; vectors++) {
                char memory[MOST][7 * 7 * 16], result[7 * 7 * 16];
                bp_view view[MOST], out;
                const DLTensor *operands[MOST];
                reference_results made;
                int64_t rows = vectors & 1 ? 1 : sizes[0];
                for (int i = 0; i < count; i++) {
                    const int64_t m = i == 0 ? rows : sizes[i % 8];
                    const int64_t n = i == count - 1 && vectors & 2 ? 1 : sizes[(i + 1) % 8];
                    draw_all(dtype, memory[i], m * n);
                    const int64_t shape[] = {m, n};
                    const bool row = i == 0 && vectors & 1, column = i == count - 1 && vectors & 2;
                    bp_view_init(&view[i], memory[i], dtype, row || column ? 1 : 2, row ? shape + 1 : shape, NULL);
                    operands[i] = &view[i].tensor;
                }
                int ndim;
                int64_t shape[BP_MAX_NDIM];
                assert_int_equal(bp_multi_dot_shape(count, operands, &ndim, shape), BP_OK);
                assert_int_equal(ndim, 2 - (vectors & 1) - (vectors >> 1));
                bp_view_init(&out, result, dtype, ndim, shape, NULL);
                assert_int_equal(reference_of_multi_dot(&made, count, operands, &out.tensor), BP_OK);
                assert_int_equal(bp_multi_dot(count, operands, &out.tensor), BP_OK);
                test_check_results(&made, bp_dtype_name(dtype));
            }
        }
    }
}

/* (A B) C takes 5000 + 2500 multiplications, A (B C) 50000 + 25000. */
static void chains_take_the_cheapest_order(void **unused) {
    (void)unused;
    bp_view a, b, c, out;
    bp_view_init(&a, NULL, BP_F64, 2, (const int64_t[]){10, 100}, NULL);
    bp_view_init(&b, NULL, BP_F64, 2, (const int64_t[]){100, 5}, NULL);
    bp_view_init(&c, NULL, BP_F64, 2, (const int64_t[]){5, 50}, NULL);
    bp_view_init(&out, NULL, BP_F64, 2, (const int64_t[]){10, 50}, NULL);
    const DLTensor *operands[] = {&a.tensor, &b.tensor, &c.tensor};
    bp_options *options;
    assert_int_equal(bp_options_new(&options, "opt_einsum.enabled=false"), BP_OK); /* is about einsum alone */
    bp_plan *plan;
    assert_int_equal(bp_multi_dot_plan(&plan, options, 3, operands, &out.tensor), BP_OK);
    bp_contraction_path_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_contraction_path_describe(bp_einsum_plan_path(plan), &info), BP_OK);
    assert_true(info.flops == 2 * (5000 + 2500));
    bp_plan_release(plan);
    bp_explanation *explanation;
    assert_int_equal(bp_multi_dot_explain(&explanation, NULL, 3, operands, &out.tensor), BP_OK);
    assert_non_null(bp_explanation_part(explanation, 1));
    bp_explanation_release(explanation);
    bp_options_release(options);
    refused(bp_multi_dot(1, operands, &out.tensor), BP_E_ARGUMENT, "at least 2");
    operands[1] = &c.tensor;
    refused(bp_multi_dot(2, operands, &out.tensor), BP_E_SHAPE, "operand 1 has 5 rows; the operand before it has 100");
    bp_view_init(&b, NULL, BP_F64, 1, (const int64_t[]){100}, NULL);
    operands[1] = &b.tensor;
    refused(bp_multi_dot(3, operands, &out.tensor), BP_E_SHAPE, "operand 1 has 1 dimensions; it must have 2");
}

/* ---- matrix_power ---- */

enum { N = 4, ITEMS = 2 };

/* A negative power is the inverse of the positive one. */
static void powers_of_matrices(void **unused) {
    (void)unused;
    static const int64_t powers[] = {1, 2, 3, 4, 5, 7, 10};
    EACH_DTYPE(dtype) {
        char memory[ITEMS * N * N * 16], result[3][ITEMS * N * N * 16];
        const int64_t shape[] = {ITEMS, N, N};
        bp_view a, out[3], identity;
        double ones[N * N] = {0};
        draw_all(dtype, memory, ITEMS * N * N);
        for (int i = 0; i < ITEMS * N; i++) { /* far from singular */
            set(dtype, memory, i / N * N * N + i % N * (N + 1), 3, 1);
            ones[i % N * (N + 1)] = 1;
        }
        bp_view_init(&a, memory, dtype, 3, shape, (const int64_t[]){N * N, 1, N});
        memset(result, 0x55, sizeof result);
        for (int i = 0; i < 3; i++) {
            bp_view_init(&out[i], result[i], dtype, 3, shape, NULL);
        }
        for (size_t p = 0; p < sizeof powers / sizeof *powers; p++) {
            reference_results made;
            const bp_linalg_call inverse = {
                .struct_size = sizeof inverse, .op = BP_OP_INV, .input = {&out[0].tensor}, .output = {&out[1].tensor}};
            assert_int_equal(reference_of_matrix_power(&made, &a.tensor, powers[p], &out[0].tensor), BP_OK);
            assert_int_equal(bp_matrix_power(&a.tensor, powers[p], &out[0].tensor), BP_OK);
            test_check_results(&made, bp_dtype_name(dtype));
            assert_int_equal(bp_matrix_power(&a.tensor, -powers[p], &out[1].tensor), BP_OK);
            test_check_equations(&inverse, 1, bp_dtype_name(dtype));
        }
        assert_int_equal(bp_matrix_power(&a.tensor, 0, &out[0].tensor), BP_OK);
        bp_view_init(&identity, ones, BP_F64, 3, shape, (const int64_t[]){0, N, 1});
        assert_int_equal(bp_tensor_copy(&out[2].tensor, &identity.tensor), BP_OK);
        assert_memory_equal(result[0], result[2], (size_t)(ITEMS * N * N) * bp_dtype_size(dtype));
    }
}

/* The identity is written in place, so that neither large matrices of an empty batch nor gaps matter. */
static void identities_in_any_layout(void **unused) {
    (void)unused;
    const int64_t empty[] = {0, 3000000, 3000000};
    double memory[32], zeros[8] = {0};
    bp_view a, out;
    bp_view_init(&a, NULL, BP_F64, 3, empty, NULL);
    bp_view_init(&out, NULL, BP_F64, 3, empty, NULL);
    assert_int_equal(bp_matrix_power(&a.tensor, 0, &out.tensor), BP_OK);
    bp_view_init(&a, zeros, BP_F64, 2, (const int64_t[]){1, 1}, NULL);
    bp_view_init(&out, memory, BP_F64, 2, (const int64_t[]){1, 1}, (const int64_t[]){INT64_MAX, INT64_MAX});
    assert_int_equal(bp_matrix_power(&a.tensor, 0, &out.tensor), BP_OK);
    bp_view_init(&a, zeros, BP_F64, 3, (const int64_t[]){2, 2, 2}, NULL);
    bp_view_init(&out, memory, BP_F64, 3, (const int64_t[]){2, 2, 2}, (const int64_t[]){-16, -5, 2});
    out.tensor.byte_offset = 24 * sizeof *memory;
    for (int i = 0; i < 32; i++) {
        memory[i] = 7;
    }
    assert_int_equal(bp_matrix_power(&a.tensor, 0, &out.tensor), BP_OK);
    for (int i = 0; i < 32; i++) {
        const bool one = i == 24 || i == 21 || i == 8 || i == 5, zero = i == 26 || i == 19 || i == 10 || i == 3;
        assert_true(memory[i] == (one ? 1 : zero ? 0 : 7));
    }
}

static void powers_are_checked_and_explained(void **unused) {
    (void)unused;
    double a[9] = {1, 1, 0, 0, 0, 0, 0, 0, 1}, c[9];
    bp_view x, y, out;
    bp_view_init(&x, a, BP_F64, 2, (const int64_t[]){3, 3}, NULL);
    bp_view_init(&out, c, BP_F64, 2, (const int64_t[]){3, 3}, NULL);
    refused(bp_matrix_power(&x.tensor, -3, &out.tensor), BP_E_SINGULAR, "inv");
    refused(bp_matrix_power(&x.tensor, 2, &x.tensor), BP_E_OVERLAP, "overlaps A");
    bp_view_init(&y, a, BP_F64, 2, (const int64_t[]){3, 2}, NULL);
    refused(bp_matrix_power(&y.tensor, 2, &out.tensor), BP_E_SHAPE, "square");
    bp_view_init(&y, c, BP_F64, 2, (const int64_t[]){2, 2}, NULL);
    refused(bp_matrix_power(&x.tensor, 2, &y.tensor), BP_E_SHAPE, "must have shape (3, 3)");
    bp_view_init(&y, c, BP_F32, 2, (const int64_t[]){3, 3}, NULL);
    refused(bp_matrix_power(&x.tensor, 2, &y.tensor), BP_E_DTYPE, "must be f64");
    a[0] = (double)NAN; /* NaN passes through products, and stops an inverse */
    assert_int_equal(bp_matrix_power(&x.tensor, 2, &out.tensor), BP_OK);
    assert_true(isnan(c[0]));
    refused(bp_matrix_power(&x.tensor, -1, &out.tensor), BP_E_NON_FINITE, "");
    for (int64_t n = -3; n <= 3; n++) {
        bp_explanation *explanation;
        assert_int_equal(bp_matrix_power_explain(&explanation, NULL, &x.tensor, n, &out.tensor), BP_OK);
        int parts = 0;
        while (bp_explanation_part(explanation, parts)) {
            parts++;
        }
        const int products[] = {0, 0, 1, 2};
        assert_int_equal(parts, products[llabs(n)] + (n < 0));
        bp_explanation_release(explanation);
    }
    bp_options *options;
    assert_int_equal(bp_options_new(&options, "dispatch.exclude=native"), BP_OK);
    a[0] = 2;
    bp_status status = bp_matrix_power_run(options, &x.tensor, 3, &out.tensor);
    bp_plan_info info = {.struct_size = sizeof info};
    if (status == BP_OK && bp_last_plan(&info) == BP_OK) { /* a machine may have native alone */
        assert_string_not_equal(info.library, "native");
        assert_true(c[0] == 8);
    }
    bp_options_release(options);
    /* Half precision, and matrices without elements. */
    uint16_t ones[4] = {0x3c00, 0x3c00, 0x3c00, 0x3c00}, half[4];
    bp_view_init(&x, ones, BP_F16, 2, (const int64_t[]){2, 2}, NULL);
    bp_view_init(&out, half, BP_F16, 2, (const int64_t[]){2, 2}, NULL);
    assert_int_equal(bp_matrix_power(&x.tensor, 5, &out.tensor), BP_OK);
    assert_int_equal(half[0], 0x4c00); /* 16 */
    assert_int_equal(bp_matrix_power(&x.tensor, 0, &out.tensor), BP_OK);
    assert_true(half[0] == 0x3c00 && half[1] == 0);
    refused(bp_matrix_power(&x.tensor, -1, &out.tensor), BP_E_DTYPE, "f16");
    bp_view_init(&x, NULL, BP_F64, 2, (const int64_t[]){0, 0}, NULL);
    for (int64_t n = -2; n <= 3; n++) {
        assert_int_equal(bp_matrix_power(&x.tensor, n, &x.tensor), BP_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_norms_of_any_dimensions_and_strides),
        cmocka_unit_test(vector_norms_of_extreme_values),
        cmocka_unit_test(vector_norms_have_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(vector_norms_are_checked),
        cmocka_unit_test(dots_broadcast_and_conjugate),
        cmocka_unit_test(dots_are_checked_planned_and_explained),
        cmocka_unit_test(chains_of_products),
        cmocka_unit_test(chains_take_the_cheapest_order),
        cmocka_unit_test(powers_of_matrices),
        cmocka_unit_test(identities_in_any_layout),
        cmocka_unit_test(powers_are_checked_and_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
