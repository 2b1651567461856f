/* private.h - declares what the files of this module share.
 *
 * Locks, in their order: bp__devices_mutex (the list, opening), the mutex of a device (its pool and its list of
 * queues), the mutex of a queue (its commands and its failure). bp_queue.run is taken before all of them, and held
 * while a run is enqueued. No lock is held while a thread waits for a device. After fork() the child uses none of the
 * locks of devices that were open: their state is FORKED, which every function tests first. */
#ifndef BP_DEVICE_PRIVATE_H
#define BP_DEVICE_PRIVATE_H

#include "device/internal.h"

#include <pthread.h>

typedef struct bp__device bp__device;
typedef struct bp__command bp__command;

/* Returns the table of host functions (bp__device_use_host()). Takes and releases a mutex of an upper module, so it is
 * called before bp__devices_mutex is taken. (open.c) */
const bp_host *bp__device_host(void);

/* ---- Facts (facts.c) ---- */

/* The members of bp_device_info that a runtime tells: kind, name. */
#define BP__DEVICE_FACT_MAP(X)                                                                                         \
    X(TEXT, name)                                                                                                      \
    X(TEXT, vendor)                                                                                                    \
    X(TEXT, driver)                                                                                                    \
    X(TEXT, version)                                                                                                   \
    X(TEXT, platform)                                                                                                  \
    X(TEXT, uuid)                                                                                                      \
    X(TEXT, extensions)                                                                                                \
    X(U32, can)                                                                                                        \
    X(U32, units)                                                                                                      \
    X(U32, clock_mhz)                                                                                                  \
    X(U32, vector_bytes)                                                                                               \
    X(U32, group_items)                                                                                                \
    X(U32, subgroup)                                                                                                   \
    X(U32, alignment)                                                                                                  \
    X(U32, bandwidth_gb_s)                                                                                             \
    X(U64, memory)                                                                                                     \
    X(U64, largest)                                                                                                    \
    X(U64, local_memory)                                                                                               \
    X(U64, parameter_bytes)                                                                                            \
    X(TEXT, arch)                                                                                                      \
    X(U32, capability)                                                                                                 \
    X(U32, driver_number)                                                                                              \
    X(U64, l2)                                                                                                         \
    X(U64, shared_optin)

/* Names of the bits of `can`, in their order. */
extern const char *const bp__device_can_names[];
#define BP__DEVICE_CAN_COUNT 10

/* Makes all texts "". */
void bp__facts_empty(bp_device_info *info);
/* Writes, for each fact that differs from `before` (may be NULL), a line "name value" with escaped line ends. */
void bp__facts_write(bp__text *text, const bp_device_info *info, const bp_device_info *before);
/* Reads the value of one fact; unknown names are ignored. Returns false if it is wrong or out of memory. Texts are
 * interned. */
bool bp__facts_read(bp_device_info *info, const char *name, const char *value);

/* Returns whether a runtime has a member that older ones lack, and it is set. */
#define BP__RUNTIME_HAS(runtime, member)                                                                               \
    ((runtime)->struct_size >= offsetof(bp_runtime, member) + sizeof(runtime)->member && (runtime)->member != 0)

/* ---- The list (list.c) ---- */

typedef struct bp__runtime {
    const bp_runtime *runtime;
    const char *module; /* path of its module; "": built in */
    const char *reason; /* why it has no device */
    bp_device_state state;
    bool open; /* under bp__devices_mutex, as `handle` */
    void *handle;
} bp__runtime;

/* Blocks of memory are in classes by size: eight for each power of two. */
#define BP__POOL_CLASSES 512
typedef struct bp__block bp__block;
typedef struct bp__pool {
    bp__block *first[BP__POOL_CLASSES], *last[BP__POOL_CLASSES]; /* unused blocks, the longest unused first */
    uint64_t used, cached, peak, allocations, reuses, failures;
    int64_t unused; /* number of blocks */
} bp__pool;

/* The first failure since a wait, and how many followed it. */
#define BP__RUN_TEXT 80
typedef struct bp__failure {
    bool is_set;
    bool found_later; /* the command, or one before it, has failed */
    bool of_check;    /* a check of the result has failed, and `error` is its message */
    bp_status status; /* BP_E_DEVICE, or the check's */
    char run[BP__RUN_TEXT];
    char error[192];
    int64_t code;
    uint64_t more;
} bp__failure;

