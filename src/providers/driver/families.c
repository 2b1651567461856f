/* families.c - the table of library families. The speeds are minima of many runs on one core of a Zen 3 server
 * processor (AVX2, about 47 GFLOP/s in f64). They only rank candidates; they are not predictions. */
#include "providers/driver/families.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

#define ANY_THREADING NULL

/* Cost of a second thread. It is higher than in a loop of calls: libgomp's threads sleep after some milliseconds, and
 * if Linux wakes one on its caller's core, the caller spins against it for up to 8 ms (docs/benchmarks/performance.md).
 * Threads that are created in each call have the same risk. The cost makes threads run only if the gain is worth it. */
#define LIBGOMP_START 400000
#define NEW_THREADS_START 300000

/* Limit of concurrent callers. OpenBLAS has a table of 50 or more buffers, one for each call in progress. If it is
 * full, some versions print and some end the process. The limit leaves two buffers for each caller. */
#define OPENBLAS_CALLERS 24

/* clang-format off */
/* OpenBLAS's c_element is the geometric mean of two releases on AVX2: 0.3.21 (0.40, 0.50) and 0.3.31 (0.14, 0.40). With
 * AVX-512 all of them have kernels for small products. */
#define OPENBLAS_SPEED(start_ns) \
    {55, 24, 0.96, 0, {0.24, 0.45}, {0.13, 0.23}, {0.055, 0.120}, 0.8, start_ns, {0.40, 0.50}, {0.03, 0.045}}
#define BLIS_SPEED(call_ns, start_ns) \
    {call_ns, 60, 0.97, 0, {0.08, 0.18}, {0.01, 0.02}, {0.062, 0.120}, 2.0, start_ns, {0.60, 0.50}, {0}}
#define SLOW_SPEED(start_ns) \
    {60, 40, 0.50, 0, {0.40, 0.50}, {0.30, 0.40}, {0.200, 0.300}, 1, start_ns, {0.40, 0.50}, {0}}

static const bp__driver_family families[] = {
    /* A build of OpenBLAS without threads may have no locks, so that calls must not overlap (callers is 0). OpenBLAS
     * uses one thread for m*n*k <= 65536 * GEMM_MULTITHREAD_THRESHOLD (4 unless built otherwise), and in gemv below
     * 2304 (complex 1024) times that. The entries assume a factor of 1. */
    {.family = "openblas", .threading = "serial", .one_thread = true, .survives_fork = true,
     .repeats = true, .gemm_nan = true, .gemv_nan = true, .speed = OPENBLAS_SPEED(0)},
    {.family = "openblas", .threading = "pthread", .setter = BP__DRIVER_SET_OPENBLAS, .survives_fork = true,
     .stops_at_fork = true, .callers = OPENBLAS_CALLERS,
     .repeats = true, .gemm_nan = true, .gemv_nan = true, .own_gemm = 65536, .own_gemv = 1024,
     .speed = OPENBLAS_SPEED(8000)},
    /* OpenMP builds take the count from the OpenMP runtime at each call and forget openblas_set_num_threads. A call
     * that finds another count than the last one changes buffers that all threads share. */
    {.family = "openblas", .threading = ANY_THREADING, .setter = BP__DRIVER_SET_OPENMP, .serialise = true,
     .callers = OPENBLAS_CALLERS, .repeats = true, .gemm_nan = true, .gemv_nan = true, .own_gemm = 65536, .own_gemv = 1024,
     .speed = OPENBLAS_SPEED(LIBGOMP_START)},
    {.family = "blis", .threading = "serial", .one_thread = true, .survives_fork = true,
     .repeats = true, .speed = BLIS_SPEED(500, 0)},
    /* The pthread build creates its threads in every call; gemv is never threaded. */
    {.family = "blis", .threading = "pthread", .setter = BP__DRIVER_SET_BLIS, .survives_fork = true, .starts_in_calls = true,
     .repeats = true, .own_gemv = INT64_MAX, .speed = BLIS_SPEED(560, NEW_THREADS_START)},
    {.family = "blis", .threading = ANY_THREADING, .setter = BP__DRIVER_SET_BLIS,
     .repeats = true, .own_gemv = INT64_MAX, .speed = BLIS_SPEED(1050, LIBGOMP_START)},
    /* MKL guarantees reproducible results only for operands with the same alignment to 64 bytes, which problems do not
     * record, and in its CBWR modes. The OpenMP runtime, and so whether MKL survives fork, is known when it is loaded.
     * Below m*n*k = 4096 MKL still starts threads if one dimension is 20 or more (measured for all types on a lattice
     * of 3422 shapes). Setting the count takes 120 ns, as long as a product of 4^3. */
    {.family = "mkl", .threading = ANY_THREADING, .setter = BP__DRIVER_SET_MKL, .callers = INT_MAX,
     .gemm_nan = true, .gemv_nan = true, .own_gemm = 4096, .own_side = 16,
     .speed = {95, 47, 0.93, 0, {0.09, 0.20}, {0.07, 0.30}, {0.078, 0.150}, 0.6, 20000, {0.09, 0.20}, {0}}},
    {.family = "netlib", .threading = ANY_THREADING, .one_thread = true, .survives_fork = true, .stateless = true,
     .callers = INT_MAX, .repeats = true, .speed = {20, 16, 0, 4.6, {0.10, 0.10}, {0, 0}, {0.600, 0.750}, 0, 0, {0.10, 0.10}, {0}}},
    /* Its kernels have no state. The provider has a cost model of its own. */
    {.family = "libxsmm", .threading = ANY_THREADING, .one_thread = true, .survives_fork = true, .callers = INT_MAX,
     .repeats = true, .gemm_nan = true},
    /* A primitive is made for a number of threads, which must be the same when it runs. */
    {.family = "onednn", .threading = "serial", .one_thread = true, .survives_fork = true, .repeats = true},
    {.family = "onednn", .threading = ANY_THREADING, .setter = BP__DRIVER_SET_OPENMP, .callers = INT_MAX, .repeats = true},
    /* Libraries that were never tested have no guarantees. */
    {.family = "atlas", .threading = ANY_THREADING, .speed = SLOW_SPEED(10000)},
    {.family = NULL, .threading = "serial", .one_thread = true, .survives_fork = true, .speed = SLOW_SPEED(10000)},
    {.family = NULL, .threading = "libgomp", .setter = BP__DRIVER_SET_OPENMP, .serialise = true,
     .speed = SLOW_SPEED(LIBGOMP_START)},
    {.family = NULL, .threading = "libomp", .setter = BP__DRIVER_SET_OPENMP, .serialise = true, .speed = SLOW_SPEED(10000)},
    {.family = NULL, .threading = "libiomp5", .setter = BP__DRIVER_SET_OPENMP, .serialise = true, .speed = SLOW_SPEED(10000)},
    {.family = NULL, .threading = ANY_THREADING, .speed = SLOW_SPEED(10000)},
};

