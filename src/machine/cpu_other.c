/* cpu_other.c - reports the default capability for all other processors. */
#if !defined(__x86_64__) && !defined(__i386__) && !defined(__aarch64__) &&                                             \
    !(defined(__linux__) && (defined(__powerpc64__) || defined(__s390x__)))
#include "machine/cpu.h"
#include "machine/files.h"

bp_capability bp__cpu_detect(void) {
    return BP_CAPABILITY_DEFAULT;
}

void bp__cpu_identify(bp__cpu_identity *identity) {
    *identity = (bp__cpu_identity){.family = -1, .model_number = -1, .stepping = -1};
    bp__read_field("/proc/cpuinfo", "model name", identity->model, sizeof identity->model);
}
#else
typedef int bp__not_other; /* C requires a declaration in every file */
#endif
