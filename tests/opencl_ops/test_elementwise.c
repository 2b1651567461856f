/* test_elementwise.c - functions of single elements, conversions, copies and elements at indices on an OpenCL device,
 * against definitions in long double. */
#include "device_array.h"

#include "elementwise/cases.h"
#include "reference/elementwise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *host_at(const device_array *t, int64_t index) {
    return test_array_at(&t->host, index);
}

static long double number_at(const device_array *t, int64_t index) {
    return get_number(t->host.dtype, host_at(t, index));
}

/* Whether the device is said to lack the type. */
static bool refused(bp_dtype dtype) {
    return test_without_f64 && dtype == BP_F64;
}

static bool is_floating(bp_dtype dtype) {
    return dtype >= BP_F16 && dtype <= BP_F64;
}

/* ---- Functions of one element ---- */

static void compare(bp_unary_kind kind, bp_dtype dtype, long double x, long double y) {
    const long double want =
        isinf(x) && x < 0 && undefined_at_minus_infinity(kind) ? (long double)NAN : reference_unary(kind, x);
    const long double error =
        reference_unary_error(kind, dtype == BP_F64, x) * spacing(dtype == BP_F64 ? BP_F64 : BP_F32, want);
    const long double bound = dtype < BP_F32 ? error + spacing(dtype, want) / 2 : error;
    const bool overflows = fabsl(want) + bound >= greatest(dtype);
    const bool good = isnan(want) ? isnan(y)
                                  : y == want || fabsl(y - want) <= bound ||
                                        (overflows && isinf(y) && (y > 0) == (want > 0) && !isinf(want));
    if (!good) {
        fail_msg("kind %d of %s: %La gives %La instead of %La, bound %Lg", (int)kind, bp_dtype_name(dtype), x, y, want,
                 bound);
    }
}

static void fill_values(device_array *t) {
    const bp_dtype dtype = t->host.dtype;
    for (int64_t i = 0; i < test_array_count(&t->host); i++) {
        const uint16_t all = (uint16_t)i;
        if (dtype < BP_F32) {
            memcpy(host_at(t, i), &all, sizeof all);
        } else {
            set_awkward(dtype, host_at(t, i), i);
        }
    }
    device_array_send(t);
}

/* Whether to leave a function of a type out, which for integers is -1. On a processor each function is tested with f32
 * and with one of the other floating types. A GPU divides the work of all functions in the same other way: every fourth
 * one is tested, with one floating type. Without f64 floating types compute in another way: every function is tested,
 * with one of the three types. */
static bool leaves_function(int kind, int floating_type) {
    const bool quarter = kind / 4 % 4 == 0;
    if (test_device_takes_all()) {
        return false;
    }
    if (!test_as_gpu) {
        return floating_type > 0 && kind % 3 != floating_type - 1;
    }
    if (floating_type < 0) {
        return !quarter;
    }
    return test_without_f64 ? kind % 3 != floating_type : !quarter || kind % 4 != floating_type;
}

/* All numbers of the 16-bit types, and many of the others. */
static void test_functions(void **state) {
    static const bp_dtype types[] = {BP_F32, BP_F16, BP_BF16, BP_F64};
    (void)state;
    test_device_need();
    for (int i = 0; i < 4; i++) {
        for (int kind = 1; kind < BP_UNARY_BITWISE_INVERT && !refused(types[i]); kind++) {
            if (leaves_function(kind, i)) {
                continue;
            }
            device_array x, y;
            const int64_t count = types[i] < BP_F32 ? 65536 : 20000;
            device_array_make(&x, types[i], 1, &count, TEST_COMPACT, 0);
            device_array_make(&y, bp_unary_dtype((bp_unary_kind)kind, types[i]), 1, &count, TEST_COMPACT, 0);
            fill_values(&x);
            assert_ok(bp_unary_run(NULL, (bp_unary_kind)kind, &x.tensor, &y.tensor));
            assert_on_device("a function");
            device_array_fetch(&y, "a function");
            for (int64_t e = 0; e < count; e++) {
                compare((bp_unary_kind)kind, types[i], number_at(&x, e), number_at(&y, e));
            }
            device_array_free(&x);
            device_array_free(&y);
        }
    }
}

