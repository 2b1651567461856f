/* double.h - controls the double of libcuda.so.1 from a test, which finds them with dlsym("cuda_double").
 *
 * The double keeps the rules of CUDA's driver that we know, and answers as the driver does if one is broken. What the
 * driver would not notice, such as a graph that is destroyed while it runs, counts as a violation. The variable
 * CUDA_DOUBLE selects what a process finds: "devices=2 driver=13000 capability=90 init=0 query=0 fault=0", where
 * capability is the first device's, init the answer of cuInit, query the one of cuDriverGetVersion, and fault a
 * double_fault. */
#ifndef BP_TESTS_CUDA_DOUBLE_H
#define BP_TESTS_CUDA_DOUBLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rules that the double can break, so that tests show that they would notice. */
typedef enum double_fault {
    FAULT_NONE,
    FAULT_WAITS,      /* a stream does not wait for events */
    FAULT_LEGACY,     /* the default stream does not wait for others, nor they for it */
    FAULT_EVENTS,     /* events are reached at once while streams run nothing */
    FAULT_FREE,       /* cuMemFree waits for nothing */
    FAULT_ROWS,       /* rectangles are copied without their last row */
    FAULT_PEERS,      /* copies between devices copy nothing */
    FAULT_GRAPHS,     /* a graph has no commands */
    FAULT_KERNELS,    /* kernels do nothing */
    FAULT_RELAXED,    /* the mode of a thread for captures is ignored */
    FAULT_POP,        /* the current context is not taken back */
    FAULT_STICKY,     /* the driver forgets an error */
    FAULT_TIMES,      /* all times are 0 */
    FAULT_PER_THREAD, /* the default stream of threads is one stream */
    FAULT_MOST
} double_fault;

typedef struct double_controls {
    /* What the driver does. */
    atomic_int longest_delay_us;   /* of a command, at random */
    atomic_int fail_at;            /* number of the command that fails, counted from here: 1 is the next; 0: none */
    atomic_int fail_with;          /* its error */
    atomic_int refuse;             /* the error of the next calls that enqueue, 0: none */
    atomic_bool refuse_rectangles; /* as pitches that are too long for a device */
    atomic_bool refuse_modules;    /* no module can be loaded */
    atomic_bool closed;            /* streams run nothing */
    atomic_llong memory;           /* bytes of each device; 0: 64 MiB */
    atomic_llong spent_ns;         /* time that commands say that they have taken, in addition to the clock's */
    atomic_int fault;              /* a double_fault */

    /* What has happened. */
    atomic_int violations;
    char violation[160];                                                   /* the first one */
    atomic_int contexts, blocks, pinned, streams, events, graphs, modules; /* that exist */
    atomic_int event_creations, peer_copies, rectangles, runs, kernels, commands, graph_launches, context_switches;

    /* Reads memory of a device at once, without a stream: its bytes on the host; NULL if there are none. */
    uint8_t *(*bytes_of)(uint64_t address, size_t size);
    void (*open_gate)(bool open);
} double_controls;

#endif
