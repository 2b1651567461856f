/* test_layer.c - layer, RMS and group normalization of random shapes and layouts and their gradients against the
 * reference; gradients against differences; accuracy with large means; refused calls; and that threads change no
 * bit. */
#include "backplane.h"

#include "support/arrays.h"
#include "support/options.h"
#include "support/pool.h"
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

enum { CASES = 800 };
enum { INPUT, WEIGHT, BIAS, OUTPUT, MEAN, INVERSE_STD, INPUT_GRADIENT, WEIGHT_GRADIENT, BIAS_GRADIENT, TENSORS };

static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
static const char *const settings[] = {"", "cpu.capability=default", "cpu.capability=avx2", "num_threads=2"};

/* ---- Cases ---- */

/* For BACKWARD, OUTPUT has the gradient by the output. */
typedef struct normalization {
    bp_layer_norm_call call;
    bp_dtype dtype, parameters;
    test_array tensor[TENSORS];
    int64_t rows, elements, weights;
    int64_t channels, inner; /* of GROUP: channels of a group, elements of a channel */
    double center;           /* of the input and the given means */
    char text[160];
} normalization;

static DLTensor *of(normalization *c, int which) {
    return &c->tensor[which].view.tensor;
}

static double number(const normalization *c, int which, int64_t index) {
    return test_array_get(&c->tensor[which], index);
}

/* Means up to 10^8 times the deviations, between two numbers of the type: a sum of squares would lose the variance, and
 * a mean rounded to the type digits of the deviations. */
static double any_center(bp_dtype dtype) {
    static const double centers[] = {0, 1000, 1e4, 1e6, 1e8};
    const double center = centers[test_array_between(0, 4)], most = dtype == BP_F16 ? 6e4 : center;
    return (center < most ? center : most) * (1 + test_array_eps(dtype));
}

static void fill(normalization *c, int which, double center, double scale) {
    for (int64_t i = 0; i < test_array_count(&c->tensor[which]); i++) {
        test_array_set(&c->tensor[which], i, center + scale * test_array_uniform());
    }
}

static void make_tensors(normalization *c, int ndim, const int64_t *shape) {
    const bool group = c->call.kind == BP_GROUP_NORM;
    const int row_ndim = group ? 2 : ndim - c->call.row_ndim;
    const int64_t groups[] = {shape[0], c->call.groups};
    for (int i = 0; i < TENSORS; i++) {
        const bool image = i == INPUT || i == OUTPUT || i == INPUT_GRADIENT, row = i == MEAN || i == INVERSE_STD;
        const int rank = image ? ndim : row ? row_ndim : group ? 1 : c->call.row_ndim;
        const int64_t *sizes = image ? shape : row ? (group ? groups : shape) : shape + (group ? 1 : row_ndim);
        test_array_make(&c->tensor[i], image ? c->dtype : c->parameters, rank, sizes,
                        (test_layout)test_array_between(0, TEST_LAYOUTS - 1));
    }
    c->weights = test_array_count(&c->tensor[WEIGHT]);
    c->rows = test_array_count(&c->tensor[MEAN]);
    c->elements = 1;
    for (int d = group ? 1 : row_ndim; d < ndim; d++) {
        c->elements *= shape[d];
    }
    c->inner = group ? c->elements / shape[1] : 1;
    c->channels = group ? shape[1] / c->call.groups : 1;
    c->elements /= group ? c->call.groups : 1;
}

