/* support_operands.c - makes operands in every layout. */
#include "lapack/support_lapack.h"

#include <float.h>
#include <string.h>

bool test_is_complex(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

bp_dtype test_real_of(bp_dtype dtype) {
    return dtype == BP_C64 ? BP_F32 : dtype == BP_C128 ? BP_F64 : dtype;
}

long double test_epsilon(bp_dtype dtype) {
    return test_real_of(dtype) == BP_F32 ? FLT_EPSILON : DBL_EPSILON;
}

test_operand test_make(bp_dtype dtype, int64_t rows, int64_t columns, int64_t items, bool broadcast,
                       matrix_layout layout) {
    test_operand x = {.dtype = dtype, .rows = rows, .columns = columns, .items = items};
    int64_t gap = layout == TEST_ROWS_APART || layout == TEST_COLUMNS_APART ? 3 : 0,
            unit = layout >= TEST_GENERAL ? 2 : 1;
    bool by_columns = layout >= TEST_COLUMNS && layout <= TEST_COLUMNS_REVERSED && layout != TEST_ROWS_APART;
    x.row = by_columns ? unit : columns * unit + gap;
    x.column = by_columns ? rows * unit + gap : unit;
    x.step = broadcast ? 0 : (rows - 1) * x.row + (columns - 1) * x.column + 1 + gap;
    x.row = rows == 1 ? 0 : layout == TEST_BACKWARDS ? -x.row : x.row;
    x.column = columns == 1 ? 0 : layout == TEST_BACKWARDS || layout == TEST_COLUMNS_REVERSED ? -x.column : x.column;
    test_array_make_strided(&x.array, dtype, 3, (const int64_t[]){items, rows, columns},
                            (const int64_t[]){x.step, x.row, x.column}, 0);
    x.base = x.array.view.tensor.data;
    return x;
}

void test_drop(test_operand *x) {
    test_array_free(&x->array);
    test_array_free(&x->before);
    *x = (test_operand){0};
}

number test_get(const test_operand *x, int64_t item, int64_t i, int64_t j) {
    const bp_scalar value = test_array_get_complex(&x->array, (item * x->rows + i) * x->columns + j);
    const long double parts[2] = {value.re, value.im};
    number made;
    memcpy(&made, parts, sizeof made); /* a product with I would make both parts NaN */
    return made;
}

void test_set(test_operand *x, int64_t item, int64_t i, int64_t j, number value) {
    test_array_set_complex(&x->array, (item * x->rows + i) * x->columns + j,
                           (bp_scalar){(double)creall(value), (double)cimagl(value)});
}
