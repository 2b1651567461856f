/* families.h - declares the table of library families: what is known of each BLAS library.
 * docs/explanation/libraries.md has the same facts in prose, and how each was found. */
#ifndef BP_DRIVER_FAMILIES_H
#define BP_DRIVER_FAMILIES_H

#include "backplane/provider.h"

#include <stdbool.h>

/* How the thread count is set and read. */
typedef enum bp__driver_setter {
    BP__DRIVER_SET_NOTHING,  /* always one thread, or a count that cannot be set */
    BP__DRIVER_SET_OPENBLAS, /* openblas_set_num_threads, with the library's prefix and suffix; for the whole process */
    BP__DRIVER_SET_BLIS,     /* bli_thread_set_num_threads; for the process, in some builds for the thread */
    BP__DRIVER_SET_MKL,      /* MKL_Set_Num_Threads_Local; for the calling thread, overrides all other settings */
    BP__DRIVER_SET_OPENMP    /* omp_set_num_threads of the linked runtime; for the calling thread */
} bp__driver_setter;

/* Times in nanoseconds on a core of about 3 GHz; index 0 is f32, 1 is f64. See cost.c for the model. */
typedef struct bp__driver_speed {
    double gemm_call; /* fixed cost of a call */
    double gemv_call;
    double peak_part; /* fraction of the kernels' peak that large products reach */
    double plain;     /* if not 0, the library has compiled loops instead, with this many operations per nanosecond */
    double c_element[2];    /* per element of C for any k: load, scale, store */
    double pack_element[2]; /* per element of A and B: the library's own packing */
    double gemv_element[2]; /* per element of the matrix of a gemv, in cache */
    double gemv_column;     /* per stored column of that matrix, however short */
    double start;           /* starting and joining a second thread */
    double c_panels[2];     /* c_element for k above 16, if a library always packs then */
    double c_avx512[2];     /* c_element with AVX-512 kernels; 0: the same */
} bp__driver_speed;

typedef struct bp__driver_family {
    const char *family;    /* of bp_library_info; NULL in the last entry, which matches every library */
    const char *threading; /* of bp_library_info; NULL matches any */
    bp__driver_setter setter;
    bool one_thread;      /* the library never uses a second thread */
    bool survives_fork;   /* a child may use it after the parent ran it with several threads */
    bool stops_at_fork;   /* it stops its threads before a fork, and hangs in the parent if they are working then */
    bool starts_in_calls; /* each call starts its threads, and ends them */
    bool stateless; /* it has no locks and no buffers: a child may use it even if a thread of the parent was inside */
    bool serialise; /* calls with several threads must not overlap if their counts differ */
    int callers;    /* threads that may call it at once, with one library thread each; 0: unknown */
    bool repeats;   /* reproducible with the same thread count, for any alignment of the operands */
    bool gemm_nan, gemv_nan; /* NaN and infinity in an operand reach the result, also next to zeros */
    int64_t own_gemm;        /* the library uses one thread by itself up to this m*n*k */
    int64_t own_side;        /* and if no dimension is larger than this; 0: dimensions do not matter */
    int64_t own_gemv;        /* and below this many matrix elements of a gemv; 0: it does not */
    bp__driver_speed speed;
} bp__driver_family;

/* Returns the first entry that matches; never NULL. */
const bp__driver_family *bp__driver_family_of(const bp_library_info *library);

/* Returns the f64 operations per cycle of one core with the named kernel set, at most what the hardware can do. An
 * unknown name counts as half of that: a library that was never measured is not preferred to one that was. */
double bp__driver_kernel_flops(const char *kernels, bp_capability hardware);
/* Returns whether the named kernel set uses AVX-512. */
bool bp__driver_kernels_avx512(const char *kernels, bp_capability hardware);

#endif
