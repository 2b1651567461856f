/* classes.c - the table of what is measured. The sizes were not chosen for a processor. */
#include "calibration/classes.h"

#include <string.h>

/* 323 of 343 points are measured. The small sizes are dense because kernels differ most there. */
static const bp__lattice dense = {
    .dimensions = 3,
    .count = {7, 7, 7},
    .knot = {{1, 2, 4, 16, 64, 256, 1024}, {1, 2, 4, 16, 64, 256, 1024}, {1, 2, 4, 16, 64, 256, 1024}},
    .most = 1 << 22,
};
static const bp__lattice coarse = {
    .dimensions = 3,
    .count = {4, 4, 4},
    .knot = {{1, 8, 64, 512}, {1, 8, 64, 512}, {1, 8, 64, 512}},
    .most = 1 << 21,
};
static const bp__lattice small = {
    .dimensions = 3,
    .count = {4, 4, 4},
    .knot = {{1, 4, 16, 64}, {1, 4, 16, 64}, {1, 4, 16, 64}},
    .most = 1 << 16,
};
/* Threads gain nothing for small products, so the sizes are larger. */
static const bp__lattice large = {
    .dimensions = 3,
    .count = {4, 4, 4},
    .knot = {{1, 16, 128, 1024}, {1, 16, 128, 1024}, {1, 16, 128, 1024}},
    .most = 1 << 24,
};
/* Between these sizes the ratios to estimates change as the libraries change their algorithms. */
static const bp__lattice powers = {
    .dimensions = 2,
    .count = {9, 2},
    .knot = {{4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144}, {1, 32}},
    .most = 1 << 18,
};
static const bp__lattice factors = {
    .dimensions = 2,
    .count = {9, 2},
    .knot = {{5, 12, 60, 240, 1050, 5040, 25000, 120000, 240000}, {1, 32}},
    .most = 1 << 18,
};
static const bp__lattice primes = {
    .dimensions = 2,
    .count = {7, 2},
    .knot = {{13, 61, 251, 1021, 4099, 16411, 65537}, {1, 32}},
    .most = 1 << 17,
};
/* The sizes are the side of a square and the number of squares. */
static const bp__lattice squares = {
    .dimensions = 2,
    .count = {5, 2},
    .knot = {{8, 24, 64, 192, 512}, {1, 16}},
    .most = 1 << 10,
};
static const bp__lattice matrices = {
    .dimensions = 2,
    .count = {8, 2},
    .knot = {{2, 4, 8, 16, 32, 64, 128, 256}, {1, 64}},
    .most = 1 << 11,
};

/* The sizes are the channels and the side of a square image. The largest dense ones take about 10 ms. */
static const bp__lattice images = {
    .dimensions = 2,
    .count = {4, 5},
    .knot = {{8, 32, 128, 512}, {7, 14, 28, 56, 112}},
    .most = 1 << 13,
};
static const bp__lattice many_channels = {
    .dimensions = 2,
    .count = {4, 5},
    .knot = {{16, 64, 256, 1024}, {7, 14, 28, 56, 112}},
    .most = 1 << 17,
};

#define PRODUCTS(type, text)                                                                                           \
    {"gemm." text ".transposed-a", BP_OP_GEMM, type, BP__VARIANT_TRANSPOSED_A, &coarse, false},                        \
        {"gemm." text ".transposed-b", BP_OP_GEMM, type, BP__VARIANT_TRANSPOSED_B, &coarse, false},                    \
        {"gemm." text ".strided", BP_OP_GEMM, type, BP__VARIANT_STRIDED, &coarse, false},                              \
        {"gemm." text ".batched", BP_OP_GEMM, type, BP__VARIANT_BATCHED, &small, false},                               \
        {"gemm." text ".threaded", BP_OP_GEMM, type, BP__VARIANT_THREADED, &large, false},
