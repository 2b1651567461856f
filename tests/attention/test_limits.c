/* test_limits.c - attention with a softcap, windows, positions from the last key on, and lengths: random calls against
 * the reference, and small ones whose result shows which keys a query sees. */
#include "attention/cases.h"
#include "support/conditions.h"
#include "support/options.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { CASES = 400, GRADIENT_CASES = 240, THREAD_CASES = 40 };

static int reduced(int cases) {
    return test_cases(cases, 8);
}

/* ---- Random calls ---- */

static void outputs_equal_the_reference(void **state) {
    (void)state;
    test_array_random = 52;
    attention_check_outputs(reduced(CASES), true);
}

static void gradients_equal_the_reference(void **state) {
    (void)state;
    test_array_random = 53;
    attention_check_gradients(reduced(GRADIENT_CASES), true);
}

static void threads_do_not_change_bits(void **state) {
    (void)state;
    test_array_random = 54;
    for (int i = 0; i < reduced(THREAD_CASES); i++) {
        attention_case c;
        attention_shape shape = attention_any(attention_dtypes[i % ATTENTION_DTYPES]);
        attention_add_limits(&shape);
        shape.logsumexp = true;
        attention_begin(&c, &shape);
        attention_compare_threads(&c, attention_kernels[i % ATTENTION_OWN_KERNELS]);
        attention_turn(&c);
        attention_compare_threads(&c, attention_kernels[i % ATTENTION_OWN_KERNELS]);
        attention_end(&c);
    }
}

/* ---- Which keys a query sees ---- */

enum { MOST_KEYS = 8, NONE = -1 };

/* A row of `seen` has a character for each key: '1' if the query sees it. */
typedef struct sight {
    const char *seen;
    int queries, keys, causal, window, left, right, lower_right, length;
} sight;

static const sight sights[] = {
    {"1000 1100 1110", 3, 4, 1, 0, 0, 0, 0, NONE},      {"1100 1110 1111", 3, 4, 1, 0, 0, 0, 1, NONE},
    {"000 000 100 110 111", 5, 3, 1, 0, 0, 0, 1, NONE}, {"100 110 111 111 111", 5, 3, 1, 0, 0, 0, 0, NONE},
    {"1000 0100 0010", 3, 4, 0, 1, 0, 0, 0, NONE},      {"0100 0010 0001", 3, 4, 0, 1, 0, 0, 1, NONE},
    {"1100 1110 0111", 3, 4, 0, 1, 1, 1, 0, NONE},      {"1110 0111 0011", 3, 4, 0, 1, 1, 1, 1, NONE},
    {"1000 1100 0110", 3, 4, 1, 1, 1, 1, 0, NONE},      {"1111 1111 0111", 3, 4, 0, 1, 1, -1, 0, NONE},
    {"1110 1111 1111", 3, 4, 0, 1, -1, 2, 0, NONE},     {"1111 1111 1111", 3, 4, 0, 1, -1, -1, 0, NONE},
    {"1111 1111 1111", 3, 4, 0, 1, 100, 100, 1, NONE},  {"100 010 001 000 000", 5, 3, 0, 1, 0, 0, 0, NONE},
    {"000 000 100 010 001", 5, 3, 0, 1, 0, 0, 1, NONE}, {"000 100 110 111 011", 5, 3, 0, 1, 1, 1, 1, NONE},
    {"1110 1110 1110", 3, 4, 0, 0, 0, 0, 0, 3},         {"0000 0000 0000", 3, 4, 0, 0, 0, 0, 0, 0},
    {"1000 1100 1100", 3, 4, 1, 0, 0, 0, 0, 2},         {"0000 1000 1100", 3, 4, 1, 0, 0, 0, 1, 2},
    {"1000 1100 1110", 3, 4, 1, 0, 0, 0, 1, 3},         {"0000 0000 0000", 3, 4, 1, 1, 2, -1, 1, 0},
    {"0000 1000 0100", 3, 4, 0, 1, 0, 0, 1, 2},         {"1000 0100 0000", 3, 4, 0, 1, 0, 0, 0, 2},
    {"1000 1100 0110", 3, 4, 0, 1, 1, 0, 1, 3},         {"1", 1, 1, 1, 1, 0, 0, 1, 1},
    {"00000011", 1, 8, 1, 1, 1, -1, 1, NONE},           {"00011000", 1, 8, 1, 1, 1, -1, 1, 5},
};

