/* api.h - declares the types, functions and constants of cuBLASLt and cuBLAS (12 and 13) that the provider calls, also
 * for the test that compares them with the installed headers. Types have NVIDIA's names, so that they are the same
 * types as in those headers. That test includes them first, and defines BP__CUBLAS_HEADER. */
#ifndef BP_PROVIDERS_CUBLAS_API_H
#define BP_PROVIDERS_CUBLAS_API_H

#include "providers/cuda/data_types.h"

#ifndef BP__CUBLAS_HEADER
/* Enumerations have 32 bits; their types here are the ones that compilers choose for them. */
typedef unsigned cublasStatus_t, cublasOperation_t, cublasComputeType_t;
typedef unsigned cublasLtMatmulDescAttributes_t, cublasLtMatrixLayoutAttribute_t, cublasLtMatmulPreferenceAttributes_t;
typedef unsigned cublasLtMatmulAlgoConfigAttributes_t, cublasLtMatmulAlgoCapAttributes_t;
typedef unsigned cublasMath_t;
typedef int cublasGemmAlgo_t;
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct cublasContext *cublasHandle_t;

/* The library makes these three, so that their sizes do not matter. */
typedef struct bp__cublas_matmul *cublasLtMatmulDesc_t;
typedef struct bp__cublas_layout *cublasLtMatrixLayout_t;
typedef struct bp__cublas_preference *cublasLtMatmulPreference_t;

typedef struct {
    uint64_t data[8];
} cublasLtMatmulAlgo_t;

typedef struct {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
} cublasLtMatmulHeuristicResult_t;
#endif

/* X(name, symbol, parameters). All return a cublasStatus_t, except cublasLtGetVersion. */
/* clang-format off */
#define BP__CUBLAS_LT_FUNCTIONS(X)                                                                                     \
    X(Create, cublasLtCreate, (cublasLtHandle_t *))                                                                    \
    X(Destroy, cublasLtDestroy, (cublasLtHandle_t))                                                                    \
    X(DescCreate, cublasLtMatmulDescCreate, (cublasLtMatmulDesc_t *, cublasComputeType_t, cudaDataType))               \
    X(DescDestroy, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t))                                                  \
    X(DescSet, cublasLtMatmulDescSetAttribute,                                                                         \
      (cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void *, size_t))                                    \
    X(LayoutCreate, cublasLtMatrixLayoutCreate, (cublasLtMatrixLayout_t *, cudaDataType, uint64_t, uint64_t, int64_t)) \
    X(LayoutDestroy, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t))                                            \
    X(LayoutSet, cublasLtMatrixLayoutSetAttribute,                                                                     \
      (cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, const void *, size_t))                                 \
    X(PreferenceCreate, cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t *))                                \
    X(PreferenceDestroy, cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t))                                \
    X(PreferenceSet, cublasLtMatmulPreferenceSetAttribute,                                                             \
      (cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void *, size_t))                        \
    X(GetHeuristic, cublasLtMatmulAlgoGetHeuristic,                                                                    \
      (cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, \
       cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t *, int *))             \
    X(ConfigGet, cublasLtMatmulAlgoConfigGetAttribute,                                                                 \
      (const cublasLtMatmulAlgo_t *, cublasLtMatmulAlgoConfigAttributes_t, void *, size_t, size_t *))                  \
    X(Matmul, cublasLtMatmul,                                                                                          \
      (cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *, cublasLtMatrixLayout_t, const void *,       \
       cublasLtMatrixLayout_t, const void *, const void *, cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t,     \
       const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t))

#define BP__CUBLAS_FUNCTIONS(X)                                                                                        \
    X(Create, cublasCreate_v2, (cublasHandle_t *))                                                                     \
    X(Destroy, cublasDestroy_v2, (cublasHandle_t))                                                                     \
    X(SetStream, cublasSetStream_v2, (cublasHandle_t, cudaStream_t))                                                   \
    X(SetWorkspace, cublasSetWorkspace_v2, (cublasHandle_t, void *, size_t))                                           \
    X(SetMathMode, cublasSetMathMode, (cublasHandle_t, cublasMath_t))                                                  \
    X(Gemm, cublasGemmEx_64,                                                                                           \
      (cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t, int64_t, int64_t, const void *, const void *,    \
       cudaDataType, int64_t, const void *, cudaDataType, int64_t, const void *, void *, cudaDataType, int64_t,        \
       cublasComputeType_t, cublasGemmAlgo_t))                                                                         \
    X(GemmStrided, cublasGemmStridedBatchedEx_64,                                                                      \
      (cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t, int64_t, int64_t, const void *, const void *,    \
       cudaDataType, int64_t, long long, const void *, cudaDataType, int64_t, long long, const void *, void *,         \
       cudaDataType, int64_t, long long, int64_t, cublasComputeType_t, cublasGemmAlgo_t))

