/* library.h - the math libraries of this machine: found, identified, probed and listed.
 *
 * The first call searches (loader cache, standard folders, LD_LIBRARY_PATH, BACKPLANE_LIBRARY_PATH, virtual
 * environment, conda prefix, loaded objects), reads ELF facts, and probes each library that it has not seen before in a
 * child process. Nothing is loaded into the calling process. Results are kept until bp_libraries_refresh().
 * Thread-safe.
 */
#ifndef BACKPLANE_LIBRARY_H
#define BACKPLANE_LIBRARY_H

#include "backplane/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a library offers; a mask. */
#define BP_LIB_BLAS 1u  /* Fortran BLAS names */
#define BP_LIB_CBLAS 2u /* C BLAS names */
#define BP_LIB_LAPACK 4u
#define BP_LIB_FFT 8u
#define BP_LIB_DNN 16u
#define BP_LIB_OPENMP 32u
#define BP_LIB_BUILTIN 64u /* our own provider, no file */
#define BP_LIB_GPU 128u    /* computes on a GPU: needs a device and its driver */

typedef enum bp_library_state {
    BP_LIBRARY_OK,        /* probed, usable */
    BP_LIBRARY_FACADE,    /* an alternative name whose work is done by another library of the list */
    BP_LIBRARY_BROKEN,    /* the probe crashed, hung, could not open it or saw wrong results: see reason */
    BP_LIBRARY_UNTRUSTED, /* the path may be changed by others: not opened */
    BP_LIBRARY_UNPROBED   /* known by its ELF facts only */
} bp_library_state;

BP_API const char *bp_library_state_name(bp_library_state state);

/* The one list of what the probe checks of a library besides its matrix products, in each element type: number, NAME,
 * text. Matrices and signals are random, graded, huge, tiny, and with clustered eigenvalues. */
/* clang-format off */
#define BP_CHECK_MAP(X)                                                               \
    X(0, LU, "lu")                    /* getrf, getrs, getri */                       \
    X(1, CHOLESKY, "cholesky")        /* potrf, potrs, potri */                       \
    X(2, QR, "qr")                    /* geqrf, orgqr or ungqr */                     \
    X(3, EIGH, "eigh")                /* syevd or heevd */                            \
    X(4, EIG, "eig")                  /* geev */                                      \
    X(5, SVD, "svd")                  /* gesdd */                                     \
    X(6, LSTSQ, "lstsq")              /* gels, gelsy, gelsd, gelss */                 \
    X(7, TRIANGULAR, "triangular")    /* trsm */                                      \
    X(8, C2C, "fft c2c")              /* sizes that are powers of two, odd, and prime */ \
    X(9, R2C, "fft r2c")                                                              \
    X(10, C2R, "fft c2r")
/* clang-format on */

typedef enum bp_check {
#define X(number, name, text) BP_CHECK_##name = number,
    BP_CHECK_MAP(X)
#undef X
} bp_check;

/* The bit of a check in one element type: BP_F32, BP_F64, BP_C64 or BP_C128 (of a transform its complex type). */
#define BP_CHECK_BIT(check, dtype) (UINT64_C(1) << (4 * (unsigned)(check) + (unsigned)(dtype)-3u))

/* One row. Every string is "" when unknown, never NULL, and lives until bp_reset(). */
typedef struct bp_library_info {
    size_t struct_size;
    const char *id;     /* short, unique, stable between runs: "openblas", "openblas-openmp", "blis", "mkl", "netlib" */
    const char *family; /* "openblas", "blis", "mkl", "netlib", "atlas", "fftw", "onednn", "libgomp", ..., "unknown" */
    unsigned kinds;     /* BP_LIB_ mask */
    bp_library_state state;
    const char *reason;  /* for a state other than OK: one sentence */
    const char *path;    /* the real file */
    const char *aliases; /* other paths of the same file, newline-separated */
    const char *soname;
    const char *build_id; /* hexadecimal */
    const char *version;
    const char *kernels;        /* the kernel set it runs on this CPU: "Haswell", "zen3", "generic", ... */
    int int_bits;               /* 32 or 64; 0 unknown */
    const char *suffix;         /* what follows dgemm in the symbol: "_", "64_", "_64_", ... */
    const char *prefix;         /* "scipy_" in SciPy's wheels */
    const char *complex_return; /* "register", "hidden argument", "unknown" */
    int f2c;                    /* 1: float functions return double (f2c convention) */
    const char *threading;      /* "serial", "pthread", "libgomp", "libomp", "libiomp5", "tbb", "unknown" */
    const char *thread_scope;   /* what its thread setter reaches: "thread", "process", "none", "unknown" */
    int loaded;                 /* this process had it loaded when the list was made */
    const char
        *fact_sources; /* how each fact was learned: "version: openblas_get_config; int_bits: isamax probe; ..." */
    double probe_ms;   /* time of the probe, 0 when it came from the store */
    const char *cblas_suffix; /* what follows cblas_dgemm in the symbol: "", "64_", "_64", ... */
    uint64_t faulty;          /* BP_CHECK_BIT mask: checks that went wrong or did not end. Such problems are refused */
    /* A line for each bit of `faulty`, lowest bit first: "eig f32: wrong results in probe: sgeev, ..." */
    const char *faults;
    const char *blas; /* of a LAPACK alone: id, or else path, of the library whose matrix products it calls */
} bp_library_info;

/* Why problems of this kind are refused: the part of the line that follows "eig f32: ", of *length characters; NULL
 * where nothing is wrong. For providers. */
static inline const char *bp_library_fault(const bp_library_info *library, bp_check check, unsigned dtype,
                                           int *length) {
    const char *line = library->faults;
    uint64_t bit = BP_CHECK_BIT(check, dtype);
    *length = 0;
    if (!(library->faulty & bit)) {
        return NULL;
    }
    for (uint64_t lower = library->faulty & (bit - 1); lower; lower &= lower - 1) {
        while (*line && *line++ != '\n') {
        }
    }
    while (*line && *line != '\n' && *line++ != ':') {
    }
    line += *line == ' ';
    while (line[*length] && line[*length] != '\n') {
        ++*length;
    }
    return line;
}

BP_API bp_status bp_library_count(int *count);

/* Errors: BP_E_ARGUMENT (index outside, unknown struct_size). */
BP_API bp_status bp_library_at(int index, bp_library_info *info);

/* By id, family (its best member), SONAME, or path. BP_E_NOT_FOUND names each place searched, the loader's or probe's
 * reason for near matches, and the package that would provide it. */
BP_API bp_status bp_library_find(const char *name, bp_library_info *info);

/* Searches again; `probe_all` probes libraries anew whatever the store says. Libraries in use stay loaded. If the list
 * has changed, calls choose anew; if not, plans of before go on and no memory is taken. */
BP_API bp_status bp_libraries_refresh(int probe_all);

/* Walks the places that were searched: 1 and the place and what came of it ("4 libraries", "no such directory"), 0 past
 * the end. */
BP_API int bp_search_location_at(int index, const char **place, const char **outcome);

#ifdef __cplusplus
}
#endif
#endif
