/* test_edges.c - attention at its edges: special values, empty tensors, long keys, finite differences of the gradients,
 * and equal bits for any number of threads and any position in the batch. */
#include "attention/cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const kernels[] = {"cuda.mem_efficient_sdp=false, cuda.math_sdp=false",
                                      "cuda.flash_sdp=false, cuda.math_sdp=false",
                                      "cuda.flash_sdp=false, cuda.mem_efficient_sdp=false"};
enum { FLASH, EFFICIENT, MATH, KERNELS };

static void kernels_have_their_names(void **state) {
    static const char *const names[] = {"flash", "mem_efficient", "math"};
    (void)state;
    attention_case c;
    const attention_shape shape = {.dtype = BP_F32, .queries = 9, .keys = 7, .size = 5, .value_size = 3};
    attention_begin(&c, &shape);
    for (int k = 0; k < KERNELS; k++) {
        bp_plan_info info = {.struct_size = sizeof info};
        attention_run(&c, kernels[k]);
        assert_int_equal(bp_last_plan(&info), BP_OK);
        assert_string_equal(info.algorithm, names[k]);
    }
    attention_run(&c, "cuda.sdp_priority=\"math,flash\"");
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_string_equal(info.algorithm, "math");
    attention_run(&c, "cuda.sdp_priority=\"math,efficient\", cuda.math_sdp=false");
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_string_equal(info.algorithm, "mem_efficient");
    bp_options *options = NULL;
    assert_int_equal(
        bp_options_new(&options, "cuda.flash_sdp=false, cuda.mem_efficient_sdp=false, cuda.math_sdp=false"), BP_OK);
    assert_int_equal(bp_attention_run(options, &c.call), BP_E_NO_CANDIDATE);
    for (int k = 0; k < KERNELS; k++) {
        char reason[96];
        snprintf(reason, sizeof reason, "native %s: cuda.%s_sdp is false", names[k], names[k]);
        assert_non_null(strstr(bp_last_error(), reason));
    }
    bp_options_release(options);
    attention_end(&c);
}

/* NaN and infinities in each input, and rows without keys. */
static void special_values_reach_the_output(void **state) {
    static const double values[] = {NAN, INFINITY, -INFINITY};
    (void)state;
    test_array_random = 7;
    for (int i = 0; i < 3 * 4 * 3 * 12; i++) {
        const int which = i / 3 % 4;
        attention_case c;
        const attention_shape shape = {.dtype = i % 2 ? BP_F32 : BP_F64,
                                       .batch_ndim = 1,
                                       .batch = {2},
                                       .queries = test_array_between(1, 40),
                                       .keys = test_array_between(1, 150),
                                       .size = test_array_between(1, 9),
                                       .value_size = test_array_between(1, 9),
                                       .mask = which == 3 ? ATTENTION_OWN : ATTENTION_NO_MASK,
                                       .logsumexp = true};
        attention_begin(&c, &shape);
        test_array *t = &c.tensor[which == 3 ? BP_ATTENTION_MASK : BP_ATTENTION_QUERY + which];
        test_array_set(t, test_array_between(0, test_array_count(t) - 1), values[i % 3]);
        attention_run(&c, kernels[i / 12 % KERNELS]);
        attention_compare_output(&c);
        attention_end(&c);
    }
}

/* Scores up to a few thousand: weights of 0 and 1, without overflow. */
static void huge_scores_do_not_overflow(void **state) {
    (void)state;
    test_array_random = 8;
    for (int i = 0; i < 24; i++) {
        attention_case c;
        const attention_shape shape = {.dtype = i % 2 ? BP_F32 : BP_F64,
                                       .queries = test_array_between(1, 40),
                                       .keys = test_array_between(1, 300),
                                       .size = 8,
                                       .value_size = 5,
                                       .scale = 1000,
                                       .logsumexp = true};
        attention_begin(&c, &shape);
        attention_run(&c, kernels[i % KERNELS]);
        for (int64_t e = 0; e < test_array_count(&c.tensor[BP_ATTENTION_OUTPUT]); e++) {
            assert_true(isfinite(test_array_get(&c.tensor[BP_ATTENTION_OUTPUT], e)));
        }
        attention_compare_output(&c);
        attention_end(&c);
    }
}

