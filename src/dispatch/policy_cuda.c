/* policy_cuda.c - writes the settings under cuda and cudnn into the policy of an operation on CUDA or ROCm.
 *
 * They are part of the key of a plan, so each is resolved for the operations only that it can change: a setting of
 * convolutions makes no new plan of a product. */
#include "dispatch/internal.h"

static uint8_t bit(bp_setting_id setting, unsigned mask) {
    return bp__setting_int(setting) ? (uint8_t)mask : 0;
}

static uint8_t products(void) {
    return (uint8_t)(bit(BP_SET_cuda_matmul_allow_fp16_reduced_precision_reduction, BP_PRODUCTS_F16_REDUCTION) |
                     bit(BP_SET_cuda_matmul_allow_fp16_reduced_precision_reduction_split_k, BP_PRODUCTS_F16_SPLIT_K) |
                     bit(BP_SET_cuda_matmul_allow_bf16_reduced_precision_reduction, BP_PRODUCTS_BF16_REDUCTION) |
                     bit(BP_SET_cuda_matmul_allow_bf16_reduced_precision_reduction_split_k, BP_PRODUCTS_BF16_SPLIT_K) |
                     bit(BP_SET_cuda_matmul_allow_fp16_accumulation, BP_PRODUCTS_F16_ACCUMULATION) |
                     bp__setting_int(BP_SET_cuda_preferred_blas_library) << BP_PRODUCTS_LIBRARY_SHIFT);
}

static void resolve_convolutions(bp_policy *policy) {
    enum { AUTO, CUDNN, NATIVE }; /* words of cudnn.depthwise_kernel */
    const int64_t depthwise = bp__setting_int(BP_SET_cudnn_depthwise_kernel);
    policy->convolutions |= bit(BP_SET_cudnn_benchmark, BP_CUDNN_BENCHMARK) |
                            bit(BP_SET_miopen_immediate, BP_CUDNN_IMMEDIATE) |
                            (depthwise == CUDNN    ? BP_CUDNN_DEPTHWISE_CUDNN
                             : depthwise == NATIVE ? BP_CUDNN_DEPTHWISE_NATIVE
                                                   : 0);
    policy->benchmark_limit =
        policy->convolutions & BP_CUDNN_BENCHMARK ? (uint32_t)bp__setting_int(BP_SET_cudnn_benchmark_limit) : 0;
}

/* ---- Attention ---- */

static const struct {
    const char *name; /* in cuda.sdp_priority */
    bp_setting_id enabled;
} sdp_kernels[BP_SDP_KERNELS] = {
    [BP_SDP_FLASH] = {"flash", BP_SET_cuda_flash_sdp},
    [BP_SDP_EFFICIENT] = {"efficient", BP_SET_cuda_mem_efficient_sdp},
    [BP_SDP_MATH] = {"math", BP_SET_cuda_math_sdp},
    [BP_SDP_CUDNN] = {"cudnn", BP_SET_cuda_cudnn_sdp},
    [BP_SDP_OVERRIDEABLE] = {"overrideable", BP_SET_cuda_overrideable_sdp},
};

/* Returns the number of the order of cuda.sdp_priority among all orders. Kernels that it does not name follow in the
 * default order. */
static uint8_t sdp_order(void) {
    const char *text = bp__setting_text(BP_SET_cuda_sdp_priority);
    unsigned order = 0, left = (1u << BP_SDP_KERNELS) - 1;
    int positions[BP_SDP_KERNELS];
    for (int i = 0; i < BP_SDP_KERNELS; i++) {
        const int found = bp__kernel_position(text, sdp_kernels[i].name);
        positions[i] = found < 0 ? BP_SDP_KERNELS + i : found;
    }
    for (int i = 0; i < BP_SDP_KERNELS; i++) {
        int next = -1;
        unsigned before = 0; /* kernels without a position that are earlier in the default order */
        for (int k = 0; k < BP_SDP_KERNELS; k++) {
            next = (left >> k & 1) && (next < 0 || positions[k] < positions[next]) ? k : next;
        }
        for (int k = 0; k < next; k++) {
            before += left >> k & 1;
        }
        order = order * (unsigned)(BP_SDP_KERNELS - i) + before;
        left &= ~(1u << next);
    }
    return (uint8_t)order;
}

static void resolve_sdp(bp_policy *policy) {
    policy->sdp = bit(BP_SET_cuda_fp16_bf16_reduction_math_sdp, BP_SDP_REDUCTION);
    for (int i = 0; i < BP_SDP_KERNELS; i++) {
        policy->sdp |= bit(sdp_kernels[i].enabled, 1u << i);
    }
    policy->sdp_order = sdp_order();
}

void bp__policy_on_cuda(bp_policy *policy, const bp__family *family) {
    policy->convolutions = (uint8_t)(bit(BP_SET_cudnn_enabled, BP_CUDNN_DISABLED) ^ BP_CUDNN_DISABLED) |
                           bit(BP_SET_cudnn_deterministic, BP_CUDNN_DETERMINISTIC);
    if (family->cuda.precision) { /* it has products: linear layers are convolutions */
        policy->products |= products();
        policy->workspace_limit = (uint64_t)bp__setting_int(BP_SET_cuda_cublas_workspace_size);
        policy->lt_workspace_limit = (uint64_t)bp__setting_int(BP_SET_cuda_cublaslt_workspace_size);
    }
    if (family->cuda.library) {
        policy->products |= (uint8_t)(bp__setting_int(family->cuda.library) << BP_PRODUCTS_LIBRARY_SHIFT);
    }
    if (family->cuda.convolutions) {
        resolve_convolutions(policy);
    }
    if (family->kernels) {
        resolve_sdp(policy);
    }
}
