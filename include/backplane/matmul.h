/* matmul.h - matrix products.
 *
 * Element types: f16, bf16, f32, f64, c64, c128, the same for all tensors of a call. f16 and bf16 sum in f32 and round
 * once at the end, to nearest even. Any strides. Outputs are the caller's memory: written completely, or not touched
 * when the call fails before running. An output must not overlap an input or itself (BP_E_OVERLAP). All functions are
 * thread-safe.
 *
 * Errors of all: BP_E_ARGUMENT (NULL), BP_E_SHAPE, BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT (an address that is not aligned
 * for its type, more than BP_MAX_BATCH_NDIM batch dimensions that do not merge), BP_E_OVERLAP, BP_E_OVERFLOW,
 * BP_E_NO_CANDIDATE, BP_E_FALLBACK, BP_E_NOT_FOUND (the preferred library is absent and dispatch.fallback is strict),
 * BP_E_NO_MEMORY, BP_E_CANCELLED (interrupt.h).
 */
#ifndef BACKPLANE_MATMUL_H
#define BACKPLANE_MATMUL_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out = a @ b with the shape rules of numpy.matmul:
 *   (m,k) @ (k,n) -> (m,n);  (k) @ (k,n) -> (n);  (m,k) @ (k) -> (m);  (k) @ (k) -> ();
 *   leading dimensions are a batch and broadcast: (5,1,m,k) @ (3,k,n) -> (5,3,m,n). Scalars (rank 0) are refused. */
BP_API bp_status bp_matmul(const DLTensor *a, const DLTensor *b, DLTensor *out);

/* The same with settings for this call only (NULL: none). */
BP_API bp_status bp_matmul_run(const bp_options *options, const DLTensor *a, const DLTensor *b, DLTensor *out);

/* The shape that bp_matmul needs for its output: `shape` has room for BP_MAX_NDIM. */
BP_API bp_status bp_matmul_shape(const DLTensor *a, const DLTensor *b, int *ndim, int64_t *shape);

/* What bp_gemm does with a factor before multiplying. */
typedef enum bp_transform { BP_AS_IS, BP_TRANSPOSE, BP_CONJUGATE_TRANSPOSE, BP_CONJUGATE } bp_transform;

/* c = alpha * op(a) @ op(b) + beta * c, the BLAS operation for any strides. All three have rank 2, or rank 2 plus batch
 * dimensions, where those of a and b broadcast to those of c. NULL alpha is 1, NULL beta is 0; with beta 0 the old c is
 * not read. An imaginary part of a factor of real matrices is refused (BP_E_ARGUMENT). */
BP_API bp_status bp_gemm(bp_transform transform_a, bp_transform transform_b, const bp_scalar *alpha, const DLTensor *a,
                         const DLTensor *b, const bp_scalar *beta, DLTensor *c);

BP_API bp_status bp_gemm_run(const bp_options *options, bp_transform transform_a, bp_transform transform_b,
                             const bp_scalar *alpha, const DLTensor *a, const DLTensor *b, const bp_scalar *beta,
                             DLTensor *c);

/* Plans for bp_execute(). Data pointers may be NULL: then memory of 64-byte alignment is assumed. Alpha and beta are
 * given for their class only (0, 1, other). */
BP_API bp_status bp_matmul_plan(bp_plan **plan, const bp_options *options, const DLTensor *a, const DLTensor *b,
                                const DLTensor *out);
BP_API bp_status bp_gemm_plan(bp_plan **plan, const bp_options *options, bp_transform transform_a,
                              bp_transform transform_b, const bp_scalar *alpha, const DLTensor *a, const DLTensor *b,
                              const bp_scalar *beta, const DLTensor *c);

/* Every candidate for the call, and the choice. Data pointers may be NULL. Succeeds also where the call itself would
 * find no candidate. */
BP_API bp_status bp_matmul_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *a,
                                   const DLTensor *b, const DLTensor *out);
BP_API bp_status bp_gemm_explain(bp_explanation **explanation, const bp_options *options, bp_transform transform_a,
                                 bp_transform transform_b, const bp_scalar *alpha, const DLTensor *a, const DLTensor *b,
                                 const bp_scalar *beta, const DLTensor *c);

#ifdef __cplusplus
}
#endif
#endif
