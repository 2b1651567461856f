/* support_cases.c - see cases.h. */
#include "pool/cases.h"

#include "tensor/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MARK = 77, GUARD = 64 }; /* the content of memory that has no element; elements behind the last one */

uint64_t pool_random_state = 1;

int64_t pool_between(int64_t low, int64_t high) {
    pool_random_state ^= pool_random_state << 13;
    pool_random_state ^= pool_random_state >> 7;
    pool_random_state ^= pool_random_state << 17;
    return low + (int64_t)((pool_random_state >> 11) % (uint64_t)(high - low + 1));
}

/* ---- Tensors, with memory between their elements ---- */

void pool_put(bp_dtype dtype, char *to, double value) {
    if (dtype == BP_I64) {
        const int64_t whole = (int64_t)value;
        memcpy(to, &whole, sizeof whole);
    } else if (dtype == BP_F64) {
        memcpy(to, &value, sizeof value);
    } else {
        bp__convert_matrix(dtype, BP_F64, 1, 1, to, 1, 1, &value, 1, 1);
    }
}

static double take(bp_dtype dtype, const char *from) {
    double value;
    if (dtype == BP_I64) {
        int64_t whole;
        memcpy(&whole, from, sizeof whole);
        return (double)whole;
    }
    if (dtype == BP_F64) {
        memcpy(&value, from, sizeof value);
    } else {
        bp__convert_matrix(BP_F64, dtype, 1, 1, &value, 1, 1, from, 1, 1);
    }
    return value;
}

static double rounded(bp_dtype dtype, double value) {
    char block[8];
    pool_put(dtype, block, value);
    return take(dtype, block);
}

static int64_t place_of(const pool_tensor *t, int64_t index) {
    int64_t at = 0;
    for (int d = t->view.tensor.ndim - 1; d >= 0; d--) {
        at += index % t->view.tensor.shape[d] * t->view.tensor.strides[d];
        index /= t->view.tensor.shape[d];
    }
    return at;
}

char *pool_element(const pool_tensor *t, int64_t index) {
    return (char *)t->view.tensor.data + place_of(t, index) * (int64_t)bp_dtype_size(t->dtype);
}

double pool_get(const pool_tensor *t, int64_t index) {
    return take(t->dtype, pool_element(t, index));
}

int64_t pool_elements(const pool_tensor *t) {
    return bp__tensor_elements(&t->view.tensor);
}

void pool_mark(pool_tensor *t) {
    for (int64_t i = 0; i < t->all; i++) {
        pool_put(t->dtype, t->memory + i * (int64_t)bp_dtype_size(t->dtype), MARK);
    }
}

void pool_make(pool_tensor *t, bp_dtype dtype, int ndim, const int64_t *shape) {
    pool_make_layout(t, dtype, ndim, shape, (pool_layout)pool_between(0, POOL_LAYOUTS - 1));
}

void pool_make_layout(pool_tensor *t, bp_dtype dtype, int ndim, const int64_t *shape, pool_layout layout) {
    int order[BP_MAX_NDIM];
    int64_t strides[BP_MAX_NDIM], first = 0;
    for (int i = 0; i < ndim; i++) {
        order[i] = layout == POOL_REVERSED ? ndim - 1 - i : i;
    }
    if (layout == POOL_CHANNELS_LAST) { /* the channels are dimension 1, or 0 without items: this is channels-last for
                                           the former */
        memmove(order + 1, order + 2, (size_t)(ndim - 2) * sizeof *order);
        order[ndim - 1] = 1;
    }
    t->dtype = dtype;
    t->all = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        const int d = order[i];
        strides[d] = t->all * (layout == POOL_GAPS ? pool_between(1, 2) : 1);
        t->all = strides[d] * (shape[d] > 0 ? shape[d] : 1);
    }
    for (int d = 0; d < ndim; d++) {
        if (layout == POOL_GAPS && pool_between(0, 3) == 0 && shape[d] > 0) {
            first += (shape[d] - 1) * strides[d];
            strides[d] = -strides[d];
        }
    }
    t->all += GUARD;
    t->memory = malloc((size_t)t->all * bp_dtype_size(dtype));
    t->used = calloc((size_t)t->all, 1);
    assert_non_null(t->memory);
    assert_non_null(t->used);
    pool_mark(t);
    assert_int_equal(
        bp_view_init(&t->view, t->memory + first * (int64_t)bp_dtype_size(dtype), dtype, ndim, shape, strides), BP_OK);
    for (int64_t i = 0; i < pool_elements(t); i++) {
        t->used[first + place_of(t, i)] = 1;
    }
}

