/* double.h - controls the double of libcusolver.so.12 from a test, which finds them with dlsym("cusolver_double").
 *
 * The double computes in the stream, on the memory of the double of libcuda.so.1. It keeps the rules of the library
 * that we know, and answers as the library does if one is broken. What the library would not notice counts as a
 * violation. The variable CUSOLVER_DOUBLE selects what a process finds: "version=12004 fault=0", where fault is a
 * cusolver_fault. */
#ifndef BP_TESTS_CUSOLVER_DOUBLE_H
#define BP_TESTS_CUSOLVER_DOUBLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rules that the double can break, so that tests show that they would notice. */
typedef enum cusolver_fault {
    CUSOLVER_FAULT_NONE,
    CUSOLVER_FAULT_ORDER,     /* calls run at once, not in the order of the stream */
    CUSOLVER_FAULT_STREAM,    /* calls run in the default stream */
    CUSOLVER_FAULT_TRIANGLE,  /* the other triangle is used */
    CUSOLVER_FAULT_OP,        /* matrices are not transposed */
    CUSOLVER_FAULT_CONJUGATE, /* they are transposed, but not conjugated */
    CUSOLVER_FAULT_PIVOTS,    /* rows are not exchanged in solutions */
    CUSOLVER_FAULT_SIDES,     /* only the first right side is solved */
    CUSOLVER_FAULT_INFO,      /* info is always 0 */
    CUSOLVER_FAULT_WORKSPACE, /* the workspace is used beyond its end */
    CUSOLVER_FAULT_REFLECTOR, /* Q lacks the last reflector */
    CUSOLVER_FAULT_VALUES,    /* eigenvalues and singular values are in the opposite order */
    CUSOLVER_FAULT_MOST
} cusolver_fault;

/* What a call was told. */
typedef struct cusolver_told {
    int routine; /* see parts.h */
    unsigned letter, job, type;
    int64_t m, n, k, lda, ldb, ldc;
    uint64_t a, b, c, vector, info, work; /* vector: pivots, scales of reflectors, or values */
    size_t work_size;
} cusolver_told;

typedef struct cusolver_controls {
    /* What the library does. */
    atomic_int fault;        /* a cusolver_fault */
    atomic_int refuse_make;  /* the status of cusolverDnCreate, 0: none */
    atomic_int refuse_size;  /* of the functions that tell the size of a workspace */
    atomic_int refuse_call;  /* of routines */
    atomic_int host_bytes;   /* the size of the workspace of the host */
    atomic_int fail_spectra; /* info of eigenvalues and singular values */
    atomic_bool divides;     /* by zero pivots, which leaves NaN, and pivots that are no rows */

    /* What has happened. */
    atomic_int violations;
    char violation[160];   /* the first one */
    atomic_int handles;    /* and parameters that exist */
    atomic_int calls, run; /* routines that were enqueued, and that have run */
    cusolver_told told;    /* of the last routine */
} cusolver_controls;

#endif
