/* conv.h - declares the parts of convolutions: jobs, panels, kernels and plans.
 *
 * A convolution is computed as a product of two matrices, and one is never stored: its element for a position of the
 * result and a term (a tap of the kernel and a channel) is an element of the image, or 0 outside it. Panels of this
 * matrix are gathered from the image when they are needed, in the layout of the product kernels (../gemm/gemm.h).
 *
 * A job is what one such product computes. CONV is one job. CONV_INPUT with strides above 1 is one job for each phase:
 * positions of the result that differ by a multiple of the stride have the same taps. The image is the operand that is
 * gathered: X, or Y for CONV_INPUT.
 *
 * Each result is a chain of fused multiply-adds in the order of its terms, cut into blocks as in products. Tiles and
 * threads do not change it, nor does the position in the batch.
 */
#ifndef BP_NATIVE_CONV_H
#define BP_NATIVE_CONV_H

#include "providers/native/gemm/choose.h"

/* One of the three dimensions of a job. Position o of the job and tap t read image index o * step + first + t * change.
 */
typedef struct bp__conv_axis {
    int64_t grid;                       /* positions */
    int64_t result;                     /* elements of the result between positions */
    int64_t size, stride;               /* of the image: its size, and elements between indexes */
    int64_t step, first, change;        /* of the image index */
    int64_t taps, weight_first, weight; /* elements of the first tap's weight, and between taps */
} bp__conv_axis;

typedef struct bp__conv_job {
    bp__conv_axis axis[BP_MAX_CONV_NDIM];
    int64_t batch, image_batch, result_batch;
    int64_t origin;         /* elements of the result before position 0 */
    int64_t positions;      /* of all items */
    int64_t taps, terms;    /* terms: taps times channels, with the channel varying fastest */
    int64_t rows, channels; /* channels of the result, and of the image, in one group */
    int64_t result_channel, image_channel;
    int64_t weight_row, weight_channel;
} bp__conv_job;

/* Returns the number of jobs of CONV or CONV_INPUT. */
int64_t bp__conv_jobs(const bp_problem *problem);
/* Makes one of them. */
void bp__conv_job_of(const bp_problem *problem, int64_t index, bp__conv_job *job);

/* Makes one row of all positions of an item where each reads the element with its index, and elements follow each
 * other: kernels of one element. */
void bp__conv_join_axes(bp__conv_job *job);

/* Sums of `runs` runs of n results each. For run r and result i, in the order of t:
 *     sums[r * n + i] += weights[t * weight_term + i * weight_step] * from[t][r * run + i * step]
 * Terms with from[t] == NULL are left out. weight_step is 0 or 1. Weights have the type of sums. */
typedef struct bp__conv_sums {
    int64_t n, terms, runs;
    void *sums;
    const char *const *from;
    const uint8_t *inside; /* for complete(): NULL, or for each term the runs that have it, as bits */
    int64_t run, step;     /* elements */
    const void *weights;
    int64_t weight_term, weight_step;
} bp__conv_sums;

enum { BP__CONV_EDGE = 4 }; /* positions at the edge of a row that are computed together */

/* Writes `runs` runs of n results each: for run r and result i
 *     to[r * to_run + i * to_step] = sums[r * sums_run + i] + bias[r * bias_run + i * bias_step]
 * or 0 where this is negative if `relu`. `bias` may be NULL. */
typedef struct bp__conv_results {
    int64_t n, runs;
    char *to;
    int64_t to_run, to_step; /* elements, as all strides */
    const void *sums;
    int64_t sums_run;
    const char *bias;
    int64_t bias_run, bias_step;
    bool relu;
} bp__conv_results;

/* Products of two rows for some taps. For tap t and column i, with positions o in ascending order:
 *     sums[t * sums_tap + i] += sum of y[o * y_step + i] * x[x_first + o * x_step + t * x_tap + i]
 * Tap t has the positions from first[t] to end[t]; all taps have those from `low` to `high`. All numbers have the type
 * of sums, and n is a multiple of the lanes. */
typedef struct bp__conv_correlation {
    int64_t n, count, taps;
    const void *y, *x;
    int64_t y_step, x_first, x_step, x_tap; /* elements */
    const int64_t *first, *end;
    int64_t low, high;
    void *sums;
    int64_t sums_tap;
} bp__conv_correlation;

/* Rows that are converted to the type of sums: for row r and i from `before` to `end`
 *     to[r * to_row + i] = from[r * row + (i - before) * step]
 * The other elements of the n are 0. */
typedef struct bp__conv_rows {
    int64_t n, count, before, end;
    const char *from;
    int64_t row, step; /* elements */
    void *to;
    int64_t to_row;
} bp__conv_rows;

/* Kernels of one instruction set for one type. */
typedef struct bp__conv_kernels {
    /* Writes k rows of a panel of `width` columns. Column i has the elements from[i][0], from[i][step], ...; it is 0 if
     * from[i] is NULL. */
    void (*gather)(void *panel, int width, const char *const *from, int64_t step, int64_t k);
    void (*finish)(const bp__conv_results *results);
    void (*add)(const bp__conv_sums *sums);
    /* add() from 0, and finish() of the same sums, which stay in registers. For step, weight_step and to_step of 1 and
     * bias_step of 0 or 1. `sums` of both arguments is not used. With `inside`, for BP__CONV_EDGE runs at most. */
    void (*complete)(const bp__conv_sums *sums, const bp__conv_results *results);
    void (*correlate)(const bp__conv_correlation *rows);
    /* Converts n elements to the type of sums. */
    void (*widen)(int64_t n, void *to, const char *from, int64_t step);
    void (*widen_rows)(const bp__conv_rows *rows);
    /* Returns the sum of n elements as f64. */
    double (*sum)(int64_t n, const char *from, int64_t step);
    void (*store)(char *to, double value);
} bp__conv_kernels;

