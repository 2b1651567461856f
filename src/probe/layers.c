/* layers.c - checks recurrent layers of oneDNN against their formulas in double precision.
 *
 * Sizes are no multiples of a vector. Each layer runs in both directions and in each one alone, with and without states
 * and projection, always with a bias, as in the provider's calls. Gates are the library's: of an LSTM i, f, g, o, of a
 * GRU z, r, n and the bias of the hidden state's part of n, which a GRU whose reset gate comes before the product
 * lacks.
 */
#include "probe/dnn.h"

#include <math.h>
#include <stdio.h>

enum { STEPS = 3, ITEMS = 5, COLUMNS = 7, UNITS = 19, PROJECTED = 11, MOST_GATES = 4 };

typedef struct layer {
    layer_kind kind;
    int direction; /* of the library */
    bool full;     /* with states, and projection of an LSTM */
    int64_t directions, gates, slots, outputs;
    argument *x, *weight, *iter, *projection, *bias, *hidden, *cell, *y, *last_hidden, *last_cell;
} layer;

/* Adds a compact argument with numbers from -0.375 to 0.375. */
static argument *add(int role, int ndim, const int64_t *size) {
    int64_t stride[5], step = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        stride[d] = step;
        step *= size[d];
    }
    argument *a = add_argument(role, BP__ONEDNN_F32, ndim, size, stride);
    for (int64_t i = 0; a && i < FILLED; i++) {
        a->values.f32[i] = small_integer(i / 3 + i % 3 * 5, role) / 8;
    }
    return a;
}

/* Adds a weight: [direction][gate][row][column] in memory, columns before gates and rows for the library. */
static argument *add_weight(const layer *l, int role, int64_t gates, int64_t rows, int64_t columns) {
    const int64_t all = gates * rows * columns;
    return gates == 0 ? add_argument(role, BP__ONEDNN_F32, 4, (int64_t[]){1, l->directions, columns, rows},
                                     (int64_t[]){l->directions * rows * columns, rows * columns, 1, columns})
                      : add_argument(role, BP__ONEDNN_F32, 5, (int64_t[]){1, l->directions, columns, gates, rows},
                                     (int64_t[]){l->directions * all, all, 1, rows * columns, columns});
}

/* Weights are smaller, so that few gates are almost 0 or 1. */
static void scale(argument *weight) {
    for (int64_t i = 0; weight && i < FILLED; i++) {
        weight->values.f32[i] = small_integer(i / 5 + i % 5 * 3, weight->number) / 16;
    }
}

static void add_arguments(layer *l) {
    const int64_t d = l->directions, p = l->outputs;
    const bool lstm = l->kind == LAYER_LSTM;
    l->x = add(BP__ONEDNN_ARG_SRC, 3, (int64_t[]){STEPS, ITEMS, COLUMNS});
    l->y = add(BP__ONEDNN_ARG_DST, 3, (int64_t[]){STEPS, ITEMS, d * p});
    l->weight = add_weight(l, BP__ONEDNN_ARG_WEIGHTS, l->gates, UNITS, COLUMNS);
    l->iter = add_weight(l, BP__ONEDNN_ARG_WEIGHTS_ITER, l->gates, UNITS, p);
    l->bias = add(BP__ONEDNN_ARG_BIAS, 4, (int64_t[]){1, d, l->slots, UNITS});
    if (l->full) {
        l->hidden = add(BP__ONEDNN_ARG_SRC_ITER, 4, (int64_t[]){1, d, ITEMS, p});
        l->last_hidden = add(BP__ONEDNN_ARG_DST_ITER, 4, (int64_t[]){1, d, ITEMS, p});
    }
    if (l->full && lstm) {
        l->cell = add(BP__ONEDNN_ARG_SRC_ITER_C, 4, (int64_t[]){1, d, ITEMS, UNITS});
        l->last_cell = add(BP__ONEDNN_ARG_DST_ITER_C, 4, (int64_t[]){1, d, ITEMS, UNITS});
        l->projection = add_weight(l, BP__ONEDNN_ARG_WEIGHTS_PROJECTION, 0, p, UNITS);
    }
    scale(l->weight);
    scale(l->iter);
    scale(l->projection);
}

