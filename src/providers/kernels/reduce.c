/* reduce.c - offers and plans reductions, variances, and softmax. */
#include "providers/kernels/families.h"

#include <math.h>
#include <string.h>

BP__KERNEL_SOURCE(reduce);
BP__KERNEL_SOURCE(softmax);
BP__KERNEL_SOURCE(variance);

enum { LANES = 16 }; /* of a tile */

static bool is_floating(uint32_t dtype) {
    return dtype >= BP_F16 && dtype <= BP_F64;
}

/* ---- The division of the work ---- */

/* A sum of a contiguous row has at most 200 + n / 8192 roundings: roundings of 128 elements of a lane, of its blocks,
 * of the lanes, and of the parts. */
static const bp__kernel_walk_limits limits = {.lanes = LANES, .most_parts = 32, .least = 4096, .longest = 1 << 17};

static bool walk_of(bp__kernel_walk *walk, const bp_problem *problem, const bp_device_info *facts) {
    const bp_reduce_problem *p = &problem->of.reduce;
    if (p->ndim > BP__KERNEL_DIMS) {
        return false;
    }
    memset(walk, 0, sizeof *walk);
    walk->ndim = p->ndim;
    walk->kept_ndim = p->kept_ndim;
    memcpy(walk->size, p->size, sizeof walk->size);
    memcpy(walk->stride[0], p->x, sizeof walk->stride[0]);
    memcpy(walk->stride[1], p->y, sizeof walk->stride[1]);
    return bp__kernel_walk_divide(walk, 2, facts, &limits);
}

/* Bytes of the values of all parts, which begin with the values of sums or extremes; the indices of extremes, or the
 * sums of softmax, come after them. All have up to 8 bytes. */
static size_t values_of(const bp__kernel_walk *walk) {
    return walk->parts > 1 ? ((size_t)(walk->parts * walk->results) * 8 + 63) / 64 * 64 : 0;
}

static size_t workspace_of(const bp__kernel_walk *walk) {
    return 2 * values_of(walk);
}

/* ---- Reductions ---- */

static bool is_sum(const bp_problem *problem) {
    return problem->of.reduce.kind <= BP_REDUCE_MEAN;
}

static bool is_position(const bp_problem *problem) {
    return problem->of.reduce.kind == BP_REDUCE_ARGMAX || problem->of.reduce.kind == BP_REDUCE_ARGMIN;
}

static bool is_truth(const bp_problem *problem) {
    return problem->of.reduce.kind == BP_REDUCE_ANY || problem->of.reduce.kind == BP_REDUCE_ALL;
}

static void add_truth_options(bp__kernel_options *options, uint32_t x) {
    const bool function = x == BP_F32 || x == BP_F64;
    const char *word = bp__kernel_bytes(x) == 8   ? "ulong"
                       : bp__kernel_bytes(x) == 4 ? "uint"
                       : bp__kernel_bytes(x) == 2 ? "ushort"
                                                  : "uchar";
    const char *bits = !is_floating(x)            ? "-1"
                       : bp__kernel_bytes(x) == 8 ? "LONG_MAX"
                       : bp__kernel_bytes(x) == 4 ? "INT_MAX"
                                                  : "SHRT_MAX";
    bp__kernel_options_add(options, " -DTRUTHS -DSUM=int -DWORD=%s -DAS_WORD=%s%s -DBITS=%s", word,
                           function ? "as_" : "", function ? word : "", bits);
}