static void sizes_may_be_zero(void **state) {
    (void)state;
    test_array_random = 9;
    for (int i = 0; i < 20 * KERNELS; i++) { /* with masks of different shapes, or none */
        attention_shape shape = {.dtype = BP_F32,
                                 .batch_ndim = 1,
                                 .batch = {2},
                                 .queries = 3,
                                 .keys = 4,
                                 .size = 5,
                                 .value_size = 6,
                                 .mask = i % 20 < 15 ? ATTENTION_OWN : ATTENTION_NO_MASK,
                                 .logsumexp = true};
        *(i % 5 == 0   ? &shape.queries
          : i % 5 == 1 ? &shape.keys
          : i % 5 == 2 ? &shape.size
          : i % 5 == 3 ? &shape.value_size
                       : &shape.batch[0]) = 0;
        attention_case c;
        attention_begin(&c, &shape);
        attention_run(&c, kernels[i / 20]);
        attention_compare_output(&c);
        attention_turn(&c);
        attention_run(&c, kernels[i / 20]);
        attention_compare_gradients(&c);
        attention_end(&c);
    }
}

/* The items of an empty batch that share a key and a value have gradients of 0. */
static void empty_batches_may_share_keys(void **state) {
    (void)state;
    static const int64_t queries[] = {0, 2, 4}, keys[] = {1, 5, 4}, sums[] = {0, 2};
    static const float zeros[20];
    float data[20] = {1, 2, 3}, by_key[20], by_value[20];
    bp_view query, key, value, of_key, of_value, sum;
    bp_view_init(&query, NULL, BP_F32, 3, queries, NULL);
    bp_view_init(&key, data, BP_F32, 3, keys, NULL);
    bp_view_init(&sum, NULL, BP_F32, 2, sums, NULL);
    bp_view_init(&value, data, BP_F32, 3, keys, NULL);
    bp_view_init(&of_key, by_key, BP_F32, 3, keys, NULL);
    bp_view_init(&of_value, by_value, BP_F32, 3, keys, NULL);
    bp_attention_call call = {.struct_size = sizeof call,
                              .query = &query.tensor,
                              .key = &key.tensor,
                              .value = &value.tensor,
                              .output = &query.tensor};
    for (int k = 0; k < KERNELS; k++) {
        bp_options *options = NULL;
        bp_plan *plan = NULL;
        assert_int_equal(bp_options_new(&options, kernels[k]), BP_OK);
        call.pass = BP_ATTENTION_FORWARD;
        assert_int_equal(bp_attention_plan(&plan, options, &call), BP_OK);
        bp_plan_release(plan);
        bp_attention_call backward = call;
        backward.pass = BP_ATTENTION_BACKWARD;
        backward.logsumexp = &sum.tensor;
        backward.output_gradient = &query.tensor;
        backward.key_gradient = &of_key.tensor;
        backward.value_gradient = &of_value.tensor;
        memset(by_key, 1, sizeof by_key);
        memset(by_value, 1, sizeof by_value);
        assert_int_equal(bp_attention_run(options, &backward), BP_OK);
        assert_memory_equal(by_key, zeros, sizeof zeros);
        assert_memory_equal(by_value, zeros, sizeof zeros);
        bp_options_release(options);
    }
}

/* Keys that are cut into parts, for few rows and for panels. */
static void long_keys_are_merged(void **state) {
    (void)state;
    test_array_random = 10;
    for (int i = 0; i < 24; i++) {
        attention_case c;
        const attention_shape shape = {.dtype = (bp_dtype)(BP_F16 + i % 4),
                                       .batch_ndim = 1,
                                       .batch = {i % 3 ? 4 : 1},
                                       .key_heads = i % 3 == 1 ? 1 : 0,
                                       .value_heads = i % 3 == 1 ? 1 : 0,
                                       .queries = i % 2 ? test_array_between(1, 4) : test_array_between(5, 50),
                                       .keys = test_array_between(1024, 3000),
                                       .size = test_array_between(1, 40),
                                       .value_size = test_array_between(1, 40),
                                       .mask = i % 5 == 0 ? ATTENTION_BOOL : ATTENTION_NO_MASK,
                                       .causal = i % 5 == 1,
                                       .logsumexp = true};
        attention_begin(&c, &shape);
        attention_run(&c, kernels[FLASH]);
        attention_compare_output(&c);
        attention_end(&c);
    }
}

