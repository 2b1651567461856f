/* test_results.c - random shapes and layouts of all operations on single elements against references: functions,
 * conversions, broadcasts, indices and concatenation. */
#include "cases.h"
#include "support/results.h"
#include "support/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 600, MOST = 5 };

static const bp_dtype floats[] = {BP_F16, BP_BF16, BP_F32, BP_F64};
static const bp_dtype converted[] = {BP_BOOL, BP_I8, BP_U8, BP_I32, BP_I64, BP_F16, BP_BF16, BP_F32, BP_F64};

static bp_options *settings_of(int i) {
    return test_options(all_settings[i % SETTINGS]);
}

static int random_shape(int64_t *shape, int least) {
    const int ndim = (int)test_array_between(least, MOST);
    for (int d = 0; d < ndim; d++) {
        shape[d] = test_array_between(1, 7);
    }
    if (ndim > 0 && test_array_between(0, 2) == 0) {
        shape[test_array_between(0, ndim - 1)] = ndim < 3 ? test_array_between(30, 3000) : test_array_between(30, 80);
    }
    if (ndim > 0 && test_array_between(0, 30) == 0) {
        shape[test_array_between(0, ndim - 1)] = 0;
    }
    return ndim;
}

/* Equal, or both NaN; with `bound`, not further apart. */
static void near(const char *what, int number, int64_t index, long double got, long double want, long double bound) {
    if (!(got == want || fabsl(got - want) <= bound || (isnan(got) && isnan(want)))) {
        fail_msg("%s %d, element %d: %Lg instead of %Lg, bound %Lg", what, number, (int)index, got, want, bound);
    }
}

/* ---- Conversions ---- */

/* Returns what the conversion must give: it rounds as set_number() does. */
static long double converted_value(bp_dtype to, long double x) {
    char bytes[16];
    const long double low = to == BP_I8 ? -128 : to == BP_I32 ? INT32_MIN : to == BP_I64 ? (long double)INT64_MIN : 0;
    const long double high = to == BP_I8 ? 127 : to == BP_U8 ? 255 : to == BP_I32 ? INT32_MAX : (long double)INT64_MAX;
    switch (to) {
    case BP_BOOL:
        return x != 0;
    case BP_I8:
    case BP_U8:
    case BP_I32:
    case BP_I64:
        return isnan(x) ? 0 : truncl(x) < low ? low : truncl(x) > high ? high : truncl(x);
    default:
        set_number(to, bytes, x);
        return get_number(to, bytes);
    }
}

static bool is_integer(bp_dtype dtype) {
    return dtype > BP_F64;
}

/* Integers are converted to integers modulo 2^n. */
static long double wrapped_value(bp_dtype to, long double x) {
    const int64_t value = (int64_t)x;
    return to == BP_BOOL  ? value != 0
           : to == BP_I8  ? (int8_t)(uint64_t)value
           : to == BP_U8  ? (uint8_t)value
           : to == BP_I32 ? (int32_t)(uint64_t)value
                          : value;
}

static long double hard_number(bp_dtype dtype) {
    static const double numbers[] = {0.,        -0.,     NAN,      INFINITY, -INFINITY,  0.5,        -0.5,      127.5,
                                     128.,      -128.9,  -129.,    255.9,    256.,       -0.99,      -1.,       0x1p31,
                                     -0x1p31,   0x1p63,  -0x1p63,  0x1p64,   65519.,     65520.,     65504.,    0x1p-25,
                                     0x1.8p-25, 0x1p-24, 0x1p-133, 0x1p-134, 0x1.8p-134, 0x1.8p-149, 0x1p-1074, 1e300};
    const double number = numbers[test_array_between(0, (int64_t)(sizeof numbers / sizeof *numbers) - 1)];
    if (is_integer(dtype)) {
        /* Halves of the spacing of f32, f16 and bf16, and one bit next to them. */
        const int64_t value = (INT64_C(1) << test_array_between(0, 62)) + (INT64_C(1) << test_array_between(0, 54)) +
                              test_array_between(-1, 1);
        return dtype == BP_I64   ? (long double)(test_array_between(0, 1) ? value : -value)
               : dtype == BP_I32 ? (int32_t)(value >> 31)
                                 : wrapped_value(dtype, (long double)(value & 255));
    }
    return (long double)number * (test_array_between(0, 1) ? 1 : 1 + 0x1p-40);
}