/* Equal scores, and values 2^j: the output times the number of keys is the set of keys. */
static void check_sight(const sight *s, const char *settings) {
    double query[MOST_KEYS] = {0}, key[MOST_KEYS] = {0}, value[MOST_KEYS], output[MOST_KEYS], logsumexp[MOST_KEYS];
    int32_t length = s->length;
    bp_view views[6];
    const int64_t queries[] = {1, s->queries, 1}, keys[] = {1, s->keys, 1}, one[] = {1};
    for (int j = 0; j < s->keys; j++) {
        value[j] = exp2(j);
    }
    assert_int_equal(bp_view_init(&views[0], query, BP_F64, 3, queries, NULL), BP_OK);
    assert_int_equal(bp_view_init(&views[1], key, BP_F64, 3, keys, NULL), BP_OK);
    assert_int_equal(bp_view_init(&views[2], value, BP_F64, 3, keys, NULL), BP_OK);
    assert_int_equal(bp_view_init(&views[3], output, BP_F64, 3, queries, NULL), BP_OK);
    assert_int_equal(bp_view_init(&views[4], logsumexp, BP_F64, 2, queries, NULL), BP_OK);
    assert_int_equal(bp_view_init(&views[5], &length, BP_I32, 1, one, NULL), BP_OK);
    const bp_attention_call call = {.struct_size = sizeof call,
                                    .is_causal = s->causal,
                                    .query = &views[0].tensor,
                                    .key = &views[1].tensor,
                                    .value = &views[2].tensor,
                                    .output = &views[3].tensor,
                                    .logsumexp = &views[4].tensor,
                                    .lengths = s->length == NONE ? NULL : &views[5].tensor,
                                    .has_window = s->window,
                                    .lower_right = s->lower_right,
                                    .window_left = s->left,
                                    .window_right = s->right};
    bp_options *options = test_options(settings);
    assert_int_equal(bp_attention_run(options, &call), BP_OK);
    bp_options_release(options);
    const char *row = s->seen;
    for (int i = 0; i < s->queries; i++, row += s->keys + 1) {
        double sum = 0;
        int count = 0;
        for (int j = 0; j < s->keys; j++) {
            sum += row[j] == '1' ? exp2(j) : 0;
            count += row[j] == '1';
        }
        const double want = count > 0 ? sum / count : 0;
        if (fabs(output[i] - want) > 1e-12 * want || fabs(exp(logsumexp[i]) - count) > 1e-12 * count) {
            fail_msg("case %d with %s, query %d: %g of %g keys, not %g of %d", (int)(s - sights), settings, i,
                     output[i] * exp(logsumexp[i]), exp(logsumexp[i]), sum, count);
        }
    }
}

static void queries_see_their_keys(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sights / sizeof sights[0]; i++) {
        for (int k = 0; k < ATTENTION_KERNELS; k++) {
            check_sight(&sights[i], attention_kernels[k]);
        }
    }
}

/* ---- What is excluded ---- */

/* Sets the rows of keys and values from `from` to `to` of item `item` to NaN. */
static void fill_with_nan(attention_case *c, int64_t item, int64_t from, int64_t to) {
    for (int which = BP_ATTENTION_KEY; which <= BP_ATTENTION_VALUE; which++) {
        test_array *of = &c->tensor[which];
        const int64_t columns = which == BP_ATTENTION_KEY ? c->shape.size : c->shape.value_size;
        for (int64_t at = from * columns; at < to * columns; at++) {
            test_array_set(of, item * c->shape.keys * columns + at, at % 2 ? NAN : INFINITY);
        }
    }
}

