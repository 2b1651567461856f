/* table.c - the table of linear algebra: operands, shapes, flags and modes of each operation.
 *
 * linalg.h documents the shapes and types; no other code defines them. */
#include "ops/linalg/linalg.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
#define NO_MODE  BP_MODE_DEFAULT, BP_MODE_DEFAULT, BP_MODE_DEFAULT
#define QR_MODE  BP_QR_REDUCED, BP_QR_R, BP_QR_REDUCED
#define SVD_MODE BP_SVD_REDUCED, BP_SVD_FULL, BP_SVD_REDUCED
#define LSTSQ_MODE BP_LSTSQ_GELSY, BP_LSTSQ_GELSS, BP_LSTSQ_GELSY
#define COND_MODE BP_NORM_FRO, BP_NORM_P, BP_NORM_P
#define NORM_MODE BP_NORM_FRO, BP_NORM_P, BP_NORM_FRO
#define ORDER_MODE BP_NORM_P, BP_NORM_P, BP_NORM_P
#define INFO {"", 'i', true}

static const bp__linalg_entry entries[] = {
    {BP_OP_INV, 1, 3, BP__TAKES_CHECK, NO_MODE, {{"nn", 's', false}, {"nn", 's', false}, INFO}},
    {BP_OP_CHOLESKY, 1, 3, BP__TAKES_CHECK | BP__TAKES_UPPER, NO_MODE,
     {{"nn", 's', false}, {"nn", 's', false}, INFO}},
    {BP_OP_CHOLESKY_SOLVE, 2, 3, BP__TAKES_UPPER, NO_MODE,
     {{"nr", 's', false}, {"nn", 's', false}, {"nr", 's', false}}},
    {BP_OP_CHOLESKY_INVERSE, 1, 3, BP__TAKES_CHECK | BP__TAKES_UPPER, NO_MODE,
     {{"nn", 's', false}, {"nn", 's', false}, INFO}},
    {BP_OP_LU_FACTOR, 1, 4, BP__TAKES_CHECK, NO_MODE,
     {{"mn", 's', false}, {"mn", 's', false}, {"k", 'i', false}, INFO}},
    {BP_OP_LU, 1, 4, 0, NO_MODE, {{"mn", 's', false}, {"mm", 's', false}, {"mk", 's', false}, {"kn", 's', false}}},
    {BP_OP_LU_SOLVE, 3, 4, BP__TAKES_RIGHT | BP__TAKES_ADJOINT, NO_MODE,
     {{"nn", 's', false}, {"n", 'i', false}, {"nr", 's', false}, {"nr", 's', false}}},
    {BP_OP_SOLVE, 2, 4, BP__TAKES_CHECK | BP__TAKES_RIGHT | BP__TAKES_VECTOR, NO_MODE,
     {{"nn", 's', false}, {"nr", 's', false}, {"nr", 's', false}, INFO}},
    {BP_OP_SOLVE_TRIANGULAR, 2, 3, BP__TAKES_UPPER | BP__TAKES_RIGHT | BP__TAKES_UNIT, NO_MODE,
     {{"nn", 's', false}, {"nr", 's', false}, {"nr", 's', false}}},
    {BP_OP_QR, 1, 3, 0, QR_MODE, {{"mn", 's', false}, {"mp", 's', false}, {"pn", 's', false}}},
    {BP_OP_EIGH, 1, 3, BP__TAKES_UPPER, NO_MODE, {{"nn", 's', false}, {"n", 'r', false}, {"nn", 's', true}}},
    {BP_OP_EIG, 1, 3, 0, NO_MODE, {{"nn", 's', false}, {"n", 'c', false}, {"nn", 'c', true}}},
    {BP_OP_SVD, 1, 4, 0, SVD_MODE,
     {{"mn", 's', false}, {"mp", 's', true}, {"k", 'r', false}, {"qn", 's', true}}},
    {BP_OP_LSTSQ, 2, 6, BP__TAKES_RTOL | BP__TAKES_VECTOR, LSTSQ_MODE,
     {{"mn", 's', false}, {"mr", 's', false}, {"nr", 's', false}, {"r", 'r', true}, {"", 'l', true},
      {"k", 'r', true}}},
    {BP_OP_DET, 1, 2, 0, NO_MODE, {{"nn", 's', false}, {"", 's', false}}},
    {BP_OP_SLOGDET, 1, 3, 0, NO_MODE, {{"nn", 's', false}, {"", 's', false}, {"", 'r', false}}},
    {BP_OP_PINV, 1, 2, BP__TAKES_HERMITIAN | BP__TAKES_UPPER | BP__TAKES_RTOL | BP__TAKES_ATOL, NO_MODE,
     {{"mn", 's', false}, {"nm", 's', false}}},
    {BP_OP_MATRIX_RANK, 1, 2, BP__TAKES_HERMITIAN | BP__TAKES_UPPER | BP__TAKES_RTOL | BP__TAKES_ATOL, NO_MODE,
     {{"mn", 's', false}, {"", 'l', false}}},
    {BP_OP_COND, 1, 2, 0, COND_MODE, {{"mn", 's', false}, {"", 'r', false}}},
    {BP_OP_MATRIX_NORM, 1, 2, 0, NORM_MODE, {{"mn", 's', false}, {"", 'r', false}}},
    {BP_OP_VECTOR_NORM, 1, 2, BP__TAKES_DIMS, ORDER_MODE, {{"mn", 's', false}, {"", 'r', false}}},
    {BP_OP_LDL_FACTOR, 1, 4, BP__TAKES_CHECK | BP__TAKES_HERMITIAN, NO_MODE,
     {{"nn", 's', false}, {"nn", 's', false}, {"n", 'i', false}, INFO}},
    {BP_OP_LDL_SOLVE, 3, 4, BP__TAKES_HERMITIAN, NO_MODE,
     {{"nn", 's', false}, {"n", 'i', false}, {"nr", 's', false}, {"nr", 's', false}}},
};
/* clang-format on */

