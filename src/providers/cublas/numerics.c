/* numerics.c - translates types and settings to NVIDIA's words: compute type, reduction schemes, workspace.
 *
 * The settings are those under cuda.matmul in the problem's policy; docs/reference/devices.md has the table. */
#include "providers/cublas/cublas.h"

#include <math.h>
#include <stdio.h>

enum { TF32_CAPABILITY = 800, F16_CAPABILITY = 700, LARGE_WORKSPACE_CAPABILITY = 900, BFX9_VERSION = 12009 };
/* What NVIDIA recommends. */
#define LARGE_WORKSPACE (UINT64_C(32) << 20)
#define SMALL_WORKSPACE (UINT64_C(4) << 20)
/* Up to this k a sum of products of i8 fits i32; what the library does beyond is not documented. */
#define MOST_K_OF_I8 131071

static const struct {
    uint32_t dtype, type, compute, scale, item;
    uint32_t properties;
    double rate;
} types[] = {
    {BP_F16, BP__CUDA_R_16F, BP__CUBLAS_COMPUTE_32F, BP__CUDA_R_32F, 2, BP_PROPERTY_ACCUMULATES_F32, 16},
    {BP_BF16, BP__CUDA_R_16BF, BP__CUBLAS_COMPUTE_32F, BP__CUDA_R_32F, 2, BP_PROPERTY_ACCUMULATES_F32, 16},
    {BP_F32, BP__CUDA_R_32F, BP__CUBLAS_COMPUTE_32F, BP__CUDA_R_32F, 4, BP_PROPERTY_ACCUMULATES_F32, 1},
    {BP_F64, BP__CUDA_R_64F, BP__CUBLAS_COMPUTE_64F, BP__CUDA_R_64F, 8, BP_PROPERTY_ACCUMULATES_F64, 0.5},
    {BP_C64, BP__CUDA_C_32F, BP__CUBLAS_COMPUTE_32F, BP__CUDA_C_32F, 8, BP_PROPERTY_ACCUMULATES_F32, 0.25},
    {BP_C128, BP__CUDA_C_64F, BP__CUBLAS_COMPUTE_64F, BP__CUDA_C_64F, 16, BP_PROPERTY_ACCUMULATES_F64, 0.125},
    {BP_I8, BP__CUDA_R_8I, BP__CUBLAS_COMPUTE_32I, BP__CUDA_R_32I, 1, 0, 32},
};

static bool refuse(bp_verdict *verdict, bp_reason reason, const char *text) {
    verdict->reason = reason;
    snprintf(verdict->text, sizeof verdict->text, "%s", text);
    return false;
}

/* ---- Types ---- */

static bool set_types(const bp_problem *problem, bp__cublas_numerics *x, bp_verdict *verdict) {
    const bool gemm = problem->op == BP_OP_GEMM;
    const bp_dtype b = gemm ? bp_gemm_type(problem, problem->of.gemm.b_type) : (bp_dtype)problem->dtype;
    const bp_dtype c = gemm ? bp_gemm_type(problem, problem->of.gemm.c_type) : (bp_dtype)problem->dtype;
    const bp_dtype wanted = problem->dtype == BP_I8 ? BP_I32 : (bp_dtype)problem->dtype;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].dtype == problem->dtype && b == problem->dtype && c == wanted) {
            *x = (bp__cublas_numerics){.compute = types[i].compute,
                                       .scale = types[i].scale,
                                       .ab = types[i].type,
                                       .d = c == BP_I32 ? BP__CUDA_R_32I : types[i].type,
                                       .item = types[i].item,
                                       .item_d = c == BP_I32 ? 4 : types[i].item,
                                       .properties = types[i].properties,
                                       .rate = types[i].rate};
            return true;
        }
    }
    return refuse(verdict, BP_REASON_DTYPE, "only f16, bf16, f32, f64, c64, c128, and i8 with sums in i32 are offered");
}

static bool sums_fit(const bp_problem *problem, bp_verdict *verdict) {
    const bp_gemm_problem *g = &problem->of.gemm;
    return problem->dtype != BP_I8 || (g->k <= MOST_K_OF_I8 && g->beta == BP_FACTOR_ZERO) ||
           refuse(verdict, BP_REASON_SIZE, "a sum of products of i8 could exceed i32");
}

/* ---- Settings ---- */

static bool is_single(uint32_t dtype) {
    return dtype == BP_F32 || dtype == BP_C64;
}

/* cuda.matmul.fp32_precision, and its parents and aliases. */
static bool set_precision(const bp__cublas_instance *instance, const bp_problem *problem, const bp_device_info *device,
                          bp__cublas_numerics *x, bp_verdict *verdict) {
    const bp_policy *policy = &problem->policy;
    if (!is_single(problem->dtype)) {
        return true;
    }
    if (policy->products & BP_PRODUCTS_BFX9) {
        x->compute = BP__CUBLAS_COMPUTE_32F_EMULATED_16BFX9;
        x->rate *= 2;
        return instance->vendor.version >= BFX9_VERSION ||
               refuse(verdict, BP_REASON_PRECISION, "bfx9 needs the libraries of CUDA 12.9 or later");
    }
    if (policy->precision > 0 && device->capability >= TF32_CAPABILITY) {
        x->compute = BP__CUBLAS_COMPUTE_32F_FAST_TF32;
        x->properties |= BP_PROPERTY_INPUTS_TF32;
        x->rate *= 8;
    }
    return true;
}