static const void *memory_of(const argument *a) {
    return a ? a->description : NULL;
}

/* Describes the layer with weights in layouts of the library's choice. Returns NULL if it does not offer the layer. */
static void *describe(const layer *l) {
    argument *const weights[] = {l->weight, l->iter, l->projection};
    void *any[3] = {NULL}, *description = NULL;
    int error = 0;
    for (int i = 0; i < 3 && !error; i++) {
        const int64_t columns = i == 0 ? COLUMNS : i == 1 ? l->outputs : UNITS;
        error = !weights[i]
                    ? 0
                    : dnnl.memory_desc_create_with_tag(&any[i], i == 2 ? 4 : 5,
                                                       i == 2 ? (int64_t[]){1, l->directions, columns, l->outputs}
                                                              : (int64_t[]){1, l->directions, columns, l->gates, UNITS},
                                                       BP__ONEDNN_F32, BP__ONEDNN_ANY);
    }
    if (!error && l->kind == LAYER_LSTM) {
        error = dnnl.lstm_forward_primitive_desc_create(
            &description, dnn_engine, BP__ONEDNN_INFERENCE, l->direction, memory_of(l->x), memory_of(l->hidden),
            memory_of(l->cell), any[0], any[1], NULL, any[2], memory_of(l->bias), memory_of(l->y),
            memory_of(l->last_hidden), memory_of(l->last_cell), 0, NULL);
    } else if (!error && l->kind != LAYER_RNN) {
        error = (l->kind == LAYER_GRU ? dnnl.lbr_gru_forward_primitive_desc_create
                                      : dnnl.gru_forward_primitive_desc_create)(
            &description, dnn_engine, BP__ONEDNN_INFERENCE, l->direction, memory_of(l->x), memory_of(l->hidden), any[0],
            any[1], memory_of(l->bias), memory_of(l->y), memory_of(l->last_hidden), 0, NULL);
    } else if (!error) {
        error = dnnl.vanilla_rnn_forward_primitive_desc_create(
            &description, dnn_engine, BP__ONEDNN_INFERENCE, BP__ONEDNN_TANH, l->direction, memory_of(l->x),
            memory_of(l->hidden), any[0], any[1], memory_of(l->bias), memory_of(l->y), memory_of(l->last_hidden), 0, 0,
            0, NULL);
    }
    for (int i = 0; i < 3; i++) {
        if (any[i]) {
            dnnl.memory_desc_destroy(any[i]);
        }
    }
    return error ? NULL : description;
}

/* ---- Reference ---- */

static double value(const argument *a, int64_t at) {
    return a ? (double)a->values.f32[at] : 0;
}

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

/* Part of a gate from a row of `count` numbers. */
static double sum_of(const argument *weight, int64_t row, const double *of_row, int64_t count) {
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        sum += value(weight, row * count + k) * of_row[k];
    }
    return sum;
}

/* Computes r times the hidden state. */
static void reset_state(const layer *l, int64_t d, const double *x, const double *hidden, double reset[UNITS]) {
    for (int64_t u = 0; u < UNITS && l->kind == LAYER_GRU_BEFORE; u++) {
        const int64_t row = (d * l->gates + 1) * UNITS + u;
        const double bias = value(l->bias, (d * l->slots + 1) * UNITS + u);
        reset[u] =
            hidden[u] * logistic(bias + sum_of(l->weight, row, x, COLUMNS) + sum_of(l->iter, row, hidden, UNITS));
    }
}

