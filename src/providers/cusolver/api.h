/* api.h - declares the types, functions and constants of cuSOLVER (11 and 12, of CUDA 12 and 13) that the provider
 * calls, also for the test that compares them with the installed headers. Types have NVIDIA's names, so that they are
 * the same types as in those headers. That test includes them first, and defines BP__CUSOLVER_HEADER. */
#ifndef BP_PROVIDERS_CUSOLVER_API_H
#define BP_PROVIDERS_CUSOLVER_API_H

#include "providers/cuda/data_types.h"

#ifndef BP__CUSOLVER_HEADER
/* Enumerations have 32 bits; their types here are the ones that compilers choose for them. */
typedef unsigned cusolverStatus_t, cusolverEigMode_t, cublasFillMode_t, cublasOperation_t;
typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct cusolverDnParams *cusolverDnParams_t;
typedef struct float2 cuComplex;
typedef struct double2 cuDoubleComplex;
#endif

/* X(name, symbol, parameters). All return a cusolverStatus_t. */
/* clang-format off */
#define BP__CUSOLVER_FUNCTIONS(X)                                                                                      \
    X(Create, cusolverDnCreate, (cusolverDnHandle_t *))                                                                \
    X(Destroy, cusolverDnDestroy, (cusolverDnHandle_t))                                                                \
    X(SetStream, cusolverDnSetStream, (cusolverDnHandle_t, cudaStream_t))                                              \
    X(CreateParams, cusolverDnCreateParams, (cusolverDnParams_t *))                                                    \
    X(DestroyParams, cusolverDnDestroyParams, (cusolverDnParams_t))                                                    \
    X(PotrfSize, cusolverDnXpotrf_bufferSize,                                                                          \
      (cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t, cudaDataType, const void *, int64_t,         \
       cudaDataType, size_t *, size_t *))                                                                              \
    X(Potrf, cusolverDnXpotrf,                                                                                         \
      (cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t, cudaDataType, void *, int64_t, cudaDataType, \
       void *, size_t, void *, size_t, int *))                                                                         \
    X(Potrs, cusolverDnXpotrs,                                                                                         \
      (cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t, int64_t, cudaDataType, const void *,         \
       int64_t, cudaDataType, void *, int64_t, int *))                                                                 \
    X(GetrfSize, cusolverDnXgetrf_bufferSize,                                                                          \
      (cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType, const void *, int64_t, cudaDataType,    \
       size_t *, size_t *))                                                                                            \
    X(Getrf, cusolverDnXgetrf,                                                                                         \
      (cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType, void *, int64_t, int64_t *,             \
       cudaDataType, void *, size_t, void *, size_t, int *))                                                           \
    X(Getrs, cusolverDnXgetrs,                                                                                         \
      (cusolverDnHandle_t, cusolverDnParams_t, cublasOperation_t, int64_t, int64_t, cudaDataType, const void *,        \
       int64_t, const int64_t *, cudaDataType, void *, int64_t, int *))                                                \
    X(GeqrfSize, cusolverDnXgeqrf_bufferSize,                                                                          \
      (cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType, const void *, int64_t, cudaDataType,    \
       const void *, cudaDataType, size_t *, size_t *))                                                                \
    X(Geqrf, cusolverDnXgeqrf,                                                                                         \
      (cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType, void *, int64_t, cudaDataType, void *,  \
       cudaDataType, void *, size_t, void *, size_t, int *))                                                           \
    X(SorgqrSize, cusolverDnSorgqr_bufferSize,                                                                         \
      (cusolverDnHandle_t, int, int, int, const float *, int, const float *, int *))                                   \
    X(DorgqrSize, cusolverDnDorgqr_bufferSize,                                                                         \
      (cusolverDnHandle_t, int, int, int, const double *, int, const double *, int *))                                 \
    X(CungqrSize, cusolverDnCungqr_bufferSize,                                                                         \
      (cusolverDnHandle_t, int, int, int, const cuComplex *, int, const cuComplex *, int *))                           \
    X(ZungqrSize, cusolverDnZungqr_bufferSize,                                                                         \
      (cusolverDnHandle_t, int, int, int, const cuDoubleComplex *, int, const cuDoubleComplex *, int *))               \
    X(Sorgqr, cusolverDnSorgqr,                                                                                        \
      (cusolverDnHandle_t, int, int, int, float *, int, const float *, float *, int, int *))                           \
    X(Dorgqr, cusolverDnDorgqr,                                                                                        \
      (cusolverDnHandle_t, int, int, int, double *, int, const double *, double *, int, int *))                        \
    X(Cungqr, cusolverDnCungqr,                                                                                        \
      (cusolverDnHandle_t, int, int, int, cuComplex *, int, const cuComplex *, cuComplex *, int, int *))               \
    X(Zungqr, cusolverDnZungqr,                                                                                        \
      (cusolverDnHandle_t, int, int, int, cuDoubleComplex *, int, const cuDoubleComplex *, cuDoubleComplex *, int,     \
       int *))                                                                                                         \
    X(SyevdSize, cusolverDnXsyevd_bufferSize,                                                                          \
      (cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, cublasFillMode_t, int64_t, cudaDataType,             \
       const void *, int64_t, cudaDataType, const void *, cudaDataType, size_t *, size_t *))                           \
    X(Syevd, cusolverDnXsyevd,                                                                                         \
      (cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, cublasFillMode_t, int64_t, cudaDataType, void *,     \
       int64_t, cudaDataType, void *, cudaDataType, void *, size_t, void *, size_t, int *))                            \
    X(GesvdSize, cusolverDnXgesvd_bufferSize,                                                                          \
      (cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char, int64_t, int64_t, cudaDataType, const void *, \
       int64_t, cudaDataType, const void *, cudaDataType, const void *, int64_t, cudaDataType, const void *, int64_t,  \
       cudaDataType, size_t *, size_t *))                                                                              \
    X(Gesvd, cusolverDnXgesvd,                                                                                         \
      (cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char, int64_t, int64_t, cudaDataType, void *,       \
       int64_t, cudaDataType, void *, cudaDataType, void *, int64_t, cudaDataType, void *, int64_t, cudaDataType,      \
       void *, size_t, void *, size_t, int *))

