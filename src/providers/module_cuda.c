/* module_cuda.c - lists the runtime of the module for CUDA devices, if it is not built in. */
#include "backplane/runtime.h"

extern const bp_runtime bp_runtime_cuda;

BP_RUNTIMES_DEFINE = {&bp_runtime_cuda, NULL};
