/* provider.c - defines the providers for matrices that are spread over the ranks of an MPI program: scalapack and
 * mkl-scalapack, which have the same operations. */
#include "providers/scalapack/scalapack.h"

#define COMMON                                                                                                         \
    .abi = BP_PROVIDER_ABI, .struct_size = sizeof(bp_provider), .version = BP_VERSION_STRING,                          \
    .close = bp__scalapack_close, .accept = bp__scalapack_accept, .plan = bp__scalapack_plan_make, .runtimes = "mpi"

BP_PROVIDER_DEFINE(scalapack) = {
    COMMON,
    .name = "scalapack",
    .description = "linear algebra on matrices that are spread over the ranks of an MPI program, with ScaLAPACK",
    .open = bp__scalapack_open,
};

BP_PROVIDER_DEFINE(mkl_scalapack) = {
    COMMON,
    .name = "mkl-scalapack",
    .description = "the same with MKL's ScaLAPACK",
    .library_kinds = BP_LIB_BLAS,
    .families = "mkl",
    .open = bp__scalapack_open_mkl,
};
