/* rnn.c - computes recurrent layers one element at a time, with bounds of the errors that rounding may cause. */
#include "reference/rnn.h"

#include "reference/results.h"
#include "reference/rnn_layer.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef reference_number number;

/* ---- Numbers ---- */

/* Infinities of two signs may meet after an overflow, and then nothing is known of all that follows. */
long double layer_error(const layer *l, long double error, long double size) {
    return size + error < (l->unit < 0x1p-24L ? (long double)DBL_MAX : (long double)FLT_MAX) ? error : (long double)NAN;
}

number layer_sum(const layer *l, number a, number b) {
    const long double size = fabsl(a.value) + fabsl(b.value);
    return (number){a.value + b.value, layer_error(l, a.error + b.error + size * l->unit, size)};
}

number layer_product(const layer *l, number a, number b) {
    const long double value = a.value * b.value;
    const long double error =
        fabsl(a.value) * b.error + fabsl(b.value) * a.error + a.error * b.error + fabsl(value) * l->unit;
    return (number){value, layer_error(l, error, fabsl(value))};
}

/* Limits the error of a number whose size, exact or computed, is at most `most`. Without it, bounds would be squared in
 * each step of a layer, and would soon be infinite. */
static number with_error_limited(number x, long double most) {
    return (number){x.value, isnan(x.error) ? x.error : fminl(x.error, fabsl(x.value) + most)};
}

static number logistic(const layer *l, number x) {
    const long double value = 1 / (1 + expl(-x.value));
    return with_error_limited((number){value, x.error / 4 + 6 * value * l->unit}, 1);
}

number layer_tanh(const layer *l, number x) {
    const long double value = tanhl(x.value);
    return with_error_limited((number){value, x.error + 6 * fabsl(value) * l->unit}, 1);
}

/* ---- Steps ---- */

number layer_at(const layer *l, int tensor, int64_t index) {
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
    sum.error = layer_error(l, sum.error + magnitude * (long double)(count + 2) * l->unit, magnitude);
    return sum;
}

/* The part of a gate that follows from states; NULL: from the input. */
static number gate(const layer *l, int64_t g, int64_t unit, const number *states) {
    const int64_t row = g * l->hidden + unit;
    const number bias = layer_at(l, states ? LAYER_BIAS_HH : LAYER_BIAS_IH, l->direction * l->rows + row);
    return layer_sum(l,
                     states ? row_of(l, LAYER_WEIGHT_HH, l->rows, row, l->output, states)
                            : row_of(l, LAYER_WEIGHT_IH, l->rows, row, l->input, l->x),
                     bias);
}

static number whole_gate(const layer *l, int64_t g, int64_t unit) {
    return layer_sum(l, gate(l, g, unit, NULL), gate(l, g, unit, l->h));
}

/* Returns the hidden state of unit j after `taken` steps. A step adds at most 1 to the size of an LSTM's cell, and a
 * state of a GRU is between its old one and a number from -1 to 1; the limits allow for rounding. */
static number unit_after(const layer *l, int64_t taken, int64_t j) {
    const int64_t first = (l->direction * l->batch + l->item) * l->hidden + j;
    number *gates = l->gates + LAYER_GATES * j;
    if (l->mode == BP_RNN_LSTM) {
        const number i = gates[0] = logistic(l, whole_gate(l, 0, j)), f = gates[1] = logistic(l, whole_gate(l, 1, j)),
                     g = gates[2] = layer_tanh(l, whole_gate(l, 2, j)), o = gates[3] = logistic(l, whole_gate(l, 3, j));
        l->cell[j] = with_error_limited(layer_sum(l, layer_product(l, f, l->cell[j]), layer_product(l, i, g)),
                                        fabsl(layer_at(l, LAYER_CELL, first).value) + 2 * (long double)taken);
        return layer_product(l, o, layer_tanh(l, l->cell[j]));
    }
    if (l->mode == BP_RNN_GRU) {
        const number r = gates[0] = logistic(l, whole_gate(l, 0, j)), z = gates[1] = logistic(l, whole_gate(l, 1, j));
        const number part = gate(l, 2, j, l->reset_before ? l->reset : l->h);
        gates[3] = l->reset_before ? l->reset[j] : part;
        const number n = gates[2] =
            layer_tanh(l, layer_sum(l, gate(l, 2, j, NULL), l->reset_before ? part : layer_product(l, r, part)));
        return with_error_limited(
            layer_sum(l, n, layer_product(l, z, layer_sum(l, l->h[j], (number){-n.value, n.error}))),
            fabsl(layer_at(l, LAYER_HIDDEN, first).value) + 2);
    }
    const number sum = whole_gate(l, 0, j);
    return l->mode == BP_RNN_TANH ? layer_tanh(l, sum) : (number){sum.value < 0 ? 0 : sum.value, sum.error};
}

