/* provider_mkl.c - defines the mkl-scalapack provider: the operations of scalapack with MKL's ScaLAPACK. */
#include "providers/scalapack/scalapack.h"

BP_PROVIDER_DEFINE(mkl_scalapack) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "mkl-scalapack",
    .version = BP_VERSION_STRING,
    .description = "linear algebra on matrices that are spread over the ranks of an MPI program, with MKL's ScaLAPACK",
    .library_kinds = BP_LIB_BLAS,
    .open = bp__scalapack_open_mkl,
    .close = bp__scalapack_close,
    .accept = bp__scalapack_accept,
    .plan = bp__scalapack_plan_make,
    .families = "mkl",
    .runtimes = "mpi",
};
