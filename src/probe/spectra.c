/* spectra.c - checks LAPACK's eigenvalues and singular values, with and without vectors. */
#include "probe/checks.h"

#include <math.h>
#include <string.h>

static const int64_t order = ORDER, work_size = WORK, one = 1;

/* Returns whether A V = V diag(values). */
static bool are_eigenvectors(const trial *t, const number *a, const number *values, const number *v) {
    number left[ELEMENTS], right[ELEMENTS];
    multiply('N', 'N', ORDER, ORDER, ORDER, a, ORDER, v, ORDER, left);
    for (int64_t i = 0; i < ELEMENTS; i++) {
        right[i] = times(v[i], values[i / ORDER]);
    }
    return is_near(t, left, right, ELEMENTS, norm_of(a, ELEMENTS));
}

/* ---- Hermitian matrices ---- */

static int64_t call_eigh(trial *t, const char *job, const char *uplo, array *a, array *w) {
    int64_t info = 0;
    store(t, a, ELEMENTS, t->positive, t->scale);
    if (t->type->is_complex) {
        FIND(t, heevd, "heevd");
        if (heevd) {
            heevd(job, uplo, &order, a, &order, w, &check_work, &work_size, &check_real_work, &work_size,
                  check_integers, &work_size, &info, 1, 1);
        }
        return heevd ? info : -1;
    }
    FIND(t, syevd, "syevd");
    if (syevd) {
        syevd(job, uplo, &order, a, &order, w, &check_work, &work_size, check_integers, &work_size, &info, 1, 1);
    }
    return syevd ? info : -1;
}

static const char *check_triangle(trial *t, const char *uplo) {
    array a, w;
    double values[ORDER], alone[ORDER];
    number spectrum[ORDER], v[ELEMENTS];
    if (call_eigh(t, "V", uplo, &a, &w) != 0) {
        return "it reports a failure";
    }
    fetch_reals(t, &w, ORDER, values, 1 / t->scale);
    fetch(t, &a, ELEMENTS, v, 1);
    double size = norm_of(t->positive, ELEMENTS);
    for (int64_t i = 0; i < ORDER; i++) {
        spectrum[i] = values[i];
        if (i > 0 && !(values[i] >= values[i - 1])) {
            return "the eigenvalues are not in ascending order";
        }
    }
    if (!is_orthonormal(t, v, ORDER, ORDER)) {
        return "the eigenvectors are not orthonormal";
    }
    if (!are_eigenvectors(t, t->positive, spectrum, v)) {
        return "the eigenvectors do not belong to the eigenvalues";
    }
    if (call_eigh(t, "N", uplo, &a, &w) != 0) {
        return "it reports a failure";
    }
    fetch_reals(t, &w, ORDER, alone, 1 / t->scale);
    for (int64_t i = 0; i < ORDER; i++) {
        if (!(fabs(alone[i] - values[i]) <= t->tolerance * size)) {
            return "the eigenvalues differ without vectors";
        }
    }
    return NULL;
}

const char *check_eigh(trial *t) {
    if (!routine_of(t, t->type->is_complex ? "heevd" : "syevd")) {
        return NULL;
    }
    const char *wrong = check_triangle(t, "L");
    return wrong ? wrong : check_triangle(t, "U");
}

/* ---- General matrices ---- */

/* Reads the complex eigenvectors of a real matrix: two columns of V represent a conjugate pair. */
static void read_pairs(const trial *t, const array *real, const array *imaginary, const array *columns, number *w,
                       number *v) {
    double re[ORDER], im[ORDER], parts[ELEMENTS];
    fetch_reals(t, real, ORDER, re, 1 / t->scale);
    fetch_reals(t, imaginary, ORDER, im, 1 / t->scale);
    fetch_reals(t, columns, ELEMENTS, parts, 1);
    for (int64_t j = 0; j < ORDER; j++) {
        w[j] = make_number(re[j], im[j]);
        int64_t first = im[j] < 0 && j > 0 ? j - 1 : j, second = first + 1 < ORDER ? first + 1 : first;
        for (int64_t i = 0; i < ORDER; i++) {
            double part = im[j] == 0 ? 0 : im[j] > 0 ? parts[i + second * ORDER] : -parts[i + second * ORDER];
            v[i + j * ORDER] = make_number(parts[i + first * ORDER], part);
        }
    }
}

static int64_t call_geev(trial *t, const char *vectors, number *w, number *v) {
    array a, values, imaginary, columns;
    int64_t info = 0;
    memset(&columns, 0, sizeof columns);
    store(t, &a, ELEMENTS, t->general, t->scale);
    if (t->type->is_complex) {
        FIND(t, geev_complex, "geev");
        geev_complex("N", vectors, &order, &a, &order, &values, NULL, &one, &columns, &order, &check_work, &work_size,
                     &check_real_work, &info, 1, 1);
        fetch(t, &values, ORDER, w, 1 / t->scale);
        fetch(t, &columns, ELEMENTS, v, 1);
    } else {
        FIND(t, geev_real, "geev");
        geev_real("N", vectors, &order, &a, &order, &values, &imaginary, NULL, &one, &columns, &order, &check_work,
                  &work_size, &info, 1, 1);
        read_pairs(t, &values, &imaginary, &columns, w, v);
    }
    return info;
}

/* Checks the sum of the eigenvalues and the sum of their squares, which are well conditioned even if single eigenvalues
 * are not. */
