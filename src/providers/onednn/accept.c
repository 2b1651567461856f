/* accept.c - describes a convolution as oneDNN sees it, and estimates its time. Pure. */
#include "providers/onednn/onednn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_VERSION = 3 };
#define WEIGHT 2u /* bit of the operand that can be packed */

/* Positions that some operand has: the leading ones may all be 1. */
static int positions_of(const bp_conv_problem *c) {
    int first = 0;
    while (first < BP_MAX_CONV_NDIM - 1 && c->in[first] == 1 && c->out[first] == 1 && c->kernel[first] == 1) {
        first++;
    }
    return BP_MAX_CONV_NDIM - first;
}

static bp__onednn_tensor image(const bp_conv_problem *c, int ndim, int64_t channels, const int64_t *size, int64_t item,
                               int64_t channel, const int64_t *stride) {
    const int first = BP_MAX_CONV_NDIM - ndim;
    bp__onednn_tensor t = {.ndim = 2 + ndim, .size = {c->batch, channels}, .stride = {item, channel}};
    memcpy(t.size + 2, size + first, (size_t)ndim * sizeof *size);
    memcpy(t.stride + 2, stride + first, (size_t)ndim * sizeof *stride);
    return t;
}

/* The weight with the channels of the result first, and the groups before them if there are several. */
static bp__onednn_tensor weight_of(const bp_conv_problem *c, int ndim, bool transposed) {
    const int first = BP_MAX_CONV_NDIM - ndim;
    bp__onednn_tensor t = {0};
    if (c->groups > 1) {
        t.size[t.ndim] = c->groups;
        t.stride[t.ndim++] = c->out_channels * c->w_out;
    }
    t.size[t.ndim] = transposed ? c->in_channels : c->out_channels;
    t.stride[t.ndim++] = transposed ? c->w_in : c->w_out;
    t.size[t.ndim] = transposed ? c->out_channels : c->in_channels;
    t.stride[t.ndim++] = transposed ? c->w_out : c->w_in;
    for (int d = first; d < BP_MAX_CONV_NDIM; d++) {
        t.size[t.ndim] = c->kernel[d];
        t.stride[t.ndim++] = c->w[d];
    }
    return t;
}

/* Gives dimensions of size 1 the stride that a compact tensor would have, which oneDNN expects. `last`: the channels
 * follow the positions. Returns whether all strides are those of that layout. */
static bool is_compact(bp__onednn_tensor *t, bool last) {
    int64_t step = 1;
    bool compact = true;
    for (int i = 0; i < t->ndim; i++) {
        const int back = t->ndim - 1 - i, d = !last || back == 0 ? back : i == 0 ? 1 : back + 1;
        if (t->size[d] == 1) {
            t->stride[d] = step;
        }
        compact = compact && t->stride[d] == step;
        step *= t->size[d];
    }
    return compact;
}

/* Gives dimensions of size 1 a stride beyond the others. Returns whether all strides are positive, and each one spans
 * the dimensions with smaller ones: oneDNN takes no other weights. */
static bool is_nested(bp__onednn_tensor *t) {
    int64_t span = 1;
    for (int n = 0, last = 0; n < t->ndim; n++) {
        int next = -1; /* the dimension with the least stride that is left; `last` has the bits of those before */
        for (int d = 0; d < t->ndim; d++) {
            const bool left = !(last >> d & 1) && t->size[d] > 1;
            next = left && (next < 0 || t->stride[d] < t->stride[next]) ? d : next;
        }
        if (next < 0) {
            break;
        }
        if (t->stride[next] < span) {
            return false;
        }
        last |= 1 << next;
        span = t->stride[next] * t->size[next];
    }
    for (int d = 0; d < t->ndim; d++) {
        t->stride[d] = t->size[d] == 1 ? span : t->stride[d];
    }
    return true;
}

/* Returns whether the tensor is contiguous or channels-last. */
static bool has_layout(bp__onednn_tensor *t, bool last) {
    bp__onednn_tensor tried = *t;
    if (!is_compact(&tried, last)) {
        return false;
    }
    *t = tried;
    return true;
}

/* Sets the padding after the image: what makes the given output of the given input. It may be negative, but must exceed
 * the negative stride, which has no effect if the output has size 1. */
static void set_geometry(bp__onednn_call *call, const bp_conv_problem *c) {
    const int first = BP_MAX_CONV_NDIM - call->ndim;
    for (int i = 0; i < call->ndim; i++) {
        const int d = first + i;
        const int64_t span = (c->kernel[d] - 1) * c->dilation[d] + 1;
        call->stride[i] = c->stride[d];
        call->dilation[i] = c->dilation[d] - 1; /* counted from 0 */
        call->begin[i] = c->padding[d];
        call->end[i] = (c->out[d] - 1) * c->stride[d] + span - c->in[d] - c->padding[d];
        if (c->out[d] == 1 && call->end[i] < 0) {
            call->stride[i] = 1 - call->end[i];
        }
    }
}

