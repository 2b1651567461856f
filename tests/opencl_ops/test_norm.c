/* test_norm.c - batch, layer, RMS and group normalization, and pooling, on an OpenCL device, against references. The
 * references of rows are the test's own, because the library's has the bounds of kernels that have f64. */
#include "device_array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};

/* Whether the device is said to lack the type. */
static bool refused(bp_dtype dtype) {
    return test_without_f64 && dtype == BP_F64;
}

static test_layout any_layout(void) {
    return (test_layout)test_array_between(0, TEST_LAYOUTS - 1);
}

static void make(device_array *t, bp_dtype dtype, int ndim, const int64_t *shape) {
    device_array_make(t, dtype, ndim, shape, any_layout(), 0);
    device_array_fill(t);
}

/* Means up to 10^8 times the deviations, between two numbers of the type: a sum of squares would cancel, and a mean
 * rounded to the type would lose digits of the deviations. */
static double center_of(bp_dtype dtype, int number) {
    static const double centers[] = {0.5, 1000, 1e4, 1e6, 1e8};
    const double center = centers[number % 5], most = dtype == BP_F16 ? 6e4 : center;
    return (center < most ? center : most) * (1 + test_array_eps(dtype));
}

/* Adds to each element, on the device too. */
static void move(device_array *t, double distance) {
    for (int64_t i = 0; i < test_array_count(&t->host); i++) {
        test_array_set(&t->host, i, test_array_get(&t->host, i) + distance);
    }
    device_array_send(t);
}

/* ---- Batch normalization ---- */

static void check_batch_norm(bp_dtype dtype, int number) {
    device_array x, y, p[4];
    const int64_t shape[] = {3, number % 3 == 0 ? 1 : 17, 5, number % 2 ? 1 : 9};
    const bp_dtype parameters = dtype < BP_F32 && number % 2 ? BP_F32 : dtype;
    make(&x, dtype, 4, shape);
    device_array_make(&y, dtype, 4, shape, number % 4 == 1 ? TEST_PERMUTED : any_layout(), 0);
    device_array_send(&y);
    for (int i = 0; i < 4; i++) {
        make(&p[i], parameters, 1, &shape[1]);
    }
    for (int64_t c = 0; c < shape[1]; c++) { /* variances are positive */
        test_array_set(&p[3].host, c, fabs(test_array_get(&p[3].host, c)) + 0.01);
    }
    device_array_send(&p[3]);
    move(&x, center_of(dtype, number));
    move(&p[2], center_of(dtype, number));
    const bool weight = number % 5 != 4, bias = number % 5 != 3;
    bp_batch_norm_call calls[2]; /* the second one is the reference's */
    reference_results made;
    for (int host = 0; host < 2; host++) {
        calls[host] = (bp_batch_norm_call){.struct_size = sizeof calls[host],
                                           .pass = BP_BATCH_NORM_INFERENCE,
                                           .relu = number % 3 == 1,
                                           .eps = 1e-5,
                                           .input = device_array_side(&x, host),
                                           .weight = weight ? device_array_side(&p[0], host) : NULL,
                                           .bias = bias ? device_array_side(&p[1], host) : NULL,
                                           .running_mean = device_array_side(&p[2], host),
                                           .running_var = device_array_side(&p[3], host),
                                           .output = device_array_side(&y, host)};
    }
    assert_ok(reference_of_batch_norm(&made, &calls[1]));
    assert_ok(bp_batch_norm_run(NULL, &calls[0]));
    assert_on_device("batch norm");
    device_array_fetch(&y, "batch norm");
    test_check_results(&made, "batch norm");
    device_array_free(&x);
    device_array_free(&y);
    for (int i = 0; i < 4; i++) {
        device_array_free(&p[i]);
    }
}

static void test_batch_norm(void **state) {
    (void)state;
    test_device_need();
    for (int i = 0; i < 24; i++) {
        if (!refused(types[i % 4])) {
            check_batch_norm(types[i % 4], i);
        }
    }
}