static void threads_do_not_change_bits(void **state) {
    (void)state;
    test_array_random = 11;
    for (int i = 0; i < 4 * KERNELS; i++) {
        const attention_shape shape = {.dtype = (bp_dtype)(BP_F16 + i % 4),
                                       .batch_ndim = 1,
                                       .batch = {1 + i % 5},
                                       .queries = i % 2 ? 300 : 2,
                                       .keys = 1300,
                                       .size = 33,
                                       .value_size = 20,
                                       .causal = i % 3 == 0,
                                       .dropout = i % 4 == 1 ? 0.2 : 0,
                                       .mask = i % 3 ? ATTENTION_OWN : ATTENTION_NO_MASK,
                                       .logsumexp = true,
                                       .compact = true};
        attention_case c;
        attention_begin(&c, &shape);
        attention_compare_threads(&c, kernels[i / 4]);
        attention_turn(&c); /* with a gradient by the mask, if there is one */
        attention_compare_threads(&c, kernels[i / 4]);
        attention_end(&c);
    }
}

/* The last item of a batch is bitwise equal if it is computed alone. */
static void batch_does_not_change_bits(void **state) {
    (void)state;
    test_array_random = 12;
    for (int i = 0; i < 4 * KERNELS; i++) {
        const attention_shape shape = {.dtype = (bp_dtype)(BP_F16 + i % 4),
                                       .batch_ndim = 1,
                                       .batch = {20},
                                       .queries = i % 2 ? 40 : 1,
                                       .keys = 1100,
                                       .size = 17,
                                       .value_size = 9,
                                       .compact = true};
        attention_case c;
        attention_begin(&c, &shape);
        attention_run(&c, kernels[i / 4]);
        const test_array *output = &c.tensor[BP_ATTENTION_OUTPUT];
        const size_t bytes = (size_t)(shape.queries * shape.value_size) * bp_dtype_size(shape.dtype);
        char *kept = malloc(bytes), *last = output->memory + 19 * bytes;
        assert_non_null(kept);
        memcpy(kept, last, bytes);
        memset(last, 0, bytes);
        for (int t = BP_ATTENTION_QUERY; t <= BP_ATTENTION_OUTPUT; t++) {
            DLTensor *tensor = &c.tensor[t].view.tensor;
            if (c.tensor[t].memory) {
                tensor->byte_offset = 19 * (uint64_t)(tensor->shape[1] * tensor->shape[2]) * bp_dtype_size(shape.dtype);
                tensor->shape[0] = 1;
            }
        }
        attention_run(&c, kernels[i / 4]);
        assert_memory_equal(kept, last, bytes);
        free(kept);
        attention_end(&c);
    }
}

/* The loss is the sum of the outputs times fixed numbers. */
static double loss(const attention_case *c, const double *weights, double *output) {
    double sum = 0;
    attention_reference(c, output);
    for (int64_t i = 0; i < test_array_count(&c->tensor[BP_ATTENTION_OUTPUT]); i++) {
        sum += weights[i] * output[i];
    }
    return sum;
}

static void gradients_are_slopes_of_the_loss(void **state) {
    const double step = 1e-5;
    (void)state;
    test_array_random = 13;
    for (int i = 0; i < 8 * KERNELS; i++) {
        const attention_shape shape = {.dtype = BP_F64,
                                       .batch_ndim = 2,
                                       .batch = {2, 4},
                                       .key_heads = i % 3 == 0 ? 2 : 0,
                                       .value_heads = i % 3 == 0 ? 1 : 0,
                                       .queries = 5,
                                       .keys = 6,
                                       .size = 3,
                                       .value_size = 2,
                                       .broadcast = i % 3 == 1,
                                       .mask = i % 2 ? ATTENTION_OWN : ATTENTION_NO_MASK,
                                       .causal = i % 4 == 2,
                                       .dropout = i % 5 == 4 ? 0.25 : 0,
                                       .logsumexp = true};
        attention_case c;
        attention_begin(&c, &shape);
        attention_run(&c, kernels[i / 8]);
        attention_turn(&c);
        attention_run(&c, kernels[i / 8]);
        const int64_t count = test_array_count(&c.tensor[BP_ATTENTION_OUTPUT]);
        double *weights = malloc((size_t)count * 2 * sizeof *weights);
        assert_non_null(weights);
        for (int64_t o = 0; o < count; o++) {
            weights[o] = test_array_get(&c.tensor[BP_ATTENTION_OUTPUT_GRADIENT], o);
        }
        for (int t = 0; t < (c.call.mask_gradient ? 4 : 3); t++) {
            test_array *of = &c.tensor[BP_ATTENTION_QUERY + t];
            for (int64_t at = 0; at < test_array_count(of); at++) {
                const double value = test_array_get(of, at);
                test_array_set(of, at, value + step);
                const double above = loss(&c, weights, weights + count);
                test_array_set(of, at, value - step);
                const double below = loss(&c, weights, weights + count);
                test_array_set(of, at, value);
                const double slope = (above - below) / (2 * step);
                const double got = test_array_get(&c.tensor[BP_ATTENTION_QUERY_GRADIENT + t], at);
                if (!(fabs(got - slope) <= 1e-7 * (1 + fabs(slope)))) {
                    fail_msg("%s: tensor %d, element %d: gradient %.10g, slope %.10g", c.text, t, (int)at, got, slope);
                }
            }
        }
        free(weights);
        attention_end(&c);
    }
}

