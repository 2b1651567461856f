/* direct.h - declares what the two loops of the direct algorithm share: direct.c, by groups, and direct_rows.c, by
 * positions. */
#ifndef BP_NATIVE_CONV_DIRECT_H
#define BP_NATIVE_CONV_DIRECT_H

#include "conv.h"

#include <stdatomic.h>

enum { BP__DIRECT_RUN = 256, BP__DIRECT_TERMS = 64 }; /* most results of a row, and terms, that are added up at once */

/* A term of the sums: a tap and a channel of the image. */
typedef struct bp__direct_term {
    int64_t shift[BP_MAX_CONV_NDIM]; /* of the image index, from the index of the first tap */
    int64_t at;                      /* elements from the image's element at the first tap */
    int64_t weight;                  /* elements from the channel's first weight */
    int64_t row;                     /* by positions: elements from the first packed row */
} bp__direct_term;

typedef struct bp__direct_plan {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    bp__conv_set set;
    int threads;
    bool by_groups;
    int64_t jobs;
    size_t weight_bytes; /* all weights if by groups; otherwise the weights of one channel, for each thread */
    size_t term_bytes;   /* of the terms of a job */
    size_t row_bytes;    /* by positions: of one thread's rows and sums */
} bp__direct_plan;

/* By positions: how a job is cut. */
typedef struct bp__direct_cut {
    bool shared;       /* the rows of the image that some rows of the result need are packed once for all terms */
    int64_t run, band; /* positions of a row, and rows, of the result */
    int64_t columns;   /* shared: elements of a phase of a packed row; a phase has every step-th element */
    int64_t rows;      /* shared: of a packed plane */
    int64_t low[BP_MAX_CONV_NDIM]; /* shared: the least shift of all taps */
} bp__direct_cut;

typedef struct bp__direct_call {
    const bp__direct_plan *plan;
    bp__conv_job job;
    bp__direct_cut cut;
    const char *image, *weight, *bias;
    char *result, *workspace;
    char *weights; /* by groups: converted weights */
    bp__direct_term *terms;
    int64_t units;
    _Atomic int64_t next;
    bp__stop stop;
} bp__direct_call;

/* Returns the elements from the result's first one to a position. */
static inline int64_t bp__direct_result_at(const bp__conv_job *job, const int64_t index[1 + BP_MAX_CONV_NDIM]) {
    int64_t at = job->origin + index[0] * job->result_batch;
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        at += index[1 + d] * job->axis[d].result;
    }
    return at;
}

static inline const char *bp__direct_bias(const bp__direct_call *w, int64_t channel) {
    const int64_t at = channel * w->plan->problem.of.conv.bias * (int64_t)w->plan->set.products->element;
    return w->bias ? w->bias + at : NULL;
}

/* ---- direct_rows.c ---- */

/* Returns the bytes of rows and sums that one thread needs for any job. */
size_t bp__direct_row_bytes(const bp__conv_set *set);

void bp__direct_cut_job(bp__direct_call *w);

/* Computes one channel of one item. `memory` holds the weights of a channel, and then rows. */
void bp__direct_channel(bp__direct_call *w, int64_t unit, char *memory);

#endif
