/* machine.h - facts about the processor and about what this process has loaded. All functions are thread-safe. */
#ifndef BACKPLANE_MACHINE_H
#define BACKPLANE_MACHINE_H

#include "backplane/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The capability string as PyTorch's torch.backends.cpu.get_cpu_capability() reports it: "DEFAULT", "AVX2", "AVX512",
 * "VSX", "Z VECTOR" or "SVE256". It is what our kernels use: the hardware's, lowered by the setting cpu.capability.
 * x86: AVX512 needs F, VL, BW, DQ and FMA3, AVX2 needs AVX2 and FMA3, and the operating system must save the registers.
 */
BP_API const char *bp_cpu_capability(void);

/* What the hardware and operating system offer, whatever the setting says. */
BP_API const char *bp_cpu_hardware_capability(void);

typedef struct bp_machine_info {
    size_t struct_size;       /* set to sizeof before the call */
    const char *architecture; /* "x86_64", "aarch64", ... */
    const char *cpu_vendor;
    const char *cpu_model; /* the marketing name, or "" */
    int cpu_family;        /* x86 display family, model and stepping; -1 elsewhere */
    int cpu_model_number;
    int cpu_stepping;
    int logical_cpus;   /* online in the machine */
    int usable_cpus;    /* that this process may run on (affinity mask and cgroup quota) */
    int physical_cores; /* 0 when unknown */
    int packages;       /* sockets; 0 when unknown */
    int numa_nodes;     /* 0 when unknown */
    int64_t l1d_bytes;  /* of one cache; 0 when unknown */
    int64_t l2_bytes;
    int64_t l3_bytes;
    int64_t memory_bytes;
    const char *topology_source; /* "hwloc API 2.8" or "sysfs" */
} bp_machine_info;

/* Errors: BP_E_ARGUMENT for a struct_size that this version does not know. Strings have static storage. */
BP_API bp_status bp_machine(bp_machine_info *info);

/* An object that the process has loaded and that matters here: an OpenMP runtime, a BLAS, an MPI, ... */
typedef struct bp_loaded_object {
    size_t struct_size;
    char path[1024];
    char kind[32];   /* "openmp", "blas", "lapack", "fft", "dnn", "tbb" */
    char family[32]; /* "libgomp", "libomp", "libiomp5", "openblas", ... */
} bp_loaded_object;

/* Walks the list of the moment: 1 and *object filled, or 0 past the end. Nothing is opened. */
BP_API int bp_loaded_object_at(int index, bp_loaded_object *object);

#ifdef __cplusplus
}
#endif
#endif
