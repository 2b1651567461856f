/* exports_preload.c - gives the stubs of libbackplane-preload.so the names of routines, as they are in distributions
 * and in the wheels of NumPy and SciPy.
 *
 * The stubs have the order of entries: 32-bit integers without and with the prefix of the wheels, then 64-bit integers.
 * Error handlers and LAPACK's auxiliary routines are not exported.
 */
#include "dropin/exports.h"

BP__EXPORTED_ENTRIES;
BP__EXPORTED_MARK;

/* clang-format off */
#define STUB(name, align, stub) __asm__(".p2align " align "\n" BP__LABEL(name) stub "\n");
#define FORTRAN(name, align, stub)                                                                                     \
    STUB(#name "_", align, stub "32") STUB("scipy_" #name "_", align, stub "32")                                       \
    STUB(#name "_64_", align, stub "64") STUB("scipy_" #name "_64_", align, stub "64")
#define C(name, align, stub)                                                                                           \
    STUB(#name, align, stub "32") STUB("scipy_" #name, align, stub "32")                                               \
    STUB(#name "64_", align, stub "64") STUB("scipy_" #name "64_", align, stub "64")
#define SIZED(name, kind) SIZED_##kind(name)
#define SIZED_f_gemm(name) FORTRAN(name, "6", "bp_sized f_gemm, ")
#define SIZED_f_gemv(name) FORTRAN(name, "6", "bp_sized f_gemv, ")
#define SIZED_c_gemm(name) C(name, "6", "bp_sized c_gemm, ")
#define SIZED_c_gemv(name) C(name, "6", "bp_sized c_gemv, ")
#define SIZED_f_first_two(name) FORTRAN(name, "6", "bp_sized f_first_two, ")
#define SIZED_f_first(name) FORTRAN(name, "6", "bp_sized f_first, ")
#define SIZED_f_second(name) FORTRAN(name, "6", "bp_sized f_second, ")
#define PLAIN_FORTRAN(name) FORTRAN(name, "4", "bp_plain #")
#define PLAIN_C(name) C(name, "4", "bp_plain #")

__asm__(".text\n");
BP__DROPIN_SIZED(SIZED)
BP__DROPIN_BLAS(PLAIN_FORTRAN)
BP__DROPIN_CBLAS(PLAIN_C)
BP__DROPIN_LAPACK(PLAIN_FORTRAN)
/* Of FFTW's names, only the first of four entries is used. */
#define FFTW(name) STUB(#name, "4", "bp_plain\n.set bp_index, bp_index + 3")
#define FFTW_FORTRAN(name)                                                                                             \
    __asm__(".p2align 4\n" BP__LABELS_OF_FFTW_FORTRAN(name) "bp_plain\n.set bp_index, bp_index + 3\n");
BP__DROPIN_FFTW(FFTW)
BP__DROPIN_FFTW_FORTRAN(FFTW_FORTRAN)
/* clang-format on */
