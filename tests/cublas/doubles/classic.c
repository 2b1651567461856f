/* classic.c - the double of libcublas.so.13. */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>

#define X(name, symbol, parameters) BP_API cublasStatus_t symbol parameters;
BP__CUBLAS_FUNCTIONS(X)
#undef X
BP_API cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version);
BP_API cublasStatus_t cublasDgemm_v2(void);

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version) {
    (void)handle;
    *version = (int)double_setting("version=", 130100);
    return BP__CUBLAS_STATUS_SUCCESS;
}

/* The registry knows the library by it. */
cublasStatus_t cublasDgemm_v2(void) {
    double_violate("a function is called that only the registry knows");
    return BP__CUBLAS_STATUS_NOT_SUPPORTED;
}

/* ---- Handles ---- */

struct cublasContext {
    double_handle base; /* must be first */
    bool has_workspace;
    atomic_int users; /* calls that are in it at this moment */
    CUstream stream;
    uint64_t workspace;
    size_t workspace_size;
    cublasMath_t mode;
};

cublasStatus_t cublasCreate_v2(cublasHandle_t *made) {
    double_handle *fresh = NULL;
    const cublasStatus_t status = double_handle_new(sizeof(struct cublasContext), &fresh);
    *made = status == BP__CUBLAS_STATUS_SUCCESS ? (cublasHandle_t)fresh : *made;
    return status;
}

/* A handle works for one thread at a time. */
static bool enter(cublasHandle_t handle) {
    if (!double_handle_is_ready(handle ? &handle->base : NULL)) {
        return false;
    }
    if (atomic_fetch_add(&handle->users, 1) > 0) {
        double_violate("two threads use a handle");
    }
    return true;
}

static cublasStatus_t leave(cublasHandle_t handle, cublasStatus_t status) {
    atomic_fetch_sub(&handle->users, 1);
    return status;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t gone) {
    if (!enter(gone)) {
        return BP__CUBLAS_STATUS_NOT_INITIALIZED;
    }
    double_handle_end(&gone->base);
    return leave(gone, BP__CUBLAS_STATUS_SUCCESS);
}

/* It resets the workspace to the library's own. */
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
    if (!enter(handle)) {
        return BP__CUBLAS_STATUS_NOT_INITIALIZED;
    }
    handle->stream = stream;
    handle->has_workspace = false;
    return leave(handle, BP__CUBLAS_STATUS_SUCCESS);
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t size) {
    if (!enter(handle)) {
        return BP__CUBLAS_STATUS_NOT_INITIALIZED;
    }
    const bool aligned = (uintptr_t)workspace % 256 == 0;
    handle->workspace = (uint64_t)(uintptr_t)workspace;
    handle->workspace_size = size;
    handle->has_workspace = aligned;
    return leave(handle, aligned ? BP__CUBLAS_STATUS_SUCCESS : BP__CUBLAS_STATUS_INVALID_VALUE);
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
    if (!enter(handle)) {
        return BP__CUBLAS_STATUS_NOT_INITIALIZED;
    }
    handle->mode = mode;
    return leave(handle, BP__CUBLAS_STATUS_SUCCESS);
}

/* ---- Products ---- */

static bool is_half(uint32_t type) {
    return type == BP__CUDA_R_16F || type == BP__CUDA_R_16BF;
}

/* Splits k in f16 and bf16 if the mode permits sums in these types. */
static cublasStatus_t multiply(cublasHandle_t handle, product *p, const void *alpha, const void *beta) {
    const cublasMath_t shorter = BP__CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    if (!enter(handle)) {
        return BP__CUBLAS_STATUS_NOT_INITIALIZED;
    }
    if (!handle->has_workspace) {
        double_violate("the library would use a workspace of its own");
    }
    p->alpha = double_read(p->told.scale, alpha, 0);
    p->beta = double_read(p->told.scale, beta, 0);
    p->workspace = handle->workspace;
    p->told.workspace = handle->workspace_size;
    p->told.mode = handle->mode;
    if (is_half(p->told.ab) && p->told.k >= 8 && !(handle->mode & shorter)) {
        p->told.splits = 4;
        p->told.scheme = BP__CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    }
    cublasStatus_t status =
        cublas_double.refuse_products ? (cublasStatus_t)cublas_double.refuse_products : double_check(p);
    status = status ? status : double_enqueue(p, handle->stream);
    return leave(handle, status);
}

/* The type of alpha and beta, which follows from the types of sums and operands. */
static uint32_t scale_of(uint32_t compute, uint32_t type) {
    return compute == BP__CUBLAS_COMPUTE_16F   ? BP__CUDA_R_16F
           : compute == BP__CUBLAS_COMPUTE_32I ? BP__CUDA_R_32I
           : is_half(type)                     ? BP__CUDA_R_32F
                                               : type;
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m,
                               int64_t n, int64_t k, const void *alpha, const void *a, cudaDataType type_a, int64_t lda,
                               const void *b, cudaDataType type_b, int64_t ldb, const void *beta, void *c,
                               cudaDataType type_c, int64_t ldc, cublasComputeType_t compute,
                               cublasGemmAlgo_t algorithm) {
    return cublasGemmStridedBatchedEx_64(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0, beta,
                                         c, type_c, ldc, 0, 1, compute, algorithm);
}

cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                             int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                                             cudaDataType type_a, int64_t lda, long long stride_a, const void *b,
                                             cudaDataType type_b, int64_t ldb, long long stride_b, const void *beta,
                                             void *c, cudaDataType type_c, int64_t ldc, long long stride_c,
                                             int64_t count, cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
    product p = {.a = (uint64_t)(uintptr_t)a, .b = (uint64_t)(uintptr_t)b, .d = (uint64_t)(uintptr_t)c};
    p.c = p.d;
    p.told = (cublas_told){.compute = compute,
                           .scale = scale_of(compute, type_a),
                           .ab = type_a,
                           .d = type_c,
                           .epilogue = BP__CUBLASLT_EPILOGUE_DEFAULT,
                           .op_a = op_a,
                           .op_b = op_b,
                           .m = m,
                           .n = n,
                           .k = k,
                           .lda = lda,
                           .ldb = ldb,
                           .ldd = ldc,
                           .count = count,
                           .stride_a = stride_a,
                           .stride_b = stride_b,
                           .stride_d = stride_c};
    return type_a != type_b || algorithm != BP__CUBLAS_GEMM_DEFAULT ? BP__CUBLAS_STATUS_INVALID_VALUE
                                                                    : multiply(handle, &p, alpha, beta);
}
