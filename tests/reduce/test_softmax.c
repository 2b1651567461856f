/* test_softmax.c - softmax of random shapes and layouts, and its gradients, against the reference; gradients against
 * differences; unusual values; refused calls; and that threads change no bit. */
#include "backplane.h"

#include "support/modes.h"
#include "support/options.h"
#include "support/pool.h"
#include "support/arrays.h"
#include "support/results.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})

enum { CASES = 600 };

static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
static const char *const settings[] = {"", "cpu.capability=default", "cpu.capability=avx2", "num_threads=2"};

/* ---- Cases ---- */

typedef struct softmax {
    bp_softmax_kind kind;
    bp_dtype dtype;
    int axis;
    int64_t length, inner; /* elements of a row, and between its elements in row-major order */
    test_array x, y, d, g;
    char text[160];
} softmax;

static void begin(softmax *c, bp_dtype dtype, bp_softmax_kind kind, int ndim, const int64_t *shape, int axis,
                  double scale) {
    memset(c, 0, sizeof *c);
    c->kind = kind;
    c->dtype = dtype;
    c->axis = test_array_between(0, 1) ? axis : axis - ndim;
    c->length = shape[axis];
    c->inner = 1;
    for (int d = axis + 1; d < ndim; d++) {
        c->inner *= shape[d];
    }
    test_array *const all[] = {&c->x, &c->y, &c->d, &c->g};
    for (int i = 0; i < 4; i++) {
        test_array_make(all[i], dtype, ndim, shape, (test_layout)test_array_between(0, TEST_LAYOUTS - 1));
    }
    for (int64_t i = 0; i < test_array_count(&c->x); i++) {
        test_array_set(&c->x, i, scale * test_array_uniform());
        test_array_set(&c->d, i, test_array_uniform());
    }
    int length = snprintf(c->text, sizeof c->text, "%s kind %d, axis %d of", bp_dtype_name(dtype), (int)kind, axis);
    for (int d = 0; d < ndim && length < (int)sizeof c->text; d++) {
        length += snprintf(c->text + length, sizeof c->text - (size_t)length, " %d", (int)shape[d]);
    }
}

static void end(softmax *c) {
    test_array *const all[] = {&c->x, &c->y, &c->d, &c->g};
    for (int i = 0; i < 4; i++) {
        test_array_free(all[i]);
    }
}

static void run(softmax *c, const char *setting, bool backward) {
    bp_options *options = test_options(setting);
    const bp_status status = backward ? bp_softmax_backward_run(options, c->kind, &c->y.view.tensor, &c->d.view.tensor,
                                                                c->axis, &c->g.view.tensor)
                                      : bp_softmax_run(options, c->kind, &c->x.view.tensor, c->axis, &c->y.view.tensor);
    if (status != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    bp_options_release(options);
}

static void near(const softmax *c, const char *what, int64_t index, double got, long double want, double bound) {
    if (!(fabs(got - (double)want) <= bound) && !(isnan(got) && isnan(want))) {
        fail_msg("%s: %s %d is %.17g instead of %.17g, bound %g", c->text, what, (int)index, got, (double)want, bound);
    }
}

static void compare(const softmax *c) {
    reference_results made;
    assert_int_equal(reference_of_softmax(&made, (int)c->kind, c->axis, &c->x.view.tensor, &c->y.view.tensor), BP_OK);
    test_check_results(&made, c->text);
    assert_int_equal(reference_of_softmax_backward(&made, (int)c->kind, c->axis, &c->y.view.tensor, &c->d.view.tensor,
                                                   &c->g.view.tensor),
                     BP_OK);
    test_check_results(&made, c->text);
    test_array_check_gaps(&c->y, c->text);
    test_array_check_gaps(&c->g, c->text);
}

static void random_cases(void **state) {
    (void)state;
    test_array_random = 21;
    for (int i = 0; i < (test_takes_all() ? CASES : CASES / 2); i++) {
        int64_t shape[5];
        const int ndim = (int)test_array_between(1, 5), axis = (int)test_array_between(0, ndim - 1);
        for (int d = 0; d < ndim; d++) {
            shape[d] = test_array_between(1, ndim < 4 ? 12 : 5);
        }
        if (test_array_between(0, 2) == 0) {
            shape[test_array_between(0, ndim - 1)] = test_array_between(40, ndim < 3 ? 2000 : 150);
        }
        if (test_array_between(0, 31) == 0) {
            shape[test_array_between(0, ndim - 1)] = 0;
        }
        softmax c;
        begin(&c, dtypes[i % 4], (bp_softmax_kind)(i / 4 % 2), ndim, shape, axis, i % 3 ? 4 : 120);
        run(&c, settings[i / 8 % 4], false);
        run(&c, settings[i / 8 % 4], true);
        compare(&c);
        end(&c);
    }
}

/* Rows that have parts, and the last elements of blocks. */
static void long_rows(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{8192, 1, 1}, {70001, 1, 1}, {2, 100000, 1}, {90000, 3, 1}, {30000, 40, 1}};
    test_array_random = 22;
    for (int i = 0; i < 40; i++) {
        const int64_t *shape = shapes[i % 5];
        softmax c;
        begin(&c, dtypes[i / 5 % 4], (bp_softmax_kind)(i % 2), 2, shape, shape[0] < shape[1], 4);
        run(&c, settings[i / 5 % 4], false);
        run(&c, settings[i / 5 % 4], true);
        compare(&c);
        end(&c);
    }
}

