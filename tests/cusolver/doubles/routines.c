/* routines.c - the routines of the double of libcusolver.so.12, in long double, from the definitions of LAPACK. */
#include "parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory ---- */

size_t double_item(unsigned type) {
    return type == BP__CUDA_R_32F                             ? 4
           : type == BP__CUDA_R_64F || type == BP__CUDA_C_32F ? 8
           : type == BP__CUDA_C_64F                           ? 16
                                                              : 0;
}

static number read_element(unsigned type, const uint8_t *from) {
    const bool single = type == BP__CUDA_R_32F || type == BP__CUDA_C_32F;
    double wide[2] = {0, 0};
    float narrow[2] = {0, 0};
    memcpy(single ? (void *)narrow : wide, from, double_item(type));
    return single ? complex_of(narrow[0], narrow[1]) : complex_of(wide[0], wide[1]);
}

static void write_element(unsigned type, uint8_t *to, number value) {
    const double wide[2] = {(double)creall(value), (double)cimagl(value)};
    const float narrow[2] = {(float)creall(value), (float)cimagl(value)};
    const bool single = type == BP__CUDA_R_32F || type == BP__CUDA_C_32F;
    memcpy(to, single ? (const void *)narrow : wide, double_item(type));
}

/* Returns bytes of the device; NULL with a violation. */
static uint8_t *bytes_at(uint64_t address, size_t size) {
    uint8_t *found = size > 0 ? double_bytes(address, size) : NULL;
    if (!found) {
        double_violate("a routine reaches memory that the device does not have");
    }
    return found;
}

static size_t bytes_of(const matrix *m, int64_t ld, unsigned type) {
    return m->columns > 0 && m->rows > 0 ? (size_t)((m->columns - 1) * ld + m->rows) * double_item(type) : 1;
}

/* Copies a matrix from the device, or to it. Returns false with a violation. */
static bool move_matrix(matrix *m, uint64_t address, int64_t ld, unsigned type, bool store) {
    uint8_t *memory = bytes_at(address, bytes_of(m, ld, type));
    for (int64_t j = 0; memory && j < m->columns; j++) {
        for (int64_t i = 0; i < m->rows; i++) {
            uint8_t *place = memory + (size_t)(j * ld + i) * double_item(type);
            if (store) {
                write_element(type, place, m->at[j * m->rows + i]);
            } else {
                m->at[j * m->rows + i] = read_element(type, place);
            }
        }
    }
    return memory != NULL;
}

/* No library gets NaN or infinity, but in right sides and factors of solutions. */
static void check_finite(const matrix *m) {
    for (int64_t i = 0; i < m->rows * m->columns; i++) {
        if (!isfinite(creall(m->at[i])) || !isfinite(cimagl(m->at[i]))) {
            double_violate("a routine gets a matrix that is not finite");
            return;
        }
    }
}

/* LAPACK does not guarantee that imaginary parts of the diagonal of a Hermitian matrix are ignored. */
static void check_diagonal(const matrix *m) {
    for (int64_t i = 0; i < m->rows; i++) {
        if (cimagl(*element(m, i, i)) != 0) {
            double_violate("the diagonal of a Hermitian matrix is not real");
            return;
        }
    }
}

/* ---- Factorizations ---- */

/* Factors the lower triangle, or with `upper` the transpose of the upper one. Returns info. */
static int factor_cholesky(matrix *a, bool upper) {
    for (int64_t j = 0; j < a->rows; j++) {
        long double diagonal = creall(*element(a, j, j));
        for (int64_t p = 0; p < j; p++) {
            const number x = upper ? *element(a, p, j) : *element(a, j, p);
            diagonal -= creall(x * conjl(x));
        }
        if (!(diagonal > 0)) {
            *element(a, j, j) = diagonal;
            return (int)j + 1;
        }
        *element(a, j, j) = sqrtl(diagonal);
        for (int64_t i = j + 1; i < a->rows; i++) {
            number *to = upper ? element(a, j, i) : element(a, i, j);
            for (int64_t p = 0; p < j; p++) {
                *to -=
                    upper ? conjl(*element(a, p, j)) * *element(a, p, i) : *element(a, i, p) * conjl(*element(a, j, p));
            }
            *to /= sqrtl(diagonal);
        }
    }
    return 0;
}

static void exchange_rows(matrix *a, int64_t one, int64_t other) {
    for (int64_t j = 0; one != other && j < a->columns; j++) {
        const number kept = *element(a, one, j);
        *element(a, one, j) = *element(a, other, j);
        *element(a, other, j) = kept;
    }
}

static long double size_of(number x) { /* as LAPACK compares */
    return fabsl(creall(x)) + fabsl(cimagl(x));
}