/* ---- Layouts ---- */

/* Integers wrap around; all functions of them. Every layout, and in place. */
static void test_integers(void **state) {
    static const bp_dtype types[] = {BP_I32, BP_I64};
    static const bp_unary_kind kinds[] = {BP_UNARY_NEGATIVE, BP_UNARY_ABS,  BP_UNARY_RELU,  BP_UNARY_SIGN,
                                          BP_UNARY_FLOOR,    BP_UNARY_CEIL, BP_UNARY_ROUND, BP_UNARY_TRUNC};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    (void)state;
    test_device_need();
    for (int i = 0; i < 2 * KINDS * TEST_LAYOUTS; i++) {
        const bp_dtype dtype = types[i % 2];
        const bp_unary_kind kind = kinds[i / 2 % KINDS];
        const int64_t least = dtype == BP_I32 ? INT32_MIN : INT64_MIN;
        if (leaves_function((int)kind, -1)) {
            continue;
        }
        device_array x, y;
        reference_results made;
        device_array_make(&x, dtype, 3, I64(5, 1, 17), (test_layout)(i / (2 * KINDS)), 0);
        device_array_make(&y, dtype, 3, I64(5, 1, 17), (test_layout)(i / (2 * KINDS)), 0);
        for (int64_t e = 0; e < 85; e++) {
            test_array_set_i64(&x.host, e, e == 3 ? least : e == 4 ? -1 - least : test_array_between(-100, 100));
        }
        device_array_send(&x);
        device_array_send(&y);
        assert_ok(
            reference_of_unary(&made, (int)kind, NULL, NULL, device_array_side(&x, true), device_array_side(&y, true)));
        assert_ok(bp_unary_run(NULL, kind, &x.tensor, &y.tensor));
        assert_ok(bp_unary_run(NULL, BP_UNARY_NEGATIVE, &x.tensor, &x.tensor));
        device_array_fetch(&y, "integers");
        test_check_exact(&made, "integers");
        device_array_free(&x);
        device_array_free(&y);
    }
}

/* Integers modulo 2^n. */
static long double wrapped(bp_dtype dtype, int64_t x) {
    return dtype == BP_I32 ? (long double)(int32_t)(uint32_t)x : (long double)x;
}

/* Whether a function of two elements has this type. */
static bool is_taken(bp_binary_kind kind, bp_dtype dtype) {
    return is_floating(dtype) ? kind < BP_BINARY_BITWISE_AND : kind != BP_BINARY_DIVIDE && kind != BP_BINARY_ATAN2;
}

/* The largest error of a floating result, beyond one rounding. */
static long double error_of(bp_binary_kind kind, bp_dtype dtype, long double exact) {
    const bool is_two = kind == BP_BINARY_POW || kind == BP_BINARY_FLOOR_DIVIDE;
    const long double distances = kind == BP_BINARY_ATAN2 ? 3 : is_two ? 2 : 0;
    const bool computed = distances > 0 && isfinite(exact);
    return !computed ? 0
                     : distances * spacing(dtype == BP_F64 ? BP_F64 : BP_F32, exact) +
                           (dtype < BP_F32 ? spacing(dtype, exact) / 2 : 0);
}

/* A result is rounded to f32 or f64, and from f32 to f16 or bf16. */
static long double stored(bp_dtype dtype, long double x) {
    char bytes[8];
    const bp_dtype number = dtype == BP_F64 ? BP_F64 : BP_F32;
    set_number(number, bytes, x);
    set_number(dtype, bytes, get_number(number, bytes));
    return get_number(dtype, bytes);
}