/* What is behind the last key of an item is not read, with any kernel, nor by the gradients. */
static void keys_behind_the_length_are_not_read(void **state) {
    (void)state;
    test_array_random = 55;
    for (int i = 0; i < 4 * ATTENTION_OWN_KERNELS * 2; i++) {
        const int64_t sizes[] = {2, 9, 150};
        attention_case c;
        const attention_shape shape = {.dtype = attention_dtypes[i % ATTENTION_DTYPES],
                                       .batch_ndim = 1,
                                       .batch = {3},
                                       .queries = sizes[i % 3],
                                       .keys = 200,
                                       .size = 9,
                                       .value_size = 17,
                                       .logsumexp = true,
                                       .lengths = true,
                                       .causal = i / 4 % 2,
                                       .lower_right = i / 4 % 2 && i % 3};
        attention_begin(&c, &shape);
        for (int64_t item = 0; item < 3; item++) {
            const int64_t length = item * 70;
            test_array_set_i64(&c.tensor[BP_ATTENTION_LENGTHS], item, length);
            fill_with_nan(&c, item, length, shape.keys);
        }
        attention_run(&c, attention_kernels[i / ATTENTION_DTYPES % ATTENTION_OWN_KERNELS]);
        attention_compare_output(&c);
        attention_turn(&c);
        attention_run(&c, attention_kernels[i / ATTENTION_DTYPES % ATTENTION_OWN_KERNELS]);
        for (int which = BP_ATTENTION_QUERY_GRADIENT; which <= BP_ATTENTION_VALUE_GRADIENT; which++) {
            for (int64_t at = 0; at < test_array_count(&c.tensor[which]); at++) {
                if (!isfinite(test_array_get(&c.tensor[which], at))) {
                    fail_msg("%s: gradient %d has a number that is not finite", c.text, which);
                }
            }
        }
        attention_end(&c);
    }
}

/* Gradients that are summed over no items are 0, and there is no length to read. */
static void lengths_of_no_items_are_not_read(void **state) {
    enum { KEYS = 4, QUERIES = 3, WIDTH = 2 };
    static const int64_t rows[] = {0, QUERIES, WIDTH}, keys[] = {KEYS, WIDTH}, sums[] = {0, QUERIES}, none[] = {0};
    static const char *const settings[] = {"cuda.mem_efficient_sdp=false, cuda.math_sdp=false", "cuda.flash_sdp=false"};
    char *const nowhere = (char *)64;
    (void)state;
    for (int i = 0; i < 2; i++) {
        bp_view row, key, sum, length, key_gradient, value_gradient;
        float gradients[2][KEYS * WIDTH];
        bp_options *options;
        memset(gradients, 1, sizeof gradients);
        assert_int_equal(bp_options_new(&options, settings[i]), BP_OK);
        assert_int_equal(bp_view_init(&row, nowhere, BP_F32, 3, rows, NULL), BP_OK);
        assert_int_equal(bp_view_init(&key, gradients[0], BP_F32, 2, keys, NULL), BP_OK);
        assert_int_equal(bp_view_init(&sum, nowhere, BP_F32, 2, sums, NULL), BP_OK);
        assert_int_equal(bp_view_init(&length, nowhere, BP_I64, 1, none, NULL), BP_OK);
        float values[KEYS * WIDTH] = {0};
        key.tensor.data = values;
        assert_int_equal(bp_view_init(&key_gradient, gradients[0], BP_F32, 2, keys, NULL), BP_OK);
        assert_int_equal(bp_view_init(&value_gradient, gradients[1], BP_F32, 2, keys, NULL), BP_OK);
        const bp_attention_call call = {.struct_size = sizeof call,
                                        .pass = BP_ATTENTION_BACKWARD,
                                        .query = &row.tensor,
                                        .key = &key.tensor,
                                        .value = &key.tensor,
                                        .lengths = &length.tensor,
                                        .output = &row.tensor,
                                        .logsumexp = &sum.tensor,
                                        .output_gradient = &row.tensor,
                                        .key_gradient = &key_gradient.tensor,
                                        .value_gradient = &value_gradient.tensor};
        assert_int_equal(bp_attention_run(options, &call), BP_OK);
        for (int k = 0; k < 2 * KEYS * WIDTH; k++) {
            assert_true((&gradients[0][0])[k] == 0);
        }
        bp_options_release(options);
    }
}

