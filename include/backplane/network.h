/* network.h - describes the operations of neural networks to providers: convolutions, pooling, normalization,
 * attention, recurrent layers, reductions, softmax, operations on single elements, and random numbers. They are members
 * of the union in bp_problem (provider.h). */
#ifndef BACKPLANE_NETWORK_H
#define BACKPLANE_NETWORK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_MAX_CONV_NDIM 3 /* positions of convolutions and pooling */

/* A convolution of X with W that gives Y, or one of its transposes. For item n, group g, output channel k and input
 * channel c of the group, position o of Y and t of W:
 *
 *     CONV          Y[n,g,k,o] = bias[g,k] + sum over c, t of W[g,k,c,t] X[n,g,c, o stride + t dilation - padding]
 *     CONV_INPUT    X[n,g,c,i] = bias[g,c] + sum over k, t, o with o stride + t dilation - padding = i
 *                                            of W[g,k,c,t] Y[n,g,k,o]
 *     CONV_WEIGHT   W[g,k,c,t] = sum over n, o of Y[n,g,k,o] X[n,g,c, o stride + t dilation - padding]
 *
 * Elements outside X are 0. Operands: CONV {X, W, bias, Y}; CONV_INPUT {Y, W, bias, X}; CONV_WEIGHT {X, Y, W, bias}, or
 * {Y, X, W, bias} if `transposed`, with bias the sum of the second operand over items and positions. The bias may be
 * absent. With `relu`, negative elements of the result of CONV and CONV_INPUT become 0, and NaN stays NaN. With
 * `activation` (since 2.10), each element of that result becomes the function of the element; providers of older
 * interfaces get no such problem.
 *
 * There are always three positions, of which the leading ones have size 1 if there are fewer. Strides are in elements,
 * 0 in dimensions of size 1; those of the written operands do not overlap. The group's stride is that of the channel
 * times the channels of a group, for W that of the output channel. No size is 0. Types are F16, BF16 (summed in F32 and
 * rounded once), F32 and F64. */
typedef struct bp_conv_problem {
    int64_t batch, groups;
    int64_t in_channels, out_channels; /* of one group */
    int64_t in[BP_MAX_CONV_NDIM], out[BP_MAX_CONV_NDIM], kernel[BP_MAX_CONV_NDIM];
    int64_t stride[BP_MAX_CONV_NDIM], dilation[BP_MAX_CONV_NDIM], padding[BP_MAX_CONV_NDIM]; /* padding before X */
    int64_t x_batch, x_channel, x[BP_MAX_CONV_NDIM];
    int64_t w_out, w_in, w[BP_MAX_CONV_NDIM];
    int64_t y_batch, y_channel, y[BP_MAX_CONV_NDIM];
    int64_t bias; /* its stride */
    uint8_t has_bias, relu, transposed;
    uint8_t activation; /* a bp_unary_kind; not with relu. BP_UNARY_COPY (0): none */
    uint8_t reserved[4];
} bp_conv_problem;

/* Pooling of X to Y, or the gradient by X from that by Y, as pool.h describes both; I are the indices of maxima, of
 * type I64. Operands: MAX_POOL {X, Y, I}, where I may be absent; AVG_POOL {X, Y}; MAX_POOL_BACKWARD {Y, I, X};
 * AVG_POOL_BACKWARD {Y, X}.
 *
 * There are always three positions, of which the leading ones have size 1 if there are fewer. Strides are in elements,
 * 0 in dimensions of size 1; those of the written operands do not overlap. No size is 0, except that those of Y may be
 * if `adaptive`. Types are F16, BF16 (summed in F32 and rounded once), F32 and F64. */
typedef struct bp_pool_problem {
    int64_t batch, channels;
    int64_t in[BP_MAX_CONV_NDIM], out[BP_MAX_CONV_NDIM];
    int64_t kernel[BP_MAX_CONV_NDIM], stride[BP_MAX_CONV_NDIM], dilation[BP_MAX_CONV_NDIM],
        padding[BP_MAX_CONV_NDIM]; /* 0 if adaptive */
    int64_t x_batch, x_channel, x[BP_MAX_CONV_NDIM];
    int64_t y_batch, y_channel, y[BP_MAX_CONV_NDIM];
    int64_t i_batch, i_channel, i[BP_MAX_CONV_NDIM];
    int64_t divisor; /* of averages; 0: the number of elements */
    uint8_t adaptive, has_indices, exclude_padding;
    uint8_t reserved[5];
} bp_pool_problem;

