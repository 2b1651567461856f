/* library.h - lists the math libraries of this machine.
 *
 * The first call of any function searches (loader cache, standard folders, LD_LIBRARY_PATH, BACKPLANE_LIBRARY_PATH,
 * virtual environment, conda prefix, loaded objects) and reads ELF data. It probes each library that is not in the
 * probe cache, in a child process. Nothing is loaded into the calling process. The list is kept until
 * bp_libraries_refresh() or bp_reset(). Calls of operations have only those libraries probed that they can use; these
 * functions complete the list. All functions are thread-safe.
 */
#ifndef BACKPLANE_LIBRARY_H
#define BACKPLANE_LIBRARY_H

#include "backplane/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bits for what a library offers. */
#define BP_LIB_BLAS 1u  /* Fortran BLAS names */
#define BP_LIB_CBLAS 2u /* C BLAS names */
#define BP_LIB_LAPACK 4u
#define BP_LIB_FFT 8u
#define BP_LIB_DNN 16u
#define BP_LIB_OPENMP 32u
#define BP_LIB_BUILTIN 64u /* a provider that is part of Backplane; has no file */
#define BP_LIB_GPU 128u    /* computes on a GPU: needs a device and its driver */
#define BP_LIB_SMM 256u    /* kernels for small matrix products, generated at run time */
#define BP_LIB_OPENCL 512u /* matrix products on OpenCL devices */

typedef enum bp_library_state {
    BP_LIBRARY_OK,        /* probed, usable */
    BP_LIBRARY_FACADE,    /* forwards its calls to another library of the list */
    BP_LIBRARY_BROKEN,    /* the probe crashed, hung, could not open it, or got wrong results: see reason */
    BP_LIBRARY_UNTRUSTED, /* another user can modify the file or a parent folder; the library is not opened */
    BP_LIBRARY_UNPROBED   /* only its ELF data is known */
} bp_library_state;

/* Returns "ok", "facade", ...; static storage, never NULL. */
BP_API const char *bp_library_state_name(bp_library_state state);

/* The list of what the probe checks in each element type, in addition to matrix products: number, NAME, text. The
 * inputs are random, graded, huge, tiny, and have clustered eigenvalues. */
/* clang-format off */
#define BP_CHECK_MAP(X)                                                               \
    X(0, LU, "lu")                    /* getrf, getrs, getri; memory of lange */      \
    X(1, CHOLESKY, "cholesky")        /* potrf, potrs, potri; sytrf, sytrs, hetrf, hetrs */ \
    X(2, QR, "qr")                    /* geqrf, orgqr or ungqr */                     \
    X(3, EIGH, "eigh")                /* syevd or heevd */                            \
    X(4, EIG, "eig")                  /* geev */                                      \
    X(5, SVD, "svd")                  /* gesdd */                                     \
    X(6, LSTSQ, "lstsq")              /* gels, gelsy, gelsd, gelss */                 \
    X(7, TRIANGULAR, "triangular")    /* trsm */                                      \
    X(8, C2C, "fft c2c")              /* sizes that are powers of two, odd, and prime */ \
    X(9, R2C, "fft r2c")                                                              \
    X(10, C2R, "fft c2r")                                                             \
    X(14, GEMV, "gemv")               /* whether it stays within its operands */      \
    X(15, GEMM, "gemm")               /* likewise */
/* clang-format on */

typedef enum bp_check {
#define BP__ENTRY(number, name, text) BP_CHECK_##name = number,
    BP_CHECK_MAP(BP__ENTRY)
#undef BP__ENTRY
} bp_check;

/* The bit of a check in one element type: BP_F32, BP_F64, BP_C64 or BP_C128 (the complex type for transforms). */
#define BP_CHECK_BIT(check, dtype) (UINT64_C(1) << (4 * (check) + (dtype)-3))

/* The list of what the probe checks in oneDNN 3, primitive by primitive: number, NAME, text. Operands are small
 * integers; operands of integer products are the extreme values of their types. */
