/* accept.c - decides whether oneDNN takes a problem, on how many threads, and with which guarantees. Pure. */
#include "providers/onednn/onednn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_VERSION = 3 };

/* What an operation needs. */
typedef struct family {
    uint32_t op;
    const char *algorithm, *slow; /* slow: with reference loops; NULL: not offered */
    const char *items;            /* item by item, or from copied columns; NULL: there is no such way */
    const char *(*describe)(bp__onednn_call *call, const bp_problem *problem);
    double (*cost_ns)(const bp__driver *driver, const bp_problem *problem, const bp__onednn_call *call, int threads);
} family;

/* Reference loops take hundreds to thousands of times the time of kernels: 2 to 40 ns for each multiply-add. */
#define REFERENCE_COST 1000.0

static const family families[] = {
    {BP_OP_CONV, "convolution", "convolution (reference loops)", "convolution (columns)", bp__onednn_describe_conv,
     bp__onednn_conv_ns},
    {BP_OP_CONV_INPUT, "deconvolution", "deconvolution (reference loops)", "deconvolution (columns)",
     bp__onednn_describe_conv, bp__onednn_conv_ns},
    {BP_OP_CONV_WEIGHT, "convolution", "convolution (reference loops)", "convolution (columns)",
     bp__onednn_describe_conv, bp__onednn_conv_ns},
    {BP_OP_GEMM, "matmul", NULL, "matmul (item by item)", bp__onednn_describe_product, bp__onednn_product_ns},
    {BP_OP_MAX_POOL, "pooling", "pooling (reference loops)", NULL, bp__onednn_describe_pool, bp__onednn_pool_ns},
    {BP_OP_AVG_POOL, "pooling", "pooling (reference loops)", NULL, bp__onednn_describe_pool, bp__onednn_pool_ns},
    {BP_OP_MAX_POOL_BACKWARD, "pooling", "pooling (reference loops)", NULL, bp__onednn_describe_pool,
     bp__onednn_pool_ns},
    {BP_OP_AVG_POOL_BACKWARD, "pooling", "pooling (reference loops)", NULL, bp__onednn_describe_pool,
     bp__onednn_pool_ns},
    {BP_OP_RNN, "layer", NULL, NULL, bp__onednn_describe_recurrent, bp__onednn_recurrent_ns},
    {BP_OP_RNN_BACKWARD, "layer", NULL, NULL, bp__onednn_describe_recurrent, bp__onednn_recurrent_ns},
    {BP_OP_BATCH_NORM, "normalization", "normalization (reference loops)", NULL, bp__onednn_describe_normalization,
     bp__onednn_normalization_ns},
    {BP_OP_BATCH_NORM_TRAINING, "normalization", "normalization (reference loops)", NULL,
     bp__onednn_describe_normalization, bp__onednn_normalization_ns},
    {BP_OP_BATCH_NORM_BACKWARD, "normalization", "normalization (reference loops)", NULL,
     bp__onednn_describe_normalization, bp__onednn_normalization_ns},
};

static const family *family_of(const bp_problem *problem) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (families[i].op == problem->op) {
            return &families[i];
        }
    }
    return NULL;
}

/* Returns whether the library has kernels for the type on this processor. */
static bool takes_type(const bp__driver *driver, const bp_problem *problem, bp__onednn_call *call,
                       bp_verdict *verdict) {
    const bool wide = driver->host->hardware == BP_CAPABILITY_AVX512;
    call->fpmath = problem->dtype != BP_F32         ? BP__ONEDNN_FPMATH_STRICT
                   : problem->policy.precision == 2 ? BP__ONEDNN_FPMATH_BF16
                   : problem->policy.precision == 1 ? BP__ONEDNN_FPMATH_TF32
                                                    : BP__ONEDNN_FPMATH_STRICT;
    const bool product = problem->op == BP_OP_GEMM, byte = problem->dtype == BP_I8 || problem->dtype == BP_U8;
    if (problem->dtype == BP_F32 || (problem->dtype == BP_BF16 && wide) ||
        (product && (problem->dtype == BP_F16 || byte))) {
        return true;
    }
    bp__driver_refuse(verdict, BP_REASON_DTYPE, "%s",
                      problem->dtype == BP_BF16 ? "it has kernels for bf16 on processors with AVX-512 only"
                      : product                 ? "only f32, bf16, f16, i8 and u8 are offered"
                                                : "only f32 and bf16 are offered");
    return false;
}

