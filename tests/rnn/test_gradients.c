/* test_gradients.c - gradients of recurrent layers equal the reference's, which are slopes of a loss of the
 * reference's results, and threads do not change their bits. */
#include "rnn/cases.h"
#include "support/conditions.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 60, SAMPLES = 4, GRADIENTS = 240 };

static int reduced(int cases) {
    return test_cases(cases, 8);
}

/* Tensors, each in the place of its gradient in the list. */
static const bp_rnn_tensor parameters[] = {
    BP_RNN_INPUT,        BP_RNN_INPUT_GRADIENT,        BP_RNN_INITIAL_HIDDEN, BP_RNN_INITIAL_HIDDEN_GRADIENT,
    BP_RNN_INITIAL_CELL, BP_RNN_INITIAL_CELL_GRADIENT, BP_RNN_WEIGHT_IH,      BP_RNN_WEIGHT_IH_GRADIENT,
    BP_RNN_WEIGHT_HH,    BP_RNN_WEIGHT_HH_GRADIENT,    BP_RNN_WEIGHT_HR,      BP_RNN_WEIGHT_HR_GRADIENT,
    BP_RNN_BIAS_IH,      BP_RNN_BIAS_IH_GRADIENT,      BP_RNN_BIAS_HH,        BP_RNN_BIAS_HH_GRADIENT};
enum { PARAMETERS = 8 };

typedef struct results {
    reference_number *output, *hidden, *cell;
} results;

static long double weighted(const rnn_case *c, bp_rnn_tensor gradient, const reference_number *values) {
    const test_array *t = &c->tensor[gradient];
    long double sum = 0;
    for (int64_t i = 0; t->memory && i < test_array_count(t); i++) {
        sum += (long double)test_array_get(t, i) * values[i].value;
    }
    return sum;
}

static long double loss(const rnn_case *c, const results *r) {
    rnn_reference(c, r->output, r->hidden, r->cell);
    return weighted(c, BP_RNN_OUTPUT_GRADIENT, r->output) + weighted(c, BP_RNN_FINAL_HIDDEN_GRADIENT, r->hidden) +
           weighted(c, BP_RNN_FINAL_CELL_GRADIENT, r->cell);
}

/* The slope along one element, from four points. */
static double slope(rnn_case *c, test_array *t, int64_t at, const results *r) {
    const double step = 0x1p-20, value = test_array_get(t, at);
    long double at_step[4];
    static const int factors[] = {-2, -1, 1, 2};
    for (int i = 0; i < 4; i++) {
        test_array_set(t, at, value + factors[i] * step);
        at_step[i] = loss(c, r);
    }
    test_array_set(t, at, value);
    return (double)((at_step[0] - 8 * at_step[1] + 8 * at_step[2] - at_step[3]) / (12 * (long double)step));
}

static const reference *reference_of(const reference_results *gradients, const DLTensor *tensor) {
    for (int i = 0; i < gradients->count; i++) {
        if (gradients->of[i].tensor == tensor) {
            return &gradients->of[i].values;
        }
    }
    return NULL;
}

static void check_samples(rnn_case *c, int parameter, const results *r, const reference_results *gradients) {
    test_array *t = &c->tensor[parameters[2 * parameter]];
    const DLTensor *gradient = &c->tensor[parameters[2 * parameter + 1]].view.tensor;
    if (!t->memory || !c->tensor[parameters[2 * parameter + 1]].memory) {
        return;
    }
    const reference *of = reference_of(gradients, gradient);
    assert_non_null(of);
    assert_int_equal(of->count, test_array_count(t));
    for (int sample = 0; of->count > 0 && sample < SAMPLES; sample++) {
        const int64_t at = test_array_between(0, of->count - 1);
        const double want = slope(c, t, at, r), got = of->values[at].re;
        /* The slope's error is below step^4 / 30 times the fifth derivative. */
        if (!(fabs(got - want) <= 1e-9 * (1 + 20 * fabs(want)) * (double)(c->shape.batch + 10))) {
            fail_msg("%s: parameter %d, element %d of %d: gradient %.10g, slope %.10g", c->text, parameter, (int)at,
                     (int)of->count, got, want);
        }
    }
}

