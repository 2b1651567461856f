/* test_results.c - batch normalization of random shapes and layouts against a reference that follows norm.h in long
 * double, for all types; gradients against differences; refused calls; and that threads change no bit. */
#include "backplane.h"

#include "support/no_leak_check.h"
#include "tensor/internal.h"

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

static uint64_t state_of_random = 1;

static int64_t between(int64_t low, int64_t high) {
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    state_of_random ^= state_of_random << 17;
    return low + (int64_t)((state_of_random >> 11) % (uint64_t)(high - low + 1));
}

static double uniform(void) {
    return (double)between(-1000000, 1000000) / 1000001;
}

/* ---- Tensors ---- */

typedef struct tensor {
    bp_view view;
    bp_dtype dtype;
    char *memory;
    int64_t all;
} tensor;

static void put(bp_dtype dtype, char *to, double value) {
    if (dtype == BP_F64) {
        memcpy(to, &value, sizeof value);
    } else {
        bp__convert_matrix(dtype, BP_F64, 1, 1, to, 1, 1, &value, 1, 1);
    }
}

static double take(bp_dtype dtype, const char *from) {
    double value;
    if (dtype == BP_F64) {
        memcpy(&value, from, sizeof value);
    } else {
        bp__convert_matrix(BP_F64, dtype, 1, 1, &value, 1, 1, from, 1, 1);
    }
    return value;
}

static char *element(const tensor *t, int64_t index) {
    int64_t at = 0;
    for (int d = t->view.tensor.ndim - 1; d >= 0; d--) {
        at += index % t->view.tensor.shape[d] * t->view.tensor.strides[d];
        index /= t->view.tensor.shape[d];
    }
    return (char *)t->view.tensor.data + at * (int64_t)bp_dtype_size(t->dtype);
}

static double get(const tensor *t, int64_t index) {
    return take(t->dtype, element(t, index));
}

static void set(tensor *t, int64_t index, double value) {
    put(t->dtype, element(t, index), value);
}

static int64_t count_of(const tensor *t) {
    return bp__tensor_elements(&t->view.tensor);
}

/* Makes a tensor: compact, channels-last, with gaps, or with dimensions in the reverse order. */
static void make(tensor *t, bp_dtype dtype, int ndim, const int64_t *shape, int kind) {
    int order[BP_MAX_NDIM];
    int64_t strides[BP_MAX_NDIM];
    for (int i = 0; i < ndim; i++) {
        order[i] = kind == 3 ? ndim - 1 - i : i;
    }
    if (kind == 1 && ndim > 2) {
        memmove(order + 1, order + 2, (size_t)(ndim - 2) * sizeof *order);
        order[ndim - 1] = 1;
    }
    t->dtype = dtype;
    t->all = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[order[i]] = t->all * (kind == 2 ? between(1, 2) : 1);
        t->all = strides[order[i]] * (shape[order[i]] > 0 ? shape[order[i]] : 1);
    }
    t->memory = malloc((size_t)t->all * bp_dtype_size(dtype));
    assert_non_null(t->memory);
    for (int64_t i = 0; i < t->all; i++) {
        put(dtype, t->memory + i * (int64_t)bp_dtype_size(dtype), MARK);
    }
    assert_int_equal(bp_view_init(&t->view, t->memory, dtype, ndim, shape, strides), BP_OK);
}

/* ---- Cases ---- */

static double eps_of(bp_dtype dtype) {
    return dtype == BP_F16 ? 0x1p-11 : dtype == BP_BF16 ? 0x1p-8 : dtype == BP_F32 ? 0x1p-24 : 0x1p-53;
}

typedef struct normalization {
    bp_batch_norm_call call;
    bp_dtype dtype;
    tensor input, output, gradient, vector[VECTORS];
    int64_t channels, inner, values; /* inner: positions of an item */
    double center;                   /* of the input and, in half of the cases, of the given means */
    char text[160];
} normalization;

/* Means up to 10^8 times the deviations, between two numbers of the type: a sum of squares would cancel, and a mean
 * rounded to the type would lose digits of the deviations. */
static double any_center(bp_dtype dtype) {
    static const double centers[] = {0, 1000, 1e4, 1e6, 1e8};
    const double center = centers[between(0, 4)], most = dtype == BP_F16 ? 6e4 : center;
    return (center < most ? center : most) * (1 + eps_of(dtype));
}

