/* rnn.c - computes recurrent layers one element at a time, with bounds of the errors that rounding may cause. */
#include "reference/rnn.h"

#include "reference/results.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { INPUT, WEIGHT_IH, WEIGHT_HH, WEIGHT_HR, BIAS_IH, BIAS_HH, HIDDEN, CELL, TENSORS };

typedef reference_number number;

typedef struct layer {
    bp_rnn_mode mode;
    bool reverse;
    int64_t steps, batch, input, hidden, output; /* output: columns of one direction */
    int64_t rows, directions, direction, item;
    long double unit;
    wide_tensor tensor[TENSORS]; /* data NULL: absent */
    wholes lengths;
    number *x, *h, *cell, *after;
} layer;

/* ---- Numbers ---- */

/* Returns the error, or NaN if a number of this size may overflow in the type of the computation: infinities of two
 * signs may meet there, and then nothing is known of all that follows. */
static long double unless_overflow(const layer *l, long double error, long double size) {
    return size + error < (l->unit < 0x1p-24L ? (long double)DBL_MAX : (long double)FLT_MAX) ? error : (long double)NAN;
}

static number sum_of(const layer *l, number a, number b) {
    const long double size = fabsl(a.value) + fabsl(b.value);
    return (number){a.value + b.value, unless_overflow(l, a.error + b.error + size * l->unit, size)};
}

static number product_of(const layer *l, number a, number b) {
    const long double value = a.value * b.value;
    const long double error =
        fabsl(a.value) * b.error + fabsl(b.value) * a.error + a.error * b.error + fabsl(value) * l->unit;
    return (number){value, unless_overflow(l, error, fabsl(value))};
}

/* Limits the error of a number whose size, exact or computed, is at most `most`. Without it, bounds would be squared in
 * each step of a layer, and would soon be infinite. */
static number within(number x, long double most) {
    return (number){x.value, isnan(x.error) ? x.error : fminl(x.error, fabsl(x.value) + most)};
}

static number logistic(const layer *l, number x) {
    const long double value = 1 / (1 + expl(-x.value));
    return within((number){value, x.error / 4 + 6 * value * l->unit}, 1);
}

static number hyperbolic(const layer *l, number x) {
    const long double value = tanhl(x.value);
    return within((number){value, x.error + 6 * fabsl(value) * l->unit}, 1);
}

/* ---- Steps ---- */

static number at(const layer *l, int tensor, int64_t index) {
    const double *data = l->tensor[tensor].data;
    return (number){data ? (long double)data[index] : 0, 0};
}

/* A row of a direction's weights times numbers. */
static number row_of(const layer *l, int tensor, int64_t rows, int64_t row, int64_t count, const number *with) {
    const double *weights = l->tensor[tensor].data + (l->direction * rows + row) * count;
    number sum = {0, 0};
    long double magnitude = 0;
    for (int64_t k = 0; k < count; k++) {
        const long double w = (long double)weights[k];
        sum.value += w * with[k].value;
        sum.error += fabsl(w) * with[k].error;
        magnitude += fabsl(w) * (fabsl(with[k].value) + with[k].error);
    }
    sum.error = unless_overflow(l, sum.error + magnitude * (long double)(count + 2) * l->unit, magnitude);
    return sum;
}

static number gate(const layer *l, int64_t g, int64_t unit, bool recurrent) {
    const int64_t row = g * l->hidden + unit;
    const number bias = at(l, recurrent ? BIAS_HH : BIAS_IH, l->direction * l->rows + row);
    return sum_of(l,
                  recurrent ? row_of(l, WEIGHT_HH, l->rows, row, l->output, l->h)
                            : row_of(l, WEIGHT_IH, l->rows, row, l->input, l->x),
                  bias);
}

static number whole_gate(const layer *l, int64_t g, int64_t unit) {
    return sum_of(l, gate(l, g, unit, false), gate(l, g, unit, true));
}

