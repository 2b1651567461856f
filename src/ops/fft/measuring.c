/* measuring.c - what measuring Fourier transforms needs. */
#include "ops/fft/fft.h"
#include "tuning/trial.h"

#include <math.h>
#include <string.h>

/* Clears the elements of half of a spectrum whose counterparts are given too: random values would contradict them. */
static void clear_own_counterparts(const bp__trial *trial, const bp__trial_operand *o, char *memory) {
    const bp_fft_problem *f = &trial->problem->of.fft;
    const int64_t element = (int64_t)bp_dtype_size(o->dtype), last = o->shape[o->ndim - 1] - 1;
    bp__walk walk;
    for (bool more = bp__walk_begin(&walk, o); more; more = bp__walk_next(&walk, o, 0)) {
        const int64_t index = walk.index[o->ndim - 1];
        if (index == 0 || (index == last && f->n[f->ndim - 1] % 2 == 0)) {
            memset(memory + o->first + walk.at * element, 0, (size_t)element);
        }
    }
}

/* Describes the half of a spectrum with all of its dimensions. */
static void describe_half(bp__trial_operand *o, const bp_fft_problem *f) {
    o->ndim = 0;
    bp__trial_add_dimensions(o, f->batch_ndim, f->batch_shape, f->batch_in);
    for (int d = 0; d < f->ndim; d++) {
        bp__trial_add_dimension(o, d == f->ndim - 1 ? f->n[d] / 2 + 1 : f->n[d], f->in[d]);
    }
    o->values = BP__VALUES_FILLED;
    o->fill = clear_own_counterparts;
}

static void finish_trial(bp__trial *trial) {
    const bp_fft_problem *f = &trial->problem->of.fft;
    double points = 1;
    for (int d = 0; d < f->ndim; d++) {
        points *= (double)f->n[d];
    }
    if (f->kind == BP_FFT_C2R) {
        describe_half(&trial->operand[0], f);
    }
    trial->roundings = log2(points + 1);
    trial->scale = sqrt(points) * fabs(f->scale);
}

const bp__measuring bp__measuring_fft = {
    .finish_trial = finish_trial,
    .plans_by_measuring = true,
};
