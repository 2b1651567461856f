/* gemm.c - offers and plans matrix products. */
#include "providers/kernels/gemm.h"

#include "providers/kernels/contract.h"

#include <string.h>

/* ---- The product ---- */

static bool is_byte(uint32_t dtype) {
    return dtype == BP_I8 || dtype == BP_U8;
}

/* Returns whether there are kernels for the types of A, B and C. */
static bool has_types(const uint32_t type[3]) {
    if (is_byte(type[0]) && is_byte(type[1])) {
        return type[2] == BP_I32;
    }
    return type[0] >= BP_F16 && type[0] <= BP_C128 && type[1] == type[0] && type[2] == type[0];
}

static bool never_moves(const int64_t *strides, int ndim) {
    bool same = true;
    for (int d = 0; d < ndim; d++) {
        same = same && strides[d] == 0;
    }
    return same;
}

/* If alpha is zero, A and B are not read: k is 0 then. */
static bool make_job(const bp_problem *problem, bp__kernel_gemm_job *job) {
    const bp_gemm_problem *g = &problem->of.gemm;
    const uint32_t type[3] = {problem->dtype, bp_gemm_type(problem, g->b_type), bp_gemm_type(problem, g->c_type)};
    if (!has_types(type)) {
        return false;
    }
    const bool zero = g->alpha == BP_FACTOR_ZERO;
    *job = (bp__kernel_gemm_job){.batch = g->batch,
                                 .complex = type[0] == BP_C64 || type[0] == BP_C128,
                                 .integer = is_byte(type[0]),
                                 .is_double = bp__kernel_is_double(type[0]),
                                 .same_a = never_moves(g->batch_a, g->batch_ndim),
                                 .same_b = never_moves(g->batch_b, g->batch_ndim)};
    memcpy(job->type, type, sizeof job->type);
    job->real = job->is_double ? 8 : 4;
    job->number = job->real * (job->complex ? 2 : 1);
    job->real_name = job->integer ? "uint" : job->is_double ? "double" : "float";
    job->number_name = job->integer ? "uint" : bp__kernel_number(type[0]);
    job->product = (bp__kernel_product){.m = g->m,
                                        .n = g->n,
                                        .k = zero ? 0 : g->k,
                                        .a_row = g->a_row,
                                        .a_column = g->a_column,
                                        .b_row = g->b_row,
                                        .b_column = g->b_column,
                                        .c_row = g->c_row,
                                        .c_column = g->c_column,
                                        .batch_ndim = g->batch_ndim,
                                        .conjugate_a = g->conjugate_a && job->complex,
                                        .conjugate_b = g->conjugate_b && job->complex,
                                        .alpha = zero || g->k == 0 ? BP_FACTOR_ONE : g->alpha,
                                        .beta = g->beta};
    memcpy(job->product.size, g->batch_shape, sizeof job->product.size);
    memcpy(job->product.a, g->batch_a, sizeof job->product.a);
    memcpy(job->product.b, g->batch_b, sizeof job->product.b);
    memcpy(job->product.c, g->batch_c, sizeof job->product.c);
    return true;
}

void bp__kernel_gemm_options(bp__kernel_options *options, const bp__kernel_gemm_job *job) {
    bp__kernel_options_add(options, " -DA_TYPE=%s -DB_TYPE=%s -DC_TYPE=%s -DNUMBER=%s -DREAL=%s -DSCALAR=%s%s%s",
                           bp__kernel_type(job->type[0]), bp__kernel_type(job->type[1]), bp__kernel_type(job->type[2]),
                           job->number_name, job->real_name, job->integer ? "float" : job->number_name,
                           job->complex ? " -DCOMPLEX" : "", job->integer ? " -DINTEGER" : "");
}

/* ---- Direct: a sum of products that reads A and B where they are ---- */

static bool make_walk(const bp__kernel_gemm_job *job, const bp_device_info *facts, bp__kernel_walk *walk) {
    const bp__kernel_product *p = &job->product;
    bp__kernel_dims dims = {.ndim = p->batch_ndim + 2, .operands = 3};
    const int b = p->batch_ndim;
    for (int d = 0; d < b; d++) {
        dims.size[d] = p->size[d];
        dims.stride[0][d] = p->a[d];
        dims.stride[1][d] = p->b[d];
        dims.stride[2][d] = p->c[d];
    }
    dims.size[b] = p->m;
    dims.stride[0][b] = p->a_row;
    dims.stride[2][b] = p->c_row;
    dims.size[b + 1] = p->n;
    dims.stride[1][b + 1] = p->b_column;
    dims.stride[2][b + 1] = p->c_column;
    memset(walk, 0, sizeof *walk);
    if (job->integer || !bp__kernel_dims_simplify(&dims, 2) || dims.total == 0 || dims.ndim >= BP__KERNEL_DIMS) {
        return false;
    }
    walk->kept_ndim = dims.ndim;
    walk->ndim = dims.ndim + 1;
    memcpy(walk->size, dims.size, (size_t)dims.ndim * sizeof *walk->size);
    for (int i = 0; i < 3; i++) {
        memcpy(walk->stride[i], dims.stride[i], (size_t)dims.ndim * sizeof *walk->size);
    }
    walk->size[dims.ndim] = p->k;
    walk->stride[0][dims.ndim] = p->a_column;
    walk->stride[1][dims.ndim] = p->b_row;
    return bp__kernel_contraction_divide(walk, job->type[0], facts);
}