/* Makes a forward call. */
static void begin(normalization *c, bp_dtype dtype, bp_layer_norm_kind kind, int ndim, const int64_t *shape,
                  int64_t number_of) {
    memset(c, 0, sizeof *c);
    c->dtype = dtype;
    c->parameters = dtype < BP_F32 && test_array_between(0, 1) ? BP_F32 : dtype;
    c->call = (bp_layer_norm_call){.struct_size = sizeof c->call, .kind = kind, .eps = 0.0625};
    c->call.row_ndim = kind == BP_GROUP_NORM ? 0 : (int)number_of;
    c->call.groups = kind == BP_GROUP_NORM ? number_of : 0;
    make_tensors(c, ndim, shape);
    c->center = kind == BP_RMS_NORM && dtype == BP_F16 ? 2 : any_center(dtype); /* f16 ends at 65504 */
    fill(c, INPUT, c->center, 1);
    fill(c, WEIGHT, 0, 1);
    fill(c, BIAS, 0, 1);
    const bool rms = kind == BP_RMS_NORM;
    c->call.input = of(c, INPUT);
    c->call.output = of(c, OUTPUT);
    c->call.weight = test_array_between(0, 3) ? of(c, WEIGHT) : NULL;
    c->call.bias = test_array_between(0, 3) && !rms ? of(c, BIAS) : NULL;
    c->call.mean = test_array_between(0, 3) && !rms ? of(c, MEAN) : NULL;
    c->call.inverse_std = test_array_between(0, 3) ? of(c, INVERSE_STD) : NULL;
    int length = snprintf(c->text, sizeof c->text, "%s kind %d of %d,%s%s sizes", bp_dtype_name(dtype), (int)kind,
                          (int)number_of, c->call.weight ? " weight" : "", c->call.bias ? " bias" : "");
    for (int d = 0; d < ndim && length < (int)sizeof c->text; d++) {
        length += snprintf(c->text + length, sizeof c->text - (size_t)length, " %d", (int)shape[d]);
    }
}

/* Makes the call one for the gradients, with statistics or without. */
static void turn(normalization *c) {
    const bool rms = c->call.kind == BP_RMS_NORM, given = test_array_between(0, 1);
    c->call.pass = BP_LAYER_NORM_BACKWARD;
    c->call.bias = NULL;
    c->call.output_gradient = c->call.output;
    c->call.output = NULL;
    fill(c, OUTPUT, 0, 1);
    fill(c, MEAN, c->center, 0.1);
    fill(c, INVERSE_STD, 1.5, 0.5);
    c->call.mean = given && !rms ? of(c, MEAN) : NULL;
    c->call.inverse_std = given ? of(c, INVERSE_STD) : NULL;
    c->call.eps = given ? 0 : c->call.eps;
    c->call.input_gradient = test_array_between(0, 3) ? of(c, INPUT_GRADIENT) : NULL;
    c->call.weight_gradient = test_array_between(0, 3) ? of(c, WEIGHT_GRADIENT) : NULL;
    c->call.bias_gradient = test_array_between(0, 3) && !rms ? of(c, BIAS_GRADIENT) : NULL;
}

/* Whether a gradient is computed at all. */
static bool writes(const normalization *c) {
    return c->call.input_gradient || c->call.weight_gradient || c->call.bias_gradient;
}

static void end(normalization *c) {
    for (int i = 0; i < TENSORS; i++) {
        test_array_free(&c->tensor[i]);
    }
}

