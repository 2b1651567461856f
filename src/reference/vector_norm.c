/* vector_norm.c - computes norms of vectors in long double. */
#include "reference/results.h"
#include "reference/walk.h"

#include <float.h>
#include <math.h>

static bool is_reduced(const bp_linalg_call *call, int ndim, int dim) {
    for (int i = 0; i < call->axis_count; i++) {
        if (call->axes[i] == dim || call->axes[i] + ndim == dim) {
            return true;
        }
    }
    return !call->axes;
}

static long double magnitude(const wide_tensor *a, int64_t at) {
    return a->parts == 2 ? hypotl(a->data[2 * at], a->data[2 * at + 1]) : fabsl((long double)a->data[at]);
}

/* Returns the norm of the elements of `inner` from `start` on. Long double has a range in which no power of a float64
 * between the largest and the smallest of them overflows, once it is divided by the largest. */
static long double norm_of(const wide_tensor *a, int64_t start, const walk *inner, double order) {
    long double largest = 0, smallest = HUGE_VALL, sum = 0;
    int64_t count = walk_count(inner);
    for (int64_t i = 0; i < count; i++) {
        long double x = magnitude(a, start + walk_offset(inner, i));
        if (isnan(x)) {
            return x;
        }
        largest = x > largest ? x : largest;
        smallest = x < smallest ? x : smallest;
        sum += x != 0;
    }
    if (order == 0 || isinf(order)) {
        return order == 0 ? sum : order > 0 ? largest : smallest;
    }
    long double unit = order > 0 ? largest : smallest;
    if (count == 0 || unit == 0 || isinf(unit)) {
        return count == 0 && order < 0 ? HUGE_VALL : unit;
    }
    sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += powl(magnitude(a, start + walk_offset(inner, i)) / unit, order);
    }
    return unit * powl(sum, 1 / (long double)order);
}

typedef struct norms {
    wide_tensor a;
    walk outer, inner;
    double order;
    long double units;
} norms;

/* Sums of powers have a rounding for each term, and powers two; the root divides the error of the sum by the order,
 * which amplifies it if that is below 1. */
static reference_number norm_element(void *user, int64_t index) {
    const norms *n = user;
    const long double value = norm_of(&n->a, walk_offset(&n->outer, index), &n->inner, n->order);
    return (reference_number){value, isfinite(value) ? n->units * value : 0};
}

bp_status reference_of_vector_norm(reference_results *made, const bp_linalg_call *call, const DLTensor *a,
                                   const DLTensor *out) {
    norms n = {.order = call->order};
    const bp_dtype dtype = bp_dtype_from_dlpack(out->dtype);
    int64_t strides[BP_MAX_NDIM];
    *made = (reference_results){.count = 0};
    bp_status status = wide_make(&n.a, a, false);
    walk_compact_strides(a, strides);
    for (int i = 0; i < a->ndim; i++) {
        walk_add(is_reduced(call, a->ndim, i) ? &n.inner : &n.outer, a->shape[i], strides[i]);
    }
    const int64_t terms = walk_count(&n.inner);
    const double divisor = call->order != 0 && fabs(call->order) < 1 ? fabs(call->order) : 1;
    n.units = 4 * ((long double)terms / (long double)divisor + 4) * (long double)reference_sum_unit(dtype);
    status = status == BP_OK ? reference_add_result(made, "output", out, terms, norm_element, &n) : status;
    for (int i = 0; i < made->count; i++) {
        made->of[i].values.measure = REFERENCE_SUMS;
    }
    wide_free(&n.a);
    return status;
}
