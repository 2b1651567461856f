/* test_view.c - tests types, views, new tensors, and the checks of every tensor from a caller. */
#include "support/arrays.h"
#include "tensor/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_dtypes(void **state) {
    (void)state;
    const struct {
        bp_dtype dtype;
        const char *name, *long_name;
        size_t size;
    } all[] = {
        {BP_F16, "f16", "float16", 2}, {BP_BF16, "bf16", "bfloat16", 2}, {BP_F32, "f32", "float32", 4},
        {BP_F64, "f64", "float64", 8}, {BP_C64, "c64", "complex64", 8},  {BP_C128, "c128", "complex128", 16},
        {BP_I8, "i8", "int8", 1},      {BP_I16, "i16", "int16", 2},      {BP_I32, "i32", "int32", 4},
        {BP_I64, "i64", "int64", 8},   {BP_U8, "u8", "uint8", 1},        {BP_U16, "u16", "uint16", 2},
        {BP_U32, "u32", "uint32", 4},  {BP_U64, "u64", "uint64", 8},     {BP_BOOL, "bool", "bool", 1},
    };
    for (int i = 0; i < BP__COUNT(all); i++) {
        assert_string_equal(bp_dtype_name(all[i].dtype), all[i].name);
        assert_int_equal(bp_dtype_from_name(all[i].name), all[i].dtype);
        assert_int_equal(bp_dtype_from_name(all[i].long_name), all[i].dtype);
        assert_int_equal(bp_dtype_size(all[i].dtype), all[i].size);
        assert_int_equal(bp_dtype_from_dlpack(bp_dtype_to_dlpack(all[i].dtype)), all[i].dtype);
    }
    const char *unknown[] = {"", "?", "f", "f8", "float", "float33", "F32", "f32 ", "floatf32", "uint128", "complex32"};
    for (int i = 0; i < BP__COUNT(unknown); i++) {
        assert_int_equal(bp_dtype_from_name(unknown[i]), BP_DTYPE_NONE);
    }
    assert_int_equal(bp_dtype_from_name(NULL), BP_DTYPE_NONE);
    assert_string_equal(bp_dtype_name((bp_dtype)99), "?");
    assert_string_equal(bp_dtype_name((bp_dtype)-1), "?");
    assert_int_equal(bp_dtype_size(BP_DTYPE_NONE), 0);
    assert_int_equal(bp_dtype_from_dlpack((DLDataType){kDLFloat, 32, 4}), BP_DTYPE_NONE);
    assert_int_equal(bp_dtype_from_dlpack((DLDataType){kDLFloat, 8, 1}), BP_DTYPE_NONE);
    assert_int_equal(bp_dtype_from_dlpack(bp_dtype_to_dlpack(BP_DTYPE_NONE)), BP_DTYPE_NONE);
}