static void references_are_slopes_of_the_loss(void **state) {
    (void)state;
    test_array_random = 46;
    for (int i = 0; i < reduced(CASES); i++) {
        rnn_case c;
        reference_results gradients;
        rnn_shape shape = rnn_any(BP_F64);
        shape.batch = shape.batch > 10 ? 7 : shape.batch;
        rnn_begin(&c, &shape, BP_RNN_TRAINING);
        rnn_run(&c, "");
        rnn_turn(&c);
        rnn_references(&c, &gradients);
        const int64_t columns = shape.directions * (shape.projection ? shape.projection : shape.hidden);
        const results r = {malloc((size_t)(shape.steps * shape.batch * columns + 1) * sizeof *r.output),
                           malloc((size_t)(shape.batch * columns) * sizeof *r.hidden),
                           malloc((size_t)(shape.batch * shape.directions * shape.hidden) * sizeof *r.cell)};
        assert_non_null(r.output);
        assert_non_null(r.hidden);
        assert_non_null(r.cell);
        for (int p = 0; p < PARAMETERS; p++) {
            check_samples(&c, p, &r, &gradients);
        }
        reference_results_free(&gradients);
        free(r.output);
        free(r.hidden);
        free(r.cell);
        rnn_end(&c);
    }
}

static void gradients_equal_the_reference(void **state) {
    static const char *const settings[] = {"", "cpu.capability=avx2", "cpu.capability=default", "num_threads=1"};
    static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
    (void)state;
    test_array_random = 47;
    for (int i = 0; i < reduced(GRADIENTS); i++) {
        rnn_case c;
        rnn_shape shape = rnn_any(types[i % 4]);
        shape.batch = shape.batch > 33 ? 33 : shape.batch; /* larger ones have no reference */
        rnn_begin(&c, &shape, BP_RNN_TRAINING);
        rnn_run(&c, settings[i / 4 % 4]);
        rnn_compare(&c);
        rnn_turn(&c);
        rnn_run(&c, settings[i / 4 % 4]);
        rnn_compare_gradients(&c);
        rnn_end(&c);
    }
}

/* Without the biases of TRAINING nothing is known of the gates. */
static void references_need_the_biases(void **state) {
    (void)state;
    test_array_random = 49;
    for (int cell = BP_RNN_LSTM; cell < RNN_CELLS; cell++) {
        rnn_case c;
        reference_results made;
        rnn_shape shape = rnn_any(BP_F32);
        rnn_set_cell(&shape, cell);
        shape.projection = 0;
        shape.steps = 3;
        shape.bias_ih = true;
        shape.lengths = false;
        rnn_begin(&c, &shape, BP_RNN_TRAINING);
        rnn_run(&c, "");
        rnn_turn(&c);
        assert_int_equal(reference_of_rnn(&made, &c.call), BP_OK);
        assert_int_equal(made.count, 0);
        reference_results_free(&made);
        rnn_references(&c, &made);
        assert_true(made.count > 0);
        reference_results_free(&made);
        rnn_end(&c);
    }
}

static void threads_do_not_change_bits(void **state) {
    static const char *const threads[] = {"num_threads=2", "num_threads=3", "num_threads=7"};
    static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
    (void)state;
    test_array_random = 48;
    for (int i = 0; i < reduced(16); i++) {
        rnn_shape shape = rnn_any(types[i % 4]);
        char *kept[BP_RNN_TENSORS] = {NULL};
        rnn_case c;
        shape.steps = 3;
        shape.hidden = test_array_between(100, 160);
        shape.batch = 33;
        rnn_begin(&c, &shape, BP_RNN_TRAINING);
        rnn_run(&c, "");
        rnn_turn(&c);
        rnn_run(&c, "num_threads=1");
        for (int t = BP_RNN_INPUT_GRADIENT; t < BP_RNN_TENSORS; t++) {
            const size_t bytes = (size_t)c.tensor[t].all * bp_dtype_size(shape.dtype);
            kept[t] = c.tensor[t].memory ? malloc(bytes) : NULL;
            if (kept[t]) {
                memcpy(kept[t], c.tensor[t].memory, bytes);
            }
        }
        for (int n = 0; n < 3; n++) {
            rnn_run(&c, threads[n]);
            for (int t = BP_RNN_INPUT_GRADIENT; t < BP_RNN_TENSORS; t++) {
                if (kept[t]) {
                    assert_memory_equal(kept[t], c.tensor[t].memory,
                                        (size_t)c.tensor[t].all * bp_dtype_size(shape.dtype));
                }
            }
        }
        for (int t = 0; t < BP_RNN_TENSORS; t++) {
            free(kept[t]);
        }
        rnn_end(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_are_slopes_of_the_loss),
        cmocka_unit_test(gradients_equal_the_reference),
        cmocka_unit_test(references_need_the_biases),
        cmocka_unit_test(threads_do_not_change_bits),
    };
    return cmocka_run_group_tests(tests, rnn_on_native, NULL);
}
