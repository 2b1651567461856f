/* objects.h - declares a device, a queue and an event of the CUDA runtime. */
#ifndef BP_PROVIDERS_CUDA_OBJECTS_H
#define BP_PROVIDERS_CUDA_OBJECTS_H

#include "providers/cuda/api.h"

#include "backplane/runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct bp__cu_event bp__cu_event;
typedef struct bp__cu_graph bp__cu_graph;
typedef struct bp__cu_words bp__cu_words;

typedef struct bp__cu_device {
    const bp_host *host;
    int index; /* the driver's number of the device, which is DLPack's, too */
    CUdevice id;
    bp_device_info facts;
    CUcontext context;
    bool primary;              /* the context is the primary one, with a reference of ours */
    bool has_pools;            /* stream-ordered allocation */
    pthread_mutex_t mutex;     /* guards what follows */
    CUevent never;             /* an event that is never recorded, so that the state of the context is its state */
    bp__cu_event *unused[2];   /* events for new commands: without and with times */
    bp__cu_graph *retired;     /* released, but perhaps still running */
    uint64_t peers;            /* bit i: access to device i was enabled, or is impossible */
    CUmodule copy_module;      /* the kernels of copies; NULL: not loaded */
    CUfunction copy_kernel[5]; /* for units of 1, 2, 4, 8 and 16 bytes */
    bool no_kernels;           /* the driver cannot load them */
    bp__cu_words *words;       /* blocks of pinned memory (words.c), and their pieces that no run uses */
    uint64_t *unused_words;
} bp__cu_device;

typedef struct bp__cu_queue {
    bp__cu_device *device;
    CUstream native;
    bool owned; /* made by us, else by the program */
    bool timed;
    uint64_t thread; /* the only thread that may use it; 0: all threads may */
} bp__cu_queue;

struct bp__cu_event {
    bp__cu_event *next; /* in the list of unused ones */
    bp__cu_device *device;
    CUevent native;
    atomic_int references;
    bool owned, timed;
};

/* Makes the device's context the current one of the calling thread, if it is another, until bp__cu_leave(). With
 * `relaxed`, calls are permitted that could otherwise disturb a capture, of this thread or another one. Neither is
 * visible to the program afterwards. */
typedef struct bp__cu_scope {
    bool pushed, relaxed;
    CUstreamCaptureMode mode; /* of the thread before */
} bp__cu_scope;
CUresult bp__cu_enter(const bp__cu_device *device, bool relaxed, bp__cu_scope *scope);
void bp__cu_leave(const bp__cu_scope *scope);

/* Sets *event to an event behind the queue's commands. The device was entered. */
bp_status bp__cu_mark(const bp__cu_queue *queue, void **event);

/* Fails with a message, "cuda: <what>: CUDA_ERROR_INVALID_VALUE (1)", and the status that belongs to the error. */
bp_status bp__cu_fail(const bp_host *host, CUresult code, const char *what);

#endif