/* Blocks that no row of a panel sees are not read; single rows, which few queries are, read nothing else. */
static void blocks_outside_windows_are_not_read(void **state) {
    (void)state;
    test_array_random = 56;
    for (int i = 0; i < 8; i++) {
        const bool few = i % 2;
        attention_case c;
        const attention_shape shape = {.dtype = attention_dtypes[i / 2 % ATTENTION_DTYPES],
                                       .batch_ndim = 1,
                                       .batch = {1},
                                       .queries = few ? 1 : 64,
                                       .keys = 1300,
                                       .size = 5,
                                       .value_size = 6,
                                       .logsumexp = true,
                                       .window = true,
                                       .left = 20,
                                       .right = 0,
                                       .lower_right = true};
        attention_begin(&c, &shape);
        fill_with_nan(&c, 0, 0, few ? shape.keys - 21 : 1152); /* the first query of 64 sees the keys from 1216 on */
        for (int k = 0; k < (few ? 1 : 2); k++) {
            attention_run(&c, attention_kernels[k]);
            for (int64_t at = 0; at < test_array_count(&c.tensor[BP_ATTENTION_OUTPUT]); at++) {
                assert_true(isfinite(test_array_get(&c.tensor[BP_ATTENTION_OUTPUT], at)));
            }
        }
        attention_end(&c);
    }
}

/* What a window excludes for a row does not reach its output, with any kernel, whatever it is: every fifth key and
 * value is NaN or infinite, and those rows are right that see none of these. */
static void windows_exclude_what_is_not_finite(void **state) {
    enum { EACH = 5, CASES_OF_TYPE = 12 };
    (void)state;
    test_array_random = 62;
    for (int i = 0; i < CASES_OF_TYPE * ATTENTION_DTYPES * ATTENTION_KERNELS; i++) {
        const int64_t queries[] = {3, 40, 300}, keys[] = {7, 140, 300};
        attention_case c;
        const attention_shape shape = {.dtype = attention_dtypes[i % ATTENTION_DTYPES],
                                       .batch_ndim = 1,
                                       .batch = {2},
                                       .queries = queries[i / ATTENTION_DTYPES / ATTENTION_KERNELS % 3],
                                       .keys = keys[i / ATTENTION_DTYPES / ATTENTION_KERNELS / 3 % 3],
                                       .size = 5,
                                       .value_size = 19,
                                       .logsumexp = true,
                                       .window = true,
                                       .left = i % 3,
                                       .right = i / 3 % 3,
                                       .lower_right = i % 2};
        attention_begin(&c, &shape);
        for (int64_t key = 0; key < shape.keys; key += EACH) {
            fill_with_nan(&c, 0, key, key + 1);
        }
        attention_run(&c, attention_kernels[i / ATTENTION_DTYPES % ATTENTION_KERNELS]);
        const int64_t origin = shape.lower_right ? shape.keys - shape.queries : 0;
        for (int64_t row = 0; row < shape.queries; row++) {
            bool sees = false;
            for (int64_t key = 0; key < shape.keys; key += EACH) {
                sees = sees || (key >= row + origin - shape.left && key <= row + origin + shape.right);
            }
            for (int64_t e = 0; e < shape.value_size; e++) {
                const double value = test_array_get(&c.tensor[BP_ATTENTION_OUTPUT], row * shape.value_size + e);
                if (isfinite(value) == sees) {
                    fail_msg("%s with %s: row %d is %g", c.text,
                             attention_kernels[i / ATTENTION_DTYPES % ATTENTION_KERNELS], (int)row, value);
                }
            }
        }
        attention_end(&c);
    }
}