static void check_binary(bp_binary_kind kind, bp_dtype dtype, int number) {
    device_array a, b, y;
    const unsigned broadcast[2] = {number & 1, number & 2};
    device_array_make(&a, dtype, 3, I64(4, 3, 40), (test_layout)(number % TEST_LAYOUTS), broadcast[0]);
    device_array_make(&b, dtype, 3, I64(4, 3, 40), (test_layout)(number / 4 % TEST_LAYOUTS), broadcast[1]);
    const bp_dtype result = bp_binary_dtype(kind, dtype);
    device_array_make(&y, result, 3, I64(4, 3, 40), (test_layout)((number + 1) % TEST_LAYOUTS), 0);
    device_array *const inputs[] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        for (int64_t e = 0; e < 480; e++) {
            static const double specials[] = {0, NAN, INFINITY, -INFINITY, 1e-40};
            const bool special = is_floating(dtype) && test_array_between(0, 9) == 0;
            set_number(dtype, host_at(inputs[i], e),
                       special              ? (long double)specials[test_array_between(0, 4)]
                       : is_floating(dtype) ? (long double)test_array_uniform() * 3
                       : e % 3 == 0         ? (long double)test_array_between(-3, 40)
                                            : (long double)test_array_between(-70000, 70000));
        }
        device_array_send(inputs[i]);
    }
    device_array_send(&y);
    assert_ok(bp_binary_run(NULL, kind, &a.tensor, &b.tensor, &y.tensor));
    assert_on_device("a function of two");
    device_array_fetch(&y, "a function of two");
    for (int64_t e = 0; e < 480; e++) {
        const long double x[] = {number_at(&a, e), number_at(&b, e)}, exact = reference_binary(kind, x[0], x[1]);
        const long double want =
            is_floating(result) ? stored(dtype, exact)
            : result == BP_BOOL ? exact
                                : wrapped(dtype, reference_binary_whole(kind, dtype, (int64_t)x[0], (int64_t)x[1]));
        const long double got = number_at(&y, e);
        /* A result that long double rounds to the middle of two f64 may be either. */
        const bool middle = result == BP_F64 && fabsl(got - exact) <= spacing(BP_F64, exact) / 2;
        const bool near = middle || (is_floating(result) && fabsl(got - exact) <= error_of(kind, dtype, exact));
        if (isnan(want) ? !isnan(got) : got != want && !near) {
            fail_msg("binary %d of %s: %La and %La give %La instead of %La", (int)kind, bp_dtype_name(dtype),
                     number_at(&a, e), number_at(&b, e), got, want);
        }
    }
    device_array_free(&a);
    device_array_free(&b);
    device_array_free(&y);
}

static void test_binary(void **state) {
    static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16, BP_I32, BP_I64};
    int number = 0;
    (void)state;
    test_device_need();
    for (int i = 0; i < 6; i++) {
        for (int kind = 0; kind < BP_BINARY_KINDS && !refused(types[i]); kind++) {
            if (leaves_function(kind, i < 4 ? i : -1)) {
                continue;
            }
            for (int repeat = 0; repeat < 4 && is_taken((bp_binary_kind)kind, types[i]); repeat++) {
                check_binary((bp_binary_kind)kind, types[i], number++);
            }
        }
    }
}

/* ---- Conversions ---- */

static const bp_dtype converted_types[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_I8, BP_U8, BP_I32, BP_I64, BP_BOOL};

static void limits_of(bp_dtype dtype, long double *least, long double *most, int *bits) {
    *bits = (int)bp_dtype_size(dtype) * 8;
    *least = dtype == BP_U8 ? 0 : -ldexpl(1, *bits - 1);
    *most = dtype == BP_U8 ? 255 : ldexpl(1, *bits - 1) - 1;
}

/* What an element becomes in another type. */
static long double converted(bp_dtype from, bp_dtype to, long double x) {
    long double least, most;
    int bits;
    char rounded[16];
    if (to == BP_BOOL) {
        return x != 0;
    }
    if (is_floating(to)) {
        set_number(to, rounded, x);
        return get_number(to, rounded);
    }
    limits_of(to, &least, &most, &bits);
    if (is_floating(from)) {
        return isnan(x) ? 0 : x <= least ? least : x >= most ? most : truncl(x);
    }
    const uint64_t value = (uint64_t)(int64_t)x << (64 - bits);
    return to == BP_U8 ? (long double)(value >> 56) : (long double)((int64_t)value >> (64 - bits));
}

