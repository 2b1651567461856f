/* module_opencl.c - lists the providers and the runtime of the module for OpenCL devices, if they are not built in. */
#include "backplane/runtime.h"

extern const bp_provider bp_provider_opencl, bp_provider_clblast;
extern const bp_runtime bp_runtime_opencl;

BP_PROVIDERS_DEFINE = {&bp_provider_opencl, &bp_provider_clblast, NULL};
BP_RUNTIMES_DEFINE = {&bp_runtime_opencl, NULL};
