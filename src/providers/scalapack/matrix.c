/* matrix.c - passes over the local parts of distributed matrices, and their descriptors. */
#include "providers/scalapack/scalapack.h"

#include <math.h>

/* ---- Sizes ---- */

static int64_t part_of(const bp_dist_place *place, int d, int64_t size, int64_t behind) {
    const int64_t block = place->dist->block[d], grid = place->dist->grid[d];
    const int64_t blocks = size / block, rest = blocks % grid;
    return blocks / grid * block + (behind < rest ? block : behind == rest ? size % block : 0);
}

int64_t bp__scalapack_most(const bp_dist_place *place, int dimension, int64_t size) {
    return part_of(place, dimension, size, 0);
}

int64_t bp__scalapack_own(const bp_dist_place *place, int dimension, int64_t size) {
    const int64_t grid = place->dist->grid[dimension];
    return part_of(place, dimension, size, (place->at[dimension] + grid - place->dist->source[dimension]) % grid);
}

/* ---- Descriptors ---- */

static void describe(const bp__scalapack_call *call, bp__scalapack_matrix *m, int64_t rows, int64_t columns) {
    enum { DENSE = 1 };
    const bp_dist *dist = call->place->dist;
    const int desc[9] = {DENSE,          call->context,   (int)rows,       (int)columns,   dist->block[0],
                         dist->block[1], dist->source[0], dist->source[1], (int)m->leading};
    memcpy(m->desc, desc, sizeof desc);
}

bp__scalapack_matrix bp__scalapack_operand(const bp__scalapack_call *call, int index) {
    const bp_dist_view *view = call->view[index];
    bp__scalapack_matrix m = {
        .local = view->local, .rows = view->rows, .columns = view->columns, .leading = view->leading};
    describe(call, &m, view->shape[0], view->shape[1]);
    return m;
}

bp__scalapack_matrix bp__scalapack_in(const bp__scalapack_call *call, void *memory, int64_t rows, int64_t columns) {
    bp__scalapack_matrix m = {.local = memory,
                              .rows = bp__scalapack_own(call->place, 0, rows),
                              .columns = bp__scalapack_own(call->place, 1, columns)};
    m.leading = bp__most(m.rows, 1);
    describe(call, &m, rows, columns);
    return m;
}

/* ---- Passes ---- */

void bp__scalapack_copy(const bp__scalapack_call *call, const bp__scalapack_matrix *to, int operand) {
    const bp_dist_view *from = call->view[operand];
    for (int64_t j = 0; j < from->columns && from->rows > 0; j++) {
        memcpy((char *)to->local + (size_t)(j * to->leading) * call->item,
               (const char *)from->local + (size_t)(j * from->leading) * call->item, (size_t)from->rows * call->item);
    }
}

/* Returns the number of local rows whose row of the whole matrix is below `global`. */
static int64_t rows_below(const bp_dist_place *place, int64_t global) {
    return bp__scalapack_own(place, 0, global);
}

/* Sets first and end to the local rows of column j that are in a triangle. */
static void find_rows(const bp_dist_place *place, int64_t j, int64_t rows, bool upper, bool diagonal, int64_t *first,
                      int64_t *end) {
    const int64_t column = bp_dist_to_global(place->dist, 1, place->at[1], j);
    *first = upper ? 0 : bp__least(rows_below(place, column + !diagonal), rows);
    *end = upper ? bp__least(rows_below(place, column + diagonal), rows) : rows;
}

void bp__scalapack_clear(const bp__scalapack_call *call, const bp__scalapack_matrix *matrix, bool upper) {
    for (int64_t j = 0; j < matrix->columns; j++) {
        int64_t first, end;
        find_rows(call->place, j, matrix->rows, upper, false, &first, &end);
        if (first < end) {
            memset((char *)matrix->local + (size_t)(first + j * matrix->leading) * call->item, 0,
                   (size_t)(end - first) * call->item);
        }
    }
}

/* A sum of x - x is 0 if all are finite, and NaN otherwise. */
#define FINITE(type)                                                                                                   \
    static bool finite_##type(const void *from, int64_t count) {                                                       \
        const type *x = from;                                                                                          \
        type sum = 0;                                                                                                  \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            sum += x[i] - x[i];                                                                                        \
        }                                                                                                              \
        return sum == 0;                                                                                               \
    }
FINITE(float)
FINITE(double)

bool bp__scalapack_finite(const bp__scalapack_call *call, int operand, bool triangle, bool upper) {
    const bp_dist_view *view = call->view[operand];
    const uint32_t dtype = call->plan->problem.dtype;
    const int reals = dtype == BP_C64 || dtype == BP_C128 ? 2 : 1;
    const bool wide = dtype == BP_F64 || dtype == BP_C128;
    bool fine = true;
    for (int64_t j = 0; j < view->columns && fine; j++) {
        int64_t first = 0, end = view->rows;
        if (triangle) {
            find_rows(call->place, j, view->rows, upper, true, &first, &end);
        }
        const void *at = (const char *)view->local + (size_t)(first + j * view->leading) * call->item;
        fine = first >= end || (wide ? finite_double : finite_float)(at, (end - first) * reals);
    }
    return fine;
}

/* ---- Outputs of a call that computes nothing ---- */

static void fill_column(char *at, int64_t rows, uint32_t dtype) {
    const int64_t reals = dtype == BP_C64 || dtype == BP_C128 ? 2 * rows : rows;
    for (int64_t i = 0; i < reals; i++) {
        if (dtype == BP_F32 || dtype == BP_C64) {
            ((float *)(void *)at)[i] = NAN;
        } else if (dtype == BP_F64 || dtype == BP_C128) {
            ((double *)(void *)at)[i] = NAN;
        } else if (dtype == BP_I32) {
            ((int32_t *)(void *)at)[i] = 0;
        } else {
            ((int64_t *)(void *)at)[i] = 0;
        }
    }
}

void bp__scalapack_fill_nan(const bp__scalapack_call *call, int inputs) {
    for (int i = inputs; i < BP__SCALAPACK_OPERANDS; i++) {
        const bp_dist_view *view = call->view[i];
        const bp_dtype dtype = BP__CAST(bp_dtype, call->plan->problem.of.linalg.operand[i].dtype);
        const size_t item = dtype == BP_C128 ? 16 : dtype == BP_F32 || dtype == BP_I32 ? 4 : 8;
        for (int64_t j = 0; view && j < view->columns && view->local; j++) {
            fill_column((char *)view->local + (size_t)(j * view->leading) * item, view->rows, dtype);
        }
    }
}
