/* trial.h - declares private operands of one problem, with which prepared calls run, and the comparison of results. */
#ifndef BP_TUNING_TRIAL_H
#define BP_TUNING_TRIAL_H

#include "backplane/provider.h"
#include "base/base.h"

enum { BP__TRIAL_OPERANDS = 20, BP__TRIAL_NDIM = BP_MAX_NDIM };

/* How the values of an input are made, so that every operation has a well-conditioned, valid problem. */
typedef enum bp__values {
    BP__VALUES_ANY,      /* uniform in [-1, 1]; all values of an integer type */
    BP__VALUES_POSITIVE, /* uniform in [1/2, 3/2] */
    BP__VALUES_NEAR_ONE, /* uniform in [1 - 1/n, 1 + 1/n], with n of `limit` */
    BP__VALUES_SHIFTED,  /* uniform in [-1, 1], with 2 sqrt(n) added to one element of each row and column */
    BP__VALUES_DIAGONAL, /* uniform in [-1/n, 1/n], with 1 on the diagonal of each matrix */
    BP__VALUES_INDICES,  /* integers from 0 to `limit` - 1 */
    BP__VALUES_FILLED,   /* by `fill` */
    BP__VALUES_COMPUTED  /* by the trial's `compute`, from the other operands */
} bp__values;

/* How far a result is determined by the input. */
typedef enum bp__meaning {
    BP__MEANING_VALUES,     /* every element */
    BP__MEANING_MAGNITUDES, /* up to a factor of magnitude 1 */
    BP__MEANING_WRITTEN     /* only that every element was written */
} bp__meaning;

typedef struct bp__trial bp__trial;
typedef struct bp__trial_operand bp__trial_operand;

/* One operand: its layout, and the memory of the trial. */
struct bp__trial_operand {
    bool present, output;
    bool reads; /* an output whose old values are read */
    int same;   /* index of the operand whose memory it is, for calls in place; else its own index */
    bp_dtype dtype;
    int ndim, matrix; /* the last `matrix` dimensions are a matrix */
    int64_t shape[BP__TRIAL_NDIM], strides[BP__TRIAL_NDIM];
    bp__values values;
    int64_t limit; /* of indices, or the n of numbers near 1 */
    /* Writes the values of an input with BP__VALUES_FILLED; floating ones are random before. */
    void (*fill)(const bp__trial *trial, const bp__trial_operand *operand, char *memory);
    bp__meaning meaning;
    size_t size;     /* bytes from the lowest element to the end of the highest */
    int64_t first;   /* byte of the first element in them */
    char *memory;    /* what the calls read and write */
    char *untouched; /* what `memory` is set to before a call, repeated: inputs and old values; NULL: NaN */
    size_t untouched_size;
    void *block, *block_untouched;
};

/* The operands of all calls of one problem. */
struct bp__trial {
    const bp_problem *problem;
    int count;
    bp__trial_operand operand[BP__TRIAL_OPERANDS];
    bp_operand operands[BP__TRIAL_OPERANDS];
    bp_scalar scalars[2];
    double roundings; /* how large the error of a result is, in errors of one operation */
    double scale;     /* typical size of a result; 0: the size of the reference */
    /* Runs another operation of the family, which writes the operands with BP__VALUES_COMPUTED; NULL: there are none */
    bp_status (*compute)(const bp__trial *trial);
};

/* ---- Descriptions (operands.c): dispatch and the families fill `operand`, `count` and what follows them ---- */

/* Adds an operand that has no dimensions yet. */
bp__trial_operand *bp__trial_add(bp__trial *trial, bp_dtype dtype, bool output);
void bp__trial_add_dimension(bp__trial_operand *operand, int64_t size, int64_t stride);
void bp__trial_add_dimensions(bp__trial_operand *operand, int ndim, const int64_t *sizes, const int64_t *strides);
/* Makes an output the same memory as an input. */
void bp__trial_share(bp__trial *trial, int output, int input);
/* Stores an integer of the operand's type, i32 or i64. */
void bp__trial_store_index(const bp__trial_operand *operand, char *memory, int64_t at, int64_t value);

/* ---- Memory (operands.c) ---- */

/* Sets `first` and `size` of an operand. Returns false if it is larger than `most` bytes. */
bool bp__trial_measure_span(bp__trial_operand *operand, size_t most);

/* Writes the values of an operand into memory of its size; not for BP__VALUES_COMPUTED. */
void bp__trial_write(const bp__trial *trial, const bp__trial_operand *operand, char *memory);

/* Makes the operands of a described trial with the problem's strides, and random numbers that are the same in every
 * run; bp__trial_restore() puts them there. `addresses` (may be NULL) are the caller's operands; the private ones have
 * the same position in a cache line. Returns BP_E_UNSUPPORTED if they need more than `most` bytes, BP_E_NO_MEMORY, or
 * what `compute` returns. */
bp_status bp__trial_open(bp__trial *trial, const bp_operand *addresses, size_t most);
void bp__trial_close(bp__trial *trial);

/* Sets all operands to what they were at first. What a call only writes is filled with NaN. */
void bp__trial_restore(bp__trial *trial);

/* Returns whether a call changes what the next one reads. */
bool bp__trial_changes(const bp__trial *trial);

/* Visits the elements of an operand. bp__walk_next() moves on, in all but the last `inner` dimensions, and returns
 * false at the end; `at` is the position in elements relative to the first one. An operand without elements has none.
 */
typedef struct bp__walk {
    int64_t index[BP__TRIAL_NDIM];
    int64_t at;
} bp__walk;
bool bp__walk_begin(bp__walk *walk, const bp__trial_operand *operand);
bool bp__walk_next(bp__walk *walk, const bp__trial_operand *operand, int inner);

/* A tensor without memory of a sample problem. A bp_view is 8 times as large, and samples are made deep in the stack of
 * the first call of a program. */
enum { BP__SAMPLE_NDIM = 5 };
typedef struct bp__sample_tensor {
    DLTensor tensor;
    int64_t shape[BP__SAMPLE_NDIM], strides[BP__SAMPLE_NDIM];
} bp__sample_tensor;
/* `strides` may be NULL: compact row-major. At most BP__SAMPLE_NDIM dimensions. */
void bp__sample_tensor_init(bp__sample_tensor *sample, bp_dtype dtype, int ndim, const int64_t *shape,
                            const int64_t *strides);

/* A copy of the outputs after a call. */
typedef struct bp__trial_result {
    char *memory[BP__TRIAL_OPERANDS];
    double most[BP__TRIAL_OPERANDS]; /* magnitude of the largest component, by bp__trial_measure() */
} bp__trial_result;
size_t bp__trial_result_size(const bp__trial *trial);
bp_status bp__trial_keep(const bp__trial *trial, bp__trial_result *result);
void bp__trial_result_free(bp__trial_result *result);

/* Finds the largest components of a result that others are compared with. Returns false, and writes why, if an element
 * was not written. */
bool bp__trial_measure(const bp__trial *trial, bp__trial_result *result, char *why, size_t size);

/* Returns whether two results agree within rounding errors (verify.c). `rounding` is the relative error of one
 * operation: 2^-24 for f32, 2^-11 if inputs may be rounded to TF32. If not, writes why: "output 1: 3.2 where 0.7 is
 * right". */
bool bp__trial_agrees(const bp__trial *trial, const bp__trial_result *right, const bp__trial_result *other,
                      double rounding, char *why, size_t size);

#endif
