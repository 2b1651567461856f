/* environment.c - removes the environment variables that libxsmm sets.
 *
 * When libxsmm starts, at its first kernel, it sets OMP_PROC_BIND=TRUE unless a binding of threads is chosen, and
 * I_MPI_SHM_HEAP=1. An OpenMP runtime that the program loads later would then bind the loading thread to one processor.
 */
#include "providers/xsmm/xsmm.h"

#include <stdlib.h>

static const char *const variables[BP__XSMM_VARIABLES] = {"OMP_PROC_BIND", "I_MPI_SHM_HEAP"};

void bp__xsmm_note_variables(bool present[BP__XSMM_VARIABLES]) {
    for (int i = 0; i < BP__XSMM_VARIABLES; i++) {
        present[i] = getenv(variables[i]) != NULL;
    }
}

void bp__xsmm_remove_variables(const bool present[BP__XSMM_VARIABLES]) {
    for (int i = 0; i < BP__XSMM_VARIABLES; i++) {
        if (!present[i] && getenv(variables[i])) {
            unsetenv(variables[i]);
        }
    }
}
