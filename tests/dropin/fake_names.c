/* fake_names.c - a math library that defines every routine that the hooks library knows; each returns its number.
 *
 * The spelling of the names is chosen by macros, as real libraries have several.
 */
#include "dropin/routines.h"

#ifndef FAKE_PREFIX
#define FAKE_PREFIX
#endif
#ifndef FAKE_FORTRAN
#define FAKE_FORTRAN _
#define FAKE_C
#endif

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define FUNCTION(symbol, number)                                                                                       \
    int symbol(void);                                                                                                  \
    int symbol(void) {                                                                                                 \
        return number;                                                                                                 \
    }
#define FORTRAN(name, ...) FUNCTION(JOIN(FAKE_PREFIX, name, FAKE_FORTRAN), BP__DROPIN_##name)
#define C(name) FUNCTION(JOIN(FAKE_PREFIX, name, FAKE_C), BP__DROPIN_##name)
#define SIZED(name, kind) SIZED_##kind(name)
#define SIZED_f_gemm(name) FORTRAN(name)
#define SIZED_f_gemv(name) FORTRAN(name)
#define SIZED_f_first(name) FORTRAN(name)
#define SIZED_f_second(name) FORTRAN(name)
#define SIZED_f_first_two(name) FORTRAN(name)
#define SIZED_c_gemm(name) C(name)
#define SIZED_c_gemv(name) C(name)

BP__DROPIN_SIZED(SIZED)
BP__DROPIN_BLAS(FORTRAN)
BP__DROPIN_CBLAS(C)
BP__DROPIN_LAPACK(FORTRAN)
#ifndef FAKE_NO_FFTW
#define X(name) FUNCTION(name, BP__DROPIN_##name)
BP__DROPIN_FFTW(X)
#undef X
#define X(name) FUNCTION(name##_, BP__DROPIN_##name)
BP__DROPIN_FFTW_FORTRAN(X)
#endif
