/* job.c - describes the products of matrices that compute a convolution. */
#include "conv.h"

static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Positions of X whose indexes differ by less than a stride. */
static int64_t phases(const bp_conv_problem *c, int d) {
    return bp__least(c->stride[d], c->in[d]);
}

int64_t bp__conv_jobs(const bp_problem *problem) {
    const bp_conv_problem *c = &problem->of.conv;
    return problem->op == BP_OP_CONV ? 1 : phases(c, 0) * phases(c, 1) * phases(c, 2);
}

static bp__conv_axis forward_axis(const bp_conv_problem *c, int d) {
    return (bp__conv_axis){.grid = c->out[d],
                           .result = c->y[d],
                           .size = c->in[d],
                           .stride = c->x[d],
                           .step = c->stride[d],
                           .first = -c->padding[d],
                           .change = c->dilation[d],
                           .taps = c->kernel[d],
                           .weight = c->w[d]};
}

/* Index i of X gets tap t from index (i + padding - t dilation) / stride of Y, if that is a whole number. For the
 * indexes phase, phase + stride, ... these are the taps tap, tap + period, ... */
static bp__conv_axis input_axis(const bp_conv_problem *c, int d, int64_t phase) {
    const int64_t stride = c->stride[d], period = stride / greatest_divisor(stride, c->dilation[d]);
    const int64_t from = phase + c->padding[d];
    int64_t tap = 0;
    while (tap < period && tap < c->kernel[d] && (from - tap * c->dilation[d]) % stride != 0) {
        tap++;
    }
    const bool none = tap >= period || tap >= c->kernel[d];
    return (bp__conv_axis){.grid = (c->in[d] - phase + stride - 1) / stride,
                           .result = c->x[d] * stride,
                           .size = c->out[d],
                           .stride = c->y[d],
                           .step = 1,
                           .first = none ? 0 : (from - tap * c->dilation[d]) / stride,
                           .change = -(period * c->dilation[d] / stride),
                           .taps = none ? 0 : (c->kernel[d] - tap + period - 1) / period,
                           .weight_first = tap * c->w[d],
                           .weight = period * c->w[d]};
}

void bp__conv_job_of(const bp_problem *problem, int64_t index, bp__conv_job *job) {
    const bp_conv_problem *c = &problem->of.conv;
    const bool forward = problem->op == BP_OP_CONV;
    *job = (bp__conv_job){.batch = c->batch,
                          .image_batch = forward ? c->x_batch : c->y_batch,
                          .result_batch = forward ? c->y_batch : c->x_batch,
                          .rows = forward ? c->out_channels : c->in_channels,
                          .channels = forward ? c->in_channels : c->out_channels,
                          .result_channel = forward ? c->y_channel : c->x_channel,
                          .image_channel = forward ? c->x_channel : c->y_channel,
                          .weight_row = forward ? c->w_out : c->w_in,
                          .weight_channel = forward ? c->w_in : c->w_out,
                          .positions = c->batch,
                          .taps = 1};
    for (int d = BP_MAX_CONV_NDIM - 1; d >= 0; d--) {
        if (forward) {
            job->axis[d] = forward_axis(c, d);
        } else {
            const int64_t phase = index % phases(c, d);
            index /= phases(c, d);
            job->axis[d] = input_axis(c, d, phase);
            job->origin += phase * c->x[d];
        }
        job->positions *= job->axis[d].grid;
        job->taps *= job->axis[d].taps;
    }
    job->terms = job->taps * job->channels;
}

/* Whether each position of a dimension reads the element with its index, and no other one. */
static bool copies(const bp__conv_axis *axis) {
    return axis->taps == 1 && axis->first == 0 && axis->step == 1 && axis->grid == axis->size;
}

void bp__conv_join_axes(bp__conv_job *job) {
    enum { LAST = BP_MAX_CONV_NDIM - 1 };
    bp__conv_axis *last = &job->axis[LAST];
    for (int d = LAST - 1; d >= 0 && copies(last); d--) {
        bp__conv_axis *axis = &job->axis[d];
        const bool follows = axis->stride == last->grid * last->stride && axis->result == last->grid * last->result;
        if (!copies(axis) || (axis->grid > 1 && !follows)) {
            return;
        }
        last->grid *= axis->grid;
        last->size = last->grid;
        axis->grid = 1;
        axis->size = 1;
    }
}
