/* own_product.h - a product by cuBLASLt itself, for rules and costs that are compared with it. */
#ifndef BP_TESTS_GPU_OWN_PRODUCT_H
#define BP_TESTS_GPU_OWN_PRODUCT_H

#include "matrices.h"

#include "providers/cublas/api.h"

/* The functions of the library, which open_lt() finds. */
extern bp__cublas_lt_api lt;
outcome open_lt(void);

/* c = a a in f16, with an epilogue and at most 4 MiB of workspace. */
typedef struct own_product {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t what;
    cublasLtMatrixLayout_t layout;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t results[8];
    int count;
    matrix a, c;
} own_product;
outcome new_own_product(own_product *p, uint32_t epilogue);
/* Returns the library's status. */
unsigned run_own(const own_product *p, void *workspace, size_t size, CUstream stream);
void free_own_product(own_product *p);

#endif
