/* matrix.c - operands on their way to the library and back: where a matrix lies, copies into column-major memory with
 * the search for NaN and infinity, and results. */
#include "providers/lapack/lapack.h"

#include <math.h>
#include <string.h>

/* ---- NaN and infinity: all bits of the exponent are set ---- */

typedef uint32_t __attribute__((may_alias)) word32;
typedef uint64_t __attribute__((may_alias)) word64;
typedef uint32_t __attribute__((vector_size(16), aligned(4), may_alias)) words32;
typedef uint64_t __attribute__((vector_size(16), aligned(4), may_alias)) words64;

/* Adding one to the exponent carries into the sign where it is all ones. No way out of the loop: most input is fine. */
#define DEFINE_SCAN(NAME, WORD, WORDS, ABSOLUTE, ONE, TOP)                                                             \
    static bool NAME(const WORD *x, int64_t count) {                                                                   \
        const int64_t lanes = (int64_t)(sizeof(WORDS) / sizeof(WORD));                                                 \
        const WORDS *v = (const WORDS *)(const void *)x;                                                               \
        WORDS all = {0};                                                                                               \
        WORD seen = 0;                                                                                                 \
        int64_t i = 0;                                                                                                 \
        for (; i + 4 * lanes <= count; i += 4 * lanes, v += 4) {                                                       \
            all |= ((v[0] & (ABSOLUTE)) + (ONE)) | ((v[1] & (ABSOLUTE)) + (ONE)) | ((v[2] & (ABSOLUTE)) + (ONE)) |     \
                   ((v[3] & (ABSOLUTE)) + (ONE));                                                                      \
        }                                                                                                              \
        for (int64_t j = 0; j < lanes; j++) {                                                                          \
            seen |= all[j];                                                                                            \
        }                                                                                                              \
        for (; i < count; i++) {                                                                                       \
            seen |= (x[i] & (ABSOLUTE)) + (ONE);                                                                       \
        }                                                                                                              \
        return !(seen >> (TOP));                                                                                       \
    }
DEFINE_SCAN(finite32, word32, words32, 0x7fffffffu, 0x00800000u, 31)
DEFINE_SCAN(finite64, word64, words64, 0x7fffffffffffffffu, 0x0010000000000000u, 63)

static bool is_wide(bp_dtype dtype) {
    return dtype == BP_F64 || dtype == BP_C128;
}

static int reals_of(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128 ? 2 : 1;
}

static bool finite_run(bp_dtype dtype, const void *x, int64_t reals) {
    return is_wide(dtype) ? finite64(x, reals) : finite32(x, reals);
}

bp__lapack_part bp__lapack_flipped(bp__lapack_part part) {
    static const bp__lapack_part flipped[] = {BP__LAPACK_WHOLE, BP__LAPACK_UPPER, BP__LAPACK_LOWER,
                                              BP__LAPACK_STRICTLY_UPPER, BP__LAPACK_STRICTLY_LOWER};
    return flipped[part];
}

/* The rows of column j that a part has: from *first up to the returned one. */
static int64_t rows_of(bp__lapack_part part, int64_t rows, int64_t j, int64_t *first) {
    bool lower = part == BP__LAPACK_LOWER || part == BP__LAPACK_STRICTLY_LOWER;
    int64_t strictly = part == BP__LAPACK_STRICTLY_LOWER, end = rows;
    *first = lower ? j + strictly : 0;
    if (part == BP__LAPACK_UPPER || part == BP__LAPACK_STRICTLY_UPPER) {
        end = j + (part == BP__LAPACK_UPPER);
    }
    end = end < rows ? end : rows;
    *first = *first < end ? *first : end;
    return end;
}

/* Columns `from` up to `to`. */
static bool finite_columns(bp_dtype dtype, int64_t rows, int64_t from, int64_t to, const char *matrix, int64_t row,
                           int64_t column, bp__lapack_part part) {
    int64_t reals = reals_of(dtype), size = (is_wide(dtype) ? 8 : 4) * reals;
    bool fine = true;
    if (part == BP__LAPACK_WHOLE && row == 1 && column == rows) {
        return finite_run(dtype, matrix + from * column * size, (to - from) * rows * reals);
    }
    for (int64_t j = from; j < to && fine; j++) {
        int64_t first, end = rows_of(part, rows, j, &first);
        const char *at = matrix + j * column * size;
        if (row == 1 || end - first == 1) {
            fine = finite_run(dtype, at + first * row * size, (end - first) * reals);
            continue;
        }
        for (int64_t i = first; i < end && fine; i++) {
            fine = finite_run(dtype, at + i * row * size, reals);
        }
    }
    return fine;
}

