/* convert_rnn.c - adds recurrent layers.
 *
 * ONNX has the gates of LSTM in the order i, o, f, c, and of GRU in the order z, r, h; the call has i, f, g, o and
 * r, z, n. Weights that are known are put in order when the model is read. */
#include "onnx/read.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_GATES = 4 };

typedef struct layer {
    int gates, order[MOST_GATES];
    int activations;
    const char *names[3]; /* of the activations */
} layer;

static const layer layers[] = {
    {1, {0}, 1, {"Tanh"}}, {4, {0, 2, 3, 1}, 3, {"Sigmoid", "Tanh", "Tanh"}}, {3, {1, 0, 2}, 2, {"Sigmoid", "Tanh"}}};

/* ---- Weights ---- */

/* Copies blocks of `rows` rows of a known value in another order. */
static bp_status copy_blocks(bp__onnx *r, const bp__onnx_value *x, int64_t rows, int count, const int *order,
                             bp__onnx_value **result) {
    int64_t shape[3] = {x->shape[0], count * rows, x->ndim > 2 ? x->shape[2] : 1};
    void *data;
    BP__TRY(bp__onnx_known(r, x->dtype, x->ndim, shape, result, &data));
    const int64_t block = rows * shape[2] * (int64_t)bp_dtype_size(x->dtype), all = x->shape[1] / rows;
    char *to = data;
    for (int64_t d = 0; d < shape[0]; d++) {
        for (int i = 0; i < count; i++) {
            memcpy(to, (const char *)x->data + (d * all + order[i]) * block, (size_t)block);
            to += block;
        }
    }
    return BP_OK;
}

/* Takes blocks of `rows` rows of a matrix for each direction, in another order. */
static bp_status take_blocks(bp__onnx *r, bp__onnx_value *x, int64_t rows, int count, const int *order,
                             bp__onnx_value **result) {
    bp__onnx_value *parts[MOST_GATES];
    BP__TRY(bp__onnx_load_all(r, x));
    if (x->data) {
        return copy_blocks(r, x, rows, count, order, result);
    }
    for (int i = 0; i < count; i++) {
        BP__TRY(bp__onnx_slice(r, x, 1, order[i] * rows, (order[i] + 1) * rows, 1, &parts[i]));
    }
    return bp__onnx_concat(r, count, parts, 1, result);
}

static bp_status check_shape(const bp__onnx_value *x, const char *name, int ndim, int64_t directions, int64_t rows) {
    return x->ndim == ndim && x->shape[0] == directions && x->shape[1] == rows
               ? BP_OK
               : bp__fail(BP_E_SHAPE,
                          "input '%s' must have %d dimensions, and the first two %" PRId64 " and %" PRId64 " elements",
                          name, ndim, directions, rows);
}

/* Makes the operands of the call that are weights: weight_ih, weight_hh, and both biases. */
static bp_status add_weights(bp__onnx *r, const layer *of, int64_t directions, int64_t hidden,
                             bp__onnx_value **operands) {
    bp__onnx_value *bias = bp__onnx_input(r, 3);
    int second[MOST_GATES];
    BP__TRY(check_shape(r->inputs[1], "W", 3, directions, of->gates * hidden));
    BP__TRY(check_shape(r->inputs[2], "R", 3, directions, of->gates * hidden));
    BP__TRY(take_blocks(r, r->inputs[1], hidden, of->gates, of->order, &operands[1]));
    BP__TRY(take_blocks(r, r->inputs[2], hidden, of->gates, of->order, &operands[2]));
    if (!bias) {
        return BP_OK;
    }
    BP__TRY(check_shape(bias, "B", 2, directions, 2 * of->gates * hidden));
    for (int i = 0; i < of->gates; i++) {
        second[i] = of->order[i] + of->gates;
    }
    BP__TRY(take_blocks(r, bias, hidden, of->gates, of->order, &operands[4]));
    return take_blocks(r, bias, hidden, of->gates, second, &operands[5]);
}

/* ---- Attributes ---- */

/* Reads which functions the layer has. *relu: it is a layer of RNN with Relu. */
static bp_status read_activations(bp__onnx *r, const layer *of, int64_t directions, bool *relu) {
    bp__onnx_attribute *given;
    BP__TRY(bp__onnx_attribute_of(r, "activations", BP__ATTRIBUTE_STRINGS, &given));
    const int64_t wanted = directions * of->activations;
    bool usual = !given || given->count == wanted;
    *relu = of->gates == 1 && given && given->count == wanted;
    for (int64_t i = 0; given && i < wanted && i < given->count; i++) {
        usual &= bp__bytes_are(given->texts[i], of->names[i % of->activations]);
        *relu &= bp__bytes_are(given->texts[i], "Relu");
    }
    return usual || *relu ? BP_OK
                          : bp__fail(BP_E_UNSUPPORTED, "attribute 'activations' has other functions than usual");
}

/* What the attributes say of a layer. */
typedef struct attributes {
    int direction;
    bool batch_first, relu, reset_before; /* relu: of a layer of RNN */
} attributes;

