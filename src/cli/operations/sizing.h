/* sizing.h - makes the arrays of an operation from one number, the size n, and counts the work, for bench.
 *
 * Each row of the table of operations has a cli_sizing. Its arrays are shapes such as "8x32xn*": a size is a number, n,
 * or a multiple such as 4n, and '*' repeats it for each dimension of conv1d, conv2d or conv3d. Behind ':' is what the
 * values are; without it, they are random numbers in (-1, 1).
 */
#ifndef BP_CLI_SIZING_H
#define BP_CLI_SIZING_H

#include "operations.h"

#define SIZING_SIZES 4
#define SIZING_ARRAYS 9

struct cli_sizing {
    const char *arrays;  /* "nxn nx1" */
    const char *options; /* those that a call needs: "kernel=3 padding=1"; NULL: none. A value of `size` is a shape. */
    const char *expression;             /* of einsum; else NULL */
    double (*work)(const cli_job *job); /* operations on real numbers, of a prepared job, which may have no data */
    const char *count;                  /* the same for people */
    bool moves;                         /* few operations per byte: the speed is in GB/s */
    int64_t sizes[SIZING_SIZES];
    int results; /* how many bench and compare make; 0: the first one, or as many as the call has */
    /* Makes the arrays that another pass would have written, of a prepared job with data; NULL: there are none. */
    bp_status (*complete)(cli_job *job);
};

/* What an array has in it. */
typedef enum sizing_values {
    SIZING_RANDOM,
    SIZING_COMPLEX,   /* ":complex": random, and f32 and f64 mean c64 and c128 */
    SIZING_DEFINITE,  /* ":definite": Hermitian and positive definite */
    SIZING_LOWER,     /* ":lower": its lower triangle, and zeros */
    SIZING_POSITIVE,  /* ":positive": 0.5 to 1.5 */
    SIZING_STATISTIC, /* ":statistic": positive, and f16 and bf16 mean f32 */
    SIZING_BELOW,     /* ":below:n*": whole numbers from 0 on, in i64 */
    SIZING_PIVOTS,    /* ":pivots": the numbers 1 to n of rows that stay, in i32 */
    SIZING_BOOL       /* ":bool": bool */
} sizing_values;

typedef struct sized_array {
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    double elements; /* INT64_MAX and more: no such array can exist */
    bp_dtype dtype;
    sizing_values values;
    int64_t below;
} sized_array;

/* The number of dimensions of a kernel: the digit in the names of conv2d and avg_pool3d_input; 1 for others. */
int sizing_dims(const cli_operation *operation);

/* Reads a list of arrays, separated by `separator`, for a size and an element type. Returns how many they are; -1 if
 * the text is wrong or has more than SIZING_ARRAYS. */
int sizing_read(sized_array *arrays, const cli_operation *operation, const char *text, char separator, int64_t n,
                bp_dtype dtype);

/* Returns the usual options of the row, and the values that the size makes of them, as a list for free(); *count is how
 * many they are. Options that `args` has are left out. */
cli_given *sizing_options(const cli_operation *operation, const cli_args *args, int64_t n, int *count);
void sizing_options_free(cli_given *given, int count);

/* Fills an array of that kind, with the same numbers in every run. */
bp_status sizing_fill(npy_array *array, const sized_array *as);

/* Numbers of elements for them: of a tensor; a size counted from the end, 1 if there is no such dimension; the elements
 * for each of `size`. */
double sizing_elements(const DLTensor *tensor);
double sizing_from_end(const DLTensor *tensor, int index);
double sizing_elements_per(const DLTensor *tensor, double size);

/* Work of operations. The file of a family has its own. */
double work_elements(const cli_job *job); /* as many as the largest array or result has */
double work_product(const cli_job *job);
double work_tucker(const cli_job *job);
double work_transform(const cli_job *job);
double work_linalg(const cli_job *job);
double work_sum(const cli_job *job); /* two operations for each element of the first array */
double work_chain(const cli_job *job);
double work_power(const cli_job *job);

#endif
