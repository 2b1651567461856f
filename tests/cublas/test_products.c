/* test_products.c - products on a CUDA device with the doubles of cuBLASLt and cuBLAS, against the reference: types,
 * transpositions, layouts, batches, factors, sizes without elements, and what is refused. */
#include "cublas/support_cublas.h"

#include <math.h>

static const bp_dtype types[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_C64, BP_C128};
enum { TYPES = sizeof types / sizeof types[0] };
/* Sums of f16 and bf16 in these types have larger errors than the reference allows; test_settings.c has them. */
#define EXACT                                                                                                          \
    ", cuda.matmul.allow_fp16_reduced_precision_reduction=false"                                                       \
    ", cuda.matmul.allow_bf16_reduced_precision_reduction=false"
static const char *const libraries[] = {"cuda.preferred_blas_library=cublaslt" EXACT,
                                        "cuda.preferred_blas_library=cublas" EXACT};

static bool is_complex(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

/* Checks a product with both libraries, and that each has run it. */
static void check(const gemm_case *c) {
    for (int i = 0; i < 2; i++) {
        const cublas_controls *d = i == 0 ? the_lt() : the_classic();
        const int before = d->calls;
        check_gemm(c, libraries[i], 1);
        assert_true(d->calls > before);
    }
}

static void types_and_layouts(void **state) {
    (void)state;
    for (int t = 0; t < TYPES; t++) {
        for (int bits = 0; bits < 32; bits++) {
            const gemm_case c = {.dtype = types[t],
                                 .m = 7,
                                 .n = 5,
                                 .k = 11,
                                 .transform_a = bits & 1 ? BP_TRANSPOSE : BP_AS_IS,
                                 .transform_b = bits & 2 ? BP_TRANSPOSE : BP_AS_IS,
                                 .columns_a = bits & 4,
                                 .columns_b = bits & 8,
                                 .columns_c = bits & 16,
                                 .gap = bits % 3,
                                 .alpha = {0.5, is_complex(types[t]) ? 0.25 : 0},
                                 .beta = {-1.5, is_complex(types[t]) ? 0.5 : 0}};
            check(&c);
        }
    }
}

static void sizes(void **state) {
    static const int64_t all[][3] = {{1, 1, 1}, {1, 40, 7}, {40, 1, 7}, {9, 8, 1}, {16, 16, 16}, {33, 29, 65}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (int t = 0; t < TYPES; t++) {
            for (int by_columns = 0; by_columns < 2; by_columns++) {
                gemm_case c = {.dtype = types[t],
                               .m = all[i][0],
                               .n = all[i][1],
                               .k = all[i][2],
                               .columns_c = by_columns,
                               .alpha = {1, 0}};
                check(&c);
                c.beta.re = 1;
                check(&c);
            }
        }
    }
}

/* Square, so that a transposition that is forgotten keeps the sizes. */
static void square_matrices(void **state) {
    (void)state;
    for (int bits = 0; bits < 4; bits++) {
        const gemm_case c = {.dtype = BP_F64,
                             .m = 6,
                             .n = 6,
                             .k = 6,
                             .transform_a = bits & 1 ? BP_TRANSPOSE : BP_AS_IS,
                             .transform_b = bits & 2 ? BP_TRANSPOSE : BP_AS_IS,
                             .alpha = {2, 0}};
        check(&c);
    }
}

/* The library conjugates what it transposes: in the order of the result that fits. */
static void conjugates(void **state) {
    (void)state;
    for (int t = 4; t < TYPES; t++) {
        for (int bits = 2; bits < 8; bits++) {
            const bool by_columns = bits % 2;
            const gemm_case c = {.dtype = types[t],
                                 .m = 4,
                                 .n = 5,
                                 .k = 6,
                                 .transform_a = bits & 2 ? BP_CONJUGATE_TRANSPOSE : BP_AS_IS,
                                 .transform_b = bits & 4 ? BP_CONJUGATE_TRANSPOSE : BP_AS_IS,
                                 .columns_a = by_columns,
                                 .columns_b = by_columns,
                                 .columns_c = by_columns,
                                 .alpha = {1, -1}};
            check(&c);
        }
    }
    const gemm_case alone = {.dtype = BP_C64, .m = 4, .n = 5, .k = 6, .transform_a = BP_CONJUGATE, .alpha = {1, 0}};
    assert_int_equal(run_gemm(&alone, ""), BP_E_NO_CANDIDATE);
    assert_contains(bp_last_error(), "would be conjugated without being transposed");
}

static void batches(void **state) {
    (void)state;
    for (int t = 0; t < TYPES; t++) {
        for (int bits = 0; bits < 16; bits++) {
            const gemm_case c = {.dtype = types[t],
                                 .m = 3,
                                 .n = 4,
                                 .k = 9,
                                 .batch_ndim = 1 + (bits & 1),
                                 .batch = {3, 5},
                                 .same_a = bits & 2,
                                 .same_b = bits & 4,
                                 .columns_c = bits & 8,
                                 .gap = 1,
                                 .alpha = {1, 0},
                                 .beta = {0.5, 0}};
            check(&c);
        }
    }
}

/* An operand that is the same for one dimension of the batch only: the dimensions do not become one. */
static void batches_of_several_calls(void **state) {
    const gemm_case c = {.dtype = BP_F32, .m = 3, .n = 4, .k = 5, .batch_ndim = 2, .batch = {3, 7}, .alpha = {1, 0}};
    (void)state;
    test_array a, b, out;
    on_device on[3];
    const int64_t shapes[3][4] = {{3, 7, 3, 5}, {3, 7, 5, 4}, {3, 7, 3, 4}};
    const int64_t strides[3][4] = {{0, 16, 5, 1}, {20, 0, 4, 1}, {84, 12, 4, 1}};
    test_array *const all[] = {&a, &b, &out};
    for (int i = 0; i < 3; i++) {
        test_array_make_strided(all[i], BP_F32, 4, shapes[i], strides[i], 0);
        test_array_fill(all[i], 1);
        put(&on[i], all[i], 0, 0);
    }
    reference_results made;
    const int before = the_lt()->calls;
    assert_ok(reference_of_gemm(&made, 0, 0, &c.alpha, &a.view.tensor, &b.view.tensor, NULL, &out.view.tensor));
    assert_ok(bp_matmul(&on[0].tensor, &on[1].tensor, &on[2].tensor));
    assert_int_equal(the_lt()->calls, before + 3); /* seven items each */
    get(&on[2]);
    test_check_results(&made, "two strides of zero");
    for (int i = 0; i < 3; i++) {
        drop(&on[i]);
        test_array_free(all[i]);
    }
}

static void bytes(void **state) {
    const gemm_case c = {
        .dtype = BP_I8, .output = BP_I32, .m = 8, .n = 4, .k = 12, .transform_b = BP_TRANSPOSE, .alpha = {1, 0}};
    gemm_case odd = c, adds = c;
    (void)state;
    check_gemm(&c, "", 1);
    assert_int_equal(the_lt()->told.compute, BP__CUBLAS_COMPUTE_32I);
    odd.k = 13; /* the library has no kernel */
    assert_int_equal(run_gemm(&odd, ""), BP_E_NO_CANDIDATE);
    adds.beta.re = 1;
    assert_int_equal(run_gemm(&adds, ""), BP_E_NO_CANDIDATE);
    assert_contains(bp_last_error(), "could exceed i32");
}

typedef struct random_product {
    test_array host[3];
    on_device on[3];
} random_product;

/* Draws shapes that fit each other; an operand may be the same for a dimension of the batch. Returns their rank. */
static int draw_shapes(int64_t shapes[3][4]) {
    const int batch_ndim = (int)test_array_between(0, 2);
    const int64_t m = test_array_between(1, 6), n = test_array_between(1, 6), k = test_array_between(1, 9);
    const int64_t sides[3][2] = {{m, k}, {k, n}, {m, n}};
    for (int d = 0; d < batch_ndim; d++) {
        const int64_t size = test_array_between(1, 4), broadcast = test_array_between(0, 5);
        for (int i = 0; i < 3; i++) {
            shapes[i][d] = i < 2 && i == broadcast ? 1 : size;
        }
    }
    for (int i = 0; i < 3; i++) {
        memcpy(&shapes[i][batch_ndim], sides[i], sizeof sides[i]);
    }
    return batch_ndim + 2;
}

static void draw_product(random_product *r) {
    int64_t shapes[3][4];
    const bp_dtype dtype = types[test_array_between(0, TYPES - 1)];
    const int ndim = draw_shapes(shapes);
    for (int i = 0; i < 3; i++) {
        const int64_t other = test_array_between(0, TEST_LAYOUTS - 1);
        const test_layout layout = test_array_between(0, 1) ? TEST_COMPACT : (test_layout)other;
        test_array_make(&r->host[i], dtype, ndim, shapes[i], layout);
        test_array_fill(&r->host[i], 1);
        put(&r->on[i], &r->host[i], 0, 16 * (size_t)test_array_between(0, 1));
    }
}

/* Runs a product, which is right, or refused for its layout. Returns whether it has run. */
static bool check_random(random_product *r, const char *settings, const char *text) {
    reference_results made;
    bp_options *options;
    assert_ok(bp_options_new(&options, settings));
    assert_ok(reference_of_matmul(&made, &r->host[0].view.tensor, &r->host[1].view.tensor, &r->host[2].view.tensor));
    const bp_status status = bp_matmul_run(options, &r->on[0].tensor, &r->on[1].tensor, &r->on[2].tensor);
    bp_options_release(options);
    if (status != BP_OK) {
        assert_int_equal(status, BP_E_NO_CANDIDATE);
        assert_contains(bp_last_error(), "contiguous");
        reference_results_free(&made);
        return false;
    }
    get(&r->on[2]);
    test_check_results(&made, text);
    test_array_check_gaps(&r->host[2], text);
    return true;
}

static void random_layouts(void **state) {
    enum { CALLS = 600 };
    int run = 0;
    (void)state;
    test_array_random = 20;
    for (int call = 0; call < CALLS; call++) {
        random_product r;
        char text[64];
        snprintf(text, sizeof text, "random call %d", call);
        draw_product(&r);
        run += check_random(&r, libraries[call % 2], text);
        for (int i = 0; i < 3; i++) {
            drop(&r.on[i]);
            test_array_free(&r.host[i]);
        }
    }
    assert_in_range(run, CALLS / 4, CALLS - 1);
}

/* ---- Values that are not read ---- */

/* Multiplies with NaN everywhere in C. */
static void c_is_not_read(void **state) {
    (void)state;
    for (int t = 0; t < TYPES; t++) {
        test_array a, b, out;
        on_device on[3];
        const int64_t shape[] = {8, 8};
        test_array *const all[] = {&a, &b, &out};
        for (int i = 0; i < 3; i++) {
            test_array_make(all[i], types[t], 2, shape, TEST_COMPACT);
            test_array_fill(all[i], 1);
        }
        for (int64_t i = 0; i < 64; i++) {
            test_array_set(&out, i, NAN);
        }
        for (int i = 0; i < 3; i++) {
            put(&on[i], all[i], 0, 0);
        }
        assert_ok(bp_matmul(&on[0].tensor, &on[1].tensor, &on[2].tensor));
        get(&on[2]);
        for (int64_t i = 0; i < 64; i++) {
            assert_true(test_array_get(&out, i) == test_array_get(&out, i));
        }
        for (int i = 0; i < 3; i++) {
            drop(&on[i]);
            test_array_free(all[i]);
        }
    }
}

static void sizes_of_zero(void **state) {
    static const int64_t all[][3] = {{0, 4, 5}, {4, 0, 5}, {4, 5, 0}, {0, 0, 0}};
    (void)state;
    const int before = the_lt()->calls;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (int beta = 0; beta < 2; beta++) {
            for (int gap = 0; gap < 2; gap++) {
                const gemm_case c = {.dtype = BP_F32,
                                     .m = all[i][0],
                                     .n = all[i][1],
                                     .k = all[i][2],
                                     .gap = gap,
                                     .batch_ndim = (int)i % 2,
                                     .batch = {3},
                                     .alpha = {1, 0},
                                     .beta = {beta, 0}};
                check_gemm(&c, "", 1);
            }
        }
    }
    const gemm_case no_items = {
        .dtype = BP_F32, .m = 4, .n = 5, .k = 3, .batch_ndim = 1, .batch = {0}, .alpha = {1, 0}};
    check_gemm(&no_items, "", 1);
    assert_int_equal(the_lt()->calls, before);
}

