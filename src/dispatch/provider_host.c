/* provider_host.c - fills the function table that providers receive, with functions of the lower modules. */
#include "dispatch/times/tune.h"
#include "base/number.h"
#include "device/internal.h"
#include "machine/internal.h"
#include "registry/internal.h"
#include "store/blob.h"
#include "tensor/internal.h"

#include <dlfcn.h>
#include <stdio.h>

static bp_status host_fail(bp_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    bp__fail_v(status, format, args);
    va_end(args);
    return status;
}

static void host_warn(const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    bp__format_v(text, sizeof text, format, args);
    va_end(args);
    bp__warn("%s", text);
}

static void *host_symbol(void *handle, const char *name) {
    return dlsym(handle, name);
}

static bp_status host_fail_numeric(const bp_problem *problem, int64_t item, int64_t info) {
    const bp__family *family = bp__family_of(problem);
    return family->fail_item ? family->fail_item(problem, item, info)
                             : bp__fail(BP_E_INTERNAL, "%s: the library reported %lld", bp_op_name((bp_op)problem->op),
                                        (long long)info);
}

static bp_host host;
static bp_machine_info machine = {.struct_size = sizeof machine};
static atomic_bool host_ready;
pthread_mutex_t bp__host_mutex = PTHREAD_MUTEX_INITIALIZER;

const bp_host *bp__host(void) {
    if (atomic_load_explicit(&host_ready, memory_order_acquire)) {
        return &host;
    }
    bp__fork_watch();
    pthread_mutex_lock(&bp__host_mutex);
    if (!atomic_load_explicit(&host_ready, memory_order_relaxed)) {
        host = (bp_host){
            .abi = BP_PROVIDER_ABI,
            .struct_size = sizeof host,
            .allocate = bp__alloc_aligned,
            .release = bp__free_aligned,
            .scratch = bp__provider_scratch,
            .fail = host_fail,
            .warn = host_warn,
            .parallel = bp__parallel,
            .open_library = bp__library_open,
            .symbol = host_symbol,
            .copy_matrix = bp__copy_matrix,
            .machine = &machine,
            .hardware = bp__cpu_hardware(),
            .fork_count = bp__fork_count(),
            .fail_numeric = host_fail_numeric,
            .interrupt_due = bp__interrupt_due,
            .interrupted = bp__operation_interrupted,
            .recall = bp__library_recall,
            .remember = bp__library_remember,
            .keep_unset = bp__env_keep_unset,
            .device = bp__device_facts,
            .device_open = bp__device_open,
            .queue = bp__queue_runtime,
            .enqueued = bp__queue_enqueued,
            .recall_bytes = bp__blob_recall,
            .remember_bytes = bp__blob_remember,
            .open_named = bp__library_open_named,
            .threads_start_error = bp__threads_start_error,
            .enqueued_checked = bp__queue_enqueued_checked,
        };
        bp_machine(&machine);
        atomic_store_explicit(&host_ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&bp__host_mutex);
    return &host;
}

/* Runs before main(), so that the devices have the table in the first call. */
__attribute__((constructor)) static void give_to_devices(void) {
    bp__device_use_host(bp__host);
}

bp_status bp_set_executor(void (*parallel)(void *user, int threads, int count, bp_task task, void *context),
                          void *user) {
    return bp__pool_set_executor(parallel, user);
}
