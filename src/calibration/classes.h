/* classes.h - lists what is measured: an operation, an element type and a variant, each over a lattice of sizes.
 *
 * Products: the base class of a type has times of plain products: contiguous, row-major, one thread, one item, beta 0.
 * The other classes vary one of these properties over a coarser lattice, or have one algorithm of those that a library
 * offers. Their values become factors to the base class when they are read, so that properties can be combined. The
 * sizes are m, n and k.
 *
 * Transforms, linear algebra and convolutions: the values are ratios of measured times to the provider's estimates, on
 * one thread. The sizes are the length of a transform, or the side of a square one or of a matrix, and the number of
 * items; of a convolution with a packed weight, the channels and the side of the image. The other families have ratios
 * too. Element types other than f32, and gradients, are measured at four points, in a quarter of the time.
 */
#ifndef BP_CALIBRATION_CLASSES_H
#define BP_CALIBRATION_CLASSES_H

#include "backplane/provider.h"
#include "calibration/lattice.h"

/* Changed whenever the meaning of stored values changes. */
#define BP__CALIBRATION_SCHEME 6

enum { BP__BATCH_ITEMS = 64 }; /* of a product of the variants BATCHED and INTERLEAVED */

/* The variants of classes of times. Classes of ratios have the variants of their families. */
typedef enum bp__variant {
    BP__VARIANT_PLAIN, /* the base class of a type */
    BP__VARIANT_TRANSPOSED_A,
    BP__VARIANT_TRANSPOSED_B,
    BP__VARIANT_TRANSPOSED_BOTH,
    BP__VARIANT_STRIDED, /* the elements of B's rows are not adjacent */
    BP__VARIANT_BATCHED,
    BP__VARIANT_INTERLEAVED, /* as BATCHED, where rows of other items are between the rows of an item */
    BP__VARIANT_THREADED,    /* on all processors that this process may use */
    BP__VARIANT_UNEVEN,      /* of sizes that leave remainders */
    /* Plain products by one algorithm, where a library offers several; each twice, the second time of uneven sizes: */
    BP__VARIANT_SMALL,
    BP__VARIANT_SMALL_UNEVEN,
    BP__VARIANT_PACKED,
    BP__VARIANT_PACKED_UNEVEN,
    BP__VARIANT_BY_GEMM, /* with a vector, by the routine for matrices */
    BP__VARIANT_BY_GEMM_UNEVEN,
    BP__VARIANTS_OF_PRODUCTS
} bp__variant;

typedef struct bp__class {
    const char *name; /* in records: "gemm.f32", "gemm.f32.threaded", "fft.c64.powers", "svd.f64" */
    bp_op op;
    bp_dtype dtype;
    int variant;
    const bp__lattice *lattice;
    bool times;            /* the values are times; otherwise ratios to estimates */
    bool first;            /* measured when a library is used for the first time; the others by bp_calibrate() */
    bool typed;            /* measured in one process with others of the same operation and type; else of all types */
    const char *algorithm; /* the one that is measured; NULL: what the candidate prefers */
    const char *settings;  /* under which it is measured; NULL: none */
} bp__class;

/* Rows for the other floating types, each over a coarse lattice: measuring these takes less time. The name of a class
 * has the operation, the type, and what else it varies. */
#define BP__CLASS_OF_TYPE(text, operation, type, of_lattice, ...)                                                      \
    {.name = text, .op = operation, .dtype = type, .lattice = of_lattice, __VA_ARGS__},
#define BP__CLASSES_OF_TYPES(text, more, operation, of_lattice, ...)                                                   \
    BP__CLASS_OF_TYPE(text ".f64" more, operation, BP_F64, of_lattice, __VA_ARGS__)                                    \
    BP__CLASS_OF_TYPE(text ".f16" more, operation, BP_F16, of_lattice, __VA_ARGS__)                                    \
    BP__CLASS_OF_TYPE(text ".bf16" more, operation, BP_BF16, of_lattice, __VA_ARGS__)

enum { BP__CLASSES = 259, BP__CLASS_NAME_BYTES = 40 }; /* at most; with what ends the name */
extern const bp__class bp__classes[BP__CLASSES];       /* ops/classes.c makes it from the families' lists */

/* Whether the class has the times of plain calls, to which the times of the variants are compared. */
static inline bool bp__class_is_base(const bp__class *class) {
    return class->times && class->variant == BP__VARIANT_PLAIN;
}

/* A set of classes. */
enum { BP__CLASS_WORDS = (BP__CLASSES + 63) / 64 };
typedef struct bp__class_set {
    uint64_t words[BP__CLASS_WORDS];
} bp__class_set;

static inline bool bp__class_in(const bp__class_set *set, int class) {
    return set->words[class / 64] >> (class % 64) & 1;
}

static inline void bp__class_add(bp__class_set *set, int class, bool adds) {
    set->words[class / 64] |= (uint64_t)adds << (class % 64);
}

/* Returns the first class of the set, or -1. */
static inline int bp__class_first(const bp__class_set *set) {
    for (int i = 0; i < BP__CLASS_WORDS; i++) {
        if (set->words[i]) {
            return 64 * i + __builtin_ctzll(set->words[i]);
        }
    }
    return -1;
}

static inline int bp__class_count(const bp__class_set *set) {
    int count = 0;
    for (int i = 0; i < BP__CLASS_WORDS; i++) {
        count += __builtin_popcountll(set->words[i]);
    }
    return count;
}

static inline bp__class_set bp__classes_in_both(const bp__class_set *one, const bp__class_set *other) {
    bp__class_set both;
    for (int i = 0; i < BP__CLASS_WORDS; i++) {
        both.words[i] = one->words[i] & other->words[i];
    }
    return both;
}

/* Returns the classes that are measured when a library is used for the first time. */
bp__class_set bp__first_classes(void);
bp__class_set bp__all_classes(void);

/* Return the index of a class, or -1. */
int bp__class_find(bp_op op, bp_dtype dtype, int variant);
int bp__class_base(bp_dtype dtype);
int bp__class_named(const char *name);

/* Sizes at which a library is compared with `native` before anything else is measured. */
enum { BP__FIRST_POINTS = 10 };
/* Points on which `native` spends less are not compared: a library whose calls take long by themselves may be the
 * fastest for large products. */
enum { BP__FIRST_NATIVE_NS = 300 };
extern const int64_t bp__first_sizes[BP__FIRST_POINTS][BP__LATTICE_DIMENSIONS];

#endif
