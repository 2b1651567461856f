/* scalapack.h - declares what the files of the scalapack provider share.
 *
 * ScaLAPACK ends the process if an argument is wrong, and computes wrong results if ranks differ. So everything is
 * checked, and the ranks have agreed, before a routine of it is called. */
#ifndef BP_PROVIDERS_SCALAPACK_H
#define BP_PROVIDERS_SCALAPACK_H

#include "backplane/provider.h"
#include "providers/least.h"
#include "providers/ranks/ranks.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ---- The library (load.c) ---- */

/* A grid of processes of BLACS, which stays until the end of the process. */
typedef struct bp__scalapack_context {
    struct bp__scalapack_context *next;
    uint64_t serial; /* of the communicator */
    int grid[2], number;
} bp__scalapack_context;

typedef struct bp__scalapack_instance {
    const bp_host *host;
    const char *engine;              /* its name in bp_dist_place.engines */
    const bp_library_info *library;  /* MKL; NULL: the library brings its BLAS */
    pthread_mutex_t mutex;           /* of `handle` */
    void *handle;                    /* of the routines; NULL before the first plan */
    bp__scalapack_context *contexts; /* under the lock of MPI, which every run has */
    int (*to_blacs)(intptr_t communicator);
    void (*grid_init)(int *context, const char *order, int rows, int columns);
    void (*set)(int context, int what, const int *value);
    void (*set_threads)(int count); /* of the BLAS below; NULL: it has none */
} bp__scalapack_instance;

/* Handles of dlopen(), which may be the same. */
typedef struct bp__scalapack_handles {
    void *routines, *blacs, *blas;
} bp__scalapack_handles;

bp_status bp__scalapack_open(const bp_host *host, const bp_library_info *library, void **instance);
bp_status bp__scalapack_open_mkl(const bp_host *host, const bp_library_info *library, void **instance);
void bp__scalapack_close(void *instance);

/* Returns the entry of the place for the library of the instance; NULL if it has none. */
const bp_dist_engine *bp__scalapack_engine(const bp__scalapack_instance *instance, const bp_dist_place *place);

/* Opens MKL's files (mkl.c). Errors: as below, BP_E_LOAD. */
bp_status bp__scalapack_open_mkl_files(const bp__scalapack_instance *instance, const bp_dist_place *place,
                                       const bp_dist_engine *engine, bp__scalapack_handles *handles);
/* Returns whether two files are in one folder. */
bool bp__scalapack_share_folder(const char *path, const char *other);

/* Opens the library that belongs to the MPI of the place. Errors: BP_E_NOT_FOUND, BP_E_UNSUPPORTED, BP_E_SYMBOL. */
bp_status bp__scalapack_load(bp__scalapack_instance *instance, const bp_dist_place *place);

/* Sets *context to the number of the grid in BLACS. All ranks call it together. */
bp_status bp__scalapack_context_of(bp__scalapack_instance *instance, const bp_dist_place *place, int *context);

/* ---- Plans ---- */

typedef void (*bp__scalapack_routine)(void);
enum { BP__SCALAPACK_ROUTINES = 4, BP__SCALAPACK_OPERANDS = BP_LINALG_OPERANDS };

typedef struct bp__scalapack_operation bp__scalapack_operation;

typedef struct bp__scalapack_plan {
    bp_prepared prepared; /* must be first */
    bp__scalapack_instance *instance;
    const bp__scalapack_operation *operation;
    const bp_dist_place *place;
    bp_problem problem;
    bp__scalapack_routine routine[BP__SCALAPACK_ROUTINES];
} bp__scalapack_plan;

/* A distributed matrix as ScaLAPACK takes it. */
typedef struct bp__scalapack_matrix {
    void *local;
    int64_t rows, columns, leading; /* of the local part */
    int desc[9];
} bp__scalapack_matrix;

/* One run of a plan. */
typedef struct bp__scalapack_call {
    const bp__scalapack_plan *plan;
    const bp_dist_place *place;
    const bp_host *host;
    const bp_dist_view *view[BP__SCALAPACK_OPERANDS]; /* NULL: absent */
    const bp_scalar *scalars;
    size_t item; /* bytes of an element of the problem's type */
    int context;
    char *work;     /* of `operation->work` bytes */
    void *extra[4]; /* memory that the routine asked for */
    int extra_count;
} bp__scalapack_call;

struct bp__scalapack_operation {
    bp_op op;
    const char *algorithm;
    const char
        *real[BP__SCALAPACK_ROUTINES]; /* names without the letter of the type: "potrf"; NULL: there is no more */
    const char *other[BP__SCALAPACK_ROUTINES]; /* of complex types, where the names differ */
    bool takes_empty;                          /* it runs without elements, too */
    bool at_origin;    /* block (0, 0) must be at rank (0, 0): the routine gives wrong results otherwise */
    bool any_blocks;   /* blocks need not be square */
    bool is_bounded;   /* bp__scalapack_least_bytes() knows what a rank sends at least */
    int inputs, info;  /* number of inputs, and of the operand `info`; 0: there is none */
    uint32_t matrices; /* bit i: operand i is a distributed matrix; others are replicated */
    uint32_t whole;    /* bit i: all of operand i is read, and must be finite */
    uint32_t triangle; /* bit i: one triangle of it */
    /* Returns why the problem cannot run, or NULL. */
    const char *(*refuse)(const bp_problem *problem, const bp_dist_place *place);
    /* Returns the bytes of memory that a run needs on this rank. NULL: none. */
    size_t (*work)(const bp__scalapack_plan *plan);
    /* Runs on all ranks together. Sets *info to LAPACK's. */
    bp_status (*run)(bp__scalapack_call *call, int *info);
    void (*model)(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *model);
};