static bool describe(bp__onednn_call *call, const bp_problem *problem) {
    const bp_conv_problem *c = &problem->of.conv;
    const int ndim = positions_of(c);
    bp__onednn_tensor x = image(c, ndim, c->groups * c->in_channels, c->in, c->x_batch, c->x_channel, c->x);
    bp__onednn_tensor y = image(c, ndim, c->groups * c->out_channels, c->out, c->y_batch, c->y_channel, c->y);
    const bool last = has_layout(&x, true) && has_layout(&y, true);
    const bool first = !last && has_layout(&x, false) && has_layout(&y, false);
    call->kind = problem->op == BP_OP_CONV         ? BP__ONEDNN_CONVOLVE
                 : problem->op == BP_OP_CONV_INPUT ? BP__ONEDNN_TRANSPOSE
                                                   : BP__ONEDNN_GRADIENT;
    call->ndim = ndim;
    call->source = call->kind == BP__ONEDNN_TRANSPOSE ? y : x;
    call->result = call->kind == BP__ONEDNN_TRANSPOSE ? x : y;
    call->weight = weight_of(c, ndim, call->kind == BP__ONEDNN_TRANSPOSE);
    call->bias = !c->has_bias ? 0 : c->groups * (call->kind == BP__ONEDNN_TRANSPOSE ? c->in_channels : c->out_channels);
    call->relu = c->relu != 0;
    call->swapped = c->transposed != 0;
    set_geometry(call, c);
    return last || first;
}

/* Returns whether the library has kernels for the type on this processor. */
static bool takes_type(const bp__driver *driver, const bp_problem *problem, bp__onednn_call *call,
                       bp_verdict *verdict) {
    const bool wide = driver->host->hardware == BP_CAPABILITY_AVX512;
    call->type = problem->dtype == BP_F32 ? BP__ONEDNN_F32 : BP__ONEDNN_BF16;
    call->fpmath = problem->policy.precision == 2   ? BP__ONEDNN_FPMATH_BF16
                   : problem->policy.precision == 1 ? BP__ONEDNN_FPMATH_TF32
                                                    : BP__ONEDNN_FPMATH_STRICT;
    if (problem->dtype == BP_F32 || (problem->dtype == BP_BF16 && wide)) {
        return true;
    }
    bp__driver_refuse(verdict, BP_REASON_DTYPE, "%s",
                      problem->dtype == BP_BF16 ? "it has kernels for bf16 on processors with AVX-512 only"
                                                : "only f32 and bf16 are offered");
    return false;
}

/* The loops of the library's reference implementation are hundreds of times slower than its kernels. */
static const char *why_not(const bp__driver *driver, const bp_problem *problem, bp__onednn_call *call) {
    const bp_conv_problem *c = &problem->of.conv;
    if (strtol(driver->library->version, NULL, 10) < LEAST_VERSION) {
        return "version 3 or newer is needed";
    }
    if (!describe(call, problem)) {
        return "it reads contiguous and channels-last tensors only";
    }
    if (!is_nested(&call->weight)) {
        return "it reads weights with positive strides only";
    }
    if (c->has_bias && c->bias != 1 && call->bias != 1) {
        return "its bias must be contiguous";
    }
    if (call->kind == BP__ONEDNN_GRADIENT && c->transposed && c->has_bias) {
        return "it has no gradient by the bias of a transposed convolution";
    }
    return c->batch == 0 ? "the batch is empty" : NULL;
}

/* ---- Time ---- */

static double elements(const bp__onednn_tensor *t) {
    double product = 1;
    for (int i = 0; i < t->ndim; i++) {
        product *= (double)t->size[i];
    }
    return product;
}

/* Returns the estimated nanoseconds: multiply-adds at the speed of the hardware, in whole vectors of channels, and the
 * conversion of the weight. Tensors that are not channels-last are converted inside. */
