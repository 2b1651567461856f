/* integer.c - selects the kernels for products of 8-bit integers: those with VPDPWSSD, if the processor has it. */
#include "isa.h"
#include "native.h"

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

static const bp__native_integer_set *const sets[] = {[BP__INTEGER_DEFAULT] = &bp__native_integer_default,
                                                     [BP__INTEGER_AVX2] = &bp__native_integer_avx2,
                                                     [BP__INTEGER_AVX512] = &bp__native_integer_avx512,
                                                     [BP__INTEGER_AVX_VNNI] = &bp__native_integer_avxvnni,
                                                     [BP__INTEGER_AVX512_VNNI] = &bp__native_integer_avx512vnni};
#else
uint32_t bp__native_vnni(void) {
    return 0;
}

static const bp__native_integer_set *const sets[] = {&bp__native_integer_default};
#endif

/* bp__native_isa() has verified that the operating system saves the registers. */
bp__native_integer_isa bp__native_integer_isa_of(const bp_host *host, const bp_problem *problem) {
    const int isa = bp__native_isa(host, problem);
    const uint32_t vnni = isa > 0 ? bp__native_vnni() : 0;
    return isa == 2 && (vnni & BP__NATIVE_HAS_AVX512_VNNI) ? BP__INTEGER_AVX512_VNNI
           : isa == 1 && (vnni & BP__NATIVE_HAS_AVX_VNNI)  ? BP__INTEGER_AVX_VNNI
                                                           : (bp__native_integer_isa)isa;
}

const bp__native_integer_set *bp__native_integers(bp__native_integer_isa isa) {
    return sets[isa];
}
