/* linalg.h - between the files of linear algebra: the table of operations, what a call was found to be, and the way to
 * a problem. */
#ifndef BP_OPS_LINALG_H
#define BP_OPS_LINALG_H

#include "backplane/linalg.h"
#include "dispatch/internal.h"

/* What a call of an operation may set, and what its operands may be. */
enum {
    BP__TAKES_UPPER = 1,
    BP__TAKES_RIGHT = 2,
    BP__TAKES_ADJOINT = 4,
    BP__TAKES_UNIT = 8,
    BP__TAKES_HERMITIAN = 16,
    BP__TAKES_RTOL = 32,
    BP__TAKES_ATOL = 64,
    BP__TAKES_VECTOR = 128, /* B may be a vector */
    BP__TAKES_CHECK = 256,  /* there is an info */
    BP__TAKES_DIMS = 512    /* dims, ndim and keepdim */
};

/* Operands of LSTSQ that say something of A alone. */
enum { BP__LSTSQ_RANK = 4, BP__LSTSQ_VALUES = 5 };

/* One operand: a letter for each dimension, the element type, and whether it may be absent.
 *   m, n  rows and columns of A        r  right sides, the columns of B
 *   k     the smaller of m and n       p  columns of Q and U: k, or m of whole matrices
 *                                      q  rows of Vh: k, or n of whole matrices
 *   s  A's type    r  real    c  complex    i  int32    l  int64 */
typedef struct bp__linalg_rule {
    const char *dims;
    char type;
    bool optional;
} bp__linalg_rule;

typedef struct bp__linalg_row {
    bp_op op;
    int inputs, count; /* operands */
    unsigned takes;
    bp_linalg_mode first, last, standard; /* modes: from, to, and what the default stands for */
    bp__linalg_rule operand[BP_LINALG_OPERANDS];
} bp__linalg_row;

/* NULL for a number that is no operation of linear algebra. */
const bp__linalg_row *bp__linalg_row_of(bp_op op);

/* What was found out about a call from its parameters and inputs. */
typedef struct bp__linalg_facts {
    const bp__linalg_row *row;
    const bp_linalg_call *call;
    bp_dtype dtype; /* of A */
    bp_linalg_mode mode;
    double order;
    bool vector; /* B is one */
    int64_t m, n, k, r, p, q;
    int batch_ndim;
    int64_t batch[BP_MAX_NDIM];
} bp__linalg_facts;

/* A failure whose sentence starts with the operation's name. */
bp_status bp__linalg_fail(const bp__linalg_row *row, bp_status status, const char *format, ...) BP_PRINTF(3, 4);
const char *bp__linalg_operand_name(const bp__linalg_row *row, int index, char *buffer, size_t size);

/* The letters of an operand's dimensions in this call: turned where B is on the right, shorter where it is a vector. */
const char *bp__linalg_dims(const bp__linalg_facts *facts, int index, char letters[3]);
int64_t bp__linalg_size(const bp__linalg_facts *facts, char letter);

/* Checks parameters (parameters.c) and inputs (check.c), and fills the facts. */
bp_status bp__linalg_parameters(bp__linalg_facts *facts, const bp_linalg_call *call);
bp_status bp__linalg_inputs(bp__linalg_facts *facts, bool data_optional);

/* The default or the given tolerances: max(atol, rtol * largest) counts as zero. */
void bp__linalg_tolerances(const bp__linalg_facts *facts, double *rtol, double *atol);

/* Type and shape of an output, as the facts say it. */
void bp__linalg_output(const bp__linalg_facts *facts, int index, bp_dtype *dtype, int *ndim, int64_t *shape);

/* BP_OK where this call has such an output at all. */
bp_status bp__linalg_has_output(const bp__linalg_facts *facts, int index);
bp_status bp__linalg_outputs(const bp__linalg_facts *facts, bool data_optional);

/* Fills sizes, strides and the batch of a zeroed problem. */
bp_status bp__linalg_lower(bp_problem *problem, const bp__linalg_facts *facts);

/* ---- Vector norms (vector_norm.c) ---- */

/* A call of VECTOR_NORM whose A is a batch of matrices (*,m,n), each of which is one vector. */
typedef struct bp__vector_norm {
    bp_linalg_call call;
    DLTensor a, norm;
    int64_t a_shape[BP_MAX_NDIM], a_strides[BP_MAX_NDIM], norm_shape[BP_MAX_NDIM], norm_strides[BP_MAX_NDIM];
} bp__vector_norm;

/* Finds the reduced dimensions of A, a bit each. A must be there. BP_E_ARGUMENT. */
bp_status bp__vector_norm_dims(const bp_linalg_call *call, uint64_t *reduced);

/* Rewrites a call, whose addresses stay as they are. BP_E_LAYOUT if the reduced dimensions are more than two after
 * merging. */
bp_status bp__vector_norm_lower(bp__vector_norm *lowered, const bp_linalg_call *call, bool data_optional);
bp_status bp__vector_norm_shape(const bp_linalg_call *call, bp_dtype *dtype, int *ndim, int64_t *shape);

/* Whether A must be copied before it is reduced. False also for a call that has an error. */
bool bp__vector_norm_scattered(const bp_linalg_call *call);
bp_status bp__vector_norm_copied(const bp_linalg_call *call);

/* From a call to a problem: see bp__family. */
bp_status bp__linalg_make(bp_problem *problem, const void *request);

/* The problem that a call is; its tensors may have no data. */
bp_status bp__linalg_problem(bp_problem *problem, const bp_linalg_call *call);

/* One call, once all is said. `forgiving`: a failing item fails nothing, though there is no info to tell of it. */
bp_status bp__linalg_run(const bp_linalg_call *call, bool forgiving);

#endif