static bp_status reduce_program(bp__kernel_device *device, const bp_problem *problem, bp__kernel_program **program) {
    const uint32_t x = problem->dtype, y = problem->of.reduce.output, kind = problem->of.reduce.kind;
    const bool greatest = kind == BP_REDUCE_MAX || kind == BP_REDUCE_ARGMAX;
    bp__kernel_options options;
    bp__kernel_options_begin(&options, device);
    bp__kernel_options_add(&options, " -DX=%s -DY=%s -DNUMBER=number_%s%s", bp__kernel_type(x), bp__kernel_type(y),
                           bp__kernel_type(y), is_floating(x) ? "" : " -DINTEGER");
    bp__kernel_walk_options(&options, device->facts, &limits);
    if (is_truth(problem)) {
        add_truth_options(&options, x);
    } else if (is_sum(problem)) {
        bp__kernel_options_add(&options, " -DSUM=%s", is_floating(x) ? "wide" : "ulong");
    } else {
        static const char *const worst[][2] = {
            {"INFINITY", "-INFINITY"}, {"INT_MAX", "INT_MIN"}, {"LONG_MAX", "LONG_MIN"}};
        bp__kernel_options_add(&options, " -DVALUE=number_%s -DEXCEEDS=%s -DWORST=%s%s", bp__kernel_type(x),
                               greatest ? "ABOVE" : "BELOW",
                               worst[is_floating(x) ? 0
                                     : x == BP_I32  ? 1
                                                    : 2][greatest],
                               is_position(problem) ? " -DPOSITIONS" : "");
    }
    return bp__kernel_program_get(device, bp__kernel_source_reduce, options.text, program);
}

static bp_status add_reduction(bp__kernel_device *device, const bp_problem *problem, const bp__kernel_walk *walk,
                               bp__kernel_plan *plan) {
    static const char *const parts[BP_REDUCE_ALL + 1] = {
        "sum_part", "prod_part", "mean_part", [BP_REDUCE_ANY] = "any_part", [BP_REDUCE_ALL] = "all_part"};
    static const char *const joins[BP_REDUCE_ALL + 1] = {
        "sum_join", "prod_join", "mean_join", [BP_REDUCE_ANY] = "any_join", [BP_REDUCE_ALL] = "all_join"};
    const bool truth = is_truth(problem), sum = is_sum(problem) || truth;
    const uint32_t kind = problem->of.reduce.kind;
    const size_t value = truth ? sizeof(int32_t) : sum || problem->dtype == BP_F64 || problem->dtype == BP_I64 ? 8 : 4;
    bp__kernel_step part = {.kernel = sum ? parts[kind] : "extreme_part"};
    bp__kernel_step join = {.kernel = sum ? joins[kind] : "extreme_join"};
    bp_status status = reduce_program(device, problem, &part.program);
    join.program = part.program;
    bp__kernel_operand(&part, 0, bp__kernel_bytes(problem->dtype));
    bp__kernel_step *const steps[] = {&part, &join};
    bp__kernel_walk_bytes packed;
    bp__kernel_walk_pack(walk, 2, BP__KERNEL_DIMS, &packed);
    for (int i = 0; i < 2; i++) {
        bp__kernel_operand(steps[i], 1, bp__kernel_bytes(problem->of.reduce.output));
        bp__kernel_workspace(steps[i], 0, value);
        if (!sum) {
            bp__kernel_workspace(steps[i], values_of(walk), sizeof(int64_t));
        }
        bp__kernel_value(steps[i], packed.bytes, packed.size);
        bp__kernel_walk_spread(steps[i], walk, device->facts, i == 1);
    }
    status = status == BP_OK ? bp__kernel_plan_add(plan, &part) : status;
    return status == BP_OK && walk->parts > 1 ? bp__kernel_plan_add(plan, &join) : status;
}

/* ---- Variances ---- */

/* The struct of the same name in sources/variance.cl. */
typedef struct scaling {
    double divisor;
    float divisor_f32;
    int32_t root;
} scaling;

static bp_status variance_program(bp__kernel_device *device, const bp_problem *problem, bp__kernel_program **program) {
    bp__kernel_options options;
    bp__kernel_options_begin(&options, device);
    bp__kernel_options_add(&options, " -DX=%s", bp__kernel_type(problem->dtype));
    bp__kernel_walk_options(&options, device->facts, &limits);
    return bp__kernel_program_get(device, bp__kernel_source_variance, options.text, program);
}

