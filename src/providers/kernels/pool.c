/* pool.c - offers and plans maxima and averages of windows. */
#include "providers/kernels/families.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

BP__KERNEL_SOURCE(pool);

enum { X, Y, INDICES };

/* The struct of the same name in sources/pool.cl, if INDEX is long. */
typedef struct pooling {
    int64_t total, run;
    int64_t channels;
    int64_t in[3], out[3], taps[3], stride[3], dilation[3], padding[3];
    int64_t x_batch, x_channel, x[3];
    int64_t y_batch, y_channel, y[3];
    int64_t i_batch, i_channel, i[3];
    int64_t divisor;
    int32_t adaptive, has_indices, exclude_padding, reserved;
} pooling;

static double results_of(const bp_pool_problem *p) {
    return (double)p->batch * (double)p->channels * (double)p->out[0] * (double)p->out[1] * (double)p->out[2];
}

/* Elements of a window. */
static double window_of(const bp_pool_problem *p) {
    double all = 1;
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        all *= p->adaptive ? (double)p->in[d] / (double)bp__most(p->out[d], 1) + 1 : (double)p->kernel[d];
    }
    return all;
}

static void accept(const bp_host *host, const bp_device_info *facts, const bp_problem *problem, bp_offers *offers) {
    const bp_pool_problem *p = &problem->of.pool;
    (void)host;
    if (problem->dtype < BP_F16 || problem->dtype > BP_F64) {
        bp__kernel_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32 and f64 are offered");
        return;
    }
    if (problem->dtype == BP_F64 && bp__kernel_lacks_f64(facts, "numbers of type f64", offers)) {
        return;
    }
    bp__kernel_offer(facts, "windows",
                     BP__KERNEL_REPRODUCIBLE |
                         (problem->dtype == BP_F64 ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32),
                     results_of(p) * (double)bp__kernel_bytes(problem->dtype) * 4,
                     results_of(p) * (20 + 4 * window_of(p)), 1, 0, offers, NULL, 0);
}

static pooling pooling_of(const bp_pool_problem *p) {
    pooling of = {.channels = p->channels,
                  .x_batch = p->x_batch,
                  .x_channel = p->x_channel,
                  .y_batch = p->y_batch,
                  .y_channel = p->y_channel,
                  .i_batch = p->i_batch,
                  .i_channel = p->i_channel,
                  .divisor = p->divisor,
                  .adaptive = p->adaptive,
                  .has_indices = p->has_indices,
                  .exclude_padding = p->exclude_padding};
    of.total = p->batch * p->channels * p->out[0] * p->out[1] * p->out[2];
    memcpy(of.in, p->in, sizeof of.in);
    memcpy(of.out, p->out, sizeof of.out);
    memcpy(of.taps, p->kernel, sizeof of.taps);
    memcpy(of.stride, p->stride, sizeof of.stride);
    memcpy(of.dilation, p->dilation, sizeof of.dilation);
    memcpy(of.padding, p->padding, sizeof of.padding);
    memcpy(of.x, p->x, sizeof of.x);
    memcpy(of.y, p->y, sizeof of.y);
    memcpy(of.i, p->i, sizeof of.i);
    return of;
}

enum { NUMBERS = offsetof(pooling, adaptive) / sizeof(int64_t), FLAGS = 4 };

/* The same if INDEX is int. */
typedef struct narrow_pooling {
    int32_t numbers[NUMBERS + FLAGS];
} narrow_pooling;

/* Whether all indices and offsets are ints, also of the positions of windows outside of the input. */
static bool is_narrow(const pooling *of, int64_t batch) {
    const double most = 1 << 30, items = (double)batch, channels = (double)of->channels;
    double x = fabs((double)of->x_batch) * items + fabs((double)of->x_channel) * channels;
    double y = fabs((double)of->y_batch) * items + fabs((double)of->y_channel) * channels;
    double i = fabs((double)of->i_batch) * items + fabs((double)of->i_channel) * channels;
    double places = 1, window = 1, farthest = 0;
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        const double in = (double)of->in[d], out = (double)of->out[d];
        const double taps = (double)of->taps[d] * (double)of->dilation[d];
        x += fabs((double)of->x[d]) * in;
        y += fabs((double)of->y[d]) * out;
        i += fabs((double)of->i[d]) * out;
        places *= in;
        window *= fmax(taps, in);
        farthest = fmax(farthest, of->adaptive ? (in + 1) * (out + 1)
                                               : out * (double)of->stride[d] + taps + (double)of->padding[d] + in);
    }
    return fmax(x, fmax(y, i)) < most && fmax(places, fmax(window, farthest)) < most && (double)of->total < most &&
           fabs((double)of->divisor) < most;
}

static narrow_pooling narrowed(const pooling *of) {
    const int32_t flags[FLAGS] = {of->adaptive, of->has_indices, of->exclude_padding, 0};
    int64_t wide[NUMBERS];
    narrow_pooling narrow;
    memcpy(wide, of, sizeof wide);
    for (int i = 0; i < NUMBERS; i++) {
        narrow.numbers[i] = (int32_t)wide[i];
    }
    memcpy(narrow.numbers + NUMBERS, flags, sizeof flags);
    return narrow;
}

static bp_status add_step(bp__kernel_device *device, const bp_problem *problem, bp__kernel_plan *plan) {
    const bool max = problem->op == BP_OP_MAX_POOL;
    pooling of = pooling_of(&problem->of.pool);
    /* Divisions of longs are slow on devices that are no processors. */
    const bool narrow = !bp__kernel_is_cpu(device->facts) && is_narrow(&of, problem->of.pool.batch);
    bp__kernel_step step = {.kernel = max ? "max_pool" : "avg_pool"};
    bp__kernel_options options;
    bp__kernel_options_begin(&options, device);
    bp__kernel_options_add(&options, " -DX=%s%s", bp__kernel_type(problem->dtype), narrow ? " -DINDEX=int" : "");
    const bp_status status = bp__kernel_program_get(device, bp__kernel_source_pool, options.text, &step.program);
    bp__kernel_spread(&step, device->facts, of.total, 10 + window_of(&problem->of.pool), &of.run);
    bp__kernel_operand(&step, X, bp__kernel_bytes(problem->dtype));
    bp__kernel_operand(&step, Y, bp__kernel_bytes(problem->dtype));
    if (max) {
        bp__kernel_operand(&step, INDICES, sizeof(int64_t));
    }
    const narrow_pooling ints = narrowed(&of);
    bp__kernel_value(&step, narrow ? (const void *)&ints : &of, narrow ? sizeof ints : sizeof of);
    return status == BP_OK ? bp__kernel_plan_add(plan, &step) : status;
}

static bp_status plan(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                      const void *found, bp_prepared **prepared) {
    bp__kernel_plan *steps;
    (void)found;
    bp_status status = bp__kernel_plan_new(device, verdict->workspace, &steps);
    if (status != BP_OK) {
        return status;
    }
    if (results_of(&problem->of.pool) > 0) {
        status = add_step(device, problem, steps);
    }
    return bp__kernel_plan_finish(status, steps, prepared);
}

const bp__kernel_family bp__kernel_pool = {accept, plan};
