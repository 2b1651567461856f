/* test_numbers.c - functions of one element that take numbers, against long double on all instruction sets: errors,
 * special values, usual numbers, limits of integers, and what is refused. */
#include "cases.h"
#include "reference/elementwise.h"
#include "reference/results.h"
#include "support/results.h"
#include "support/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 20000, LARGEST = 8 };

static char input[COUNT * LARGEST], output[COUNT * LARGEST];

static const struct {
    bp_unary_kind kind;
    double numbers[2];
} cases[] = {
    {BP_UNARY_LEAKY_RELU, {0.01}},
    {BP_UNARY_LEAKY_RELU, {0}},
    {BP_UNARY_LEAKY_RELU, {-3.7}},
    {BP_UNARY_ELU, {1}},
    {BP_UNARY_ELU, {0.3}},
    {BP_UNARY_ELU, {-1.9}},
    {BP_UNARY_CELU, {1}},
    {BP_UNARY_CELU, {0.3}},
    {BP_UNARY_CELU, {17}},
    {BP_UNARY_CELU, {1e30}},
    {BP_UNARY_CELU, {1e-30}},
    {BP_UNARY_CLIP, {-1.1, 2.3}},
    {BP_UNARY_CLIP, {3, -2}},
    {BP_UNARY_CLIP, {-INFINITY, 0.5}},
    {BP_UNARY_CLIP, {0x1p-140, INFINITY}},
    {BP_UNARY_SOFTPLUS, {1, 20}},
    {BP_UNARY_SOFTPLUS, {0.37, 3}},
    {BP_UNARY_SOFTPLUS, {0.01, INFINITY}},
    {BP_UNARY_SOFTPLUS, {-1.3, 7}},
    {BP_UNARY_SOFTPLUS, {1e19, 1}},
    {BP_UNARY_SOFTPLUS, {1e-19, 1e30}},
    {BP_UNARY_THRESHOLD, {0.1, -7.7}},
    {BP_UNARY_THRESHOLD, {-2, 0}},
    {BP_UNARY_HARDSHRINK, {0.5}},
    {BP_UNARY_HARDSHRINK, {-1}},
    {BP_UNARY_SOFTSHRINK, {0.3}},
    {BP_UNARY_SOFTSHRINK, {0}},
    {BP_UNARY_SOFTSHRINK, {INFINITY}},
};
enum { CASES = sizeof cases / sizeof *cases };

static bp_status run_with(const char *settings, bp_unary_kind kind, bp_dtype dtype, int64_t count, int number_count,
                          const double *numbers) {
    bp_view x, y;
    bp_options *options = test_options(settings);
    assert_status(bp_view_init(&x, input, dtype, 1, &count, NULL), BP_OK);
    assert_status(bp_view_init(&y, output, dtype, 1, &count, NULL), BP_OK);
    const bp_status status = bp_unary_with_run(options, kind, number_count, numbers, &x.tensor, &y.tensor);
    bp_options_release(options);
    return status;
}

static long double element(const char *from, bp_dtype dtype, int64_t i) {
    return get_number(dtype, from + i * (int64_t)bp_dtype_size(dtype));
}

static void compare(const char *settings, int c, bp_dtype dtype, int64_t count) {
    const bp_unary_kind kind = cases[c].kind;
    const bp_dtype number = dtype == BP_F64 ? BP_F64 : BP_F32;
    double numbers[2];
    reference_unary_numbers(kind, dtype, &cases[c].numbers[0], &cases[c].numbers[1], numbers);
    for (int64_t i = 0; i < count; i++) {
        const long double x = element(input, dtype, i), y = element(output, dtype, i);
        const long double want = reference_unary_with(kind, dtype, numbers, x);
        const long double error = reference_unary_error(kind, number == BP_F64, x) * spacing(number, want);
        const long double bound = dtype < BP_F32 ? error + spacing(dtype, want) / 2 : error;
        const bool large = fabsl(want) + bound >= greatest(dtype);
        const bool good = isnan(want)
                              ? isnan(y)
                              : y == want || fabsl(y - want) <= bound || (large && isinf(y) && (y > 0) == (want > 0));
        if (!good || (x == 0 && want == 0 && !isnan(want) && kind != BP_UNARY_CLIP && signbit(y) != signbit(want))) {
            fail_msg("%s, case %d, kind %d of %s: %La gives %La instead of %La, bound %Lg", settings, c, (int)kind,
                     bp_dtype_name(dtype), x, y, want, bound);
        }
    }
}