/* X(NVIDIA's name, number) */
#define BP__CUSOLVER_NUMBERS(X)                                                                                        \
    X(CUBLAS_FILL_MODE_LOWER, 0) X(CUBLAS_FILL_MODE_UPPER, 1)                                                          \
    X(CUBLAS_OP_N, 0) X(CUBLAS_OP_T, 1) X(CUBLAS_OP_C, 2)                                                              \
    X(CUSOLVER_EIG_MODE_NOVECTOR, 0) X(CUSOLVER_EIG_MODE_VECTOR, 1)

/* The statuses that we treat apart: X(name without "CUSOLVER_STATUS_", number, what it means to us) */
#define BP__CUSOLVER_STATUSES(X)                                                                                       \
    X(SUCCESS, 0, BP_OK) X(NOT_INITIALIZED, 1, BP_E_DEVICE) X(ALLOC_FAILED, 2, BP_E_NO_MEMORY)                         \
    X(INVALID_VALUE, 3, BP_E_DEVICE) X(ARCH_MISMATCH, 4, BP_E_UNSUPPORTED) X(MAPPING_ERROR, 5, BP_E_DEVICE)            \
    X(EXECUTION_FAILED, 6, BP_E_DEVICE) X(INTERNAL_ERROR, 7, BP_E_DEVICE)                                              \
    X(MATRIX_TYPE_NOT_SUPPORTED, 8, BP_E_UNSUPPORTED) X(NOT_SUPPORTED, 9, BP_E_UNSUPPORTED)                            \
    X(INVALID_LICENSE, 11, BP_E_DEVICE) X(INVALID_WORKSPACE, 31, BP_E_DEVICE)
/* clang-format on */

enum {
#define X(name, number) BP__##name = number,
    BP__CUSOLVER_NUMBERS(X)
#undef X
#define X(name, number, means) BP__CUSOLVER_STATUS_##name = number,
        BP__CUSOLVER_STATUSES(X)
#undef X
};

/* The functions of a loaded library. */
typedef struct bp__cusolver_api {
#define X(name, symbol, parameters) cusolverStatus_t(*name) parameters;
    BP__CUSOLVER_FUNCTIONS(X)
#undef X
} bp__cusolver_api;

#endif
