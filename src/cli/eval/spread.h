/* spread.h - replaces the tensors of a job by what one rank has of them. */
#ifndef BP_CLI_SPREAD_H
#define BP_CLI_SPREAD_H

#include "cli/operations/operations.h"

/* What this rank has of an array: its part of a matrix, or all of a vector or value. */
typedef struct spread_part {
    DLTensor *tensor; /* of the job */
    bp_dist_view view;
    npy_array whole; /* of a vector or value */
    void *memory;    /* of a part */
} spread_part;

typedef struct spread {
    bp_comm *comm;
    int rank;
    bool slabs;         /* arrays are divided as transforms need it */
    bool is_empty;      /* parts have no memory: for explanations, and so that the calls of all ranks fail */
    int failure;        /* exit code of what only this rank has done */
    spread_part *parts; /* of the inputs, and then of the results */
} spread;

/* Whether the operation is a transform, whose arrays are divided along their first dimension. */
bool spread_takes_slabs(const cli_job *job);

/* Whether every rank has all of a tensor. Matrices are divided. */
bool spread_is_replicated(const DLTensor *tensor);

/* Refuses arrays of more than two dimensions, and of transforms of more than three. Returns the exit code. */
int spread_check(const cli_job *job);

/* Makes the settings of distributions that --set has: they hold for the process, not for a call. */
bp_status spread_settings(const cli_args *args);

/* Sets *dist to the distribution of a tensor of the whole array. */
bp_status spread_distribution(const spread *s, const DLTensor *tensor, bp_dist *dist);

/* Allocates the parts of a job whose results are prepared. */
void spread_begin(spread *s, const cli_job *job);

/* Replaces a tensor of the job by a view of this rank's part, whose memory is allocated. */
bp_status spread_tensor(const spread *s, spread_part *p, DLTensor *tensor);

void spread_free(const spread *s, const cli_job *job);

#endif