static bp_status read_attributes(bp__onnx *r, const layer *of, attributes *a) {
    int64_t hidden, layout, forgets;
    bool after = false;
    BP__TRY(bp__onnx_attribute_word(r, "direction", "forward,reverse,bidirectional", 0, &a->direction));
    BP__TRY(read_activations(r, of, a->direction == 2 ? 2 : 1, &a->relu));
    BP__TRY(bp__onnx_attribute_int(r, "hidden_size", r->inputs[2]->ndim == 3 ? r->inputs[2]->shape[2] : 0, &hidden));
    BP__TRY(bp__onnx_attribute_int(r, "layout", 0, &layout));
    if (r->inputs[2]->ndim != 3 || hidden != r->inputs[2]->shape[2] || hidden < 1 || hidden > INT32_MAX || layout < 0 ||
        layout > 1) {
        return bp__fail(BP_E_FORMAT, "attribute 'hidden_size' is not the last size of input 'R', or attribute 'layout' "
                                     "is not 0 or 1");
    }
    a->batch_first = layout == 1;
    if (of->gates == 4) {
        BP__TRY(bp__onnx_attribute_int(r, "input_forget", 0, &forgets));
        return forgets == 0 ? BP_OK : bp__fail(BP_E_UNSUPPORTED, "attribute 'input_forget' is not supported");
    }
    if (of->gates == 3) {
        BP__TRY(bp__onnx_attribute_flag(r, "linear_before_reset", false, &after));
        a->reset_before = !after;
    }
    return BP_OK;
}

/* ---- Layers ---- */

static bp_status exchanged(bp__onnx *r, bp__onnx_value *x, bool exchanges, bp__onnx_value **view) {
    *view = x;
    return exchanges && x ? bp__onnx_permute(r, x, (int[]){1, 0, 2}, view) : BP_OK;
}

/* The output of the call is T x N x D*H. */
static bp_status add_output(bp__onnx *r, bp__onnx_value *y, int64_t directions, bool batch_first) {
    const int64_t shape[4] = {y->shape[0], y->shape[1], directions, y->shape[2] / directions};
    bp__onnx_value *view;
    BP__TRY(bp__onnx_reshape(r, y, 4, shape, &view));
    return bp__onnx_permute(r, view, batch_first ? (int[]){1, 0, 2, 3} : (int[]){0, 2, 1, 3}, &r->results[0]);
}

static bp_status add_states(bp__onnx *r, bool batch_first, bp__onnx_value **operands) {
    bp__onnx_value *hidden = bp__onnx_input(r, 5), *cell = bp__onnx_input(r, 6), *lengths = bp__onnx_input(r, 4);
    if ((hidden && hidden->ndim != 3) || (cell && cell->ndim != 3) || r->inputs[0]->ndim != 3) {
        return bp__fail(BP_E_SHAPE, "input 'X' or an initial state has not three dimensions");
    }
    BP__TRY(exchanged(r, r->inputs[0], batch_first, &operands[0]));
    BP__TRY(exchanged(r, hidden, batch_first, &operands[6]));
    BP__TRY(exchanged(r, cell, batch_first, &operands[7]));
    return lengths ? bp__onnx_cast(r, lengths, BP_I64, &operands[8]) : BP_OK;
}

bp_status bp__onnx_convert_rnn(bp__onnx *r, const bp__onnx_row *row) {
    const layer *of = &layers[row->call[0] == 'l' ? 1 : row->call[0] == 'g' ? 2 : 0];
    attributes a = {0};
    bp__onnx_value *operands[9] = {0}, *y, *states[2] = {NULL, NULL};
    BP__TRY(read_attributes(r, of, &a));
    if (bp__onnx_input(r, 7)) {
        return bp__fail(BP_E_UNSUPPORTED, "input 'P', weights of the cell to the gates, is not supported");
    }
    const int64_t directions = a.direction == 2 ? 2 : 1;
    BP__TRY(add_weights(r, of, directions, r->inputs[2]->shape[2], operands));
    BP__TRY(add_states(r, a.batch_first, operands));
    const bool cell = of->gates == 4 && bp__onnx_is_wanted(r, 2);
    BP__TRY(bp__onnx_call(
        r, "rnn", 9, operands, 3,
        (bp__onnx_value * *const[]){&y, bp__onnx_is_wanted(r, 1) ? &states[0] : NULL, cell ? &states[1] : NULL},
        "mode=%s, directions=%d, reverse=%s, reset_before=%s", a.relu ? "rnn_relu" : row->call, (int)directions,
        a.direction == 1 ? "true" : "false", a.reset_before ? "true" : "false"));
    for (int i = 0; i < 2; i++) {
        if (i == 0 ? bp__onnx_is_wanted(r, 1) : cell) {
            BP__TRY(exchanged(r, states[i], a.batch_first, &r->results[i + 1]));
        }
    }
    return add_output(r, y, directions, a.batch_first);
}