static void test_views(void **state) {
    (void)state;
    float data[64];
    bp_view view;
    assert_int_equal(bp_view_init(&view, data, BP_F32, 3, (int64_t[]){2, 0, 5}, NULL), BP_OK);
    assert_int_equal(view.strides[0], 5); /* the empty dimension counts as one */
    assert_int_equal(view.strides[1], 5);
    assert_int_equal(view.strides[2], 1);
    assert_int_equal(bp__tensor_elements(&view.tensor), 0);
    assert_int_equal(bp_view_init(&view, data, BP_F32, 2, (int64_t[]){3, 4}, (int64_t[]){-4, 2}), BP_OK);
    assert_int_equal(view.tensor.strides[0], -4);
    assert_ptr_equal(view.tensor.shape, view.shape);
    assert_int_equal(bp_view_init(&view, data, BP_F32, 0, NULL, NULL), BP_OK);
    assert_int_equal(bp__tensor_elements(&view.tensor), 1);
    assert_int_equal(bp_view_matrix(&view, data, BP_F64, 3, 7), BP_OK);
    assert_int_equal(view.strides[0], 7);
    assert_int_equal(view.tensor.dtype.bits, 64);

    assert_int_equal(bp_view_init(NULL, data, BP_F32, 0, NULL, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_view_init(&view, data, BP_F32, -1, NULL, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_view_init(&view, data, BP_F32, 65, (int64_t[65]){0}, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_view_init(&view, data, BP_F32, 1, NULL, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_view_init(&view, data, BP_DTYPE_NONE, 0, NULL, NULL), BP_E_DTYPE);
    assert_int_equal(bp_view_init(&view, data, (bp_dtype)77, 0, NULL, NULL), BP_E_DTYPE);
    assert_int_equal(bp_view_matrix(&view, data, BP_F32, 3, -1), BP_E_SHAPE);
    assert_non_null(strstr(bp_last_error(), "-1"));
    assert_int_equal(bp_view_matrix(&view, data, BP_F32, INT64_C(1) << 31, INT64_C(1) << 31), BP_E_OVERFLOW);
    assert_int_equal(bp_view_matrix(&view, data, BP_C128, 0, INT64_MAX), BP_E_OVERFLOW);
    assert_int_equal(bp_view_init(&view, data, BP_F32, 1, (int64_t[]){2}, (int64_t[]){INT64_MIN}), BP_E_OVERFLOW);
    assert_int_equal(
        bp_view_init(&view, data, BP_I8, 2, (int64_t[]){2, 2}, (int64_t[]){INT64_C(1) << 60, -(INT64_C(1) << 59)}),
        BP_E_OVERFLOW);
    assert_int_equal(bp_view_init(&view, data, BP_F32, 1, (int64_t[]){1}, (int64_t[]){INT64_MIN}), BP_OK);
    assert_int_equal(bp_view_init(&view, data, BP_I8, 1, (int64_t[]){INT64_C(1) << 60}, (int64_t[]){0}), BP_OK);
    assert_int_equal(bp_view_init(&view, data, BP_F32, 2, (int64_t[]){0, 3}, (int64_t[]){1, INT64_MAX}), BP_E_OVERFLOW);
    assert_int_equal(bp_view_init(&view, data, BP_F32, 2, (int64_t[]){0, 3}, (int64_t[]){INT64_MIN, 1}), BP_OK);
    assert_int_equal(bp_view_init(&view, data, BP_I8, 1, (int64_t[]){INT64_C(1) << 61}, (int64_t[]){0}), BP_E_OVERFLOW);
    int64_t many[BP_MAX_NDIM];
    for (int i = 0; i < BP_MAX_NDIM; i++) {
        many[i] = i < 5 ? 2 : 1;
    }
    assert_int_equal(bp_view_init(&view, data, BP_F32, BP_MAX_NDIM, many, NULL), BP_OK);
    assert_int_equal(view.strides[0], 16);
    char text[32];
    assert_string_equal(bp__tensor_text(&view.tensor, text, sizeof text), "f32 2x2x2x2x2x1x1x1x1x1x1x1x1x1");
}

static void view_copy_does_not_depend_on_its_source(void **state) {
    (void)state;
    float data[64];
    bp_view from, to;
    assert_int_equal(bp_view_init(&from, data, BP_F32, 2, (int64_t[]){3, 4}, (int64_t[]){-4, 2}), BP_OK);
    from.tensor.byte_offset = 48;
    assert_int_equal(bp_view_copy(&to, &from), BP_OK);
    memset(&from, 0x5a, sizeof from);
    assert_ptr_equal(to.tensor.shape, to.shape);
    assert_ptr_equal(to.tensor.strides, to.strides);
    assert_ptr_equal(to.tensor.data, data);
    assert_int_equal(to.tensor.byte_offset, 48);
    assert_int_equal(to.tensor.ndim, 2);
    assert_int_equal(bp_dtype_from_dlpack(to.tensor.dtype), BP_F32);
    assert_int_equal(to.tensor.device.device_type, kDLCPU);
    assert_memory_equal(to.shape, ((const int64_t[]){3, 4}), 2 * sizeof(int64_t));
    assert_memory_equal(to.strides, ((const int64_t[]){-4, 2}), 2 * sizeof(int64_t));
}

static void view_copy_keeps_every_dimension(void **state) {
    (void)state;
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    for (int i = 0; i < BP_MAX_NDIM; i++) {
        shape[i] = 1;
        strides[i] = i;
    }
    bp_view from, to;
    assert_int_equal(bp_view_init(&from, NULL, BP_F64, BP_MAX_NDIM, shape, strides), BP_OK);
    assert_int_equal(bp_view_copy(&to, &from), BP_OK);
    assert_memory_equal(to.shape, shape, sizeof shape);
    assert_memory_equal(to.strides, strides, sizeof strides);
    assert_int_equal(bp_view_init(&from, NULL, BP_F64, 0, NULL, NULL), BP_OK);
    assert_int_equal(bp_view_copy(&to, &from), BP_OK);
    assert_int_equal(to.tensor.ndim, 0);
}

static void view_copy_rebinds_a_view_copied_by_value(void **state) {
    (void)state;
    float data[12];
    bp_view original;
    assert_int_equal(bp_view_matrix(&original, data, BP_F32, 3, 4), BP_OK);
    bp_view copied = original; /* tensor.shape and tensor.strides point into `original` */
    assert_int_equal(bp_view_copy(&copied, &copied), BP_OK);
    assert_ptr_equal(copied.tensor.shape, copied.shape);
    assert_ptr_equal(copied.tensor.strides, copied.strides);
    assert_int_equal(copied.shape[1], 4);
    assert_int_equal(copied.strides[0], 4);
}

static void view_copy_keeps_null_strides(void **state) {
    (void)state;
    float data[12];
    bp_view from, to;
    assert_int_equal(bp_view_matrix(&from, data, BP_F32, 3, 4), BP_OK);
    from.tensor.strides = NULL;
    assert_int_equal(bp_view_copy(&to, &from), BP_OK);
    assert_null(to.tensor.strides);
    assert_ptr_equal(to.tensor.shape, to.shape);
}

static void view_copy_refuses_bad_arguments(void **state) {
    (void)state;
    float data[12];
    bp_view from, to;
    assert_int_equal(bp_view_matrix(&from, data, BP_F32, 3, 4), BP_OK);
    assert_int_equal(bp_view_matrix(&to, data, BP_F32, 2, 2), BP_OK);
    assert_int_equal(bp_view_copy(NULL, &from), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "'to' is NULL"));
    assert_int_equal(bp_view_copy(&to, NULL), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "'from' is NULL"));
    from.tensor.ndim = BP_MAX_NDIM + 1;
    assert_int_equal(bp_view_copy(&to, &from), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "65 dimensions"));
    from.tensor.ndim = -1;
    assert_int_equal(bp_view_copy(&to, &from), BP_E_ARGUMENT);
    assert_int_equal(to.shape[0], 2); /* a failing call leaves `to` as it was */
}

static void test_text(void **state) {
    (void)state;
    bp_view view;
    char text[64];
    assert_int_equal(bp_view_matrix(&view, NULL, BP_F32, 3, 4), BP_OK);
    assert_string_equal(bp__tensor_text(&view.tensor, text, sizeof text), "f32 3x4 strides 4,1");
    view.tensor.strides = NULL;
    assert_string_equal(bp__tensor_text(&view.tensor, text, sizeof text), "f32 3x4");
    view.tensor.ndim = 0;
    assert_string_equal(bp__tensor_text(&view.tensor, text, sizeof text), "f32 scalar");
    assert_string_equal(bp__tensor_text(&view.tensor, text, 1), "");
}

static bp_status check(const DLTensor *tensor) {
    return bp__tensor_check(tensor, "probe", false);
}

static void test_entry_check(void **state) {
    (void)state;
    double data[12];
    bp_view view;
    assert_int_equal(bp_view_matrix(&view, data, BP_F64, 3, 4), BP_OK);
    const DLTensor good = view.tensor;
    assert_int_equal(check(&good), BP_OK);
    assert_int_equal(check(NULL), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "'probe'"));
    DLTensor bad = good;
    bad.ndim = -1;
    assert_int_equal(check(&bad), BP_E_ARGUMENT);
    bad.ndim = BP_MAX_NDIM + 1;
    assert_int_equal(check(&bad), BP_E_ARGUMENT);
    bad = good;
    bad.shape = NULL;
    assert_int_equal(check(&bad), BP_E_ARGUMENT);
    bad = good;
    bad.dtype.lanes = 2;
    assert_int_equal(check(&bad), BP_E_DTYPE);
    bad = good;
    bad.device.device_type = kDLCUDA;
    assert_int_equal(check(&bad), BP_OK); /* operations take tensors on devices */
    assert_int_equal(bp__tensor_check_host(&bad, "bad"), BP_E_DEVICE);
    bad.device.device_type = kDLCUDAHost;
    assert_int_equal(check(&bad), BP_OK);
    assert_int_equal(bp__tensor_check_host(&bad, "bad"), BP_OK);
    bad.device.device_type = kDLROCMHost;
    assert_int_equal(bp__tensor_check_host(&bad, "bad"), BP_OK);
    bad = good;
    bad.byte_offset = 4;
    assert_int_equal(check(&bad), BP_E_LAYOUT);
    bad.byte_offset = UINT64_MAX - 7;
    assert_int_equal(check(&bad), BP_E_OVERFLOW);
    bad = good;
    bad.data = NULL;
    assert_int_equal(check(&bad), BP_E_ARGUMENT);
    assert_int_equal(bp__tensor_check(&bad, "probe", true), BP_OK);
    bad.shape = (int64_t[]){0, 4};
    assert_int_equal(check(&bad), BP_OK);
    bad.shape = (int64_t[]){3, -4};
    assert_int_equal(check(&bad), BP_E_SHAPE);
    bad = good;
    bad.data = (void *)(uintptr_t)16;
    bad.strides = (int64_t[]){-4, -1};
    assert_int_equal(check(&bad), BP_E_OVERFLOW); /* would begin below address zero */
    bad = good;
    bad.data = (void *)(UINTPTR_MAX - 63);
    assert_int_equal(check(&bad), BP_E_OVERFLOW);
}

