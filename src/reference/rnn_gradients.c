/* rnn_gradients.c - computes the gradients of recurrent layers, with bounds of the errors that rounding may cause.
 *
 * The gates of a step are computed again, because `reserve` is private to the library that wrote it. Where the output
 * has all digits of the states, a step begins with the output of the step before, as the library's step did, so that
 * errors do not add up over the steps. The gradients by the gates of all steps are kept; the gradients by weights,
 * biases and input are sums of products with them.
 */
#include "reference/rnn_layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef reference_number number;

/* A direction has a row of `rows`, `output` or `hidden` numbers for each step and item, in this order. Numbers of steps
 * that an item does not have are not used. */
typedef struct gradients {
    layer l;
    const bp_rnn_call *call;
    bool rounds;                                     /* the output has not all digits of the states */
    wide_tensor output, by_output, by_final[2];      /* by_final: hidden state, cell */
    number *saved, *before, *after;                  /* of one item: gates, and cells before and after each step */
    number *slopes, *recurrent;                      /* by gates, and by their recurrent parts */
    number *projected, *states;                      /* by the state after the projection; the state before it, or with
                                                      * reset_before what n's rows of weight_hh are multiplied by */
    number *by_hidden, *by_cell, *by_state, *by_old; /* by the state of the item; by that before the projection */
    number *first[2];                                /* by the initial states of all items */
    number *forward;                                 /* the output */
} gradients;

/* ---- Numbers ---- */

typedef struct total {
    number of;
    long double size;
    int64_t terms;
} total;

static void add(total *t, number a, number b) {
    const long double x = fabsl(a.value), y = fabsl(b.value);
    t->of.value += a.value * b.value;
    t->of.error += x * b.error + y * a.error + a.error * b.error;
    t->size += (x + a.error) * (y + b.error);
    t->terms++;
}

/* A sum of k products has an error of at most k + 2 units of the sum of their magnitudes. */
static number end(const layer *l, const total *t) {
    const long double rounding = t->size * (long double)(t->terms + 2) * l->unit;
    return (number){t->of.value, layer_error(l, t->of.error + rounding, t->size)};
}

static number exact_number(double value) {
    return (number){(long double)value, 0};
}

static number subtracted(const layer *l, number a, number b) {
    return layer_sum(l, a, (number){-b.value, b.error});
}

/* The derivative of the logistic function, from its value x: x - x^2 or x (1 - x). */
static number logistic_slope(const layer *l, number x) {
    return (number){x.value - x.value * x.value,
                    fabsl(1 - 2 * x.value) * x.error + x.error * x.error + 4 * fabsl(x.value) * l->unit};
}

/* The derivative of the hyperbolic tangent, from its value x: 1 - x^2. */
static number tanh_slope(const layer *l, number x) {
    const long double square = x.value * x.value;
    return (number){1 - square,
                    2 * fabsl(x.value) * x.error + x.error * x.error + 2 * (fabsl(1 - square) + square) * l->unit};
}

/* ---- The steps, in their order ---- */

static int64_t row_of(const layer *l, int64_t step) {
    return (l->direction * l->steps + step) * l->batch + l->item;
}

static int64_t state_of(const layer *l) {
    return l->direction * l->batch + l->item;
}

/* Returns the state that the step has taken from the step before: number `i` of the steps. */
static number state_before(const gradients *g, int64_t i, int64_t column) {
    const layer *l = &g->l;
    const int64_t before = i > 0 ? layer_step(l, i - 1) : -1;
    return before < 0 || before >= layer_length(l) ? layer_at(l, LAYER_HIDDEN, state_of(l) * l->output + column)
                                                   : exact_number(g->output.data[layer_output(l, before) + column]);
}

static void copy(number *to, const number *from, int64_t count) {
    memcpy(to, from, (size_t)count * sizeof *to);
}

/* The output of steps that an item does not have is not read. */
static void forget_output(gradients *g, int64_t step) {
    for (int64_t j = 0; j < g->l.output; j++) {
        g->forward[layer_output(&g->l, step) + j].error = HUGE_VALL;
    }
}

