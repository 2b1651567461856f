/* vnni.c - asks the processor for VPDPWSSD: a file of its own, so that tests can put another answer in its place. */
#include "gemm.h"

#if defined(__x86_64__)
#include <cpuid.h>

uint32_t bp__native_vnni(void) {
    enum { KNOWN = 4 }; /* CPUID takes microseconds in a virtual machine, so its answer is kept */
    static _Atomic uint32_t kept;
    uint32_t found = kept;
    if (found == 0) {
        uint32_t eax, ebx, ecx = 0, edx;
        found = KNOWN;
        found |= __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ecx & 1u << 11) ? BP__NATIVE_HAS_AVX512_VNNI : 0;
        found |= __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & 1u << 4) ? BP__NATIVE_HAS_AVX_VNNI : 0;
        kept = found;
    }
    return found;
}
#else
uint32_t bp__native_vnni(void) {
    return 0;
}
#endif