enum { ROWS = 64, MANY = 4096, SIZE = 64 };

/* Makes key or value whose rows from `from` to `to` cannot be read. */
static float *make_guarded(int64_t from, int64_t to) {
    const size_t row = SIZE * sizeof(float);
    float *all =
        mmap(NULL, MANY * row, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* zeros, in whole pages */
    assert_true(all != MAP_FAILED);
    for (int64_t i = 0; i < MANY * SIZE; i++) {
        all[i] = (float)test_array_uniform();
    }
    assert_int_equal(mprotect((char *)all + (size_t)from * row, (size_t)(to - from) * row, PROT_NONE), 0);
    return all;
}

/* Runs both passes of a call whose keys and values from `from` to `to` cannot be read. */
static void run_guarded(bp_attention_call call, int64_t from, int64_t to, const char *kernel) {
    static float query[ROWS * SIZE], output[ROWS * SIZE], logsumexp[ROWS], slopes[ROWS * SIZE], by_query[ROWS * SIZE],
        by_key[MANY * SIZE], by_value[MANY * SIZE];
    float *key = make_guarded(from, to), *value = make_guarded(from, to);
    float *const memory[] = {query, key, value, output, logsumexp, slopes, by_query, by_key, by_value};
    static const int64_t few[] = {1, ROWS, SIZE}, many[] = {1, MANY, SIZE};
    const bool of_keys[] = {false, true, true, false, false, false, false, true, true};
    bp_view view[9];
    for (int i = 0; i < 9; i++) {
        assert_int_equal(bp_view_init(&view[i], memory[i], BP_F32, i == 4 ? 2 : 3, of_keys[i] ? many : few, NULL),
                         BP_OK);
    }
    bp_options *options = test_options(kernel);
    call.struct_size = sizeof call;
    call.query = &view[0].tensor;
    call.key = &view[1].tensor;
    call.value = &view[2].tensor;
    call.output = &view[3].tensor;
    call.logsumexp = &view[4].tensor;
    assert_int_equal(bp_attention_run(options, &call), BP_OK);
    call.pass = BP_ATTENTION_BACKWARD;
    call.output_gradient = &view[5].tensor;
    call.query_gradient = &view[6].tensor;
    call.key_gradient = &view[7].tensor;
    call.value_gradient = &view[8].tensor;
    assert_int_equal(bp_attention_run(options, &call), BP_OK);
    bp_options_release(options);
    assert_int_equal(munmap(key, MANY * SIZE * sizeof(float)), 0);
    assert_int_equal(munmap(value, MANY * SIZE * sizeof(float)), 0);
}

/* The pages of a machine have at most 64 KiB, 256 rows. */
static void memory_outside_is_not_touched(void **state) {
    int64_t length = 1000;
    bp_view lengths;
    (void)state;
    test_array_random = 61;
    assert_int_equal(bp_view_init(&lengths, &length, BP_I64, 1, (const int64_t[]){1}, NULL), BP_OK);
    const bp_attention_call window = {.has_window = 1, .lower_right = 1, .window_left = 20, .window_right = -1},
                            counted = {.lengths = &lengths.tensor},
                            both = {.is_causal = 1,
                                    .has_window = 1,
                                    .lower_right = 1,
                                    .window_left = 20,
                                    .window_right = -1,
                                    .lengths = &lengths.tensor};
    for (int k = 0; k < ATTENTION_OWN_KERNELS; k++) {
        run_guarded(counted, 1024, MANY, attention_kernels[k]);
        if (k < ATTENTION_OWN_KERNELS - 1) { /* math reads all keys of an item */
            run_guarded(window, 0, 3840, attention_kernels[k]);
            run_guarded(both, 0, 768, attention_kernels[k]); /* the keys from 916 on are seen */
        }
    }
}

/* ---- Values of the parameters ---- */

static void copy_output(const attention_case *c, double *to) {
    const test_array *output = &c->tensor[BP_ATTENTION_OUTPUT];
    for (int64_t at = 0; at < test_array_count(output); at++) {
        to[at] = test_array_get(output, at);
    }
}

/* Runs one call after another on the same tensors: no plan of another one may run. A window that excludes nothing, and
 * positions from the last key on of a square call, have the bits of the call without them. */
static void plans_belong_to_their_parameters(void **state) {
    enum { QUERIES = 6, KEYS = 6, VALUES = 3, COUNT = 2 * QUERIES * VALUES };
    const attention_shape shape = {.dtype = BP_F32,
                                   .batch_ndim = 1,
                                   .batch = {2},
                                   .queries = QUERIES,
                                   .keys = KEYS,
                                   .size = 4,
                                   .value_size = VALUES,
                                   .compact = true};
    double plain[COUNT], causal[COUNT], again[COUNT];
    attention_case c;
    (void)state;
    test_array_random = 57;
    attention_begin(&c, &shape);
    attention_run(&c, "");
    copy_output(&c, plain);
    c.call.is_causal = 1;
    attention_run(&c, "");
    copy_output(&c, causal);
    assert_true(memcmp(plain, causal, sizeof plain) != 0);
    c.call.lower_right = 1;
    attention_run(&c, "");
    copy_output(&c, again);
    assert_memory_equal(again, causal, sizeof again);
    for (int round = 0; round < 3; round++) {
        static const struct {
            double softcap;
            int window, left, right, same;
        } calls[] = {
            {0, 1, 5, 5, 1}, {0, 1, -1, -1, 1},     {0, 1, 2, 3, 0},  {0, 1, 3, 2, 0},
            {0, 1, 2, 2, 0}, {0, 1, -1, 2, 0},      {0, 1, 2, -1, 0}, {0.5, 0, 0, 0, 0},
            {2, 0, 0, 0, 0}, {0x1p100, 0, 0, 0, 1}, {2, 1, 2, 2, 0},
        };
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
            c.call.is_causal = c.call.lower_right = 0;
            c.call.softcap = calls[i].softcap;
            c.call.has_window = calls[i].window;
            c.call.window_left = calls[i].left;
            c.call.window_right = calls[i].right;
            attention_run(&c, "");
            attention_compare_output(&c);
            copy_output(&c, again);
            if (calls[i].softcap == 0 && (memcmp(again, plain, sizeof again) == 0) != calls[i].same) {
                fail_msg("call %d %s the plain one", (int)i, calls[i].same ? "differs from" : "equals");
            }
        }
    }
    attention_end(&c);
}

