/* device.h - devices: what they are, memory on them, queues of work, and events.
 *
 * The host is a device like the others, and always ready. Other devices belong to a runtime, such as "opencl". Nothing
 * of a runtime is loaded before a function of this file needs it, and a device is opened by the first call that uses
 * it. A place is the number of a device: 0 is the host.
 *
 * Operations take tensors on a device as they take tensors in host memory; all operands of a call must be on one
 * device. Their DLTensor has DLPack's device type and index. On OpenCL, `data` is a cl_mem, which is not an address:
 * elements are found by byte_offset. An operation on a device returns when it is enqueued. Commands of one queue run in
 * their order. A failure that happens later is reported by the next function that waits for that queue, with the name
 * of the operation; outputs are then unspecified.
 *
 * All functions are thread-safe unless a comment says otherwise. A child of fork() cannot use the devices of a runtime
 * that its parent had opened: every function returns BP_E_FORKED at once, releases free memory of this process only,
 * and no driver is called. It may use a runtime that the parent had only listed.
 */
#ifndef BACKPLANE_DEVICE_H
#define BACKPLANE_DEVICE_H

#include "backplane/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

/* The list of states: number, NAME, text. */
/* clang-format off */
#define BP_DEVICE_STATE_MAP(X)                                                        \
    X(0, READY, "ready")                                                              \
    X(1, NO_LIBRARY, "the runtime's library was not found")                           \
    X(2, NO_DEVICE, "the runtime has no device")                                      \
    X(3, BROKEN, "the runtime does not work on this machine")                         \
    X(4, FORKED, "devices cannot be used in a child of fork")                         \
    X(5, LOST, "the device failed and cannot be used any more")                       \
    X(6, RECORDED, "a description of a device of another machine")                    \
    X(7, DISABLED, "disabled by a setting")
/* clang-format on */

typedef enum bp_device_state {
#define BP__ENTRY(number, name, text) BP_DEVICE_##name = number,
    BP_DEVICE_STATE_MAP(BP__ENTRY)
#undef BP__ENTRY
} bp_device_state;

/* Returns "ready", "no-library", ...; "" for an invalid value. Static storage. */
BP_API const char *bp_device_state_name(bp_device_state state);

/* What a device can do: bits of bp_device_info.can. */
#define BP_DEVICE_CAN_F64 1u           /* arithmetic in f64 */
#define BP_DEVICE_CAN_F16 2u           /* arithmetic in f16 */
#define BP_DEVICE_CAN_MAP 4u           /* memory can be mapped into the address space of the host */
#define BP_DEVICE_CAN_TIME 8u          /* events have times */
#define BP_DEVICE_CAN_SHARE_HOST 16u   /* device and host use the same physical memory */
#define BP_DEVICE_CAN_OUT_OF_ORDER 32u /* queues may run commands in another order */
#define BP_DEVICE_CAN_COMPILE 64u      /* the driver has a compiler */
#define BP_DEVICE_CAN_ATOMICS_64 128u  /* atomic operations on 64-bit integers */
#define BP_DEVICE_IS_CPU 256u          /* the device is a processor of the host */
#define BP_DEVICE_HAS_ADDRESSES 512u   /* by its type: DLTensor.data is an address, also in the middle of a block */

/* Facts of a device. Unknown numbers are 0, unknown texts "". Strings are valid until bp_reset(). */
typedef struct bp_device_info {
    size_t struct_size; /* set by the caller: sizeof(bp_device_info) */
    int32_t place;      /* -1: a runtime without a device */
    int32_t type;       /* DLPack's device type and index, as in DLTensor.device */
    int32_t index;      /* -1: a runtime without a device, with the reason */
    bp_device_state state;
    const char *id;      /* "host", "opencl:0"; stable within the process */
    const char *runtime; /* "host", "opencl" */
    const char *name, *vendor, *driver, *version, *platform;
    const char *uuid;       /* "" if the driver tells none */
    const char *extensions; /* of the driver, separated by spaces */
    const char *reason;     /* why it is not ready; "" if it is */
    uint32_t can;           /* BP_DEVICE_CAN_ mask */
    uint32_t units;         /* compute units: cores, multiprocessors */
    uint32_t clock_mhz;
    uint32_t vector_bytes;    /* preferred width of vectors of f32 */
    uint32_t group_items;     /* most work items of a group */
    uint32_t subgroup;        /* work items that run in step (warp, wavefront) */
    uint32_t alignment;       /* bytes, of the start of memory blocks */
    uint32_t bandwidth_gb_s;  /* of the memory, 10^9 bytes per second */
    uint64_t memory;          /* bytes */
    uint64_t largest;         /* bytes, of one block of memory */
    uint64_t local_memory;    /* bytes for one group */
    uint64_t parameter_bytes; /* of a kernel's arguments */
    const char *arch;         /* name for compilers: "sm_90", "gfx942" */
    uint32_t capability;      /* of CUDA: 100 times the major number plus 10 times the minor one, 900 for sm_90 */
    uint32_t driver_number;   /* newest version of the interface that the driver has: 13000 for CUDA 13.0 */
    uint64_t l2;              /* bytes of the last cache before the memory */
    uint64_t shared_optin;    /* bytes for one group if a kernel asks for more than local_memory */
} bp_device_info;

