/* tuning.h - measures prepared calls of one problem: private operands, a check of the results, a comparison of times.
 *
 * Dispatch decides when to measure and what to do with the result (src/dispatch/tune.c). Nothing here reads or writes
 * memory of the program.
 */
#ifndef BP_TUNING_TUNING_H
#define BP_TUNING_TUNING_H

#include "backplane/provider.h"
#include "base/base.h"

enum { BP__TRIAL_OPERANDS = BP_LINALG_OPERANDS, BP__TRIAL_NDIM = BP_MAX_CONTRACT_NDIM };

/* How the values of an input are made, so that every operation has a well-conditioned, valid problem. */
typedef enum bp__values {
    BP__VALUES_ANY,      /* uniform in [-1, 1] */
    BP__VALUES_SHIFTED,  /* the same, with 2 sqrt(n) added to the diagonal of each matrix */
    BP__VALUES_DIAGONAL, /* uniform in [-1/n, 1/n], with 1 on the diagonal of each matrix */
    BP__VALUES_PIVOTS,   /* 1, 2, ..., n: no row is exchanged */
    BP__VALUES_HALF      /* half of a spectrum: zero where the other half would contradict random values */
} bp__values;

/* How far a result is determined by the input. */
typedef enum bp__meaning {
    BP__MEANING_VALUES,     /* every element */
    BP__MEANING_MAGNITUDES, /* up to a factor of magnitude 1 */
    BP__MEANING_WRITTEN     /* only that every element was written */
} bp__meaning;

/* One operand: its layout, and the memory of the trial. */
typedef struct bp__trial_operand {
    bool present, output;
    bool reads; /* an output whose old values are read */
    int same;   /* index of the operand whose memory it is, for calls in place; else its own index */
    bp_dtype dtype;
    int ndim, matrix; /* the last `matrix` dimensions are a matrix */
    int64_t shape[BP__TRIAL_NDIM], strides[BP__TRIAL_NDIM];
    bp__values values;
    bp__meaning meaning;
    size_t size;     /* bytes from the lowest element to the end of the highest */
    int64_t first;   /* byte of the first element in them */
    char *memory;    /* what the calls read and write */
    char *untouched; /* what `memory` is set to before a call, repeated: inputs and old values; NULL: NaN */
    size_t untouched_size;
    void *block, *block_untouched;
} bp__trial_operand;

/* The operands of all calls of one problem. */
typedef struct bp__trial {
    const bp_problem *problem;
    int count;
    bp__trial_operand operand[BP__TRIAL_OPERANDS];
    bp_operand operands[BP__TRIAL_OPERANDS];
    bp_scalar scalars[2];
    double length; /* number of products in the longest sum, or an equivalent */
    double scale;  /* typical size of a result; 0: that of the reference */
} bp__trial;

/* Describes the problem's operands (layouts.c). Returns false for operations that are not measured. */
bool bp__trial_layout(bp__trial *trial, const bp_problem *problem);

/* Makes operands with the problem's strides, and random numbers that are the same in every run; bp__trial_restore()
 * puts them there. `addresses` (may be NULL) are the caller's operands; the private ones have the same position in a
 * cache line. Returns BP_E_UNSUPPORTED if the operation is not measured or needs more than `most` bytes, or
 * BP_E_NO_MEMORY.
 */
bp_status bp__trial_open(bp__trial *trial, const bp_problem *problem, const bp_operand *addresses, size_t most);
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

/* ---- The limit of the time (budget.c) ---- */

/* What measuring one class may take: 20 ms, or 50 times the class's own time if that is more. */
typedef struct bp__budget {
    int64_t start_ns;
    double excluded_ns; /* for the first use of libraries, which is not limited */
    double call_ns;     /* own time of the class: that of its fastest candidate so far, or what is expected */
    bool known;         /* a candidate has run */
} bp__budget;
void bp__budget_begin(bp__budget *budget, double expected_ns);
void bp__budget_call(bp__budget *budget, double ns); /* a candidate's time */
void bp__budget_exclude(bp__budget *budget, double ns);
double bp__budget_left(const bp__budget *budget); /* in ns; negative if the limit is exceeded */

/* ---- The comparison of times (timing.c) ---- */

typedef struct bp__timed {
    const bp_prepared *prepared;
    void *workspace;
    const bp_packed *const *packed; /* operands in packed form; NULL: there are none */
    bool threaded;                  /* may use more than one thread */
    bp_status status;               /* the first failure */
    double first_ns;                /* time of a call by bp__timed_prepare() */
    double least_ns;                /* its time; 0: not measured */
    int turns;
    int calls;   /* in one sample */
    bool leader; /* still in the comparison at its end */
} bp__timed;

/* Runs a call once; returns its status. */
bp_status bp__timed_run(bp__trial *trial, const bp__timed *timed);

/* Finds how many calls make a sample, and measures a first one. The call has run once before. */
void bp__timed_prepare(bp__trial *trial, bp__timed *timed);

/* Returns the time of the shortest sample after bp__timed_prepare(). */
double bp__timed_sample_ns(const bp__timed *timed);

/* Times the calls in turn: one turn of all, three of those within twice the least time, seven of those within
 * 1.15 times. A turn during which the machine was slow is repeated. What is not within the budget is not run: the last
 * turns, and in the first one the samples of slow calls. Those with a failure are skipped. Returns the ratio of the
 * machine's slowest to its fastest time of a fixed piece of work. */
double bp__compare_times(bp__trial *trial, bp__timed *list, int count, const bp__budget *budget);

#endif
