/* support_libraries.c - collects the BLAS libraries of this machine from the registry. */
#include "blas/support_blas.h"

#include <string.h>

bp_library_info test_row(const char *family, const char *threading) {
    return (bp_library_info){.struct_size = sizeof(bp_library_info),
                             .faults = "",
                             .blas = "",
                             .id = family,
                             .family = family,
                             .kinds = BP_LIB_BLAS | BP_LIB_CBLAS,
                             .state = BP_LIBRARY_OK,
                             .reason = "",
                             .path = "/none",
                             .aliases = "",
                             .soname = "",
                             .build_id = "",
                             .version = "",
                             .kernels = "haswell",
                             .int_bits = 32,
                             .suffix = "_",
                             .prefix = "",
                             .complex_return = "register",
                             .threading = threading,
                             .thread_scope = "unknown",
                             .fact_sources = ""};
}

#define MOST 32

/* The provider never opens a library that is broken or that forwards to another listed one. */
static bool is_candidate(const bp_library_info *row) {
    return (row->kinds & (BP_LIB_BLAS | BP_LIB_CBLAS)) && row->state == BP_LIBRARY_OK;
}

const bp_library_info **test_libraries(int *count) {
    static bp_library_info rows[MOST];
    static const bp_library_info *list[MOST];
    static int found;
    int all = 0;
    if (found == 0 && bp_library_count(&all) == BP_OK) {
        for (int i = 0; i < all && found < MOST; i++) {
            rows[found].struct_size = sizeof rows[found];
            if (bp_library_at(i, &rows[found]) && is_candidate(&rows[found])) {
                list[found] = &rows[found];
                found++;
            }
        }
    }
    *count = found;
    return list;
}

bp_status test_open(const bp_library_info *library, void **instance) {
    static bp__driver_family rows[64];
    static bp_library_info sound[64]; /* results are checked also if the routine accesses more than its operands */
    static int count;
    if (count < 64) {
        sound[count] = *library;
        sound[count].faulty = 0;
        library = &sound[count];
    }
    bp_status status = bp_provider_blas.open(test_host(), library, instance);
    if (status == BP_OK && count < 64) {
        bp__driver *opened = *instance;
        bp__driver_family *row = &rows[count++];
        memcpy(row, opened->family, sizeof *row);
        row->speed.start = 1000;
        opened->family = row;
    }
    return status;
}
