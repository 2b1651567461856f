/* routines.h - declares prototypes of the LAPACK routines that the provider calls.
 *
 * No vendor header is included, because one implementation calls every library. In the Fortran interface every argument
 * is an address, and the lengths of character arguments follow at the end. So one prototype serves all element types
 * and both integer widths. T is an element, R a real of its precision, INT the library's integer. The provider uses
 * void for T and R, and its union for INT. A test compiles the prototypes with the true types together with an
 * installed lapack.h.
 */
#ifndef BP_LAPACK_ROUTINES_H
#define BP_LAPACK_ROUTINES_H

#include <stddef.h>
#include <stdint.h>

#define BP__LAPACK_ARGS_getrf(T, R, INT) (const INT *m, const INT *n, T *a, const INT *lda, INT *ipiv, INT *info)
#define BP__LAPACK_ARGS_getri(T, R, INT)                                                                               \
    (const INT *n, T *a, const INT *lda, const INT *ipiv, T *work, const INT *lwork, INT *info)
#define BP__LAPACK_ARGS_getrs(T, R, INT)                                                                               \
    (const char *trans, const INT *n, const INT *nrhs, const T *a, const INT *lda, const INT *ipiv, T *b,              \
     const INT *ldb, INT *info, size_t)
#define BP__LAPACK_ARGS_potrf(T, R, INT) (const char *uplo, const INT *n, T *a, const INT *lda, INT *info, size_t)
#define BP__LAPACK_ARGS_potrs(T, R, INT)                                                                               \
    (const char *uplo, const INT *n, const INT *nrhs, const T *a, const INT *lda, T *b, const INT *ldb, INT *info,     \
     size_t)
#define BP__LAPACK_ARGS_potri(T, R, INT) (const char *uplo, const INT *n, T *a, const INT *lda, INT *info, size_t)
#define BP__LAPACK_ARGS_sytrf(T, R, INT)                                                                               \
    (const char *uplo, const INT *n, T *a, const INT *lda, INT *ipiv, T *work, const INT *lwork, INT *info, size_t)
#define BP__LAPACK_ARGS_hetrf(T, R, INT) BP__LAPACK_ARGS_sytrf(T, R, INT)
#define BP__LAPACK_ARGS_sytrs(T, R, INT)                                                                               \
    (const char *uplo, const INT *n, const INT *nrhs, const T *a, const INT *lda, const INT *ipiv, T *b,               \
     const INT *ldb, INT *info, size_t)
#define BP__LAPACK_ARGS_hetrs(T, R, INT) BP__LAPACK_ARGS_sytrs(T, R, INT)
#define BP__LAPACK_ARGS_trsm(T, R, INT)                                                                                \
    (const char *side, const char *uplo, const char *trans, const char *diag, const INT *m, const INT *n,              \
     const T *alpha, const T *a, const INT *lda, T *b, const INT *ldb, size_t, size_t, size_t, size_t)
#define BP__LAPACK_ARGS_gemm(T, R, INT)                                                                                \
    (const char *transa, const char *transb, const INT *m, const INT *n, const INT *k, const T *alpha, const T *a,     \
     const INT *lda, const T *b, const INT *ldb, const T *beta, T *c, const INT *ldc, size_t, size_t)
#define BP__LAPACK_ARGS_geqrf(T, R, INT)                                                                               \
    (const INT *m, const INT *n, T *a, const INT *lda, T *tau, T *work, const INT *lwork, INT *info)
#define BP__LAPACK_ARGS_orgqr(T, R, INT)                                                                               \
    (const INT *m, const INT *n, const INT *k, T *a, const INT *lda, const T *tau, T *work, const INT *lwork, INT *info)
#define BP__LAPACK_ARGS_syevd(T, R, INT)                                                                               \
    (const char *jobz, const char *uplo, const INT *n, T *a, const INT *lda, R *w, T *work, const INT *lwork,          \
     INT *iwork, const INT *liwork, INT *info, size_t, size_t)
#define BP__LAPACK_ARGS_heevd(T, R, INT)                                                                               \
    (const char *jobz, const char *uplo, const INT *n, T *a, const INT *lda, R *w, T *work, const INT *lwork,          \
     R *rwork, const INT *lrwork, INT *iwork, const INT *liwork, INT *info, size_t, size_t)
#define BP__LAPACK_ARGS_geev_real(T, R, INT)                                                                           \
    (const char *jobvl, const char *jobvr, const INT *n, T *a, const INT *lda, T *wr, T *wi, T *vl, const INT *ldvl,   \
     T *vr, const INT *ldvr, T *work, const INT *lwork, INT *info, size_t, size_t)
#define BP__LAPACK_ARGS_geev_complex(T, R, INT)                                                                        \
    (const char *jobvl, const char *jobvr, const INT *n, T *a, const INT *lda, T *w, T *vl, const INT *ldvl, T *vr,    \
     const INT *ldvr, T *work, const INT *lwork, R *rwork, INT *info, size_t, size_t)
#define BP__LAPACK_ARGS_gesdd_real(T, R, INT)                                                                          \
    (const char *jobz, const INT *m, const INT *n, T *a, const INT *lda, R *s, T *u, const INT *ldu, T *vt,            \
     const INT *ldvt, T *work, const INT *lwork, INT *iwork, INT *info, size_t)
#define BP__LAPACK_ARGS_gesdd_complex(T, R, INT)                                                                       \
    (const char *jobz, const INT *m, const INT *n, T *a, const INT *lda, R *s, T *u, const INT *ldu, T *vt,            \
     const INT *ldvt, T *work, const INT *lwork, R *rwork, INT *iwork, INT *info, size_t)
