/* mkl.h - between the files of the mkl provider: Fourier transforms on MKL's DFTI interface.
 *
 * route.c says, from the layout alone, what descriptors a problem needs and what is walked around them (pure); accept.c
 * judges that (pure); plan.c makes the descriptors, run.c runs them. The library itself is the driver's. */
#ifndef BP_MKL_MKL_H
#define BP_MKL_MKL_H

#include "backplane/provider.h"
#include "providers/driver/driver.h"
#include "providers/mkl/api.h"

#include <stdbool.h>

/* ---- Routes (route.c) ---- */

/* Dimensions that are gone through call by call; strides in bytes. */
typedef struct bp__mkl_walk {
    int ndim;
    int64_t calls;
    int64_t n[BP_MAX_BATCH_NDIM + BP__MKL_MOST_NDIM];
    int64_t in[BP_MAX_BATCH_NDIM + BP__MKL_MOST_NDIM], out[BP_MAX_BATCH_NDIM + BP__MKL_MOST_NDIM];
} bp__mkl_walk;

/* What one descriptor does, and what is walked around it. Strides in elements of each side's own type. */
typedef struct bp__mkl_call {
    bool forward, real, in_place;
    int rank;
    long n[BP__MKL_MOST_NDIM];
    long in[BP__MKL_MOST_NDIM + 1], out[BP__MKL_MOST_NDIM + 1]; /* the first is an offset */
    long many, in_distance, out_distance;
    double scale;
    bp__mkl_walk walk;
} bp__mkl_call;

/* MKL's real output of several dimensions is not what other libraries give where the input lacks the symmetry that it
 * should have. So all dimensions but the last are transformed into scratch memory first, and the last one from there.
 */
typedef struct bp__mkl_route {
    bool single;
    int stages;
    bp__mkl_call stage[2];
    size_t between; /* bytes of scratch memory */
    bp__mkl_walk items;
} bp__mkl_route;

/* False, with a sentence part in `text`, for what DFTI cannot express. `alone`: every item has calls of its own. */
bool bp__mkl_route_of(bp__mkl_route *route, const bp_problem *problem, bool alone, const char **text);

/* ---- Judgement (accept.c, cost.c) ---- */

typedef struct bp__mkl_judgement {
    bp__mkl_route route;
    bp__thread_setup setup;
} bp__mkl_judgement;

void bp__mkl_accept(void *driver, const bp_problem *problem, bp_offers *offers);

/* Nanoseconds on so many threads (cost.c). */
double bp__mkl_cost(const bp__driver *driver, const bp_fft_problem *fft, const bp__mkl_route *route, int threads);

/* ---- Plans (plan.c, run.c) ---- */

typedef struct bp__mkl_plan {
    bp_prepared prepared;
    long (*compute[2])(void *descriptor, void *in, ...);
    void *descriptor[2];
    bp__driver *driver;
    bp__fork_state *fork_state;
    bp__thread_setup setup;
    bp__mkl_api api;
    bp__mkl_route route;
} bp__mkl_plan;

bp_status bp__mkl_plan_make(void *driver, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                            bp_prepared **prepared);

/* BP_OK for 0, else a failure with MKL's own words. */
bp_status bp__mkl_status(const bp__mkl_plan *plan, long error);

/* One call, on one thread. */
bp_status bp__mkl_run_single(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
bp_status bp__mkl_run_general(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);

#endif
