/* check_rnn.c - checks the results of recurrent layers, for compare. The output is computed from the definition in
 * rnn.h, in long double, together with what rounding errors of each element are proportional to. */
#include "operations.h"

#include <math.h>
#include <stdlib.h>

enum { INPUT, WEIGHT_IH, WEIGHT_HH, WEIGHT_HR, BIAS_IH, BIAS_HH, HIDDEN, CELL, TENSORS };

/* A number, and how much its rounding errors may be, in roundings. */
typedef struct number {
    long double value, error;
} number;

typedef struct layer {
    bp_rnn_mode mode;
    bool reverse;
    int64_t steps, batch, input, hidden, output; /* output: columns of one direction */
    int64_t rows, directions, direction, item;
    wide tensor[TENSORS]; /* data NULL: absent */
    number *x, *h, *cell, *after;
} layer;

/* ---- Numbers ---- */

static number sum_of(number a, number b) {
    return (number){a.value + b.value, a.error + b.error + fabsl(a.value) + fabsl(b.value)};
}

static number product_of(number a, number b) {
    return (number){a.value * b.value, fabsl(a.value) * b.error + fabsl(b.value) * a.error + fabsl(a.value * b.value)};
}

static number logistic(number x) {
    const long double value = 1 / (1 + expl(-x.value));
    return (number){value, x.error / 4 + 6 * value};
}

static number hyperbolic(number x) {
    const long double value = tanhl(x.value);
    return (number){value, x.error + 6 * fabsl(value)};
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
    for (int64_t k = 0; k < count; k++) {
        const long double w = (long double)weights[k], term = w * with[k].value;
        sum.value += term;
        sum.error += fabsl(w) * with[k].error + fabsl(term) * (long double)(count + 2);
    }
    return sum;
}

static number gate(const layer *l, int64_t g, int64_t unit, bool recurrent) {
    const int64_t row = g * l->hidden + unit;
    const number bias = at(l, recurrent ? BIAS_HH : BIAS_IH, l->direction * l->rows + row);
    return sum_of(recurrent ? row_of(l, WEIGHT_HH, l->rows, row, l->output, l->h)
                            : row_of(l, WEIGHT_IH, l->rows, row, l->input, l->x),
                  bias);
}

static number whole_gate(const layer *l, int64_t g, int64_t unit) {
    return sum_of(gate(l, g, unit, false), gate(l, g, unit, true));
}

static number unit_after(const layer *l, int64_t j) {
    if (l->mode == BP_RNN_LSTM) {
        const number i = logistic(whole_gate(l, 0, j)), f = logistic(whole_gate(l, 1, j)),
                     g = hyperbolic(whole_gate(l, 2, j)), o = logistic(whole_gate(l, 3, j));
        l->cell[j] = sum_of(product_of(f, l->cell[j]), product_of(i, g));
        return product_of(o, hyperbolic(l->cell[j]));
    }
    if (l->mode == BP_RNN_GRU) {
        const number r = logistic(whole_gate(l, 0, j)), z = logistic(whole_gate(l, 1, j));
        const number n = hyperbolic(sum_of(gate(l, 2, j, false), product_of(r, gate(l, 2, j, true))));
        return sum_of(n, product_of(z, sum_of(l->h[j], (number){-n.value, n.error})));
    }
    const number sum = whole_gate(l, 0, j);
    return l->mode == BP_RNN_TANH ? hyperbolic(sum) : (number){sum.value < 0 ? 0 : sum.value, sum.error};
}

/* Computes an item in one direction. */
static void set_item(const layer *l, reference *values) {
    const int64_t state = l->direction * l->batch + l->item;
    for (int64_t j = 0; j < l->output; j++) {
        l->h[j] = at(l, HIDDEN, state * l->output + j);
    }
    for (int64_t j = 0; j < l->hidden; j++) {
        l->cell[j] = at(l, CELL, state * l->hidden + j);
    }
    for (int64_t i = 0; i < l->steps; i++) {
        const int64_t step = l->reverse || l->direction == 1 ? l->steps - 1 - i : i, row = step * l->batch + l->item;
        for (int64_t k = 0; k < l->input; k++) {
            l->x[k] = at(l, INPUT, row * l->input + k);
        }
        for (int64_t j = 0; j < l->hidden; j++) {
            l->after[j] = unit_after(l, j);
        }
        for (int64_t j = 0; j < l->output; j++) {
            l->h[j] = l->tensor[WEIGHT_HR].data ? row_of(l, WEIGHT_HR, l->output, j, l->hidden, l->after) : l->after[j];
            reference_value *value = &values->values[(row * l->directions + l->direction) * l->output + j];
            value->re = (double)l->h[j].value;
            value->im = 0;
            value->scale = (double)l->h[j].error;
        }
    }
}

/* ---- The check ---- */

static bp_status open_layer(layer *l, const bp_rnn_call *call) {
    const DLTensor *const tensors[TENSORS] = {call->input,   call->weight_ih, call->weight_hh,      call->weight_hr,
                                              call->bias_ih, call->bias_hh,   call->initial_hidden, call->initial_cell};
    const DLTensor *hh = call->weight_hh;
    const int64_t gates = call->mode == BP_RNN_LSTM ? 4 : call->mode == BP_RNN_GRU ? 3 : 1;
    *l = (layer){.mode = call->mode,
                 .reverse = call->reverse != 0,
                 .steps = call->input->shape[0],
                 .batch = call->input->shape[1],
                 .input = call->input->shape[2],
                 .output = hh->shape[hh->ndim - 1],
                 .rows = hh->shape[hh->ndim - 2],
                 .directions = call->directions};
    l->hidden = l->rows / gates;
    bp_status status = BP_OK;
    for (int i = 0; i < TENSORS && status == BP_OK; i++) {
        status = tensors[i] ? wide_make(&l->tensor[i], tensors[i], false) : BP_OK;
    }
    const int64_t sizes = l->input + l->output + 2 * l->hidden;
    l->x = cli_allocate((size_t)(sizes + 1) * sizeof *l->x);
    l->h = l->x + l->input;
    l->cell = l->h + l->output;
    l->after = l->cell + l->hidden;
    return status;
}

static void close_layer(layer *l) {
    free(l->x);
    for (int i = 0; i < TENSORS; i++) {
        wide_free(&l->tensor[i]);
    }
}

/* Checks the output, if it can be computed in about a second: each element depends on all earlier ones. The states are
 * not checked. */
bp_status check_rnn(cli_check *check, const cli_job *job) {
    const DLTensor *out = &job->results[0].tensor;
    layer l;
    check_nothing(check);
    bp_status status = open_layer(&l, &job->words.described.of.rnn);
    const int64_t work = l.rows * (l.input + l.output) / (l.output > 0 ? l.output : 1) + l.hidden;
    status = status == BP_OK ? reference_begin(&check->values, out, work, 0) : status;
    const bool all = check->values.count == check->values.total;
    if (status == BP_OK && all) {
        check->values.terms = 1; /* the scales count the roundings */
        for (int64_t i = 0; i < l.directions * l.batch; i++) {
            l.direction = i / l.batch;
            l.item = i % l.batch;
            set_item(&l, &check->values);
        }
    }
    close_layer(&l);
    if (status != BP_OK || all) {
        return status == BP_OK ? check_with_reference(check, job,
                                                      "the largest |output - reference| / roundings that it can "
                                                      "contain; the reference is computed in long double")
                               : status;
    }
    reference_free(&check->values);
    check->values = (reference){.count = 0};
    return BP_OK;
}