/* Kernel sets of OpenBLAS, BLIS, MKL and libxsmm, with f64 operations per cycle and core. MKL runs `def` on processors of
 * other makers, with the instructions of the hardware (measured: 13 to 16 with AVX2). */
static const struct {
    const char *name;
    double flops;
} kernel_sets[] = {
    {"generic", 3.3}, {"reference", 3.3}, {"prescott", 2.5}, {"core2", 3.5}, {"penryn", 3.8}, {"dunnington", 3.8},
    {"nehalem", 4}, {"atom", 2}, {"nano", 2}, {"opteron", 4}, {"barcelona", 4}, {"bobcat", 2}, {"sse4_2", 4},
    {"mc", 3.8}, {"mc3", 4}, {"sandybridge", 8}, {"bulldozer", 8}, {"piledriver", 8}, {"steamroller", 8}, {"avx", 8},
    {"excavator", 8}, {"haswell", 16}, {"zen", 16}, {"zen2", 16}, {"zen3", 16}, {"avx2", 16}, {"def", 16},
    {"skylakex", 32}, {"skx", 32}, {"knl", 32}, {"cooperlake", 32}, {"sapphirerapids", 32}, {"zen4", 32}, {"zen5", 32},
    {"avx512", 32}, {"avx512_mic", 32}, {"avx10", 32},
    {"armv8", 4}, {"cortexa53", 4}, {"cortexa57", 4}, {"cortexa72", 4}, {"cortexa73", 4}, {"neoversen1", 4},
    {"neoversen2", 4}, {"neoversev1", 16}, {"armv8sve", 16}, {"thunderx2t99", 4}, {"vortex", 4}, {"firestorm", 4},
    {"power8", 16}, {"power9", 16}, {"power10", 16}, {"z13", 16}, {"z14", 16},
    {"wsm", 4}, {"snb", 8}, {"hsw", 16}, {"knm", 32}, {"clx", 32}, {"cpx", 32}, {"spr", 32},
};
/* clang-format on */

const bp__driver_family *bp__driver_family_of(const bp_library_info *library) {
    const bp__driver_family *entry = families;
    if ((library->kinds & BP_LIB_LAPACK) && !(library->kinds & (BP_LIB_BLAS | BP_LIB_CBLAS))) {
        /* It runs on the threads of the BLAS that it was linked to, which the loader chooses when the library is
         * opened.
         */
        return &families[sizeof families / sizeof families[0] - 1];
    }
    while ((entry->family && strcmp(entry->family, library->family) != 0) ||
           (entry->threading && strcmp(entry->threading, library->threading) != 0)) {
        entry++;
    }
    return entry;
}

static double hardware_flops(bp_capability hardware) {
    switch (hardware) {
    case BP_CAPABILITY_AVX512:
        return 32;
    case BP_CAPABILITY_AVX2:
    case BP_CAPABILITY_VSX:
    case BP_CAPABILITY_ZVECTOR:
    case BP_CAPABILITY_SVE256:
        return 16;
    default:
        return 4;
    }
}

double bp__driver_kernel_flops(const char *kernels, bp_capability hardware) {
    const double limit = hardware_flops(hardware), unknown = 0.5;
    for (size_t i = 0; i < sizeof kernel_sets / sizeof kernel_sets[0]; i++) {
        if (strcasecmp(kernel_sets[i].name, kernels) == 0) {
            return kernel_sets[i].flops < limit ? kernel_sets[i].flops : limit;
        }
    }
    return unknown * limit;
}

bool bp__driver_kernels_avx512(const char *kernels, bp_capability hardware) {
    return hardware == BP_CAPABILITY_AVX512 &&
           bp__driver_kernel_flops(kernels, hardware) >= hardware_flops(BP_CAPABILITY_AVX512);
}
