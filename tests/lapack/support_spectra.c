/* support_spectra.c - makes matrices with a known spectrum, and iterates over test cases. */
#include "lapack/support_spectra.h"

#include "support/arrays.h"
#include "support/modes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

long double test_spectrum_value(test_spectrum spectrum, bp_dtype dtype, int64_t i, int64_t count) {
    long double part = count > 1 ? (long double)i / (long double)(count - 1) : 0;
    switch (spectrum) {
    case TEST_SPREAD:
        return 1 - 0.9L * part;
    case TEST_CLUSTERED:
        return i == 0 ? 1 : 0.5L * (1 - 4 * (long double)i * test_epsilon(dtype));
    case TEST_EQUAL:
        return 1;
    case TEST_GEOMETRIC:
        return powl(test_epsilon(dtype) / 10, part);
    default:
        return i < (count + 1) / 2 ? 1 - 0.9L * part : 0;
    }
}

/* Applies random reflectors to the identity, one after the other. */
number *test_unitary(int64_t n, bool complex_type) {
    number *q = calloc((size_t)(n * n), sizeof *q), *v = malloc((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) {
        q[i * n + i] = i % 2 ? -1 : 1;
    }
    for (int round = 0; round < 3; round++) {
        long double length = 0;
        for (int64_t i = 0; i < n; i++) {
            v[i] = test_random(complex_type) + (i == round ? 0.25L : 0);
            length += creall(v[i] * conjl(v[i]));
        }
        for (int64_t j = 0; j < n; j++) {
            number inner = 0;
            for (int64_t i = 0; i < n; i++) {
                inner += conjl(v[i]) * q[i * n + j];
            }
            for (int64_t i = 0; i < n; i++) {
                q[i * n + j] -= 2 * inner / length * v[i];
            }
        }
    }
    free(v);
    return q;
}

/* Writes u diag(values) w^H with the leading columns of u and w. */
static void fill_item(test_operand *x, int64_t item, const number *u, const number *w, const long double *values) {
    int64_t count = x->rows < x->columns ? x->rows : x->columns;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t j = 0; j < x->columns; j++) {
            number sum = 0;
            for (int64_t l = 0; l < count; l++) {
                sum += u[i * x->rows + l] * values[l] * conjl(w[j * x->columns + l]);
            }
            test_set(x, item, i, j, sum);
        }
    }
}

static void fill(test_operand *x, test_spectrum spectrum, long double scale, unsigned seed, bool hermitian) {
    int64_t count = x->rows < x->columns ? x->rows : x->columns;
    long double *values = malloc((size_t)count * sizeof *values);
    bool two_parts = test_is_complex(x->dtype);
    test_array_random = seed;
    for (int64_t i = 0; i < count; i++) {
        values[i] = test_spectrum_value(spectrum, x->dtype, i, count) * (hermitian && i % 2 ? -scale : scale);
    }
    for (int64_t item = 0; item < (x->step ? x->items : 1); item++) {
        number *u = test_unitary(x->rows, two_parts);
        number *w = hermitian ? NULL : test_unitary(x->columns, two_parts);
        fill_item(x, item, u, w ? w : u, values);
        free(u), free(w);
    }
    free(values);
}

void test_fill_spectrum(test_operand *x, test_spectrum spectrum, long double scale, unsigned seed) {
    fill(x, spectrum, scale, seed, false);
}

/* Copies one triangle, because rounding made the triangles differ in the last bit. */
void test_fill_hermitian(test_operand *x, test_spectrum spectrum, long double scale, unsigned seed) {
    fill(x, spectrum, scale, seed, true);
    for (int64_t item = 0; item < (x->step ? x->items : 1); item++) {
        for (int64_t i = 0; i < x->rows; i++) {
            test_set(x, item, i, i, creall(test_get(x, item, i, i)));
            for (int64_t j = 0; j < i; j++) {
                test_set(x, item, j, i, conjl(test_get(x, item, i, j)));
            }
        }
    }
}

number test_complex(long double re, long double im) {
    number value;
    memcpy(&value, (long double[]){re, im}, sizeof value);
    return value;
}

/* ---- Cases ---- */

/* Large cases run in two layouts only, because their residuals are slow. */
void test_each_case(void *instance, const bp_library_info *row, bool square, void (*check)(const test_case *c)) {
    static const int64_t sizes[][2] = {{1, 1},  {2, 2},   {5, 5}, {33, 33}, {60, 60}, {7, 3},   {3, 7},  {50, 9},
                                       {9, 50}, {40, 33}, {1, 6}, {6, 1},   {19, 19}, {32, 17}, {14, 30}};
    const int first = (int)strlen(row->id); /* libraries leave out different cases */
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int d = 0; d < 4; d++) {
            for (matrix_layout layout = 0; layout < MATRIX_LAYOUTS; layout++) {
                test_case c = {instance, row->id, test_dtypes[d], sizes[s][0], sizes[s][1], 1, layout};
                c.items = layout == TEST_GENERAL ? 3 : 1;
                if (!test_fits(c.m, c.n) || (square && c.m != c.n) || (c.m * c.n > 1000 && (int)layout % 3 != d % 3) ||
                    test_leaves_out((int)s + d + (int)layout + first, 2)) {
                    continue;
                }
                check(&c);
            }
        }
    }
}

void test_each_type(void *instance, const bp_library_info *row, int64_t m, int64_t n,
                    void (*check)(const test_case *c)) {
    for (int d = 0; d < 4; d++) {
        check(&(test_case){instance, row->id, test_dtypes[d], m, n, 1, d % 2 ? TEST_ROWS : TEST_COLUMNS});
    }
}

/* ---- Items that are not finite ---- */

static void check_outputs(const test_call *call, int first, int outputs) {
    for (int o = first; o < first + outputs; o++) {
        const test_operand *x = call->operand[o];
        for (int64_t item = 0; x && item < x->items; item++) {
            for (int64_t i = 0; i < x->rows * x->columns; i++) {
                number value = test_get(x, item, i / x->columns, i % x->columns);
                bool is_nan = isnan(creall(value)) && (!test_is_complex(x->dtype) || isnan(cimagl(value)));
                bool integer = x->dtype == BP_I32 || x->dtype == BP_I64;
                if (item == 1) {
                    assert_true(integer ? value == 0 : is_nan);
                } else {
                    assert_true(integer ? value != 0 : isfinite(creall(value)) && isfinite(cimagl(value)));
                }
            }
        }
    }
}

void test_non_finite(const test_case *c, test_call *call, int outputs, long double value) {
    test_operand *a = call->operand[0];
    int first = call->op == BP_OP_LSTSQ ? 2 : 1;
    number before = test_get(a, 1, a->rows - 1, 0);
    number replacement = test_is_complex(a->dtype) ? test_complex(1, value) : value;
    test_set(a, 1, a->rows - 1, 0, replacement);
    call->fields.fail_on_item_error = 1;
    assert_int_equal(test_run(c->instance, call, NULL), BP_E_NON_FINITE);
    assert_non_null(strstr(bp_last_error(), "element 1"));
    call->fields.fail_on_item_error = 0;
    assert_int_equal(test_run(c->instance, call, NULL), BP_OK);
    check_outputs(call, first, outputs);
    test_set(a, 1, a->rows - 1, 0, before);
}