static void set_for_conversion(device_array *t, int64_t index) {
    static const long double specials[] = {
        0,        -0.5L,     0.5L, 255.5L, 256,   -129,   127.99L,  65504, 65520,           1e-30L,          NAN,
        INFINITY, -INFINITY, 3e9L, -3e9L,  1e19L, -1e19L, 33554433, 4097,  0x1.0010008p20L, 0x1.00100001p20L};
    const bp_dtype dtype = t->host.dtype;
    const int64_t count = (int64_t)(sizeof specials / sizeof *specials);
    int64_t whole = test_array_between(INT64_MIN / 4, INT64_MAX / 4) >> test_array_between(0, 60);
    if (dtype == BP_BOOL) {
        whole = test_array_between(0, 1);
    }
    if (is_floating(dtype)) {
        const long double x = index < count
                                  ? specials[index]
                                  : (long double)test_array_uniform() * ldexpl(1, (int)test_array_between(-30, 66));
        set_number(dtype, host_at(t, index), x);
    } else {
        memcpy(host_at(t, index), &whole, bp_dtype_size(dtype));
    }
}

static void test_conversions(void **state) {
    (void)state;
    test_device_need();
    for (int i = 0; i < 81; i++) {
        const bp_dtype from = converted_types[i / 9], to = converted_types[i % 9];
        device_array x, y;
        const bool alike = (i / 9 + i % 9) % (test_as_gpu ? 3 : 2) != 0;
        if (refused(from) || refused(to) || (alike && !test_device_takes_all())) {
            continue;
        }
        device_array_make(&x, from, 2, I64(30, 41), (test_layout)(i % TEST_LAYOUTS), 0);
        device_array_make(&y, to, 2, I64(30, 41), (test_layout)(i / 3 % TEST_LAYOUTS), 0);
        for (int64_t e = 0; e < 30 * 41; e++) {
            set_for_conversion(&x, e);
        }
        device_array_send(&x);
        device_array_send(&y);
        assert_ok(bp_unary_run(NULL, BP_UNARY_COPY, &x.tensor, &y.tensor));
        assert_on_device("a conversion");
        device_array_fetch(&y, "a conversion");
        for (int64_t e = 0; e < 30 * 41; e++) {
            const long double want = converted(from, to, number_at(&x, e)), got = number_at(&y, e);
            if (isnan(want) ? !isnan(got) : got != want) {
                fail_msg("%s to %s: %La became %La instead of %La", bp_dtype_name(from), bp_dtype_name(to),
                         number_at(&x, e), got, want);
            }
        }
        device_array_free(&x);
        device_array_free(&y);
    }
}

/* What does not compute needs no f64. */
static void need_case(void) {
    test_device_need();
    if (test_device_leaves_out(test_without_f64)) {
        skip();
    }
}

/* Copies of every size of elements, also transposed in squares. */
static void test_copies(void **state) {
    static const bp_dtype types[] = {BP_U8, BP_BF16, BP_F32, BP_C64, BP_C128};
    (void)state;
    need_case();
    for (int i = 0; i < 5 * TEST_LAYOUTS; i++) {
        device_array x, y;
        const size_t size = bp_dtype_size(types[i % 5]);
        device_array_make(&x, types[i % 5], 3, I64(3, 70, 45), (test_layout)(i / 5), i == 7);
        device_array_make(&y, types[i % 5], 3, I64(3, 70, 45), TEST_PERMUTED, 0);
        for (int64_t e = 0; e < 3 * 70 * 45; e++) {
            for (size_t byte = 0; byte < size; byte++) {
                host_at(&x, e)[byte] = (char)test_array_between(0, 255);
            }
        }
        device_array_send(&x);
        device_array_send(&y);
        assert_ok(bp_unary_run(NULL, BP_UNARY_COPY, &x.tensor, &y.tensor));
        device_array_fetch(&y, "a copy");
        for (int64_t e = 0; e < 3 * 70 * 45; e++) {
            assert_memory_equal(host_at(&x, e), host_at(&y, e), size);
        }
        device_array_free(&x);
        device_array_free(&y);
    }
}

/* ---- Sizes around the sizes of groups, tiles and squares ---- */

