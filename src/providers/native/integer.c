/* integer.c - selects the kernels for products of 8-bit integers. */
#include "isa.h"
#include "native.h"

static const bp__native_integer_set *const sets[] =
    BP__NATIVE_PER_ISA(&bp__native_integer_default, &bp__native_integer_avx2, &bp__native_integer_avx512);

const bp__native_integer_set *bp__native_integers(int set) {
    return sets[set];
}
