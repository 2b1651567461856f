/* test_random.c - random numbers on OpenCL devices: the same as on the host, for all kinds, types and layouts. */
#include "device_array.h"

#include "backplane.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    bp_random_kind kind;
    bp_dtype dtype;
} kinds[] = {
    {BP_RANDOM_UNIFORM, BP_F16}, {BP_RANDOM_UNIFORM, BP_BF16}, {BP_RANDOM_UNIFORM, BP_F32}, {BP_RANDOM_UNIFORM, BP_F64},
    {BP_RANDOM_NORMAL, BP_F16},  {BP_RANDOM_NORMAL, BP_BF16},  {BP_RANDOM_NORMAL, BP_F32},  {BP_RANDOM_NORMAL, BP_F64},
    {BP_RANDOM_BITS, BP_I8},     {BP_RANDOM_BITS, BP_U8},      {BP_RANDOM_BITS, BP_I16},    {BP_RANDOM_BITS, BP_U16},
    {BP_RANDOM_BITS, BP_I32},    {BP_RANDOM_BITS, BP_U32},     {BP_RANDOM_BITS, BP_I64},    {BP_RANDOM_BITS, BP_U64},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void fill(const char *settings, int kind, uint64_t seed, uint64_t offset, DLTensor *output) {
    bp_options *options;
    const bp_random_call call = {sizeof call, kinds[kind].kind, seed, offset, output};
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    const bp_status status = bp_random_run(options, &call);
    if (status != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    bp_options_release(options);
}

static double value_of(const void *element, bp_dtype dtype) {
    bp_view from, to;
    double value;
    bp_view_init(&from, (void *)(uintptr_t)element, dtype, 0, NULL, NULL);
    bp_view_init(&to, &value, BP_F64, 0, NULL, NULL);
    assert_int_equal(bp_tensor_copy(&to.tensor, &from.tensor), BP_OK);
    return value;
}

/* Equal bits, or for normal numbers at most 2 units of the last place. */
static void assert_same(int kind, const char *got, const char *want, int64_t count) {
    static const double epsilon[] = {[BP_F16] = 0x1p-10, [BP_BF16] = 0x1p-7, [BP_F32] = 0x1p-23, [BP_F64] = 0x1p-52};
    const size_t size = bp_dtype_size(kinds[kind].dtype);
    for (int64_t i = 0; i < count; i++, got += size, want += size) {
        if (memcmp(got, want, size) == 0) {
            continue;
        }
        if (kinds[kind].kind != BP_RANDOM_NORMAL) {
            fail_msg("%s kind %d: element %d differs", bp_dtype_name(kinds[kind].dtype), kinds[kind].kind, (int)i);
        }
        const double x = value_of(got, kinds[kind].dtype), y = value_of(want, kinds[kind].dtype);
        if (!(fabs(x - y) <= 2 * epsilon[kinds[kind].dtype] * fabs(y))) {
            fail_msg("%s: element %d is %.17g, on the host %.17g", bp_dtype_name(kinds[kind].dtype), (int)i, x, y);
        }
    }
}

/* Copies to compact memory. */
static char *compact(const DLTensor *from, int64_t *count) {
    DLManagedTensorVersioned *to;
    assert_int_equal(bp_tensor_empty(&to, bp_dtype_from_dlpack(from->dtype), from->ndim, from->shape, NULL), BP_OK);
    assert_int_equal(bp_copy(&to->dl_tensor, from, NULL), BP_OK);
    *count = 1;
    for (int d = 0; d < from->ndim; d++) {
        *count *= from->shape[d];
    }
    const size_t bytes = (size_t)*count * bp_dtype_size(bp_dtype_from_dlpack(from->dtype));
    char *elements = malloc(bytes + 1);
    if (bytes > 0) {
        memcpy(elements, to->dl_tensor.data, bytes);
    }
    to->deleter(to);
    return elements;
}

static void compare_arrays(int kind, device_array *a) {
    device_array_send(a);
    for (uint64_t seed = 3; seed < 6; seed++) { /* from the second one on with the same plan */
        int64_t count;
        fill("", kind, seed << 33, UINT64_MAX - seed, &a->tensor);
        char *got = compact(&a->tensor, &count);
        fill("", kind, seed << 33, UINT64_MAX - seed, &a->host.view.tensor);
        char *want = compact(&a->host.view.tensor, &count);
        assert_same(kind, got, want, count);
        free(got);
        free(want);
    }
    device_array_fetch(a, "random");
    device_array_free(a);
}

static void compare(int kind, int ndim, const int64_t *shape, test_layout layout) {
    device_array a;
    device_array_make(&a, kinds[kind].dtype, ndim, shape, layout, 0);
    compare_arrays(kind, &a);
}

/* Elements from `first` on of memory that is aligned, with others behind them. */
static void compare_from(int kind, int64_t first, int64_t count) {
    device_array a;
    const size_t bytes = (size_t)first * bp_dtype_size(kinds[kind].dtype);
    device_array_make(&a, kinds[kind].dtype, 1, I64(first + count + 3), TEST_COMPACT, 0);
    DLTensor *host = &a.host.view.tensor;
    host->shape[0] = count; /* also the other tensor's */
    host->data = (char *)host->data + bytes;
    a.tensor.byte_offset += bytes;
    compare_arrays(kind, &a);
}

static void numbers_are_those_of_the_host(void **state) {
    (void)state;
    test_device_need();
    for (int k = 0; k < KINDS; k++) {
        compare(k, 1, I64(10007), TEST_COMPACT);
        for (int layout = 0; layout < TEST_LAYOUTS; layout++) {
            compare(k, 3, I64(7, 5, 11), (test_layout)layout);
        }
        for (int64_t first = 1; first < 5; first++) {
            compare_from(k, first, 1022 + first);
        }
        compare(k, 0, I64(0), TEST_COMPACT);
        compare(k, 2, I64(3, 0), TEST_COMPACT);
    }
}

/* The seed stays in host memory when the host runs the operation on copies. */
static void the_host_fills_copies(void **state) {
    device_array a;
    int64_t count;
    (void)state;
    test_device_need();
    device_array_make(&a, kinds[2].dtype, 1, I64(100), TEST_COMPACT, 0);
    device_array_send(&a);
    char settings[64];
    snprintf(settings, sizeof settings, "dispatch.exclude=%s,dispatch.transfer=allow", test_device_provider());
    fill(settings, 2, 5, 6, &a.tensor);
    char *got = compact(&a.tensor, &count);
    fill("", 2, 5, 6, &a.host.view.tensor);
    char *want = compact(&a.host.view.tensor, &count);
    assert_same(2, got, want, count);
    free(got);
    free(want);
    device_array_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_the_host),
        cmocka_unit_test(the_host_fills_copies),
    };
    return cmocka_run_group_tests(tests, test_device_setup, NULL);
}
