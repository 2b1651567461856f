/* test_gradients.c - gradients of recurrent layers are slopes of a loss of the reference's results, in f64; those in
 * f32, f16 and bf16 equal those in f64, and threads do not change their bits. */
#include "rnn/cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 60, SAMPLES = 4, PAIRS = 120 };

static int reduced(int cases) {
    const char *sanitizers = getenv("TESTED_SANITIZERS"), *emulated = getenv("TESTED_EMULATED");
    return (sanitizers && *sanitizers) || emulated ? cases / 8 : cases;
}

/* Tensors, each in the place of its gradient in the list. */
static const bp_rnn_tensor parameters[] = {
    BP_RNN_INPUT,        BP_RNN_INPUT_GRADIENT,        BP_RNN_INITIAL_HIDDEN, BP_RNN_INITIAL_HIDDEN_GRADIENT,
    BP_RNN_INITIAL_CELL, BP_RNN_INITIAL_CELL_GRADIENT, BP_RNN_WEIGHT_IH,      BP_RNN_WEIGHT_IH_GRADIENT,
    BP_RNN_WEIGHT_HH,    BP_RNN_WEIGHT_HH_GRADIENT,    BP_RNN_WEIGHT_HR,      BP_RNN_WEIGHT_HR_GRADIENT,
    BP_RNN_BIAS_IH,      BP_RNN_BIAS_IH_GRADIENT,      BP_RNN_BIAS_HH,        BP_RNN_BIAS_HH_GRADIENT};
enum { PARAMETERS = 8 };

/* Moves the biases from one case to another, because BACKWARD has none. */
static void take_biases(rnn_case *c, strided_tensor kept[2]) {
    for (int i = 0; i < 2; i++) {
        kept[i] = c->tensor[BP_RNN_BIAS_IH + i];
        memset(&c->tensor[BP_RNN_BIAS_IH + i], 0, sizeof kept[i]);
    }
    rnn_turn(c);
    for (int i = 0; i < 2; i++) {
        c->tensor[BP_RNN_BIAS_IH + i] = kept[i];
    }
}

typedef struct results {
    reference_number *output, *hidden, *cell;
} results;

static long double weighted(const rnn_case *c, bp_rnn_tensor gradient, const reference_number *values) {
    const strided_tensor *t = &c->tensor[gradient];
    long double sum = 0;
    for (int64_t i = 0; t->memory && i < strided_elements(t); i++) {
        sum += (long double)strided_get(t, i) * values[i].value;
    }
    return sum;
}

static long double loss(const rnn_case *c, const results *r) {
    rnn_reference(c, r->output, r->hidden, r->cell);
    return weighted(c, BP_RNN_OUTPUT_GRADIENT, r->output) + weighted(c, BP_RNN_FINAL_HIDDEN_GRADIENT, r->hidden) +
           weighted(c, BP_RNN_FINAL_CELL_GRADIENT, r->cell);
}

/* The slope along one element, from four points. */
static double slope(rnn_case *c, strided_tensor *t, int64_t at, const results *r) {
    const double step = 0x1p-20, value = strided_get(t, at);
    long double at_step[4];
    static const int factors[] = {-2, -1, 1, 2};
    for (int i = 0; i < 4; i++) {
        strided_put(t, at, value + factors[i] * step);
        at_step[i] = loss(c, r);
    }
    strided_put(t, at, value);
    return (double)((at_step[0] - 8 * at_step[1] + 8 * at_step[2] - at_step[3]) / (12 * (long double)step));
}

static void check_samples(rnn_case *c, int parameter, const results *r) {
    strided_tensor *t = &c->tensor[parameters[2 * parameter]];
    const strided_tensor *gradient = &c->tensor[parameters[2 * parameter + 1]];
    if (!t->memory || !gradient->memory) {
        return;
    }
    strided_check_gaps(gradient, c->text);
    const int64_t count = strided_elements(t);
    for (int sample = 0; count > 0 && sample < SAMPLES; sample++) {
        const int64_t at = strided_between(0, count - 1);
        const double want = slope(c, t, at, r), got = strided_get(gradient, at);
        /* The slope's error is below step^4 / 30 times the fifth derivative. */
        if (!(fabs(got - want) <= 1e-9 * (1 + 20 * fabs(want)) * (double)(c->shape.batch + 10))) {
            fail_msg("%s: parameter %d, element %d of %d: gradient %.10g, slope %.10g", c->text, parameter, (int)at,
                     (int)count, got, want);
        }
    }
}

static void gradients_are_slopes_of_the_loss(void **state) {
    static const char *const settings[] = {"", "cpu.capability=avx2", "cpu.capability=default", "num_threads=1"};
    (void)state;
    strided_random = 46;
    for (int i = 0; i < reduced(CASES); i++) {
        rnn_case c;
        strided_tensor biases[2];
        rnn_shape shape = rnn_any(BP_F64);
        shape.batch = shape.batch > 10 ? 7 : shape.batch;
        rnn_begin(&c, &shape, BP_RNN_TRAINING);
        rnn_run(&c, settings[i % 4]);
        rnn_compare(&c);
        take_biases(&c, biases);
        rnn_run(&c, settings[i % 4]);
        const int64_t columns = shape.directions * (shape.projection ? shape.projection : shape.hidden);
        const results r = {malloc((size_t)(shape.steps * shape.batch * columns + 1) * sizeof *r.output),
                           malloc((size_t)(shape.batch * columns) * sizeof *r.hidden),
                           malloc((size_t)(shape.batch * shape.directions * shape.hidden) * sizeof *r.cell)};
        assert_non_null(r.output);
        assert_non_null(r.hidden);
        assert_non_null(r.cell);
        for (int p = 0; p < PARAMETERS; p++) {
            check_samples(&c, p, &r);
        }
        free(r.output);
        free(r.hidden);
        free(r.cell);
        rnn_end(&c);
    }
}

