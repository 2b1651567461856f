/* arrays.c - random tensors of any layout for tests of operations. */
#include "support/arrays.h"

#include "support/guarded.h"
#include "tensor/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

enum { MARK = 0x5b, MARGIN = 512 }; /* bytes that are no element; bytes before and behind the memory */

_Thread_local uint64_t test_array_random = 1;

static void set_access(const char *from, const char *end, bool allowed) {
#ifdef __SANITIZE_ADDRESS__
    (allowed ? __asan_unpoison_memory_region : __asan_poison_memory_region)(from, (size_t)(end - from));
#else
    (void)from, (void)end, (void)allowed;
#endif
}

void test_array_open(const test_array *t) {
    set_access(t->block, t->block + t->bytes, true);
}

void test_array_close(const test_array *t) {
    set_access(t->block, t->memory, false);
    set_access(t->memory + (size_t)t->all * bp_dtype_size(t->dtype), t->block + t->bytes, false);
}

#define WHOLE_TYPES(X) X(I8, int8_t) X(U8, uint8_t) X(I16, int16_t) X(I32, int32_t) X(I64, int64_t) X(BOOL, uint8_t)

bool test_array_is_whole(bp_dtype dtype) {
    switch (dtype) {
#define X(name, type) case BP_##name:
        WHOLE_TYPES(X)
#undef X
        return true;
    default:
        return false;
    }
}

uint64_t test_array_next(void) {
    test_array_random ^= test_array_random << 13;
    test_array_random ^= test_array_random >> 7;
    test_array_random ^= test_array_random << 17;
    return test_array_random;
}

int64_t test_array_between(int64_t low, int64_t high) {
    return low + (int64_t)((test_array_next() >> 11) % ((uint64_t)high - (uint64_t)low + 1));
}

double test_array_uniform(void) {
    return (double)test_array_between(-1000000, 1000000) / 1000001;
}

int test_array_shape(int64_t shape[5], bool has_elements) {
    const int ndim = (int)test_array_between(0, 5);
    for (int d = 0; d < ndim; d++) {
        shape[d] = test_array_between(1, ndim < 4 ? 12 : 5);
    }
    if (ndim > 0 && test_array_between(0, 2) == 0) {
        shape[test_array_between(0, ndim - 1)] = test_array_between(40, ndim < 3 ? 3000 : 150);
    }
    if (ndim > 0 && !has_elements && test_array_between(0, 15) == 0) {
        shape[test_array_between(0, ndim - 1)] = 0;
    }
    return ndim;
}

static bp_dtype part_of(bp_dtype dtype) {
    return dtype == BP_C64 ? BP_F32 : dtype == BP_C128 ? BP_F64 : dtype;
}

/* ---- Tensors ---- */

