/* api.h - declares the types, functions and constants of cuDNN 9 that the provider calls, also for the test that
 * compares them with the installed headers. Types have NVIDIA's names, so that they are the same types as in those
 * headers. That test includes them first, and defines BP__CUDNN_HEADER. */
#ifndef BP_PROVIDERS_CUDNN_API_H
#define BP_PROVIDERS_CUDNN_API_H

#include "providers/cuda/data_types.h"

#ifndef BP__CUDNN_HEADER
/* Enumerations have 32 bits; their types here are the ones that compilers choose for them. */
typedef unsigned cudnnStatus_t, cudnnBackendDescriptorType_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t;
typedef struct cudnnContext *cudnnHandle_t;
typedef void *cudnnBackendDescriptor_t;
#endif

/* X(result, name, symbol, parameters) */
/* clang-format off */
#define BP__CUDNN_FUNCTIONS(X)                                                                                         \
    X(cudnnStatus_t, Create, cudnnCreate, (cudnnHandle_t *))                                                           \
    X(cudnnStatus_t, Destroy, cudnnDestroy, (cudnnHandle_t))                                                           \
    X(cudnnStatus_t, SetStream, cudnnSetStream, (cudnnHandle_t, cudaStream_t))                                         \
    X(void, LastError, cudnnGetLastErrorString, (char *, size_t))                                                      \
    X(cudnnStatus_t, DescriptorCreate, cudnnBackendCreateDescriptor,                                                   \
      (cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t *))                                                      \
    X(cudnnStatus_t, DescriptorDestroy, cudnnBackendDestroyDescriptor, (cudnnBackendDescriptor_t))                     \
    X(cudnnStatus_t, SetAttribute, cudnnBackendSetAttribute,                                                           \
      (cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t, const void *))     \
    X(cudnnStatus_t, GetAttribute, cudnnBackendGetAttribute,                                                           \
      (cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t, int64_t *,         \
       void *))                                                                                                        \
    X(cudnnStatus_t, Finalize, cudnnBackendFinalize, (cudnnBackendDescriptor_t))                                       \
    X(cudnnStatus_t, Execute, cudnnBackendExecute,                                                                     \
      (cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t))