extern const bp__scalapack_operation bp__scalapack_gemm, bp__scalapack_cholesky, bp__scalapack_cholesky_solve,
    bp__scalapack_lu_factor, bp__scalapack_lu_solve, bp__scalapack_solve, bp__scalapack_inv, bp__scalapack_qr,
    bp__scalapack_eigh, bp__scalapack_svd, bp__scalapack_matrix_norm, bp__scalapack_lstsq;

/* Returns the operation, or NULL. */
const bp__scalapack_operation *bp__scalapack_operation_of(const bp_problem *problem);

void bp__scalapack_accept(void *instance, const bp_problem *problem, bp_offers *offers);
bp_status bp__scalapack_plan_make(void *instance, const bp_problem *problem, const bp_verdict *verdict,
                                  const void *found, bp_prepared **prepared);

size_t bp__scalapack_item(const bp_problem *problem); /* bytes of an element of its type */

static inline bool bp__scalapack_is_complex(const bp_problem *problem) {
    return problem->dtype == BP_C64 || problem->dtype == BP_C128;
}

/* ---- Workspaces (workspace.c): all ranks call these together ---- */

/* Allocates memory with a margin on both sides; NULL if there is none. bp__scalapack_give() frees it. */
void *bp__scalapack_allocate(const bp_host *host, size_t bytes);
/* Allocates memory until the end of the call. Fails on all ranks if one has none. */
bp_status bp__scalapack_take(bp__scalapack_call *call, size_t bytes, void **memory);
/* Allocates the workspace that a routine has asked for, and `more` elements. The number of its elements, complex or
 * real ones, is the first element of the answer. */
bp_status bp__scalapack_take_asked(bp__scalapack_call *call, const void *answer, double more, bool complex, int *count,
                                   void **memory);
/* Frees all memory of the call. */
void bp__scalapack_give(bp__scalapack_call *call);

/* ---- Matrices (matrix.c) ---- */

/* Returns the number of rows (dimension 0) or columns (1) of `size` that a position of the grid has at most. */
int64_t bp__scalapack_most(const bp_dist_place *place, int dimension, int64_t size);
/* Returns the number that this rank has. */
int64_t bp__scalapack_own(const bp_dist_place *place, int dimension, int64_t size);

/* Describes an operand, or a matrix of this size in memory without gaps. */
bp__scalapack_matrix bp__scalapack_operand(const bp__scalapack_call *call, int index);
bp__scalapack_matrix bp__scalapack_in(const bp__scalapack_call *call, void *memory, int64_t rows, int64_t columns);

/* Copies the local part of an operand to a matrix of the same distribution. */
void bp__scalapack_copy(const bp__scalapack_call *call, const bp__scalapack_matrix *to, int operand);
/* Sets a triangle without the diagonal to zero. */
void bp__scalapack_clear(const bp__scalapack_call *call, const bp__scalapack_matrix *matrix, bool upper);
/* Returns whether the local part, or one triangle of it, is finite. */
bool bp__scalapack_finite(const bp__scalapack_call *call, int operand, bool triangle, bool upper);
/* Fills the floating outputs of the call with NaN, and the others with 0. */
void bp__scalapack_fill_nan(const bp__scalapack_call *call, int inputs);

/* ---- The model of communication (model.c) ---- */

/* A product as the routine gets it: of a left factor, m x k or its transpose, and a right one (product.c). */
typedef struct bp__scalapack_product {
    int64_t m, n, k;
    bool transposed[2];
} bp__scalapack_product;
bp__scalapack_product bp__scalapack_product_of(const bp_gemm_problem *g);

/* Returns the bytes that the busiest rank of any algorithm sends at least, with the memory of this one. */
double bp__scalapack_least_bytes(const bp_problem *problem, const bp_dist_place *place, const bp__ranks_model *model);

void bp__scalapack_model_gemm(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *model);
void bp__scalapack_model_cholesky(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *model);
void bp__scalapack_model_cholesky_solve(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *model);
void bp__scalapack_model_lu_solve(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *model);
void bp__scalapack_model_solve(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *model);
void bp__scalapack_model_inv(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *model);
void bp__scalapack_model_norm(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *model);
void bp__scalapack_model_lstsq(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *model);
void bp__scalapack_model_qr(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *model);
void bp__scalapack_model_eigh(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *model);
void bp__scalapack_model_svd(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *model);
void bp__scalapack_model_lu(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *model);

/* ---- Calls of routines ---- */

/* Types of arguments: a matrix is its local part, the position of its first element, and its descriptor. */
#define BP__SCALAPACK_MATRIX const void *, const int *, const int *, const int *
#define BP__SCALAPACK_PASS(m) (m).local, &bp__scalapack_first, &bp__scalapack_first, (m).desc
static const int bp__scalapack_first = 1;

/* Returns routine `i` of a call as a function with these types. Routines in Fortran take the lengths of texts behind
 * all other arguments. */
#define BP__SCALAPACK_ROUTINE(call, i, ...) ((void (*)(__VA_ARGS__))(call)->plan->routine[i])

#endif
