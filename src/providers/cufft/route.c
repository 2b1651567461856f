/* route.c - expresses a transform as plans of cuFFT and walks.
 *
 * A plan of cuFFT transforms up to three dimensions of one dimension of a batch. The stride of each dimension must be a
 * multiple of the next one's, and none may be 0 or negative. More dimensions take several plans, the later ones in the
 * place of the first one's result, and further dimensions of the batch a call for each item. Where an operand's layout
 * does not fit, or would take many calls, the array is a compact copy. The source of a transform to real numbers is
 * always one, because cuFFT overwrites it. */
#include "providers/cufft/cufft.h"

#include <stdlib.h>
#include <string.h>

/* A call takes microseconds, as the walk to a compact copy does; many of them take longer than any copy. */
enum { FEW_CALLS = 8, MOST_CALLS = 64 };
enum { NDIM = BP_MAX_BATCH_NDIM + BP_MAX_FFT_NDIM };

static const char too_many_calls[] = "the transform needs more than 64 calls";
static const char too_many_dims[] = "its copy has more than 12 dimensions that cannot be merged";
static const char too_large[] = "its copy would be larger than the address space";

/* The dimensions of a problem: first the batch, then what is transformed. */
typedef struct shape {
    const bp_fft_problem *fft;
    int ndim, batch_ndim;
    int64_t n[NDIM];
    int64_t extent[BP__CUFFT_SIDES][NDIM]; /* elements of both arrays */
    int64_t given[NDIM];                   /* elements of the input */
    int64_t operand[BP__CUFFT_SIDES][NDIM];
    int64_t stride[BP__CUFFT_SIDES][NDIM]; /* of the arrays; steps of the operands above */
    int64_t complex;                       /* bytes of a complex element */
    int64_t item[BP__CUFFT_SIDES];         /* bytes of an element */
} shape;

/* ---- The shape ---- */

static void add_dim(shape *s, int64_t n, int64_t source, int64_t target, int64_t given, int64_t in, int64_t out) {
    const int d = s->ndim++;
    s->n[d] = n;
    s->extent[BP__CUFFT_SOURCE][d] = source;
    s->extent[BP__CUFFT_TARGET][d] = target;
    s->given[d] = given;
    s->operand[BP__CUFFT_SOURCE][d] = in;
    s->operand[BP__CUFFT_TARGET][d] = out;
}

/* Dimensions of one element are left out, except that the last one of real data stays: it makes them complex. */
static void read_shape(const bp_problem *problem, shape *s) {
    const bp_fft_problem *f = &problem->of.fft;
    *s = (shape){.fft = f, .complex = problem->dtype == BP_C64 ? 8 : 16};
    for (int b = 0; b < f->batch_ndim; b++) {
        const int64_t size = f->batch_shape[b];
        add_dim(s, size, size, size, size, f->batch_in[b], f->batch_out[b]);
    }
    s->batch_ndim = s->ndim;
    for (int d = 0; d < f->ndim; d++) {
        const bool halved = d == f->ndim - 1 && f->kind != BP_FFT_C2C;
        const int64_t n = f->n[d], half = halved ? n / 2 + 1 : n;
        if (n > 1 || halved) {
            add_dim(s, n, f->kind == BP_FFT_C2R ? half : n, f->kind == BP_FFT_R2C ? half : n, f->input_size[d],
                    f->in[d], f->out[d]);
        }
    }
    s->item[BP__CUFFT_SOURCE] = f->kind == BP_FFT_R2C ? s->complex / 2 : s->complex;
    s->item[BP__CUFFT_TARGET] = f->kind == BP_FFT_C2R ? s->complex / 2 : s->complex;
}

static bool has_input(const bp_fft_problem *f) {
    for (int d = 0; d < f->ndim; d++) {
        if (f->input_size[d] == 0) {
            return false;
        }
    }
    return true;
}

/* Returns the first of the dimensions that the plan of real data transforms, or the first plan of others. */
static int last_group(const shape *s) {
    const int first = s->ndim - BP__CUFFT_RANK;
    return first > s->batch_ndim ? first : s->batch_ndim;
}

/* ---- Arrays ---- */

static bool append_compact(shape *s, int side, int first, int end, int64_t *step) {
    for (int d = end - 1; d >= first; d--) {
        s->stride[side][d] = *step;
        if (__builtin_mul_overflow(*step, s->extent[side][d], step)) {
            return false;
        }
    }
    return true;
}

/* Lays out a compact array: the batch lies behind the dimensions of later plans, so that each plan has one batch. */
static bool be_compact(shape *s, int side, uint64_t *bytes) {
    const int group = last_group(s);
    int64_t step = 1;
    const bool fits = append_compact(s, side, group, s->ndim, &step) &&
                      append_compact(s, side, 0, s->batch_ndim, &step) &&
                      append_compact(s, side, s->batch_ndim, group, &step);
    return fits && !__builtin_mul_overflow((uint64_t)step, (uint64_t)s->item[side], bytes);
}

