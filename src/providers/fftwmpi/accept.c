/* accept.c - decides whether FFTW-MPI can run a problem, and tells what it would move between the ranks.
 *
 * All ranks come to the same result, since it follows from the problem, the distribution and the figures of the
 * communicator, which are the same on all of them. */
#include "providers/fftwmpi/fftwmpi.h"

#include <limits.h>
#include <stdio.h>

static bool refuse(bp_verdict *verdict, bp_reason reason, const char *text) {
    verdict->reason = reason;
    snprintf(verdict->text, sizeof verdict->text, "%s", text);
    return true;
}

/* ---- Transforms ---- */

void bp__fftwmpi_transform_of(bp__fftwmpi_transform *transform, const bp_problem *problem, const bp_dist_place *place) {
    const bp_fft_problem *fft = &problem->of.fft;
    memset(transform, 0, sizeof *transform);
    transform->ndim = fft->ndim;
    for (int i = 0; i < fft->ndim; i++) {
        transform->n[i] = fft->n[i];
    }
    transform->block = place->dist->block[1];
    transform->kind = fft->full_spectrum ? BP_FFT_C2C : fft->kind;
    transform->inverse = fft->inverse;
    transform->single = problem->dtype == BP_C64;
}

int64_t bp__fftwmpi_rest(const bp__fftwmpi_transform *transform) {
    int64_t rest = 1;
    for (int i = 1; i < transform->ndim; i++) {
        const bool half = transform->kind != BP_FFT_C2C && i == transform->ndim - 1;
        rest *= half ? transform->n[i] / 2 + 1 : transform->n[i];
    }
    return rest;
}

/* ---- Refusals ---- */

/* Whether an operand is a whole array as bp_dist_view_array() and bp_dist_view_init() describe it, with the first
 * dimension of the problem divided. `half`: of its last dimension there are n / 2 + 1 elements. */
static bool is_whole(const bp_fft_problem *fft, const int64_t *strides, bool half) {
    int64_t step = 1;
    for (int i = fft->ndim - 1; i > 0; i--) {
        const int64_t size = half && i == fft->ndim - 1 ? fft->n[i] / 2 + 1 : fft->n[i];
        if (strides[i] != (size > 1 ? step : 1)) {
            return false;
        }
        step *= size;
    }
    return strides[0] == bp__most(step, 2);
}

static bool operands_are_whole(const bp_fft_problem *fft) {
    return is_whole(fft, fft->in, fft->kind == BP_FFT_C2R) &&
           is_whole(fft, fft->out, fft->kind == BP_FFT_R2C && !fft->full_spectrum);
}

static bool refuse_transform(const bp_fft_problem *fft, bp_verdict *verdict) {
    if (fft->batch_ndim > 0 || fft->batch != 1 || fft->ndim < 2 || fft->ndim > BP_MAX_DIST_NDIM) {
        return refuse(verdict, BP_REASON_LAYOUT, "all dimensions must be transformed, two or three");
    }
    if (fft->zero_padded) {
        return refuse(verdict, BP_REASON_LAYOUT, "the transform must be as long as the input");
    }
    if (fft->conjugate) {
        return refuse(verdict, BP_REASON_OTHER, "it has no hfft and ihfft");
    }
    if (!operands_are_whole(fft)) {
        return refuse(
            verdict, BP_REASON_LAYOUT,
            "parts or transposes of distributed arrays, or a half spectrum along the dimension that is divided");
    }
    return false;
}

/* Tells the distribution that is needed, and what moving the operands to it costs at most. */
static bool refuse_distribution(const bp_problem *problem, const bp_dist_place *place,
                                const bp__fftwmpi_transform *transform, bp_verdict *verdict) {
    const int64_t rest = bp__fftwmpi_rest(transform), block = (transform->n[0] - 1) / place->size + 1;
    const double item = problem->dtype == BP_C64 ? 8 : 16;
    char bytes[BP__RANKS_TEXT];
    verdict->reason = BP_REASON_LAYOUT;
    snprintf(verdict->text, sizeof verdict->text,
             "each rank must have whole columns: a grid of 1x%d, source 0, blocks of %lld columns (bp_dist_slabs); "
             "bp_redistribute() moves up to %s",
             place->size, (long long)block,
             bp__ranks_amount(bytes, item * (double)transform->n[0] * (double)rest, "B"));
    return true;
}

static bool are_slabs(const bp_dist_place *place, const bp__fftwmpi_transform *transform) {
    const bp_dist *dist = place->dist;
    return dist->grid[0] == 1 && dist->grid[1] == place->size && dist->source[1] == 0 &&
           (transform->n[0] - 1) / dist->block[1] < place->size;
}

/* FFTW counts the real numbers of a message in 32 bits, and of a rank's part where it destroys the input. */
static bool is_too_large(const bp_dist_place *place, const bp__fftwmpi_transform *transform) {
    const int64_t rest = bp__fftwmpi_rest(transform), part = (rest - 1) / place->size + 1;
    const int64_t length = bp__least(transform->block, transform->n[0]);
    const int64_t counted = transform->kind == BP_FFT_C2R ? rest : part;
    return length > INT_MAX / 2 / counted;
}

static bool is_refused(const bp_problem *problem, const bp_dist_place *place, bp_verdict *verdict) {
    bp__fftwmpi_transform transform;
    if (problem->op != BP_OP_FFT) {
        return refuse(verdict, BP_REASON_OP, "");
    }
    if (!place) {
        return refuse(verdict, BP_REASON_DEVICE, "the communicator was closed");
    }
    if (bp__fftwmpi_refuse_mpi(place)) {
        return refuse(verdict, BP_REASON_LOAD, bp__fftwmpi_refuse_mpi(place));
    }
    if (refuse_transform(&problem->of.fft, verdict)) {
        return true;
    }
    bp__fftwmpi_transform_of(&transform, problem, place);
    if (!are_slabs(place, &transform)) {
        return refuse_distribution(problem, place, &transform, verdict);
    }
    if (bp__fftwmpi_rest(&transform) == 1 && transform.block < transform.n[0]) {
        return refuse(verdict, BP_REASON_LAYOUT, "vectors: a dimension that is not divided must have two elements");
    }
    return is_too_large(place, &transform) &&
           refuse(verdict, BP_REASON_SIZE, "a message would have more than 2^31 - 1 real numbers");
}

void bp__fftwmpi_accept(void *opaque, const bp_problem *problem, bp_offers *offers) {
    const bp__fftwmpi_instance *instance = opaque;
    bp_verdict verdict = BP_VERDICT_INIT;
    bp__ranks_model model = {0};
    void *place = NULL;
    if (problem->op == BP_OP_FFT && instance->host->device(problem->place)) {
        instance->host->device_open(problem->place, &place);
    }
    verdict.algorithm = "slabs";
    if (!is_refused(problem, place, &verdict)) {
        bp__fftwmpi_model(problem, place, &model);
        verdict.threads = 1;
        verdict.properties = BP_PROPERTY_REPRODUCIBLE;
        bp__ranks_tell(&verdict, problem->dtype, place, &model, 0, "");
    }
    offers->add(offers, &verdict, NULL, 0);
}
