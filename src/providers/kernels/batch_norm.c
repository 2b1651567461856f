/* batch_norm.c - offers and plans batch normalization with given statistics. */
#include "providers/kernels/families.h"

#include <stdlib.h>
#include <string.h>

BP__KERNEL_SOURCE(batch_norm);

enum { X, WEIGHT, BIAS, MEAN, VARIANCE, Y, OPERANDS };
enum { LAST = BP_MAX_NORM_NDIM - 1 };

/* The struct of the same name in sources/batch_norm.cl. */
typedef struct batch_norm {
    int64_t rows, pieces, run;
    int64_t channels;
    int64_t size[BP_MAX_NORM_NDIM], x[BP_MAX_NORM_NDIM], y[BP_MAX_NORM_NDIM];
    int64_t x_channel, y_channel;
    int64_t weight, bias, mean, variance;
    double eps;
    float eps_f32;
    int32_t has_weight, has_bias, relu, by_channels, reserved;
} batch_norm;

static bool is_floating(uint32_t dtype) {
    return dtype >= BP_F16 && dtype <= BP_F64;
}

/* Whether channels are closer together than positions. */
static bool by_channels(const bp_batch_norm_problem *p) {
    return p->channels > 1 && (p->size[LAST] == 1 || llabs(p->x_channel) < llabs(p->x[LAST]));
}

static double elements_of(const bp_batch_norm_problem *p) {
    double all = (double)p->channels;
    for (int d = 0; d < BP_MAX_NORM_NDIM; d++) {
        all *= (double)p->size[d];
    }
    return all;
}

static void accept(const bp_host *host, const bp_device_info *facts, const bp_problem *problem, bp_offers *offers) {
    const bp_batch_norm_problem *p = &problem->of.batch_norm;
    (void)host;
    if (!is_floating(problem->dtype) || !is_floating(p->parameters)) {
        bp__kernel_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32 and f64 are offered");
        return;
    }
    if ((problem->dtype == BP_F64 || p->parameters == BP_F64) &&
        bp__kernel_lacks_f64(facts, "numbers of type f64", offers)) {
        return;
    }
    const double elements = elements_of(p);
    bp__kernel_offer(facts, by_channels(p) ? "channels" : "positions",
                     BP__KERNEL_REPRODUCIBLE | bp__kernel_accumulates(facts),
                     2 * elements * (double)bp__kernel_bytes(problem->dtype), 4 * elements, 1, 0, offers, NULL, 0);
}

static batch_norm layout_of(const bp_problem *problem) {
    const bp_batch_norm_problem *p = &problem->of.batch_norm;
    batch_norm b = {.channels = p->channels,
                    .x_channel = p->x_channel,
                    .y_channel = p->y_channel,
                    .weight = p->stride[WEIGHT],
                    .bias = p->stride[BIAS],
                    .mean = p->stride[MEAN],
                    .variance = p->stride[VARIANCE],
                    .eps = p->eps,
                    .eps_f32 = (float)p->eps,
                    .has_weight = p->present >> WEIGHT & 1,
                    .has_bias = p->present >> BIAS & 1,
                    .relu = p->relu,
                    .by_channels = by_channels(p)};
    memcpy(b.size, p->size, sizeof b.size);
    memcpy(b.x, p->x, sizeof b.x);
    memcpy(b.y, p->y, sizeof b.y);
    return b;
}

/* Cuts rows into pieces: rows of channels, or of positions of one channel. */
static void cut(batch_norm *b, const bp_device_info *facts, bp__kernel_step *step) {
    const int64_t width = b->by_channels ? b->channels : b->size[LAST];
    const int64_t all = b->channels * b->size[0] * b->size[1] * b->size[2] * b->size[3];
    bp__kernel_spread(step, facts, all, 0.5, &b->run);
    b->run = bp__least(b->run, width);
    b->pieces = bp__kernel_divide_up(width, b->run);
    b->rows = all / width;
}

static bp_status plan(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                      const void *found, bp_prepared **prepared) {
    const size_t element = bp__kernel_bytes(problem->dtype),
                 parameter = bp__kernel_bytes(problem->of.batch_norm.parameters);
    batch_norm b = layout_of(problem);
    bp__kernel_step step = {.kernel = "normalize_channels"};
    bp__kernel_plan *steps;
    bp__kernel_options options;
    (void)found;
    bp__kernel_options_begin(&options, device);
    bp__kernel_options_add(&options, " -DX=%s -DP=%s -DWIDE=%s", bp__kernel_type(problem->dtype),
                           bp__kernel_type(problem->of.batch_norm.parameters),
                           bp__kernel_has_f64(device->facts) ? "double" : "float");
    bp_status status = bp__kernel_plan_new(device, verdict->workspace, &steps);
    if (status != BP_OK) {
        return status;
    }
    if (elements_of(&problem->of.batch_norm) > 0) {
        status = bp__kernel_program_get(device, bp__kernel_source_batch_norm, options.text, &step.program);
        cut(&b, device->facts, &step);
        for (int i = 0; i < OPERANDS; i++) {
            bp__kernel_operand(&step, i, i == X || i == Y ? element : parameter);
        }
        bp__kernel_value(&step, &b, sizeof b);
        status = status == BP_OK ? bp__kernel_plan_add(steps, &step) : status;
    }
    return bp__kernel_plan_finish(status, steps, prepared);
}

const bp__kernel_family bp__kernel_norm = {accept, plan};
