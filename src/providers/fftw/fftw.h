/* fftw.h - declarations that the files of the fftw provider share: Fourier transforms on FFTW, one instance per
 * precision.
 *
 * route.c derives, from the layout alone, the arguments of FFTW's guru interface and the copies around the call.
 * accept.c and cost.c evaluate that. These three are pure. plan.c makes FFTW's plans and run.c runs them. load.c opens
 * the library and holds the lock of its planner.
 */
#ifndef BP_FFTW_FFTW_H
#define BP_FFTW_FFTW_H

#include "backplane/provider.h"
#include "providers/fftw/api.h"
#include "providers/fftw/walk.h"

#include <stdatomic.h>
#include <stdbool.h>

/* ---- Instances and the planner (load.c) ---- */

/* Meaning of an entry of the library list to this provider. */
typedef enum bp__fftw_role {
    BP__FFTW_TRANSFORMS, /* libfftw3 and libfftw3f */
    BP__FFTW_THREADS,    /* the file that contains the threads of such a library */
    BP__FFTW_WIDER       /* long double and quadruple precision */
} bp__fftw_role;

typedef struct bp__fftw_instance {
    const bp_host *host;
    const bp_library_info *library;
    bp__fftw_role role;
    bool single; /* single precision */

    atomic_bool loaded;   /* the fields below are set */
    atomic_bool threaded; /* the library runs on several threads */
    bp__fftw_api api;
    uintptr_t misaligned; /* bits of an address that must be 0 for FFTW to treat it as aligned */
} bp__fftw_instance;

bp_status bp__fftw_open(const bp_host *host, const bp_library_info *library, void **instance);
void bp__fftw_close(void *instance);

/* Returns whether problems may be given several threads. */
bool bp__fftw_has_threads(bp__fftw_instance *instance);

/* Opens the library at the first call, and the file with its threads. */
bp_status bp__fftw_load(bp__fftw_instance *instance);

/* ---- Wisdom (wisdom.c). Import and export while the planner is locked, the others before and after. ---- */
/* Returns what is kept, for host->release(); NULL if there is nothing. */
char *bp__fftw_recall(bp__fftw_instance *instance);
void bp__fftw_import(const bp__fftw_instance *instance, const char *kept); /* NULL is allowed */
/* Returns the library's wisdom, for host->release(), if it differs from what is kept; else NULL. */
char *bp__fftw_export(const bp__fftw_instance *instance, const char *kept);
void bp__fftw_remember(bp__fftw_instance *instance, const char *wisdom); /* NULL is allowed */

/* Estimates also use earlier measurements, so a plan that must be the same in every run is made between these two. The
 * planner is locked. */
char *bp__fftw_set_wisdom_aside(const bp__fftw_api *api);
void bp__fftw_return_wisdom(const bp__fftw_api *api, char *wisdom);
/* Notes that FFTW-MPI has added its solvers to the library of a precision. */
void bp__fftw_note_mpi(bool single);

/* ---- The library (load.c) ---- */

/* Looks up the functions of a library, but not the functions of its threads. Returns the name of the first one that is
 * missing, or NULL. */
const char *bp__fftw_resolve(const bp_host *host, bp__fftw_api *api, void *handle, bool single);
/* Returns the bits of an address that must be 0. FFTW reports how far an address is from an aligned one. */
uintptr_t bp__fftw_misaligned_bits(const bp__fftw_api *api);

/* Locks FFTW's planner, which also destroys plans and allows only one thread. Returns false in a child of fork if a
 * thread of the parent was inside: the planner is unusable then. Transforms planned before still run. */
bool bp__fftw_lock(const bp_host *host);
void bp__fftw_unlock(const bp_host *host);
bool bp__fftw_unusable(const bp_host *host);
bp_status bp__fftw_fail_unusable(const bp__fftw_instance *instance);

/* ---- Routes (route.c) ---- */

/* Input or output of a plan in one call. The walk goes from the operand's strides to the plan's for the input, and from
 * the plan's to the operand's for the output. They differ only if the input is always copied. */
typedef struct bp__fftw_side {
    bp_dtype dtype;
    int64_t size; /* bytes of an element */
    bp__fftw_walk walk;
    int64_t below, span; /* elements by the plan's strides: before the first one, and in all */
} bp__fftw_side;

typedef struct bp__fftw_route {
    bp_fft_kind kind;
    bool inverse, in_place;
    bool copies;      /* the library would destroy the input, so a compact copy is made first */
    bool unplannable; /* strides of the input, or of the output, have different signs: the planner of FFTW 3.3.10 may
                         recurse without end */
    bool bounces;     /* copy an unaligned operand to aligned memory; false: use it in place */
    int rank, many;
    bp__fftw_dim dims[BP_MAX_FFT_NDIM], howmany[BP_MAX_BATCH_NDIM];
    bp__fftw_side in, out;
    int walked; /* number of slow batch dimensions that the provider iterates over, one call each */
    int64_t calls;
    int64_t shape[BP_MAX_BATCH_NDIM], step_in[BP_MAX_BATCH_NDIM], step_out[BP_MAX_BATCH_NDIM];
} bp__fftw_route;

/* Derives the route of a problem. `alone`: one call for each item of the batch. That is also done if strides would have
 * different signs otherwise. */
void bp__fftw_route_of(bp__fftw_route *route, const bp_problem *problem, bool alone);

/* Return the bytes of memory, aligned to 64, for a copy of the input or output, and the offset of its first element. */
size_t bp__fftw_side_bytes(const bp__fftw_side *side);
size_t bp__fftw_side_first(const bp__fftw_side *side);

/* ---- Evaluation (accept.c, cost.c) ---- */

typedef enum bp__fftw_effort { BP__FFTW_BY_ESTIMATE, BP__FFTW_BY_MEASURE, BP__FFTW_BY_PATIENCE } bp__fftw_effort;

typedef struct bp__fftw_judgement {
    bp__fftw_route route;
    bp__fftw_effort effort;
    double limit_s; /* time limit of the planner, in seconds */
    bool repeats;   /* the plan and its results are the same in every run, for any alignment of the operands */
    int threads;
} bp__fftw_judgement;

void bp__fftw_judge(bp__fftw_instance *instance, const bp_problem *problem, bp__fftw_judgement *judgement,
                    bp_verdict *verdict);

void bp__fftw_accept(void *instance, const bp_problem *problem, bp_offers *offers);

/* Returns the estimated nanoseconds on `threads` threads. */
double bp__fftw_cost(const bp_fft_problem *problem, const bp__fftw_route *route, bool single, bp__fftw_effort effort,
                     int threads);

/* ---- Plans (plan.c, run.c) ---- */

typedef struct bp__fftw_plan {
    bp_prepared prepared;
    void (*run)(void *const plan, void *in, void *out); /* function of the library */
    void *aligned;                                      /* plan for aligned operands; NULL: always use `any` */
    void *any;                                          /* plan for any address; NULL: unaligned operands are copied */
    uintptr_t misaligned;
    double scale;
    bp__fftw_instance *instance;
    struct bp__fftw_plan *next_discarded;
    bp__fftw_route route;
} bp__fftw_plan;

/* Destroys the plan. If another thread is inside the planner, that thread destroys it on leaving. */
void bp__fftw_discard(bp__fftw_plan *plan);

bp_status bp__fftw_plan_make(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                             bp_prepared **prepared);

/* Runs a plan that calls the library directly, unless an operand is unaligned. */
bp_status bp__fftw_run_plain(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
bp_status bp__fftw_run_general(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);

#endif
