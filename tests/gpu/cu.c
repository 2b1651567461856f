/* cu.c - opens CUDA's driver as a program does, and has gates in streams. */
#include "check.h"

#include "backplane.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

program_api cu;

int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* The library finds the file in registry.library_path, and the loader elsewhere. */
static void *open_file(void) {
    char path[4096];
    const char *folders = NULL;
    if (bp_get("registry.library_path", &folders, NULL, NULL) != BP_OK || !folders) {
        folders = "";
    }
    while (*folders) {
        const int length = (int)strcspn(folders, ":");
        snprintf(path, sizeof path, "%.*s/libcuda.so.1", length, folders);
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (handle) {
            return handle;
        }
        folders += length + (folders[length] == ':');
    }
    return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
}

outcome open_driver(void) {
    void *handle = open_file();
    if (!handle) {
        return fail("%s", dlerror());
    }
#define X(name, symbol, parameters)                                                                                    \
    *(void **)&cu.name = dlsym(handle, #symbol);                                                                       \
    if (!cu.name) {                                                                                                    \
        return fail("there is no %s", #symbol);                                                                        \
    }
    BP__CU_FIRST_FUNCTIONS(X)
    BP__CU_FUNCTIONS(X)
    PROGRAM_FUNCTIONS(X)
#undef X
    WORKS(cu.Init(0));
    return PASSED;
}

outcome use_device(int index, CUcontext *context) {
    CUdevice id;
    WORKS(cu.DeviceGet(&id, index));
    WORKS(cu.DevicePrimaryCtxRetain(context, id));
    WORKS(cu.CtxSetCurrent(*context));
    return PASSED;
}

/* ---- Gates ---- */

struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
};

static void wait_at(void *opaque) {
    gate *own = opaque;
    pthread_mutex_lock(&own->mutex);
    while (!own->open) {
        pthread_cond_wait(&own->changed, &own->mutex);
    }
    pthread_mutex_unlock(&own->mutex);
}

/* Gates are few, and stay until the process ends. */
gate *close_gate(CUstream stream) {
    gate *own = calloc(1, sizeof *own);
    if (!own) {
        return NULL;
    }
    pthread_mutex_init(&own->mutex, NULL);
    pthread_cond_init(&own->changed, NULL);
    if (cu.LaunchHostFunc(stream, wait_at, own) != BP__CU_SUCCESS) {
        free(own);
        return NULL;
    }
    return own;
}

void open_gate(gate *own) {
    pthread_mutex_lock(&own->mutex);
    own->open = true;
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->mutex);
}
