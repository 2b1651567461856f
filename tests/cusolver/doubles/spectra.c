/* spectra.c - Q and R, eigenvalues and singular values of the double of libcusolver.so.12, by reflections and
 * rotations.
 */
#include "parts.h"

#include <math.h>
#include <stdlib.h>

enum { SWEEPS = 60 };

/* ---- Reflectors, as LAPACK has them ---- */

/* Makes column j of A below row j a multiple of a unit vector. */
static number make_reflector(matrix *a, int64_t j) {
    long double below = 0;
    for (int64_t i = j + 1; i < a->rows; i++) {
        below += creall(*element(a, i, j) * conjl(*element(a, i, j)));
    }
    const number alpha = *element(a, j, j);
    if (below == 0 && cimagl(alpha) == 0) {
        return 0;
    }
    const long double norm = sqrtl(below + creall(alpha * conjl(alpha))), beta = creall(alpha) > 0 ? -norm : norm;
    for (int64_t i = j + 1; i < a->rows; i++) {
        *element(a, i, j) /= alpha - beta;
    }
    *element(a, j, j) = beta;
    return complex_of((beta - creall(alpha)) / beta, -cimagl(alpha) / beta);
}

/* Multiplies columns from `first` on by I - factor v v^H, where v is in column j of `from`. */
static void reflect(const matrix *from, int64_t j, number factor, matrix *a, int64_t first) {
    for (int64_t c = first; c < a->columns; c++) {
        number sum = *element(a, j, c);
        for (int64_t i = j + 1; i < a->rows; i++) {
            sum += conjl(*element(from, i, j)) * *element(a, i, c);
        }
        *element(a, j, c) -= factor * sum;
        for (int64_t i = j + 1; i < a->rows; i++) {
            *element(a, i, c) -= factor * sum * *element(from, i, j);
        }
    }
}

void double_factor_qr(matrix *a, number *tau) {
    for (int64_t j = 0; j < a->rows && j < a->columns; j++) {
        tau[j] = make_reflector(a, j);
        reflect(a, j, conjl(tau[j]), a, j + 1);
    }
}

void double_form_q(matrix *a, const number *tau, int64_t reflectors) {
    matrix q = {a->rows, a->columns, calloc((size_t)(a->rows * a->columns + 1), sizeof(number))};
    for (int64_t j = 0; j < q.columns; j++) {
        *element(&q, j, j) = 1;
    }
    for (int64_t j = reflectors - 1; j >= 0; j--) {
        reflect(a, j, tau[j], &q, 0);
    }
    for (int64_t i = 0; i < a->rows * a->columns; i++) {
        a->at[i] = q.at[i];
    }
    free(q.at);
}

/* ---- Rotations ---- */

/* Makes the rotation that diagonalizes [p, x; conj(x), q]: its columns are (c, -s conj(phase)) and (s phase, c). */
static void make_rotation(long double p, long double q, number x, long double *c, number *s) {
    const long double size = cabsl(x), theta = (q - p) / (2 * size);
    const long double t = (theta >= 0 ? 1 : -1) / (fabsl(theta) + sqrtl(theta * theta + 1));
    *c = 1 / sqrtl(t * t + 1);
    *s = t * *c * (x / size);
}

/* Replaces columns p and q by (c p - conj(s) q, s p + c q). */
static void rotate_columns(matrix *a, int64_t p, int64_t q, long double c, number s) {
    for (int64_t i = 0; i < a->rows; i++) {
        const number x = *element(a, i, p), y = *element(a, i, q);
        *element(a, i, p) = c * x - conjl(s) * y;
        *element(a, i, q) = s * x + c * y;
    }
}

/* The product of column p, conjugated, and column q. */
static number product_of(const matrix *a, int64_t p, int64_t q) {
    number sum = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        sum += conjl(*element(a, i, p)) * *element(a, i, q);
    }
    return sum;
}

static void exchange_columns(matrix *a, int64_t p, int64_t q) {
    for (int64_t i = 0; i < a->rows; i++) {
        const number kept = *element(a, i, p);
        *element(a, i, p) = *element(a, i, q);
        *element(a, i, q) = kept;
    }
}

/* Sorts values, ascending or descending, and the columns of two matrices with them. */
static void sort_values(int64_t count, number *values, bool ascending, matrix *one, matrix *other) {
    for (int64_t i = 0; i < count; i++) {
        int64_t best = i;
        for (int64_t j = i + 1; j < count; j++) {
            const bool before =
                ascending ? creall(values[j]) < creall(values[best]) : creall(values[j]) > creall(values[best]);
            best = before ? j : best;
        }
        const number kept = values[i];
        values[i] = values[best];
        values[best] = kept;
        exchange_columns(one, i, best);
        if (other) {
            exchange_columns(other, i, best);
        }
    }
}

