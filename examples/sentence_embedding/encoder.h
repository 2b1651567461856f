/* encoder.h - the network of all-MiniLM-L6-v2: a BERT with 6 blocks, and the mean over the tokens of each sentence. */
#ifndef EXAMPLES_ENCODER_H
#define EXAMPLES_ENCODER_H

#include "../networks/network.h"

enum {
    BLOCKS = 6,
    HIDDEN = 384,
    HEADS = 12,
    WIDE = 1536,    /* between the two last layers of a block */
    WORDS = 30522,  /* word pieces */
    LONGEST = 256,  /* tokens of a sentence: max_seq_length of this network in sentence-transformers */
    POSITIONS = 512 /* rows of the table, of which LONGEST are used */
};

/* The layers of a block, for one shape. */
typedef struct block {
    layer qkv, attended, wide, narrow;
} block;

/* The weights of a block; those of query, key and value are joined to one layer. */
typedef struct block_weights {
    bp_view qkv[2], attended[2], wide[2], narrow[2]; /* weight and bias */
    bp_view attended_norm[2], norm[2];
} block_weights;

typedef struct encoder {
    bp_options *options;
    bool explain;
    weights file;
    bp_view words, positions, type, norm[2];
    block_weights weights[BLOCKS];
    int64_t batch, length; /* the shape; 0: none yet */
    block blocks[BLOCKS];
    bp_view ids, mask, share; /* inputs: token ids, which tokens are there, and 1 / their number or 0 */
    bp_view hidden, sum, wide, qkv, query, key, value, attended, heads;
    bp_view vectors, squares, norms; /* results: batch x HIDDEN of length 1; their squares, and their sums */
} encoder;

/* Reads the weights. `options` and `explain` are set before. */
void encoder_open(encoder *e, const char *path);
/* Prepares layers and memory for `batch` sentences of `length` tokens, unless they are ready for this shape. */
void encoder_shape(encoder *e, int64_t batch, int64_t length);
/* Computes e->vectors from ids, mask and share. */
void encoder_run(encoder *e);
void encoder_close(encoder *e);

#endif
