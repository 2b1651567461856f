/* support_matrices.c - makes difficult matrices. */
#include "lapack/support_lapack.h"

#include "support/arrays.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

number test_random(bool two_parts) {
    const long double re = test_array_uniform();
    return two_parts ? re + test_array_uniform() * I : re;
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
    test_array_random = seed;
    for (int64_t item = 0; item < (x->step ? x->items : 1); item++) {
        for (int64_t i = 0; i < x->rows; i++) {
            for (int64_t j = 0; j < x->columns; j++) {
                number value = given ? special(kind, i, j, x->columns)
                                     : test_random(two_parts) * scale_of(kind, x->dtype, i, x->rows);
                test_set(x, item, i, j, value);
            }
        }
        if (kind == TEST_DEFICIENT) {
            make_deficient(x, item);
        }
    }
}

void test_fill_definite(test_operand *x, unsigned seed) {
    const int64_t n = x->rows;
    number *m = malloc((size_t)(n * n) * sizeof *m);
    test_array_random = seed;
    for (int64_t item = 0; item < (x->step ? x->items : 1); item++) {
        for (int64_t i = 0; i < n * n; i++) {
            m[i] = test_random(test_is_complex(x->dtype));
        }
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j <= i; j++) {
                number value = i == j;
                for (int64_t l = 0; l < n; l++) {
                    value += m[i * n + l] * conjl(m[j * n + l]);
                }
                test_set(x, item, i, j, i == j ? creall(value) : value);
                test_set(x, item, j, i, conjl(test_get(x, item, i, j)));
            }
        }
    }
    free(m);
}