static void begin(normalization *c, bp_dtype dtype, bp_batch_norm_pass pass) {
    const int ndim = (int)between(2, 5);
    int64_t shape[5];
    memset(c, 0, sizeof *c);
    c->dtype = dtype;
    c->call = (bp_batch_norm_call){.struct_size = sizeof c->call, .pass = pass, .eps = 0.0625};
    for (int d = 0; d < ndim; d++) {
        shape[d] = between(d == 0 ? 2 : 1, ndim == 2 ? 90 : 7);
    }
    if (between(0, 3) == 0) {
        shape[between(0, ndim - 1)] = ndim < 4 ? between(250, 1100) : between(60, 90);
    }
    make(&c->input, dtype, ndim, shape, (int)between(0, 3));
    make(&c->output, dtype, ndim, shape, (int)between(0, 3));
    make(&c->gradient, dtype, ndim, shape, (int)between(0, 3));
    c->channels = shape[1];
    c->values = count_of(&c->input) / c->channels;
    c->inner = c->values / shape[0];
    c->center = any_center(dtype);
    const double given = dtype == BP_F16 || between(0, 1) ? c->center : 0; /* f16 has no results beyond 65504 */
    const bp_dtype parameters = dtype < BP_F32 && between(0, 1) ? BP_F32 : dtype;
    for (int i = 0; i < VECTORS; i++) {
        make(&c->vector[i], parameters, 1, &c->channels, between(0, 1) ? 2 : 0);
        for (int64_t j = 0; j < c->channels; j++) {
            const double middle = i == RUNNING_VAR || i == INVERSE_STD ? 1.5
                                  : i == RUNNING_MEAN || i == MEAN     ? given
                                                                       : 0;
            set(&c->vector[i], j, middle + uniform());
        }
    }
    for (int64_t i = 0; i < count_of(&c->input); i++) {
        set(&c->input, i, c->center + uniform());
    }
    c->call.input = &c->input.view.tensor;
    c->call.output = &c->output.view.tensor;
    c->call.weight = between(0, 3) ? &c->vector[WEIGHT].view.tensor : NULL;
    snprintf(c->text, sizeof c->text, "%s pass %d, %d channels, %d values, %d dimensions, strides %d %d",
             bp_dtype_name(dtype), (int)pass, (int)c->channels, (int)c->values, ndim,
             (int)c->input.view.tensor.strides[1], (int)c->output.view.tensor.strides[1]);
}