static void alpha_of_zero(void **state) {
    gemm_case c = {.dtype = BP_C128, .m = 4, .n = 5, .k = 3, .gap = 2, .batch_ndim = 1, .batch = {3}};
    (void)state;
    const int before = the_lt()->calls;
    check_gemm(&c, "", 1);
    c.apart = 7;
    check_gemm(&c, "", 1);
    c.beta.re = 1;
    check_gemm(&c, "", 1);
    assert_int_equal(the_lt()->calls, before);
    c.beta.re = 2;
    assert_int_equal(run_gemm(&c, ""), BP_E_NO_CANDIDATE);
    assert_contains(bp_last_error(), "it cannot multiply a matrix by beta alone");
}

/* ---- What is refused ---- */

static void layouts_that_no_call_has(void **state) {
    static const struct {
        int64_t strides[3][2];
    } wrong[] = {
        {{{10, 2}, {4, 1}, {4, 1}}}, /* steps in both dimensions */
        {{{-5, 1}, {4, 1}, {4, 1}}}, /* backwards */
        {{{5, 1}, {0, 1}, {4, 1}}},  /* the same row */
        {{{5, 1}, {4, 1}, {12, 3}}}, /* a result with steps */
        {{{2, 1}, {4, 1}, {4, 1}}},  /* rows that overlap */
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const int64_t shapes[3][2] = {{3, 5}, {5, 4}, {3, 4}};
        test_array all[3];
        on_device on[3];
        for (int j = 0; j < 3; j++) {
            test_array_make_strided(&all[j], BP_F32, 2, shapes[j], wrong[i].strides[j], 0);
            put(&on[j], &all[j], 0, 0);
        }
        assert_fails(bp_matmul(&on[0].tensor, &on[1].tensor, &on[2].tensor), BP_E_NO_CANDIDATE,
                     "neither contiguous rows nor contiguous columns");
        for (int j = 0; j < 3; j++) {
            drop(&on[j]);
            test_array_free(&all[j]);
        }
    }
}