/* A conversion, and a sum with one operand repeated along the first dimension. */
static void check_sizes(int ndim, const int64_t *shape, test_layout order) {
    device_array x, wide, row, sum;
    device_array_make(&x, BP_U8, ndim, shape, order, 0);
    device_array_make(&wide, BP_I32, ndim, shape, TEST_COMPACT, 0);
    device_array_make(&row, BP_I32, ndim, shape, order, 1);
    device_array_make(&sum, BP_I32, ndim, shape, order, 0);
    const int64_t count = test_array_count(&x.host);
    for (int64_t e = 0; e < count; e++) {
        test_array_set_i64(&row.host, e, test_array_between(-1000, 1000));
    }
    device_array_fill(&x);
    device_array_send(&row);
    device_array_send(&sum);
    assert_ok(bp_unary_run(NULL, BP_UNARY_COPY, &x.tensor, &wide.tensor));
    assert_ok(bp_binary_run(NULL, BP_BINARY_ADD, &wide.tensor, &row.tensor, &sum.tensor));
    device_array_fetch(&sum, "sizes");
    for (int64_t e = 0; e < count; e++) {
        const int64_t want = *(const uint8_t *)host_at(&x, e) + test_array_get_i64(&row.host, e);
        if (test_array_get_i64(&sum.host, e) != want) {
            fail_msg("element %d of %d in %d dimensions: %d instead of %d", (int)e, (int)count, ndim,
                     (int)test_array_get_i64(&sum.host, e), (int)want);
        }
    }
    device_array *const all[] = {&x, &wide, &row, &sum};
    for (int i = 0; i < 4; i++) {
        device_array_free(all[i]);
    }
}

static void test_sizes(void **state) {
    static const int64_t lengths[] = {1, 127, 128, 129, 511, 512, 513, 1023, 1024, 1025, 70001, 140001};
    static const struct {
        int ndim;
        int64_t shape[6];
    } shapes[] = {{2, {2, 32769}},    {2, {32768, 3}},    {2, {3, 65537}},         {3, {127, 2, 129}},
                  {4, {3, 5, 7, 11}}, {4, {8, 16, 4, 2}}, {6, {2, 3, 5, 3, 2, 17}}};
    (void)state;
    need_case();
    for (int order = 0; order < TEST_LAYOUTS; order++) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            check_sizes(1, &lengths[i], (test_layout)order);
        }
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            check_sizes(shapes[i].ndim, shapes[i].shape, (test_layout)order);
        }
    }
}

static void check_transposed(bp_dtype dtype, int64_t rows, int64_t columns) {
    device_array x, y;
    const size_t size = bp_dtype_size(dtype);
    device_array_make(&x, dtype, 4, I64(2, 3, rows, columns), TEST_GAPS, 0);
    device_array_make(&y, dtype, 4, I64(2, 3, columns, rows), TEST_GAPS, 0);
    DLTensor turned = x.tensor;
    const int64_t *strides = x.tensor.strides;
    turned.shape = y.tensor.shape;
    turned.strides = (int64_t[]){strides[0], strides[1], strides[3], strides[2]};
    for (int64_t e = 0; e < 6 * rows * columns; e++) {
        for (size_t byte = 0; byte < size; byte++) {
            host_at(&x, e)[byte] = (char)test_array_between(0, 255);
        }
    }
    device_array_send(&x);
    device_array_send(&y);
    assert_ok(bp_unary_run(NULL, BP_UNARY_COPY, &turned, &y.tensor));
    device_array_fetch(&y, "a transposed copy");
    for (int64_t e = 0; e < 6 * rows * columns; e++) {
        const int64_t matrix = e / (rows * columns), row = e % rows, column = e / rows % columns;
        assert_memory_equal(host_at(&y, e), host_at(&x, (matrix * rows + row) * columns + column), size);
    }
    device_array_free(&x);
    device_array_free(&y);
}

