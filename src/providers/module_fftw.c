/* module_fftw.c - lists the providers of the module that drives FFTW, if they are not built in. */
#include "backplane/provider.h"

extern const bp_provider bp_provider_fftw, bp_provider_fftwmpi;

BP_PROVIDERS_DEFINE = {&bp_provider_fftw, &bp_provider_fftwmpi, NULL};
