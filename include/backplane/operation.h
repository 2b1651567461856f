/* operation.h - lists the operations of providers and their families, and the reasons why they refuse some. */
#ifndef BACKPLANE_OPERATION_H
#define BACKPLANE_OPERATION_H

#include "backplane/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The list of operations: number, NAME, text, inputs, outputs, family. The family's member of bp_problem.of has the
 * parameters. bp_matmul and bp_gemm both become GEMM; all transforms become FFT. EINSUM is a plan of GEMM and CONTRACT
 * sub-plans; no provider gets it. Operands are passed in this order: inputs, then outputs. */
/* clang-format off */
#define BP_OP_MAP(X)                                                                        \
    X(1, GEMM, "gemm", "A,B", "C", gemm)                                                    \
    X(2, FFT, "fft", "input", "output", fft)                                                \
    X(3, INV, "inv", "A", "inverse,info", linalg)                                           \
    X(4, CHOLESKY, "cholesky", "A", "L,info", linalg)                                       \
    X(5, CHOLESKY_SOLVE, "cholesky_solve", "B,L", "X", linalg)                              \
    X(6, CHOLESKY_INVERSE, "cholesky_inverse", "L", "inverse,info", linalg)                 \
    X(7, LU_FACTOR, "lu_factor", "A", "LU,pivots,info", linalg)                             \
    X(8, LU, "lu", "A", "P,L,U", linalg)                                                    \
    X(9, LU_SOLVE, "lu_solve", "LU,pivots,B", "X", linalg)                                  \
    X(10, SOLVE, "solve", "A,B", "X,info", linalg)                                          \
    X(11, SOLVE_TRIANGULAR, "solve_triangular", "A,B", "X", linalg)                         \
    X(12, QR, "qr", "A", "Q,R", linalg)                                                     \
    X(13, EIGH, "eigh", "A", "w,V", linalg)                                                 \
    X(14, EIG, "eig", "A", "w,V", linalg)                                                   \
    X(15, SVD, "svd", "A", "U,S,Vh", linalg)                                                \
    X(16, LSTSQ, "lstsq", "A,B", "X,residuals,rank,S", linalg)                              \
    X(17, DET, "det", "A", "det", linalg)                                                   \
    X(18, SLOGDET, "slogdet", "A", "sign,logabsdet", linalg)                                \
    X(19, PINV, "pinv", "A", "inverse", linalg)                                             \
    X(20, MATRIX_RANK, "matrix_rank", "A", "rank", linalg)                                  \
    X(21, COND, "cond", "A", "cond", linalg)                                                \
    X(22, MATRIX_NORM, "matrix_norm", "A", "norm", linalg)                                  \
    X(23, CONTRACT, "contract", "A,B", "C", contract)                                       \
    X(24, EINSUM, "einsum", "operands", "output", einsum)                                      \
    X(25, VECTOR_NORM, "vector_norm", "A", "norm", linalg)                                  \
    X(26, CONV, "conv", "input,weight,bias", "output", conv)                                \
    X(27, CONV_INPUT, "conv_input", "output_gradient,weight,bias", "input_gradient", conv)                    \
    X(28, CONV_WEIGHT, "conv_weight", "input,output_gradient", "weight_gradient,bias_gradient", conv)                  \
    X(29, MAX_POOL, "max_pool", "input", "output,indices", pool)                            \
    X(30, AVG_POOL, "avg_pool", "input", "output", pool)                                    \
    X(31, MAX_POOL_BACKWARD, "max_pool_backward", "output_gradient,indices", "input_gradient", pool)          \
    X(32, AVG_POOL_BACKWARD, "avg_pool_backward", "output_gradient", "input_gradient", pool)                  \
    X(33, BATCH_NORM, "batch_norm", "input,weight,bias,running_mean,running_var", "output", batch_norm) \
    X(34, BATCH_NORM_TRAINING, "batch_norm_training", "input,weight,bias", "output,mean,inverse_std,running_mean,running_var", batch_norm) \
    X(35, BATCH_NORM_BACKWARD, "batch_norm_backward", "output_gradient,input,weight,mean,inverse_std", "input_gradient,weight_gradient,bias_gradient", batch_norm) \
    X(36, ATTENTION, "attention", "query,key,value,mask,seed", "output,logsumexp", attention) \
    X(37, ATTENTION_BACKWARD, "attention_backward", "output_gradient,query,key,value,mask,seed,output,logsumexp", "query_gradient,key_gradient,value_gradient,mask_gradient", attention) \
    X(38, RNN, "rnn", "input,weight_ih,weight_hh,weight_hr,bias_ih,bias_hh,initial_hidden,initial_cell,lengths", "output,final_hidden,final_cell,reserve", rnn) \
    X(39, RNN_BACKWARD, "rnn_backward", "output_gradient,final_hidden_gradient,final_cell_gradient,input,weight_ih,weight_hh,weight_hr,initial_hidden,initial_cell,lengths,output,reserve", "input_gradient,initial_hidden_gradient,initial_cell_gradient,weight_ih_gradient,weight_hh_gradient,weight_hr_gradient,bias_ih_gradient,bias_hh_gradient", rnn) \
    X(40, UNARY, "unary", "input", "output", elementwise)                                   \
    X(41, BINARY, "binary", "a,b", "output", elementwise)                                   \
    X(42, TAKE, "take", "input,indices", "output", elementwise)                             \
    X(43, GATHER, "gather", "input,indices", "output", elementwise) \
    X(44, REDUCE, "reduce", "input", "output", reduce)                                      \
    X(45, SOFTMAX, "softmax", "input", "output", reduce)                                    \
    X(46, SOFTMAX_BACKWARD, "softmax_backward", "output,output_gradient", "input_gradient", reduce) \
    X(47, LAYER_NORM, "layer_norm", "input,weight,bias", "output,mean,inverse_std", layer_norm) \
    X(48, LAYER_NORM_BACKWARD, "layer_norm_backward", "output_gradient,input,weight,mean,inverse_std", "input_gradient,weight_gradient,bias_gradient", layer_norm) \
    X(49, ATTENTION_PAGED, "attention_paged", "query,key,value,mask,seed,pages,lengths", "output,logsumexp", attention) \
    X(50, RANDOM, "random", "seed", "output", random)                                       \
    X(51, LDL_FACTOR, "ldl_factor", "A", "LD,pivots,info", linalg)                          \
    X(52, LDL_SOLVE, "ldl_solve", "LD,pivots,B", "X", linalg)                               \
    X(53, CUMSUM, "cumsum", "input", "output", cumsum)                                      \
    X(54, WHERE, "where", "condition,a,b", "output", elementwise)                           \
    X(55, GRAPH, "graph", "inputs", "outputs", graph)                                       \
    X(56, VARIANCE, "variance", "input", "output", reduce)                                  \
    X(57, PAD, "pad", "input", "output", pad)                                               \
    X(58, FLIP, "flip", "input", "output", pad)                                             \
    X(59, ROLL, "roll", "input", "output", pad)                                             \
    X(60, ATTENTION_LENGTHS, "attention_lengths", "query,key,value,mask,seed,lengths", "output,logsumexp", attention) \
    X(61, ATTENTION_LENGTHS_BACKWARD, "attention_lengths_backward", "output_gradient,query,key,value,mask,seed,lengths,output,logsumexp", "query_gradient,key_gradient,value_gradient,mask_gradient", attention)
