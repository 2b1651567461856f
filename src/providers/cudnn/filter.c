/* filter.c - decides by the settings which notes of an engine are refused.
 *
 * As in PyTorch, engines that round their inputs to a shorter type are never taken, tensor cores run f32 only where
 * TF32 is allowed, and engines without repeatable bits only where nothing asks for these. Backplane's results are
 * accumulated in f32, so that engines with shorter sums are never taken either. */
#include "providers/cudnn/cudnn.h"

#define BIT(note) (1u << BP__CUDNN_NOTE_##note)
#define TRANSFORMS                                                                                                     \
    (BIT(FFT) | BIT(WINOGRAD) | BIT(WINOGRAD_TILE_4x4) | BIT(WINOGRAD_TILE_6x6) | BIT(WINOGRAD_TILE_13x13))

bool bp__cudnn_must_repeat(const bp_policy *policy) {
    return policy->deterministic > 0 || (policy->convolutions & BP_CUDNN_DETERMINISTIC);
}

uint32_t bp__cudnn_refused_notes(const bp_problem *problem, bool direct) {
    uint32_t refused = BIT(DOWN_CONVERT_INPUTS) | BIT(REDUCED_PRECISION_REDUCTION);
    refused |= bp__cudnn_must_repeat(&problem->policy) ? BIT(NONDETERMINISTIC) : 0;
    refused |= problem->dtype == BP_F32 && problem->policy.precision == 0 ? BIT(TENSOR_CORE) : 0;
    return refused | (direct ? TRANSFORMS : 0);
}