/* X(name without "CUDNN_", number) */
#define BP__CUDNN_NUMBERS(X)                                                                                           \
    X(DATA_FLOAT, 0) X(DATA_DOUBLE, 1) X(DATA_HALF, 2) X(DATA_INT32, 4) X(DATA_BFLOAT16, 9)               \
    X(DATA_BOOLEAN, 11) X(CROSS_CORRELATION, 1) X(REDUCE_TENSOR_ADD, 0) X(REDUCE_TENSOR_MAX, 3)                        \
    X(POINTWISE_ADD, 0) X(POINTWISE_MUL, 1) X(POINTWISE_DIV, 6) X(POINTWISE_SUB, 9) X(POINTWISE_EXP, 13)               \
    X(POINTWISE_LOG, 15) X(POINTWISE_IDENTITY, 21) X(POINTWISE_RELU_FWD, 100) X(POINTWISE_CMP_GE, 303)                 \
    X(POINTWISE_GEN_INDEX, 501) X(POINTWISE_BINARY_SELECT, 601)                                                        \
    X(HEUR_MODE_INSTANT, 0) X(HEUR_MODE_FALLBACK, 2)                                                                   \
    X(TYPE_HANDLE, 0) X(TYPE_DATA_TYPE, 1) X(TYPE_BOOLEAN, 2) X(TYPE_INT64, 3) X(TYPE_FLOAT, 4) X(TYPE_DOUBLE, 5)      \
    X(TYPE_VOID_PTR, 6) X(TYPE_CONVOLUTION_MODE, 7) X(TYPE_HEUR_MODE, 8) X(TYPE_NUMERICAL_NOTE, 11)                    \
    X(TYPE_POINTWISE_MODE, 14) X(TYPE_BACKEND_DESCRIPTOR, 15) X(TYPE_REDUCTION_OPERATOR_TYPE, 18) X(TYPE_CHAR, 24)     \
    X(BACKEND_POINTWISE_DESCRIPTOR, 0) X(BACKEND_CONVOLUTION_DESCRIPTOR, 1) X(BACKEND_ENGINE_DESCRIPTOR, 2)            \
    X(BACKEND_ENGINECFG_DESCRIPTOR, 3) X(BACKEND_ENGINEHEUR_DESCRIPTOR, 4) X(BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5)     \
    X(BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 10)                                                            \
    X(BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, 11)                                                    \
    X(BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 12) X(BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 13)        \
    X(BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15) X(BACKEND_VARIANT_PACK_DESCRIPTOR, 16) X(BACKEND_TENSOR_DESCRIPTOR, 17)   \
    X(BACKEND_MATMUL_DESCRIPTOR, 18) X(BACKEND_OPERATION_MATMUL_DESCRIPTOR, 19) X(BACKEND_REDUCTION_DESCRIPTOR, 21)    \
    X(BACKEND_OPERATION_REDUCTION_DESCRIPTOR, 22) X(BACKEND_OPERATION_RESHAPE_DESCRIPTOR, 31)                          \
    X(BACKEND_DEVICEPROP_DESCRIPTOR, 38)                                                                               \
    X(ATTR_POINTWISE_MODE, 0) X(ATTR_POINTWISE_MATH_PREC, 1) X(ATTR_POINTWISE_AXIS, 9)                                 \
    X(ATTR_CONVOLUTION_COMP_TYPE, 100) X(ATTR_CONVOLUTION_CONV_MODE, 101) X(ATTR_CONVOLUTION_DILATIONS, 102)           \
    X(ATTR_CONVOLUTION_FILTER_STRIDES, 103) X(ATTR_CONVOLUTION_POST_PADDINGS, 104)                                     \
    X(ATTR_CONVOLUTION_PRE_PADDINGS, 105) X(ATTR_CONVOLUTION_SPATIAL_DIMS, 106)                                        \
    X(ATTR_ENGINEHEUR_MODE, 200) X(ATTR_ENGINEHEUR_OPERATION_GRAPH, 201) X(ATTR_ENGINEHEUR_RESULTS, 202)               \
    X(ATTR_ENGINEHEUR_DEVICEPROP, 204) X(ATTR_ENGINECFG_ENGINE, 300)                                                   \
    X(ATTR_EXECUTION_PLAN_HANDLE, 400) X(ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401)                                       \
    X(ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 402) X(ATTR_EXECUTION_PLAN_DEVICEPROP, 407)                                  \
    X(ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 700) X(ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 701)                   \
    X(ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, 702) X(ATTR_OPERATION_CONVOLUTION_FORWARD_W, 703)                  \
    X(ATTR_OPERATION_CONVOLUTION_FORWARD_X, 704) X(ATTR_OPERATION_CONVOLUTION_FORWARD_Y, 705)                          \
    X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 706) X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 707)                 \
    X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, 708) X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, 709)                \
    X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, 710) X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, 711)                      \
    X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 712) X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 713)             \
    X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, 714) X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, 715)           \
    X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, 716) X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, 717)                   \
    X(ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 750) X(ATTR_OPERATION_POINTWISE_XDESC, 751)                              \
    X(ATTR_OPERATION_POINTWISE_BDESC, 752) X(ATTR_OPERATION_POINTWISE_YDESC, 753)                                      \
    X(ATTR_OPERATION_POINTWISE_TDESC, 758)                                                                             \
    X(ATTR_OPERATIONGRAPH_HANDLE, 800) X(ATTR_OPERATIONGRAPH_OPS, 801)                                                 \
    X(ATTR_TENSOR_BYTE_ALIGNMENT, 900) X(ATTR_TENSOR_DATA_TYPE, 901) X(ATTR_TENSOR_DIMENSIONS, 902)                    \
    X(ATTR_TENSOR_STRIDES, 903) X(ATTR_TENSOR_UNIQUE_ID, 906) X(ATTR_TENSOR_IS_VIRTUAL, 907)                           \
    X(ATTR_TENSOR_IS_BY_VALUE, 908)                                                                                    \
    X(ATTR_VARIANT_PACK_UNIQUE_IDS, 1000) X(ATTR_VARIANT_PACK_DATA_POINTERS, 1001)                                     \
    X(ATTR_VARIANT_PACK_WORKSPACE, 1003)                                                                               \
    X(ATTR_ENGINE_GLOBAL_INDEX, 1301) X(ATTR_ENGINE_NUMERICAL_NOTE, 1303)                                              \
    X(ATTR_MATMUL_COMP_TYPE, 1500) X(ATTR_OPERATION_MATMUL_ADESC, 1520) X(ATTR_OPERATION_MATMUL_BDESC, 1521)           \
    X(ATTR_OPERATION_MATMUL_CDESC, 1522) X(ATTR_OPERATION_MATMUL_DESC, 1523)                                           \
    X(ATTR_REDUCTION_OPERATOR, 1600) X(ATTR_REDUCTION_COMP_TYPE, 1601) X(ATTR_OPERATION_REDUCTION_XDESC, 1610)         \
    X(ATTR_OPERATION_REDUCTION_YDESC, 1611) X(ATTR_OPERATION_REDUCTION_DESC, 1612)                                     \
    X(ATTR_OPERATION_RESHAPE_XDESC, 2200) X(ATTR_OPERATION_RESHAPE_YDESC, 2201)                                        \
    X(ATTR_DEVICEPROP_JSON_REPRESENTATION, 2702)

