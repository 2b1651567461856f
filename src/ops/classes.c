/* classes.c - the table of what calibration measures, from the lists of the families. */
#include "calibration/classes.h"
#include "ops/conv/classes.h"
#include "ops/fft/classes.h"
#include "ops/gemm/classes.h"
#include "ops/linalg/classes.h"

/* clang-format off */
const bp__class bp__classes[] = {
    BP__CLASSES_OF_GEMM
    BP__CLASSES_OF_FFT
    BP__CLASSES_OF_LINALG
    BP__CLASSES_OF_CONV
};
/* clang-format on */
_Static_assert(sizeof bp__classes / sizeof *bp__classes == BP__CLASSES,
               "the table has as many rows as the header says");