/* ---- Eigenvalues ---- */

static void complete_triangle(matrix *a, bool upper) {
    for (int64_t j = 0; j < a->columns; j++) {
        *element(a, j, j) = creall(*element(a, j, j));
        for (int64_t i = 0; i < j; i++) {
            if (upper) {
                *element(a, j, i) = conjl(*element(a, i, j));
            } else {
                *element(a, i, j) = conjl(*element(a, j, i));
            }
        }
    }
}

static void rotate_hermitian(matrix *a, matrix *v, int64_t p, int64_t q) {
    const number x = *element(a, p, q);
    long double c;
    number s;
    if (cabsl(x) == 0) {
        return;
    }
    make_rotation(creall(*element(a, p, p)), creall(*element(a, q, q)), x, &c, &s);
    rotate_columns(a, p, q, c, s);
    for (int64_t j = 0; j < a->columns; j++) { /* the same with rows, conjugated */
        const number y = *element(a, p, j), z = *element(a, q, j);
        *element(a, p, j) = c * y - s * z;
        *element(a, q, j) = conjl(s) * y + c * z;
    }
    rotate_columns(v, p, q, c, s);
}

void double_solve_eigen(matrix *a, bool upper, number *w) {
    const int64_t n = a->rows;
    matrix v = {n, n, calloc((size_t)(n * n + 1), sizeof(number))};
    complete_triangle(a, upper);
    for (int64_t i = 0; i < n; i++) {
        *element(&v, i, i) = 1;
    }
    for (int64_t step = 0; step < SWEEPS * n * n; step++) {
        const int64_t p = step / n % n, q = step % n;
        if (p < q) {
            rotate_hermitian(a, &v, p, q);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        w[i] = creall(*element(a, i, i));
    }
    sort_values(n, w, true, &v, NULL);
    for (int64_t i = 0; i < n * n; i++) {
        a->at[i] = v.at[i];
    }
    free(v.at);
}

/* ---- Singular values ---- */

/* Makes columns from `first` on orthonormal to all columns before, from unit vectors. */
static void complete_basis(matrix *u, int64_t first) {
    for (int64_t j = first, unit = 0; j < u->columns; unit++) {
        for (int64_t i = 0; i < u->rows; i++) {
            *element(u, i, j) = i == unit % u->rows;
        }
        for (int64_t p = 0; p < 2 * j; p++) {
            const number part = product_of(u, p % j, j);
            for (int64_t i = 0; i < u->rows; i++) {
                *element(u, i, j) -= part * *element(u, i, p % j);
            }
        }
        const long double norm = sqrtl(creall(product_of(u, j, j)));
        for (int64_t i = 0; i < u->rows; i++) {
            *element(u, i, j) /= norm;
        }
        j += norm > 0.01L / (long double)u->rows;
    }
}

static void rotate_pair(matrix *work, matrix *v, int64_t p, int64_t q) {
    const long double pp = creall(product_of(work, p, p)), qq = creall(product_of(work, q, q));
    const number x = product_of(work, p, q);
    long double c;
    number s;
    if (cabsl(x) <= 1e-30L * sqrtl(pp * qq)) {
        return;
    }
    make_rotation(pp, qq, x, &c, &s);
    rotate_columns(work, p, q, c, s);
    rotate_columns(v, p, q, c, s);
}

void double_solve_singular(const matrix *a, matrix *u, number *s, matrix *vh) {
    const int64_t n = a->columns;
    matrix work = {a->rows, n, u->at}, v = {n, n, calloc((size_t)(n * n + 1), sizeof(number))};
    int64_t rank = 0;
    for (int64_t i = 0; i < a->rows * n; i++) {
        work.at[i] = a->at[i];
    }
    for (int64_t i = 0; i < n; i++) {
        *element(&v, i, i) = 1;
    }
    for (int64_t step = 0; step < SWEEPS * n * n; step++) {
        if (step / n % n < step % n) {
            rotate_pair(&work, &v, step / n % n, step % n);
        }
    }
    for (int64_t j = 0; j < n; j++) {
        s[j] = sqrtl(creall(product_of(&work, j, j)));
    }
    sort_values(n, s, false, &work, &v);
    for (; rank < n && creall(s[rank]) > 1e-16L * creall(s[0]); rank++) {
        for (int64_t i = 0; i < a->rows; i++) {
            *element(&work, i, rank) /= s[rank];
        }
    }
    complete_basis(u, rank);
    for (int64_t i = 0; i < n * n; i++) {
        vh->at[i] = conjl(*element(&v, i / n, i % n));
    }
    free(v.at);
}