static int factor_lu(matrix *a, int64_t *pivots) {
    int info = 0;
    for (int64_t j = 0; j < a->rows && j < a->columns; j++) {
        int64_t best = j;
        for (int64_t i = j + 1; i < a->rows; i++) {
            best = size_of(*element(a, i, j)) > size_of(*element(a, best, j)) ? i : best;
        }
        pivots[j] = best + 1;
        exchange_rows(a, j, best);
        const number pivot = *element(a, j, j);
        if (pivot == 0) {
            info = info ? info : (int)j + 1;
            for (int64_t i = j + 1; i < a->rows && cusolver_double.divides; i++) {
                for (int64_t p = j; p < a->columns; p++) {
                    *element(a, i, p) = NAN;
                }
            }
            pivots[j] = cusolver_double.divides ? 100000 : pivots[j];
            continue;
        }
        for (int64_t i = j + 1; i < a->rows; i++) {
            const number factor = *element(a, i, j) /= pivot;
            for (int64_t p = j + 1; p < a->columns; p++) {
                *element(a, i, p) -= factor * *element(a, j, p);
            }
        }
    }
    return info;
}

/* ---- Solutions ---- */

/* How a triangle is used: element (i, j) of the system that is solved. */
typedef struct triangle {
    const matrix *a;
    bool lower, transposed, conjugated, unit;
} triangle;

static number entry(const triangle *t, int64_t i, int64_t j) {
    const number x = t->transposed ? *element(t->a, j, i) : *element(t->a, i, j);
    return t->conjugated ? conjl(x) : x;
}

/* Solves in the memory of the right sides. A system with a lower triangle starts with the first row. */
static void solve_triangle(const triangle *t, matrix *x) {
    const bool forward = t->lower != t->transposed;
    const int64_t n = x->rows, sides = double_has(CUSOLVER_FAULT_SIDES) && x->columns > 1 ? 1 : x->columns;
    for (int64_t s = 0; s < sides; s++) {
        for (int64_t step = 0; step < n; step++) {
            const int64_t i = forward ? step : n - 1 - step;
            number sum = *element(x, i, s);
            for (int64_t before = 0; before < step; before++) {
                const int64_t j = forward ? before : n - 1 - before;
                sum -= entry(t, i, j) * *element(x, j, s);
            }
            *element(x, i, s) = t->unit ? sum : sum / entry(t, i, i);
        }
    }
}

static void solve_cholesky(const matrix *a, matrix *x, bool upper) {
    triangle first = {.a = a, .lower = !upper, .transposed = upper, .conjugated = upper};
    triangle second = {.a = a, .lower = !upper, .transposed = !upper, .conjugated = !upper};
    first.conjugated &= !double_has(CUSOLVER_FAULT_CONJUGATE);
    second.conjugated &= !double_has(CUSOLVER_FAULT_CONJUGATE);
    solve_triangle(&first, x);
    solve_triangle(&second, x);
}

static void apply_pivots(const int64_t *pivots, matrix *x, bool backward) {
    for (int64_t i = 0; i < x->rows && !double_has(CUSOLVER_FAULT_PIVOTS); i++) {
        const int64_t row = backward ? x->rows - 1 - i : i;
        if (pivots[row] < 1 || pivots[row] > x->rows) {
            double_violate("a pivot is no row");
            return;
        }
        exchange_rows(x, row, pivots[row] - 1);
    }
}

static void solve_lu(const matrix *a, const int64_t *pivots, matrix *x, unsigned op) {
    const bool transposed = op != BP__CUBLAS_OP_N && !double_has(CUSOLVER_FAULT_OP);
    const bool conjugated = op == BP__CUBLAS_OP_C && !double_has(CUSOLVER_FAULT_CONJUGATE);
    const triangle lower = {a, true, transposed, conjugated, true}, upper = {a, false, transposed, conjugated, false};
    if (!transposed) {
        apply_pivots(pivots, x, false);
    }
    solve_triangle(transposed ? &upper : &lower, x);
    solve_triangle(transposed ? &lower : &upper, x);
    if (transposed) {
        apply_pivots(pivots, x, true);
    }
}

/* ---- Calls ---- */

/* The matrices and the vector of a call. */
typedef struct operands {
    matrix a, b, c;
    matrix vector; /* one column */
    int64_t *pivots;
} operands;

static bool has_pivots(const cusolver_told *t) {
    return t->routine == ROUTINE_GETRF || t->routine == ROUTINE_GETRS;
}

static bool is_solution(const cusolver_told *t) {
    return t->routine == ROUTINE_POTRS || t->routine == ROUTINE_GETRS;
}

static unsigned real_type(unsigned type) {
    return type == BP__CUDA_C_32F ? BP__CUDA_R_32F : type == BP__CUDA_C_64F ? BP__CUDA_R_64F : type;
}

static void reverse(matrix *vector) {
    for (int64_t i = 0; double_has(CUSOLVER_FAULT_VALUES) && i < vector->rows / 2; i++) {
        const number kept = vector->at[i];
        vector->at[i] = vector->at[vector->rows - 1 - i];
        vector->at[vector->rows - 1 - i] = kept;
    }
}