/* Fills *info with entry `index` (0, 1, ...) and returns 1. Returns 0 past the end, for NULL and for an unknown
 * struct_size. Entry 0 is the host. A runtime without a usable device has one entry with `index` -1, whose state and
 * reason tell why. The first call looks for devices in a child process, under a time limit, and may take as long. */
BP_API int bp_device_at(int index, bp_device_info *info);

/* Sets *place to the device with that id ("host", "opencl:0", "opencl" for its first one) or uuid. GPUs and
 * accelerators come before processors. Errors: BP_E_NOT_FOUND (with the state of the runtime), BP_E_ARGUMENT. */
BP_API bp_status bp_device_find(const char *id, int32_t *place);

/* Fills *info for a place. Errors: BP_E_NOT_FOUND (no such place), BP_E_ARGUMENT. */
BP_API bp_status bp_device_describe(int32_t place, bp_device_info *info);

/* Returns the place of DLPack's device, without looking for it: 0 for host memory of any kind. Managed memory of CUDA
 * (kDLCUDAManaged) has the place of the CUDA device with that index. */
BP_API int32_t bp_device_place(DLDevice device);

/* Writes a description of the device as JSON into `buffer` (`size` bytes, with the final zero), cut as by snprintf.
 * *length (may be NULL) is the length of the whole text. It has no data of the user. Errors: BP_E_NOT_FOUND,
 * BP_E_ARGUMENT, BP_E_NO_MEMORY. */
BP_API bp_status bp_device_record(int32_t place, char *buffer, size_t size, size_t *length);

/* Adds a device from such a description, and sets *place. Plans for it cannot be made, but explanations answer as if
 * it were there (BP_DEVICE_RECORDED). Errors: BP_E_FORMAT (with the place in the text), BP_E_ARGUMENT, BP_E_NO_MEMORY,
 * BP_E_BUSY (256 are loaded). */
BP_API bp_status bp_device_load(const char *json, int32_t *place);

/* ---- The runtime's own objects ----
 *
 * A device has one context of its runtime: on OpenCL a cl_context, on CUDA a CUcontext, which is the device's primary
 * one unless the program gives another. All memory, queues and events of the device belong to it. */

/* Makes the program's own context the context of the device, which no call has used yet. The program keeps it alive
 * until bp_reset(). Errors: BP_E_BUSY (the device has another context already), BP_E_DEVICE, BP_E_ARGUMENT (it does not
 * contain the device). */
BP_API bp_status bp_device_use_context(int32_t place, void *context);

/* Opens the device and sets *context to its context, so that the program can create queues and memory in it. Errors:
 * BP_E_DEVICE, BP_E_ARGUMENT. */
BP_API bp_status bp_device_context(int32_t place, void **context);

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

/* An ordered queue of work on a device. Reference-counted by its users: release it with bp_queue_release(). */
typedef struct bp_queue bp_queue;
/* A point in the work of a queue. */
typedef struct bp_event bp_event;

#define BP_QUEUE_TIMED 1u       /* events of the queue have times; commands may be slower */
#define BP_QUEUE_NATIVE_ZERO 2u /* for runtimes only: the program's queue is the handle 0 (bp_queue_wrap) */

/* Creates a queue that runs commands in order. Errors: BP_E_DEVICE (not ready, with the reason; the host has no
 * queues), BP_E_ARGUMENT, BP_E_NO_MEMORY. */
BP_API bp_status bp_queue_new(bp_queue **queue, int32_t place, uint32_t flags);