#define BP_MAX_NORM_NDIM 4
#define BP_NORM_OPERANDS 8

/* Batch normalization, as norm.h describes it. X is the input, Y the output or the gradient by it, G the gradient by
 * the input. Operands: BATCH_NORM {X, weight, bias, running_mean, running_var, Y}; BATCH_NORM_TRAINING {X, weight,
 * bias, Y, mean, inverse_std, running_mean, running_var}, of which the last two are also read; BATCH_NORM_BACKWARD {Y,
 * X, weight, mean, inverse_std, G, weight_gradient, bias_gradient}, where with `constant` running_mean and running_var
 * are in place of mean and inverse_std.
 *
 * `size` are those of items and positions, whose order does not matter: dimensions of size 1 are leading ones, and
 * neighbours that can be merged are merged. Strides are in elements, 0 in dimensions of size 1; those of the written
 * operands do not overlap. Only the size of all items may be 0, and only in BATCH_NORM_BACKWARD. Types are F16, BF16,
 * F32 and F64; statistics and sums are computed in F64. */
typedef struct bp_batch_norm_problem {
    int64_t channels;
    int64_t size[BP_MAX_NORM_NDIM];
    int64_t x[BP_MAX_NORM_NDIM], y[BP_MAX_NORM_NDIM], g[BP_MAX_NORM_NDIM];
    int64_t x_channel, y_channel, g_channel;
    int64_t stride[BP_NORM_OPERANDS]; /* of the operands with one element for each channel, by their position */
    double eps, momentum;
    uint32_t parameters; /* a bp_dtype: that of these operands */
    uint8_t present;     /* bit i: operand i is there */
    uint8_t relu, constant;
    uint8_t reserved;
} bp_batch_norm_problem;

#define BP_MAX_LAYER_NORM_NDIM 16
#define BP_LAYER_NORM_OPERANDS 8

/* Normalization of rows, as norm.h describes it for bp_layer_norm_call; since 2.7. Operands: LAYER_NORM {input, weight,
 * bias, output, mean, inverse_std}; LAYER_NORM_BACKWARD {output_gradient, input, weight, mean, inverse_std,
 * input_gradient, weight_gradient, bias_gradient}, of which `mean` and `inverse_std` are computed if they are absent.
 *
 * The first `row_ndim` dimensions are those of the rows, the others those of the elements of a row. Every operand has a
 * stride in every dimension, in elements: 0 if its elements do not depend on that dimension. So group normalization has
 * the groups among the rows, and weights with a stride there. Dimensions of size 1 are omitted, neighbours are merged
 * if all strides allow, and those of a row are sorted by decreasing stride of the input. Only sizes of rows may be 0.
 * Written operands do not overlap. Types are F16, BF16, F32 and F64; statistics and sums are computed in F64. */
typedef struct bp_layer_norm_problem {
    int32_t ndim, row_ndim;
    int64_t size[BP_MAX_LAYER_NORM_NDIM];
    int64_t stride[BP_LAYER_NORM_OPERANDS][BP_MAX_LAYER_NORM_NDIM];
    double eps;
    uint32_t parameters; /* a bp_dtype: that of weight, bias, mean, inverse_std and the gradients by weight and bias */
    uint8_t present;     /* bit i: operand i is there */
    uint8_t subtract_mean; /* 0: the mean is 0, as in rms_norm */
    uint8_t reserved[2];
} bp_layer_norm_problem;

#define BP_MAX_ATTENTION_NDIM 16

/* The tensors of attention, by their names in attention.h. */
typedef enum bp_attention_tensor {
    BP_ATTENTION_QUERY,
    BP_ATTENTION_KEY,
    BP_ATTENTION_VALUE,
    BP_ATTENTION_MASK,
    BP_ATTENTION_SEED,
    BP_ATTENTION_OUTPUT,
    BP_ATTENTION_LOGSUMEXP,
    BP_ATTENTION_OUTPUT_GRADIENT,
    BP_ATTENTION_QUERY_GRADIENT,
    BP_ATTENTION_KEY_GRADIENT,
    BP_ATTENTION_VALUE_GRADIENT,
    BP_ATTENTION_MASK_GRADIENT, /* since 2.8, as those below */
    BP_ATTENTION_PAGES,
    BP_ATTENTION_LENGTHS,
    BP_ATTENTION_TENSORS
} bp_attention_tensor;

