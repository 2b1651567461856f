/* cpu_x86.c - detects instruction sets and identity of x86 processors with CPUID. */
#if defined(__x86_64__) || defined(__i386__)
#include "machine/cpu.h"

#include <cpuid.h>
#include <string.h>

enum {
    XCR0_AVX = 0x06,   /* SSE and AVX registers are saved on a task switch */
    XCR0_AVX512 = 0xe6 /* also mask registers, upper halves, and the upper sixteen registers */
};

static bool has_all(uint32_t word, uint32_t bits) {
    return (word & bits) == bits;
}

bp_capability bp__x86_capability(const bp__x86_words *words) {
    bool avx2 = (words->xcr0 & XCR0_AVX) == XCR0_AVX && has_all(words->leaf1_ecx, bit_AVX | bit_FMA | bit_OSXSAVE) &&
                has_all(words->leaf7_ebx, bit_AVX2);
    if (!avx2) {
        return BP_CAPABILITY_DEFAULT;
    }
    bool avx512 = (words->xcr0 & XCR0_AVX512) == XCR0_AVX512 &&
                  has_all(words->leaf7_ebx, bit_AVX512F | bit_AVX512VL | bit_AVX512BW | bit_AVX512DQ);
    return avx512 ? BP_CAPABILITY_AVX512 : BP_CAPABILITY_AVX2;
}

/* Uses assembler, because the intrinsic would require compiling this file for processors with XSAVE. */
static uint64_t read_xcr0(void) {
    uint32_t low;
    uint32_t high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

bp_capability bp__cpu_detect(void) {
    bp__x86_words words = {0};
    uint32_t eax;
    uint32_t ebx;
    uint32_t ecx;
    uint32_t edx;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) {
        words.leaf1_ecx = ecx;
        words.xcr0 = ecx & bit_OSXSAVE ? read_xcr0() : 0;
    }
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        words.leaf7_ebx = ebx;
    }
    return bp__x86_capability(&words);
}

static void read_brand(char *model) {
    uint32_t words[12] = {0};
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t *part = &words[4 * i];
        if (!__get_cpuid(0x80000002u + i, &part[0], &part[1], &part[2], &part[3])) {
            return;
        }
    }
    char brand[sizeof words + 1] = {0};
    memcpy(brand, words, sizeof words);
    const char *start = brand + strspn(brand, " "); /* some vendors pad on the left, some on the right */
    size_t length = strlen(start);
    while (length > 0 && start[length - 1] == ' ') {
        length--;
    }
    memcpy(model, start, length);
    model[length] = '\0';
}

void bp__cpu_identify(bp__cpu_identity *identity) {
    uint32_t eax;
    uint32_t text[3];
    uint32_t unused;
    *identity = (bp__cpu_identity){.family = -1, .model_number = -1, .stepping = -1};
    if (__get_cpuid(0, &eax, &text[0], &text[2], &text[1])) {
        memcpy(identity->vendor, text, sizeof text);
    }
    if (__get_cpuid(1, &eax, &unused, &unused, &unused)) {
        int family = (int)(eax >> 8 & 0xf);
        int model = (int)(eax >> 4 & 0xf);
        int extended_model = (int)(eax >> 16 & 0xf);
        identity->stepping = (int)(eax & 0xf);
        identity->model_number = family == 6 || family == 15 ? (extended_model << 4) + model : model;
        identity->family = family == 15 ? family + (int)(eax >> 20 & 0xff) : family;
    }
    read_brand(identity->model);
}
#else
typedef int bp__not_x86; /* C requires a declaration in every file */
#endif
