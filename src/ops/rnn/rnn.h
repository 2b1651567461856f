/* rnn.h - converts a call of a recurrent layer to the problem that providers accept. The files of this folder share it.
 */
#ifndef BP_OPS_RNN_H
#define BP_OPS_RNN_H

#include "backplane/rnn.h"
#include "ops/call.h"

/* A call, resolved: its sizes, and how its pass uses the tensors. */
typedef struct bp__rnn {
    const bp_rnn_call *call;
    bp_dtype dtype;
    int directions;
    int64_t steps, batch, input_size, hidden_size, output_size;
    int64_t gates, reserve_size; /* blocks of weights; elements of the reserve for each hidden unit */
} bp__rnn;

const bp__pass *bp__rnn_pass(const void *call); /* of bp_call */

void bp__rnn_set_mode(bp__rnn *rnn, bp_rnn_mode mode); /* sets the fields that depend on it */

/* Checks the parameters and the tensors that have the sizes, and computes these. */
bp_status bp__rnn_resolve(bp__rnn *rnn, const bp_rnn_call *call, bool data_optional);

/* Checks the other tensors, and that the written ones overlap nothing. */
bp_status bp__rnn_check(const bp__rnn *rnn, bool data_optional);

/* Writes the shape of a tensor, with the dimension of the directions. Returns its rank. */
int bp__rnn_shape(const bp__rnn *rnn, bp_rnn_tensor which, int64_t *shape);
bp_dtype bp__rnn_dtype(const bp__rnn *rnn, bp_rnn_tensor which);
/* Returns whether the first dimension of a tensor has the directions. */
bool bp__rnn_has_directions(bp_rnn_tensor which);

/* Fills a zeroed problem. */
void bp__rnn_lower(bp_problem *problem, const bp__rnn *rnn);

bp_status bp__rnn_make(bp_problem *problem, const void *request);

bool bp__rnn_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