/* Inverse deviation times weight is infinite in f32, or too small, and the results are not. */
static void test_scales_that_are_no_normal_numbers(void **state) {
    enum { CHANNELS = 5, COUNT = 2 * CHANNELS * 6 };
    static const double cases[][3] = {{1e-18, 1e-36, 1e22}, {1e18, 1e36, 1e-25}}; /* elements, variance, weight */
    (void)state;
    test_device_need();
    for (int k = 0; k < 2; k++) {
        const double inverse_std = 1 / sqrt((double)(float)cases[k][1]), weight = (double)(float)cases[k][2];
        device_array x, y, p[3];
        make(&x, BP_F32, 3, (const int64_t[]){2, CHANNELS, 6});
        make(&y, BP_F32, 3, (const int64_t[]){2, CHANNELS, 6});
        for (int64_t i = 0; i < COUNT; i++) {
            test_array_set(&x.host, i, cases[k][0] * (double)(i % 7 - 3));
        }
        device_array_send(&x);
        for (int i = 0; i < 3; i++) {
            make(&p[i], BP_F32, 1, (const int64_t[]){CHANNELS});
            for (int64_t c = 0; c < CHANNELS; c++) {
                test_array_set(&p[i].host, c, i == 0 ? cases[k][2] : i == 1 ? 0 : cases[k][1]);
            }
            device_array_send(&p[i]);
        }
        const bp_batch_norm_call call = {.struct_size = sizeof call,
                                         .pass = BP_BATCH_NORM_INFERENCE,
                                         .input = device_array_side(&x, 0),
                                         .weight = device_array_side(&p[0], 0),
                                         .running_mean = device_array_side(&p[1], 0),
                                         .running_var = device_array_side(&p[2], 0),
                                         .output = device_array_side(&y, 0)};
        assert_ok(bp_batch_norm_run(NULL, &call));
        assert_on_device("batch norm");
        device_array_fetch(&y, "batch norm");
        for (int64_t i = 0; i < COUNT; i++) {
            const double want = test_array_get(&x.host, i) * inverse_std * weight;
            assert_true(fabs(test_array_get(&y.host, i) - want) <= 5 * 0x1p-24 * fabs(want));
        }
        device_array_free(&x);
        device_array_free(&y);
        for (int i = 0; i < 3; i++) {
            device_array_free(&p[i]);
        }
    }
}

/* ---- Layer, RMS and group normalization ---- */

typedef struct rows {
    bp_layer_norm_kind kind;
    int64_t shape[3];
    int dims;
    int64_t groups;
} rows;

/* The row of an element, and the index of its weight. */
static void place_of(const rows *r, int64_t index, int64_t *row, int64_t *weight) {
    const int64_t inner = r->dims == 1 ? r->shape[2] : r->shape[1] * r->shape[2];
    if (r->kind == BP_GROUP_NORM) {
        const int64_t channels = r->shape[1] / r->groups;
        *weight = index / r->shape[2] % r->shape[1];
        *row = index / (r->shape[1] * r->shape[2]) * r->groups + *weight / channels;
    } else {
        *row = index / inner;
        *weight = index % inner;
    }
}

typedef struct statistics {
    long double first, sum, squares, sizes; /* sums of differences to the first value, and of deviations */
    int64_t count;
} statistics;

/* The mean is a sum, because long double would lose digits of a large one. */
static long double deviation_of(const statistics *s, long double value, bool rms) {
    return rms ? value : (value - s->first) - s->sum / (long double)s->count;
}