static void run(const normalization *c, const char *setting) {
    bp_options *options = test_options(setting);
    if (bp_layer_norm_run(options, &c->call) != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    bp_options_release(options);
}

static void random_case(normalization *c, int i) {
    const bp_layer_norm_kind kind = (bp_layer_norm_kind)(i / 4 % 3);
    int64_t shape[5], number_of;
    const int ndim = (int)test_array_between(kind == BP_GROUP_NORM ? 2 : 1, 5);
    for (int d = 0; d < ndim; d++) {
        shape[d] = test_array_between(1, ndim < 4 ? 14 : 6);
    }
    if (test_array_between(0, 2) == 0) {
        shape[test_array_between(0, ndim - 1)] = test_array_between(40, ndim < 3 ? 2000 : 150);
    }
    number_of = test_array_between(1, ndim);
    if (kind == BP_GROUP_NORM) {
        number_of = test_array_between(1, 4);
        shape[1] = number_of * test_array_between(1, 5);
    }
    begin(c, dtypes[i % 4], kind, ndim, shape, number_of);
}

/* ---- Comparisons ---- */

static void near(const normalization *c, const char *what, int64_t index, double got, long double want, double bound) {
    if (!(fabsl(got - want) <= bound)) {
        fail_msg("%s: %s %d is %.17g instead of %.17g, bound %g", c->text, what, (int)index, got, (double)want, bound);
    }
}

/* Runs the call, and compares its results with the reference. */
static void run_and_compare(const normalization *c, const char *setting) {
    reference_results made;
    assert_int_equal(reference_of_layer_norm(&made, &c->call), BP_OK);
    run(c, setting);
    test_check_results(&made, c->text);
}

static void forward(void **state) {
    (void)state;
    test_array_random = 31;
    for (int i = 0; i < CASES; i++) {
        normalization c;
        random_case(&c, i);
        run_and_compare(&c, settings[i / 12 % 4]);
        for (int t = OUTPUT; t <= INVERSE_STD; t++) {
            test_array_check_gaps(&c.tensor[t], c.text);
        }
        end(&c);
    }
}

static void backward(void **state) {
    (void)state;
    test_array_random = 32;
    for (int i = 0; i < CASES; i++) {
        normalization c;
        random_case(&c, i);
        turn(&c);
        if (writes(&c)) {
            run_and_compare(&c, settings[i / 12 % 4]);
        }
        for (int t = INPUT_GRADIENT; t < TENSORS; t++) {
            test_array_check_gaps(&c.tensor[t], c.text);
        }
        end(&c);
    }
}

/* Rows longer than a block, and more rows than parts. */
static void large(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{2, 9000, 3}, {3000, 33, 1}, {5, 64, 400}};
    test_array_random = 33;
    for (int i = 0; i < 36; i++) {
        normalization c;
        begin(&c, dtypes[i % 4], (bp_layer_norm_kind)(i / 4 % 3), 3, shapes[i / 12], i / 4 % 3 == 2 ? 1 : 2);
        run_and_compare(&c, settings[i % 3]);
        turn(&c);
        if (writes(&c)) {
            run_and_compare(&c, settings[i % 3]);
        }
        end(&c);
    }
}

/* The statistics are sums of differences to the first element, whose squares lose digits if it is far from the others:
 * it is a multiple of all deviations. Rows are shorter and longer than those that are read once. */
static void first_elements_far_from_the_mean(void **state) {
    static const double distances[] = {3, 100, 1e4, 6e4};
    static const int64_t sizes[] = {5, 63, 64, 65, 777, 9000};
    (void)state;
    test_array_random = 34;
    for (int i = 0; i < 288; i++) {
        const int64_t columns = sizes[i / 4 % 6], rows = 3;
        normalization c;
        begin(&c, dtypes[i % 4], BP_LAYER_NORM, 2, I64(rows, columns), 1);
        for (int64_t r = 0; r < rows; r++) {
            test_array_set(&c.tensor[INPUT], r * columns, distances[i / 24 % 4] * (r % 2 ? -1 : 1));
        }
        run_and_compare(&c, settings[i / 96]);
        end(&c);
    }
}

/* Gradients of the sum of d y by differences, in f64. */
static void differences(void **state) {
    (void)state;
    const double h = 0x1p-16;
    test_array_random = 34;
    for (int kind = 0; kind < 3; kind++) {
        normalization c;
        begin(&c, BP_F64, (bp_layer_norm_kind)kind, 3, I64(2, 6, 5), 2);
        fill(&c, INPUT, 0.5, 1);
        test_array d;
        test_array_make(&d, BP_F64, 3, I64(2, 6, 5), TEST_COMPACT);
        for (int64_t j = 0; j < 60; j++) {
            test_array_set(&d, j, test_array_uniform());
        }
        const bool rms = kind == BP_RMS_NORM;
        bp_layer_norm_call call;
        c.call.weight = of(&c, WEIGHT);
        c.call.bias = rms ? NULL : of(&c, BIAS);
        call = c.call;
        call.pass = BP_LAYER_NORM_BACKWARD;
        call.bias = call.mean = call.inverse_std = NULL;
        call.output = NULL;
        call.output_gradient = &d.view.tensor;
        call.input_gradient = of(&c, INPUT_GRADIENT);
        call.weight_gradient = of(&c, WEIGHT_GRADIENT);
        call.bias_gradient = rms ? NULL : of(&c, BIAS_GRADIENT);
        assert_int_equal(bp_layer_norm_run(NULL, &call), BP_OK);
        for (int t = INPUT; t <= BIAS - rms; t++) {
            for (int64_t j = 0; j < test_array_count(&c.tensor[t]); j++) {
                const double x = number(&c, t, j);
                double loss[2] = {0, 0};
                for (int side = 0; side < 2; side++) {
                    test_array_set(&c.tensor[t], j, side ? x + h : x - h);
                    run(&c, "");
                    for (int64_t k = 0; k < 60; k++) {
                        loss[side] += test_array_get(&d, k) * number(&c, OUTPUT, k);
                    }
                }
                test_array_set(&c.tensor[t], j, x);
                /* The remainder is of the order h^2 times the third derivative, rounding is divided by h. */
                near(&c, "difference", j, number(&c, INPUT_GRADIENT + t, j), (loss[1] - loss[0]) / (2 * h),
                     500 * h * h + 60 * 0x1p-49 / h);
            }
        }
        test_array_free(&d);
        end(&c);
    }
}