/* Returns the hidden state of unit j after `taken` steps. A step adds at most 1 to the size of an LSTM's cell, and a
 * state of a GRU is between its old one and a number from -1 to 1; the limits allow for rounding. */
static number unit_after(const layer *l, int64_t taken, int64_t j) {
    const int64_t first = (l->direction * l->batch + l->item) * l->hidden + j;
    if (l->mode == BP_RNN_LSTM) {
        const number i = logistic(l, whole_gate(l, 0, j)), f = logistic(l, whole_gate(l, 1, j)),
                     g = hyperbolic(l, whole_gate(l, 2, j)), o = logistic(l, whole_gate(l, 3, j));
        l->cell[j] = within(sum_of(l, product_of(l, f, l->cell[j]), product_of(l, i, g)),
                            fabsl(at(l, CELL, first).value) + 2 * (long double)taken);
        return product_of(l, o, hyperbolic(l, l->cell[j]));
    }
    if (l->mode == BP_RNN_GRU) {
        const number r = logistic(l, whole_gate(l, 0, j)), z = logistic(l, whole_gate(l, 1, j));
        const number n = hyperbolic(l, sum_of(l, gate(l, 2, j, false), product_of(l, r, gate(l, 2, j, true))));
        return within(sum_of(l, n, product_of(l, z, sum_of(l, l->h[j], (number){-n.value, n.error}))),
                      fabsl(at(l, HIDDEN, first).value) + 2);
    }
    const number sum = whole_gate(l, 0, j);
    return l->mode == BP_RNN_TANH ? hyperbolic(l, sum) : (number){sum.value < 0 ? 0 : sum.value, sum.error};
}

/* Computes one step, and writes the columns of its output. */
static void take_step(const layer *l, int64_t taken, int64_t step, number *to) {
    const int64_t row = step * l->batch + l->item;
    for (int64_t k = 0; k < l->input; k++) {
        l->x[k] = at(l, INPUT, row * l->input + k);
    }
    for (int64_t j = 0; j < l->hidden; j++) {
        l->after[j] = unit_after(l, taken, j);
    }
    for (int64_t j = 0; j < l->output; j++) {
        l->h[j] = l->tensor[WEIGHT_HR].data ? row_of(l, WEIGHT_HR, l->output, j, l->hidden, l->after) : l->after[j];
        to[j] = l->h[j];
    }
}

/* Computes an item in one direction. */
static void set_item(const layer *l, number *output) {
    const int64_t state = l->direction * l->batch + l->item;
    const int64_t length = l->lengths.data ? l->lengths.data[l->item] : l->steps;
    for (int64_t j = 0; j < l->output; j++) {
        l->h[j] = at(l, HIDDEN, state * l->output + j);
    }
    for (int64_t j = 0; j < l->hidden; j++) {
        l->cell[j] = at(l, CELL, state * l->hidden + j);
    }
    for (int64_t i = 0; i < l->steps; i++) {
        const int64_t step = l->reverse || l->direction == 1 ? l->steps - 1 - i : i;
        number *to = output + ((step * l->batch + l->item) * l->directions + l->direction) * l->output;
        if (step < length) {
            take_step(l, i + 1, step, to);
            continue;
        }
        for (int64_t j = 0; j < l->output; j++) {
            to[j] = (number){0, 0};
        }
    }
}

/* ---- The layer ---- */

