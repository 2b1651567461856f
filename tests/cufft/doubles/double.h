/* double.h - controls the double of libcufft.so.12 from a test, which finds them with dlsym("cufft_double").
 *
 * The double transforms in the stream, on the memory of the double of libcuda.so.1. It keeps the rules of the library
 * that we know, and answers as the library does if one is broken. What the library would not notice counts as a
 * violation. The variable CUFFT_DOUBLE selects what a process finds: "version=12000 fault=0", where fault is a
 * cufft_fault. */
#ifndef BP_TESTS_CUFFT_DOUBLE_H
#define BP_TESTS_CUFFT_DOUBLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rules that the double can break, so that tests show that they would notice. */
typedef enum cufft_fault {
    CUFFT_FAULT_NONE,
    CUFFT_FAULT_ORDER,     /* calls run at once, not in the order of the stream */
    CUFFT_FAULT_STREAM,    /* calls run in the default stream */
    CUFFT_FAULT_EMBED,     /* the outer dimensions follow each other without gaps */
    CUFFT_FAULT_STRIDE,    /* elements follow each other without gaps */
    CUFFT_FAULT_BATCH,     /* only the first item is transformed */
    CUFFT_FAULT_DIRECTION, /* all transforms are forward */
    CUFFT_FAULT_WORKSPACE, /* the workspace is used beyond its end */
    CUFFT_FAULT_SCALE,     /* results are divided by the number of elements */
    CUFFT_FAULT_MOST
} cufft_fault;

/* What a plan was told, and its last call. */
typedef struct cufft_told {
    int rank, direction;
    long long n[3], embed[2][3], stride[2], dist[2], batch;
    unsigned type[2]; /* cudaDataType */
    size_t workspace;
    uint64_t from, to;
} cufft_told;

typedef struct cufft_controls {
    /* What the library does. */
    atomic_int fault;        /* a cufft_fault */
    atomic_int refuse_plans; /* the status of cufftXtMakePlanMany, 0: none */
    atomic_int refuse_calls; /* of cufftXtExec */

    /* What has happened. */
    atomic_int violations;
    char violation[160];         /* the first one */
    atomic_int plans;            /* that exist */
    atomic_int made, calls, run; /* plans that were made, transforms that were enqueued, and that have run */
    cufft_told told;             /* of the last transform */
} cufft_controls;

#endif