bool bp__lapack_finite(bp_dtype dtype, int64_t rows, int64_t columns, const void *matrix, int64_t row, int64_t column,
                       bp__lapack_part part) {
    if (row != 1 && column == 1) {
        return finite_columns(dtype, columns, 0, rows, matrix, column, row, bp__lapack_flipped(part));
    }
    return finite_columns(dtype, rows, 0, columns, matrix, row, column, part);
}

/* ---- Where a matrix lies ---- */

static bp__lapack_view view_of(const bp__lapack_plan *plan, int operand, bool transposed) {
    const bp_linalg_operand *x = bp__lapack_operand(plan, operand);
    bp__lapack_view view = {
        .operand = operand, .rows = x->rows, .columns = x->columns, .row = x->row, .column = x->column};
    if (transposed) {
        view.rows = x->columns;
        view.columns = x->rows;
        view.row = x->column;
        view.column = x->row;
    }
    view.ld = view.columns == 1 ? view.rows : view.column;
    view.in_place = (view.rows == 1 || view.row == 1) && view.ld >= view.rows && view.ld <= plan->driver->int_max;
    return view;
}

bool bp__lapack_lies(const bp__lapack_plan *plan, int operand, bool transposed) {
    return view_of(plan, operand, transposed).in_place;
}

bp__lapack_view bp__lapack_place_apart(bp__lapack_plan *plan, int operand, bool transposed, bool conjugate) {
    bp__lapack_view view = view_of(plan, operand, transposed);
    view.in_place = false;
    view.conjugate = conjugate;
    view.ld = view.rows;
    view.at = bp__lapack_reserve(plan, view.rows, plan->size * (size_t)view.columns);
    return view;
}

bp__lapack_view bp__lapack_place(bp__lapack_plan *plan, int operand, bool transposed) {
    bp__lapack_view view = view_of(plan, operand, transposed);
    return view.in_place ? view : bp__lapack_place_apart(plan, operand, transposed, false);
}

void *bp__lapack_address(const bp__lapack_view *view, const bp__lapack_item *item) {
    return view->in_place ? item->operand[view->operand] : item->scratch + view->at;
}

/* ---- Copies ---- */

#define BLOCK_BYTES 32768 /* copied, then looked at while it is in the first cache */

/* Column by column, since in each a part is one piece: what is not read need not be copied. */
static bool load_part(const bp__lapack_plan *plan, const bp__lapack_view *view, char *to, const char *source,
                      int64_t column, bp__lapack_part part) {
    int64_t size = (int64_t)plan->size, reals = reals_of(plan->dtype);
    bool fine = true;
    for (int64_t j = 0; j < view->columns && fine; j++) {
        int64_t first, end = rows_of(part, view->rows, j, &first);
        char *at = to + (j * view->ld + first) * size;
        memcpy(at, source + (j * column + first) * size, (size_t)((end - first) * size));
        fine = finite_run(plan->dtype, at, (end - first) * reals);
    }
    return fine;
}

bool bp__lapack_load(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *view, int from,
                     bool transposed, bp__lapack_part part) {
    const bp_linalg_operand *x = bp__lapack_operand(plan, from);
    int64_t row = transposed ? x->column : x->row, column = transposed ? x->row : x->column;
    int64_t size = (int64_t)plan->size;
    char *to = bp__lapack_address(view, item);
    const char *source = item->operand[from];
    if (to == source) {
        return bp__lapack_finite(plan->dtype, view->rows, view->columns, source, row, column, part);
    }
    if (part != BP__LAPACK_WHOLE && row == 1 && !view->conjugate) {
        return load_part(plan, view, to, source, column, part);
    }
    int64_t block = BLOCK_BYTES / (view->rows * size + 1) + 8;
    bool fine = true;
    for (int64_t j = 0; j < view->columns && fine; j += block) {
        int64_t end = j + block < view->columns ? j + block : view->columns;
        plan->driver->host->copy_matrix(plan->dtype, view->rows, end - j, to + j * view->ld * size, 1, view->ld,
                                        source + j * column * size, row, column, view->conjugate);
        fine = finite_columns(plan->dtype, view->rows, j, end, to, 1, view->ld, part);
    }
    return fine;
}