static void conversions(void **state) {
    (void)state;
    for (int i = 0; i < 2 * CASES; i++) {
        int64_t shape[MOST];
        test_array x, y;
        const bp_dtype from = converted[test_array_between(0, 8)], to = converted[test_array_between(0, 8)];
        const int ndim = random_shape(shape, 0);
        bp_options *options = settings_of(i);
        begin_tensor(&x, from, ndim, shape, (test_layout)test_array_between(0, TEST_BROADCAST));
        begin_tensor(&y, to, ndim, shape, (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1));
        for (int64_t j = 0; j < test_array_count(&x) && test_array_between(0, 3); j++) {
            set_number(from, test_array_at(&x, j), hard_number(from));
        }
        assert_status(bp_unary_run(options, BP_UNARY_COPY, &x.view.tensor, &y.view.tensor), BP_OK);
        for (int64_t j = 0; j < test_array_count(&x); j++) {
            const long double value = value_at(&x, j);
            const bool wraps = is_integer(from) && is_integer(to);
            near(bp_dtype_name(from), (int)to, j, value_at(&y, j),
                 wraps ? wrapped_value(to, value) : converted_value(to, value), 0);
        }
        end_tensor(&x);
        end_tensor(&y);
        bp_options_release(options);
    }
}

/* Makes rows that are converted in vectors, and with a rest. */
static void begin_rows(test_array *x, test_array *y, bp_dtype from, bp_dtype to, int64_t count) {
    begin_tensor(x, from, 1, &count, TEST_COMPACT);
    begin_tensor(y, to, 1, &count, TEST_COMPACT);
}

/* Integers near the middle between two numbers of the result, also such that become the middle in f64. */
static void integers_are_rounded_once(void **state) {
    enum { BLOCK = 64, COUNT = 9 * BLOCK }; /* a block for each exponent */
    static const bp_dtype types[] = {BP_BF16, BP_F32, BP_F64};
    static const int bits[] = {8, 24, 53};
    (void)state;
    for (int t = 0; t < 3; t++) {
        for (int s = 0; s < INSTRUCTION_SETS; s++) {
            test_array x, y;
            bp_options *options = settings_of(s);
            begin_rows(&x, &y, BP_I64, types[t], COUNT);
            for (int i = 0; i < COUNT; i++) {
                const int exponent = (bits[t] == 53 ? 54 : 50) + i / BLOCK;
                const int64_t value = (INT64_C(1) << exponent) + (INT64_C(1) << (exponent - bits[t])) + i % 3 - 1;
                memcpy(test_array_at(&x, i), &(int64_t){i % 6 < 3 ? value : -value}, sizeof value);
            }
            assert_status(bp_unary_run(options, BP_UNARY_COPY, &x.view.tensor, &y.view.tensor), BP_OK);
            for (int i = 0; i < COUNT; i++) {
                near("i64", (int)types[t], i, value_at(&y, i), converted_value(types[t], value_at(&x, i)), 0);
            }
            end_tensor(&x);
            end_tensor(&y);
            bp_options_release(options);
        }
    }
}

/* Returns a number below 2^51 in size that the type has, with halves and quarters near integers. */
static long double small_number(bp_dtype dtype) {
    const int64_t bits = test_array_between(0, dtype == BP_F16 ? 15 : 50);
    const long double size = (long double)test_array_between(0, INT64_C(1) << bits) +
                             (is_integer(dtype) ? 0 : (long double)test_array_between(-3, 3) / 4);
    char bytes[16];
    set_number(dtype, bytes, is_integer(dtype) ? wrapped_value(dtype, size) : test_array_between(0, 1) ? size : -size);
    return get_number(dtype, bytes);
}

