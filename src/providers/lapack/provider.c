/* provider.c - defines the lapack provider: linear algebra on any LAPACK library, one instance per library. */
#include "providers/lapack/lapack.h"

BP_PROVIDER_DEFINE(lapack) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "lapack",
    .version = BP_VERSION_STRING,
    .description = "Linear algebra on any library that offers the LAPACK routines",
    .library_kinds = BP_LIB_LAPACK,
    .open = bp__driver_open,
    .close = bp__driver_close,
    .accept = bp__lapack_accept,
    .plan = bp__lapack_plan_make,
    .threads = bp__driver_threads,
};