static void test_complex_needs_the_alignment_of_its_components(void **state) {
    (void)state;
    float data[8];
    bp_view view;
    assert_int_equal(bp_view_matrix(&view, data + 1, BP_C64, 1, 3), BP_OK);
    assert_int_equal(check(&view.tensor), BP_OK);
    assert_int_equal(bp_view_matrix(&view, (char *)data + 2, BP_C64, 1, 3), BP_OK);
    assert_int_equal(check(&view.tensor), BP_E_LAYOUT);
}

static bool self_overlap(int ndim, const int64_t *shape, const int64_t *strides) {
    bp_view view;
    assert_int_equal(bp_view_init(&view, (void *)(uintptr_t)(1 << 20), BP_F32, ndim, shape, strides), BP_OK);
    return bp__tensor_self_overlaps(&view.tensor);
}

static void test_self_overlap(void **state) {
    (void)state;
    assert_false(self_overlap(2, (int64_t[]){3, 4}, NULL));
    assert_false(self_overlap(2, (int64_t[]){3, 4}, (int64_t[]){-4, -1}));
    assert_false(self_overlap(2, (int64_t[]){3, 4}, (int64_t[]){1, 3}));
    assert_true(self_overlap(2, (int64_t[]){3, 4}, (int64_t[]){3, 1}));
    assert_true(self_overlap(2, (int64_t[]){3, 4}, (int64_t[]){0, 1}));
    assert_false(self_overlap(2, (int64_t[]){1, 4}, (int64_t[]){0, 1}));
    assert_true(self_overlap(2, (int64_t[]){3, 4}, (int64_t[]){-1, 1}));
    assert_false(self_overlap(2, (int64_t[]){0, 4}, (int64_t[]){0, 0}));
    assert_false(self_overlap(0, NULL, NULL));
    assert_false(self_overlap(3, (int64_t[]){2, 3, 4}, (int64_t[]){4, 8, 1}));
    assert_true(self_overlap(3, (int64_t[]){3, 3, 4}, (int64_t[]){4, 8, 1}));
}

