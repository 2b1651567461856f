/* defaults.c - a libcuda.so.1 whose functions do nothing and succeed, so that gpu_check measures what the library
 * itself costs on the host. driver.c has the functions that must answer something. */
#include "cuda/program_api.h"

#include "backplane/version.h"

BP_API CUresult null_success(void);

CUresult null_success(void) {
    return BP__CU_SUCCESS;
}

#ifndef __clang__
#pragma GCC diagnostic ignored "-Wattribute-alias"
#endif
#define X(name, symbol, parameters) BP_API CUresult symbol parameters __attribute__((weak, alias("null_success")));
BP__CU_FIRST_FUNCTIONS(X)
BP__CU_FUNCTIONS(X)
PROGRAM_FUNCTIONS(X)
#undef X
