/* support_einsum.h - helpers for the tests of einsum: paths of small expressions in one line, random networks, and a
 * reference that tries every order. */
#ifndef BP_TEST_SUPPORT_EINSUM_H
#define BP_TEST_SUPPORT_EINSUM_H

#include "backplane.h"

#include <stdbool.h>
#include <stdint.h>

#define NET_TERMS 12
#define NET_RANK 8

/* A network small enough to try every order. */
typedef struct network {
    int terms, labels;
    int rank[NET_TERMS];
    int32_t label[NET_TERMS][NET_RANK];
    int64_t size[32];
    int outputs;
    int32_t output[32];
} network;

/* Makes labels on two or three terms (`hyper`); some are in the output, some on one term alone. */
network network_random(uint64_t seed, int terms, bool hyper);
bp_status network_path(const network *net, const bp_einsum_search *search, bp_contraction_path **path);
bp_contraction_path_info network_info(const network *net, const bp_einsum_search *search);

typedef struct reference {
    double flops, size, write, combo; /* least over all trees of pairs, with sums of single operands before them */
    double flops_in_size;             /* least operations among the orders whose largest result is `size` */
} reference;
/* Returns the reference; intermediate results have at most `limit` elements. */
reference network_reference(const network *net, double limit);

/* Returns the cost of a path, computed from its positions alone. */
double network_recount(const network *net, const bp_contraction_path *path, double *largest);

/* Makes a path; the shapes are given as text: "2x3,3x4". */
bp_status text_path(bp_contraction_path **path, const bp_einsum_search *search, const char *expression,
                    const char *shapes);

#endif
