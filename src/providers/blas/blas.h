/* blas.h - between the files of the blas provider: one body for every library that speaks BLAS.
 *
 * The way of a problem: route.c says, from the layout alone, which routine is called with which arguments (pure);
 * cost.c and accept.c judge it from the library's facts and its row in families.c (pure); provider.c makes the plan,
 * which resolves symbols and fixes every argument; calls.c and run.c run it. threads.c sets and reads the library's
 * thread count; fork.c tells which libraries a child of fork must not touch.
 */
#ifndef BP_BLAS_BLAS_H
#define BP_BLAS_BLAS_H

#include "backplane/provider.h"
#include "providers/blas/families.h"
#include "providers/blas/fork.h"
#include "providers/blas/routines.h"

#include <stdatomic.h>

/* ---- Instances ---- */

typedef struct bp__blas_instance {
    const bp_host *host;
    const bp_library_info *library;
    const bp__blas_family *family;
    int64_t int_max; /* of the library's integer */
    double peak[2];  /* operations per nanosecond of one core in f32, f64 */
    bp__blas_trace *trace;
    _Atomic(bp__blas_trace *) runtime; /* of the OpenMP runtime that it runs on, or its own */

    atomic_uint lock;   /* see bp__blas_lock */
    atomic_bool loaded; /* what follows is set */
    void *handle;
    bool survives_fork; /* the row's word, or what the layer that MKL runs on makes of it */
    void (*set_int)(int);
    int (*get_int)(void);
    int (*set_local)(int);    /* MKL's: returns what was set before */
    void (*set_dim)(int64_t); /* BLIS: its dim_t has 64 bits */
    int64_t (*get_dim)(void);
    int (*limit)(void); /* of the OpenMP runtime below; NULL: there is none */
    int (*dynamic)(void);

    atomic_int most_threads; /* that the library was seen to grant; INT_MAX before it granted less than asked */
} bp__blas_instance;

/* A lock that a child of fork finds open even if a thread that it does not have held it in the parent. */
void bp__blas_lock(bp__blas_instance *instance);
void bp__blas_unlock(bp__blas_instance *instance);

/* Whether this process is a child of fork in which the library, or the runtime that it runs on, is lost. */
static inline bool bp__blas_forked(bp__blas_instance *instance) {
    bp__blas_trace *runtime = atomic_load_explicit(&instance->runtime, memory_order_relaxed);
    return atomic_load_explicit(&instance->trace->lost, memory_order_relaxed) ||
           atomic_load_explicit(&runtime->lost, memory_order_relaxed);
}

/* Opens the library at the first call, chooses MKL's threading layer, and finds the thread functions. */
bp_status bp__blas_load(bp__blas_instance *instance);

/* ---- Threads (threads.c) ---- */

/* Brings the count to `want` for calls of this thread; returns what bp__blas_threads_end needs to bring the thread's
 * own count back. A count that belongs to the whole process stays as set; the lock must be held to begin. */
int bp__blas_threads_begin(const bp__blas_instance *instance, int want);
/* The same, for a caller without the lock: takes it where a count of the process must change, so that it never changes
 * under a call that holds the lock to keep it. */
int bp__blas_threads_begin_unlocked(bp__blas_instance *instance, int want);
void bp__blas_threads_end(const bp__blas_instance *instance, int want, int before);
int bp__blas_threads_read(const bp__blas_instance *instance); /* in force for the calling thread; 0: cannot be known */
/* The threads slot of bp_provider. */
bp_status bp__blas_threads(void *instance, int want, int *got);
/* How many threads the library grants when `want` are asked for; warns when these are fewer. */
int bp__blas_threads_granted(bp__blas_instance *instance, int want);

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

/* Sizes over int_max cannot be handed to the library: false, with a sentence part in `text`. With `fold` false every
 * product of the batch is computed on its own. */
bool bp__blas_route_of(bp__blas_route *route, const bp_problem *problem, int64_t int_max, bool fold, char *text,
                       size_t size);

/* ---- Judgement (accept.c, cost.c) ---- */

void bp__blas_accept(void *instance, const bp_problem *problem, bp_verdict *verdict);

/* What accept decided beyond the verdict, for plan. */
typedef struct bp__blas_judgement {
    bp__blas_route route;
    int threads;  /* to ask for; 0: the count cannot be set */
    bool settles; /* the library's count must be brought to `threads` around the call */
    bool locks;   /* ... and kept by holding the lock */
} bp__blas_judgement;

/* Fills both; verdict->reason tells whether it was accepted. */
void bp__blas_judge(bp__blas_instance *instance, const bp_problem *problem, bp__blas_judgement *judgement,
                    bp_verdict *verdict);

double bp__blas_cost(const bp__blas_instance *instance, const bp__blas_route *route, int threads);

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
    bp_prepared prepared;  /* must be first */
    bp__blas_trace *trace; /* the instance's */
    bp__blas_instance *instance;
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
    int threads;
    bool settles, locks, marks; /* marks: notes that the library ran with several threads */
};

/* The thunk for a routine in the Fortran (c false) or C interface, and the run function that does nothing but call it.
 */
typedef bp_status (*bp__blas_run)(const bp_prepared *, const void *, const void *, void *, const bp_scalar *);
void bp__blas_thunk(bp__blas_kind kind, bp_dtype dtype, int int_bits, bool c, bp__blas_call *call, bp__blas_run *run);

/* One product with fixed factors and no copies, with a thread count to be settled. */
bp_status bp__blas_run_settled(const bp_prepared *self, const void *a, const void *b, void *c,
                               const bp_scalar *scalars);
/* Everything. */
bp_status bp__blas_run_general(const bp_prepared *self, const void *a, const void *b, void *c,
                               const bp_scalar *scalars);
bp_status bp__blas_run_scale(const bp_prepared *self, const void *a, const void *b, void *c, const bp_scalar *scalars);
bp_status bp__blas_fail_forked(const bp__blas_instance *instance);

/* Writes zeros to a vector of m elements. */
void bp__blas_clear(bp_dtype dtype, int64_t m, int64_t increment, void *c);

#endif
