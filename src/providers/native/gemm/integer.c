/* integer.c - selects the kernels for products of 8-bit integers: those with VPDPWSSD, if the processor has it. */
#include "providers/native/isa.h"
#include "gemm.h"

#if defined(__x86_64__)
static const bp__native_integer_set *const sets[] = {[BP__INTEGER_DEFAULT] = &bp__native_integer_default,
                                                     [BP__INTEGER_AVX2] = &bp__native_integer_avx2,
                                                     [BP__INTEGER_AVX512] = &bp__native_integer_avx512,
                                                     [BP__INTEGER_AVX_VNNI] = &bp__native_integer_avxvnni,
                                                     [BP__INTEGER_AVX512_VNNI] = &bp__native_integer_avx512vnni};
#else
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
