/* support_operands.c - makes operands in every layout, with guarded bytes around their elements. */
#include "lapack/support_lapack.h"

#include <float.h>
#include <stdlib.h>
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

static int64_t size_of(bp_dtype dtype) {
    return (int64_t)bp_dtype_size(dtype);
}

test_operand test_make(bp_dtype dtype, int64_t rows, int64_t columns, int64_t items, bool broadcast,
                       matrix_layout layout) {
    test_operand x = {.dtype = dtype, .rows = rows, .columns = columns, .items = items};
    int64_t gap = layout == TEST_ROWS_APART || layout == TEST_COLUMNS_APART ? 3 : 0,
            unit = layout >= TEST_GENERAL ? 2 : 1;
    bool by_columns = layout >= TEST_COLUMNS && layout <= TEST_COLUMNS_REVERSED && layout != TEST_ROWS_APART;
    x.row = by_columns ? unit : columns * unit + gap;
    x.column = by_columns ? rows * unit + gap : unit;
    int64_t span = (rows - 1) * x.row + (columns - 1) * x.column + 1, guard = 16, start = 0;
    x.step = broadcast ? 0 : span + gap;
    x.bytes = (size_t)((span + x.step * (items - 1) + 2 * guard) * size_of(dtype));
    x.block = aligned_alloc(64, (x.bytes + 63) & ~(size_t)63);
    x.copy = malloc(x.bytes);
    memset(x.block, 0x5b, x.bytes);
    if (layout == TEST_BACKWARDS) {
        start = span - 1;
        x.row = -x.row;
        x.column = -x.column;
    }
    if (layout == TEST_COLUMNS_REVERSED) {
        start = (columns - 1) * x.column;
        x.column = -x.column;
    }
    x.row = rows == 1 ? 0 : x.row;
    x.column = columns == 1 ? 0 : x.column;
    x.base = x.block + (guard + start) * size_of(dtype);
    return x;
}

void test_drop(test_operand *x) {
    free(x->block);
    free(x->copy);
    *x = (test_operand){0};
}

static char *address(const test_operand *x, int64_t item, int64_t i, int64_t j) {
    return x->base + (item * x->step + i * x->row + j * x->column) * size_of(x->dtype);
}

number test_get(const test_operand *x, int64_t item, int64_t i, int64_t j) {
    const void *at = address(x, item, i, j);
    switch (x->dtype) {
    case BP_F32:
        return *(const float *)at;
    case BP_F64:
        return *(const double *)at;
    case BP_C64:
        return *(const float complex *)at;
    case BP_C128:
        return *(const double complex *)at;
    case BP_I32:
        return *(const int32_t *)at;
    default:
        return (long double)*(const int64_t *)at;
    }
}

void test_set(test_operand *x, int64_t item, int64_t i, int64_t j, number value) {
    void *at = address(x, item, i, j);
    switch (x->dtype) {
    case BP_F32:
        *(float *)at = (float)creall(value);
        break;
    case BP_F64:
        *(double *)at = (double)creall(value);
        break;
    case BP_C64:
        *(float complex *)at = (float complex)value;
        break;
    case BP_C128:
        *(double complex *)at = (double complex)value;
        break;
    case BP_I32:
        *(int32_t *)at = (int32_t)creall(value);
        break;
    default:
        *(int64_t *)at = (int64_t)creall(value);
        break;
    }
}