static bp_primitive primitive_of(const bp_problem *problem, const bp__onednn_call *call) {
    switch (call->kind) {
    case BP__ONEDNN_AVERAGE:
    case BP__ONEDNN_AVERAGE_BACKWARD:
        return BP_PRIMITIVE_POOLING;
    case BP__ONEDNN_NORMALIZE:
        return BP_PRIMITIVE_BATCH_NORM;
    case BP__ONEDNN_CONVOLVE:
    case BP__ONEDNN_TRANSPOSE:
    case BP__ONEDNN_GRADIENT:
        return BP_PRIMITIVE_CONVOLUTION;
    case BP__ONEDNN_RECUR:
        return problem->of.rnn.mode == BP_RNN_LSTM  ? BP_PRIMITIVE_LSTM
               : problem->of.rnn.reset_before       ? BP_PRIMITIVE_GRU_BEFORE
               : problem->of.rnn.mode == BP_RNN_GRU ? BP_PRIMITIVE_GRU
                                                    : BP_PRIMITIVE_RNN;
    case BP__ONEDNN_MULTIPLY:
        break;
    }
    switch (call->operand[BP__ONEDNN_SOURCE].type) {
    case BP__ONEDNN_F16:
        return BP_PRIMITIVE_MATMUL_F16;
    case BP__ONEDNN_BF16:
        return BP_PRIMITIVE_MATMUL_BF16;
    case BP__ONEDNN_S8:
        return BP_PRIMITIVE_MATMUL_I8;
    case BP__ONEDNN_U8:
        return BP_PRIMITIVE_MATMUL_U8;
    default:
        return BP_PRIMITIVE_MATMUL_F32;
    }
}

/* Refuses a call of a primitive that the probe found wrong, or that the library does not have on this processor. */
static void check_primitive(const bp__driver *driver, const bp_problem *problem, const bp__onednn_call *call,
                            bp_verdict *verdict) {
    static const char *const names[] = {
#define X(number, name, text) [number] = text,
        BP_PRIMITIVE_MAP(X)
#undef X
    };
    const bp_primitive primitive = primitive_of(problem, call);
    int length;
    const char *fault = bp_library_fault_of_bit(driver->library, BP_PRIMITIVE_BIT(primitive), &length);
    if (fault) {
        const bool wrong = strncmp(fault, "wrong", 5) == 0;
        bp__driver_refuse(verdict, wrong ? BP_REASON_BROKEN : BP_REASON_DTYPE, "its %s: %.*s", names[primitive], length,
                          fault);
    }
}

/* Reference loops round sums of integers to f32, so they are not offered for products. */
static void check_way(const bp__driver *driver, const family *of, bp__onednn_call *call, bp_verdict *verdict) {
    call->way = bp__onednn_noted_way(driver, call);
    if (call->way == BP__ONEDNN_BY_LOOPS && !of->slow && verdict->reason == BP_REASON_ACCEPTED) {
        bp__driver_refuse(verdict, BP_REASON_OTHER, "it has only reference loops for this problem");
    }
}

/* Refuses what the library cannot do. Otherwise describes the call. */
static bool takes(bp__driver *driver, const bp_problem *problem, bp__onednn_call *call, bp_verdict *verdict) {
    const family *of = family_of(problem);
    if (!of) {
        bp__driver_refuse(
            verdict, BP_REASON_OP,
            "only convolutions, matrix products, averages of windows, normalizations and recurrent layers are "
            "offered");
        return false;
    }
    if (strtol(driver->library->version, NULL, 10) < LEAST_VERSION) {
        bp__driver_refuse(verdict, BP_REASON_OTHER, "version 3 or newer is needed");
    } else if (bp__driver_forked(driver)) {
        bp__driver_refuse(verdict, BP_REASON_FORKED,
                          "its threads (%s) had run, or a thread was inside it, when this process was forked",
                          driver->library->threading);
    } else if (takes_type(driver, problem, call, verdict)) {
        const char *why = of->describe(call, problem);
        if (why) {
            bp__driver_refuse(verdict, BP_REASON_LAYOUT, "%s", why);
        } else {
            check_primitive(driver, problem, call, verdict);
            check_way(driver, of, call, verdict);
        }
    }
    return verdict->reason == BP_REASON_ACCEPTED;
}

/* Whether the call has sums of products whose order depends on the row, which may be the place in a batch. */
static bool depends_on_row(const bp__onednn_call *call) {
    return call->kind == BP__ONEDNN_MULTIPLY || call->kind == BP__ONEDNN_RECUR;
}

