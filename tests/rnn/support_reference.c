/* support_reference.c - computes recurrent layers one element at a time, with bounds of the errors that rounding may
 * cause. u is half the distance of numbers next to 1; a sum of k products has an error of at most k + 2 times u times
 * the sum of their magnitudes. */
#include "rnn/cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* One direction. */
typedef struct layer {
    const rnn_case *c;
    int direction;
    int64_t gates, columns;
    double u;
} layer;

static long double element(const layer *l, bp_rnn_tensor which, int64_t i, int64_t j, int64_t k) {
    const strided_tensor *t = &l->c->tensor[which];
    const int ndim = t->view.tensor.ndim, omitted = l->c->shape.omit && which != BP_RNN_INPUT;
    const int64_t *shape = t->view.shape - omitted;
    int64_t at = omitted ? 0 : i;
    at = ndim + omitted > 1 ? at * shape[1] + j : at;
    at = ndim + omitted > 2 ? at * shape[2] + k : at;
    return t->memory ? (long double)strided_get(t, at) : 0;
}

static rnn_number exact(long double value) {
    return (rnn_number){value, 0};
}

static rnn_number plus(const layer *l, rnn_number a, rnn_number b) {
    const long double value = a.value + b.value;
    return (rnn_number){value, a.error + b.error + (fabsl(a.value) + fabsl(b.value)) * l->u};
}

static rnn_number times(const layer *l, rnn_number a, rnn_number b) {
    const long double value = a.value * b.value;
    return (rnn_number){value,
                        fabsl(a.value) * b.error + fabsl(b.value) * a.error + a.error * b.error + fabsl(value) * l->u};
}

/* The bounds of rnn.h. */
static rnn_number logistic(const layer *l, rnn_number x) {
    const long double value = 1 / (1 + expl(-x.value));
    return (rnn_number){value, x.error / 4 + value * 6 * l->u};
}

static rnn_number hyperbolic(const layer *l, rnn_number x) {
    const long double value = tanhl(x.value);
    return (rnn_number){value, x.error + fabsl(value) * 6 * l->u};
}

/* A row of weights times numbers. */
static rnn_number product(const layer *l, bp_rnn_tensor weight, int64_t row, int64_t count, const rnn_number *with) {
    rnn_number sum = {0, 0};
    long double magnitude = 0;
    for (int64_t k = 0; k < count; k++) {
        const long double w = element(l, weight, l->direction, row, k);
        sum.value += w * with[k].value;
        sum.error += fabsl(w) * with[k].error;
        magnitude += fabsl(w) * (fabsl(with[k].value) + with[k].error);
    }
    sum.error += magnitude * ((long double)count + 2) * l->u;
    return sum;
}

/* The input's part and the hidden state's part of a gate, with their biases. */
static void gate(const layer *l, int64_t g, int64_t unit, const rnn_number *x, const rnn_number *h,
                 rnn_number part[2]) {
    const rnn_shape *s = &l->c->shape;
    const int64_t row = g * s->hidden + unit;
    part[0] = plus(l, product(l, BP_RNN_WEIGHT_IH, row, s->input, x),
                   exact(element(l, BP_RNN_BIAS_IH, l->direction, row, 0)));
    part[1] = plus(l, product(l, BP_RNN_WEIGHT_HH, row, l->columns, h),
                   exact(element(l, BP_RNN_BIAS_HH, l->direction, row, 0)));
}

static rnn_number whole_gate(const layer *l, int64_t g, int64_t unit, const rnn_number *x, const rnn_number *h) {
    rnn_number part[2];
    gate(l, g, unit, x, h, part);
    return plus(l, part[0], part[1]);
}

/* Writes the hidden state after a step, before a projection. */
static void step(const layer *l, const rnn_number *x, const rnn_number *h, rnn_number *cell, rnn_number *after) {
    for (int64_t j = 0; j < l->c->shape.hidden; j++) {
        if (l->c->shape.mode == BP_RNN_LSTM) {
            const rnn_number i = logistic(l, whole_gate(l, 0, j, x, h)), f = logistic(l, whole_gate(l, 1, j, x, h)),
                             g = hyperbolic(l, whole_gate(l, 2, j, x, h)), o = logistic(l, whole_gate(l, 3, j, x, h));
            cell[j] = plus(l, times(l, f, cell[j]), times(l, i, g));
            after[j] = times(l, o, hyperbolic(l, cell[j]));
        } else if (l->c->shape.mode == BP_RNN_GRU) {
            rnn_number part[2];
            const rnn_number r = logistic(l, whole_gate(l, 0, j, x, h)), z = logistic(l, whole_gate(l, 1, j, x, h));
            gate(l, 2, j, x, h, part);
            const rnn_number n = hyperbolic(l, plus(l, part[0], times(l, r, part[1])));
            const rnn_number minus = {-n.value, n.error};
            after[j] = plus(l, n, times(l, z, plus(l, h[j], minus)));
        } else {
            const rnn_number sum = whole_gate(l, 0, j, x, h);
            after[j] = l->c->shape.mode == BP_RNN_TANH ? hyperbolic(l, sum)
                                                       : (rnn_number){sum.value < 0 ? 0 : sum.value, sum.error};
        }
    }
}

