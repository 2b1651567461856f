/* test_numbers.c - functions of one element that take numbers on an OpenCL device, against definitions in long double.
 */
#include "device_array.h"

#include "elementwise/cases.h"
#include "reference/elementwise.h"

#include <math.h>
#include <string.h>

static const struct {
    bp_unary_kind kind;
    double numbers[2];
} cases[] = {
    {BP_UNARY_LEAKY_RELU, {0.01}},
    {BP_UNARY_ELU, {0.3}},
    {BP_UNARY_CELU, {17}},
    {BP_UNARY_CLIP, {-1.1, 2.3}},
    {BP_UNARY_SOFTPLUS, {0.37, 3}},
    {BP_UNARY_THRESHOLD, {0.1, -7.7}},
    {BP_UNARY_HARDSHRINK, {0.5}},
    {BP_UNARY_SOFTSHRINK, {0.3}},
    {BP_UNARY_LEAKY_RELU, {-2}},
    {BP_UNARY_ELU, {1}},
    {BP_UNARY_CELU, {1e30}},
    {BP_UNARY_CLIP, {3, -2}},
    {BP_UNARY_SOFTPLUS, {0.01, INFINITY}},
    {BP_UNARY_SOFTPLUS, {-1.3, 7}},
    {BP_UNARY_CLIP, {-INFINITY, INFINITY}},
    {BP_UNARY_SOFTPLUS, {1e19, 1}},
};
enum { CASES = sizeof cases / sizeof *cases };

static void compare(int c, const device_array *x, const device_array *y) {
    const bp_unary_kind kind = cases[c].kind;
    const bp_dtype dtype = x->host.dtype, number = dtype == BP_F64 ? BP_F64 : BP_F32;
    double numbers[2];
    reference_unary_numbers(kind, dtype, &cases[c].numbers[0], &cases[c].numbers[1], numbers);
    for (int64_t e = 0; e < test_array_count(&x->host); e++) {
        const long double at = value_at(&x->host, e), got = value_at(&y->host, e);
        const long double want = reference_unary_with(kind, dtype, numbers, at);
        const long double error = reference_unary_error(kind, number == BP_F64, at) * spacing(number, want);
        const long double bound = dtype < BP_F32 ? error + spacing(dtype, want) / 2 : error;
        const bool large = fabsl(want) + bound >= greatest(dtype);
        if (isnan(want)
                ? !isnan(got)
                : got != want && !(fabsl(got - want) <= bound) && !(large && isinf(got) && (got > 0) == (want > 0))) {
            fail_msg("case %d of %s: %La gives %La instead of %La, bound %Lg", c, bp_dtype_name(dtype), at, got, want,
                     bound);
        }
    }
}

/* Every function with one of the types that the device has, or with all. Layouts with gaps, and in place. */
static void functions_with_numbers(void **state) {
    static const bp_dtype types[] = {BP_F32, BP_F16, BP_BF16, BP_F64};
    (void)state;
    test_device_need();
    for (int i = 0; i < 4 * CASES; i++) {
        const bp_dtype dtype = types[i % 4];
        const int c = i / 4, type_count = test_without_f64 ? 3 : 4;
        if (i % 4 >= type_count || test_device_leaves_out(c % type_count != i % 4)) {
            continue;
        }
        device_array x, y;
        const test_layout layout = c % 3 == 0 ? TEST_COMPACT : (test_layout)(c % TEST_LAYOUTS);
        device_array_make(&x, dtype, 3, I64(5, 41, 37), layout, 0);
        device_array_make(&y, dtype, 3, I64(5, 41, 37), layout, 0);
        for (int64_t e = 0; e < test_array_count(&x.host); e++) {
            set_awkward(dtype, test_array_at(&x.host, e), e);
        }
        device_array_send(&x);
        device_array_send(&y);
        assert_ok(bp_unary_with_run(NULL, cases[c].kind, bp_unary_number_count(cases[c].kind, NULL), cases[c].numbers,
                                    &x.tensor, &y.tensor));
        assert_on_device("a function with numbers");
        device_array_fetch(&y, "a function with numbers");
        compare(c, &x, &y);
        device_array_free(&x);
        device_array_free(&y);
    }
}

static void integers_are_clipped(void **state) {
    static const double limits[][2] = {{-30, 70}, {1e30, 2e30}, {-1e30, -2e30}, {-INFINITY, INFINITY}};
    (void)state;
    test_device_need();
    for (int i = 0; i < 8; i++) {
        const bp_dtype dtype = i % 2 ? BP_I64 : BP_I32;
        const int64_t least = dtype == BP_I32 ? INT32_MIN : INT64_MIN;
        const double *limit = limits[i / 2];
        device_array x;
        reference_results made;
        device_array_make(&x, dtype, 2, I64(9, 17), (test_layout)(i % TEST_LAYOUTS), 0);
        for (int64_t e = 0; e < 153; e++) {
            test_array_set_i64(&x.host, e, e == 3 ? least : e == 4 ? -1 - least : test_array_between(-100, 100));
        }
        device_array_send(&x);
        assert_ok(reference_of_unary(&made, BP_UNARY_CLIP, &limit[0], &limit[1], device_array_side(&x, true),
                                     device_array_side(&x, true)));
        assert_ok(bp_unary_with_run(NULL, BP_UNARY_CLIP, 2, limit, &x.tensor, &x.tensor));
        assert_on_device("clip");
        device_array_fetch(&x, "clip");
        test_check_exact(&made, "clip");
        device_array_free(&x);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_with_numbers),
                                       cmocka_unit_test(integers_are_clipped)};
    return cmocka_run_group_tests(tests, test_device_setup, NULL);
}