/* Computes the gates of the item's steps. Layers without gates need the output only. */
static void compute_gates(gradients *g) {
    const layer *l = &g->l;
    layer_begin_item(l);
    for (int64_t i = 0; i < l->steps; i++) {
        const int64_t step = layer_step(l, i);
        if (step >= layer_length(l)) {
            forget_output(g, step);
            continue;
        }
        for (int64_t j = 0; j < l->output && !g->rounds; j++) {
            l->h[j] = state_before(g, i, j);
        }
        copy(g->before + i * l->hidden, l->cell, l->hidden);
        layer_take_step(l, i + 1, step, g->forward + layer_output(l, step));
        copy(g->after + i * l->hidden, l->cell, l->hidden);
        copy(g->saved + i * l->hidden * LAYER_GATES, l->gates, l->hidden * LAYER_GATES);
        copy(g->states + row_of(l, step) * l->hidden, l->reset_before ? l->reset : l->after, l->hidden);
    }
}

/* ---- The steps, in the opposite order ---- */

static void lstm_slopes(gradients *g, int64_t i, int64_t j, number *slopes) {
    const layer *l = &g->l;
    const number *gate = g->saved + (i * l->hidden + j) * LAYER_GATES, by = g->by_state[j];
    const number cell = layer_tanh(l, g->after[i * l->hidden + j]);
    const number by_cell =
        layer_sum(l, g->by_cell[j], layer_product(l, layer_product(l, by, gate[3]), tanh_slope(l, cell)));
    slopes[j] = layer_product(l, layer_product(l, by_cell, gate[2]), logistic_slope(l, gate[0]));
    slopes[l->hidden + j] =
        layer_product(l, layer_product(l, by_cell, g->before[i * l->hidden + j]), logistic_slope(l, gate[1]));
    slopes[2 * l->hidden + j] = layer_product(l, layer_product(l, by_cell, gate[0]), tanh_slope(l, gate[2]));
    slopes[3 * l->hidden + j] = layer_product(l, layer_product(l, by, cell), logistic_slope(l, gate[3]));
    g->by_cell[j] = layer_product(l, by_cell, gate[1]);
}

static void gru_slopes(gradients *g, int64_t i, int64_t j, number *slopes, number *recurrent) {
    const layer *l = &g->l;
    const number *gate = g->saved + (i * l->hidden + j) * LAYER_GATES, by = g->by_state[j], r = gate[0], z = gate[1],
                 n = gate[2];
    const number by_n = layer_product(l, layer_product(l, by, subtracted(l, exact_number(1), z)), tanh_slope(l, n));
    slopes[j] = layer_product(l, layer_product(l, by_n, gate[3]), logistic_slope(l, r));
    slopes[l->hidden + j] =
        layer_product(l, layer_product(l, by, subtracted(l, state_before(g, i, j), n)), logistic_slope(l, z));
    slopes[2 * l->hidden + j] = by_n;
    if (!l->reset_before) {
        recurrent[j] = slopes[j];
        recurrent[l->hidden + j] = slopes[l->hidden + j];
        recurrent[2 * l->hidden + j] = layer_product(l, by_n, r);
    }
    g->by_old[j] = layer_product(l, by, z);
}

/* With reset_before: replaces the gradients by r, which need the gradients by n of all units, and adds what r passes
 * on. */
static void reset_slopes(gradients *g, int64_t i, number *slopes) {
    const layer *l = &g->l;
    for (int64_t j = 0; j < l->hidden; j++) {
        const number r = g->saved[(i * l->hidden + j) * LAYER_GATES];
        total t = {.terms = 0};
        for (int64_t k = 2 * l->hidden; k < l->rows; k++) {
            add(&t, slopes[k], layer_at(l, LAYER_WEIGHT_HH, (l->direction * l->rows + k) * l->output + j));
        }
        const number by_reset = end(l, &t);
        slopes[j] = layer_product(l, layer_product(l, by_reset, state_before(g, i, j)), logistic_slope(l, r));
        g->by_old[j] = layer_sum(l, g->by_old[j], layer_product(l, by_reset, r));
    }
}

static void plain_slope(const gradients *g, int64_t step, int64_t j, number *slopes) {
    const layer *l = &g->l;
    const number after = exact_number(g->output.data[layer_output(l, step) + j]);
    slopes[j] = l->mode == BP_RNN_TANH ? layer_product(l, g->by_state[j], tanh_slope(l, after))
                : after.value > 0      ? g->by_state[j]
                                       : exact_number(0);
}