static double cost_of(const bp__driver *driver, const bp_problem *problem, const bp__onednn_call *call, int threads) {
    const bp_conv_problem *c = &problem->of.conv;
    const double rate = driver->host->hardware == BP_CAPABILITY_AVX512 ? 80
                        : driver->host->hardware == BP_CAPABILITY_AVX2 ? 44
                                                                       : 9;
    const double lanes = driver->host->hardware == BP_CAPABILITY_AVX512 ? 16 : 8;
    const double positions = (double)c->batch * (double)c->out[0] * (double)c->out[1] * (double)c->out[2];
    const double taps = (double)c->kernel[0] * (double)c->kernel[1] * (double)c->kernel[2];
    const bool depthwise = c->in_channels == 1 && c->out_channels == 1;
    const double wide = (double)c->out_channels < lanes && !depthwise ? lanes : (double)c->out_channels;
    const double products = positions * taps * (double)c->groups * (double)c->in_channels * wide;
    const bool last = call->source.stride[1] == 1;
    const double images = elements(&call->source) + elements(&call->result);
    const double alone = products / (depthwise ? rate / 2 : rate) + images * (last ? 0.1 : 0.5);
    const bool packed = (problem->policy.packed & WEIGHT) != 0;
    return 1000 + alone / threads + (threads > 1 ? 5000 : 0) + (packed ? 0 : elements(&call->weight) * 0.7);
}

/* Refuses what the library cannot do, or does with reference loops. Otherwise describes the call. */
static bool takes(bp__driver *driver, const bp_problem *problem, bp__onednn_call *call, bp_verdict *verdict) {
    if (problem->op != BP_OP_CONV && problem->op != BP_OP_CONV_INPUT && problem->op != BP_OP_CONV_WEIGHT) {
        bp__driver_refuse(verdict, BP_REASON_OP, "only convolutions are offered");
        return false;
    }
    const char *why = takes_type(driver, problem, call, verdict) ? why_not(driver, problem, call) : NULL;
    if (why) {
        bp__driver_refuse(verdict, BP_REASON_LAYOUT, "%s", why);
    }
    if (verdict->reason == BP_REASON_ACCEPTED && bp__driver_forked(driver)) {
        bp__driver_refuse(verdict, BP_REASON_FORKED,
                          "its threads (%s) had run, or a thread was inside it, when this process was forked",
                          driver->library->threading);
    }
    return verdict->reason == BP_REASON_ACCEPTED;
}

/* Several threads may add up their parts of a gradient in any order, so only one thread repeats its bits. */
static uint32_t properties_of(const bp__driver *driver, const bp_policy *policy, const bp__onednn_call *call) {
    uint32_t properties = BP_PROPERTY_ACCUMULATES_F32;
    properties |= call->fpmath == BP__ONEDNN_FPMATH_BF16   ? BP_PROPERTY_ROUNDS_BELOW_TF32
                  : call->fpmath == BP__ONEDNN_FPMATH_TF32 ? BP_PROPERTY_INPUTS_TF32
                                                           : 0;
    const bool repeats = call->kind != BP__ONEDNN_GRADIENT || call->setup.threads == 1;
    return properties | (repeats ? bp__driver_guarantees(driver, policy, &call->setup) : 0);
}

/* Offers the call on one thread, or on as many as gain. Returns whether it is on several. */
static bool offer(bp__driver *driver, const bp_problem *problem, bp__onednn_call *call, bool alone, bp_offers *offers) {
    const bp_policy *policy = &problem->policy;
    bp_verdict verdict = BP_VERDICT_INIT;
    const int allowed = bp__driver_allowed(driver, policy);
    const bool gains =
        !alone && allowed > 1 && cost_of(driver, problem, call, allowed) < cost_of(driver, problem, call, 1);
    call->setup = bp__driver_thread_policy(driver, policy, false, gains);
    verdict.algorithm = call->kind == BP__ONEDNN_TRANSPOSE ? "deconvolution" : "convolution";
    verdict.packs = call->kind == BP__ONEDNN_GRADIENT ? 0 : WEIGHT;
    if (!(problem->policy.packed & WEIGHT)) {
        snprintf(verdict.text, sizeof verdict.text, "converts the weight in each call");
    }
    verdict.threads = call->setup.threads;
    verdict.cost_ns = cost_of(driver, problem, call, call->setup.threads > 0 ? call->setup.threads : 1);
    verdict.properties = properties_of(driver, policy, call);
    call->deterministic = (verdict.properties & BP_PROPERTY_REPRODUCIBLE) != 0;
    if (call->kind != BP__ONEDNN_GRADIENT) {
        bp__driver_enforce_policy(driver, policy, &call->setup, &verdict);
    }
    offers->add(offers, &verdict, call, sizeof *call);
    return call->setup.threads != 1;
}

void bp__onednn_accept(void *driver, const bp_problem *problem, bp_offers *offers) {
    bp__onednn_call call;
    bp_verdict verdict = BP_VERDICT_INIT;
    memset(&call, 0, sizeof call);
    if (!takes(driver, problem, &call, &verdict)) {
        offers->add(offers, &verdict, NULL, 0);
        return;
    }
    if (offer(driver, problem, &call, false, offers) && call.kind == BP__ONEDNN_GRADIENT) {
        offer(driver, problem, &call, true, offers);
    }
}
