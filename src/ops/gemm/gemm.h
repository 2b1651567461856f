/* gemm.h - how matmul.c and gemm.c turn tensors into the one GEMM problem that providers know. */
#ifndef BP_OPS_GEMM_H
#define BP_OPS_GEMM_H

#include "backplane/matmul.h"
#include "dispatch/internal.h"

/* A matrix operand with its batch, strides in elements. */
typedef struct bp__matrix {
    int64_t rows, columns;
    int64_t row, column; /* strides */
    int batch_ndim;
    int64_t batch_shape[BP_MAX_NDIM];
    int64_t batch_stride[BP_MAX_NDIM];
} bp__matrix;

/* The last two dimensions are the matrix, those before are the batch. */
void bp__matrix_from(bp__matrix *matrix, const DLTensor *tensor);
void bp__matrix_transpose(bp__matrix *matrix);

/* Fills sizes, strides and batch of a zeroed problem. Inner sizes must fit already; the batch of a and b broadcasts to
 * that of c, which is the caller's claim and is checked here (BP_E_SHAPE). Batch dimensions are merged with each other,
 * and into m or n where strides allow: a product of a stack with one matrix is one larger product. BP_E_LAYOUT where
 * more than BP_MAX_BATCH_NDIM remain. Sizes that multiply beyond int64 are BP_E_OVERFLOW. */
bp_status bp__gemm_lower(bp_problem *problem, const bp__matrix *a, const bp__matrix *b, const bp__matrix *c);

/* What both operations check before anything else: three valid tensors of one accepted dtype. */
bp_status bp__gemm_check(const DLTensor *a, const DLTensor *b, const DLTensor *c, const char *c_name,
                         bool data_optional);

/* And once the shapes are known to fit: an output apart from itself and, as far as there are addresses, from the
 * inputs. */
bp_status bp__gemm_check_memory(const DLTensor *a, const DLTensor *b, const DLTensor *c, const char *c_name);

bp_factor bp__factor(const bp_scalar *scalar, double when_null, bool complex);

/* A product as it was asked for. */
typedef struct bp__product_request {
    const DLTensor *tensors[BP__OPERANDS]; /* a, b, and the output */
    bool data_optional;
    bool gemm; /* bp_gemm; else bp_matmul, which takes no part of what follows */
    bp_transform transform_a, transform_b;
    const bp_scalar *alpha, *beta;
} bp__product_request;

/* From a bp__product_request to a problem: see bp__family. */
bp_status bp__gemm_make(bp_problem *problem, const void *request);
bp_status bp__matmul_fill(bp_problem *problem, const bp__product_request *request); /* the two kinds, checked */
bp_status bp__gemm_fill(bp_problem *problem, const bp__product_request *request);

/* A call that the thread's cache does not know. */
bp_status bp__product_run(const bp__product_request *request, bp__call *call, const bp_scalar *scalars);

extern const bp__adapter bp__gemm_simulate; /* round_inputs.c: f32 inputs rounded to less */

#endif
