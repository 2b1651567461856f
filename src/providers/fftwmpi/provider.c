/* provider.c - defines the fftw-mpi provider: Fourier transforms of arrays that are spread over the ranks of an MPI
 * program. */
#include "providers/fftwmpi/fftwmpi.h"

BP_PROVIDER_DEFINE(fftwmpi) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "fftw-mpi",
    .version = BP_VERSION_STRING,
    .description = "Fourier transforms of arrays that are spread over the ranks of an MPI program, with FFTW-MPI",
    .open = bp__fftwmpi_open,
    .close = bp__fftwmpi_close,
    .accept = bp__fftwmpi_accept,
    .plan = bp__fftwmpi_plan_make,
    .runtimes = "mpi",
};
