/* provider.c - defines the cublas provider: matrix products on CUDA devices with cuBLASLt and cuBLAS. */
#include "providers/cublas/cublas.h"

static bp_status open_instance(const bp_host *host, const bp_library_info *library, void **opened) {
    bp__cublas_instance *instance = host->allocate(sizeof *instance);
    if (!instance) {
        return host->fail(BP_E_NO_MEMORY, "cublas: no memory for an instance");
    }
    *instance = (bp__cublas_instance){.host = host,
                                      .library = library,
                                      .is_lt = bp__cublas_is_lt(library),
                                      .version = bp__cublas_version(library->version)};
    pthread_mutex_init(&instance->mutex, NULL);
    *opened = instance;
    return BP_OK;
}

static void close_instance(void *opaque) {
    bp__cublas_instance *instance = opaque;
    bp__cublas_devices_free(instance);
    pthread_mutex_destroy(&instance->mutex);
    instance->host->release(instance);
}

BP_PROVIDER_DEFINE(cublas) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "cublas",
    .version = BP_VERSION_STRING,
    .description = "Matrix products on CUDA devices with cuBLASLt and cuBLAS",
    .library_kinds = BP_LIB_GPU,
    .open = open_instance,
    .close = close_instance,
    .accept = bp__cublas_accept,
    .plan = bp__cublas_plan,
    .families = "cublas",
    .runtimes = "cuda",
    .expand = bp__cublas_expand,
};