/* Copies the numbers of one case to another of another type. */
static void copy_numbers(const rnn_case *from, rnn_case *to, int first, int last) {
    for (int t = first; t <= last; t++) {
        for (int64_t i = 0; t != BP_RNN_LENGTHS && from->tensor[t].memory && i < strided_elements(&from->tensor[t]);
             i++) {
            strided_put(&to->tensor[t], i, strided_get(&from->tensor[t], i));
        }
    }
    if (from->tensor[BP_RNN_LENGTHS].memory) {
        for (int64_t i = 0; i < strided_elements(&from->tensor[BP_RNN_LENGTHS]); i++) {
            const int64_t length = (int64_t)strided_get(&from->tensor[BP_RNN_LENGTHS], i);
            memcpy(to->tensor[BP_RNN_LENGTHS].memory + 8 * strided_position(&to->tensor[BP_RNN_LENGTHS], i), &length,
                   8);
        }
    }
}

/* Compares a gradient in f32, f16 or bf16 with that in f64. Each is a sum of products along chains of steps; an
 * element's error is below the number of roundings of a chain, times the greatest magnitudes. */
static void compare_gradient(const rnn_case *single, const rnn_case *exact, bp_rnn_tensor which) {
    const strided_tensor *t = &single->tensor[which];
    const rnn_shape *s = &single->shape;
    double greatest = 1;
    for (int64_t i = 0; t->memory && i < strided_elements(t); i++) {
        greatest = fmax(greatest, fabs(strided_get(&exact->tensor[which], i)));
    }
    /* The output that is read was rounded to 16 bits, for each step and item, and so is the gradient. */
    const double u = t->dtype == BP_F16 ? 0x1p-11 : t->dtype == BP_BF16 ? 0x1p-8 : 0;
    const double rounded = u * (double)(s->steps * s->batch + 8 * s->steps + 4);
    const double roundings = (double)(s->steps * (4 * s->hidden + s->projection + 20) + s->steps * s->batch + s->input);
    for (int64_t i = 0; t->memory && i < strided_elements(t); i++) {
        const double got = strided_get(t, i), want = strided_get(&exact->tensor[which], i);
        if (!(fabs(got - want) <= (roundings * 0x1p-24 + rounded) * greatest)) {
            fail_msg("%s: gradient %d, element %d: %.9g, and in f64 %.9g", single->text, (int)which, (int)i, got, want);
        }
    }
}

static void lower_precision_equals_double(void **state) {
    static const bp_dtype types[] = {BP_F32, BP_F16, BP_F32, BP_BF16};
    (void)state;
    strided_random = 47;
    for (int i = 0; i < reduced(PAIRS); i++) {
        rnn_case single, exact;
        rnn_shape shape = rnn_any(types[i / 2 % 4]);
        rnn_begin(&single, &shape, BP_RNN_TRAINING);
        shape.dtype = BP_F64;
        rnn_begin(&exact, &shape, BP_RNN_TRAINING);
        copy_numbers(&single, &exact, BP_RNN_INPUT, BP_RNN_LENGTHS);
        rnn_run(&single, i % 2 ? "" : "cpu.capability=avx2");
        rnn_run(&exact, "");
        rnn_turn(&single);
        rnn_turn(&exact);
        copy_numbers(&single, &exact, BP_RNN_OUTPUT_GRADIENT, BP_RNN_FINAL_CELL_GRADIENT);
        rnn_run(&single, i % 2 ? "" : "cpu.capability=avx2");
        rnn_run(&exact, "");
        for (int t = BP_RNN_INPUT_GRADIENT; t < BP_RNN_TENSORS && shape.mode != BP_RNN_RELU; t++) {
            compare_gradient(&single, &exact, (bp_rnn_tensor)t);
        }
        rnn_end(&single);
        rnn_end(&exact);
    }
}

static void threads_do_not_change_bits(void **state) {
    static const char *const threads[] = {"num_threads=2", "num_threads=3", "num_threads=7"};
    static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
    (void)state;
    strided_random = 48;
    for (int i = 0; i < reduced(16); i++) {
        rnn_shape shape = rnn_any(types[i % 4]);
        char *kept[BP_RNN_TENSORS] = {NULL};
        rnn_case c;
        shape.steps = 3;
        shape.hidden = strided_between(100, 160);
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
        cmocka_unit_test(gradients_are_slopes_of_the_loss),
        cmocka_unit_test(lower_precision_equals_double),
        cmocka_unit_test(threads_do_not_change_bits),
    };
    return cmocka_run_group_tests(tests, rnn_on_native, NULL);
}
