/* accept.c - decides whether cuSOLVER can run a problem, and estimates its time. */
#include "providers/cusolver/cusolver.h"

#include <stdio.h>

enum { LANES = 128 };
#define CALL_NS 4000.0 /* of starting a kernel on the device */
#define ROUTINE_NS 3e4 /* of starting a routine, which starts several */
#define USUAL_BANDWIDTH 500.0
#define EFFICIENCY 0.3 /* of a factorization, compared with products */

/* Estimates from the facts of the device. Only ranks candidates. */
static double cost(const bp_device_info *device, const bp_problem *problem, const bp__cusolver_route *route,
                   double work) {
    const double units = device->units ? device->units : 1, clock = device->clock_mhz ? device->clock_mhz : 1000;
    const double bandwidth = device->bandwidth_gb_s ? device->bandwidth_gb_s : USUAL_BANDWIDTH;
    const double batch = (double)problem->of.linalg.batch;
    double starts = CALL_NS, bytes = 0;
    for (int i = 0; i < route->step_count; i++) {
        starts += route->steps[i].is_call ? batch * ROUTINE_NS : CALL_NS;
    }
    for (int i = 0; i < route->buffer_count; i++) {
        bytes += 4 * batch * (double)route->buffers[i].item; /* it is written and read, and so is an operand */
    }
    return starts + bytes / bandwidth + batch * work / (units * clock * 1e-3 * LANES * EFFICIENCY);
}

static bool makes_route(const bp__cusolver_instance *instance, const bp_problem *problem, const bp_device_info *device,
                        bp__cusolver_route *route, bp_verdict *verdict) {
    double work;
    const char *algorithm = bp__cusolver_algorithm_of(problem, &work);
    if (!algorithm) {
        return bp__cu_vendor_refuse(verdict, BP_REASON_OP, "the provider has no such operation");
    }
    verdict->algorithm = problem->of.linalg.empty ? "none" : algorithm;
    if (problem->dtype != BP_F32 && problem->dtype != BP_F64 && problem->dtype != BP_C64 && problem->dtype != BP_C128) {
        return bp__cu_vendor_refuse(verdict, BP_REASON_DTYPE, "cuSOLVER has f32, f64, c64 and c128 only");
    }
    if (!device) {
        return bp__cu_vendor_refuse(verdict, BP_REASON_DEVICE, "there is no such device");
    }
    if (!bp__cu_vendor_has_version(&instance->vendor, verdict)) {
        return false;
    }
    const char *why = bp__cusolver_route_of(problem, route);
    if (why) {
        return bp__cu_vendor_refuse(verdict, BP_REASON_SIZE, why);
    }
    verdict->cost_ns = cost(device, problem, route, problem->of.linalg.empty ? 0 : work);
    return true;
}

/* PyTorch deprecates MAGMA, and calls cuSOLVER in its place. So does Backplane, which has no provider for MAGMA. */
static void refuse_magma(bp_offers *offers) {
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.algorithm = "magma";
    bp__cu_vendor_refuse(&verdict, BP_REASON_OTHER, BP__CUSOLVER_NO_MAGMA);
    offers->add(offers, &verdict, NULL, 0);
}

void bp__cusolver_accept(void *opaque, const bp_problem *problem, bp_offers *offers) {
    const bp__cusolver_instance *instance = opaque;
    const bool wide = problem->dtype == BP_F64 || problem->dtype == BP_C128;
    bp__cusolver_route route;
    bp_verdict verdict = BP_VERDICT_INIT;
    if (makes_route(instance, problem, instance->vendor.host->device(problem->place), &route, &verdict)) {
        verdict.properties = (wide ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32) |
                             BP_PROPERTY_PROPAGATES_NAN | BP_PROPERTY_REPRODUCIBLE |
                             (problem->of.linalg.batch <= 1 ? BP_PROPERTY_THREAD_INVARIANT : 0);
        if (route.reports) {
            snprintf(verdict.text, sizeof verdict.text, "failing items are reported when the queue is waited for");
        }
    }
    offers->add(offers, &verdict, NULL, 0);
    if (bp_policy_linalg_library(&problem->policy) == BP_LINALG_BY_MAGMA && verdict.reason == BP_REASON_ACCEPTED) {
        refuse_magma(offers);
    }
}
