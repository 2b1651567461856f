/* vendor.c - implements vendor.h. */
#include "providers/cuda/vendor.h"

#include <stdlib.h>
#include <string.h>

/* ---- Instances ---- */

/* Returns the version of a library as bp__cu_vendor has it, from its text. */
static int version_of(const char *text) {
    char *end;
    const long major = strtol(text, &end, 10), minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return major > 0 && major < 1000 && minor >= 0 && minor < 1000 ? (int)(1000 * major + minor) : 0;
}

bp_status bp__cu_vendor_open(const bp__cu_vendor_kind *kind, size_t size, const bp_host *host,
                             const bp_library_info *library, void **opened) {
    bp__cu_vendor *instance = host->allocate(size);
    if (!instance) {
        return host->fail(BP_E_NO_MEMORY, "%s: no memory for an instance", kind->provider);
    }
    memset(instance, 0, size);
    instance->kind = kind;
    instance->host = host;
    instance->library = library;
    instance->version = version_of(library->version);
    pthread_mutex_init(&instance->mutex, NULL);
    *opened = instance;
    return BP_OK;
}

/* A child of fork leaves to its parent what the library has made. */
static void free_parts(bp__cu_vendor *instance) {
    while (instance->parts) {
        bp__cu_part *each = instance->parts;
        bp__cu_scope scope;
        instance->parts = each->next;
        if (each->process == *instance->host->fork_count) {
            (void)bp__cu_enter(each->device, true, &scope);
            instance->kind->end(instance, each);
            bp__cu_leave(&scope);
        }
        instance->host->release(each);
    }
}

void bp__cu_vendor_close(void *opaque) {
    bp__cu_vendor *instance = opaque;
    free_parts(instance);
    pthread_mutex_destroy(&instance->mutex);
    instance->host->release(instance);
}

/* ---- Refusals and failures ---- */

bool bp__cu_vendor_has_version(const bp__cu_vendor *instance, bp_verdict *verdict) {
    const bp__cu_vendor_kind *kind = instance->kind;
    const char *version = instance->library->version;
    char text[sizeof verdict->text];
    if (instance->version / 1000 >= kind->least && instance->version / 1000 <= kind->most) {
        return true;
    }
    const char *has = *version ? version : "unknown";
    if (kind->least == kind->most) {
        snprintf(text, sizeof text, "it has version %s; version %d is supported", has, kind->least);
    } else {
        snprintf(text, sizeof text, "it has version %s; versions %d and %d are supported", has, kind->least,
                 kind->most);
    }
    return bp__cu_vendor_refuse(verdict, BP_REASON_OTHER, text);
}

bp_status bp__cu_vendor_fail(const bp__cu_vendor *instance, const bp__cu_device *device, unsigned status,
                             const char *what) {
    const bp__cu_status *known = instance->kind->statuses;
    while (known->name && known->number != status) {
        known++;
    }
    const bp_status answer = known->name ? known->means : BP_E_DEVICE;
    const int64_t lost = device && answer == BP_E_DEVICE ? bp__cu_device_error((void *)(uintptr_t)device) : 0;
    return lost ? bp__cu_fail(instance->host, (CUresult)lost, what)
                : instance->host->fail(answer, "library '%s': %s: %s (%u)", instance->library->id, what,
                                       known->name ? known->name : "an unknown status", status);
}

/* ---- Loading ---- */

static bp_status find_functions(bp__cu_vendor *instance, void *handle) {
    const bp_host *host = instance->host;
    for (const bp__cu_function *each = instance->kind->functions; each->symbol; each++) {
        void *address = host->symbol(handle, each->symbol);
        if (!address) {
            return host->fail(BP_E_SYMBOL, "library '%s' (%s) has no function %s; %s is needed", instance->library->id,
                              instance->library->path, each->symbol, instance->kind->release);
        }
        memcpy((char *)instance + each->at, &address, sizeof address);
    }
    return BP_OK;
}