/* Makes the operand the array. Returns false if a stride is negative, so that its first element is not the lowest. */
static bool be_operand(shape *s, int side, uint64_t *bytes) {
    uint64_t last = 0;
    for (int d = 0; d < s->ndim; d++) {
        const int64_t steps = s->extent[side][d] - 1, stride = steps > 0 ? s->operand[side][d] : 0;
        if (stride < 0) {
            return false;
        }
        s->stride[side][d] = stride;
        last += (uint64_t)(steps * stride);
    }
    *bytes = (last + 1) * (uint64_t)s->item[side];
    return true;
}

/* ---- Plans ---- */

/* Describes dimensions [first, end) of an array. Returns false if the library cannot. */
static bool embed(const shape *s, int side, int first, int end, long long *sizes, long long *stride) {
    const int64_t *extent = s->extent[side], *strides = s->stride[side];
    int64_t inner = 0;
    for (int d = end - 1; d >= first; d--) {
        const bool innermost = d == end - 1;
        const int64_t own = extent[d] > 1 ? strides[d] : innermost ? 1 : inner * extent[d + 1];
        if (own <= 0 || (!innermost && (own % inner != 0 || own / inner < extent[d + 1]))) {
            return false;
        }
        if (innermost) {
            *stride = own;
        } else {
            sizes[d + 1 - first] = own / inner;
        }
        inner = own;
    }
    sizes[0] = extent[first];
    return true;
}

/* Dimensions of two arrays: stride[0] of the one that is read, stride[1] of the one that is written. */
typedef struct dims {
    int ndim;
    int64_t size[NDIM], stride[2][NDIM], wrap[NDIM];
} dims;

static void move_dim(dims *d, int to, int from) {
    d->size[to] = d->size[from];
    d->stride[0][to] = d->stride[0][from];
    d->stride[1][to] = d->stride[1][from];
    d->wrap[to] = d->wrap[from];
}

/* Adds a dimension, sorted by decreasing stride of the array that is written. */
static void add_pair(dims *d, int64_t size, int64_t from, int64_t to, int64_t wrap) {
    int at = d->ndim;
    if (size == 1) {
        return;
    }
    d->ndim++;
    for (; at > 0 && llabs(d->stride[1][at - 1]) < llabs(to); at--) {
        move_dim(d, at, at - 1);
    }
    d->size[at] = size;
    d->stride[0][at] = from;
    d->stride[1][at] = to;
    d->wrap[at] = wrap;
}

static void merge_pairs(dims *d) {
    int kept = 0;
    for (int i = 0; i < d->ndim; i++) {
        const int64_t size = d->size[i];
        const bool joins = kept > 0 && !d->wrap[i] && !d->wrap[kept - 1] &&
                           d->stride[0][kept - 1] == d->stride[0][i] * size &&
                           d->stride[1][kept - 1] == d->stride[1][i] * size;
        const int64_t before = joins ? d->size[kept - 1] : 1;
        kept -= joins;
        move_dim(d, kept, i);
        d->size[kept++] = size * before;
    }
    d->ndim = kept;
}

/* Returns the largest dimension that steps forward on both sides; -1: none. */
static int inner_dimension(const dims *o) {
    int best = -1;
    for (int i = 0; i < o->ndim; i++) {
        if (o->stride[0][i] > 0 && o->stride[1][i] > 0 && (best < 0 || o->size[i] >= o->size[best])) {
            best = i;
        }
    }
    return best;
}

/* Addresses of calls are aligned to complex elements, as the library needs them, also where elements are real. */
static bool add_outer(const shape *s, bp__cufft_step *step, const dims *o, int i) {
    const int to = step->outer_ndim++;
    if (to == BP__CUFFT_OUTER || __builtin_mul_overflow(step->calls, o->size[i], &step->calls)) {
        return false;
    }
    step->outer_size[to] = o->size[i];
    for (int end = 0; end < 2; end++) {
        const int64_t item = s->item[step->side[end]], bytes = o->stride[end][i] * item;
        step->outer_bytes[end][to] = bytes;
        if (bytes % s->complex != 0) {
            return false;
        }
    }
    return true;
}

static bool divide_others(const shape *s, const dims *o, int64_t most, bp__cufft_step *step) {
    const int inner = inner_dimension(o);
    step->batch = inner >= 0 ? o->size[inner] : 1;
    step->calls = 1;
    for (int end = 0; end < 2; end++) {
        long long whole = step->stride[end];
        for (int d = 0; d < step->rank; d++) {
            whole *= step->embed[end][d];
        }
        step->dist[end] = inner >= 0 ? o->stride[end][inner] : whole;
    }
    for (int i = 0; i < o->ndim; i++) {
        if (i != inner && !add_outer(s, step, o, i)) {
            return false;
        }
    }
    return step->calls <= most;
}

