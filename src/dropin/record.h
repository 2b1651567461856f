/* record.h - describes one recorded call of a program's BLAS, LAPACK or FFTW routine.
 *
 * The calls are the ones that `backplane launch` redirects, and the calls of the drop-in libraries. Recording is on if
 * the environment variable BACKPLANE_LAUNCH_RECORD is set when the program makes its first call; otherwise nothing of
 * this costs time. bp__dropin_record() is called after each call, in the thread that made it, with no lock held. It may
 * be called by several threads at once, in a child of fork(), and before main(). It must not call BLAS, LAPACK or FFTW.
 */
#ifndef BP_DROPIN_RECORD_H
#define BP_DROPIN_RECORD_H

#include <stdint.h>

enum { BP__DROPIN_SIZES = 4 };

typedef struct bp__dropin_call {
    const char *routine; /* "dgemm", "cblas_dgemm", "dgetrf", "fftw_execute"; without prefix, underscore and width */
    const char *family;  /* "blas", "cblas", "lapack", "lapacke", "fftw" */
    int width;           /* bits of an integer argument: 32 or 64; 0 for FFTW */
    int through;         /* 1: Backplane ran it as a product of its own interface, on the library `ran` */
    char options[8];     /* the routine's letters, such as "NT" for gemm; of CBLAS, R or C for the order before them;
                          * "" if there are none */
    int sizes;           /* number of valid elements of `size`; 0 for routines whose sizes are not known */
    int64_t size[BP__DROPIN_SIZES]; /* in the order of the routine's arguments: m, n, k for gemm */
    double flops;                   /* floating-point operations by the usual formula; 0: not known */
    int64_t start_ns;               /* CLOCK_MONOTONIC */
    int64_t time_ns;
    const char *ran; /* id in the library list, "native", or the path of the file that ran the call; never NULL */
    const char *own; /* path of the library that the program would have called; "" in a drop-in library */
    const char *why; /* why `ran` and not `own`: "below the size limit", "lowest estimated time"; "" if not known */
} bp__dropin_call;

/* Returns the time of CLOCK_MONOTONIC. */
int64_t bp__dropin_now(void);

/* Counts what the search for libraries took, which is no time of the program's. */
void bp__dropin_record_discovery(int64_t time_ns);

/* Keeps one call. All strings but `routine` and `family` are valid during the call only. */
void bp__dropin_record(const bp__dropin_call *call);

#endif
