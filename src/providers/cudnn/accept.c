/* accept.c - decides whether cuDNN can run a problem, and estimates its time. */
#include "providers/cudnn/cudnn.h"

#include <stdio.h>

enum { LANES = 128, MOST_RANKS = 12 };
#define CALL_NS 5000.0 /* of starting a call on the device: more than a product of cuBLAS takes */
#define COPY_NS 500.0  /* of a copy, less than it takes: cuDNN's settings are about convolutions of any layout */
#define USUAL_BANDWIDTH 500.0
#define NOT_PREFERRED_NS 1e9 /* more than any other difference */

/* ---- The estimate ---- */

/* Returns how many times more operations than in f32 a GPU makes. */
static double rate_of(const bp_problem *problem) {
    const bool half = problem->dtype == BP_F16 || problem->dtype == BP_BF16;
    const bool tf32 = problem->dtype == BP_F32 && problem->policy.precision > 0;
    return half ? 16 : tf32 ? 8 : problem->dtype == BP_F64 ? 0.5 : 1;
}

/* Estimates from the facts of the device. Only ranks candidates. */
static double cost(const bp_device_info *device, const bp_problem *problem, const bp__cudnn_conv *conv) {
    const bp_conv_problem *p = &problem->of.conv;
    const double units = device->units ? device->units : 1, clock = device->clock_mhz ? device->clock_mhz : 1000;
    const double bandwidth = device->bandwidth_gb_s ? device->bandwidth_gb_s : USUAL_BANDWIDTH;
    double products = (double)p->batch * (double)p->groups * (double)p->in_channels * (double)p->out_channels;
    double bytes = 0, copies = 0;
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        products *= (double)p->out[d] * (double)p->kernel[d];
    }
    for (int i = 0; i < BP__CUDNN_SIDES; i++) {
        bytes += (double)conv->side[i].bytes * (conv->side[i].buffered ? 3 : 1);
        copies += conv->side[i].buffered;
    }
    const double compute = products / (units * clock * 1e-3 * LANES * rate_of(problem));
    const double memory = bytes / bandwidth;
    return CALL_NS + copies * COPY_NS + (compute > memory ? compute : memory);
}

/* Returns whether the other kernels of depthwise convolutions are preferred, so that cuDNN runs what they cannot. */
static bool is_other_preferred(const bp_problem *problem) {
    const bp_conv_problem *p = &problem->of.conv;
    return p->groups > 1 && p->in_channels == 1 && (problem->policy.convolutions & BP_CUDNN_DEPTHWISE_NATIVE);
}

/* Returns how many engines are measured. A measurement may choose another engine in the next process, which has other
 * bits. */
static int64_t measured_of(const bp_policy *policy) {
    return !(policy->convolutions & BP_CUDNN_BENCHMARK) || policy->deterministic > 0 ? 0
           : policy->benchmark_limit > 0                                             ? policy->benchmark_limit
                                                                                     : INT64_MAX;
}

/* ---- The offers ---- */

static bool make_conv(const bp__cudnn_instance *instance, const bp_problem *problem, const bp_device_info *device,
                      bp__cudnn_conv *conv, bp_verdict *verdict) {
    if (!device) {
        return bp__cu_vendor_refuse(verdict, BP_REASON_DEVICE, "there is no such device");
    }
    return bp__cu_vendor_has_version(&instance->vendor, verdict) && bp__cudnn_conv_of(instance, problem, conv, verdict);
}

static uint32_t properties_of(const bp_problem *problem, bool direct) {
    const bool repeats = bp__cudnn_must_repeat(&problem->policy);
    uint32_t properties = problem->dtype == BP_F64 ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32;
    properties |= problem->dtype == BP_F32 && problem->policy.precision > 0 ? BP_PROPERTY_INPUTS_TF32 : 0;
    properties |= direct ? 0 : BP_PROPERTY_LARGER_ERROR;
    properties |= repeats ? BP_PROPERTY_REPRODUCIBLE : 0;
    return properties | (repeats && problem->of.conv.batch == 1 ? BP_PROPERTY_THREAD_INVARIANT : 0);
}

static void tell(const bp_problem *problem, const bp__cudnn_offer *offer, bp_verdict *verdict) {
    char measured[48] = "";
    int copies = 0;
    for (int i = 0; i < BP__CUDNN_SIDES; i++) {
        copies += offer->conv.side[i].buffered;
    }
    if (offer->measured == INT64_MAX) {
        snprintf(measured, sizeof measured, ", measures all engines");
    } else if (offer->measured > 0) {
        snprintf(measured, sizeof measured, ", measures up to %lld engines", (long long)offer->measured);
    }
    snprintf(verdict->text, sizeof verdict->text, "%s%s%s%s%s%s",
             offer->conv.channels_last ? "channels last" : "channels first",
             copies > 0 ? ", copies operands to this layout" : "",
             problem->dtype != BP_F32        ? ""
             : problem->policy.precision > 0 ? ", TF32 allowed"
                                             : ", no tensor cores",
             bp__cudnn_must_repeat(&problem->policy) ? ", deterministic engines only" : "", measured,
             is_other_preferred(problem) ? "; ranked behind other kernels by cudnn.depthwise_kernel" : "");
}

/* "engines" is what the library prefers; "direct" leaves out engines that transform their inputs, which have larger
 * errors. */
