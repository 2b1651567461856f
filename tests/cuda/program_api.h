/* program_api.h - declares further functions of CUDA's driver, as api.h does: what a program calls that uses the driver
 * itself, as the tests and the check of a GPU do. */
#ifndef BP_TESTS_CUDA_PROGRAM_API_H
#define BP_TESTS_CUDA_PROGRAM_API_H

#include "providers/cuda/api.h"

#ifndef BP__CU_HEADER
typedef void (*CUhostFn)(void *);
#endif

/* clang-format off */
#define PROGRAM_FUNCTIONS(X)                                                                                           \
    X(CtxSetCurrent, cuCtxSetCurrent, (CUcontext))                                                                     \
    X(CtxSynchronize, cuCtxSynchronize, (void))                                                                        \
    X(StreamSynchronize, cuStreamSynchronize, (CUstream))                                                              \
    X(StreamQuery, cuStreamQuery, (CUstream))                                                                          \
    X(LaunchHostFunc, cuLaunchHostFunc, (CUstream, CUhostFn, void *))
/* clang-format on */

/* All functions that a program calls, in a table that it fills with dlsym(). */
typedef struct program_api {
#define X(name, symbol, parameters) CUresult(*name) parameters;
    BP__CU_FIRST_FUNCTIONS(X)
    BP__CU_FUNCTIONS(X)
    PROGRAM_FUNCTIONS(X)
#undef X
} program_api;

#endif
