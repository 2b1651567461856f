/* exports_blas.c - gives the stubs of libbackplane_blas.so the names of BLAS and CBLAS. */
#include "dropin/exports.h"

BP__EXPORTED_ENTRIES;
BP__EXPORTED_MARK;

/* clang-format off */
__asm__(".text\n");
BP__DROPIN_SIZED(BP__EXPORT_SIZED)
BP__DROPIN_BLAS(BP__EXPORT_PLAIN_FORTRAN)
BP__DROPIN_CBLAS(BP__EXPORT_PLAIN_C)
/* clang-format on */

/* Data of netlib's CBLAS, which its testers share with its error handler. */
__attribute__((visibility("default"))) extern int RowMajorStrg, CBLAS_CallFromC;
int RowMajorStrg, CBLAS_CallFromC;
