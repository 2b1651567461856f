/* problems.h - describes a call of each operation to providers: one struct for each family, the members of the union in
 * bp_problem (provider.h). problems_arrays.h has some of them. */
#ifndef BACKPLANE_PROBLEMS_H
#define BACKPLANE_PROBLEMS_H

#include "backplane/problems_arrays.h"
#include "backplane/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BP_MAX_BATCH_NDIM 16

/* C = alpha * op(A) * op(B) + beta * C for every item of the batch. op() may conjugate; transposition is expressed by
 * the strides. A is m x k, B is k x n, C is m x n. Strides are in elements and may be 0 or negative; C never overlaps
 * itself. Strides of dimensions of size 1 are 0. Addresses are multiples of the element size (of one component for
 * complex types). If beta is 0, C is not read, so NaN in C disappears, as in BLAS. If k is 0, the result is beta * C.
 * Sizes may be 0.
 * bp_problem.dtype is the type of A. A and B may each be I8 or U8, with C I32: the sum modulo 2^32, with
 * alpha 1 and beta 0 or 1. A provider that refuses I8 and U8 need not read b_type and c_type. */
typedef struct bp_gemm_problem {
    int64_t m, n, k;
    int64_t a_row, a_column; /* strides of A between rows and between columns */
    int64_t b_row, b_column;
    int64_t c_row, c_column;
    uint8_t conjugate_a, conjugate_b;
    uint8_t alpha, beta; /* a bp_factor */
    uint8_t folded;      /* with deterministic 2: rows or columns were items of a batch (BP_PROPERTY_ROW_INVARIANT) */
    uint8_t b_type, c_type;                 /* a bp_dtype; 0: as bp_problem.dtype */
    uint8_t with_native;                    /* reserved for dispatch: other parts of the call run on native's threads */
    int32_t batch_ndim;                     /* merged as far as strides allow; 0 for a single product */
    uint32_t reserved_more;                 /* explicit padding, must be 0: problems are compared byte by byte */
    int64_t batch;                          /* number of products; 1 for a single one */
    int64_t batch_shape[BP_MAX_BATCH_NDIM]; /* the last dimension varies fastest */
    int64_t batch_a[BP_MAX_BATCH_NDIM];     /* strides of A over the batch; 0 in broadcast dimensions */
    int64_t batch_b[BP_MAX_BATCH_NDIM];
    int64_t batch_c[BP_MAX_BATCH_NDIM];
} bp_gemm_problem;

#define BP_MAX_FFT_NDIM 16

typedef enum bp_fft_kind { BP_FFT_C2C, BP_FFT_R2C, BP_FFT_C2R } bp_fft_kind;

/* Discrete Fourier transforms over `ndim` dimensions of every item of a batch:
 *     out[k] = scale * sum over j of in[j] * exp(-+ 2 pi i (j0 k0 / n0 + j1 k1 / n1 + ...)),
 * with - forward and + if `inverse`. R2C: the input is real, and the last dimension of the output has n/2+1 elements;
 * the others follow from symmetry. C2R: the last dimension of the input has n/2+1 elements, the output is real;
 * imaginary parts of elements that are their own mirror image are ignored. bp_problem.dtype is the complex type, C64 or
 * C128. Strides are in elements of the operand's own type and may be 0 (input only) or negative; dimensions of size 1
 * have stride 0. The input is not written, except with `in_place` (C2C only): input and output are then the same memory
 * with the same strides. Sizes are at least 1. C2C dimensions may be in any order, and dimensions of size 1 are
 * omitted, so that ndim may be 0 (a scaled copy). Providers get only forward R2C and inverse C2R, with input as long as
 * the transform. On the host, dispatch handles `full_spectrum`, `conjugate`, `input_size` and an empty batch itself,
 * around a plan of the plain transform. On a device, providers handle them, and R2C and C2R in both directions.
 * Distributed operands (distributed.h) are as on a device, and no dimension is omitted: the first one is divided among
 * the ranks. */
