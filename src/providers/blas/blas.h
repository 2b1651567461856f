/* blas.h - declarations that the files of the blas provider share. One implementation calls every BLAS library.
 *
 * route.c chooses the routine and its arguments from the layout alone. cost.c and accept.c evaluate that from the
 * library's properties and its entry in families.c. These three are pure. provider.c makes the plan: it resolves
 * symbols and fixes every argument. calls.c and run.c run the plan. The provider's instance is the library's driver,
 * which other providers share (providers/driver/).
 */
#ifndef BP_BLAS_BLAS_H
#define BP_BLAS_BLAS_H

#include "backplane/provider.h"
#include "providers/batch/products.h"
#include "providers/blas/routines.h"
#include "providers/driver/driver.h"

/* ---- Routes (route.c) ---- */

typedef enum bp__blas_kind {
    BP__BLAS_NOTHING, /* C is empty or keeps its value */
    BP__BLAS_SCALE,   /* C = beta * C; calls no library */
    BP__BLAS_GEMM,
    BP__BLAS_GEMV
} bp__blas_kind;

/* A matrix as it is passed to the library: rows x columns before `transform` is applied. */
typedef struct bp__blas_matrix {
    int64_t rows, columns; /* of the factor in the product */
    int64_t row, column;   /* strides in elements */
    bool conjugate;
    const char *packs; /* reason for copying it to scratch memory first; NULL: it is not copied */
    char transform;    /* 'N', 'T' or 'C' */
    int64_t ld;        /* leading dimension; for a vector its increment, which may be negative */
} bp__blas_matrix;

/* c (m x n) = alpha * first * second + beta * c in column-major terms. With `swap`, first is B and second is A, both
 * transposed, so that a row-major C is written in place. For gemv, first is the matrix, and second and c are vectors.
 */
typedef struct bp__blas_route {
    bp__blas_kind kind;
    bp_dtype dtype;
    bool swap;
    bool folded; /* a batch dimension was merged into the rows or columns */
    int64_t m, n, k;
    bp__blas_matrix first, second, c;
    size_t element;
    size_t scratch;         /* bytes for the packed matrices, each rounded up to 64 */
    size_t second_at, c_at; /* offsets of these matrices in scratch; the first starts at 0 */
    bp__batch_products batch;
} bp__blas_route;

/* Variants of a route. Each is an algorithm of its own. */
typedef struct bp__blas_ways {
    bool fold; /* allow merging a batch into the rows or columns of one product; false: one call per product */
    bool gemm; /* call gemm also for products with a vector */
} bp__blas_ways;

/* Chooses the route of a problem. Returns false if a size exceeds int_max or a copy would be too large, and writes the
 * reason to `text`. */
bool bp__blas_route_of(bp__blas_route *route, const bp_problem *problem, int64_t int_max, bp__blas_ways ways,
                       char *text, size_t size);

/* ---- Evaluation (accept.c, cost.c) ---- */

void bp__blas_accept(void *instance, const bp_problem *problem, bp_offers *offers);

/* Data that accept passes on to plan, besides the verdict. */
typedef struct bp__blas_judgement {
    bp__blas_route route;
    bp__thread_setup setup;
} bp__blas_judgement;

double bp__blas_cost(const bp__driver *driver, const bp__blas_route *route, int threads);

/* ---- Plans ---- */

/* An integer argument in the library's width. */
typedef union bp__blas_int {
    int32_t i32;
    int64_t i64;
} bp__blas_int;

typedef struct bp__blas_plan bp__blas_plan;

/* Computes one product. The plan holds every argument except addresses and factors. */
typedef void (*bp__blas_call)(const bp__blas_plan *plan, const void *alpha, const void *first, const void *second,
                              const void *beta, void *c);

struct bp__blas_plan {
    bp_prepared prepared;       /* must be first */
    bp__fork_state *fork_state; /* of the driver */
    bp__driver *driver;
    void (*routine)(void);
    bool swap;
    bool reads_c;
    bool clears; /* gemv: set c to zero first, so that the library never reads it although beta is 0 */
    char transform_first, transform_second;
    unsigned c_transform_first, c_transform_second;
    bp__blas_int m, n, k, ld_first, ld_second, ld_c;
    const void *alpha, *beta; /* constants of the element type if the problem fixes them; NULL: given at run time */
    bp__blas_call call;
    bp__blas_route route;
    bp__thread_setup setup;
};

/* Finds the thunk for a routine in the Fortran (`c` false) or C interface, and a run function that only makes that
 * call. */
typedef bp_status (*bp__blas_run)(const bp_prepared *, const bp_operand *, const bp_exec *);
void bp__blas_thunk(bp__blas_kind kind, bp_dtype dtype, int int_bits, bool c, bp__blas_call *call, bp__blas_run *run);

/* Runs one product with fixed factors and no copies. Sets the library's thread count around the call. */
bp_status bp__blas_run_with_threads(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
/* Runs a plan of any kind: copies, batches, factors given at run time. */
bp_status bp__blas_run_general(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
bp_status bp__blas_run_scale(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);

/* Writes zeros to a vector of m elements. */
void bp__blas_clear(bp_dtype dtype, int64_t m, int64_t increment, void *c);

#endif
