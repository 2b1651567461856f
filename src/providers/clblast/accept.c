/* accept.c - decides whether CLBlast can run a product, and estimates its time. */
#include "providers/clblast/clblast.h"

#include <stdio.h>

static void refuse(bp_verdict *verdict, bp_reason reason, const char *text) {
    verdict->reason = reason;
    snprintf(verdict->text, sizeof verdict->text, "%s", text);
}

static bool is_double(uint32_t dtype) {
    return dtype == BP_F64 || dtype == BP_C128;
}

static bool is_complex(uint32_t dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

/* The library prints a message for each call that it refuses, so everything is checked before. */
static bool takes(const bp_device_info *device, const bp_problem *problem, bp_verdict *verdict) {
    const bp_gemm_problem *g = &problem->of.gemm;
    if (problem->op != BP_OP_GEMM) {
        refuse(verdict, BP_REASON_OP, "it offers only matrix products");
    } else if (!device) {
        refuse(verdict, BP_REASON_DEVICE, "there is no such device");
    } else if (!(device->can & BP_DEVICE_CAN_COMPILE)) {
        refuse(verdict, BP_REASON_DEVICE, "the device's driver has no compiler for kernels");
    } else if (problem->dtype == BP_F16) {
        refuse(verdict, BP_REASON_DTYPE, "it would sum products of f16 in f16");
    } else if (problem->dtype < BP_F32 || problem->dtype > BP_C128 || (g->b_type && g->b_type != problem->dtype) ||
               (g->c_type && g->c_type != problem->dtype)) {
        refuse(verdict, BP_REASON_DTYPE, "only f32, f64, c64 and c128 are offered");
    } else if (is_double(problem->dtype) && !(device->can & BP_DEVICE_CAN_F64)) {
        refuse(verdict, BP_REASON_DTYPE, "the device has no f64");
    } else if (g->m == 0 || g->n == 0 || g->k == 0 || g->batch == 0) {
        refuse(verdict, BP_REASON_SIZE, "it takes no empty operands");
    } else if (g->alpha == BP_FACTOR_ZERO) {
        refuse(verdict, BP_REASON_OTHER, "it reads A and B also if alpha is 0");
    } else {
        return true;
    }
    return false;
}

/* Estimates from the facts of the device. Only ranks candidates. On a processor with PoCL, products of real types reach
 * a fifth of the peak, and of complex types a twentieth. */
static double cost(const bp_device_info *device, const bp__clblast_route *route) {
    const bool cpu = device->can & BP_DEVICE_IS_CPU;
    const double units = device->units ? device->units : 1, clock = device->clock_mhz ? device->clock_mhz : 1000;
    const double lanes = cpu ? (device->vector_bytes >= 4 ? device->vector_bytes / 4 : 4) : 64;
    const double bandwidth = device->bandwidth_gb_s ? device->bandwidth_gb_s : cpu ? 20 : 200;
    const double m = (double)route->m, n = (double)route->n, k = (double)route->k;
    const double batch = (double)(route->count * route->outer);
    const double real = is_double(route->dtype) ? 8 : 4, parts = is_complex(route->dtype) ? 2 : 1;
    const double flops = 2 * batch * m * n * k * parts * parts * (real / 4);
    const double bytes = 3 * batch * (m * k + k * n + m * n) * real * parts;
    const double slowness = !cpu ? 1.2 : parts > 1 ? 20 : 5;
    const double compute = slowness * flops / (units * clock * 1e-3 * lanes), memory = bytes / bandwidth;
    return 20000.0 * (double)route->outer + (compute > memory ? compute : memory);
}

void bp__clblast_accept(void *opaque, const bp_problem *problem, bp_offers *offers) {
    bp__clblast_instance *instance = opaque;
    const bp_device_info *device = instance->host->device(problem->place);
    bp__clblast_route route;
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.algorithm = problem->of.gemm.batch > 1 ? "strided" : "gemm";
    const char *why = takes(device, problem, &verdict) ? bp__clblast_route_of(problem, &route) : NULL;
    if (why) {
        refuse(&verdict, BP_REASON_LAYOUT, why);
    }
    if (verdict.reason != BP_REASON_ACCEPTED) {
        offers->add(offers, &verdict, NULL, 0);
        return;
    }
    verdict.properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN |
                         (is_double(route.dtype) ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32);
    verdict.cost_ns = cost(device, &route);
    offers->add(offers, &verdict, &route, sizeof route);
}