static void end(normalization *c) {
    free(c->input.memory);
    free(c->output.memory);
    free(c->gradient.memory);
    for (int i = 0; i < VECTORS; i++) {
        free(c->vector[i].memory);
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

static int64_t index_of(const normalization *c, int64_t channel, int64_t value) {
    return (value / c->inner * c->channels + channel) * c->inner + value % c->inner;
}

static void near(const normalization *c, const char *what, int64_t index, double got, long double want, double bound) {
    if (!(fabsl(got - want) <= bound)) {
        fail_msg("%s: %s %d is %.17g instead of %.17g, bound %g", c->text, what, (int)index, got, (double)want, bound);
    }
}

/* Mean and mean square of the deviations, and the error bounds of norm.h: of the mean, and relative of inverse_std. */
typedef struct moments {
    long double first, rest, variance; /* the mean is first + rest, a sum that long double may round */
    double mean_error, inverse_error;
} moments;

static moments statistics(const normalization *c, int64_t channel) {
    const double first = get(&c->input, index_of(c, channel, 0)), e = (4 * (double)c->values + 16) * 0x1p-53;
    long double size = 0;
    moments m = {.first = first};
    for (int64_t i = 0; i < c->values; i++) {
        const long double x = get(&c->input, index_of(c, channel, i));
        m.rest += (x - first) / c->values;
        size += (x - first) * (x - first) / c->values;
    }
    for (int64_t i = 0; i < c->values; i++) {
        const long double distance = (get(&c->input, index_of(c, channel, i)) - m.first) - m.rest;
        m.variance += distance * distance / c->values;
    }
    size = sqrtl(size);
    m.mean_error = e * (double)size;
    m.inverse_error = e * (1 + 4 * (double)(size / sqrtl(m.variance + c->call.eps)));
    return m;
}

static double weight_of(const normalization *c, int64_t channel) {
    return c->call.weight ? get(&c->vector[WEIGHT], channel) : 1;
}

/* Half of the distance between the smallest numbers of f16. */
static double tiny(bp_dtype dtype) {
    return dtype == BP_F16 ? 0x1p-25 : 0;
}

/* The bounds of norm.h. */
static void compare_elements(const normalization *c, int64_t channel, moments m) {
    const double compute = c->dtype == BP_F64 ? 0x1p-53 : 0x1p-24;
    const long double inverse = 1 / sqrtl(m.variance + c->call.eps), scale = inverse * weight_of(c, channel);
    const long double bias = c->call.bias ? get(&c->vector[BIAS], channel) : 0;
    for (int64_t i = 0; i < c->values; i++) {
        const int64_t at = index_of(c, channel, i);
        const long double x = get(&c->input, at);
        const long double scaled = ((x - m.first) - m.rest) * scale;
        long double want = scaled + bias;
        want = c->call.relu && want < 0 ? 0 : want;
        const double size = (double)(fabsl(scaled) + fabsl(bias));
        near(c, "output", at, get(&c->output, at), want,
             4 * compute * size + 1.01 * eps_of(c->dtype) * (double)fabsl(want) + m.inverse_error * size +
                 m.mean_error * (double)fabsl(scale) + tiny(c->dtype));
    }
}

static moments given_statistics(const normalization *c, int64_t channel) {
    return (moments){.first = get(&c->vector[RUNNING_MEAN], channel),
                     .variance = get(&c->vector[RUNNING_VAR], channel)};
}

static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static void inference(void **state) {
    (void)state;
    state_of_random = 5;
    for (int i = 0; i < CASES; i++) {
        normalization c;
        begin(&c, dtypes[i % DTYPES], BP_BATCH_NORM_INFERENCE);
        c.call.relu = i % 3 == 0;
        c.call.bias = between(0, 3) ? vector(&c, BIAS) : NULL;
        c.call.running_mean = vector(&c, RUNNING_MEAN), c.call.running_var = vector(&c, RUNNING_VAR);
        run(&c, i % 5 ? "" : "cpu.capability=default");
        for (int64_t channel = 0; channel < c.channels; channel++) {
            compare_elements(&c, channel, given_statistics(&c, channel));
        }
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
    state_of_random = 9;
    for (int i = 0; i < 4 * CASES; i++) {
        normalization c;
        bp_options *options;
        begin(&c, i % 4 ? BP_F32 : BP_BF16, BP_BATCH_NORM_INFERENCE);
        c.call.relu = i % 5 == 0;
        c.call.bias = between(0, 3) ? vector(&c, BIAS) : NULL;
        c.call.running_mean = vector(&c, RUNNING_MEAN), c.call.running_var = vector(&c, RUNNING_VAR);
        assert_int_equal(bp_options_new(&options, settings[i % 2]), BP_OK);
        const bp_status status = bp_batch_norm_run(options, &c.call);
        bp_options_release(options);
        if (status != BP_OK && status != BP_E_NO_CANDIDATE) {
            fail_msg("%s: %s", c.text, bp_last_error());
        }
        for (int64_t channel = 0; status == BP_OK && channel < c.channels; channel++) {
            compare_elements(&c, channel, given_statistics(&c, channel));
        }
        ran += status == BP_OK;
        end(&c);
    }
    assert_true(ran > 4 * CASES / 60 || !have);
}

static void training(void **state) {
    (void)state;
    state_of_random = 6;
    for (int i = 0; i < CASES; i++) {
        normalization c;
        double before[2];
        begin(&c, dtypes[i % DTYPES], BP_BATCH_NORM_TRAINING);
        c.call.bias = between(0, 3) ? vector(&c, BIAS) : NULL;
        c.call.momentum = 0.25;
        c.call.mean = vector(&c, MEAN);
        c.call.inverse_std = vector(&c, INVERSE_STD);
        tensor old[2] = {c.vector[RUNNING_MEAN], c.vector[RUNNING_VAR]};
        double *kept = malloc((size_t)c.channels * 2 * sizeof *kept);
        assert_non_null(kept);
        for (int64_t j = 0; j < 2 * c.channels; j++) {
            kept[j] = get(&old[j % 2], j / 2);
        }
        c.call.running_mean = vector(&c, RUNNING_MEAN), c.call.running_var = vector(&c, RUNNING_VAR);
        run(&c, i % 5 ? "" : "cpu.capability=default");
        for (int64_t channel = 0; channel < c.channels; channel++) {
            const moments m = statistics(&c, channel);
            const long double mean = m.first + m.rest, variance = m.variance;
            memcpy(before, kept + 2 * channel, sizeof before);
            compare_elements(&c, channel, m);
            const double eps = 2 * eps_of(c.vector[MEAN].dtype);
            near(&c, "mean", channel, get(&c.vector[MEAN], channel), mean, eps * (double)fabsl(mean) + m.mean_error);
            const long double inverse = 1 / sqrtl(variance + c.call.eps);
            near(&c, "inverse_std", channel, get(&c.vector[INVERSE_STD], channel), inverse,
                 (eps + m.inverse_error) * (double)inverse);
            const long double unbiased = variance * c.values / (c.values - 1);
            const long double new_mean = 0.75L * before[0] + 0.25L * mean,
                              new_var = 0.75L * before[1] + 0.25L * unbiased;
            near(&c, "running_mean", channel, get(&c.vector[RUNNING_MEAN], channel), new_mean,
                 eps * (double)(fabsl(0.75L * before[0]) + fabsl(mean)) + m.mean_error);
            near(&c, "running_var", channel, get(&c.vector[RUNNING_VAR], channel), new_var,
                 (eps + 2 * m.inverse_error) * (double)new_var + 1e-15);
        }
        free(kept);
        end(&c);
    }
}

/* Compares with the sums of norm.h, and with M terms each. */
static void compare_gradients(const normalization *c, int64_t channel, bool constant) {
    long double mean, variance, sum = 0, product = 0, size = 0, product_size = 0;
    const double compute = c->dtype == BP_F64 ? 0x1p-53 : 0x1p-24, eps = eps_of(c->dtype);
    mean = get(&c->vector[constant ? RUNNING_MEAN : MEAN], channel);
    variance = get(&c->vector[constant ? RUNNING_VAR : INVERSE_STD], channel);
    const long double inverse = constant ? 1 / sqrtl(variance + c->call.eps) : variance;
    for (int64_t i = 0; i < c->values; i++) {
        const int64_t at = index_of(c, channel, i);
        const long double y = get(&c->output, at), x = (get(&c->input, at) - mean) * inverse;
        sum += y;
        size += fabsl(y);
        product += y * x;
        product_size += fabsl(y * x);
    }
    const double own = eps_of(c->vector[WEIGHT].dtype), small = 0x1p-50 * (double)c->values;
    near(c, "weight_gradient", channel, get(&c->vector[WEIGHT_GRADIENT], channel), product,
         2 * own * (double)fabsl(product) + small * (double)product_size);
    near(c, "bias_gradient", channel, get(&c->vector[BIAS_GRADIENT], channel), sum,
         2 * own * (double)fabsl(sum) + small * (double)size);
    const long double scale = inverse * weight_of(c, channel), share = constant ? 0 : 1 / (long double)c->values;
    for (int64_t i = 0; i < c->values; i++) {
        const int64_t at = index_of(c, channel, i);
        const long double y = get(&c->output, at), x = (get(&c->input, at) - mean) * inverse;
        const long double parts = fabsl(y) + fabsl(sum * share) + fabsl(x * product * share);
        const long double summed =
            size * share + fabsl(x) * product_size * share; /* the sums have errors of their own */
        near(c, "input_gradient", at, get(&c->gradient, at), scale * (y - sum * share - x * product * share),
             (double)(fabsl(scale) * parts) * 8 * compute + (double)(fabsl(scale) * summed) * small +
                 2 * eps * (double)(fabsl(scale) * parts) + tiny(c->dtype));
    }
}

static void begin_backward(normalization *c, bp_dtype dtype, bool constant) {
    begin(c, dtype, BP_BATCH_NORM_BACKWARD);
    for (int64_t j = 0; j < count_of(&c->output); j++) {
        set(&c->output, j, uniform());
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
    state_of_random = 7;
    for (int i = 0; i < CASES; i++) {
        normalization c;
        const bool constant = i / DTYPES % 2;
        begin_backward(&c, dtypes[i % DTYPES], constant);
        run(&c, i % 5 ? "" : "cpu.capability=default");
        for (int64_t channel = 0; channel < c.channels; channel++) {
            compare_gradients(&c, channel, constant);
        }
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
    state_of_random = 8;
    for (int i = 0; i < 24; i++) {
        x[i] = uniform();
        weights[i] = uniform();
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
    state_of_random = 9;
    for (int i = 0; i < 16; i++) {
        normalization c;
        const int64_t shape[] = {16, 24, 30, 31};
        begin_backward(&c, dtypes[i % DTYPES], false);
        free(c.input.memory), free(c.output.memory), free(c.gradient.memory);
        for (int v = 0; v < VECTORS; v++) {
            free(c.vector[v].memory);
            make(&c.vector[v], c.dtype, 1, shape + 1, 0);
        }
        make(&c.input, c.dtype, 4, shape, i / DTYPES % 2);
        make(&c.output, c.dtype, 4, shape, i / DTYPES % 2);
        make(&c.gradient, c.dtype, 4, shape, 0);
        for (int64_t j = 0; j < count_of(&c.input); j++) {
            set(&c.input, j, uniform());
            set(&c.output, j, uniform());
        }
        tensor *written = i / 8 ? &c.gradient : &c.output;
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
