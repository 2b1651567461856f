/* cpu_s390.c - detects instruction sets of IBM Z processors. */
#if defined(__s390x__) && defined(__linux__)
#include "machine/cpu.h"
#include "machine/files.h"

#include <sys/auxv.h>

enum { HWCAP_BIT_VECTOR_ENHANCED = 1 << 13 };

bp_capability bp__cpu_detect(void) {
    return getauxval(AT_HWCAP) & HWCAP_BIT_VECTOR_ENHANCED ? BP_CAPABILITY_ZVECTOR : BP_CAPABILITY_DEFAULT;
}

void bp__cpu_identify(bp__cpu_identity *identity) {
    *identity = (bp__cpu_identity){.family = -1, .model_number = -1, .stepping = -1};
    bp__read_field("/proc/cpuinfo", "vendor_id", identity->vendor, sizeof identity->vendor);
    bp__read_field("/proc/cpuinfo", "machine", identity->model, sizeof identity->model);
}
#else
typedef int bp__not_s390; /* C requires a declaration in every file */
#endif
