/* test_results.c - pooling of random geometries and layouts against a reference that follows pool.h one element at a
 * time, for all types, on any number of threads. */
#include "pool/cases.h"
#include "support/conditions.h"
#include "support/passes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 1200 };

static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static int cases(void) {
    return test_cases(CASES, 6);
}

static void run(pool_case *c, const char *settings) {
    bp_options *options = NULL;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    const bp_status status = bp_pool_run(options, &c->call);
    if (status != BP_OK) {
        fail_msg("%s with %s: %s", c->text, settings, bp_last_error());
    }
    bp_options_release(options);
}

static void outputs_equal_the_reference(void **state) {
    (void)state;
    test_array_random = 42;
    for (int i = 0; i < cases(); i++) {
        pool_case c;
        const bp_pool_kind kind = i / DTYPES % 2 ? BP_POOL_AVERAGE : BP_POOL_MAX;
        pool_begin(&c, dtypes[i % DTYPES], kind, kind == BP_POOL_MAX && i % 3 == 0);
        run(&c, i % 5 ? "" : "cpu.capability=default");
        pool_compare_output(&c);
        pool_end(&c);
    }
}

static void gradients_equal_the_reference(void **state) {
    (void)state;
    test_array_random = 43;
    for (int i = 0; i < cases(); i++) {
        pool_case c;
        pool_begin(&c, dtypes[i % DTYPES], i / DTYPES % 2 ? BP_POOL_AVERAGE : BP_POOL_MAX, false);
        if (c.call.kind == BP_POOL_MAX && !c.call.indices) {
            pool_end(&c);
            continue;
        }
        run(&c, "");
        pool_turn(&c);
        run(&c, i % 5 ? "" : "cpu.capability=default");
        pool_compare_gradient(&c);
        pool_end(&c);
    }
}

static void threads_do_not_change_bits(void **state) {
    (void)state;
    static const char *const settings[] = {"num_threads=2", "num_threads=3", "num_threads=7"};
    test_array_random = 44;
    for (int i = 0; i < 24; i++) {
        pool_case c;
        const bool max = i % 2;
        const int64_t shape[] = {3, 40, 61, 50};
        int64_t out[BP_MAX_NDIM];
        int rank;
        bp_dtype dtype;
        memset(&c, 0, sizeof c);
        c.dtype = dtypes[i / 2 % DTYPES];
        c.call = (bp_pool_call){.struct_size = sizeof c.call, .kind = max ? BP_POOL_MAX : BP_POOL_AVERAGE, .ndim = 2};
        for (int d = 0; d < 2; d++) {
            c.kernel[d] = 3;
            c.stride[d] = c.output_size[d] = 1 + i % 2;
            c.padding[d] = 1;
        }
        c.call.output_size = i % 3 == 0 ? c.output_size : NULL;
        c.call.kernel = i % 3 ? c.kernel : NULL;
        c.call.stride = i % 3 ? c.stride : NULL;
        c.call.padding = i % 3 ? c.padding : NULL;
        test_array_make(&c.input, c.dtype, 4, shape, (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1));
        c.call.input = &c.input.view.tensor;
        assert_int_equal(bp_pool_shape(&c.call, &dtype, &rank, out), BP_OK);
        test_array_make(&c.output, c.dtype, rank, out, (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1));
        c.call.output = &c.output.view.tensor;
        if (max) {
            test_array_make(&c.indices, BP_I64, rank, out, (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1));
            c.call.indices = &c.indices.view.tensor;
        }
        for (int64_t j = 0; j < test_array_count(&c.input); j++) {
            test_array_set(&c.input, j, (double)test_array_between(-1000, 1000) / 997);
        }
        for (int backward = 0; backward < 2; backward++) {
            test_array *written = backward ? &c.input : &c.output;
            const size_t bytes = (size_t)written->all * bp_dtype_size(c.dtype);
            test_call_to_pass("pool", &c.call, backward ? BP_POOL_BACKWARD : BP_POOL_FORWARD);
            run(&c, "num_threads=1");
            char *first = malloc(bytes);
            assert_non_null(first);
            memcpy(first, written->memory, bytes);
            for (int s = 0; s < 3; s++) {
                test_array_mark(written);
                run(&c, settings[s]);
                assert_memory_equal(first, written->memory, bytes);
            }
            free(first);
        }
        pool_end(&c);
    }
}

