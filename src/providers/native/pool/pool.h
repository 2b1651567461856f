/* pool.h - declares the parts of pooling: windows, kernels and plans.
 *
 * Vectors follow the channels if these are contiguous (channels-last), otherwise a row of positions. Sums have the type
 * of sums: f64 for f64, f32 for all others. The order of a sum depends on the problem only: threads take whole rows
 * (forward) or whole planes (backward). */
#ifndef BP_NATIVE_POOL_H
#define BP_NATIVE_POOL_H

#include "providers/native/gemm/choose.h"

/* The part of a window that is inside the input, in one dimension. */
typedef struct bp__pool_window {
    int64_t first, count, step; /* input indexes: first, first + step, ... */
    int64_t size;               /* elements that an average counts if it includes padding */
} bp__pool_window;

bp__pool_window bp__pool_window_of(const bp_pool_problem *pool, int d, int64_t out);

/* Rewrites adaptive windows of equal sizes as windows of a kernel, and windows over all rows of a channel as one row.
 */
void bp__pool_simplify(bp_pool_problem *pool);

/* Finds the outputs of the last dimension whose windows are complete, so that each is the one before it, moved by the
 * stride: [*low, *high). Adaptive windows have none. */
void bp__pool_inner(const bp_pool_problem *pool, int64_t *low, int64_t *high);

/* Returns the divisor of an average over these windows. */
double bp__pool_divisor(const bp_pool_problem *pool, const bp__pool_window window[BP_MAX_CONV_NDIM]);

/* Whether a divisor is a power of two: a division by it has the bits of a multiplication. */
bool bp__pool_is_power(double divisor);

/* A row of taps: `taps` elements of the input, `tap_step` elements and `number_step` indices apart, for n results,
 * `step` elements apart. */
typedef struct bp__pool_row {
    int64_t n, step, taps, tap_step, number_step;
} bp__pool_row;

/* Windows of equal shape, one after the other, each with contiguous lanes: channels, or positions of a row. A window
 * has rows of taps, the taps of a row in a list. Sizes are in elements. */
typedef struct bp__pool_run {
    const char *x;                                       /* the first tap of the first window */
    char *y;                                             /* its result */
    int64_t *indices;                                    /* its index; NULL: none */
    int64_t lanes;                                       /* at least the lanes of a vector */
    int64_t windows, x_step, y_step, i_step, place_step; /* how many, and how far they are apart */
    int64_t rows[2], row_step[2], row_place[2];          /* how many, and how far apart are taps and indices */
    int64_t taps;
    const int64_t *tap, *place; /* of the taps of a row: elements and indices after the first one */
    int64_t first, place_lane;  /* the index of the first tap; between the indices of lanes */
    double divisor;
    bool exact;           /* the divisor is a power of two */
    const void *divisors; /* one for each lane, of the type of sums; NULL: `divisor` */
} bp__pool_run;

/* The taps of windows of a certain shape, as a run has them. */
typedef struct bp__pool_taps {
    int64_t tap[64], place[64];
} bp__pool_taps;

/* Joins the rows of taps to one row, if it fits into `taps`, which must remain as long as the run. */
void bp__pool_join_rows(bp__pool_run *run, bp__pool_taps *taps);

/* Kernels of one instruction set for one type. */
typedef struct bp__pool_kernels {
    /* Updates n maxima, and the indices of their taps: `number` is the number of the row's first tap. `which` may be
     * NULL. */
    void (*max)(const bp__pool_row *row, void *best, int64_t *which, const char *from, int64_t number);
    /* Sets n maxima to minus infinity. */
    void (*lowest)(int64_t n, void *best);
    /* Adds a row to n sums. */
    void (*add)(const bp__pool_row *row, void *sums, const char *from);
    /* Writes n results: to[i * step] = sums[i] / divisor. */
    void (*store)(int64_t n, char *to, int64_t step, const void *sums, double divisor);
    /* Adds from[i * from_step] / divisor to the n sums of each tap. Steps of the row are steps of the sums. */
    void (*spread)(const bp__pool_row *row, void *sums, const char *from, int64_t from_step, double divisor);
    /* Adds n gradients to the sums at[i * at_step] * sums_step + i * next. Returns false, at the first index that is
     * neither -1 nor below `places`. */
    bool (*scatter)(int64_t n, void *sums, int64_t sums_step, int64_t next, const char *from, int64_t from_step,
                    const int64_t *at, int64_t at_step, int64_t places);
    /* Compute the maxima of a run, its averages, and averages of numbers of the type of sums. The maxima are not
     * complete if false is returned: a tap is NaN, or with indices all taps of a window are minus infinity. */
    bool (*max_run)(const bp__pool_run *run);
    void (*average_run)(const bp__pool_run *run);
    void (*sum_run)(const bp__pool_run *run);
    /* Writes n numbers of the type of sums: to[i] = from[i * step] / divisor. */
    void (*divide)(int64_t n, void *to, const char *from, int64_t step, double divisor);
    /* Copies n elements. */
    void (*copy)(int64_t n, char *to, int64_t to_step, const char *from, int64_t from_step);
    /* Sets n elements to 0, or to minus infinity. */
    void (*pad)(int64_t n, char *to, bool lowest);
    /* Writes n numbers of the type of sums: sizes[i] * rest. */
    void (*divisors)(int64_t n, void *to, const double *sizes, double rest);
    int lanes;           /* of a vector */
    size_t element, sum; /* bytes */
} bp__pool_kernels;

/* Types from BP_F16 on, in the order of bp_dtype. */
#define BP__POOL_DTYPES 4
extern const bp__pool_kernels bp__pool_default[BP__POOL_DTYPES];
extern const bp__pool_kernels bp__pool_avx2[BP__POOL_DTYPES];
extern const bp__pool_kernels bp__pool_avx512[BP__POOL_DTYPES];

/* Whether vectors follow the channels, which are contiguous in all operands. */
bool bp__pool_by_channels(const bp_pool_problem *pool);

/* What computes the rows of the forward pass: any.c, channels.c or positions.c. */
typedef enum bp__pool_rows { BP__POOL_ANY, BP__POOL_CHANNELS, BP__POOL_POSITIONS } bp__pool_rows;
bp__pool_rows bp__pool_choose_rows(const bp_pool_problem *simplified, const bp__pool_kernels *kernels);

/* Returns the estimated time in ns on one thread. */
double bp__pool_cost(const bp_problem *problem, const bp__pool_kernels *kernels);

bp_status bp__pool_plan_forward(const bp_host *host, const bp_problem *problem, const bp__pool_kernels *kernels,
                                int threads, bp_prepared **prepared);
/* The gradient of averages whose channels are contiguous. */
bool bp__pool_spreads(const bp_pool_problem *pool, const bp__pool_kernels *kernels);
bp_status bp__pool_plan_spread(const bp_host *host, const bp_problem *problem, const bp__pool_kernels *kernels,
                               int threads, bp_prepared **prepared);
bp_status bp__pool_plan_backward(const bp_host *host, const bp_problem *problem, const bp__pool_kernels *kernels,
                                 int threads, bp_prepared **prepared);

#endif
