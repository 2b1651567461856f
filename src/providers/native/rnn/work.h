/* work.h - declares what both passes of recurrent layers share: plans, calls, panels of weights, and products. */
#ifndef BP_NATIVE_RNN_WORK_H
#define BP_NATIVE_RNN_WORK_H

#include "rnn.h"

#include "providers/least.h"
#include "providers/native/address.h"
#include "providers/native/stop.h"

#include <string.h>

/* Panels of a matrix of weights: [units / width][inner][gates][width]. */
typedef struct bp__rnn_panels {
    int64_t gates, units, inner;
    int64_t width, blocks; /* units of a panel; panels */
    int vectors;           /* of a panel's row */
    size_t block_bytes;
} bp__rnn_panels;

/* Strides of a matrix of weights in elements. */
typedef struct bp__rnn_strides {
    int64_t gate, unit, inner;
} bp__rnn_strides;

/* What each plan begins with. */
typedef struct bp__rnn_work {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    const bp__rnn_kernels *kernels;
    int threads;      /* of a step */
    int64_t rows;     /* gates of a direction */
    bool is_one_item; /* steps and items of the input are one dimension, with `x_row` from one to the next */
    int64_t x_row;
    int64_t block;        /* terms of a sum that products of matrices add up at a time */
    size_t order, active; /* offsets in the workspace: items by length, and their number in each step */
    size_t sums;          /* offset of the sums of a panel, for each thread `sums_bytes` */
    size_t sums_bytes;
} bp__rnn_work;

enum { BP__RNN_ROWS = 96 }; /* items whose products with a panel are computed before their states */

/* A call. */
typedef struct bp__rnn_call {
    const bp__rnn_work *plan;
    char *tensor[BP_RNN_TENSORS]; /* NULL: absent */
    char *workspace;
    const int64_t *item;   /* items by length, the longest first; NULL: there are no lengths */
    const int64_t *active; /* items of each step */
    bp__stop stop;
} bp__rnn_call;

static inline const bp_rnn_problem *bp__rnn_problem_of(const bp__rnn_work *plan) {
    return &plan->problem.of.rnn;
}

static inline size_t bp__rnn_number(const bp__rnn_work *plan) {
    return plan->kernels->number;
}

/* Returns the address of an element of a tensor. */
static inline char *bp__rnn_at(const bp__rnn_call *call, bp_rnn_tensor which, int64_t i, int64_t j, int64_t k) {
    const int64_t *stride = bp__rnn_problem_of(call->plan)->tensor[which].stride;
    return call->tensor[which] + (i * stride[0] + j * stride[1] + k * stride[2]) * (int64_t)bp__rnn_number(call->plan);
}

/* Returns the address of an array in the workspace, `index` numbers behind its begin. */
static inline char *bp__rnn_memory(const bp__rnn_call *call, size_t offset, int64_t index) {
    return call->workspace + offset + (size_t)index * bp__rnn_number(call->plan);
}

/* Returns the address of what TRAINING saved of a step of an item. */
static inline char *bp__rnn_saved_at(const bp__rnn_call *call, int direction, int64_t step, int64_t item) {
    const bp_rnn_problem *p = bp__rnn_problem_of(call->plan);
    const int64_t row = bp__rnn_saved(p) * p->hidden_size;
    return call->tensor[BP_RNN_RESERVE] +
           (((direction * p->steps + step) * p->batch + item) * row) * (int64_t)bp__rnn_number(call->plan);
}

/* Returns the item in row `row` of the states. */
static inline int64_t bp__rnn_item(const bp__rnn_call *call, int64_t row) {
    return call->item ? call->item[row] : row;
}

static inline int64_t bp__rnn_active(const bp__rnn_call *call, int64_t step) {
    return call->item ? call->active[step] : bp__rnn_problem_of(call->plan)->batch;
}

/* Whether a direction takes the steps in descending order. */
static inline bool bp__rnn_descends(const bp_rnn_problem *p, int direction) {
    return p->reverse || direction == 1;
}

/* Copies numbers between memory of any strides. */
void bp__rnn_copy(const bp__rnn_work *plan, int64_t count, void *to, int64_t to_stride, const void *from,
                  int64_t from_stride);
/* Sets numbers to 0. */
void bp__rnn_clear(const bp__rnn_work *plan, int64_t count, void *to, int64_t to_stride);

/* ---- Plans and calls ---- */
void bp__rnn_begin(bp__rnn_work *plan, const bp_host *host, const bp_problem *problem, const bp__rnn_kernels *kernels,
                   int threads);
/* Returns the operands of an operation; the list ends with BP_RNN_TENSORS. Sets *inputs to how many are inputs. */
const bp_rnn_tensor *bp__rnn_order(bp_op op, int *inputs);
/* Begins a call, and orders the items. Errors: BP_E_ARGUMENT for a length outside the steps. */
bp_status bp__rnn_open(const bp__rnn_work *plan, const bp_operand *operands, const bp_exec *exec, bp__rnn_call *call);

/* Runs compute(context, unit, task) for each unit. A task takes neighbouring units, the same in each stage, so that a
 * core's cache keeps their weights. */
void bp__rnn_stage(const bp__rnn_work *plan, void (*compute)(void *context, int64_t unit, int task), void *context,
                   int64_t units);

/* Reserves an array in 64-byte lines. Returns its offset. Sizes that no memory has are limited. */
size_t bp__rnn_reserve(size_t *end, size_t element, int64_t rows, int64_t columns);

/* ---- Panels ---- */
bp__rnn_panels bp__rnn_panels_of(const bp__rnn_work *plan, int64_t gates, int64_t units, int64_t inner);
/* Copies a matrix to panels, on the plan's threads. */
void bp__rnn_pack(const bp__rnn_work *plan, const bp__rnn_panels *panels, const char *from,
                  const bp__rnn_strides *strides, char *to);

/* ---- Products of matrices ---- */

/* Strides of a matrix, and from one item of a batch to the next. */
typedef struct bp__rnn_matrix {
    int64_t row, column, batch;
} bp__rnn_matrix;

/* A product of m x k and k x n matrices. */
typedef struct bp__rnn_shape {
    int64_t batch, m, n, k;
    bp__rnn_matrix a, b, c;
    bool adds; /* to what C has */
} bp__rnn_shape;

/* Plans a product on the policy's threads. Sets *packs (NULL: not wanted) to whether B can be packed. */
bp_status bp__rnn_product(const bp__rnn_work *plan, const bp__rnn_shape *shape, bool *packs, bp_prepared **product);
/* Runs it, with B packed unless NULL. */
bp_status bp__rnn_multiply(const bp_prepared *product, const void *a, const void *b, const void *c,
                           const bp_packed *packed, char *workspace);

bp_status bp__rnn_no_memory(const bp_host *host, size_t size);

#endif
