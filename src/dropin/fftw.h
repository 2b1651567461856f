/* fftw.h - declares the choice of the library that runs a program's FFTW calls. */
#ifndef BP_DROPIN_FFTW_H
#define BP_DROPIN_FFTW_H

#include "dropin/entry.h"

/* Finds an FFTW routine in the library that was asked for (NULL: none), or in the FFTW of its precision, or in MKL.
 * Returns false if there is none. */
bool bp__dropin_fftw(int routine, const char *asked, bp__dropin_target *target);

#endif