/* Layout of one tensor: a matrix for each item of the batch. LOGSUMEXP has one column, PAGES one row, LENGTHS one
 * element, SEED one row and no batch. */
typedef struct bp_attention_layout {
    uint32_t dtype; /* a bp_dtype; 0: the tensor is absent, and its address is NULL */
    uint32_t reserved;
    int64_t row, column;                  /* strides in elements; 0 if the size is 1 */
    int64_t batch[BP_MAX_ATTENTION_NDIM]; /* strides over the batch; 0 in broadcast dimensions */
} bp_attention_layout;

/* Attention, as attention.h describes it; since 2.6. Operands: ATTENTION {QUERY, KEY, VALUE, MASK, SEED, OUTPUT,
 * LOGSUMEXP}; ATTENTION_BACKWARD {OUTPUT_GRADIENT, QUERY, KEY, VALUE, MASK, SEED, OUTPUT, LOGSUMEXP, QUERY_GRADIENT,
 * KEY_GRADIENT, VALUE_GRADIENT, MASK_GRADIENT}; ATTENTION_PAGED, since 2.8, {QUERY, KEY, VALUE, MASK, SEED, PAGES,
 * LENGTHS, OUTPUT, LOGSUMEXP}.
 *
 * The batch is that of OUTPUT. Heads are dimensions of it like others; heads that share a key and a value are one more
 * dimension, in which these have stride 0. A gradient is summed over the dimensions in which its stride is 0, that by
 * the mask also over rows and columns; the strides of OUTPUT and LOGSUMEXP do not overlap. Dimensions of size 1 are
 * omitted, neighbours are merged if all strides allow. KEYS, SIZE and VALUE_SIZE may be 0, in ATTENTION_BACKWARD
 * QUERIES and the batch, too. Types are F16, BF16, F32 and F64; LOGSUMEXP is F64 for F64, otherwise F32. MASK is BOOL,
 * F32 or of the problem's type, MASK_GRADIENT of the
 * mask's type, which is not BOOL; SEED is I64, PAGES and LENGTHS are I32 or I64.
 *
 * In ATTENTION_PAGED, KEY and VALUE are pools of POOL pages of PAGE_SIZE rows, KEY_PAGE and VALUE_PAGE elements from
 * page to page. Key j of an item is row j modulo PAGE_SIZE of page PAGES[j / PAGE_SIZE]. KEYS is the most that an item
 * can have; it has LENGTHS of them. With `causal`, row i uses the keys up to LENGTHS - QUERIES + i. The numbers in
 * PAGES and LENGTHS are not checked before. */
typedef struct bp_attention_problem {
    int64_t queries, keys;
    int64_t size, value_size; /* columns of QUERY and KEY, and of VALUE and OUTPUT */
    double scale, dropout;
    int64_t batch; /* number of items */
    int32_t batch_ndim;
    uint8_t causal, reserved[3];
    int64_t batch_shape[BP_MAX_ATTENTION_NDIM];
    bp_attention_layout tensor[BP_ATTENTION_TENSORS];
    int64_t page_size, pool, key_page, value_page; /* of ATTENTION_PAGED; otherwise 0 */
} bp_attention_problem;

typedef enum bp_rnn_mode { BP_RNN_TANH, BP_RNN_RELU, BP_RNN_LSTM, BP_RNN_GRU } bp_rnn_mode;

/* The tensors of a recurrent layer, by their names in rnn.h. */
typedef enum bp_rnn_tensor {
    BP_RNN_INPUT,
    BP_RNN_WEIGHT_IH,
    BP_RNN_WEIGHT_HH,
    BP_RNN_WEIGHT_HR,
    BP_RNN_BIAS_IH,
    BP_RNN_BIAS_HH,
    BP_RNN_INITIAL_HIDDEN,
    BP_RNN_INITIAL_CELL,
    BP_RNN_LENGTHS,
    BP_RNN_OUTPUT,
    BP_RNN_FINAL_HIDDEN,
    BP_RNN_FINAL_CELL,
    BP_RNN_RESERVE,
    BP_RNN_OUTPUT_GRADIENT,
    BP_RNN_FINAL_HIDDEN_GRADIENT,
    BP_RNN_FINAL_CELL_GRADIENT,
    BP_RNN_INPUT_GRADIENT,
    BP_RNN_INITIAL_HIDDEN_GRADIENT,
    BP_RNN_INITIAL_CELL_GRADIENT,
    BP_RNN_WEIGHT_IH_GRADIENT,
    BP_RNN_WEIGHT_HH_GRADIENT,
    BP_RNN_WEIGHT_HR_GRADIENT,
    BP_RNN_BIAS_IH_GRADIENT,
    BP_RNN_BIAS_HH_GRADIENT,
    BP_RNN_TENSORS
} bp_rnn_tensor;