static void check_layer_norm(const rows *r, bp_dtype dtype, int number) {
    char text[128];
    device_array x, y, p[2], s[2];
    const bool group = r->kind == BP_GROUP_NORM, rms = r->kind == BP_RMS_NORM;
    const bp_dtype parameters = dtype < BP_F32 && number % 2 ? BP_F32 : dtype;
    const int64_t *weights = group ? &r->shape[1] : &r->shape[3 - r->dims];
    const int64_t statistic_shape[] = {r->shape[0], group ? r->groups : r->shape[1]};
    const int statistic_ndim = group ? 2 : 3 - r->dims;
    snprintf(text, sizeof text, "norm %d of %s, %d,%d,%d, number %d", (int)r->kind, bp_dtype_name(dtype),
             (int)r->shape[0], (int)r->shape[1], (int)r->shape[2], number);
    make(&x, dtype, 3, r->shape);
    move(&x, rms && dtype == BP_F16 ? 0.5 : center_of(dtype, 2 * number + 4));
    device_array_make(&y, dtype, 3, r->shape, any_layout(), 0);
    device_array_send(&y);
    for (int i = 0; i < 2; i++) {
        make(&p[i], parameters, group ? 1 : r->dims, weights);
        make(&s[i], parameters, statistic_ndim, statistic_shape);
    }
    const bool given = number % 4 != 3, wanted = number % 4 != 2;
    const bp_layer_norm_call call = {.struct_size = sizeof call,
                                     .pass = BP_LAYER_NORM_FORWARD,
                                     .kind = r->kind,
                                     .row_ndim = group ? 0 : r->dims,
                                     .groups = group ? r->groups : 0,
                                     .eps = 1e-5,
                                     .input = &x.tensor,
                                     .weight = given ? &p[0].tensor : NULL,
                                     .bias = given && !rms ? &p[1].tensor : NULL,
                                     .output = &y.tensor,
                                     .mean = wanted && !rms ? &s[0].tensor : NULL,
                                     .inverse_std = wanted ? &s[1].tensor : NULL};
    assert_ok(bp_layer_norm_run(NULL, &call));
    assert_on_device(text);
    device_array_fetch(&y, text);
    device_array_fetch(&s[0], text);
    device_array_fetch(&s[1], text);
    const int64_t all = test_array_count(&x.host);
    statistics *of = calloc((size_t)all, sizeof *of);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < all; i++) {
            int64_t row, weight;
            place_of(r, i, &row, &weight);
            const long double value = test_array_get(&x.host, i);
            statistics *const own = &of[row];
            if (pass == 0) {
                own->first = own->count || rms ? own->first : value;
                own->sum += value - own->first;
                own->sizes += (value - own->first) * (value - own->first);
                own->count++;
            } else {
                const long double deviation = deviation_of(own, value, rms);
                own->squares += deviation * deviation;
            }
        }
    }
    for (int64_t i = 0; i < all; i++) {
        int64_t row, weight;
        place_of(r, i, &row, &weight);
        const long double mean = rms ? 0 : of[row].first + of[row].sum / (long double)of[row].count;
        const long double inverse = 1 / sqrtl(of[row].squares / (long double)of[row].count + 1e-5L);
        const long double w = given ? test_array_get(&p[0].host, weight) : 1;
        const long double b = given && !rms ? test_array_get(&p[1].host, weight) : 0;
        const long double scaled = deviation_of(&of[row], test_array_get(&x.host, i), rms) * inverse * w,
                          want = scaled + b;
        /* The bounds of norm.h, with the root mean square of the differences to the first value. */
        const double e =
            test_without_f64 ? (double)(of[row].count + 16) * 0x1p-42 + 0x1p-21 : (double)(of[row].count + 8) * 0x1p-53;
        const double size = sqrt((double)(of[row].sizes / (long double)of[row].count));
        const double inverse_error = e * (1 + 4 * size * (double)inverse);
        assert_close(text, i, test_array_get(&y.host, i), (double)want,
                     8 * device_compute_eps(dtype) * (double)(fabsl(scaled) + fabsl(b)) +
                         inverse_error * (double)fabsl(scaled) + e * size * (double)fabsl(inverse * w) +
                         1.01 * device_eps(dtype) * (double)fabsl(want) + device_tiny(dtype));
        if (wanted) {
            const double eps = 2 * device_eps(parameters) + inverse_error;
            assert_close(text, row, test_array_get(&s[1].host, row), (double)inverse, eps * (double)inverse);
            if (!rms) {
                assert_close(text, row, test_array_get(&s[0].host, row), (double)mean,
                             2 * device_eps(parameters) * (double)fabsl(mean) + e * size);
            }
        }
    }
    free(of);
    device_array *const every[] = {&x, &y, &p[0], &p[1], &s[0], &s[1]};
    for (int i = 0; i < 6; i++) {
        device_array_free(every[i]);
    }
}