/* cuda.matmul.allow_fp16_accumulation. */
static void set_accumulation(const bp_problem *problem, const bp_device_info *device, bp__cublas_numerics *x) {
    if (problem->dtype == BP_F16 && (problem->policy.products & BP_PRODUCTS_F16_ACCUMULATION) &&
        device->capability >= F16_CAPABILITY) {
        x->compute = BP__CUBLAS_COMPUTE_16F;
        x->scale = BP__CUDA_R_16F;
        x->properties &= ~BP_PROPERTY_ACCUMULATES_F32;
    }
}

/* cuda.matmul.allow_fp16_reduced_precision_reduction, its part split_k, and the same for bf16. A scheme that adds in
 * the buffer of the output is left out where bits must repeat. */
static void set_schemes(const bp_problem *problem, bp__cublas_numerics *x) {
    const uint32_t f16 = problem->dtype == BP_F16, bf16 = problem->dtype == BP_BF16;
    const uint32_t products = problem->policy.products;
    const bool reduces = products & (f16 ? BP_PRODUCTS_F16_REDUCTION : BP_PRODUCTS_BF16_REDUCTION);
    const bool splits = products & (f16 ? BP_PRODUCTS_F16_SPLIT_K : BP_PRODUCTS_BF16_SPLIT_K);
    x->schemes = BP__CUBLASLT_REDUCTION_SCHEME_MASK;
    if (f16 || bf16) {
        x->schemes = !splits   ? BP__CUBLASLT_REDUCTION_SCHEME_NONE
                     : reduces ? BP__CUBLASLT_REDUCTION_SCHEME_MASK
                               : BP__CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    }
    if (problem->policy.deterministic) {
        x->schemes &= ~(uint32_t)BP__CUBLASLT_REDUCTION_SCHEME_INPLACE;
    }
}

/* cuda.cublas_workspace_size and cuda.cublaslt_workspace_size. */
static uint64_t workspace_of(const bp__cublas_instance *instance, const bp_policy *policy,
                             const bp_device_info *device) {
    const uint64_t limit = instance->is_lt ? policy->lt_workspace_limit : policy->workspace_limit;
    return limit ? limit : device->capability >= LARGE_WORKSPACE_CAPABILITY ? LARGE_WORKSPACE : SMALL_WORKSPACE;
}

bool bp__cublas_numerics_of(const bp__cublas_instance *instance, const bp_problem *problem,
                            const bp_device_info *device, bp__cublas_numerics *numerics, bp_verdict *verdict) {
    if (!set_types(problem, numerics, verdict) || !sums_fit(problem, verdict) ||
        !set_precision(instance, problem, device, numerics, verdict)) {
        return false;
    }
    set_accumulation(problem, device, numerics);
    set_schemes(problem, numerics);
    numerics->workspace = workspace_of(instance, &problem->policy, device);
    numerics->properties |= BP_PROPERTY_REPRODUCIBLE;
    return true;
}

const char *bp__cublas_compute_name(uint32_t compute) {
    switch (compute) {
    case BP__CUBLAS_COMPUTE_16F:
        return "CUBLAS_COMPUTE_16F";
    case BP__CUBLAS_COMPUTE_32F:
        return "CUBLAS_COMPUTE_32F";
    case BP__CUBLAS_COMPUTE_64F:
        return "CUBLAS_COMPUTE_64F";
    case BP__CUBLAS_COMPUTE_32I:
        return "CUBLAS_COMPUTE_32I";
    case BP__CUBLAS_COMPUTE_32F_FAST_TF32:
        return "CUBLAS_COMPUTE_32F_FAST_TF32";
    default:
        return "CUBLAS_COMPUTE_32F_EMULATED_16BFX9";
    }
}

/* ---- Alpha and beta ---- */

/* Rounds to f16, to nearest even. */
static uint16_t f16_of(double value) {
    enum { INFINITE = 0x7C00, NOT_A_NUMBER = 0x7E00, LEAST_EXPONENT = -14 };
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double size = fabs(value);
    if (isnan(size)) {
        return NOT_A_NUMBER;
    }
    if (size >= 65520) {
        return sign | INFINITE;
    }
    int exponent = size > 0 ? ilogb(size) : LEAST_EXPONENT;
    exponent = exponent < LEAST_EXPONENT ? LEAST_EXPONENT : exponent;
    const unsigned steps = (unsigned)nearbyint(ldexp(size, 10 - exponent)); /* 1024 to 2048, less if subnormal */
    return (uint16_t)(sign | (((unsigned)(exponent - LEAST_EXPONENT) << 10) + steps));
}

void bp__cublas_scalar_of(bp__cublas_scalar *scalar, uint32_t scale, bp_scalar value) {
    switch (scale) {
    case BP__CUDA_R_16F:
        scalar->f16 = f16_of(value.re);
        break;
    case BP__CUDA_R_32I:
        scalar->i32 = (int32_t)value.re;
        break;
    case BP__CUDA_R_64F:
    case BP__CUDA_C_64F:
        scalar->f64[0] = value.re;
        scalar->f64[1] = value.im;
        break;
    default:
        scalar->f32[0] = (float)value.re;
        scalar->f32[1] = (float)value.im;
    }
}