static char *copy_of(const test_array *t) {
    const size_t bytes = (size_t)t->all * bp_dtype_size(t->dtype);
    char *copy = malloc(bytes);
    assert_non_null(copy);
    return memcpy(copy, t->memory, bytes);
}

/* Sums are added in an order that vectors do not change. */
static void instruction_sets_do_not_change_bits(void **state) {
    (void)state;
    test_array_random = 48;
    for (int i = 0; i < cases() / 2; i++) {
        pool_case c;
        pool_begin(&c, dtypes[i % DTYPES], i / DTYPES % 4 ? BP_POOL_AVERAGE : BP_POOL_MAX, false);
        for (int backward = 0; backward < (c.call.kind == BP_POOL_AVERAGE || c.call.indices ? 2 : 1); backward++) {
            test_array *read = backward ? &c.output : &c.input;
            test_array *written = backward ? &c.input : &c.output;
            test_call_to_pass("pool", &c.call, backward ? BP_POOL_BACKWARD : BP_POOL_FORWARD);
            for (int64_t j = 0; j < test_array_count(read); j++) {
                test_array_set(read, j, (double)test_array_between(-1000, 1000) / 997);
            }
            test_array_mark(written);
            run(&c, "cpu.capability=default,dispatch.exclude=onednn");
            char *first = copy_of(written);
            test_array_mark(written);
            run(&c, "dispatch.exclude=onednn");
            if (memcmp(first, written->memory, (size_t)written->all * bp_dtype_size(c.dtype)) != 0) {
                fail_msg("%s: %s differs", c.text, backward ? "gradient" : "output");
            }
            free(first);
        }
        pool_end(&c);
    }
}

static double weighted(pool_case *c, const double *weights) {
    double sum = 0;
    run(c, "");
    for (int64_t i = 0; i < test_array_count(&c->output); i++) {
        sum += isfinite(test_array_get(&c->output, i)) ? weights[i] * test_array_get(&c->output, i)
                                                       : 0; /* empty windows */
    }
    return sum;
}

/* Compares with differences of a weighted sum of the outputs. Inputs are distinct and further apart than the step, so
 * that no maximum moves. */
static void gradients_equal_differences(void **state) {
    (void)state;
    const double step = 0x1p-10;
    test_array_random = 45;
    for (int i = 0; i < 60; i++) {
        pool_case c;
        double weights[20000];
        do {
            pool_begin(&c, BP_F64, i % 2 ? BP_POOL_AVERAGE : BP_POOL_MAX, false);
            if (test_array_count(&c.input) == 0 || test_array_count(&c.input) > 600 ||
                test_array_count(&c.output) > 20000 || (i % 2 == 0 && !c.call.indices)) {
                pool_end(&c);
            }
        } while (!c.input.memory);
        const int64_t all = test_array_count(&c.input), distance = 7; /* 7 and 601 have no common divisor: all differ */
        for (int64_t j = 0; j < all; j++) {
            test_array_set(&c.input, j, (double)((j + 1) * distance % 601) / 8);
        }
        for (int64_t j = 0; j < test_array_count(&c.output); j++) {
            weights[j] = (double)test_array_between(-8, 8);
        }
        double *wanted = malloc((size_t)all * sizeof *wanted);
        assert_non_null(wanted);
        const double before = weighted(&c, weights);
        for (int64_t j = 0; j < all; j++) {
            const double x = test_array_get(&c.input, j);
            test_array_set(&c.input, j, x + step);
            wanted[j] = (weighted(&c, weights) - before) / step;
            test_array_set(&c.input, j, x);
        }
        (void)weighted(&c, weights); /* the indices of the unchanged input */
        pool_turn(&c);
        for (int64_t j = 0; j < test_array_count(&c.output); j++) {
            test_array_set(&c.output, j, weights[j]);
        }
        run(&c, "");
        for (int64_t j = 0; j < all; j++) {
            if (!(fabs(test_array_get(&c.input, j) - wanted[j]) <= 1e-6)) {
                fail_msg("%s: gradient %d is %g instead of %g", c.text, (int)j, test_array_get(&c.input, j), wanted[j]);
            }
        }
        free(wanted);
        pool_end(&c);
    }
}