void test_array_make(test_array *t, bp_dtype dtype, int ndim, const int64_t *shape, test_layout layout) {
    int order[BP_MAX_NDIM];
    int64_t strides[BP_MAX_NDIM], next;
    const bool scattered = layout == TEST_SCATTERED || layout == TEST_MIXED;
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
    for (int d = ndim - 1; d > 0 && scattered; d--) {
        const int other = test_array_between(0, 2) ? d : (int)test_array_between(0, d), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    next = scattered ? test_array_between(1, 2) : 1;
    for (int i = ndim - 1; i >= 0; i--) {
        const int d = order[i];
        const bool gap = layout == TEST_GAPS || (layout == TEST_REVERSED && test_array_between(0, 2) == 0);
        strides[d] = next * (gap ? test_array_between(1, 3) : 1);
        next = strides[d] * (shape[d] > 0 ? shape[d] : 1) + (scattered ? test_array_between(0, 2) : 0);
        if ((layout == TEST_REVERSED && test_array_between(0, 1)) ||
            (layout == TEST_MIXED && test_array_between(0, 3) == 0)) {
            strides[d] = -strides[d];
        } else if (layout == TEST_BROADCAST && test_array_between(0, 1)) {
            next = strides[d];
            strides[d] = 0;
        }
    }
    test_array_make_strided(t, dtype, ndim, shape, strides, 0);
}

void test_array_make_strided(test_array *t, bp_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides,
                             size_t past) {
    const size_t size = bp_dtype_size(dtype);
    int64_t below = 0, above = 0;
    for (int d = 0; d < ndim; d++) {
        const int64_t reach = shape[d] > 0 ? (shape[d] - 1) * strides[d] : 0;
        *(reach < 0 ? &below : &above) += reach;
    }
    const size_t before = (size_t)-below * size, first = (MARGIN + before + 63) / 64 * 64 + past;
    *t = (test_array){.dtype = dtype, .all = above - below + 1};
    t->bytes = (first - before + (size_t)t->all * size + MARGIN + 63) / 64 * 64;
    t->block = aligned_alloc(64, t->bytes);
    assert_non_null(t->block);
    memset(t->block, MARK, t->bytes);
    t->memory = t->block + first - before;
    assert_int_equal(bp_view_init(&t->view, t->block + first, dtype, ndim, shape, strides), BP_OK);
    test_array_close(t);
}

/* Gives `to` a block of its own, with the same contents. */
static void copy_block(test_array *to, const test_array *from) {
    const DLTensor *t = &from->view.tensor;
    to->block = to->guarded ? test_guarded(to->bytes, to->bytes / 16 % 2 == 1) : aligned_alloc(64, to->bytes);
    assert_non_null(to->block);
    memcpy(to->block, to->guarded ? from->memory : from->block, to->bytes);
    to->memory = to->block + (to->guarded ? 0 : from->memory - from->block);
    assert_int_equal(bp_view_init(&to->view, to->memory + ((char *)t->data - from->memory), from->dtype, t->ndim,
                                  from->view.shape, from->view.strides),
                     BP_OK);
}

void test_array_guard(test_array *t) {
    test_array old = *t;
    t->guarded = true;
    t->bytes = (size_t)t->all * bp_dtype_size(t->dtype);
    copy_block(t, &old);
    test_array_free(&old);
}

void test_array_copy(test_array *to, const test_array *from) {
    *to = *from;
    test_array_open(from);
    copy_block(to, from);
    test_array_close(from);
    test_array_close(to);
}

void test_array_restore(test_array *t, const test_array *copy) {
    test_array_open(t);
    test_array_open(copy);
    memcpy(t->block, copy->block, t->bytes);
    test_array_close(t);
    test_array_close(copy);
}

void test_array_free(test_array *t) {
    if (t->guarded) {
        test_guarded_free(t->block, t->bytes);
    } else if (t->block) {
        test_array_open(t);
        free(t->block);
    }
    *t = (test_array){0};
}

void test_array_mark(test_array *t) {
    memset(t->memory, MARK, (size_t)t->all * bp_dtype_size(t->dtype));
}

int64_t test_array_count(const test_array *t) {
    int64_t count = t->memory != NULL;
    for (int d = 0; d < t->view.tensor.ndim; d++) {
        count *= t->view.shape[d];
    }
    return count;
}

char *test_array_at(const test_array *t, int64_t index) {
    int64_t at = 0;
    for (int d = t->view.tensor.ndim - 1; d >= 0; d--) {
        at += index % t->view.shape[d] * t->view.strides[d];
        index /= t->view.shape[d];
    }
    return (char *)t->view.tensor.data + at * (int64_t)bp_dtype_size(t->dtype);
}

/* Visits the elements in row-major order, without a division for each. */
typedef struct cursor {
    const test_array *array;
    char *at;
    int64_t left; /* elements, with the present one */
    int64_t index[BP_MAX_NDIM];
} cursor;

static cursor first_element(const test_array *t) {
    return (cursor){.array = t, .at = t->view.tensor.data, .left = test_array_count(t)};
}

static void advance(cursor *c) {
    const bp_view *view = &c->array->view;
    const int64_t size = (int64_t)bp_dtype_size(c->array->dtype);
    c->left--;
    for (int d = view->tensor.ndim - 1; d >= 0; d--) {
        c->at += view->strides[d] * size;
        if (++c->index[d] < view->shape[d]) {
            return;
        }
        c->at -= view->shape[d] * view->strides[d] * size;
        c->index[d] = 0;
    }
}

static double load(bp_dtype dtype, const char *from) {
    double value;
    float single;
    if (dtype == BP_F64) {
        memcpy(&value, from, sizeof value);
    } else if (dtype == BP_F32) {
        memcpy(&single, from, sizeof single);
        value = (double)single;
    } else {
        bp__convert_matrix(BP_F64, dtype, 1, 1, &value, 1, 1, from, 1, 1);
    }
    return value;
}

static void store(bp_dtype dtype, char *to, double value) {
    const float single = (float)value;
    if (dtype == BP_F64) {
        memcpy(to, &value, sizeof value);
    } else if (dtype == BP_F32) {
        memcpy(to, &single, sizeof single);
    } else {
        bp__convert_matrix(dtype, BP_F64, 1, 1, to, 1, 1, &value, 1, 1);
    }
}

bp_scalar test_array_get_complex(const test_array *t, int64_t index) {
    const bp_dtype part = part_of(t->dtype);
    const char *at = test_array_at(t, index);
    if (test_array_is_whole(t->dtype)) {
        return (bp_scalar){(double)test_array_get_i64(t, index), 0};
    }
    return (bp_scalar){load(part, at), part != t->dtype ? load(part, at + bp_dtype_size(part)) : 0};
}

static void store_i64(bp_dtype dtype, char *at, int64_t value) {
    switch (dtype) {
#define X(name, type)                                                                                                  \
    case BP_##name: {                                                                                                  \
        const type stored = (type)value;                                                                               \
        memcpy(at, &stored, sizeof stored);                                                                            \
        break;                                                                                                         \
    }
        WHOLE_TYPES(X)
#undef X
    default:
        fail_msg("%s is no type of integers", bp_dtype_name(dtype));
    }
}