static void drop(pool_tensor *t) {
    free(t->memory);
    free(t->used);
    memset(t, 0, sizeof *t);
}

/* ---- Cases ---- */

static void random_kernel(pool_case *c) {
    bp_pool_call *call = &c->call;
    for (int d = 0; d < call->ndim; d++) {
        c->kernel[d] = pool_between(1, 4);
        c->stride[d] = pool_between(1, 4);
        c->dilation[d] = call->kind == BP_POOL_MAX ? pool_between(1, 3) : 1;
        c->padding[d] = pool_between(0, (c->dilation[d] * (c->kernel[d] - 1) + 1) / 2);
    }
    call->kernel = c->kernel;
    call->stride = pool_between(0, 3) ? c->stride : NULL;
    call->dilation = call->kind == BP_POOL_MAX ? c->dilation : NULL;
    call->padding = c->padding;
    call->ceil_mode = (int)pool_between(0, 1);
    if (call->kind == BP_POOL_AVERAGE) {
        call->exclude_padding = (int)pool_between(0, 1);
        call->divisor = call->exclude_padding || pool_between(0, 3) ? 0 : pool_between(-2, 5);
    }
}

static void describe(pool_case *c) {
    const DLTensor *in = &c->input.view.tensor;
    size_t used = (size_t)snprintf(c->text, sizeof c->text, "%s %s %s, ceil %d, shape", bp_dtype_name(c->dtype),
                                   c->call.output_size ? "adaptive" : "", c->call.kind ? "average" : "maximum",
                                   c->call.ceil_mode);
    for (int d = 0; d < in->ndim && used < sizeof c->text; d++) {
        used += (size_t)snprintf(c->text + used, sizeof c->text - used, " %d", (int)in->shape[d]);
    }
    for (int d = 0; d < c->call.ndim && used < sizeof c->text; d++) {
        used += (size_t)snprintf(c->text + used, sizeof c->text - used, ", kernel %d stride %d dilation %d padding %d",
                                 (int)c->kernel[d], (int)c->stride[d], (int)c->dilation[d], (int)c->padding[d]);
    }
}

void pool_begin(pool_case *c, bp_dtype dtype, bp_pool_kind kind, bool wild) {
    int64_t shape[BP_MAX_NDIM];
    int rank, out_rank;
    bp_dtype type;
    for (;;) {
        memset(c, 0, sizeof *c);
        c->dtype = dtype;
        c->call = (bp_pool_call){.struct_size = sizeof c->call, .kind = kind, .ndim = (int)pool_between(1, 3)};
        if (pool_between(0, 2) == 0) {
            for (int d = 0; d < c->call.ndim; d++) {
                c->output_size[d] = pool_between(pool_between(0, 9) ? 1 : 0, 6);
            }
            c->call.output_size = c->output_size;
        } else {
            random_kernel(c);
        }
        rank = 0;
        if (pool_between(0, 5)) {
            shape[rank++] = pool_between(0, 8) ? pool_between(1, 3) : 0;
        }
        shape[rank++] = pool_between(0, 9) ? pool_between(1, 20) : pool_between(250, 270);
        for (int d = 0; d < c->call.ndim; d++) {
            shape[rank++] = c->call.ndim == 1 && pool_between(0, 5) == 0 ? pool_between(250, 600) : pool_between(1, 11);
        }
        pool_make(&c->input, dtype, rank, shape);
        c->call.input = &c->input.view.tensor;
        if (bp_pool_shape(&c->call, &type, &out_rank, shape) == BP_OK) {
            break;
        }
        drop(&c->input);
    }
    describe(c);
    assert_int_equal(type, dtype);
    pool_make(&c->output, dtype, out_rank, shape);
    c->call.output = &c->output.view.tensor;
    if (kind == BP_POOL_MAX && pool_between(0, 2)) {
        pool_make(&c->indices, BP_I64, out_rank, shape);
        c->call.indices = &c->indices.view.tensor;
    }
    for (int64_t i = 0; i < pool_elements(&c->input); i++) {
        const bool strange = wild && pool_between(0, 15) == 0;
        pool_put(dtype, pool_element(&c->input, i),
                 strange ? (pool_between(0, 1) ? NAN : -INFINITY) : (double)pool_between(-4, 4));
    }
}

