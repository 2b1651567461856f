/* operations.h - the operations of the commands eval, explain, compare and bench.
 *
 * An entry has an operation's name, its arrays and options, and the functions that prepare, run, explain and check it.
 * The file of its family has the entry. The commands treat all operations alike: eval and compare read arrays from
 * files, explain makes views without data, bench makes arrays of its own.
 */
#ifndef BP_CLI_OPERATIONS_H
#define BP_CLI_OPERATIONS_H

#include "operands.h"
#include "reference/reference.h"
#include "search.h"

#include <limits.h>

#define JOB_RESULTS 8
#define JOB_MANY INT_MAX

typedef struct cli_operation cli_operation;
typedef struct cli_described cli_described; /* described.h */
typedef struct cli_derived cli_derived;     /* described.h */
typedef struct cli_sizing cli_sizing;       /* sizing.h */

/* Arguments of a product, besides its arrays. */
typedef struct product_words {
    bool old_c; /* a third array, C, is given */
    bp_transform transform_a, transform_b;
    bp_scalar alpha, beta;
} product_words;

/* Arguments of a transform or a shift; `call` points to the others. */
typedef struct fft_words {
    bp_fft_call call;
    int dims[BP_MAX_NDIM];
    int64_t s[BP_MAX_NDIM];
} fft_words;

/* Arguments of a call that calls.h describes. Functions that take arguments need less memory than the largest
 * struct, which described_prepare() checks. */
typedef struct described_words {
    const bp_call *call;
    union {
        size_t struct_size;
#define X(name) bp_##name##_call name;
        BP_CALL_MAP(X)
#undef X
    } of;
    int64_t sizes[8][BP_MAX_NDIM]; /* those that the call points to */
    int size_count;
    int axes[BP_MAX_NDIM];
    double numbers[2];
    int number_count;
    bp_dtype usual_type; /* of a first result that follows from no array; adjust() may set it */
    int64_t seed[2];     /* seed and offset of dropout */
    int64_t lengths[BP_MAX_NDIM];
    bp_view seed_view, lengths_view;
} described_words;

/* Arguments of linear algebra: the library's call, and the numbers that it points to. */
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
    bool dry;        /* explain: arrays have no data */
    DLDevice device; /* of the arrays, or where the operation is to run on copies; zeros: the host */
    DLTensor *seed;  /* of random numbers, which is an array without a file; NULL: there is none */
    DLTensor *lengths; /* likewise, of attention */
    bp_options *options;
    const char *expression; /* NULL for operations that take none */
    int first;              /* index of the first operand that is an array */
    int input_count, result_count;
    int wanted;                                          /* number of results that have an output file; 0 if dry */
    npy_array *input_arrays, result_arrays[JOB_RESULTS]; /* empty if dry */
    bp_view *inputs, results[JOB_RESULTS];
    const DLTensor **tensors; /* of the inputs */
    cli_search search;
    union {
        product_words product;
        fft_words fft;
        described_words described;
        linalg_words linalg;
        vector_words vector;
        bp_einsum_call einsum;
    } words;
} cli_job;

/* How the results of one job are checked. */
typedef struct cli_check cli_check;
struct cli_check {
    reference values; /* reference values of the first result; empty if the results are checked without any */
    reference more[JOB_RESULTS - 1]; /* reference values of further results that are checked */
    /* Computes the error of the job's results. */
    bp_status (*error)(const cli_check *check, const cli_job *job, double *error);
    double bound;   /* a larger error is a wrong result; infinity: the results are not checked */
    char text[192]; /* what the error is */
};

/* What compare and bench need of an operation that a library runs. */
typedef struct cli_measured {
    bp_op op; /* whose setting prefers a library for it; 0: the operation of the call's pass, which calls.h describes */
    /* Makes the plan of the job, with the job's options, and its operands (at most JOB_OPERANDS); *count is how many.
     */
    bp_status (*plan)(const cli_job *job, bp_plan **plan, bp_operand *operands, int *count);
    /* Makes the check before the operation has run. check->bound is infinite if there is none for this job. */
    bp_status (*check)(cli_check *check, const cli_job *job);
} cli_measured;

#define JOB_OPERANDS 20

