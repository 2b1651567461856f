/* norm.c - matrix_norm of singular values; and for condition numbers the norms that are sums of elements, in double
 * precision. By themselves those need no library, and the native provider has them. */
#include "providers/lapack/spectra.h"
#include "providers/lapack/recipes.h"

#include <math.h>
#include <stdlib.h>

/* ---- Sums of one term per element along the lines of a matrix, which are its rows or its columns ---- */

typedef struct lines {
    const void *at;
    int64_t count, length; /* lines, and elements of each */
    int64_t next, step;    /* strides from line to line, and within one */
} lines;

/* A square may leave the range of double only where its root is fine, which is when hypot is worth its time. */
static inline double modulus(double re, double im) {
    double square = re * re + im * im;
    return square > 1e-290 && square < 1e290 ? sqrt(square) : hypot(re, im);
}

static inline double square(double x) {
    return x * x;
}

/* Four sums at a time, so that additions do not wait for each other; where a step within a line is the long one, all
 * lines advance together. */
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

/* Squares of single precision are all in the range of double. Else what is lost below 1e-280 is far below what counts;
 * where the sum itself leaves the range, it is made again of elements near one. */
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

/* ---- The recipe ---- */

enum { A_VIEW };

static bp_status prepare_values(bp__lapack_plan *plan) {
    plan->view[A_VIEW] = bp__lapack_place_apart(plan, 0, false, false);
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
    double norm = *info ? NAN : norm_of_values(plan, item, bp__lapack_least(a->rows, a->columns));
    bp__lapack_put(plan->real_type, item->operand[1], (bp_scalar){norm, 0});
    return BP_OK;
}

static const bp__lapack_recipe values = {
    .algorithm = "gesdd",
    .routines = {BP__LAPACK_gesdd_real, BP__LAPACK_gesdd_complex},
    .routine_count = 2,
    .efficiency = 0.15,
    .meetings = BP__LAPACK_BY_COLUMNS,
    .prepare = prepare_values,
    .run = run_values,
    .work = bp__lapack_work_values,
    .largest = bp__lapack_largest_values,
};

static const bp__lapack_recipe *variant(const bp_problem *problem) {
    return bp__lapack_norm_is_sum(&problem->of.linalg) ? NULL : &values;
}

const bp__lapack_recipe bp__lapack_matrix_norm = {.variant = variant};
