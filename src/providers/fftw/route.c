/* route.c - derives the arguments of FFTW's guru interface for a problem, and the copies around the call: see fftw.h.
 * Pure. */
#include "providers/fftw/fftw.h"

#include <string.h>

/* Maximum bytes of copied items per call. An input that would be destroyed is copied for as many items at a time as fit
 * a second-level cache. */
#define MOST_COPIED ((int64_t)1 << 20)

/* Maximum bytes of operands that are copied because they are unaligned. FFTW uses no vectors for unaligned addresses,
 * which costs two thirds of the speed; a copy costs less. Larger copies take too much memory, and memory limits the
 * speed anyway. */
#define MOST_BOUNCED ((int64_t)32 << 20)

static void set_types(bp__fftw_route *route, bool single) {
    bp_dtype complex = single ? BP_C64 : BP_C128, real = single ? BP_F32 : BP_F64;
    route->in.dtype = route->kind == BP_FFT_R2C ? real : complex;
    route->out.dtype = route->kind == BP_FFT_C2R ? real : complex;
    route->in.size = (single ? 4 : 8) * (route->in.dtype == complex ? 2 : 1);
    route->out.size = (single ? 4 : 8) * (route->out.dtype == complex ? 2 : 1);
}

/* Returns the number of elements of a dimension in the input or output. */
static int64_t length(const bp_fft_problem *fft, int d, bool halved) {
    return halved && d == fft->ndim - 1 ? fft->n[d] / 2 + 1 : fft->n[d];
}

static int64_t copied_bytes(const bp__fftw_route *route, const bp_fft_problem *fft, int walked) {
    int64_t bytes = route->in.size;
    for (int d = 0; d < fft->ndim; d++) {
        bytes *= length(fft, d, true);
    }
    for (int d = walked; d < fft->batch_ndim; d++) {
        bytes *= fft->batch_shape[d];
    }
    return bytes;
}

static void choose_walked(bp__fftw_route *route, const bp_fft_problem *fft, bool alone) {
    route->walked = alone ? fft->batch_ndim : 0;
    while (route->copies && route->walked < fft->batch_ndim && copied_bytes(route, fft, route->walked) > MOST_COPIED) {
        route->walked++;
    }
    route->calls = fft->batch == 0 ? 0 : 1;
    for (int d = 0; d < route->walked; d++) {
        route->shape[d] = fft->batch_shape[d];
        route->step_in[d] = fft->batch_in[d];
        route->step_out[d] = fft->batch_out[d];
        route->calls *= fft->batch_shape[d];
    }
}

/* A dimension with stride 0 on both sides has one element, however often it is read. */
static void add(bp__fftw_side *side, int64_t n, int64_t from, int64_t to) {
    if (from != 0 || to != 0) {
        bp__fftw_walk_add(&side->walk, n, from, to);
    }
}

static void add_dims(bp__fftw_route *route, const bp_fft_problem *fft) {
    int64_t compact = 1;
    route->rank = fft->ndim;
    for (int d = fft->ndim - 1; d >= 0; d--) {
        int64_t in = length(fft, d, route->kind == BP_FFT_C2R), out = length(fft, d, route->kind == BP_FFT_R2C);
        int64_t step = route->copies ? compact : fft->in[d];
        route->dims[d] = (bp__fftw_dim){fft->n[d], step, fft->out[d]};
        add(&route->in, in, fft->in[d], step);
        add(&route->out, out, fft->out[d], fft->out[d]);
        compact *= in;
    }
    for (int d = fft->batch_ndim - 1; d >= route->walked; d--) {
        int64_t n = fft->batch_shape[d], step = route->copies ? compact : fft->batch_in[d];
        route->howmany[route->many++] = (bp__fftw_dim){n, step, fft->batch_out[d]};
        add(&route->in, n, fft->batch_in[d], step);
        add(&route->out, n, fft->batch_out[d], fft->batch_out[d]);
        compact *= n;
    }
}

static void measure(bp__fftw_side *side, const int64_t *strides) {
    side->span = bp__fftw_walk_span(&side->walk, strides, &side->below);
    bp__fftw_walk_merge(&side->walk);
}

static void build(bp__fftw_route *route, const bp_problem *problem, bool alone) {
    const bp_fft_problem *fft = &problem->of.fft;
    memset(route, 0, sizeof *route);
    route->kind = (bp_fft_kind)fft->kind;
    route->inverse = fft->inverse;
    route->in_place = fft->in_place;
    route->copies = route->kind == BP_FFT_C2R && fft->ndim > 1;
    set_types(route, problem->dtype == BP_C64);
    choose_walked(route, fft, alone);
    add_dims(route, fft);
}

/* Returns 1 for a positive stride, 2 for a negative one, 0 if it has no effect. */
static unsigned sign_of(int64_t n, int64_t stride) {
    return n == 1 || stride == 0 ? 0 : stride > 0 ? 1 : 2;
}

/* Returns whether the strides of the input, or of the output, have different signs. */
static bool is_mixed(const bp__fftw_route *route) {
    unsigned in = 0, out = 0;
    for (int d = 0; d < route->rank; d++) {
        in |= sign_of(route->dims[d].n, route->dims[d].in);
        out |= sign_of(route->dims[d].n, route->dims[d].out);
    }
    for (int d = 0; d < route->many; d++) {
        in |= sign_of(route->howmany[d].n, route->howmany[d].in);
        out |= sign_of(route->howmany[d].n, route->howmany[d].out);
    }
    return in == 3 || out == 3;
}

void bp__fftw_route_of(bp__fftw_route *route, const bp_problem *problem, bool alone) {
    build(route, problem, alone);
    if (!alone && is_mixed(route)) {
        build(route, problem, true);
    }
    route->unplannable = is_mixed(route);
    measure(&route->in, route->in.walk.to);
    measure(&route->out, route->out.walk.from);
    route->bounces = route->in.span * route->in.size + route->out.span * route->out.size <= MOST_BOUNCED;
}

static size_t padded(int64_t bytes) {
    return ((size_t)bytes + 63) & ~(size_t)63;
}

size_t bp__fftw_side_first(const bp__fftw_side *side) {
    return padded(side->below * side->size);
}

size_t bp__fftw_side_bytes(const bp__fftw_side *side) {
    return bp__fftw_side_first(side) + padded((side->span - side->below) * side->size);
}
