/* measuring.c - what measuring Fourier transforms needs. */
#include "ops/fft/classes.h"
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

/* Divides by a factor as often as possible. */
static bool take_factor(int64_t *n, int64_t factor) {
    const int64_t before = *n;
    while (*n > 1 && *n % factor == 0) {
        *n /= factor;
    }
    return *n != before;
}

/* Returns how the ratio of a transform of this length differs from the ratio of powers of two. */
static int kind_of_length(int64_t n) {
    const int64_t length = n;
    const bool even = take_factor(&n, 2);
    bool others = false;
    for (int64_t factor = 3; factor <= 7; factor += 2) {
        others |= take_factor(&n, factor);
    }
    if (n > 1) {
        return n == length ? BP__FFT_PRIMES : BP__FFT_MIXED; /* 11 x 13 counts as a prime */
    }
    return !others ? BP__FFT_POWERS : even ? BP__FFT_FACTORS : BP__FFT_ODD;
}

static int kind_of(const bp_fft_problem *f) {
    if (f->ndim == 1) {
        return kind_of_length(f->n[0]);
    }
    for (int d = 0; d < f->ndim; d++) {
        const int kind = kind_of_length(f->n[d]);
        if (kind == BP__FFT_PRIMES || kind == BP__FFT_MIXED) {
            return BP__FFT_SQUARE_PRIMES;
        }
    }
    return BP__FFT_SQUARES;
}

static void place(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_fft_problem *f = &problem->of.fft;
    double points = 1;
    (void)verdict;
    for (int d = 0; d < f->ndim; d++) {
        points *= (double)f->n[d];
    }
    place->class =
        bp__class_find(BP_OP_FFT, (bp_dtype)problem->dtype, kind_of(f) + (f->kind == BP_FFT_C2C ? 0 : BP__FFT_REAL));
    place->sizes[0] = f->ndim > 1 ? sqrt(points) : points;
    place->sizes[1] = (double)f->batch;
}

static bp_status sample(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    const bool real = class->variant >= BP__FFT_REAL;
    const int ndim = class->variant % BP__FFT_REAL >= BP__FFT_SQUARES ? 2 : 1;
    const bp_dtype input = !real ? class->dtype : class->dtype == BP_C64 ? BP_F32 : BP_F64;
    int64_t shape[] = {sizes[1], sizes[0], sizes[0]};
    bp__sample_tensor in, out;
    bp__sample_tensor_init(&in, input, 1 + ndim, shape, NULL);
    shape[ndim] = real ? sizes[0] / 2 + 1 : sizes[0];
    bp__sample_tensor_init(&out, class->dtype, 1 + ndim, shape, NULL);
    const bp__fft_arguments call = {.struct_size = sizeof call,
                                    .transform = real ? BP_RFFT : BP_FFT,
                                    .axis_count = ndim,
                                    .input = &in.tensor,
                                    .output = &out.tensor};
    const bp__call_request request = {.call = &call, .data_optional = true};
    return bp__fft_make(problem, &request);
}

const bp__measuring bp__measuring_fft = {
    .sample = sample,
    .place = place,
    .finish_trial = finish_trial,
    .plans_by_measuring = true,
};
