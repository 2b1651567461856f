/* blas.h - between the files of the blas provider: one body for every library that speaks BLAS.
 *
 * The way of a problem: route.c says, from the layout alone, which routine is called with which arguments (pure);
 * cost.c and accept.c judge it from the library's facts and its row in families.c (pure); provider.c makes the plan,
 * which resolves symbols and fixes every argument; calls.c and run.c run it. The instance is the library's driver,
 * which providers/driver/ shares with other providers.
 */
#ifndef BP_BLAS_BLAS_H
#define BP_BLAS_BLAS_H

#include "backplane/provider.h"
#include "providers/blas/routines.h"
#include "providers/driver/driver.h"

/* ---- Routes (route.c) ---- */

typedef enum bp__blas_kind {
    BP__BLAS_NOTHING, /* C is empty, or stays as it is */
    BP__BLAS_SCALE,   /* C = beta * C: no library is needed */
    BP__BLAS_GEMM,
    BP__BLAS_GEMV
} bp__blas_kind;

/* A matrix as the library gets it, rows x columns before `transform`. */
typedef struct bp__blas_matrix {
    int64_t rows, columns; /* of the factor: what the product sees */
    int64_t row, column;   /* strides in elements */
    bool conjugate;
    const char *packs; /* why it is copied to scratch memory first; NULL: it is not */
    char transform;    /* 'N', 'T' or 'C' */
    int64_t ld;        /* leading dimension; of a vector its increment, which may be negative */
} bp__blas_matrix;

/* c (m x n) = alpha * first * second + beta * c in column-major terms. `swap`: first is B and second is A, both
 * transposed, so that a row-major C is written in place. For gemv, first is the matrix and second and c are vectors. */
typedef struct bp__blas_route {
    bp__blas_kind kind;
    bp_dtype dtype;
    bool swap;
    bool folded; /* a batch dimension has become rows or columns */
    int64_t m, n, k;
    bp__blas_matrix first, second, c;
    size_t element;
    size_t scratch;         /* bytes for the packed matrices, each rounded up to 64 */
    size_t second_at, c_at; /* where they start in it; the first starts at 0 */
    int batch_ndim;
    int64_t batch;
    int64_t shape[BP_MAX_BATCH_NDIM];
    int64_t step_first[BP_MAX_BATCH_NDIM], step_second[BP_MAX_BATCH_NDIM], step_c[BP_MAX_BATCH_NDIM];
} bp__blas_route;

/* How a route may differ from the first choice. */
typedef struct bp__blas_ways {
    bool fold; /* a batch may become rows or columns of one product; else each product is computed on its own */
    bool gemm; /* products with a vector go to gemm too */
} bp__blas_ways;

/* Sizes over int_max cannot be handed to the library: false, with a sentence part in `text`. */
bool bp__blas_route_of(bp__blas_route *route, const bp_problem *problem, int64_t int_max, bp__blas_ways ways,
                       char *text, size_t size);

/* ---- Judgement (accept.c, cost.c) ---- */

void bp__blas_accept(void *instance, const bp_problem *problem, bp_offers *offers);

/* What accept decided beyond the verdict, for plan. */
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

/* One product: every argument but addresses and factors lies in the plan. */
typedef void (*bp__blas_call)(const bp__blas_plan *plan, const void *alpha, const void *first, const void *second,
                              const void *beta, void *c);

struct bp__blas_plan {
    bp_prepared prepared;       /* must be first */
    bp__fork_state *fork_state; /* the driver's */
    bp__driver *driver;
    void (*routine)(void);
    bool swap;
    bool reads_c;
    bool clears; /* gemv: zeros go into c first, so that beta = 0 never reads it */
    char transform_first, transform_second;
    unsigned c_transform_first, c_transform_second;
    bp__blas_int m, n, k, ld_first, ld_second, ld_c;
    const void *alpha, *beta; /* constants of the element type, where the classes name them; NULL: given at run time */
    bp__blas_call call;
    bp__blas_route route;
    bp__thread_setup setup;
};

/* The thunk for a routine in the Fortran (c false) or C interface, and the run function that does nothing but call it.
 */
typedef bp_status (*bp__blas_run)(const bp_prepared *, const bp_operand *, const bp_exec *);
void bp__blas_thunk(bp__blas_kind kind, bp_dtype dtype, int int_bits, bool c, bp__blas_call *call, bp__blas_run *run);

/* One product with fixed factors and no copies, with a thread count to be settled. */
bp_status bp__blas_run_with_threads(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
/* Everything. */
bp_status bp__blas_run_general(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
bp_status bp__blas_run_scale(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);

/* Writes zeros to a vector of m elements. */
void bp__blas_clear(bp_dtype dtype, int64_t m, int64_t increment, void *c);

#endif
