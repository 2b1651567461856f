/* pool.c - describes averages of windows and their gradients to oneDNN, and estimates their time.
 *
 * Its maxima are not offered: they ignore NaN, which pool.h lets win, and the places that they keep for the gradient
 * are not what `indices` has. */
#include "providers/onednn/onednn.h"

#include <string.h>

/* Positions that some operand has: the leading ones may all be 1. */
static int positions_of(const bp_pool_problem *p) {
    int first = 0;
    while (first < BP_MAX_CONV_NDIM - 1 && p->in[first] == 1 && p->out[first] == 1 && p->kernel[first] == 1 &&
           p->padding[first] == 0) {
        first++;
    }
    return BP_MAX_CONV_NDIM - first;
}

static bp__onednn_tensor image(const bp_pool_problem *p, int ndim, const int64_t *size, int64_t item, int64_t channel,
                               const int64_t *stride) {
    const int first = BP_MAX_CONV_NDIM - ndim;
    bp__onednn_tensor t = {.ndim = 2 + ndim, .size = {p->batch, p->channels}, .stride = {item, channel}};
    memcpy(t.size + 2, size + first, (size_t)ndim * sizeof *size);
    memcpy(t.stride + 2, stride + first, (size_t)ndim * sizeof *stride);
    return t;
}

/* Sets the windows. Returns whether the library's last window has the divisor of pool.h, which does not count places
 * behind the padding. */
static bool set_windows(bp__onednn_call *call, const bp_pool_problem *p) {
    bool same = true;
    for (int i = 0; i < call->ndim; i++) {
        const int d = BP_MAX_CONV_NDIM - call->ndim + i;
        const int64_t end = (p->out[d] - 1) * p->stride[d] + p->kernel[d] - p->in[d] - p->padding[d];
        call->kernel[i] = p->kernel[d];
        call->stride[i] = p->stride[d];
        call->begin[i] = p->padding[d];
        call->end[i] = end > 0 ? end : 0; /* elements that no window has need no negative padding */
        same = same && end <= p->padding[d];
    }
    return same || p->exclude_padding;
}

static bool windows_overlap(const bp_pool_problem *p) {
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        if (p->out[d] > 1 && p->stride[d] < p->kernel[d]) {
            return true;
        }
    }
    return false;
}

const char *bp__onednn_describe_pool(bp__onednn_call *call, const bp_problem *problem) {
    const bp_pool_problem *p = &problem->of.pool;
    const int type = bp__onednn_type(problem->dtype);
    const bool backward = problem->op == BP_OP_AVG_POOL_BACKWARD;
    if (problem->op != BP_OP_AVG_POOL && !backward) {
        return "its maxima ignore NaN, and it keeps their places in a layout of its own";
    }
    if (p->adaptive || p->divisor != 0) {
        return p->adaptive ? "it has no adaptive windows" : "it has no divisor of the caller";
    }
    if (p->batch == 0 || p->channels == 0) {
        return "the tensors are empty";
    }
    if (backward && (problem->dtype == BP_F16 || problem->dtype == BP_BF16) && windows_overlap(p)) {
        return "it rounds the sum of a gradient after each window";
    }
    call->kind = backward ? BP__ONEDNN_AVERAGE_BACKWARD : BP__ONEDNN_AVERAGE;
    call->ndim = positions_of(p);
    call->algorithm = p->exclude_padding ? BP__ONEDNN_AVERAGE_EXCLUDING : BP__ONEDNN_AVERAGE_INCLUDING;
    bp__onednn_tensor x = image(p, call->ndim, p->in, p->x_batch, p->x_channel, p->x);
    bp__onednn_tensor y = image(p, call->ndim, p->out, p->y_batch, p->y_channel, p->y);
    if (!bp__onednn_is_image(&x, &y)) {
        return "it reads contiguous and channels-last tensors only";
    }
    call->operand[BP__ONEDNN_SOURCE] =
        (bp__onednn_operand){backward ? BP__ONEDNN_ARG_DIFF_SRC : BP__ONEDNN_ARG_SRC, backward, type, x};
    call->operand[BP__ONEDNN_RESULT] =
        (bp__onednn_operand){backward ? BP__ONEDNN_ARG_DIFF_DST : BP__ONEDNN_ARG_DST, !backward, type, y};
    return set_windows(call, p) ? NULL : "its divisor counts places behind the padding, which a window may have";
}

/* Contiguous tensors have loops without vectors, except on processors with AVX-512, where they are transposed. A vector
 * takes the same time for fewer channels. */
double bp__onednn_pool_ns(const bp__driver *driver, const bp_problem *problem, const bp__onednn_call *call,
                          int threads) {
    const bp_pool_problem *p = &problem->of.pool;
    const bp__onednn_tensor *x = &call->operand[BP__ONEDNN_SOURCE].tensor,
                            *y = &call->operand[BP__ONEDNN_RESULT].tensor;
    const bool wide = driver->host->hardware == BP_CAPABILITY_AVX512, last = x->stride[1] == 1;
    const int64_t vector = wide ? 16 : 8, full = (p->channels + vector - 1) / vector * vector;
    const double filled = last ? (double)full / (double)p->channels : 1;
    const double taps = (double)p->kernel[0] * (double)p->kernel[1] * (double)p->kernel[2];
    const double per_tap = last ? (wide ? 0.02 : 0.022) : wide ? 0.1 : 3;
    const double per_element = call->kind == BP__ONEDNN_AVERAGE ? 0.05 : 0.16;
    const double alone = taps * per_tap * bp__onednn_elements(y) + per_element * bp__onednn_elements(x);
    return 500 + alone * filled / threads + (threads > 1 ? BP__ONEDNN_TEAM_NS : 0);
}
