/* open.c - opens runtimes and devices when they are first used, and marks lost devices. */
#include "device/private.h"
#include "base/uncancelled.h"
#include "dist/internal.h"

#include <stdio.h>
#include <string.h>

static _Atomic uint64_t epoch;
static const bp_host *(*host_of_library)(void);

void bp__device_use_host(const bp_host *(*host)(void)) {
    host_of_library = host;
}

const bp_host *bp__device_host(void) {
    return host_of_library();
}

uint64_t bp__device_epoch(void) {
    return atomic_load_explicit(&epoch, memory_order_acquire);
}

static void set_state(bp__device *device, bp_device_state state, const char *reason) {
    const char *kept = bp__intern(reason);
    atomic_store_explicit(&device->reason, kept ? kept : "", memory_order_relaxed);
    atomic_store_explicit(&device->state, (int)state, memory_order_release);
}

void bp__device_lose(bp__device *device, const char *error) {
    int ready = BP_DEVICE_READY;
    const char *kept = bp__intern(error);
    if (atomic_compare_exchange_strong(&device->state, &ready, (int)BP_DEVICE_LOST)) {
        atomic_store_explicit(&device->reason, kept ? kept : "", memory_order_relaxed);
        atomic_fetch_add_explicit(&epoch, 1, memory_order_acq_rel);
    }
}

bp_status bp__device_refused(bp__device *device, bp_status status) {
    const bp_runtime *runtime = device->runtime;
    void *handle = atomic_load_explicit(&device->handle, memory_order_acquire);
    if (status != BP_E_DEVICE || !BP__RUNTIME_HAS(runtime, device_error)) {
        return status;
    }
    const int64_t code = runtime->device_error(handle);
    if (code != 0) {
        const char *name = runtime->error_name(code, NULL);
        bp__device_lose(device, name ? name : "unknown error");
    }
    return status;
}

/* ---- Under bp__devices_mutex ---- */

static bp_status open_runtime(bp__runtime *row) {
    if (row->open) {
        return BP_OK;
    }
    bp__foreign_enter(); /* drivers start programs */
    bp_status status = row->runtime->open(bp__device_host(), &row->handle);
    bp__foreign_leave();
    row->open = status == BP_OK;
    return status == BP_OK ? BP_OK
                           : bp__fail(status, "%s: it was found in a child process, but cannot be opened here: %s",
                                      row->runtime->name, bp_last_error());
}

/* Returns whether this process finds the device that the child, or an earlier process, has found. */
static bool is_same(bp__device *device) {
    bp_device_info now = {.struct_size = sizeof now};
    const bp_device_info *listed = &device->info;
    const bp_runtime *runtime = device->runtime;
    bp__facts_empty(&now);
    if (device->number >= runtime->count(device->owner->handle) ||
        runtime->describe(device->owner->handle, device->number, &now) != BP_OK) {
        return false;
    }
    return bp__text_equal(now.name ? now.name : "", listed->name) &&
           bp__text_equal(now.uuid ? now.uuid : "", listed->uuid) &&
           bp__text_equal(now.driver ? now.driver : "", listed->driver);
}

/* A runtime that does not open here is not tried again, except for lack of memory. */
static bp_status open_owner(bp__device *device) {
    bp_status status = open_runtime(device->owner);
    if (status != BP_OK && status != BP_E_NO_MEMORY) {
        bp__held_error held;
        char reason[512];
        bp__copy_text(reason, sizeof reason, bp_last_error());
        bp__error_hold(&held);
        bp__contact_forget(device->owner);
        set_state(device, BP_DEVICE_BROKEN, reason);
        bp__error_return(&held);
    }
    return status;
}

static bp_status open_device(bp__device *device, void *context) {
    void *handle = NULL;
    BP__TRY(open_owner(device));
    if (!is_same(device)) {
        bp__contact_forget(device->owner);
        set_state(device, BP_DEVICE_BROKEN, "the driver lists other devices than before; bp_reset() lists them again");
        return bp__device_usable(device);
    }
    bp__foreign_enter();
    bp_status status = device->runtime->device_open(device->owner->handle, device->number, context, &handle);
    bp__foreign_leave();
    if (status != BP_OK) {
        return bp__fail(status, "device %s cannot be opened: %s", device->info.id, bp_last_error());
    }
    device->given_context = context != NULL;
    atomic_store_explicit(&device->handle, handle, memory_order_release);
    return BP_OK;
}

/* ---- For all ---- */

