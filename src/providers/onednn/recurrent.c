/* recurrent.c - describes recurrent layers to oneDNN, and estimates their time.
 *
 * A GRU of our formulas is oneDNN's with a linear part before the reset gate (lbr_gru), and with reset_before the plain
 * one (gru). The gates of both are in the order z, r, n. oneDNN reads weights by columns, [columns][gates][units]; ours
 * are their transposes. */
#include "providers/onednn/onednn.h"

static const char *why_not(const bp_problem *problem) {
    const bp_rnn_problem *p = &problem->of.rnn;
    if (problem->dtype != BP_F32) {
        return "its layers are offered in f32 only, because it rounds the states of other types in each step";
    }
    if (problem->op != BP_OP_RNN) {
        return "its gradients read another reserve than TRAINING writes";
    }
    if (p->tensor[BP_RNN_RESERVE].dtype && (p->mode == BP_RNN_LSTM || p->mode == BP_RNN_GRU)) {
        return "it writes no reserve for the gradients of other providers";
    }
    if (p->tensor[BP_RNN_LENGTHS].dtype) {
        return "it has no lengths of items";
    }
    if (p->mode == BP_RNN_RELU) {
        return "it replaces NaN by 0 in its relu";
    }
    return p->steps == 0 || p->batch == 0 || p->input_size == 0 ? "it takes no empty tensors" : NULL;
}

/* Completes the strides of a tensor, whose columns must be contiguous. Returns whether the library takes them. */
static bool has_rows(bp__onednn_tensor *t) {
    const int last = t->ndim - 1;
    if (!bp__onednn_is_nested(t)) {
        return false;
    }
    t->stride[last] = t->size[last] == 1 ? 1 : t->stride[last];
    return t->stride[last] == 1;
}

/* Describes a tensor of three dimensions whose columns are contiguous. Returns false for other layouts. */
static bool set_sequence(bp__onednn_operand *o, int argument, bp_rnn_tensor which, const bp_rnn_problem *p,
                         int64_t columns) {
    const int64_t *stride = p->tensor[which].stride;
    *o = (bp__onednn_operand){argument,
                              (int)which,
                              bp__onednn_type(p->tensor[which].dtype),
                              {3, {p->steps, p->batch, columns}, {stride[0], stride[1], stride[2]}}};
    bp__onednn_tensor *t = &o->tensor;
    if (!has_rows(t)) {
        return false;
    }
    /* With rows at equal distances the library multiplies the rows of all steps at once. */
    t->stride[1] = t->size[1] > 1 ? t->stride[1] : t->size[0] > 1 ? t->stride[0] : columns;
    t->stride[0] = t->size[0] > 1 ? t->stride[0] : t->stride[1] * t->size[1];
    return true;
}

/* Describes states: layer, direction, item, unit. An absent one is staged if the library needs it, as it has none or
 * both of a pair. */
static bool set_state(bp__onednn_call *call, int place, int argument, bp_rnn_tensor which, bp_rnn_tensor other,
                      const bp_rnn_problem *p, int64_t units) {
    const bp_rnn_layout *layout = &p->tensor[which];
    bp__onednn_operand *o = &call->operand[place];
    if (!layout->dtype && !p->tensor[other].dtype) {
        return true;
    }
    *o = (bp__onednn_operand){argument,
                              (int)which,
                              bp__onednn_type(p->tensor[BP_RNN_INPUT].dtype),
                              {4, {1, p->directions, p->batch, units}, {0, layout->stride[0], layout->stride[1], 1}}};
    if (!layout->dtype) {
        call->staged |= 1u << place;
        o->tensor.stride[1] = p->batch * units;
        o->tensor.stride[2] = units;
    }
    return has_rows(&o->tensor) && (!layout->dtype || units == 1 || layout->stride[2] == 1);
}

/* Describes a weight of a gate's rows, whose columns are next to each other in our memory. It is copied if it is
 * not compact, or its gates are in another order. */
static void set_weight(bp__onednn_call *call, int place, int argument, bp_rnn_tensor which, const bp_rnn_problem *p,
                       int64_t gates, int64_t rows, int64_t columns) {
    const int64_t *stride = p->tensor[which].stride, all = gates * rows * columns;
    bp__onednn_operand *o = &call->operand[place];
    *o = (bp__onednn_operand){
        argument,
        (int)which,
        bp__onednn_type(p->tensor[which].dtype),
        {5, {1, p->directions, columns, gates, rows}, {p->directions * all, all, 1, rows * columns, columns}}};
    if (which == BP_RNN_WEIGHT_HR) { /* has no gates */
        o->tensor = (bp__onednn_tensor){4, {1, p->directions, columns, rows}, {p->directions * all, all, 1, columns}};
    }
    const bool compact = (columns == 1 || stride[2] == 1) && (gates * rows == 1 || stride[1] == columns) &&
                         (p->directions == 1 || stride[0] == all);
    call->staged |= !compact || p->mode == BP_RNN_GRU ? 1u << place : 0;
    call->own |= 1u << place;
}