#define BP_MAX_RNN_NDIM 3

/* Layout of one tensor. The strides are those of the dimensions in rnn.h, the direction's included; columns of the
 * output are those of both directions. RESERVE is compact, and has no strides. */
typedef struct bp_rnn_layout {
    uint32_t dtype; /* a bp_dtype; 0: the tensor is absent, and its address is NULL */
    uint32_t reserved;
    int64_t stride[BP_MAX_RNN_NDIM]; /* in elements; 0 if the size is 1, and in dimensions that the tensor lacks */
} bp_rnn_layout;

/* A recurrent layer, as rnn.h describes it; since 2.7. Operands: RNN {INPUT, WEIGHT_IH, WEIGHT_HH, WEIGHT_HR, BIAS_IH,
 * BIAS_HH, INITIAL_HIDDEN, INITIAL_CELL, LENGTHS, OUTPUT, FINAL_HIDDEN, FINAL_CELL, RESERVE}; RNN_BACKWARD
 * {OUTPUT_GRADIENT, FINAL_HIDDEN_GRADIENT, FINAL_CELL_GRADIENT, INPUT, WEIGHT_IH, WEIGHT_HH, WEIGHT_HR, INITIAL_HIDDEN,
 * INITIAL_CELL, LENGTHS, OUTPUT, RESERVE, INPUT_GRADIENT, INITIAL_HIDDEN_GRADIENT, INITIAL_CELL_GRADIENT,
 * WEIGHT_IH_GRADIENT, WEIGHT_HH_GRADIENT, WEIGHT_HR_GRADIENT, BIAS_IH_GRADIENT, BIAS_HH_GRADIENT}.
 *
 * `steps`, `batch` and `input_size` may be 0. The strides of the written operands do not overlap. Types are F16,
 * BF16, F32 and F64, and RESERVE is F32 for the first two; LENGTHS is I64, and the provider checks its values before it writes. RESERVE has `directions` x `steps` x
 * `batch` x 5 (LSTM), 4 (GRU) or 0 times `hidden_size` elements; RNN_BACKWARD runs on the provider that wrote it. */
typedef struct bp_rnn_problem {
    int64_t steps, batch;
    int64_t input_size, hidden_size;
    int64_t output_size; /* of one direction: the rows of WEIGHT_HR if it is present, otherwise hidden_size */
    uint8_t mode;        /* a bp_rnn_mode */
    uint8_t directions;  /* 1 or 2 */
    uint8_t reverse;     /* the one direction takes the steps in descending order */
    uint8_t reserved[5];
    bp_rnn_layout tensor[BP_RNN_TENSORS];
} bp_rnn_problem;

/* The lists of functions of one and of two elements: number, NAME, text. elementwise.h describes them. */
/* clang-format off */
#define BP_UNARY_MAP(X)             \
    X(0, COPY, "copy")              \
    X(1, NEGATIVE, "negative")      \
    X(2, ABS, "abs")                \
    X(3, EXP, "exp")                \
    X(4, LOG, "log")                \
    X(5, SQRT, "sqrt")              \
    X(6, TANH, "tanh")              \
    X(7, SIGMOID, "sigmoid")        \
    X(8, RELU, "relu")              \
    X(9, GELU, "gelu")              \
    X(10, GELU_TANH, "gelu_tanh")   \
    X(11, SILU, "silu")             \
    X(12, HARDSWISH, "hardswish")

#define BP_BINARY_MAP(X)            \
    X(0, ADD, "add")                \
    X(1, SUBTRACT, "subtract")      \
    X(2, MULTIPLY, "multiply")      \
    X(3, DIVIDE, "divide")          \
    X(4, MAXIMUM, "maximum")        \
    X(5, MINIMUM, "minimum")
/* clang-format on */

typedef enum bp_unary_kind {
#define BP__ENTRY(number, name, text) BP_UNARY_##name = number,
    BP_UNARY_MAP(BP__ENTRY)
#undef BP__ENTRY
        BP_UNARY_KINDS
} bp_unary_kind;

typedef enum bp_binary_kind {
#define BP__ENTRY(number, name, text) BP_BINARY_##name = number,
    BP_BINARY_MAP(BP__ENTRY)
#undef BP__ENTRY
        BP_BINARY_KINDS
} bp_binary_kind;

