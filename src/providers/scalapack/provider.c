/* provider.c - defines the scalapack provider: matrices that are spread over the ranks of an MPI program. */
#include "providers/scalapack/scalapack.h"

BP_PROVIDER_DEFINE(scalapack) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "scalapack",
    .version = BP_VERSION_STRING,
    .description = "linear algebra on matrices that are spread over the ranks of an MPI program, with ScaLAPACK",
    .open = bp__scalapack_open,
    .close = bp__scalapack_close,
    .accept = bp__scalapack_accept,
    .plan = bp__scalapack_plan_make,
    .runtimes = "mpi",
};