typedef struct bp_fft_problem {
    uint8_t kind; /* a bp_fft_kind */
    uint8_t inverse;
    uint8_t in_place;
    uint8_t full_spectrum; /* R2C: the output has all n elements of the last dimension */
    uint8_t conjugate;     /* conjugates the input (C2R) or the output (R2C) */
    uint8_t zero_padded;   /* some input_size[d] differs from the size that the transform needs */
    uint8_t reserved[2];
    int32_t ndim;
    int32_t batch_ndim; /* merged as far as strides allow */
    double scale;
    int64_t batch;              /* number of items, 1 for a single one */
    int64_t n[BP_MAX_FFT_NDIM]; /* sizes of the transform: for R2C and C2R the sizes of the real side */
    int64_t in[BP_MAX_FFT_NDIM];
    int64_t out[BP_MAX_FFT_NDIM];
    int64_t input_size[BP_MAX_FFT_NDIM]; /* size of the input in each dimension, before zero padding */
    int64_t batch_shape[BP_MAX_BATCH_NDIM];
    int64_t batch_in[BP_MAX_BATCH_NDIM];
    int64_t batch_out[BP_MAX_BATCH_NDIM];
} bp_fft_problem;

#define BP_LINALG_OPERANDS 6

/* One operand of a linear-algebra problem. Each item of the batch is a matrix, a vector (columns is 1), or a value
 * (1x1). */
typedef struct bp_linalg_operand {
    uint32_t dtype; /* a bp_dtype; 0: the operand is absent, and its address is NULL */
    uint32_t reserved;
    int64_t rows, columns;
    int64_t row, column;              /* strides in elements of its own type, any sign; 0 if the size is 1 */
    int64_t batch[BP_MAX_BATCH_NDIM]; /* strides over the batch; 0 in broadcast dimensions */
} bp_linalg_operand;

/* Values of bp_linalg_problem.mode, by operation. */
typedef enum bp_linalg_mode {
    BP_MODE_DEFAULT = 0,
    BP_QR_REDUCED = 1, /* QR: Q is m x k, R is k x n, with k = min(m, n) */
    BP_QR_COMPLETE,    /* QR: Q is m x m, R is m x n */
    BP_QR_R,           /* QR: R is k x n, Q is absent */
    BP_SVD_REDUCED,    /* SVD: U is m x k, Vh is k x n */
    BP_SVD_FULL,       /* SVD: U is m x m, Vh is n x n */
    BP_LSTSQ_GELSY,    /* LSTSQ: complete orthogonal factorization with pivoting; rank by rcond */
    BP_LSTSQ_GELS,     /* LSTSQ: QR or LQ; assumes that A has full rank */
    BP_LSTSQ_GELSD,    /* LSTSQ: SVD, divide and conquer; rank by rcond */
    BP_LSTSQ_GELSS,    /* LSTSQ: SVD; rank by rcond */
    BP_NORM_FRO,       /* MATRIX_NORM, COND: square root of the sum of squares */
    BP_NORM_NUC,       /* sum of the singular values */
    BP_NORM_P /* by `order`: 1, -1, inf, -inf (column and row sums), 2, -2 (singular values); VECTOR_NORM: any */
} bp_linalg_mode;

/* Linear algebra on every item of a batch. linalg.h describes each operation and its operands. Element types are F32,
 * F64, C64 and C128; bp_problem.dtype is the type of A (of L, of LU). Outputs do not overlap inputs or each other. Only
 * operands that linalg.h calls optional may be absent.
 *
 * Non-finite input, for all providers: if an element that the operation reads is NaN or infinite, the item must not be
 * passed to a library, because some never return from gesdd. Every floating output of the item is NaN, its integer
 * outputs are 0, and its info is BP_INFO_NON_FINITE. With `fail_on_item_error` the call fails with BP_E_NON_FINITE and
 * names the first such item. Exception: BP_NORM_FRO and the orders 1, -1, inf and -inf of MATRIX_NORM, and VECTOR_NORM,
 * compute with NaN and infinity as in ordinary arithmetic.
 *
 * VECTOR_NORM treats all elements of A, in any order, as one vector of m * n elements.
 *
 * Failing items: with `fail_on_item_error`, enqueue() returns the status of the first failing item (BP_E_SINGULAR,
 * BP_E_NOT_POSITIVE_DEFINITE, BP_E_NOT_CONVERGED, BP_E_NON_FINITE), with a message made by bp_host.fail_numeric; the
 * outputs are then unspecified. Otherwise it computes all items, writes LAPACK's info for each, and returns BP_OK. On
 * a device the status is the answer of a check (bp_host.enqueued_checked). */