/* clang-format off */
#define BP_PRIMITIVE_MAP(X)                                                           \
    X(0, MATMUL_F32, "matmul f32")                                                    \
    X(1, MATMUL_BF16, "matmul bf16")                                                  \
    X(2, MATMUL_F16, "matmul f16")                                                    \
    X(3, MATMUL_I8, "matmul i8 x i8") /* to i32 */                                    \
    X(4, MATMUL_U8, "matmul u8 x i8")                                                 \
    X(5, CONVOLUTION, "convolution")  /* f32, also its transpose and its gradients */ \
    X(6, POOLING, "pooling")          /* averages */                                  \
    X(7, BATCH_NORM, "batch normalization")                                           \
    X(8, RNN, "RNN")                  /* f32, as the next three */                    \
    X(9, LSTM, "LSTM")                                                                \
    X(10, GRU, "GRU")                                                                 \
    X(11, GRU_BEFORE, "GRU with the reset gate before the product")
/* clang-format on */

typedef enum bp_primitive {
#define BP__ENTRY(number, name, text) BP_PRIMITIVE_##name = number,
    BP_PRIMITIVE_MAP(BP__ENTRY)
#undef BP__ENTRY
} bp_primitive;

/* The bit of a primitive, between the bits of the checks 10 and 14. */
#define BP_PRIMITIVE_BIT(primitive) (UINT64_C(1) << 44 << (primitive))

/* Bytes of memory that the probe has seen a library take; 0 in all members if they are unknown. If a limit leaves less,
 * the library is refused in this process (BP_REASON_MEMORY), because many end the process if they get no memory. */
typedef struct bp_library_need {
    int64_t open;   /* to open it */
    int64_t call;   /* for the first calls, on one thread */
    int64_t thread; /* for each further thread of the library */
    int64_t caller; /* for each further thread of the program that calls it at the same time */
} bp_library_need;

/* The bit of an element type, BP_F32, BP_F64, BP_C64 or BP_C128, in bp_library_info.overreads. In such a type the
 * library's LAPACK routines read up to one page of memory beyond an operand or in front of it. Results do not depend on
 * it, but the process ends if there is no memory. The lapack provider gives these routines copies of the operands that
 * have a page of their own on each side. */
#define BP_OVERREAD_BIT(dtype) (UINT32_C(1) << ((dtype)-3))

/* One library. Strings are "" when unknown, never NULL, and valid until bp_reset(). */
typedef struct bp_library_info {
    size_t struct_size; /* set by the caller: sizeof(bp_library_info) */
    const char *id;     /* short, unique, stable between runs: "openblas", "openblas-openmp", "blis", "mkl", "netlib" */
    const char *family; /* "openblas", "blis", "mkl", "netlib", "atlas", "fftw", "onednn", "libxsmm", ..., "unknown" */
    unsigned kinds;     /* BP_LIB_ mask */
    bp_library_state state;
    const char *reason;  /* why the state is not OK; "" if it is */
    const char *path;    /* the file, without symbolic links */
    const char *aliases; /* other paths of the same file, newline-separated */
    const char *soname;
    const char *build_id; /* hexadecimal */
    const char *version;
    const char *kernels;        /* the kernel set that it uses on this CPU: "Haswell", "zen3", "generic", ... */
    int int_bits;               /* width of its integers: 32 or 64; 0 when unknown */
    const char *suffix;         /* suffix of dgemm's symbol: "_", "64_", "_64_", ... */
    const char *prefix;         /* "scipy_" in SciPy's wheels */
    const char *complex_return; /* "register", "hidden argument", "unknown" */
    int f2c;                    /* 1: float functions return double (f2c convention) */
    const char *threading;      /* "serial", "pthread", "libgomp", "libomp", "libiomp5", "tbb", "unknown" */
    const char *thread_scope;   /* scope of its thread-count setter: "thread", "process", "none", "unknown" */
    int loaded;                 /* 1: this process had it loaded when the list was built */
    const char *fact_sources;   /* source of each field: "version: openblas_get_config; int_bits: isamax probe; ..." */
    double probe_ms;            /* duration of the probe in ms; 0 if the result came from the probe cache */
    const char *cblas_suffix;   /* suffix of cblas_dgemm's symbol: "", "64_", "_64", ... */
    uint64_t faulty;            /* BP_CHECK_BIT and BP_PRIMITIVE_BIT mask of what failed, or what the library does not
                                 * have on this processor; providers refuse such problems */
    const char *faults;         /* a line per bit of `faulty`, lowest first: "eig f32: wrong results in probe: sgeev" */
    const char *blas;      /* for a LAPACK without BLAS: id or path of the library whose matrix products it calls */
    bp_library_need space; /* of address space (RLIMIT_AS) */
    bp_library_need data;  /* of private writable memory (RLIMIT_DATA) */
    int64_t stack;      /* bytes of the calling thread's stack that opening it and the probe's calls took; 0: unknown */
    uint32_t overreads; /* the types whose LAPACK routines read next to their operands: a mask of BP_OVERREAD_BIT */
    const char *inexact[2]; /* of its transforms in single [0] and in double precision [1]: prime numbers, separated by
                             * spaces. For twice such a prime, an element has an error of more than
                             * 4 (log2(length) + 4) units of rounding of the input's 2-norm; providers refuse all
                             * lengths that are larger multiples of one */
    const char *outside;    /* routines of BLAS other than gemv and gemm that access memory outside of their
                             * operands, in the spelling of Fortran without suffix, separated by spaces; "*": any may,
                             * because the probe did not reach them */
} bp_library_info;