/* Long rows of all pairs of types: some blocks have small numbers only, others a single large one at any place. */
static void rows_of_small_and_large_numbers(void **state) {
    enum { BLOCK = 64, COUNT = 5 * BLOCK + 37 };
    (void)state;
    for (int pair = 0; pair < 81; pair++) {
        const bp_dtype from = converted[pair / 9], to = converted[pair % 9];
        for (int s = 0; s < INSTRUCTION_SETS; s++) {
            test_array x, y;
            bp_options *options = settings_of(s);
            begin_rows(&x, &y, from, to, COUNT);
            const int64_t large[] = {BLOCK + test_array_between(0, BLOCK - 1), 3 * BLOCK, 5 * BLOCK - 1};
            for (int i = 0; i < COUNT; i++) {
                const bool hard = i == large[0] || i == large[1] || i == large[2] || i > 5 * BLOCK;
                set_number(from, test_array_at(&x, i), hard ? hard_number(from) : small_number(from));
            }
            const int64_t limit = INT64_C(1) << 51, edge = test_array_between(-2, 2) + limit;
            if (from == BP_I64 || from == BP_F64) {
                set_number(from, test_array_at(&x, large[1]), (long double)(test_array_between(0, 1) ? edge : -edge));
            }
            assert_status(bp_unary_run(options, BP_UNARY_COPY, &x.view.tensor, &y.view.tensor), BP_OK);
            for (int i = 0; i < COUNT; i++) {
                const long double value = value_at(&x, i);
                near(bp_dtype_name(from), (int)to, i, value_at(&y, i),
                     is_integer(from) && is_integer(to) ? wrapped_value(to, value) : converted_value(to, value), 0);
            }
            end_tensor(&x);
            end_tensor(&y);
            bp_options_release(options);
        }
    }
}

/* NaN of all bits, which rounding would turn into infinity or 0. */
static void nan_is_converted_to_nan(void **state) {
    enum { COUNT = 101 };
    static const uint32_t single[] = {0x7fffffff, 0xffffffff, 0x7f800001, 0xff800001, 0x7fc00000};
    static const uint64_t wide[] = {0x7fffffffffffffff, 0xffffffffffffffff, 0x7ff0000000000001, 0xfff0000000000001,
                                    0x7ff8000000000000};
    (void)state;
    for (int pair = 0; pair < 8; pair++) {
        for (int s = 0; s < INSTRUCTION_SETS; s++) {
            test_array x, y;
            bp_options *options = settings_of(s);
            begin_rows(&x, &y, pair < 4 ? BP_F32 : BP_F64, floats[pair % 4], COUNT);
            for (int i = 0; i < COUNT; i++) {
                memcpy(test_array_at(&x, i), pair < 4 ? (const void *)&single[i % 5] : (const void *)&wide[i % 5],
                       bp_dtype_size(x.dtype));
            }
            assert_status(bp_unary_run(options, BP_UNARY_COPY, &x.view.tensor, &y.view.tensor), BP_OK);
            for (int i = 0; i < COUNT; i++) {
                assert_true(isnan(value_at(&y, i)));
            }
            end_tensor(&x);
            end_tensor(&y);
            bp_options_release(options);
        }
    }
}

/* All types copy to themselves, bit by bit. */
static void copies(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        int64_t shape[MOST];
        test_array x, y;
        const bp_dtype dtype = (bp_dtype)test_array_between(BP_F16, BP_BOOL);
        const int ndim = random_shape(shape, 0);
        bp_options *options = settings_of(i);
        begin_tensor(&x, dtype, ndim, shape, (test_layout)test_array_between(0, TEST_BROADCAST));
        begin_tensor(&y, dtype, ndim, shape, (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1));
        for (int64_t j = 0; j < test_array_count(&x); j++) { /* bits that need not be a number */
            const uint64_t bits[] = {(uint64_t)test_array_between(0, INT64_MAX),
                                     (uint64_t)test_array_between(0, INT64_MAX)};
            memcpy(test_array_at(&x, j), bits, bp_dtype_size(dtype));
        }
        assert_status(bp_unary_run(options, BP_UNARY_COPY, &x.view.tensor, &y.view.tensor), BP_OK);
        for (int64_t j = 0; j < test_array_count(&x); j++) {
            assert_memory_equal(test_array_at(&x, j), test_array_at(&y, j), bp_dtype_size(dtype));
        }
        end_tensor(&x);
        end_tensor(&y);
        bp_options_release(options);
    }
}

/* ---- Functions of one element ---- */