/* ---- Libraries ---- */

/* Runs the call on another candidate than native. Returns false if none accepts it. */
static bool run_elsewhere(const pool_case *c, int threads) {
    char settings[80];
    bp_options *options = NULL;
    snprintf(settings, sizeof settings, "dispatch.exclude=native,num_threads=%d", threads);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    const bp_status status = bp_pool_run(options, &c->call);
    bp_options_release(options);
    if (status != BP_OK && status != BP_E_NO_CANDIDATE) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    return status == BP_OK;
}

/* Returns whether a library is installed that offers pooling. */
static bool have_library(void) {
    bp_library_info library = {.struct_size = sizeof library};
    return bp_library_find("onednn", &library) == BP_OK && library.state == BP_LIBRARY_OK &&
           strtol(library.version, NULL, 10) >= 3;
}

/* NaN and infinity reach the averages of all windows that have them. */
static void libraries_equal_the_reference(void **state) {
    (void)state;
    int forward = 0, backward = 0;
    test_array_random = 46;
    for (int i = 0; i < 2 * cases(); i++) {
        pool_case c;
        pool_begin(&c, dtypes[i % DTYPES], i / DTYPES % 3 ? BP_POOL_AVERAGE : BP_POOL_MAX, i % 3 == 0);
        if (run_elsewhere(&c, 1 + i % 2)) {
            pool_compare_output(&c);
            forward++;
        }
        if (c.call.kind == BP_POOL_AVERAGE) {
            pool_turn(&c);
            if (run_elsewhere(&c, 1 + i % 2)) {
                pool_compare_gradient(&c);
                backward++;
            }
        }
        pool_end(&c);
    }
    assert_true((forward > cases() / 60 && backward > cases() / 60) || !have_library());
}

/* Images of one and two positions with padding, where most windows have no or one element. */
static void candidates_equal_the_reference_for_few_positions(void **state) {
    (void)state;
    int forward = 0, backward = 0;
    test_array_random = 48;
    for (int i = 0; i < 2 * cases(); i++) {
        const int ndim = 1 + i % 3;
        int64_t shape[5] = {test_array_between(1, 2), test_array_between(1, 3)};
        pool_case c = {.dtype = BP_F32,
                       .call = {.struct_size = sizeof c.call,
                                .kind = i / 3 % 3 ? BP_POOL_AVERAGE : BP_POOL_MAX,
                                .ndim = ndim,
                                .exclude_padding = i % 2}};
        for (int d = 0; d < ndim; d++) {
            shape[2 + d] = test_array_between(1, 2);
            c.kernel[d] = test_array_between(1, 3);
            c.stride[d] = test_array_between(1, 3);
            c.padding[d] = test_array_between(0, c.kernel[d] / 2);
            c.dilation[d] = 1;
        }
        c.call.kernel = c.kernel, c.call.stride = c.stride, c.call.padding = c.padding;
        if (!pool_fill(&c, ndim + 2, shape, (test_layout)(i / 9 % TEST_ALL_LAYOUTS), false)) {
            continue;
        }
        run(&c, "dispatch.exclude=onednn");
        pool_compare_output(&c);
        if (run_elsewhere(&c, 1)) {
            pool_compare_output(&c);
            forward++;
        }
        if (c.call.kind == BP_POOL_AVERAGE) {
            pool_turn(&c);
            run(&c, "dispatch.exclude=onednn");
            pool_compare_gradient(&c);
            if (run_elsewhere(&c, 1)) {
                pool_compare_gradient(&c);
                backward++;
            }
        }
        pool_end(&c);
    }
    assert_true((forward > cases() / 60 && backward > cases() / 60) || !have_library());
}

