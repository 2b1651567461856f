/* classes.c - the table of what calibration measures, from the lists of the families. */
#include "calibration/classes.h"
#include "ops/attention/classes.h"
#include "ops/conv/classes.h"
#include "ops/einsum/classes.h"
#include "ops/elementwise/classes.h"
#include "ops/fft/classes.h"
#include "ops/gemm/classes.h"
#include "ops/linalg/classes.h"
#include "ops/normalization/classes.h"
#include "ops/pool/classes.h"
#include "ops/random/classes.h"
#include "ops/reduce/classes.h"
#include "ops/rnn/classes.h"

/* clang-format off */
const bp__class bp__classes[] = {
    BP__CLASSES_OF_GEMM
    BP__CLASSES_OF_FFT
    BP__CLASSES_OF_LINALG
    BP__CLASSES_OF_CONV
    BP__CLASSES_OF_CONTRACT
    BP__CLASSES_OF_POOL
    BP__CLASSES_OF_NORM
    BP__CLASSES_OF_ATTENTION
    BP__CLASSES_OF_RNN
    BP__CLASSES_OF_ELEMENTWISE
    BP__CLASSES_OF_REDUCE
    BP__CLASSES_OF_RANDOM
};
/* clang-format on */
_Static_assert(sizeof bp__classes / sizeof *bp__classes == BP__CLASSES,
               "the table has as many rows as the header says");
