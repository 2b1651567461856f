/* test_bf16.c - the kernel "flash_bf16" with a model in place of the instruction VDPBF16PS, so that it runs on all
 * processors, and with the instruction where there is one. The linker replaces the function that selects its kernels,
 * and the rates of others, so that it is chosen for all sizes. */
#include "attention/cases.h"
#include "providers/native/attention/attention.h"
#include "support/conditions.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define FLASH "cuda.mem_efficient_sdp=false, cuda.math_sdp=false, fp32_precision=bf16"

extern const bp__attention_pairs bp__attention_pairs_model;
static const bp_dtype dtypes[] = {BP_BF16, BP_F32}; /* f32 is rounded */
static enum { MODEL, PROCESSOR, NONE } kernels_from;
static bool real_rates;

const bp__attention_pairs *__real_bp__attention_pairs_for(const bp_host *host, const bp_problem *problem,
                                                          const char **why);
const bp__attention_pairs *__wrap_bp__attention_pairs_for(const bp_host *host, const bp_problem *problem,
                                                          const char **why);
double __real_bp__native_rate(int set, bp_dtype dtype);
double __wrap_bp__native_rate(int set, bp_dtype dtype);

const bp__attention_pairs *__wrap_bp__attention_pairs_for(const bp_host *host, const bp_problem *problem,
                                                          const char **why) {
    *why = "the test has no kernels";
    return kernels_from == NONE    ? NULL
           : kernels_from == MODEL ? &bp__attention_pairs_model
                                   : __real_bp__attention_pairs_for(host, problem, why);
}

double __wrap_bp__native_rate(int set, bp_dtype dtype) {
    return __real_bp__native_rate(set, dtype) * (real_rates ? 1 : 1e-6);
}

/* Runs the call with flash_bf16. Numbers of threads differ, so that the plan cache keeps the plans apart. */
static void run(attention_case *c) {
    attention_run(c, kernels_from == MODEL ? FLASH ", num_threads=2" : FLASH ", num_threads=1");
    if (c->weight_error == 0) {
        fail_msg("%s: another kernel ran", c->text);
    }
}

static void run_and_compare(const attention_shape *shape) {
    attention_case c;
    attention_begin(&c, shape);
    run(&c);
    attention_compare_output(&c);
    attention_end(&c);
}

/* ---- Results ---- */

static void outputs_equal_the_reference(void **state) {
    const int cases = test_cases(200, 10);
    (void)state;
    test_array_random = 21;
    for (int i = 0; i < cases; i++) {
        const attention_shape shape = attention_any(dtypes[i % 2]);
        run_and_compare(&shape);
    }
    for (int i = 0; i < cases; i++) {
        attention_shape shape = attention_any(dtypes[i % 2]);
        attention_add_limits(&shape);
        run_and_compare(&shape);
    }
}

/* Values that a window excludes for a row do not reach it: every fifth one is NaN. */
static void windows_exclude_values_that_are_nan(void **state) {
    enum { EACH = 5 };
    (void)state;
    test_array_random = 24;
    for (int i = 0; i < 12; i++) {
        attention_case c;
        const attention_shape shape = {.dtype = dtypes[i % 2],
                                       .batch_ndim = 1,
                                       .batch = {2},
                                       .queries = i / 2 % 2 ? 300 : 40,
                                       .keys = 301,
                                       .size = 9,
                                       .value_size = 19,
                                       .window = true,
                                       .left = i % 3,
                                       .right = i / 3 % 3,
                                       .lower_right = i / 6};
        attention_begin(&c, &shape);
        for (int64_t key = 0; key < shape.keys; key += EACH) {
            test_array_set(&c.tensor[BP_ATTENTION_VALUE], key * shape.value_size, NAN);
        }
        run(&c);
        for (int64_t row = 0; row < shape.queries; row++) {
            const int64_t position = row + (shape.lower_right ? shape.keys - shape.queries : 0);
            bool sees = false;
            for (int64_t key = 0; key < shape.keys; key += EACH) {
                sees = sees || (key >= position - shape.left && key <= position + shape.right);
            }
            for (int64_t e = 0; e < shape.value_size; e++) {
                const double value = test_array_get(&c.tensor[BP_ATTENTION_OUTPUT], row * shape.value_size + e);
                assert_int_equal(isnan(value), sees && e == 0);
            }
        }
        attention_end(&c);
    }
}

