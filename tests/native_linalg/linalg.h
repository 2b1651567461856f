/* linalg.h - declares a linear algebra problem in known layouts, its run by the native provider on a test host, and
 * checks of its results. */
#ifndef TESTS_NATIVE_LINALG_H
#define TESTS_NATIVE_LINALG_H

#include "backplane/provider.h"
#include "support/arrays.h"
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
    STRIDED,  /* no direction is contiguous */
    BACKWARD, /* all strides negative */
    SHARED,   /* one matrix for the whole batch; inputs only */
    LAYOUTS
} layout;

/* A capability of the library, or the AVX-512 kernels compiled for AVX2 (see wide/). */
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
    bool no_info; /* there is no operand info */
    bool vector;  /* B is a vector */
    bool nested;  /* the batch has two dimensions, 2 x batch/2 */
    kernels set;
    int threads;
    unsigned seed;
} task;

enum { DTYPES = 4, OPS = 17, OPS_WITH_RESIDUALS = 13 };
extern const bp_dtype dtypes[DTYPES];
/* The operations on square matrices with one mode; check_results() supports the first OPS_WITH_RESIDUALS. */
extern const bp_op ops[OPS];
/* Returns a task with one n x n matrix. Solvers get `columns` right sides; norms and condition numbers are the nuclear
 * norm and the 2-norm. */
task square_task(bp_op op, bp_dtype dtype, int64_t n, int64_t columns);

/* The operands of a task in memory. */
typedef struct operands {
    task t;
    bp_problem problem;
    int inputs, count;
    test_array array[BP_LINALG_OPERANDS];
    test_array before[BP_LINALG_OPERANDS]; /* copies of before the last run */
    void *first[BP_LINALG_OPERANDS];       /* element (0, 0) of item 0 */
    /* the provider's verdict */
    bp_verdict verdict;
} operands;

/* The last failure that was reported to the host. */
typedef struct reported {
    bp_status status;
    int64_t item, info;
    char text[256];
} reported;
extern reported last;
const bp_host *test_host(void);

/* Makes all operands. Inputs are random numbers around 0; outputs and gaps are filled with a mark. */
void make_operands(operands *o, const task *t);
void free_operands(operands *o);
bp_status run_task(operands *o);
/* Checks that the last run wrote elements of outputs only. */
void check_surroundings(const operands *o);

/* Returns the bytes of an operand from its lowest to its highest element. */
size_t bytes_of(const operands *o, int operand);

char *element(const operands *o, int operand, int64_t item, int64_t i, int64_t j);
wide get(const operands *o, int operand, int64_t item, int64_t i, int64_t j);
void put(const operands *o, int operand, int64_t item, int64_t i, int64_t j, wide value);

long double unit_roundoff(bp_dtype dtype);
bool is_complex(bp_dtype dtype);
bp_dtype real_of(bp_dtype dtype);

/* Changes the random inputs to fit the operation: definite matrices for Cholesky, factors for solvers. With `poison`,
 * elements that the operation must not read become NaN. */
void shape_inputs(operands *o, bool poison);
/* Checks that the outputs of all items satisfy their definition. */
void check_results(const operands *o);
/* Makes the operands, runs the task, and checks the results and the memory around. */
void check_task(const task *t);

#endif
