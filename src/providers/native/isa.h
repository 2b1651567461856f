/* isa.h - selects the instruction set of the native kernels for a problem. An ISA index is the position of a kernel set
 * in each family's table: 0 default, 1 AVX2, 2 AVX-512.
 */
#ifndef BP_NATIVE_ISA_H
#define BP_NATIVE_ISA_H

#include "backplane/provider.h"

#if defined(__x86_64__)
#define BP__NATIVE_PER_ISA(lowest, avx2, avx512)                                                                       \
    { lowest, avx2, avx512 }
#else
/* The x86 sets are not compiled on other processors. */
#define BP__NATIVE_PER_ISA(lowest, avx2, avx512)                                                                       \
    { lowest }
#endif

/* The name of a table of kernels. CMake compiles a kernel set (a file named *_set.c) once for each instruction set,
 * with KERNEL_ISA as its name (default, avx2, avx512) and VECTOR_BYTES as the size of its registers. */
#define KERNEL_TABLE__(name, isa) name##_##isa
#define KERNEL_TABLE_(name, isa) KERNEL_TABLE__(name, isa)
#define KERNEL_TABLE(name) KERNEL_TABLE_(name, KERNEL_ISA)

/* Returns the ISA index for a problem: the capability of its policy, limited by what the processor has. Processors
 * without kernels of their own use index 0. */
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