/* Under deterministic=threads an item has the bits that it has alone, on any number of threads, also on a library. */
static void an_item_is_as_alone(void **state) {
    enum { ITEMS = 3, CHANNELS = 5, IN = 9, OUT = 4, ONE_IN = CHANNELS * IN * IN, ONE_OUT = CHANNELS * OUT * OUT };
    static float x[ITEMS * ONE_IN], together[ITEMS * ONE_OUT], alone[ONE_OUT];
    const int64_t in[] = {ITEMS, CHANNELS, IN, IN}, out[] = {ITEMS, CHANNELS, OUT, OUT}, kernel[] = {3, 3},
                  stride[] = {2, 2}, in_strides[] = {ONE_IN, 1, CHANNELS * IN, CHANNELS},
                  out_strides[] = {ONE_OUT, 1, CHANNELS * OUT, CHANNELS};
    (void)state;
    test_array_random = 47;
    for (int i = 0; i < ITEMS * ONE_IN; i++) {
        x[i] = (float)test_array_between(-1000, 1000) / 997;
    }
    for (int item = -1; item < ITEMS; item++) {
        const int64_t one_in[] = {1, CHANNELS, IN, IN}, one_out[] = {1, CHANNELS, OUT, OUT};
        bp_view input, output;
        bp_view_init(&input, x + (item < 0 ? 0 : item * ONE_IN), BP_F32, 4, item < 0 ? in : one_in, in_strides);
        bp_view_init(&output, item < 0 ? together : alone, BP_F32, 4, item < 0 ? out : one_out, out_strides);
        pool_case c = {.call = {.struct_size = sizeof c.call,
                                .kind = BP_POOL_AVERAGE,
                                .ndim = 2,
                                .kernel = kernel,
                                .stride = stride,
                                .input = &input.tensor,
                                .output = &output.tensor},
                       .text = "items"};
        const char *threads = item % 2 ? "deterministic=threads,num_threads=2" : "deterministic=threads,num_threads=1";
        char settings[96];
        snprintf(settings, sizeof settings, "%s%s", threads, have_library() ? ",dispatch.exclude=native" : "");
        run(&c, settings);
        if (item >= 0) {
            assert_memory_equal(alone, together + item * ONE_OUT, sizeof alone);
        }
    }
}

/* Fewer channels than a vector has: oneDNN averages such rows in loops without vectors, ten times slower. */
static void loops_without_vectors_are_not_chosen(void **state) {
    enum { CHANNELS = 3, SIZE = 224 };
    static float image[CHANNELS * SIZE * SIZE], result[CHANNELS * SIZE / 2 * SIZE / 2];
    bp_plan_info ran = {.struct_size = sizeof ran};
    bp_options *options = NULL;
    bp_view in, out;
    (void)state;
    assert_int_equal(bp_view_init(&in, image, BP_F32, 4, (const int64_t[]){1, CHANNELS, SIZE, SIZE}, NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, result, BP_F32, 4, (const int64_t[]){1, CHANNELS, SIZE / 2, SIZE / 2}, NULL),
                     BP_OK);
    for (int i = 0; i < CHANNELS * SIZE * SIZE; i++) {
        image[i] = (float)(i / (SIZE * SIZE) + 1);
    }
    const bp_pool_call call = {.struct_size = sizeof call,
                               .kind = BP_POOL_AVERAGE,
                               .ndim = 2,
                               .kernel = (const int64_t[]){3, 3},
                               .stride = (const int64_t[]){2, 2},
                               .padding = (const int64_t[]){1, 1},
                               .exclude_padding = 1,
                               .input = &in.tensor,
                               .output = &out.tensor};
    assert_int_equal(bp_options_new(&options, "num_threads=1"), BP_OK);
    assert_int_equal(bp_pool_run(options, &call), BP_OK);
    bp_options_release(options);
    assert_int_equal(bp_last_plan(&ran), BP_OK);
    assert_string_equal(ran.library, "native");
    for (int i = 0; i < CHANNELS * SIZE / 2 * SIZE / 2; i++) {
        assert_true(result[i] == (float)(i / (SIZE / 2 * SIZE / 2) + 1));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_equal_the_reference),
        cmocka_unit_test(gradients_equal_the_reference),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(gradients_equal_differences),
        cmocka_unit_test(libraries_equal_the_reference),
        cmocka_unit_test(an_item_is_as_alone),
        cmocka_unit_test(candidates_equal_the_reference_for_few_positions),
        cmocka_unit_test(instruction_sets_do_not_change_bits),
        cmocka_unit_test(loops_without_vectors_are_not_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