static void test_transposed(void **state) {
    static const bp_dtype types[] = {BP_U8, BP_BF16, BP_F32, BP_C64, BP_C128};
    static const int64_t sides[] = {8, 31, 32, 33, 65};
    (void)state;
    need_case();
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 25; k++) {
            check_transposed(types[i], sides[k / 5], sides[k % 5]);
        }
    }
    check_transposed(BP_F32, 170, 300); /* more squares than groups on a device with few units */
}

/* Offsets of more than 2^31 elements. Most of the memory is never touched. */
static void test_far(void **state) {
    static const int64_t far = INT64_C(1) << 31;
    device_array x, y;
    DLManagedTensorVersioned *memory;
    (void)state;
    need_case();
    if (bp_tensor_empty_on(&memory, test_device, BP_U8, 1, I64(far + 100), NULL) != BP_OK) {
        skip();
    }
    DLTensor apart = memory->dl_tensor;
    device_array_make(&x, BP_U8, 3, I64(2, 5, 7), TEST_GAPS, 0);
    device_array_make(&y, BP_I32, 3, I64(2, 5, 7), TEST_GAPS, 0);
    device_array_fill(&x);
    device_array_send(&y);
    apart.ndim = 3;
    apart.shape = x.tensor.shape;
    apart.strides = (int64_t[]){far, 16, 2};
    assert_ok(bp_unary_run(NULL, BP_UNARY_COPY, &x.tensor, &apart));
    assert_ok(bp_unary_run(NULL, BP_UNARY_COPY, &apart, &y.tensor));
    device_array_fetch(&y, "far apart");
    for (int64_t e = 0; e < 70; e++) {
        assert_int_equal(test_array_get_i64(&y.host, e), *(const uint8_t *)host_at(&x, e));
    }
    device_array_free(&x);
    device_array_free(&y);
    memory->deleter(memory);
}

/* ---- Elements at indices ---- */

static void make_indices(device_array *t, bp_dtype dtype, int ndim, const int64_t *shape, int64_t size) {
    device_array_make(t, dtype, ndim, shape, TEST_GAPS, 0);
    for (int64_t i = 0; i < test_array_count(&t->host); i++) {
        test_array_set_i64(&t->host, i, test_array_between(0, size - 1));
    }
    device_array_send(t);
}

static void test_indices(void **state) {
    static const bp_dtype types[] = {BP_F32, BP_U8, BP_F64, BP_C128};
    (void)state;
    need_case();
    for (int i = 0; i < 8; i++) {
        device_array x, indices, taken, gathered, places;
        reference_results wanted[2];
        const bp_dtype dtype = types[i % 4], wide = i & 4 ? BP_I32 : BP_I64;
        device_array_make(&x, dtype, 3, I64(5, 11, 6), (test_layout)(i % TEST_LAYOUTS), 0);
        device_array_fill(&x);
        make_indices(&indices, wide, 2, I64(3, 4), 11);
        make_indices(&places, wide, 3, I64(5, 9, 6), 11);
        device_array_make(&taken, dtype, 4, I64(5, 3, 4, 6), TEST_PERMUTED, 0);
        device_array_make(&gathered, dtype, 3, I64(5, 9, 6), TEST_REVERSED, 0);
        device_array_send(&taken);
        device_array_send(&gathered);
        assert_ok(reference_of_take(&wanted[0], 1, device_array_side(&x, true), device_array_side(&indices, true),
                                    device_array_side(&taken, true)));
        assert_ok(reference_of_gather(&wanted[1], 1, device_array_side(&x, true), device_array_side(&places, true),
                                      device_array_side(&gathered, true)));
        assert_ok(bp_take_run(NULL, &x.tensor, &indices.tensor, 1, &taken.tensor));
        assert_on_device("take");
        assert_ok(bp_gather_run(NULL, &x.tensor, &places.tensor, 1, &gathered.tensor));
        assert_on_device("gather");
        device_array_fetch(&taken, "take");
        device_array_fetch(&gathered, "gather");
        test_check_exact(&wanted[0], "take");
        test_check_exact(&wanted[1], "gather");
        device_array *const all[] = {&x, &indices, &taken, &gathered, &places};
        for (int k = 0; k < 5; k++) {
            device_array_free(all[k]);
        }
    }
}

