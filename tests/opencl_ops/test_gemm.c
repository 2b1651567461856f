/* test_gemm.c - matrix products on an OpenCL device: all types, layouts and algorithms against the reference. */
#include "device_array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sizes {
    int64_t batch, m, n, k;
} sizes;

typedef struct call {
    const char *algorithm;
    bp_dtype type[3];
    sizes size;
    bp_transform transform[2];
    bp_scalar alpha, beta;
    bool nan_in_c;
    unsigned broadcast[2]; /* of A and B */
    test_layout layout[3];
} call;

static bool is_transposed(bp_transform transform) {
    return transform == BP_TRANSPOSE || transform == BP_CONJUGATE_TRANSPOSE;
}

static void make_matrix(device_array *t, const call *c, int which, int64_t rows, int64_t columns) {
    const bool swapped = which < 2 && is_transposed(c->transform[which]);
    device_array_make(t, c->type[which], 3, I64(c->size.batch, swapped ? columns : rows, swapped ? rows : columns),
                      c->layout[which], which < 2 ? c->broadcast[which] : 0);
    device_array_fill(t);
}

static void run(const call *c) {
    char text[256], settings[128];
    device_array t[3];
    bp_options *options;
    reference_results made;
    snprintf(text, sizeof text, "%s %s %s, %d x (%d,%d,%d), transforms %d %d, alpha %g, beta %g, layouts %d %d %d",
             c->algorithm, bp_dtype_name(c->type[0]), bp_dtype_name(c->type[1]), (int)c->size.batch, (int)c->size.m,
             (int)c->size.n, (int)c->size.k, c->transform[0], c->transform[1], c->alpha.re, c->beta.re, c->layout[0],
             c->layout[1], c->layout[2]);
    snprintf(settings, sizeof settings, "blas.preferred=%s:%s,dispatch.fallback=strict", test_device_provider(),
             c->algorithm);
    assert_ok(bp_options_new(&options, settings));
    make_matrix(&t[0], c, 0, c->size.m, c->size.k);
    make_matrix(&t[1], c, 1, c->size.k, c->size.n);
    make_matrix(&t[2], c, 2, c->size.m, c->size.n);
    for (int64_t i = 0; i < c->size.batch * c->size.m * c->size.n; i++) {
        if (c->nan_in_c) {
            device_array_set(&t[2], i, NAN, NAN);
        }
    }
    device_array_send(&t[2]);
    assert_ok(reference_of_gemm(&made, (int)c->transform[0], (int)c->transform[1], &c->alpha,
                                device_array_side(&t[0], true), device_array_side(&t[1], true), &c->beta,
                                device_array_side(&t[2], true)));
    assert_ok(bp_gemm_run(options, c->transform[0], c->transform[1], &c->alpha, &t[0].tensor, &t[1].tensor, &c->beta,
                          &t[2].tensor));
    device_array_fetch(&t[2], text);
    if (c->size.batch * c->size.m * c->size.n > 0) {
        bp_plan_info info = {.struct_size = sizeof info};
        assert_on_device(text);
        assert_ok(bp_last_plan(&info));
        assert_int_equal((info.properties & BP_PROPERTY_ROW_INVARIANT) != 0, strcmp(c->algorithm, "direct") != 0);
    }
    test_check_results(&made, text);
    for (int i = 0; i < 3; i++) {
        device_array_free(&t[i]);
    }
    bp_options_release(options);
}

static const char *const algorithms[] = {"panels", "direct", "tiles"}; /* the first one: on processors only */
static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16, BP_C64, BP_C128};

/* Every type and algorithm, with sizes, layouts and factors that vary. */
static void test_all(void **state) {
    static const sizes some[] = {{1, 1, 1, 1},  {1, 7, 33, 5},  {3, 13, 40, 17}, {1, 65, 70, 31}, {2, 1, 50, 129},
                                 {2, 50, 1, 9}, {1, 1, 1, 300}, {1, 6, 32, 64},  {4, 6, 64, 0}};
    static const bp_scalar factors[] = {{1, 0}, {0, 0}, {-1.5, 0}};
    (void)state;
    test_device_need();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (size_t a = test_as_gpu; a < (test_device_leaves_tiles() ? 2 : 3); a++) {
            for (size_t s = 0; s < sizeof some / sizeof *some; s++) {
                const bool complex_type = types[i] >= BP_C64;
                call c = {.algorithm = algorithms[a],
                          .type = {types[i], types[i], types[i]},
                          .size = some[s],
                          .transform = {(bp_transform)test_array_between(0, 3), (bp_transform)test_array_between(0, 3)},
                          .alpha = factors[test_array_between(0, 2)],
                          .beta = factors[test_array_between(0, 2)],
                          .broadcast = {test_array_between(0, 3) == 0, test_array_between(0, 3) == 0}};
                for (int l = 0; l < 3; l++) {
                    c.layout[l] = (test_layout)test_array_between(0, TEST_LAYOUTS - 1);
                }
                c.alpha.im = complex_type && c.alpha.re < 0 ? 0.25 : 0;
                c.beta.im = complex_type && c.beta.re < 0 ? -0.5 : 0;
                c.nan_in_c = c.beta.re == 0;
                run(&c);
            }
        }
    }
}

/* Sizes that take several tiles and groups of each kernel. */
static void test_large(void **state) {
    (void)state;
    test_device_need();
    for (size_t a = test_as_gpu; a < (test_device_leaves_tiles() ? 2 : 3); a++) {
        call c = {
            .algorithm = algorithms[a], .type = {BP_F32, BP_F32, BP_F32}, .size = {1, 150, 200, 300}, .alpha = {1, 0}};
        run(&c);
        c.transform[0] = c.transform[1] = BP_TRANSPOSE;
        run(&c);
    }
}

