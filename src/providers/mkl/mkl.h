/* mkl.h - declarations that the files of the mkl provider share: Fourier transforms on MKL's DFTI interface.
 *
 * route.c derives, from the layout alone, the descriptors of a problem and the loops around them. accept.c evaluates
 * that. Both are pure. plan.c makes the descriptors, run.c runs them. The provider's instance is the library's driver.
 */
#ifndef BP_MKL_MKL_H
#define BP_MKL_MKL_H

#include "backplane/provider.h"
#include "providers/driver/driver.h"
#include "providers/mkl/api.h"

#include <stdbool.h>

/* ---- Routes (route.c) ---- */

/* Dimensions that the provider iterates over, one call each. Strides are in bytes. */
typedef struct bp__mkl_walk {
    int ndim;
    int64_t calls;
    int64_t n[BP_MAX_BATCH_NDIM + BP__MKL_MOST_NDIM];
    int64_t in[BP_MAX_BATCH_NDIM + BP__MKL_MOST_NDIM], out[BP_MAX_BATCH_NDIM + BP__MKL_MOST_NDIM];
} bp__mkl_walk;

/* A descriptor (one stage of a route) and the loops around it. Strides are in elements of the input's and the output's
 * own type. */
typedef struct bp__mkl_call {
    bool forward, real, in_place;
    int rank;
    long n[BP__MKL_MOST_NDIM];
    long in[BP__MKL_MOST_NDIM + 1], out[BP__MKL_MOST_NDIM + 1]; /* the first entry is an offset */
    long many, in_distance, out_distance;
    double scale;
    bp__mkl_walk walk;
} bp__mkl_call;

/* A transform as one or two stages. If the input of a complex-to-real transform is not symmetric, MKL's result of
 * several dimensions differs from the result of other libraries. So the first stage transforms all dimensions but the
 * last into scratch memory, and the second transforms the last one. */
typedef struct bp__mkl_route {
    bool single;
    int stages;
    bp__mkl_call stage[2];
    size_t between; /* bytes of scratch memory between the stages */
    bp__mkl_walk items;
} bp__mkl_route;

/* Derives the route of a problem. Returns false, with the reason in *text, if DFTI cannot express it. `alone`: separate
 * calls for each item. */
bool bp__mkl_route_of(bp__mkl_route *route, const bp_problem *problem, bool alone, const char **text);

/* ---- Evaluation (accept.c, cost.c) ---- */

typedef struct bp__mkl_judgement {
    bp__mkl_route route;
    bp__thread_setup setup;
} bp__mkl_judgement;

void bp__mkl_accept(void *driver, const bp_problem *problem, bp_offers *offers);

/* Returns the estimated nanoseconds on `threads` threads (cost.c). */
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

/* Returns BP_OK for 0, else fails with MKL's own message. */
bp_status bp__mkl_status(const bp__mkl_plan *plan, long error);

/* Makes one call, on one thread. */
bp_status bp__mkl_run_single(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
bp_status bp__mkl_run_general(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);

#endif
