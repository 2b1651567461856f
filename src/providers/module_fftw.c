/* module_fftw.c - lists the provider of the module that drives FFTW, if it is not built in. */
#include "backplane/provider.h"

extern const bp_provider bp_provider_fftw;

BP_PROVIDERS_DEFINE = {&bp_provider_fftw, NULL};
