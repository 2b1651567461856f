/* test_copy.c - tests strided copies against a simple loop, element by element and byte by byte. */
#include "support/arrays.h"
#include "tensor/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARENA = 1 << 16 };
static alignas(16) unsigned char source[ARENA], target[ARENA], expected[ARENA];

static void fill(unsigned char *bytes) {
    for (int i = 0; i < ARENA; i++) {
        bytes[i] = (unsigned char)test_array_between(0, 255);
    }
}

static void test_any_strides(void **state) {
    (void)state;
    test_array_random = 11;
    const bp_dtype types[] = {BP_U8, BP_F16, BP_F32, BP_C64, BP_F64, BP_C128, BP_BOOL, BP_I64};
    for (int round = 0; round < 3000; round++) {
        const bp_dtype dtype = types[round % BP__COUNT(types)];
        const int ndim = (int)test_array_between(0, 4);
        int64_t shape[4];
        for (int i = 0; i < ndim; i++) {
            shape[i] = test_array_between(1, ndim < 3 ? 30 : 6);
        }
        test_array dst, src, wanted;
        test_array_make(&dst, dtype, ndim, shape, (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1));
        test_array_make(&src, dtype, ndim, shape, (test_layout)test_array_between(0, TEST_BROADCAST));
        for (size_t i = 0; i < (size_t)src.all * bp_dtype_size(dtype); i++) {
            src.memory[i] = (char)test_array_between(-128, 127);
        }
        test_array_copy(&wanted, &dst);
        for (int64_t e = 0; e < test_array_count(&dst); e++) {
            memcpy(test_array_at(&wanted, e), test_array_at(&src, e), bp_dtype_size(dtype));
        }
        assert_int_equal(bp_tensor_copy(&dst.view.tensor, &src.view.tensor), BP_OK);
        test_array_check_unchanged(&dst, &wanted, "copy");
        test_array_free(&dst);
        test_array_free(&src);
        test_array_free(&wanted);
    }
}

static void test_highest_rank_and_lowest(void **state) {
    (void)state;
    float from[32], to[32] = {0};
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    for (int i = 0; i < 32; i++) {
        from[i] = (float)i;
    }
    int64_t step = 1;
    for (int i = 0; i < BP_MAX_NDIM; i++) { /* five dimensions of size 2 among many of size 1, in column-major order */
        shape[i] = i % 13 == 6 ? 2 : 1;
        strides[i] = step;
        step *= shape[i];
    }
    bp_view dst, src;
    assert_int_equal(bp_view_init(&src, from, BP_F32, BP_MAX_NDIM, shape, strides), BP_OK);
    assert_int_equal(bp_view_init(&dst, to, BP_F32, BP_MAX_NDIM, shape, NULL), BP_OK);
    assert_int_equal(bp_tensor_copy(&dst.tensor, &src.tensor), BP_OK);
    for (int i = 0; i < 32; i++) {
        int reversed = (i & 1) << 4 | (i & 2) << 2 | (i & 4) | (i & 8) >> 2 | (i & 16) >> 4;
        assert_true(to[i] == (float)reversed);
    }
    assert_int_equal(bp_view_init(&src, from + 3, BP_F32, 0, NULL, NULL), BP_OK);
    assert_int_equal(bp_view_init(&dst, to, BP_F32, 0, NULL, NULL), BP_OK);
    assert_int_equal(bp_tensor_copy(&dst.tensor, &src.tensor), BP_OK);
    assert_true(to[0] == 3.0f);
    assert_int_equal(bp_view_matrix(&src, NULL, BP_F32, 0, 4), BP_OK);
    assert_int_equal(bp_view_matrix(&dst, NULL, BP_F32, 0, 4), BP_OK);
    assert_int_equal(bp_tensor_copy(&dst.tensor, &src.tensor), BP_OK);
}

static const double samples[] = {0.0,
                                 -0.0,
                                 1.0,
                                 -1.5,
                                 65504.0,
                                 65520.0,
                                 1e-8,
                                 5.9e-8,
                                 1e40,
                                 -1e300,
                                 1e-310,
                                 0.1,
                                 3.14159,
                                 1.0004882812509,
                                 (double)INFINITY,
                                 -(double)INFINITY,
                                 (double)NAN};

static double load(bp_dtype dtype, const void *at) {
    switch (dtype) {
    case BP_F16:
        return (double)bp__f16_to_f32(*(const uint16_t *)at);
    case BP_BF16:
        return (double)bp__bf16_to_f32(*(const uint16_t *)at);
    case BP_F32:
    case BP_C64:
        return (double)*(const float *)at;
    default:
        return *(const double *)at;
    }
}

static void store(bp_dtype dtype, void *at, double value) {
    switch (dtype) {
    case BP_F16:
        *(uint16_t *)at = bp__f64_to_f16(value);
        break;
    case BP_BF16:
        *(uint16_t *)at = bp__f64_to_bf16(value);
        break;
    case BP_F32:
    case BP_C64:
        *(float *)at = (float)value;
        break;
    default:
        *(double *)at = value;
    }
}