/* Computes the gradient by the state before the projection. */
static void unproject(gradients *g, int64_t step) {
    const layer *l = &g->l;
    copy(g->by_state, g->by_hidden, l->output);
    if (!l->tensor[LAYER_WEIGHT_HR].data) {
        return;
    }
    copy(g->projected + row_of(l, step) * l->output, g->by_hidden, l->output);
    for (int64_t j = 0; j < l->hidden; j++) {
        total t = {.terms = 0};
        for (int64_t k = 0; k < l->output; k++) {
            add(&t, layer_at(l, LAYER_WEIGHT_HR, (l->direction * l->output + k) * l->hidden + j), g->by_hidden[k]);
        }
        g->by_state[j] = end(l, &t);
    }
}

static void go_back(gradients *g, int64_t i) {
    const layer *l = &g->l;
    const int64_t step = layer_step(l, i);
    number *slopes = g->slopes + row_of(l, step) * l->rows, *recurrent = g->recurrent + row_of(l, step) * l->rows;
    for (int64_t k = 0; k < l->output && g->by_output.data; k++) {
        g->by_hidden[k] = layer_sum(l, g->by_hidden[k], exact_number(g->by_output.data[layer_output(l, step) + k]));
    }
    unproject(g, step);
    for (int64_t j = 0; j < l->hidden; j++) {
        if (l->mode == BP_RNN_LSTM) {
            lstm_slopes(g, i, j, slopes);
        } else if (l->mode == BP_RNN_GRU) {
            gru_slopes(g, i, j, slopes, recurrent);
        } else {
            plain_slope(g, step, j, slopes);
        }
    }
    if (l->reset_before) {
        reset_slopes(g, i, slopes);
    }
    const int64_t rows = l->reset_before ? 2 * l->hidden : l->rows; /* those that the state itself is multiplied by */
    for (int64_t k = 0; k < l->output; k++) {
        total t = {.terms = 0};
        for (int64_t row = 0; row < rows; row++) {
            add(&t, recurrent[row], layer_at(l, LAYER_WEIGHT_HH, (l->direction * l->rows + row) * l->output + k));
        }
        g->by_hidden[k] = l->mode == BP_RNN_GRU ? layer_sum(l, end(l, &t), g->by_old[k]) : end(l, &t);
    }
}

static void compute_item(gradients *g) {
    const layer *l = &g->l;
    const bool gates = l->mode == BP_RNN_LSTM || l->mode == BP_RNN_GRU;
    const number zero = {0, 0};
    if (gates) {
        compute_gates(g);
    }
    for (int64_t k = 0; k < l->output; k++) {
        g->by_hidden[k] = g->by_final[0].data ? exact_number(g->by_final[0].data[state_of(l) * l->output + k]) : zero;
    }
    for (int64_t j = 0; j < l->hidden; j++) {
        g->by_cell[j] = g->by_final[1].data ? exact_number(g->by_final[1].data[state_of(l) * l->hidden + j]) : zero;
    }
    for (int64_t i = l->steps - 1; i >= 0; i--) {
        if (layer_step(l, i) < layer_length(l)) {
            go_back(g, i);
        }
    }
    copy(g->first[0] + state_of(l) * l->output, g->by_hidden, l->output);
    copy(g->first[1] + state_of(l) * l->hidden, g->by_cell, l->hidden);
}

/* ---- Elements of the results ---- */

static number input_element(void *user, int64_t index) {
    const gradients *g = user;
    const layer *l = &g->l;
    const int64_t item = index / l->input % l->batch, step = index / l->input / l->batch, column = index % l->input;
    total t = {.terms = 0};
    if (l->lengths.data && step >= l->lengths.data[item]) {
        return exact_number(0);
    }
    for (int64_t d = 0; d < l->directions; d++) {
        const number *slopes = g->slopes + ((d * l->steps + step) * l->batch + item) * l->rows;
        for (int64_t row = 0; row < l->rows; row++) {
            add(&t, slopes[row], layer_at(l, LAYER_WEIGHT_IH, (d * l->rows + row) * l->input + column));
        }
    }
    return end(l, &t);
}

