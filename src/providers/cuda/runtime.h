/* runtime.h - declares what the files of the CUDA runtime share; see bp_runtime for what the functions do. */
#ifndef BP_PROVIDERS_CUDA_RUNTIME_H
#define BP_PROVIDERS_CUDA_RUNTIME_H

#include "providers/cuda/objects.h"

enum { BP__CU_DEVICES_MOST = 64, BP__CU_LEAST_VERSION = 11040 };

/* The devices that the driver shows. */
typedef struct bp__cu_state {
    const bp_host *host;
    int count;
    int version; /* of the driver's interface: 13000 for CUDA 13.0 */
    char driver[16];
    struct bp__cu_texts {
        char name[256], uuid[37], arch[24], version[40];
    } texts[BP__CU_DEVICES_MOST];
} bp__cu_state;

/* The functions of the library, and the host. They stay the same for the whole process, because the library is never
 * closed; events have no other way to them. */
extern bp__cu_api bp__cu;
extern const bp_host *bp__cu_host;

/* Opens libcuda.so.1, fills bp__cu, initializes the driver and sets *version. Sets *count to 0 if the driver says that
 * there is no device. Errors: BP_E_NOT_FOUND, BP_E_BROKEN (a stub, an old driver, a driver that does not start). */
bp_status bp__cu_library_load(const bp_host *host, int *version, int *count);

/* Returns the time of a monotonic clock, in ns. */
int64_t bp__cu_now(void);

/* Drops the events, graphs and pinned words that the device keeps. It was entered. */
void bp__cu_events_free(bp__cu_device *device);
void bp__cu_graphs_free(bp__cu_device *device);
void bp__cu_words_free(bp__cu_device *device);
void bp__cu_event_hold(bp__cu_event *event);

/* Returns whether the driver answers every call with this error from now on. */
bool bp__cu_ends_use(int64_t code);

/* Fails if the calling thread may not use the queue. */
bp_status bp__cu_queue_check(const bp__cu_queue *queue);

/* Returns whether commands of the queue may allocate memory. A graph would own memory that is allocated while it is
 * captured, and the driver then runs one launch at a time. */
bool bp__cu_may_allocate(const bp__cu_queue *queue);

/* Returns whether a stream is being captured, or might be: a graph may then have what its commands use. */
bool bp__cu_may_be_captured(CUstream stream);

/* ---- The kernels of copies (copy_kernel.c) ---- */

typedef struct bp__cu_units bp__cu_units;
/* As the kernels have it as parameter. Strides are in bytes; dimension 0 is the innermost one. */
struct bp__cu_units {
    uint64_t dst, src; /* addresses */
    uint64_t count;    /* of units */
    uint64_t size[BP_TRANSFER_MAX_NDIM + 1];
    int64_t dst_stride[BP_TRANSFER_MAX_NDIM + 1], src_stride[BP_TRANSFER_MAX_NDIM + 1];
};
/* Sets *kernel to the kernel for units of that many bytes, NULL if the driver loads none. The device was entered with
 * `relaxed`. */
void bp__cu_copy_kernel(bp__cu_device *device, uint64_t unit, CUfunction *kernel);

/* Functions of bp_runtime. */
bp_status bp__cu_describe(void *state, int index, bp_device_info *info);
bp_status bp__cu_device_open(void *state, int index, void *context, void **device);
void bp__cu_device_close(void *device);
void *bp__cu_device_context(void *device);
bp_status bp__cu_allocate(void *device, size_t size, void **base);
void bp__cu_release(void *device, void *base);
bp_status bp__cu_size(void *device, void *base, size_t *size);
bp_status bp__cu_host_allocate(void *device, size_t size, void **address);
void bp__cu_host_release(void *device, void *address);
bp_status bp__cu_queue_open(void *device, uint32_t flags, void *native, void **queue);
void bp__cu_queue_close(void *queue);
void *bp__cu_queue_native(void *queue);
int bp__cu_queue_of_thread(void *queue);
int64_t bp__cu_device_error(void *device);
bp_status bp__cu_copy(void *queue, const bp_transfer *transfer, void **event);
bp_status bp__cu_copy_peer(void *queue, const bp_transfer *transfer, void *source, void **event);
bp_status bp__cu_wait(void *queue, int count, void *const *events, void **event);
bp_event_state bp__cu_event_state(void *event, int64_t *code);
bp_event_state bp__cu_event_sync(void *event, int64_t timeout_ns, int64_t *code);
bp_status bp__cu_event_elapsed(void *from, void *to, int64_t *ns);
bp_status bp__cu_event_wrap(void *device, void *native, void **event);
void bp__cu_event_release(void *event);
const char *bp__cu_error_name(int64_t code, int *lost);
bp_status bp__cu_queue_state(void *queue, uint32_t *state);
bp_status bp__cu_capture_begin(void *queue);
bp_status bp__cu_capture_end(void *queue, void **graph);
bp_status bp__cu_graph_launch(void *graph, void *queue, void **event);
void bp__cu_graph_release(void *graph);

#endif