bool pool_fill(pool_case *c, int ndim, const int64_t *shape, pool_layout layout, bool indices) {
    int64_t out[BP_MAX_NDIM];
    int rank;
    bp_dtype type;
    pool_make_layout(&c->input, c->dtype, ndim, shape, layout);
    c->call.input = &c->input.view.tensor;
    if (bp_pool_shape(&c->call, &type, &rank, out) != BP_OK) {
        drop(&c->input);
        return false;
    }
    describe(c);
    pool_make_layout(&c->output, c->dtype, rank, out, layout);
    c->call.output = &c->output.view.tensor;
    if (indices) {
        pool_make_layout(&c->indices, BP_I64, rank, out, layout);
        c->call.indices = &c->indices.view.tensor;
    }
    for (int64_t i = 0; i < pool_elements(&c->input); i++) {
        pool_put(c->dtype, pool_element(&c->input, i), (double)pool_between(-4, 4));
    }
    return true;
}

void pool_end(pool_case *c) {
    drop(&c->input);
    drop(&c->output);
    drop(&c->indices);
}

/* ---- Reference ---- */

/* The inputs of one output in one dimension: all t from `begin` on, `step` apart, of which there are `count`. */
typedef struct span {
    int64_t begin, step, count, in, padding;
} span;

static span span_of(const pool_case *c, int d, int64_t out) {
    const int from = d - (3 - c->call.ndim), first = c->call.input->ndim - c->call.ndim;
    if (from < 0) {
        return (span){0, 1, 1, 1, 0};
    }
    const int64_t in = c->call.input->shape[first + from];
    if (c->call.output_size) {
        const double size = (double)c->output_size[from];
        const int64_t start = (int64_t)floor((double)(out * in) / size);
        return (span){start, 1, (int64_t)ceil((double)((out + 1) * in) / size) - start, in, 0};
    }
    const int64_t stride = c->call.stride ? c->stride[from] : c->kernel[from];
    return (span){out * stride - c->padding[from], c->dilation[from], c->kernel[from], in, c->padding[from]};
}

typedef void (*visit)(void *context, int64_t channel, int64_t place, int64_t output, double divisor);

/* Calls `each` for the inputs of one output: its channel of all items, the place in the channel, the output. */
static void visit_window(const pool_case *c, int64_t output, visit each, void *context) {
    const DLTensor *out = c->call.output;
    int64_t rest = output, index[3] = {0};
    for (int d = 2; d >= 3 - c->call.ndim; d--) {
        const int64_t size = out->shape[out->ndim - 3 + d];
        index[d] = rest % size;
        rest /= size;
    }
    span s[3];
    int64_t counted = 1, inside = 1;
    for (int d = 0; d < 3; d++) {
        int64_t with = 0, without = 0;
        s[d] = span_of(c, d, index[d]);
        for (int64_t t = 0; t < s[d].count; t++) {
            const int64_t at = s[d].begin + t * s[d].step;
            with += at < s[d].in + s[d].padding;
            without += at >= 0 && at < s[d].in;
        }
        counted *= with;
        inside *= without;
    }
    const double divisor =
        c->call.divisor ? (double)c->call.divisor : (double)(c->call.exclude_padding ? inside : counted);
    for (int64_t i = 0; i < s[0].count * s[1].count * s[2].count; i++) {
        const int64_t t[] = {i / (s[1].count * s[2].count), i / s[2].count % s[1].count, i % s[2].count};
        int64_t place = 0;
        bool in = true;
        for (int d = 0; d < 3; d++) {
            const int64_t at = s[d].begin + t[d] * s[d].step;
            in = in && at >= 0 && at < s[d].in;
            place = place * s[d].in + at;
        }
        if (in) {
            each(context, rest, place, output, divisor);
        }
    }
}

static int64_t places_of(const pool_case *c) {
    int64_t places = 1;
    for (int d = 0; d < c->call.ndim; d++) {
        places *= c->call.input->shape[c->call.input->ndim - 1 - d];
    }
    return places;
}

typedef struct expected {
    const pool_case *c;
    double best, sum, divisor;
    int64_t index;
    double *gradient, *sizes;
} expected;

