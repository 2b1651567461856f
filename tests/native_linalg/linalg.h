/* linalg.h - a problem of linear algebra in known layouts, run by the native provider through a host of the tests. */
#ifndef TESTS_NATIVE_LINALG_H
#define TESTS_NATIVE_LINALG_H

#include "backplane/provider.h"
#include "support/offers.h"

#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

typedef long double complex wide;

typedef enum layout {
    ROWS,     /* compact, row by row */
    COLUMNS,  /* compact, column by column */
    SPREAD,   /* no direction is contiguous */
    BACKWARD, /* all strides negative */
    SHARED,   /* one matrix for the whole batch; inputs only */
    LAYOUTS
} layout;

/* A capability of the library, or the lanes of AVX-512 compiled for AVX2 (see wide/). */
typedef enum kernels { KERNELS_DEFAULT, KERNELS_AVX2, KERNELS_AVX512, KERNELS_WIDE, KERNELS_SETS } kernels;
bool runs_here(kernels set);
#define EACH_SET(set)                                                                                                  \
    for (kernels set = KERNELS_DEFAULT; set < KERNELS_SETS; set++)                                                     \
        if (runs_here(set))

typedef struct task {
    bp_op op;
    bp_dtype dtype;
    int64_t m, n, k, batch;
    bp_linalg_mode mode;
    double order; /* of BP_NORM_P */
    layout in, out;
    bool upper, right, adjoint, unit, check;
    bool no_info; /* the operand info is absent */
    bool vector;  /* B is a vector, on whichever side */
    bool nested;  /* the batch has two dimensions, 2 x batch/2 */
    kernels set;
    int threads;
    unsigned seed;
} task;

enum { DTYPES = 4, OPS = 17, OPS_WITH_RESIDUALS = 13 };
extern const bp_dtype dtypes[DTYPES];
/* The operations that work on square matrices in one mode; check_item() knows the first OPS_WITH_RESIDUALS. */
extern const bp_op ops[OPS];
/* One n x n matrix; `columns` of a right side, where the operation has one; nuclear and 2-norms. */
task square_task(bp_op op, bp_dtype dtype, int64_t n, int64_t columns);

/* The operands of a task in memory. */
typedef struct operands {
    task t;
    bp_problem problem;
    int inputs, count;
    char *memory[BP_LINALG_OPERANDS]; /* exactly what the layout spans */
    size_t bytes[BP_LINALG_OPERANDS];
    char *first[BP_LINALG_OPERANDS]; /* element (0, 0) of item 0 */
    /* What the provider said. */
    bp_verdict verdict;
} operands;

/* What the host was told of failures; the last one. */
typedef struct told {
    bp_status status;
    int64_t item, info;
    char text[256];
} told;
extern told last;
const bp_host *test_host(void);

/* All operands with their memory; inputs are random numbers around 0, outputs and what lies between are marked. */
void make_operands(operands *o, const task *t);
void free_operands(operands *o);
bp_status run_task(operands *o);
/* Nothing but elements of outputs was written, and inputs are as `before` has them. */
void check_surroundings(const operands *o, const operands *before);

char *element(const operands *o, int operand, int64_t item, int64_t i, int64_t j);
wide get(const operands *o, int operand, int64_t item, int64_t i, int64_t j);
void put(const operands *o, int operand, int64_t item, int64_t i, int64_t j, wide value);

long double unit_roundoff(bp_dtype dtype);
bool is_complex(bp_dtype dtype);
bp_dtype real_of(bp_dtype dtype);

/* Makes the random inputs fit the operation: definite for Cholesky, factors from the reference for the solvers. With
 * `poison`, elements that the operation must not read become NaN. */
void shape_inputs(operands *o, bool poison);
/* The outputs of one item against what they must satisfy. */
void check_item(const operands *o, int64_t item);
/* All of it: make, run, check each item and the surroundings. */
void check_task(const task *t);

/* LU by the book, in long double: pivots from 1, and the first zero of U's diagonal, or 0. */
int reference_lu(wide *a, int64_t m, int64_t n, int *pivots);

#endif
