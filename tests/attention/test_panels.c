/* test_panels.c - the kernels of panels on all instruction sets of the processor: weights over their whole range,
 * and copies of rows to the lanes of a panel and back. */
#include "attention/cases.h"
#include "providers/native/attention/attention.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct kernels {
    const char *name;
    const bp__attention_numbers *numbers;
    const bp__attention_elements *elements;
} kernels;

/* Writes the sets that run on this processor. Returns how many there are. */
static int available(kernels *sets) {
    int count = 0;
    sets[count++] = (kernels){"default", bp__attention_numbers_default, bp__attention_elements_default};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        sets[count++] = (kernels){"avx2", bp__attention_numbers_avx2, bp__attention_elements_avx2};
        if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
            sets[count++] = (kernels){"avx512", bp__attention_numbers_avx512, bp__attention_elements_avx512};
        }
    }
#endif
    return count;
}

static double number_at(const void *from, int64_t index, bool is_double) {
    return is_double ? ((const double *)from)[index] : (double)((const float *)from)[index];
}

static void set_number(void *to, int64_t index, bool is_double, double value) {
    if (is_double) {
        ((double *)to)[index] = value;
    } else {
        ((float *)to)[index] = (float)value;
    }
}

/* ---- Weights ---- */

enum { KEYS = 4096 };

/* Score number `index`: special values, then the range in which results are normal numbers, and what is below it. */
static double score_of(int64_t index, bool is_double) {
    const double least = is_double ? -1022 : -126;
    const double special[] = {0,    -0.,  -1,    least,  least + 1,    least - 0.5, least - 1,
                              -1e4, -1e9, -1e18, -1e30,  -3e38,        -INFINITY,   NAN,
                              -NAN, -0.5, -1.5,  -1e-30, least - 0.25, least + 0.5};
    const int64_t specials = (int64_t)(sizeof special / sizeof *special);
    return index < specials ? special[index] : (least - 3) * (double)(index - specials) / (double)(1 << 17);
}

/* The relative error of the rounded ln 2, and without fused multiply-add the error of its product. */
static long double error_of_ln2(bool is_double, bool fused) {
    const long double ln2 = 0.693147180559945309417232L;
    const long double rounded = is_double ? (long double)(double)ln2 : (long double)(float)ln2;
    return fabsl(rounded - ln2) / ln2 + (fused ? 0 : is_double ? 0x1p-53L : 0x1p-24L);
}

static void check_weight(const char *name, bool is_double, double x, double got) {
    const double least = is_double ? -1022 : -126;
    const bool fused = strcmp(name, "default") != 0;
    const long double want = expl((long double)x), unit = is_double ? 0x1p-52L : 0x1p-23L;
    const long double power = (long double)x * 1.442695040888963407359925L, margin = 4 * unit * fabsl(power);
    const long double spacing = exp2l(power >= least ? floorl(power) : (long double)least) * unit;
    const long double bound =
        (fused ? 1 : 1.2L) * spacing + fabsl((long double)x) * error_of_ln2(is_double, fused) * want;
    const bool near = fabsl((long double)got - want) <= bound, zero = got == 0;
    const bool good = isnan(x)                         ? isnan(got)
                      : x == 0                         ? got == 1
                      : power <= least - 0.5L - margin ? zero
                      : power <= least - 0.5L + margin ? zero || near
                                                       : near;
    if (!good) {
        fail_msg("%s: e^%a is %a instead of %La", name, x, got, want);
    }
}

static void weights_have_their_errors(void **state) {
    (void)state;
    kernels sets[3];
    const int count = available(sets);
    for (int i = 0; i < count * 2; i++) {
        const bool is_double = i % 2;
        const bp__attention_numbers *tested = &sets[i / 2].numbers[is_double];
        char *scores = calloc((size_t)(KEYS * tested->lanes), 8), *zeros = calloc((size_t)(2 * tested->lanes), 8);
        assert_non_null(scores);
        assert_non_null(zeros);
        for (int64_t k = 0; k < KEYS * tested->lanes; k++) {
            set_number(scores, k, is_double, score_of(k, is_double));
        }
        char *weights = malloc((size_t)(KEYS * tested->lanes) * 8);
        assert_non_null(weights);
        memcpy(weights, scores, (size_t)(KEYS * tested->lanes) * 8);
        tested->weigh(KEYS, weights, NULL, (bp__attention_limits){NULL, NULL}, zeros);
        for (int64_t k = 0; k < KEYS * tested->lanes; k++) {
            check_weight(sets[i / 2].name, is_double, number_at(scores, k, is_double),
                         number_at(weights, k, is_double));
        }
        free(scores);
        free(weights);
        free(zeros);
    }
}

/* ---- Copies ---- */

enum { MOST_COLUMNS = 70, LINE = 300, GRID = BP__ATTENTION_LANES * LINE, GUARD = 0x5a };

typedef struct copy_case {
    const char *name;
    bp_dtype dtype;
    int lanes;
    int64_t rows, columns, column;
    const bp__attention_elements *elements;
} copy_case;

