/* runtime.h - defines the interface between Backplane (the host) and a runtime, which drives one kind of device.
 *
 * A runtime owns a device's memory, queues and events. Providers do the mathematics on it: a provider names the
 * runtimes that it works on in bp_provider.runtimes. A runtime is one constant bp_runtime. A module exports its
 * runtimes as `bp_runtime_entries`, next to its providers. Rules:
 *   - The host checks `abi` as for providers. Structs only grow at their end.
 *   - Functions return a bp_status and set the message with host->fail(). They do not print, abort or exit.
 *   - Every function may be called by several threads at once, except device_close, queue_close and release of one
 *     object. The host calls no function in a child of fork, except `close` with `forked`.
 *   - No function changes state of the calling thread that the program can see, such as a current device.
 */
#ifndef BACKPLANE_RUNTIME_H
#define BACKPLANE_RUNTIME_H

#include "backplane/provider.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BP_TRANSFER_MAX_NDIM 8

typedef enum bp_transfer_kind { BP_TRANSFER_WRITE, BP_TRANSFER_READ, BP_TRANSFER_DEVICE } bp_transfer_kind;

/* A copy of contiguous runs of bytes. There are shape[0] * ... * shape[ndim-1] runs of `run` bytes each; strides are in
 * bytes. WRITE has host memory as source, READ as destination: the address is base + offset. */
typedef struct bp_transfer {
    bp_transfer_kind kind;
    bp_operand dst, src;
    uint64_t run;
    int32_t ndim; /* 0: a single run */
    int64_t shape[BP_TRANSFER_MAX_NDIM];
    int64_t dst_stride[BP_TRANSFER_MAX_NDIM], src_stride[BP_TRANSFER_MAX_NDIM];
} bp_transfer;

typedef enum bp_event_state { BP_EVENT_PENDING, BP_EVENT_DONE, BP_EVENT_FAILED } bp_event_state;

#define BP_ERROR_LOST 1        /* the device cannot be used after the error */
#define BP_ERROR_FOUND_LATER 2 /* the driver does not tell which command has failed: this one, or an earlier one */

#define BP_QUEUE_CAPTURING 1u /* state of a queue: its commands are captured, and do not run */

