/* test_results.c - batch normalization of random shapes and layouts against the reference, for all
 * types; gradients against differences; refused calls; and that threads change no bit. */
#include "backplane.h"

#include "support/arrays.h"
#include "support/no_leak_check.h"
#include "support/results.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})
enum { MARK = 77, CASES = 400, VECTORS = 8 };
enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR, MEAN, INVERSE_STD, WEIGHT_GRADIENT, BIAS_GRADIENT };

/* ---- Tensors ---- */

static const test_layout layouts[] = {TEST_COMPACT, TEST_CHANNELS_LAST, TEST_GAPS, TEST_PERMUTED, TEST_REVERSED};

static test_layout any_layout(void) {
    return layouts[test_array_between(0, 4)];
}

/* ---- Cases ---- */

typedef struct normalization {
    bp_batch_norm_call call;
    bp_dtype dtype;
    test_array input, output, gradient, vector[VECTORS];
    int64_t channels, inner, values; /* inner: positions of an item */
    double center;                   /* of the input and, in half of the cases, of the given means */
    char text[160];
} normalization;

/* Means up to 10^8 times the deviations, between two numbers of the type: a sum of squares would cancel, and a mean
 * rounded to the type would lose digits of the deviations. */
static double any_center(bp_dtype dtype) {
    static const double centers[] = {0, 1000, 1e4, 1e6, 1e8};
    const double center = centers[test_array_between(0, 4)], most = dtype == BP_F16 ? 6e4 : center;
    return (center < most ? center : most) * (1 + test_array_eps(dtype));
}

static void begin(normalization *c, bp_dtype dtype, bp_batch_norm_pass pass) {
    const int ndim = (int)test_array_between(2, 5);
    int64_t shape[5];
    memset(c, 0, sizeof *c);
    c->dtype = dtype;
    c->call = (bp_batch_norm_call){.struct_size = sizeof c->call, .pass = pass, .eps = 0.0625};
    for (int d = 0; d < ndim; d++) {
        shape[d] = test_array_between(d == 0 ? 2 : 1, ndim == 2 ? 90 : 7);
    }
    if (test_array_between(0, 3) == 0) {
        shape[test_array_between(0, ndim - 1)] = ndim < 4 ? test_array_between(250, 1100) : test_array_between(60, 90);
    }
    test_array_make(&c->input, dtype, ndim, shape, any_layout());
    test_array_make(&c->output, dtype, ndim, shape, any_layout());
    test_array_make(&c->gradient, dtype, ndim, shape, any_layout());
    c->channels = shape[1];
    c->values = test_array_count(&c->input) / c->channels;
    c->inner = c->values / shape[0];
    c->center = any_center(dtype);
    const double given =
        dtype == BP_F16 || test_array_between(0, 1) ? c->center : 0; /* f16 has no results beyond 65504 */
    const bp_dtype parameters = dtype < BP_F32 && test_array_between(0, 1) ? BP_F32 : dtype;
    for (int i = 0; i < VECTORS; i++) {
        test_array_make(&c->vector[i], parameters, 1, &c->channels,
                        test_array_between(0, 1) ? TEST_GAPS : TEST_COMPACT);
        for (int64_t j = 0; j < c->channels; j++) {
            const double middle = i == RUNNING_VAR || i == INVERSE_STD ? 1.5
                                  : i == RUNNING_MEAN || i == MEAN     ? given
                                                                       : 0;
            test_array_set(&c->vector[i], j, middle + test_array_uniform());
        }
    }
    for (int64_t i = 0; i < test_array_count(&c->input); i++) {
        test_array_set(&c->input, i, c->center + test_array_uniform());
    }
    c->call.input = &c->input.view.tensor;
    c->call.output = &c->output.view.tensor;
    c->call.weight = test_array_between(0, 3) ? &c->vector[WEIGHT].view.tensor : NULL;
    snprintf(c->text, sizeof c->text, "%s pass %d, %d channels, %d values, %d dimensions, strides %d %d",
             bp_dtype_name(dtype), (int)pass, (int)c->channels, (int)c->values, ndim,
             (int)c->input.view.tensor.strides[1], (int)c->output.view.tensor.strides[1]);
}

static void end(normalization *c) {
    test_array_free(&c->input);
    test_array_free(&c->output);
    test_array_free(&c->gradient);
    for (int i = 0; i < VECTORS; i++) {
        test_array_free(&c->vector[i]);
    }
}

static DLTensor *vector(normalization *c, int which) {
    return &c->vector[which].view.tensor;
}

