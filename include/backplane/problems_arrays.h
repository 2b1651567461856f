/* problems_arrays.h - describes random numbers, padding, flips, rolls and cumulative sums to providers: see problems.h.
 */
#ifndef BACKPLANE_PROBLEMS_ARRAYS_H
#define BACKPLANE_PROBLEMS_ARRAYS_H

#include "backplane/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Random numbers; since 2.9. Kinds, and the numbers of an element: random.h. */
typedef enum bp_random_kind {
    BP_RANDOM_UNIFORM, /* from 0, exclusive of 1; floating types */
    BP_RANDOM_NORMAL,  /* mean 0 and standard deviation 1; floating types */
    BP_RANDOM_BITS,    /* all values of an integer type */
    BP_RANDOM_KINDS
} bp_random_kind;

#define BP_MAX_RANDOM_NDIM 64

/* Operands: {seed, output}. The seed is two numbers of 64 bits, {seed, offset}, in host memory on every device: a
 * provider reads them in enqueue(), so that a plan serves all seeds. Dimensions are in the order of the indices, the
 * last one varies fastest, merged where strides allow it; element i has the numbers of index i of this order. Strides
 * are in elements of the output, which has the problem's type and does not overlap itself. Sizes are not 0. */
typedef struct bp_random_problem {
    uint32_t kind; /* a bp_random_kind */
    int32_t ndim;
    int64_t total; /* product of the sizes */
    int64_t size[BP_MAX_RANDOM_NDIM];
    int64_t stride[BP_MAX_RANDOM_NDIM];
} bp_random_problem;

/* What the elements are that padding adds. */
typedef enum bp_pad_mode { BP_PAD_CONSTANT, BP_PAD_REFLECT, BP_PAD_REPLICATE, BP_PAD_CIRCULAR } bp_pad_mode;

#define BP_MAX_PAD_NDIM 64

/* Padding, flips and rolls, as pad.h describes them; since 5.2. Operands: {X, Y}, of one type, which may be any.
 * Element o of a dimension of Y is element i of X, which has `inner` elements there:
 *
 *     flipped      i = inner - 1 - o; size is inner then, and before 0
 *     otherwise    i = o - before, if that is from 0 to inner - 1; else by `mode`:
 *                  CONSTANT    the element is `value`
 *                  REFLECT     -i, or 2 (inner - 1) - i
 *                  REPLICATE   0, or inner - 1
 *                  CIRCULAR    i + inner, or i - inner
 *
 * `before` is from -inner to size with CONSTANT and REPLICATE, and from -2 inner to inner with the others.
 * An element of Y is the value if one of its dimensions says so. The mode of FLIP is CONSTANT, and of ROLL CIRCULAR,
 * with the sizes of the input. Dimensions are sorted by decreasing magnitude of their stride in Y, dimensions of size 1
 * in Y come first, and neighbours that stay as they are are merged if all strides allow. Strides are in elements;
 * strides of X may be 0, and the stride of a size of 1 is 0. Without results there is one dimension of size 0;
 * otherwise no size of Y is 0. Y overlaps neither itself nor X. */
typedef struct bp_pad_problem {
    uint32_t mode; /* a bp_pad_mode */
    int32_t ndim;
    uint64_t flipped;  /* bit d: dimension d is flipped */
    uint8_t value[16]; /* the bytes of one element, and 0 */
    int64_t size[BP_MAX_PAD_NDIM], inner[BP_MAX_PAD_NDIM], before[BP_MAX_PAD_NDIM];
    int64_t x[BP_MAX_PAD_NDIM], y[BP_MAX_PAD_NDIM];
} bp_pad_problem;

#define BP_MAX_CUMSUM_NDIM 63

/* Cumulative sums along rows, as cumsum.h describes them. Operands: {X, Y}. The dimensions say which
 * row it is, sorted by decreasing magnitude of their stride in Y, except of size 1, and merged if all strides allow.
 * Strides are in elements, those along a row 0 if its length is 1; strides of X may be 0. Without elements, the length
 * is 0, and there are no dimensions; otherwise no size is 0. Y does not overlap itself. It may be X, with its type and
 * strides; otherwise it does not overlap X.
 *
 * Types are F16, BF16, F32, F64, I32 and I64. `output` is the type of Y: the same, or I64 for I32. */
typedef struct bp_cumsum_problem {
    uint32_t output; /* a bp_dtype */
    int32_t ndim;
    uint8_t exclusive, reverse;
    uint8_t reserved[6];
    int64_t length;         /* elements of a row */
    int64_t x_axis, y_axis; /* strides along a row */
    int64_t size[BP_MAX_CUMSUM_NDIM];
    int64_t x[BP_MAX_CUMSUM_NDIM], y[BP_MAX_CUMSUM_NDIM];
} bp_cumsum_problem;

#ifdef __cplusplus
}
#endif

#endif
