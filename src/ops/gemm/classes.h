/* classes.h - lists what calibration measures of matrix products. The sizes were not chosen for a processor. */
#ifndef BP_OPS_GEMM_CLASSES_H
#define BP_OPS_GEMM_CLASSES_H

#include "calibration/classes.h"

/* 323 of 343 points are measured. The small sizes are dense because kernels differ most there. */
static const bp__lattice bp__gemm_dense = {
    .dimensions = 3,
    .count = {7, 7, 7},
    .knot = {{1, 2, 4, 16, 64, 256, 1024}, {1, 2, 4, 16, 64, 256, 1024}, {1, 2, 4, 16, 64, 256, 1024}},
    .most = 1 << 22,
};
static const bp__lattice bp__gemm_coarse = {
    .dimensions = 3,
    .count = {4, 4, 4},
    .knot = {{1, 8, 64, 512}, {1, 8, 64, 512}, {1, 8, 64, 512}},
    .most = 1 << 21,
};
static const bp__lattice bp__gemm_small = {
    .dimensions = 3,
    .count = {4, 4, 4},
    .knot = {{1, 4, 16, 64}, {1, 4, 16, 64}, {1, 4, 16, 64}},
    .most = 1 << 16,
};
/* A matrix with one row or column is not transposed, so that the sizes that must be larger begin at 2. */
static const bp__lattice bp__gemm_transposed_a = {
    .dimensions = 3,
    .count = {4, 4, 4},
    .knot = {{2, 8, 64, 512}, {1, 8, 64, 512}, {2, 8, 64, 512}},
    .most = 1 << 21,
};
static const bp__lattice bp__gemm_transposed_b = {
    .dimensions = 3,
    .count = {4, 4, 4},
    .knot = {{1, 8, 64, 512}, {2, 8, 64, 512}, {2, 8, 64, 512}},
    .most = 1 << 21,
};
static const bp__lattice bp__gemm_transposed_both = {
    .dimensions = 3,
    .count = {4, 4, 4},
    .knot = {{2, 8, 64, 512}, {2, 8, 64, 512}, {2, 8, 64, 512}},
    .most = 1 << 21,
};
/* Threads gain nothing for small products, so the sizes are larger. */
static const bp__lattice bp__gemm_large = {
    .dimensions = 3,
    .count = {4, 4, 4},
    .knot = {{1, 16, 128, 1024}, {1, 16, 128, 1024}, {1, 16, 128, 1024}},
    .most = 1 << 24,
};

/* Algorithms: the knots are knots of the plain products, so that a factor to these is exact. */
static const bp__lattice bp__gemm_even = {
    .dimensions = 3,
    .count = {6, 6, 6},
    .knot = {{1, 4, 16, 64, 256, 1024}, {1, 4, 16, 64, 256, 1024}, {1, 4, 16, 64, 256, 1024}},
    .most = 1 << 22,
};
/* Sizes without a factor of 2: their vectors have remainders, and their rows do not fall on the same lines of a cache.
 */
static const bp__lattice bp__gemm_uneven = {
    .dimensions = 3,
    .count = {7, 7, 7},
    .knot = {{1, 3, 7, 23, 93, 371, 1483}, {1, 3, 7, 23, 93, 371, 1483}, {1, 3, 7, 23, 93, 371, 1483}},
    .most = 1 << 22,
};

#define BP__PRODUCTS_OF(type, text)                                                                                    \
    {"gemm." text ".transposed-a", BP_OP_GEMM, type, BP__VARIANT_TRANSPOSED_A, &bp__gemm_transposed_a, .times = true}, \
        {"gemm." text ".transposed-b", BP_OP_GEMM,   type, BP__VARIANT_TRANSPOSED_B,                                   \
         &bp__gemm_transposed_b,       .times = true},                                                                 \
        {"gemm." text ".transposed-both", BP_OP_GEMM,   type, BP__VARIANT_TRANSPOSED_BOTH,                             \
         &bp__gemm_transposed_both,       .times = true},                                                              \
        {"gemm." text ".strided", BP_OP_GEMM, type, BP__VARIANT_STRIDED, &bp__gemm_coarse, .times = true},             \
        {"gemm." text ".batched", BP_OP_GEMM, type, BP__VARIANT_BATCHED, &bp__gemm_small, .times = true},              \
        {"gemm." text ".interleaved", BP_OP_GEMM, type, BP__VARIANT_INTERLEAVED, &bp__gemm_small, .times = true},      \
        {"gemm." text ".threaded", BP_OP_GEMM, type, BP__VARIANT_THREADED, &bp__gemm_large, .times = true},            \
        {"gemm." text ".uneven", BP_OP_GEMM, type, BP__VARIANT_UNEVEN, &bp__gemm_uneven, .times = true},               \
        BP__ALGORITHM(type, text ".small", BP__VARIANT_SMALL, "small"),                                                \
        BP__ALGORITHM(type, text ".packed", BP__VARIANT_PACKED, "packed"),                                             \
        BP__ALGORITHM(type, text ".by-gemm", BP__VARIANT_BY_GEMM, "gemm"),
#define BP__ALGORITHM(type, text, kind, word)                                                                          \
    {"gemm." text, BP_OP_GEMM, type, kind, &bp__gemm_even, .times = true, .algorithm = word}, {                        \
        "gemm." text ".uneven", BP_OP_GEMM, type, kind##_UNEVEN, &bp__gemm_uneven, .times = true, .algorithm = word    \
    }
#define BP__PLAIN_PRODUCT(type, text, is_first)                                                                        \
    {"gemm." text, BP_OP_GEMM, type, BP__VARIANT_PLAIN, &bp__gemm_dense, .times = true, .first = is_first},
/* clang-format off */
#define BP__CLASSES_OF_gemm              \
    BP__PLAIN_PRODUCT(BP_F32, "f32", true) \
    BP__PLAIN_PRODUCT(BP_F64, "f64", true) \
    BP__PLAIN_PRODUCT(BP_C64, "c64", false) \
    BP__PLAIN_PRODUCT(BP_C128, "c128", false) \
    BP__PRODUCTS_OF(BP_F32, "f32")       \
    BP__PRODUCTS_OF(BP_F64, "f64")       \
    BP__PRODUCTS_OF(BP_C64, "c64")       \
    BP__PRODUCTS_OF(BP_C128, "c128")
/* clang-format on */

#endif