struct cli_operation {
    const char *name;           /* NULL ends the list */
    const char *arrays;         /* usage: "A B [C]" */
    int least, most;            /* smallest and largest number of arrays; JOB_MANY: no limit */
    int results;                /* largest number of results, in the order of the -o options */
    int number;                 /* for the functions below, which several operations share */
    const char *const *options; /* names of options that not all operations take; ends with NULL */
    /* Reads the options, and makes the results with job_result(). Returns CLI_OK, or an exit code after a message. */
    int (*prepare)(cli_job *job);
    bp_status (*run)(cli_job *job);
    bp_status (*explain)(const cli_job *job, bp_explanation **explanation); /* NULL if no library is used */
    bool expression;                                                        /* an expression is before the arrays */
    const cli_measured *measured;                                           /* NULL if no library is used */
    const cli_described *described; /* of a call that calls.h describes; NULL for other operations */
    const cli_sizing *sizing;       /* how bench makes its arrays; NULL if no library is used */
    const cli_derived *derived;     /* the list is made from the calls of a family; NULL: the row is an operation */
};

/* The lists of operations, in the order of the help: operations_<name>, in <name>.c. */
#define OPERATIONS_MAP(X) BP_FAMILY_MAP(OPERATIONS_OF_FAMILY, X) X(vectors)
#define OPERATIONS_OF_FAMILY(X, family, ...) X(family)
#define X(name) extern const cli_operation operations_##name[];
OPERATIONS_MAP(X)
#undef X

/* Options of the families, for the option tables of both commands. */
#define OPTIONS_PRODUCTS                                                                                               \
    {"alpha", 0, "X", "gemm: factor of the product (real or real,imaginary); default 1."},                             \
        {"beta", 0, "X", "gemm: factor of the old C; default 1 if C is given, else 0."},                               \
        {"trans-a", 0, NULL, "gemm: use the transpose of A. explain, other operations: A is a transposed view."},      \
        {"trans-b", 0, NULL, "gemm: use the transpose of B. explain, other operations: B is a transposed view."},      \
        {"conj-a", 0, NULL, "gemm: conjugate A."}, {                                                                   \
        "conj-b", 0, NULL, "gemm: conjugate B."                                                                        \
    }

/* Of explain and tune, whose operands have no data. */
#define OPTIONS_LEADING                                                                                                \
    {"lda", 0, "N", "Elements between rows of A; between its columns if A is a transposed view."},                     \
        {"ldb", 0, "N", "The same for B."}, {                                                                          \
        "ldc", 0, "N", "The same for the result."                                                                      \
    }

#define OPTIONS_FFT                                                                                                    \
    {"n", 0, "N",                                                                                                      \
     "Transforms of one dimension: its length; longer input is truncated, shorter input is zero-padded."},             \
        {"s", 0, "N,N", "Transforms of several dimensions: their lengths; -1 is the length of the input."},            \
        {"dim", 0, "D,D",                                                                                              \
         "Transforms, shifts, reductions, cumsum, norms, vecdot, indices: the dimensions; below 0: from the last "     \
         "one."},                                                                                                      \
    {                                                                                                                  \
        "norm", 0, "NORM", "Transforms: normalization: backward (default), ortho or forward."                          \
    }

#define OPTIONS_CONV                                                                                                   \
    {"stride", 0, "N,N",                                                                                               \
     "Convolutions and pooling: steps of the kernel; one number for all dimensions, or one for each."},                \
        {"size", 0, "N,N", "Gradients by input or weight, random numbers: the shape of the first result."},            \
        {"padding", 0, "N,N", "Convolutions: rows of zeros on both sides, or same or valid; pooling: rows."},          \
        {"padding-end", 0, "N,N",                                                                                      \
         "Convolutions: rows of zeros at the end, if these are other than at the beginning."},                         \
        {"dilation", 0, "N,N", "Convolutions and pooling: distance between the elements of the kernel."},              \
        {"groups", 0, "N", "Convolutions, group_norm: groups of channels."},                                           \
        {"output-padding", 0, "N,N", "Transposed convolutions: rows added to the end of the output."},                 \
        {"activation", 0, "NAME",                                                                                      \
         "Convolutions, linear: a function of each element of the output, such as gelu; see unary --kind."},           \
    {                                                                                                                  \
        "relu", 0, NULL, "Convolutions, linear, batch_norm, rnn: negative elements of the output become 0."            \
    }

#define OPTIONS_POOL                                                                                                   \
    {"kernel", 0, "N,N", "Pooling: sizes of the windows; one number for all dimensions, or one for each."},            \
        {"output-size", 0, "N,N", "Adaptive pooling: sizes of the output."},                                           \
        {"ceil", 0, NULL, "Pooling: round the sizes of the output up."},                                               \
        {"exclude-padding", 0, NULL, "Averages: do not count the padding."},                                           \
        {"eps", 0, "X", "Normalizations: added to the variance; default 1e-5."}, {                                     \
        "divisor", 0, "N", "Averages: divide by this instead of the number of elements."                               \
    }