static void test_span(void **state) {
    (void)state;
    char data[64];
    bp_view view;
    uintptr_t low, high;
    assert_int_equal(bp_view_init(&view, data, BP_I16, 2, (int64_t[]){3, 2}, (int64_t[]){-2, 4}), BP_OK);
    view.tensor.byte_offset = 8;
    bp__tensor_span(&view.tensor, &low, &high);
    assert_int_equal(low, (uintptr_t)data);
    assert_int_equal(high, (uintptr_t)data + 8 + 8 + 2);
    view.shape[0] = 0;
    bp__tensor_span(&view.tensor, &low, &high);
    assert_int_equal(low, high);
}

static bool overlap(int64_t offset, const int64_t a[4], const int64_t b[4]) {
    bp_view x, y;
    char *base = (char *)(uintptr_t)(1 << 20);
    assert_int_equal(bp_view_init(&x, base, BP_F32, 2, a, a + 2), BP_OK);
    assert_int_equal(bp_view_init(&y, base + offset * 4, BP_F32, 2, b, b + 2), BP_OK);
    bool result = bp__tensor_overlap(&x.tensor, &y.tensor);
    assert_int_equal(bp__tensor_overlap(&y.tensor, &x.tensor), result);
    return result;
}

static void test_overlap(void **state) {
    (void)state;
    const int64_t left[4] = {8, 4, 8, 1}, evens[4] = {8, 4, 8, 2}, columns[4] = {8, 4, 1, 8};
    assert_true(overlap(0, left, left));
    assert_false(overlap(4, left, left)); /* two panels of one matrix */
    assert_true(overlap(3, left, left));
    assert_false(overlap(1, evens, evens)); /* even and odd columns */
    assert_true(overlap(2, evens, evens));
    assert_true(overlap(1, evens, left));
    assert_false(overlap(64, left, left));
    assert_false(overlap(32, columns, columns));
    assert_true(overlap(31, columns, columns));
    assert_false(overlap(0, (int64_t[4]){0, 4, 8, 1}, left));
}

