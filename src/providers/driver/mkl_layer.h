/* mkl_layer.h - chooses MKL's threading layer, before the first call of libmkl_rt loads it. */
#ifndef BP_PROVIDERS_DRIVER_MKL_LAYER_H
#define BP_PROVIDERS_DRIVER_MKL_LAYER_H

#include "backplane/provider.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BP__MKL_INTEL = 0, BP__MKL_SEQUENTIAL = 1, BP__MKL_GNU = 3 }; /* MKL's own numbers */

static inline bool bp__in_process(const char *soname) {
    void *handle = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
    return handle && dlclose(handle) == 0;
}

/* Returns whether the file of a layer is in the directory of libmkl_rt, which ends the process if it is missing. */
static inline bool bp__mkl_has_layer(const char *path, const char *layer) {
    static const char rt[] = "libmkl_rt";
    const char *name = strrchr(path, '/');
    char file[4096];
    if (!name || strncmp(name + 1, rt, sizeof rt - 1) != 0) {
        return false;
    }
    int length = snprintf(file, sizeof file, "%.*s/%s%s", (int)(name - path), path, layer, name + sizeof rt);
    return length > 0 && (size_t)length < sizeof file && access(file, R_OK) == 0;
}

/* Chooses a layer so that the process gets no second OpenMP runtime. If there is none yet, MKL decides by
 * MKL_THREADING_LAYER or its default, libiomp5. A layer that the program chose before is kept. */
static inline void bp__mkl_choose_layer(const bp_host *host, void *handle, const char *path) {
    int (*choose)(int) = (int (*)(int))host->symbol(handle, "MKL_Set_Threading_Layer");
    int (*layer)(void) = (int (*)(void))host->symbol(handle, "mkl_sdl_get_threading_layer");
    if (!choose || (layer && layer() >= 0) || bp__in_process("libiomp5.so")) {
        return;
    }
    if (bp__in_process("libgomp.so.1")) {
        if (bp__mkl_has_layer(path, "libmkl_gnu_thread")) {
            choose(BP__MKL_GNU);
        }
    } else if (bp__in_process("libomp.so.5") || bp__in_process("libomp.so")) {
        if (bp__mkl_has_layer(path, "libmkl_sequential")) {
            choose(BP__MKL_SEQUENTIAL);
        }
    }
}

#endif