static void fill(bp_dtype dtype, int c) {
    for (int64_t i = 0; i < COUNT; i++) {
        char *to = input + i * (int64_t)bp_dtype_size(dtype);
        set_awkward(dtype, to, i);
        const long double scale =
            cases[c].kind == BP_UNARY_SOFTPLUS || cases[c].kind == BP_UNARY_CELU ? (long double)cases[c].numbers[0] : 1;
        if (i % 3 == 0 && i > 64) { /* where beta x, or x / alpha, is near the limits of exp */
            const long double x = get_number(dtype, to);
            set_number(dtype, to, cases[c].kind == BP_UNARY_SOFTPLUS ? x / scale : x * scale);
        }
    }
}

static void errors_are_within_the_bounds(void **state) {
    static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
    (void)state;
    for (int c = 0; c < CASES; c++) {
        for (int t = 0; t < 4; t++) {
            fill(dtypes[t], c);
            for (int s = 0; s < INSTRUCTION_SETS; s++) {
                const int count = bp_unary_number_count(cases[c].kind, NULL);
                assert_status(run_with(all_settings[s], cases[c].kind, dtypes[t], COUNT, count, cases[c].numbers),
                              BP_OK);
                compare(all_settings[s], c, dtypes[t], COUNT);
            }
        }
    }
}

/* Without numbers, or with the first one only, the others have PyTorch's values; and calls that differ in a number only
 * do not share a plan. */
static void usual_numbers(void **state) {
    static const struct {
        bp_unary_kind kind;
        double numbers[2];
    } usual[] = {{BP_UNARY_LEAKY_RELU, {0.01}}, {BP_UNARY_ELU, {1}},          {BP_UNARY_CELU, {1}},
                 {BP_UNARY_HARDSHRINK, {0.5}},  {BP_UNARY_SOFTSHRINK, {0.5}}, {BP_UNARY_CLIP, {-INFINITY, INFINITY}},
                 {BP_UNARY_SOFTPLUS, {1, 20}},  {BP_UNARY_THRESHOLD, {0, 0}}};
    static char first[999 * 4];
    (void)state;
    fill(BP_F32, 0);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        const bp_unary_kind kind = usual[i].kind;
        const int count = bp_unary_number_count(kind, NULL);
        double numbers[2] = {NAN, NAN};
        assert_int_equal(bp_unary_number_count(kind, numbers), count);
        assert_memory_equal(numbers, usual[i].numbers, (size_t)count * sizeof *numbers);
        assert_status(run_with("", kind, BP_F32, 999, 0, NULL), BP_OK);
        memcpy(first, output, sizeof first);
        for (int given = 1; given <= count; given++) {
            memset(output, 1, sizeof first);
            assert_status(run_with("", kind, BP_F32, 999, given, usual[i].numbers), BP_OK);
            assert_memory_equal(first, output, sizeof first);
        }
        const double others[] = {0.75, 0.25};
        for (int given = 1; given <= count; given++) {
            double both[] = {others[0], given > 1 ? others[1] : usual[i].numbers[1]};
            assert_status(run_with("", kind, BP_F32, 999, given, others), BP_OK);
            reference_unary_numbers(kind, BP_F32, &both[0], &both[1], numbers);
            for (int64_t e = 0; e < 999; e++) {
                const long double want = reference_unary_with(kind, BP_F32, numbers, element(input, BP_F32, e));
                const long double y = element(output, BP_F32, e);
                assert_true(isnan(want) ? isnan(y) : y == want || fabsl(y - want) <= 6 * spacing(BP_F32, want));
            }
        }
    }
    assert_int_equal(bp_unary_number_count(BP_UNARY_EXP, NULL), 0);
    assert_int_equal(bp_unary_number_count(BP_UNARY_KINDS, NULL), 0);
}

static void integers_are_clipped(void **state) {
    static const int64_t from[] = {0, 1, -1, 7, -8, 9, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    static const double limits[][2] = {{-3, 7},    {7, -3},      {-INFINITY, INFINITY}, {0, INFINITY},
                                       {-1e30, 5}, {1e30, 2e30}, {-1e30, -2e30},        {-2147483648., 2147483647.}};
    (void)state;
    for (int t = 0; t < 2; t++) {
        const bp_dtype dtype = t ? BP_I64 : BP_I32;
        const int64_t count = t ? 10 : 8, most = t ? INT64_MAX : INT32_MAX;
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
            for (int64_t e = 0; e < count; e++) {
                set_number(dtype, input + e * (t ? 8 : 4), (long double)from[e]);
            }
            assert_status(run_with("", BP_UNARY_CLIP, dtype, count, 2, limits[i]), BP_OK);
            for (int64_t e = 0; e < count; e++) {
                const long double low = fminl(fmaxl((long double)limits[i][0], -(long double)most - 1), most),
                                  high = fminl(fmaxl((long double)limits[i][1], -(long double)most - 1), most);
                const long double raised = from[e] < low ? low : from[e];
                assert_true(element(output, dtype, e) == (raised > high ? high : raised));
            }
        }
    }
}