static void functions_of_one(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        int64_t shape[MOST];
        test_array x, y;
        const bp_dtype dtype = floats[test_array_between(0, 3)];
        const bp_unary_kind kind = (bp_unary_kind)test_array_between(1, BP_UNARY_BITWISE_INVERT - 1);
        const bp_dtype result = bp_unary_dtype(kind, dtype);
        const int ndim = random_shape(shape, 0);
        bp_options *options = settings_of(i);
        begin_tensor(&x, dtype, ndim, shape, (test_layout)test_array_between(0, TEST_BROADCAST));
        begin_tensor(&y, result, ndim, shape, (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1));
        assert_status(bp_unary_run(options, kind, &x.view.tensor, &y.view.tensor), BP_OK);
        reference_results made;
        assert_status(reference_of_unary(&made, (int)kind, NULL, NULL, &x.view.tensor, &y.view.tensor), BP_OK);
        test_check_results(&made, bp_dtype_name(dtype));
        end_tensor(&x);
        end_tensor(&y);
        bp_options_release(options);
    }
}

/* ---- Functions of two elements ---- */

/* The shape of an input: the shape of the result without leading dimensions, and 1 in some of the others. */
static int shrink(int ndim, const int64_t *shape, int64_t *smaller) {
    const int left = (int)test_array_between(0, 2) ? ndim : (int)test_array_between(0, ndim);
    for (int d = 0; d < left; d++) {
        smaller[d] = test_array_between(0, 3) ? shape[ndim - left + d] : 1;
    }
    return left;
}

static bool is_taken(bp_binary_kind kind, bp_dtype dtype) {
    const bool shifts = kind == BP_BINARY_BITWISE_LEFT_SHIFT || kind == BP_BINARY_BITWISE_RIGHT_SHIFT;
    const bool bits = kind >= BP_BINARY_BITWISE_AND && kind <= BP_BINARY_BITWISE_RIGHT_SHIFT;
    return dtype == BP_BOOL    ? bp_binary_dtype(kind, BP_F32) == BP_BOOL || (bits && !shifts)
           : is_integer(dtype) ? kind != BP_BINARY_DIVIDE && kind != BP_BINARY_ATAN2
                               : !bits;
}

static void functions_of_two(void **state) {
    static const bp_dtype dtypes[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_I32, BP_I64, BP_BOOL};
    (void)state;
    for (int i = 0; i < 2 * CASES; i++) {
        int64_t shape[MOST], of_a[MOST], of_b[MOST];
        test_array a, b, y;
        const bp_dtype dtype = dtypes[test_array_between(0, 6)];
        const bp_binary_kind kind = (bp_binary_kind)test_array_between(0, BP_BINARY_KINDS - 1);
        const int ndim = random_shape(shape, 0), ndim_a = shrink(ndim, shape, of_a), ndim_b = shrink(ndim, shape, of_b);
        int64_t result[MOST];
        for (int d = 0; d < ndim; d++) {
            const int64_t m = d < ndim - ndim_a ? 1 : of_a[d - ndim + ndim_a],
                          n = d < ndim - ndim_b ? 1 : of_b[d - ndim + ndim_b];
            result[d] = m == 1 ? n : m;
        }
        const int rank = ndim_a > ndim_b ? ndim_a : ndim_b;
        bp_options *options = settings_of(i);
        begin_tensor(&a, dtype, ndim_a, of_a, (test_layout)test_array_between(0, TEST_BROADCAST));
        begin_tensor(&b, dtype, ndim_b, of_b, (test_layout)test_array_between(0, TEST_BROADCAST));
        begin_tensor(&y, bp_binary_dtype(kind, dtype), rank, result + ndim - rank,
                     (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1));
        for (int64_t j = 0; j < test_array_count(&a) && !is_integer(dtype); j += 5) {
            set_number(dtype, test_array_at(&a, j), j % 2 ? (long double)NAN : (long double)INFINITY);
        }
        const bool refused = !is_taken(kind, dtype);
        assert_status(bp_binary_run(options, kind, &a.view.tensor, &b.view.tensor, &y.view.tensor),
                      refused ? BP_E_DTYPE : BP_OK);
        if (!refused) {
            reference_results made;
            assert_status(reference_of_binary(&made, (int)kind, &a.view.tensor, &b.view.tensor, &y.view.tensor), BP_OK);
            test_check_results(&made, bp_dtype_name(dtype));
        }
        end_tensor(&a);
        end_tensor(&b);
        end_tensor(&y);
        bp_options_release(options);
    }
}

/* ---- Choices ---- */

