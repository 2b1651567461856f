/* runtime.h - declares what the files of the OpenCL runtime share; see bp_runtime for what the functions do. */
#ifndef BP_PROVIDERS_OPENCL_RUNTIME_H
#define BP_PROVIDERS_OPENCL_RUNTIME_H

#include "providers/opencl/opencl.h"

/* One device of one platform. Texts are owned. */
typedef struct bp__cl_entry {
    cl_platform_id platform;
    cl_device_id id;
    char *platform_version;
    bp_device_info facts;
    char uuid[37];
    bool described; /* the facts are complete */
} bp__cl_entry;

struct bp__cl_state {
    const bp_host *host;
    const bp__cl_api *cl;
    int count;
    bp__cl_entry *entries;
    pthread_mutex_t mutex; /* guards the entries' facts */
    struct bp__cl_bridge *bridge;
};

/* The functions of the library, and the host. They stay the same for the whole process, because the library is never
 * closed; events have no other way to them. NULL before bp__cl_library_load() has succeeded. */
extern bp__cl_api bp__cl_loaded;
extern const bp_host *bp__cl_host;

/* Opens libOpenCL.so.1 and fills bp__cl_loaded. Errors: BP_E_NOT_FOUND, BP_E_BROKEN (a function is missing). */
bp_status bp__cl_library_load(const bp_host *host);

/* Sets *entry to a device whose facts are complete. Errors: BP_E_ARGUMENT (no such device), BP_E_DEVICE,
 * BP_E_NO_MEMORY. */
bp_status bp__cl_entry_at(bp__cl_state *state, int index, const bp__cl_entry **entry);
void bp__cl_forget_entry(const bp_host *host, bp__cl_entry *entry);

/* Returns the time of a monotonic clock, in ns. */
int64_t bp__cl_now(void);
/* Returns for how long to pause between two looks at an event, for which a thread has waited for some time: a part of
 * it, so that pauses add little to it, and at most a millisecond. */
int64_t bp__cl_pause(int64_t passed_ns);

/* Functions of bp_runtime. */
bp_status bp__cl_device_open(void *state, int index, void *context, void **device);
void bp__cl_device_close(void *device);
void *bp__cl_device_context(void *device);
bp_status bp__cl_allocate(void *device, size_t size, void **base);
void bp__cl_release(void *device, void *base);
bp_status bp__cl_size(void *device, void *base, size_t *size);
bp_status bp__cl_queue_open(void *device, uint32_t flags, void *native, void **queue);
void bp__cl_queue_close(void *queue);
void *bp__cl_queue_native(void *queue);
bp_status bp__cl_copy(void *queue, const bp_transfer *transfer, void **event);
bp_status bp__cl_wait(void *queue, int count, void *const *events, void **event);
bp_status bp__cl_map(void *queue, const bp_operand *start, size_t size, uint32_t flags, void **address);
bp_status bp__cl_unmap(void *queue, const bp_operand *start, void *address, void **event);
bp_event_state bp__cl_event_state(void *event, int64_t *code);
bp_event_state bp__cl_event_sync(void *event, int64_t timeout_ns, int64_t *code);
bp_status bp__cl_event_times(void *event, int64_t *start_ns, int64_t *end_ns);
bp_status bp__cl_event_wrap(void *device, void *native, void **event);
void bp__cl_event_release(void *event);

#endif
