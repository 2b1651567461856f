/* kernel_set.c - instantiates the kernels of reductions and softmax of one instruction set. CMake compiles this
 * file once for each (KERNEL_ISA, VECTOR_BYTES). */
#include "reduce.h"
#include "providers/native/isa.h"

#include "providers/native/kernel_vector.h"

#include "providers/native/half.h"
#include "providers/native/kernel_convert.h"
#include "providers/native/kernel_math.h"
#include "providers/native/kernel_tiles.h"

#include <math.h>

typedef int32_t vector_i32 __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t vector_i64 __attribute__((vector_size(VECTOR_BYTES)));

#if VECTOR_BYTES == 64 && defined(__AVX512F__)
#include "kernel_masks.h"
#endif

/* Joins the moments of other elements to the moments of some. */
static void join_moments(bp__reduce_moments *to, const bp__reduce_moments *from) {
    if (to->count == 0 || from->count == 0) {
        *to = to->count == 0 ? *from : *to;
        return;
    }
    const double count = to->count + from->count, share = from->count / count;
    const double delta = (from->shift - to->shift) + ((from->mean - to->mean) + (from->low - to->low));
    const double step = delta * share, mean = to->mean + step, part = mean - to->mean;
    to->low += (to->mean - (mean - part)) + (step - part); /* what rounding has left of the sum (Knuth) */
    to->mean = mean;
    to->square += from->square + delta * delta * (to->count * share);
    to->count = count;
}

#define TEMPLATE "providers/native/reduce/kernel_float.h"
#include "providers/native/kernel_each_type.h"

#define NARROW SAME
#define WIDEN SAME
#define TYPE i32
#define IN int32_t
#define VECTOR vector_i32
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#include "kernel_integer.h"
#undef TYPE
#undef IN
#undef VECTOR
#undef LOWEST
#undef HIGHEST

#define TYPE i64
#define IN int64_t
#define VECTOR vector_i64
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#include "kernel_integer.h"
#undef TYPE

enum { TOGETHER = 1024 }; /* elements of a row that are joined before it may be known */
#define TYPE u8
#define WORD uint8_t
#define BITS UINT8_MAX
#include "kernel_truth.h"

#define TYPE u32
#define WORD uint32_t
#define BITS UINT32_MAX
#include "kernel_truth.h"

#define TYPE u64
#define WORD uint64_t
#define BITS UINT64_MAX
#include "kernel_truth.h"

#define TYPE r16
#define WORD uint16_t
#define BITS 0x7fff
#include "kernel_truth.h"

#define TYPE r32
#define WORD uint32_t
#define BITS 0x7fffffff
#include "kernel_truth.h"

#define TYPE r64
#define WORD uint64_t
#define BITS INT64_MAX
#include "kernel_truth.h"

/* ---- Kernels of all types ---- */

static void clear_sum(int64_t lanes, void *values, int64_t *indices) {
    (void)indices;
    memset(values, 0, (size_t)lanes * 8); /* 0 of f64 and of i64 */
}

#define CLEAR_PROD(type, number)                                                                                       \
    static void clear_prod_##type(int64_t lanes, void *values, int64_t *indices) {                                     \
        (void)indices;                                                                                                 \
        for (int64_t l = 0; l < lanes; l++) {                                                                          \
            ((number *)values)[l] = 1;                                                                                 \
        }                                                                                                              \
    }
CLEAR_PROD(real, double)
CLEAR_PROD(integer, uint64_t)

#define MERGE(kind, type, number, operator)                                                                            \
    static void merge_##kind##_##type(int64_t lanes, void *values, int64_t *indices, const void *others,               \
                                      const int64_t *other_indices) {                                                  \
        (void)indices, (void)other_indices;                                                                            \
        for (int64_t l = 0; l < lanes; l++) {                                                                          \
            ((number *)values)[l] operator((const number *)others)[l];                                                 \
        }                                                                                                              \
    }
MERGE(sum, real, double, +=)
MERGE(sum, integer, uint64_t, +=)
MERGE(prod, real, double, *=)
MERGE(prod, integer, uint64_t, *=)

static void clear_variance(int64_t lanes, void *values, int64_t *indices) {
    (void)indices;
    memset(values, 0, (size_t)lanes * sizeof(bp__reduce_moments));
}

