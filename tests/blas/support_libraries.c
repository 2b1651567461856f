/* support_libraries.c - the BLAS libraries of this machine, as the registry lists them. */
#include "blas/support_blas.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

bp_library_info test_row(const char *family, const char *threading) {
    return (bp_library_info){.struct_size = sizeof(bp_library_info),
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
                             .kernels = "",
                             .int_bits = 32,
                             .suffix = "_",
                             .prefix = "",
                             .complex_return = "register",
                             .threading = threading,
                             .thread_scope = "unknown",
                             .learned = ""};
}

#define MOST 16

static bp_library_info rows[MOST];
static const bp_library_info *list[MOST];
static int found;

static void add(const char *pattern, const char *id, const char *family, const char *threading, int int_bits,
                const char *prefix, const char *suffix) {
    glob_t paths;
    if (found < MOST && glob(pattern, 0, NULL, &paths) == 0) {
        rows[found] = test_row(family, threading);
        rows[found].id = id;
        rows[found].path = realpath(paths.gl_pathv[0], NULL);
        rows[found].int_bits = int_bits;
        rows[found].prefix = prefix;
        rows[found].suffix = suffix;
        list[found] = &rows[found];
        found++;
        globfree(&paths);
    }
}

const bp_library_info **test_libraries(int *count) {
    if (found == 0) {
        add("/usr/lib/*/openblas-pthread/libopenblas.so.0", "openblas", "openblas", "pthread", 32, "", "_");
        add("/usr/lib/*/openblas-openmp/libopenblas.so.0", "openblas-openmp", "openblas", "libgomp", 32, "", "_");
        add("/usr/lib/*/openblas64-pthread/libopenblas64.so.0", "openblas64", "openblas", "pthread", 64, "", "_");
        add("/usr/lib/*/blis-pthread/libblis.so.4", "blis-pthread", "blis", "pthread", 32, "", "_");
        add("/usr/lib/*/blis-openmp/libblis.so.4", "blis", "blis", "libgomp", 32, "", "_");
        add("/usr/lib/*/blas/libblas.so.3", "netlib", "netlib", "serial", 32, "", "_");
        const char *venv = getenv("VIRTUAL_ENV");
        if (venv) {
            char path[4096];
            strcat(strcpy(path, venv), "/lib/libmkl_rt.so.*");
            add(path, "mkl", "mkl", "libiomp5", 32, "", "_");
            add(path, "mkl-64", "mkl", "libiomp5", 64, "", "_64_");
            strcat(strcpy(path, venv), "/lib/python3*/site-packages/numpy.libs/libscipy_openblas64_-*.so");
            add(path, "openblas-numpy", "openblas", "pthread", 64, "scipy_", "_64_");
        }
    }
    *count = found;
    return list;
}