static int compute(const cusolver_told *t, operands *o) {
    const bool upper = (t->letter == BP__CUBLAS_FILL_MODE_UPPER) != double_has(CUSOLVER_FAULT_TRIANGLE);
    switch (t->routine) {
    case ROUTINE_POTRF:
        return factor_cholesky(&o->a, upper);
    case ROUTINE_POTRS:
        solve_cholesky(&o->a, &o->b, upper);
        return 0;
    case ROUTINE_GETRF:
        return factor_lu(&o->a, o->pivots);
    case ROUTINE_GETRS:
        solve_lu(&o->a, o->pivots, &o->b, t->letter);
        return 0;
    case ROUTINE_GEQRF:
        double_factor_qr(&o->a, o->vector.at);
        return 0;
    case ROUTINE_ORGQR:
        double_form_q(&o->a, o->vector.at, t->k - (double_has(CUSOLVER_FAULT_REFLECTOR) ? 1 : 0));
        return 0;
    case ROUTINE_SYEVD:
        double_solve_eigen(&o->a, upper, o->vector.at);
        break;
    default:
        double_solve_singular(&o->a, &o->b, o->vector.at, &o->c);
        break;
    }
    reverse(&o->vector);
    return cusolver_double.fail_spectra;
}

static void fill_workspace(const cusolver_told *t) {
    const size_t size = t->work_size + (double_has(CUSOLVER_FAULT_WORKSPACE) ? 4096 : 0);
    uint8_t *work = t->work_size > 0 ? bytes_at(t->work, size) : NULL;
    if (work) {
        memset(work, 0xff, size);
    }
}

/* Moves what a call reads, or what it writes. */
static bool move_operands(const cusolver_told *t, operands *o, bool store) {
    const bool is_spectrum = t->routine == ROUTINE_SYEVD || t->routine == ROUTINE_GESVD;
    const bool is_svd = t->routine == ROUTINE_GESVD, with_vectors = is_svd && t->job != 'N';
    const bool a = !store || (t->routine != ROUTINE_POTRS && t->routine != ROUTINE_GETRS && !is_svd);
    const bool b = is_svd ? store && with_vectors : o->b.columns > 0;
    const bool vector = o->vector.rows > 0 && (store ? t->routine != ROUTINE_ORGQR : t->routine == ROUTINE_ORGQR);
    return (!a || move_matrix(&o->a, t->a, t->lda, t->type, store)) &&
           (!b || move_matrix(&o->b, t->b, t->ldb, t->type, store)) &&
           (!is_svd || !b || move_matrix(&o->c, t->c, t->ldc, t->type, store)) &&
           (!vector ||
            move_matrix(&o->vector, t->vector, o->vector.rows, is_spectrum ? real_type(t->type) : t->type, store));
}

static void compute_with(const cusolver_told *t, operands *o) {
    const int64_t count = t->m < t->n ? t->m : t->n;
    uint8_t *info = bytes_at(t->info, sizeof(int));
    if (has_pivots(t)) {
        o->pivots = (int64_t *)(void *)bytes_at(t->vector, (size_t)count * sizeof(int64_t));
    }
    if (!info || (has_pivots(t) && !o->pivots) || !move_operands(t, o, false)) {
        return;
    }
    if (!is_solution(t)) {
        check_finite(&o->a);
    }
    if (t->routine == ROUTINE_POTRF || t->routine == ROUTINE_SYEVD) {
        check_diagonal(&o->a);
    }
    const int result = compute(t, o), found = double_has(CUSOLVER_FAULT_INFO) ? 0 : result;
    memcpy(info, &found, sizeof found);
    move_operands(t, o, true);
}

static matrix new_matrix(int64_t rows, int64_t columns) {
    return (matrix){rows, columns, calloc((size_t)(rows * columns + 1), sizeof(number))};
}

void double_compute(const cusolver_told *t) {
    const bool is_svd = t->routine == ROUTINE_GESVD;
    const int64_t count = t->m < t->n ? t->m : t->n;
    operands o = {.a = new_matrix(t->m, t->n),
                  .b = is_svd ? new_matrix(t->m, t->job == 'A' ? t->m : t->n) : new_matrix(t->n, t->k),
                  .c = new_matrix(is_svd ? t->n : 0, t->n),
                  .vector = new_matrix(has_pivots(t) || t->vector == 0 ? 0
                                       : t->routine == ROUTINE_ORGQR   ? t->k
                                                                       : count,
                                       1)};
    if (t->routine == ROUTINE_ORGQR) {
        o.b.columns = 0;
    }
    fill_workspace(t);
    if (o.a.at && o.b.at && o.c.at && o.vector.at) {
        compute_with(t, &o);
    } else {
        double_violate("no memory for a matrix");
    }
    free(o.a.at);
    free(o.b.at);
    free(o.c.at);
    free(o.vector.at);
}
