/* test_results.c - recurrent layers of random sizes and layouts against a reference that follows rnn.h one element at a
 * time, for all modes and instruction sets, and equal bits on any number of threads. */
#include "rnn/cases.h"
#include "support/conditions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 800, THREAD_CASES = 60 };

static const char *const settings[] = {"", "cpu.capability=avx2", "cpu.capability=default", "num_threads=1"};

static int reduced(int cases) {
    return test_cases(cases, 8);
}

static const bp_dtype types[] = {BP_F64, BP_F32, BP_F16, BP_F32, BP_BF16, BP_F32};

static void outputs_equal_the_reference(void **state) {
    (void)state;
    test_array_random = 42;
    for (int i = 0; i < reduced(CASES); i++) {
        rnn_case c;
        const rnn_shape shape = rnn_any(types[i % 6]);
        rnn_begin(&c, &shape, i % 5 == 0 ? BP_RNN_TRAINING : BP_RNN_INFERENCE);
        rnn_run(&c, settings[i / 3 % 4]);
        rnn_compare(&c);
        rnn_end(&c);
    }
}

/* Steps and items that are so many that sums are computed in parts, and blocks of weights that do not divide the sizes.
 */
static void large_sizes_equal_the_reference(void **state) {
    (void)state;
    test_array_random = 44;
    for (int cell = 0; cell < RNN_CELLS; cell++) {
        rnn_case c;
        rnn_shape shape = {.dtype = BP_F32,
                           .steps = 3,
                           .batch = 9,
                           .input = 130,
                           .hidden = 261,
                           .projection = cell == BP_RNN_LSTM ? 67 : 0,
                           .directions = 2,
                           .bias_ih = true,
                           .bias_hh = true,
                           .finals = true};
        rnn_set_cell(&shape, cell);
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        rnn_run(&c, "");
        rnn_compare(&c);
        rnn_end(&c);
    }
}

static void threads_do_not_change_bits(void **state) {
    static const char *const threads[] = {"num_threads=2", "num_threads=3", "num_threads=7"};
    (void)state;
    int most = 0;
    test_array_random = 45;
    for (int i = 0; i < reduced(THREAD_CASES); i++) {
        rnn_shape shape = rnn_any(types[i % 6]);
        shape.steps = 3;
        shape.hidden = i % 4 ? test_array_between(100, 200) : shape.hidden;
        shape.batch = 33;
        rnn_case c;
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        rnn_run(&c, "num_threads=1");
        const test_array *output = &c.tensor[BP_RNN_OUTPUT];
        const size_t bytes = (size_t)output->all * bp_dtype_size(shape.dtype);
        char *kept = malloc(bytes);
        assert_non_null(kept);
        memcpy(kept, output->memory, bytes);
        for (int t = 0; t < 3; t++) {
            bp_plan_info info = {.struct_size = sizeof info};
            rnn_run(&c, threads[t]);
            assert_memory_equal(kept, output->memory, bytes);
            assert_int_equal(bp_last_plan(&info), BP_OK);
            most = info.threads > most ? info.threads : most;
        }
        free(kept);
        rnn_end(&c);
    }
    assert_true(most >= 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_equal_the_reference),
        cmocka_unit_test(large_sizes_equal_the_reference),
        cmocka_unit_test(threads_do_not_change_bits),
    };
    return cmocka_run_group_tests(tests, rnn_on_native, NULL);
}
