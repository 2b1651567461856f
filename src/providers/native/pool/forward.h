/* forward.h - declares what the files of pooling's forward pass share. */
#ifndef BP_NATIVE_POOL_FORWARD_H
#define BP_NATIVE_POOL_FORWARD_H

#include "pool.h"

#include "providers/native/stop.h"

enum { LAST = BP_MAX_CONV_NDIM - 1 }; /* the last position */

typedef struct bp__pool_forward {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    const bp__pool_kernels *kernels;
    int threads;
    bool average;
    bool by_channels;     /* channels are contiguous */
    bool runs;            /* rows are computed by the kernels of runs, as far as possible */
    int64_t units, chunk; /* rows, and how many a thread takes at once */
    int64_t low, high;    /* outputs of a row with complete windows */
    int64_t taps, tap[];  /* a row of taps of a run, and its places, if `runs` */
} bp__pool_forward;

typedef struct bp__pool_forward_call {
    const bp__pool_forward *plan;
    const char *x;
    char *y;
    int64_t *indices;
    _Atomic int64_t next;
    bp__stop stop;
} bp__pool_forward_call;

/* A row of outputs, of one channel or of all: its position in the first dimensions, and the elements before its image
 * and its first results. */
typedef struct bp__pool_outputs {
    int64_t out[BP_MAX_CONV_NDIM - 1];
    int64_t x, y, i;
} bp__pool_outputs;

/* Computes the outputs first to end - 1 of a row, whatever its layout is (any.c). */
void bp__pool_any(const bp__pool_forward_call *call, const bp__pool_outputs *row, int64_t first, int64_t end);
/* Computes a row of all channels (channels.c). */
void bp__pool_channels(const bp__pool_forward_call *call, const bp__pool_outputs *row);

#endif
