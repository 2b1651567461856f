/* precision.c - finds the setting that limits the rounding of f32 inputs, by the operation and by where its operands
 * are.
 *
 * As in PyTorch, the settings of mkldnn are for the host, and the settings of cuda and cudnn for CUDA and ROCm, each
 * with its parents (settings/precision_tree.c). A device of another kind has no settings of its own, so that
 * fp32_precision alone decides. A convolution obeys conv.fp32_precision everywhere, if it is set. */
#include "dispatch/internal.h"

#include "tensor/internal.h"

/* Linear layers are convolutions for providers, but products for the settings of CUDA. */
static _Thread_local bool linear __attribute__((tls_model("initial-exec")));

bool bp__precision_of_linear(bool on) {
    const bool before = linear;
    linear = on;
    return before;
}

/* Returns whether the operation is a convolution whose own setting has a value. */
static bool has_own(const bp__family *family) {
    const bp_setting_id own = BP_SET_conv_fp32_precision;
    bp_layer layer;
    const char *where;
    bp_setting_id node;
    if (family->precision != (int)own) {
        return false;
    }
    bp__setting_origin(own, &layer, &where, &node);
    return node == own && layer != BP_LAYER_DEFAULT && bp__setting(own) != 0;
}

int bp__precision_setting(const bp__family *family, int32_t place) {
    const bool cuda = bp__place_is_cuda(place);
    if (place == 0 || has_own(family)) {
        return family->precision;
    }
    if (cuda && linear && family->cuda.convolutions) {
        return BP_SET_cuda_matmul_fp32_precision;
    }
    return cuda && family->cuda.precision                ? (int)family->cuda.precision
           : cuda || family->precision == BP__NO_SETTING ? BP__NO_SETTING
                                                         : BP_SET_fp32_precision;
}

void bp__precision_resolve(bp_policy *policy, const bp__family *family, int32_t place) {
    enum { NONE, IEEE, TF32, OTHER }; /* the words of these settings in the settings table */
    const int setting = bp__precision_setting(family, place);
    const bp__value word = setting == BP__NO_SETTING ? NONE : bp__setting_resolved((bp_setting_id)setting);
    const bool bfx9 = word == OTHER && setting == BP_SET_cuda_matmul_fp32_precision;
    policy->precision = word == TF32 ? 1 : word == OTHER && !bfx9 ? 2 : 0;
    policy->constraints &= (uint8_t)~BP__IEEE;
    /* "none" allows what "ieee" does not: algorithms with larger errors. */
    policy->constraints |= word == IEEE ? BP__IEEE : 0;
    policy->products &= (uint8_t)~BP_PRODUCTS_BFX9;
    policy->products |= bfx9 ? BP_PRODUCTS_BFX9 : 0;
}

const char *bp__precision_decider(const bp_problem *problem) {
    /* The host runs it on copies, under the settings of the device. */
    const bool copied = problem->place == 0 && (problem->policy.constraints & BP__TRANSFERS);
    const int setting = copied ? BP_SET_fp32_precision : bp__precision_setting(bp__family_of(problem), problem->place);
    bp_layer layer;
    const char *where;
    bp_setting_id node;
    if (setting == BP__NO_SETTING) {
        return NULL;
    }
    bp__setting_origin((bp_setting_id)setting, &layer, &where, &node);
    return bp_setting_at((int)node)->name;
}