#define TRANSFORMS(type, text)                                                                                         \
    {"fft." text ".powers", BP_OP_FFT, type, BP__VARIANT_C2C_POWERS, &powers, false},                                  \
        {"fft." text ".factors", BP_OP_FFT, type, BP__VARIANT_C2C_FACTORS, &factors, false},                           \
        {"fft." text ".primes", BP_OP_FFT, type, BP__VARIANT_C2C_PRIMES, &primes, false},                              \
        {"fft." text ".squares", BP_OP_FFT, type, BP__VARIANT_C2C_SQUARES, &squares, false},                           \
        {"fft." text ".real-powers", BP_OP_FFT, type, BP__VARIANT_REAL_POWERS, &powers, false},                        \
        {"fft." text ".real-factors", BP_OP_FFT, type, BP__VARIANT_REAL_FACTORS, &factors, false},                     \
        {"fft." text ".real-primes", BP_OP_FFT, type, BP__VARIANT_REAL_PRIMES, &primes, false},                        \
        {"fft." text ".real-squares", BP_OP_FFT, type, BP__VARIANT_REAL_SQUARES, &squares, false},
#define MATRIX(op, text)                                                                                               \
    {text ".f32", op, BP_F32, BP__VARIANT_PLAIN, &matrices, false},                                                    \
        {text ".f64", op, BP_F64, BP__VARIANT_PLAIN, &matrices, false},

const bp__class bp__classes[] = {
    {"gemm.f32", BP_OP_GEMM, BP_F32, BP__VARIANT_PLAIN, &dense, true},
    {"gemm.f64", BP_OP_GEMM, BP_F64, BP__VARIANT_PLAIN, &dense, true},
    {"gemm.c64", BP_OP_GEMM, BP_C64, BP__VARIANT_PLAIN, &dense, false},
    {"gemm.c128", BP_OP_GEMM, BP_C128, BP__VARIANT_PLAIN, &dense, false},
    /* clang-format off */
    PRODUCTS(BP_F32, "f32")
    PRODUCTS(BP_F64, "f64")
    PRODUCTS(BP_C64, "c64")
    PRODUCTS(BP_C128, "c128")
    TRANSFORMS(BP_C64, "c64")
    TRANSFORMS(BP_C128, "c128")
    MATRIX(BP_OP_INV, "inv")
    MATRIX(BP_OP_CHOLESKY, "cholesky")
    MATRIX(BP_OP_LU_FACTOR, "lu_factor")
    MATRIX(BP_OP_SOLVE, "solve")
    MATRIX(BP_OP_QR, "qr")
    MATRIX(BP_OP_EIGH, "eigh")
    MATRIX(BP_OP_EIG, "eig")
    MATRIX(BP_OP_SVD, "svd")
    MATRIX(BP_OP_LSTSQ, "lstsq")
    MATRIX(BP_OP_DET, "det")
    /* clang-format on */
    {"conv.f32.points", BP_OP_CONV, BP_F32, BP__VARIANT_CONV_POINTS, &images, false},
    {"conv.f32.dense", BP_OP_CONV, BP_F32, BP__VARIANT_CONV_DENSE, &images, false},
    {"conv.f32.depthwise", BP_OP_CONV, BP_F32, BP__VARIANT_CONV_DEPTHWISE, &many_channels, false},
    {"conv.f32.winograd", BP_OP_CONV, BP_F32, BP__VARIANT_CONV_WINOGRAD, &images, false},
};
_Static_assert(sizeof bp__classes / sizeof *bp__classes == BP__CLASSES,
               "the table has as many rows as the header says");
_Static_assert(BP__CLASSES <= 64, "sets of classes are bits of 64-bit numbers");

const int64_t bp__first_sizes[BP__FIRST_POINTS][BP__LATTICE_DIMENSIONS] = {
    {1, 1, 1},     {4, 4, 4},     {16, 16, 16},  {64, 64, 64},   {64, 256, 64},
    {1, 256, 256}, {256, 1, 256}, {256, 256, 1}, {1024, 16, 16}, {16, 16, 1024},
};

uint64_t bp__first_classes(void) {
    uint64_t first = 0;
    for (int i = 0; i < BP__CLASSES; i++) {
        first |= (uint64_t)bp__classes[i].first << i;
    }
    return first;
}

int bp__class_find(bp_op op, bp_dtype dtype, bp__variant variant) {
    for (int i = 0; i < BP__CLASSES; i++) {
        if (bp__classes[i].op == op && bp__classes[i].dtype == dtype && bp__classes[i].variant == variant) {
            return i;
        }
    }
    return -1;
}

int bp__class_named(const char *name) {
    for (int i = 0; i < BP__CLASSES; i++) {
        if (strcmp(bp__classes[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}
