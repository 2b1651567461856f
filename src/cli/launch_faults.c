/* launch_faults.c - tells the hooks library which libraries have products that the probe found faulty.
 *
 * Small products stay in the program's own library without a look into the list of libraries. So the list is looked at
 * here, before the program starts. */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

/* Returns the faults in matrix products, a bit for each check and type. */
static unsigned faults_of(const bp_library_info *library) {
    enum { TYPES = 15 };
    const uint64_t vector = library->faulty >> 4 * BP_CHECK_GEMV & TYPES;
    const uint64_t matrix = library->faulty >> 4 * BP_CHECK_GEMM & TYPES;
    return (unsigned)(matrix | vector << 4);
}

static bool is_same_code(const bp_library_info *a, const bp_library_info *b) {
    return strcmp(a->family, b->family) == 0 && strcmp(a->version, b->version) == 0 &&
           strcmp(a->threading, b->threading) == 0;
}

/* Returns the faults of a library; those of the libraries to which it may forward, which nothing else tells apart. */
static unsigned faults_behind(const bp_library_info *library, int count) {
    bp_library_info other = {.struct_size = sizeof other};
    unsigned faults = faults_of(library);
    for (int i = 0; i < count && library->state == BP_LIBRARY_FACADE; i++) {
        if (bp_library_at(i, &other) == BP_OK && is_same_code(library, &other)) {
            faults |= faults_of(&other);
        }
    }
    return faults;
}

char *launch_faults(void) {
    bp_library_info library = {.struct_size = sizeof library};
    char *list = cli_format("%s", "");
    int count = 0;
    if (bp_library_count(&count) != BP_OK) {
        return list;
    }
    for (int i = 0; i < count; i++) {
        const unsigned faults = bp_library_at(i, &library) == BP_OK ? faults_behind(&library, count) : 0;
        if (faults != 0 && *library.path && !strchr(library.path, '\n')) {
            char *longer = cli_format("%s%02x %s\n", list, faults, library.path);
            free(list);
            list = longer;
        }
    }
    return list;
}
