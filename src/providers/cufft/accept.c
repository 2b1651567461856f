/* accept.c - decides whether cuFFT can run a problem, and estimates its time. */
#include "providers/cufft/cufft.h"

#include <stdio.h>
#include <string.h>

#define CALL_NS 4000.0 /* of starting a call or a walk on the device */
#define USUAL_BANDWIDTH 500.0

/* ---- The estimate ---- */

static double walked_bytes(const bp__cufft_walk *walk, bp__cufft_element element) {
    static const double sizes[BP__CUFFT_ELEMENTS] = {4, 8, 8, 16};
    return 2 * (double)walk->count * sizes[element];
}

/* Estimates from the facts of the device. Only ranks candidates. */
static double cost(const bp_device_info *device, const bp__cufft_route *route) {
    const double bandwidth = device->bandwidth_gb_s ? device->bandwidth_gb_s : USUAL_BANDWIDTH;
    double calls = 0, bytes = 0;
    for (int i = 0; i < route->step_count; i++) {
        calls += (double)route->steps[i].calls;
        bytes += (double)route->bytes[route->steps[i].side[0]] + (double)route->bytes[route->steps[i].side[1]];
    }
    if (route->buffered[BP__CUFFT_SOURCE]) {
        calls++;
        bytes += walked_bytes(&route->before, route->element[BP__CUFFT_SOURCE]);
    }
    for (int i = 0; i < route->after_count && (route->changed || route->buffered[BP__CUFFT_TARGET]); i++) {
        calls++;
        bytes += walked_bytes(&route->after[i], route->element[BP__CUFFT_TARGET]);
    }
    return calls * CALL_NS + bytes / bandwidth;
}

/* ---- The offer ---- */

static void add_text(bp_verdict *verdict, const char *text) {
    const size_t used = strlen(verdict->text);
    snprintf(verdict->text + used, sizeof verdict->text - used, "%s%s", used > 0 ? "; " : "", text);
}

static void tell(const bp_fft_problem *f, const bp__cufft_route *route, bp_verdict *verdict) {
    int64_t calls = 0;
    for (int i = 0; i < route->step_count; i++) {
        calls += route->steps[i].calls;
    }
    if (calls > 1) {
        snprintf(verdict->text, sizeof verdict->text, "%lld calls", (long long)calls);
    }
    if (route->buffered[BP__CUFFT_SOURCE]) {
        add_text(verdict, f->kind == BP_FFT_C2R ? "copies the input, which cuFFT overwrites" : "copies the input");
    }
    if (route->buffered[BP__CUFFT_TARGET]) {
        add_text(verdict, "copies the result");
    }
}

static uint32_t properties_of(const bp_problem *problem) {
    const uint32_t sums = problem->dtype == BP_C64 ? BP_PROPERTY_ACCUMULATES_F32 : BP_PROPERTY_ACCUMULATES_F64;
    return sums | BP_PROPERTY_PROPAGATES_NAN | BP_PROPERTY_REPRODUCIBLE |
           (problem->of.fft.batch <= 1 ? BP_PROPERTY_THREAD_INVARIANT : 0);
}

static bool make_route(const bp__cufft_instance *instance, const bp_problem *problem, const bp_device_info *device,
                       bp__cufft_route *route, bp_verdict *verdict) {
    if (problem->op != BP_OP_FFT) {
        return bp__cu_vendor_refuse(verdict, BP_REASON_OP, "it offers only Fourier transforms");
    }
    if (!device) {
        return bp__cu_vendor_refuse(verdict, BP_REASON_DEVICE, "there is no such device");
    }
    if (!bp__cu_vendor_has_version(&instance->vendor, verdict)) {
        return false;
    }
    const char *why = bp__cufft_route_of(problem, route);
    return why ? bp__cu_vendor_refuse(verdict, BP_REASON_LAYOUT, why) : true;
}

void bp__cufft_accept(void *opaque, const bp_problem *problem, bp_offers *offers) {
    const bp__cufft_instance *instance = opaque;
    const bp_device_info *device = instance->vendor.host->device(problem->place);
    bp__cufft_route route;
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.algorithm = "exec";
    if (!make_route(instance, problem, device, &route, &verdict)) {
        offers->add(offers, &verdict, NULL, 0);
        return;
    }
    verdict.algorithm = route.step_count > 0 ? "exec" : route.after_count > 0 ? "copy" : "none";
    verdict.properties = properties_of(problem);
    verdict.cost_ns = cost(device, &route);
    tell(&problem->of.fft, &route, &verdict);
    offers->add(offers, &verdict, &route, sizeof route);
}
