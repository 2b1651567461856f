/* test_variance.c - variances and standard deviations of random shapes, axes and layouts against the reference; large
 * means, wide spans and unusual values; refused calls; and that threads change no bit. */
#include "backplane.h"

#include "rows.h"
#include "support/arrays.h"
#include "support/options.h"
#include "support/pool.h"
#include "support/results.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})
#define AXES(...) ((const int[]){__VA_ARGS__})

enum { CASES = 2000 };

static const char *const settings[] = {"", "cpu.capability=default", "cpu.capability=avx2", "num_threads=2"};
enum { SETTINGS = sizeof settings / sizeof *settings };
static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16};

/* ---- Cases ---- */

typedef struct variance {
    bp_variance_kind kind;
    test_array input, output;
    int axes[BP_MAX_NDIM], axis_count;
    bool all, keep;
    double correction;
    char text[160];
} variance;

/* Numbers around a mean, and some far from it. */
static void fill(variance *c, double mean, double span) {
    const bool outliers = test_array_between(0, 3) == 0;
    for (int64_t i = 0; i < test_array_count(&c->input); i++) {
        const double x = mean + span * test_array_uniform();
        test_array_set(&c->input, i, outliers && test_array_between(0, 99) == 0 ? mean + 1000 * span : x);
    }
}

static void begin(variance *c, bp_dtype dtype, int ndim, const int64_t *shape) {
    static const double corrections[] = {1, 0, 1, 2.5, -0.5, 40};
    int64_t out_shape[BP_MAX_NDIM];
    int out_ndim, length;
    memset(c, 0, sizeof *c);
    c->kind = (bp_variance_kind)test_array_between(0, 1);
    c->correction = corrections[test_array_between(0, 5)];
    c->all = test_array_between(0, 4) == 0;
    c->keep = test_array_between(0, 1);
    length = snprintf(c->text, sizeof c->text, "%s %s correction %g, sizes", bp_dtype_name(dtype),
                      c->kind == BP_VAR ? "var" : "std", c->correction);
    for (int d = ndim - 1; d >= 0; d--) {
        if (!c->all && test_array_between(0, 1)) {
            c->axes[c->axis_count++] = test_array_between(0, 1) ? d : d - ndim;
        }
    }
    for (int d = 0; d < ndim && length < (int)sizeof c->text; d++) {
        length += snprintf(c->text + length, sizeof c->text - (size_t)length, " %d", (int)shape[d]);
    }
    test_array_make(&c->input, dtype, ndim, shape, (test_layout)test_array_between(0, TEST_LAYOUTS - 1));
    assert_int_equal(
        bp_reduce_shape(&c->input.view.tensor, c->axis_count, c->all ? NULL : c->axes, c->keep, &out_ndim, out_shape),
        BP_OK);
    test_array_make(&c->output, dtype, out_ndim, out_shape, (test_layout)test_array_between(0, TEST_LAYOUTS - 1));
}

static void end(variance *c) {
    test_array_free(&c->input);
    test_array_free(&c->output);
}

static void run(variance *c, const char *setting) {
    bp_options *options = test_options(setting);
    if (bp_variance_run(options, c->kind, &c->input.view.tensor, c->axis_count, c->all ? NULL : c->axes, c->correction,
                        c->keep, &c->output.view.tensor) != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    bp_options_release(options);
}

static void compare(const variance *c) {
    reference_results made;
    assert_int_equal(reference_of_variance(&made, (int)c->kind, c->axis_count, c->all ? NULL : c->axes, c->correction,
                                           &c->input.view.tensor, &c->output.view.tensor),
                     BP_OK);
    test_check_results(&made, c->text);
    test_array_check_gaps(&c->output, c->text);
}

static void random_cases(void **state) {
    (void)state;
    test_array_random = 21;
    for (int i = 0; i < CASES; i++) {
        int64_t shape[5];
        const int ndim = test_array_shape(shape, false);
        variance c;
        begin(&c, dtypes[i % 4], ndim, shape);
        fill(&c, test_array_between(0, 1) ? 0 : 50, 3);
        run(&c, settings[i % SETTINGS]);
        compare(&c);
        end(&c);
    }
}

static void long_rows(void **state) {
    (void)state;
    test_array_random = 22;
    for (int i = 0; i < LONG_SHAPES; i++) {
        int64_t shape[2];
        long_shape(i, shape);
        variance c;
        begin(&c, dtypes[i % 4], 2, shape);
        fill(&c, 1, 2);
        run(&c, settings[i % SETTINGS]);
        compare(&c);
        end(&c);
    }
}

/* The bound does not depend on the mean: the sum of squares less the square of the sum would have no right digit. */
static void large_means(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{1, 100000}, {40000, 5}, {300, 700}, {7, 64}, {1000, 3}};
    static const double means[] = {1e4, 1e6, -1e6, 1e12};
    test_array_random = 23;
    for (int i = 0; i < 5 * 4 * 2 * SETTINGS; i++) {
        const bp_dtype dtype = i % 2 ? BP_F64 : BP_F32;
        const double mean = means[i / 2 % 4];
        variance c;
        begin(&c, dtype, 2, shapes[i / 8 % 5]);
        fill(&c, mean, dtype == BP_F64 ? 1e-3 : fabs(mean) / 1e5);
        run(&c, settings[i % SETTINGS]);
        compare(&c);
        end(&c);
    }
}