static void run(const normalization *c, const char *settings) {
    bp_options *options;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    if (bp_batch_norm_run(options, &c->call) != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    bp_options_release(options);
}

/* Runs the call, and compares its results with the reference. */
static void run_and_compare(const normalization *c, const char *settings) {
    reference_results made;
    assert_int_equal(reference_of_batch_norm(&made, &c->call), BP_OK);
    run(c, settings);
    test_check_results(&made, c->text);
    test_array_check_gaps(&c->output, c->text);
    test_array_check_gaps(&c->gradient, c->text);
    for (int i = 0; i < VECTORS; i++) {
        test_array_check_gaps(&c->vector[i], c->text);
    }
}

static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static void inference(void **state) {
    (void)state;
    test_array_random = 5;
    for (int i = 0; i < CASES; i++) {
        normalization c;
        begin(&c, dtypes[i % DTYPES], BP_BATCH_NORM_INFERENCE);
        c.call.relu = i % 3 == 0;
        c.call.bias = test_array_between(0, 3) ? vector(&c, BIAS) : NULL;
        c.call.running_mean = vector(&c, RUNNING_MEAN);
        c.call.running_var = vector(&c, RUNNING_VAR);
        run_and_compare(&c, i % 5 ? "" : "cpu.capability=default");
        end(&c);
    }
}

/* Inference on another candidate than native, where one accepts it. */
static void libraries(void **state) {
    (void)state;
    static const char *const settings[] = {"dispatch.exclude=native,num_threads=1",
                                           "dispatch.exclude=native,num_threads=2"};
    bp_library_info library = {.struct_size = sizeof library};
    const bool have = bp_library_find("onednn", &library) == BP_OK && library.state == BP_LIBRARY_OK &&
                      strtol(library.version, NULL, 10) >= 3;
    int ran = 0;
    test_array_random = 9;
    for (int i = 0; i < 4 * CASES; i++) {
        normalization c;
        bp_options *options;
        begin(&c, i % 4 ? BP_F32 : BP_BF16, BP_BATCH_NORM_INFERENCE);
        c.call.relu = i % 5 == 0;
        c.call.bias = test_array_between(0, 3) ? vector(&c, BIAS) : NULL;
        c.call.running_mean = vector(&c, RUNNING_MEAN);
        c.call.running_var = vector(&c, RUNNING_VAR);
        assert_int_equal(bp_options_new(&options, settings[i % 2]), BP_OK);
        const bp_status status = bp_batch_norm_run(options, &c.call);
        bp_options_release(options);
        if (status != BP_OK && status != BP_E_NO_CANDIDATE) {
            fail_msg("%s: %s", c.text, bp_last_error());
        }
        reference_results made;
        assert_int_equal(reference_of_batch_norm(&made, &c.call), BP_OK);
        if (status == BP_OK) {
            test_check_results(&made, c.text);
        }
        reference_results_free(&made);
        ran += status == BP_OK;
        end(&c);
    }
    assert_true(ran > 4 * CASES / 60 || !have);
}

static void training(void **state) {
    (void)state;
    test_array_random = 6;
    for (int i = 0; i < CASES; i++) {
        normalization c;
        begin(&c, dtypes[i % DTYPES], BP_BATCH_NORM_TRAINING);
        c.call.bias = test_array_between(0, 3) ? vector(&c, BIAS) : NULL;
        c.call.momentum = 0.25;
        c.call.mean = vector(&c, MEAN);
        c.call.inverse_std = vector(&c, INVERSE_STD);
        c.call.running_mean = vector(&c, RUNNING_MEAN);
        c.call.running_var = vector(&c, RUNNING_VAR);
        run_and_compare(&c, i % 5 ? "" : "cpu.capability=default");
        end(&c);
    }
}

static void begin_backward(normalization *c, bp_dtype dtype, bool constant) {
    begin(c, dtype, BP_BATCH_NORM_BACKWARD);
    for (int64_t j = 0; j < test_array_count(&c->output); j++) {
        test_array_set(&c->output, j, test_array_uniform());
    }
    c->call.running_mean = constant ? vector(c, RUNNING_MEAN) : NULL;
    c->call.running_var = constant ? vector(c, RUNNING_VAR) : NULL;
    c->call.mean = constant ? NULL : vector(c, MEAN);
    c->call.inverse_std = constant ? NULL : vector(c, INVERSE_STD);
    c->call.eps = constant ? c->call.eps : 0;
    c->call.output = NULL, c->call.output_gradient = &c->output.view.tensor;
    c->call.input_gradient = &c->gradient.view.tensor;
    c->call.weight_gradient = vector(c, WEIGHT_GRADIENT);
    c->call.bias_gradient = vector(c, BIAS_GRADIENT);
}

static void gradients(void **state) {
    (void)state;
    test_array_random = 7;
    for (int i = 0; i < CASES; i++) {
        normalization c;
        const bool constant = i / DTYPES % 2;
        begin_backward(&c, dtypes[i % DTYPES], constant);
        run_and_compare(&c, i % 5 ? "" : "cpu.capability=default");
        end(&c);
    }
}

/* A weighted sum of the training output, by which the gradient is compared with differences. */
static double loss(double *x, double *y, const double *weights, double *mean, double *inverse) {
    bp_view in, out, m, s;
    double sum = 0;
    bp_view_init(&in, x, BP_F64, 3, I64(3, 2, 4), NULL);
    bp_view_init(&out, y, BP_F64, 3, I64(3, 2, 4), NULL);
    bp_view_init(&m, mean, BP_F64, 1, I64(2), NULL);
    bp_view_init(&s, inverse, BP_F64, 1, I64(2), NULL);
    const bp_batch_norm_call call = {.struct_size = sizeof call,
                                     .pass = BP_BATCH_NORM_TRAINING,
                                     .eps = 1e-5,
                                     .input = &in.tensor,
                                     .output = &out.tensor,
                                     .mean = &m.tensor,
                                     .inverse_std = &s.tensor};
    assert_int_equal(bp_batch_norm_run(NULL, &call), BP_OK);
    for (int i = 0; i < 24; i++) {
        sum += weights[i] * y[i];
    }
    return sum;
}

static void gradients_equal_differences(void **state) {
    (void)state;
    double x[24], y[24], g[24], weights[24], mean[2], inverse[2];
    const double step = 0x1p-16;
    test_array_random = 8;
    for (int i = 0; i < 24; i++) {
        x[i] = test_array_uniform();
        weights[i] = test_array_uniform();
    }
    (void)loss(x, y, weights, mean, inverse);
    bp_view in, out, m, s, gradient;
    bp_view_init(&in, x, BP_F64, 3, I64(3, 2, 4), NULL);
    bp_view_init(&out, weights, BP_F64, 3, I64(3, 2, 4), NULL);
    bp_view_init(&gradient, g, BP_F64, 3, I64(3, 2, 4), NULL);
    bp_view_init(&m, mean, BP_F64, 1, I64(2), NULL);
    bp_view_init(&s, inverse, BP_F64, 1, I64(2), NULL);
    const bp_batch_norm_call call = {.struct_size = sizeof call,
                                     .pass = BP_BATCH_NORM_BACKWARD,
                                     .input = &in.tensor,
                                     .output_gradient = &out.tensor,
                                     .mean = &m.tensor,
                                     .inverse_std = &s.tensor,
                                     .input_gradient = &gradient.tensor};
    assert_int_equal(bp_batch_norm_run(NULL, &call), BP_OK);
    for (int i = 0; i < 24; i++) {
        const double old = x[i];
        double other_mean[2], other_inverse[2];
        x[i] = old + step;
        const double above = loss(x, y, weights, other_mean, other_inverse);
        x[i] = old - step;
        const double below = loss(x, y, weights, other_mean, other_inverse);
        x[i] = old;
        /* The third derivative is below 100 here, so the error of the difference is below 100 step^2. */
        assert_true(fabs((above - below) / (2 * step) - g[i]) < 100 * step * step + 1e-9);
    }
}

static void threads_do_not_change_bits(void **state) {
    (void)state;
    static const char *const settings[] = {"num_threads=2", "num_threads=3", "num_threads=7"};
    test_array_random = 9;
    for (int i = 0; i < 16; i++) {
        normalization c;
        const int64_t shape[] = {16, 24, 30, 31};
        begin_backward(&c, dtypes[i % DTYPES], false);
        test_array_free(&c.input), test_array_free(&c.output), test_array_free(&c.gradient);
        for (int v = 0; v < VECTORS; v++) {
            test_array_free(&c.vector[v]);
            test_array_make(&c.vector[v], c.dtype, 1, shape + 1, TEST_COMPACT);
        }
        test_array_make(&c.input, c.dtype, 4, shape, layouts[i / DTYPES % 2]);
        test_array_make(&c.output, c.dtype, 4, shape, layouts[i / DTYPES % 2]);
        test_array_make(&c.gradient, c.dtype, 4, shape, TEST_COMPACT);
        for (int64_t j = 0; j < test_array_count(&c.input); j++) {
            test_array_set(&c.input, j, test_array_uniform());
            test_array_set(&c.output, j, test_array_uniform());
        }
        test_array *written = i / 8 ? &c.gradient : &c.output;
        if (i / 8 == 0) {
            c.call.pass = BP_BATCH_NORM_TRAINING;
            c.call.output = &c.output.view.tensor, c.call.output_gradient = NULL;
            c.call.input_gradient = c.call.weight_gradient = c.call.bias_gradient = NULL;
        }
        run(&c, "num_threads=1");
        const size_t bytes = (size_t)written->all * bp_dtype_size(c.dtype);
        char *first = malloc(bytes);
        assert_non_null(first);
        memcpy(first, written->memory, bytes);
        for (int s = 0; s < 3; s++) {
            run(&c, settings[s]);
            assert_memory_equal(first, written->memory, bytes);
        }
        free(first);
        end(&c);
    }
}

static void refused(const bp_batch_norm_call *call, bp_status wanted, const char *words) {
    for (int again = 0; again < 2; again++) {
        const bp_status status = bp_batch_norm_run(NULL, call);
        if (status != wanted || !strstr(bp_last_error(), words)) {
            fail_msg("%s instead of %s: \"%s\" should have \"%s\"", bp_status_name(status), bp_status_name(wanted),
                     bp_last_error(), words);
        }
    }
}

static void errors(void **state) {
    (void)state;
    static float x[64], y[64], v[4][8];
    bp_view in, out, mean, var, weight, other;
    bp_view_init(&in, x, BP_F32, 3, I64(2, 4, 5), NULL);
    bp_view_init(&out, y, BP_F32, 3, I64(2, 4, 5), NULL);
    bp_view_init(&mean, v[0], BP_F32, 1, I64(4), NULL);
    bp_view_init(&var, v[1], BP_F32, 1, I64(4), NULL);
    bp_view_init(&weight, v[2], BP_F32, 1, I64(3), NULL);
    bp_batch_norm_call call = {.struct_size = sizeof call,
                               .eps = 1,
                               .input = &in.tensor,
                               .output = &out.tensor,
                               .running_mean = &mean.tensor,
                               .running_var = &var.tensor};
    assert_int_equal(bp_batch_norm_run(NULL, &call), BP_OK);
    call.eps = -1;
    refused(&call, BP_E_ARGUMENT, "eps is -1");
    call.eps = 1;
    call.weight = &weight.tensor;
    refused(&call, BP_E_SHAPE, "weight has shape (3); it must have shape (4)");
    call.weight = NULL;
    call.mean = &mean.tensor;
    refused(&call, BP_E_ARGUMENT, "INFERENCE has no mean");
    call.mean = NULL;
    bp_batch_norm_call without = call;
    without.pass = BP_BATCH_NORM_TRAINING;
    without.running_mean = without.running_var = NULL;
    without.momentum = 0.5;
    refused(&without, BP_E_ARGUMENT, "momentum is 0.5, and running_mean and running_var are NULL");
    bp_view_init(&other, y, BP_F64, 1, I64(4), NULL);
    call.bias = &other.tensor;
    refused(&call, BP_E_DTYPE, "bias is f64; it must be f32");
    bp_view_init(&other, x + 4, BP_F32, 3, I64(2, 4, 5), NULL);
    call.bias = NULL;
    call.output = &other.tensor;
    refused(&call, BP_E_OVERLAP, "output, which is written, overlaps input");
    call.output = &out.tensor;
    bp_view_init(&out, y, BP_F32, 3, I64(2, 4, 6), NULL);
    refused(&call, BP_E_SHAPE, "output has shape (2, 4, 6); it must have shape (2, 4, 5)");
    bp_view_init(&in, x, BP_F32, 2, I64(1, 4), NULL);
    bp_view_init(&out, y, BP_F32, 2, I64(1, 4), NULL);
    assert_int_equal(bp_batch_norm_run(NULL, &call), BP_OK);
    call.pass = BP_BATCH_NORM_TRAINING;
    refused(&call, BP_E_SHAPE, "input has shape (1, 4); training needs more than one value per channel");
    call.pass = BP_BATCH_NORM_INFERENCE;
    bp_view_init(&in, NULL, BP_F32, 2, I64(0, 4), NULL);
    bp_view_init(&out, NULL, BP_F32, 2, I64(0, 4), NULL);
    assert_int_equal(bp_batch_norm_run(NULL, &call), BP_OK);
    call.pass = BP_BATCH_NORM_BACKWARD;
    call.output = NULL, call.output_gradient = &out.tensor;
    call.running_mean = call.running_var = NULL;
    call.mean = &mean.tensor, call.inverse_std = &var.tensor, call.eps = 0;
    bp_view_init(&weight, v[2], BP_F32, 1, I64(4), NULL);
    v[2][0] = MARK;
    call.weight_gradient = &weight.tensor;
    assert_int_equal(bp_batch_norm_run(NULL, &call), BP_OK);
    assert_true(v[2][0] == 0);
    call.inverse_std = NULL;
    refused(&call, BP_E_ARGUMENT, "inverse_std");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inference),
        cmocka_unit_test(libraries),
        cmocka_unit_test(training),
        cmocka_unit_test(gradients),
        cmocka_unit_test(gradients_equal_differences),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