/* Adds a plan of dimensions [first, end). Returns false if the library cannot run it, or not in so many calls. */
static bool add_step(const shape *s, bp_fft_kind kind, int from, int to, int first, int end, int64_t most,
                     bp__cufft_route *route) {
    dims rest = {.ndim = 0};
    if (route->step_count == BP__CUFFT_STEPS) {
        return false;
    }
    bp__cufft_step *step = &route->steps[route->step_count++];
    *step = (bp__cufft_step){.kind = (uint8_t)kind, .side = {(uint8_t)from, (uint8_t)to}, .rank = end - first};
    for (int d = 0; d < s->ndim; d++) {
        if (d >= first && d < end) {
            step->n[d - first] = s->n[d];
        } else {
            add_pair(&rest, s->extent[to][d], s->stride[from][d], s->stride[to][d], 0);
        }
    }
    merge_pairs(&rest);
    return embed(s, from, first, end, step->embed[0], &step->stride[0]) &&
           embed(s, to, first, end, step->embed[1], &step->stride[1]) && divide_others(s, &rest, most, step);
}

/* Adds plans for all dimensions before the last group, in place. */
static bool add_leading(const shape *s, int side, int64_t most, bp__cufft_route *route) {
    bool fits = true;
    for (int end = last_group(s); end > s->batch_ndim && fits;) {
        const int first = end - BP__CUFFT_RANK > s->batch_ndim ? end - BP__CUFFT_RANK : s->batch_ndim;
        fits = add_step(s, BP_FFT_C2C, side, side, first, end, most, route);
        end = first;
    }
    return fits;
}

static bool add_steps(const shape *s, int64_t most, bp__cufft_route *route) {
    const bp_fft_kind kind = (bp_fft_kind)s->fft->kind;
    route->step_count = 0;
    if (s->ndim == s->batch_ndim) { /* nothing is transformed */
        return true;
    }
    const bool to_real = kind == BP_FFT_C2R;
    return (!to_real || add_leading(s, BP__CUFFT_SOURCE, most, route)) &&
           add_step(s, kind, BP__CUFFT_SOURCE, BP__CUFFT_TARGET, last_group(s), s->ndim, most, route) &&
           (to_real || add_leading(s, BP__CUFFT_TARGET, most, route));
}

/* Chooses the arrays: as few copies as possible. */
static const char *choose_arrays(shape *s, bp__cufft_route *route) {
    const bp_fft_problem *f = s->fft;
    const bool needed[] = {f->kind == BP_FFT_C2R || f->zero_padded, f->full_spectrum};
    for (int choice = 0; choice < 4; choice++) {
        bool fits = true;
        for (int side = 0; side < BP__CUFFT_SIDES && fits; side++) {
            route->buffered[side] = choice >> side & 1;
            fits = (route->buffered[side] || !needed[side]) &&
                   (route->buffered[side] ? be_compact : be_operand)(s, side, &route->bytes[side]);
        }
        if (fits && add_steps(s, choice == 3 ? MOST_CALLS : FEW_CALLS, route)) {
            return NULL;
        }
    }
    uint64_t bytes;
    return be_compact(s, BP__CUFFT_SOURCE, &bytes) && be_compact(s, BP__CUFFT_TARGET, &bytes) ? too_many_calls
                                                                                              : too_large;
}

/* ---- Walks ---- */

/* Fills a walk from its dimensions, which become the ones that are left. Returns false if they are too many. */
static bool fill_walk(dims *d, const int64_t *item, bp__cufft_walk *w) {
    merge_pairs(d);
    w->count = 1;
    for (int i = 0; i < BP__CUFFT_WALK_NDIM; i++) {
        w->size[i] = 1;
    }
    for (int i = 0; i < d->ndim && d->ndim <= BP__CUFFT_WALK_NDIM; i++) {
        const int from = d->ndim - 1 - i;
        w->size[i] = (uint64_t)d->size[from];
        w->src_stride[i] = d->stride[0][from] * item[0];
        w->dst_stride[i] = d->stride[1][from] * item[1];
        w->wrap[i] = d->wrap[from] * item[0];
        w->count *= w->size[i];
    }
    return d->ndim <= BP__CUFFT_WALK_NDIM;
}

