/* probe.c - verifies in the emulated machine that the processor has AVX-512, that the kernel has enabled its registers,
 * and that a zmm multiply-add is correct in all sixteen lanes. Exit status 0 if all three are true.
 */
#include <cpuid.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t read_xcr0(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* Returns how many of sixteen fused multiply-adds are wrong. (1 + e)(1 - e) - 1 is -e*e if fused, and 0 with two
 * roundings. */
__attribute__((target("avx512f"))) static int wrong_lanes(void) {
    const float e = 0x1p-13f;
    float sums[16];
    __m512 product = _mm512_fmadd_ps(_mm512_set1_ps(1 + e), _mm512_set1_ps(1 - e), _mm512_set1_ps(-1));
    _mm512_storeu_ps(sums, product);
    int wrong = 0;
    for (int i = 0; i < 16; i++) {
        wrong += sums[i] != -e * e;
    }
    return wrong;
}

int main(void) {
    uint32_t eax, ebx, ecx, edx, brand[13] = {0};
    for (uint32_t i = 0; i < 3; i++) {
        __cpuid(0x80000002u + i, brand[4 * i], brand[4 * i + 1], brand[4 * i + 2], brand[4 * i + 3]);
    }
    __cpuid(1, eax, ebx, ecx, edx);
    if (!(ecx & bit_OSXSAVE)) {
        printf("%s: the kernel has not enabled XSAVE\n", (const char *)brand);
        return EXIT_FAILURE;
    }
    const uint64_t xcr0 = read_xcr0();
    __cpuid_count(7, 0, eax, ebx, ecx, edx);
    printf("processor: %s\n", (const char *)brand);
    printf("cpuid: AVX512F %d, VL %d, BW %d, DQ %d; xcr0: 0x%llx\n", !!(ebx & bit_AVX512F), !!(ebx & bit_AVX512VL),
           !!(ebx & bit_AVX512BW), !!(ebx & bit_AVX512DQ), (unsigned long long)xcr0);
    const uint32_t sets = bit_AVX512F | bit_AVX512VL | bit_AVX512BW | bit_AVX512DQ;
    if ((ebx & sets) != sets || (xcr0 & 0xe6) != 0xe6) {
        printf("AVX-512 cannot be used here\n");
        return EXIT_FAILURE;
    }
    const int wrong = wrong_lanes();
    printf("vfmadd on zmm: %d of 16 lanes wrong\n", wrong);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
