/* load.c - opens a library, finds its functions, and makes a handle for each device. */
#include "providers/cublas/cublas.h"

#include <stdlib.h>
#include <string.h>

bool bp__cublas_is_lt(const bp_library_info *library) {
    return strstr(library->soname, "cublasLt") != NULL;
}

int bp__cublas_version(const char *text) {
    char *end;
    const long major = strtol(text, &end, 10), minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return major > 0 && major < 1000 && minor >= 0 && minor < 1000 ? (int)(1000 * major + minor) : 0;
}

/* ---- Statuses ---- */

static const char *status_name(cublasStatus_t status) {
    switch (status) {
#define X(name, number)                                                                                                \
    case number:                                                                                                       \
        return "CUBLAS_STATUS_" #name;
        BP__CUBLAS_STATUSES(X)
#undef X
    default:
        return "an unknown status";
    }
}

bp_status bp__cublas_fail(const bp__cublas_instance *instance, const bp__cu_device *device, cublasStatus_t status,
                          const char *what) {
    const bp_status answer = status == BP__CUBLAS_STATUS_ALLOC_FAILED ? BP_E_NO_MEMORY
                             : status == BP__CUBLAS_STATUS_NOT_SUPPORTED || status == BP__CUBLAS_STATUS_ARCH_MISMATCH
                                 ? BP_E_UNSUPPORTED
                                 : BP_E_DEVICE;
    const int64_t lost = device && answer == BP_E_DEVICE ? bp__cu_device_error((void *)(uintptr_t)device) : 0;
    return lost ? bp__cu_fail(instance->host, (CUresult)lost, what)
                : instance->host->fail(answer, "library '%s': %s: %s (%u)", instance->library->id, what,
                                       status_name(status), status);
}

/* ---- Loading ---- */

#define FIND(table, member, symbol_name)                                                                               \
    table.member = (__typeof__(table.member))host->symbol(handle, symbol_name);                                        \
    missing = table.member || missing ? missing : symbol_name;

static bp_status find_functions(bp__cublas_instance *instance, void *handle) {
    const bp_host *host = instance->host;
    const char *missing = NULL;
    if (instance->is_lt) {
#define X(name, symbol, parameters) FIND(instance->lt, name, #symbol)
        BP__CUBLAS_LT_FUNCTIONS(X)
#undef X
    } else {
#define X(name, symbol, parameters) FIND(instance->classic, name, #symbol)
        BP__CUBLAS_FUNCTIONS(X)
#undef X
    }
    return missing
               ? host->fail(BP_E_SYMBOL, "library '%s' (%s) has no function %s; a library of CUDA 12 or 13 is needed",
                            instance->library->id, instance->library->path, missing)
               : BP_OK;
}

static bp_status load(bp__cublas_instance *instance) {
    void *handle;
    if (instance->loaded) {
        return BP_OK;
    }
    bp_status status = instance->host->open_library(instance->library, &handle);
    status = status == BP_OK ? find_functions(instance, handle) : status;
    instance->loaded = status == BP_OK;
    return status;
}

/* ---- Handles ---- */

/* Makes the handle of a device, whose context is current: the library binds it to this context. */
static cublasStatus_t create_handle(const bp__cublas_instance *instance, bp__cublas_device *made) {
    return instance->is_lt ? instance->lt.Create(&made->lt) : instance->classic.Create(&made->classic);
}

static bp_status new_device(bp__cublas_instance *instance, bp__cu_device *device, bp__cublas_device **made) {
    const bp_host *host = instance->host;
    bp__cu_scope scope;
    bp__cublas_device *fresh = host->allocate(sizeof *fresh);
    if (!fresh) {
        return host->fail(BP_E_NO_MEMORY, "cublas: no memory for a handle");
    }
    *fresh = (bp__cublas_device){.next = instance->devices, .device = device, .process = *host->fork_count};
    const CUresult code = bp__cu_enter(device, true, &scope);
    const cublasStatus_t status = code == BP__CU_SUCCESS ? create_handle(instance, fresh) : 0;
    bp__cu_leave(&scope);
    if (code != BP__CU_SUCCESS || status != BP__CUBLAS_STATUS_SUCCESS) {
        host->release(fresh);
        return code ? bp__cu_fail(host, code, "cuCtxPushCurrent")
                    : bp__cublas_fail(instance, device, status, "the library makes no handle for the device");
    }
    pthread_mutex_init(&fresh->mutex, NULL);
    *made = fresh;
    return BP_OK;
}

bp_status bp__cublas_device_of(bp__cublas_instance *instance, bp__cu_device *device, bp__cublas_device **found) {
    pthread_mutex_lock(&instance->mutex);
    bp__cublas_device *each = instance->devices;
    while (each && each->device != device) {
        each = each->next;
    }
    bp_status status = BP_OK;
    if (!each) {
        status = load(instance);
        status = status == BP_OK ? new_device(instance, device, &each) : status;
        instance->devices = status == BP_OK ? each : instance->devices;
    }
    pthread_mutex_unlock(&instance->mutex);
    *found = each;
    return status;
}

/* A child of fork leaves the handles to its parent. */
void bp__cublas_devices_free(bp__cublas_instance *instance) {
    while (instance->devices) {
        bp__cublas_device *each = instance->devices;
        bp__cu_scope scope;
        instance->devices = each->next;
        if (each->process == *instance->host->fork_count) {
            (void)bp__cu_enter(each->device, true, &scope);
            if (instance->is_lt) {
                instance->lt.Destroy(each->lt);
            } else {
                instance->classic.Destroy(each->classic);
            }
            bp__cu_leave(&scope);
        }
        pthread_mutex_destroy(&each->mutex);
        instance->host->release(each);
    }
}
