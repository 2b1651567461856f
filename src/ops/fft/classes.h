/* classes.h - lists what calibration measures of Fourier transforms. */
#ifndef BP_OPS_FFT_CLASSES_H
#define BP_OPS_FFT_CLASSES_H

#include "calibration/classes.h"

/* How the ratios of lengths differ; the same again for real transforms. */
enum {
    BP__FFT_POWERS,        /* the length is a power of two */
    BP__FFT_FACTORS,       /* even, with prime factors up to 7 */
    BP__FFT_ODD,           /* odd, with such factors */
    BP__FFT_PRIMES,        /* a larger prime number */
    BP__FFT_MIXED,         /* a product with a larger prime number */
    BP__FFT_SQUARES,       /* two dimensions and more */
    BP__FFT_SQUARE_PRIMES, /* likewise, with a larger prime factor in one of them */
    BP__FFT_REAL
};

/* Between these sizes the ratios to estimates change as the libraries change their algorithms. */
static const bp__lattice bp__fft_powers = {
    .dimensions = 2,
    .count = {9, 2},
    .knot = {{4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144}, {1, 32}},
    .most = 1 << 18,
};
static const bp__lattice bp__fft_factors = {
    .dimensions = 2,
    .count = {9, 2},
    .knot = {{6, 12, 60, 240, 1080, 5400, 25000, 120000, 240000}, {1, 32}},
    .most = 1 << 18,
};
static const bp__lattice bp__fft_odd = {
    .dimensions = 2,
    .count = {8, 2},
    .knot = {{5, 15, 45, 225, 1125, 5625, 28125, 140625}, {1, 32}},
    .most = 1 << 18,
};
static const bp__lattice bp__fft_mixed = {
    .dimensions = 2,
    .count = {7, 2},
    .knot = {{22, 78, 390, 1430, 5720, 22000, 99000}, {1, 32}},
    .most = 1 << 17,
};
/* 65539 stands for most large primes p: p - 1 has a large prime factor. 65537 would not: FFTW computes it by a
 * transform of the length 65536. */
static const bp__lattice bp__fft_primes = {
    .dimensions = 2,
    .count = {7, 2},
    .knot = {{13, 61, 251, 1021, 4099, 16411, 65539}, {1, 32}},
    .most = 1 << 17,
};
/* The sizes are the side of a square and the number of squares. */
static const bp__lattice bp__fft_squares = {
    .dimensions = 2,
    .count = {5, 2},
    .knot = {{8, 24, 64, 192, 512}, {1, 16}},
    .most = 1 << 10,
};

static const bp__lattice bp__fft_square_primes = {
    .dimensions = 2,
    .count = {4, 2},
    .knot = {{11, 29, 101, 331}, {1, 16}},
    .most = 1 << 10,
};

#define BP__TRANSFORMS_OF(type, text, kind, first)                                                                     \
    {"fft." text "." kind "powers", BP_OP_FFT, type, first + BP__FFT_POWERS, &bp__fft_powers, .typed = true},          \
        {"fft." text "." kind "factors", BP_OP_FFT, type, first + BP__FFT_FACTORS, &bp__fft_factors, .typed = true},   \
        {"fft." text "." kind "odd", BP_OP_FFT, type, first + BP__FFT_ODD, &bp__fft_odd, .typed = true},               \
        {"fft." text "." kind "primes", BP_OP_FFT, type, first + BP__FFT_PRIMES, &bp__fft_primes, .typed = true},      \
        {"fft." text "." kind "mixed", BP_OP_FFT, type, first + BP__FFT_MIXED, &bp__fft_mixed, .typed = true},         \
        {"fft." text "." kind "squares", BP_OP_FFT, type, first + BP__FFT_SQUARES, &bp__fft_squares, .typed = true},   \
        {"fft." text "." kind "square-primes",                                                                         \
         BP_OP_FFT,                                                                                                    \
         type,                                                                                                         \
         first + BP__FFT_SQUARE_PRIMES,                                                                                \
         &bp__fft_square_primes,                                                                                       \
         .typed = true},
/* clang-format off */
#define BP__CLASSES_OF_fft                                    \
    BP__TRANSFORMS_OF(BP_C64, "c64", "", 0)                   \
    BP__TRANSFORMS_OF(BP_C64, "c64", "real-", BP__FFT_REAL)   \
    BP__TRANSFORMS_OF(BP_C128, "c128", "", 0)                 \
    BP__TRANSFORMS_OF(BP_C128, "c128", "real-", BP__FFT_REAL)
/* clang-format on */

#endif
