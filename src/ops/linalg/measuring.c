/* measuring.c - what measuring linear algebra needs. */
#include "ops/linalg/linalg.h"
#include "tuning/trial.h"

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

const bp__measuring bp__measuring_linalg = {
    .finish_trial = finish_trial,
};