static int64_t length_of(const rnn_case *c, int64_t item) {
    const strided_tensor *t = &c->tensor[BP_RNN_LENGTHS];
    return t->memory ? (int64_t)strided_get(t, item) : c->shape.steps;
}

/* Computes an item in one direction. `rows` are numbers for x, h, the cell and the state after a step. */
static void run_item(const layer *l, int64_t item, rnn_number *rows[4], rnn_number *output) {
    const rnn_shape *s = &l->c->shape;
    rnn_number *x = rows[0], *h = rows[1], *cell = rows[2], *after = rows[3];
    const int64_t length = length_of(l->c, item), all = s->directions * l->columns;
    for (int64_t j = 0; j < l->columns; j++) {
        h[j] = exact(element(l, BP_RNN_INITIAL_HIDDEN, l->direction, item, j));
    }
    for (int64_t j = 0; j < s->hidden; j++) {
        cell[j] = exact(element(l, BP_RNN_INITIAL_CELL, l->direction, item, j));
    }
    for (int64_t i = 0; i < s->steps; i++) {
        const int64_t t = s->reverse || l->direction ? s->steps - 1 - i : i;
        rnn_number *to = output + (t * s->batch + item) * all + l->direction * l->columns;
        if (t >= length) {
            for (int64_t j = 0; j < l->columns; j++) {
                to[j] = exact(0);
            }
            continue;
        }
        for (int64_t k = 0; k < s->input; k++) {
            x[k] = exact(element(l, BP_RNN_INPUT, t, item, k));
        }
        step(l, x, h, cell, after);
        for (int64_t j = 0; j < l->columns; j++) {
            h[j] = s->projection ? product(l, BP_RNN_WEIGHT_HR, j, s->hidden, after) : after[j];
            to[j] = h[j];
        }
    }
}

void rnn_reference(const rnn_case *c, rnn_number *output, rnn_number *hidden, rnn_number *cell) {
    static const int64_t gates[] = {1, 1, 4, 3};
    const rnn_shape *s = &c->shape;
    const int64_t longest = (s->hidden > s->input ? s->hidden : s->input) + s->projection;
    rnn_number *memory = malloc(4 * (size_t)longest * sizeof *memory);
    assert_non_null(memory);
    rnn_number *rows[] = {memory, memory + longest, memory + 2 * longest, memory + 3 * longest};
    for (int d = 0; d < s->directions; d++) {
        const layer l = {.c = c,
                         .direction = d,
                         .gates = gates[s->mode],
                         .columns = s->projection ? s->projection : s->hidden,
                         .u = s->dtype == BP_F64 ? 0x1p-53 : 0x1p-24};
        for (int64_t item = 0; item < s->batch; item++) {
            run_item(&l, item, rows, output);
            for (int64_t j = 0; hidden && j < l.columns; j++) {
                hidden[(d * s->batch + item) * l.columns + j] = rows[1][j];
            }
            for (int64_t j = 0; cell && j < s->hidden; j++) {
                cell[(d * s->batch + item) * s->hidden + j] = rows[2][j];
            }
        }
    }
    free(memory);
}

/* Results of 16-bit types are rounded once, from f32; f16 has denormal numbers within the range of the results. */
static long double rounding(bp_dtype dtype, const rnn_number *want) {
    const long double most = fabsl(want->value) + want->error;
    return dtype == BP_F16 ? most * 0x1p-11L + 0x1p-25L : dtype == BP_BF16 ? most * 0x1p-8L : 0;
}

static void compare(const rnn_case *c, bp_rnn_tensor which, const char *name, const rnn_number *want) {
    const strided_tensor *t = &c->tensor[which];
    const int64_t count = t->memory ? strided_elements(t) : 0;
    for (int64_t i = 0; i < count; i++) {
        const double got = strided_get(t, i),
                     bound = (double)(want[i].error * 1.01 + rounding(t->dtype, &want[i])) + 1e-37;
        if (!(fabsl((long double)got - want[i].value) <= (long double)bound)) {
            fail_msg("%s: %s, element %d of %d: %.9g, want %.9g, error %.3g, bound %.3g", c->text, name, (int)i,
                     (int)count, got, (double)want[i].value, got - (double)want[i].value, bound);
        }
    }
    if (t->memory) {
        strided_check_gaps(t, c->text);
    }
}

void rnn_compare(const rnn_case *c) {
    const rnn_shape *s = &c->shape;
    const size_t columns = (size_t)(s->projection ? s->projection : s->hidden), batch = (size_t)s->batch;
    const size_t directions = (size_t)s->directions;
    rnn_number *output = calloc((size_t)s->steps * batch * directions * columns + 1, sizeof *output),
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
