/* module_scalapack.c - lists the provider of the module for ScaLAPACK, if it is not built in. */
#include "backplane/provider.h"

extern const bp_provider bp_provider_scalapack;

BP_PROVIDERS_DEFINE = {&bp_provider_scalapack, NULL};
