/* provider.c - the built-in provider: every operation but large factorizations, with no library and no OpenMP. Products
 * are in this folder, transforms, small linear algebra and contractions in folders of their own. */
#include "choose.h"
#include "part.h"

#include <stdio.h>

static bp_status open_native(const bp_host *host, const bp_library_info *library, void **instance) {
    (void)library;
    /* The host's table is all that an instance would keep; it lives as long as the library. */
    *instance = (void *)(uintptr_t)host;
    return BP_OK;
}

static void close_native(void *instance) {
    (void)instance;
}

static uint32_t notes_of(const bp_problem *problem, const bp__native_choice *choice) {
    uint32_t notes = BP_NOTE_SAME_RUN | BP_NOTE_SAME_THREADS | BP_NOTE_PROPAGATES_NAN;
    notes |= problem->dtype == BP_F64 || problem->dtype == BP_C128 ? BP_NOTE_ACCUMULATES_F64 : BP_NOTE_ACCUMULATES_F32;
    if (choice->path == BP__PATH_PACKED) {
        notes |= BP_NOTE_PACKS_A | BP_NOTE_PACKS_B | (choice->kernels->widen ? BP_NOTE_PACKS_C : 0);
    } else if (choice->path == BP__PATH_SMALL && (choice->view.v_p != 1 || choice->kernels->complex)) {
        notes |= choice->transposed ? BP_NOTE_PACKS_B : BP_NOTE_PACKS_A;
    }
    return notes;
}

static void accept_gemm(const bp_host *host, const bp_problem *problem, bp_verdict *verdict) {
    bp__native_choice choice;
    verdict->reason = bp__native_choose(host, problem, &choice);
    if (verdict->reason != BP_REASON_ACCEPTED) {
        snprintf(verdict->text, sizeof verdict->text, "only f16, bf16, f32, f64, c64 and c128 are offered");
        return;
    }
    verdict->algorithm = choice.algorithm;
    verdict->notes = notes_of(problem, &choice);
    verdict->threads = choice.threads;
    verdict->cost_ns = choice.cost_ns;
}

static bp_status plan_gemm(const bp_host *host, const bp_problem *problem, bp_prepared **prepared) {
    bp__native_choice choice;
    if (bp__native_choose(host, problem, &choice) != BP_REASON_ACCEPTED) {
        return host->fail(BP_E_UNSUPPORTED, "the native provider was asked to plan a problem that it refused");
    }
    return bp__native_prepare(host, &choice, &problem->of.gemm, prepared);
}

static const bp__native_part gemm_part = {accept_gemm, plan_gemm};

static const bp__native_part *part_of(uint32_t op) {
    switch (op) {
    case BP_OP_GEMM:
        return &gemm_part;
    case BP_OP_FFT:
        return &bp__native_fft;
    case BP_OP_CONTRACT:
        return &bp__native_contract;
    default:
        return &bp__native_linalg;
    }
}

static void accept(void *instance, const bp_problem *problem, bp_verdict *verdict) {
    part_of(problem->op)->accept(instance, problem, verdict);
}

static bp_status plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, bp_prepared **prepared) {
    (void)verdict;
    return part_of(problem->op)->plan(instance, problem, prepared);
}

BP_PROVIDER_DEFINE(native) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "native",
    .version = BP_VERSION_STRING,
    .description = "built-in kernels, same bits on any number of threads",
    .open = open_native,
    .close = close_native,
    .accept = accept,
    .plan = plan,
};