/* ---- Values ---- */

static void values(void **state) {
    (void)state;
    enum { ROWS = 6, N = 5 };
    const double rows[ROWS][N] = {{-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
                                  {1, NAN, 2, 3, 4},
                                  {1, INFINITY, 2, 3, 4},
                                  {-INFINITY, 0, -INFINITY, 0, -INFINITY},
                                  {1e30, 1e30, -1e30, 1e30, 1e30},
                                  {0x1p-1074, 0, -0x1p-1074, 0, 0}};
    for (int kind = 0; kind < 4; kind++) {
        for (int t = 0; t < 2; t++) {
            const bool logarithm = kind % 2;
            test_array x, y;
            const bp_dtype dtype = dtypes[t];
            const int64_t *shape = kind < 2 ? I64(ROWS, N) : I64(N, ROWS); /* along rows, or columns */
            test_array_make(&x, dtype, 2, shape, TEST_COMPACT);
            test_array_make(&y, dtype, 2, shape, TEST_COMPACT);
            for (int i = 0; i < ROWS * N; i++) {
                test_array_set(&x, kind < 2 ? i : i % N * ROWS + i / N, rows[i / N][i % N]);
            }
            assert_int_equal(
                bp_softmax_run(NULL, logarithm ? BP_LOG_SOFTMAX : BP_SOFTMAX, &x.view.tensor, kind < 2, &y.view.tensor),
                BP_OK);
            for (int i = 0; i < ROWS * N; i++) {
                const double got = test_array_get(&y, kind < 2 ? i : i % N * ROWS + i / N);
                if (i / N < 3) {
                    assert_true(isnan(got));
                    continue;
                }
                const double weight = i / N == 3 ? (i % N % 2 ? 0.5 : 0) : i / N == 4 ? (i % N == 2 ? 0 : 0.25) : 0.2;
                const double want = !logarithm ? weight : i / N == 4 && i % N == 2 ? -2e30 : log(weight);
                assert_true(got == want || fabs(got - want) <= 1e-6 * fabs(want));
            }
            test_array_free(&x);
            test_array_free(&y);
        }
    }
}

static void in_place(void **state) {
    (void)state;
    test_array_random = 23;
    for (int i = 0; i < 64; i++) {
        const int64_t *shape = i / 8 % 2 ? I64(70, 300) : I64(3, 70000);
        softmax c;
        begin(&c, dtypes[i % 4], (bp_softmax_kind)(i / 4 % 2), 2, shape, i / 16 % 2, 4);
        reference_results made;
        assert_int_equal(reference_of_softmax(&made, (int)c.kind, c.axis, &c.x.view.tensor, &c.x.view.tensor), BP_OK);
        assert_int_equal(bp_softmax_run(NULL, c.kind, &c.x.view.tensor, c.axis, &c.x.view.tensor), BP_OK);
        test_check_results(&made, c.text);
        test_array_check_gaps(&c.x, c.text);
        end(&c);
    }
}

/* Gradients of the sum of d y by differences, in f64. */
static void differences(void **state) {
    (void)state;
    const double h = 0x1p-17;
    test_array_random = 24;
    for (int i = 0; i < 40; i++) {
        softmax c;
        begin(&c, BP_F64, (bp_softmax_kind)(i % 2), 3, I64(2, 7, 3), i / 2 % 3, 2);
        run(&c, "", false);
        run(&c, "", true);
        for (int64_t j = 0; j < test_array_count(&c.x); j++) {
            const double x = test_array_get(&c.x, j);
            double loss[2] = {0, 0};
            for (int side = 0; side < 2; side++) {
                test_array_set(&c.x, j, side ? x + h : x - h);
                run(&c, "", false);
                for (int64_t k = 0; k < test_array_count(&c.x); k++) {
                    loss[side] += test_array_get(&c.d, k) * test_array_get(&c.y, k);
                }
            }
            test_array_set(&c.x, j, x);
            /* The remainder of the differences is of the order h^2, and rounding is divided by h. */
            near(&c, "difference", j, test_array_get(&c.g, j), (loss[1] - loss[0]) / (2 * h),
                 20 * h * h + 42 * 0x1p-50 / h);
        }
        end(&c);
    }
}

/* ---- Errors ---- */

static void refused(void **state) {
    (void)state;
    float x[24], y[24] = {7};
    bp_view in, out, third, bad;
    assert_int_equal(bp_view_init(&in, x, BP_F32, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, y, BP_F32, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_view_init(&third, x + 12, BP_F32, 2, I64(3, 4), NULL), BP_OK);
    DLTensor *i = &in.tensor, *o = &out.tensor, *t = &third.tensor;
    assert_int_equal(bp_softmax_run(NULL, (bp_softmax_kind)2, i, 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_softmax_run(NULL, BP_SOFTMAX, i, 2, o), BP_E_ARGUMENT);
    assert_int_equal(bp_softmax_run(NULL, BP_SOFTMAX, i, -3, o), BP_E_ARGUMENT);
    assert_int_equal(bp_softmax_run(NULL, BP_SOFTMAX, NULL, 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_softmax_run(NULL, BP_SOFTMAX, i, 0, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_softmax_backward_run(NULL, BP_SOFTMAX, i, NULL, 0, o), BP_E_ARGUMENT);
    assert_int_equal(bp_view_init(&bad, y, BP_F32, 2, I64(4, 3), NULL), BP_OK);
    assert_int_equal(bp_softmax_run(NULL, BP_SOFTMAX, i, 0, &bad.tensor), BP_E_SHAPE);
    assert_int_equal(bp_softmax_backward_run(NULL, BP_SOFTMAX, i, &bad.tensor, 0, t), BP_E_SHAPE);
    assert_int_equal(bp_view_init(&bad, y, BP_I32, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_softmax_run(NULL, BP_SOFTMAX, i, 0, &bad.tensor), BP_E_DTYPE);
    assert_int_equal(bp_softmax_run(NULL, BP_SOFTMAX, &bad.tensor, 0, i), BP_E_DTYPE);
    assert_int_equal(bp_view_init(&bad, x, BP_F32, 2, I64(3, 4), I64(1, 3)), BP_OK); /* other strides */
    assert_int_equal(bp_softmax_run(NULL, BP_SOFTMAX, i, 0, &bad.tensor), BP_E_OVERLAP);
    assert_int_equal(bp_view_init(&bad, x + 1, BP_F32, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_softmax_run(NULL, BP_SOFTMAX, i, 0, &bad.tensor), BP_E_OVERLAP);
    assert_int_equal(bp_softmax_backward_run(NULL, BP_SOFTMAX, i, o, 0, o), BP_E_OVERLAP);
    assert_int_equal(bp_softmax_backward_run(NULL, BP_SOFTMAX, i, o, 0, i), BP_E_OVERLAP);
    assert_int_equal(bp_view_init(&bad, y, BP_F32, 2, I64(3, 4), I64(0, 1)), BP_OK);
    assert_int_equal(bp_softmax_run(NULL, BP_SOFTMAX, i, 0, &bad.tensor), BP_E_OVERLAP);
    assert_true(y[0] == 7); /* nothing was written */
}

/* The overlap is checked in each call, also of a shape whose plan is known. */
static void overlap_of_a_known_shape(void **state) {
    (void)state;
    float x[24] = {0};
    bp_view in, out;
    assert_int_equal(bp_view_init(&in, x, BP_F32, 1, I64(10), NULL), BP_OK);
    for (int shift = 0; shift < 12; shift++) {
        for (int again = 0; again < 2; again++) {
            assert_int_equal(bp_view_init(&out, x + shift, BP_F32, 1, I64(10), NULL), BP_OK);
            assert_int_equal(bp_softmax_run(NULL, BP_SOFTMAX, &in.tensor, 0, &out.tensor),
                             shift == 0 || shift >= 10 ? BP_OK : BP_E_OVERLAP);
        }
    }
}

static void threads_do_not_change_bits(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{300000, 1, 1}, {3, 90000, 1}, {90000, 3, 1}, {400, 300, 5}, {7, 260, 200}};
    static const char *const more[] = {"num_threads=2", "num_threads=3", "num_threads=7"};
    test_array_random = 25;
    for (int i = 0; i < 40; i++) {
        softmax c;
        const int64_t *shape = shapes[i % 5];
        begin(&c, dtypes[i / 5 % 4], (bp_softmax_kind)(i / 20 % 2), 3, shape, i % 5 == 0 || i % 5 == 2 ? 0 : 1, 4);
        const size_t bytes = (size_t)c.y.all * bp_dtype_size(c.dtype),
                     more_bytes = (size_t)c.g.all * bp_dtype_size(c.dtype);
        char *kept = malloc(bytes), *kept_gradient = malloc(more_bytes);
        assert_non_null(kept);
        assert_non_null(kept_gradient);
        run(&c, "num_threads=1", false);
        run(&c, "num_threads=1", true);
        memcpy(kept, c.y.memory, bytes);
        memcpy(kept_gradient, c.g.memory, more_bytes);
        for (int j = 0; j < 3; j++) {
            run(&c, more[j], false);
            run(&c, more[j], true);
            if (memcmp(kept, c.y.memory, bytes) != 0 || memcmp(kept_gradient, c.g.memory, more_bytes) != 0) {
                fail_msg("%s: %s changes bits", c.text, more[j]);
            }
        }
        free(kept);
        free(kept_gradient);
        end(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_cases),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(values),
        cmocka_unit_test(in_place),
        cmocka_unit_test(differences),
        cmocka_unit_test(refused),
        cmocka_unit_test(overlap_of_a_known_shape),
        cmocka_unit_test(threads_do_not_change_bits),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
