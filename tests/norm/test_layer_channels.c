/* test_layer_channels.c - group normalization of images whose channels are the last ones in memory: against the
 * definition in long double, for all types and kernel sets, with gaps, large means, and any number of threads. */
#include "backplane.h"
#include "support/arrays.h"
#include "support/conditions.h"
#include "support/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { X, Y, WEIGHT, BIAS, MEAN, INVERSE_STD, ARRAYS };

typedef struct group_norm {
    test_array of[ARRAYS];
    bp_layer_norm_call call;
    int64_t items, channels, positions;
    char text[96];
} group_norm;

static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
static const char *const settings[] = {"", "cpu.capability=default", "cpu.capability=avx2", "num_threads=2"};

/* An image of two dimensions of positions, whose rows and positions are `gap` elements apart. */
static void make_image(test_array *t, bp_dtype dtype, const int64_t *shape, int64_t gap) {
    const int64_t position = shape[1] + gap, row = shape[3] * position + gap;
    test_array_make_strided(t, dtype, 4, shape, (const int64_t[]){shape[2] * row, 1, row, position}, 0);
}

static void begin(group_norm *c, bp_dtype dtype, const int64_t *shape, int64_t groups, int64_t gap, double center) {
    memset(c, 0, sizeof *c);
    c->items = shape[0];
    c->channels = shape[1];
    c->positions = shape[2] * shape[3];
    snprintf(c->text, sizeof c->text, "%s %dx%dx%dx%d in %d groups", bp_dtype_name(dtype), (int)shape[0], (int)shape[1],
             (int)shape[2], (int)shape[3], (int)groups);
    make_image(&c->of[X], dtype, shape, gap);
    make_image(&c->of[Y], dtype, shape, gap > 0 ? gap + 1 : 0);
    for (int i = WEIGHT; i <= BIAS; i++) {
        test_array_make(&c->of[i], dtype, 1, &shape[1], TEST_COMPACT);
    }
    for (int i = MEAN; i <= INVERSE_STD; i++) {
        test_array_make(&c->of[i], dtype, 2, (const int64_t[]){shape[0], groups}, TEST_COMPACT);
    }
    for (int i = X; i <= BIAS; i++) {
        for (int64_t at = 0; at < test_array_count(&c->of[i]); at++) {
            test_array_set(&c->of[i], at, (i == X ? center : 0) + test_array_uniform());
        }
    }
    c->call = (bp_layer_norm_call){.struct_size = sizeof c->call,
                                   .kind = BP_GROUP_NORM,
                                   .groups = groups,
                                   .eps = 1e-3,
                                   .input = &c->of[X].view.tensor,
                                   .output = &c->of[Y].view.tensor,
                                   .weight = &c->of[WEIGHT].view.tensor,
                                   .bias = &c->of[BIAS].view.tensor,
                                   .mean = &c->of[MEAN].view.tensor,
                                   .inverse_std = &c->of[INVERSE_STD].view.tensor};
}

static void end(group_norm *c) {
    for (int i = 0; i < ARRAYS; i++) {
        test_array_free(&c->of[i]);
    }
}