struct bp__device {
    bp_device_info info; /* as listed; the state in force is below */
    _Atomic int state;   /* a bp_device_state */
    _Atomic(const char *) reason;
    bp__runtime *owner; /* NULL: the host, or a recorded device */
    const bp_runtime *runtime;
    int number;               /* among the devices of the runtime */
    _Atomic(void *) handle;   /* what the runtime's device_open() made; NULL: not opened yet */
    bool given_context;       /* by the program */
    _Atomic uint64_t limit;   /* bytes, or BP_DEVICE_LIMIT_DEFAULT */
    _Atomic uint64_t serial;  /* number of the last command of all queues */
    pthread_mutex_t wrapping; /* held while a queue of the program is wrapped; before `mutex` */
    pthread_mutex_t mutex;
    bp__pool pool;
    bp_device_allocator allocator; /* of the program; allocate is NULL: the runtime's memory */
    bp_queue_graph *captured; /* of the queue that is being captured; NULL: none, or the program captures one itself */
    bp__block *withheld;      /* freed while the program captured a queue itself: its graph may use them */
    bp_queue *queues;         /* open ones, also those that are held no more and still have work */
    bp__failure failure;      /* of queues that were closed */
};

extern pthread_mutex_t bp__devices_mutex;

/* Returns the device of a place, NULL without an error if there is none. The host has one too. */
bp__device *bp__device_at_place(int32_t place);
/* As above. Without one, fails with BP_E_DEVICE. */
bp_status bp__device_named_by_place(int32_t place, bp__device **device);
/* Returns the id of a device for messages; "?" if there is none. */
const char *bp__device_text(int32_t place);
/* Calls `visit` for each device of a runtime in the list, if there is a list. */
void bp__devices_visit(void (*visit)(bp__device *device));
/* Adds a recorded device. Its texts are interned. */
bp_status bp__list_add_recorded(const bp_device_info *facts, int32_t *place);
void bp__list_reset(void);
void bp__list_forked(void);

/* Returns BP_OK if the device is ready; else BP_E_FORKED or BP_E_DEVICE with the reason. */
bp_status bp__device_usable(const bp__device *device);
static inline bool bp__device_is(const bp__device *device, bp_device_state state) {
    return atomic_load_explicit(&device->state, memory_order_acquire) == (int)state;
}

/* The runtimes that are part of the library; ends with NULL. */
const bp_runtime *const *bp__builtin_runtimes(void);

/* ---- First contact (contact.c) ---- */

/* Finds the devices of a runtime, in a child process or from an earlier result. Sets *devices to an array for bp__free
 * with their facts, NULL if there are none; `row` then has state and reason. Errors: BP_E_NO_MEMORY. */
bp_status bp__contact(bp__runtime *row, bp_device_info **devices, int *count);
/* Forgets what is stored of the runtime, because it was wrong. */
void bp__contact_forget(const bp__runtime *row);
/* Reads a report, which may be hostile. Returns BP_OK also if it tells a failure. Errors: BP_E_NO_MEMORY. */
bp_status bp__contact_read(bp__runtime *row, char *report, bp_device_info **devices, int *count);
/* Writes the key of a stored result. Returns false if what the runtime depends on is unknown. */
bool bp__contact_key(const bp__runtime *row, char *key, size_t size);

/* ---- Opening (open.c) ---- */

/* Opens a usable device, and sets *handle. `context`: of the program, or NULL. */
bp_status bp__device_handle(bp__device *device, void **handle);
/* Marks the device as lost. */
void bp__device_lose(bp__device *device, const char *error);
/* Marks the device as lost if its runtime, which has refused a call, says so. Returns `status`, with its message. */
bp_status bp__device_refused(bp__device *device, bp_status status);
/* Checks a place for a function that needs an open device, and opens it. */
bp_status bp__device_ready(int32_t place, bp__device **device);
void bp__devices_close(void);

/* ---- Commands (command.c): what a queue has enqueued ---- */

