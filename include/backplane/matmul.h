/* matmul.h - computes matrix products.
 *
 * Element types: f16, bf16, f32, f64, c64, c128, the same for all tensors of a call. f16 and bf16 are summed in f32 and
 * rounded once at the end, to nearest even. a and b may also be i8 or u8, each by itself; the output is then i32, the
 * exact sum modulo 2^32 (two's complement). It cannot overflow for k up to 33025 (both u8), 65793 (u8 and i8, either
 * way) and 131071 (both i8). Any strides. The caller provides the output. It is written completely, or
 * not at all if the call fails before it runs. It must not overlap an input or itself (BP_E_OVERLAP). All functions are
 * thread-safe.
 *
 * Errors of all functions: BP_E_ARGUMENT (NULL), BP_E_SHAPE, BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT (an address that is
 * not aligned for its type; more than BP_MAX_BATCH_NDIM batch dimensions after merging), BP_E_OVERLAP, BP_E_OVERFLOW,
 * BP_E_NO_CANDIDATE, BP_E_FALLBACK, BP_E_NOT_FOUND (the preferred library is absent and dispatch.fallback is strict),
 * BP_E_NO_MEMORY, BP_E_CANCELLED (interrupt.h).
 */
#ifndef BACKPLANE_MATMUL_H
#define BACKPLANE_MATMUL_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes output = a @ b with the shape rules of numpy.matmul:
 *   (m,k) @ (k,n) -> (m,n);  (k) @ (k,n) -> (n);  (m,k) @ (k) -> (m);  (k) @ (k) -> ();
 *   leading dimensions are a batch and broadcast: (5,1,m,k) @ (3,k,n) -> (5,3,m,n). Rank 0 is BP_E_SHAPE. */
BP_API bp_status bp_matmul(const DLTensor *a, const DLTensor *b, DLTensor *output);

/* General form of bp_matmul(): with settings for this call; NULL means none. */
BP_API bp_status bp_matmul_run(const bp_options *options, const DLTensor *a, const DLTensor *b, DLTensor *output);

/* Returns the shape of bp_matmul's output. `shape` is an array of BP_MAX_NDIM elements. */
BP_API bp_status bp_matmul_shape(const DLTensor *a, const DLTensor *b, int *ndim, int64_t *shape);

/* Returns the element type of the product of a and b: i32 if both are i8 or u8, otherwise the type of a. NULL gives
 * BP_DTYPE_NONE. */
BP_API bp_dtype bp_matmul_dtype(const DLTensor *a, const DLTensor *b);

/* op() of bp_gemm(). */
typedef enum bp_transform { BP_AS_IS, BP_TRANSPOSE, BP_CONJUGATE_TRANSPOSE, BP_CONJUGATE } bp_transform;

/* Computes c = alpha * op(a) @ op(b) + beta * c, the BLAS operation for any strides. All three have rank 2, or rank 2
 * plus batch dimensions; the batch dimensions of a and b broadcast to c's. alpha NULL means 1, beta NULL means 0. If
 * beta is 0, c is not read. For real matrices the imaginary parts of alpha and beta must be 0 (BP_E_ARGUMENT). For
 * integers alpha must be 1, and beta 0 or 1 (BP_E_ARGUMENT). */
BP_API bp_status bp_gemm(bp_transform transform_a, bp_transform transform_b, const bp_scalar *alpha, const DLTensor *a,
                         const DLTensor *b, const bp_scalar *beta, DLTensor *c);

/* General form of bp_gemm(): with settings for this call; NULL means none. */
BP_API bp_status bp_gemm_run(const bp_options *options, bp_transform transform_a, bp_transform transform_b,
                             const bp_scalar *alpha, const DLTensor *a, const DLTensor *b, const bp_scalar *beta,
                             DLTensor *c);

/* Create a plan for bp_execute() with the operands {a, b, output} or {a, b, c}. Release it with bp_plan_release(). Data
 * pointers may be NULL. Of alpha and beta only the class matters (0, 1, other). */
BP_API bp_status bp_matmul_plan(bp_plan **plan, const bp_options *options, const DLTensor *a, const DLTensor *b,
                                const DLTensor *output);
BP_API bp_status bp_gemm_plan(bp_plan **plan, const bp_options *options, bp_transform transform_a,
                              bp_transform transform_b, const bp_scalar *alpha, const DLTensor *a, const DLTensor *b,
                              const bp_scalar *beta, const DLTensor *c);

/* Return all candidates for the call, and the choice. Release the result with bp_explanation_release(). Data pointers
 * may be NULL. Succeed even if the call itself would fail with BP_E_NO_CANDIDATE or BP_E_FALLBACK. */
BP_API bp_status bp_matmul_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *a,
                                   const DLTensor *b, const DLTensor *output);
BP_API bp_status bp_gemm_explain(bp_explanation **explanation, const bp_options *options, bp_transform transform_a,
                                 bp_transform transform_b, const bp_scalar *alpha, const DLTensor *a, const DLTensor *b,
                                 const bp_scalar *beta, const DLTensor *c);

#ifdef __cplusplus
}
#endif
#endif
