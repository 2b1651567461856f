/* mpi.c - compares the MPI that a library needs with the one of the process: two of them in one process abort it. */
#include "providers/ranks/ranks.h"

#include <dlfcn.h>

bool bp__ranks_is_mpi(const bp_host *host, const bp_dist_place *place, const char *name) {
    void *handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    const bool same = handle && host->symbol(handle, "MPI_Comm_rank") == host->symbol(place->mpi, "MPI_Comm_rank");
    if (handle) {
        dlclose(handle);
    }
    return same;
}
