/* contract.h - declares sums of products over any dimensions, for contractions and for small matrix products. */
#ifndef BP_PROVIDERS_KERNELS_CONTRACT_H
#define BP_PROVIDERS_KERNELS_CONTRACT_H

#include "providers/kernels/families.h"

/* The struct `factors` in sources/contract.cl: alpha and beta are a bp_factor. */
typedef struct bp__kernel_factors {
    int32_t has_b;
    int32_t conjugate_a, conjugate_b;
    int32_t alpha, beta;
    int32_t reserved;
} bp__kernel_factors;

/* Divides the work of a contraction whose dimensions are set. Returns false if products of sizes are too large. */
bool bp__kernel_contraction_divide(bp__kernel_walk *walk, uint32_t dtype, const bp_device_info *facts);
size_t bp__kernel_contraction_workspace(const bp__kernel_walk *walk, uint32_t dtype);

/* Adds the kernels to a plan. The type is the type of A, B and C. The operands of the call are A, B and C, or A and C
 * without B: `c` is the number of C. */
bp_status bp__kernel_contraction_steps(bp__kernel_device *device, uint32_t dtype, const bp__kernel_walk *walk,
                                       const bp__kernel_factors *factors, int c, bp__kernel_plan *plan);

/* Returns the type in which numbers of an element type are computed, in the language of kernels. */
const char *bp__kernel_number(uint32_t dtype);

#endif