/* clang-format on */

/* The families. From a row follow the member of bp_problem.of, which is a bp_<family>_problem, the entry in
 * BP_CALL_MAP, the family in dispatch, calibration and `native`, and the settings named after the family.
 *
 * F is the macro that makes something of a row; its first argument is X, for macros that hand on what they make. Then
 * follow: family; STRUCT if its call is a bp_<family>_call, ARGUMENTS if its functions take arguments; SETTINGS, the
 * numbers of <family>.preferred, .enabled and .benchmark, what they affect, the same in a sentence after "libraries
 * that may run", and the libraries that can be preferred. LISTED in place of all that: settings_table.h lists them. */
/* clang-format off */
#define BP_FAMILY_MAP(F, X)                                                                                     \
    F(X, gemm, ARGUMENTS, LISTED, ) F(X, fft, ARGUMENTS, LISTED, ) F(X, linalg, ARGUMENTS, LISTED, )            \
    F(X, conv, STRUCT, LISTED, ) F(X, contract, ARGUMENTS, LISTED, )                                            \
    F(X, pool, STRUCT, SETTINGS, 97, 109, 117, "pooling", "pooling", "onednn, native")                          \
    F(X, batch_norm, STRUCT, SETTINGS, 98, 110, 118, "batch normalization", "batch normalization", "onednn, native") \
    F(X, layer_norm, STRUCT, SETTINGS, 99, 111, 119, "layer_norm, rms_norm, group_norm", "normalizations of rows", "native") \
    F(X, attention, STRUCT, SETTINGS, 100, 112, 120, "attention", "attention", "native")                        \
    F(X, rnn, STRUCT, SETTINGS, 101, 113, 121, "recurrent layers", "recurrent layers", "onednn, native")        \
    F(X, elementwise, ARGUMENTS, SETTINGS, 102, 114, 122, "functions of single elements", "functions of single elements, and of elements at indices", "native") \
    F(X, reduce, ARGUMENTS, SETTINGS, 103, 115, 123, "reductions, softmax", "reductions and softmax", "native") \
    F(X, random, STRUCT, SETTINGS, 104, 116, 124, "random numbers", "random numbers", "native")                 \
    F(X, cumsum, STRUCT, SETTINGS, 125, 126, 127, "cumulative sums", "cumulative sums", "native")                \
    F(X, pad, ARGUMENTS, SETTINGS, 130, 131, 132, "padding, flips, rolls", "padding, flips and rolls", "native")