/* Layouts small enough to try every pair of elements. */
static void test_overlap_against_brute_force(void **state) {
    (void)state;
    test_array_random = 7;
    int real = 0;
    for (int round = 0; round < 4000; round++) {
        int64_t dims[2][4];
        for (int t = 0; t < 2; t++) {
            dims[t][0] = test_array_between(1, 4);
            dims[t][1] = test_array_between(1, 4);
            dims[t][2] = test_array_between(-9, 9);
            dims[t][3] = test_array_between(-9, 9);
        }
        int64_t offset = test_array_between(-12, 12);
        bool touches = false;
        for (int64_t i = 0; i < dims[0][0] * dims[0][1]; i++) {
            for (int64_t j = 0; j < dims[1][0] * dims[1][1]; j++) {
                int64_t a = i / dims[0][1] * dims[0][2] + i % dims[0][1] * dims[0][3];
                int64_t b = offset + j / dims[1][1] * dims[1][2] + j % dims[1][1] * dims[1][3];
                touches |= a == b;
            }
        }
        real += touches;
        assert_int_equal(overlap(offset, dims[0], dims[1]), touches);
    }
    assert_in_range(real, 400, 3600);
}

static void test_new(void **state) {
    (void)state;
    DLManagedTensorVersioned *made = NULL;
    int64_t before = bp__live_blocks();
    assert_int_equal(bp_tensor_new(&made, BP_F64, 2, (int64_t[]){1024, 1025}),
                     BP_OK); /* large enough to request huge pages */
    assert_int_equal(made->version.major, 1);
    assert_int_equal(made->flags, 0);
    assert_int_equal((uintptr_t)made->dl_tensor.data % 64, 0);
    assert_int_equal(made->dl_tensor.shape[1], 1025);
    assert_int_equal(made->dl_tensor.strides[0], 1025);
    assert_int_equal(check(&made->dl_tensor), BP_OK);
    const double *values = made->dl_tensor.data;
    for (int i = 0; i < 1024 * 1025; i++) {
        assert_true(values[i] == 0);
    }
    made->deleter(made);
    assert_int_equal(bp_tensor_new(&made, BP_C64, 0, NULL), BP_OK);
    assert_non_null(made->dl_tensor.data);
    made->deleter(made);
    assert_int_equal(bp_tensor_new(&made, BP_C64, 2, (int64_t[]){0, 3}), BP_OK);
    assert_int_equal(check(&made->dl_tensor), BP_OK);
    made->deleter(made);
    assert_int_equal(bp__live_blocks(), before);
    assert_int_equal(bp_tensor_empty(&made, BP_F64, 3, (int64_t[]){3, 4, 5}, (int64_t[]){1, 15, 3}), BP_OK);
    memset(made->dl_tensor.data, 1, 3 * 4 * 5 * sizeof(double)); /* all of it is accessible */
    assert_int_equal(made->dl_tensor.strides[1], 15);
    made->deleter(made);
    assert_int_equal(bp_tensor_empty(&made, BP_F64, 2, (int64_t[]){0, 5}, (int64_t[]){7, 1}), BP_OK);
    assert_null(made->dl_tensor.data);
    made->deleter(made);
    assert_int_equal(bp_tensor_empty(&made, BP_F64, 1, (int64_t[]){3}, (int64_t[]){-1}), BP_E_ARGUMENT);
    assert_null(made);
    assert_int_equal(bp_tensor_empty(&made, BP_F64, 2, (int64_t[]){3, 4}, (int64_t[]){1, 1}), BP_E_OVERLAP);
    assert_int_equal(bp_tensor_empty(NULL, BP_F32, 0, NULL, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_tensor_new(NULL, BP_F32, 0, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_tensor_new(&made, BP_F32, 1, (int64_t[]){-1}), BP_E_SHAPE);
    assert_null(made);
    assert_int_equal(bp_tensor_new(&made, BP_F32, 1, (int64_t[]){INT64_C(1) << 62}), BP_E_OVERFLOW);
    assert_int_equal(bp_tensor_new(&made, BP_DTYPE_NONE, 0, NULL), BP_E_DTYPE);
}

/* Lets a number of allocations succeed; their memory is filled with garbage. */
static void *limited_allocate(void *user, size_t size) {
    int *left = user;
    void *block = (*left)-- > 0 ? malloc(size) : NULL;
    return block ? memset(block, 0xa5, size) : NULL;
}

static void *limited_reallocate(void *user, void *old, size_t size) {
    int *left = user;
    return (*left)-- > 0 ? realloc(old, size) : NULL;
}

static void limited_release(void *user, void *block) {
    (void)user;
    free(block);
}

static void test_new_without_memory(void **state) {
    (void)state;
    DLManagedTensorVersioned *made = NULL;
    int left;
    bp_allocator limited = {limited_allocate, limited_reallocate, limited_release, &left};
    bp__error_reset(); /* the message of an earlier error uses memory, too */
    assert_int_equal(bp_set_allocator(&limited), BP_OK);
    left = 0;
    assert_int_equal(bp_tensor_new(&made, BP_F32, 1, (int64_t[]){8}), BP_E_NO_MEMORY);
    assert_null(made);
    bp__error_reset();
    assert_int_equal(bp__live_blocks(), 0);
    assert_int_equal(bp_set_allocator(&limited), BP_OK);
    left = 1; /* the struct and the elements have one block */
    assert_int_equal(bp_tensor_new(&made, BP_F32, 1, (int64_t[]){8}), BP_OK);
    for (int i = 0; i < 8; i++) {
        assert_true(((const float *)made->dl_tensor.data)[i] == 0);
    }
    made->deleter(made);
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_views),
        cmocka_unit_test(view_copy_does_not_depend_on_its_source),
        cmocka_unit_test(view_copy_keeps_every_dimension),
        cmocka_unit_test(view_copy_rebinds_a_view_copied_by_value),
        cmocka_unit_test(view_copy_keeps_null_strides),
        cmocka_unit_test(view_copy_refuses_bad_arguments),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_entry_check),
        cmocka_unit_test(test_complex_needs_the_alignment_of_its_components),
        cmocka_unit_test(test_self_overlap),
        cmocka_unit_test(test_span),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_overlap_against_brute_force),
        cmocka_unit_test(test_new),
        cmocka_unit_test(test_new_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