static const char *check_sums(const trial *t, const number *w) {
    number trace = 0, squares = 0, sum = 0, sum_of_squares = 0;
    double size = norm_of(t->general, ELEMENTS);
    for (int64_t i = 0; i < ORDER; i++) {
        trace += t->general[i + i * ORDER];
        sum += w[i];
        sum_of_squares += times(w[i], w[i]);
        for (int64_t j = 0; j < ORDER; j++) {
            squares += times(t->general[i + j * ORDER], t->general[j + i * ORDER]);
        }
    }
    return !is_near(t, &sum, &trace, 1, size) ? "the sum of the eigenvalues differs from the trace"
           : !is_near(t, &sum_of_squares, &squares, 1, size * size)
               ? "the sum of the squares of the eigenvalues differs from the trace of the square"
               : NULL;
}

const char *check_eig(trial *t) {
    number w[ORDER], v[ELEMENTS];
    if (!routine_of(t, "geev")) {
        return NULL;
    }
    if (call_geev(t, "V", w, v) != 0) {
        return "it reports a failure";
    }
    const char *wrong = check_sums(t, w);
    if (wrong) {
        return wrong;
    }
    for (int64_t j = 0; j < ORDER; j++) {
        if (!(fabs(norm_of(v + j * ORDER, ORDER) - 1) <= t->tolerance)) {
            return "an eigenvector does not have norm 1";
        }
    }
    if (!are_eigenvectors(t, t->general, w, v)) {
        return "the eigenvectors do not belong to the eigenvalues";
    }
    return call_geev(t, "N", w, v) != 0 ? "it reports a failure" : check_sums(t, w);
}

/* ---- Singular values ---- */

typedef struct decomposition {
    int64_t m, n;
    number u[ELEMENTS], vh[ELEMENTS];
    double s[NARROW];
} decomposition;

/* Decomposes the tall matrix, or as many elements of the sample as a wide one. */
static int64_t call_gesdd(trial *t, const char *job, decomposition *x) {
    array a, s, u, vh;
    int64_t info = 0, least = x->m < x->n ? x->m : x->n, rows_of_vh = *job == 'A' ? x->n : least;
    memset(&u, 0, sizeof u);
    memset(&vh, 0, sizeof vh);
    store(t, &a, x->m * x->n, t->general, t->scale);
    if (t->type->is_complex) {
        FIND(t, gesdd_complex, "gesdd");
        gesdd_complex(job, &x->m, &x->n, &a, &x->m, &s, &u, &x->m, &vh, &rows_of_vh, &check_work, &work_size,
                      &check_real_work, check_integers, &info, 1);
    } else {
        FIND(t, gesdd_real, "gesdd");
        gesdd_real(job, &x->m, &x->n, &a, &x->m, &s, &u, &x->m, &vh, &rows_of_vh, &check_work, &work_size,
                   check_integers, &info, 1);
    }
    fetch_reals(t, &s, least, x->s, 1 / t->scale);
    fetch(t, &u, ELEMENTS, x->u, 1);
    fetch(t, &vh, ELEMENTS, x->vh, 1);
    return info;
}

/* Checks that the columns of U and the rows of Vh, `m` and `n` of them, are orthonormal and that the product equals the
 * matrix. */
static const char *check_solution(const trial *t, const decomposition *x, int64_t columns, int64_t rows) {
    number right[ELEMENTS], product[ELEMENTS];
    int64_t least = x->m < x->n ? x->m : x->n;
    for (int64_t i = 0; i < least; i++) {
        if (!(x->s[i] >= 0) || (i > 0 && !(x->s[i] <= x->s[i - 1]))) {
            return "the singular values are not in descending order";
        }
    }
    for (int64_t i = 0; i < rows * x->n; i++) { /* conjugate transpose of Vh, because its rows are tested */
        right[i] = conj(x->vh[i / x->n + i % x->n * rows]);
    }
    if (!is_orthonormal(t, x->u, x->m, columns) || !is_orthonormal(t, right, x->n, rows)) {
        return "the singular vectors are not orthonormal";
    }
    for (int64_t i = 0; i < x->n * least; i++) {
        right[i] *= x->s[i / x->n];
    }
    multiply('N', 'C', x->m, x->n, least, x->u, x->m, right, x->n, product);
    return is_near(t, product, t->general, x->m * x->n, norm_of(t->general, x->m * x->n))
               ? NULL
               : "the product of the factors differs from the matrix";
}

static const char *check_shape(trial *t, int64_t m, int64_t n) {
    static decomposition x, alone;
    int64_t least = m < n ? m : n;
    x.m = alone.m = m;
    x.n = alone.n = n;
    if (call_gesdd(t, "A", &x) != 0) {
        return "it reports a failure";
    }
    const char *wrong = check_solution(t, &x, m, n);
    if (!wrong && call_gesdd(t, "S", &x) != 0) {
        return "it reports a failure";
    }
    wrong = wrong ? wrong : check_solution(t, &x, least, least);
    if (!wrong && call_gesdd(t, "N", &alone) != 0) {
        return "it reports a failure";
    }
    for (int64_t i = 0; i < least && !wrong; i++) {
        bool same = fabs(alone.s[i] - x.s[i]) <= t->tolerance * norm_of(t->general, m * n);
        wrong = same ? NULL : "the singular values differ without vectors";
    }
    return wrong;
}

const char *check_svd(trial *t) {
    if (!routine_of(t, "gesdd")) {
        return NULL;
    }
    const char *wrong = check_shape(t, ORDER, NARROW);
    return wrong ? wrong : check_shape(t, NARROW, ORDER);
}
