/* lapack.h - declarations that the files of the lapack provider share. One implementation calls every library with
 * LAPACK's Fortran names.
 *
 * accept.c evaluates a problem from the library's properties and the cost estimate of cost.c (pure). plan.c looks up
 * the routines of the operation, and lets the operation size its memory and query workspace sizes, once. run.c sets the
 * library's threads for a whole batch, iterates over the items, runs the operation on each, and applies the rules for
 * failing items. matrix.c copies operands to column-major memory, checks them for NaN and infinity on the way, and
 * copies results back; columns_*.c are its vectorized loops.
 *
 * A bp__lapack_operation computes one operation of one item. To add one: define it in the file of its family, add an
 * entry to operations.c, and the prototypes of its routines to routines.h. Its members:
 *
 *     routines  routines that it calls, resolved before prepare(); skipped if the element type has none
 *     prepare   called when a plan is made and the library is loaded: places its matrices (bp__lapack_place),
 *               reserves memory (bp__lapack_reserve), queries workspace sizes (bp__lapack_queried)
 *     run       computes one item by BP__LAPACK_CALL. Sets *info to LAPACK's info, or to BP__LAPACK_NON_FINITE
 *               if a check found NaN or infinity before the library was called. Returns a status for all other
 *               failures.
 *     work      additions and multiplications in the operation's own arithmetic, to compare libraries
 *
 * After run(), common code fills the outputs of non-finite items, writes the info operand and reports a failing item.
 */
#ifndef BP_LAPACK_LAPACK_H
#define BP_LAPACK_LAPACK_H

#include "providers/driver/driver.h"
#include "providers/lapack/columns.h"
#include "providers/lapack/routines.h"

#define BP__LAPACK_NON_FINITE INT64_MIN
#define BP__LAPACK_VIEWS 4
#define BP__LAPACK_SIZES 8
#define BP__LAPACK_MOST_ROUTINES 8
/* Thread barriers per column if a matrix is reduced, or factored in narrow panels, column by column. */
#define BP__LAPACK_COLUMN_BARRIERS 12

typedef struct bp__lapack_plan bp__lapack_plan;
typedef struct bp__lapack_item bp__lapack_item;

typedef struct bp__lapack_operation bp__lapack_operation;
struct bp__lapack_operation {
    const char *algorithm; /* such as "getrf, getrs" */
    /* Returns the operation for the problem's mode, or NULL if there is none. If set, no other member is used. */
    const bp__lapack_operation *(*variant)(const bp_problem *problem);
    bp__lapack_routine routines[BP__LAPACK_MOST_ROUTINES];
    int routine_count;
    double efficiency; /* fraction of the rate of matrix products for large problems; 0 means 0.55 */
    double barriers;   /* of all threads, for each column; 0 means 0.5 */
    bp_status (*prepare)(bp__lapack_plan *plan);
    bp_status (*run)(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info);
    double (*work)(const bp_linalg_problem *problem);
    /* Returns the largest integer passed to the library besides operand sizes, such as a workspace size; NULL: none. */
    double (*largest)(const bp_problem *problem);
};

/* Returns the implementation of a problem (operations.c); NULL: the provider has none. */
const bp__lapack_operation *bp__lapack_operation_of(const bp_problem *problem);

/* ---- Evaluation (accept.c, cost.c) ---- */

typedef struct bp__lapack_judgement {
    const bp__lapack_operation *operation;
    bp__thread_setup setup;
    int sharers; /* threads of our thread pool that share the items; above 1 the library is on one thread */
} bp__lapack_judgement;

void bp__lapack_accept(void *driver, const bp_problem *problem, bp_offers *offers);
double bp__lapack_cost(const bp__driver *driver, const bp__lapack_operation *operation, const bp_problem *problem,
                       int threads);
/* Returns how many of the threads that may share a batch repay their start; and the time of the batch on them. */
int bp__lapack_sharers(const bp_problem *problem, double alone_ns, int most);
double bp__lapack_shared_cost(double alone_ns, int sharers);

/* ---- Plans (plan.c) ---- */

/* A column-major matrix for the library, with leading dimension `ld`: the operand itself if its layout allows and the
 * library stays within it, else memory in scratch. */
typedef struct bp__lapack_view {
    int operand;
    bool in_place;
    bool conjugate; /* the memory contains the conjugate of the operand; never in place */
    int64_t rows, columns;
    int64_t row, column; /* the operand's strides along this matrix's dimensions, in elements */
    int64_t ld;
    size_t at; /* offset in scratch if it is not in place */
} bp__lapack_view;

struct bp__lapack_plan {
    bp_prepared prepared; /* must be first */
    bp__driver *driver;
    const bp__lapack_operation *operation;
    bp__thread_setup setup;
    int sharers; /* as in the judgement */
    bp_problem problem;
    bp_dtype dtype, real_type;
    bool complex;
    int bits;         /* bits of the library's integer */
    size_t size;      /* bytes of an element */
    size_t real_size; /* bytes of a real of its precision */
    size_t integer;   /* bytes of the library's integer */
    size_t scratch;   /* bytes */
    size_t margin;    /* bytes that the library may read next to its operands; above 0 no operand is used in place */
    const bp__lapack_passes *passes; /* for reals of the element's precision */
    bool too_large;                  /* the reserved bytes overflowed */
    int info_operand;                /* -1: the operation has no info operand */
    void (*routine[BP__LAPACK_ROUTINE_COUNT])(void);
    /* Set by the operation's prepare(), read by its run(): */
    bp__lapack_view view[BP__LAPACK_VIEWS];
    size_t at[BP__LAPACK_SIZES];         /* offsets in scratch */
    int64_t workspace[BP__LAPACK_SIZES]; /* sizes in elements */
    char letter[4];                      /* character arguments */
};

