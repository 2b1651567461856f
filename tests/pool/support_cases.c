/* support_cases.c - see cases.h. */
#include "pool/cases.h"
#include "reference/pool.h"

#include "tensor/internal.h"
#include "support/passes.h"

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
    if (layout == POOL_CHANNELS_LAST) { /* the channels are dimension 1, or 0 without items: this is channels-last
                                           with items */
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

/* ---- Comparisons ---- */

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

static reference_pool *open_reference(const pool_case *c) {
    reference_pool *made;
    assert_int_equal(reference_pool_open(&made, &c->call), BP_OK);
    return made;
}

void pool_compare_output(const pool_case *c) {
    reference_pool *p = open_reference(c);
    for (int64_t i = 0; i < pool_elements(&c->output); i++) {
        const reference_window w = reference_pool_window(p, i);
        const double want =
            c->call.kind == BP_POOL_MAX ? (double)w.most : quotient(c->dtype, (double)w.sum, (double)w.divisor);
        const double got = pool_get(&c->output, i);
        if (!(got == want || (isnan(got) && isnan(want)))) {
            fail_msg("%s: output %d is %g instead of %g", c->text, (int)i, got, want);
        }
        if (c->call.indices && pool_get(&c->indices, i) != (double)w.index) {
            fail_msg("%s: index %d is %g instead of %d", c->text, (int)i, pool_get(&c->indices, i), (int)w.index);
        }
    }
    reference_pool_close(p);
    check_unused(c, &c->output, "output");
    check_unused(c, &c->indices, "indices");
}

void pool_compare_gradient(const pool_case *c) {
    static const double eps[] = {[BP_F16] = 0x1p-11, [BP_BF16] = 0x1p-8, [BP_F32] = 0x1p-24, [BP_F64] = 0x1p-53};
    const int64_t all = pool_elements(&c->input);
    reference_number *want = reference_numbers(all);
    reference_pool *p = open_reference(c);
    assert_non_null(want);
    assert_int_equal(reference_pool_gradient(p, c->dtype == BP_F64 ? 0x1p-53L : 0x1p-24L, want), BP_OK);
    for (int64_t i = 0; i < all; i++) {
        /* The last rounding is that to the type. Gradients of maxima are sums of whole numbers. */
        const double value = (double)want[i].value, got = pool_get(&c->input, i);
        const double bound = (double)want[i].error + eps[c->dtype] * (fabs(value) + (double)want[i].error);
        if (!(fabs(got - value) <= (c->call.kind == BP_POOL_MAX ? 0 : bound))) {
            fail_msg("%s: gradient %d is %.17g instead of %.17g", c->text, (int)i, got, value);
        }
    }
    free(want);
    reference_pool_close(p);
    check_unused(c, &c->input, "input");
}

void pool_turn(pool_case *c) {
    test_call_to_pass("pool", &c->call, BP_POOL_BACKWARD);
    pool_mark(&c->input);
    for (int64_t i = 0; i < pool_elements(&c->output); i++) {
        pool_put(c->dtype, pool_element(&c->output, i), (double)pool_between(-4, 4));
    }
}
