/* launch_faults.c - tells the hooks library which libraries have routines that the probe found faulty.
 *
 * Small products, and all other calls, stay in the program's own library without a look into the list of libraries. So
 * the list is looked at here, before the program starts. */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

/* The faults of checks of BLAS and LAPACK, without faults of transforms and primitives. */
static uint64_t faulty_of(const bp_library_info *library) {
    static const bp_check checks[] = {BP_CHECK_LU,   BP_CHECK_CHOLESKY, BP_CHECK_QR,    BP_CHECK_EIGH,
                                      BP_CHECK_EIG,  BP_CHECK_SVD,      BP_CHECK_LSTSQ, BP_CHECK_TRIANGULAR,
                                      BP_CHECK_GEMV, BP_CHECK_GEMM};
    uint64_t mask = 0;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        mask |= UINT64_C(15) << 4 * checks[i];
    }
    return library->faulty & mask;
}

static bool is_same_code(const bp_library_info *a, const bp_library_info *b) {
    return strcmp(a->family, b->family) == 0 && strcmp(a->version, b->version) == 0 &&
           strcmp(a->threading, b->threading) == 0;
}

/* Adds the faults of the libraries to which a library may forward, which nothing else tells apart. Their names of
 * routines are equal, because their code is. */
static void add_faults_behind(bp_library_info *library, int count) {
    bp_library_info other = {.struct_size = sizeof other};
    for (int i = 0; i < count && library->state == BP_LIBRARY_FACADE; i++) {
        if (bp_library_at(i, &other) && is_same_code(library, &other)) {
            library->faulty |= other.faulty;
            library->overreads |= other.overreads;
            library->outside = *library->outside ? library->outside : other.outside;
        }
    }
}

static bool has_faults(const bp_library_info *library) {
    return faulty_of(library) != 0 || library->overreads != 0 || *library->outside;
}

/* Returns a line for a library: FAULTY,OVERREADS,INT_BITS,NAMES PATH. */
static char *line_of(const bp_library_info *library) {
    char *names = cli_format("%s", library->outside);
    for (char *at = names; *at; at++) {
        *at = *at == ' ' ? ',' : *at;
    }
    char *line = cli_format("%llx,%x,%d%s%s %s\n", (unsigned long long)faulty_of(library), library->overreads,
                            library->int_bits, *names ? "," : "", names, library->path);
    free(names);
    return line;
}

char *launch_faults(void) {
    bp_library_info library = {.struct_size = sizeof library};
    char *list = cli_format("%s", "");
    int count = 0;
    if (bp_library_count(&count) != BP_OK) {
        return list;
    }
    for (int i = 0; i < count; i++) {
        if (!bp_library_at(i, &library)) {
            continue;
        }
        add_faults_behind(&library, count);
        if (has_faults(&library) && *library.path && !strchr(library.path, '\n')) {
            char *line = line_of(&library), *longer = cli_format("%s%s", list, line);
            free(line);
            free(list);
            list = longer;
        }
    }
    return list;
}