typedef struct bp_linalg_problem {
    int64_t m, n;  /* rows and columns of A; of the square factor in solves */
    int64_t k;     /* columns of B, rows of B if a_on_left is 0; 0 if there is no B */
    uint8_t mode;  /* a bp_linalg_mode */
    uint8_t upper; /* CHOLESKY and its solvers, SOLVE_TRIANGULAR, EIGH, PINV and MATRIX_RANK of Hermitian matrices: 1 if
                    * the upper triangle has the factor or is read */
    uint8_t a_on_left;          /* SOLVE, LU_SOLVE, SOLVE_TRIANGULAR: 1: op(A) X = B; 0: X op(A) = B */
    uint8_t adjoint;            /* LU_SOLVE: op(A) is the conjugate transpose */
    uint8_t unit_diagonal;      /* SOLVE_TRIANGULAR: the diagonal is assumed to be ones and is not read */
    uint8_t hermitian;          /* PINV, MATRIX_RANK; LDL_FACTOR and LDL_SOLVE: L^H, not L^T, is on the right */
    uint8_t fail_on_item_error; /* a failing item fails the call */
    uint8_t empty;              /* nothing to compute, because a size or the batch is 0.
                                 * LSTSQ with k = 0 is not empty if rank or singular values are requested */
    double rtol, atol; /* PINV, MATRIX_RANK: singular values up to max(atol, rtol * largest) are treated as zero; LSTSQ:
                        * rtol is rcond. Never negative: defaults are already applied */
    double order;      /* BP_NORM_P */
    int32_t batch_ndim;
    uint32_t reserved;
    int64_t batch; /* number of items, 1 for a single one */
    int64_t batch_shape[BP_MAX_BATCH_NDIM];
    bp_linalg_operand operand[BP_LINALG_OPERANDS]; /* inputs, then outputs, as in BP_OP_MAP */
} bp_linalg_problem;

#define BP_MAX_CONTRACT_NDIM 32

/* C = sum over the summed dimensions of A * B. Every dimension has a stride in each operand, 0 if an input does not
 * have it. So this operation copies and transposes (one operand, nothing summed), sums, takes diagonals, multiplies
 * element by element, and computes outer products and products whose layout no matrix product accepts.
 *
 * The first `output_ndim` dimensions are the dimensions of C, by decreasing stride in C. The summed dimensions follow,
 * by decreasing stride in A (in B, if A does not have them). Strides are in elements; strides of inputs have any sign
 * and may be 0; C does not overlap itself. Dimensions of size 1 are omitted, and neighbours that can be merged in all
 * operands are merged. Sizes may be 0: if a dimension of C is empty, nothing is computed; if a summed one is, C is
 * zero. C overlaps no input, except with `in_place`: nothing is summed then, and C is A, with the same address and
 * strides. Element types are F16, BF16, F32, F64, C64 and C128; F16 and BF16 are computed in f32 and rounded once, at
 * the end. */