/* From the input to the source, with a factor. */
static bool walk_before(const shape *s, double scale, bp__cufft_route *route) {
    const int64_t item[] = {s->item[BP__CUFFT_SOURCE], s->item[BP__CUFFT_SOURCE]};
    dims d = {.ndim = 0};
    for (int i = 0; i < s->ndim; i++) {
        const int64_t needed = s->extent[BP__CUFFT_SOURCE][i], size = s->given[i] < needed ? s->given[i] : needed;
        add_pair(&d, size, s->operand[BP__CUFFT_SOURCE][i], s->stride[BP__CUFFT_SOURCE][i], 0);
    }
    const bool fits = fill_walk(&d, item, &route->before);
    route->before.count = has_input(s->fft) ? route->before.count : 0;
    bp__cufft_walk_factors(&route->before, route->element[BP__CUFFT_SOURCE], scale,
                           s->fft->kind == BP_FFT_C2R && s->fft->conjugate ? -scale : scale);
    return fits;
}

/* From the target to the output; of a whole spectrum the part of the last dimension that the target has. */
static bool walk_after(const shape *s, bp__cufft_route *route) {
    const int64_t item[] = {s->item[BP__CUFFT_TARGET], s->item[BP__CUFFT_TARGET]};
    dims d = {.ndim = 0};
    for (int i = 0; i < s->ndim; i++) {
        add_pair(&d, s->extent[BP__CUFFT_TARGET][i], s->stride[BP__CUFFT_TARGET][i], s->operand[BP__CUFFT_TARGET][i],
                 0);
    }
    return fill_walk(&d, item, &route->after[0]);
}

/* The other part: an element is the conjugate of the one with negative indices in all transformed dimensions. */
static bool walk_mirrored(const shape *s, bp__cufft_route *route) {
    const int64_t item[] = {s->item[BP__CUFFT_TARGET], s->item[BP__CUFFT_TARGET]};
    const int last = s->ndim - 1;
    const int64_t half = s->extent[BP__CUFFT_TARGET][last], rest = s->n[last] - half;
    const int64_t *from = s->stride[BP__CUFFT_TARGET], *to = s->operand[BP__CUFFT_TARGET];
    dims d = {.ndim = 0};
    for (int i = 0; i < last; i++) {
        const bool mirrored = i >= s->batch_ndim;
        add_pair(&d, s->n[i], mirrored ? -from[i] : from[i], to[i], mirrored ? s->n[i] * from[i] : 0);
    }
    add_pair(&d, rest, -from[last], to[last], 0);
    const bool fits = fill_walk(&d, item, &route->after[1]);
    route->after[1].src = (uint64_t)(rest * from[last] * item[0]);
    route->after[1].dst = (uint64_t)(half * to[last] * item[1]);
    return fits;
}

/* A copy of the input scales if the target would be walked through for this alone. */
static bool make_walks(const shape *s, bp__cufft_route *route) {
    const bp_fft_problem *f = s->fft;
    const bool first = route->buffered[BP__CUFFT_SOURCE] && !route->buffered[BP__CUFFT_TARGET];
    const double before = first ? f->scale : 1, after = first ? 1 : f->scale;
    const bp__cufft_element element = route->element[BP__CUFFT_TARGET];
    const double sign = f->kind == BP_FFT_R2C && f->conjugate ? -1 : 1;
    route->zeroed = f->zero_padded;
    route->changed = after != 1 || sign < 0 || s->ndim == s->batch_ndim;
    route->after_count = f->full_spectrum ? 2 : 1;
    bool fits = walk_before(s, before, route) && walk_after(s, route);
    bp__cufft_walk_factors(&route->after[0], element, after, sign * after);
    if (fits && f->full_spectrum) {
        fits = walk_mirrored(s, route);
        bp__cufft_walk_factors(&route->after[1], element, after, -sign * after);
    }
    return fits;
}

/* ---- The route ---- */

static bp__cufft_element element_of(const bp_problem *problem, bool real) {
    const bool single = problem->dtype == BP_C64;
    return real ? (single ? BP__CUFFT_F32 : BP__CUFFT_F64) : single ? BP__CUFFT_C64 : BP__CUFFT_C128;
}

const char *bp__cufft_route_of(const bp_problem *problem, bp__cufft_route *route) {
    const bp_fft_problem *f = &problem->of.fft;
    shape s;
    memset(route, 0, sizeof *route);
    route->element[BP__CUFFT_SOURCE] = element_of(problem, f->kind == BP_FFT_R2C);
    route->element[BP__CUFFT_TARGET] = element_of(problem, f->kind == BP_FFT_C2R);
    route->direction =
        f->kind == BP_FFT_C2R || (f->kind == BP_FFT_C2C && f->inverse) ? BP__CUFFT_INVERSE : BP__CUFFT_FORWARD;
    if (f->batch == 0) {
        return NULL;
    }
    read_shape(problem, &s);
    const char *why = choose_arrays(&s, route);
    if (!why && s.ndim == s.batch_ndim) { /* a scaled copy of the source */
        memcpy(s.stride[BP__CUFFT_TARGET], s.stride[BP__CUFFT_SOURCE], sizeof s.stride[0]);
    }
    return why ? why : make_walks(&s, route) ? NULL : too_many_dims;
}