static bp_status load(bp__cu_vendor *instance) {
    void *handle;
    if (instance->loaded) {
        return BP_OK;
    }
    bp_status status = instance->host->open_library(instance->library, &handle);
    status = status == BP_OK ? find_functions(instance, handle) : status;
    instance->loaded = status == BP_OK;
    return status;
}

/* ---- Devices ---- */

/* The library binds what it makes to the current context. */
static bp_status new_part(bp__cu_vendor *instance, bp__cu_device *device, bp__cu_part **made) {
    const bp_host *host = instance->host;
    bp__cu_scope scope;
    bp__cu_part *fresh = host->allocate(instance->kind->part_size);
    if (!fresh) {
        return host->fail(BP_E_NO_MEMORY, "%s: no memory for a device", instance->kind->provider);
    }
    memset(fresh, 0, instance->kind->part_size);
    *fresh = (bp__cu_part){.next = instance->parts, .device = device, .process = *host->fork_count};
    const CUresult code = bp__cu_enter(device, true, &scope);
    const bp_status status =
        code == BP__CU_SUCCESS ? instance->kind->begin(instance, fresh) : bp__cu_fail(host, code, "cuCtxPushCurrent");
    bp__cu_leave(&scope);
    if (status != BP_OK) {
        host->release(fresh);
        return status;
    }
    *made = fresh;
    return BP_OK;
}

bp_status bp__cu_vendor_part(bp__cu_vendor *instance, bp__cu_device *device, bp__cu_part **found) {
    pthread_mutex_lock(&instance->mutex);
    bp__cu_part *each = instance->parts;
    while (each && each->device != device) {
        each = each->next;
    }
    bp_status status = BP_OK;
    if (!each) {
        status = load(instance);
        status = status == BP_OK ? new_part(instance, device, &each) : status;
        instance->parts = status == BP_OK ? each : instance->parts;
    }
    pthread_mutex_unlock(&instance->mutex);
    *found = each;
    return status;
}

/* ---- Plans and runs ---- */

void *bp__cu_vendor_plan(const bp__cu_vendor *instance, size_t size) {
    void *plan = instance->host->allocate(size);
    if (!plan) {
        instance->host->fail(BP_E_NO_MEMORY, "%s: no memory for a plan", instance->kind->provider);
        return NULL;
    }
    return memset(plan, 0, size);
}

/* Calls run() in the context of the queue, and marks the end with *event. */
static bp_status run_marked(const bp_host *host, const bp_exec *exec, bp__cu_vendor_run run, const void *plan,
                            void *call, void **event) {
    const bp__cu_queue *queue = host->queue(exec->queue);
    bp_status status = bp__cu_queue_check(queue);
    if (status != BP_OK) {
        return status;
    }
    bp__cu_scope scope;
    const CUresult code = bp__cu_enter(queue->device, false, &scope);
    status = code == BP__CU_SUCCESS ? run(plan, call, queue) : bp__cu_fail(host, code, "cuCtxPushCurrent");
    status = status == BP_OK ? bp__cu_mark(queue, event) : status;
    bp__cu_leave(&scope);
    return status;
}

bp_status bp__cu_vendor_enqueue(const bp_host *host, const bp_exec *exec, bp__cu_vendor_run run, const void *plan,
                                void *call) {
    void *event = NULL;
    const bp_status status = run_marked(host, exec, run, plan, call, &event);
    return status == BP_OK ? host->enqueued(exec->queue, event) : status;
}

bp_status bp__cu_vendor_enqueue_checked(const bp_host *host, const bp_exec *exec, bp__cu_vendor_run run,
                                        const void *plan, void *call, bp_status (*check)(void *user, int ended),
                                        void *user) {
    void *event = NULL;
    const bp_status status = run_marked(host, exec, run, plan, call, &event);
    if (status == BP_OK) {
        return host->enqueued_checked(exec->queue, event, check, user);
    }
    (void)check(user, 0);
    return status;
}