/* -0 is a number of its own, also after a call with 0. */
static void zeros_have_signs(void **state) {
    static const struct {
        bp_unary_kind kind;
        int count;
        double numbers[2];
        bool negative; /* the result of -1 */
    } signs[] = {{BP_UNARY_THRESHOLD, 2, {0, 0}, false}, {BP_UNARY_THRESHOLD, 2, {0, -0.}, true},
                 {BP_UNARY_CLIP, 1, {0}, false},         {BP_UNARY_CLIP, 1, {-0.}, true},
                 {BP_UNARY_LEAKY_RELU, 1, {0}, true},    {BP_UNARY_LEAKY_RELU, 1, {-0.}, false}};
    static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
    (void)state;
    for (int t = 0; t < 4; t++) {
        for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
            set_number(dtypes[t], input, -1);
            assert_status(run_with("", signs[i].kind, dtypes[t], 1, signs[i].count, signs[i].numbers), BP_OK);
            const long double y = element(output, dtypes[t], 0);
            assert_true(y == 0 && !signbit(y) == !signs[i].negative);
        }
    }
}

/* Limits and values that f16 and bf16 do not hold are rounded: the reference that the command and fuzzing use knows. */
static void rounded_numbers_have_a_reference(void **state) {
    static const struct {
        bp_unary_kind kind;
        double numbers[2];
    } inexact[] = {{BP_UNARY_CLIP, {-0.01, 0.1}}, {BP_UNARY_THRESHOLD, {0.3, -7.7}}};
    (void)state;
    for (int c = 0; c < 2; c++) {
        for (bp_dtype dtype = BP_F16; dtype <= BP_F64; dtype++) {
            const int64_t count = 200;
            reference_results made;
            bp_view x, y;
            for (int64_t i = 0; i < count; i++) {
                set_number(dtype, input + i * (int64_t)bp_dtype_size(dtype), (long double)(i - 100) / 64);
            }
            assert_status(run_with("", inexact[c].kind, dtype, count, 2, inexact[c].numbers), BP_OK);
            assert_status(bp_view_init(&x, input, dtype, 1, &count, NULL), BP_OK);
            assert_status(bp_view_init(&y, output, dtype, 1, &count, NULL), BP_OK);
            assert_status(reference_of_unary(&made, (int)inexact[c].kind, &inexact[c].numbers[0],
                                             &inexact[c].numbers[1], &x.tensor, &y.tensor),
                          BP_OK);
            test_check_results(&made, bp_dtype_name(dtype));
        }
    }
}

static void refuse(const double *numbers, int count, bp_unary_kind kind, bp_dtype dtype, const char *text) {
    memset(output, 7, 64);
    assert_status(run_with("", kind, dtype, 4, count, numbers), BP_E_ARGUMENT);
    if (!strstr(bp_last_error(), text)) {
        fail_msg("the message is \"%s\", without \"%s\"", bp_last_error(), text);
    }
    for (int i = 0; i < 64; i++) {
        assert_int_equal(output[i], 7);
    }
}

#define NUMBERS(...) ((const double[]){__VA_ARGS__})

static void wrong_numbers_are_refused(void **state) {
    (void)state;
    refuse(NUMBERS(3), 1, BP_UNARY_EXP, BP_F32, "exp takes no numbers; the first one is 3");
    refuse(NUMBERS(1, 2), 2, BP_UNARY_ELU, BP_F32, "elu takes one number; the second one is 2");
    refuse(NUMBERS(NAN), 1, BP_UNARY_LEAKY_RELU, BP_F32, "leaky_relu: slope is nan");
    refuse(NUMBERS(0, NAN), 2, BP_UNARY_CLIP, BP_F64, "clip: high is nan");
    refuse(NUMBERS(0.5), 1, BP_UNARY_CLIP, BP_I32, "clip: low is 0.5; it must be an integer or infinite");
    refuse(NUMBERS(0), 1, BP_UNARY_CELU, BP_F64, "celu: alpha is 0");
    refuse(NUMBERS(1e-60), 1, BP_UNARY_CELU, BP_F32, "celu: alpha is 1e-60");
    refuse(NUMBERS(-0.5), 1, BP_UNARY_SOFTSHRINK, BP_F16, "softshrink: lambda is -0.5; it must be 0 or more");
    refuse(NUMBERS(0), -1, BP_UNARY_CLIP, BP_F32, "number_count is -1");
    refuse(NUMBERS(0, 0, 0), 3, BP_UNARY_CLIP, BP_F32, "number_count is 3");
    refuse(NULL, 1, BP_UNARY_CLIP, BP_F32, "numbers is NULL");
    assert_status(run_with("", BP_UNARY_ELU, BP_I32, 4, 0, NULL), BP_E_DTYPE);
    assert_status(run_with("", BP_UNARY_CELU, BP_F64, 4, 1, NUMBERS(1e-60)), BP_OK);
}

