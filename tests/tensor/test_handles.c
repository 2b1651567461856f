/* test_handles.c - tests overlap of tensors on devices with handles: the base identifies the memory, and offsets into
 * the same one are compared. */
#include "backplane.h"
#include "tensor/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

/* A row of `count` floats at an offset of a handle, which is not an address. */
static bool overlap(DLDeviceType device, uintptr_t first, uint64_t first_offset, uintptr_t second,
                    uint64_t second_offset) {
    int64_t count = 16;
    DLTensor a = {.data = (void *)first, /* NOLINT: never read */
                  .byte_offset = first_offset,
                  .device = {device, 0},
                  .ndim = 1,
                  .dtype = bp_dtype_to_dlpack(BP_F32),
                  .shape = &count};
    DLTensor b = a;
    b.data = (void *)second; /* NOLINT: never read */
    b.byte_offset = second_offset;
    bool one = bp__tensor_overlap(&a, &b);
    assert_int_equal(one, bp__tensor_overlap(&b, &a));
    return one;
}

static void handles_are_compared_by_base_and_offset(void **state) {
    (void)state;
    static const DLDeviceType handles[] = {kDLOpenCL, kDLVulkan, kDLMetal, kDLWebGPU};
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
        assert_true(overlap(handles[i], 0x1000, 0, 0x1000, 0));
        assert_true(overlap(handles[i], 0x1000, 0, 0x1000, 60));
        assert_false(overlap(handles[i], 0x1000, 0, 0x1000, 64));
        assert_false(overlap(handles[i], 0x1000, 0, 0x1010, 0)); /* these would overlap if they were addresses */
        assert_false(overlap(handles[i], 0x1000, 16, 0x1010, 0));
    }
}

static void addresses_are_sums(void **state) {
    (void)state;
    static const DLDeviceType addresses[] = {kDLCPU, kDLCUDA, kDLROCM};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        assert_true(overlap(addresses[i], 0x1000, 16, 0x1010, 0));
        assert_true(overlap(addresses[i], 0x1000, 0, 0x1010, 0));
        assert_false(overlap(addresses[i], 0x1000, 0, 0x1040, 0));
        assert_false(overlap(addresses[i], 0x1000, 0, 0x1000, 64));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_are_compared_by_base_and_offset),
        cmocka_unit_test(addresses_are_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
