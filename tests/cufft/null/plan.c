/* plan.c - the plans of the null library: with a workspace, as most have. */
#include "providers/cufft/api.h"

#include "backplane/version.h"

enum { WORKSPACE = 4096 };

#define X(name, symbol, parameters) BP_API cufftResult symbol parameters;
BP__CUFFT_FUNCTIONS(X)
#undef X
BP_API cufftResult cufftGetVersion(int *version);

cufftResult cufftGetVersion(int *version) {
    *version = 12000;
    return BP__CUFFT_SUCCESS;
}

cufftResult cufftCreate(cufftHandle *made) {
    *made = 1;
    return BP__CUFFT_SUCCESS;
}

cufftResult cufftXtMakePlanMany(cufftHandle handle, int rank, long long *n, long long *in_embed, long long in_stride,
                                long long in_dist, cudaDataType in, long long *out_embed, long long out_stride,
                                long long out_dist, cudaDataType out, long long batch, size_t *workspace,
                                cudaDataType execution) {
    (void)handle, (void)rank, (void)n, (void)in_embed, (void)in_stride, (void)in_dist, (void)in, (void)out_embed;
    (void)out_stride, (void)out_dist, (void)out, (void)batch, (void)execution;
    *workspace = WORKSPACE;
    return BP__CUFFT_SUCCESS;
}