/* Elements of each size, with a condition and an input that are broadcast; every second call in place. */
static void test_where(void **state) {
    static const bp_dtype types[] = {BP_F32, BP_U8, BP_F16, BP_F64, BP_C128};
    (void)state;
    need_case();
    for (int i = 0; i < 10; i++) {
        device_array condition, a, b, y;
        reference_results wanted;
        const bp_dtype dtype = types[i % 5];
        const test_layout layout = (test_layout)(i % TEST_LAYOUTS);
        const bool in_place = i >= 5;
        device_array_make(&condition, BP_BOOL, 2, I64(i % 2 ? 1 : 11, 7), TEST_COMPACT, 0);
        device_array_make(&a, dtype, 3, I64(5, 11, 1), layout, 0);
        device_array_make(&b, dtype, 3, I64(5, 11, 7), layout, 0);
        device_array_make(&y, dtype, 3, I64(5, 11, 7), in_place ? layout : TEST_PERMUTED, 0);
        for (int64_t e = 0; e < test_array_count(&condition.host); e++) {
            *(uint8_t *)test_array_at(&condition.host, e) = (uint8_t)test_array_between(0, 1);
        }
        device_array_send(&condition);
        device_array_fill(&a);
        device_array_fill(&b);
        device_array_send(&y);
        assert_ok(reference_of_where(&wanted, device_array_side(&condition, true), device_array_side(&a, true),
                                     device_array_side(&b, true), device_array_side(in_place ? &b : &y, true)));
        assert_ok(bp_where_run(NULL, &condition.tensor, &a.tensor, &b.tensor, in_place ? &b.tensor : &y.tensor));
        assert_on_device("where");
        device_array_fetch(in_place ? &b : &y, "where");
        test_check_exact(&wanted, "where");
        device_array *const all[] = {&condition, &a, &b, &y};
        for (int k = 0; k < 4; k++) {
            device_array_free(all[k]);
        }
    }
}

/* An index out of range is reported by the next wait, and nothing is written. Later runs are not affected. */
static void test_wrong_index(void **state) {
    static const int64_t wrong[] = {-1, 7, INT32_MIN, 7000};
    (void)state;
    test_device_need();
    for (int i = 0; i < 8; i++) {
        device_array x, indices, y;
        bp_queue *queue;
        device_array_make(&x, BP_F32, 2, I64(7, 3), TEST_COMPACT, 0);
        device_array_fill(&x);
        make_indices(&indices, i & 1 ? BP_I32 : BP_I64, 1, I64(500), 7);
        device_array_make(&y, BP_F32, 2, I64(500, 3), TEST_COMPACT, 0);
        device_array_fill(&y);
        test_array_set_i64(&indices.host, test_array_between(0, 499), wrong[i / 2]);
        device_array_send(&indices);
        assert_ok(bp_queue_current(&queue, test_device));
        assert_ok(bp_queue_wait(queue));
        assert_ok(bp_take_run(NULL, &x.tensor, &indices.tensor, 0, &y.tensor));
        assert_int_equal(bp_queue_wait(queue), BP_E_DEVICE);
        assert_non_null(strstr(bp_last_error(), "take"));
        assert_non_null(strstr(bp_last_error(), "index"));
        assert_ok(bp_queue_wait(queue));
        char *before = malloc((size_t)y.host.all * 4);
        memcpy(before, y.host.memory, (size_t)y.host.all * 4);
        device_array_fetch(&y, "a wrong index");
        assert_memory_equal(before, y.host.memory, (size_t)y.host.all * 4);
        free(before);
        bp_queue_release(queue);
        device_array_free(&x);
        device_array_free(&indices);
        device_array_free(&y);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),   cmocka_unit_test(test_integers),   cmocka_unit_test(test_binary),
        cmocka_unit_test(test_conversions), cmocka_unit_test(test_copies),     cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_transposed),  cmocka_unit_test(test_far),        cmocka_unit_test(test_indices),
        cmocka_unit_test(test_where),       cmocka_unit_test(test_wrong_index)};
    return cmocka_run_group_tests(tests, test_device_setup, NULL);
}
