/* loop.c - orders the dimensions of a problem for the caches, and merges them. */
#include "elementwise.h"

#include <stdlib.h>

/* Moves the dimensions `from` of the problem to their place in the order of the output's strides. */
static void insert(bp__element_loop *loop, const bp_elementwise_problem *p, int from, int operands) {
    int at = loop->ndim++;
    for (; at > 0 && llabs(loop->stride[operands - 1][at - 1]) < llabs(p->stride[operands - 1][from]); at--) {
        loop->size[at] = loop->size[at - 1];
        for (int i = 0; i < operands; i++) {
            loop->stride[i][at] = loop->stride[i][at - 1];
        }
    }
    loop->size[at] = p->size[from];
    for (int i = 0; i < operands; i++) {
        loop->stride[i][at] = p->stride[i][from];
    }
}

/* Returns whether dimension `inner` continues dimension `outer` in all operands. */
static bool continues(const bp__element_loop *loop, int outer, int inner, int operands) {
    bool all = true;
    for (int i = 0; i < operands && all; i++) {
        all = loop->stride[i][outer] == loop->stride[i][inner] * loop->size[inner];
    }
    return all;
}

static void merge(bp__element_loop *loop, int operands) {
    int kept = 0;
    for (int d = 0; d < loop->ndim; d++) {
        int64_t size = loop->size[d];
        int to = kept;
        if (kept > 0 && continues(loop, kept - 1, d, operands)) {
            size *= loop->size[kept - 1];
            to = kept - 1;
        }
        loop->size[to] = size;
        for (int i = 0; i < operands; i++) {
            loop->stride[i][to] = loop->stride[i][d];
        }
        kept = to + 1;
    }
    loop->ndim = kept;
}

void bp__element_loop_make(bp__element_loop *loop, const bp_elementwise_problem *p, int operands) {
    bp_elementwise_problem one = {.ndim = 1, .size = {1}};
    loop->ndim = 0;
    for (int d = 0; d < p->ndim; d++) {
        insert(loop, p, d, operands);
    }
    merge(loop, operands);
    while (loop->ndim < 2) { /* in front */
        one.stride[operands - 1][0] = INT64_MAX;
        insert(loop, &one, 0, operands);
    }
    for (int i = 0; i < operands; i++) {
        for (int d = 0; d < loop->ndim; d++) {
            loop->stride[i][d] = loop->size[d] == 1 ? 0 : loop->stride[i][d];
        }
    }
}
