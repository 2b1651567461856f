/* reset.c - closes all devices for bp_reset(), and handles fork. */
#include "device/private.h"

int64_t bp__devices_held(void) {
    return atomic_load_explicit(&bp__device_objects, memory_order_relaxed);
}

/* The queues are held no more; the work that they still have is awaited, because its memory is freed. */
static void finish(bp__device *device) {
    bp__held_error held;
    if (!atomic_load_explicit(&device->handle, memory_order_relaxed) || bp__device_is(device, BP_DEVICE_FORKED)) {
        return;
    }
    bp__error_hold(&held);
    while (device->queues && bp__device_quiesce(device) == BP_E_CANCELLED) {
    }
    pthread_mutex_lock(&device->mutex);
    bp__queues_sweep(device);
    pthread_mutex_unlock(&device->mutex);
    bp__error_return(&held);
}

void bp__device_finish(void) {
    bp__threads_forget();
    bp__devices_visit(finish);
}

void bp__device_reset(void) {
    bp__devices_close();
    bp__list_reset();
}

void bp__device_fork_lock(void) {
    pthread_mutex_lock(&bp__devices_mutex);
    pthread_mutex_lock(&bp__threads_mutex);
}

void bp__device_fork_unlock(void) {
    pthread_mutex_unlock(&bp__threads_mutex);
    pthread_mutex_unlock(&bp__devices_mutex);
}

void bp__device_forked(void) {
    bp__list_forked();
    bp__threads_forked();
    atomic_store_explicit(&bp__device_objects, 0, memory_order_relaxed);
}