static void store_complex(const test_array *t, char *at, bp_scalar value) {
    const bp_dtype part = part_of(t->dtype);
    if (test_array_is_whole(t->dtype)) {
        store_i64(t->dtype, at, (int64_t)value.re);
        return;
    }
    store(part, at, value.re);
    if (part != t->dtype) {
        store(part, at + bp_dtype_size(part), value.im);
    }
}

void test_array_set_complex(test_array *t, int64_t index, bp_scalar value) {
    store_complex(t, test_array_at(t, index), value);
}

void test_array_fill(test_array *t, double scale) {
    const bool pairs = part_of(t->dtype) != t->dtype;
    for (cursor c = first_element(t); c.left > 0; advance(&c)) {
        const double re = test_array_uniform(), im = pairs ? test_array_uniform() : 0;
        store_complex(t, c.at, (bp_scalar){scale * re, scale * im});
    }
}

double test_array_get(const test_array *t, int64_t index) {
    return test_array_get_complex(t, index).re;
}

void test_array_set(test_array *t, int64_t index, double value) {
    test_array_set_complex(t, index, (bp_scalar){value, 0});
}

int64_t test_array_get_i64(const test_array *t, int64_t index) {
    const char *at = test_array_at(t, index);
    switch (t->dtype) {
#define X(name, type)                                                                                                  \
    case BP_##name: {                                                                                                  \
        type value;                                                                                                    \
        memcpy(&value, at, sizeof value);                                                                              \
        return (int64_t)value;                                                                                         \
    }
        WHOLE_TYPES(X)
#undef X
    default:
        fail_msg("%s is no type of integers", bp_dtype_name(t->dtype));
        return 0;
    }
}

void test_array_set_i64(test_array *t, int64_t index, int64_t value) {
    store_i64(t->dtype, test_array_at(t, index), value);
}

/* Fails the test if a byte before `end` has no mark. */
static void check_marks(const test_array *t, const char *from, const char *end, const char *text) {
    for (const char *at = from; at < end; at++) {
        if (*at != MARK) {
            fail_msg("%s: byte %d, which is no part of the tensor, was written", text, (int)(at - t->memory));
        }
    }
}

void test_array_check_gaps(const test_array *t, const char *text) {
    const size_t size = bp_dtype_size(t->dtype);
    bool *used = calloc((size_t)t->all + 1, sizeof *used);
    assert_non_null(used);
    for (cursor c = first_element(t); c.left > 0; advance(&c)) {
        used[(size_t)(c.at - t->memory) / size] = true;
    }
    test_array_open(t);
    check_marks(t, t->block, t->memory, text);
    for (int64_t i = 0; i < t->all; i++) {
        if (!used[i]) {
            check_marks(t, t->memory + (size_t)i * size, t->memory + (size_t)(i + 1) * size, text);
        }
    }
    check_marks(t, t->memory + (size_t)t->all * size, t->block + t->bytes, text);
    test_array_close(t);
    free(used);
}

void test_array_check_unchanged(const test_array *t, const test_array *copy, const char *text) {
    test_array_open(t);
    test_array_open(copy);
    const int differs = memcmp(t->block, copy->block, t->bytes);
    test_array_close(t);
    test_array_close(copy);
    if (differs) {
        fail_msg("%s: the memory of a tensor is not as wanted", text);
    }
}

double test_array_rounded(bp_dtype dtype, double value) {
    char block[8];
    store(dtype, block, value);
    return load(dtype, block);
}

double test_array_eps(bp_dtype dtype) {
    return dtype == BP_F16 ? 0x1p-11 : dtype == BP_BF16 ? 0x1p-8 : dtype == BP_F32 ? 0x1p-24 : 0x1p-53;
}

double test_array_tiny(bp_dtype dtype) {
    return dtype == BP_F16 ? 0x1p-25 : dtype == BP_BF16 ? 0x1p-134 : dtype == BP_F32 ? 0x1p-150 : 0;
}