/* Properties of an engine: X(name without "CUDNN_NUMERICAL_NOTE_", number, what it means) */
#define BP__CUDNN_NOTES(X)                                                                                             \
    X(TENSOR_CORE, 0, "tensor cores") X(DOWN_CONVERT_INPUTS, 1, "rounds its inputs")                                   \
    X(REDUCED_PRECISION_REDUCTION, 2, "short sums") X(FFT, 3, "Fourier") X(NONDETERMINISTIC, 4, "not deterministic")   \
    X(WINOGRAD, 5, "Winograd") X(WINOGRAD_TILE_4x4, 6, "tiles of 4 x 4") X(WINOGRAD_TILE_6x6, 7, "tiles of 6 x 6")     \
    X(WINOGRAD_TILE_13x13, 8, "tiles of 13 x 13") X(STRICT_NAN_PROP, 9, "keeps NaN")

/* X(name without "CUDNN_STATUS_", number, what it means to us) */
#define BP__CUDNN_STATUSES(X)                                                                                          \
    X(SUCCESS, 0, BP_OK) X(NOT_INITIALIZED, 1001, BP_E_DEVICE) X(SUBLIBRARY_VERSION_MISMATCH, 1002, BP_E_BROKEN)       \
    X(SUBLIBRARY_LOADING_FAILED, 1008, BP_E_BROKEN) X(BAD_PARAM, 2000, BP_E_UNSUPPORTED)                               \
    X(BAD_PARAM_NULL_POINTER, 2002, BP_E_DEVICE) X(BAD_PARAM_MISALIGNED_POINTER, 2003, BP_E_DEVICE)                    \
    X(BAD_PARAM_NOT_FINALIZED, 2004, BP_E_DEVICE) X(BAD_PARAM_OUT_OF_BOUND, 2005, BP_E_UNSUPPORTED)                    \
    X(BAD_PARAM_SIZE_INSUFFICIENT, 2006, BP_E_DEVICE) X(BAD_PARAM_STREAM_MISMATCH, 2007, BP_E_DEVICE)                  \
    X(BAD_PARAM_SHAPE_MISMATCH, 2008, BP_E_UNSUPPORTED) X(BAD_PARAM_DUPLICATED_ENTRIES, 2009, BP_E_DEVICE)             \
    X(BAD_PARAM_ATTRIBUTE_TYPE, 2010, BP_E_DEVICE) X(NOT_SUPPORTED, 3000, BP_E_UNSUPPORTED)                            \
    X(NOT_SUPPORTED_GRAPH_PATTERN, 3001, BP_E_UNSUPPORTED) X(NOT_SUPPORTED_SHAPE, 3002, BP_E_UNSUPPORTED)              \
    X(NOT_SUPPORTED_DATA_TYPE, 3003, BP_E_UNSUPPORTED) X(NOT_SUPPORTED_LAYOUT, 3004, BP_E_UNSUPPORTED)                 \
    X(NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER, 3005, BP_E_UNSUPPORTED)                                                  \
    X(NOT_SUPPORTED_INCOMPATIBLE_CUDART, 3006, BP_E_UNSUPPORTED) X(NOT_SUPPORTED_ARCH_MISMATCH, 3007, BP_E_UNSUPPORTED)\
    X(NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING, 3008, BP_E_UNSUPPORTED)                                              \
    X(NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE, 3009, BP_E_UNSUPPORTED)                                                    \
    X(NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT, 3010, BP_E_UNSUPPORTED)                                                \
    X(NOT_SUPPORTED_PADDING, 3011, BP_E_UNSUPPORTED) X(NOT_SUPPORTED_BAD_LAUNCH_PARAM, 3012, BP_E_UNSUPPORTED)         \
    X(INTERNAL_ERROR, 4000, BP_E_DEVICE) X(INTERNAL_ERROR_COMPILATION_FAILED, 4001, BP_E_UNSUPPORTED)                  \
    X(INTERNAL_ERROR_UNEXPECTED_VALUE, 4002, BP_E_DEVICE) X(INTERNAL_ERROR_HOST_ALLOCATION_FAILED, 4003, BP_E_NO_MEMORY)\
    X(INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, 4004, BP_E_NO_MEMORY)                                                   \
    X(EXECUTION_FAILED, 5000, BP_E_DEVICE) X(EXECUTION_FAILED_CUDA_DRIVER, 5001, BP_E_DEVICE)                          \
    X(EXECUTION_FAILED_CUBLAS, 5002, BP_E_DEVICE) X(EXECUTION_FAILED_CUDART, 5003, BP_E_DEVICE)
/* clang-format on */

enum {
#define X(name, number) BP__CUDNN_##name = number,
    BP__CUDNN_NUMBERS(X)
#undef X
#define X(name, number, means) BP__CUDNN_NOTE_##name = number,
        BP__CUDNN_NOTES(X)
#undef X
#define X(name, number, means) BP__CUDNN_STATUS_##name = number,
            BP__CUDNN_STATUSES(X)
#undef X
};

/* The functions of a loaded library. */
typedef struct bp__cudnn_api {
#define X(result, name, symbol, parameters) result(*name) parameters;
    BP__CUDNN_FUNCTIONS(X)
#undef X
} bp__cudnn_api;

#endif