#define BP__LAPACK_ARGS_gels(T, R, INT)                                                                                \
    (const char *trans, const INT *m, const INT *n, const INT *nrhs, T *a, const INT *lda, T *b, const INT *ldb,       \
     T *work, const INT *lwork, INT *info, size_t)
#define BP__LAPACK_ARGS_gelsy_real(T, R, INT)                                                                          \
    (const INT *m, const INT *n, const INT *nrhs, T *a, const INT *lda, T *b, const INT *ldb, INT *jpvt,               \
     const R *rcond, INT *rank, T *work, const INT *lwork, INT *info)
#define BP__LAPACK_ARGS_gelsy_complex(T, R, INT)                                                                       \
    (const INT *m, const INT *n, const INT *nrhs, T *a, const INT *lda, T *b, const INT *ldb, INT *jpvt,               \
     const R *rcond, INT *rank, T *work, const INT *lwork, R *rwork, INT *info)
#define BP__LAPACK_ARGS_gelsd_real(T, R, INT)                                                                          \
    (const INT *m, const INT *n, const INT *nrhs, T *a, const INT *lda, T *b, const INT *ldb, R *s, const R *rcond,    \
     INT *rank, T *work, const INT *lwork, INT *iwork, INT *info)
#define BP__LAPACK_ARGS_gelsd_complex(T, R, INT)                                                                       \
    (const INT *m, const INT *n, const INT *nrhs, T *a, const INT *lda, T *b, const INT *ldb, R *s, const R *rcond,    \
     INT *rank, T *work, const INT *lwork, R *rwork, INT *iwork, INT *info)
#define BP__LAPACK_ARGS_gelss_real(T, R, INT)                                                                          \
    (const INT *m, const INT *n, const INT *nrhs, T *a, const INT *lda, T *b, const INT *ldb, R *s, const R *rcond,    \
     INT *rank, T *work, const INT *lwork, INT *info)
#define BP__LAPACK_ARGS_gelss_complex(T, R, INT)                                                                       \
    (const INT *m, const INT *n, const INT *nrhs, T *a, const INT *lda, T *b, const INT *ldb, R *s, const R *rcond,    \
     INT *rank, T *work, const INT *lwork, R *rwork, INT *info)

#define BP__LAPACK_ARGS_lange(T, R, INT)                                                                               \
    (const char *norm, const INT *m, const INT *n, const T *a, const INT *lda, R *work, size_t)

/* Name in this file, stem of the routine for real types, stem for complex types; NULL if there is none. */
#define BP__LAPACK_SUBROUTINES(X)                                                                                      \
    X(getrf, "getrf", "getrf")                                                                                         \
    X(getri, "getri", "getri")                                                                                         \
    X(getrs, "getrs", "getrs")                                                                                         \
    X(potrf, "potrf", "potrf")                                                                                         \
    X(potrs, "potrs", "potrs")                                                                                         \
    X(potri, "potri", "potri")                                                                                         \
    X(sytrf, "sytrf", "sytrf")                                                                                         \
    X(sytrs, "sytrs", "sytrs")                                                                                         \
    X(hetrf, NULL, "hetrf")                                                                                            \
    X(hetrs, NULL, "hetrs")                                                                                            \
    X(trsm, "trsm", "trsm")                                                                                            \
    X(gemm, "gemm", "gemm")                                                                                            \
    X(geqrf, "geqrf", "geqrf")                                                                                         \
    X(orgqr, "orgqr", "ungqr")                                                                                         \
    X(syevd, "syevd", NULL)                                                                                            \
    X(heevd, NULL, "heevd")                                                                                            \
    X(geev_real, "geev", NULL)                                                                                         \
    X(geev_complex, NULL, "geev")                                                                                      \
    X(gesdd_real, "gesdd", NULL)                                                                                       \
    X(gesdd_complex, NULL, "gesdd")                                                                                    \
    X(gels, "gels", "gels")                                                                                            \
    X(gelsy_real, "gelsy", NULL)                                                                                       \
    X(gelsy_complex, NULL, "gelsy")                                                                                    \
    X(gelsd_real, "gelsd", NULL)                                                                                       \
    X(gelsd_complex, NULL, "gelsd")                                                                                    \
    X(gelss_real, "gelss", NULL)                                                                                       \
    X(gelss_complex, NULL, "gelss")

/* Functions. They return a real of the element's precision by value, and so have two prototypes. */
#define BP__LAPACK_FUNCTIONS(X) X(lange, "lange", "lange")

#define BP__LAPACK_ROUTINES(X)                                                                                         \
    BP__LAPACK_SUBROUTINES(X)                                                                                          \
    BP__LAPACK_FUNCTIONS(X)

typedef enum bp__lapack_routine {
#define X(name, real, complex) BP__LAPACK_##name,
    BP__LAPACK_ROUTINES(X)
#undef X
        BP__LAPACK_ROUTINE_COUNT
} bp__lapack_routine;

/* An integer argument in the library's width. */
typedef union bp__lapack_int {
    int32_t i32;
    int64_t i64;
} bp__lapack_int;

#define X(name, real, complex) typedef void bp__lapack_call_##name BP__LAPACK_ARGS_##name(void, void, bp__lapack_int);
BP__LAPACK_SUBROUTINES(X)
#undef X

#define X(name, real, complex)                                                                                         \
    typedef float bp__lapack_call_##name##_f32 BP__LAPACK_ARGS_##name(void, void, bp__lapack_int);                     \
    typedef double bp__lapack_call_##name##_f64 BP__LAPACK_ARGS_##name(void, void, bp__lapack_int);
BP__LAPACK_FUNCTIONS(X)
#undef X

#endif
