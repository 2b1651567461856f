/* overlap.c - tests whether two tensors share memory, because outputs of operations must not.
 *
 * Panels of one matrix and interleaved columns span a common range of addresses without sharing an element, and
 * programs use such views often. So the ranges are only the first test. The second test is whether steps of both
 * tensors can add up to the distance between their first elements. This is a bounded integer problem. It is solved
 * largest step first, because nested strides, as in real arrays, leave very few step counts at each level.
 */
#include "tensor/internal.h"

#include <stdlib.h>

/* A step of `stride` bytes that may be taken from `low` to `high` times. */
typedef struct step {
    int64_t stride, low, high;
} step;

typedef struct search {
    step steps[2 * BP_MAX_NDIM];
    int64_t reach_low[2 * BP_MAX_NDIM + 1], reach_high[2 * BP_MAX_NDIM + 1]; /* of the steps from this index on */
    int count;
    int budget;
    int64_t element;
} search;

/* Merges dimensions with equal strides into one with a larger range. This keeps the search short for views of one
 * array. */
static void add_step(search *s, int64_t stride, int64_t low, int64_t high) {
    if (stride < 0) {
        stride = -stride;
        int64_t swapped = -low;
        low = -high;
        high = swapped;
    }
    for (int i = 0; i < s->count; i++) {
        if (s->steps[i].stride == stride) {
            s->steps[i].low += low;
            s->steps[i].high += high;
            return;
        }
    }
    s->steps[s->count++] = (step){stride, low, high};
}

static void add_tensor(search *s, const DLTensor *t, int sign) {
    int64_t strides[BP_MAX_NDIM];
    bp__tensor_strides(t, strides);
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] > 1 && strides[i] != 0) {
            int64_t most = t->shape[i] - 1;
            add_step(s, strides[i] * s->element, sign > 0 ? 0 : -most, sign > 0 ? most : 0);
        }
    }
}

static int longer_first(const void *x, const void *y) {
    int64_t a = ((const step *)x)->stride;
    int64_t b = ((const step *)y)->stride;
    return (a < b) - (a > b);
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Returns whether the steps from `at` on can reduce `distance` to less than one element. */
static bool is_reachable(search *s, int at, int64_t distance) {
    if (distance + s->reach_high[at] <= -s->element || distance + s->reach_low[at] >= s->element) {
        return false;
    }
    if (at == s->count || --s->budget < 0) {
        return true;
    }
    const step *now = &s->steps[at];
    int64_t first = floor_div(-s->element - distance - s->reach_high[at + 1], now->stride);
    int64_t last = floor_div(s->element - distance - s->reach_low[at + 1], now->stride) + 1;
    first = first < now->low ? now->low : first;
    last = last > now->high ? now->high : last;
    for (int64_t n = first; n <= last; n++) {
        if (is_reachable(s, at + 1, distance + n * now->stride)) {
            return true;
        }
    }
    return false;
}

bool bp__tensor_overlap(const DLTensor *a, const DLTensor *b) {
    uintptr_t a_low, a_high, b_low, b_high;
    bool addresses = bp__tensor_has_address(a) && bp__tensor_has_address(b);
    if (!addresses && (a->data != b->data || a->device.device_type != b->device.device_type)) {
        return false;
    }
    bp__tensor_span(a, &a_low, &a_high);
    bp__tensor_span(b, &b_low, &b_high);
    if (a_low == a_high || b_low == b_high || a_high <= b_low || b_high <= a_low) {
        return false;
    }
    size_t a_size = bp_dtype_size(bp_dtype_from_dlpack(a->dtype));
    if (a_size != bp_dtype_size(bp_dtype_from_dlpack(b->dtype))) {
        return true;
    }
    search s = {.budget = 10000, .element = (int64_t)a_size};
    add_tensor(&s, a, 1);
    add_tensor(&s, b, -1);
    qsort(s.steps, (size_t)s.count, sizeof s.steps[0], longer_first);
    for (int i = s.count - 1; i >= 0; i--) {
        s.reach_low[i] = s.reach_low[i + 1] + s.steps[i].low * s.steps[i].stride;
        s.reach_high[i] = s.reach_high[i + 1] + s.steps[i].high * s.steps[i].stride;
    }
    return is_reachable(&s, 0, (int64_t)(bp__tensor_position(a) - bp__tensor_position(b)));
}
