/* family.c - describes pooling to dispatch. */
#include "ops/pool/pool.h"

#include <inttypes.h>
#include <stdio.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_pool_problem) == (2 + 9 * BP_MAX_CONV_NDIM + 3 * 2 + 2) * 8, "bytes between the fields");

/* Writes "14x14": the sizes, without leading positions that both operands lack. */
static const char *sizes(const bp_pool_problem *p, const int64_t size[BP_MAX_CONV_NDIM], char buffer[72]) {
    int first = 0;
    size_t used = 0;
    while (first < BP_MAX_CONV_NDIM - 1 && p->in[first] == 1 && p->out[first] == 1 && p->kernel[first] <= 1) {
        first++;
    }
    for (int d = first; d < BP_MAX_CONV_NDIM && used < 72; d++) {
        used += (size_t)snprintf(buffer + used, 72 - used, "%s%" PRId64, d > first ? "x" : "", size[d]);
    }
    return buffer;
}

static bool all_are(const int64_t value[BP_MAX_CONV_NDIM], int64_t one) {
    return value[0] == one && value[1] == one && value[2] == one;
}

static void describe_kernel(const bp_pool_problem *p, char *buffer, size_t size) {
    char kernel[72], stride[72], text[72];
    size_t used = (size_t)snprintf(buffer, size, ", kernel %s, stride %s", sizes(p, p->kernel, kernel),
                                   sizes(p, p->stride, stride));
    if (!all_are(p->dilation, 1)) {
        used += (size_t)snprintf(buffer + used, size - used, ", dilation %s", sizes(p, p->dilation, text));
    }
    if (!all_are(p->padding, 0)) {
        snprintf(buffer + used, size - used, ", padding %s", sizes(p, p->padding, text));
    }
}

/* Writes "f32 8 x 64x56x56 to 28x28, kernel 3x3, stride 2x2". The input is first, also if it is the result. */
static void describe(const bp_problem *problem, char *buffer, size_t size) {
    const bp_pool_problem *p = &problem->of.pool;
    const bool backward = problem->op == BP_OP_MAX_POOL_BACKWARD || problem->op == BP_OP_AVG_POOL_BACKWARD;
    char items[32] = "", in[72], out[72], extra[320] = ", adaptive";
    if (p->batch != 1) {
        snprintf(items, sizeof items, "%" PRId64 " x ", p->batch);
    }
    if (!p->adaptive) {
        describe_kernel(p, extra, sizeof extra);
    }
    snprintf(buffer, size, "%s %s%" PRId64 "x%s %s %s%s%s", bp_dtype_name((bp_dtype)problem->dtype), items, p->channels,
             sizes(p, p->in, in), backward ? "from" : "to", sizes(p, p->out, out), extra,
             p->has_indices ? ", indices" : "");
}

const bp__family bp__family_pool = {
    .size = sizeof(bp_pool_problem),
    .preference = BP_SET_pool_preferred,
    .preferred = &(const bp__preference){"pooling is", "pooling", BP_LIB_DNN},
    .enabled = BP_SET_pool_enabled,
    .precision = BP__NO_SETTING,
    .benchmark = BP_SET_pool_benchmark,
    .make = bp__pool_make,
    .describe = describe,
    .elements = bp__pool_elements,
    .measuring = &bp__measuring_pool,
};
