/* matrix_values.c - computes determinants, ranks, norms and condition numbers, and checks eigenvalues and singular
 * values without vectors.
 *
 * Eigenvalues and singular values are checked by their sums and sums of squares, which are the trace and the Frobenius
 * norm. The other values are computed in long double: by elimination, by one-sided Jacobi rotations, or from the
 * definition. That takes n^3 operations, so that larger matrices have no reference.
 */
#include "reference/linalg.h"
#include "reference/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WORK 1.2e8 /* operations of all items together: one to two seconds */
#define MOST_SWEEPS 40

typedef struct number {
    long double re, im;
} number;

/* A matrix, column by column. */
typedef struct columns {
    int64_t rows, count;
    number *data;
} columns;

static long double square(number x) {
    return x.re * x.re + x.im * x.im;
}

static number times(number a, number b) {
    return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static number quotient(number a, number b) {
    long double size = square(b);
    return (number){(a.re * b.re + a.im * b.im) / size, (a.im * b.re - a.re * b.im) / size};
}

/* Returns which element is read for (i, j): `half` is -1 if the lower triangle has a Hermitian matrix, 1 if the upper
 * one has it. */
static number element(const wide_tensor *a, int64_t item, int64_t rows, int64_t count, int64_t i, int64_t j, int half) {
    bool mirrored = (half < 0 && j > i) || (half > 0 && j < i);
    const double *e = a->data + a->parts * ((item * rows + (mirrored ? j : i)) * count + (mirrored ? i : j));
    long double im = a->parts == 2 ? e[1] : 0;
    return (number){e[0], mirrored ? -im : half && i == j ? 0 : im};
}

static columns read_item(const wide_tensor *a, int64_t item, int half) {
    int ndim = a->owner->dl_tensor.ndim;
    columns c = {.rows = a->owner->dl_tensor.shape[ndim - 2], .count = a->owner->dl_tensor.shape[ndim - 1]};
    c.data = malloc(((size_t)(c.rows * c.count) + 1) * sizeof *c.data);
    for (int64_t j = 0; c.data && j < c.count; j++) {
        for (int64_t i = 0; i < c.rows; i++) {
            c.data[j * c.rows + i] = element(a, item, c.rows, c.count, i, j, half);
        }
    }
    return c;
}

static long double frobenius(const columns *c) {
    long double sum = 0;
    for (int64_t i = 0; i < c->rows * c->count; i++) {
        sum += square(c->data[i]);
    }
    return sqrtl(sum);
}

/* ---- Singular values ---- */

/* Makes columns p and q orthogonal. Returns whether they were not. */
static bool rotate(columns *c, int64_t p, int64_t q) {
    number *x = c->data + p * c->rows, *y = c->data + q * c->rows, dot = {0, 0};
    long double xx = 0, yy = 0;
    for (int64_t i = 0; i < c->rows; i++) {
        xx += square(x[i]);
        yy += square(y[i]);
        dot.re += x[i].re * y[i].re + x[i].im * y[i].im;
        dot.im += x[i].re * y[i].im - x[i].im * y[i].re;
    }
    long double size = sqrtl(square(dot));
    if (size <= 1e-19L * sqrtl(xx * yy)) {
        return false;
    }
    long double zeta = (yy - xx) / (2 * size), root = sqrtl(1 + zeta * zeta);
    long double t = (zeta < 0 ? -1 : 1) / (fabsl(zeta) + root), cosine = 1 / sqrtl(1 + t * t), sine = cosine * t;
    number phase = {dot.re / size, dot.im / size}, back = {phase.re, -phase.im};
    for (int64_t i = 0; i < c->rows; i++) {
        number a = x[i], b = times(back, y[i]);
        x[i] = (number){cosine * a.re - sine * b.re, cosine * a.im - sine * b.im};
        y[i] = (number){sine * a.re + cosine * b.re, sine * a.im + cosine * b.im};
    }
    return true;
}

static int descending(const void *left, const void *right) {
    long double a = *(const long double *)left, b = *(const long double *)right;
    return (a < b) - (a > b);
}

/* Computes the singular values, descending, of a matrix with at least as many rows as columns; destroys it. */
static void singular_values(columns *c, long double *values) {
    bool moved = true;
    for (int sweep = 0; moved && sweep < MOST_SWEEPS; sweep++) {
        moved = false;
        for (int64_t p = 0; p < c->count; p++) {
            for (int64_t q = p + 1; q < c->count; q++) {
                moved |= rotate(c, p, q);
            }
        }
    }
    for (int64_t j = 0; j < c->count; j++) {
        columns one = {.rows = c->rows, .count = 1, .data = c->data + j * c->rows};
        values[j] = frobenius(&one);
    }
    qsort(values, (size_t)c->count, sizeof *values, descending);
}

static void transpose(columns *c) {
    number *turned = malloc(((size_t)(c->rows * c->count) + 1) * sizeof *turned);
    for (int64_t i = 0; turned && i < c->rows; i++) {
        for (int64_t j = 0; j < c->count; j++) {
            turned[i * c->count + j] = c->data[j * c->rows + i];
        }
    }
    free(c->data);
    *c = (columns){.rows = c->count, .count = c->rows, .data = turned};
}

/* ---- Determinant and inverse ---- */

/* The determinant is phase exp(log). */
typedef struct determinant {
    number phase;
    long double log;
} determinant;

static void swap_rows(columns *c, int64_t p, int64_t q) {
    for (int64_t j = 0; j < c->count; j++) {
        number kept = c->data[j * c->rows + p];
        c->data[j * c->rows + p] = c->data[j * c->rows + q];
        c->data[j * c->rows + q] = kept;
    }
}

/* Divides row p by its pivot, and subtracts it from the others, in both matrices. */
static void eliminate(columns *a, columns *inverse, int64_t p) {
    const number pivot = a->data[p * a->rows + p];
    number *factors = a->data + p * a->rows; /* column p, which is not needed any more */
    columns *both[2] = {a, inverse};
    for (int m = 0; m < 2; m++) {
        for (int64_t j = m == 0 ? p + 1 : 0; j < a->count; j++) {
            number *column = both[m]->data + j * a->rows, top = quotient(column[p], pivot);
            column[p] = top;
            for (int64_t i = 0; i < a->rows && (top.re != 0 || top.im != 0); i++) {
                number less = i == p ? (number){0, 0} : times(factors[i], top);
                column[i].re -= less.re;
                column[i].im -= less.im;
            }
        }
    }
}

/* Computes the determinant of a square matrix, and its inverse in place. The phase is 0 if the matrix is singular. */
static bp_status invert(columns *a, determinant *det) {
    int64_t n = a->rows;
    columns inverse = {.rows = n, .count = n, .data = calloc((size_t)(n * n) + 1, sizeof *inverse.data)};
    *det = (determinant){{1, 0}, 0};
    for (int64_t p = 0; inverse.data && p < n; p++) {
        inverse.data[p * n + p].re = 1;
    }
    for (int64_t p = 0; inverse.data && p < n; p++) {
        int64_t best = p;
        for (int64_t i = p + 1; i < n; i++) {
            best = square(a->data[p * n + i]) > square(a->data[p * n + best]) ? i : best;
        }
        long double size = sqrtl(square(a->data[p * n + best]));
        if (size == 0) {
            det->phase = (number){0, 0};
            break;
        }
        if (best != p) {
            swap_rows(a, p, best);
            swap_rows(&inverse, p, best);
            det->phase = (number){-det->phase.re, -det->phase.im};
        }
        number pivot = a->data[p * n + p];
        det->phase = times(det->phase, (number){pivot.re / size, pivot.im / size});
        det->log += logl(size);
        eliminate(a, &inverse, p);
    }
    free(a->data);
    a->data = inverse.data;
    return inverse.data ? BP_OK : BP_E_NO_MEMORY;
}

/* ---- Norms ---- */

/* Returns the largest or smallest (`sign`) sum of absolute values of the columns, or of the rows. */
static long double sum_norm(const columns *c, bool rows, int sign) {
    long double found = sign > 0 ? 0 : HUGE_VALL;
    for (int64_t j = 0; j < (rows ? c->rows : c->count); j++) {
        long double sum = 0;
        for (int64_t i = 0; i < (rows ? c->count : c->rows); i++) {
            sum += sqrtl(square(rows ? c->data[i * c->rows + j] : c->data[j * c->rows + i]));
        }
        found = (sign > 0) == (sum > found) ? sum : found;
    }
    return found;
}

static bool needs_singular_values(const bp_linalg_call *call) {
    return call->mode == BP_NORM_NUC || (call->mode == BP_NORM_P && fabs(call->order) == 2) ||
           (call->mode == BP_MODE_DEFAULT && call->op == BP_OP_COND);
}

/* The norm of the call; destroys the matrix if it needs singular values. `values` has space for them. */
static long double norm_of(columns *c, const bp_linalg_call *call, long double *values) {
    if (!needs_singular_values(call)) {
        return call->mode == BP_NORM_P ? sum_norm(c, isinf(call->order), call->order > 0 ? 1 : -1) : frobenius(c);
    }
    long double sum = 0;
    singular_values(c, values);
    for (int64_t i = 0; i < c->count; i++) {
        sum += values[i];
    }
    return c->count == 0 ? 0 : call->mode == BP_NORM_NUC ? sum : call->order < 0 ? values[c->count - 1] : values[0];
}

/* ---- The reference of one item ---- */

static bp_status determinant_of(columns *c, const bp_linalg_call *call, reference_value *value) {
    determinant det;
    long double norm = frobenius(c);
    bp_status status = invert(c, &det);
    if (status != BP_OK) {
        return status;
    }
    bool singular = det.phase.re == 0 && det.phase.im == 0;
    long double size = singular ? 0 : expl(det.log), condition = singular ? 1 : norm * frobenius(c);
    if (call->op == BP_OP_SLOGDET) {
        value->re = (double)(singular ? -HUGE_VALL : det.log);
        value->im = (double)atan2l(det.phase.im, det.phase.re);
        value->scale = (double)(condition + fabsl(det.log));
    } else {
        value->re = (double)(size * det.phase.re);
        value->im = (double)(size * det.phase.im);
        value->scale = (double)(singular ? powl(norm, (long double)c->count) : size * condition);
    }
    return BP_OK;
}

static bp_status condition_of(columns *c, const bp_linalg_call *call, long double *values, reference_value *value) {
    if (needs_singular_values(call) && call->mode != BP_NORM_NUC) {
        singular_values(c, values);
        long double high = c->count ? values[0] : 0, low = c->count ? values[c->count - 1] : 0;
        bool reverse = call->mode == BP_NORM_P && call->order < 0;
        value->re = (double)(reverse ? low / high : high / low);
        value->scale = fabs(value->re) * (double)(high / low);
        return BP_OK;
    }
    columns copy = *c;
    copy.data = malloc(((size_t)(c->rows * c->count) + 1) * sizeof *copy.data);
    if (!copy.data) {
        return BP_E_NO_MEMORY;
    }
    memcpy(copy.data, c->data, (size_t)(c->rows * c->count) * sizeof *copy.data);
    long double size = frobenius(c), norm = norm_of(&copy, call, values);
    free(copy.data);
    determinant det;
    bp_status status = invert(c, &det);
    if (status == BP_OK) {
        long double inverse_size = frobenius(c);
        value->re = (double)(norm * norm_of(c, call, values));
        value->scale = fabs(value->re) * (double)(size * inverse_size);
    }
    return status;
}

/* A singular value within rounding of the tolerance may count or not. */
static void rank_of(columns *c, const bp_linalg_call *call, double epsilon, long double *values,
                    reference_value *value) {
    double longest = (double)(c->rows > c->count ? c->rows : c->count);
    singular_values(c, values);
    long double high = c->count ? values[0] : 0;
    double atol = call->atol ? *call->atol : 0;
    double rtol = call->rtol ? *call->rtol : atol > 0 ? 0 : epsilon * longest;
    long double limit = fmaxl(atol, rtol * high), doubt = 30 * longest * epsilon * high;
    int least = 0, most = 0;
    for (int64_t i = 0; i < c->count; i++) {
        least += values[i] > limit + doubt;
        most += values[i] > limit - doubt && values[i] > 0;
    }
    value->whole = least;
    value->scale = most - least;
}

static bp_status make_value(columns *c, const bp_linalg_call *call, double epsilon, reference_value *value) {
    bool singular = call->op == BP_OP_MATRIX_RANK || needs_singular_values(call);
    if (singular && c->rows < c->count) {
        transpose(c);
    }
    long double *values = calloc((size_t)(c->rows + c->count) + 1, sizeof *values);
    bp_status status = c->data && values ? BP_OK : BP_E_NO_MEMORY;
    if (status == BP_OK && (call->op == BP_OP_DET || call->op == BP_OP_SLOGDET)) {
        status = determinant_of(c, call, value);
    } else if (status == BP_OK && call->op == BP_OP_COND) {
        status = condition_of(c, call, values, value);
    } else if (status == BP_OK && call->op == BP_OP_MATRIX_RANK) {
        rank_of(c, call, epsilon, values, value);
    } else if (status == BP_OK) {
        value->scale = (double)frobenius(c);
        value->re = (double)norm_of(c, call, values);
    }
    free(values);
    return status;
}

/* ---- Sums of eigenvalues and singular values ---- */

/* Compares the sum of the values with the trace, and the sum of their squares with the trace of the square, which is
 * |A|^2 for Hermitian matrices. Singular values have the second property only. */
static long double moments_error(const wide_tensor *a, const wide_tensor *values, int64_t item,
                                 const bp_linalg_call *call) {
    int ndim = a->owner->dl_tensor.ndim;
    int64_t rows = a->owner->dl_tensor.shape[ndim - 2], count = a->owner->dl_tensor.shape[ndim - 1],
            k = rows < count ? rows : count;
    int half = call->op == BP_OP_EIGH ? (call->upper ? 1 : -1) : 0;
    number trace = {0, 0}, squares = {0, 0};
    long double norm = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < count; j++) {
            number x = element(a, item, rows, count, i, j, half);
            norm += square(x);
            if (call->op == BP_OP_EIG) {
                number more = times(x, element(a, item, rows, count, j, i, half));
                squares.re += more.re;
                squares.im += more.im;
            }
            trace.re += i == j ? x.re : 0;
            trace.im += i == j ? x.im : 0;
        }
    }
    squares.re = call->op == BP_OP_EIG ? squares.re : norm;
    for (int64_t i = 0; i < k; i++) {
        const double *e = values->data + (item * k + i) * values->parts;
        number x = {e[0], values->parts == 2 ? e[1] : 0}, xx = times(x, x);
        trace = (number){trace.re - x.re, trace.im - x.im};
        squares = (number){squares.re - xx.re, squares.im - xx.im};
    }
    long double first = call->op == BP_OP_SVD ? 0 : sqrtl(square(trace) / (norm * (long double)k));
    long double second = sqrtl(square(squares)) / (2 * norm), worst = first > second ? first : second;
    return norm == 0 ? sqrtl(square(squares)) : isnan(first) || isnan(second) ? HUGE_VALL : worst;
}