typedef struct bp_contract_problem {
    int32_t ndim, output_ndim;
    uint8_t has_b; /* 0: there is no B, its strides are 0, its address is NULL, and A is summed or copied */
    uint8_t in_place;
    uint8_t reserved[6];
    int64_t size[BP_MAX_CONTRACT_NDIM];
    int64_t a[BP_MAX_CONTRACT_NDIM], b[BP_MAX_CONTRACT_NDIM], c[BP_MAX_CONTRACT_NDIM]; /* strides; c: 0 where summed */
} bp_contract_problem;

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
 * `activation`, each element of that result becomes the function of the element.
 *
 * There are always three positions; the leading ones have size 1 if there are fewer. Strides are in elements,
 * 0 in dimensions of size 1; elements of a written operand do not overlap. The group's stride is the channel's stride
 * times the channels of a group, for W the stride of the output channel. No size is 0. Types are F16, BF16 (summed in
 * F32 and rounded once), F32 and F64. */
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
    uint8_t activation; /* a bp_unary_kind below BP_ACTIVATION_KINDS; not with relu. BP_UNARY_COPY (0): none */
    uint8_t reserved[4];
} bp_conv_problem;

/* Pooling of X to Y, or the gradient by X from that by Y, as pool.h describes both; I are the indices of maxima, of
 * type I64. Operands: MAX_POOL {X, Y, I}, where I may be absent; AVG_POOL {X, Y}; MAX_POOL_BACKWARD {Y, I, X};
 * AVG_POOL_BACKWARD {Y, X}.
 *
 * There are always three positions; the leading ones have size 1 if there are fewer. Strides are in elements,
 * 0 in dimensions of size 1; elements of a written operand do not overlap. No size is 0, except that sizes of Y may be
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
 * bias, Y, mean, inverse_std, running_mean, running_var}, where the last two are also read; BATCH_NORM_BACKWARD {Y,
 * X, weight, mean, inverse_std, G, weight_gradient, bias_gradient}, where with `constant` running_mean and running_var
 * are in place of mean and inverse_std.
 *
 * `size` has the sizes of items and positions, whose order does not matter: dimensions of size 1 are leading ones, and
 * neighbours that can be merged are merged. Strides are in elements, 0 in dimensions of size 1; elements of a written
 * operand do not overlap. Only the size of all items may be 0, and only in BATCH_NORM_BACKWARD. Types are F16, BF16,
 * F32 and F64; statistics and sums are computed in F64. */
typedef struct bp_batch_norm_problem {
    int64_t channels;
    int64_t size[BP_MAX_NORM_NDIM];
    int64_t x[BP_MAX_NORM_NDIM], y[BP_MAX_NORM_NDIM], g[BP_MAX_NORM_NDIM];
    int64_t x_channel, y_channel, g_channel;
    int64_t stride[BP_NORM_OPERANDS]; /* of the operands with one element for each channel, by their position */
    double eps, momentum;
    uint32_t parameters; /* a bp_dtype: the type of these operands */
    uint8_t present;     /* bit i: operand i is there */
    uint8_t relu, constant;
    uint8_t reserved;
} bp_batch_norm_problem;

#define BP_MAX_LAYER_NORM_NDIM 16
#define BP_LAYER_NORM_OPERANDS 8

/* Normalization of rows, as norm.h describes it for bp_layer_norm_call. Operands: LAYER_NORM {input, weight,
 * bias, output, mean, inverse_std}; LAYER_NORM_BACKWARD {output_gradient, input, weight, mean, inverse_std,
 * input_gradient, weight_gradient, bias_gradient}, where `mean` and `inverse_std` are computed if they are absent.
 *
 * The first `row_ndim` dimensions say which row it is, the others which element of the row. Every operand has a
 * stride in every dimension, in elements: 0 if its elements do not depend on that dimension. So group normalization has
 * the groups among the rows, and weights with a stride there. Dimensions of size 1 are omitted, neighbours are merged
 * if all strides allow, and dimensions of a row are sorted by decreasing stride of the input. Only sizes of rows may be
 * 0. Written operands do not overlap. Types are F16, BF16, F32 and F64; statistics and sums are computed in F64. */
