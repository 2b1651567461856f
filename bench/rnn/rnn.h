/* rnn.h - declares what the files of the benchmark of recurrent layers share. */
#ifndef BP_BENCH_RNN_H
#define BP_BENCH_RNN_H

#include "backplane.h"

/* A layer, one direction, as many columns as hidden units. */
typedef struct layer {
    bp_rnn_mode mode;
    int steps, batch, hidden;
    float *input, *weight_ih, *weight_hh, *bias, *output; /* bias: the input's */
} layer;

static inline int layer_gates(const layer *l) {
    return l->mode == BP_RNN_LSTM ? 4 : l->mode == BP_RNN_GRU ? 3 : 1;
}

/* oneDNN, called without Backplane. */
typedef struct direct direct;
/* Opens the library. Returns 0 if that fails. */
int direct_open(const char *path, int threads);
/* Makes the primitive, with weights in the library's own layout. */
direct *direct_new(const layer *l);
void direct_run(void *context);
void direct_free(direct *made);

#endif