typedef struct bp_runtime {
    uint32_t abi; /* BP_PROVIDER_ABI */
    uint32_t struct_size;
    const char *name;        /* "opencl"; lower-case letters, digits */
    const char *version;     /* of this code */
    const char *description; /* one line */
    int32_t device_type;     /* DLPack's */

    /* Loads the vendor's library. It is called first in a child process, then, if devices were found there, in this
     * one. Errors: BP_E_NOT_FOUND (there is no library), BP_E_BROKEN. */
    bp_status (*open)(const bp_host *host, void **state);
    void (*close)(void *state, int forked);
    int (*count)(void *state); /* of devices */
    /* Fills the facts of a device; the host sets place, id, runtime, state, and
     * BP_DEVICE_HAS_ADDRESSES by the type. Strings are valid until close. */
    bp_status (*describe)(void *state, int index, bp_device_info *info);

    /* Opens a device. `context`: the program's context, or NULL for a new one. */
    bp_status (*device_open)(void *state, int index, void *context, void **device);
    void (*device_close)(void *device);
    void *(*device_context)(void *device);

    /* Memory. BP_E_NO_MEMORY if it is exhausted. Commands may still use a block that is released; these include
     * commands of the program's own queues. Its memory is free when they have ended. */
    bp_status (*allocate)(void *device, size_t size, void **base);
    void (*release)(void *device, void *base);
    bp_status (*size)(void *device, void *base, size_t *size); /* of a block, also of one that the program allocated */

    /* Queues. `native`: the program's own queue, or NULL for a new one. */
    bp_status (*queue_open)(void *device, uint32_t flags, void *native, void **queue);
    void (*queue_close)(void *queue);
    void *(*queue_native)(void *queue);

    /* Commands: enqueue, hand them to the device, and set *event to a reference that the host releases.
     * `wait`: waits for `count` events first; with 0 events, it is a mark at the end of the work so far. Events may be
     * of another device of this runtime, or made by event_wrap(). BP_E_UNSUPPORTED: it cannot wait for these on the
     * device; the host then waits in the calling thread. */
    bp_status (*copy)(void *queue, const bp_transfer *transfer, void **event);
    bp_status (*wait)(void *queue, int count, void *const *events, void **event);
    /* Maps bytes of a block; both are NULL if the runtime cannot. The call waits for the queue's earlier commands. */
    bp_status (*map)(void *queue, const bp_operand *start, size_t size, uint32_t flags, void **address);
    bp_status (*unmap)(void *queue, const bp_operand *start, void *address, void **event);

    /* Events. event_state sets *code to the vendor's error number if it failed. */
    bp_event_state (*event_state)(void *event, int64_t *code);
    bp_event_state (*event_sync)(void *event, int64_t timeout_ns, int64_t *code); /* PENDING: the time is over */
    bp_status (*event_times)(void *event, int64_t *start_ns, int64_t *end_ns);    /* NULL: there is event_elapsed() */
    bp_status (*event_wrap)(void *device, void *native, void **event);
    void (*event_release)(void *event);

    /* Returns the name of an error number, such as "CL_OUT_OF_RESOURCES", in static storage; sets *lost (may be NULL)
     * to a mask of BP_ERROR_. */
    const char *(*error_name)(int64_t code, int *lost);
    /* What the list of devices depends on, separated by spaces: names of environment variables, and absolute paths of
     * files and folders. The list is kept between processes as long as all of them are the same, and the loader's cache
     * and the module too. NULL: it depends on more, and is not kept. */
    const char *depends;

    /* ---- Since 3.0. A runtime without one of these works as before it was added ---- */

    /* Flags of queue_open() that it knows in addition to BP_QUEUE_TIMED. With BP_QUEUE_NATIVE_ZERO, NULL as `native` is
     * the program's queue with this handle, such as CUDA's default stream. */
    uint32_t queue_flags;
    /* Sets *ns to the time between two events of timed queues of one device, which are both reached. It replaces
     * event_times(), for drivers that tell differences only. BP_E_UNSUPPORTED: an event has no times. */
    bp_status (*event_elapsed)(void *from, void *to, int64_t *ns);
    /* Allocates memory of the host that the device's copies use directly (pinned memory), aligned to 64 bytes.
     * host_release() is called when no command uses it. Both or none. */
    bp_status (*host_allocate)(void *device, size_t size, void **address);
    void (*host_release)(void *device, void *address);
    /* Enqueues a copy of kind DEVICE from `source`, another device of this runtime, to the device of the queue, without
     * memory of the host between them. The host has made the queue wait for the source. BP_E_UNSUPPORTED: the devices
     * cannot; the host then copies through its memory. */
    bp_status (*copy_peer)(void *queue, const bp_transfer *transfer, void *source, void **event);
    /* Sets *state to BP_QUEUE_CAPTURING or 0, also if the program captures the queue. It is called often, and must not
     * disturb a capture. While a queue is captured, the host asks for the state of no event of it, and waits for none;
     * the events of captured commands are released at once. Events of other queues are asked for, and allocate() and
     * release() are called, and must not disturb the capture either. */
    bp_status (*queue_state)(void *queue, uint32_t *state);
    /* Begins the capture of a queue's commands, and ends it and makes a graph of them. One queue of a device is
     * captured at a time. After a failure of capture_end() there is no capture. All five or none. */
    bp_status (*capture_begin)(void *queue);
    bp_status (*capture_end)(void *queue, void **graph);
    /* Enqueues the graph's commands on any queue of the device. They begin after the graph's earlier launches. *event
     * as for other commands. graph_release() may be called while launches run. */
    bp_status (*graph_launch)(void *graph, void *queue, void **event);
    void (*graph_release)(void *graph);
    /* Returns whether the calling thread may use a queue of the program: a handle may name another queue in each
     * thread, such as CU_STREAM_PER_THREAD. The runtime refuses commands of other threads. */
    int (*queue_of_thread)(void *queue);
    /* Returns the error that has ended the use of the device; 0: there is none. It is called when a command or an
     * allocation was refused, since drivers then tell an earlier error, also one of the program's commands. */
    int64_t (*device_error)(void *device);
} bp_runtime;

/* A module with runtimes exports a list that ends with NULL. */
#define BP_RUNTIME_ENTRIES "bp_runtime_entries"
#define BP_RUNTIMES_DEFINE                                                                                             \
    BP__PROVIDER_LINKAGE BP_API const bp_runtime *const bp_runtime_entries[];                                          \
    const bp_runtime *const bp_runtime_entries[]

#ifdef __cplusplus
}
#endif
#endif
