/* support_cublas.h - starts the library with the doubles of cuBLASLt, cuBLAS and CUDA's driver. */
#ifndef BP_TESTS_CUBLAS_SUPPORT_H
#define BP_TESTS_CUBLAS_SUPPORT_H

#include "cublas/doubles/double.h"
#include "cuda/support_arrays.h"
#include "providers/cublas/api.h"
#include "support/contains.h"
#include "support/results.h"

#define CUBLAS_DOUBLES BP_TEST_BUILD_DIR "/tests/cublas-doubles"

/* For all tests of a program. Devices are "cuda:0" (sm_90) and "cuda:1" (sm_80); libraries are 'cublaslt' and 'cublas'.
 * The end checks that nothing is left. */
int start_cublas(void **state);
int stop_cublas(void **state);
/* For each test. CUBLAS_FAULT names a rule that both doubles break (cublas_fault). */
int begin_cublas(void **state);
int end_cublas(void **state);

cublas_controls *the_lt(void);
cublas_controls *the_classic(void);

/* A product of the library. Sizes, layouts and factors. */
typedef struct gemm_case {
    bp_dtype dtype, output; /* output 0: as dtype */
    int64_t m, n, k;
    int transform_a, transform_b;         /* bp_transform */
    bool columns_a, columns_b, columns_c; /* columns are contiguous in memory, not rows */
    int64_t apart;                        /* elements between the items of a batch */
    int64_t gap;                          /* added to leading dimensions */
    bp_scalar alpha, beta;
    int batch_ndim;
    int64_t batch[2];
    bool same_a, same_b; /* broadcast over the batch */
    size_t past;         /* bytes by which addresses are not aligned */
    int device;
} gemm_case;

/* Runs a product with settings ("" for none), and compares it with the reference, with a part of its bound. */
void check_gemm(const gemm_case *c, const char *settings, double part);
/* Runs it without a comparison, and returns its status. */
bp_status run_gemm(const gemm_case *c, const char *settings);
/* Returns the explanation of a product, valid until the next call. */
const char *explained(const gemm_case *c, const char *settings);

#endif