/* The output is in the place of b in some calls. */
static void where(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        int64_t shape[MOST], of[2][MOST];
        test_array condition, a, b, y;
        const bp_dtype dtype = converted[test_array_between(0, 8)];
        const int ndim = random_shape(shape, 0), ndim_c = shrink(ndim, shape, of[0]),
                  ndim_a = shrink(ndim, shape, of[1]);
        const bool in_place = test_array_between(0, 3) == 0;
        const test_layout any = (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1);
        bp_options *options = settings_of(i);
        begin_tensor(&condition, BP_BOOL, ndim_c, of[0], (test_layout)test_array_between(0, TEST_BROADCAST));
        begin_tensor(&a, dtype, ndim_a, of[1], (test_layout)test_array_between(0, TEST_BROADCAST));
        begin_tensor(&b, dtype, ndim, shape,
                     in_place ? TEST_COMPACT : (test_layout)test_array_between(0, TEST_BROADCAST));
        begin_tensor(&y, dtype, ndim, shape, in_place ? TEST_COMPACT : any);
        reference_results made;
        assert_status(reference_of_where(&made, &condition.view.tensor, &a.view.tensor, &b.view.tensor, &y.view.tensor),
                      BP_OK);
        if (in_place) {
            assert_status(bp_tensor_copy(&y.view.tensor, &b.view.tensor), BP_OK);
        }
        assert_status(bp_where_run(options, &condition.view.tensor, &a.view.tensor,
                                   in_place ? &y.view.tensor : &b.view.tensor, &y.view.tensor),
                      BP_OK);
        test_check_results(&made, bp_dtype_name(dtype));
        end_tensor(&condition);
        end_tensor(&a);
        end_tensor(&b);
        end_tensor(&y);
        bp_options_release(options);
    }
}

/* Elements of every type keep their bits, and every byte that is not 0 is true. */
static void where_copies_bits(void **state) {
    enum { COUNT = 1100, BYTES = 16 };
    static unsigned char condition[COUNT], a[COUNT * BYTES], b[COUNT * BYTES], y[COUNT * BYTES];
    (void)state;
    for (int i = 0; i < COUNT * BYTES; i++) {
        a[i] = (unsigned char)test_array_between(0, 255);
        b[i] = (unsigned char)test_array_between(0, 255);
        condition[i % COUNT] = (unsigned char)(i % 3 == 0 ? 0 : test_array_between(1, 255));
    }
    for (int number = 1; bp_dtype_size((bp_dtype)number) > 0; number++) {
        const bp_dtype dtype = (bp_dtype)number;
        const size_t size = bp_dtype_size(dtype);
        for (int s = 0; s < SETTINGS; s++) {
            const int64_t count = COUNT - s;
            bp_view c, x[2], out;
            bp_options *options = settings_of(s);
            assert_status(bp_view_init(&c, condition, BP_BOOL, 1, &count, NULL), BP_OK);
            assert_status(bp_view_init(&x[0], a, dtype, 1, &count, NULL), BP_OK);
            assert_status(bp_view_init(&x[1], b, dtype, 1, &count, NULL), BP_OK);
            assert_status(bp_view_init(&out, y, dtype, 1, &count, NULL), BP_OK);
            memset(y, 0, sizeof y);
            assert_status(bp_where_run(options, &c.tensor, &x[0].tensor, &x[1].tensor, &out.tensor), BP_OK);
            for (size_t i = 0; i < (size_t)count; i++) {
                assert_memory_equal(y + i * size, (condition[i] ? a : b) + i * size, size);
            }
            bp_options_release(options);
        }
    }
}

/* ---- Indices ---- */

static void fill_indices(test_array *indices, int64_t size) {
    for (int64_t j = 0; j < test_array_count(indices); j++) {
        set_number(indices->dtype, test_array_at(indices, j), (long double)test_array_between(0, size - 1));
    }
}

