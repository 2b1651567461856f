/* test_repeated.c - recurrent layers and their gradients, of operands with strides of 0 and negative strides in each
 * dimension, have the bits of the same calls on other memory. */
#include "rnn/cases.h"
#include "support/conditions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CASES = 72, ALL = (1 << BP_RNN_TENSORS) - 1 };

static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};

/* The operands of a pass that are numbers of the caller: not the output and reserve that TRAINING wrote. */
static uint32_t inputs_of(bp_rnn_pass pass) {
    const uint32_t forward = (1u << BP_RNN_LENGTHS) - 1;
    return pass == BP_RNN_BACKWARD
               ? 1u << BP_RNN_OUTPUT_GRADIENT | 1u << BP_RNN_FINAL_HIDDEN_GRADIENT | 1u << BP_RNN_FINAL_CELL_GRADIENT
               : forward;
}

static void check_pass(rnn_case *c, int d, bool repeats) {
    const uint32_t inputs = inputs_of(c->call.pass), read = inputs | inputs_of(BP_RNN_INFERENCE);
    if (repeats) {
        rnn_make_equal(c, inputs, d);
    }
    rnn_run(c, "");
    const uint32_t all = (uint32_t)ALL & ~(1u << BP_RNN_RESERVE);
    assert_int_equal(rnn_run_copies(c, repeats ? read : all, d, repeats, ""), BP_OK);
}

static void strides_of_0_and_below_give_equal_bits(void **state) {
    (void)state;
    test_array_random = 91;
    for (int i = 0; i < test_cases(CASES, 3); i++) {
        rnn_case c;
        rnn_shape shape = rnn_any(types[i % 4]);
        const int d = i / 4 % 3;
        shape.batch = shape.batch > 3 ? 3 : shape.batch;
        rnn_begin(&c, &shape, BP_RNN_TRAINING);
        check_pass(&c, d, i % 2 == 0);
        rnn_turn(&c);
        check_pass(&c, d, i % 2 == 0);
        rnn_end(&c);
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        check_pass(&c, d, i % 2);
        rnn_end(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(strides_of_0_and_below_give_equal_bits)};
    return cmocka_run_group_tests(tests, rnn_on_native, NULL);
}
