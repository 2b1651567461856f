/* cpu_arm.c - detects instruction sets of 64-bit Arm processors. */
#if defined(__aarch64__)
#include "machine/cpu.h"
#include "machine/files.h"

#if defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>

/* Kernel interface numbers, for C libraries whose headers are older than the processor. */
enum {
    HWCAP_BIT_SVE = 1 << 22,
    HWCAP2_BIT_BF16 = 1 << 14,
    SVE_VECTOR_MASK = 0xffff,
    BYTES_OF_256_BITS = 32,
    GET_SVE_VECTOR = 51 /* PR_SVE_GET_VL */
};

bp_capability bp__cpu_detect(void) {
    bool sve = (getauxval(AT_HWCAP) & HWCAP_BIT_SVE) != 0 && (getauxval(AT_HWCAP2) & HWCAP2_BIT_BF16) != 0;
    int vector = sve ? prctl(GET_SVE_VECTOR) : -1;
    bool wide = vector >= 0 && (vector & SVE_VECTOR_MASK) == BYTES_OF_256_BITS;
    return wide ? BP_CAPABILITY_SVE256 : BP_CAPABILITY_DEFAULT;
}
#else
bp_capability bp__cpu_detect(void) {
    return BP_CAPABILITY_DEFAULT;
}
#endif

void bp__cpu_identify(bp__cpu_identity *identity) {
    *identity = (bp__cpu_identity){.family = -1, .model_number = -1, .stepping = -1};
    bp__read_field("/proc/cpuinfo", "CPU implementer", identity->vendor, sizeof identity->vendor);
    bp__read_field("/proc/cpuinfo", "model name", identity->model, sizeof identity->model);
}
#else
typedef int bp__not_arm; /* C requires a declaration in every file */
#endif
