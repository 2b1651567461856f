/* layer_work.h - the plan of layer, RMS and group normalization, shared by the files that run it. */
#ifndef BP_NATIVE_LAYER_WORK_H
#define BP_NATIVE_LAYER_WORK_H

#include "layer.h"

#include "batch_norm.h"

#include "providers/native/stop.h"

enum {
    BP__LAYER_BLOCK = 8192,   /* elements whose moments are computed in two passes over the cache */
    BP__LAYER_WINDOW = 16384, /* elements of a row that are copied at once, at most; longer rows are copied in blocks */
    BP__LAYER_LINE = 64,      /* bytes of a cache line */
    BP__LAYER_TOGETHER = 2 * BP__LAYER_LINE, /* bytes of neighbouring rows that are copied together */
    BP__LAYER_MOST_ROWS = BP__LAYER_TOGETHER / 2,
    BP__LAYER_IMAGES = 3, /* X, Y and G, whose elements are elements of rows */
    BP__LAYER_NONE = -1
};

/* The operands, by their place in the lists of both operations. */
enum { X, Y, WEIGHT, BIAS, MEAN, INVERSE_STD, G, WEIGHT_GRADIENT, BIAS_GRADIENT, OPERANDS };
static const int bp__layer_images[BP__LAYER_IMAGES] = {X, Y, G};

typedef struct bp__layer_work {
    bp_prepared base;
    const bp_host *host;
    bp_problem problem;
    bp__layer_set set;
    const int8_t *operands;
    bool backward, weighs; /* weighs: there are gradients by weight or bias */
    int threads;
    int64_t rows, elements, segment, segments; /* elements of a row and of a segment, segments of a row */
    int64_t weights;                           /* number of weights */
    int64_t weight[BP_MAX_LAYER_NORM_NDIM];    /* their strides: compact */
    int step;
    int64_t part, parts;           /* rows of a part */
    bool staged[BP__LAYER_IMAGES]; /* which tensors are copied to compact rows */
    bool columns, by_channels;     /* rows, or channels of several rows, are lanes of vectors */
    bool shared;                   /* copies of X are overwritten by copies of Y */
    int64_t block, leading;        /* rows that are copied at once, and the distance of the copies in elements */
    size_t numbers, sums;          /* bytes of the weights; offset of the sums */
    size_t copies, copy;           /* offset of the copies of all threads, and bytes of one of a thread */
} bp__layer_work;

typedef struct bp__layer_run {
    const bp__layer_work *plan;
    char *operand[OPERANDS]; /* NULL: absent */
    char *weights, *biases, *copies;
    double *sums; /* for each part: products and sums for each weight */
    bp__stop stop;
    _Atomic int64_t next;
} bp__layer_run;

static inline const int64_t *bp__layer_strides(const bp__layer_work *plan, int operand) {
    static const int64_t none[BP_MAX_LAYER_NORM_NDIM];
    const int at = plan->operands[operand];
    return at == BP__LAYER_NONE ? none : plan->problem.of.layer_norm.stride[at];
}

/* Returns the offset of an index in the dimensions from `first` to before `end`. */
static inline int64_t bp__layer_offset(const bp_layer_norm_problem *p, const int64_t *strides, int first, int end,
                                       int64_t index) {
    int64_t offset = 0;
    for (int d = end - 1; d > first; d--) {
        offset += index % p->size[d] * strides[d];
        index /= p->size[d];
    }
    return end > first ? offset + index * strides[first] : 0;
}

/* Returns the elements from an offset on; NULL if the operand is absent. */
static inline bp__layer_vector bp__layer_vector_at(const bp__layer_run *w, int operand, int64_t offset,
                                                   int64_t stride) {
    const char *base = w->operand[operand];
    const int64_t bytes = offset * (int64_t)w->plan->set.images->element;
    return (bp__layer_vector){base ? (char *)((uintptr_t)base + (uintptr_t)bytes) : NULL, stride};
}

/* Returns the offset of an element of a row. */
static inline int64_t bp__layer_element_offset(const bp__layer_work *plan, int operand, int64_t index, int64_t from) {
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    const int64_t *strides = bp__layer_strides(plan, operand);
    return p->ndim > p->row_ndim
               ? bp__layer_offset(p, strides, p->row_ndim, p->ndim - 1, index) + from * strides[p->ndim - 1]
               : 0;
}

/* Returns the distance of the elements of a segment. */
static inline int64_t bp__layer_element_stride(const bp__layer_work *plan, int operand) {
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    return p->ndim > p->row_ndim ? bp__layer_strides(plan, operand)[p->ndim - 1] : 0;
}

static inline char *bp__layer_statistic(const bp__layer_run *w, int operand, int64_t index) {
    const bp_layer_norm_problem *p = &w->plan->problem.of.layer_norm;
    const int64_t offset = bp__layer_offset(p, bp__layer_strides(w->plan, operand), 0, p->row_ndim, index);
    return w->operand[operand] + offset * (int64_t)w->plan->set.parameters->element;
}

/* Writes the statistics of a row, if they are wanted. */
static inline void bp__layer_store_statistics(const bp__layer_run *w, int64_t index, double mean, double inverse_std) {
    const bp__layer_kernels *kernels = w->plan->set.parameters;
    if (w->operand[MEAN]) {
        kernels->store(bp__layer_statistic(w, MEAN, index), mean);
    }
    if (w->operand[INVERSE_STD]) {
        kernels->store(bp__layer_statistic(w, INVERSE_STD, index), inverse_std);
    }
}

static inline bool bp__layer_is_staged(const bp__layer_work *plan) {
    return plan->staged[0] || plan->staged[1] || plan->staged[2];
}

/* Whether whole rows are copied. */
static inline bool bp__layer_has_whole_rows(const bp__layer_work *plan) {
    return !bp__layer_is_staged(plan) || plan->elements <= BP__LAYER_WINDOW;
}

/* Decides what a part is if lanes are channels: groups of one item. */
void bp__layer_cut_channels(bp__layer_work *plan);

/* Computes the rows of a part: row by row, or in the lanes of vectors (FORWARD only), which are rows or channels.
 * `task` is the number of the thread, for its copies. */
void bp__layer_rows_part(bp__layer_run *w, int64_t part, int task);
void bp__layer_columns_part(bp__layer_run *w, int64_t part);
void bp__layer_channels_part(bp__layer_run *w, int64_t part);

#endif
