/* providers.c - the list of built-in providers, and the public enumeration of all providers. */
#include "dispatch/internal.h"

#include "registry/internal.h"

#include <string.h>

extern const bp_provider bp_provider_native;
#ifdef BP_BUILTIN_BLAS
extern const bp_provider bp_provider_blas, bp_provider_lapack, bp_provider_mkl, bp_provider_xsmm, bp_provider_onednn;
#endif
#ifdef BP_BUILTIN_FFTW
extern const bp_provider bp_provider_fftw, bp_provider_fftwmpi;
#endif
#ifdef BP_BUILTIN_OPENCL
extern const bp_provider bp_provider_opencl, bp_provider_clblast;
#endif
#ifdef BP_BUILTIN_CUDA
extern const bp_provider bp_provider_cublas, bp_provider_cudnn, bp_provider_cufft, bp_provider_cusolver,
    bp_provider_nvrtc;
#endif
#ifdef BP_BUILTIN_SCALAPACK
extern const bp_provider bp_provider_scalapack, bp_provider_mkl_scalapack;
#endif

const bp_provider *const bp__builtin_providers[] = {
    &bp_provider_native,
#ifdef BP_BUILTIN_BLAS
    &bp_provider_blas,
    &bp_provider_lapack,
    &bp_provider_mkl,
    &bp_provider_xsmm,
    &bp_provider_onednn,
#endif
#ifdef BP_BUILTIN_FFTW
    &bp_provider_fftw,
    &bp_provider_fftwmpi,
#endif
#ifdef BP_BUILTIN_OPENCL
    &bp_provider_opencl,
    &bp_provider_clblast,
#endif
#ifdef BP_BUILTIN_CUDA
    &bp_provider_cublas,
    &bp_provider_cudnn,
    &bp_provider_cufft,
    &bp_provider_cusolver,
    &bp_provider_nvrtc,
#endif
#ifdef BP_BUILTIN_SCALAPACK
    &bp_provider_scalapack,
    &bp_provider_mkl_scalapack,
#endif
    NULL,
};

bool bp__provider_is_builtin(const char *name) {
    for (int i = 0; bp__builtin_providers[i]; i++) {
        if (bp__text_equal(bp__builtin_providers[i]->name, name)) {
            return true;
        }
    }
    return false;
}

bool bp__provider_is_own(const char *name) {
    static const char *const modules[] = {"blas", "lapack", "mkl", "xsmm", "onednn", "fftw"};
    for (int i = 0; i < BP__COUNT(modules); i++) {
        if (bp__text_equal(modules[i], name)) {
            return true;
        }
    }
    return bp__provider_is_builtin(name);
}

bool bp__provider_exists(const char *name) {
    bp_provider_info info = {.struct_size = sizeof info};
    bool found = false;
    for (int i = 0; !found && bp_provider_at(i, &info); i++) {
        found = bp__text_equal(info.name, name);
    }
    return found;
}

static void describe_builtin(const bp_provider *provider, bp_provider_info *info) {
    info->name = provider->name;
    info->version = provider->version;
    info->description = provider->description;
    info->path = "";
    info->status = BP_OK;
    info->reason = "";
}

static bool find_provider(int index, bp_provider_info *info) {
    int builtin = 0;
    for (; bp__builtin_providers[builtin]; builtin++) {
        if (builtin == index) {
            describe_builtin(bp__builtin_providers[builtin], info);
            return true;
        }
    }
    const bp__module *modules;
    int count;
    if (index < 0 || bp__modules(&modules, &count) != BP_OK || index - builtin >= count) {
        return false;
    }
    *info = modules[index - builtin].info;
    if (modules[index - builtin].provider && bp__provider_is_builtin(info->name)) {
        info->status = BP_E_ABI;
        info->reason = "a built-in provider already has this name";
    }
    return true;
}

int bp_provider_at(int index, bp_provider_info *info) {
    bp_provider_info own;
    memset(&own, 0, sizeof own); /* padding too: the whole struct is copied to the caller */
    if (!bp__struct_usable(info) || !find_provider(index, &own)) {
        return 0;
    }
    bp__struct_write(info, &own, sizeof own);
    return 1;
}
