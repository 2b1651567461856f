/* random.h - fills tensors with random numbers that depend on a seed and on the index of an element only.
 *
 * The generator is Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2,
 * 3", 2011), a function of a counter and a key that returns four words of 32 bits. The key is `seed`; the counter of
 * block b is b in its lower 64 bits, and 0 in its upper ones; the low words come first. Element i of the output,
 * counted in row-major order whatever its strides are, has
 *
 *     word i % 4 of block offset + i / 4, or
 *     words 2 (i % 2) and 2 (i % 2) + 1 of block offset + i / 2, low word first, for types of 64 bits.
 *
 * So a call with n elements uses (n + 3) / 4 blocks, or (n + 1) / 2, and a later call with an `offset` that is larger
 * by this number continues the sequence. `offset` + i / 4 is computed modulo 2^64.
 *
 * With r for the word or pair of words of an element, BITS gives the low bits of r.
 *
 * UNIFORM gives numbers from 0, exclusive of 1: the upper bits of r, 24 for F32, 53 for F64, 11 for F16, 8 for BF16,
 * times a power of 2. Each possible number has the same probability.
 *
 * NORMAL gives numbers of mean 0 and standard deviation 1 (Box and Muller, 1958), from pairs of elements 2i and 2i + 1.
 * Let u be (r + 1/2) / 2^32 of the even element, where r and the sum are rounded to F32, and v be r / 2^32 of the odd
 * one; for F64, u is (floor(r / 2^11) + 1/2) / 2^53, where the sum is rounded, and v is r / 2^64. The even element is
 * sqrt(-2 log(u)) cos(2 pi v), the odd one sqrt(-2 log(u)) sin(2 pi v). F16 and BF16 are rounded from F32.
 *
 * UNIFORM and NORMAL take F16, BF16, F32 and F64, BITS takes I8, I16, I32, I64, U8, U16, U32 and U64. UNIFORM and BITS
 * are equal on every device and with any number of threads. So is NORMAL on the host, with every instruction set; on
 * other devices it is within 2 units of the last place, and equal where the device divides and takes roots as IEEE 754
 * requires.
 *
 * The numbers are statistically independent, but predictable: they are not for cryptography. Dropout in attention
 * (attention.h) has numbers of the same sequences, so give it another seed.
 *
 * All functions are thread-safe. Plans are kept in the plan cache.
 *
 * Errors of all functions: BP_E_ARGUMENT (NULL; an unknown kind), BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT (an address that
 * is not aligned for its type), BP_E_OVERLAP (two indices have one address), BP_E_OVERFLOW, BP_E_NO_CANDIDATE,
 * BP_E_FALLBACK, BP_E_NO_MEMORY, BP_E_CANCELLED (interrupt.h).
 */
#ifndef BACKPLANE_RANDOM_H
#define BACKPLANE_RANDOM_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bp_random_call {
    size_t struct_size; /* sizeof(bp_random_call) */
    bp_random_kind kind;
    uint64_t seed, offset; /* not read for planning and explaining */
    DLTensor *output;
} bp_random_call;

/* Run, plan or explain a call, with settings for this call (NULL: none). For planning and explaining, the data pointer
 * may be NULL. Release a plan with bp_plan_release(), an explanation with bp_explanation_release().
 *
 * Operands of a plan: {seed, output}. The seed is two numbers of type U64, {seed, offset}, in host memory on every
 * device. They are read before bp_execute() returns, so that one plan serves all seeds. */
BP_API bp_status bp_random_run(const bp_options *options, const bp_random_call *call);
BP_API bp_status bp_random_plan(bp_plan **plan, const bp_options *options, const bp_random_call *call);
BP_API bp_status bp_random_explain(bp_explanation **explanation, const bp_options *options, const bp_random_call *call);

#ifdef __cplusplus
}
#endif

#endif