/* Rows of operations whose numbers follow on, and of the others. */
enum { VECTOR_NORM_ROW = BP_OP_MATRIX_NORM - BP_OP_INV + 1, LDL_ROW };

_Static_assert(sizeof entries / sizeof entries[0] == LDL_ROW + BP_OP_LDL_SOLVE - BP_OP_LDL_FACTOR + 1,
               "a row for each operation, in order");

const bp__linalg_entry *bp__linalg_entry_of(bp_op op) {
    if (op >= BP_OP_INV && op <= BP_OP_MATRIX_NORM) {
        return &entries[op - BP_OP_INV];
    }
    return op == BP_OP_VECTOR_NORM                           ? &entries[VECTOR_NORM_ROW]
           : op == BP_OP_LDL_FACTOR || op == BP_OP_LDL_SOLVE ? &entries[LDL_ROW + op - BP_OP_LDL_FACTOR]
                                                             : NULL;
}

const char *bp__linalg_operand_name(const bp__linalg_entry *entry, int index, char *buffer, size_t size) {
    bool input = index < entry->inputs;
    const char *names = input ? bp_op_inputs(entry->op) : bp_op_outputs(entry->op);
    for (int i = input ? index : index - entry->inputs; i > 0; i--) {
        names = strchr(names, ',') + 1;
    }
    snprintf(buffer, size, "%.*s", (int)strcspn(names, ","), names);
    return buffer;
}

const char *bp__linalg_dims(const bp__linalg_facts *facts, int index, char letters[3]) {
    const char *dims = facts->entry->operand[index].dims;
    snprintf(letters, 3, "%s", dims);
    if (dims[0] == '\0' || dims[1] != 'r') {
        return letters;
    }
    if (facts->vector) {
        letters[1] = '\0';
    } else if (facts->call->right) {
        letters[0] = dims[1];
        letters[1] = dims[0];
    }
    return letters;
}

int64_t bp__linalg_size(const bp__linalg_facts *facts, char letter) {
    switch (letter) {
    case 'm':
        return facts->m;
    case 'n':
        return facts->n;
    case 'k':
        return facts->k;
    case 'p':
        return facts->p;
    case 'q':
        return facts->q;
    default:
        return facts->r;
    }
}

static bp_dtype type_of(bp_dtype dtype, char type) {
    bool wide = dtype == BP_F64 || dtype == BP_C128;
    switch (type) {
    case 'r':
        return wide ? BP_F64 : BP_F32;
    case 'c':
        return wide ? BP_C128 : BP_C64;
    case 'i':
        return BP_I32;
    case 'l':
        return BP_I64;
    default:
        return dtype;
    }
}

void bp__linalg_output(const bp__linalg_facts *facts, int index, bp_dtype *dtype, int *ndim, int64_t *shape) {
    char letters[3];
    bp__linalg_dims(facts, index, letters);
    *dtype = type_of(facts->dtype, facts->entry->operand[index].type);
    *ndim = facts->batch_ndim;
    memcpy(shape, facts->batch, (size_t)facts->batch_ndim * sizeof shape[0]);
    for (const char *letter = letters; *letter; letter++) {
        shape[(*ndim)++] = bp__linalg_size(facts, *letter);
    }
}
