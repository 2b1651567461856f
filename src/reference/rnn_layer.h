/* rnn_layer.h - what the references of recurrent layers (rnn.c) and of their gradients (rnn_gradients.c) share: numbers
 * with errors, and the steps of an item. */
#ifndef BP_REFERENCE_RNN_LAYER_H
#define BP_REFERENCE_RNN_LAYER_H

#include "reference/results.h"

enum {
    LAYER_INPUT,
    LAYER_WEIGHT_IH,
    LAYER_WEIGHT_HH,
    LAYER_WEIGHT_HR,
    LAYER_BIAS_IH,
    LAYER_BIAS_HH,
    LAYER_HIDDEN,
    LAYER_CELL,
    LAYER_TENSORS
};
enum { LAYER_GATES = 4 }; /* LSTM: i, f, g, o; GRU: r, z, n, and what r is multiplied by in n, or that product */

/* A layer, and the state of the item that is computed. */
typedef struct layer {
    bp_rnn_mode mode;
    bool reverse, reset_before;
    int64_t steps, batch, input, hidden, output; /* output: columns of one direction */
    int64_t rows, directions, direction, item;
    long double unit;
    wide_tensor tensor[LAYER_TENSORS]; /* data NULL: absent */
    wholes lengths;
    reference_number *x, *h, *cell, *after; /* after: hidden states before the projection */
    reference_number *reset;                /* with reset_before: r times the hidden states before the step */
    reference_number *gates;                /* LAYER_GATES of each hidden unit, in the last step; LSTM and GRU */
} layer;

/* Opens a call; `unit` is set before. Close it also after a failure. Errors: BP_E_NO_MEMORY, and as for
 * bp_tensor_copy(). */
bp_status layer_open(layer *l, const bp_rnn_call *call);
void layer_close(layer *l);

/* Returns the error, or NaN if a number of this size may overflow in the type of the computation. */
long double layer_error(const layer *l, long double error, long double size);
reference_number layer_sum(const layer *l, reference_number a, reference_number b);
reference_number layer_product(const layer *l, reference_number a, reference_number b);
reference_number layer_tanh(const layer *l, reference_number x);

/* Returns an element; 0 if the tensor is absent. */
reference_number layer_at(const layer *l, int tensor, int64_t index);

/* The number of steps of the current item, the step that is taken as number `i` if it has one, and the place of the
 * first of the columns of the output that a step writes. */
int64_t layer_length(const layer *l);
int64_t layer_step(const layer *l, int64_t i);
static inline int64_t layer_output(const layer *l, int64_t step) {
    return ((step * l->batch + l->item) * l->directions + l->direction) * l->output;
}

/* Sets the states to the initial ones of the item. */
void layer_begin_item(const layer *l);

/* Computes one step, the one with number `taken` from 1 on, and writes the columns of its output. */
void layer_take_step(const layer *l, int64_t taken, int64_t step, reference_number *to);

/* The references of BACKWARD (rnn_gradients.c). */
bp_status reference_rnn_gradients(reference_results *made, const bp_rnn_call *call);

#endif
