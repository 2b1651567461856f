/* strided.c - makes tensors of random layouts for tests. */
#include "support/strided.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

uint64_t strided_random = 1;

uint64_t strided_next(void) {
    strided_random ^= strided_random << 13;
    strided_random ^= strided_random >> 7;
    strided_random ^= strided_random << 17;
    return strided_random;
}

int64_t strided_between(int64_t low, int64_t high) {
    return low + (int64_t)(strided_next() % (uint64_t)(high - low + 1));
}

double strided_number(void) {
    return (double)(strided_next() >> 11) * 0x1p-52 - 1;
}

int64_t strided_elements(const strided_tensor *t) {
    int64_t count = 1;
    for (int d = 0; d < t->view.tensor.ndim; d++) {
        count *= t->view.shape[d];
    }
    return count;
}

int64_t strided_position(const strided_tensor *t, int64_t index) {
    int64_t at = 0;
    for (int d = t->view.tensor.ndim - 1; d >= 0; d--) {
        at += index % t->view.shape[d] * t->view.strides[d];
        index /= t->view.shape[d];
    }
    return at;
}

static double load(bp_dtype dtype, const char *from) {
    double value = 0;
    bp_view a, b;
    if (dtype == BP_BOOL) {
        return *from != 0;
    }
    if (dtype == BP_I64) {
        return (double)*(const int64_t *)(const void *)from;
    }
    assert_int_equal(bp_view_init(&a, (void *)(uintptr_t)from, dtype, 0, (const int64_t[]){1}, NULL), BP_OK);
    assert_int_equal(bp_view_init(&b, &value, BP_F64, 0, (const int64_t[]){1}, NULL), BP_OK);
    assert_int_equal(bp_tensor_copy(&b.tensor, &a.tensor), BP_OK);
    return value;
}

double strided_get(const strided_tensor *t, int64_t index) {
    const char *from = t->memory + (size_t)strided_position(t, index) * bp_dtype_size(t->dtype);
    return t->dtype == BP_F32   ? (double)*(const float *)(const void *)from
           : t->dtype == BP_F64 ? *(const double *)(const void *)from
                                : load(t->dtype, from);
}

void strided_put(strided_tensor *t, int64_t index, double value) {
    char *to = t->memory + (size_t)strided_position(t, index) * bp_dtype_size(t->dtype);
    bp_view a, b;
    if (t->dtype == BP_BOOL) {
        *to = value != 0;
        return;
    }
    assert_int_equal(bp_view_init(&a, &value, BP_F64, 0, (const int64_t[]){1}, NULL), BP_OK);
    assert_int_equal(bp_view_init(&b, to, t->dtype, 0, (const int64_t[]){1}, NULL), BP_OK);
    assert_int_equal(bp_tensor_copy(&b.tensor, &a.tensor), BP_OK);
}

void strided_make(strided_tensor *t, bp_dtype dtype, int ndim, const int64_t *shape, bool compact) {
    int order[8];
    int64_t strides[8] = {0}, step = compact ? 1 : strided_between(1, 2);
    for (int d = 0; d < ndim; d++) {
        order[d] = d;
    }
    for (int d = ndim - 1; d > 0 && !compact; d--) {
        const int other = strided_next() % 3 ? d : (int)strided_between(0, d), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    for (int d = ndim - 1; d >= 0; d--) {
        strides[order[d]] = step;
        step *= shape[order[d]] > 0 ? shape[order[d]] : 1;
        step += compact ? 0 : strided_between(0, 2);
    }
    t->dtype = dtype;
    t->all = step + 1;
    t->memory = malloc((size_t)t->all * bp_dtype_size(dtype));
    t->used = calloc((size_t)t->all, 1);
    assert_non_null(t->memory);
    assert_non_null(t->used);
    memset(t->memory, 0x5a, (size_t)t->all * bp_dtype_size(dtype));
    assert_int_equal(bp_view_init(&t->view, t->memory, dtype, ndim, shape, strides), BP_OK);
    for (int64_t i = 0; i < strided_elements(t); i++) {
        t->used[strided_position(t, i)] = 1;
    }
}

void strided_fill(strided_tensor *t, double scale) {
    for (int64_t i = 0; i < strided_elements(t); i++) {
        strided_put(t, i, strided_number() * scale);
    }
}

void strided_free(strided_tensor *t) {
    free(t->memory);
    free(t->used);
    t->memory = NULL;
    t->used = NULL;
}

void strided_check_gaps(const strided_tensor *t, const char *text) {
    const size_t size = bp_dtype_size(t->dtype);
    for (int64_t i = 0; i < t->all; i++) {
        for (size_t b = 0; b < size && !t->used[i]; b++) {
            if (t->memory[(size_t)i * size + b] != 0x5a) {
                fail_msg("%s: memory between the elements was written", text);
            }
        }
    }
}
