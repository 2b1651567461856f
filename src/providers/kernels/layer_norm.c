/* layer_norm.c - offers and plans layer, RMS and group normalization. */
#include "providers/kernels/families.h"

#include <string.h>

BP__KERNEL_SOURCE(layer_norm);

enum { LANES = 16, DIMS = 12 }; /* lanes of a tile; most dimensions, because there are six operands */
enum { X, WEIGHT, BIAS, Y, MEAN, INVERSE_STD };

/* The struct of the same name in sources/layer_norm.cl. */
typedef struct normalization {
    double eps;
    float eps_f32;
    int32_t subtract_mean, present, reserved;
    int64_t parameter[4][DIMS];
} normalization;

static const bp__kernel_walk_limits limits = {.lanes = LANES, .most_parts = 32, .least = 4096, .longest = INT64_MAX};

static bool walk_of(bp__kernel_walk *walk, const bp_problem *problem, const bp_device_info *facts) {
    const bp_layer_norm_problem *p = &problem->of.layer_norm;
    if (p->ndim > DIMS) {
        return false;
    }
    memset(walk, 0, sizeof *walk);
    walk->ndim = p->ndim;
    walk->kept_ndim = p->row_ndim;
    for (int d = 0; d < p->ndim; d++) {
        walk->size[d] = p->size[d];
        walk->stride[0][d] = p->stride[X][d];
        walk->stride[1][d] = p->stride[Y][d];
    }
    return bp__kernel_walk_divide(walk, 2, facts, &limits);
}

/* Bytes of the sums of all parts. */
static size_t sums_of(const bp__kernel_walk *walk) {
    return walk->parts > 1 ? ((size_t)(walk->parts * walk->results) * sizeof(double) + 63) / 64 * 64 : 0;
}

static bool is_floating(uint32_t dtype) {
    return dtype >= BP_F16 && dtype <= BP_F64;
}

static void accept(const bp_host *host, const bp_device_info *facts, const bp_problem *problem, bp_offers *offers) {
    bp__kernel_walk walk;
    (void)host;
    if (!is_floating(problem->dtype) || !is_floating(problem->of.layer_norm.parameters)) {
        bp__kernel_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32 and f64 are offered");
        return;
    }
    if ((problem->dtype == BP_F64 || problem->of.layer_norm.parameters == BP_F64) &&
        bp__kernel_lacks_f64(facts, "numbers of type f64", offers)) {
        return;
    }
    if (!walk_of(&walk, problem, facts)) {
        bp__kernel_refuse(offers, BP_REASON_LAYOUT, "more than 12 dimensions are left after neighbours were merged");
        return;
    }
    const double elements = (double)walk.results * (double)walk.reduced,
                 element = (double)bp__kernel_bytes(problem->dtype);
    bp__kernel_offer(facts, walk.columns ? "columns" : "rows", BP__KERNEL_REPRODUCIBLE | bp__kernel_accumulates(facts),
                     elements * element * 4, elements * 10, walk.parts > 1 ? 3 : 1, 2 * sums_of(&walk), offers, NULL,
                     0);
}

/* ---- Plans ---- */

typedef enum stage { DIFFERENCES, SQUARES, WRITE, STAGES } stage;

static void add_tensors(bp__kernel_step *step, const bp_problem *problem) {
    const size_t element = bp__kernel_bytes(problem->dtype),
                 parameter = bp__kernel_bytes(problem->of.layer_norm.parameters);
    bp__kernel_operand(step, X, element);
    bp__kernel_operand(step, WEIGHT, parameter);
    bp__kernel_operand(step, BIAS, parameter);
    bp__kernel_operand(step, Y, element);
    bp__kernel_operand(step, MEAN, parameter);
    bp__kernel_operand(step, INVERSE_STD, parameter);
}

static normalization normalization_of(const bp_problem *problem) {
    static const int operands[] = {WEIGHT, BIAS, MEAN, INVERSE_STD};
    const bp_layer_norm_problem *p = &problem->of.layer_norm;
    normalization f = {
        .eps = p->eps, .eps_f32 = (float)p->eps, .subtract_mean = p->subtract_mean, .present = p->present};
    for (int i = 0; i < 4; i++) {
        memcpy(f.parameter[i], p->stride[operands[i]], sizeof f.parameter[i]);
    }
    return f;
}

/* With several parts, the sums of squares begin after the sums of differences. */
static bp_status add_stage(bp__kernel_device *device, const bp_problem *problem, const bp__kernel_walk *walk,
                           stage which, bp__kernel_program *program, bp__kernel_plan *plan) {
    static const char *const kernels[STAGES] = {"differences_of_parts", "squares_of_parts", "normalize_parts"};
    const normalization f = normalization_of(problem);
    bp__kernel_step step = {.program = program, .kernel = walk->parts > 1 ? kernels[which] : "normalize_rows"};
    bp__kernel_walk_bytes packed;
    bp__kernel_walk_pack(walk, 2, DIMS, &packed);
    if (which == WRITE) {
        add_tensors(&step, problem);
    } else {
        bp__kernel_operand(&step, X, bp__kernel_bytes(problem->dtype));
    }
    if (walk->parts > 1) {
        bp__kernel_workspace(&step, 0, sizeof(double));
        if (which != DIFFERENCES) {
            bp__kernel_workspace(&step, sums_of(walk), sizeof(double));
        }
    }
    bp__kernel_value(&step, packed.bytes, packed.size);
    if (which == WRITE) {
        bp__kernel_value(&step, &f, sizeof f);
    } else if (which == SQUARES) {
        bp__kernel_value(&step, &f.subtract_mean, sizeof f.subtract_mean);
    }
    bp__kernel_walk_spread(&step, walk, device->facts, false);
    return bp__kernel_plan_add(plan, &step);
}

static bp_status plan(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                      const void *found, bp_prepared **prepared) {
    bp__kernel_walk walk;
    bp__kernel_plan *steps;
    bp__kernel_options options;
    bp__kernel_program *program;
    (void)found;
    walk_of(&walk, problem, device->facts);
    bp_status status = bp__kernel_plan_new(device, verdict->workspace, &steps);
    if (status != BP_OK) {
        return status;
    }
    bp__kernel_options_begin(&options, device);
    bp__kernel_options_add(&options, " -DX=%s -DP=%s -DDIMS=%d", bp__kernel_type(problem->dtype),
                           bp__kernel_type(problem->of.layer_norm.parameters), DIMS);
    bp__kernel_walk_options(&options, device->facts, &limits);
    if (walk.results > 0) {
        status = bp__kernel_program_get(device, bp__kernel_source_layer_norm, options.text, &program);
        for (stage s = walk.parts > 1 ? DIFFERENCES : WRITE; s < STAGES && status == BP_OK; s++) {
            if (s != DIFFERENCES || problem->of.layer_norm.subtract_mean) {
                status = add_stage(device, problem, &walk, s, program, steps);
            }
        }
    }
    return bp__kernel_plan_finish(status, steps, prepared);
}

const bp__kernel_family bp__kernel_layer_norm = {accept, plan};
