/* lapack.h - between the files of the lapack provider: one body for every library that offers LAPACK's Fortran names.
 *
 * The way of a problem: accept.c judges it from the library's facts and the estimate of cost.c (pure). plan.c resolves
 * the routines that the operation's operation names, and lets the operation size its memory and ask the library for
 * workspace sizes, once. run.c sets_count the library's threads around a whole batch, walks through the items, gives
 * each to the operation, and does with the outcome what the contract says. matrix.c brings operands into column-major
 * memory, looks for NaN and infinity on the way, and takes results back; columns_*.c are its loops for vectors.
 *
 * A operation computes one operation of one item. To add one: a bp__lapack_operation in the file of its family, a row
 * in operations.c, and the prototypes of its routines in routines.h. Its parts:
 *
 *   routines  those that it calls, resolved before prepare(); those that the element type does not have are left out
 *   prepare   when a plan is made: places its matrices (bp__lapack_place) and reserves memory (bp__lapack_reserve),
 * both of which only count bytes, and asks for workspace sizes (bp__lapack_queried), since the library is loaded run
 * one item, by BP__LAPACK_CALL: leaves LAPACK's info, or BP__LAPACK_NON_FINITE where a scan found such an element
 * before the library was called, and returns a status only for what is no numerical failure work      the operation's
 * additions and multiplications in its own arithmetic, to compare libraries
 *
 * What comes after run() is not the operation's: outputs of items that are not finite, the info operand, the failing
 * sentence.
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
/* Meetings of threads for a column where a matrix is reduced, or factored in narrow panels, column by column. */
#define BP__LAPACK_COLUMN_BARRIERS 12

typedef struct bp__lapack_plan bp__lapack_plan;
typedef struct bp__lapack_item bp__lapack_item;

typedef struct bp__lapack_operation bp__lapack_operation;
struct bp__lapack_operation {
    const char *algorithm; /* "getrf, getrs" */
    /* Where the problem's mode decides: the operation that is meant, or NULL where there is none; all else in this
     * one is then not read. */
    const bp__lapack_operation *(*variant)(const bp_problem *problem);
    bp__lapack_routine routines[BP__LAPACK_MOST_ROUTINES];
    int routine_count;
    double efficiency; /* the part of a matrix product's rate that large problems reach; 0 counts as 0.55 */
    double barriers;   /* of all threads, for each column; 0 counts as 0.5 */
    bp_status (*prepare)(bp__lapack_plan *plan);
    bp_status (*run)(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info);
    double (*work)(const bp_linalg_problem *problem);
    /* The largest integer handed to the library besides the sizes of operands, a workspace for one; NULL: none. */
    double (*largest)(const bp_problem *problem);
};

/* operations.c; NULL: the operation is not offered. */
const bp__lapack_operation *bp__lapack_operation_of(const bp_problem *problem);

/* ---- Judgement (accept.c, cost.c) ---- */

typedef struct bp__lapack_judgement {
    const bp__lapack_operation *operation;
    bp__thread_setup setup;
    int sharers; /* threads of our pool that share the items; above 1 the library is on one thread */
} bp__lapack_judgement;

void bp__lapack_accept(void *driver, const bp_problem *problem, bp_offers *offers);
double bp__lapack_cost(const bp__driver *driver, const bp__lapack_operation *operation, const bp_problem *problem,
                       int threads);
/* How many of the threads that may share a batch are worth their start, and what they make of its time on one. */
int bp__lapack_sharers(const bp_problem *problem, double alone_ns, int most);
double bp__lapack_shared_cost(double alone_ns, int sharers);

/* ---- Plans (plan.c) ---- */

/* A matrix that the library gets, column-major with leading dimension `ld`: the operand itself where its layout allows,
 * else memory in scratch. */
typedef struct bp__lapack_view {
    int operand;
    bool in_place;
    bool conjugate; /* the memory holds the conjugate of the operand; never in place */
    int64_t rows, columns;
    int64_t row, column; /* the operand's strides, in its elements, seen as this matrix */
    int64_t ld;
    size_t at; /* in scratch, where it is not in place */
} bp__lapack_view;

struct bp__lapack_plan {
    bp_prepared prepared; /* must be first */
    bp__driver *driver;
    const bp__lapack_operation *operation;
    bp__thread_setup setup;
    int sharers; /* as of the judgement */
    bp_problem problem;
    bp_dtype dtype, real_type;
    bool complex;
    int bits;                        /* of the library's integer */
    size_t size;                     /* of an element */
    size_t real_size;                /* of a real of its precision */
    size_t integer;                  /* of the library's integer */
    size_t scratch;                  /* bytes */
    const bp__lapack_passes *passes; /* for reals of its precision */
    bool too_large;                  /* more bytes were reserved than there can be */
    int info_operand;                /* -1: the operation has none */
    void (*routine[BP__LAPACK_ROUTINE_COUNT])(void);
    /* The operation's own, from prepare() to run(): */
    bp__lapack_view view[BP__LAPACK_VIEWS];
    size_t at[BP__LAPACK_SIZES];         /* of memory in scratch */
    int64_t workspace[BP__LAPACK_SIZES]; /* sizes in elements */
    char letter[4];                      /* character arguments */
};

