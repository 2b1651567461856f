/* provider.c - the lapack provider: linear algebra on any library that offers LAPACK, one instance per library. */
#include "providers/lapack/lapack.h"

static bp_status open_instance(const bp_host *host, const bp_library_info *library, void **instance) {
    bp__driver *driver = NULL;
    bp_status status = bp__driver_open(host, library, &driver);
    *instance = driver;
    return status;
}

static void close_instance(void *instance) {
    bp__driver_close(instance);
}

BP_PROVIDER_DEFINE(lapack) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "lapack",
    .version = BP_VERSION_STRING,
    .description = "Linear algebra on any library that offers the LAPACK routines",
    .library_kinds = BP_LIB_LAPACK,
    .open = open_instance,
    .close = close_instance,
    .accept = bp__lapack_accept,
    .plan = bp__lapack_plan_make,
    .threads = bp__driver_threads,
};