#define BP_MAX_ELEMENTWISE_NDIM 64 /* BP_MAX_NDIM */
#define BP_ELEMENTWISE_OPERANDS 3

/* Functions of single elements, and elements at given indices, as elementwise.h describes them; since 2.7. Operands:
 * UNARY {input, output}; BINARY {a, b, output}; TAKE and GATHER {input, indices, output}. For each index i of the
 * dimensions, with the strides of each operand:
 *
 *     UNARY          output[i] = function(input[i])
 *     BINARY         output[i] = function(a[i], b[i])
 *     TAKE, GATHER   output[i] = input[i + axis indices[i]]
 *
 * The dimensions are those of the output, in its order, without those of size 1; neighbours are merged if all strides
 * allow. Strides are in elements; those of inputs may be 0, that of the input in TAKE and GATHER is 0 in dimensions of
 * the indices that the input does not have. The output does not overlap itself. UNARY and BINARY: it may be the same
 * memory as an input of its type with the same strides. Otherwise it overlaps no input. Sizes may be 0.
 *
 * An index of TAKE and GATHER below 0, or not below axis_size, fails the call with BP_E_ARGUMENT before anything is
 * written. The message counts the index in the dimensions from first_index on, of which there are index_ndim. */
typedef struct bp_elementwise_problem {
    uint32_t kind; /* UNARY: a bp_unary_kind; BINARY: a bp_binary_kind; otherwise 0 */
    int32_t ndim;
    uint32_t type[BP_ELEMENTWISE_OPERANDS]; /* a bp_dtype for each operand; bp_problem.dtype is that of the first */
    int32_t first_index, index_ndim;        /* TAKE, GATHER: the dimensions of the indices */
    uint32_t reserved;
    int64_t axis, axis_size; /* TAKE, GATHER: stride of the input along its axis, and elements there */
    int64_t size[BP_MAX_ELEMENTWISE_NDIM];
    int64_t stride[BP_ELEMENTWISE_OPERANDS][BP_MAX_ELEMENTWISE_NDIM];
} bp_elementwise_problem;

/* What a reduction computes. */
typedef enum bp_reduce_kind {
    BP_REDUCE_SUM,
    BP_REDUCE_PROD,
    BP_REDUCE_MEAN,
    BP_REDUCE_MAX,
    BP_REDUCE_MIN,
    BP_REDUCE_ARGMAX,
    BP_REDUCE_ARGMIN
} bp_reduce_kind;

typedef enum bp_softmax_kind { BP_SOFTMAX, BP_LOG_SOFTMAX } bp_softmax_kind;

#define BP_MAX_REDUCE_NDIM 64

/* Reductions and softmax, as reduce.h describes them; since 2.7. Operands: REDUCE {X, Y}; SOFTMAX {X, Y};
 * SOFTMAX_BACKWARD {X, Y, Z}: output, its gradient, and the gradient by the input, which is written.
 *
 * The first `kept_ndim` dimensions are those of the output of REDUCE, the others are reduced: for softmax that is the
 * axis. Strides are in elements; those of Y are 0 in the reduced dimensions of REDUCE. Dimensions of size 1 are
 * omitted; the others are sorted by decreasing magnitude of their stride in X, except the reduced ones of ARGMAX and
 * ARGMIN, whose row-major index is the result, and neighbours are merged if all strides allow. A size may be 0, of
 * reduced dimensions only. The written operand does not overlap itself, and overlaps no other, except in SOFTMAX with
 * `in_place`: then Y has the address and the strides of X.
 *
 * Types are F16, BF16, F32 and F64, for REDUCE also I32 and I64. `output` is the type of Y: the same, or I64 for
 * ARGMAX, ARGMIN, and sums and products of I32. Sums of F16, BF16 and F32 are rounded once. */
typedef struct bp_reduce_problem {
    uint32_t kind;   /* a bp_reduce_kind or a bp_softmax_kind */
    uint32_t output; /* a bp_dtype */
    int32_t ndim, kept_ndim;
    uint8_t in_place;
    uint8_t reserved[7];
    int64_t size[BP_MAX_REDUCE_NDIM];
    int64_t x[BP_MAX_REDUCE_NDIM], y[BP_MAX_REDUCE_NDIM], z[BP_MAX_REDUCE_NDIM];
} bp_reduce_problem;

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

#ifdef __cplusplus
}
#endif

#endif
