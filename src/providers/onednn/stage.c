/* stage.c - prepares what a recurrent layer of oneDNN reads and no tensor of the caller has: the sum of both biases,
 * weights whose rows or gates are in another order, and both states where the caller has only one. */
#include "providers/onednn/onednn.h"

#include <string.h>

/* Our gates r, z, n of a GRU are its third parts 1, 0 and 2. */
static int64_t gate_of(const bp_rnn_problem *p, int64_t gate) {
    return p->mode == BP_RNN_GRU && gate < 2 ? 1 - gate : gate;
}

static int64_t gates_of(const bp_rnn_problem *p) {
    return p->mode == BP_RNN_LSTM ? 4 : p->mode == BP_RNN_GRU ? 3 : 1;
}

static size_t bytes_of(const bp__onednn_operand *operand) {
    return operand->type == BP__ONEDNN_F32 ? 4 : 2;
}

size_t bp__onednn_staged_bytes(const bp__onednn_operand *operand) {
    return (size_t)bp__onednn_elements(&operand->tensor) * bytes_of(operand);
}

void bp__onednn_stage_weight(const bp__onednn_plan *plan, int place, const void *from, void *to) {
    const bp_rnn_problem *p = &plan->layer;
    const bool projection = place == BP__ONEDNN_PROJECTION;
    const int64_t gates = projection ? 1 : gates_of(p), rows = projection ? p->output_size : p->hidden_size;
    const int64_t columns = projection ? p->hidden_size : place == BP__ONEDNN_WEIGHT ? p->input_size : p->output_size;
    const bp_rnn_layout *layout = &p->tensor[plan->call.operand[place].index];
    const int64_t size = (int64_t)bytes_of(&plan->call.operand[place]);
    for (int64_t d = 0; d < p->directions; d++) {
        for (int64_t g = 0; g < gates; g++) {
            const int64_t row = d * layout->stride[0] + gate_of(p, g) * rows * layout->stride[1];
            plan->driver->host->copy_matrix((bp_dtype)layout->dtype, rows, columns,
                                            (char *)to + (d * gates + g) * rows * columns * size, columns, 1,
                                            (const char *)from + row * size, layout->stride[1], layout->stride[2], 0);
        }
    }
}

/* Returns an element of a bias; 0 if there is none. */
static float bias_at(const bp_rnn_problem *p, const bp_operand *operands, bp_rnn_tensor which, int64_t direction,
                     int64_t row) {
    const bp_rnn_layout *layout = &p->tensor[which];
    const float *bias = bp_operand_address(&operands[which]);
    return layout->dtype ? bias[direction * layout->stride[0] + row * layout->stride[1]] : 0;
}

/* In a GRU whose reset gate comes after the product, both biases of n are apart. */
static void stage_bias(const bp_rnn_problem *p, const bp_operand *operands, float *to) {
    const int64_t gates = gates_of(p), apart = p->mode == BP_RNN_GRU && !p->reset_before, slots = gates + apart,
                  units = p->hidden_size;
    for (int64_t i = 0; i < p->directions * slots * units; i++) {
        const int64_t d = i / units / slots, slot = i / units % slots;
        const int64_t row = gate_of(p, slot == gates ? gates - 1 : slot) * units + i % units;
        const float ih = bias_at(p, operands, BP_RNN_BIAS_IH, d, row),
                    hh = bias_at(p, operands, BP_RNN_BIAS_HH, d, row);
        to[i] = apart && slot == gates ? hh : apart && slot == gates - 1 ? ih : ih + hh;
    }
}

void bp__onednn_stage(const bp__onednn_plan *plan, int place, const bp_operand *operands, void *to) {
    const bp__onednn_operand *o = &plan->call.operand[place];
    switch (place) {
    case BP__ONEDNN_BIAS:
        stage_bias(&plan->layer, operands, to);
        return;
    case BP__ONEDNN_HIDDEN:
    case BP__ONEDNN_CELL:
        memset(to, 0, bp__onednn_staged_bytes(o));
        return;
    case BP__ONEDNN_LAST_HIDDEN:
    case BP__ONEDNN_LAST_CELL:
        return; /* written, and not wanted */
    default:
        bp__onednn_stage_weight(plan, place, bp_operand_address(&operands[o->index]), to);
    }
}
