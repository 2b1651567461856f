/* linalg.h - declarations shared by the files of linear algebra: the table of operations, the facts about a call, and
 * the conversion to a problem. */
#ifndef BP_OPS_LINALG_H
#define BP_OPS_LINALG_H

#include "backplane/linalg.h"
#include "ops/call.h"

/* Flags: what a call of an operation may set, and which kinds of operands it accepts. */
enum {
    BP__TAKES_UPPER = 1,
    BP__TAKES_RIGHT = 2,
    BP__TAKES_ADJOINT = 4,
    BP__TAKES_UNIT = 8,
    BP__TAKES_HERMITIAN = 16,
    BP__TAKES_RTOL = 32,
    BP__TAKES_ATOL = 64,
    BP__TAKES_CHECK = 256, /* there is an info */
    BP__TAKES_DIMS = 512,
    BP__TAKES_KEEP = 1024,
    /* They are told by the modes, or together with another flag. */
    BP__TAKES_NDIM = 0,
    BP__TAKES_ORDER = 0,
    BP__TAKES_QR_MODE = 0,
    BP__TAKES_SVD_MODE = 0,
    BP__TAKES_LSTSQ_MODE = 0,
    BP__TAKES_COND_MODE = 0,
    BP__TAKES_NORM_MODE = 0,
    BP__TAKES_ORDER_MODE = 0
};

/* Outputs of LSTSQ that depend on A alone. */
enum { BP__LSTSQ_RANK = 2, BP__LSTSQ_VALUES = 3 };

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

typedef struct bp__linalg_entry {
    bp_op op;
    int inputs, count; /* number of inputs, and of all operands */
    unsigned takes;
    bp_linalg_mode first, last, standard; /* modes: first, last, and the default's meaning */
    const bp_call *described;
    bp__linalg_rule operand[BP_LINALG_OPERANDS];
} bp__linalg_entry;

extern const bp__linalg_entry bp__linalg_entries[]; /* table.c */

/* Rows of operations whose numbers follow on, and of the others. */
enum { BP__VECTOR_NORM_ROW = BP_OP_MATRIX_NORM - BP_OP_INV + 1, BP__LDL_ROW };

/* Returns the table entry; NULL if the number is not an operation of linear algebra. */
static inline const bp__linalg_entry *bp__linalg_entry_of(bp_op op) {
    if (op >= BP_OP_INV && op <= BP_OP_MATRIX_NORM) {
        return &bp__linalg_entries[op - BP_OP_INV];
    }
    return op == BP_OP_VECTOR_NORM                           ? &bp__linalg_entries[BP__VECTOR_NORM_ROW]
           : op == BP_OP_LDL_FACTOR || op == BP_OP_LDL_SOLVE ? &bp__linalg_entries[BP__LDL_ROW + op - BP_OP_LDL_FACTOR]
                                                             : NULL;
}

/* Describes all fields of a bp_linalg_call, for the key of any operation. */
extern const bp_call bp__linalg_any;

/* Facts about a call, from its parameters and inputs. */
typedef struct bp__linalg_facts {
    const bp__linalg_entry *entry;
    const bp_linalg_call *call;
    bp_dtype dtype; /* of A */
    bp_linalg_mode mode;
    double order;
    bool vector; /* B is a vector */
    int64_t m, n, k, r, p, q;
    int batch_ndim;
    int64_t batch[BP_MAX_NDIM];
} bp__linalg_facts;

/* Fails with a message that starts with the operation's name. */
bp_status bp__linalg_fail(const bp__linalg_entry *entry, bp_status status, const char *format, ...) BP_PRINTF(3, 4);
const char *bp__linalg_operand_name(const bp__linalg_entry *entry, int index);

/* Returns the tensor of an operand: an input, or an output behind all inputs; NULL if it is absent. */
static inline const DLTensor *bp__linalg_tensor(const bp__linalg_facts *facts, int index) {
    const int inputs = facts->entry->inputs;
    return index < inputs ? facts->call->input[index] : facts->call->output[index - inputs];
}

/* Sets an operand of a call whose operation is known. */
static inline void bp__linalg_set(bp_linalg_call *call, int index, DLTensor *tensor) {
    const int inputs = bp__input_count(call->op);
    if (index < inputs) {
        call->input[index] = tensor;
    } else {
        call->output[index - inputs] = tensor;
    }
}

/* Returns the letters of an operand's dimensions in this call. They are swapped if `right` is set (X A = B), and
 * shorter if B is a vector. */
const char *bp__linalg_dims(const bp__linalg_facts *facts, int index, char letters[3]);
int64_t bp__linalg_size(const bp__linalg_facts *facts, char letter);

/* Check parameters (parameters.c) and inputs (check.c), and fill the facts. */
bp_status bp__linalg_parameters(bp__linalg_facts *facts, const bp_linalg_call *call);
bp_status bp__linalg_inputs(bp__linalg_facts *facts, bool data_optional);

/* Returns the default or given tolerances. Values up to max(atol, rtol * largest) count as zero. */
void bp__linalg_tolerances(const bp__linalg_facts *facts, double *rtol, double *atol);

/* Returns type and shape of an operand that is an output. */
void bp__linalg_output(const bp__linalg_facts *facts, int index, bp_dtype *dtype, int *ndim, int64_t *shape);

/* Returns BP_OK if this call has output[index]. */
bp_status bp__linalg_has_output(const bp__linalg_facts *facts, int index);
bp_status bp__linalg_outputs(const bp__linalg_facts *facts, bool data_optional);

/* Fills sizes, strides and the batch of a zeroed problem. */
bp_status bp__linalg_lower(bp_problem *problem, const bp__linalg_facts *facts);

/* ---- Vector norms (vector_norm.c) ---- */

/* A call of VECTOR_NORM whose A is a batch of matrices (*,m,n), and each is one vector. */
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

/* Makes the problem of a call; its tensors may have no data. */
bp_status bp__linalg_sample(bp_problem *problem, const bp_linalg_call *call);

/* Runs one call. `ignore_item_errors`: returns BP_OK even if an item fails and the call has no info output. */
bp_status bp__linalg_run(const bp_linalg_call *call, bool ignore_item_errors);

bp_status bp__linalg_fail_item(const bp_problem *problem, int64_t item, int64_t info);    /* see bp__family */
bool bp__linalg_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