/* Each size of a vector, a tile, a panel, a block of rows and a block of keys, one less and one more. */
static void edges_of_blocks(void **state) {
    static const int64_t queries[] = {1, 4, 5, 31, 32, 33, 65, 255, 257},
                         keys[] = {1, 2, 3, 11, 12, 13, 127, 128, 129, 255, 256, 257},
                         sizes[] = {1, 2, 3, 11, 12, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 255, 256};
    (void)state;
    test_array_random = 22;
    for (size_t i = 0; i < COUNT(keys) * COUNT(sizes); i++) {
        const attention_shape shape = {.dtype = dtypes[i / 2 % 2],
                                       .queries = queries[i % COUNT(queries)],
                                       .keys = keys[i % COUNT(keys)],
                                       .size = sizes[i % COUNT(sizes)],
                                       .value_size = sizes[i / 3 % COUNT(sizes)],
                                       .causal = i % 2,
                                       .compact = i % 3 != 0,
                                       .logsumexp = true};
        if (shape.queries * shape.keys * (shape.size + shape.value_size) < 4000000) {
            run_and_compare(&shape);
        }
    }
}

static void each_mask(void **state) {
    (void)state;
    test_array_random = 23;
    for (int i = 0; i < 24; i++) {
        const attention_shape shape = {.dtype = dtypes[i / 4 % 2],
                                       .batch_ndim = 2,
                                       .batch = {2, 4},
                                       .key_heads = i % 2 ? 2 : 0,
                                       .value_heads = i % 2 ? 1 : 0,
                                       .queries = test_array_between(1, 40),
                                       .keys = test_array_between(1, 150),
                                       .size = test_array_between(1, 20),
                                       .value_size = test_array_between(1, 20),
                                       .broadcast = i % 4 == 0,
                                       .mask = (attention_mask)(i % 4),
                                       .dropout = i % 3 ? 0 : 0.4,
                                       .logsumexp = true};
        run_and_compare(&shape);
    }
}

static void long_keys_are_merged(void **state) {
    (void)state;
    test_array_random = 24;
    for (int i = 0; i < 8; i++) {
        const attention_shape shape = {.dtype = dtypes[i / 4],
                                       .batch_ndim = 1,
                                       .batch = {2},
                                       .queries = i % 2 ? 3 : 35,
                                       .keys = test_array_between(1024, 1700),
                                       .size = test_array_between(1, 9),
                                       .value_size = test_array_between(1, 9),
                                       .causal = i % 4 == 3,
                                       .logsumexp = true};
        run_and_compare(&shape);
    }
}

