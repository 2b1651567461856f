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

/* What an operation was asked for, besides its tensors, and how it becomes a problem. */
typedef struct bp__request bp__request;
struct bp__request {
    bp_status (*problem)(bp_problem *problem, const bp__request *request, const DLTensor *const tensors[BP__OPERANDS],
                         bool data_optional);
    bp_transform transform_a, transform_b; /* gemm only */
    const bp_scalar *alpha, *beta;
};

/* The long way of running, planning and explaining, the same for both operations. */
bp_status bp__request_run(const bp__request *request, bp__call *call, const bp_scalar *scalars);
bp_status bp__request_plan(bp_plan **plan, const bp_options *options, const bp__request *request, const DLTensor *a,
                           const DLTensor *b, const DLTensor *c);
bp_status bp__request_explain(bp_explanation **explanation, const bp_options *options, const bp__request *request,
                              const DLTensor *a, const DLTensor *b, const DLTensor *c);

#endif
