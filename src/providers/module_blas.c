/* module_blas.c - lists the providers of the module that drives BLAS and LAPACK libraries, if they are not built in. */
#include "backplane/provider.h"

extern const bp_provider bp_provider_blas, bp_provider_lapack, bp_provider_mkl, bp_provider_xsmm, bp_provider_onednn;

BP_PROVIDERS_DEFINE = {&bp_provider_blas, &bp_provider_lapack, &bp_provider_mkl,
                       &bp_provider_xsmm, &bp_provider_onednn, NULL};