static void other_operations(void **state) {
    const int64_t shape[] = {4};
    test_array x;
    on_device on;
    (void)state;
    test_array_make(&x, BP_F32, 1, shape, TEST_COMPACT);
    put(&on, &x, 0, 0);
    assert_fails(bp_unary_run(NULL, BP_UNARY_EXP, &on.tensor, &on.tensor), BP_E_NO_CANDIDATE, "offers unary");
    drop(&on);
    test_array_free(&x);
}

static void mixed_types(void **state) {
    const gemm_case c = {.dtype = BP_U8, .output = BP_I32, .m = 4, .n = 4, .k = 4, .alpha = {1, 0}};
    (void)state;
    assert_int_equal(run_gemm(&c, ""), BP_E_NO_CANDIDATE);
    assert_contains(bp_last_error(), "and i8 with sums in i32 are offered");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(types_and_layouts, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(sizes, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(square_matrices, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(conjugates, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(batches, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(batches_of_several_calls, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(random_layouts, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(bytes, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(c_is_not_read, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(sizes_of_zero, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(alpha_of_zero, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(layouts_that_no_call_has, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(other_operations, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(mixed_types, begin_cublas, end_cublas),
    };
    return cmocka_run_group_tests_name("products", tests, start_cublas, stop_cublas);
}
