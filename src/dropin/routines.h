/* routines.h - numbers the routines, and describes the memory that stubs, audit object and C code share.
 *
 * A routine has one entry (bp__dropin_slot) for each width of its integers and each definition of its name in the
 * process: entry (2 * routine + (width is 64)) * BP__DROPIN_SLOTS + definition. A stub belongs to each entry. Sized
 * routines come first; their stubs read the sizes and compare them with the entry's limit. All other stubs jump.
 *
 * BP__DROPIN_PART chooses the routines that a shared object has, because a drop-in library needs the routines of its
 * names only.
 */
#ifndef BP_DROPIN_ROUTINES_H
#define BP_DROPIN_ROUTINES_H

#include "dropin/names_blas.h"
#include "dropin/names_lapack.h"
#include "dropin/names_lapacke.h"

#include <stdint.h>

#define BP__DROPIN_PART_HOOKS 0   /* everything that a program is expected to call */
#define BP__DROPIN_PART_BLAS 1    /* libbackplane_blas.so */
#define BP__DROPIN_PART_LAPACK 2  /* libbackplane_lapack.so */
#define BP__DROPIN_PART_FFTW 3    /* libbackplane_fftw3.so */
#define BP__DROPIN_PART_PRELOAD 4 /* libbackplane-preload.so */
#ifndef BP__DROPIN_PART
#define BP__DROPIN_PART BP__DROPIN_PART_HOOKS
#endif

#define BP__DROPIN_LAUNCHED (BP__DROPIN_PART == BP__DROPIN_PART_HOOKS || BP__DROPIN_PART == BP__DROPIN_PART_PRELOAD)

#define BP__DROPIN_HAS_LAPACK (BP__DROPIN_LAUNCHED || BP__DROPIN_PART == BP__DROPIN_PART_LAPACK)

/* Definitions of one name that are told apart; a binding to a further one is left alone. In the preloaded library, the
 * names without a prefix, and the names of SciPy's and NumPy's wheels. */
#if BP__DROPIN_PART == BP__DROPIN_PART_HOOKS
#define BP__DROPIN_SLOTS 4
#elif BP__DROPIN_PART == BP__DROPIN_PART_PRELOAD
#define BP__DROPIN_SLOTS 2
#else
#define BP__DROPIN_SLOTS 1
#endif

/* Routines whose stubs read sizes: name, and where the sizes are (stubs.h). */
/* clang-format off */
#define BP__DROPIN_SIZED_BLAS(X)                                                                                       \
    X(sgemm, f_gemm) X(dgemm, f_gemm) X(cgemm, f_gemm) X(zgemm, f_gemm)                                                \
    X(sgemv, f_gemv) X(dgemv, f_gemv) X(cgemv, f_gemv) X(zgemv, f_gemv)                                                \
    X(cblas_sgemm, c_gemm) X(cblas_dgemm, c_gemm) X(cblas_cgemm, c_gemm) X(cblas_zgemm, c_gemm)                        \
    X(cblas_sgemv, c_gemv) X(cblas_dgemv, c_gemv) X(cblas_cgemv, c_gemv) X(cblas_zgemv, c_gemv)
#define BP__DROPIN_SIZED_LAPACK(X)                                                                                     \
    X(sgetrf, f_first_two) X(dgetrf, f_first_two) X(cgetrf, f_first_two) X(zgetrf, f_first_two)                        \
    X(sgesv, f_first) X(dgesv, f_first) X(cgesv, f_first) X(zgesv, f_first)                                            \
    X(spotrf, f_second) X(dpotrf, f_second) X(cpotrf, f_second) X(zpotrf, f_second)                                    \
    X(sposv, f_second) X(dposv, f_second) X(cposv, f_second) X(zposv, f_second)                                        \
    X(sgetrs, f_second) X(dgetrs, f_second) X(cgetrs, f_second) X(zgetrs, f_second)                                    \
    X(spotrs, f_second) X(dpotrs, f_second) X(cpotrs, f_second) X(zpotrs, f_second)

/* LAPACK's drivers and the routines that programs call directly. The preloaded library has no others, because every call
 * of a LAPACK library to itself would arrive at it. */