/* X(NVIDIA's name, number) */
#define BP__CUBLAS_NUMBERS(X)                                                                                          \
    X(CUBLAS_OP_N, 0) X(CUBLAS_OP_T, 1) X(CUBLAS_OP_C, 2)                                                              \
    X(CUBLAS_COMPUTE_16F, 64) X(CUBLAS_COMPUTE_32F, 68) X(CUBLAS_COMPUTE_64F, 70) X(CUBLAS_COMPUTE_32I, 72)            \
    X(CUBLAS_COMPUTE_32F_FAST_TF32, 77)                                                                                \
    X(CUBLAS_DEFAULT_MATH, 0) X(CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION, 16) X(CUBLAS_GEMM_DEFAULT, -1)       \
    X(CUBLASLT_MATMUL_DESC_TRANSA, 3) X(CUBLASLT_MATMUL_DESC_TRANSB, 4) X(CUBLASLT_MATMUL_DESC_EPILOGUE, 7)            \
    X(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)                                                                            \
    X(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5) X(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6)                         \
    X(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1) X(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3)                    \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5) X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6)                  \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7) X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8)                  \
    X(CUBLASLT_REDUCTION_SCHEME_NONE, 0) X(CUBLASLT_REDUCTION_SCHEME_INPLACE, 1)                                       \
    X(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2) X(CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, 4)                           \
    X(CUBLASLT_REDUCTION_SCHEME_MASK, 7)                                                                               \
    X(CUBLASLT_EPILOGUE_DEFAULT, 1) X(CUBLASLT_EPILOGUE_RELU, 2) X(CUBLASLT_EPILOGUE_BIAS, 4)                          \
    X(CUBLASLT_EPILOGUE_GELU, 32) X(CUBLASLT_EPILOGUE_BGRADA, 256) X(CUBLASLT_EPILOGUE_BGRADB, 512)                    \
    X(CUBLASLT_ALGO_CONFIG_ID, 0) X(CUBLASLT_ALGO_CONFIG_TILE_ID, 1) X(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 2)             \
    X(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 3) X(CUBLASLT_ALGO_CONFIG_STAGES_ID, 6)

/* Constants that the headers have since CUDA 12.9. */
#define BP__CUBLAS_NEW_NUMBERS(X) X(CUBLAS_COMPUTE_32F_EMULATED_16BFX9, 78)

/* The statuses that we treat apart: X(name without "CUBLAS_STATUS_", number, what it means to us) */
#define BP__CUBLAS_STATUSES(X)                                                                                         \
    X(SUCCESS, 0, BP_OK) X(NOT_INITIALIZED, 1, BP_E_DEVICE) X(ALLOC_FAILED, 3, BP_E_NO_MEMORY)                         \
    X(INVALID_VALUE, 7, BP_E_DEVICE) X(ARCH_MISMATCH, 8, BP_E_UNSUPPORTED) X(MAPPING_ERROR, 11, BP_E_DEVICE)           \
    X(EXECUTION_FAILED, 13, BP_E_DEVICE) X(INTERNAL_ERROR, 14, BP_E_DEVICE) X(NOT_SUPPORTED, 15, BP_E_UNSUPPORTED)     \
    X(LICENSE_ERROR, 16, BP_E_DEVICE)
/* clang-format on */

enum {
#define X(name, number) BP__##name = number,
    BP__CUBLAS_NUMBERS(X) BP__CUBLAS_NEW_NUMBERS(X)
#undef X
#define X(name, number, means) BP__CUBLAS_STATUS_##name = number,
        BP__CUBLAS_STATUSES(X)
#undef X
};

/* The functions of a loaded library. One of the two tables is filled. */
typedef struct bp__cublas_lt_api {
#define X(name, symbol, parameters) cublasStatus_t(*name) parameters;
    BP__CUBLAS_LT_FUNCTIONS(X)
#undef X
} bp__cublas_lt_api;

typedef struct bp__cublas_api {
#define X(name, symbol, parameters) cublasStatus_t(*name) parameters;
    BP__CUBLAS_FUNCTIONS(X)
#undef X
} bp__cublas_api;

#endif
