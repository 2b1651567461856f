/* norm.c - computes matrix_norm: by gesdd if the norm depends on singular values, and by lange if it is a sum of
 * elements.
 *
 * The sums are also computed here in double precision: for condition numbers, and if the library's result is unreliable
 * (see run_sums()).
 */
#include "providers/lapack/spectra.h"
#include "providers/lapack/operations.h"

#include <math.h>
#include <stdlib.h>

/* ---- Sums of one term per element along the lines of a matrix, which are rows or columns ---- */

typedef struct lines {
    const void *at;
    int64_t count, length; /* number of lines, and elements of each */
    int64_t next, step;    /* strides between lines, and within a line */
} lines;

/* Returns the absolute value. Calls the slow hypot only if the square may exceed the range of double. */
static inline double modulus(double re, double im) {
    double square = re * re + im * im;
    return square > 1e-290 && square < 1e290 ? sqrt(square) : hypot(re, im);
}

static inline double square(double x) {
    return x * x;
}

/* Accumulates four sums at a time, so that additions do not depend on each other. If the stride within a line is larger
 * than between lines, all lines advance together. */
#define DEFINE_SUMS(NAME, REAL, REALS, TERM)                                                                           \
    static void NAME(const lines *l, double scale, double *sums) {                                                     \
        const REAL *at = l->at;                                                                                        \
        int64_t next = l->next * (REALS), step = l->step * (REALS);                                                    \
        (void)scale;                                                                                                   \
        for (int64_t line = 0; line < l->count; line++) {                                                              \
            sums[line] = 0;                                                                                            \
        }                                                                                                              \
        if (llabs(step) > llabs(next)) {                                                                               \
            for (int64_t i = 0; i < l->length; i++) {                                                                  \
                for (int64_t line = 0; line < l->count; line++) {                                                      \
                    const REAL *x = at + i * step + line * next;                                                       \
                    sums[line] += TERM;                                                                                \
                }                                                                                                      \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t line = 0; line < l->count; line++) {                                                              \
            double part[4] = {0};                                                                                      \
            for (int64_t i = 0; i + 4 <= l->length; i += 4) {                                                          \
                for (int j = 0; j < 4; j++) {                                                                          \
                    const REAL *x = at + line * next + (i + j) * step;                                                 \
                    part[j] += TERM;                                                                                   \
                }                                                                                                      \
            }                                                                                                          \
            for (int64_t i = l->length & ~(int64_t)3; i < l->length; i++) {                                            \
                const REAL *x = at + line * next + i * step;                                                           \
                part[0] += TERM;                                                                                       \
            }                                                                                                          \
            sums[line] = (part[0] + part[1]) + (part[2] + part[3]);                                                    \
        }                                                                                                              \
    }
DEFINE_SUMS(lengths_f32, float, 1, fabs((double)x[0]))
DEFINE_SUMS(lengths_f64, double, 1, fabs(x[0]))
DEFINE_SUMS(lengths_c64, float, 2, modulus((double)x[0], (double)x[1]))
DEFINE_SUMS(lengths_c128, double, 2, modulus(x[0], x[1]))
DEFINE_SUMS(squares_f32, float, 1, square((double)x[0] * scale))
DEFINE_SUMS(squares_f64, double, 1, square(x[0] * scale))
DEFINE_SUMS(squares_c64, float, 2, square((double)x[0] * scale) + square((double)x[1] * scale))
DEFINE_SUMS(squares_c128, double, 2, square(x[0] * scale) + square(x[1] * scale))

static lines lines_of(const bp__lapack_matrix *a, bool columns) {
    return columns ? (lines){a->at, a->columns, a->rows, a->column, a->row}
                   : (lines){a->at, a->rows, a->columns, a->row, a->column};
}

/* ---- Row and column sums ---- */

static double sum_norm(const bp__lapack_matrix *a, double order, double *sums) {
    lines l = lines_of(a, fabs(order) == 1);
    switch (a->dtype) {
    case BP_F32:
        lengths_f32(&l, 1, sums);
        break;
    case BP_F64:
        lengths_f64(&l, 1, sums);
        break;
    case BP_C64:
        lengths_c64(&l, 1, sums);
        break;
    default:
        lengths_c128(&l, 1, sums);
        break;
    }
    double best = sums[0];
    for (int64_t i = 1; i < l.count; i++) {
        bool better = order > 0 ? sums[i] > best : sums[i] < best;
        best = better || isnan(sums[i]) ? sums[i] : best;
    }
    return best;
}

/* ---- The root of the sum of squares ---- */

static double sum_of_squares(const bp__lapack_matrix *a, double scale, double *sums) {
    lines l = lines_of(a, llabs(a->row) <= llabs(a->column));
    switch (a->dtype) {
    case BP_F32:
        squares_f32(&l, scale, sums);
        break;
    case BP_F64:
        squares_f64(&l, scale, sums);
        break;
    case BP_C64:
        squares_c64(&l, scale, sums);
        break;
    default:
        squares_c128(&l, scale, sums);
        break;
    }
    double sum = 0;
    for (int64_t i = 0; i < l.count; i++) {
        sum += sums[i];
    }
    return sum;
}

static double largest_part(const bp__lapack_matrix *a) {
    int64_t size = (int64_t)(a->dtype == BP_C128 ? 2 * sizeof(double) : sizeof(double));
    double largest = 0;
    for (int64_t j = 0; j < a->columns; j++) {
        for (int64_t i = 0; i < a->rows; i++) {
            bp_scalar x = bp__lapack_get(a->dtype, (const char *)a->at + (i * a->row + j * a->column) * size);
            largest = fmax(largest, fmax(fabs(x.re), fabs(x.im)));
        }
    }
    return largest;
}

/* In single precision all squares are in the range of double. In double precision, terms lost below 1e-280 are
 * negligible; if the sum itself leaves the range, it is computed again from scaled elements. */
static double frobenius(const bp__lapack_matrix *a, double *sums) {
    enum { MOST = 1000 };
    double sum = sum_of_squares(a, 1, sums);
    bool wide = a->dtype == BP_F64 || a->dtype == BP_C128;
    if (!wide || isnan(sum) || (sum > 1e-280 && !isinf(sum))) {
        return sqrt(sum);
    }
    double largest = largest_part(a);
    if (largest == 0 || isinf(largest)) {
        return largest;
    }
    int exponent;
    frexp(largest, &exponent);
    exponent = exponent > MOST ? MOST : exponent < -MOST ? -MOST : exponent;
    return ldexp(sqrt(sum_of_squares(a, ldexp(1, -exponent), sums)), exponent);
}

bool bp__lapack_norm_is_sum(const bp_linalg_problem *problem) {
    return problem->mode == BP_NORM_FRO || (problem->mode == BP_NORM_P && fabs(problem->order) != 2);
}

double bp__lapack_norm_of(const bp_linalg_problem *problem, const bp__lapack_matrix *a, double *sums) {
    return problem->mode == BP_NORM_FRO ? frobenius(a, sums) : sum_norm(a, problem->order, sums);
}

/* ---- matrix_norm of sums ---- */

enum { A_VIEW, AT_SUMS = BP__LAPACK_AT_MORE };
enum { LETTER, BY_ROWS, RETURNS_DOUBLE }; /* indices of plan->letter */

/* Returns LAPACK's norm `letter` of column-major memory. `work` needs a real for each row. */
static double call_lange(const bp__lapack_plan *plan, char letter, int64_t rows, int64_t columns, const void *at,
                         int64_t ld, void *work) {
    void (*lange)(void) = plan->routine[BP__LAPACK_lange];
    bp__lapack_int m = bp__lapack_integer(plan, rows), n = bp__lapack_integer(plan, columns);
    bp__lapack_int lda = bp__lapack_integer(plan, ld);
    return plan->letter[RETURNS_DOUBLE]
               ? ((bp__lapack_call_lange_f64 *)lange)(&letter, &m, &n, at, &lda, work, 1)
               : (double)((bp__lapack_call_lange_f32 *)lange)(&letter, &m, &n, at, &lda, work, 1);
}

/* Finds out whether lange returns double. Libraries translated from Fortran by f2c do so even for REAL. A test call on
 * a matrix with a known norm shows it. */
static bp_status find_convention(bp__lapack_plan *plan) {
    double element[2] = {0}, work[1] = {0};
    bp__lapack_put(plan->dtype, element, (bp_scalar){-3, 0});
    bool wide = plan->real_type == BP_F64;
    for (plan->letter[RETURNS_DOUBLE] = wide; plan->letter[RETURNS_DOUBLE] < 2; plan->letter[RETURNS_DOUBLE]++) {
        if (call_lange(plan, 'F', 1, 1, element, 1, work) == 3) {
            return BP_OK;
        }
    }
    return plan->driver->host->fail(BP_E_UNSUPPORTED, "library '%s' gives a wrong norm of a matrix of one element",
                                    plan->driver->library->id);
}

static bool is_smallest(const bp_linalg_problem *l) {
    return l->mode == BP_NORM_P && l->order < 0;
}

/* LAPACK has no norm that is the smallest sum. For such a norm the lines become columns, which are passed one by one.
 */
static bp_status prepare_sums(bp__lapack_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    bool of_rows = l->mode == BP_NORM_P && isinf(l->order);
    bool by_rows = is_smallest(l) ? of_rows : !bp__lapack_fits(plan, 0, false) && bp__lapack_fits(plan, 0, true);
    plan->letter[BY_ROWS] = by_rows;
    plan->letter[LETTER] = l->mode == BP_NORM_FRO ? 'F' : of_rows == by_rows ? 'O' : 'I';
    plan->view[A_VIEW] = bp__lapack_place(plan, 0, by_rows);
    plan->at[AT_SUMS] = bp__lapack_reserve(plan, bp__most(l->m, l->n), sizeof(double));
    return find_convention(plan);
}

static double library_norm(const bp__lapack_plan *plan, const bp__lapack_item *item, void *work) {
    const bp__lapack_view *a = &plan->view[A_VIEW];
    const char *at = bp__lapack_address(a, item);
    if (!is_smallest(&plan->problem.of.linalg)) {
        return call_lange(plan, plan->letter[LETTER], a->rows, a->columns, at, a->ld, work);
    }
    double least = INFINITY;
    for (int64_t j = 0; j < a->columns; j++) {
        double sum = call_lange(plan, 'O', a->rows, 1, at + (size_t)(j * a->ld) * plan->size, a->rows, work);
        least = sum < least || isnan(sum) ? sum : least;
    }
    return least;
}

/* Returns whether the library's result is reliable. A sum of absolute values must be a normal number. A root of
 * squares must be so far from the limits that no library scales: slange of LAPACK 3.11, also in OpenBLAS 0.3.21, is
 * wrong by 78 % near 1e15, the threshold from which it scales large elements. */
static bool is_reliable(const bp__lapack_plan *plan, double norm) {
    bool wide = plan->real_type == BP_F64;
    if (plan->problem.of.linalg.mode == BP_NORM_FRO) {
        return norm > (wide ? 0x1p-400 : 0x1p-40) && norm < (wide ? 0x1p400 : 0x1p40);
    }
    return wide ? isnormal(norm) : isnormal((float)norm);
}

/* Libraries treat NaN and infinity differently, so matrices that contain them are not passed on. */
static bp_status run_sums(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp_linalg_operand *x = bp__lapack_operand(plan, 0);
    double *sums = (double *)(void *)(item->scratch + plan->at[AT_SUMS]), norm = NAN;
    if (bp__lapack_load(plan, item, &plan->view[A_VIEW], 0, plan->letter[BY_ROWS], BP__LAPACK_WHOLE)) {
        norm = library_norm(plan, item, sums);
    }
    if (!is_reliable(plan, norm)) {
        bp__lapack_matrix a = {plan->dtype, x->rows, x->columns, x->row, x->column, item->operand[0]};
        norm = bp__lapack_norm_of(&plan->problem.of.linalg, &a, sums);
    }
    *info = 0;
    bp__lapack_put(plan->real_type, item->operand[1], (bp_scalar){norm, 0});
    return BP_OK;
}

static double work_sums(const bp_linalg_problem *problem) {
    return 2 * (double)problem->m * (double)problem->n;
}

/* low efficiency: each addition depends on the previous one, and the compiler may not reorder them */
static const bp__lapack_operation by_sums = {
    .algorithm = "lange",
    .routines = {BP__LAPACK_lange},
    .routine_count = 1,
    .efficiency = 0.03,
    .prepare = prepare_sums,
    .run = run_sums,
    .work = work_sums,
};

/* ---- matrix_norm of singular values ---- */

static bp_status prepare_values(bp__lapack_plan *plan) {
    plan->view[A_VIEW] = bp__lapack_place_in_scratch(plan, 0, false, false);
    bp__lapack_prepare_gesdd(plan, &plan->view[A_VIEW], NULL, NULL);
    return BP_OK;
}

static double norm_of_values(const bp__lapack_plan *plan, const bp__lapack_item *item, int64_t count) {
    double sum = 0;
    if (plan->problem.of.linalg.mode == BP_NORM_P) {
        return bp__lapack_value_of(plan, item, plan->problem.of.linalg.order > 0 ? 0 : count - 1);
    }
    for (int64_t i = 0; i < count; i++) {
        sum += bp__lapack_value_of(plan, item, i);
    }
    return sum;
}

static bp_status run_values(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *a = &plan->view[A_VIEW];
    if (!bp__lapack_load(plan, item, a, 0, false, BP__LAPACK_WHOLE)) {
        *info = BP__LAPACK_NON_FINITE;
        return BP_OK;
    }
    *info = bp__lapack_gesdd(plan, item, a, NULL, NULL);
    double norm = *info ? NAN : norm_of_values(plan, item, bp__least(a->rows, a->columns));
    bp__lapack_put(plan->real_type, item->operand[1], (bp_scalar){norm, 0});
    return BP_OK;
}

static const bp__lapack_operation values = {
    .algorithm = "gesdd",
    .routines = {BP__LAPACK_gesdd_real, BP__LAPACK_gesdd_complex},
    .routine_count = 2,
    .efficiency = 0.15,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare_values,
    .run = run_values,
    .work = bp__lapack_work_values,
    .largest = bp__lapack_largest_values,
};

static const bp__lapack_operation *variant(const bp_problem *problem) {
    return bp__lapack_norm_is_sum(&problem->of.linalg) ? &by_sums : &values;
}

const bp__lapack_operation bp__lapack_matrix_norm = {.variant = variant};
