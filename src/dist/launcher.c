/* launcher.c - reads from the environment which launcher has started the process, and with how many others.
 *
 * A launcher of another MPI starts processes that each see themselves alone, and each would compute everything. */
#include "dist/internal.h"

#include "base/number.h"

#include <stdlib.h>

/* Variables that hold the number of processes, and the libraries that belong to the launcher. */
typedef struct launcher {
    const char *variable, *name;
    const char *const *libraries;
} launcher;

static const char *const open_mpi_first[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", NULL};
static const char *const mpich_first[] = {"libmpich.so.12", "libmpi.so.12", "libmpi_abi.so.1", "libmpi.so.40", NULL};

static const launcher launchers[] = {{"OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun", open_mpi_first},
                                     {"PMI_SIZE", "a launcher with PMI, such as MPICH's mpiexec", mpich_first},
                                     {"SLURM_STEP_NUM_TASKS", "srun", open_mpi_first}};

static const launcher *find_launcher(long *size) {
    for (int i = 0; i < BP__COUNT(launchers); i++) {
        const char *text = bp__env(launchers[i].variable);
        *size = text ? strtol(text, NULL, 10) : 0;
        if (*size > 0) {
            return &launchers[i];
        }
    }
    return NULL;
}

const char *const *bp__launcher_libraries(void) {
    long size;
    const launcher *found = find_launcher(&size);
    return found ? found->libraries : open_mpi_first;
}

bp_status bp__launcher_check(const bp__mpi *mpi, int world_size) {
    long size = 0;
    const launcher *found = find_launcher(&size);
    if (!found || size <= 1 || world_size > 1) {
        return BP_OK;
    }
    return bp__fail(BP_E_UNSUPPORTED,
                    "%s has started %ld processes (%s), but %s (%s) sees this one alone: the launcher belongs to "
                    "another MPI, and each process would compute everything. Start the program with the launcher of "
                    "this MPI",
                    found->name, size, found->variable, bp__mpi_name(mpi), mpi->path);
}
