/* matrix.c - converts operands to column-major memory and back: detects usable layouts, copies with a check for NaN and
 * infinity, and writes results. */
#include "providers/lapack/lapack.h"

#include <math.h>

static bool is_wide(bp_dtype dtype) {
    return dtype == BP_F64 || dtype == BP_C128;
}

static int reals_of(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128 ? 2 : 1;
}

bp__lapack_region bp__lapack_flipped(bp__lapack_region region) {
    static const bp__lapack_region flipped[] = {BP__LAPACK_WHOLE, BP__LAPACK_UPPER, BP__LAPACK_LOWER,
                                                BP__LAPACK_STRICTLY_UPPER, BP__LAPACK_STRICTLY_LOWER};
    return flipped[region];
}

/* Describes a region for the passes over columns, which process reals. The first column has number `at`. */
static bp__lapack_columns columns_of(const bp__lapack_plan *plan, bp__lapack_region region, int64_t rows,
                                     int64_t columns, int64_t at) {
    int64_t reals = reals_of(plan->dtype), offset = region == BP__LAPACK_STRICTLY_LOWER || region == BP__LAPACK_UPPER;
    bool whole = region == BP__LAPACK_WHOLE;
    return (bp__lapack_columns){.size = rows * reals,
                                .columns = columns,
                                .edge = whole ? rows * reals : (at + offset) * reals,
                                .step = whole ? 0 : reals,
                                .after_edge = region == BP__LAPACK_LOWER || region == BP__LAPACK_STRICTLY_LOWER};
}

/* Checks the region, and copies it if c->to is not NULL. */
static bool scan(const bp__lapack_plan *plan, bp__lapack_columns *c) {
    bool joined = c->step == 0 && c->from_next == c->size && (!c->to || c->to_next == c->size);
    if (joined) {
        c->edge = c->size *= c->columns;
        c->columns = 1;
    }
    return plan->passes->scan(c);
}

/* Checks a matrix that is contiguous in neither dimension. Each element is a column of its own. */
static bool finite_strided(const bp__lapack_plan *plan, const bp__lapack_columns *c, int64_t row) {
    int64_t reals = reals_of(plan->dtype);
    bool fine = true;
    for (int64_t j = 0; j < c->columns && fine; j++) {
        int64_t edge = c->edge + j * c->step < c->size ? c->edge + j * c->step : c->size;
        int64_t first = c->after_edge ? edge : 0, end = c->after_edge ? c->size : edge;
        bp__lapack_columns elements = columns_of(plan, BP__LAPACK_WHOLE, 1, (end - first) / reals, 0);
        elements.from = (const char *)c->from + (j * c->from_next + first * row) * (int64_t)plan->real_size;
        elements.from_next = row * reals;
        fine = scan(plan, &elements);
    }
    return fine;
}

bool bp__lapack_finite(const bp__lapack_plan *plan, int64_t rows, int64_t columns, const void *matrix, int64_t row,
                       int64_t column, bp__lapack_region region) {
    int64_t reals = reals_of(plan->dtype);
    bool by_rows = row != 1 && rows > 1 && (column == 1 || columns == 1);
    bp__lapack_columns c = by_rows ? columns_of(plan, bp__lapack_flipped(region), columns, rows, 0)
                                   : columns_of(plan, region, rows, columns, 0);
    c.from = matrix;
    c.from_next = (by_rows ? row : column) * reals;
    return by_rows || row == 1 || rows == 1 ? scan(plan, &c) : finite_strided(plan, &c, row);
}

/* ---- Layouts ---- */

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
    view.in_place = (view.rows == 1 || view.row == 1) && view.ld >= view.rows &&
                    bp__driver_takes_leading(view.ld, view.rows, plan->driver->int_max);
    return view;
}

bool bp__lapack_fits(const bp__lapack_plan *plan, int operand, bool transposed) {
    return view_of(plan, operand, transposed).in_place;
}

bp__lapack_view bp__lapack_place_in_scratch(bp__lapack_plan *plan, int operand, bool transposed, bool conjugate) {
    bp__lapack_view view = view_of(plan, operand, transposed);
    view.in_place = false;
    view.conjugate = conjugate;
    view.ld = view.rows;
    view.at = bp__lapack_reserve(plan, view.rows, plan->size * (size_t)view.columns);
    return view;
}

bp__lapack_view bp__lapack_place(bp__lapack_plan *plan, int operand, bool transposed) {
    bp__lapack_view view = view_of(plan, operand, transposed);
    return view.in_place && plan->margin == 0 ? view : bp__lapack_place_in_scratch(plan, operand, transposed, false);
}

