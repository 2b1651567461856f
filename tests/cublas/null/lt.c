/* lt.c - a libcublasLt.so.13 whose functions do nothing and succeed. heuristic.c has
 * the one that answers something. */
#include "providers/cublas/api.h"

#include "backplane/version.h"

BP_API cublasStatus_t null_success(void);
BP_API size_t cublasLtGetVersion(void);

cublasStatus_t null_success(void) {
    return BP__CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void) {
    return 130100;
}

/* The functions that make something leave it NULL, which the others take. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wattribute-alias"
#endif
#define X(name, symbol, parameters)                                                                                    \
    BP_API cublasStatus_t symbol parameters __attribute__((weak, alias("null_success")));
BP__CUBLAS_LT_FUNCTIONS(X)
#undef X