/* clang-format on */

typedef enum bp_op {
#define BP__ENTRY(number, name, text, inputs, outputs, family) BP_OP_##name = number,
    BP_OP_MAP(BP__ENTRY)
#undef BP__ENTRY
} bp_op;

/* Returns "gemm", "svd", ...; "?" for an invalid number. Static storage. */
BP_API const char *bp_op_name(bp_op op);

/* Return the operands' names, with commas: "A,B" and "X,info". "" for an invalid number. Static storage. */
BP_API const char *bp_op_inputs(bp_op op);
BP_API const char *bp_op_outputs(bp_op op);

/* Returns the name of the setting that prefers a library for the operation, such as "blas.preferred"; NULL for an
 * invalid number. Static storage. */
BP_API const char *bp_op_preference(bp_op op);

/* The list of reasons in a verdict: number, NAME, text. */
/* clang-format off */
#define BP_REASON_MAP(X)                                                              \
    X(0, ACCEPTED, "accepted")                                                        \
    X(1, OP, "operation not offered")                                                 \
    X(2, DTYPE, "data type not offered")                                              \
    X(3, LAYOUT, "memory layout not offered")                                         \
    X(4, SIZE, "sizes exceed the library's integer width")                            \
    X(5, SYMBOL, "library does not have the routine")                                 \
    X(6, DETERMINISM, "does not guarantee the requested determinism")                 \
    X(7, PRECISION, "does not guarantee the requested precision")                     \
    X(8, EXCLUDED, "excluded by a setting")                                           \
    X(9, BROKEN, "library does not work on this machine")                             \
    X(10, FORKED, "was in use before fork and does not survive it")                   \
    X(11, THREADS, "cannot run with the requested thread count")                      \
    X(12, CAPABILITY, "needs instructions that this processor does not have")         \
    X(13, LOAD, "library could not be loaded")                                        \
    X(14, OTHER, "refused")                                                           \
    X(15, DEVICE, "works on host memory only")                                        \
    X(16, MEMORY, "a limit leaves less memory than the library needs")
/* clang-format on */

typedef enum bp_reason {
#define BP__ENTRY(number, name, text) BP_REASON_##name = number,
    BP_REASON_MAP(BP__ENTRY)
#undef BP__ENTRY
} bp_reason;

BP_API const char *bp_reason_name(bp_reason reason); /* "DTYPE"; static storage */
BP_API const char *bp_reason_text(bp_reason reason); /* "data type not offered"; static storage */

#ifdef __cplusplus
}
#endif

#endif
