/* classes.h - lists what is measured: an operation, an element type and a variant, each over a lattice of sizes.
 *
 * Products: the base class of a type has times of plain products: contiguous, row-major, one thread, one item, beta 0.
 * The other classes vary one of these properties over a coarser lattice. Their values become factors to the base class
 * when they are read, so that properties can be combined. The sizes are m, n and k.
 *
 * Transforms, linear algebra and convolutions: the values are ratios of measured times to the provider's estimates, on
 * one thread. The sizes are the length of a transform, or the side of a square one or of a matrix, and the number of
 * items; of a convolution with a packed weight, the channels and the side of the image.
 */
#ifndef BP_CALIBRATION_CLASSES_H
#define BP_CALIBRATION_CLASSES_H

#include "backplane/provider.h"
#include "calibration/lattice.h"

/* Changed whenever the meaning of stored values changes. */
#define BP__CALIBRATION_SCHEME 2

enum { BP__BATCH_ITEMS = 64 }; /* of a product of the variant BATCHED */

typedef enum bp__variant {
    BP__VARIANT_PLAIN, /* products; also the only variant of linear algebra */
    BP__VARIANT_TRANSPOSED_A,
    BP__VARIANT_TRANSPOSED_B,
    BP__VARIANT_STRIDED, /* the elements of B's rows are not adjacent */
    BP__VARIANT_BATCHED,
    BP__VARIANT_THREADED, /* on all processors that this process may use */
    BP__VARIANTS_OF_PRODUCTS,
    BP__VARIANT_C2C_POWERS = BP__VARIANTS_OF_PRODUCTS, /* complex transforms whose length is a power of two */
    BP__VARIANT_C2C_FACTORS,                           /* with prime factors up to 7 */
    BP__VARIANT_C2C_PRIMES,                            /* with a larger prime factor */
    BP__VARIANT_C2C_SQUARES,                           /* of two dimensions and more, with any lengths */
    BP__VARIANT_REAL_POWERS,                           /* the same for real transforms */
    BP__VARIANT_REAL_FACTORS,
    BP__VARIANT_REAL_PRIMES,
    BP__VARIANT_REAL_SQUARES,
    BP__VARIANT_CONV_POINTS,    /* convolutions with kernels of one element */
    BP__VARIANT_CONV_DENSE,     /* with larger kernels; measured with 3x3 */
    BP__VARIANT_CONV_DEPTHWISE, /* with one channel in each group; measured with 3x3 */
    BP__VARIANT_CONV_WINOGRAD   /* those of Winograd's algorithm */
} bp__variant;

typedef struct bp__class {
    const char *name; /* in records: "gemm.f32", "gemm.f32.threaded", "fft.c64.powers", "svd.f64" */
    bp_op op;
    bp_dtype dtype;
    bp__variant variant;
    const bp__lattice *lattice;
    bool first; /* measured when a library is used for the first time; the others by bp_calibrate() */
} bp__class;

enum { BP__CLASSES = 64 };
extern const bp__class bp__classes[BP__CLASSES];

/* All classes, as bits. */
#define BP__ALL_CLASSES (UINT64_MAX >> (64 - BP__CLASSES))

/* Whether the values are ratios to estimates, and not times. */
static inline bool bp__class_has_ratios(const bp__class *class) {
    return class->op != BP_OP_GEMM;
}

/* Returns the classes that are measured when a library is used for the first time, as bits. */
uint64_t bp__first_classes(void);

/* Return the index of a class, or -1. */
int bp__class_find(bp_op op, bp_dtype dtype, bp__variant variant);
int bp__class_named(const char *name);

/* Sizes at which a library is compared with `native` before anything else is measured. */
enum { BP__FIRST_POINTS = 10 };
extern const int64_t bp__first_sizes[BP__FIRST_POINTS][BP__LATTICE_DIMENSIONS];

#endif
