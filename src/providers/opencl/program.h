/* program.h - declares what only the runtime and plans need of a built program. */
#ifndef BP_PROVIDERS_OPENCL_PROGRAM_H
#define BP_PROVIDERS_OPENCL_PROGRAM_H

#include "providers/opencl/opencl.h"

cl_program bp__cl_program_native(const bp__cl_program *program);

#endif
