/* fftw.h - between the files of the fftw provider: Fourier transforms on FFTW, one instance per precision.
 *
 * The way of a problem: route.c says, from the layout alone, what FFTW's guru interface is given and what has to be
 * copied around it (pure); accept.c and cost.c judge that (pure); plan.c has FFTW plan it, run.c runs it. load.c opens
 * the library, and keeps the lock around its planner. */
#ifndef BP_FFTW_FFTW_H
#define BP_FFTW_FFTW_H

#include "backplane/provider.h"
#include "providers/fftw/api.h"
#include "providers/fftw/walk.h"

#include <stdatomic.h>
#include <stdbool.h>

/* ---- Instances and the planner (load.c) ---- */

/* What a row of the library list is to this provider. */
typedef enum bp__fftw_role {
    BP__FFTW_TRANSFORMS, /* libfftw3 and libfftw3f */
    BP__FFTW_THREADS,    /* the file that holds the threads of one of these */
    BP__FFTW_WIDER       /* long double and quadruple precision */
} bp__fftw_role;

typedef struct bp__fftw_instance {
    const bp_host *host;
    const bp_library_info *library;
    bp__fftw_role role;
    bool single; /* precision */

    atomic_bool loaded;   /* what follows is set */
    atomic_bool threaded; /* its threads work */
    bp__fftw_api api;
    uintptr_t misaligned; /* bits of an address that are 0 where the library calls it aligned */
} bp__fftw_instance;

bp_status bp__fftw_open(const bp_host *host, const bp_library_info *library, void **instance);
void bp__fftw_close(void *instance);

/* Whether problems may be given several threads. */
bool bp__fftw_has_threads(bp__fftw_instance *instance);

/* Opens the library at the first call, and its threads beside it. */
bp_status bp__fftw_load(bp__fftw_instance *instance);

/* FFTW's planner, which destroys plans too, is for one thread at a time. False: this process is a child of fork and a
 * thread of the parent was inside, so that the planner is lost; transforms that were planned before still run. */
bool bp__fftw_lock(const bp_host *host);
void bp__fftw_unlock(const bp_host *host);
bool bp__fftw_unusable(const bp_host *host);
bp_status bp__fftw_fail_unusable(const bp__fftw_instance *instance);

/* ---- Routes (route.c) ---- */

/* One side of what a plan does in one call: from the operand's strides to the plan's for the input, from the plan's to
 * the operand's for the output. They differ only where the input is always copied. */
typedef struct bp__fftw_side {
    bp_dtype dtype;
    int64_t size; /* of an element */
    bp__fftw_walk walk;
    int64_t below, span; /* elements, as the plan sees them: before the first, and in all */
} bp__fftw_side;

typedef struct bp__fftw_route {
    bp_fft_kind kind;
    bool inverse, in_place;
    bool copies;      /* the library would destroy the input: it is copied first, compactly */
    bool unplannable; /* strides of one side point both ways: FFTW 3.3.10's planner may call itself without end */
    bool bounces;     /* an operand at an odd address is copied to an aligned one; otherwise it is used as it lies */
    int rank, many;
    bp__fftw_dim dims[BP_MAX_FFT_NDIM], howmany[BP_MAX_BATCH_NDIM];
    bp__fftw_side in, out;
    int walked; /* this many slow dimensions of the batch are walked by us, call by call */
    int64_t calls;
    int64_t shape[BP_MAX_BATCH_NDIM], step_in[BP_MAX_BATCH_NDIM], step_out[BP_MAX_BATCH_NDIM];
} bp__fftw_route;

/* `alone`: every item of the batch is transformed by a call of its own. So it is, too, where strides point both ways
 * otherwise. */
void bp__fftw_route_of(bp__fftw_route *route, const bp_problem *problem, bool alone);

/* Bytes of memory, aligned to 64, in which a copy of the side can be laid, and where its first element is in it. */
size_t bp__fftw_side_bytes(const bp__fftw_side *side);
size_t bp__fftw_side_first(const bp__fftw_side *side);

/* ---- Judgement (accept.c, cost.c) ---- */

typedef enum bp__fftw_effort { BP__FFTW_BY_ESTIMATE, BP__FFTW_BY_MEASURE, BP__FFTW_BY_PATIENCE } bp__fftw_effort;

typedef struct bp__fftw_judgement {
    bp__fftw_route route;
    bp__fftw_effort effort;
    double limit_s; /* for the planner */
    bool repeats;   /* plans and bits are the same in every run, wherever the operands lie */
    int threads;
} bp__fftw_judgement;

void bp__fftw_judge(bp__fftw_instance *instance, const bp_problem *problem, bp__fftw_judgement *judgement,
                    bp_verdict *verdict);

void bp__fftw_accept(void *instance, const bp_problem *problem, bp_offers *offers);

/* Nanoseconds on so many threads. */
double bp__fftw_cost(const bp_fft_problem *problem, const bp__fftw_route *route, bool single, bp__fftw_effort effort,
                     int threads);

/* ---- Plans (plan.c, run.c) ---- */

typedef struct bp__fftw_plan {
    bp_prepared prepared;
    void (*run)(void *const plan, void *in, void *out); /* of the library */
    void *aligned;                                      /* for aligned operands; NULL: use the other one always */
    void *any;                                          /* for any address; NULL: odd ones are bounced */
    uintptr_t misaligned;
    double scale;
    bp__fftw_instance *instance;
    struct bp__fftw_plan *next_discarded;
    bp__fftw_route route;
} bp__fftw_plan;

/* Destroys the plan, now or, while another thread is inside the planner, when that one leaves it. */
void bp__fftw_discard(bp__fftw_plan *plan);

bp_status bp__fftw_plan_make(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                             bp_prepared **prepared);

/* Where nothing but an odd address can come between the operands and the library. */
bp_status bp__fftw_run_plain(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
bp_status bp__fftw_run_general(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);

#endif