static void merge_variance(int64_t lanes, void *values, int64_t *indices, const void *others,
                           const int64_t *other_indices) {
    (void)indices, (void)other_indices;
    for (int64_t l = 0; l < lanes; l++) {
        join_moments(&((bp__reduce_moments *)values)[l], &((const bp__reduce_moments *)others)[l]);
    }
}

static void store_index(int64_t lanes, const void *values, const int64_t *indices, char *to, int64_t stride, bool i64,
                        double divisor) {
    (void)values, (void)i64, (void)divisor;
    for (int64_t l = 0; l < lanes; l++) {
        ((int64_t *)(void *)to)[l * stride] = indices[l];
    }
}

#define SUM_KERNELS(type, number)                                                                                      \
    { clear_sum, add_sum_##type, rows_sum_##type, merge_sum_##number, store_sum_##type, 8, sizeof(element_##type) }
#define PROD_KERNELS(type, number)                                                                                     \
    {                                                                                                                  \
        clear_prod_##number, add_prod_##type, rows_prod_##type, merge_prod_##number, store_sum_##type, 8,              \
            sizeof(element_##type)                                                                                     \
    }
#define EXTREME_KERNELS(type, kind, store)                                                                             \
    {                                                                                                                  \
        clear_##kind##_##type, add_##kind##_##type, rows_##kind##_##type, merge_##kind##_##type, store,                \
            sizeof(number_##type), sizeof(element_##type)                                                              \
    }
#define VARIANCE_KERNELS(type, kind)                                                                                   \
    {                                                                                                                  \
        clear_variance, add_variance_##type, rows_variance_##type, merge_variance, store_##kind##_##type,              \
            sizeof(bp__reduce_moments), sizeof(element_##type)                                                         \
    }
#define TRUTH_KERNELS(word, kind)                                                                                      \
    {                                                                                                                  \
        clear_truth_##word, add_##kind##_##word, rows_##kind##_##word, merge_truth_##word, store_##kind##_##word,      \
            sizeof(word_##word), sizeof(word_##word)                                                                   \
    }
#define TRUTHS(word) [BP_REDUCE_ANY] = TRUTH_KERNELS(word, any), [BP_REDUCE_ALL] = TRUTH_KERNELS(word, all)
#define VARIANCES(type)                                                                                                \
    [BP__REDUCE_VARIANCE + BP_VAR] = VARIANCE_KERNELS(type, var),                                                      \
                           [BP__REDUCE_VARIANCE + BP_STD] = VARIANCE_KERNELS(type, std)
#define KERNELS(type, number, ...)                                                                                     \
    {                                                                                                                  \
        SUM_KERNELS(type, number), PROD_KERNELS(type, number), SUM_KERNELS(type, number),                              \
            EXTREME_KERNELS(type, max, store_extreme_##type), EXTREME_KERNELS(type, min, store_extreme_##type),        \
            EXTREME_KERNELS(type, argmax, store_index), EXTREME_KERNELS(type, argmin, store_index), __VA_ARGS__        \
    }
#define SOFTMAX_KERNELS(type)                                                                                          \
    {                                                                                                                  \
        .exps = exps_##type, .scale = scale_##type, .softmax = softmax_##type, .log_softmax = log_softmax_##type,      \
        .products = products_##type, .sums = sums_##type, .gradient = gradient_##type,                                 \
        .log_gradient = log_gradient_##type, .rows = softmax_rows_##type, .gradient_rows = gradient_rows_##type,       \
        .set = set_##type, .number = sizeof(number_##type), .element = sizeof(element_##type)                          \
    }
const bp__reduce_set KERNEL_TABLE(bp__reduce) = {
    .reduce = {KERNELS(f16, real, TRUTHS(r16), VARIANCES(f16)),
               KERNELS(bf16, real, TRUTHS(r16), VARIANCES(bf16)),
               KERNELS(f32, real, TRUTHS(r32), VARIANCES(f32)),
               KERNELS(f64, real, TRUTHS(r64), VARIANCES(f64)),
               KERNELS(i32, integer, TRUTHS(u32)),
               KERNELS(i64, integer, TRUTHS(u64)),
               {TRUTHS(u8)}},
    .softmax = {SOFTMAX_KERNELS(f16), SOFTMAX_KERNELS(bf16), SOFTMAX_KERNELS(f32), SOFTMAX_KERNELS(f64)},
};