static void read_input(void *context, int64_t channel, int64_t place, int64_t output, double divisor) {
    expected *e = context;
    const double x = pool_get(&e->c->input, channel * places_of(e->c) + place);
    (void)output;
    if (e->index < 0) {
        e->index = place;
    }
    if (x > e->best || isnan(x)) {
        e->best = x;
        e->index = place;
    }
    e->sum += x;
    e->divisor = divisor;
}

static double quotient(bp_dtype dtype, double a, double b) {
    return dtype == BP_F64 ? a / b : rounded(dtype, (double)((float)a / (float)b));
}

static void check_unused(const pool_case *c, const pool_tensor *t, const char *what) {
    for (int64_t i = 0; t->memory && i < t->all; i++) {
        if (!t->used[i] && take(t->dtype, t->memory + i * (int64_t)bp_dtype_size(t->dtype)) != MARK) {
            fail_msg("%s: wrote between the elements of %s", c->text, what);
        }
    }
}

void pool_compare_output(const pool_case *c) {
    for (int64_t i = 0; i < pool_elements(&c->output); i++) {
        expected e = {.c = c, .best = -INFINITY, .divisor = 1, .index = -1};
        visit_window(c, i, read_input, &e);
        const double want = c->call.kind == BP_POOL_MAX ? e.best : quotient(c->dtype, e.sum, e.divisor);
        const double got = pool_get(&c->output, i);
        if (!(got == want || (isnan(got) && isnan(want)))) {
            fail_msg("%s: output %d is %g instead of %g", c->text, (int)i, got, want);
        }
        if (c->call.indices && pool_get(&c->indices, i) != (double)e.index) {
            fail_msg("%s: index %d is %g instead of %d", c->text, (int)i, pool_get(&c->indices, i), (int)e.index);
        }
    }
    check_unused(c, &c->output, "output");
    check_unused(c, &c->indices, "indices");
}

static void add_gradient(void *context, int64_t channel, int64_t place, int64_t output, double divisor) {
    expected *e = context;
    const double part = pool_get(&e->c->output, output) / divisor;
    e->gradient[channel * places_of(e->c) + place] += part;
    e->sizes[channel * places_of(e->c) + place] += fabs(part);
}

void pool_compare_gradient(const pool_case *c) {
    static const double eps[] = {[BP_F16] = 0x1p-11, [BP_BF16] = 0x1p-8, [BP_F32] = 0x1p-24, [BP_F64] = 0x1p-53};
    const int64_t all = pool_elements(&c->input);
    expected e = {.c = c, .gradient = calloc((size_t)all + 1, 8), .sizes = calloc((size_t)all + 1, 8)};
    assert_non_null(e.gradient);
    assert_non_null(e.sizes);
    for (int64_t i = 0; i < pool_elements(&c->output); i++) {
        if (c->call.kind == BP_POOL_AVERAGE) {
            visit_window(c, i, add_gradient, &e);
        } else if (pool_get(&c->indices, i) >= 0) {
            const int64_t rows = pool_elements(&c->output) / (all / places_of(c)), channel = i / rows;
            e.gradient[channel * places_of(c) + (int64_t)pool_get(&c->indices, i)] += pool_get(&c->output, i);
        }
    }
    for (int64_t i = 0; i < all; i++) {
        /* Each of at most 64 terms is rounded when it is divided, and when it is added. The last rounding is that to
         * the type. Gradients of maxima are sums of whole numbers. */
        const double sums = c->dtype == BP_F64 ? 0x1p-53 : 0x1p-24;
        const double bound = e.sizes[i] * (200 * sums + eps[c->dtype]), got = pool_get(&c->input, i);
        if (!(fabs(got - e.gradient[i]) <= bound)) {
            fail_msg("%s: gradient %d is %.17g instead of %.17g", c->text, (int)i, got, e.gradient[i]);
        }
    }
    free(e.gradient);
    free(e.sizes);
    check_unused(c, &c->input, "input");
}

void pool_turn(pool_case *c) {
    c->call.pass = BP_POOL_BACKWARD;
    pool_mark(&c->input);
    for (int64_t i = 0; i < pool_elements(&c->output); i++) {
        pool_put(c->dtype, pool_element(&c->output, i), (double)pool_between(-4, 4));
    }
}