struct bp__command {
    atomic_int references;
    bp__command *next;
    bp__device *device;
    void *event;
    void *staging; /* freed when the command has ended */
    size_t staged; /* its bytes */
    uint64_t serial;
    bp_status (*check)(void *user, int ended); /* of the result; NULL: none, or it was called */
    void *checked;                             /* its argument */
    bp_event_state state;                      /* from here on under the mutex of the queue */
    int64_t code;
    bp__failure failure; /* of it, or of an earlier command since a wait */
    char run[BP__RUN_TEXT];
};

struct bp_queue {
    bp__device *device;
    void *handle; /* what queue_open() made */
    void *native; /* the program's queue; NULL: ours */
    uint32_t flags;
    uint64_t number;         /* among all queues of the process */
    atomic_int users;        /* the program, threads, events */
    bp_queue *next;          /* of the device */
    pthread_mutex_t run;     /* recursive */
    bool uncovered;          /* under `run`: a provider may have enqueued commands, and no event of them is known */
    int depth;               /* under `run`: begun runs */
    char text[BP__RUN_TEXT]; /* under `run`: the current one */
    bp__block *taken;        /* under `run`: workspaces */
    _Atomic(bp_queue_graph *) graph; /* of the capture that was begun; written under `run` and the device's mutex */
    pthread_mutex_t mutex;
    bp__command *first, *last; /* commands that are not known to have ended */
    uint64_t pending, look_at; /* their number, and that at which they are examined next */
    uint64_t staged;           /* bytes that their staging memory has */
    bp__failure failure;
    _Atomic uint64_t oldest; /* serial of the first one; UINT64_MAX: none */
};

/* Notes a command: takes the event also if it fails. `staging` (may be NULL) is freed with bp__free when it has ended.
 * *command (may be NULL) gets a reference. */
bp_status bp__command_add(bp_queue *queue, void *event, const char *run, void *staging, size_t staged,
                          bp__command **command);
/* As above, with a check of the result (bp_host.enqueued_checked), which is called also if this fails. */
bp_status bp__command_add_checked(bp_queue *queue, void *event, const char *run, bp_status (*check)(void *, int),
                                  void *user);
void bp__command_drop(bp__command *command);
/* Enqueues a mark at the end of the work so far. */
bp_status bp__command_mark(bp_queue *queue, const char *run, bp__command **command);
/* Waits until the command has ended or the device is lost; a negative time is no limit. Errors: BP_E_TIMEOUT,
 * BP_E_CANCELLED. `what` is for their messages; NULL: the wait is not interrupted. */
bp_status bp__command_wait(bp__command *command, int64_t timeout_ns, const char *what);
/* As bp__command_wait(), and waits for the commands before it, whose events may come later: such as an event by which
 * the provider tells that the result of a kernel is an error. */
bp_status bp__commands_wait(bp_queue *queue, bp__command *last, int64_t timeout_ns, const char *what);
/* Examines the queue's commands; the caller holds its mutex. */
void bp__commands_look(bp_queue *queue);
/* Fails with the message of a failure. */
bp_status bp__failure_tell(const bp__failure *failure, const bp__device *device);

/* ---- Queues (queue.c) ---- */

bp_status bp__queue_open(bp__device *device, uint32_t flags, void *native, bp_queue **queue); /* with one user */
void bp__queue_hold(bp_queue *queue);
void bp__queue_drop(bp_queue *queue); /* one user less */
/* Checks a queue of the program: not NULL, its device usable. */
bp_status bp__queue_usable(const bp_queue *queue);
/* Waits for the commands that all queues of the device have. Failures stay with the queues. */
bp_status bp__device_quiesce(bp__device *device);
/* Closes queues that are held no more and whose work has ended. The caller holds the device's mutex. */
void bp__queues_sweep(bp__device *device);
/* Examines the commands of all queues, and returns the serial of the oldest one that has not ended, except commands of
 * `except`. The caller holds the device's mutex. */