static int64_t items_of(const DLTensor *a) {
    int64_t items = 1;
    for (int i = 0; i < a->ndim - 2; i++) {
        items *= a->shape[i];
    }
    return items;
}

/* The values of eigh and eig are the first output; svd has U before them. */
bp_status reference_spectrum_error(const bp_linalg_call *call, double *error) {
    wide_tensor a = {.parts = 0}, values = {.parts = 0};
    *error = 0;
    bp_status status = wide_make(&a, call->input[0], false);
    status = status == BP_OK ? wide_make(&values, call->output[call->op == BP_OP_SVD ? 1 : 0], false) : status;
    for (int64_t i = 0; status == BP_OK && i < items_of(call->input[0]); i++) {
        *error = fmax(*error, (double)moments_error(&a, &values, i, call));
    }
    wide_free(&a);
    wide_free(&values);
    return status;
}

/* ---- The results ---- */

typedef struct items {
    const bp_linalg_call *call;
    wide_tensor a;
    double epsilon;
    bool signs; /* of slogdet: the values are the signs */
    bp_status status;
} items;

/* Sets the values of one item. A scale is a bound of rounding errors here. */
static void set_item(void *user, reference_value *value) {
    items *all = user;
    const bp_linalg_call *call = all->call;
    columns c = read_item(&all->a, value->index, call->hermitian ? (call->upper ? 1 : -1) : 0);
    const bp_status status = c.data ? make_value(&c, call, all->epsilon, value) : BP_E_NO_MEMORY;
    const bool singular = isinf(value->re);
    const double phase = value->im;
    if (call->op == BP_OP_SLOGDET) {
        value->im = all->signs && !singular ? sin(phase) : 0;
        value->re = !all->signs ? value->re : singular ? 0 : cos(phase);
    }
    all->status = status == BP_OK ? all->status : status;
    free(c.data);
}