static void values(void **state) {
    (void)state;
    float x[12] = {1, NAN, 2, 3, 5, 5, 5, 5, 1, 2, INFINITY, 4}, y[12], s[3];
    bp_view in, out, inverse;
    assert_int_equal(bp_view_init(&in, x, BP_F32, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, y, BP_F32, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_view_init(&inverse, s, BP_F32, 1, I64(3), NULL), BP_OK);
    bp_layer_norm_call call = {.struct_size = sizeof call,
                               .row_ndim = 1,
                               .eps = 0x1p-20,
                               .input = &in.tensor,
                               .output = &out.tensor,
                               .inverse_std = &inverse.tensor};
    assert_int_equal(bp_layer_norm_run(NULL, &call), BP_OK);
    assert_true(isnan(y[0]) && isnan(y[3]) && isnan(y[8]) && isnan(y[10]));
    assert_true(y[4] == 0 && y[7] == 0 && s[1] == 0x1p10f); /* equal elements */
    call.kind = BP_RMS_NORM;
    x[10] = 3e38f; /* its square overflows f32 */
    assert_int_equal(bp_layer_norm_run(NULL, &call), BP_OK);
    assert_true(fabsf(y[10] - 2) <= 0x1p-22f && isnan(y[1]));
}

/* ---- Errors ---- */

static void refused(void **state) {
    (void)state;
    float x[24], y[24] = {7}, w[24];
    bp_view in, out, four, three, bad;
    assert_int_equal(bp_view_init(&in, x, BP_F32, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, y, BP_F32, 2, I64(3, 4), NULL), BP_OK);
    assert_int_equal(bp_view_init(&four, w, BP_F32, 1, I64(4), NULL), BP_OK);
    assert_int_equal(bp_view_init(&three, w + 4, BP_F32, 1, I64(3), NULL), BP_OK);
    const bp_layer_norm_call good = {
        .struct_size = sizeof good, .row_ndim = 1, .eps = 1, .input = &in.tensor, .output = &out.tensor};
#define REFUSED(status, ...)                                                                                           \
    do {                                                                                                               \
        bp_layer_norm_call call = good;                                                                                \
        __VA_ARGS__;                                                                                                   \
        assert_int_equal(bp_layer_norm_run(NULL, &call), status);                                                      \
    } while (0)
    assert_int_equal(bp_layer_norm_run(NULL, NULL), BP_E_ARGUMENT);
    REFUSED(BP_E_ARGUMENT, call.kind = (bp_layer_norm_kind)3);
    REFUSED(BP_E_ARGUMENT, call.pass = (bp_layer_norm_pass)2);
    REFUSED(BP_E_ARGUMENT, call.eps = -1);
    REFUSED(BP_E_ARGUMENT, call.eps = NAN);
    REFUSED(BP_E_ARGUMENT, call.eps = INFINITY);
    REFUSED(BP_E_ARGUMENT, call.row_ndim = 0);
    REFUSED(BP_E_ARGUMENT, call.groups = 1);
    REFUSED(BP_E_ARGUMENT, call.kind = BP_GROUP_NORM);
    REFUSED(BP_E_ARGUMENT, call.kind = BP_GROUP_NORM, call.row_ndim = 0);
    REFUSED(BP_E_ARGUMENT, call.input = NULL);
    REFUSED(BP_E_ARGUMENT, call.output = NULL);
    REFUSED(BP_E_ARGUMENT, call.kind = BP_RMS_NORM, call.bias = &four.tensor);
    REFUSED(BP_E_ARGUMENT, call.kind = BP_RMS_NORM, call.mean = &three.tensor);
    REFUSED(BP_E_ARGUMENT, call.input_gradient = &out.tensor);
    REFUSED(BP_E_ARGUMENT, call.weight_gradient = &four.tensor);
    REFUSED(BP_E_ARGUMENT, call.output_gradient = &out.tensor);
#define BACKWARD call.pass = BP_LAYER_NORM_BACKWARD, call.output = NULL, call.output_gradient = &out.tensor
    REFUSED(BP_E_ARGUMENT, BACKWARD, call.bias = &four.tensor);
    REFUSED(BP_E_ARGUMENT, BACKWARD, call.eps = 0, call.output = &out.tensor);
    REFUSED(BP_E_ARGUMENT, BACKWARD, call.mean = &three.tensor);
    REFUSED(BP_E_ARGUMENT, BACKWARD, call.eps = 0, call.inverse_std = &three.tensor);
#undef BACKWARD
    REFUSED(BP_E_SHAPE, call.row_ndim = 3);
    REFUSED(BP_E_SHAPE, call.kind = BP_GROUP_NORM, call.row_ndim = 0, call.groups = 3);
    REFUSED(BP_E_SHAPE, call.weight = &three.tensor);
    REFUSED(BP_E_SHAPE, call.mean = &four.tensor);
    assert_int_equal(bp_view_init(&bad, w, BP_F64, 1, I64(4), NULL), BP_OK);
    REFUSED(BP_E_DTYPE, call.weight = &bad.tensor);
    assert_int_equal(bp_view_init(&bad, w, BP_I32, 2, I64(3, 4), NULL), BP_OK);
    REFUSED(BP_E_DTYPE, call.input = &bad.tensor);
    assert_int_equal(bp_view_init(&bad, x, BP_F32, 2, I64(3, 0), NULL), BP_OK);
    REFUSED(BP_E_SHAPE, call.input = &bad.tensor, call.output = &bad.tensor);
    REFUSED(BP_E_OVERLAP, call.output = &in.tensor);
    assert_int_equal(bp_view_init(&bad, y, BP_F32, 1, I64(3), NULL), BP_OK);
    REFUSED(BP_E_OVERLAP, call.mean = &bad.tensor);
    assert_int_equal(bp_view_init(&bad, y, BP_F32, 2, I64(3, 4), I64(0, 1)), BP_OK);
    REFUSED(BP_E_OVERLAP, call.output = &bad.tensor);
    int64_t many[16];
    for (int i = 0; i < 16; i++) {
        many[i] = 1;
    }
    assert_int_equal(bp_view_init(&bad, x, BP_F32, 16, many, NULL), BP_OK);
    REFUSED(BP_E_SHAPE, call.input = &bad.tensor);
    assert_true(y[0] == 7); /* nothing was written */
#undef REFUSED
}

/* Without rows, gradients by the weights are 0. */
static void no_rows(void **state) {
    (void)state;
    float x[1], g[4] = {7, 7, 7, 7};
    bp_view in, weight;
    assert_int_equal(bp_view_init(&in, x, BP_F32, 2, I64(0, 4), NULL), BP_OK);
    assert_int_equal(bp_view_init(&weight, g, BP_F32, 1, I64(4), NULL), BP_OK);
    bp_layer_norm_call call = {.struct_size = sizeof call,
                               .row_ndim = 1,
                               .eps = 1,
                               .input = &in.tensor,
                               .output = &in.tensor,
                               .weight = &weight.tensor};
    assert_int_equal(bp_layer_norm_run(NULL, &call), BP_OK);
    call.pass = BP_LAYER_NORM_BACKWARD;
    call.output = NULL;
    call.output_gradient = &in.tensor;
    call.weight = NULL;
    call.weight_gradient = &weight.tensor;
    assert_int_equal(bp_layer_norm_run(NULL, &call), BP_OK);
    assert_true(g[0] == 0 && g[3] == 0);
}

static void plans(void **state) {
    (void)state;
    float x[4] = {1, 2, 3, 4}, y[4];
    bp_view in, out;
    bp_plan *plan;
    bp_explanation *explanation;
    assert_int_equal(bp_view_init(&in, NULL, BP_F32, 2, I64(2, 2), NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, NULL, BP_F32, 2, I64(2, 2), NULL), BP_OK);
    const bp_layer_norm_call call = {
        .struct_size = sizeof call, .row_ndim = 1, .input = &in.tensor, .output = &out.tensor};
    assert_int_equal(bp_layer_norm_plan(&plan, NULL, &call), BP_OK);
    assert_int_equal(bp_execute(plan, (bp_operand[]){{x, 0}, {NULL, 0}, {NULL, 0}, {y, 0}, {NULL, 0}, {NULL, 0}}, NULL),
                     BP_OK);
    bp_plan_release(plan);
    assert_true(y[0] == -1 && y[1] == 1 && y[2] == -1 && y[3] == 1);
    assert_int_equal(bp_layer_norm_explain(&explanation, NULL, &call), BP_OK);
    assert_non_null(strstr(bp_explanation_text(explanation), "f32 2 rows of 2 elements"));
    bp_explanation_release(explanation);
}

static void threads_do_not_change_bits(void **state) {
    (void)state;
    static const char *const more[] = {"num_threads=2", "num_threads=3", "num_threads=7"};
    test_array_random = 36;
    for (int i = 0; i < 24; i++) {
        normalization c;
        begin(&c, dtypes[i % 4], (bp_layer_norm_kind)(i / 4 % 3), 3, i % 2 ? I64(40, 96, 60) : I64(400, 12, 50), 2);
        char *kept[TENSORS];
        test_array output;
        test_array_make(&output, c.dtype, 3, c.tensor[INPUT].view.tensor.shape, TEST_PERMUTED);
        bp_layer_norm_call forward_call = c.call;
        forward_call.output = &output.view.tensor;
        forward_call.mean = forward_call.inverse_std = NULL; /* the gradients read these tensors */
        turn(&c);
        run(&c, "num_threads=1");
        assert_int_equal(bp_layer_norm_run(NULL, &forward_call), BP_OK);
        const test_array *const written[] = {&output, &c.tensor[INPUT_GRADIENT], &c.tensor[WEIGHT_GRADIENT],
                                             &c.tensor[BIAS_GRADIENT]};
        for (int t = 0; t < 4; t++) {
            const size_t bytes = (size_t)written[t]->all * bp_dtype_size(written[t]->dtype);
            kept[t] = malloc(bytes);
            assert_non_null(kept[t]);
            memcpy(kept[t], written[t]->memory, bytes);
        }
        for (int j = 0; j < 3; j++) {
            bp_options *options;
            run(&c, more[j]);
            assert_int_equal(bp_options_new(&options, more[j]), BP_OK);
            assert_int_equal(bp_layer_norm_run(options, &forward_call), BP_OK);
            bp_options_release(options);
            for (int t = 0; t < 4; t++) {
                if (memcmp(kept[t], written[t]->memory, (size_t)written[t]->all * bp_dtype_size(written[t]->dtype))) {
                    fail_msg("%s: %s changes bits", c.text, more[j]);
                }
            }
        }
        for (int t = 0; t < 4; t++) {
            free(kept[t]);
        }
        test_array_free(&output);
        end(&c);
    }
}

static void longest_row(void **state) {
    (void)state;
    bp_view row;
    bp_plan *plan;
    bp_view_init(&row, NULL, BP_F16, 1, (const int64_t[]){INT64_C(1) << 59}, NULL);
    bp_layer_norm_call call = {sizeof call, BP_LAYER_NORM_BACKWARD, .row_ndim = 1, .input = &row.tensor};
    call.output_gradient = call.weight_gradient = &row.tensor;
    assert_int_equal(bp_layer_norm_plan(&plan, NULL, &call), BP_OK);
    bp_plan_release(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_row),
        cmocka_unit_test(forward),
        cmocka_unit_test(backward),
        cmocka_unit_test(large),
        cmocka_unit_test(first_elements_far_from_the_mean),
        cmocka_unit_test(differences),
        cmocka_unit_test(values),
        cmocka_unit_test(refused),
        cmocka_unit_test(no_rows),
        cmocka_unit_test(plans),
        cmocka_unit_test(threads_do_not_change_bits),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