static void take(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        int64_t shape[MOST], of_indices[2], result[MOST + 2];
        test_array x, indices, y;
        const bp_dtype dtype = converted[test_array_between(0, 8)];
        const int ndim = random_shape(shape, 1);
        const int axis = (int)test_array_between(0, ndim - 1), rank = (int)test_array_between(0, 2);
        shape[axis] += shape[axis] == 0;
        for (int d = 0; d < rank; d++) {
            result[axis + d] = of_indices[d] = test_array_between(0, 12);
        }
        for (int d = 0; d < ndim; d++) {
            if (d != axis) {
                result[d < axis ? d : d - 1 + rank] = shape[d];
            }
        }
        bp_options *options = settings_of(i);
        begin_tensor(&x, dtype, ndim, shape, (test_layout)test_array_between(0, TEST_BROADCAST));
        begin_tensor(&indices, test_array_between(0, 1) ? BP_I32 : BP_I64, rank, of_indices,
                     (test_layout)test_array_between(0, TEST_BROADCAST));
        begin_tensor(&y, dtype, ndim - 1 + rank, result, (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1));
        fill_indices(&indices, shape[axis]);
        const int given = axis - (int)test_array_between(0, 1) * ndim;
        assert_status(bp_take_run(options, &x.view.tensor, &indices.view.tensor, given, &y.view.tensor), BP_OK);
        reference_results made;
        assert_status(reference_of_take(&made, given, &x.view.tensor, &indices.view.tensor, &y.view.tensor), BP_OK);
        test_check_results(&made, bp_dtype_name(dtype));
        end_tensor(&x);
        end_tensor(&indices);
        end_tensor(&y);
        bp_options_release(options);
    }
}

static void gather(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        int64_t shape[MOST], result[MOST];
        test_array x, indices, y;
        const bp_dtype dtype = converted[test_array_between(0, 8)];
        const int ndim = random_shape(shape, 1);
        const int axis = (int)test_array_between(0, ndim - 1);
        shape[axis] += shape[axis] == 0;
        for (int d = 0; d < ndim; d++) {
            result[d] = d == axis                  ? test_array_between(0, 9)
                        : test_array_between(0, 2) ? shape[d]
                                                   : test_array_between(0, shape[d]);
        }
        bp_options *options = settings_of(i);
        begin_tensor(&x, dtype, ndim, shape, (test_layout)test_array_between(0, TEST_BROADCAST));
        begin_tensor(&indices, test_array_between(0, 1) ? BP_I32 : BP_I64, ndim, result,
                     (test_layout)test_array_between(0, TEST_BROADCAST));
        begin_tensor(&y, dtype, ndim, result, (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1));
        fill_indices(&indices, shape[axis]);
        assert_status(bp_gather_run(options, &x.view.tensor, &indices.view.tensor, axis, &y.view.tensor), BP_OK);
        reference_results made;
        assert_status(reference_of_gather(&made, axis, &x.view.tensor, &indices.view.tensor, &y.view.tensor), BP_OK);
        test_check_results(&made, bp_dtype_name(dtype));
        end_tensor(&x);
        end_tensor(&indices);
        end_tensor(&y);
        bp_options_release(options);
    }
}

static void concat(void **state) {
    enum { PARTS = 4 };
    (void)state;
    for (int i = 0; i < CASES; i++) {
        int64_t shape[MOST], whole[MOST];
        test_array part[PARTS], y;
        const DLTensor *list[PARTS];
        const bp_dtype dtype = converted[test_array_between(0, 8)];
        const int ndim = random_shape(shape, 1);
        const int axis = (int)test_array_between(0, ndim - 1), count = (int)test_array_between(1, PARTS);
        memcpy(whole, shape, sizeof whole);
        whole[axis] = 0;
        for (int p = 0; p < count; p++) {
            shape[axis] = test_array_between(0, 5);
            whole[axis] += shape[axis];
            begin_tensor(&part[p], dtype, ndim, shape, (test_layout)test_array_between(0, TEST_BROADCAST));
            list[p] = &part[p].view.tensor;
        }
        bp_options *options = settings_of(i);
        begin_tensor(&y, dtype, ndim, whole, (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1));
        const int given = axis - (int)test_array_between(0, 1) * ndim;
        assert_status(bp_concat_run(options, count, list, given, &y.view.tensor), BP_OK);
        reference_results made;
        assert_status(reference_of_concat(&made, given, count, list, &y.view.tensor), BP_OK);
        test_check_results(&made, bp_dtype_name(dtype));
        for (int p = 0; p < count; p++) {
            end_tensor(&part[p]);
        }
        end_tensor(&y);
        bp_options_release(options);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_one),
        cmocka_unit_test(conversions),
        cmocka_unit_test(copies),
        cmocka_unit_test(integers_are_rounded_once),
        cmocka_unit_test(rows_of_small_and_large_numbers),
        cmocka_unit_test(nan_is_converted_to_nan),
        cmocka_unit_test(functions_of_two),
        cmocka_unit_test(where),
        cmocka_unit_test(where_copies_bits),
        cmocka_unit_test(take),
        cmocka_unit_test(gather),
        cmocka_unit_test(concat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
