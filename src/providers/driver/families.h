/* families.h - what is known of each library that speaks BLAS: rows of a table, not code. docs/explanation/libraries.md
 * tells the same in words, and how each fact was learned. */
#ifndef BP_DRIVER_FAMILIES_H
#define BP_DRIVER_FAMILIES_H

#include "backplane/provider.h"

#include <stdbool.h>

/* How the thread count is set and read. */
typedef enum bp__driver_setter {
    BP__DRIVER_SET_NOTHING,  /* one thread always, or a count that cannot be reached */
    BP__DRIVER_SET_OPENBLAS, /* openblas_set_num_threads, with the library's prefix and suffix: the whole process */
    BP__DRIVER_SET_BLIS,     /* bli_thread_set_num_threads: the whole process, or the thread in some builds */
    BP__DRIVER_SET_MKL,      /* MKL_Set_Num_Threads_Local: the calling thread, above every other setting */
    BP__DRIVER_SET_OPENMP    /* omp_set_num_threads of the runtime that the library is linked to: the calling thread */
} bp__driver_setter;

/* Times in nanoseconds on a core of about 3 GHz; index 0 is f32, 1 is f64. See cost.c for the model. */
typedef struct bp__driver_speed {
    double gemm_call; /* fixed cost of a call */
    double gemv_call;
    double peak_part;       /* fraction of the kernels' peak that large products reach ... */
    double plain;           /* ... or, where that is 0, the rate of compiled loops in operations per nanosecond */
    double c_element[2];    /* per element of C, whatever k is: loading, scaling and storing it */
    double pack_element[2]; /* per element of A and B: the copy that the library makes for its kernels */
    double gemv_element[2]; /* per element of the matrix of a gemv that lies in the cache */
    double gemv_column;     /* per column of that matrix as it lies, however short */
    double start;           /* of a second thread and of joining it */
    double c_panels[2];     /* c_element where k is above 16, and a library packs whatever the layout is */
} bp__driver_speed;

typedef struct bp__driver_family {
    const char *family;    /* of bp_library_info; NULL in the last row, which fits every library */
    const char *threading; /* as there; NULL fits any */
    bp__driver_setter setter;
    bool one_thread;    /* never uses a second one */
    bool survives_fork; /* a child may use it after the parent ran it with several threads */
    bool stops_at_fork; /* stops its threads before a fork, and hangs in the parent where they are at work then */
    bool stateless;     /* ... and while another thread of the parent was inside: it has no locks and no buffers */
    bool serialise;     /* calls with several threads must not overlap while counts differ */
    int callers;        /* threads that may call it at once, when each has it on one thread; 0: not known */
    bool repeats;       /* the same bits again with the same count of threads, wherever the operands lie in memory */
    bool gemm_nan, gemv_nan; /* NaN and infinity in an operand reach the result, also beside zeros */
    int64_t own_gemm;        /* the library stays on one thread by itself up to this m*n*k ... */
    int64_t own_gemv;        /* ... and below this many elements of a matrix times a vector; 0: it does not */
    bp__driver_speed speed;
} bp__driver_family;

/* The first row that fits; never NULL. */
const bp__driver_family *bp__driver_family_of(const bp_library_info *library);

/* f64 operations per cycle of one core with the named kernel set, at most what the hardware can do. An unknown name
 * counts as the hardware's best. */
double bp__driver_kernel_flops(const char *kernels, bp_capability hardware);

#endif