/* The sums of squares begin after the sums of differences in the workspace. */
static bp_status add_variance(bp__kernel_device *device, const bp_problem *problem, const bp__kernel_walk *walk,
                              bp__kernel_plan *plan) {
    enum { DIFFERENCES, SQUARES, WRITE, STEPS };
    static const char *const kernels[STEPS] = {"differences_of_parts", "squares_of_parts", "variance_join"};
    const size_t element = bp__kernel_bytes(problem->dtype);
    const double divisor = fmax((double)walk->reduced - problem->of.reduce.correction, 0);
    const scaling f = {divisor, (float)divisor, problem->of.reduce.kind == BP_STD};
    bp__kernel_program *program;
    bp__kernel_walk_bytes packed;
    bp__kernel_walk_pack(walk, 2, BP__KERNEL_DIMS, &packed);
    bp_status status = variance_program(device, problem, &program);
    for (int i = walk->parts > 1 ? DIFFERENCES : WRITE; i < STEPS && status == BP_OK; i++) {
        bp__kernel_step step = {.program = program, .kernel = walk->parts > 1 ? kernels[i] : "variance_rows"};
        if (i != WRITE || walk->parts == 1) {
            bp__kernel_operand(&step, 0, element);
        }
        if (i == WRITE) {
            bp__kernel_operand(&step, 1, element);
        }
        if (walk->parts > 1 && i != WRITE) {
            bp__kernel_workspace(&step, 0, sizeof(double));
        }
        if (walk->parts > 1 && i != DIFFERENCES) {
            bp__kernel_workspace(&step, values_of(walk), sizeof(double));
        }
        bp__kernel_value(&step, packed.bytes, packed.size);
        if (i == WRITE) {
            bp__kernel_value(&step, &f, sizeof f);
        }
        bp__kernel_walk_spread(&step, walk, device->facts, i == WRITE && walk->parts > 1);
        status = bp__kernel_plan_add(plan, &step);
    }
    return status;
}

/* ---- Softmax ---- */

static bp_status softmax_program(bp__kernel_device *device, const bp_problem *problem, bp__kernel_program **program) {
    bp__kernel_options options;
    bp__kernel_options_begin(&options, device);
    bp__kernel_options_add(&options, " -DX=%s%s", bp__kernel_type(problem->dtype),
                           problem->dtype == BP_F64 ? " -DCOMPUTE_F64" : "");
    bp__kernel_walk_options(&options, device->facts, &limits);
    return bp__kernel_program_get(device, bp__kernel_source_softmax, options.text, program);
}

static bp_status add_softmax(bp__kernel_device *device, const bp_problem *problem, const bp__kernel_walk *walk,
                             bp__kernel_plan *plan) {
    const size_t element = bp__kernel_bytes(problem->dtype), number = problem->dtype == BP_F64 ? 8 : 4;
    const int32_t logarithm = problem->of.reduce.kind == BP_LOG_SOFTMAX;
    enum { GREATEST, SUMS, WRITE, STEPS };
    static const char *const kernels[STEPS] = {"greatest_of_parts", "sums_of_parts", "write_parts"};
    bp__kernel_program *program;
    bp__kernel_walk_bytes packed;
    bp__kernel_walk_pack(walk, 2, BP__KERNEL_DIMS, &packed);
    bp_status status = softmax_program(device, problem, &program);
    for (int i = walk->parts > 1 ? GREATEST : WRITE; i < STEPS && status == BP_OK; i++) {
        bp__kernel_step step = {.program = program, .kernel = walk->parts > 1 ? kernels[i] : "softmax_rows"};
        bp__kernel_operand(&step, 0, element);
        if (i == WRITE) {
            bp__kernel_operand(&step, 1, element);
        }
        if (walk->parts > 1) {
            bp__kernel_workspace(&step, 0, number);
        }
        if (walk->parts > 1 && i != GREATEST) {
            bp__kernel_workspace(&step, values_of(walk), sizeof(double));
        }
        bp__kernel_value(&step, packed.bytes, packed.size);
        if (i == WRITE) {
            bp__kernel_value(&step, &logarithm, sizeof logarithm);
        }
        bp__kernel_walk_spread(&step, walk, device->facts, false);
        status = bp__kernel_plan_add(plan, &step);
    }
    return status;
}

