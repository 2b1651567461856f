/* module_cuda.c - lists the providers and the runtime of the module for CUDA devices, if they are not built in. */
#include "backplane/runtime.h"

extern const bp_provider bp_provider_cublas, bp_provider_cudnn, bp_provider_cufft, bp_provider_cusolver,
    bp_provider_nvrtc;
extern const bp_runtime bp_runtime_cuda;

BP_PROVIDERS_DEFINE = {&bp_provider_cublas,   &bp_provider_cudnn, &bp_provider_cufft,
                       &bp_provider_cusolver, &bp_provider_nvrtc, NULL};
BP_RUNTIMES_DEFINE = {&bp_runtime_cuda, NULL};