/* Makes the program's own queue usable: on OpenCL a cl_command_queue of the device's context (bp_device_context), on
 * CUDA a CUstream. NULL is the queue with the handle 0, on runtimes that have one, such as CUDA's default stream.
 * CU_STREAM_PER_THREAD is a queue of the calling thread: commands of other threads on it fail with BP_E_ARGUMENT, and
 * they may wait for it. The program keeps the queue alive until the release, and sees our commands in its order.
 * Wrapping it again returns the same object with a further reference.
 * Work that the program itself enqueues is not tracked: wait for it before memory is freed that it uses. Errors:
 * BP_E_DEVICE; BP_E_UNSUPPORTED (a queue that may change the order of commands); BP_E_ARGUMENT. */
BP_API bp_status bp_queue_wrap(bp_queue **queue, int32_t place, void *native);

/* Makes it the calling thread's queue for calls on its device that name none. NULL with a place: the default one
 * again, which each thread has for each device. The thread holds a reference. Errors: BP_E_ARGUMENT, BP_E_DEVICE. */
BP_API bp_status bp_queue_use(int32_t place, bp_queue *queue);

/* Sets *queue to the calling thread's queue for the device, with a reference. Errors: BP_E_DEVICE, BP_E_NO_MEMORY. */
BP_API bp_status bp_queue_current(bp_queue **queue, int32_t place);

/* Waits until the queue has run everything. Returns BP_OK, or the first failure since the last wait: the message names
 * the operation, the library's error and how many later commands failed too. The queue can be used again afterwards,
 * unless the device is lost. Errors: BP_E_DEVICE (a command failed, the device is lost), the status of an operation
 * whose result was examined when it had ended (such as BP_E_SINGULAR), BP_E_CANCELLED
 * (interrupt.h; nothing is cancelled on the device), BP_E_FORKED, BP_E_ARGUMENT. */
BP_API bp_status bp_queue_wait(bp_queue *queue);

/* Like bp_queue_wait() for all queues of a device, the default ones of all threads included. */
BP_API bp_status bp_device_wait(int32_t place);

/* Returns the first failure since the last wait that is known by now, without waiting; BP_OK if there is none. */
BP_API bp_status bp_queue_error(bp_queue *queue);

/* Returns the runtime's own queue: a cl_command_queue, a CUstream. NULL for NULL, and for the queue with the handle 0.
 */
BP_API void *bp_queue_native(bp_queue *queue);
BP_API int32_t bp_queue_place(const bp_queue *queue);

/* Releases a reference. The queue's work goes on. NULL is allowed. */
BP_API void bp_queue_release(bp_queue *queue);

/* ---- Events ------------------------------------------------------------------------------------------------------ */

/* Sets *event to the end of the work that the queue has so far. Errors: BP_E_DEVICE, BP_E_ARGUMENT, BP_E_NO_MEMORY. */
BP_API bp_status bp_event_record(bp_event **event, bp_queue *queue);

/* Wraps the runtime's own event: a cl_event, to which it keeps a reference, or a CUevent, which the program keeps alive
 * until the release. */
BP_API bp_status bp_event_wrap(bp_event **event, int32_t place, void *native);

/* Makes the commands that the queue gets from now on wait for the event. The calling thread does not wait, unless the
 * event belongs to a device that the queue's runtime cannot wait for. Errors: BP_E_DEVICE, BP_E_ARGUMENT. */
BP_API bp_status bp_event_wait(bp_queue *queue, bp_event *event);

/* Waits for the event in the calling thread, at most `timeout_ns` (negative: as long as it takes). Errors:
 * BP_E_TIMEOUT, BP_E_DEVICE (a command up to the event failed), BP_E_CANCELLED, BP_E_FORKED. */
BP_API bp_status bp_event_sync(bp_event *event, int64_t timeout_ns);

/* Sets *ns to the time between two events of timed queues of one device. Errors: BP_E_BUSY (one is not reached yet),
 * BP_E_UNSUPPORTED (without times), BP_E_DEVICE, BP_E_ARGUMENT. */
BP_API bp_status bp_event_elapsed(bp_event *from, bp_event *to, int64_t *ns);
BP_API void bp_event_release(bp_event *event); /* NULL is allowed */

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

/* Commands of a queue that were captured, and can be launched again and again with less work of the host. */
typedef struct bp_queue_graph bp_queue_graph;

