/* machine.h - describes the processor and the relevant objects that this process has loaded. Thread-safe. */
#ifndef BACKPLANE_MACHINE_H
#define BACKPLANE_MACHINE_H

#include "backplane/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the instruction set that the native kernels use, named as in torch.backends.cpu.get_cpu_capability():
 * "DEFAULT", "AVX2", "AVX512", "VSX", "Z VECTOR" or "SVE256". It is the hardware's, lowered by the setting
 * cpu.capability. On x86, AVX512 requires F, VL, BW, DQ and FMA3; AVX2 requires AVX2 and FMA3. In both cases the
 * operating system must save the registers. Static storage. */
BP_API const char *bp_cpu_capability(void);

/* Returns the instruction set of the hardware and operating system, regardless of the setting. Static storage. */
BP_API const char *bp_cpu_hardware_capability(void);

typedef struct bp_machine_info {
    size_t struct_size;       /* set by the caller: sizeof(bp_machine_info) */
    const char *architecture; /* "x86_64", "aarch64", ... */
    const char *cpu_vendor;
    const char *cpu_model; /* the marketing name, or "" */
    int cpu_family;        /* x86 display family, model and stepping; -1 elsewhere */
    int cpu_model_number;
    int cpu_stepping;
    int logical_cpus;   /* online in the machine */
    int usable_cpus;    /* available to this process: affinity mask and cgroup quota */
    int physical_cores; /* 0 when unknown */
    int packages;       /* sockets; 0 when unknown */
    int numa_nodes;     /* 0 when unknown */
    int64_t l1d_bytes;  /* size of one cache; 0 when unknown; likewise l2 and l3 */
    int64_t l2_bytes;
    int64_t l3_bytes;
    int64_t memory_bytes;
    const char *topology_source; /* "hwloc API 2.8" or "sysfs" */
} bp_machine_info;

/* Fills *info. Strings have static storage. Errors: BP_E_ARGUMENT (NULL, unknown struct_size). */
BP_API bp_status bp_machine(bp_machine_info *info);

/* Returns the number of threads that calls use at most because other processes keep processors busy (the setting
 * threads.adapt); 0: no such limit. Writes to *others, unless it is NULL, how many processors others kept busy, 1.3 for
 * example, between the last two readings of /proc/stat. Calls that may use several threads, and this function, read it if
 * a tenth of a second has passed; the limit falls after two readings in a row, and rises after one. On more than 16
 * processors it is a multiple of a sixteenth of them. Thread safe. */
BP_API int bp_load_limit(double *others);

/* A shared object that the process has loaded: an OpenMP runtime or a math library. */
typedef struct bp_loaded_object {
    size_t struct_size; /* set by the caller: sizeof(bp_loaded_object) */
    char path[1024];
    char kind[32];   /* "openmp", "blas", "lapack", "fft", "dnn", "tbb" */
    char family[32]; /* "libgomp", "libomp", "libiomp5", "openblas", ... */
} bp_loaded_object;

/* Fills *object with entry `index` (0, 1, ...) of the current list and returns 1. Returns 0 past the end, for NULL and
 * for an unknown struct_size. Opens no file or library. */
BP_API int bp_loaded_object_at(int index, bp_loaded_object *object);

#ifdef __cplusplus
}
#endif
#endif