/* Masks of all shapes, where heads share a key and a value or do not. */
static void gradients_by_masks_equal_the_reference(void **state) {
    (void)state;
    test_array_random = 14;
    for (int i = 0; i < 40 * KERNELS; i++) {
        const attention_shape shape = {.dtype = i % 2 ? BP_F64 : BP_F32,
                                       .batch_ndim = 2,
                                       .batch = {2, 4},
                                       .key_heads = i % 4 < 2 ? 1 : 0,
                                       .value_heads = i % 4 < 2 ? 1 : 0,
                                       .queries = test_array_between(1, 40),
                                       .keys = test_array_between(1, 140),
                                       .size = 5,
                                       .value_size = 3,
                                       .mask = i % 8 == 7 ? ATTENTION_F32 : ATTENTION_OWN,
                                       .dropout = i % 5 == 4 ? 0.25 : 0,
                                       .logsumexp = true};
        attention_case c;
        attention_begin(&c, &shape);
        attention_run(&c, kernels[i / 40]);
        attention_turn(&c);
        attention_run(&c, kernels[i / 40]);
        attention_compare_gradients(&c);
        attention_end(&c);
    }
}

/* A key is infinite, and its scores are -infinity: its gradients, and those by its value and by the mask, are 0. */
static void infinite_keys_without_weight_have_no_gradients(void **state) {
    (void)state;
    test_array_random = 15;
    for (int i = 0; i < 12 * KERNELS; i++) {
        const attention_shape shape = {.dtype = i % 2 ? BP_F64 : BP_F32,
                                       .queries = 5 + i % 12,
                                       .keys = 9,
                                       .size = 1,
                                       .value_size = 2,
                                       .mask = ATTENTION_OWN,
                                       .scale = 0.5,
                                       .logsumexp = true};
        attention_case c;
        attention_begin(&c, &shape);
        for (int64_t row = 0; row < shape.queries; row++) {
            test_array_set(&c.tensor[BP_ATTENTION_QUERY], row, -1 - 0.1 * (double)row);
        }
        for (int64_t at = 0; at < test_array_count(&c.tensor[BP_ATTENTION_MASK]); at++) {
            test_array_set(&c.tensor[BP_ATTENTION_MASK], at, 0.25);
        }
        test_array_set(&c.tensor[BP_ATTENTION_KEY], 3, INFINITY);
        attention_run(&c, kernels[i / 12]);
        attention_turn(&c);
        attention_run(&c, kernels[i / 12]);
        attention_compare_gradients(&c);
        assert_true(test_array_get(&c.tensor[BP_ATTENTION_KEY_GRADIENT], 3) == 0);
        attention_end(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_have_their_names),
        cmocka_unit_test(special_values_reach_the_output),
        cmocka_unit_test(huge_scores_do_not_overflow),
        cmocka_unit_test(sizes_may_be_zero),
        cmocka_unit_test(empty_batches_may_share_keys),
        cmocka_unit_test(long_keys_are_merged),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(batch_does_not_change_bits),
        cmocka_unit_test(gradients_are_slopes_of_the_loss),
        cmocka_unit_test(gradients_by_masks_equal_the_reference),
        cmocka_unit_test(infinite_keys_without_weight_have_no_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