/* Begins a capture: operations and copies on the queue are noted in place of run, with the addresses that they have,
 * until bp_queue_capture_end(). Make the plans before: a call that must make one on the captured queue fails. Waits,
 * events, maps, graphs, the functions that wait, and copies through memory of the library, such as small ones from the
 * host without a queue, fail with BP_E_UNSUPPORTED. A copy from or to memory of the host uses this memory in each
 * launch. Workspaces, and tensors that are freed during the capture, belong to the graph. Other memory that its
 * commands use must exist while it is launched. One queue of a device is captured at a time. Errors: BP_E_UNSUPPORTED
 * (the runtime has no graphs), BP_E_BUSY (a queue of the device is captured), BP_E_ARGUMENT, BP_E_DEVICE,
 * BP_E_NO_MEMORY.
 *
 * If the program captures its own queue with the runtime's functions (bp_queue_wrap), the same holds, but an operation
 * needs a workspace of the program (bp_exec.workspace), and memory of tensors that are freed meanwhile stays used until
 * bp_reset(). */
BP_API bp_status bp_queue_capture_begin(bp_queue *queue);

/* Ends the capture and sets *graph; release it with bp_queue_graph_release(). Errors: BP_E_UNSUPPORTED (an operation
 * failed after it had enqueued commands), BP_E_ARGUMENT (no capture was begun), BP_E_DEVICE. After any error of a queue
 * that was captured, the capture has ended without a graph. */
BP_API bp_status bp_queue_capture_end(bp_queue_graph **graph, bp_queue *queue);

/* Enqueues the graph's commands on a queue of its device. They run after earlier launches of the graph. A failure is
 * reported by the next wait, as the one of "a graph". Errors: BP_E_ARGUMENT, BP_E_UNSUPPORTED (the queue is captured),
 * BP_E_DEVICE. */
BP_API bp_status bp_queue_graph_launch(bp_queue_graph *graph, bp_queue *queue);

/* Releases the graph, also while launches run. NULL is allowed. */
BP_API void bp_queue_graph_release(bp_queue_graph *graph);

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Allocates a tensor on a device, with undefined contents, from the pool of the device. `strides` as in
 * bp_tensor_empty(). Free it with tensor->deleter(tensor), also while work that uses it is enqueued: the memory is
 * reused only when that work has ended. Memory of the host comes from bp_tensor_empty(). If the memory or its limit is
 * exhausted, the unused blocks of the pool are freed, and then those that enqueued work still uses, after this work.
 * Errors: as for bp_tensor_empty(), BP_E_DEVICE, BP_E_CANCELLED (interrupt.h, in such a wait). */
BP_API bp_status bp_tensor_empty_on(DLManagedTensorVersioned **tensor, int32_t place, bp_dtype dtype, int ndim,
                                    const int64_t *shape, const int64_t *strides);

/* Notes that others than this library use the memory of a tensor: a consumer of DLPack, or commands that the program
 * enqueues on queues of its own. When the tensor is freed, its memory then goes back to the driver, which keeps it
 * until all commands that use it have ended, and is not reused by the pool, which knows only the library's own
 * commands. Does nothing for memory of the host or of another library. Errors: BP_E_ARGUMENT (NULL). */
BP_API bp_status bp_tensor_export(DLManagedTensorVersioned *tensor);

/* Notes that others than this library use the memory of a tensor on this queue of its device, which may be one of the
 * program (bp_queue_wrap). When the tensor is freed, its memory stays in the pool, and is reused after the work that
 * the queue has at that time. The tensor holds a reference to the queue; a queue of the program must exist until the
 * tensor is freed. More queues may be noted, from any thread. Does nothing for memory of the host or of another
 * library. Errors: BP_E_ARGUMENT (NULL, a queue of another device), BP_E_NO_MEMORY, BP_E_DEVICE. */
BP_API bp_status bp_tensor_use(DLManagedTensorVersioned *tensor, bp_queue *queue);

/* Allocates a tensor in memory of the host that copies from and to the device use directly (pinned memory), with
 * undefined contents, row-major. It is memory of the host for all functions; its DLTensor has the device kDLCUDAHost
 * for CUDA, kDLROCMHost for ROCm, otherwise kDLCPU. Free it with tensor->deleter(tensor), after the queue has run the
 * copies that use it. Errors: as for bp_tensor_empty(), BP_E_UNSUPPORTED (the runtime has no such memory), BP_E_DEVICE
 * (the place of the host). */
