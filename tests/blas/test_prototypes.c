/* test_prototypes.c - checks our prototypes against an installed cblas.h: a mismatch does not compile. */
#include "blas/support_blas.h"

#if defined(__has_include)
#if __has_include(<cblas.h>)
#include <cblas.h>
#define HAVE_CBLAS
#endif
#if __has_include(<cblas_f77.h>)
/* The header leaves the type of a character argument open; it is only read. */
#define F77_CHAR const char *
#include <cblas_f77.h>
#define HAVE_F77
#endif
#endif

#ifdef HAVE_CBLAS
#define CHECK_C(letter, type, S, T)                                                                                    \
    typedef BP__BLAS_C_GEMM(our_cblas_##letter##gemm, S, T, int);                                                      \
    typedef BP__BLAS_C_GEMV(our_cblas_##letter##gemv, S, T, int);                                                      \
    _Static_assert(__builtin_types_compatible_p(__typeof__(cblas_##letter##gemm), our_cblas_##letter##gemm),           \
                   "cblas_" #letter "gemm");                                                                           \
    _Static_assert(__builtin_types_compatible_p(__typeof__(cblas_##letter##gemv), our_cblas_##letter##gemv),           \
                   "cblas_" #letter "gemv");
BP__BLAS_TYPES(CHECK_C)
_Static_assert((int)CblasColMajor == BP__BLAS_COLUMN_MAJOR && (int)CblasNoTrans == BP__BLAS_AS_IS &&
                   (int)CblasTrans == BP__BLAS_TRANSPOSE && (int)CblasConjTrans == BP__BLAS_CONJUGATE_TRANSPOSE,
               "enumerations");
#endif

#ifdef HAVE_F77
/* This header passes complex matrices as their real type in gemm, and as void in gemv. */
#define CHECK_F77(name, KIND, T)                                                                                       \
    typedef BP__BLAS_FORTRAN_##KIND(our_##name, T, int32_t);                                                           \
    _Static_assert(__builtin_types_compatible_p(__typeof__(F77_##name##_base), our_##name), #name);
CHECK_F77(sgemm, GEMM, float)
CHECK_F77(dgemm, GEMM, double)
CHECK_F77(cgemm, GEMM, float)
CHECK_F77(zgemm, GEMM, double)
CHECK_F77(sgemv, GEMV, float)
CHECK_F77(dgemv, GEMV, double)
CHECK_F77(cgemv, GEMV, void)
CHECK_F77(zgemv, GEMV, void)
#endif

static void test_c(void **state) {
    (void)state;
#ifndef HAVE_CBLAS
    print_message("skipped: no cblas.h is installed\n");
    skip();
#endif
}

static void test_fortran(void **state) {
    (void)state;
#ifndef HAVE_F77
    print_message("skipped: no cblas_f77.h is installed\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_c), cmocka_unit_test(test_fortran)};
    return cmocka_run_group_tests_name("prototypes", tests, NULL, NULL);
}