static void test_layer_norm(void **state) {
    static const rows some[] = {{BP_LAYER_NORM, {3, 7, 50}, 1, 0},   {BP_LAYER_NORM, {3, 7, 50}, 2, 0},
                                {BP_RMS_NORM, {5, 4, 33}, 1, 0},     {BP_GROUP_NORM, {2, 12, 21}, 0, 3},
                                {BP_GROUP_NORM, {2, 12, 21}, 0, 12}, {BP_LAYER_NORM, {1, 2, 30011}, 1, 0},
                                {BP_LAYER_NORM, {9, 40, 1}, 1, 0},   {BP_GROUP_NORM, {2, 4, 20000}, 0, 2}};
    int number = 0;
    (void)state;
    test_device_need();
    for (int i = 0; i < 4; i++) {
        if (test_device_leaves_out(types[i] != BP_F32)) {
            continue;
        }
        for (size_t s = 0; s < sizeof some / sizeof *some && !refused(types[i]); s++) {
            check_layer_norm(&some[s], types[i], number++);
        }
    }
}

/* ---- Pooling ---- */

typedef struct window {
    int64_t size[2], kernel[2], stride[2], padding[2], dilation[2];
    int64_t adaptive[2]; /* 0: a kernel */
} window;

static void check_pool(const window *w, bp_pool_kind kind, bp_dtype dtype, int number) {
    char text[128];
    int64_t shape[BP_MAX_NDIM];
    int ndim;
    bp_dtype output;
    device_array x, y, indices;
    const bool average = kind == BP_POOL_AVERAGE, adaptive = w->adaptive[0] != 0;
    snprintf(text, sizeof text, "pool %d of %s, number %d", (int)kind, bp_dtype_name(dtype), number);
    make(&x, dtype, 4, I64(2, 5, w->size[0], w->size[1]));
    for (int64_t i = 0; i < test_array_count(&x.host) && !average; i++) {
        static const double specials[] = {NAN, -INFINITY, INFINITY};
        const bool special = number % 2 && test_array_between(0, 20) == 0;
        test_array_set(&x.host, i, special ? specials[test_array_between(0, 2)] : (double)test_array_between(-3, 3));
    }
    device_array_send(&x);
    bp_pool_call call = {.struct_size = sizeof call,
                         .kind = kind,
                         .pass = BP_POOL_FORWARD,
                         .ndim = 2,
                         .output_size = adaptive ? w->adaptive : NULL,
                         .kernel = adaptive ? NULL : w->kernel,
                         .stride = adaptive ? NULL : w->stride,
                         .padding = adaptive ? NULL : w->padding,
                         .dilation = adaptive || average ? NULL : w->dilation,
                         .ceil_mode = !adaptive && number % 3 == 1,
                         .exclude_padding = average && !adaptive && number % 4 == 1,
                         .divisor = average && !adaptive && number % 4 == 2 ? 7 : 0,
                         .input = &x.tensor};
    assert_ok(bp_pool_shape(&call, &output, &ndim, shape));
    device_array_make(&y, dtype, 4, shape, any_layout(), 0);
    device_array_send(&y);
    device_array_make(&indices, BP_I64, 4, shape, any_layout(), 0);
    device_array_send(&indices);
    bp_pool_call of_host = call;
    reference_results made;
    call.output = &y.tensor;
    call.indices = average ? NULL : &indices.tensor;
    of_host.input = device_array_side(&x, true);
    of_host.output = device_array_side(&y, true);
    of_host.indices = average ? NULL : device_array_side(&indices, true);
    assert_ok(reference_of_pool(&made, &of_host));
    assert_ok(bp_pool_run(NULL, &call));
    assert_on_device(text);
    device_array_fetch(&y, text);
    device_array_fetch(&indices, text);
    test_check_results_within(&made, 0.99, text); /* the reference allows one hundredth more than the sums' roundings */
    device_array_free(&x);
    device_array_free(&y);
    device_array_free(&indices);
}