/* Softcaps from one end of their range to the other, and products far below and far above them, but no scores so large
 * that their rounding decides about weights. */
static void softcaps_have_their_range(void **state) {
    static const double softcaps[] = {0x1p-100, 1e-10, 1, 1e10, 0x1p100}, sizes[] = {1e-12, 1, 1e12};
    enum { SOFTCAPS = 5, SIZES = 3, LARGE = 3 };
    (void)state;
    test_array_random = 58;
    for (int i = 0; i < SOFTCAPS * SIZES * ATTENTION_OWN_KERNELS; i++) {
        const int of = i % SOFTCAPS, size = i / SOFTCAPS % SIZES;
        attention_case c;
        const attention_shape shape = {.dtype = i % 2 ? BP_F64 : BP_F32,
                                       .batch_ndim = 1,
                                       .batch = {2},
                                       .queries = 7,
                                       .keys = 30,
                                       .size = 3,
                                       .value_size = 4,
                                       .logsumexp = true,
                                       .softcap = softcaps[of],
                                       .scale = of >= LARGE && size == 2 ? 5 : sizes[size]};
        attention_begin(&c, &shape);
        attention_run(&c, attention_kernels[i / (SOFTCAPS * SIZES)]);
        attention_compare_output(&c);
        attention_turn(&c);
        attention_run(&c, attention_kernels[i / (SOFTCAPS * SIZES)]);
        attention_compare_gradients(&c);
        attention_end(&c);
    }
}