static bp_status add_direct(bp__kernel_device *device, const bp__kernel_gemm_job *job, bp__kernel_plan *plan) {
    const bp__kernel_product *p = &job->product;
    const bp__kernel_factors factors = {
        .has_b = 1, .conjugate_a = p->conjugate_a, .conjugate_b = p->conjugate_b, .alpha = p->alpha, .beta = p->beta};
    bp__kernel_walk walk;
    make_walk(job, device->facts, &walk);
    return bp__kernel_contraction_steps(device, job->type[0], &walk, &factors, 2, plan);
}

/* ---- The family ---- */

typedef enum algorithm { PANELS, TILES, DIRECT } algorithm;

typedef struct offering {
    const bp_device_info *facts;
    const bp__kernel_gemm_job *job;
    bp_offers *offers;
    int count;
} offering;

/* `slowness`: how many times longer than at the peak of the device the additions take. */
static void offer(offering *o, algorithm which, double slowness, int launches, size_t workspace) {
    static const char *const names[] = {"panels", "tiles", "direct"};
    const bp__kernel_product *p = &o->job->product;
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k, batch = (double)o->job->batch;
    const double elements = batch * (m * k + k * n + m * n) * (which == PANELS ? 3 : 1);
    /* A sum that is computed directly has parts, whose number depends on the number of rows. */
    uint32_t properties = BP__KERNEL_REPRODUCIBLE | (which == DIRECT ? 0 : BP_PROPERTY_ROW_INVARIANT);
    if (!o->job->integer) {
        properties |= o->job->is_double ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32;
    }
    properties |= which == PANELS ? BP_PROPERTY_PACKS_A | BP_PROPERTY_PACKS_B : 0;
    bp__kernel_offer(o->facts, names[which], properties, elements * (double)o->job->real,
                     slowness * batch * m * n * k * (o->job->complex ? 8 : 2), launches, workspace, o->offers, &which,
                     sizeof which);
    o->count++;
}

/* How many times more columns whole tiles have. Rows do not count: the choice must not depend on their number, so that
 * it does not change the bits of a row. */
static double columns_wasted(int64_t n, int64_t tile) {
    n = bp__most(n, 1);
    return (double)(bp__kernel_divide_up(n, tile) * tile) / (double)n;
}

static void offer_all(offering *o) {
    const bool cpu = bp__kernel_is_cpu(o->facts);
    const bp__kernel_product *p = &o->job->product;
    bp__kernel_gemm_cut cut;
    bp__kernel_walk walk;
    if (cpu && bp__kernel_panels_cut(o->job, o->facts, &cut)) {
        offer(o, PANELS, 0.6 * columns_wasted(p->n, cut.columns), 3, cut.a_bytes + cut.b_bytes);
    }
    if (bp__kernel_tiles_cut(o->job, o->facts, &cut)) {
        offer(o, TILES, (cpu ? 30 : 1) * columns_wasted(p->n, (int64_t)2 * cut.group), 1, 0);
    }
    if (make_walk(o->job, o->facts, &walk)) {
        offer(o, DIRECT, 4, walk.parts > 1 ? 2 : 1, bp__kernel_contraction_workspace(&walk, o->job->type[0]));
    }
}

static void accept(const bp_host *host, const bp_device_info *facts, const bp_problem *problem, bp_offers *offers) {
    bp__kernel_gemm_job job;
    (void)host;
    if (!make_job(problem, &job)) {
        bp__kernel_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32, f64, c64, c128, i8 and u8 are offered");
        return;
    }
    if (job.is_double && bp__kernel_lacks_f64(facts, "numbers of type f64", offers)) {
        return;
    }
    offering o = {.facts = facts, .job = &job, .offers = offers};
    offer_all(&o);
    if (o.count == 0) {
        bp__kernel_refuse(offers, BP_REASON_SIZE, "the device has too little memory for its kernels");
    }
}

static bp_status plan(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                      const void *found, bp_prepared **prepared) {
    const algorithm which = *(const algorithm *)found;
    const bp_gemm_problem *g = &problem->of.gemm;
    bp__kernel_gemm_job job;
    bp__kernel_plan *steps;
    make_job(problem, &job);
    bp_status status = bp__kernel_plan_new(device, verdict->workspace, &steps);
    if (status != BP_OK) {
        return status;
    }
    const bool unchanged = job.product.k == 0 && job.product.beta == BP_FACTOR_ONE;
    if (g->m > 0 && g->n > 0 && g->batch > 0 && !unchanged) {
        status = which == PANELS  ? bp__kernel_panels_steps(device, &job, steps)
                 : which == TILES ? bp__kernel_tiles_steps(device, &job, steps)
                                  : add_direct(device, &job, steps);
    }
    return bp__kernel_plan_finish(status, steps, prepared);
}

const bp__kernel_family bp__kernel_gemm = {accept, plan};
