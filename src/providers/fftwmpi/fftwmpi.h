/* fftwmpi.h - declares what the files of the fftw-mpi provider share: Fourier transforms of arrays that are divided
 * among the ranks of an MPI program, along the slowest dimension.
 *
 * FFTW-MPI adds solvers to the planner of FFTW, which the fftw provider uses too, so it takes that provider's lock. Its
 * plans are made and destroyed by all ranks together: in runs, and when a communicator is closed. */
#ifndef BP_FFTWMPI_FFTWMPI_H
#define BP_FFTWMPI_FFTWMPI_H

#include "backplane/distributed.h"
#include "backplane/provider.h"
#include "providers/fftw/fftw.h"
#include "providers/least.h"
#include "providers/ranks/ranks.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ---- The libraries (load.c) ---- */

/* X(name, result, arguments): functions without their prefix, fftw_mpi_ or fftwf_mpi_. A communicator is passed by
 * value: a pointer of Open MPI. */
#define BP__FFTWMPI_FUNCTIONS(X)                                                                                       \
    X(init, void, (void))                                                                                              \
    X(local_size_many, ptrdiff_t, (int, const ptrdiff_t *, ptrdiff_t, ptrdiff_t, intptr_t, ptrdiff_t *, ptrdiff_t *))  \
    X(plan_many_dft, bp__fftw_handle,                                                                                  \
      (int, const ptrdiff_t *, ptrdiff_t, ptrdiff_t, ptrdiff_t, void *, void *, intptr_t, int, unsigned))              \
    X(plan_many_dft_r2c, bp__fftw_handle,                                                                              \
      (int, const ptrdiff_t *, ptrdiff_t, ptrdiff_t, ptrdiff_t, void *, void *, intptr_t, unsigned))                   \
    X(plan_many_dft_c2r, bp__fftw_handle,                                                                              \
      (int, const ptrdiff_t *, ptrdiff_t, ptrdiff_t, ptrdiff_t, void *, void *, intptr_t, unsigned))                   \
    X(execute_dft, void, (const bp__fftw_handle, void *, void *))                                                      \
    X(execute_dft_r2c, void, (const bp__fftw_handle, void *, void *))                                                  \
    X(execute_dft_c2r, void, (const bp__fftw_handle, void *, void *))

typedef struct bp__fftwmpi_api {
#define X(name, result, arguments) result(*name) arguments;
    BP__FFTWMPI_FUNCTIONS(X)
#undef X
} bp__fftwmpi_api;

/* The library of one precision. */
typedef struct bp__fftwmpi_library {
    bool loaded;
    bp__fftw_api serial;
    bp__fftwmpi_api mpi;
    uintptr_t misaligned; /* bits of an address that must be 0 */
} bp__fftwmpi_library;

typedef struct bp__fftwmpi_kept bp__fftwmpi_kept;

typedef struct bp__fftwmpi_instance {
    const bp_host *host;
    pthread_mutex_t mutex;            /* of `libraries` while they are loaded */
    bp__fftwmpi_library libraries[2]; /* double, single precision */
    bp__fftwmpi_kept *kept;           /* of each communicator; under the lock of MPI, which every run has */
} bp__fftwmpi_instance;

bp_status bp__fftwmpi_open(const bp_host *host, const bp_library_info *library, void **instance);
void bp__fftwmpi_close(void *instance);

/* Returns why there is no FFTW-MPI for the MPI of a place, or NULL. */
const char *bp__fftwmpi_refuse_mpi(const bp_dist_place *place);

/* Opens the library of a precision. Errors: BP_E_NOT_FOUND, BP_E_UNSUPPORTED, BP_E_SYMBOL, BP_E_FORKED. */
bp_status bp__fftwmpi_load(bp__fftwmpi_instance *instance, const bp_dist_place *place, bool single);

/* ---- Transforms ---- */

/* What a plan of FFTW-MPI depends on. All bytes are compared. */
typedef struct bp__fftwmpi_transform {
    ptrdiff_t n[BP_MAX_DIST_NDIM]; /* the first dimension is divided */
    int32_t ndim;
    int32_t block; /* the length of it that a rank has */
    uint8_t kind;  /* a bp_fft_kind: of FFTW's transform */
    uint8_t inverse, single;
    uint8_t reserved[5];
} bp__fftwmpi_transform;

/* Describes the transform that FFTW makes for an accepted problem. Real input of a whole spectrum becomes complex. */
void bp__fftwmpi_transform_of(bp__fftwmpi_transform *transform, const bp_problem *problem, const bp_dist_place *place);

/* Returns the number of complex elements in an item of the first dimension. */
int64_t bp__fftwmpi_rest(const bp__fftwmpi_transform *transform);

/* Returns how many of `size` elements in blocks the rank with this number has. */
static inline int64_t bp__fftwmpi_part(int64_t size, int64_t block, int64_t rank) {
    return bp__most(0, bp__least(block, size - rank * block));
}

/* ---- FFTW's plans (kept.c) ---- */

/* Returns the plans of a communicator, and makes an empty list of them if there is none; NULL without memory. */
bp__fftwmpi_kept *bp__fftwmpi_kept_of(bp__fftwmpi_instance *instance, const bp_dist_place *place);

/* Returns FFTW's plan of a transform. All ranks call it together, in the same order. Errors: BP_E_UNSUPPORTED. */
bp_status bp__fftwmpi_plan_of(bp__fftwmpi_kept *kept, const bp_dist_place *place,
                              const bp__fftwmpi_transform *transform, bp__fftw_handle *plan);

/* ---- The provider ---- */

typedef struct bp__fftwmpi_plan {
    bp_prepared prepared; /* must be first */
    bp__fftwmpi_instance *instance;
    const bp_dist_place *place;
    const bp__fftwmpi_library *library;
    bp__fftwmpi_transform transform;
    double scale;
    bool in_place, real_input;
} bp__fftwmpi_plan;

void bp__fftwmpi_accept(void *instance, const bp_problem *problem, bp_offers *offers);
bp_status bp__fftwmpi_plan_make(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                                bp_prepared **prepared);

/* Runs a plan (run.c). */
bp_status bp__fftwmpi_run(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);

/* Computes what FFTW-MPI sends (model.c). */
void bp__fftwmpi_model(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *model);

#endif
