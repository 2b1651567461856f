/* route.c - derives the descriptors of a problem and the loops around them: see mkl.h. Pure. */
#include "providers/mkl/mkl.h"

#include <string.h>

/* Maximum bytes between two stages for a whole batch, about a second-level cache. Larger batches run item by item. */
#define MOST_BETWEEN ((int64_t)1 << 20)

/* ---- Stages ---- */

static void walk_add(bp__mkl_walk *walk, int64_t n, int64_t in_bytes, int64_t out_bytes) {
    walk->calls *= n;
    walk->n[walk->ndim] = n;
    walk->in[walk->ndim] = in_bytes;
    walk->out[walk->ndim] = out_bytes;
    walk->ndim++;
}

static void add_dim(bp__mkl_call *stage, int64_t n, int64_t in, int64_t out) {
    stage->n[stage->rank] = n;
    stage->in[stage->rank + 1] = n == 1 ? 1 : in;
    stage->out[stage->rank + 1] = n == 1 ? 1 : out;
    stage->rank++;
}

/* Adds a batch dimension. MKL handles the longest one (DFTI does not accept distance 0). The provider loops over the
 * others. */
static void add_many(bp__mkl_call *stage, int64_t n, int64_t in, int64_t out, int64_t in_size, int64_t out_size) {
    if (n == 1) {
        return;
    }
    if (n <= stage->many || in == 0) {
        walk_add(&stage->walk, n, in * in_size, out * out_size);
        return;
    }
    if (stage->many > 1) {
        walk_add(&stage->walk, stage->many, stage->in_distance * in_size, stage->out_distance * out_size);
    }
    stage->many = n;
    stage->in_distance = in;
    stage->out_distance = out;
}

static bp__mkl_call new_stage(const bp_fft_problem *fft, bool real) {
    return (bp__mkl_call){.forward = !fft->inverse, .real = real, .many = 1, .scale = 1, .walk.calls = 1};
}

/* ---- Routes ---- */

static void route_direct(bp__mkl_route *route, const bp_fft_problem *fft, int walked, int64_t in_size,
                         int64_t out_size) {
    bp__mkl_call *stage = &route->stage[0];
    route->stages = 1;
    *stage = new_stage(fft, fft->kind != BP_FFT_C2C);
    stage->in_place = fft->in_place;
    stage->scale = fft->scale;
    for (int d = 0; d < fft->ndim; d++) {
        if (fft->n[d] > 1 || (stage->real && d == fft->ndim - 1)) {
            add_dim(stage, fft->n[d], fft->in[d], fft->out[d]);
        }
    }
    if (stage->rank == 0) {
        add_dim(stage, 1, 1, 1);
    }
    for (int d = walked; d < fft->batch_ndim; d++) {
        add_many(stage, fft->batch_shape[d], fft->batch_in[d], fft->batch_out[d], in_size, out_size);
    }
}

static int64_t between_of(const bp_fft_problem *fft, int walked) {
    int64_t count = fft->n[fft->ndim - 1] / 2 + 1;
    for (int d = 0; d < fft->ndim - 1; d++) {
        count *= fft->n[d];
    }
    for (int d = walked; d < fft->batch_ndim; d++) {
        count *= fft->batch_shape[d];
    }
    return count;
}

/* Makes two stages. The memory between them is compact: last dimension fastest, batch slowest. */
static void route_by_two(bp__mkl_route *route, const bp_fft_problem *fft, int walked, int64_t size) {
    bp__mkl_call *leading = &route->stage[0], *last = &route->stage[1];
    int end = fft->ndim - 1;
    int64_t half = fft->n[end] / 2 + 1, compact[BP_MAX_FFT_NDIM], next = half;
    route->stages = 2;
    route->between = (size_t)(between_of(fft, walked) * size);
    *leading = new_stage(fft, false);
    *last = new_stage(fft, true);
    last->scale = fft->scale;
    for (int d = end - 1; d >= 0; d--) {
        compact[d] = next;
        next *= fft->n[d];
    }
    for (int d = 0; d < end; d++) {
        if (fft->n[d] > 1) {
            add_dim(leading, fft->n[d], fft->in[d], compact[d]);
        }
        add_many(last, fft->n[d], compact[d], fft->out[d], size, size / 2);
    }
    add_many(leading, half, fft->in[end], 1, size, size);
    add_dim(last, fft->n[end], 1, fft->out[end]);
    for (int d = fft->batch_ndim - 1; d >= walked; d--) {
        add_many(leading, fft->batch_shape[d], fft->batch_in[d], next, size, size);
        add_many(last, fft->batch_shape[d], next, fft->batch_out[d], size, size / 2);
        next *= fft->batch_shape[d];
    }
}

/* Returns whether the transform is complex-to-real and has more than one dimension larger than 1. */
static bool needs_two(const bp_fft_problem *fft) {
    for (int d = 0; d < fft->ndim - 1; d++) {
        if (fft->kind == BP_FFT_C2R && fft->n[d] > 1) {
            return true;
        }
    }
    return false;
}

static const char *why_not(const bp_fft_problem *fft) {
    int ndim = 0;
    for (int d = 0; d < fft->ndim; d++) {
        ndim += fft->n[d] > 1;
        if (fft->n[d] > 1 && fft->in[d] == 0) {
            return "DFTI does not accept stride 0 in a transformed dimension";
        }
    }
    return ndim > BP__MKL_MOST_NDIM ? "DFTI transforms at most 7 dimensions" : NULL;
}

bool bp__mkl_route_of(bp__mkl_route *route, const bp_problem *problem, bool alone, const char **text) {
    const bp_fft_problem *fft = &problem->of.fft;
    *text = why_not(fft);
    if (*text) {
        return false;
    }
    memset(route, 0, sizeof *route);
    route->single = problem->dtype == BP_C64;
    int64_t complex_size = route->single ? 8 : 16;
    int64_t in_size = fft->kind == BP_FFT_R2C ? complex_size / 2 : complex_size;
    int64_t out_size = fft->kind == BP_FFT_C2R ? complex_size / 2 : complex_size;
    bool two = needs_two(fft);
    int walked = alone || (two && between_of(fft, 0) * complex_size > MOST_BETWEEN) ? fft->batch_ndim : 0;
    route->items.calls = fft->batch == 0 ? 0 : 1;
    for (int d = 0; d < walked; d++) {
        walk_add(&route->items, fft->batch_shape[d], fft->batch_in[d] * in_size, fft->batch_out[d] * out_size);
    }
    if (two) {
        route_by_two(route, fft, walked, complex_size);
    } else {
        route_direct(route, fft, walked, in_size, out_size);
    }
    return true;
}
