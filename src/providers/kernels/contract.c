/* contract.c - offers and plans contractions: sums of products over any dimensions, and copies of any layout. */
#include "providers/kernels/contract.h"

#include "providers/kernels/elementwise.h"

#include <string.h>

BP__KERNEL_SOURCE(contract);

/* Complex numbers have fewer lanes, because their vectors are longer. */
static bp__kernel_walk_limits limits_for(uint32_t dtype) {
    return (bp__kernel_walk_limits){
        .lanes = dtype == BP_C64 || dtype == BP_C128 ? 8 : 16, .most_parts = 32, .least = 4096, .longest = INT64_MAX};
}

static bool is_complex(uint32_t dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

const char *bp__kernel_number(uint32_t dtype) {
    return dtype == BP_C64 ? "float2" : dtype == BP_C128 ? "double2" : dtype == BP_F64 ? "double" : "float";
}

static size_t number_size(uint32_t dtype) {
    return dtype == BP_F16 || dtype == BP_BF16 ? sizeof(float) : bp__kernel_bytes(dtype);
}

bool bp__kernel_contraction_divide(bp__kernel_walk *walk, uint32_t dtype, const bp_device_info *facts) {
    const bp__kernel_walk_limits limits = limits_for(dtype);
    return walk->ndim <= BP__KERNEL_DIMS && bp__kernel_walk_divide(walk, 3, facts, &limits);
}

size_t bp__kernel_contraction_workspace(const bp__kernel_walk *walk, uint32_t dtype) {
    return walk->parts > 1 ? (size_t)(walk->parts * walk->results) * number_size(dtype) : 0;
}

bp_status bp__kernel_contraction_steps(bp__kernel_device *device, uint32_t dtype, const bp__kernel_walk *walk,
                                       const bp__kernel_factors *factors, int c, bp__kernel_plan *plan) {
    const size_t element = bp__kernel_bytes(dtype);
    const bp__kernel_walk_limits limits = limits_for(dtype);
    bp__kernel_step part = {.kernel = "contract_part"}, join = {.kernel = "contract_join"};
    bp__kernel_step *const steps[] = {&part, &join};
    bp__kernel_walk_bytes packed;
    bp__kernel_options options;
    bp__kernel_options_begin(&options, device);
    bp__kernel_options_add(&options, " -DX=%s -DY=%s -DNUMBER=%s -DSCALAR=%s -DOPERANDS=3%s", bp__kernel_type(dtype),
                           bp__kernel_type(dtype), bp__kernel_number(dtype), bp__kernel_number(dtype),
                           is_complex(dtype) ? " -DCOMPLEX" : "");
    bp__kernel_walk_options(&options, device->facts, &limits);
    bp_status status = bp__kernel_program_get(device, bp__kernel_source_contract, options.text, &part.program);
    join.program = part.program;
    bp__kernel_walk_pack(walk, 3, BP__KERNEL_DIMS, &packed);
    bp__kernel_operand(&part, 0, element);
    bp__kernel_operand(&part, factors->has_b ? 1 : 0, element);
    for (int i = 0; i < 2; i++) {
        bp__kernel_operand(steps[i], c, element);
        bp__kernel_workspace(steps[i], 0, number_size(dtype));
        bp__kernel_value(steps[i], packed.bytes, packed.size);
        bp__kernel_value(steps[i], factors, sizeof *factors);
        bp__kernel_scalar(steps[i], 0, (bp_dtype)dtype);
        bp__kernel_scalar(steps[i], 1, (bp_dtype)dtype);
        bp__kernel_walk_spread(steps[i], walk, device->facts, i == 1);
    }
    status = status == BP_OK ? bp__kernel_plan_add(plan, &part) : status;
    return status == BP_OK && walk->parts > 1 ? bp__kernel_plan_add(plan, &join) : status;
}

/* ---- The family ---- */

/* A copy has one operand, and sums nothing. */
static bool is_copy(const bp_contract_problem *p) {
    return !p->has_b && p->ndim == p->output_ndim;
}

static bool copy_dims(bp__kernel_dims *dims, const bp_contract_problem *p) {
    dims->ndim = p->ndim;
    dims->operands = 2;
    memcpy(dims->size, p->size, sizeof p->size);
    memcpy(dims->stride[0], p->a, sizeof p->a);
    memcpy(dims->stride[1], p->c, sizeof p->c);
    return bp__kernel_dims_simplify(dims, 1);
}

static bool walk_of(bp__kernel_walk *walk, const bp_problem *problem, const bp_device_info *facts) {
    const bp_contract_problem *p = &problem->of.contract;
    if (p->ndim > BP__KERNEL_DIMS) {
        return false;
    }
    memset(walk, 0, sizeof *walk);
    walk->ndim = p->ndim;
    walk->kept_ndim = p->output_ndim;
    for (int d = 0; d < p->ndim; d++) {
        walk->size[d] = p->size[d];
        walk->stride[0][d] = p->a[d];
        walk->stride[1][d] = p->b[d];
        walk->stride[2][d] = p->c[d];
    }
    return bp__kernel_contraction_divide(walk, problem->dtype, facts);
}

static void accept(const bp_host *host, const bp_device_info *facts, const bp_problem *problem, bp_offers *offers) {
    const bp_contract_problem *p = &problem->of.contract;
    const uint32_t dtype = problem->dtype;
    bp__kernel_walk walk;
    bp__kernel_dims dims;
    (void)host;
    if (dtype < BP_F16 || dtype > BP_C128) {
        bp__kernel_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32, f64, c64 and c128 are offered");
        return;
    }
    const double element = (double)bp__kernel_bytes(dtype);
    const uint32_t accumulates =
        bp__kernel_is_double(dtype) ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32;
    if (is_copy(p) && copy_dims(&dims, p)) {
        bp__kernel_offer(facts, "copy", BP__KERNEL_REPRODUCIBLE | accumulates, 2 * element * (double)dims.total, 0, 1,
                         0, offers, NULL, 0);
        return;
    }
    if (bp__kernel_is_double(dtype) && bp__kernel_lacks_f64(facts, "numbers of type f64", offers)) {
        return;
    }
    if (!walk_of(&walk, problem, facts)) {
        bp__kernel_refuse(offers, BP_REASON_LAYOUT, "more than 24 dimensions are left after neighbours were merged");
        return;
    }
    const double elements = (double)walk.results * (double)walk.reduced;
    bp__kernel_offer(facts, walk.columns ? "columns" : "rows", BP__KERNEL_REPRODUCIBLE | accumulates,
                     2 * element * elements, elements * (is_complex(dtype) ? 16 : 4), walk.parts > 1 ? 2 : 1,
                     bp__kernel_contraction_workspace(&walk, dtype), offers, NULL, 0);
}

static bp_status plan(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                      const void *found, bp_prepared **prepared) {
    const bp_contract_problem *p = &problem->of.contract;
    const bp__kernel_factors factors = {.has_b = p->has_b, .alpha = BP_FACTOR_ONE, .beta = BP_FACTOR_ZERO};
    bp__kernel_walk walk;
    bp__kernel_dims dims;
    bp__kernel_plan *steps;
    (void)found;
    bp_status status = bp__kernel_plan_new(device, verdict->workspace, &steps);
    if (status != BP_OK) {
        return status;
    }
    if (is_copy(p) && copy_dims(&dims, p)) {
        if (dims.total > 0 && !p->in_place) {
            status = bp__kernel_copy_step(device, steps, &dims, bp__kernel_bytes(problem->dtype), (const int[]){0, 2});
        }
    } else if (walk_of(&walk, problem, device->facts) && walk.results > 0) {
        status = bp__kernel_contraction_steps(device, problem->dtype, &walk, &factors, 2, steps);
    }
    return bp__kernel_plan_finish(status, steps, prepared);
}

const bp__kernel_family bp__kernel_contract = {accept, plan};
