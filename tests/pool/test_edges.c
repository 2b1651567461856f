/* test_edges.c - pooling of rows of every width against the reference: where complete windows begin and end, vectors
 * that are not full, and rows that are shorter than a vector. */
#include "pool/cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
enum { DTYPES = sizeof dtypes / sizeof *dtypes, WIDTHS = 40 };

static void run(pool_case *c, const char *settings) {
    bp_options *options = NULL;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    if (bp_pool_run(options, &c->call) != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    bp_options_release(options);
}

static const char *settings_of(int number) {
    static const char *const settings[] = {"dispatch.exclude=onednn", "dispatch.exclude=onednn,cpu.capability=default"};
    return settings[number % 2];
}

/* Compares the output, and the gradient if it is an average or has indices. */
static void compare(pool_case *c, int number) {
    run(c, settings_of(number));
    pool_compare_output(c);
    if (c->call.kind == BP_POOL_AVERAGE || c->call.indices) {
        pool_turn(c);
        run(c, settings_of(number));
        pool_compare_gradient(c);
    }
}

/* Sets a kernel of two dimensions. The number selects what a width does not: type, kind, ceil_mode, indices. */
static void set(pool_case *c, int number, int kernel, int stride, int dilation, int padding) {
    const bool average = number / DTYPES % 2;
    memset(c, 0, sizeof *c);
    c->dtype = dtypes[number % DTYPES];
    for (int d = 0; d < 2; d++) {
        c->kernel[d] = kernel;
        c->stride[d] = stride;
        c->dilation[d] = average ? 1 : dilation;
        c->padding[d] = padding;
    }
    c->kernel[0] = kernel < 3 ? kernel : 2;
    c->padding[0] = padding < c->kernel[0] ? padding : 0;
    c->call = (bp_pool_call){.struct_size = sizeof c->call,
                             .kind = average ? BP_POOL_AVERAGE : BP_POOL_MAX,
                             .ndim = 2,
                             .kernel = c->kernel,
                             .stride = c->stride,
                             .dilation = average ? NULL : c->dilation,
                             .padding = c->padding,
                             .ceil_mode = number / 8 % 2,
                             .exclude_padding = average && number / 16 % 2};
}

static void widths_of(test_layout layout) {
    int number = 0;
    for (int width = 1; width <= WIDTHS; width++) {
        for (int kernel = 1; kernel <= 5; kernel++) {
            for (int stride = 1; stride <= 3; stride++) {
                for (int padding = 0; padding <= 2; padding++, number++) {
                    const int dilation = 1 + number % 3;
                    const bool channels = layout == TEST_CHANNELS_LAST;
                    const int64_t shape[] = {1, channels ? width : 2, 3, channels ? 5 : width};
                    pool_case c;
                    set(&c, number / 3 + width, kernel, stride, dilation, padding);
                    if (pool_fill(&c, 4, shape, layout, c.call.kind == BP_POOL_MAX && number % 2)) {
                        compare(&c, number);
                        pool_end(&c);
                    }
                }
            }
        }
    }
}

static void rows_of_positions(void **state) {
    (void)state;
    test_array_random = 48;
    widths_of(TEST_COMPACT);
}

static void rows_with_gaps(void **state) {
    (void)state;
    test_array_random = 49;
    widths_of(TEST_GAPS);
}

/* The width is the number of channels. */
static void vectors_of_channels(void **state) {
    (void)state;
    test_array_random = 50;
    widths_of(TEST_CHANNELS_LAST);
}

/* More taps than a run has in one list, and windows over all of a channel. */
static void large_windows(void **state) {
    (void)state;
    test_array_random = 51;
    for (int i = 0; i < 64; i++) {
        const int kernel = i / 16 % 2 ? 12 : 9, size = i / 32 ? kernel : 21;
        const int64_t shape[] = {2, 19, size, size};
        pool_case c;
        set(&c, i, kernel, 1 + i % 2, 1, i / 32 ? 0 : i % 4);
        c.kernel[0] = kernel;
        c.padding[0] = c.padding[1];
        assert_true(pool_fill(&c, 4, shape, i / 2 % 2 ? TEST_CHANNELS_LAST : TEST_COMPACT,
                              c.call.kind == BP_POOL_MAX && i % 3));
        run(&c, settings_of(i));
        pool_compare_output(&c);
        pool_end(&c);
    }
}

/* One NaN or infinity at each place of rows: NaN wins, the last one has the index, and padding is no maximum. */
static void special_values_at_each_place(void **state) {
    enum { WIDTH = 21 };
    static const double specials[] = {(double)NAN, -INFINITY, INFINITY};
    const int64_t shape[] = {1, 17, 2, WIDTH};
    (void)state;
    test_array_random = 52;
    for (int place = 0; place < 2 * WIDTH; place++) {
        for (int i = 0; i < 24; i++) {
            pool_case c;
            set(&c, place + i, 3, 1 + i % 2, 1 + i / 2 % 2, 1);
            const test_layout layout = i % 3 ? TEST_COMPACT : TEST_CHANNELS_LAST;
            assert_true(pool_fill(&c, 4, shape, layout, c.call.kind == BP_POOL_MAX && i / 4 % 2));
            for (int64_t channel = 0; channel < 17; channel += 3) {
                test_array_set(&c.input, channel * 2 * WIDTH + place, specials[i % 3]);
            }
            run(&c, settings_of(i / 2));
            pool_compare_output(&c);
            pool_end(&c);
        }
    }
}

/* All inputs are minus infinity: the first one in the window has the index, not the padding before it. */
static void only_infinities(void **state) {
    (void)state;
    for (int width = 1; width <= WIDTHS; width++) {
        for (int i = 0; i < 8; i++) {
            const int64_t shape[] = {1, i / 4 ? width : 1, 2, i / 4 ? 4 : width};
            pool_case c;
            set(&c, i % 4, 3, 1 + width % 3, 1, 1);
            if (!pool_fill(&c, 4, shape, i / 4 ? TEST_CHANNELS_LAST : TEST_COMPACT, true)) {
                continue;
            }
            for (int64_t j = 0; j < test_array_count(&c.input); j++) {
                test_array_set(&c.input, j, -INFINITY);
            }
            run(&c, settings_of(width));
            pool_compare_output(&c);
            pool_end(&c);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_positions),   cmocka_unit_test(rows_with_gaps),
        cmocka_unit_test(vectors_of_channels), cmocka_unit_test(large_windows),
        cmocka_unit_test(only_infinities),     cmocka_unit_test(special_values_at_each_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