/* Several threads may add up their parts of a gradient in any order, so only one thread repeats its bits. */
static uint32_t properties_of(const bp__driver *driver, const bp_policy *policy, const bp__onednn_call *call) {
    if (call->operand[BP__ONEDNN_RESULT].type == BP__ONEDNN_S32) { /* exact */
        return BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_ROW_INVARIANT;
    }
    const bool rounds = call->kind != BP__ONEDNN_AVERAGE && call->kind != BP__ONEDNN_AVERAGE_BACKWARD &&
                        call->kind != BP__ONEDNN_NORMALIZE;
    uint32_t properties = BP_PROPERTY_ACCUMULATES_F32 | (depends_on_row(call) ? BP_PROPERTY_PROPAGATES_NAN : 0) |
                          (call->way == BP__ONEDNN_BY_ITEMS ? BP_PROPERTY_ITEM_BY_ITEM : 0);
    properties |= !rounds                                  ? 0
                  : call->fpmath == BP__ONEDNN_FPMATH_BF16 ? BP_PROPERTY_ROUNDS_BELOW_TF32
                  : call->fpmath == BP__ONEDNN_FPMATH_TF32 ? BP_PROPERTY_INPUTS_TF32
                                                           : 0;
    const bool repeats = call->kind != BP__ONEDNN_GRADIENT || call->setup.threads == 1;
    const uint32_t lost = depends_on_row(call) ? BP_PROPERTY_THREAD_INVARIANT : 0;
    return properties | (repeats ? bp__driver_guarantees(driver, policy, &call->setup) & ~lost : 0);
}

static double cost_of(const bp__driver *driver, const bp_problem *problem, const bp__onednn_call *call, int threads) {
    const double ns = family_of(problem)->cost_ns(driver, problem, call, threads);
    return call->way == BP__ONEDNN_BY_LOOPS ? REFERENCE_COST * ns : ns;
}

/* Says what is converted in each call. */
static void describe_conversions(const bp_problem *problem, const bp__onednn_call *call, bp_verdict *verdict) {
    const uint32_t images = 1u << BP__ONEDNN_SOURCE | 1u << BP__ONEDNN_RESULT;
    const bool weights = (call->own & ~images) && !(problem->policy.packed & call->packs);
    const char *what = call->kind == BP__ONEDNN_RECUR ? "the weights" : "the weight";
    const bool both = weights && (call->own & images);
    if (weights || (call->own & images)) {
        snprintf(verdict->text, sizeof verdict->text, "converts %s%s%s in each call", weights ? what : "",
                 both ? " and " : "", call->own & images ? "images" : "");
    }
}

/* Offers the call on one thread, or on as many as gain. Returns whether it is on several. */
static bool offer(bp__driver *driver, const bp_problem *problem, bp__onednn_call *call, bool alone, bp_offers *offers) {
    const bp_policy *policy = &problem->policy;
    const family *of = family_of(problem);
    bp_verdict verdict = BP_VERDICT_INIT;
    const int allowed = bp__driver_allowed(driver, policy);
    const bool gains =
        !alone && allowed > 1 && cost_of(driver, problem, call, allowed) < cost_of(driver, problem, call, 1);
    call->setup = bp__driver_thread_policy(driver, policy, false, gains);
    verdict.algorithm = call->way == BP__ONEDNN_BY_LOOPS    ? of->slow
                        : call->way == BP__ONEDNN_BY_KERNEL ? of->algorithm
                                                            : of->items;
    verdict.packs = call->packs;
    describe_conversions(problem, call, &verdict);
    verdict.threads = call->setup.threads;
    verdict.cost_ns = cost_of(driver, problem, call, call->setup.threads > 0 ? call->setup.threads : 1);
    verdict.properties = properties_of(driver, policy, call);
    call->deterministic = (verdict.properties & BP_PROPERTY_REPRODUCIBLE) != 0;
    const bool exact = call->operand[BP__ONEDNN_RESULT].type == BP__ONEDNN_S32;
    if (depends_on_row(call) && policy->deterministic == 2 && !exact) {
        bp__driver_refuse(&verdict, BP_REASON_DETERMINISM, "the bits of its products depend on the place in a batch");
    } else if (call->kind != BP__ONEDNN_GRADIENT) {
        bp__driver_enforce_policy(driver, policy, &call->setup, &verdict);
    }
    offers->add(offers, &verdict, call, sizeof *call);
    return call->setup.threads != 1;
}

void bp__onednn_accept(void *driver, const bp_problem *problem, bp_offers *offers) {
    bp__onednn_call call;
    bp_verdict verdict = BP_VERDICT_INIT;
    memset(&call, 0, sizeof call);
    if (!takes(driver, problem, &call, &verdict)) {
        offers->add(offers, &verdict, NULL, 0);
        return;
    }
    if (offer(driver, problem, &call, false, offers) && call.kind == BP__ONEDNN_GRADIENT) {
        offer(driver, problem, &call, true, offers);
    }
}