void bp__lapack_store(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *view) {
    if (!view->in_place) {
        plan->driver->host->copy_matrix(plan->dtype, view->rows, view->columns, item->operand[view->operand], view->row,
                                        view->column, item->scratch + view->at, 1, view->ld, view->conjugate);
    }
}

void bp__lapack_write(const bp__lapack_plan *plan, const bp__lapack_item *item, int operand, int64_t rows,
                      int64_t columns, const void *from, int64_t ld) {
    const bp_linalg_operand *x = bp__lapack_operand(plan, operand);
    plan->driver->host->copy_matrix((bp_dtype)x->dtype, rows, columns, item->operand[operand], x->row, x->column, from,
                                    1, ld, 0);
}

/* ---- Single elements ---- */

bp_scalar bp__lapack_get(bp_dtype dtype, const void *element) {
    if (is_wide(dtype)) {
        const double *x = element;
        return (bp_scalar){x[0], dtype == BP_C128 ? x[1] : 0};
    }
    const float *x = element;
    return (bp_scalar){x[0], dtype == BP_C64 ? x[1] : 0};
}

void bp__lapack_put(bp_dtype dtype, void *element, bp_scalar value) {
    if (is_wide(dtype)) {
        double *x = element;
        x[0] = value.re;
        if (dtype == BP_C128) {
            x[1] = value.im;
        }
    } else {
        float *x = element;
        x[0] = (float)value.re;
        if (dtype == BP_C64) {
            x[1] = (float)value.im;
        }
    }
}

void bp__lapack_clear(const bp__lapack_plan *plan, int64_t rows, int64_t columns, void *matrix, int64_t ld,
                      bp__lapack_part part, bool unit) {
    char *at = matrix;
    for (int64_t j = 0; j < columns; j++) {
        int64_t first, end = rows_of(part, rows, j, &first);
        char *column = at + (size_t)(j * ld) * plan->size;
        memset(column + (size_t)first * plan->size, 0, (size_t)(end - first) * plan->size);
        if (unit && j < rows) {
            bp__lapack_put(plan->dtype, column + (size_t)j * plan->size, (bp_scalar){1, 0});
        }
    }
}

/* ---- Items that are not computed ---- */

static void spoil_element(uint32_t dtype, char *at, int64_t index) {
    if (dtype == BP_I32) {
        ((int32_t *)(void *)at)[index] = 0;
    } else if (dtype == BP_I64) {
        ((int64_t *)(void *)at)[index] = 0;
    } else {
        int64_t size = (is_wide((bp_dtype)dtype) ? 8 : 4) * reals_of((bp_dtype)dtype);
        bp__lapack_put((bp_dtype)dtype, at + index * size, (bp_scalar){NAN, NAN});
    }
}

/* The outputs are the operands behind the inputs, of which there are one to three. */
static int first_output(uint32_t op) {
    return op == BP_OP_LU_SOLVE                                                                                   ? 3
           : op == BP_OP_CHOLESKY_SOLVE || op == BP_OP_SOLVE || op == BP_OP_SOLVE_TRIANGULAR || op == BP_OP_LSTSQ ? 2
                                                                                                                  : 1;
}

void bp__lapack_spoil(const bp__lapack_plan *plan, const bp__lapack_item *item) {
    for (int o = first_output(plan->problem.op); o < BP_LINALG_OPERANDS; o++) {
        const bp_linalg_operand *x = bp__lapack_operand(plan, o);
        for (int64_t j = 0; item->operand[o] && j < x->columns; j++) {
            for (int64_t i = 0; i < x->rows; i++) {
                spoil_element(x->dtype, item->operand[o], i * x->row + j * x->column);
            }
        }
    }
}