void *bp__lapack_address(const bp__lapack_view *view, const bp__lapack_item *item) {
    return view->in_place ? item->operand[view->operand] : item->scratch + view->at;
}

/* ---- Copies ---- */

#define BLOCK_BYTES 32768 /* copied, then checked while it is in the first-level cache */

bool bp__lapack_load(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *view, int from,
                     bool transposed, bp__lapack_region region) {
    const bp_linalg_operand *x = bp__lapack_operand(plan, from);
    int64_t row = transposed ? x->column : x->row, column = transposed ? x->row : x->column;
    int64_t size = (int64_t)plan->size, reals = reals_of(plan->dtype);
    char *to = bp__lapack_address(view, item);
    const char *source = item->operand[from];
    if (to == source) {
        return bp__lapack_finite(plan, view->rows, view->columns, source, row, column, region);
    }
    if (row == 1 && !view->conjugate) {
        bp__lapack_columns c = columns_of(plan, region, view->rows, view->columns, 0);
        c.from = source, c.from_next = column * reals;
        c.to = to, c.to_next = view->ld * reals;
        return scan(plan, &c);
    }
    int64_t block = BLOCK_BYTES / (view->rows * size + 1) + 8;
    bool fine = true;
    for (int64_t j = 0; j < view->columns && fine; j += block) {
        int64_t columns = j + block < view->columns ? block : view->columns - j;
        bp__lapack_columns c = columns_of(plan, region, view->rows, columns, j);
        c.from = to + j * view->ld * size;
        c.from_next = view->ld * reals;
        plan->driver->host->copy_matrix(plan->dtype, view->rows, columns, to + j * view->ld * size, 1, view->ld,
                                        source + j * column * size, row, column, view->conjugate);
        fine = scan(plan, &c);
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
                      bp__lapack_region region, bool unit) {
    bp__lapack_columns c = columns_of(plan, region, rows, columns, 0);
    c.to = matrix;
    c.to_next = ld * reals_of(plan->dtype);
    plan->passes->clear(&c);
    for (int64_t j = 0; unit && j < rows && j < columns; j++) {
        bp__lapack_put(plan->dtype, (char *)matrix + (size_t)(j * (ld + 1)) * plan->size, (bp_scalar){1, 0});
    }
}

void bp__lapack_make_diagonal_real(const bp__lapack_plan *plan, const bp__lapack_item *item,
                                   const bp__lapack_view *view) {
    char *matrix = bp__lapack_address(view, item);
    for (int64_t i = 0; plan->complex && i < view->rows; i++) {
        char *at = matrix + (size_t)(i * view->ld + i) * plan->size;
        bp__lapack_put(plan->dtype, at, (bp_scalar){bp__lapack_get(plan->dtype, at).re, 0});
    }
}

/* ---- Skipped items ---- */

static void fill_element(uint32_t dtype, char *at, int64_t index) {
    if (dtype == BP_I32) {
        ((int32_t *)(void *)at)[index] = 0;
    } else if (dtype == BP_I64) {
        ((int64_t *)(void *)at)[index] = 0;
    } else {
        int64_t size = (is_wide((bp_dtype)dtype) ? 8 : 4) * reals_of((bp_dtype)dtype);
        bp__lapack_put((bp_dtype)dtype, at + index * size, (bp_scalar){NAN, NAN});
    }
}

/* Returns the number of the first output. The outputs follow one to three inputs. */
static int first_output(uint32_t op) {
    return op == BP_OP_LU_SOLVE || op == BP_OP_LDL_SOLVE                                                          ? 3
           : op == BP_OP_CHOLESKY_SOLVE || op == BP_OP_SOLVE || op == BP_OP_SOLVE_TRIANGULAR || op == BP_OP_LSTSQ ? 2
                                                                                                                  : 1;
}

void bp__lapack_fill_nan(const bp__lapack_plan *plan, const bp__lapack_item *item) {
    for (int o = first_output(plan->problem.op); o < BP_LINALG_OPERANDS; o++) {
        const bp_linalg_operand *x = bp__lapack_operand(plan, o);
        for (int64_t j = 0; item->operand[o] && j < x->columns; j++) {
            for (int64_t i = 0; i < x->rows; i++) {
                fill_element(x->dtype, item->operand[o], i * x->row + j * x->column);
            }
        }
    }
}