const char *bp__onednn_describe_recurrent(bp__onednn_call *call, const bp_problem *problem) {
    const bp_rnn_problem *p = &problem->of.rnn;
    const int64_t gates = p->mode == BP_RNN_LSTM ? 4 : p->mode == BP_RNN_GRU ? 3 : 1, units = p->hidden_size;
    const bool lstm = p->mode == BP_RNN_LSTM;
    const char *why = why_not(problem);
    bp__onednn_operand *o = call->operand;
    if (why) {
        return why;
    }
    const bool sequences =
        set_sequence(&o[BP__ONEDNN_SOURCE], BP__ONEDNN_ARG_SRC, BP_RNN_INPUT, p, p->input_size) &&
        set_sequence(&o[BP__ONEDNN_RESULT], BP__ONEDNN_ARG_DST, BP_RNN_OUTPUT, p, p->directions * p->output_size);
    const bool hidden = set_state(call, BP__ONEDNN_HIDDEN, BP__ONEDNN_ARG_SRC_ITER, BP_RNN_INITIAL_HIDDEN,
                                  BP_RNN_INITIAL_CELL, p, p->output_size) &&
                        set_state(call, BP__ONEDNN_LAST_HIDDEN, BP__ONEDNN_ARG_DST_ITER, BP_RNN_FINAL_HIDDEN,
                                  BP_RNN_FINAL_CELL, p, p->output_size);
    const bool cells = !lstm || (set_state(call, BP__ONEDNN_CELL, BP__ONEDNN_ARG_SRC_ITER_C, BP_RNN_INITIAL_CELL,
                                           BP_RNN_INITIAL_HIDDEN, p, units) &&
                                 set_state(call, BP__ONEDNN_LAST_CELL, BP__ONEDNN_ARG_DST_ITER_C, BP_RNN_FINAL_CELL,
                                           BP_RNN_FINAL_HIDDEN, p, units));
    if (!sequences || !hidden || !cells) {
        return "it takes tensors with contiguous columns and positive strides only";
    }
    call->kind = BP__ONEDNN_RECUR;
    call->algorithm = p->mode == BP_RNN_RELU ? BP__ONEDNN_RELU : BP__ONEDNN_TANH;
    call->direction = p->directions == 2 ? BP__ONEDNN_BOTH : p->reverse ? BP__ONEDNN_DESCENDING : BP__ONEDNN_ASCENDING;
    set_weight(call, BP__ONEDNN_WEIGHT, BP__ONEDNN_ARG_WEIGHTS, BP_RNN_WEIGHT_IH, p, gates, units, p->input_size);
    set_weight(call, BP__ONEDNN_ITER, BP__ONEDNN_ARG_WEIGHTS_ITER, BP_RNN_WEIGHT_HH, p, gates, units, p->output_size);
    call->packs = 1u << BP_RNN_WEIGHT_IH | 1u << BP_RNN_WEIGHT_HH;
    if (p->tensor[BP_RNN_WEIGHT_HR].dtype) {
        set_weight(call, BP__ONEDNN_PROJECTION, BP__ONEDNN_ARG_WEIGHTS_PROJECTION, BP_RNN_WEIGHT_HR, p, 1,
                   p->output_size, units);
        call->packs |= 1u << BP_RNN_WEIGHT_HR;
    }
    /* Always with a bias: without one the library refuses most layers. */
    const int64_t slots = gates + (p->mode == BP_RNN_GRU && !p->reset_before), all = slots * units;
    o[BP__ONEDNN_BIAS] =
        (bp__onednn_operand){BP__ONEDNN_ARG_BIAS,
                             BP_RNN_BIAS_IH,
                             BP__ONEDNN_F32,
                             {4, {1, p->directions, slots, units}, {p->directions * all, all, units, 1}}};
    call->staged |= 1u << BP__ONEDNN_BIAS;
    return NULL;
}

double bp__onednn_recurrent_ns(const bp__driver *driver, const bp_problem *problem, const bp__onednn_call *call,
                               int threads) {
    const bp_rnn_problem *p = &problem->of.rnn;
    const double rows = (double)p->steps * (double)p->batch;
    double weights = 0;
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS; i++) {
        weights += call->own >> i & 1 ? bp__onednn_elements(&call->operand[i].tensor) : 0;
    }
    const double gates = rows * bp__onednn_elements(&call->operand[BP__ONEDNN_ITER].tensor) / (double)p->output_size;
    const double products = 1.5 * rows * weights / bp__onednn_rate(driver), reads = (double)p->steps * weights * 4 / 30;
    const double alone = (products > reads ? products : reads) + 1.0 * gates;
    return 5000 + 0.5 * weights + 1500 * (double)(p->steps * p->directions) + alone / threads;
}
