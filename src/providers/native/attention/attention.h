/* attention.h - declares the parts of attention: kernels and plans.
 *
 * Scores of queries and keys are computed in panels: each row belongs to a key, and has one lane for each of a few
 * queries. So all steps of softmax are steps of whole vectors, and keys and values are read where they are. A query's
 * result is one chain of operations in the order of the keys, cut into blocks of keys; which blocks there are depends
 * on the problem alone. It does not depend on other queries, on the position in the batch or on threads.
 *
 *   flash          one block of keys at a time: the sums so far are rescaled when a block has a greater score (Milakov
 *                  and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao and others,
 *                  "FlashAttention", 2022). Few queries are computed one by one, without panels. Long keys of few
 *                  queries are cut into parts, which are merged at the end.
 *   mem_efficient  all scores of a panel, then softmax, then the sums: no rescaling. Its memory grows with the number
 *                  of keys.
 *   math           all scores of the batch, by two matrix products.
 *   flash_bf16     as flash, for bf16 inputs and processors with VDPBF16PS, which multiplies pairs of bf16 numbers and
 *                  adds to sums of f32. Weights are rounded to bf16 before they are multiplied by values; the sum of
 *                  the weights has them before that, so that LOGSUMEXP is as with the other kernels. Inputs of f32 are
 *                  rounded to bf16 when they are copied to pairs, if fp32_precision permits it.
 *
 * The factor log2(e) of exponentials is applied to the difference of a score and the greatest one: with it, scores near
 * the greatest number would overflow. */
#ifndef BP_NATIVE_ATTENTION_H
#define BP_NATIVE_ATTENTION_H

#include "providers/attention/keys.h"
#include "providers/native/gemm/choose.h"

/* The keys of a panel that its lanes see, a number for each lane: keys from `first` (NULL: from 0) on, before `end`
 * (NULL: all). */
typedef struct bp__attention_limits {
    const void *first, *end;
} bp__attention_limits;

/* Kernels for one type of computation. Panels are arrays [keys][lanes]. */
typedef struct bp__attention_numbers {
    int lanes;     /* queries of a panel */
    size_t number; /* bytes */
    /* c[i] = c[i] * factor + sum over k of a[i * a_row + k * a_inner] * b[k], for rows of panels. Without a factor
     * (NULL) c is not read. */
    void (*product)(int64_t rows, int64_t inner, const void *a, int64_t a_row, int64_t a_inner, const void *b, void *c,
                    const void *factor);
    /* Replaces scores x by cap tanh(x / cap). `slopes` (NULL: none) gets the derivatives. */
    void (*cap)(int64_t count, void *scores, double cap, void *slopes);
    /* Replaces scores by weights e^(score - greatest), updates greatest and sum, and writes the factor for earlier
     * sums. `bias` (NULL: none) is added first. Keys outside the limits have weight 0. */
    void (*softmax)(int64_t keys, void *scores, const void *bias, bp__attention_limits limits, void *greatest,
                    void *sum, void *factor);
    /* The same for one query, whose scores are contiguous. */
    void (*dots)(int64_t keys, int64_t size, const void *query, const void *key, int64_t key_row, void *scores);
    void (*softmax_row)(int64_t keys, void *scores, const void *bias, void *greatest, void *sum, void *factor);
    void (*combine)(int64_t keys, int64_t size, const void *weights, const void *value, int64_t value_row, void *sum,
                    const void *factor);
    /* Replaces scores by weights e^(score - center - logarithm), of each lane. `sums` has a line of centers, and one of
     * logarithms. */
    void (*weigh)(int64_t keys, void *scores, const void *bias, bp__attention_limits limits, const void *sums);
    /* slopes[k] = weights[k] * (slopes[k] - shares), of each lane. */
    void (*slope)(int64_t keys, void *slopes, const void *weights, const void *shares);
    /* of[i] = of[i] * by[i] */
    void (*multiply)(int64_t count, void *of, const void *by);
    /* c[i][lane] = c[i][lane] * a[lane] + more[i][lane] * b[lane] */
    void (*merge)(int64_t rows, int64_t lanes, void *c, const void *a, const void *more, const void *b);
    /* Multiply `count` numbers by a factor; replace slopes by weights[k] * (slopes[k] - the sum of their products). */
    void (*scale)(int64_t count, void *of, double factor);
    void (*slope_row)(int64_t keys, void *slopes, const void *weights);
    /* to[k * lanes] = from[k * stride] != 0 ? 0 : -infinity, for masks of type BOOL. */
    void (*permit)(int64_t keys, const void *from, int64_t stride, void *to, int64_t lanes);
    /* to[k * lanes] = from[k * stride], for masks of type F32. */
    void (*bias)(int64_t keys, const float *from, int64_t stride, void *to, int64_t lanes);
    /* Copies lane 0 of a panel to the others. */
    void (*spread)(int64_t keys, void *panel);
    /* Sets weights to 0 where the random number is below `limit`, and multiplies the others by `factor`. */
    void (*drop)(int lanes, int64_t keys, void *weights, int64_t first, const uint64_t *rows, uint64_t seed,
                 uint64_t limit, double factor);
    double (*load)(const void *from);
    void (*set)(void *to, int64_t count, double value);
    void (*copy)(void *to, int64_t count, const double *from);
} bp__attention_numbers;