/* ---- Values ---- */

static double one(bp_variance_kind kind, double correction, int64_t n, const double *x) {
    double y = -1;
    bp_view in, out;
    assert_int_equal(bp_view_init(&in, (void *)(uintptr_t)x, BP_F64, 1, &n, NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, &y, BP_F64, 0, I64(0), NULL), BP_OK);
    assert_int_equal(bp_variance_run(NULL, kind, &in.tensor, 0, NULL, correction, 0, &out.tensor), BP_OK);
    return y;
}

static void values(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, 6}, same[] = {5, 5, 5}, infinite[] = {1, INFINITY, 2}, nan[] = {1, NAN};
    assert_true(one(BP_VAR, 0, 4, x) == 3.5);
    assert_true(one(BP_STD, 0, 4, x) == sqrt(3.5));
    assert_true(fabs(one(BP_VAR, 1, 4, x) - 14.0 / 3) < 1e-14);
    assert_true(one(BP_VAR, -3, 4, x) == 2);
    assert_true(one(BP_VAR, 0.5, 4, x) == 4);
    /* A divisor of 0, also where the correction is larger than the count. */
    assert_true(one(BP_VAR, 4, 4, x) == INFINITY);
    assert_true(one(BP_STD, 9, 4, x) == INFINITY);
    assert_true(isnan(one(BP_VAR, 3, 3, same)));
    assert_true(isnan(one(BP_VAR, 1, 1, x)));
    assert_true(one(BP_VAR, 0, 1, x) == 0);
    assert_true(one(BP_STD, 1, 3, same) == 0);
    assert_true(isnan(one(BP_VAR, 0, 0, x)));
    assert_true(isnan(one(BP_STD, 1, 0, x)));
    assert_true(isnan(one(BP_VAR, 0, 3, infinite)));
    assert_true(isnan(one(BP_VAR, 0, 1, infinite + 1)));
    assert_true(isnan(one(BP_STD, 1, 2, nan)));
}

static void wide_spans(void **state) {
    (void)state;
    enum { N = 1000 };
    static double x[N];
    static float floats[N];
    const double spans[] = {1e300, DBL_MAX}, finite[] = {1e150, 1e-150, 0x1p506};
    for (int s = 0; s < 2; s++) { /* squares out of range: as reduce.h says, no finite result */
        for (int i = 0; i < N; i++) {
            x[i] = i % 2 ? spans[s] : -spans[s];
        }
        assert_true(!isfinite(one(BP_VAR, 0, N, x)));
        assert_true(!isfinite(one(BP_STD, 1, N, x)));
    }
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < N; i++) {
            x[i] = i % 2 ? finite[s] : 0;
        }
        assert_true(fabs(one(BP_STD, 0, N, x) / (finite[s] / 2) - 1) < 2 * N * 0x1p-53);
    }
    /* Numbers of f32 have no such limits. */
    float y;
    bp_view in, out;
    assert_int_equal(bp_view_init(&in, floats, BP_F32, 1, I64(N), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, &y, BP_F32, 0, I64(0), NULL), BP_OK);
    for (int s = 0; s < 2; s++) {
        const float span = s ? FLT_MAX : 0x1p-149F;
        for (int i = 0; i < N; i++) {
            floats[i] = i % 2 ? span : -span;
        }
        assert_int_equal(bp_variance_run(NULL, BP_STD, &in.tensor, 0, NULL, 0, 0, &out.tensor), BP_OK);
        assert_true(y == span);
    }
}

/* ---- Errors ---- */