/* Memory of a case: rows of elements to read and to write, the same as doubles, and a panel. */
static char source[GRID * 8], target[GRID * 8], panel[BP__ATTENTION_LANES * (MOST_COLUMNS + 1) * 8];
static double numbers[GRID];

static void convert(void *to, bp_dtype to_dtype, void *from, bp_dtype from_dtype) {
    const int64_t count = GRID;
    bp_view x, y;
    assert_int_equal(bp_view_init(&x, from, from_dtype, 1, &count, NULL), BP_OK);
    assert_int_equal(bp_view_init(&y, to, to_dtype, 1, &count, NULL), BP_OK);
    assert_int_equal(bp_tensor_copy(&y.tensor, &x.tensor), BP_OK);
}

/* Returns the place of a row in the grid: rows are in an order of their own. */
static int64_t place_of(int64_t row) {
    return (row * 7 + 3) % BP__ATTENTION_LANES * LINE;
}

/* All types have these numbers. */
static double value_of(int64_t row, int64_t column) {
    return (double)((row * 13 + column * 5) % 61 - 30) / 4;
}

static double sum_of(int64_t row) {
    return row % 3 == 0 ? 0 : row % 3 == 1 ? 2 : 0.25;
}

static void check_pack(const copy_case *c) {
    const bool is_double = c->dtype == BP_F64;
    const void *from[BP__ATTENTION_LANES] = {0};
    for (int64_t i = 0; i < c->rows; i++) {
        from[i] = source + (size_t)place_of(i) * c->elements->element;
        for (int64_t j = 0; j < c->columns; j++) {
            numbers[place_of(i) + j * c->column] = value_of(i, j);
        }
    }
    convert(source, c->dtype, numbers, BP_F64);
    memset(panel, GUARD, sizeof panel);
    c->elements->pack(c->lanes, c->rows, c->columns, from, c->column, -0.5, panel);
    for (int64_t k = 0; k < c->lanes * c->columns; k++) {
        const int64_t i = k % c->lanes, j = k / c->lanes;
        const double want = i < c->rows ? value_of(i, j) * -0.5 : 0, got = number_at(panel, k, is_double);
        if (got != want) {
            fail_msg("%s, %s: lane %d of column %d is %g instead of %g", c->name, bp_dtype_name(c->dtype), (int)i,
                     (int)j, got, want);
        }
    }
    for (size_t k = (size_t)(c->lanes * c->columns) * (is_double ? 8 : 4); k < sizeof panel; k++) {
        assert_int_equal(panel[k], GUARD);
    }
}

/* Unpacks the panel that check_pack() left. */
static void check_unpack(const copy_case *c) {
    const size_t element = c->elements->element;
    double sums[BP__ATTENTION_LANES] = {0};
    void *to[BP__ATTENTION_LANES] = {0};
    bool written[GRID] = {false};
    for (int64_t i = 0; i < c->rows; i++) {
        to[i] = target + (size_t)place_of(i) * element;
        set_number(sums, i, c->dtype == BP_F64, sum_of(i));
    }
    memset(target, GUARD, sizeof target);
    c->elements->unpack(c->lanes, c->rows, c->columns, panel, sums, to, c->column);
    convert(numbers, BP_F64, target, c->dtype);
    for (int64_t k = 0; k < c->rows * c->columns; k++) {
        const int64_t i = k % c->rows, j = k / c->rows, at = place_of(i) + j * c->column;
        const double want = value_of(i, j) * -0.5 / (sum_of(i) == 0 ? 1 : sum_of(i));
        written[at] = true;
        if (numbers[at] != want) {
            fail_msg("%s, %s: row %d, column %d is %g instead of %g", c->name, bp_dtype_name(c->dtype), (int)i, (int)j,
                     numbers[at], want);
        }
    }
    for (int64_t at = 0; at < GRID; at++) {
        for (size_t byte = 0; byte < element && !written[at]; byte++) {
            assert_int_equal(target[(size_t)at * element + byte], GUARD);
        }
    }
}

static void panels_are_packed_and_unpacked(void **state) {
    (void)state;
    static const int64_t columns[] = {0, 1, 3, 4, 7, 8, 15, 16, 17, 33, 64, MOST_COLUMNS};
    kernels sets[3];
    const int count = available(sets);
    for (int i = 0; i < count * BP__ATTENTION_DTYPES; i++) {
        const bp_dtype dtype = (bp_dtype)(BP_F16 + i % BP__ATTENTION_DTYPES);
        copy_case c = {.name = sets[i / BP__ATTENTION_DTYPES].name,
                       .dtype = dtype,
                       .lanes = sets[i / BP__ATTENTION_DTYPES].numbers[dtype == BP_F64].lanes,
                       .elements = &sets[i / BP__ATTENTION_DTYPES].elements[i % BP__ATTENTION_DTYPES]};
        for (c.rows = 1; c.rows <= c.lanes; c.rows++) {
            for (size_t n = 0; n < sizeof columns / sizeof *columns; n++) {
                for (c.column = 1; c.column <= 4; c.column += 3) {
                    c.columns = columns[n];
                    check_pack(&c);
                    check_unpack(&c);
                }
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_have_their_errors),
        cmocka_unit_test(panels_are_packed_and_unpacked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
