/* empty.c - fills the outputs of problems in which a size or the batch is 0. Nothing is computed, but outputs may still
 * have elements: empty products are 1, empty sums are 0, and bases of the whole space are the identity. */
#include "small.h"

#include <math.h>
#include <string.h>

typedef struct prepared {
    bp_prepared base; /* must be first, so that both structs have the same address */
    const bp_host *host;
    bp_problem problem;
} prepared;

/* Returns the squared norm of a column of B: the residual of a solution without unknowns. It is not finite if B is not.
 */
static double column_square(const bp_linalg_operand *b, const char *at, int64_t column) {
    const size_t size = bp_dtype_size((bp_dtype)b->dtype);
    const bool single = b->dtype == BP_F32 || b->dtype == BP_C64;
    const int parts = b->dtype == BP_C64 || b->dtype == BP_C128 ? 2 : 1;
    double sum = 0;
    for (int64_t i = 0; i < b->rows; i++) {
        const void *element = at + (i * b->row + column * b->column) * (int64_t)size;
        for (int part = 0; part < parts; part++) {
            const double x = single ? (double)((const float *)element)[part] : ((const double *)element)[part];
            sum += x * x;
        }
    }
    return sum;
}

/* Fills the residuals of least squares: the squared norms of B's columns if there are equations but no unknowns,
 * otherwise NaN. */
static void fill_residuals(const bp_linalg_problem *l, char *const *at) {
    const bp_linalg_operand *to = &l->operand[3];
    for (int64_t j = 0; at[3] && j < to->rows; j++) {
        const double value = l->m > l->n ? column_square(&l->operand[1], at[1], j) : (double)NAN;
        bp_linalg_operand one = *to;
        one.rows = one.columns = 1;
        bp__item_fill(&one, at[3] + j * to->row * (int64_t)bp_dtype_size((bp_dtype)to->dtype), value, value);
    }
}

/* Returns the value of an output's elements outside the diagonal of the identity. The norm of an empty vector is an
 * empty sum to the power of 1 / order. */
static double other_of(const bp_problem *problem) {
    return problem->op == BP_OP_VECTOR_NORM && problem->of.linalg.order < 0 ? (double)INFINITY : 0;
}

/* Returns whether an output is the identity. */
static bool is_identity(const bp_problem *problem, int operand) {
    switch ((bp_op)problem->op) {
    case BP_OP_LU: /* P */
    case BP_OP_QR: /* Q */
    case BP_OP_DET:
    case BP_OP_SLOGDET: /* the sign */
        return operand == 1;
    case BP_OP_SVD: /* U and Vh */
        return operand == 1 || operand == 3;
    default:
        return false;
    }
}

static int inputs_of(bp_op op) {
    switch (op) {
    case BP_OP_LU_SOLVE:
    case BP_OP_LDL_SOLVE:
        return 3;
    case BP_OP_CHOLESKY_SOLVE:
    case BP_OP_SOLVE:
    case BP_OP_SOLVE_TRIANGULAR:
    case BP_OP_LSTSQ:
        return 2;
    default:
        return 1;
    }
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    void *addresses[BP_LINALG_OPERANDS];
    (void)exec;
    const bp_problem *problem = &((const prepared *)self)->problem;
    const bp_linalg_problem *l = &problem->of.linalg;
    bp_linalg_addresses(l, operands, addresses);
    for (int64_t item = 0; item < l->batch; item++) {
        char *at[BP_LINALG_OPERANDS];
        bp__item_locate(l, addresses, item, at);
        for (int i = inputs_of((bp_op)problem->op); i < BP_LINALG_OPERANDS; i++) {
            bp__item_fill(&l->operand[i], at[i], is_identity(problem, i) ? 1 : other_of(problem), other_of(problem));
        }
        if (problem->op == BP_OP_LSTSQ) {
            fill_residuals(l, at);
        }
    }
    return BP_OK;
}

static void destroy(bp_prepared *self) {
    ((prepared *)self)->host->release(self);
}

bp_status bp__empty_prepare(const bp_host *host, const bp_problem *problem, bp_prepared **result) {
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = enqueue, .destroy = destroy};
    plan->host = host;
    plan->problem = *problem;
    *result = &plan->base;
    return BP_OK;
}