#define BP__DROPIN_DRIVERS_OF(X, t)                                                                                    \
    X(t##getri) X(t##potri) X(t##trtri) X(t##trtrs) X(t##geqrf) X(t##geqp3) X(t##gels) X(t##gelsd) X(t##gelsy)         \
    X(t##gelss) X(t##gesdd) X(t##gesvd) X(t##geev) X(t##geevx) X(t##gees) X(t##ggev) X(t##gesvx) X(t##posvx)           \
    X(t##gecon) X(t##pocon) X(t##trcon) X(t##lange) X(t##pstrf) X(t##gbsv) X(t##gtsv) X(t##pbsv) X(t##ptsv)            \
    X(t##sysv) X(t##sytrf) X(t##sytrs) X(t##gebal) X(t##gehrd) X(t##gbtrf) X(t##gbtrs) X(t##pbtrf) X(t##pbtrs)         \
    X(t##gttrf) X(t##gttrs) X(t##pttrf) X(t##pttrs) X(t##trsyl) X(t##hseqr) X(t##trevc)
#define BP__DROPIN_DRIVERS_OF_REAL(X, t)                                                                               \
    X(t##syev) X(t##syevd) X(t##syevr) X(t##syevx) X(t##sygvd) X(t##sygv) X(t##orgqr) X(t##ormqr) X(t##stevd)
#define BP__DROPIN_DRIVERS_OF_COMPLEX(X, t)                                                                            \
    X(t##heev) X(t##heevd) X(t##heevr) X(t##heevx) X(t##hegvd) X(t##hegv) X(t##ungqr) X(t##unmqr) X(t##hesv) X(t##hetrf)
#define BP__DROPIN_LAPACK_DRIVERS(X)                                                                                   \
    BP__DROPIN_DRIVERS_OF(X, s) BP__DROPIN_DRIVERS_OF(X, d) BP__DROPIN_DRIVERS_OF(X, c) BP__DROPIN_DRIVERS_OF(X, z)    \
    BP__DROPIN_DRIVERS_OF_REAL(X, s) BP__DROPIN_DRIVERS_OF_REAL(X, d)                                                  \
    BP__DROPIN_DRIVERS_OF_COMPLEX(X, c) BP__DROPIN_DRIVERS_OF_COMPLEX(X, z)                                            \
    X(dsgesv) X(dsposv) X(zcgesv) X(zcposv)

/* FFTW's functions of C and of Fortran, in double and then in single precision. */
#define BP__DROPIN_FFTW_C(X) BP__DROPIN_FFTW_NAMES(X, fftw_) BP__DROPIN_FFTW_NAMES(X, fftwf_)
#define BP__DROPIN_FFTW_F(X) BP__DROPIN_FFTW_FORTRAN_NAMES(X, dfftw_) BP__DROPIN_FFTW_FORTRAN_NAMES(X, sfftw_)

#if BP__DROPIN_PART == BP__DROPIN_PART_HOOKS
#define BP__DROPIN_SIZED(X) BP__DROPIN_SIZED_BLAS(X) BP__DROPIN_SIZED_LAPACK(X)
#define BP__DROPIN_BLAS(X) BP__DROPIN_BLAS_OTHERS(X)
#define BP__DROPIN_CBLAS(X) BP__DROPIN_CBLAS_OTHERS(X)
#define BP__DROPIN_LAPACK(X) BP__DROPIN_LAPACK_OTHERS(X)
#define BP__DROPIN_LAPACKE(X)
#define BP__DROPIN_FFTW(X) BP__DROPIN_FFTW_C(X)
#define BP__DROPIN_FFTW_FORTRAN(X) BP__DROPIN_FFTW_F(X)
#elif BP__DROPIN_PART == BP__DROPIN_PART_PRELOAD
#define BP__DROPIN_SIZED(X) BP__DROPIN_SIZED_BLAS(X) BP__DROPIN_SIZED_LAPACK(X)
#define BP__DROPIN_BLAS(X) BP__DROPIN_BLAS_OTHERS(X)
#define BP__DROPIN_CBLAS(X) BP__DROPIN_CBLAS_OTHERS(X)
#define BP__DROPIN_LAPACK(X) BP__DROPIN_LAPACK_DRIVERS(X)
#define BP__DROPIN_LAPACKE(X)
#define BP__DROPIN_FFTW(X) BP__DROPIN_FFTW_C(X)
#define BP__DROPIN_FFTW_FORTRAN(X) BP__DROPIN_FFTW_F(X)
#elif BP__DROPIN_PART == BP__DROPIN_PART_BLAS
#define BP__DROPIN_SIZED(X) BP__DROPIN_SIZED_BLAS(X)
#define BP__DROPIN_BLAS(X) BP__DROPIN_BLAS_OTHERS(X)
#define BP__DROPIN_CBLAS(X) BP__DROPIN_CBLAS_OTHERS(X)
#define BP__DROPIN_LAPACK(X)
#define BP__DROPIN_LAPACKE(X)
#define BP__DROPIN_FFTW(X)
#define BP__DROPIN_FFTW_FORTRAN(X)
#elif BP__DROPIN_PART == BP__DROPIN_PART_LAPACK
#define BP__DROPIN_SIZED(X) BP__DROPIN_SIZED_LAPACK(X)
#define BP__DROPIN_BLAS(X)
#define BP__DROPIN_CBLAS(X)
#define BP__DROPIN_LAPACK(X) BP__DROPIN_LAPACK_OTHERS(X) BP__DROPIN_LAPACK_HELPERS(X)
#define BP__DROPIN_LAPACKE(X) BP__DROPIN_LAPACKE_NAMES(X)
#define BP__DROPIN_FFTW(X)
#define BP__DROPIN_FFTW_FORTRAN(X)
#else
#define BP__DROPIN_SIZED(X)
#define BP__DROPIN_BLAS(X)
#define BP__DROPIN_CBLAS(X)
#define BP__DROPIN_LAPACK(X)
#define BP__DROPIN_LAPACKE(X)
#define BP__DROPIN_FFTW(X) BP__DROPIN_FFTW_C(X)
#define BP__DROPIN_FFTW_FORTRAN(X) BP__DROPIN_FFTW_F(X)
#endif
/* clang-format on */

/* The numbers of routines, in the order of the stubs. */
enum {
#define X(name, ...) BP__DROPIN_##name,
    BP__DROPIN_SIZED(X) BP__DROPIN_SIZED_COUNT,
    BP__DROPIN_BEFORE_BLAS = BP__DROPIN_SIZED_COUNT - 1,
    BP__DROPIN_BLAS(X) BP__DROPIN_BLAS_END,
    BP__DROPIN_BEFORE_CBLAS = BP__DROPIN_BLAS_END - 1,
    BP__DROPIN_CBLAS(X) BP__DROPIN_CBLAS_END,
    BP__DROPIN_BEFORE_LAPACK = BP__DROPIN_CBLAS_END - 1,
    BP__DROPIN_LAPACK(X) BP__DROPIN_LAPACK_END,
    BP__DROPIN_BEFORE_LAPACKE = BP__DROPIN_LAPACK_END - 1,
    BP__DROPIN_LAPACKE(X) BP__DROPIN_LAPACKE_END,
    BP__DROPIN_BEFORE_FFTW = BP__DROPIN_LAPACKE_END - 1,
    BP__DROPIN_FFTW(X) BP__DROPIN_FFTW_END,
    BP__DROPIN_BEFORE_FFTW_FORTRAN = BP__DROPIN_FFTW_END - 1,
    BP__DROPIN_FFTW_FORTRAN(X) BP__DROPIN_ROUTINES,
#undef X
    BP__DROPIN_ENTRIES = BP__DROPIN_ROUTINES * 2 * BP__DROPIN_SLOTS,
    BP__DROPIN_SIZED_ENTRIES = BP__DROPIN_SIZED_COUNT * 2 * BP__DROPIN_SLOTS
};

/* The names in this order, for tables of the audit object and of the C code. */
#define BP__DROPIN_NAMES(X)                                                                                            \
    BP__DROPIN_SIZED(X)                                                                                                \
    BP__DROPIN_BLAS(X)                                                                                                 \
    BP__DROPIN_CBLAS(X) BP__DROPIN_LAPACK(X) BP__DROPIN_LAPACKE(X) BP__DROPIN_FFTW(X) BP__DROPIN_FFTW_FORTRAN(X)

/* One entry. Stubs read `small`, `large` and `limit` without a lock: each is written with one store. */
typedef struct bp__dropin_slot {
    void *small;    /* jumped to below the limit, and by stubs that read no sizes */
    void *large;    /* jumped to from the limit on */
    uint64_t limit; /* of the product of the sizes that the stub reads */
    void *original; /* the program's own routine, under launch */
} bp__dropin_slot;

enum { BP__DROPIN_SIZED_STUB = 64, BP__DROPIN_STUB = 16, BP__DROPIN_VERSION = 1 };

/* The symbol bp_hooks of the hooks library, by which the audit object recognises it. That object also uses the
 * addresses of bp_hooks_entries, bp_hooks_sized_stubs, bp_hooks_stubs and bp_hooks_enter. */
typedef struct bp__dropin_hooks {
    uint32_t version; /* BP__DROPIN_VERSION */
    uint32_t routines, slots;
} bp__dropin_hooks;

#endif
