/* module_scalapack.c - lists the providers of the module for ScaLAPACK, if they are not built in. */
#include "backplane/provider.h"

extern const bp_provider bp_provider_scalapack, bp_provider_mkl_scalapack;

BP_PROVIDERS_DEFINE = {&bp_provider_scalapack, &bp_provider_mkl_scalapack, NULL};