static bool is_complex(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

/* Every pair of types, transposed and longer than one chunk, with gaps in dst that must stay unchanged. */
static void test_conversions(void **state) {
    (void)state;
    const bp_dtype types[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_C64, BP_C128};
    enum { ROWS = 3, COLUMNS = 150 };
    for (int t = 0; t < 36; t++) {
        bp_dtype from = types[t / 6], to = types[t % 6];
        size_t from_size = bp_dtype_size(from), to_size = bp_dtype_size(to);
        bp_view dst, src;
        assert_int_equal(bp_view_init(&src, source, from, 2, (int64_t[]){ROWS, COLUMNS}, (int64_t[]){1, ROWS}), BP_OK);
        assert_int_equal(bp_view_init(&dst, target, to, 2, (int64_t[]){ROWS, COLUMNS}, (int64_t[]){2 * COLUMNS + 1, 2}),
                         BP_OK);
        memset(target, 0x5a, ARENA);
        memset(expected, 0x5a, ARENA);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            double re = samples[i % BP__COUNT(samples)], im = samples[(i * 5 + 2) % BP__COUNT(samples)];
            unsigned char *in = source + (size_t)(i % COLUMNS * ROWS + i / COLUMNS) * from_size;
            unsigned char *out = expected + (size_t)(i / COLUMNS * (2 * COLUMNS + 1) + i % COLUMNS * 2) * to_size;
            store(from, in, re);
            if (is_complex(from)) {
                store(from, in + from_size / 2, im);
            }
            store(to, out, load(from, in));
            if (is_complex(to)) {
                store(to, out + to_size / 2, is_complex(from) ? load(from, in + from_size / 2) : 0.0);
            }
        }
        bool possible = is_complex(to) || !is_complex(from);
        assert_int_equal(bp_tensor_copy(&dst.tensor, &src.tensor), possible ? BP_OK : BP_E_DTYPE);
        if (!possible) {
            memset(expected, 0x5a, ARENA);
        }
        assert_memory_equal(target, expected, ARENA);
    }
}

static void test_invalid_arguments(void **state) {
    (void)state;
    float data[64];
    int32_t whole[64];
    bp_view dst, src, other;
    bp_view_matrix(&src, data, BP_F32, 4, 4);
    bp_view_matrix(&dst, data + 15, BP_F32, 4, 4);
    assert_int_equal(bp_tensor_copy(&dst.tensor, &src.tensor), BP_E_OVERLAP);
    assert_int_equal(bp_tensor_copy(&src.tensor, &src.tensor), BP_E_OVERLAP);
    bp_view_matrix(&dst, data + 16, BP_F32, 4, 4);
    assert_int_equal(bp_tensor_copy(&dst.tensor, &src.tensor), BP_OK);
    bp_view_init(&dst, data + 16, BP_F32, 2, (int64_t[]){4, 4}, (int64_t[]){0, 1});
    assert_int_equal(bp_tensor_copy(&dst.tensor, &src.tensor), BP_E_OVERLAP);
    bp_view_init(&dst, data + 16, BP_F32, 2, (int64_t[]){4, 4}, (int64_t[]){3, 1});
    assert_int_equal(bp_tensor_copy(&dst.tensor, &src.tensor), BP_E_OVERLAP);
    bp_view_matrix(&dst, data + 16, BP_F32, 4, 3);
    assert_int_equal(bp_tensor_copy(&dst.tensor, &src.tensor), BP_E_SHAPE);
    bp_view_init(&dst, data + 16, BP_F32, 3, (int64_t[]){4, 4, 1}, NULL);
    assert_int_equal(bp_tensor_copy(&dst.tensor, &src.tensor), BP_E_SHAPE);
    bp_view_matrix(&other, whole, BP_I32, 4, 4);
    assert_int_equal(bp_tensor_copy(&other.tensor, &src.tensor), BP_E_DTYPE);
    assert_int_equal(bp_tensor_copy(NULL, &src.tensor), BP_E_ARGUMENT);
    assert_int_equal(bp_tensor_copy(&src.tensor, NULL), BP_E_ARGUMENT);
}

/* Interleaved columns share a range of addresses but no element. */
static void test_columns_of_one_matrix(void **state) {
    (void)state;
    float data[8] = {0, 10, 1, 11, 2, 12, 3, 13};
    bp_view evens, odds;
    bp_view_init(&evens, data, BP_F32, 1, (int64_t[]){4}, (int64_t[]){2});
    bp_view_init(&odds, data + 1, BP_F32, 1, (int64_t[]){4}, (int64_t[]){2});
    assert_int_equal(bp_tensor_copy(&evens.tensor, &odds.tensor), BP_OK);
    for (int i = 0; i < 8; i++) {
        assert_true(data[i] == (float)(10 + i / 2));
    }
}

/* Compares a copied matrix with a simple loop. */
typedef struct layout {
    int64_t row, column, first;
} layout;