static void refused(void **state) {
    (void)state;
    float x[12], y[3] = {7};
    int64_t index[12];
    bp_view in, out, bad;
    assert_int_equal(bp_view_init(&in, x, BP_F32, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, y, BP_F32, 1, I64(3), NULL), BP_OK);
    const DLTensor *i = &in.tensor;
    DLTensor *o = &out.tensor;
    assert_int_equal(bp_variance_run(NULL, (bp_variance_kind)2, i, 1, AXES(1), 1, 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_variance_run(NULL, BP_VAR, NULL, 1, AXES(1), 1, 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_variance_run(NULL, BP_VAR, i, 1, AXES(1), 1, 0, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_variance_run(NULL, BP_VAR, i, 1, AXES(1), NAN, 0, o), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "var: correction is nan; it must be finite"));
    assert_int_equal(bp_variance_run(NULL, BP_VAR, i, 1, AXES(1), -INFINITY, 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_variance_run(NULL, BP_VAR, i, 1, AXES(2), 1, 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_variance_run(NULL, BP_VAR, i, 2, AXES(1, -1), 1, 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_variance_run(NULL, BP_STD, i, 1, AXES(0), 1, 0, o), BP_E_SHAPE);
    assert_int_equal(bp_variance_run(NULL, BP_STD, i, 1, AXES(1), 1, 1, o), BP_E_SHAPE);
    assert_int_equal(bp_view_init(&bad, index, BP_I64, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_variance_run(NULL, BP_STD, &bad.tensor, 1, AXES(1), 1, 0, o), BP_E_DTYPE);
    assert_int_equal(bp_view_init(&bad, index, BP_F64, 1, I64(3), NULL), BP_OK);
    assert_int_equal(bp_variance_run(NULL, BP_STD, i, 1, AXES(1), 1, 0, &bad.tensor), BP_E_DTYPE);
    assert_int_equal(bp_view_init(&bad, x + 2, BP_F32, 1, I64(3), NULL), BP_OK);
    assert_int_equal(bp_variance_run(NULL, BP_VAR, i, 1, AXES(1), 1, 0, &bad.tensor), BP_E_OVERLAP);
    assert_true(y[0] == 7); /* nothing was written */
}

/* ---- Plans and threads ---- */

static void plans(void **state) {
    (void)state;
    float x[6] = {1, 2, 3, 4, 6, 8}, y[2] = {0, 0};
    bp_view in, out;
    bp_plan *plan;
    bp_explanation *explanation;
    assert_int_equal(bp_view_init(&in, NULL, BP_F32, 2, I64(2, 3), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, NULL, BP_F32, 1, I64(2), NULL), BP_OK);
    assert_int_equal(bp_variance_plan(&plan, NULL, BP_VAR, &in.tensor, 1, AXES(1), 1, 0, &out.tensor), BP_OK);
    assert_int_equal(bp_execute(plan, (bp_operand[]){{x, 0}, {y, 0}}, NULL), BP_OK);
    bp_plan_release(plan);
    assert_true(y[0] == 1 && y[1] == 4);
    assert_int_equal(bp_variance_explain(&explanation, NULL, BP_STD, &in.tensor, 1, AXES(1), 0.5, 0, &out.tensor),
                     BP_OK);
    assert_non_null(strstr(bp_explanation_text(explanation), "f32 std of 2 x 3 elements, correction 0.5"));
    bp_explanation_release(explanation);
}

/* A call that differs in the correction or the kind only has another plan. */
static void calls_in_turn(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, 6};
    for (int i = 0; i < 3; i++) {
        assert_true(one(BP_VAR, 0, 4, x) == 3.5);
        assert_true(one(BP_VAR, 2, 4, x) == 7);
        assert_true(one(BP_STD, 2, 4, x) == sqrt(7));
        assert_true(one(BP_VAR, -0.0, 4, x) == 3.5);
    }
}

static void threads_do_not_change_bits(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{300000, 1, 1}, {3, 90000, 1}, {90000, 3, 1}, {400, 300, 5}, {7, 260, 200}};
    static const char *const more[] = {"num_threads=2", "num_threads=3", "num_threads=7"};
    test_array_random = 24;
    for (int i = 0; i < 5 * 4 * 4; i++) {
        variance c;
        begin(&c, dtypes[i % 4], 3, shapes[i % 5]);
        fill(&c, 3, 1);
        const size_t bytes = (size_t)c.output.all * bp_dtype_size(c.output.dtype);
        char *kept = malloc(bytes);
        assert_non_null(kept);
        run(&c, "num_threads=1");
        memcpy(kept, c.output.memory, bytes);
        for (int j = 0; j < 3; j++) {
            run(&c, more[j]);
            if (memcmp(kept, c.output.memory, bytes) != 0) {
                fail_msg("%s: %s changes bits", c.text, more[j]);
            }
        }
        free(kept);
        end(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_cases), cmocka_unit_test(long_rows),     cmocka_unit_test(large_means),
        cmocka_unit_test(values),       cmocka_unit_test(wide_spans),    cmocka_unit_test(refused),
        cmocka_unit_test(plans),        cmocka_unit_test(calls_in_turn), cmocka_unit_test(threads_do_not_change_bits),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
