/* cpu_power.c - detects instruction sets of 64-bit Power processors. */
#if defined(__powerpc64__) && defined(__linux__)
#include "machine/cpu.h"
#include "machine/files.h"

#include <sys/auxv.h>

enum { HWCAP_BIT_VSX = 1 << 7 };

bp_capability bp__cpu_detect(void) {
    return getauxval(AT_HWCAP) & HWCAP_BIT_VSX ? BP_CAPABILITY_VSX : BP_CAPABILITY_DEFAULT;
}

void bp__cpu_identify(bp__cpu_identity *identity) {
    *identity = (bp__cpu_identity){.vendor = "IBM", .family = -1, .model_number = -1, .stepping = -1};
    bp__read_field("/proc/cpuinfo", "cpu", identity->model, sizeof identity->model);
}
#else
typedef int bp__not_power; /* C requires a declaration in every file */
#endif
