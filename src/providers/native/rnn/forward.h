/* forward.h - declares what the plans of recurrent layers (forward_plan.c) and their runs (forward.c) share. */
#ifndef BP_NATIVE_RNN_FORWARD_H
#define BP_NATIVE_RNN_FORWARD_H

#include "work.h"

/* Products with weights where they are: of the input, of hidden states, of hidden states times r, and of states before
 * a projection. */
enum { BP__RNN_BY_INPUT, BP__RNN_BY_HIDDEN, BP__RNN_BY_RESET, BP__RNN_BY_RAW, BP__RNN_PRODUCTS };

/* Steps up to which copying a weight to panels takes more time than it saves. */
enum { BP__RNN_FEW_STEPS = 4 };

typedef struct bp__rnn_forward {
    bp__rnn_work work; /* must be first */
    bp__rnn_panels input, hidden, projection;
    bp__rnn_panels candidate;               /* n of a GRU in two parts, whose r and z `hidden` has */
    bp_prepared *product[BP__RNN_PRODUCTS]; /* NULL: not used */
    bool copies;            /* the rows of the input are copied, because they are not at equal distances */
    int64_t parts;          /* of the items, of BP__RNN_ROWS each */
    int64_t columns, cells; /* of a row of the arrays of hidden states and of cells: whole panels */
    int64_t gate_row;       /* numbers from one row of gates to the next, if a matrix has all of them */
    /* Offsets in the workspace. `reset` and `update` are of a GRU in two parts: r times the hidden state, and z. */
    size_t input_panels, panels, projection_panels, bias, rows, gates, states, cell, raw, reset, update, products,
        scratch;
} bp__rnn_forward;

/* A weight that was packed before the call. */
typedef struct bp__rnn_packed {
    bp_packed base; /* must be first */
    const bp_host *host;
    char *memory;
} bp__rnn_packed;

/* Whether a step has two parts, because the reset gate of a GRU comes before the product. */
static inline bool bp__rnn_has_parts(const bp__rnn_forward *plan) {
    return bp__rnn_problem_of(&plan->work)->reset_before;
}

/* Returns where the panels of n are, behind the panels of r and z. */
static inline size_t bp__rnn_candidate_at(const bp__rnn_forward *plan) {
    return (size_t)(bp__rnn_problem_of(&plan->work)->directions * plan->hidden.blocks) * plan->hidden.block_bytes;
}

/* Packs a weight of all directions. */
void bp__rnn_pack_weight(const bp__rnn_forward *plan, bp_rnn_tensor which, const char *from, char *to);

bp_status bp__rnn_run_forward(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);

#endif