/* Conversions of one type of elements to numbers and back. Strides are in elements. */
typedef struct bp__attention_elements {
    size_t element; /* bytes */
    /* to[i * to_row + j] = from[i * row + j * column] * factor */
    void (*widen)(int64_t rows, int64_t columns, const void *from, int64_t row, int64_t column, double factor, void *to,
                  int64_t to_row);
    /* to[i * row + j * column] = from[i * from_row + j * from_column] * factor */
    void (*narrow)(int64_t rows, int64_t columns, const void *from, int64_t from_row, int64_t from_column,
                   double factor, void *to, int64_t row, int64_t column);
    /* Panels of at most BP__ATTENTION_LANES lanes; the first `rows` exist, the others are set to 0, or not read.
     * to[j * lanes + i] = from[i][j * column] * factor */
    void (*pack)(int64_t lanes, int64_t rows, int64_t columns, const void *const *from, int64_t column, double factor,
                 void *to);
    /* to[i][j * column] = from[j * lanes + i] / sum[i], or from[j * lanes + i] if the sum is 0 */
    void (*unpack)(int64_t lanes, int64_t rows, int64_t columns, const void *from, const void *sum, void *const *to,
                   int64_t column);
} bp__attention_elements;

#define BP__ATTENTION_LANES 32  /* most lanes of a panel */
#define BP__ATTENTION_NUMBERS 2 /* f32, f64 */
#define BP__ATTENTION_DTYPES 4  /* from BP_F16 on, in the order of bp_dtype */
extern const bp__attention_numbers bp__attention_numbers_default[BP__ATTENTION_NUMBERS];
extern const bp__attention_numbers bp__attention_numbers_avx2[BP__ATTENTION_NUMBERS];
extern const bp__attention_numbers bp__attention_numbers_avx512[BP__ATTENTION_NUMBERS];
extern const bp__attention_elements bp__attention_elements_default[BP__ATTENTION_DTYPES];
extern const bp__attention_elements bp__attention_elements_avx2[BP__ATTENTION_DTYPES];
extern const bp__attention_elements bp__attention_elements_avx512[BP__ATTENTION_DTYPES];

/* Kernels that multiply pairs of bf16 numbers with VDPBF16PS: for scores, numbers of neighbouring columns; for sums of
 * values, numbers of neighbouring keys. A pair has 32 bits, the first number in the lower half; the last one of an odd
 * number has a 0. Panels of pairs are arrays [pairs][lanes]. */
typedef struct bp__attention_pairs {
    const bp__attention_numbers *numbers; /* the kernels of f32 for panels with the same lanes */
    /* scores[k] = scale * (sum over d of queries[d] * key[k * key_row + d]); `pairs` of both are multiplied. */
    void (*multiply_keys)(int64_t keys, int64_t pairs, const void *key, int64_t key_row, const void *queries,
                          void *scores, double scale);
    /* sums[e] = sums[e] * factor + sum over k of values[k][e] * weights[k], for pairs of keys. */
    void (*multiply_values)(int64_t columns, int64_t pairs, const void *values, const void *weights, void *sums,
                            const void *factor);
    /* Replaces a panel of weights by pairs of keys, rounded to bf16. */
    void (*round)(int64_t keys, void *weights);
    /* Writes pairs of rows, one row of `columns` pairs for each. Strides are in elements. The second one reads f32 and
     * rounds. */
    void (*interleave)(int64_t rows, int64_t columns, const void *from, int64_t row, int64_t column, void *to);
    void (*interleave_f32)(int64_t rows, int64_t columns, const void *from, int64_t row, int64_t column, void *to);
    /* Writes one row of f32 numbers, rounded to bf16; an odd number of columns is followed by a 0. */
    void (*round_row)(int64_t columns, const void *from, int64_t column, void *to);
} bp__attention_pairs;

extern const bp__attention_pairs bp__attention_pairs_avx512bf16;

/* Returns the kernels for pairs that the processor and the problem's policy permit, or NULL and a reason. */
const bp__attention_pairs *bp__attention_pairs_for(const bp_host *host, const bp_problem *problem, const char **why);

typedef struct bp__attention_set {
    const bp__attention_numbers *numbers;
    const bp__attention_elements *elements; /* of all types */
    const bp__attention_pairs *pairs;       /* of the kernel flash_bf16; otherwise NULL */
} bp__attention_set;

/* Returns the bytes of an element of a tensor. */
static inline int64_t bp__attention_bytes(uint32_t dtype) {
    return dtype == BP_BOOL ? 1 : dtype < BP_F32 ? 2 : dtype == BP_F32 || dtype == BP_I32 ? 4 : 8;
}

/* Returns a number of PAGES or LENGTHS. */
static inline int64_t bp__attention_integer(const char *at, uint32_t dtype) {
    return dtype == BP_I32 ? *(const int32_t *)(const void *)at : *(const int64_t *)(const void *)at;
}

/* Whether the gradient by the mask has more digits than OUTPUT. Its rounding would be seen in that gradient, so that
 * flash and mem_efficient compute the sums of OUTPUT times OUTPUT_GRADIENT from weights then. */
static inline bool bp__attention_weighs(const bp_problem *problem) {
    const uint32_t dtype = problem->of.attention.tensor[BP_ATTENTION_MASK_GRADIENT].dtype;
    return problem->dtype < BP_F32 && dtype == BP_F32;
}

typedef enum bp__attention_kernel {
    BP__ATTENTION_FLASH,
    BP__ATTENTION_EFFICIENT,
    BP__ATTENTION_MATH
} bp__attention_kernel;

/* Plan the forward pass by flash or mem_efficient, both passes by math, and the gradients by the other two. */
bp_status bp__attention_plan_forward(const bp_host *host, const bp_problem *problem, const bp__attention_set *set,
                                     bp__attention_kernel kernel, int threads, bp_prepared **prepared);
bp_status bp__attention_plan_math(const bp_host *host, const bp_problem *problem, const bp__attention_set *set,
                                  int threads, bp_prepared **prepared);
bp_status bp__attention_plan_backward(const bp_host *host, const bp_problem *problem, const bp__attention_set *set,
                                      bp__attention_kernel kernel, int threads, bp_prepared **prepared);

#endif