bp_status bp__lapack_plan_make(void *driver, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                               bp_prepared **prepared);
/* Reserves `count` times `size` bytes of scratch memory, aligned to 64. Returns their offset in it. */
size_t bp__lapack_reserve(bp__lapack_plan *plan, int64_t count, size_t size);
/* Returns the size that a workspace query left in the first element of `work`. Single precision rounds large sizes, in
 * some libraries down. For them it returns the next float. */
int64_t bp__lapack_queried(const bp__lapack_plan *plan, const void *work);

static inline bp__lapack_int bp__lapack_integer(const bp__lapack_plan *plan, int64_t value) {
    return plan->bits == 64 ? (bp__lapack_int){.i64 = value} : (bp__lapack_int){.i32 = (int32_t)value};
}

static inline int64_t bp__lapack_value(const bp__lapack_plan *plan, const bp__lapack_int *integer) {
    return plan->bits == 64 ? integer->i64 : integer->i32;
}

/* Returns element `index` of an array of the library's integers. */
static inline int64_t bp__lapack_value_at(const bp__lapack_plan *plan, const void *array, int64_t index) {
    return plan->bits == 64 ? ((const int64_t *)array)[index] : ((const int32_t *)array)[index];
}

#define BP__LAPACK_CALL(plan, name) ((bp__lapack_call_##name *)(plan)->routine[BP__LAPACK_##name])

/* ---- Items (run.c) ---- */

/* State of one thread that computes items of a call. */
typedef struct bp__lapack_worker {
    atomic_bool *stopped;          /* set for the whole call: no further item is computed */
    int64_t *since;                /* for bp__driver_stops */
    const bp__thread_setup *setup; /* of this run */
    int before;                    /* for bp__driver_end */
} bp__lapack_worker;

struct bp__lapack_item {
    bp__lapack_worker *worker;
    int64_t number;                    /* index in the batch */
    char *operand[BP_LINALG_OPERANDS]; /* addresses of this item; NULL: absent */
    bool again[BP_LINALG_OPERANDS];    /* the address is the previous item's, which was computed successfully */
    char *scratch;
    bool transposed; /* set by the operation: scratch has the factors of the transpose */
};

/* Returns whether the call must end between two calls of the library. run() then returns BP_E_CANCELLED. The library's
 * data in scratch memory is left as it is. */
bool bp__lapack_stops(const bp__lapack_plan *plan, const bp__lapack_item *item);

bp_status bp__lapack_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);

/* ---- Matrices (matrix.c) ---- */

/* Region of a matrix that is used. */
typedef enum bp__lapack_region {
    BP__LAPACK_WHOLE,
    BP__LAPACK_LOWER,
    BP__LAPACK_UPPER,
    BP__LAPACK_STRICTLY_LOWER,
    BP__LAPACK_STRICTLY_UPPER
} bp__lapack_region;

/* Returns the region of the transposed matrix that contains the same elements. */
bp__lapack_region bp__lapack_flipped(bp__lapack_region region);

static inline const bp_linalg_operand *bp__lapack_operand(const bp__lapack_plan *plan, int operand) {
    return &plan->problem.of.linalg.operand[operand];
}

/* Returns whether the library can use the operand in place: column-major (row-major if `transposed`), with a valid
 * leading dimension. */
bool bp__lapack_fits(const bp__lapack_plan *plan, int operand, bool transposed);
/* Returns the operand, or its transpose, as a matrix for the library. Reserves scratch memory if the layout requires a
 * copy. */
bp__lapack_view bp__lapack_place(bp__lapack_plan *plan, int operand, bool transposed);
/* Returns the same matrix, always in scratch memory. */
bp__lapack_view bp__lapack_place_in_scratch(bp__lapack_plan *plan, int operand, bool transposed, bool conjugate);
void *bp__lapack_address(const bp__lapack_view *view, const bp__lapack_item *item);
/* Fills the view's memory from input number `from`, which has the same rows and columns (transposed if `transposed`).
 * Copies nothing if the view is that input in place. May skip elements outside of `region`, which is in terms of the
 * view. Returns false if an element of `region` is not finite. */
bool bp__lapack_load(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *view, int from,
                     bool transposed, bp__lapack_region region);
/* Copies the view's memory to its operand, unless it is in place. */
void bp__lapack_store(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *view);
/* Writes rows x columns of column-major memory to the start of an output. */
void bp__lapack_write(const bp__lapack_plan *plan, const bp__lapack_item *item, int operand, int64_t rows,
                      int64_t columns, const void *from, int64_t ld);
/* Returns whether every element of a region is finite; strides are in elements. */
bool bp__lapack_finite(const bp__lapack_plan *plan, int64_t rows, int64_t columns, const void *matrix, int64_t row,
                       int64_t column, bp__lapack_region region);
/* Writes zeros to a region of column-major memory, and ones to the diagonal if `unit`. The region then includes the
 * diagonal. */
void bp__lapack_clear(const bp__lapack_plan *plan, int64_t rows, int64_t columns, void *matrix, int64_t ld,
                      bp__lapack_region region, bool unit);
/* Clears the imaginary parts of a Hermitian matrix's diagonal, because LAPACK does not guarantee to ignore them. */
void bp__lapack_make_diagonal_real(const bp__lapack_plan *plan, const bp__lapack_item *item,
                                   const bp__lapack_view *view);
/* Fills the outputs of a skipped item with NaN, or 0 for integer outputs. */
void bp__lapack_fill_nan(const bp__lapack_plan *plan, const bp__lapack_item *item);
/* Read and write one element, as numbers in double precision. */
bp_scalar bp__lapack_get(bp_dtype dtype, const void *element);
void bp__lapack_put(bp_dtype dtype, void *element, bp_scalar value);

#endif
