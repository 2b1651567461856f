/* normalization.c - describes batch normalization with given statistics to oneDNN, and estimates its time.
 *
 * Training and gradients are not offered: the library adds up in f32, norm.h guarantees statistics and sums in f64. */
#include "providers/onednn/onednn.h"

enum { X, WEIGHT, BIAS, MEAN, VARIANCE, Y, OPERANDS };

/* Describes the elements as items, channels and positions. Items and positions of a channels-last tensor are all items.
 * Returns false for other layouts. */
static bool describe_image(bp__onednn_tensor *t, const bp_batch_norm_problem *p, int64_t channel,
                           const int64_t stride[BP_MAX_NORM_NDIM]) {
    const int64_t *size = p->size;
    const int inner = BP_MAX_NORM_NDIM - 1, outer = inner - 1;
    if (size[0] != 1 || size[1] != 1) {
        return false;
    }
    if (channel == 1 || p->channels == 1) { /* in one row, or channels-last */
        *t = (bp__onednn_tensor){4, {size[inner], p->channels, 1, 1}, {p->channels, 1, p->channels, p->channels}};
        return size[outer] == 1 && (stride[inner] == p->channels || size[inner] == 1);
    }
    *t = (bp__onednn_tensor){
        4, {size[outer], p->channels, 1, size[inner]}, {p->channels * size[inner], size[inner], size[inner], 1}};
    return channel == size[inner] && (size[inner] == 1 || stride[inner] == 1) &&
           (size[outer] == 1 || stride[outer] == p->channels * size[inner]);
}

static const char *why_not(const bp_problem *problem) {
    const bp_batch_norm_problem *p = &problem->of.batch_norm;
    if (problem->op != BP_OP_BATCH_NORM) {
        return "it adds up in f32, and statistics and sums must be computed in f64";
    }
    if (p->parameters != BP_F32) {
        return "it takes parameters in f32 only";
    }
    for (int i = WEIGHT; i <= VARIANCE; i++) {
        if (p->present >> i & 1 && p->channels > 1 && p->stride[i] != 1) {
            return "its parameters must be contiguous";
        }
    }
    return p->relu ? "it replaces NaN by 0 where ReLU is fused" : NULL;
}

const char *bp__onednn_describe_normalization(bp__onednn_call *call, const bp_problem *problem) {
    static const int arguments[OPERANDS] = {BP__ONEDNN_ARG_SRC,  BP__ONEDNN_ARG_SCALE,    BP__ONEDNN_ARG_SHIFT,
                                            BP__ONEDNN_ARG_MEAN, BP__ONEDNN_ARG_VARIANCE, BP__ONEDNN_ARG_DST};
    static const int places[OPERANDS] = {BP__ONEDNN_SOURCE,   BP__ONEDNN_WEIGHT,   BP__ONEDNN_BIAS,
                                         BP__ONEDNN_BIAS + 1, BP__ONEDNN_BIAS + 2, BP__ONEDNN_RESULT};
    const bp_batch_norm_problem *p = &problem->of.batch_norm;
    const int type = bp__onednn_type(problem->dtype);
    const char *why = why_not(problem);
    bp__onednn_tensor x, y;
    if (why) {
        return why;
    }
    if (!describe_image(&x, p, p->x_channel, p->x) || !describe_image(&y, p, p->y_channel, p->y) ||
        x.size[0] != y.size[0]) {
        return "it reads contiguous and channels-last tensors only";
    }
    call->kind = BP__ONEDNN_NORMALIZE;
    call->eps = (float)p->eps;
    call->flags = BP__ONEDNN_GIVEN_STATISTICS;
    call->flags |= p->present >> WEIGHT & 1 ? BP__ONEDNN_WITH_SCALE : 0;
    call->flags |= p->present >> BIAS & 1 ? BP__ONEDNN_WITH_SHIFT : 0;
    const bp__onednn_tensor parameter = {.ndim = 1, .size = {p->channels}, .stride = {1}};
    for (int i = 0; i < OPERANDS; i++) {
        const bool is_image = i == X || i == Y;
        if (is_image || p->present >> i & 1) {
            call->operand[places[i]] = (bp__onednn_operand){arguments[i], i, is_image ? type : BP__ONEDNN_F32,
                                                            i == X   ? x
                                                            : i == Y ? y
                                                                     : parameter};
        }
    }
    return NULL;
}

double bp__onednn_normalization_ns(const bp__driver *driver, const bp_problem *problem, const bp__onednn_call *call,
                                   int threads) {
    const double values = bp__onednn_elements(&call->operand[BP__ONEDNN_SOURCE].tensor);
    const double alone = values * (driver->host->hardware == BP_CAPABILITY_AVX512 ? 0.1 : 0.2) +
                         10 * (double)problem->of.batch_norm.channels;
    return 1500 + alone / threads + (threads > 1 ? BP__ONEDNN_TEAM_NS : 0);
}