/* What the gradient by a parameter multiplies: `count` numbers for each row of steps and items, and the other
 * factor. */
typedef number factor(const gradients *g, int64_t i, int64_t column);

/* Sums products over all steps and items of a direction. */
static number sum_over_steps(gradients *g, int64_t direction, const number *by, int64_t count, int64_t which,
                             factor *with, int64_t column) {
    layer *l = &g->l;
    total t = {.terms = 0};
    l->direction = direction;
    for (l->item = 0; l->item < l->batch; l->item++) {
        for (int64_t i = 0; i < l->steps; i++) {
            const int64_t step = layer_step(l, i);
            if (step < layer_length(l)) {
                add(&t, by[row_of(l, step) * count + which], with(g, i, column));
            }
        }
    }
    return end(l, &t);
}

static number input_factor(const gradients *g, int64_t i, int64_t column) {
    const layer *l = &g->l;
    return layer_at(l, LAYER_INPUT, (layer_step(l, i) * l->batch + l->item) * l->input + column);
}

static number state_factor(const gradients *g, int64_t i, int64_t column) {
    return g->states[row_of(&g->l, layer_step(&g->l, i)) * g->l.hidden + column];
}

static number one_factor(const gradients *g, int64_t i, int64_t column) {
    (void)g, (void)i, (void)column;
    return exact_number(1);
}

/* Element of the gradient by a weight, or by a bias, which has one column: rows of one direction after the other, with
 * `columns` elements each. */
static number weight_element(gradients *g, int64_t index, int64_t columns, const number *by, int64_t rows,
                             factor *with) {
    const int64_t row = index / columns;
    return sum_over_steps(g, row / rows, by, rows, row % rows, with, index % columns);
}

static number weight_ih_element(void *user, int64_t index) {
    gradients *g = user;
    return weight_element(g, index, g->l.input, g->slopes, g->l.rows, input_factor);
}

static number weight_hh_element(void *user, int64_t index) {
    gradients *g = user;
    const bool of_n = g->l.reset_before && index / g->l.output % g->l.rows >= 2 * g->l.hidden;
    return weight_element(g, index, g->l.output, g->recurrent, g->l.rows, of_n ? state_factor : state_before);
}

static number weight_hr_element(void *user, int64_t index) {
    gradients *g = user;
    return weight_element(g, index, g->l.hidden, g->projected, g->l.output, state_factor);
}

static number bias_ih_element(void *user, int64_t index) {
    gradients *g = user;
    return weight_element(g, index, 1, g->slopes, g->l.rows, one_factor);
}

static number bias_hh_element(void *user, int64_t index) {
    gradients *g = user;
    return weight_element(g, index, 1, g->recurrent, g->l.rows, one_factor);
}

static number hidden_element(void *user, int64_t index) {
    return ((const gradients *)user)->first[0][index];
}

static number cell_element(void *user, int64_t index) {
    return ((const gradients *)user)->first[1][index];
}

/* ---- The call ---- */

static bp_status allocate(gradients *g) {
    const layer *l = &g->l;
    const int64_t all = l->directions * l->steps * l->batch, states = l->directions * l->batch;
    const bool apart = l->mode == BP_RNN_GRU && !l->reset_before;
    const struct {
        number **at;
        int64_t count;
    } arrays[] = {{&g->saved, l->steps * l->hidden * LAYER_GATES},
                  {&g->before, l->steps * l->hidden},
                  {&g->after, l->steps * l->hidden},
                  {&g->slopes, all * l->rows},
                  {&g->recurrent, apart ? all * l->rows : 0},
                  {&g->projected, all * l->output},
                  {&g->states, all * l->hidden},
                  {&g->by_hidden, l->output},
                  {&g->by_cell, l->hidden},
                  {&g->by_state, l->hidden > l->output ? l->hidden : l->output},
                  {&g->by_old, l->hidden},
                  {&g->first[0], states * l->output},
                  {&g->first[1], states * l->hidden},
                  {&g->forward, all * l->output}};
    bool all_made = true;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        *arrays[i].at = reference_numbers(arrays[i].count);
        all_made &= *arrays[i].at != NULL;
    }
    if (!apart) { /* the recurrent part of a gate is added to the other one */
        free(g->recurrent);
        g->recurrent = g->slopes;
    }
    return all_made ? BP_OK : BP_E_NO_MEMORY;
}

