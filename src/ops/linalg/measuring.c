/* measuring.c - what measuring linear algebra needs. */
#include "ops/linalg/classes.h"
#include "ops/linalg/linalg.h"
#include "tuning/trial.h"

#include <math.h>
#include <string.h>

/* Pivots that exchange no rows. */
static void fill_pivots(const bp__trial *trial, const bp__trial_operand *o, char *memory) {
    bp__walk walk;
    (void)trial;
    for (bool more = bp__walk_begin(&walk, o); more; more = bp__walk_next(&walk, o, 0)) {
        bp__trial_store_index(o, memory, walk.at, walk.index[o->ndim - 2] + walk.index[o->ndim - 1] + 1);
    }
}

/* What inputs and outputs of an operation need, beyond the default. */
typedef struct needs {
    bp__values values[2];
    bp__meaning meanings[4];
} needs;

static const needs rows[] = {
    [BP_OP_INV] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_CHOLESKY] = {.values = {BP__VALUES_DIAGONAL}},
    [BP_OP_CHOLESKY_SOLVE] = {.values = {BP__VALUES_ANY, BP__VALUES_DIAGONAL}},
    [BP_OP_CHOLESKY_INVERSE] = {.values = {BP__VALUES_DIAGONAL}},
    [BP_OP_LU_FACTOR] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_LU] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_LU_SOLVE] = {.values = {BP__VALUES_DIAGONAL, BP__VALUES_FILLED}},
    [BP_OP_SOLVE] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_SOLVE_TRIANGULAR] = {.values = {BP__VALUES_DIAGONAL}},
    [BP_OP_QR] = {.meanings = {BP__MEANING_WRITTEN, BP__MEANING_MAGNITUDES}},
    [BP_OP_EIGH] = {.meanings = {BP__MEANING_VALUES, BP__MEANING_WRITTEN}},
    [BP_OP_EIG] = {.meanings = {BP__MEANING_WRITTEN, BP__MEANING_WRITTEN}},
    [BP_OP_SVD] = {.meanings = {BP__MEANING_WRITTEN, BP__MEANING_VALUES, BP__MEANING_WRITTEN}},
    [BP_OP_LSTSQ] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_DET] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_SLOGDET] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_PINV] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_COND] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_VECTOR_NORM] = {.values = {BP__VALUES_ANY}},
    [BP_OP_LDL_FACTOR] = {.values = {BP__VALUES_DIAGONAL}},
    [BP_OP_LDL_SOLVE] = {.values = {BP__VALUES_DIAGONAL, BP__VALUES_FILLED}},
};

static void finish_trial(bp__trial *trial) {
    static const needs plain;
    const bp_problem *problem = trial->problem;
    const bp_linalg_problem *l = &problem->of.linalg;
    const needs *row = problem->op < BP__COUNT(rows) ? &rows[problem->op] : &plain;
    const int inputs = bp__input_count((bp_op)problem->op);
    for (int i = 0; i < trial->count; i++) {
        const bp_linalg_operand *from = &l->operand[i];
        bp__trial_operand *o = &trial->operand[i];
        o->ndim = 0; /* with all dimensions, so that the last two are the matrix */
        bp__trial_add_dimensions(o, l->batch_ndim, l->batch_shape, from->batch);
        bp__trial_add_dimension(o, from->rows, from->row);
        bp__trial_add_dimension(o, from->columns, from->column);
        o->values = i < inputs && i < BP__COUNT(row->values) ? row->values[i] : BP__VALUES_ANY;
        o->fill = fill_pivots;
        o->meaning =
            i >= inputs && i - inputs < BP__COUNT(row->meanings) ? row->meanings[i - inputs] : BP__MEANING_VALUES;
    }
    /* Backward errors grow with the size; the problems are well-conditioned. */
    trial->roundings = 8.0 * (double)(l->m + l->n + 8);
}

/* Returns the operation whose ratios apply: the one with the routines that take most of the time. */
static bp_op measured_op(bp_op op) {
    switch (op) {
    case BP_OP_LU:
        return BP_OP_LU_FACTOR;
    case BP_OP_LU_SOLVE:
    case BP_OP_CHOLESKY_SOLVE:
    case BP_OP_SOLVE_TRIANGULAR:
        return BP_OP_SOLVE;
    case BP_OP_CHOLESKY_INVERSE:
        return BP_OP_INV;
    case BP_OP_SLOGDET:
        return BP_OP_DET;
    case BP_OP_PINV:
    case BP_OP_MATRIX_RANK:
    case BP_OP_COND:
        return BP_OP_SVD;
    default:
        return op;
    }
}

/* Complex matrices have the ratios of real ones. */
static void place(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const bool wide = problem->dtype == BP_F64 || problem->dtype == BP_C128;
    (void)verdict;
    place->class = bp__class_find(measured_op((bp_op)problem->op), wide ? BP_F64 : BP_F32, 0);
    place->sizes[0] = sqrt((double)l->m * (double)l->n);
    place->sizes[1] = (double)l->batch;
}

static bp_status sample(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    enum { RIGHT_SIDES = 4 };
    bp_linalg_call call = {.struct_size = sizeof call, .op = class->op};
    const int inputs = bp__input_count(class->op), count = bp__operand_count(class->op);
    bp__sample_tensor views[BP_LINALG_OPERANDS];
    for (int i = 0; i < count; i++) {
        int64_t shape[BP_MAX_NDIM] = {sizes[1], sizes[0], i == 0 ? sizes[0] : RIGHT_SIDES};
        bp_dtype dtype = class->dtype;
        int ndim = 3;
        if (i >= inputs && bp_linalg_shape(&call, i - inputs, &dtype, &ndim, shape) != BP_OK) {
            continue; /* this mode has no such output */
        }
        bp__sample_tensor_init(&views[i], dtype, ndim, shape, NULL);
        bp__linalg_set(&call, i, &views[i].tensor);
    }
    return bp__linalg_sample(problem, &call);
}

const bp__measuring bp__measuring_linalg = {
    .sample = sample,
    .place = place,
    .finish_trial = finish_trial,
};
