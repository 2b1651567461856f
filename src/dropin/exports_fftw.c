/* exports_fftw.c - gives the stubs of libbackplane_fftw3.so the public names of FFTW 3 in both precisions, of C
 * and of the legacy Fortran interface. */
#include "dropin/exports.h"

BP__EXPORTED_ENTRIES;
BP__EXPORTED_MARK;

/* clang-format off */
__asm__(".text\n");
BP__DROPIN_FFTW(BP__EXPORT_FFTW)
BP__DROPIN_FFTW_FORTRAN(BP__EXPORT_FFTW_FORTRAN)
/* clang-format on */

/* FFTW's public data. They describe this library, because which one runs the plans is known at the first call only. A
 * program has a copy of the size that the text had when it was linked, usually the size of "fftw-3.3.10-sse2-avx".
 */
enum { USUAL = 21 };
#define TEXT(name, text)                                                                                               \
    __attribute__((visibility("default"))) extern const char name[USUAL];                                              \
    const char name[USUAL] = text
TEXT(fftw_version, "fftw-3.3-backplane");
TEXT(fftw_cc, "");
TEXT(fftw_codelet_optim, "");
TEXT(fftwf_version, "fftw-3.3-backplane");
TEXT(fftwf_cc, "");
TEXT(fftwf_codelet_optim, "");
