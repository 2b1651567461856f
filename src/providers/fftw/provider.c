/* provider.c - defines the fftw provider: Fourier transforms on FFTW, which is only opened at run time. */
#include "providers/fftw/fftw.h"

BP_PROVIDER_DEFINE(fftw) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "fftw",
    .version = BP_VERSION_STRING,
    .description = "Fourier transforms on FFTW, planned by measurement",
    .library_kinds = BP_LIB_FFT,
    .open = bp__fftw_open,
    .close = bp__fftw_close,
    .accept = bp__fftw_accept,
    .plan = bp__fftw_plan_make,
    .families = "fftw",
};