bp_status bp__device_handle(bp__device *device, void **handle) {
    BP__UNCANCELLED;
    bp_status status = bp__device_usable(device);
    *handle = atomic_load_explicit(&device->handle, memory_order_acquire);
    if (BP__LIKELY(*handle && status == BP_OK)) {
        return BP_OK;
    }
    BP__TRY(status);
    bp__device_host(); /* takes a mutex that comes before the list's */
    pthread_mutex_lock(&bp__devices_mutex);
    if (!atomic_load_explicit(&device->handle, memory_order_relaxed)) {
        status = bp__device_usable(device);
        status = status == BP_OK ? open_device(device, NULL) : status;
    }
    *handle = atomic_load_explicit(&device->handle, memory_order_relaxed);
    pthread_mutex_unlock(&bp__devices_mutex);
    return status;
}

bp_status bp__device_ready(int32_t place, bp__device **device) {
    void *handle;
    BP__TRY(bp__device_named_by_place(place, device));
    if (place == 0) {
        return bp__fail(BP_E_DEVICE, "the host has no queues and no context; give the place of another device");
    }
    return bp__device_handle(*device, &handle);
}

const bp_device_info *bp__device_facts(int32_t place) {
    if (bp__place_is_map(place)) {
        return bp__map_facts(place);
    }
    const bp__device *device = bp__device_at_place(place);
    if (!device) {
        return NULL;
    }
    const int state = atomic_load_explicit(&device->state, memory_order_acquire);
    return state == BP_DEVICE_READY || state == BP_DEVICE_RECORDED ? &device->info : NULL;
}

bp_status bp__device_check(int32_t place) {
    bp__device *device;
    if (bp__place_is_map(place)) {
        return bp__map_check(place);
    }
    BP__TRY(bp__device_named_by_place(place, &device));
    return bp__device_usable(device);
}

bp_status bp__device_open(int32_t place, void **handle) {
    bp__device *device;
    if (bp__place_is_map(place)) {
        return bp__map_open(place, handle);
    }
    BP__TRY(bp__device_ready(place, &device));
    *handle = atomic_load_explicit(&device->handle, memory_order_acquire);
    return BP_OK;
}

bp_status bp__device_block_size(int32_t place, void *base, size_t *size) {
    bp__device *device;
    BP__TRY(bp__device_ready(place, &device));
    return device->runtime->size(atomic_load_explicit(&device->handle, memory_order_acquire), base, size);
}

bp_status bp_device_context(int32_t place, void **context) {
    BP__UNCANCELLED;
    bp__device *device;
    if (!context) {
        return bp__fail(BP_E_ARGUMENT, "bp_device_context: argument 'context' is NULL");
    }
    *context = NULL;
    BP__TRY(bp__device_ready(place, &device));
    *context = device->runtime->device_context(atomic_load_explicit(&device->handle, memory_order_acquire));
    return BP_OK;
}

bp_status bp_device_use_context(int32_t place, void *context) {
    BP__UNCANCELLED;
    bp__device *device;
    if (!context) {
        return bp__fail(BP_E_ARGUMENT, "bp_device_use_context: argument 'context' is NULL");
    }
    BP__TRY(bp__device_named_by_place(place, &device));
    if (place == 0) {
        return bp__fail(BP_E_DEVICE, "the host has no context; give the place of another device");
    }
    BP__TRY(bp__device_usable(device));
    bp__device_host();
    pthread_mutex_lock(&bp__devices_mutex);
    void *handle = atomic_load_explicit(&device->handle, memory_order_relaxed);
    bp_status status = BP_OK;
    if (!handle) {
        status = open_device(device, context);
    } else if (device->runtime->device_context(handle) != context) {
        status = bp__fail(BP_E_BUSY, "device %s has another context already; set it before the device is first used",
                          device->info.id);
    }
    pthread_mutex_unlock(&bp__devices_mutex);
    return status;
}

/* ---- bp_reset ---- */

static void close_device(bp__device *device) {
    void *handle = atomic_load_explicit(&device->handle, memory_order_relaxed);
    if (handle && !bp__device_is(device, BP_DEVICE_FORKED)) {
        bp__pool_close(device);
        device->runtime->device_close(handle);
        atomic_store_explicit(&device->handle, NULL, memory_order_relaxed);
    }
}

static void close_runtime(bp__device *device) {
    bp__runtime *row = device->owner;
    if (row && row->open) {
        row->runtime->close(row->handle, bp__device_is(device, BP_DEVICE_FORKED));
        row->open = false;
    }
}

void bp__devices_close(void) {
    bp__devices_visit(close_device);
    bp__devices_visit(close_runtime);
}