static bp_status add_items(reference_results *made, const char *name, const DLTensor *tensor, items *all) {
    const DLTensor *a = all->call->input[0];
    const int64_t rows = a->shape[a->ndim - 2], count = a->shape[a->ndim - 1];
    const bp_status status = reference_add_values(made, name, tensor, set_item, all);
    reference *values = &made->of[made->count - 1].values;
    /* The bound is 30 n epsilon, as for equations. */
    for (int64_t i = 0; status == BP_OK && values->measure != REFERENCE_WHOLE && i < values->count; i++) {
        values->values[i].scale *= 60 * (double)(rows > count ? rows : count) / 1.01;
    }
    return status == BP_OK ? all->status : status;
}

bp_status reference_of_matrix_values(reference_results *made, const bp_linalg_call *call) {
    const DLTensor *a = call->input[0];
    const double rows = (double)a->shape[a->ndim - 2], count = (double)a->shape[a->ndim - 1];
    const bool heavy = call->op != BP_OP_MATRIX_NORM || needs_singular_values(call);
    items all = {.call = call, .epsilon = 2 * reference_unit(bp_dtype_from_dlpack(a->dtype)), .status = BP_OK};
    *made = (reference_results){.count = 0};
    if (rows * count * (heavy ? 10 * fmin(rows, count) : 1) * (double)items_of(a) > MOST_WORK) {
        return BP_OK;
    }
    bp_status status = wide_make(&all.a, a, false);
    if (call->op == BP_OP_SLOGDET && status == BP_OK) {
        all.signs = true;
        status = add_items(made, "sign", call->output[0], &all);
        all.signs = false;
        status = status == BP_OK ? add_items(made, "logabsdet", call->output[1], &all) : status;
    } else if (status == BP_OK) {
        status = add_items(made, "value", call->output[0], &all);
    }
    wide_free(&all.a);
    return status;
}
