/* short.c - a libcuda.so.1 that lacks most functions, though its version is new. */
#include "providers/cuda/api.h"

#include "backplane/version.h"

BP_API CUresult cuInit(unsigned flags);
BP_API CUresult cuDriverGetVersion(int *version);
BP_API CUresult cuGetErrorName(CUresult error, const char **text);

CUresult cuInit(unsigned flags) {
    return flags;
}

CUresult cuDriverGetVersion(int *version) {
    *version = 12000;
    return BP__CU_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
    (void)error;
    *text = "CUDA_ERROR";
    return BP__CU_SUCCESS;
}