bp_status bp__lapack_plan_make(void *driver, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                               bp_prepared **prepared);
/* Reserves `count` times `size` bytes of scratch memory, aligned to 64, and tells where they start in it. */
size_t bp__lapack_reserve(bp__lapack_plan *plan, int64_t count, size_t size);
/* The size that a workspace query left in the first element of `work`. Single precision rounds large sizes, some
 * libraries down: the next float is meant then. */
int64_t bp__lapack_queried(const bp__lapack_plan *plan, const void *work);

static inline bp__lapack_int bp__lapack_integer(const bp__lapack_plan *plan, int64_t value) {
    return plan->bits == 64 ? (bp__lapack_int){.i64 = value} : (bp__lapack_int){.i32 = (int32_t)value};
}

static inline int64_t bp__lapack_value(const bp__lapack_plan *plan, const bp__lapack_int *integer) {
    return plan->bits == 64 ? integer->i64 : integer->i32;
}

/* Element `index` of an array of the library's integers. */
static inline int64_t bp__lapack_value_at(const bp__lapack_plan *plan, const void *array, int64_t index) {
    return plan->bits == 64 ? ((const int64_t *)array)[index] : ((const int32_t *)array)[index];
}

#define BP__LAPACK_CALL(plan, name) ((bp__lapack_call_##name *)(plan)->routine[BP__LAPACK_##name])

/* ---- Items (run.c) ---- */

/* What the items of one call have in common, in one thread. */
typedef struct bp__lapack_worker {
    atomic_bool *stopped; /* of the whole call: no further item is computed */
    int64_t *since;       /* bp__driver_stops' */
    int before;           /* what bp__driver_end needs */
} bp__lapack_worker;

struct bp__lapack_item {
    bp__lapack_worker *worker;
    int64_t number;                    /* counts through the batch */
    char *operand[BP_LINALG_OPERANDS]; /* this item's addresses; NULL: not there */
    bool again[BP_LINALG_OPERANDS];    /* the same address as for the item before, which was computed with success */
    char *scratch;
    bool transposed; /* the operation's own, kept with what is in scratch: the factors there are those of the transpose
                      */
};

/* Whether the call is to end here, between two calls of the library: run() returns BP_E_CANCELLED then. What the
 * library has left in scratch memory stays. */
bool bp__lapack_stops(const bp__lapack_plan *plan, const bp__lapack_item *item);

bp_status bp__lapack_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);

/* ---- Matrices (matrix.c) ---- */

/* Which elements of a matrix count. */
typedef enum bp__lapack_region {
    BP__LAPACK_WHOLE,
    BP__LAPACK_LOWER,
    BP__LAPACK_UPPER,
    BP__LAPACK_STRICTLY_LOWER,
    BP__LAPACK_STRICTLY_UPPER
} bp__lapack_region;

/* The part of the transposed matrix that holds the same elements. */
bp__lapack_region bp__lapack_flipped(bp__lapack_region region);

static inline const bp_linalg_operand *bp__lapack_operand(const bp__lapack_plan *plan, int operand) {
    return &plan->problem.of.linalg.operand[operand];
}

/* Whether the operand's memory is column-major (row-major when `transposed`) with a leading dimension for the library.
 */
bool bp__lapack_fits(const bp__lapack_plan *plan, int operand, bool transposed);
/* The operand, or its transpose, as the library gets it; reserves scratch memory where its layout does not do. */
bp__lapack_view bp__lapack_place(bp__lapack_plan *plan, int operand, bool transposed);
/* The same in scratch memory whatever the layout is. */
bp__lapack_view bp__lapack_place_in_scratch(bp__lapack_plan *plan, int operand, bool transposed, bool conjugate);
void *bp__lapack_address(const bp__lapack_view *view, const bp__lapack_item *item);
/* Fills the view's memory from input number `from`, whose rows and columns (transposed when `transposed`) it has;
 * nothing is copied where the view is that input, in place, and what is outside of `part`, told in terms of the view,
 * may be left out. False: an element of `part` is not finite. */
bool bp__lapack_load(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *view, int from,
                     bool transposed, bp__lapack_region region);
/* Brings the view's memory to its operand, where it does not lie there. */
void bp__lapack_store(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *view);
/* Writes rows x columns of column-major memory to an output, from its first element on. */
void bp__lapack_write(const bp__lapack_plan *plan, const bp__lapack_item *item, int operand, int64_t rows,
                      int64_t columns, const void *from, int64_t ld);
/* Whether every element of a part of a matrix is finite; strides in elements. */
bool bp__lapack_finite(const bp__lapack_plan *plan, int64_t rows, int64_t columns, const void *matrix, int64_t row,
                       int64_t column, bp__lapack_region region);
/* Writes zeros to a part of column-major memory; ones to the diagonal when `unit`, which the part has then. */
void bp__lapack_clear(const bp__lapack_plan *plan, int64_t rows, int64_t columns, void *matrix, int64_t ld,
                      bp__lapack_region region, bool unit);
/* What an item gets that is not computed: NaN, 0 in integers. */
void bp__lapack_fill_nan(const bp__lapack_plan *plan, const bp__lapack_item *item);
/* One element, as a number in double precision. */
bp_scalar bp__lapack_get(bp_dtype dtype, const void *element);
void bp__lapack_put(bp_dtype dtype, void *element, bp_scalar value);

#endif