void bp__cudnn_accept(void *opaque, const bp_problem *problem, bp_offers *offers) {
    static const char *const names[] = {"engines", "direct"};
    const bp__cudnn_instance *instance = opaque;
    const bp_device_info *device = instance->vendor.host->device(problem->place);
    bp__cudnn_offer offer = {.rank = -1};
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.algorithm = names[0];
    if (!make_conv(instance, problem, device, &offer.conv, &verdict)) {
        offers->add(offers, &verdict, NULL, 0);
        return;
    }
    offer.measured = measured_of(&problem->policy);
    tell(problem, &offer, &verdict);
    for (int direct = 0; direct < 2; direct++) {
        offer.refused = bp__cudnn_refused_notes(problem, direct);
        verdict.algorithm = names[direct];
        verdict.properties = properties_of(problem, direct);
        verdict.cost_ns =
            cost(device, problem, &offer.conv) + direct + (is_other_preferred(problem) ? NOT_PREFERRED_NS : 0);
        offers->add(offers, &verdict, &offer, sizeof offer);
    }
}

/* ---- Plans ---- */

static bp_status make(bp__cudnn_instance *instance, const bp_problem *problem, const bp__cudnn_offer *offer,
                      bp_prepared **prepared) {
    bp__cudnn_sequence sequence;
    bp__cudnn_conv_sequence(offer, instance->vendor.host->device(problem->place), &sequence);
    return bp__cudnn_make(instance, problem->place, &sequence, &offer->conv, sizeof offer->conv, prepared);
}

/* If no engine adds a bias in the graph, the convolution adds to it. */
bp_status bp__cudnn_plan(void *opaque, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                         bp_prepared **prepared) {
    bp__cudnn_offer offer = *(const bp__cudnn_offer *)found;
    (void)verdict;
    const bp_status status = make(opaque, problem, &offer, prepared);
    if (status != BP_E_UNSUPPORTED || offer.conv.bias != BP__CUDNN_IN_GRAPH || offer.conv.relu || offer.rank >= 0) {
        return status;
    }
    offer.conv.bias = BP__CUDNN_BEFORE;
    return make(opaque, problem, &offer, prepared);
}

/* ---- The library's own list ---- */

typedef struct listing {
    const bp_verdict *verdict;
    const bp__cudnn_offer *offer;
    bp_offers *offers;
    bool direct;
} listing;

/* Adds an engine, unless it cannot make a plan. */
static bool list_engine(void *user, const bp__cudnn_graph *graph, const bp__cudnn_engine *engine) {
    static const char *const names[2][MOST_RANKS] = {
        {"heuristic0", "heuristic1", "heuristic2", "heuristic3", "heuristic4", "heuristic5", "heuristic6", "heuristic7",
         "heuristic8", "heuristic9", "heuristic10", "heuristic11"},
        {"direct0", "direct1", "direct2", "direct3", "direct4", "direct5", "direct6", "direct7", "direct8", "direct9",
         "direct10", "direct11"}};
    const listing *list = user;
    bp__cudnn_execution execution;
    if (engine->rank < MOST_RANKS && bp__cudnn_execution_make(graph, engine, &execution)) {
        bp_verdict verdict = *list->verdict;
        bp__cudnn_offer offer = *list->offer;
        verdict.algorithm = names[list->direct][engine->rank];
        offer.rank = engine->rank;
        bp__cudnn_tell_execution(&execution, verdict.text, sizeof verdict.text);
        list->offers->add(list->offers, &verdict, &offer, sizeof offer);
        bp__cudnn_execution_drop(graph->api, &execution);
    }
    return false;
}

static void list_engines(bp__cudnn_instance *instance, bp__cudnn_device *on, listing *list) {
    const bp__cudnn_filter filter = {.refused = list->offer->refused, .workspace = INT64_MAX, .rank = -1};
    bp__cudnn_graph graph;
    pthread_mutex_lock(&on->mutex);
    bp__cudnn_graph_begin(&graph, &instance->api, on->handle, NULL);
    bp__cudnn_conv_describe(&list->offer->conv, 0, &graph, BP__CUDNN_ALIGNMENT);
    bp__cudnn_graph_complete(&graph);
    (void)bp__cudnn_each_engine(&graph, &filter, list_engine, list);
    bp__cudnn_graph_free(&graph);
    pthread_mutex_unlock(&on->mutex);
}

/* The list is asked from the library, which needs the device itself. */
void bp__cudnn_expand(void *opaque, const bp_problem *problem, const bp_verdict *offered, bp_offers *offers) {
    bp__cudnn_instance *instance = opaque;
    const bp_device_info *device = instance->vendor.host->device(problem->place);
    const bool direct = !(offered->properties & BP_PROPERTY_LARGER_ERROR);
    bp__cudnn_offer offer = {.refused = bp__cudnn_refused_notes(problem, direct)};
    listing list = {offered, &offer, offers, direct};
    bp_verdict verdict = *offered;
    bp__cu_part *on;
    bp__cu_scope scope;
    void *opened;
    if (!make_conv(instance, problem, device, &offer.conv, &verdict) ||
        instance->vendor.host->device_open(problem->place, &opened) != BP_OK ||
        bp__cu_vendor_part(&instance->vendor, opened, &on) != BP_OK) {
        return;
    }
    if (bp__cu_enter(on->device, true, &scope) == BP__CU_SUCCESS) {
        list_engines(instance, (bp__cudnn_device *)on, &list);
    }
    bp__cu_leave(&scope);
}
