/* provider.c - defines the clblast provider: matrix products on OpenCL devices with CLBlast. */
#include "providers/clblast/clblast.h"

static bp_status open_instance(const bp_host *host, const bp_library_info *library, void **opened) {
    bp__clblast_instance *instance = host->allocate(sizeof *instance);
    if (!instance) {
        return host->fail(BP_E_NO_MEMORY, "clblast: no memory for an instance");
    }
    *instance = (bp__clblast_instance){.host = host, .library = library};
    pthread_mutex_init(&instance->mutex, NULL);
    *opened = instance;
    return BP_OK;
}

static void close_instance(void *opaque) {
    bp__clblast_instance *instance = opaque;
    pthread_mutex_destroy(&instance->mutex);
    instance->host->release(instance);
}

BP_PROVIDER_DEFINE(clblast) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "clblast",
    .version = BP_VERSION_STRING,
    .description = "Matrix products on OpenCL devices with CLBlast",
    .library_kinds = BP_LIB_OPENCL,
    .open = open_instance,
    .close = close_instance,
    .accept = bp__clblast_accept,
    .plan = bp__clblast_plan,
    .families = "clblast",
    .runtimes = "opencl",
};
