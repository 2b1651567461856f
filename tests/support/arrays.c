/* arrays.c - random tensors of any layout for tests of operations. */
#include "support/arrays.h"

#include "tensor/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MARK 0x5b

uint64_t test_array_random = 1;

int64_t test_array_between(int64_t low, int64_t high) {
    test_array_random ^= test_array_random << 13;
    test_array_random ^= test_array_random >> 7;
    test_array_random ^= test_array_random << 17;
    return low + (int64_t)((test_array_random >> 11) % (uint64_t)(high - low + 1));
}

double test_array_uniform(void) {
    return (double)test_array_between(-1000000, 1000000) / 1000001;
}

void test_array_make(test_array *t, bp_dtype dtype, int ndim, const int64_t *shape, test_layout layout) {
    int order[BP_MAX_NDIM];
    int64_t strides[BP_MAX_NDIM], low = 0;
    for (int d = 0; d < ndim; d++) {
        order[d] = d;
    }
    for (int d = 0; d < ndim && layout == TEST_PERMUTED; d++) {
        const int other = (int)test_array_between(d, ndim - 1), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    for (int d = 1; d + 1 < ndim && layout == TEST_CHANNELS_LAST; d++) {
        order[d] = d + 1;
        order[d + 1] = 1;
    }
    t->dtype = dtype;
    t->all = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        const int d = order[i];
        const int64_t size = shape[d] > 0 ? shape[d] : 1;
        strides[d] = t->all * (layout == TEST_GAPS ? test_array_between(1, 3) : 1);
        t->all = strides[d] * size;
        if (layout == TEST_REVERSED && test_array_between(0, 1)) {
            low += strides[d] * (size - 1);
            strides[d] = -strides[d];
        }
    }
    const size_t bytes = bp_dtype_size(dtype);
    t->memory = malloc((size_t)t->all * bytes);
    assert_non_null(t->memory);
    memset(t->memory, MARK, (size_t)t->all * bytes);
    assert_int_equal(bp_view_init(&t->view, t->memory + (size_t)low * bytes, dtype, ndim, shape, strides), BP_OK);
}

void test_array_free(test_array *t) {
    free(t->memory);
    t->memory = NULL;
}

int64_t test_array_count(const test_array *t) {
    return bp__tensor_elements(&t->view.tensor);
}

char *test_array_at(const test_array *t, int64_t index) {
    int64_t at = 0;
    for (int d = t->view.tensor.ndim - 1; d >= 0; d--) {
        at += index % t->view.tensor.shape[d] * t->view.tensor.strides[d];
        index /= t->view.tensor.shape[d];
    }
    return (char *)t->view.tensor.data + at * (int64_t)bp_dtype_size(t->dtype);
}

double test_array_get(const test_array *t, int64_t index) {
    double value;
    if (t->dtype == BP_I32 || t->dtype == BP_I64) {
        return (double)test_array_get_i64(t, index);
    }
    if (t->dtype == BP_F64) {
        memcpy(&value, test_array_at(t, index), sizeof value);
    } else {
        bp__convert_matrix(BP_F64, t->dtype, 1, 1, &value, 1, 1, test_array_at(t, index), 1, 1);
    }
    return value;
}

void test_array_set(test_array *t, int64_t index, double value) {
    if (t->dtype == BP_I32 || t->dtype == BP_I64) {
        test_array_set_i64(t, index, (int64_t)value);
    } else if (t->dtype == BP_F64) {
        memcpy(test_array_at(t, index), &value, sizeof value);
    } else {
        bp__convert_matrix(t->dtype, BP_F64, 1, 1, test_array_at(t, index), 1, 1, &value, 1, 1);
    }
}

int64_t test_array_get_i64(const test_array *t, int64_t index) {
    int64_t value;
    int32_t narrow;
    if (t->dtype == BP_I32) {
        memcpy(&narrow, test_array_at(t, index), sizeof narrow);
        return narrow;
    }
    memcpy(&value, test_array_at(t, index), sizeof value);
    return value;
}

void test_array_set_i64(test_array *t, int64_t index, int64_t value) {
    const int32_t narrow = (int32_t)value;
    if (t->dtype == BP_I32) {
        memcpy(test_array_at(t, index), &narrow, sizeof narrow);
    } else {
        memcpy(test_array_at(t, index), &value, sizeof value);
    }
}

void test_array_check_gaps(const test_array *t, const char *text) {
    const size_t bytes = bp_dtype_size(t->dtype);
    char *used = calloc((size_t)t->all, 1);
    assert_non_null(used);
    for (int64_t i = 0; i < test_array_count(t); i++) {
        used[(size_t)(test_array_at(t, i) - t->memory) / bytes] = 1;
    }
    for (size_t i = 0; i < (size_t)t->all * bytes; i++) {
        if (!used[i / bytes] && t->memory[i] != MARK) {
            fail_msg("%s: byte %d, which is no part of the tensor, was written", text, (int)i);
        }
    }
    free(used);
}

double test_array_eps(bp_dtype dtype) {
    return dtype == BP_F16 ? 0x1p-11 : dtype == BP_BF16 ? 0x1p-8 : dtype == BP_F32 ? 0x1p-24 : 0x1p-53;
}

double test_array_tiny(bp_dtype dtype) {
    return dtype == BP_F16 ? 0x1p-25 : dtype == BP_BF16 ? 0x1p-134 : dtype == BP_F32 ? 0x1p-150 : 0;
}