void layer_take_step(const layer *l, int64_t taken, int64_t step, number *to) {
    const int64_t row = step * l->batch + l->item;
    for (int64_t k = 0; k < l->input; k++) {
        l->x[k] = layer_at(l, LAYER_INPUT, row * l->input + k);
    }
    for (int64_t j = 0; j < l->hidden && l->reset_before; j++) {
        l->reset[j] = layer_product(l, logistic(l, whole_gate(l, 0, j)), l->h[j]);
    }
    for (int64_t j = 0; j < l->hidden; j++) {
        l->after[j] = unit_after(l, taken, j);
    }
    for (int64_t j = 0; j < l->output; j++) {
        l->h[j] = l->tensor[LAYER_WEIGHT_HR].data ? row_of(l, LAYER_WEIGHT_HR, l->output, j, l->hidden, l->after)
                                                  : l->after[j];
        to[j] = l->h[j];
    }
}

int64_t layer_length(const layer *l) {
    return l->lengths.data ? l->lengths.data[l->item] : l->steps;
}

int64_t layer_step(const layer *l, int64_t i) {
    return l->reverse || l->direction == 1 ? l->steps - 1 - i : i;
}

void layer_begin_item(const layer *l) {
    const int64_t state = l->direction * l->batch + l->item;
    for (int64_t j = 0; j < l->output; j++) {
        l->h[j] = layer_at(l, LAYER_HIDDEN, state * l->output + j);
    }
    for (int64_t j = 0; j < l->hidden; j++) {
        l->cell[j] = layer_at(l, LAYER_CELL, state * l->hidden + j);
    }
}

/* Computes an item in one direction. */
static void set_item(const layer *l, number *output) {
    const int64_t length = layer_length(l);
    layer_begin_item(l);
    for (int64_t i = 0; i < l->steps; i++) {
        const int64_t step = layer_step(l, i);
        number *to = output + layer_output(l, step);
        if (step < length) {
            layer_take_step(l, i + 1, step, to);
            continue;
        }
        for (int64_t j = 0; j < l->output; j++) {
            to[j] = (number){0, 0};
        }
    }
}

/* ---- The layer ---- */

bp_status layer_open(layer *l, const bp_rnn_call *call) {
    const DLTensor *const tensors[LAYER_TENSORS] = {call->input,          call->weight_ih,   call->weight_hh,
                                                    call->weight_hr,      call->bias_ih,     call->bias_hh,
                                                    call->initial_hidden, call->initial_cell};
    const DLTensor *hh = call->weight_hh;
    const int64_t gates = call->mode == BP_RNN_LSTM ? 4 : call->mode == BP_RNN_GRU ? 3 : 1;
    l->mode = call->mode;
    l->reverse = call->reverse != 0;
    l->reset_before = call->reset_before != 0;
    l->steps = call->input->shape[0];
    l->batch = call->input->shape[1];
    l->input = call->input->shape[2];
    l->output = hh->shape[hh->ndim - 1];
    l->rows = hh->shape[hh->ndim - 2];
    l->directions = call->directions == 2 ? 2 : 1;
    l->hidden = l->rows / gates;
    bp_status status = call->lengths ? wholes_make(&l->lengths, call->lengths) : BP_OK;
    for (int i = 0; i < LAYER_TENSORS && status == BP_OK; i++) {
        status = tensors[i] ? wide_make(&l->tensor[i], tensors[i], false) : BP_OK;
    }
    l->x = malloc((size_t)(l->input + l->output + (3 + LAYER_GATES) * l->hidden + 1) * sizeof *l->x);
    if (!l->x) {
        return BP_E_NO_MEMORY;
    }
    l->h = l->x + l->input;
    l->cell = l->h + l->output;
    l->after = l->cell + l->hidden;
    l->reset = l->after + l->hidden;
    l->gates = l->reset + l->hidden;
    return status;
}

void layer_close(layer *l) {
    free(l->x);
    wholes_free(&l->lengths);
    for (int i = 0; i < LAYER_TENSORS; i++) {
        wide_free(&l->tensor[i]);
    }
}

bp_status reference_rnn(const bp_rnn_call *call, long double unit, reference_number *output, reference_number *hidden,
                        reference_number *cell) {
    layer l = {.unit = unit};
    const bp_status status = layer_open(&l, call);
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
    layer_close(&l);
    return status;
}

/* ---- Results ---- */

/* Gradients take about as many products as the layer three times, and keep numbers for each gate of each step. */
static double work_of(const bp_rnn_call *call) {
    const DLTensor *hh = call->weight_hh;
    const int64_t columns = hh->shape[hh->ndim - 1], rows = hh->shape[hh->ndim - 2],
                  more = call->pass == BP_RNN_BACKWARD ? 8 : 1;
    return (double)call->input->shape[0] * (double)call->input->shape[1] * (hh->ndim == 3 ? (double)hh->shape[0] : 1) *
           (double)rows * (double)(call->input->shape[2] + columns + more);
}

/* Computes all results, if that takes about a second: each element depends on all earlier ones. The reserve is private
 * to the library. */
bp_status reference_of_rnn(reference_results *made, const bp_rnn_call *call) {
    static const char *const names[] = {"output", "final_hidden", "final_cell"};
    const DLTensor *const tensors[] = {call->output, call->final_hidden, call->final_cell};
    reference_number *numbers[3];
    *made = (reference_results){.count = 0};
    if (work_of(call) > (double)REFERENCE_MOST_WORK) {
        return BP_OK;
    }
    if (call->pass == BP_RNN_BACKWARD) {
        return reference_rnn_gradients(made, call);
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