static void test_pool(void **state) {
    static const window some[] = {{{9, 11}, {3, 2}, {2, 1}, {1, 1}, {1, 1}, {0, 0}},
                                  {{7, 8}, {3, 3}, {1, 2}, {1, 0}, {2, 2}, {0, 0}},
                                  {{10, 7}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {3, 4}},
                                  {{5, 6}, {5, 6}, {5, 6}, {0, 0}, {1, 1}, {0, 0}}};
    int number = 0;
    (void)state;
    test_device_need();
    for (int i = 0; i < 4; i++) {
        for (int kind = 0; kind < 2 && !refused(types[i]); kind++) {
            if (test_device_leaves_out((i + kind) % 2)) {
                continue;
            }
            for (int w = 0; w < 4; w++) {
                window of = some[w];
                for (int d = 0; d < 2 && kind == 1; d++) { /* averages have no dilation */
                    of.dilation[d] = of.dilation[d] > 1 ? 1 : of.dilation[d];
                }
                check_pool(&of, kind ? BP_POOL_AVERAGE : BP_POOL_MAX, types[i], number++);
            }
        }
    }
}

/* Items more than 2^31 elements apart. Most of the memory is never touched. */
static void test_far_pool(void **state) {
    static const int64_t far = INT64_C(1) << 31, kernel[] = {2, 2}, stride[] = {2, 1};
    device_array x, y, wanted;
    DLManagedTensorVersioned *memory;
    (void)state;
    test_device_need();
    if (bp_tensor_empty_on(&memory, test_device, BP_F16, 1, I64(far + 200), NULL) != BP_OK) {
        skip();
    }
    DLTensor apart = memory->dl_tensor;
    device_array_make(&x, BP_F16, 4, I64(2, 3, 6, 7), TEST_COMPACT, 0);
    device_array_make(&y, BP_F16, 4, I64(2, 3, 3, 6), TEST_COMPACT, 0);
    device_array_make(&wanted, BP_F16, 4, I64(2, 3, 3, 6), TEST_COMPACT, 0);
    device_array_fill(&x);
    apart.ndim = 4;
    apart.shape = x.tensor.shape;
    apart.strides = (int64_t[]){far, 42, 7, 1};
    assert_ok(bp_unary_run(NULL, BP_UNARY_COPY, &x.tensor, &apart));
    bp_pool_call call = {.struct_size = sizeof call,
                         .kind = BP_POOL_MAX,
                         .pass = BP_POOL_FORWARD,
                         .ndim = 2,
                         .kernel = kernel,
                         .stride = stride,
                         .input = &x.tensor,
                         .output = &wanted.tensor};
    assert_ok(bp_pool_run(NULL, &call));
    call.input = &apart;
    call.output = &y.tensor;
    assert_ok(bp_pool_run(NULL, &call));
    assert_on_device("pool of items far apart");
    device_array_fetch(&y, "pool of items far apart");
    device_array_fetch(&wanted, "pool");
    assert_memory_equal(y.host.memory, wanted.host.memory, (size_t)y.host.all * 2);
    device_array *const all[] = {&x, &y, &wanted};
    for (int i = 0; i < 3; i++) {
        device_array_free(all[i]);
    }
    memory->deleter(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_norm), cmocka_unit_test(test_scales_that_are_no_normal_numbers),
        cmocka_unit_test(test_layer_norm), cmocka_unit_test(test_pool), cmocka_unit_test(test_far_pool)};
    return cmocka_run_group_tests(tests, test_device_setup, NULL);
}