static void check_copy_matrix(bp_dtype dtype, int64_t rows, int64_t columns, layout to, layout from, int conjugate) {
    int64_t size = (int64_t)bp_dtype_size(dtype), part = is_complex(dtype) ? size / 2 : size;
    int64_t guarded = (2 * rows * columns + 4 * (rows + columns) + 16) * size;
    size_t bytes = guarded < ARENA ? (size_t)guarded : ARENA;
    memset(target, 0x5a, bytes);
    memset(expected, 0x5a, bytes);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            const unsigned char *in = source + (from.first + i * from.row + j * from.column) * size;
            unsigned char *out = expected + (to.first + i * to.row + j * to.column) * size;
            memcpy(out, in, (size_t)size);
            if (conjugate && is_complex(dtype)) {
                store(dtype, out + part, -load(dtype, in + part));
            }
        }
    }
    bp__copy_matrix(dtype, rows, columns, target + to.first * size, to.row, to.column, source + from.first * size,
                    from.row, from.column, conjugate);
    assert_memory_equal(target, expected, bytes);
}

/* Both directions, gaps between rows or columns, and negative strides. */
static layout layout_of(int kind, int64_t rows, int64_t columns) {
    switch (kind) {
    case 0:
        return (layout){columns, 1, 0};
    case 1:
        return (layout){1, rows, 0};
    case 2:
        return (layout){columns + 3, 1, 1};
    case 3:
        return (layout){1, rows + 1, 1};
    case 4:
        return (layout){-1, rows + 2, rows - 1};
    case 5:
        return (layout){1, -rows, (columns - 1) * rows};
    case 6:
        return (layout){-columns, 1, (rows - 1) * columns};
    default:
        return (layout){2, 2 * rows, 0};
    }
}

/* Sizes around tiles and blocks, every pair of layouts, conjugated or not, with guard elements around. */
static void test_copy_matrix(void **state) {
    (void)state;
    const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 41};
    const bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128, BP_BF16};
    enum { SIZES = BP__COUNT(sizes), KINDS = 8 };
    for (int t = 0; t < (int)BP__COUNT(types) * SIZES * SIZES; t++) {
        bp_dtype dtype = types[t / SIZES / SIZES];
        int64_t rows = sizes[t / SIZES % SIZES], columns = sizes[t % SIZES];
        int64_t part = (int64_t)bp_dtype_size(dtype) / (is_complex(dtype) ? 2 : 1);
        for (int64_t i = 0; i < ARENA / part; i++) {
            store(dtype, source + i * part, (double)((i + t) % 1000) - 500);
        }
        for (int kinds = 0; kinds < KINDS * KINDS; kinds++) {
            layout to = layout_of(kinds / KINDS, rows, columns), from = layout_of(kinds % KINDS, rows, columns);
            for (int conjugate = 0; conjugate <= (int)is_complex(dtype); conjugate++) {
                check_copy_matrix(dtype, rows, columns, to, from, conjugate);
            }
        }
    }
    float untouched = 1.0f, value = 2.0f;
    bp__copy_matrix(BP_F32, 0, 3, &untouched, 1, 1, &value, 1, 1, 0);
    bp__copy_matrix(BP_F32, 3, 0, &untouched, 1, 1, &value, 1, 1, 0);
    assert_true(untouched == 1.0f);
}

/* More than one block along both sides, with one extra row and column. */
static void test_copy_matrix_of_many_blocks(void **state) {
    (void)state;
    for (int t = 0; t < 4; t++) {
        int64_t rows = t & 1 ? 97 : 64, columns = t & 2 ? 65 : 72;
        fill(source);
        check_copy_matrix(BP_I64, rows, columns, layout_of(0, rows, columns), layout_of(1, rows, columns), 0);
        check_copy_matrix(BP_I32, rows, columns, layout_of(3, rows, columns), layout_of(2, rows, columns), 0);
    }
}

/* Signs of zeros and NaN change and payloads stay, in tiles and at their edges. */
static void test_conjugate_bits(void **state) {
    (void)state;
    enum { N = 11 };
    fill(source);
    for (int wide = 0; wide < 2; wide++) {
        size_t part = wide ? 8 : 4;
        for (int i = 0; i < N * N; i++) {
            memcpy(source + (size_t)(2 * i + 1) * part, &(double[]){i % 2 ? -0.0 : (double)NAN}, 8);
        }
        bp__copy_matrix(wide ? BP_C128 : BP_C64, N, N, target, N, 1, source, 1, N, 1);
        for (int i = 0; i < N * N; i++) {
            const unsigned char *in = source + (size_t)(i % N * N + i / N) * 2 * part,
                                *out = target + (size_t)i * 2 * part;
            assert_memory_equal(out, in, 2 * part - 1);
            assert_int_equal(out[2 * part - 1] ^ in[2 * part - 1], 0x80);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_strides),
        cmocka_unit_test(test_highest_rank_and_lowest),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_invalid_arguments),
        cmocka_unit_test(test_columns_of_one_matrix),
        cmocka_unit_test(test_copy_matrix),
        cmocka_unit_test(test_copy_matrix_of_many_blocks),
        cmocka_unit_test(test_conjugate_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