static void run(const group_norm *c, const char *setting) {
    bp_options *options = test_options(setting);
    if (bp_layer_norm_run(options, &c->call) != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    bp_options_release(options);
}

static void expect(const group_norm *c, const test_array *of, int64_t index, long double want, double bound) {
    const double got = test_array_get(of, index);
    if (!(fabsl((long double)got - want) <= (long double)bound)) {
        fail_msg("%s: element %lld is %a, the definition gives %La", c->text, (long long)index, got, want);
    }
}

/* The bounds are norm.h's, for values of about 1 around a center. */
static void check_row(const group_norm *c, int64_t row) {
    const int64_t groups = c->call.groups, wide = c->channels / groups, count = wide * c->positions;
    const bp_dtype dtype = c->of[X].dtype;
    const double eps = test_array_eps(dtype), unit = dtype == BP_F64 ? 0x1p-53 : 0x1p-24;
    const long double first = (long double)test_array_get(&c->of[X], row * count);
    long double shift = 0, variance = 0, distance = 0; /* shift: of the mean from the first element */
    for (int64_t i = 0; i < count; i++) {
        shift += ((long double)test_array_get(&c->of[X], row * count + i) - first) / (long double)count;
    }
    for (int64_t i = 0; i < count; i++) {
        const long double x = (long double)test_array_get(&c->of[X], row * count + i) - first;
        variance += (x - shift) * (x - shift) / (long double)count;
        distance += x * x / (long double)count;
    }
    const double e = (double)(count + 8) * 0x1p-53, far = (double)sqrtl(distance);
    const double spread = variance > 0 ? (double)sqrtl(distance / variance) : 0, of_std = e * (1 + 4 * spread);
    const long double inverse_std = 1 / sqrtl(variance + (long double)c->call.eps);
    expect(c, &c->of[MEAN], row, first + shift, eps * (double)fabsl(first + shift) + e * far);
    expect(c, &c->of[INVERSE_STD], row, inverse_std, (eps + of_std) * (double)inverse_std);
    for (int64_t i = 0; i < count; i++) {
        const int64_t channel = row % groups * wide + i / c->positions;
        const double weight = c->call.weight ? test_array_get(&c->of[WEIGHT], channel) : 1,
                     bias = c->call.bias ? test_array_get(&c->of[BIAS], channel) : 0;
        const long double x = (long double)test_array_get(&c->of[X], row * count + i) - first,
                          normal = (x - shift) * inverse_std, want = normal * (long double)weight + (long double)bias;
        const double size = fabs((double)normal * weight), moved = e * far * (double)inverse_std * fabs(weight);
        expect(c, &c->of[Y], row * count + i, want,
               8 * unit * (size + fabs(bias)) + of_std * size + moved + eps * (double)fabsl(want) +
                   test_array_tiny(dtype));
    }
}

static void check(const group_norm *c) {
    for (int64_t row = 0; row < c->items * c->call.groups; row++) {
        check_row(c, row);
    }
    test_array_check_gaps(&c->of[Y], c->text);
}

/* Normalizes the channels of the images over the items, and checks the elements. */
static void check_batch_norm(const group_norm *c) {
    const bp_batch_norm_call call = {.struct_size = sizeof call,
                                     .pass = BP_BATCH_NORM_TRAINING,
                                     .input = c->call.input,
                                     .weight = c->call.weight,
                                     .output = c->call.output};
    assert_int_equal(bp_batch_norm_run(NULL, &call), BP_OK);
    const int64_t count = c->items * c->positions;
    for (int64_t channel = 0; channel < c->channels; channel++) {
        long double mean = 0, variance = 0;
        for (int pass = 0; pass < 3; pass++) {
            for (int64_t i = 0; i < count; i++) {
                const int64_t at = (i / c->positions * c->channels + channel) * c->positions + i % c->positions;
                const long double x = (long double)test_array_get(&c->of[X], at);
                mean += pass == 0 ? x / (long double)count : 0;
                variance += pass == 1 ? (x - mean) * (x - mean) / (long double)count : 0;
                const long double want =
                    pass == 2 ? (x - mean) / sqrtl(variance) * (long double)test_array_get(&c->of[WEIGHT], channel) : 0;
                if (pass == 2) {
                    expect(c, &c->of[Y], at, want, 6 * 0x1p-24 * (double)fabsl(want));
                }
            }
        }
    }
}

/* Channels and groups of every kind: one channel for each, groups wider than the lanes of a part, odd numbers. */
static const int64_t cases[][5] = {{2, 6, 3, 5, 3},    {1, 7, 9, 9, 7},    {3, 32, 8, 9, 4},  {2, 96, 1, 65, 32},
                                   {1, 300, 2, 7, 2},  {2, 200, 3, 3, 1},  {1, 129, 5, 1, 3}, {2, 256, 4, 4, 256},
                                   {5, 10, 11, 13, 2}, {1, 513, 2, 2, 27}, {2, 64, 16, 17, 8}};
enum { CASES = sizeof cases / sizeof *cases };

static void results(void **state) {
    static const double centers[] = {0, 3, 1000};
    (void)state;
    for (int i = 0; i < CASES * 8; i++) {
        group_norm c;
        const bp_dtype dtype = dtypes[i % 4];
        begin(&c, dtype, cases[i / 8], cases[i / 8][4], i % 3, dtype == BP_F32 || dtype == BP_F64 ? centers[i % 3] : 0);
        c.call.weight = i % 5 == 1 ? NULL : c.call.weight;
        c.call.bias = i % 7 == 2 ? NULL : c.call.bias;
        run(&c, settings[i / 4 % 4]);
        check(&c);
        end(&c);
    }
}

static void large_means(void **state) {
    static const double centers[] = {1e4, 1e6};
    (void)state;
    for (int i = 0; i < 2; i++) {
        group_norm c;
        begin(&c, dtypes[i], (const int64_t[]){2, 24, 9, 8}, 3, 0, centers[i]);
        run(&c, "");
        check(&c);
        end(&c);
    }
}

/* The product of inverse deviation and weight is no normal number of f32; with batch normalization it is the same. */
static void factors_that_have_no_product(void **state) {
    static const double factors[][2] = {{1e-20, 1e20}, {1e25, 1e-18}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        const double size = factors[i % 2][0], weight = factors[i % 2][1];
        group_norm c;
        begin(&c, BP_F32, (const int64_t[]){2, 8, 5, 4}, 4, 0, 0);
        c.call.eps = 0;
        c.call.bias = NULL;
        for (int64_t at = 0; at < test_array_count(&c.of[X]); at++) {
            test_array_set(&c.of[X], at, size * test_array_uniform());
        }
        for (int64_t at = 0; at < test_array_count(&c.of[WEIGHT]); at++) {
            test_array_set(&c.of[WEIGHT], at, at == 0 ? 0 : weight * (1 + test_array_uniform() / 2));
        }
        if (i < 2) {
            run(&c, "");
            check(&c);
        } else {
            check_batch_norm(&c);
        }
        end(&c);
    }
}

static void special_numbers_stay_in_their_group(void **state) {
    group_norm c;
    (void)state;
    begin(&c, BP_F32, (const int64_t[]){2, 8, 3, 3}, 4, 0, 0);
    test_array_set(&c.of[X], 8 * 9 + 2 * 9 + 4, NAN); /* the second group of the second item */
    test_array_set(&c.of[X], 7 * 9, INFINITY);        /* the last group of the first item */
    run(&c, "");
    for (int64_t i = 0; i < test_array_count(&c.of[Y]); i++) {
        const int64_t row = i / 18;
        assert_true(isnan(test_array_get(&c.of[Y], i)) == (row == 3 || row == 5));
    }
    end(&c);
}

static void threads_change_no_bit(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        group_norm c;
        test_array alone;
        begin(&c, BP_F32, cases[i], cases[i][4], 0, 1);
        run(&c, "num_threads=1");
        test_array_copy(&alone, &c.of[Y]);
        run(&c, "num_threads=3");
        assert_memory_equal(alone.memory, c.of[Y].memory, (size_t)alone.all * sizeof(float));
        test_array_free(&alone);
        end(&c);
    }
}

