/* support_matrices.c - makes difficult matrices, and computes residuals. */
#include "lapack/support_lapack.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static long double next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return (long double)(*state >> 8) / (1 << 23) - 1;
}

number test_random(unsigned *state, bool two_parts) {
    long double re = next_random(state);
    return two_parts ? re + next_random(state) * I : re;
}

static long double scale_of(test_kind kind, bp_dtype dtype, int64_t i, int64_t rows) {
    bool wide = test_real_of(dtype) == BP_F64;
    long double smallest = sqrtl(wide ? DBL_MIN : FLT_MIN), largest = sqrtl(wide ? DBL_MAX : FLT_MAX);
    switch (kind) {
    case TEST_GRADED:
        return powl(smallest, (long double)i / (long double)rows);
    case TEST_HUGE:
        return largest / 1024;
    case TEST_TINY:
        return smallest * 1024;
    default:
        return 1;
    }
}

static number special(test_kind kind, int64_t i, int64_t j, int64_t columns) {
    const long double angle = 1.2L;
    switch (kind) {
    case TEST_HILBERT:
        return 1.0L / (long double)(i + j + 1);
    case TEST_KAHAN:
        return i > j ? 0 : powl(sinl(angle), (long double)i) * (i == j ? 1 : -cosl(angle));
    default:
        return j == columns - 1 ? 1 : i == j ? 1 : i > j ? -1 : 0;
    }
}

/* Makes the rows of the second half sums of rows of the first. */
static void make_deficient(test_operand *x, int64_t item) {
    int64_t rank = (x->rows + 1) / 2;
    for (int64_t i = rank; i < x->rows; i++) {
        for (int64_t j = 0; j < x->columns; j++) {
            test_set(x, item, i, j, test_get(x, item, i - rank, j) - 2 * test_get(x, item, 0, j));
        }
    }
}

void test_fill(test_operand *x, test_kind kind, unsigned seed) {
    bool two_parts = test_is_complex(x->dtype),
         given = kind == TEST_HILBERT || kind == TEST_KAHAN || kind == TEST_WILKINSON;
    for (int64_t item = 0; item < (x->step ? x->items : 1); item++) {
        for (int64_t i = 0; i < x->rows; i++) {
            for (int64_t j = 0; j < x->columns; j++) {
                number value = given ? special(kind, i, j, x->columns)
                                     : test_random(&seed, two_parts) * scale_of(kind, x->dtype, i, x->rows);
                test_set(x, item, i, j, value);
            }
        }
        if (kind == TEST_DEFICIENT) {
            make_deficient(x, item);
        }
    }
}

void test_fill_definite(test_operand *x, unsigned seed) {
    int64_t n = x->rows;
    for (int64_t item = 0; item < (x->step ? x->items : 1); item++) {
        number *m = malloc((size_t)(n * n) * sizeof *m);
        for (int64_t i = 0; i < n * n; i++) {
            m[i] = test_random(&seed, test_is_complex(x->dtype));
        }
        number *adjoint = test_adjoint(m, n, n, true), *product = test_product(m, adjoint, n, n, n);
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j <= i; j++) {
                number value = i == j ? creall(product[i * n + j]) + 1 : product[i * n + j];
                test_set(x, item, i, j, value);
                test_set(x, item, j, i, conjl(test_get(x, item, i, j)));
            }
        }
        free(m);
        free(adjoint);
        free(product);
    }
}

number *test_item(const test_operand *x, int64_t item) {
    number *copy = malloc((size_t)(x->rows * x->columns) * sizeof *copy);
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t j = 0; j < x->columns; j++) {
            copy[i * x->columns + j] = test_get(x, item, i, j);
        }
    }
    return copy;
}

number *test_product(const number *a, const number *b, int64_t m, int64_t k, int64_t n) {
    number *c = malloc((size_t)(m * n) * sizeof *c);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            number sum = 0;
            for (int64_t l = 0; l < k; l++) {
                sum += a[i * k + l] * b[l * n + j];
            }
            c[i * n + j] = sum;
        }
    }
    return c;
}

number *test_adjoint(const number *a, int64_t m, int64_t n, bool conjugate) {
    number *b = malloc((size_t)(m * n) * sizeof *b);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            b[j * m + i] = conjugate ? conjl(a[i * n + j]) : a[i * n + j];
        }
    }
    return b;
}

/* NaN anywhere makes the norm NaN, which a plain comparison would miss. */
long double test_norm(const number *a, int64_t m, int64_t n) {
    long double largest = 0;
    for (int64_t i = 0; i < m; i++) {
        long double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            sum += cabsl(a[i * n + j]);
        }
        largest = isnan(sum) || isnan(largest) ? (long double)NAN : sum > largest ? sum : largest;
    }
    return largest;
}

long double test_distance(const number *a, const number *b, int64_t m, int64_t n) {
    number *difference = malloc((size_t)(m * n) * sizeof *difference);
    for (int64_t i = 0; i < m * n; i++) {
        difference[i] = a[i] - b[i];
    }
    long double norm = test_norm(difference, m, n);
    free(difference);
    return norm;
}