/* -infinity and the lowest number in a mask come after the softcap, so that they exclude keys. */
static void masks_come_after_the_softcap(void **state) {
    (void)state;
    test_array_random = 59;
    for (int k = 0; k < ATTENTION_KERNELS; k++) {
        attention_case c;
        const attention_shape shape = {.dtype = BP_F32,
                                       .batch_ndim = 1,
                                       .batch = {1},
                                       .queries = 3,
                                       .keys = 40,
                                       .size = 4,
                                       .value_size = 2,
                                       .logsumexp = true,
                                       .mask = ATTENTION_F32,
                                       .softcap = 2,
                                       .window = true,
                                       .left = -1,
                                       .right = 30};
        attention_begin(&c, &shape);
        test_array *mask = &c.tensor[BP_ATTENTION_MASK];
        for (int64_t at = 0; at < test_array_count(mask); at++) {
            test_array_set(mask, at, at % 3 == 0 ? -INFINITY : at % 3 == 1 ? (double)-3.4028235e38f : 0);
        }
        attention_run(&c, attention_kernels[k]);
        attention_compare_output(&c);
        attention_turn(&c);
        attention_run(&c, attention_kernels[k]);
        attention_compare_gradients(&c);
        attention_end(&c);
    }
}

/* ---- Explanations ---- */

static double cost_of(const bp_attention_call *call, char *text, size_t size) {
    bp_explanation *explanation = NULL;
    bp_candidate_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_attention_explain(&explanation, NULL, call), BP_OK);
    snprintf(text, size, "%s", bp_explanation_problem(explanation));
    for (int i = 0; bp_explanation_at(explanation, i, &info) && !info.chosen; i++) {
    }
    assert_true(info.chosen);
    bp_explanation_release(explanation);
    return info.cost_ns;
}

static void costs_follow_the_keys_that_are_seen(void **state) {
    const int64_t shape[] = {4, 2048, 64}, items[] = {4};
    bp_view views[3];
    char text[256];
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bp_view_init(&views[i], NULL, BP_F32, 3, shape, NULL), BP_OK);
    }
    assert_int_equal(bp_view_init(&views[2], NULL, BP_I64, 1, items, NULL), BP_OK);
    bp_attention_call call = {.struct_size = sizeof call,
                              .query = &views[0].tensor,
                              .key = &views[0].tensor,
                              .value = &views[0].tensor,
                              .output = &views[1].tensor};
    const double all = cost_of(&call, text, sizeof text);
    call.has_window = 1;
    call.window_left = 100;
    call.window_right = 30;
    const double some = cost_of(&call, text, sizeof text);
    assert_true(some < all / 4);
    assert_non_null(strstr(text, ", window 100,30"));
    call.window_right = -1;
    call.is_causal = call.lower_right = 1;
    call.softcap = 50;
    call.lengths = &views[2].tensor;
    assert_true(cost_of(&call, text, sizeof text) < all / 4);
    assert_string_equal(text, "f32 4 x 2048x64 queries, 2048 keys at most, causal, window 100,-1, lower right, "
                              "softcap 50");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_see_their_keys),
        cmocka_unit_test(outputs_equal_the_reference),
        cmocka_unit_test(gradients_equal_the_reference),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(keys_behind_the_length_are_not_read),
        cmocka_unit_test(lengths_of_no_items_are_not_read),
        cmocka_unit_test(blocks_outside_windows_are_not_read),
        cmocka_unit_test(windows_exclude_what_is_not_finite),
        cmocka_unit_test(memory_outside_is_not_touched),
        cmocka_unit_test(plans_belong_to_their_parameters),
        cmocka_unit_test(softcaps_have_their_range),
        cmocka_unit_test(masks_come_after_the_softcap),
        cmocka_unit_test(costs_follow_the_keys_that_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
