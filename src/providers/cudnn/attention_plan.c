/* attention_plan.c - offers attention on cuDNN, with an estimate of its time, and makes its plans. */
#include "providers/cudnn/attention.h"

#include <math.h>

enum { LANES = 128, TENSOR_CORES = 16 };
#define CALL_NS 5000.0 /* of starting a call on the device */

/* ---- Offers ---- */

/* Estimates from the facts of the device. Only ranks candidates: before kernels without tensor cores, which take as
 * long to start. PyTorch prefers cuDNN too, but only on compute capability 9.x and 10.x, where its own kernels are
 * slower. */
static double cost(const bp_device_info *device, const bp_problem *problem) {
    const bp_attention_problem *p = &problem->of.attention;
    const double units = device->units ? device->units : 1, clock = device->clock_mhz ? device->clock_mhz : 1000;
    const double scores = (double)p->batch * (double)p->queries * (double)p->keys * (p->causal ? 0.5 : 1);
    const double products =
        scores * ((double)p->size + (double)p->value_size) * (problem->op == BP_OP_ATTENTION_BACKWARD ? 2.5 : 1);
    const double compute = products / (units * clock * 1e-3 * LANES * TENSOR_CORES);
    return CALL_NS + compute;
}

/* cuDNN's notes never say that gradients are not deterministic, although they are added up in any order. As in PyTorch,
 * no attention of cuDNN has bits that are the same in the next run. */
void bp__cudnn_attention_accept(bp__cudnn_instance *instance, const bp_problem *problem, bp_offers *offers) {
    const bp_device_info *device = instance->vendor.host->device(problem->place);
    bp_verdict verdict = BP_VERDICT_INIT;
    bp__cudnn_attention attention;
    verdict.algorithm = "cudnn";
    if (!device) {
        bp__cu_vendor_refuse(&verdict, BP_REASON_DEVICE, "there is no such device");
    } else if (bp__cu_vendor_has_version(&instance->vendor, &verdict) &&
               bp__cudnn_attention_of(instance, problem, device, &attention, &verdict)) {
        verdict.reason = BP_REASON_ACCEPTED;
        verdict.properties = BP_PROPERTY_ACCUMULATES_F32;
        verdict.cost_ns = cost(device, problem);
        offers->add(offers, &verdict, &attention, sizeof attention);
        return;
    }
    offers->add(offers, &verdict, NULL, 0);
}

/* ---- Plans ---- */

static uint64_t bytes_of(const bp__cudnn_tensor *tensor) {
    const int64_t item = tensor->type == BP__CUDNN_DATA_FLOAT ? 4 : 2;
    int64_t last = 0;
    for (int d = 0; d < tensor->ndim; d++) {
        last += (tensor->size[d] - 1) * tensor->stride[d];
    }
    return (uint64_t)((last + 1) * item);
}

static void bind_buffer(bp__cudnn_sequence *sequence, int64_t uid, const bp__cudnn_tensor *tensor) {
    const bp__cudnn_place place = {BP__CUDNN_WORKSPACE, bp__cudnn_reserve(sequence, bytes_of(tensor))};
    bp__cudnn_bind(sequence, 0, uid, place, bytes_of(tensor));
}

static void bind_number(bp__cudnn_sequence *sequence, int64_t uid, float value) {
    const int number = sequence->number_count++;
    sequence->numbers[number] = value;
    bp__cudnn_bind(sequence, 0, uid, (bp__cudnn_place){BP__CUDNN_NUMBER, (uint64_t)number}, sizeof value);
}

static void bind_tensors(bp__cudnn_sequence *sequence, const bp__cudnn_attention *a) {
    static const uint8_t forward[] = {BP_ATTENTION_QUERY,    BP_ATTENTION_KEY,     BP_ATTENTION_VALUE,
                                      BP_ATTENTION_MASK,     BP_ATTENTION_TENSORS, BP_ATTENTION_OUTPUT,
                                      BP_ATTENTION_LOGSUMEXP};
    static const uint8_t backward[] = {
        BP_ATTENTION_OUTPUT_GRADIENT, BP_ATTENTION_QUERY,        BP_ATTENTION_KEY,           BP_ATTENTION_VALUE,
        BP_ATTENTION_TENSORS,         BP_ATTENTION_TENSORS,      BP_ATTENTION_OUTPUT,        BP_ATTENTION_LOGSUMEXP,
        BP_ATTENTION_QUERY_GRADIENT,  BP_ATTENTION_KEY_GRADIENT, BP_ATTENTION_VALUE_GRADIENT};
    const uint8_t *order = a->backward ? backward : forward;
    const int count = a->backward ? (int)sizeof backward : (int)sizeof forward;
    for (int i = 0; i < count; i++) {
        if (order[i] == BP_ATTENTION_TENSORS || a->tensor[order[i]].ndim == 0) {
            continue;
        }
        if (a->unwanted[order[i]]) {
            bind_buffer(sequence, 1 + order[i], &a->tensor[order[i]]);
        } else {
            bp__cudnn_bind(sequence, 0, 1 + order[i], (bp__cudnn_place){.operand = (int8_t)i},
                           bytes_of(&a->tensor[order[i]]));
        }
    }
}

static void make_sequence(const bp__cudnn_attention *a, const bp_device_info *device, bp__cudnn_sequence *sequence) {
    *sequence = (bp__cudnn_sequence){
        .describe = bp__cudnn_attention_describe, .call_count = 1, .item = sizeof(uint16_t), .aligned = true};
    sequence->filter = (bp__cudnn_filter){.workspace = (int64_t)(device->memory / 2), .rank = -1};
    bind_tensors(sequence, a);
    bind_number(sequence, BP__CUDNN_SCALE_UID, a->scale);
    if (a->causal) {
        bind_number(sequence, BP__CUDNN_MINUS_INFINITY_UID, -INFINITY);
    }
    if (a->backward) {
        bind_number(sequence, BP__CUDNN_ONE_UID, 1);
        bind_buffer(sequence, BP__CUDNN_SUMS_UID, &a->sums);
        bind_buffer(sequence, BP__CUDNN_TOTAL_UID, &a->total);
    }
    bp__cudnn_add_call(sequence, 0);
}

bp_status bp__cudnn_attention_plan(bp__cudnn_instance *instance, const bp_problem *problem,
                                   const bp__cudnn_attention *attention, bp_prepared **prepared) {
    bp__cudnn_sequence sequence;
    make_sequence(attention, instance->vendor.host->device(problem->place), &sequence);
    return bp__cudnn_make(instance, problem->place, &sequence, attention, sizeof *attention, prepared);
}
