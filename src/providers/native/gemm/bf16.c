/* bf16.c - selects the kernels for products of bf16 numbers: those for AVX512_BF16, if the processor has it. */
#include "gemm.h"

#include "providers/native/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Returns whether the processor has AVX512_BF16. CPUID takes microseconds in a virtual machine, so its answer is kept.
 */
static bool has_avx512bf16(void) {
    enum { UNKNOWN, ABSENT, PRESENT };
    static _Atomic int known;
    if (known == UNKNOWN) {
        uint32_t eax = 0, ebx, ecx, edx;
        const bool answers = __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0;
        known = answers && (eax & 1u << 5) != 0 ? PRESENT : ABSENT;
    }
    return known == PRESENT;
}

const bp__native_set *bp__native_bf16_set(const bp_host *host, const bp_problem *problem, const char **why) {
    /* The host has verified that the operating system saves the registers of AVX-512. */
    if (host->hardware != BP_CAPABILITY_AVX512 || !has_avx512bf16()) {
        *why = "needs the instructions AVX512_BF16, which this processor does not have";
        return NULL;
    }
    if (bp__native_isa(host, problem) < BP_CAPABILITY_AVX512) {
        *why = "needs AVX-512, which cpu.capability excludes";
        return NULL;
    }
    return &bp__native_avx512bf16;
}
#else
const bp__native_set *bp__native_bf16_set(const bp_host *host, const bp_problem *problem, const char **why) {
    (void)host, (void)problem;
    *why = "needs the instructions AVX512_BF16, which this processor does not have";
    return NULL;
}
#endif