/* One step of an item: replaces its hidden state and cell. */
static void step(const layer *l, int64_t d, const double *x, double *hidden, double *cell) {
    double after[UNITS], reset[UNITS] = {0};
    reset_state(l, d, x, hidden, reset);
    for (int64_t u = 0; u < UNITS; u++) {
        double input[MOST_GATES], state[MOST_GATES];
        for (int64_t g = 0; g < l->gates; g++) {
            const int64_t row = (d * l->gates + g) * UNITS + u;
            input[g] = value(l->bias, (d * l->slots + g) * UNITS + u) + sum_of(l->weight, row, x, COLUMNS);
            state[g] = sum_of(l->iter, row, hidden, l->outputs);
        }
        if (l->kind == LAYER_RNN) {
            after[u] = tanh(input[0] + state[0]);
        } else if (l->kind == LAYER_LSTM) {
            cell[u] =
                logistic(input[1] + state[1]) * cell[u] + logistic(input[0] + state[0]) * tanh(input[2] + state[2]);
            after[u] = logistic(input[3] + state[3]) * tanh(cell[u]);
        } else if (l->kind == LAYER_GRU_BEFORE) {
            const double z = logistic(input[0] + state[0]);
            const double part = sum_of(l->iter, (d * l->gates + 2) * UNITS + u, reset, UNITS);
            after[u] = (1 - z) * tanh(input[2] + part) + z * hidden[u];
        } else {
            const double part = state[2] + value(l->bias, (d * l->slots + 3) * UNITS + u);
            const double z = logistic(input[0] + state[0]), n = tanh(input[2] + logistic(input[1] + state[1]) * part);
            after[u] = (1 - z) * n + z * hidden[u];
        }
    }
    for (int64_t j = 0; j < l->outputs; j++) {
        hidden[j] = l->projection ? sum_of(l->projection, d * l->outputs + j, after, UNITS) : after[j];
    }
}

static bool is_near(const argument *a, int64_t at, double want) {
    return !a || fabs(value(a, at) - want) <= 1e-5;
}

/* Follows an item through the steps of a direction. Returns whether the library has the same results. */
static bool follow(const layer *l, int64_t d, int64_t item) {
    const bool descends = l->direction == BP__ONEDNN_DESCENDING || d == 1;
    const int64_t state = (d * ITEMS + item) * l->outputs, unit = (d * ITEMS + item) * UNITS;
    double hidden[UNITS], cell[UNITS], x[COLUMNS];
    bool right = true;
    for (int64_t j = 0; j < UNITS; j++) {
        hidden[j] = j < l->outputs ? value(l->hidden, state + j) : 0;
        cell[j] = value(l->cell, unit + j);
    }
    for (int64_t i = 0; i < STEPS; i++) {
        const int64_t row = (descends ? STEPS - 1 - i : i) * ITEMS + item;
        for (int64_t k = 0; k < COLUMNS; k++) {
            x[k] = value(l->x, row * COLUMNS + k);
        }
        step(l, d, x, hidden, cell);
        for (int64_t j = 0; j < l->outputs; j++) {
            right = right && is_near(l->y, (row * l->directions + d) * l->outputs + j, hidden[j]);
        }
    }
    for (int64_t j = 0; j < UNITS; j++) {
        right = right && (j >= l->outputs || is_near(l->last_hidden, state + j, hidden[j])) &&
                is_near(l->last_cell, unit + j, cell[j]);
    }
    return right;
}

static outcome check_variant(layer *l) {
    add_arguments(l);
    void *description = describe(l);
    if (!description) {
        return ABSENT;
    }
    bool right = convert_weight(l->weight, description) && convert_weight(l->iter, description) &&
                 (!l->projection || convert_weight(l->projection, description)) && run_primitive(description);
    for (int64_t i = 0; i < l->directions * ITEMS && right; i++) {
        right = follow(l, i / ITEMS, i % ITEMS);
    }
    return right ? RIGHT : WRONG;
}

outcome check_layer(layer_kind kind, char how[MOST_TEXT]) {
    static const char *const names[] = {"", "ascending", "descending", "both directions"};
    static const int64_t gates[] = {1, 4, 3, 3};
    for (int direction = BP__ONEDNN_ASCENDING; direction <= BP__ONEDNN_BOTH; direction++) {
        for (int full = 0; full < 2; full++) {
            layer l = {.kind = kind, .direction = direction, .full = full, .gates = gates[kind]};
            l.directions = direction == BP__ONEDNN_BOTH ? 2 : 1;
            l.slots = l.gates + (kind == LAYER_GRU);
            l.outputs = full && kind == LAYER_LSTM ? PROJECTED : UNITS;
            const outcome found = check_variant(&l);
            drop_arguments();
            if (found != RIGHT) {
                snprintf(how, MOST_TEXT, "%s%s", names[direction], full ? ", with all operands" : "");
                return found;
            }
        }
    }
    return RIGHT;
}