static void release(gradients *g) {
    number *const arrays[] = {
        g->saved,     g->before,   g->after,     g->slopes,  g->recurrent == g->slopes ? NULL : g->recurrent,
        g->projected, g->states,   g->by_hidden, g->by_cell, g->by_state,
        g->by_old,    g->first[0], g->first[1],  g->forward};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        free(arrays[i]);
    }
    wide_free(&g->output);
    wide_free(&g->by_output);
    wide_free(&g->by_final[0]);
    wide_free(&g->by_final[1]);
    layer_close(&g->l);
}

static bp_status open_gradients(gradients *g) {
    const bp_rnn_call *call = g->call;
    const DLTensor *const tensors[] = {call->output, call->output_gradient, call->final_hidden_gradient,
                                       call->final_cell_gradient};
    wide_tensor *const wide[] = {&g->output, &g->by_output, &g->by_final[0], &g->by_final[1]};
    const bp_dtype dtype = bp_dtype_from_dlpack(call->input->dtype);
    g->rounds = dtype == BP_F16 || dtype == BP_BF16;
    g->l.unit = (long double)reference_sum_unit(dtype);
    bp_status status = layer_open(&g->l, call);
    for (int i = 0; i < 4 && status == BP_OK; i++) {
        status = tensors[i] ? wide_make(wide[i], tensors[i], false) : BP_OK;
    }
    return status == BP_OK ? allocate(g) : status;
}

/* Finds whether the output is the result of the call's tensors. */
static bp_status compare_output(const gradients *g, bool *equal) {
    const DLTensor *output = g->call->output;
    reference_results made = {.count = 0};
    double error = 0;
    bp_status status = reference_add_numbers(&made, "output", output, g->forward);
    if (status == BP_OK) {
        made.of[0].values.measure = REFERENCE_SUMS;
        status = reference_error(&made.of[0].values, output, &error);
        *equal = error <= reference_bound(&made.of[0].values, bp_dtype_from_dlpack(output->dtype));
    }
    reference_results_free(&made);
    return status;
}

static bp_status add_results(reference_results *made, gradients *g) {
    const bp_rnn_call *call = g->call;
    const layer *l = &g->l;
    const int64_t all = l->steps * l->batch;
    const struct {
        const char *name;
        const DLTensor *tensor;
        int64_t work;
        reference_element *element;
    } results[] = {{"input_gradient", call->input_gradient, l->directions * l->rows, input_element},
                   {"initial_hidden_gradient", call->initial_hidden_gradient, 1, hidden_element},
                   {"initial_cell_gradient", call->initial_cell_gradient, 1, cell_element},
                   {"weight_ih_gradient", call->weight_ih_gradient, all, weight_ih_element},
                   {"weight_hh_gradient", call->weight_hh_gradient, all, weight_hh_element},
                   {"weight_hr_gradient", call->weight_hr_gradient, all, weight_hr_element},
                   {"bias_ih_gradient", call->bias_ih_gradient, all, bias_ih_element},
                   {"bias_hh_gradient", call->bias_hh_gradient, all, bias_hh_element}};
    bp_status status = BP_OK;
    for (size_t i = 0; i < sizeof results / sizeof results[0] && status == BP_OK; i++) {
        status = reference_add_result(made, results[i].name, results[i].tensor, results[i].work, results[i].element, g);
    }
    for (int i = 0; i < made->count; i++) {
        made->of[i].values.measure = REFERENCE_SUMS;
    }
    return status;
}

bp_status reference_rnn_gradients(reference_results *made, const bp_rnn_call *call) {
    gradients g;
    memset(&g, 0, sizeof g);
    g.call = call;
    bp_status status = open_gradients(&g);
    bool known = true;
    layer *l = &g.l;
    for (int64_t i = 0; status == BP_OK && i < l->directions * l->batch; i++) {
        l->direction = i / l->batch;
        l->item = i % l->batch;
        compute_item(&g);
    }
    if (status == BP_OK && (l->mode == BP_RNN_LSTM || l->mode == BP_RNN_GRU)) {
        status = compare_output(&g, &known);
    }
    status = status == BP_OK && known ? add_results(made, &g) : status;
    release(&g);
    return status;
}
