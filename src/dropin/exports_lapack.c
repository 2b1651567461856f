/* exports_lapack.c - gives the stubs of libbackplane_lapack.so the names of LAPACK and of its C interface. */
#include "dropin/exports.h"

BP__EXPORTED_ENTRIES;
BP__EXPORTED_MARK;

/* clang-format off */
__asm__(".text\n");
BP__DROPIN_SIZED(BP__EXPORT_SIZED)
BP__DROPIN_LAPACK(BP__EXPORT_PLAIN_FORTRAN)
BP__DROPIN_LAPACKE(BP__EXPORT_PLAIN_C)
/* clang-format on */
