/* double.h - controls the doubles of libcublasLt.so.13 and libcublas.so.13 from a test, which finds them with
 * dlsym("cublas_double") in each.
 *
 * The doubles compute what they are told in the stream, on the memory of the double of libcuda.so.1. They keep the
 * rules of the libraries that we know, and answer as the libraries do if one is broken. What the libraries would not
 * notice counts as a violation. The variable CUBLAS_DOUBLE selects what a process finds: "version=130100 fault=0",
 * where fault is a cublas_fault. */
#ifndef BP_TESTS_CUBLAS_DOUBLE_H
#define BP_TESTS_CUBLAS_DOUBLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rules that the doubles can break, so that tests show that they would notice. */
typedef enum cublas_fault {
    CUBLAS_FAULT_NONE,
    CUBLAS_FAULT_TRANSPOSITION, /* B is never transposed */
    CUBLAS_FAULT_CONJUGATE,     /* nothing is conjugated */
    CUBLAS_FAULT_LD,            /* columns follow each other without gaps */
    CUBLAS_FAULT_BATCH,         /* only the first item is computed */
    CUBLAS_FAULT_ALPHA,         /* alpha is 1 */
    CUBLAS_FAULT_BETA,          /* D is read although beta is 0 */
    CUBLAS_FAULT_ROUNDING,      /* f32 is always rounded to TF32 */
    CUBLAS_FAULT_ORDER,         /* calls run at once, not in the order of the stream */
    CUBLAS_FAULT_BIAS,          /* the bias is not added */
    CUBLAS_FAULT_FUNCTION,      /* the function is not applied */
    CUBLAS_FAULT_SCHEMES,       /* the mask of reduction schemes is ignored */
    CUBLAS_FAULT_WORKSPACE,     /* the workspace is used beyond its end */
    CUBLAS_FAULT_ALIGNMENT,     /* alignments are ignored by the heuristic */
    CUBLAS_FAULT_MOST
} cublas_fault;

/* What a call was told. */
typedef struct cublas_told {
    uint32_t compute, scale, ab, d, epilogue, op_a, op_b;
    int64_t m, n, k, lda, ldb, ldd, count, stride_a, stride_b, stride_d;
    uint32_t algorithm, splits, scheme; /* of the algorithm that has run */
    uint32_t mode;                      /* cublasMath_t */
    size_t workspace;
} cublas_told;

typedef struct cublas_controls {
    /* What the library does. */
    atomic_int fault;           /* a cublas_fault */
    atomic_int refuse_create;   /* the status of the functions that make a handle, 0: none */
    atomic_int refuse_products; /* of those that compute */
    atomic_int refuse_lists;    /* of the heuristic */
    atomic_bool empty_lists;    /* the heuristic finds nothing */

    /* What has happened. */
    atomic_int violations;
    char violation[160];          /* the first one */
    atomic_int handles, objects;  /* that exist: objects are descriptors, layouts and preferences */
    atomic_int calls, lists, run; /* products that were enqueued, calls of the heuristic, products that have run */
    uint32_t schemes;             /* of the last call of the heuristic */
    uint64_t most_workspace;
    uint32_t alignment;
    cublas_told told; /* of the last product */
} cublas_controls;

#endif
