/* isa.h - which kernel set of the native provider runs a problem: one answer for products, transforms and linear
 * algebra. A level is the place of a set in each family's table: 0 default, 1 AVX2, 2 AVX-512.
 */
#ifndef BP_NATIVE_ISA_H
#define BP_NATIVE_ISA_H

#include "backplane/provider.h"

#if defined(__x86_64__)
#define BP__NATIVE_PER_ISA(lowest, avx2, avx512)                                                                       \
    { lowest, avx2, avx512 }
#else
/* The sets of x86 are not there to be named. */
#define BP__NATIVE_PER_ISA(lowest, avx2, avx512)                                                                       \
    { lowest }
#endif

/* The level that the problem's policy asks for, as far as the processor has it. Instruction sets of other processors
 * have no kernels of their own and use those of level 0. */
static inline int bp__native_isa(const bp_host *host, const bp_problem *problem) {
#if defined(__x86_64__)
    const int most = host->hardware <= BP_CAPABILITY_AVX512 ? (int)host->hardware : BP_CAPABILITY_DEFAULT;
    const int wanted =
        problem->policy.capability <= BP_CAPABILITY_AVX512 ? problem->policy.capability : BP_CAPABILITY_DEFAULT;
    return wanted < most ? wanted : most;
#else
    (void)host, (void)problem;
    return 0;
#endif
}

#endif
