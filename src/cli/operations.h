/* operations.h - the operations of the commands eval and explain: one row each, in the file of its family.
 *
 * A row says what an operation is called, which arrays and options it takes, and how it is prepared, run and explained.
 * The commands know no operation by name: eval reads arrays from files, explain makes views without data, and both go
 * on alike.
 */
#ifndef BP_CLI_OPERATIONS_H
#define BP_CLI_OPERATIONS_H

#include "operands.h"
#include "search.h"

#include <limits.h>

#define JOB_RESULTS 6
#define JOB_MANY INT_MAX

typedef struct cli_operation cli_operation;

/* What a product was asked for, besides its arrays. */
typedef struct product_words {
    bool old_c; /* a third array takes part in the sum */
    bp_transform transform_a, transform_b;
    bp_scalar alpha, beta;
} product_words;

/* What a transform or a shift was asked for; the call points at the others. */
typedef struct fft_words {
    bp_fft_call call;
    int dims[BP_MAX_NDIM];
    int64_t s[BP_MAX_NDIM];
} fft_words;

/* What linear algebra was asked for: the call in the library's form, and the numbers that it points to. */
typedef struct linalg_words {
    bp_linalg_call call;
    double rtol, atol;
} linalg_words;

/* What a norm, a product of vectors or a power was asked for. */
typedef struct vector_words {
    bp_linalg_call call; /* of the norm */
    int dims[BP_MAX_NDIM];
    int64_t power;
} vector_words;

/* One use of an operation. The command fills it up to the inputs, the row's prepare() the rest. */
typedef struct cli_job {
    const cli_args *args;
    const cli_operation *operation;
    bool dry; /* for explain: no array has data */
    bp_options *options;
    const char *expression; /* NULL for operations that take none */
    int first;              /* where the words for arrays begin */
    int input_count, result_count;
    int wanted;                                          /* results for which there is a file; 0 when dry */
    npy_array *input_arrays, result_arrays[JOB_RESULTS]; /* empty when dry */
    bp_view *inputs, results[JOB_RESULTS];
    const DLTensor **tensors; /* of the inputs */
    cli_search search;
    union {
        product_words product;
        fft_words fft;
        linalg_words linalg;
        vector_words vector;
        bp_einsum_call einsum;
    } words;
} cli_job;

struct cli_operation {
    const char *name;           /* NULL ends a family's list */
    const char *arrays;         /* usage: "A B [C]" */
    int least, most;            /* how many arrays it takes; most is JOB_MANY where there is no end */
    int results;                /* how many it gives at most, in the order of the -o options */
    int number;                 /* for the functions below: which of the operations that share them */
    const char *const *options; /* names of those that not all operations take; ends with NULL */
    /* Reads the options, and makes the results with job_result. CLI_OK, or a code after a message. */
    int (*prepare)(cli_job *job);
    bp_status (*run)(cli_job *job);
    bp_status (*explain)(const cli_job *job, bp_explanation **explanation); /* NULL: no library takes part */
    bool expression; /* the first word is one; the arrays follow */
};

/* The families; operations.c has the list of them. */
extern const cli_operation operations_products[], operations_einsum[], operations_fft[], operations_linalg[],
    operations_vectors[];

/* The options of the families, for the tables of both commands. */
#define OPTIONS_PRODUCTS                                                                                               \
    {"alpha", 0, "X", "gemm: factor of the product (real or real,imaginary), 1 unless given."},                        \
        {"beta", 0, "X", "gemm: factor of the old C, 1 when C is given, else 0."},                                     \
        {"trans-a", 0, NULL, "gemm: use the transpose of A. explain of others: A is a transposed view."},              \
        {"trans-b", 0, NULL, "The same for B."}, {"conj-a", 0, NULL, "gemm: conjugate A."}, {                          \
        "conj-b", 0, NULL, "gemm: conjugate B."                                                                        \
    }

#define OPTIONS_FFT                                                                                                    \
    {"n", 0, "N", "Transforms of one dimension: its length; longer input is cut, shorter goes on with zeros."},        \
        {"s", 0, "N,N", "Transforms of more dimensions: their lengths; -1 is that of the input."},                     \
        {"dim", 0, "D,D", "Dimensions to transform, to shift, or to sum over; negative ones count from the last."}, {  \
        "norm", 0, "NORM", "Transforms: backward (the default), ortho or forward."                                     \
    }

#define OPTIONS_LINALG                                                                                                 \
    {"upper", 0, NULL, "The upper triangle is what is read, or holds the factor."},                                    \
        {"right", 0, NULL, "Solve X A = B in place of A X = B."},                                                      \
        {"adjoint", 0, NULL, "lu_solve: solve with the conjugate transpose of A."},                                    \
        {"unitriangular", 0, NULL, "solve_triangular: the diagonal is taken to be ones."},                             \
        {"hermitian", 0, NULL, "pinv, matrix_rank: A is Hermitian; one triangle is read."},                            \
        {"full-matrices", 0, NULL, "svd: square U and Vh."}, {"mode", 0, "MODE", "qr: reduced, complete or r."},       \
        {"driver", 0, "NAME", "lstsq: gelsy, gels, gelsd or gelss."},                                                  \
        {"rcond", 0, "X",                                                                                              \
         "lstsq: singular values up to X times the largest count as zero; below 0: machine precision."},               \
        {"rtol", 0, "X", "pinv, matrix_rank: the same."},                                                              \
        {"atol", 0, "X", "pinv, matrix_rank: singular values up to X count as zero."},                                 \
        {"ord", 0, "NORM",                                                                                             \
         "cond, matrix_norm: fro, nuc, 1, -1, 2, -2, inf or -inf; vector_norm: any number, inf or -inf."},             \
        {"keepdim", 0, NULL, "vector_norm: the result keeps the dimensions summed over, with size 1."}, {              \
        "power", 0, "N", "matrix_power: a whole number; below 0 it is a power of the inverse."                         \
    }

const cli_operation *cli_operation_at(int index); /* NULL past the end */

/* The operation that the first word names for this job, and its expression; CLI_USAGE and suggestions when there is
 * none. */
int job_operation(cli_job *job);

/* Whether the options and the number of arrays (the words from job->first on) are the operation's; CLI_USAGE and a
 * message when not. Makes room for the arrays. */
int job_check(cli_job *job);

/* Whether that option is the operation's own. */
bool job_takes(const cli_job *job, const char *option);

/* Memory for a result, or a view of it when dry. */
int job_result(cli_job *job, int index, bp_dtype dtype, int ndim, const int64_t *shape);

/* The row's prepare(), once the inputs are there. */
int job_prepare(cli_job *job);

void job_free(cli_job *job);

#endif
