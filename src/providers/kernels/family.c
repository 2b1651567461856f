/* family.c - names types and offers algorithms, for all families of operations. */
#include "providers/kernels/families.h"

#include <stdio.h>
#include <string.h>

/* ---- Types ---- */

#define TYPES (BP_BOOL + 1)

const char *bp__kernel_type(uint32_t dtype) {
    static const char *const names[TYPES] = {
#define X(number, name, text, code, bits) [number] = text,
        BP_DTYPE_MAP(X)
#undef X
    };
    return dtype == BP_BOOL ? "b8" : dtype < TYPES && names[dtype] ? names[dtype] : "";
}

size_t bp__kernel_bytes(uint32_t dtype) {
    static const unsigned char sizes[TYPES] = {
#define X(number, name, text, code, bits) [number] = (bits) / 8,
        BP_DTYPE_MAP(X)
#undef X
    };
    return dtype < TYPES ? sizes[dtype] : 0;
}

/* ---- Verdicts ---- */

bool bp__kernel_lacks_f64(const bp_device_info *facts, const char *what, bp_offers *offers) {
    char text[160];
    if (bp__kernel_has_f64(facts)) {
        return false;
    }
    snprintf(text, sizeof text, "%s need f64, which this device does not have", what);
    bp__kernel_refuse(offers, BP_REASON_DTYPE, text);
    return true;
}

/* The facts that are unknown are guessed. */
double bp__kernel_time(const bp_device_info *facts, double bytes, double flops, int launches) {
    const double units = facts->units ? facts->units : 1, clock = facts->clock_mhz ? facts->clock_mhz : 1000;
    const double lanes = bp__kernel_is_cpu(facts) ? (facts->vector_bytes >= 4 ? facts->vector_bytes / 4 : 4) : 64;
    const double bandwidth = facts->bandwidth_gb_s ? facts->bandwidth_gb_s : bp__kernel_is_cpu(facts) ? 20 : 200;
    const double compute = flops / (units * clock * 1e-3 * lanes), memory = bytes / bandwidth;
    return 5000.0 * launches + (compute > memory ? compute : memory);
}

void bp__kernel_offer(const bp_device_info *facts, const char *algorithm, uint32_t properties, double bytes,
                      double flops, int launches, size_t workspace, bp_offers *offers, const void *found, size_t size) {
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.reason = BP_REASON_ACCEPTED;
    verdict.algorithm = algorithm;
    verdict.properties = properties | BP_PROPERTY_PROPAGATES_NAN;
    verdict.cost_ns = bp__kernel_time(facts, bytes, flops, launches);
    verdict.workspace = workspace;
    offers->add(offers, &verdict, found, size);
}

bp_status bp__kernel_plan_finish(bp_status status, bp__kernel_plan *steps, bp_prepared **prepared) {
    if (status != BP_OK) {
        bp__kernel_plan_free(steps);
        return status;
    }
    *prepared = &steps->prepared;
    return BP_OK;
}
