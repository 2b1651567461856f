/* random.h - declares the kernels of random numbers.
 *
 * A kernel computes whole blocks of Philox into compact memory. The run writes them to the output, converted and
 * strided, with the functions of elementwise/. */
#ifndef BP_NATIVE_RANDOM_H
#define BP_NATIVE_RANDOM_H

#include "providers/native/elementwise/elementwise.h"

enum { BP__RANDOM_BLOCKS = 128 }; /* that a kernel computes at most */

/* Writes the numbers of `count` blocks from `block` on: four words or f32 of each, or two pairs of words or f64. */
typedef void (*bp__random_kernel)(uint64_t seed, uint64_t block, int64_t count, void *to);

/* Kernels of one instruction set. */
typedef struct bp__random_kernels {
    bp__random_kernel words, pairs;
    bp__random_kernel uniform[BP_F64 + 1]; /* by the type of the output: f32, of all bits that the type has; f64 */
    bp__random_kernel normal_f32, normal_f64;
    bp__element_write put[9]; /* the low bytes of words or pairs, by the bytes of an element */
} bp__random_kernels;

extern const bp__random_kernels bp__random_kernels_default;
extern const bp__random_kernels bp__random_kernels_avx2;
extern const bp__random_kernels bp__random_kernels_avx512;

bp_status bp__random_plan(const bp_host *host, const bp_problem *problem, bp__random_kernel kernel,
                          bp__element_write write, int threads, bp_prepared **prepared);

#endif