uint64_t bp__queues_oldest(bp__device *device, const bp_queue *except, bool look);
/* Takes the failure that is known by now. */
bp_status bp__queue_take_failure(bp_queue *queue);
/* Enqueues a copy and waits until it has ended. Returns also the failure of an earlier command. */
bp_status bp__queue_transfer_now(bp_queue *queue, const bp_transfer *transfer, const char *run);
/* Enqueues a copy. `staging` as for bp__command_add(). */
bp_status bp__queue_transfer(bp_queue *queue, const bp_transfer *transfer, const char *run, void *staging,
                             size_t staged, bp__command **command);

/* Enqueues a copy from another device of the runtime. Errors: BP_E_UNSUPPORTED (these devices cannot). */
bp_status bp__queue_transfer_peer(bp_queue *queue, const bp_transfer *transfer, const bp__device *source,
                                  const char *run);

/* Makes later commands of one queue wait for the commands that the other one has. */
bp_status bp__queue_follow(bp_queue *later, bp_queue *earlier);

/* Returns whether bytes of the host may be copied for a write, so that it need not be awaited. */
bool bp__queue_may_stage(bp_queue *queue, uint64_t size);

/* ---- Captures (graph.c) ---- */

/* Returns whether the queue is being captured, by this library or the program. */
bool bp__queue_captures(const bp_queue *queue);
/* Returns whether one of the device's queues is. The caller holds the device's mutex. */
bool bp__device_captures(const bp__device *device);
/* Fails if the queue is being captured. `what` is for the message. */
bp_status bp__queue_refuse_capture(const bp_queue *queue, const char *what);
/* Notes that an operation failed after it had enqueued commands. */
void bp__graph_note_failure(bp_queue *queue);
/* Take a workspace for commands of a captured queue, and give it back: returns false if the queue is not captured. */
bp_status bp__graph_take(bp_queue *queue, uint64_t size, bp__block **block);
bool bp__graph_give(bp_queue *queue, bp__block *block);
/* Keeps a freed block while a queue of the device is captured. Returns false if there is none. */
bool bp__graph_keep(bp__device *device, bp__block *block);

/* ---- The queues of threads (thread.c) ---- */

bp_status bp__thread_queue(bp__device *device, bp_queue **queue); /* borrowed from the thread */
void bp__threads_forget(void);                                    /* all queues of all threads */
void bp__threads_forked(void);
extern pthread_mutex_t bp__threads_mutex;

/* ---- Memory (pool.c) ---- */

struct bp__block {
    bp__block *next;
    void *base;
    uint64_t size;
    uint64_t serial; /* it may be used again when the commands up to this one have ended */
    uint64_t queue;  /* number of the queue that used it, whose commands need not be awaited; 0: any may have */
    int class;
};

/* Takes a block for commands of the queue; NULL: of any queue. A new block of the program's allocator is then awaited
 * in the calling thread. */
bp_status bp__pool_take(bp__device *device, const bp_queue *queue, uint64_t size, bp__block **block);
void bp__pool_give(bp__device *device, bp__block *block, const bp_queue *queue);
void bp__pool_drop(bp__device *device, bp__block *block); /* gives a block back to the driver, not to the pool */
void bp__pool_close(bp__device *device);

/* ---- Tensors (tensor.c) ---- */

/* Checks a tensor on a device or the host; *device is NULL for the host. [*low, *high) are the bytes that it spans
 * relative to its first element. */
bp_status bp__device_tensor_check(const DLTensor *tensor, const char *name, bp__device **device, int64_t *low,
                                  int64_t *high);

/* ---- Layouts (layout.c) ---- */

typedef struct bp__copy_dim {
    int64_t size, dst, src; /* strides in bytes; dst is not negative */
} bp__copy_dim;

typedef struct bp__copy_layout {
    int64_t run;                  /* bytes that are contiguous in both */
    int count;                    /* of dimensions, the outermost first */
    int64_t dst_first, src_first; /* bytes from the first elements to where the copy begins */
    bp__copy_dim dims[BP_MAX_NDIM];
} bp__copy_layout;

void bp__copy_layout_make(bp__copy_layout *layout, const DLTensor *dst, const DLTensor *src, size_t item);
int64_t bp__copy_layout_runs(const bp__copy_layout *layout);

/* Number of objects that the program holds. */
extern _Atomic int64_t bp__device_objects;

#endif
