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
    bool by_channels; /* channels are contiguous */
    bp__pool_rows rows;
    int64_t units, chunk; /* rows or blocks of rows, and how many a thread takes at once */
    int64_t low, high;    /* outputs of a row with complete windows */
    int64_t taps;         /* of a row of a window */
    /* Of BP__POOL_POSITIONS: */
    bool in_place;                    /* rows of the image are read where they are */
    bool even;                        /* the windows of a row have the same divisor */
    int64_t block;                    /* rows of outputs of a unit */
    int64_t phases;                   /* parts into which a row of the image is split: places that are a stride apart */
    int64_t needed;                   /* elements of a part that windows have */
    int64_t pitch;                    /* elements of a part in memory */
    int64_t image_rows;               /* rows of the image that a unit reads, in the middle dimension */
    size_t image_bytes, thread_bytes; /* of a unit's rows; with a row of divisors, results and indices */
    const double *sizes;              /* of the windows of a row */
    int64_t tap[];                    /* the taps of a row, their places, and the sizes */
} bp__pool_forward;

typedef struct bp__pool_forward_call {
    const bp__pool_forward *plan;
    const char *x;
    char *y;
    int64_t *indices;
    char *workspace;
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
/* Completes a plan for vectors of positions, and computes one of its units: a block of rows of a channel (positions.c).
 */
void bp__pool_plan_positions(bp__pool_forward *plan);
void bp__pool_positions(const bp__pool_forward_call *call, int64_t unit, char *workspace);

#endif