#define OPTIONS_ATTENTION                                                                                              \
    {"causal", 0, NULL, "sdpa: rows of the query see no key above their own position."},                               \
        {"gqa", 0, NULL, "sdpa: heads of QUERY share heads of KEY and VALUE."},                                        \
        {"scale", 0, "X", "sdpa: factor of the scores; default 1 / square root of the last size of QUERY."},           \
        {"softcap", 0, "X", "sdpa: limit of the scores before the mask; default none."},                               \
        {"window-left", 0, "N", "sdpa: keys behind its own position that a query sees; -1, the default: all."},        \
        {"window-right", 0, "N", "sdpa: keys ahead of its own position that a query sees; -1, the default: all."},     \
        {"lower-right", 0, NULL, "sdpa: positions are counted from the last key."},                                    \
        {"lengths", 0, "N,N", "sdpa: numbers of keys, one for each index of the first dimension."}, {                  \
        "dropout", 0, "P", "sdpa: probability of a weight to become 0; --seed chooses which; default 0."               \
    }

#define OPTIONS_RNN                                                                                                    \
    {"reverse", 0, NULL, "rnn, lstm, gru, cumsum: take the steps or elements in descending order."},                   \
        {"reset-before", 0, NULL, "gru: apply the reset gate before the product, as Keras with reset_after=False."}, { \
        "projection", 0, NULL, "lstm: the array behind WEIGHT_HH is WEIGHT_HR."                                        \
    }
#define OPTIONS_ELEMENTWISE                                                                                            \
    {"kind", 0, "NAME", "unary, binary, reduce: the function, such as gelu, add or mean."},                            \
        {"first", 0, "X", "unary: first number of a function that takes some, such as the slope of leaky_relu."},      \
        {"second", 0, "X", "unary: second number of a function that takes two, such as the high limit of clip."}, {    \
        "to", 0, "DTYPE", "unary: element type of the result of copy; random numbers: element type of the result."     \
    }
#define OPTIONS_RANDOM                                                                                                 \
    { "offset", 0, "N", "Random numbers: number of the first block of the generator." }
#define OPTIONS_PAD                                                                                                    \
    {"before", 0, "N,N", "pad: elements added before the last dimensions; below 0: removed."},                         \
        {"after", 0, "N,N", "pad: the same after them."},                                                              \
        {"value", 0, "X", "pad: the added elements of mode constant; default 0."}, {                                   \
        "shifts", 0, "N,N", "roll: by how much elements move along each --dim."                                        \
    }
#define OPTIONS_VARIANCE                                                                                               \
    { "correction", 0, "X", "var, std: subtracted from the number of elements; default 1." }
#define OPTIONS_CUMSUM                                                                                                 \
    { "exclusive", 0, NULL, "cumsum: an element is not in its own sum." }
#define OPTIONS_ROWS                                                                                                   \
    { "row-dims", 0, "N", "layer_norm, rms_norm: dimensions of a row; default the dimensions of WEIGHT, else 1." }

#define OPTIONS_LINALG                                                                                                 \
    {"upper", 0, NULL, "Use the upper triangle of A, or return the upper factor."},                                    \
        {"right", 0, NULL, "Solve X A = B instead of A X = B."},                                                       \
        {"adjoint", 0, NULL, "lu_solve: solve with the conjugate transpose of A."},                                    \
        {"unitriangular", 0, NULL, "solve_triangular: assume ones on the diagonal."},                                  \
        {"hermitian", 0, NULL, "pinv, matrix_rank, ldl_factor, ldl_solve: A is Hermitian; one triangle is read."},     \
        {"full-matrices", 0, NULL, "svd: square U and Vh."},                                                           \
        {"mode", 0, "MODE", "qr: reduced, complete or r; pad: constant, reflect, replicate or circular."},             \
        {"driver", 0, "NAME", "lstsq: gelsy, gels, gelsd or gelss."},                                                  \
        {"rcond", 0, "X", "lstsq: singular values up to X times the largest are zero; below 0: machine precision."},   \
        {"rtol", 0, "X", "pinv, matrix_rank: singular values up to X times the largest are zero."},                    \
        {"atol", 0, "X", "pinv, matrix_rank: singular values up to X are zero."},                                      \
        {"ord", 0, "NORM",                                                                                             \
         "cond, matrix_norm: fro, nuc, 1, -1, 2, -2, inf or -inf; vector_norm: any number, inf or -inf."},             \
        {"keepdim", 0, NULL, "reduce, var, std, vector_norm: the result keeps the reduced dimensions, with size 1."},  \
    {                                                                                                                  \
        "power", 0, "N", "matrix_power: a whole number; a negative one is a power of the inverse."                     \
    }