typedef struct bp_layer_norm_problem {
    int32_t ndim, row_ndim;
    int64_t size[BP_MAX_LAYER_NORM_NDIM];
    int64_t stride[BP_LAYER_NORM_OPERANDS][BP_MAX_LAYER_NORM_NDIM];
    double eps;
    uint32_t
        parameters;  /* a bp_dtype: the type of weight, bias, mean, inverse_std and the gradients by weight and bias */
    uint8_t present; /* bit i: operand i is there */
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
    BP_ATTENTION_MASK_GRADIENT,
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

/* Attention, as attention.h describes it. Operands: ATTENTION {QUERY, KEY, VALUE, MASK, SEED, OUTPUT,
 * LOGSUMEXP}; ATTENTION_BACKWARD {OUTPUT_GRADIENT, QUERY, KEY, VALUE, MASK, SEED, OUTPUT, LOGSUMEXP, QUERY_GRADIENT,
 * KEY_GRADIENT, VALUE_GRADIENT, MASK_GRADIENT}; ATTENTION_PAGED {QUERY, KEY, VALUE, MASK, SEED, PAGES,
 * LENGTHS, OUTPUT, LOGSUMEXP}; ATTENTION_LENGTHS and ATTENTION_LENGTHS_BACKWARD as the first two, with LENGTHS behind
 * SEED.
 *
 * The batch is the batch of OUTPUT. Heads are dimensions of it like others; heads that share a key and a value are one
 * more dimension, in which these have stride 0. A gradient is summed over the dimensions in which its stride is 0, that
 * by the mask also over rows and columns; the strides of OUTPUT and LOGSUMEXP do not overlap. Dimensions of size 1 are
 * omitted, neighbours are merged if all strides allow. KEYS, SIZE and VALUE_SIZE may be 0, in ATTENTION_BACKWARD
 * QUERIES and the batch, too. Types are F16, BF16, F32 and F64; LOGSUMEXP is F64 for F64, otherwise F32. MASK is BOOL,
 * F32 or of the problem's type, MASK_GRADIENT of the
 * mask's type, which is not BOOL; SEED is I64, PAGES and LENGTHS are I32 or I64.
 *
 * In ATTENTION_PAGED, KEY and VALUE are pools of POOL pages of PAGE_SIZE rows, KEY_PAGE and VALUE_PAGE elements from
 * page to page. Key j of an item is row j modulo PAGE_SIZE of page PAGES[j / PAGE_SIZE]. KEYS is the most that an item
 * can have; it has LENGTHS of them. The numbers in PAGES and LENGTHS are not checked before.
 *
 * The position of row i is i, or with `lower_right` (the number of the item's keys, KEYS or LENGTHS) - QUERIES + i. With
 * `causal` it uses the keys up to its position, with WINDOW_LEFT from its position less this number on, with
 * WINDOW_RIGHT up to its position plus this number. A limit that excludes no key is -1, so is WINDOW_RIGHT with
 * `causal`, and `lower_right` is 0 if nothing depends on it; in ATTENTION_PAGED it is 1 otherwise. `causal` and a MASK
 * exclude each other: WINDOW_RIGHT is 0 instead. SOFTCAP is 0: none, or the number that limits scores before MASK is
 * added. */
typedef struct bp_attention_problem {
    int64_t queries, keys;
    int64_t size, value_size; /* columns of QUERY and KEY, and of VALUE and OUTPUT */
    double scale, dropout;
    int64_t batch; /* number of items */
    int32_t batch_ndim;
    uint8_t causal, lower_right, reserved[2];
    int64_t batch_shape[BP_MAX_ATTENTION_NDIM];
    bp_attention_layout tensor[BP_ATTENTION_TENSORS];
    int64_t page_size, pool, key_page, value_page; /* of ATTENTION_PAGED; otherwise 0 */
    int64_t window_left, window_right;             /* keys; -1: no limit */
    double softcap;
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

/* Layout of one tensor. Each dimension in rnn.h has a stride, the direction too; columns of the
 * output are the columns of both directions. RESERVE is compact, and has no strides. */
typedef struct bp_rnn_layout {
    uint32_t dtype; /* a bp_dtype; 0: the tensor is absent, and its address is NULL */
    uint32_t reserved;
    int64_t stride[BP_MAX_RNN_NDIM]; /* in elements; 0 if the size is 1, and in dimensions that the tensor lacks */
} bp_rnn_layout;

/* A recurrent layer, as rnn.h describes it. Operands: RNN {INPUT, WEIGHT_IH, WEIGHT_HH, WEIGHT_HR, BIAS_IH,
 * BIAS_HH, INITIAL_HIDDEN, INITIAL_CELL, LENGTHS, OUTPUT, FINAL_HIDDEN, FINAL_CELL, RESERVE}; RNN_BACKWARD
 * {OUTPUT_GRADIENT, FINAL_HIDDEN_GRADIENT, FINAL_CELL_GRADIENT, INPUT, WEIGHT_IH, WEIGHT_HH, WEIGHT_HR, INITIAL_HIDDEN,
 * INITIAL_CELL, LENGTHS, OUTPUT, RESERVE, INPUT_GRADIENT, INITIAL_HIDDEN_GRADIENT, INITIAL_CELL_GRADIENT,
 * WEIGHT_IH_GRADIENT, WEIGHT_HH_GRADIENT, WEIGHT_HR_GRADIENT, BIAS_IH_GRADIENT, BIAS_HH_GRADIENT}.
 *
 * `steps`, `batch` and `input_size` may be 0. The strides of the written operands do not overlap. Types are F16,
 * BF16, F32 and F64, and RESERVE is F32 for the first two; LENGTHS is I64, and the provider checks its values before it
 * writes. RESERVE has `directions` x `steps` x `batch` x 5 (LSTM), 4 (GRU) or 0 times `hidden_size` elements;
 * RNN_BACKWARD runs on the provider that wrote it. */
typedef struct bp_rnn_problem {
    int64_t steps, batch;
    int64_t input_size, hidden_size;
    int64_t output_size; /* of one direction: the rows of WEIGHT_HR if it is present, otherwise hidden_size */
    uint8_t mode;         /* a bp_rnn_mode */
    uint8_t directions;   /* 1 or 2 */
    uint8_t reverse;      /* the one direction takes the steps in descending order */
    uint8_t reset_before; /* GRU: r is multiplied by the hidden state, not by its product. Since interface 5.6 */
    uint8_t reserved[4];
    bp_rnn_layout tensor[BP_RNN_TENSORS];
} bp_rnn_problem;

/* The lists of functions of one and of two elements: number, NAME, text. elementwise.h describes them. The first one
 * has the functions of one element that a convolution or a linear layer accepts as its activation: their results are
 * numbers. */
/* clang-format off */
#define BP_ACTIVATION_MAP(X) \
    X(0, COPY, "copy") X(1, NEGATIVE, "negative") X(2, ABS, "abs") X(3, EXP, "exp") X(4, LOG, "log") \
    X(5, SQRT, "sqrt") X(6, TANH, "tanh") X(7, SIGMOID, "sigmoid") X(8, RELU, "relu") X(9, GELU, "gelu") \
    X(10, GELU_TANH, "gelu_tanh") X(11, SILU, "silu") X(12, HARDSWISH, "hardswish") X(13, FLOOR, "floor") \
    X(14, CEIL, "ceil") X(15, ROUND, "round") X(16, TRUNC, "trunc") X(17, SIGN, "sign") \
    X(18, RECIPROCAL, "reciprocal") X(19, RSQRT, "rsqrt") X(20, SIN, "sin") X(21, COS, "cos") X(22, TAN, "tan") \
    X(23, ERF, "erf") X(24, EXPM1, "expm1") X(25, LOG1P, "log1p") X(26, LOG2, "log2") X(27, ASIN, "asin") \
    X(28, ACOS, "acos") X(29, ATAN, "atan") X(30, SINH, "sinh") X(31, COSH, "cosh") X(32, ASINH, "asinh") \
    X(33, ACOSH, "acosh") X(34, ATANH, "atanh") X(35, LOG10, "log10") X(36, EXP2, "exp2") X(37, ERFC, "erfc") \
    X(38, HARDSIGMOID, "hardsigmoid") X(39, MISH, "mish") X(40, SOFTSIGN, "softsign") \
    X(41, LOGSIGMOID, "logsigmoid") X(42, SELU, "selu") X(43, TANHSHRINK, "tanhshrink")

#define BP_UNARY_MAP(X) \
    BP_ACTIVATION_MAP(X) \
    X(44, ISNAN, "isnan") X(45, ISINF, "isinf") X(46, ISFINITE, "isfinite") X(47, LOGICAL_NOT, "logical_not") \
    X(48, BITWISE_INVERT, "bitwise_invert") X(49, LEAKY_RELU, "leaky_relu") X(50, ELU, "elu") X(51, CELU, "celu") \
    X(52, CLIP, "clip") X(53, SOFTPLUS, "softplus") X(54, THRESHOLD, "threshold") X(55, HARDSHRINK, "hardshrink") \
    X(56, SOFTSHRINK, "softshrink")

#define BP_BINARY_MAP(X) \
    X(0, ADD, "add") X(1, SUBTRACT, "subtract") X(2, MULTIPLY, "multiply") X(3, DIVIDE, "divide") \
    X(4, MAXIMUM, "maximum") X(5, MINIMUM, "minimum") X(6, EQUAL, "equal") X(7, NOT_EQUAL, "not_equal") \
    X(8, LESS, "less") X(9, LESS_EQUAL, "less_equal") X(10, GREATER, "greater") \
    X(11, GREATER_EQUAL, "greater_equal") X(12, LOGICAL_AND, "logical_and") X(13, LOGICAL_OR, "logical_or") \
    X(14, LOGICAL_XOR, "logical_xor") X(15, POW, "pow") X(16, REMAINDER, "remainder") X(17, FMOD, "fmod") \
    X(18, FLOOR_DIVIDE, "floor_divide") X(19, ATAN2, "atan2") X(20, BITWISE_AND, "bitwise_and") \
    X(21, BITWISE_OR, "bitwise_or") X(22, BITWISE_XOR, "bitwise_xor") \
    X(23, BITWISE_LEFT_SHIFT, "bitwise_left_shift") X(24, BITWISE_RIGHT_SHIFT, "bitwise_right_shift")
/* clang-format on */

typedef enum bp_unary_kind {
#define BP__ENTRY(number, name, text) BP_UNARY_##name = number,
    BP_UNARY_MAP(BP__ENTRY)
#undef BP__ENTRY
        BP_UNARY_KINDS
} bp_unary_kind;

enum {
#define BP__ENTRY(number, name, text) +1
    BP_ACTIVATION_KINDS = 0 BP_ACTIVATION_MAP(BP__ENTRY)
#undef BP__ENTRY
};

typedef enum bp_binary_kind {
#define BP__ENTRY(number, name, text) BP_BINARY_##name = number,
    BP_BINARY_MAP(BP__ENTRY)
#undef BP__ENTRY
        BP_BINARY_KINDS
} bp_binary_kind;

#define BP_MAX_ELEMENTWISE_NDIM 64 /* BP_MAX_NDIM */
#define BP_ELEMENTWISE_OPERANDS 4

/* Functions of single elements, and elements at given indices, as elementwise.h describes them. Operands:
 * UNARY {input, output}; BINARY {a, b, output}; WHERE {condition, a, b, output}; TAKE and GATHER {input, indices,
 * output}. For each index i of the dimensions, with the strides of each operand:
 *
 *     UNARY          output[i] = function(input[i]), which may take the numbers of the problem
 * (bp_unary_number_count()) BINARY         output[i] = function(a[i], b[i]) WHERE          output[i] = condition[i] ?
 * a[i] : b[i] TAKE, GATHER   output[i] = input[i + axis indices[i]]
 *
 * The type of the output is bp_unary_dtype() or bp_binary_dtype() of the inputs' type, or any for BP_UNARY_COPY. The
 * condition of WHERE is bool: a byte that is not 0 is true. a, b and the output have one type.
 *
 * The dimensions are the dimensions of the output, in its order, except of size 1; neighbours are merged if all strides
 * allow. Strides are in elements; strides of inputs may be 0, the stride of the input in TAKE and GATHER is 0 in
 * dimensions of the indices that the input does not have. The output does not overlap itself. UNARY, BINARY and
 * WHERE: it may be the same memory as inputs of its type with the same strides. Otherwise it overlaps no input. Sizes
 * may be 0.
 *
 * An index of TAKE and GATHER below 0, or not below axis_size, fails the call with BP_E_ARGUMENT before anything is
 * written. The message counts the index in the dimensions from first_index on; there are index_ndim. */
typedef struct bp_elementwise_problem {
    uint32_t kind; /* UNARY: a bp_unary_kind; BINARY: a bp_binary_kind; otherwise 0 */
    int32_t ndim;
    uint32_t type[BP_ELEMENTWISE_OPERANDS]; /* a bp_dtype for each operand; bp_problem.dtype is the type of the first,
                                               of WHERE the type of a */
    int32_t first_index, index_ndim;        /* TAKE, GATHER: the dimensions of the indices */
    int64_t axis, axis_size;                /* TAKE, GATHER: stride of the input along its axis, and elements there */
    int64_t size[BP_MAX_ELEMENTWISE_NDIM];
    int64_t stride[BP_ELEMENTWISE_OPERANDS][BP_MAX_ELEMENTWISE_NDIM];
    double number[2]; /* UNARY: numbers of the function, rounded to f32 for f16, bf16 and f32; never NaN. Otherwise 0 */
} bp_elementwise_problem;

/* What a reduction computes. */
typedef enum bp_reduce_kind {
    BP_REDUCE_SUM,
    BP_REDUCE_PROD,
    BP_REDUCE_MEAN,
    BP_REDUCE_MAX,
    BP_REDUCE_MIN,
    BP_REDUCE_ARGMAX,
    BP_REDUCE_ARGMIN,
    BP_REDUCE_ANY,
    BP_REDUCE_ALL
} bp_reduce_kind;

typedef enum bp_variance_kind { BP_VAR, BP_STD } bp_variance_kind;

typedef enum bp_softmax_kind { BP_SOFTMAX, BP_LOG_SOFTMAX } bp_softmax_kind;

#define BP_MAX_REDUCE_NDIM 64

/* Reductions and softmax, as reduce.h describes them. Operands: REDUCE and VARIANCE (since 5.2) {X, Y}; SOFTMAX {X, Y};
 * SOFTMAX_BACKWARD {X, Y, Z}: output, its gradient, and the gradient by the input, which is written.
 *
 * The first `kept_ndim` dimensions are the dimensions of the output of REDUCE and VARIANCE, the others are reduced: for
 * softmax that is the axis. Strides are in elements; the strides of Y are 0 in reduced dimensions. Dimensions of size
 * 1 are omitted; the others are sorted by decreasing magnitude of their stride in X, except the reduced ones of ARGMAX
 * and ARGMIN, whose row-major index is the result, and neighbours are merged if all strides allow. A size may be 0, of
 * reduced dimensions only. The written operand does not overlap itself, and overlaps no other, except in SOFTMAX with
 * `in_place`: then Y has the address and the strides of X.
 *
 * Types are F16, BF16, F32 and F64, for REDUCE also I32 and I64, for ANY and ALL (since 5.2) also BOOL. `output` is the
 * type of Y: the same, I64 for ARGMAX, ARGMIN, and sums and products of I32, or BOOL for ANY and ALL. Sums of F16, BF16
 * and F32 are rounded once. */
typedef struct bp_reduce_problem {
    uint32_t kind;   /* a bp_reduce_kind, a bp_variance_kind or a bp_softmax_kind */
    uint32_t output; /* a bp_dtype */
    int32_t ndim, kept_ndim;
    uint8_t in_place;
    uint8_t reserved[7];
    int64_t size[BP_MAX_REDUCE_NDIM];
    int64_t x[BP_MAX_REDUCE_NDIM], y[BP_MAX_REDUCE_NDIM], z[BP_MAX_REDUCE_NDIM];
    double correction; /* of VARIANCE, finite; otherwise 0 */
} bp_reduce_problem;

#ifdef __cplusplus
}
#endif

#endif
