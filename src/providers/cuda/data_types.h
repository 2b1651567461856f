/* data_types.h - declares the types and constants that NVIDIA's libraries share, as api.h does. A test that includes
 * their headers first defines BP__CU_LIBRARY_HEADER. */
#ifndef BP_PROVIDERS_CUDA_DATA_TYPES_H
#define BP_PROVIDERS_CUDA_DATA_TYPES_H

#include "providers/cuda/api.h"

#ifndef BP__CU_LIBRARY_HEADER
typedef unsigned cudaDataType;
typedef struct CUstream_st *cudaStream_t;
#endif

/* X(NVIDIA's name, number) */
#define BP__CU_DATA_TYPES(X)                                                                                           \
    X(CUDA_R_32F, 0)                                                                                                   \
    X(CUDA_R_64F, 1)                                                                                                   \
    X(CUDA_R_16F, 2)                                                                                                   \
    X(CUDA_R_8I, 3)                                                                                                    \
    X(CUDA_C_32F, 4)                                                                                                   \
    X(CUDA_C_64F, 5)                                                                                                   \
    X(CUDA_R_32I, 10)                                                                                                  \
    X(CUDA_R_16BF, 14)

enum {
#define X(name, number) BP__##name = number,
    BP__CU_DATA_TYPES(X)
#undef X
};

#endif
