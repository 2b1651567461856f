/* cufft.h - declares what the files of the cufft provider share.
 *
 * A transform is a few calls of the library, between two arrays: the source and the target. An array is the operand
 * itself, or a copy in the workspace if the library cannot read or write the operand's layout. A kernel of ours, the
 * walk, copies an operand to the source, and the target to an operand. It also scales and conjugates. */
#ifndef BP_PROVIDERS_CUFFT_H
#define BP_PROVIDERS_CUFFT_H

#include "providers/cuda/vendor.h"
#include "providers/cufft/api.h"

enum { BP__CUFFT_SOURCE, BP__CUFFT_TARGET, BP__CUFFT_SIDES };
enum { BP__CUFFT_RANK = 3, BP__CUFFT_STEPS = 6, BP__CUFFT_OUTER = 6, BP__CUFFT_WALK_NDIM = 12 };

/* ---- What is computed (route.c) ---- */

/* A plan of the library: dimensions of all items of one dimension of the batch. Both sides are in elements of their own
 * type. It runs once for each item of the outer dimensions. */
typedef struct bp__cufft_step {
    uint8_t kind;    /* a bp_fft_kind */
    uint8_t side[2]; /* where it reads and writes */
    int32_t rank;
    long long n[BP__CUFFT_RANK];
    long long embed[2][BP__CUFFT_RANK], stride[2], dist[2], batch;
    int32_t outer_ndim;
    int64_t calls;
    int64_t outer_size[BP__CUFFT_OUTER];
    int64_t outer_bytes[2][BP__CUFFT_OUTER]; /* steps of these dimensions */
} bp__cufft_step;

/* The parameter of the kernel: dst[k] = factor * src[k'], where k' is k times the strides, plus `wrap` in each
 * dimension in which k is not 0. The first dimension is the innermost one. Strides are in bytes. */
typedef struct bp__cufft_walk {
    uint64_t dst, src; /* offsets until a run, then addresses */
    uint64_t count;    /* of elements */
    uint64_t re, im;   /* the factors of both parts, in the type of a part; real elements have the first one */
    uint64_t size[BP__CUFFT_WALK_NDIM];
    int64_t dst_stride[BP__CUFFT_WALK_NDIM], src_stride[BP__CUFFT_WALK_NDIM], wrap[BP__CUFFT_WALK_NDIM];
} bp__cufft_walk;

typedef enum bp__cufft_element {
    BP__CUFFT_F32,
    BP__CUFFT_F64,
    BP__CUFFT_C64,
    BP__CUFFT_C128,
    BP__CUFFT_ELEMENTS
} bp__cufft_element;

typedef struct bp__cufft_route {
    bool buffered[BP__CUFFT_SIDES]; /* the array is in the workspace, not the operand */
    bool zeroed;                    /* the source is filled with zeros first */
    bool changed;                   /* the target is scaled or conjugated also where it is the operand */
    bp__cufft_element element[BP__CUFFT_SIDES];
    uint64_t bytes[BP__CUFFT_SIDES]; /* from the first element of the array to the end of the last one */
    int32_t step_count, after_count;
    bp__cufft_walk before;   /* from the operand to the source; count 0: there is no input */
    bp__cufft_walk after[2]; /* from the target to the operand: two parts of a whole spectrum */
    bp__cufft_step steps[BP__CUFFT_STEPS];
    int32_t direction; /* CUFFT_FORWARD or CUFFT_INVERSE */
} bp__cufft_route;

/* Fills *route. Returns NULL, or why the library cannot run the problem. */
const char *bp__cufft_route_of(const bp_problem *problem, bp__cufft_route *route);

/* ---- The kernel (walk.c) ---- */

typedef struct bp__cufft_kernels {
    CUmodule module; /* NULL: the driver loads none */
    CUfunction walk[BP__CUFFT_ELEMENTS];
} bp__cufft_kernels;

/* Loads the kernels in the current context, which is entered with `relaxed`. */
void bp__cufft_kernels_load(bp__cufft_kernels *kernels);
/* Sets the factors of both parts. */
void bp__cufft_walk_factors(bp__cufft_walk *walk, bp__cufft_element element, double re, double im);
/* Enqueues a walk between these addresses. */
CUresult bp__cufft_walk_launch(const bp__cufft_kernels *kernels, bp__cufft_element element, const bp__cufft_walk *walk,
                               uint64_t dst, uint64_t src, CUstream stream);

/* ---- The library ---- */

typedef struct bp__cufft_prepared bp__cufft_prepared;

typedef struct bp__cufft_device {
    bp__cu_part part; /* must be first */
    bp__cufft_kernels kernels;
    bp__cufft_prepared *captured; /* under the instance's mutex: released plans that graphs may still run */
} bp__cufft_device;

typedef struct bp__cufft_instance {
    bp__cu_vendor vendor; /* must be first */
    bp__cufft_api api;    /* the functions, once a plan was made */
} bp__cufft_instance;

bp_status bp__cufft_open(const bp_host *host, const bp_library_info *library, void **opened);

/* ---- Candidates and plans ---- */

struct bp__cufft_prepared {
    bp_prepared prepared; /* must be first */
    bp__cufft_instance *instance;
    bp__cufft_device *on;
    bp__cufft_prepared *next; /* in the list of the device */
    bp__cufft_route route;
    uint64_t at[BP__CUFFT_SIDES], work_at; /* of buffers and of the library's own part, in the workspace */
    pthread_mutex_t mutex;                 /* stream and workspace of the handles */
    atomic_bool captured;                  /* graphs may have it */
    int32_t made;                          /* number of handles */
    cufftHandle handles[BP__CUFFT_STEPS];
};

void bp__cufft_accept(void *instance, const bp_problem *problem, bp_offers *offers);
bp_status bp__cufft_plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                         bp_prepared **prepared);
/* Destroys the handles of a plan, and frees it. Its context is current. */
void bp__cufft_plan_free(bp__cufft_prepared *plan);
bp_status bp__cufft_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec); /* run.c */

#endif
