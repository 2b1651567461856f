/* support_compare.c - compares recurrent layers with the reference (reference/rnn.h). */
#include "rnn/cases.h"
#include "support/results.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* A call of BACKWARD has no biases; the reference needs the biases of the case. */
static bp_rnn_call with_biases(const rnn_case *c) {
    const test_array *ih = &c->tensor[BP_RNN_BIAS_IH], *hh = &c->tensor[BP_RNN_BIAS_HH];
    bp_rnn_call call = c->call;
    call.bias_ih = ih->memory ? &ih->view.tensor : NULL;
    call.bias_hh = hh->memory ? &hh->view.tensor : NULL;
    return call;
}

void rnn_reference(const rnn_case *c, reference_number *output, reference_number *hidden, reference_number *cell) {
    const bp_rnn_call call = with_biases(c);
    const long double unit = c->shape.dtype == BP_F64 ? 0x1p-53L : 0x1p-24L;
    assert_int_equal(reference_rnn(&call, unit, output, hidden, cell), BP_OK);
}

void rnn_references(const rnn_case *c, reference_results *made) {
    const bp_rnn_call call = with_biases(c);
    assert_int_equal(reference_of_rnn(made, &call), BP_OK);
}

/* Results of 16-bit types are rounded once, from f32; f16 has denormal numbers within the range of the results. */
static long double rounding(bp_dtype dtype, const reference_number *want) {
    const long double most = fabsl(want->value) + want->error;
    return dtype == BP_F16 ? most * 0x1p-11L + 0x1p-25L : dtype == BP_BF16 ? most * 0x1p-8L : 0;
}

static void compare(const rnn_case *c, bp_rnn_tensor which, const char *name, const reference_number *want) {
    const test_array *t = &c->tensor[which];
    const int64_t count = t->memory ? test_array_count(t) : 0;
    for (int64_t i = 0; i < count; i++) {
        const double got = test_array_get(t, i),
                     bound = (double)(want[i].error * 1.01 + rounding(t->dtype, &want[i])) + 1e-37;
        if (!(fabsl((long double)got - want[i].value) <= (long double)bound)) {
            fail_msg("%s: %s, element %d of %d: %.9g, want %.9g, error %.3g, bound %.3g", c->text, name, (int)i,
                     (int)count, got, (double)want[i].value, got - (double)want[i].value, bound);
        }
    }
    if (t->memory) {
        test_array_check_gaps(t, c->text);
    }
}

void rnn_compare(const rnn_case *c) {
    const rnn_shape *s = &c->shape;
    const size_t columns = (size_t)(s->projection ? s->projection : s->hidden), batch = (size_t)s->batch;
    const size_t directions = (size_t)s->directions;
    reference_number *output = calloc((size_t)s->steps * batch * directions * columns + 1, sizeof *output),
                     *hidden = calloc(directions * batch * columns + 1, sizeof *hidden),
                     *cell = calloc(directions * batch * (size_t)s->hidden + 1, sizeof *cell);
    assert_non_null(output);
    assert_non_null(hidden);
    assert_non_null(cell);
    rnn_reference(c, output, hidden, cell);
    compare(c, BP_RNN_OUTPUT, "output", output);
    compare(c, BP_RNN_FINAL_HIDDEN, "final_hidden", hidden);
    compare(c, BP_RNN_FINAL_CELL, "final_cell", cell);
    free(output);
    free(hidden);
    free(cell);
}

void rnn_compare_gradients(const rnn_case *c) {
    reference_results made;
    rnn_references(c, &made);
    test_check_results(&made, c->text);
    for (int i = BP_RNN_INPUT_GRADIENT; i < BP_RNN_TENSORS; i++) {
        if (c->tensor[i].memory) {
            test_array_check_gaps(&c->tensor[i], c->text);
        }
    }
}