/* Types from BP_F16 on, in the order of bp_dtype. */
#define BP__CONV_DTYPES 4
extern const bp__conv_kernels bp__conv_default[BP__CONV_DTYPES];
extern const bp__conv_kernels bp__conv_avx2[BP__CONV_DTYPES];
extern const bp__conv_kernels bp__conv_avx512[BP__CONV_DTYPES];

/* The kernels that a plan uses. */
typedef struct bp__conv_set {
    const bp__native_kernels *products;
    const bp__conv_kernels *own;
    const bp__conv_kernels *plain; /* for elements of the type of sums */
} bp__conv_set;

/* Returns the rows of the next panel of V if `left` remain, as the product kernels cut them: panels are full, except
 * that one vector more than a panel of three or more is cut into two panels. */
static inline int bp__conv_v_width(const bp__native_kernels *kernels, int64_t left) {
    const int64_t vectors = (left + kernels->lanes - 1) / kernels->lanes, full = kernels->p_panel / kernels->lanes;
    return (int)(vectors == full + 1 && full > 2 ? full - 1 : vectors < full ? vectors : full) * kernels->lanes;
}

static inline int64_t bp__conv_round_up(int64_t x, int64_t unit) {
    return (x + unit - 1) / unit * unit;
}

/* Returns the terms of panels for k terms, with their padding. */
static inline int64_t bp__conv_depth(const bp__native_kernels *kernels, int64_t k) {
    return bp__conv_round_up(k, kernels->k_unit);
}

/* ---- gather.c ---- */

/* Packs `count` positions from `start` on, for the terms k0 to k0 + k, into panels of V or S. */
void bp__conv_gather(const bp__conv_job *job, const bp__conv_set *set, const char *image, bool as_v, int64_t start,
                     int64_t count, int64_t k0, int64_t k, char *panels);

/* Packs `count` rows of the weight from `start` on in the same way. */
void bp__conv_pack_weight(const bp__conv_job *job, const bp__conv_set *set, const char *weight, bool as_v,
                          int64_t start, int64_t count, int64_t k0, int64_t k, char *panels);

/* Converts a position to its item and its indexes. */
void bp__conv_position(const bp__conv_job *job, int64_t position, int64_t index[1 + BP_MAX_CONV_NDIM]);

/* Returns which indexes a tap has in each dimension. */
void bp__conv_tap(const bp__conv_job *job, int64_t tap, int64_t of[BP_MAX_CONV_NDIM]);

/* ---- packed.c ---- */

/* A weight that was packed beforehand. */
typedef struct bp__conv_packed {
    bp_packed base; /* must be first: dispatch uses this part */
    const bp_host *host;
    char *panels;
} bp__conv_packed;

/* Allocates memory for a packed weight. Returns BP_E_NO_MEMORY if there is none. */
bp_status bp__conv_packed_new(const bp_host *host, size_t bytes, bp__conv_packed **packed);

/* ---- bias.c ---- */

/* Writes the gradient by the bias: the sums of the channels of `from`, the second operand. */
void bp__conv_sum_bias(const bp_host *host, const bp_problem *problem, const bp__conv_set *set, int threads,
                       const char *from, char *bias, bp__stop *stop);

/* ---- activate.c ---- */

/* Plans a convolution with a function of the results, which is computed in place after the plan `results`. Takes
 * ownership of that plan on success. */
bp_status bp__conv_plan_activation(const bp_host *host, const bp_problem *problem, int threads, bp_prepared *results,
                                   bp_prepared **prepared);

/* Returns the estimated time of that function on one thread. */
double bp__conv_activation_cost(const bp_host *host, const bp_problem *problem);

/* ---- Plans: product.c and direct.c (CONV and CONV_INPUT), weight.c and direct_weight.c (CONV_WEIGHT) ---- */

/* Whether vectors of the direct algorithm follow the groups: image and result have one channel for each group, and the
 * groups are contiguous. */
bool bp__conv_follows_groups(const bp_problem *problem);

/* Whether the direct algorithm takes a packed weight. */
bool bp__conv_direct_packs(const bp_problem *problem);

bp_status bp__conv_plan_direct(const bp_host *host, const bp_problem *problem, const bp__conv_set *set, int threads,
                               bp_prepared **prepared);
/* Includes the function of the results, which other plans do not. */
bp_status bp__conv_plan_product(const bp_host *host, const bp_problem *problem, const bp__conv_set *set, int threads,
                                bp_prepared **prepared);
bp_status bp__conv_plan_weight(const bp_host *host, const bp_problem *problem, const bp__conv_set *set, int threads,
                               bp_prepared **prepared);
bp_status bp__conv_plan_direct_weight(const bp_host *host, const bp_problem *problem, const bp__conv_set *set,
                                      int threads, bp_prepared **prepared);

/* Returns the estimated time on one thread of the direct algorithm with vectors along positions. `rate` is the
 * multiply-adds per nanosecond of the products. */
double bp__direct_rows_cost(const bp_problem *problem, const bp__native_kernels *kernels, double rate);

/* Whether bp__conv_plan_direct_weight() reads X and Y in place. */
bool bp__conv_weight_in_place(const bp_problem *problem, const bp__native_kernels *kernels);

#endif