/* NaN and infinities in each input. */
static void special_values_reach_the_output(void **state) {
    static const double values[] = {NAN, INFINITY, -INFINITY};
    (void)state;
    test_array_random = 25;
    for (int i = 0; i < 144; i++) {
        const int which = i / 3 % 4;
        attention_case c;
        const attention_shape shape = {.dtype = dtypes[i / 12 % 2],
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
        run(&c);
        attention_compare_output(&c);
        attention_end(&c);
    }
}

/* Masks of the lowest number, and products near the greatest one. */
static void large_scores_are_weighed(void **state) {
    static const int64_t queries[] = {1, 3, 35}, keys[] = {12, 131, 1030, 1};
    (void)state;
    test_array_random = 30;
    for (int i = 0; i < ATTENTION_LARGE_KINDS * 4 * 2; i++) {
        const int size = i / ATTENTION_LARGE_KINDS % 4;
        attention_case c;
        attention_begin_large(&c, (attention_large)(i % ATTENTION_LARGE_KINDS), dtypes[i / 4 / ATTENTION_LARGE_KINDS],
                              queries[size % 3], keys[size]);
        run(&c);
        attention_compare_large(&c);
        attention_end(&c);
    }
}

/* A row whose mask excludes all keys is 0, and its logarithm -infinity; its neighbours are as usual. */
static void excluded_rows_are_zero(void **state) {
    enum { QUERIES = 70, KEYS = 131, COLUMNS = 7, ROW = 33 };
    (void)state;
    test_array_random = 26;
    attention_case c;
    attention_shape shape = {.dtype = BP_BF16,
                             .queries = QUERIES,
                             .keys = KEYS,
                             .size = 5,
                             .value_size = COLUMNS,
                             .mask = ATTENTION_BOOL,
                             .logsumexp = true};
    do { /* until the mask has all its rows and columns */
        attention_begin(&c, &shape);
        if (test_array_count(&c.tensor[BP_ATTENTION_MASK]) == QUERIES * KEYS) {
            break;
        }
        attention_end(&c);
    } while (true);
    for (int64_t k = 0; k < KEYS; k++) {
        test_array_set(&c.tensor[BP_ATTENTION_MASK], ROW * KEYS + k, 0);
    }
    run(&c);
    attention_compare_output(&c);
    for (int64_t e = 0; e < COLUMNS; e++) {
        assert_true(test_array_get(&c.tensor[BP_ATTENTION_OUTPUT], ROW * COLUMNS + e) == 0);
    }
    assert_true(test_array_get(&c.tensor[BP_ATTENTION_LOGSUMEXP], ROW) == -INFINITY);
    attention_end(&c);
}

/* Denormal numbers of queries, keys and values count as 0. */
static void denormal_numbers_are_zero(void **state) {
    enum { KEYS = 20 };
    (void)state;
    test_array_random = 27;
    for (int which = BP_ATTENTION_QUERY; which <= BP_ATTENTION_VALUE; which++) {
        attention_case c;
        const attention_shape shape = {
            .dtype = BP_BF16, .queries = 3, .keys = KEYS, .size = 4, .value_size = 4, .logsumexp = true};
        const bool values = which == BP_ATTENTION_VALUE;
        attention_begin(&c, &shape);
        for (int t = BP_ATTENTION_QUERY; t <= BP_ATTENTION_VALUE; t++) {
            const double other = values || t == BP_ATTENTION_VALUE ? 1 : 0x1p127; /* scores of 2, if they counted */
            for (int64_t i = 0; i < test_array_count(&c.tensor[t]); i++) {
                test_array_set(&c.tensor[t], i, t == which ? 0x1p-127 : other);
            }
        }
        run(&c);
        for (int64_t i = 0; i < test_array_count(&c.tensor[BP_ATTENTION_OUTPUT]); i++) {
            assert_true(test_array_get(&c.tensor[BP_ATTENTION_OUTPUT], i) == (values ? 0 : 1));
        }
        for (int64_t i = 0; i < test_array_count(&c.tensor[BP_ATTENTION_LOGSUMEXP]); i++) {
            const double logsumexp = test_array_get(&c.tensor[BP_ATTENTION_LOGSUMEXP], i);
            assert_true(fabs(logsumexp - log(KEYS) - (values ? 2 : 0)) < 1e-5);
        }
        attention_end(&c);
    }
}

/* Values that are a unit matrix make the output the weights: the same ones are 0 as on mem_efficient. */
static void other_kernels_drop_the_same_weights(void **state) {
    enum { QUERIES = 45, KEYS = 140 };
    (void)state;
    test_array_random = 28;
    attention_case c;
    const attention_shape shape = {
        .dtype = BP_BF16, .queries = QUERIES, .keys = KEYS, .size = 9, .value_size = KEYS, .dropout = 0.5};
    attention_begin(&c, &shape);
    for (int64_t i = 0; i < KEYS * KEYS; i++) {
        test_array_set(&c.tensor[BP_ATTENTION_VALUE], i, i % (KEYS + 1) == 0);
    }
    bool zero[QUERIES * KEYS];
    int dropped = 0;
    run(&c);
    for (int i = 0; i < QUERIES * KEYS; i++) {
        zero[i] = test_array_get(&c.tensor[BP_ATTENTION_OUTPUT], i) == 0;
        dropped += zero[i];
    }
    assert_true(dropped > QUERIES * KEYS * 2 / 5 && dropped < QUERIES * KEYS * 3 / 5);
    attention_run(&c, "cuda.flash_sdp=false, cuda.math_sdp=false");
    for (int i = 0; i < QUERIES * KEYS; i++) {
        assert_int_equal(zero[i], test_array_get(&c.tensor[BP_ATTENTION_OUTPUT], i) == 0);
    }
    attention_end(&c);
}

/* ---- Bits ---- */

static void threads_do_not_change_bits(void **state) {
    (void)state;
    test_array_random = 29;
    for (int i = 0; i < 6; i++) {
        const attention_shape shape = {.dtype = dtypes[i / 3],
                                       .batch_ndim = 1,
                                       .batch = {1 + i % 3},
                                       .queries = i % 2 ? 300 : 33,
                                       .keys = i % 2 ? 300 : 1300,
                                       .size = 13,
                                       .value_size = 20,
                                       .causal = i % 3 == 0,
                                       .dropout = i == 4 ? 0.2 : 0,
                                       .logsumexp = true,
                                       .compact = true};
        attention_case c;
        attention_begin(&c, &shape);
        run(&c);
        attention_compare_threads(&c, FLASH);
        attention_end(&c);
    }
}

/* Items with the same numbers are bitwise equal. */
static void position_in_the_batch_does_not_change_bits(void **state) {
    enum { ITEMS = 7 };
    (void)state;
    test_array_random = 30;
    for (int i = 0; i < 2; i++) {
        const attention_shape shape = {.dtype = BP_BF16,
                                       .batch_ndim = 1,
                                       .batch = {ITEMS},
                                       .queries = 37,
                                       .keys = 150,
                                       .size = 8 + i,
                                       .value_size = 11,
                                       .compact = true};
        attention_case c;
        attention_begin(&c, &shape);
        for (int t = BP_ATTENTION_QUERY; t <= BP_ATTENTION_VALUE; t++) {
            const size_t bytes = (size_t)(test_array_count(&c.tensor[t]) / ITEMS) * 2;
            memcpy(c.tensor[t].memory + (ITEMS - 1) * bytes, c.tensor[t].memory, bytes);
        }
        run(&c);
        const char *output = c.tensor[BP_ATTENTION_OUTPUT].memory;
        const size_t bytes = (size_t)(shape.queries * shape.value_size) * 2;
        assert_memory_equal(output, output + (ITEMS - 1) * bytes, bytes);
        assert_memory_not_equal(output, output + bytes, bytes);
        attention_end(&c);
    }
}

static bool runs_here(void) {
    attention_case c;
    const attention_shape shape = {.dtype = BP_BF16, .queries = 5, .keys = 5, .size = 5, .value_size = 5};
    kernels_from = PROCESSOR;
    attention_begin(&c, &shape);
    attention_run(&c, FLASH);
    attention_end(&c);
    kernels_from = MODEL;
    return c.weight_error > 0;
}

static void put_special_values(test_array *t) {
    static const double values[] = {NAN, INFINITY, -INFINITY, 0x1p-127, -0x1p-130, 0.0, -0.0, 0x1p-126, 0x1p127};
    for (int i = 0; i < 3; i++) {
        test_array_set(t, test_array_between(0, test_array_count(t) - 1),
                       values[test_array_between(0, COUNT(values) - 1)]);
    }
}

/* Multiplies numbers by powers of 2, so that their sums are rounded. */
static void spread_exponents(test_array *t) {
    for (int64_t i = 0; i < test_array_count(t); i++) {
        test_array_set(t, i, ldexp(test_array_get(t, i), (int)test_array_between(-12, 12)));
    }
}

/* All shapes and layouts, a third of them with special values, a third with very different numbers. A logarithm of the
 * sum of few weights shows each bit of a score. NaN may have other bits. */
static void instruction_matches_model(void **state) {
    (void)state;
    if (!runs_here()) {
        print_message("skipped: this processor does not have AVX512_BF16, so only the model has run\n");
        skip();
    }
    test_array_random = 31;
    for (int i = 0; i < 150; i++) {
        attention_shape shape = attention_any(dtypes[i / 3 % 2]);
        shape.logsumexp = true;
        shape.keys = i % 2 ? 1 + i % 5 : shape.keys;
        attention_case c;
        attention_begin(&c, &shape);
        for (int t = BP_ATTENTION_QUERY; t <= BP_ATTENTION_VALUE && i % 3 == 0; t++) {
            put_special_values(&c.tensor[t]);
        }
        if (i % 3 == 1) {
            spread_exponents(&c.tensor[BP_ATTENTION_QUERY]);
        }
        double *expected[2] = {NULL, NULL};
        for (int from = 0; from < 2; from++) {
            kernels_from = from ? PROCESSOR : MODEL;
            run(&c);
            for (int t = 0; t < 2; t++) {
                const test_array *of = &c.tensor[BP_ATTENTION_OUTPUT + t];
                const int64_t count = of->memory ? test_array_count(of) : 0;
                expected[t] = expected[t] ? expected[t] : calloc((size_t)count + 1, sizeof(double));
                assert_non_null(expected[t]);
                for (int64_t at = 0; at < count; at++) {
                    const double got = test_array_get(of, at), want = expected[t][at];
                    if (kernels_from == MODEL) {
                        expected[t][at] = got;
                    } else if (memcmp(&got, &want, sizeof got) != 0 && !(isnan(got) && isnan(want))) {
                        fail_msg("%s: tensor %d, element %d is %a; the model has %a", c.text, t, (int)at, got, want);
                    }
                }
            }
        }
        free(expected[0]);
        free(expected[1]);
        kernels_from = MODEL;
        attention_end(&c);
    }
}

/* ---- What permits and refuses it ---- */

typedef struct verdict {
    bool listed, accepted, chosen;
    bp_reason reason;
    uint32_t properties;
    char text[256];
} verdict;

static verdict explain(const char *settings, bp_dtype dtype, int64_t queries, bool causal) {
    verdict found = {0};
    bp_options *options;
    bp_explanation *explanation;
    bp_view q, k;
    bp_view_init(&q, NULL, dtype, 2, (const int64_t[]){queries, 64}, NULL);
    bp_view_init(&k, NULL, dtype, 2, (const int64_t[]){512, 64}, NULL);
    const bp_attention_call call = {.struct_size = sizeof call,
                                    .is_causal = causal,
                                    .query = &q.tensor,
                                    .key = &k.tensor,
                                    .value = &k.tensor,
                                    .output = &q.tensor};
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(bp_attention_explain(&explanation, options, &call), BP_OK);
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    for (int n = 0; bp_explanation_at(explanation, n, &candidate); n++) {
        if (strcmp(candidate.library, "native") == 0 && strcmp(candidate.algorithm, "flash_bf16") == 0) {
            found = (verdict){.listed = true,
                              .accepted = candidate.accepted,
                              .chosen = candidate.chosen,
                              .reason = candidate.reason,
                              .properties = candidate.properties};
            snprintf(found.text, sizeof found.text, "%s", candidate.text);
        }
    }
    bp_explanation_release(explanation);
    bp_options_release(options);
    return found;
}

static void settings_of_flash_apply(void **state) {
    (void)state;
    real_rates = true;
    const uint32_t properties = BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_ACCUMULATES_F32;
    /* Inputs of bf16 are not rounded, so they need no permission. */
    const verdict usual = explain("fp32_precision=ieee, deterministic=threads", BP_BF16, 512, false);
    assert_true(usual.accepted && usual.chosen);
    assert_int_equal(usual.properties, properties | BP_PROPERTY_PROPAGATES_NAN);
    assert_int_equal(explain("", BP_BF16, 512, true).properties, properties);
    const verdict off = explain("cuda.flash_sdp=false", BP_BF16, 512, false);
    assert_true(off.listed && !off.accepted);
    assert_non_null(strstr(off.text, "cuda.flash_sdp is false"));
    assert_true(explain("cuda.sdp_priority=\"flash,math\"", BP_BF16, 512, false).chosen);
    assert_false(explain("cuda.sdp_priority=\"math,flash\"", BP_BF16, 512, false).chosen);
    /* A query needs no panel. */
    assert_false(explain("", BP_BF16, 1, false).chosen);
    assert_false(explain("", BP_F16, 512, false).listed);
    real_rates = false;
}

/* Inputs of f32 are rounded if the precision of products permits it. */
static void inputs_of_f32_need_permission(void **state) {
    static const char *const permitting[] = {"fp32_precision=bf16", "mkldnn.fp32_precision=bf16",
                                             "fp32_precision=ieee, mkldnn.matmul.fp32_precision=bf16"},
                             *const forbidding[] = {"", "fp32_precision=ieee", "fp32_precision=tf32",
                                                    "fp32_precision=bf16, mkldnn.matmul.fp32_precision=ieee"};
    (void)state;
    real_rates = true;
    for (size_t i = 0; i < COUNT(permitting); i++) {
        const verdict permitted = explain(permitting[i], BP_F32, 512, false);
        assert_true(permitted.accepted && permitted.chosen);
        assert_int_equal(permitted.properties, BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_REPRODUCIBLE |
                                                   BP_PROPERTY_ACCUMULATES_F32 | BP_PROPERTY_PROPAGATES_NAN |
                                                   BP_PROPERTY_ROUNDS_BELOW_TF32);
    }
    for (size_t i = 0; i < COUNT(forbidding); i++) {
        const verdict refused = explain(forbidding[i], BP_F32, 512, false);
        assert_true(refused.listed && !refused.accepted && refused.reason == BP_REASON_PRECISION);
        assert_non_null(strstr(refused.text, "fp32_precision"));
    }
    assert_false(explain("fp32_precision=bf16", BP_F64, 512, false).listed);
    real_rates = false;
    /* Without the instruction it is named only where rounding is permitted. */
    kernels_from = NONE;
    assert_false(explain("", BP_F32, 512, false).listed);
    assert_int_equal(explain("fp32_precision=bf16", BP_F32, 512, false).reason, BP_REASON_CAPABILITY);
    kernels_from = MODEL;
}

static void needs_the_instruction(void **state) {
    (void)state;
    kernels_from = NONE;
    const verdict none = explain("", BP_BF16, 512, false);
    assert_true(none.listed && !none.accepted && none.reason == BP_REASON_CAPABILITY);
    assert_string_equal(none.text, "the test has no kernels");
    kernels_from = PROCESSOR;
    const verdict here = explain("", BP_BF16, 512, false),
                  excluded = explain("cpu.capability=default", BP_BF16, 512, false);
    print_message("this processor: %s\n", here.accepted ? "has AVX512_BF16" : here.text);
    assert_true(here.accepted || strstr(here.text, "AVX512_BF16"));
    assert_true(excluded.listed && !excluded.accepted);
    assert_non_null(strstr(excluded.text, here.accepted ? "cpu.capability" : "AVX512_BF16"));
    kernels_from = MODEL;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_equal_the_reference),
        cmocka_unit_test(windows_exclude_values_that_are_nan),
        cmocka_unit_test(edges_of_blocks),
        cmocka_unit_test(each_mask),
        cmocka_unit_test(long_keys_are_merged),
        cmocka_unit_test(special_values_reach_the_output),
        cmocka_unit_test(large_scores_are_weighed),
        cmocka_unit_test(excluded_rows_are_zero),
        cmocka_unit_test(denormal_numbers_are_zero),
        cmocka_unit_test(other_kernels_drop_the_same_weights),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(position_in_the_batch_does_not_change_bits),
        cmocka_unit_test(instruction_matches_model),
        cmocka_unit_test(settings_of_flash_apply),
        cmocka_unit_test(inputs_of_f32_need_permission),
        cmocka_unit_test(needs_the_instruction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