/* Tiles are made for other devices. */
static void need_gpu(void) {
    if (!test_as_gpu) {
        skip();
    }
}

/* On a device with one unit, these sizes take tiles of 8 x 8, 4 x 4 and 2 x 2 elements for each work item. */
static void test_tiles(void **state) {
    static const sizes some[] = {{1, 250, 255, 33}, {1, 127, 126, 9}, {1, 190, 187, 17}, {3, 33, 40, 65}};
    static const bp_dtype wide[] = {BP_F32, BP_F64, BP_C64};
    (void)state;
    test_device_need();
    need_gpu();
    const uint32_t units = test_device_set_units(1);
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned s = 0; s < 4; s++) {
            call c = {.algorithm = "tiles",
                      .type = {wide[i], wide[i], wide[i]},
                      .size = some[s],
                      .transform = {(s + i) & 1 ? BP_TRANSPOSE : BP_AS_IS, (s + i) & 2 ? BP_TRANSPOSE : BP_AS_IS},
                      .alpha = {s & 1 ? -1.5 : 1, 0},
                      .beta = {s & 2 ? 1 : 0, 0}};
            run(&c);
        }
    }
    test_device_set_units(units);
}

/* A row is bitwise equal in a product of few rows, which takes other tiles. */
static void test_rows_of_tiles(void **state) {
    enum { M = 250, N = 255, K = 77, FEW = 3 };
    device_array a, b, whole, few;
    bp_options *options;
    (void)state;
    test_device_need();
    need_gpu();
    const uint32_t units = test_device_set_units(1);
    char settings[64];
    snprintf(settings, sizeof settings, "blas.preferred=%s:tiles,dispatch.fallback=strict", test_device_provider());
    assert_ok(bp_options_new(&options, settings));
    device_array_make(&a, BP_F32, 2, I64(M, K), TEST_COMPACT, 0);
    device_array_make(&b, BP_F32, 2, I64(K, N), TEST_COMPACT, 0);
    device_array_make(&whole, BP_F32, 2, I64(M, N), TEST_COMPACT, 0);
    device_array_make(&few, BP_F32, 2, I64(FEW, N), TEST_COMPACT, 0);
    device_array_fill(&a);
    device_array_fill(&b);
    device_array_send(&a);
    device_array_send(&b);
    assert_ok(bp_matmul_run(options, &a.tensor, &b.tensor, &whole.tensor));
    DLTensor rows = a.tensor;
    rows.shape = (int64_t[]){FEW, K};
    assert_ok(bp_matmul_run(options, &rows, &b.tensor, &few.tensor));
    device_array_fetch(&whole, "all rows");
    device_array_fetch(&few, "few rows");
    for (int64_t i = 0; i < FEW * N; i++) {
        assert_true(device_array_re(&whole, i) == device_array_re(&few, i));
    }
    device_array_free(&a);
    device_array_free(&b);
    device_array_free(&whole);
    device_array_free(&few);
    bp_options_release(options);
    test_device_set_units(units);
}

static void test_integers(void **state) {
    static const bp_dtype bytes[] = {BP_I8, BP_U8};
    (void)state;
    test_device_need();
    for (int i = 0; i < 8; i++) {
        call c = {.algorithm = (i & 4 || test_as_gpu) && !test_device_leaves_tiles() ? "tiles" : "panels",
                  .type = {bytes[i & 1], bytes[i >> 1 & 1], BP_I32},
                  .size = {2, 9, 37, i == 7 ? 0 : 70},
                  .alpha = {1, 0},
                  .beta = {i & 1, 0},
                  .layout = {TEST_REVERSED, TEST_PERMUTED, TEST_GAPS}};
        run(&c);
    }
}

/* NaN and Inf reach the elements of their row and column, and no other. */
static void test_not_finite(void **state) {
    (void)state;
    test_device_need();
    for (size_t a = test_as_gpu; a < (test_device_leaves_tiles() ? 2 : 3); a++) {
        char settings[128];
        device_array t[3];
        bp_options *options;
        snprintf(settings, sizeof settings, "blas.preferred=%s:%s,dispatch.fallback=strict", test_device_provider(),
                 algorithms[a]);
        assert_ok(bp_options_new(&options, settings));
        for (int i = 0; i < 3; i++) {
            device_array_make(&t[i], BP_F32, 2, I64(20, 20), TEST_COMPACT, 0);
            device_array_fill(&t[i]);
        }
        device_array_set(&t[0], 3 * 20 + 5, NAN, 0);
        device_array_set(&t[1], 7 * 20 + 4, INFINITY, 0);
        device_array_send(&t[0]);
        device_array_send(&t[1]);
        assert_ok(bp_matmul_run(options, &t[0].tensor, &t[1].tensor, &t[2].tensor));
        device_array_fetch(&t[2], settings);
        for (int i = 0; i < 400; i++) {
            const double value = device_array_re(&t[2], i);
            assert_int_equal(isnan(value) != 0, i / 20 == 3);
            assert_int_equal(isfinite(value) != 0, i / 20 != 3 && i % 20 != 4);
        }
        for (int i = 0; i < 3; i++) {
            device_array_free(&t[i]);
        }
        bp_options_release(options);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all),      cmocka_unit_test(test_large),
                                       cmocka_unit_test(test_tiles),    cmocka_unit_test(test_rows_of_tiles),
                                       cmocka_unit_test(test_integers), cmocka_unit_test(test_not_finite)};
    return cmocka_run_group_tests(tests, test_device_setup, NULL);
}
