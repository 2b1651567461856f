/* fake_runtime.h - controls the runtimes of fake_runtime.c from a test, which finds them with dlsym("fake_control"). */
#ifndef BP_TESTS_DEVICE_FAKE_RUNTIME_H
#define BP_TESTS_DEVICE_FAKE_RUNTIME_H

#include "backplane/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_FAULT = -5, FAKE_LOST = -77, FAKE_AFTER_FAULT = -14 };

typedef struct fake_controls {
    /* What the runtimes do. */
    atomic_int longest_delay_us; /* of a command, at random */
    atomic_int fail_at;          /* number of the command that fails, counted from here: 1 is the next; 0: none */
    atomic_int fail_value;       /* commands that add this value fail; 0: none */
    atomic_int fail_with;        /* its code; FAKE_LOST: its device is lost */
    atomic_bool chain;           /* commands after a failed one fail too */
    atomic_bool refuse_copies;   /* copies fail when they are enqueued */
    atomic_bool refuse_foreign;  /* queues cannot wait for events of other devices */
    atomic_bool refuse_peers;    /* devices cannot copy from each other */
    atomic_bool refuse_captures; /* no capture begins */
    atomic_llong memory;         /* bytes of all devices; 0: no limit */
    atomic_bool closed;          /* queues run nothing */
    atomic_int changed;          /* number in the name of devices */

    /* What has happened. */
    atomic_int opened, forked_closes;
    atomic_int devices, blocks, queues, events; /* that exist */
    atomic_int pinned;                          /* blocks of host memory that exist */
    atomic_int graphs;                          /* and captures */
    atomic_int peer_copies, elapsed;            /* calls */
    atomic_llong bytes;
    atomic_int commands;   /* that have run */
    atomic_int violations; /* of the rules of runtime.h */
    char violation[128];   /* the first one */

    /* Enqueues a command of a "provider", which adds `value` to `count` bytes; returns its event. */
    void *(*add)(void *queue, void *base, uint64_t offset, size_t count, uint8_t value);
    /* Reads memory of a device at once, without a queue. */
    const uint8_t *(*bytes_of)(void *base);
    void (*release_event)(void *event);
    void *(*device_of)(void *base);
    int (*pending_of)(void *base);                /* commands that use a block */
    void *(*allocate)(void *device, size_t size); /* memory, as the runtime gives it */
    void (*release)(void *base);
    void *(*native_queue)(void *device); /* a queue of the "program" */
    void (*free_native_queue)(void *native);
    void (*open_gate)(bool open);
    bp_status (*capture_begin)(void *native); /* of the "program" */
    bp_status (*capture_end)(void *native, void **graph);
    void (*graph_release)(void *graph);
} fake_controls;

#endif
