/* cases.h - declares random calls of recurrent layers with tensors of random layouts, and comparisons
 * with the reference. */
#ifndef BP_TESTS_RNN_CASES_H
#define BP_TESTS_RNN_CASES_H

#include "reference/results.h"
#include "reference/rnn.h"
#include "support/arrays.h"

typedef struct rnn_shape {
    bp_dtype dtype;
    bp_rnn_mode mode;
    int64_t steps, batch, input, hidden, projection; /* projection 0: none */
    int directions;
    bool reverse, reset_before;
    bool bias_ih, bias_hh, states, finals, lengths;
    bool omit; /* tensors of one direction lack this dimension */
    bool compact;
} rnn_shape;

typedef struct rnn_case {
    rnn_shape shape;
    bp_rnn_call call;
    test_array tensor[BP_RNN_TENSORS];
    char text[256];
} rnn_case;

/* Kinds of cells: each bp_rnn_mode, and after them a GRU whose reset gate comes before the product. */
enum { RNN_CELLS = BP_RNN_GRU + 2 };
/* Sets mode and reset_before of a shape. */
void rnn_set_cell(rnn_shape *shape, int cell);

/* Makes a random shape. */
rnn_shape rnn_any(bp_dtype dtype);

/* Makes the tensors of a call with random numbers. */
void rnn_begin(rnn_case *c, const rnn_shape *shape, bp_rnn_pass pass);
/* Turns a call of TRAINING that ran into one for the gradients. The case keeps the biases, which the references need.
 */
void rnn_turn(rnn_case *c);
void rnn_end(rnn_case *c);

/* Excludes oneDNN, which tests/onednn covers, from the program: a setup of cmocka. */
int rnn_on_native(void **state);

/* Runs the call with settings; the test fails if it fails. */
void rnn_run(const rnn_case *c, const char *settings);

/* Writes output, final hidden state and final cell (NULL: not wanted) in compact order. */
void rnn_reference(const rnn_case *c, reference_number *output, reference_number *hidden, reference_number *cell);

/* Makes the references of a call, also of BACKWARD. */
void rnn_references(const rnn_case *c, reference_results *made);

/* Compares the results of a call with the reference. */
void rnn_compare(const rnn_case *c);
void rnn_compare_gradients(const rnn_case *c);

/* Makes the elements of some operands equal along dimension d, or along the last one where there are fewer. `tensors`
 * has a bit for each bp_rnn_tensor. */
void rnn_make_equal(rnn_case *c, uint32_t tensors, int d);

/* Runs a call that ran before with copies of some operands, whose stride in that dimension is 0 (`repeats`, only of
 * those that are read) or negative. The test fails if it succeeds with other bits. Returns its status. */
bp_status rnn_run_copies(const rnn_case *c, uint32_t tensors, int d, bool repeats, const char *settings);

#endif
