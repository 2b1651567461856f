/* cufft.c - a libcufft.so.12 whose functions do nothing and succeed, so that gpu_check measures what the library itself
 * costs on the host. plan.c has the functions that answer something. */
#include "providers/cufft/api.h"

#include "backplane/version.h"

BP_API cufftResult null_success(void);

cufftResult null_success(void) {
    return BP__CUFFT_SUCCESS;
}

#ifndef __clang__
#pragma GCC diagnostic ignored "-Wattribute-alias"
#endif
#define X(name, symbol, parameters) BP_API cufftResult symbol parameters __attribute__((weak, alias("null_success")));
BP__CUFFT_FUNCTIONS(X)
#undef X