/* ---- The family ---- */

static bool has_types(const bp_problem *problem) {
    const bp_reduce_problem *p = &problem->of.reduce;
    const uint32_t x = problem->dtype;
    if (problem->op == BP_OP_SOFTMAX) {
        return is_floating(x) && p->kind <= BP_LOG_SOFTMAX;
    }
    if (problem->op == BP_OP_VARIANCE) {
        return is_floating(x) && p->kind <= BP_STD;
    }
    const bool truth = is_truth(problem);
    if (p->kind > BP_REDUCE_ALL || !(is_floating(x) || x == BP_I32 || x == BP_I64 || (truth && x == BP_BOOL))) {
        return false;
    }
    if (is_position(problem) || truth) {
        return p->output == (truth ? BP_BOOL : BP_I64);
    }
    return p->output == x || (x == BP_I32 && p->output == BP_I64 && p->kind <= BP_REDUCE_PROD);
}

static void accept(const bp_host *host, const bp_device_info *facts, const bp_problem *problem, bp_offers *offers) {
    bp__kernel_walk walk;
    const bp_reduce_problem *p = &problem->of.reduce;
    const bool softmax = problem->op == BP_OP_SOFTMAX, variance = problem->op == BP_OP_VARIANCE;
    const bool sums = is_floating(problem->dtype) && (softmax || variance || is_sum(problem));
    (void)host;
    if (!has_types(problem)) {
        bp__kernel_refuse(offers, BP_REASON_DTYPE, "there is no kernel for these types");
        return;
    }
    if (problem->dtype == BP_F64 && bp__kernel_lacks_f64(facts, "numbers of type f64", offers)) {
        return;
    }
    if (problem->op == BP_OP_REDUCE && sums && p->kind == BP_REDUCE_PROD &&
        bp__kernel_lacks_f64(facts, "products of f32", offers)) {
        return; /* products of a few factors would overflow */
    }
    if (!walk_of(&walk, problem, facts)) {
        bp__kernel_refuse(offers, BP_REASON_LAYOUT, "more than 24 dimensions are left after neighbours were merged");
        return;
    }
    const double elements = (double)walk.results * (double)walk.reduced,
                 element = (double)bp__kernel_bytes(problem->dtype);
    bp__kernel_offer(facts, walk.columns ? "columns" : "rows",
                     BP__KERNEL_REPRODUCIBLE | (sums ? bp__kernel_accumulates(facts) : 0),
                     elements * element *
                         (softmax    ? 4
                          : variance ? 2
                                     : 1),
                     elements * (softmax    ? 30
                                 : variance ? 6
                                            : 2),
                     walk.parts > 1 ? variance ? 3 : 2 : 1, workspace_of(&walk), offers, NULL, 0);
}

static bp_status plan(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                      const void *found, bp_prepared **prepared) {
    bp__kernel_walk walk;
    bp__kernel_plan *steps;
    (void)found;
    walk_of(&walk, problem, device->facts);
    bp_status status = bp__kernel_plan_new(device, verdict->workspace, &steps);
    if (status != BP_OK) {
        return status;
    }
    if (walk.results > 0) {
        status = problem->op == BP_OP_REDUCE     ? add_reduction(device, problem, &walk, steps)
                 : problem->op == BP_OP_VARIANCE ? add_variance(device, problem, &walk, steps)
                                                 : add_softmax(device, problem, &walk, steps);
    }
    return bp__kernel_plan_finish(status, steps, prepared);
}

const bp__kernel_family bp__kernel_reduce = {accept, plan};
