/* api.h - declares the types, functions and constants of cuFFT (11 and 12, of CUDA 12 and 13) that the provider calls,
 * also for the test that compares them with the installed headers. Types have NVIDIA's names, so that they are the same
 * types as in those headers. That test includes them first, and defines BP__CUFFT_HEADER. */
#ifndef BP_PROVIDERS_CUFFT_API_H
#define BP_PROVIDERS_CUFFT_API_H

#include "providers/cuda/data_types.h"

#ifndef BP__CUFFT_HEADER
/* Enumerations have 32 bits; their types here are the ones that compilers choose for them. */
typedef unsigned cufftResult;
typedef int cufftHandle;
#endif

/* X(name, symbol, parameters). All return a cufftResult. */
/* clang-format off */
#define BP__CUFFT_FUNCTIONS(X)                                                                                         \
    X(Create, cufftCreate, (cufftHandle *))                                                                            \
    X(Destroy, cufftDestroy, (cufftHandle))                                                                            \
    X(SetAutoAllocation, cufftSetAutoAllocation, (cufftHandle, int))                                                   \
    X(MakePlanMany, cufftXtMakePlanMany,                                                                               \
      (cufftHandle, int, long long *, long long *, long long, long long, cudaDataType, long long *, long long,         \
       long long, cudaDataType, long long, size_t *, cudaDataType))                                                    \
    X(SetWorkArea, cufftSetWorkArea, (cufftHandle, void *))                                                            \
    X(SetStream, cufftSetStream, (cufftHandle, cudaStream_t))                                                          \
    X(Exec, cufftXtExec, (cufftHandle, void *, void *, int))

/* X(NVIDIA's name, number) */
#define BP__CUFFT_NUMBERS(X) X(CUFFT_FORWARD, -1) X(CUFFT_INVERSE, 1)

/* The statuses that we treat apart: X(name without "CUFFT_", number, what it means to us) */
#define BP__CUFFT_STATUSES(X)                                                                                          \
    X(SUCCESS, 0, BP_OK) X(INVALID_PLAN, 1, BP_E_DEVICE) X(ALLOC_FAILED, 2, BP_E_NO_MEMORY)                            \
    X(INVALID_TYPE, 3, BP_E_UNSUPPORTED) X(INVALID_VALUE, 4, BP_E_DEVICE) X(INTERNAL_ERROR, 5, BP_E_DEVICE)            \
    X(EXEC_FAILED, 6, BP_E_DEVICE) X(SETUP_FAILED, 7, BP_E_DEVICE) X(INVALID_SIZE, 8, BP_E_UNSUPPORTED)                \
    X(UNALIGNED_DATA, 9, BP_E_DEVICE) X(INVALID_DEVICE, 11, BP_E_DEVICE) X(NO_WORKSPACE, 13, BP_E_DEVICE)              \
    X(NOT_IMPLEMENTED, 14, BP_E_UNSUPPORTED) X(NOT_SUPPORTED, 16, BP_E_UNSUPPORTED)
/* clang-format on */

enum {
#define X(name, number) BP__##name = number,
    BP__CUFFT_NUMBERS(X)
#undef X
#define X(name, number, means) BP__CUFFT_##name = number,
        BP__CUFFT_STATUSES(X)
#undef X
};

/* The functions of a loaded library. */
typedef struct bp__cufft_api {
#define X(name, symbol, parameters) cufftResult(*name) parameters;
    BP__CUFFT_FUNCTIONS(X)
#undef X
} bp__cufft_api;

#endif