static void explained(void **state) {
    group_norm c;
    bp_explanation *why = NULL;
    (void)state;
    begin(&c, BP_F32, (const int64_t[]){1, 16, 4, 4}, 4, 0, 0);
    assert_int_equal(bp_layer_norm_explain(&why, NULL, &c.call), BP_OK);
    assert_non_null(strstr(bp_explanation_text(why), "channels"));
    bp_explanation_release(why);
    end(&c);
}

/* Without items there is a plan, though no channel is there for the kernel by channels. */
static void images_without_elements(void **state) {
    (void)state;
    static const int64_t group_shape[] = {0, 6, 24}, layer_shape[] = {1, 0, 2, 15}, channels[] = {6}, row[] = {2, 15};
    bp_view x, weight;
    bp_plan *plan;
    assert_int_equal(bp_view_init(&x, NULL, BP_F64, 3, group_shape, (const int64_t[]){1, 1, 6}), BP_OK);
    assert_int_equal(bp_view_init(&weight, NULL, BP_F64, 1, channels, NULL), BP_OK);
    bp_layer_norm_call call = {.struct_size = sizeof call,
                               .kind = BP_GROUP_NORM,
                               .groups = 1,
                               .eps = 1e-3,
                               .input = &x.tensor,
                               .weight = &weight.tensor,
                               .output = &x.tensor};
    if (bp_layer_norm_plan(&plan, NULL, &call) != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    bp_plan_release(plan);
    assert_int_equal(bp_view_init(&x, NULL, BP_F64, 4, layer_shape, (const int64_t[]){30, 30, 15, 1}), BP_OK);
    assert_int_equal(bp_view_init(&weight, NULL, BP_F64, 2, row, (const int64_t[]){0, 4}), BP_OK);
    call.kind = BP_LAYER_NORM;
    call.groups = 0;
    call.row_ndim = 2;
    if (bp_layer_norm_plan(&plan, NULL, &call) != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    bp_plan_release(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results),
        cmocka_unit_test(large_means),
        cmocka_unit_test(factors_that_have_no_product),
        cmocka_unit_test(special_numbers_stay_in_their_group),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(explained),
        cmocka_unit_test(images_without_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