static bp_status open_layer(layer *l, const bp_rnn_call *call) {
    const DLTensor *const tensors[TENSORS] = {call->input,   call->weight_ih, call->weight_hh,      call->weight_hr,
                                              call->bias_ih, call->bias_hh,   call->initial_hidden, call->initial_cell};
    const DLTensor *hh = call->weight_hh;
    const int64_t gates = call->mode == BP_RNN_LSTM ? 4 : call->mode == BP_RNN_GRU ? 3 : 1;
    l->mode = call->mode;
    l->reverse = call->reverse != 0;
    l->steps = call->input->shape[0];
    l->batch = call->input->shape[1];
    l->input = call->input->shape[2];
    l->output = hh->shape[hh->ndim - 1];
    l->rows = hh->shape[hh->ndim - 2];
    l->directions = call->directions == 2 ? 2 : 1;
    l->hidden = l->rows / gates;
    bp_status status = call->lengths ? wholes_make(&l->lengths, call->lengths) : BP_OK;
    for (int i = 0; i < TENSORS && status == BP_OK; i++) {
        status = tensors[i] ? wide_make(&l->tensor[i], tensors[i], false) : BP_OK;
    }
    l->x = malloc((size_t)(l->input + l->output + 2 * l->hidden + 1) * sizeof *l->x);
    if (!l->x) {
        return BP_E_NO_MEMORY;
    }
    l->h = l->x + l->input;
    l->cell = l->h + l->output;
    l->after = l->cell + l->hidden;
    return status;
}

static void close_layer(layer *l) {
    free(l->x);
    wholes_free(&l->lengths);
    for (int i = 0; i < TENSORS; i++) {
        wide_free(&l->tensor[i]);
    }
}

bp_status reference_rnn(const bp_rnn_call *call, long double unit, reference_number *output, reference_number *hidden,
                        reference_number *cell) {
    layer l = {.unit = unit};
    const bp_status status = open_layer(&l, call);
    for (int64_t i = 0; status == BP_OK && i < l.directions * l.batch; i++) {
        l.direction = i / l.batch;
        l.item = i % l.batch;
        set_item(&l, output);
        for (int64_t j = 0; hidden && j < l.output; j++) {
            hidden[i * l.output + j] = l.h[j];
        }
        for (int64_t j = 0; cell && j < l.hidden; j++) {
            cell[i * l.hidden + j] = l.cell[j];
        }
    }
    close_layer(&l);
    return status;
}

/* ---- Results ---- */

static double work_of(const bp_rnn_call *call) {
    const DLTensor *hh = call->weight_hh;
    const int64_t columns = hh->shape[hh->ndim - 1], rows = hh->shape[hh->ndim - 2];
    return (double)call->input->shape[0] * (double)call->input->shape[1] * (hh->ndim == 3 ? (double)hh->shape[0] : 1) *
           ((double)rows * (double)(call->input->shape[2] + columns) + (double)rows);
}

/* Computes all results, if that takes about a second: each element depends on all earlier ones. The reserve is private
 * to the library. */
bp_status reference_of_rnn(reference_results *made, const bp_rnn_call *call) {
    static const char *const names[] = {"output", "final_hidden", "final_cell"};
    const DLTensor *const tensors[] = {call->output, call->final_hidden, call->final_cell};
    reference_number *numbers[3];
    *made = (reference_results){.count = 0};
    if (call->pass == BP_RNN_BACKWARD || work_of(call) > (double)REFERENCE_MOST_WORK) {
        return BP_OK;
    }
    bp_status status = BP_OK;
    for (int i = 0; i < 3; i++) {
        numbers[i] = tensors[i] || i == 0 ? reference_numbers(reference_count(tensors[i])) : NULL;
        status = (tensors[i] || i == 0) && !numbers[i] ? BP_E_NO_MEMORY : status;
    }
    const long double unit = (long double)reference_sum_unit(bp_dtype_from_dlpack(call->input->dtype));
    status = status == BP_OK ? reference_rnn(call, unit, numbers[0], numbers[1], numbers[2]) : status;
    for (int i = 0; i < 3; i++) {
        status = status == BP_OK && tensors[i] ? reference_add_numbers(made, names[i], tensors[i], numbers[i]) : status;
        free(numbers[i]);
    }
    for (int i = 0; i < made->count; i++) {
        made->of[i].values.measure = REFERENCE_SUMS;
    }
    return status;
}