BP_API bp_status bp_tensor_pinned(DLManagedTensorVersioned **tensor, int32_t place, bp_dtype dtype, int ndim,
                                  const int64_t *shape);

/* Copies src to dst: equal shapes and types, any strides, any devices. With a queue of one of the two devices, it
 * returns when the copy is enqueued; host memory must then stay valid, and a source unchanged, until the queue has
 * run it. With NULL, it runs on the calling thread's queue; host memory is free to use when it returns, and a copy
 * within a device is enqueued. A copy between two devices is on the queue, or on the calling thread's one, of each: if
 * the runtime can copy between them, it is enqueued, and the source's queue waits for it before its next commands.
 * Otherwise it passes through the host: it waits until the source was read, and enqueues the writes. Errors: as for
 * bp_tensor_copy(), BP_E_DEVICE, BP_E_DTYPE (types differ), BP_E_ARGUMENT (a queue of neither device), BP_E_CANCELLED.
 * A call that waits also returns the failure of an earlier command of the queue. */
BP_API bp_status bp_copy(DLTensor *dst, const DLTensor *src, bp_queue *queue);

#define BP_MAP_READ 1u
#define BP_MAP_WRITE 2u

/* Maps the elements of a tensor on a device into the address space of the host, after the work of the queue (NULL: the
 * calling thread's), and sets *view to a tensor in host memory with the same shape and strides. Until bp_unmap() no
 * command may use this memory. Errors: BP_E_UNSUPPORTED (the device cannot, see BP_DEVICE_CAN_MAP), BP_E_DEVICE,
 * BP_E_ARGUMENT. */
BP_API bp_status bp_map(bp_view *view, const DLTensor *tensor, uint32_t flags, bp_queue *queue);
BP_API bp_status bp_unmap(bp_view *view, const DLTensor *tensor, bp_queue *queue);

/* The pool of a device. It keeps freed blocks for reuse. */
typedef struct bp_device_memory_info {
    size_t struct_size;   /* set by the caller: sizeof(bp_device_memory_info) */
    uint64_t used;        /* bytes of tensors and workspaces */
    uint64_t cached;      /* bytes that are allocated, but unused */
    uint64_t peak;        /* largest `used` */
    uint64_t limit;       /* largest used + cached; 0: none */
    uint64_t allocations; /* blocks that the driver allocated */
    uint64_t reuses;      /* requests that the pool served without the driver */
    uint64_t failures;    /* requests that failed for lack of memory */
} bp_device_memory_info;

BP_API bp_status bp_device_memory(int32_t place, bp_device_memory_info *info);

/* Frees unused blocks, until at most `keep` bytes are cached. */
BP_API bp_status bp_device_trim(int32_t place, uint64_t keep);

/* Limits the memory of one device in bytes; 0: no limit; BP_DEVICE_LIMIT_DEFAULT: the setting device.memory_limit. The
 * pool of a device with memory of its own (without BP_DEVICE_CAN_SHARE_HOST) never holds more than that memory. */
#define BP_DEVICE_LIMIT_DEFAULT UINT64_MAX
BP_API bp_status bp_device_set_memory_limit(int32_t place, uint64_t bytes);

/* An allocator of the program for the memory of a device, such as the one of a framework that shares the device. Both
 * functions are called by any thread, and must not call this library. */
typedef struct bp_device_allocator {
    /* Returns a block of `size` bytes, as the runtime's own memory is (an address, a cl_mem), aligned to 256 bytes;
     * NULL if memory is exhausted. `native` is the runtime's own queue on which it is used first: work that the queue
     * has at the call may still use the block. */
    void *(*allocate)(void *user, size_t size, void *native);
    /* Takes the block back. The library's own commands that use it have ended; commands of others may use it if its
     * tensor was exported (bp_tensor_export). */
    void (*release)(void *user, void *block, size_t size);
    void *user;
} bp_device_allocator;

/* Makes the pool of a device take its blocks from the program's allocator, until bp_reset(); NULL: from the driver
 * again. The pool still keeps unused blocks; see bp_device_trim(). A block for a tensor is used when the calling
 * thread's queue has run the work that it has at the allocation. Errors: BP_E_BUSY (tensors or workspaces of the device
 * exist), BP_E_ARGUMENT (a function is NULL), BP_E_DEVICE. */
BP_API bp_status bp_device_use_allocator(int32_t place, const bp_device_allocator *allocator);

#ifdef __cplusplus
}
#endif
#endif
