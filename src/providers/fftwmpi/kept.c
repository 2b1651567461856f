/* kept.c - makes FFTW's plans, and keeps them for each communicator.
 *
 * All ranks plan together. Plans of the library's cache are found by one rank and not by another, so they have no plan
 * of FFTW, which is found again by its transform. All ranks of a communicator run the same transforms in the same
 * order, so that all of them have the same plans here, and give up the same one. */
#include "providers/fftwmpi/fftwmpi.h"

enum { MOST_KEPT = 16 };

typedef struct made {
    bp__fftwmpi_transform transform;
    bp__fftw_handle plan; /* NULL: none */
    uint64_t used;        /* number of the run */
} made;

struct bp__fftwmpi_kept {
    bp_dist_closing closing; /* must be first */
    bp__fftwmpi_kept *next;
    bp__fftwmpi_instance *instance;
    uint64_t serial; /* of the communicator */
    uint64_t runs;
    made plans[MOST_KEPT];
};

static void take_off_list(bp__fftwmpi_kept *kept) {
    bp__fftwmpi_kept **at = &kept->instance->kept;
    while (*at != kept) {
        at = &(*at)->next;
    }
    *at = kept->next;
}

/* Plans have communicators of their own, so that nothing of them can be ended if nothing can be sent. */
static void close_kept(bp_dist_closing *self, int usable) {
    bp__fftwmpi_kept *kept = (bp__fftwmpi_kept *)self;
    const bp_host *host = kept->instance->host;
    take_off_list(kept);
    if (usable && bp__fftw_lock(host)) {
        for (int i = 0; i < MOST_KEPT; i++) {
            if (kept->plans[i].plan) {
                kept->instance->libraries[kept->plans[i].transform.single].serial.destroy_plan(kept->plans[i].plan);
            }
        }
        bp__fftw_unlock(host);
    }
    host->release(kept);
}

bp__fftwmpi_kept *bp__fftwmpi_kept_of(bp__fftwmpi_instance *instance, const bp_dist_place *place) {
    for (bp__fftwmpi_kept *each = instance->kept; each; each = each->next) {
        if (each->serial == place->serial) {
            return each;
        }
    }
    bp__fftwmpi_kept *kept = instance->host->allocate(sizeof *kept);
    if (kept) {
        memset(kept, 0, sizeof *kept);
        kept->closing.close = close_kept;
        kept->next = instance->kept;
        kept->instance = instance;
        kept->serial = place->serial;
        instance->kept = kept;
        place->at_close(place, &kept->closing);
    }
    return kept;
}

/* ---- Planning ---- */

/* Estimating inspects addresses without accessing them. The input of a transform to real numbers is always destroyed.
 */
static bp__fftw_handle plan_transform(const bp__fftwmpi_library *library, const bp_dist_place *place,
                                      const bp__fftwmpi_transform *t) {
    static _Alignas(64) char nothing[2][64];
    void *in = nothing[0], *out = nothing[1];
    const bp__fftwmpi_api *mpi = &library->mpi;
    const intptr_t comm = (intptr_t)place->communicator;
    const unsigned flags =
        BP__FFTW_ESTIMATE | (t->kind == BP_FFT_C2R ? BP__FFTW_DESTROY_INPUT : BP__FFTW_PRESERVE_INPUT);
    char *wisdom = bp__fftw_set_wisdom_aside(&library->serial);
    bp__fftw_handle plan =
        t->kind == BP_FFT_R2C   ? mpi->plan_many_dft_r2c(t->ndim, t->n, 1, t->block, t->block, in, out, comm, flags)
        : t->kind == BP_FFT_C2R ? mpi->plan_many_dft_c2r(t->ndim, t->n, 1, t->block, t->block, in, out, comm, flags)
                                : mpi->plan_many_dft(t->ndim, t->n, 1, t->block, t->block, in, out, comm,
                                                     t->inverse ? BP__FFTW_BACKWARD : BP__FFTW_FORWARD, flags);
    bp__fftw_return_wisdom(&library->serial, wisdom);
    return plan;
}

/* Returns the place for a further plan: the one that was not used for the longest time. */
static made *find_oldest(bp__fftwmpi_kept *kept) {
    made *oldest = &kept->plans[0];
    for (int i = 1; i < MOST_KEPT; i++) {
        oldest = kept->plans[i].used < oldest->used ? &kept->plans[i] : oldest;
    }
    return oldest;
}

static bp_status plan_in(bp__fftwmpi_kept *kept, made *at, const bp_dist_place *place,
                         const bp__fftwmpi_transform *transform) {
    const bp_host *host = kept->instance->host;
    if (!bp__fftw_lock(host)) {
        return host->fail(BP_E_FORKED, "fftw-mpi: the planner of FFTW is in use by a process that was forked");
    }
    if (at->plan) {
        kept->instance->libraries[at->transform.single].serial.destroy_plan(at->plan);
    }
    at->transform = *transform;
    at->plan = plan_transform(&kept->instance->libraries[transform->single], place, transform);
    bp__fftw_unlock(host);
    return at->plan ? BP_OK : host->fail(BP_E_UNSUPPORTED, "FFTW-MPI has no plan for this transform");
}

bp_status bp__fftwmpi_plan_of(bp__fftwmpi_kept *kept, const bp_dist_place *place,
                              const bp__fftwmpi_transform *transform, bp__fftw_handle *plan) {
    made *found = NULL;
    for (int i = 0; i < MOST_KEPT && !found; i++) {
        const made *each = &kept->plans[i];
        found = each->plan && memcmp(&each->transform, transform, sizeof *transform) == 0 ? &kept->plans[i] : NULL;
    }
    kept->runs++;
    bp_status status = BP_OK;
    if (!found) {
        found = find_oldest(kept);
        status = plan_in(kept, found, place, transform);
    }
    found->used = kept->runs;
    *plan = found->plan;
    return status;
}
