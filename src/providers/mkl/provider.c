/* provider.c - defines the mkl provider: Fourier transforms on Intel MKL. The blas provider runs MKL's matrix products.
 */
#include "providers/mkl/mkl.h"

BP_PROVIDER_DEFINE(mkl) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "mkl",
    .version = BP_VERSION_STRING,
    .description = "Fourier transforms on MKL",
    .library_kinds = BP_LIB_FFT,
    .open = bp__driver_open,
    .close = bp__driver_close,
    .accept = bp__mkl_accept,
    .plan = bp__mkl_plan_make,
    .threads = bp__driver_threads,
    .families = "mkl",
};