static void plans_have_the_numbers(void **state) {
    float x[4] = {-2, -0.5f, 0.5f, 2}, y[4];
    const int64_t shape = 4;
    bp_view a, b;
    bp_plan *plan = (bp_plan *)(uintptr_t)1;
    bp_explanation *explanation = (bp_explanation *)(uintptr_t)1;
    const bp_exec exec = {.struct_size = sizeof exec, .operand_count = 2};
    (void)state;
    assert_status(bp_view_init(&a, NULL, BP_F32, 1, &shape, NULL), BP_OK);
    assert_status(bp_view_init(&b, NULL, BP_F32, 1, &shape, NULL), BP_OK);
    assert_status(bp_unary_with_plan(&plan, NULL, BP_UNARY_CLIP, 5, NUMBERS(0), &a.tensor, &b.tensor), BP_E_ARGUMENT);
    assert_null(plan);
    assert_status(bp_unary_with_explain(&explanation, NULL, BP_UNARY_CLIP, 1, NULL, &a.tensor, &b.tensor),
                  BP_E_ARGUMENT);
    assert_null(explanation);
    assert_status(bp_unary_with_plan(&plan, NULL, BP_UNARY_CLIP, 2, NUMBERS(-1, 0.25), &a.tensor, &b.tensor), BP_OK);
    assert_status(bp_execute(plan, (const bp_operand[]){{x, 0}, {y, 0}}, &exec), BP_OK);
    assert_true(y[0] == -1 && y[1] == -0.5f && y[2] == 0.25f && y[3] == 0.25f);
    bp_plan_release(plan);
    assert_status(bp_unary_with_explain(&explanation, NULL, BP_UNARY_SOFTPLUS, 1, NUMBERS(2), &a.tensor, &b.tensor),
                  BP_OK);
    assert_non_null(strstr(bp_explanation_text(explanation), "softplus 2,20 f32 4"));
    bp_explanation_release(explanation);
}

/* Strided, in place, empty without memory, and on several threads. */
static void layouts(void **state) {
    static const double numbers[] = {-0.5, 0.75};
    (void)state;
    for (int i = 0; i < 3 * TEST_ALL_LAYOUTS; i++) {
        test_array x, y;
        bp_options *options;
        const int64_t shape[] = {7, i % 3 ? 301 : 1, 53};
        const bool in_place = i % 3 == 2;
        begin_tensor(&x, i % 2 ? BP_F32 : BP_BF16, 3, shape, (test_layout)(i / 3));
        begin_tensor(&y, x.dtype, 3, shape, (test_layout)((i + 1) % TEST_ALL_LAYOUTS));
        test_array *to = in_place ? &x : &y;
        const int64_t count = test_array_count(&x);
        long double *before = calloc((size_t)count, sizeof *before);
        assert_non_null(before);
        for (int64_t e = 0; e < count; e++) {
            before[e] = value_at(&x, e);
        }
        options = test_options(all_settings[i % SETTINGS]);
        assert_status(bp_unary_with_run(options, BP_UNARY_CLIP, 2, numbers, &x.view.tensor, &to->view.tensor), BP_OK);
        bp_options_release(options);
        for (int64_t e = 0; e < count; e++) {
            assert_true(value_at(to, e) == fminl(fmaxl(before[e], -0.5L), 0.75L));
        }
        free(before);
        end_tensor(&x);
        end_tensor(&y);
    }
    bp_view none;
    const int64_t empty = 0;
    assert_status(bp_view_init(&none, NULL, BP_F32, 1, &empty, NULL), BP_OK);
    assert_status(bp_unary_with_run(NULL, BP_UNARY_CLIP, 2, numbers, &none.tensor, &none.tensor), BP_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_within_the_bounds),
        cmocka_unit_test(usual_numbers),
        cmocka_unit_test(integers_are_clipped),
        cmocka_unit_test(zeros_have_signs),
        cmocka_unit_test(rounded_numbers_have_a_reference),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(plans_have_the_numbers),
        cmocka_unit_test(layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
