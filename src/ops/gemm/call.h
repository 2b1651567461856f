/* call.h - describes the calls of products, whose functions take arguments. They have a fast path of their own
 * (gemm_fast_path.c); all else comes from the description. */
#ifndef BP_OPS_GEMM_CALL_H
#define BP_OPS_GEMM_CALL_H

#include "ops/gemm/gemm.h"

#define BP__CALL bp__matmul_arguments
static const bp_call_field bp__matmul_fields[] = {
    BP__TENSOR(a, "(*, m, k), or (k)"),
    BP__TENSOR(b, "(*, k, n), or (k)"),
    BP__TENSOR(output, "(*, m, n), without the dimension of a vector"),
};
static const bp__pass bp__matmul_passes[] = {
    {{"FORWARD", BP_OP_GEMM, 3, 2}, {BP__IN(a, true, 0), BP__IN(b, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#define BP__TRANSFORM(field, text) BP__WORD(field, BP_CONJUGATE, "as_is,transpose,conjugate_transpose,conjugate", text)

#define BP__CALL bp__gemm_arguments
static const bp_call_field bp__gemm_fields[] = {
    BP__TRANSFORM(transform_a, "the form of a in the product"),
    BP__TRANSFORM(transform_b, "the form of b in the product"),
    BP__FACTOR(alpha, 1, "the factor of the product"),
    BP__FACTOR(beta, 0, "the factor of c before it is added; 0: c is not read"),
    BP__TENSOR(a, "(*, m, k) in its form"),
    BP__TENSOR(b, "(*, k, n) in its form"),
    BP__TENSOR(c, "(*, m, n); it is also read if beta is not 0"),
};
static const bp__pass bp__gemm_passes[] = {
    {{"FORWARD", BP_OP_GEMM, 3, 2}, {BP__IN(a, true, 0), BP__IN(b, true, 0), BP__UPDATED(c, true, 0)}}};
#undef BP__CALL

#endif
