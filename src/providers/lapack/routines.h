/* routines.h - our own prototypes of the LAPACK routines that are called, in one list.
 *
 * No vendor header is included: one body serves every library. In the Fortran interface every argument is an address,
 * and the lengths of the character arguments follow at the end, so that one call serves all element types and both
 * widths of integers: T is an element, R a real of its precision, INT the library's integer. The provider takes void
 * for both and its union for INT; a test declares all again with the true types beside lapack.h where that is
 * installed.
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
#define BP__LAPACK_ARGS_trsm(T, R, INT)                                                                                \
    (const char *side, const char *uplo, const char *trans, const char *diag, const INT *m, const INT *n,              \
     const T *alpha, const T *a, const INT *lda, T *b, const INT *ldb, size_t, size_t, size_t, size_t)

/* The one list: name here, stem of the routine for real types, for complex types; NULL where it has no such form. */
#define BP__LAPACK_ROUTINES(X)                                                                                         \
    X(getrf, "getrf", "getrf")                                                                                         \
    X(getri, "getri", "getri")                                                                                         \
    X(getrs, "getrs", "getrs")                                                                                         \
    X(potrf, "potrf", "potrf")                                                                                         \
    X(potrs, "potrs", "potrs")                                                                                         \
    X(potri, "potri", "potri")                                                                                         \
    X(trsm, "trsm", "trsm")

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
BP__LAPACK_ROUTINES(X)
#undef X

#endif