/* Options of all families but products and einsum, in the order of the help. */
#define OPTIONS_FAMILIES                                                                                               \
    OPTIONS_FFT, OPTIONS_CONV, OPTIONS_POOL, OPTIONS_ATTENTION, OPTIONS_RNN, OPTIONS_ELEMENTWISE, OPTIONS_ROWS,        \
        OPTIONS_VARIANCE, OPTIONS_PAD, OPTIONS_CUMSUM, OPTIONS_RANDOM, OPTIONS_LINALG

const cli_operation *cli_operation_at(int index);           /* NULL past the end */
const cli_operation *cli_operation_named(const char *name); /* NULL: there is none */

/* Finds the operation that the first operand names, and its expression. Returns CLI_USAGE after a message with
 * suggestions if there is none. */
int job_operation(cli_job *job);

/* Reads the operation, the element type and the shapes of explain and tune, and makes the inputs: views without data.
 * Returns CLI_OK, or an exit code after a message. (job_shapes.c) */
int job_shapes(cli_job *job);

/* Checks the options and the number of arrays, which are the operands from job->first on. Allocates the arrays. Returns
 * CLI_USAGE after a message if they do not fit the operation. */
int job_check(cli_job *job);

/* Checks that the operation takes the option, or that all commands do. Returns CLI_USAGE after a message if not. */
int job_check_option(const cli_job *job, const char *option);

/* Checks that at most one array is standard input. */
int job_check_pipe(const cli_job *job);

/* Reads the arrays from the files that the operands name. */
int job_read(cli_job *job);

/* Prints the help of the command, or of the operation that is named. */
int job_help(const cli_args *args);

/* Allocates the inputs, without data. job_check() does it. */
void job_allocate(cli_job *job, int arrays);

/* Returns whether the option is one of the operation. */
bool job_takes(const cli_job *job, const char *option);

/* Makes a result: memory and a view of it, or the view alone if dry. */
int job_result(cli_job *job, int index, bp_dtype dtype, int ndim, const int64_t *shape);

/* Reads an option with one number for each dimension, or one for all. *to is NULL if it was not given. (described.c)
 */
int job_each(cli_job *job, const char *option, int ndim, int64_t values[BP_MAX_NDIM], const int64_t **to);

/* Calls prepare(). The inputs must be there. */
int job_prepare(cli_job *job);

/* Fills the results with NaN, and integers with -1, so that an unwritten element is an error. */
void job_fill_nan(cli_job *job);

/* Replaces the arrays of a prepared job by copies on job->device, and back: results with what the operation wrote, if
 * it has succeeded. Call the second function also if the first one fails. (job_device.c) */
typedef struct job_moved job_moved;
bp_status job_move(cli_job *job, job_moved **made);
bp_status job_move_back(job_moved *from, bool succeeded);

void job_free(cli_job *job);

/* Fills the operands of a plan with the inputs, then the results. Returns how many they are. */
int job_operands(const cli_job *job, bp_operand *operands);

/* Returns the setting that prefers a library for the job. */
const char *job_preference(const cli_job *job);

/* The operand of a plan that a tensor is; NULL gives an absent one. */
bp_operand job_operand(const DLTensor *tensor);

/* Checks of the families (check.c). Each makes a cli_check. */
bp_status check_product(cli_check *check, const cli_job *job); /* matmul, gemm */
bp_status check_vecdot(cli_check *check, const cli_job *job);
bp_status check_contraction(cli_check *check, const cli_job *job); /* einsum, multi_dot, matrix_power */
bp_status check_transform(cli_check *check, const cli_job *job);
bp_status check_linalg(cli_check *check, const cli_job *job);
bp_status check_norm(cli_check *check, const cli_job *job);      /* vector_norm */
bp_status check_nothing(cli_check *check);                       /* for jobs without a check */
bp_status check_described(cli_check *check, const cli_job *job); /* calls that reference/results.h has */
bp_status check_with_reference(cli_check *check, const cli_job *job, const char *text); /* check->values is made */
reference *check_result(cli_check *check, int result); /* the place of the reference values of a result */
void check_free(cli_check *check);

#endif
