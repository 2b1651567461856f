/* heuristic.c - the heuristic of the null library: one algorithm, with a workspace as most have. */
#include "providers/cublas/api.h"

#include "backplane/version.h"

#include <string.h>

enum { WORKSPACE = 4096 };

#define X(name, symbol, parameters) BP_API cublasStatus_t symbol parameters;
BP__CUBLAS_LT_FUNCTIONS(X)
#undef X

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t what,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t *results, int *count) {
    (void)handle, (void)what, (void)a, (void)b, (void)c, (void)d, (void)preference;
    memset(results, 0, sizeof *results);
    results->workspaceSize = WORKSPACE;
    *count = most > 0;
    return BP__CUBLAS_STATUS_SUCCESS;
}
