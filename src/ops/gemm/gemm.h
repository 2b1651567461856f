/* gemm.h - converts the tensors of matmul.c and gemm.c to the GEMM problem that providers accept. */
#ifndef BP_OPS_GEMM_H
#define BP_OPS_GEMM_H

#include "backplane/matmul.h"
#include "ops/call.h"

/* A matrix operand with its batch; strides in elements. */
typedef struct bp__matrix {
    int64_t rows, columns;
    int64_t row, column; /* strides in elements */
    int batch_ndim;
    int64_t batch_shape[BP_MAX_NDIM];
    int64_t batch_stride[BP_MAX_NDIM];
} bp__matrix;

/* Reads the matrix from the last two dimensions and the batch from the others. */
void bp__matrix_from(bp__matrix *matrix, const DLTensor *tensor);
void bp__matrix_transpose(bp__matrix *matrix);

/* Fills sizes, strides and batch of a zeroed problem. The caller has checked the inner sizes. The batches of a and b
 * must broadcast to the batch of c; this is checked here (BP_E_SHAPE). Batch dimensions are merged with each other if
 * strides allow it, and into m or n: a stack of matrices times one matrix is one larger product. Fails with BP_E_LAYOUT
 * if more than BP_MAX_BATCH_NDIM remain. Fails with BP_E_OVERFLOW if sizes multiply beyond int64. */
bp_status bp__gemm_lower(bp_problem *problem, const bp__matrix *a, const bp__matrix *b, const bp__matrix *c);

/* Checks first, for both operations: three valid tensors of one supported type, or of integer types. */
bp_status bp__gemm_check(const DLTensor *a, const DLTensor *b, const DLTensor *c, const char *c_name,
                         bool data_optional);

bp_factor bp__factor(const bp_scalar *scalar, double when_null, bool complex);

/* The arguments of the public functions. */
typedef struct bp__matmul_arguments {
    size_t struct_size;
    const DLTensor *a, *b, *output;
} bp__matmul_arguments;

typedef struct bp__gemm_arguments {
    size_t struct_size;
    bp_transform transform_a, transform_b;
    const bp_scalar *alpha, *beta;
    const DLTensor *a, *b, *c;
} bp__gemm_arguments;

/* Makes a problem of either: see bp__family. */
bp_status bp__gemm_make(bp_problem *problem, const void *request);
/* Check the arguments, and fill the problem. */
bp_status bp__matmul_fill(bp_problem *problem, const bp__matmul_arguments *call, bool data_optional);
bp_status bp__gemm_fill(bp_problem *problem, const bp__gemm_arguments *call, bool data_optional);

/* Writes the batch to which the batches of two matrices are broadcast. */
bp_status bp__matrix_batch(const bp__matrix *a, const bp__matrix *b, int *ndim, int64_t *shape);

/* Runs a product that is not in the thread cache. */
bp_status bp__gemm_run(const bp__call_request *request, bp__call *call, const bp_scalar *scalars);

bool bp__gemm_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

/* Returns the product that calibration measures: row-major, one item, one thread, beta 0. */
bp_problem bp__plain_gemm(bp_dtype dtype, int64_t m, int64_t n, int64_t k);
double bp__gemm_predict(const bp__candidate *candidate, const bp_problem *problem, const bp_verdict *verdict,
                        const bp_verdict *preferred, bp__accuracy *accuracy); /* see bp__measuring */

extern const bp__adapter bp__gemm_simulate; /* round_inputs.c: rounds f32 inputs to lower precision */

#endif
