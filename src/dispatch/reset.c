/* reset.c - bp_reset: frees the data of all modules, from the top layer to the bottom one. */
#include "device/internal.h"
#include "dist/internal.h"
#include "base/uncancelled.h"
#include "dispatch/times/tune.h"
#include "einsum/internal.h"
#include "machine/internal.h"
#include "registry/internal.h"
#include "settings/internal.h"

static bp_status busy(int64_t count, const char *what, const char *remedy) {
    return bp__fail(BP_E_BUSY, "bp_reset: %lld %s%s still held; %s %s first", (long long)count, what,
                    count == 1 ? " is" : "s are", remedy, count == 1 ? "it" : "them");
}

/* Runs before anything is freed, so that a refused reset changes nothing. */
static bp_status check_nothing_held(void) {
    int64_t settings = bp__settings_held();
    if (settings > 0) {
        return bp__fail(BP_E_BUSY, "bp_reset: %lld scopes and options are still held; leave and free them first",
                        (long long)settings);
    }
    if (bp__candidates_are_measured()) {
        return bp__fail(BP_E_BUSY, "bp_reset: another thread measures the libraries; wait for it first");
    }
    int64_t explanations = bp__explanations_alive(), paths = bp__einsum_paths_alive();
    int64_t packed = bp__packed_held(), plans = bp__plans_held(); /* a packed operand holds a reference to its plan */
    int64_t devices = bp__devices_held(), graphs = bp__graphs_held();
    int64_t comms = bp__comms_held();
    int64_t backends = bp__graph_backends_held(), records = bp__records_held();
    return explanations > 0 ? busy(explanations, "explanation", "free")
           : paths > 0      ? busy(paths, "contraction path", "release")
           : packed > 0     ? busy(packed, "packed operand", "release")
           : graphs > 0     ? busy(graphs, "graph", "release")
           : plans > 0      ? busy(plans, "plan", "release")
           : devices > 0    ? busy(devices, "device object", "release")
           : comms > 0      ? busy(comms, "communicator", "close")
           : backends > 0   ? busy(backends, "graph backend", "remove")
           : records > 0    ? busy(records, "record", "release")
                            : BP_OK;
}

bp_status bp_reset(void) {
    BP__UNCANCELLED;
    BP__TRY(check_nothing_held());
    bp__thread_cache_reset();
    bp__einsum_reset();
    bp__cache_reset();
    bp__tune_reset();
    bp__trace_reset();
    bp__device_finish();
    bp__candidates_reset();
    bp__device_reset();
    bp__maps_reset();
    bp__registry_reset();
    bp__policy_reset();
    bp__load_reset();
    bp__pool_stop();
    bp__settings_reset();
    bp__warning_reset();
    bp__intern_reset();
    bp__error_reset();
    return BP_OK;
}