/* Returns why problems of this kind are refused: the text after "eig f32: " in `faults`, of *length characters, without
 * a terminator. `bit`: one of `faulty`. Returns NULL if the check passed. For providers. */
static inline const char *bp_library_fault_of_bit(const bp_library_info *library, uint64_t bit, int *length) {
    const char *line = library->faults;
    *length = 0;
    if (!(library->faulty & bit)) {
        return BP__NULL;
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

/* As bp_library_fault_of_bit, for a check in one element type. */
static inline const char *bp_library_fault(const bp_library_info *library, bp_check check, unsigned dtype,
                                           int *length) {
    return bp_library_fault_of_bit(library, BP_CHECK_BIT(check, dtype), length);
}

/* Sets *count to the number of libraries in the list. Errors: BP_E_ARGUMENT (NULL), BP_E_NO_MEMORY. */
BP_API bp_status bp_library_count(int *count);

/* Fills *info with entry `index` (0, 1, ...) and returns 1. Returns 0 past the end, and after an error, which
 * bp_last_status() tells: as for bp_library_count(), and BP_E_ARGUMENT (NULL, unknown struct_size). */
BP_API int bp_library_at(int index, bp_library_info *info);

/* Fills *info with the library of that id, family (its best member), SONAME, or path. Errors: as for
 * bp_library_count(), BP_E_NOT_FOUND: the message has the locations searched, the reason that the loader or the probe
 * gave for near matches, and the package that would provide the library. */
BP_API bp_status bp_library_find(const char *name, bp_library_info *info);

/* Opens the library of that id, family, SONAME or path, unless it is open, and sets *handle to what dlopen() returned,
 * for dlsym(). Never close it. The names of its routines have the prefix and the suffixes of bp_library_info. It is
 * opened as for Backplane's own calls: by absolute path, invisible to others, with its own symbols first
 * (registry.deepbind). Errors: as for bp_library_find(); BP_E_UNTRUSTED, BP_E_BROKEN, BP_E_UNSUPPORTED (the state is
 * not OK, or it has no file); BP_E_NO_MEMORY (also if a limit leaves less than it needs); BP_E_LOAD. */
BP_API bp_status bp_library_open(const char *name, void **handle);

/* Searches again. `probe_all`: ignores the probe cache and probes every library. Libraries in use stay loaded. If the
 * list has changed, each later call chooses again; otherwise existing plans stay in use. Errors: as for
 * bp_library_count(). */
BP_API bp_status bp_libraries_refresh(int probe_all);

/* Sets *known to whether the list exists: it is built unless a library has to be probed. So the call takes
 * milliseconds, and not seconds. Errors: as for bp_library_count(). */
BP_API bp_status bp_libraries_cached(int *known);

/* Sets *place to search location `index` (0, 1, ...), and *outcome to the result there ("4 libraries", "no such
 * folder"), and returns 1. Returns 0 past the end. */
BP_API int bp_search_location_at(int index, const char **place, const char **outcome);

#ifdef __cplusplus
}
#endif
#endif
