/* double.h - controls the double of libcudnn.so.9 from a test, which finds them with dlsym("cudnn_double").
 *
 * The double computes operation graphs in the stream, on the memory of the double of libcuda.so.1. It keeps the rules
 * of the library that we know: the type and count of each attribute, the order of making, and what may be used when. It
 * answers as the library does if one is broken, and counts it as a violation. The variable CUDNN_DOUBLE selects what a
 * process finds: "version=92801 fault=0", where fault is a cudnn_fault. */
#ifndef BP_TESTS_CUDNN_DOUBLE_H
#define BP_TESTS_CUDNN_DOUBLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rules that the double can break, so that tests show that they would notice. */
typedef enum cudnn_fault {
    CUDNN_FAULT_NONE,
    CUDNN_FAULT_ORDER,     /* calls run at once, not in the order of the stream */
    CUDNN_FAULT_STREAM,    /* calls run in the default stream */
    CUDNN_FAULT_WORKSPACE, /* the workspace is used beyond its end */
    CUDNN_FAULT_PADDING,   /* the padding at the end is also at the beginning */
    CUDNN_FAULT_STEPS,     /* all strides of windows are 1 */
    CUDNN_FAULT_DILATION,  /* all dilations are 1 */
    CUDNN_FAULT_GROUPS,    /* all groups read the first group's channels */
    CUDNN_FAULT_LAYOUT,    /* tensors are compact with channels first, whatever their strides are */
    CUDNN_FAULT_NOTES,     /* engines have no notes */
    CUDNN_FAULT_BETA,      /* the result is added to what is there, or not, against what the graph says */
    CUDNN_FAULT_BIAS,      /* sums are their first operand */
    CUDNN_FAULT_RELU,      /* relu changes nothing */
    CUDNN_FAULT_SCALE,     /* numbers of the host are 1 */
    CUDNN_FAULT_CAUSAL,    /* a query does not see the key with its own number */
    CUDNN_FAULT_MASK,      /* sums lack what they add from memory */
    CUDNN_FAULT_HEADS,     /* heads that share a key are every so many, not neighbours */
    CUDNN_FAULT_STATS,     /* the logarithm of the sum of exponentials has base 2 */
    CUDNN_FAULT_EMPTY,     /* rows whose scores all are -infinity are NaN */
    CUDNN_FAULT_SUMS,      /* what is kept in memory between kernels is 0 */
    CUDNN_FAULT_MOST
} cudnn_fault;

/* Engines of the double, by their numbers. The first list has all but the last two, for f64 none; for attention it has
 * the first two, and the second list none. Measured, a run takes 5 (unsteady), 1 (rounding and short), 3 (Winograd),
 * 4 (tensor), 2 (plain) and 6 (any) times a time that no machine takes by itself. */
typedef enum cudnn_engine {
    CUDNN_ENGINE_REFUSING = 45, /* makes no plan */
    CUDNN_ENGINE_FLASH = 9,     /* attention: tensor cores, needs a workspace */
    CUDNN_ENGINE_UNSTEADY = 40, /* tensor cores, not deterministic: adds in another order in every second run */
    CUDNN_ENGINE_ROUNDING = 41, /* rounds its inputs to bf16 */
    CUDNN_ENGINE_SHORT = 44,    /* accumulates in f16 */
    CUDNN_ENGINE_WINOGRAD = 42, /* tensor cores, transforms tiles: a larger error */
    CUDNN_ENGINE_TENSOR = 43,   /* tensor cores; needs addresses that are multiples of 16 */
    CUDNN_ENGINE_PLAIN = 1,     /* needs a workspace, and the same padding at both ends */
    CUDNN_ENGINE_ANY = 0        /* needs nothing */
} cudnn_engine;

typedef struct cudnn_controls {
    /* What the library does. */
    atomic_int fault;        /* a cudnn_fault */
    atomic_int refuse_plans; /* the status of finalizing a plan, 0: none */
    atomic_int refuse_calls; /* of cudnnBackendExecute */
    atomic_int refuse_lists; /* of finalizing a heuristic */
    atomic_int refuse_create;
    atomic_bool plain_only; /* lists are empty for graphs of more than one operation */

    /* What has happened. */
    atomic_int violations;
    char violation[160];             /* the first one */
    atomic_int handles, descriptors; /* that exist */
    atomic_int plans, calls, run;    /* plans that were made, calls that were enqueued, and that have run */
    atomic_int engine;               /* of the last call, a cudnn_engine */
    atomic_llong alignment;          /* of the tensors of the last call */
    atomic_llong workspace;          /* of the last call */
    atomic_int channels_last;        /* whether its first tensor has this layout */
} cudnn_controls;

#endif
