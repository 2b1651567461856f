/* test_print.c - checks the text of tensors against what NumPy 2.3 prints for the same values. */
#include "tensor/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const bp_print_options values_only = {.struct_size = sizeof values_only, .no_header = 1};

static void prints(const bp_view *view, const bp_print_options *options, const char *want) {
    char text[4096];
    size_t length;
    assert_int_equal(bp_tensor_format(&view->tensor, options, text, sizeof text, &length), BP_OK);
    assert_string_equal(text, want);
    assert_int_equal(length, strlen(want));
}

static void floating_numbers_line_up(void **unused) {
    (void)unused;
    bp_view view;
    double a[] = {1, 2.5, -3.125, 100, 0, 1.0 / 3};
    bp_view_init(&view, a, BP_F64, 2, (const int64_t[]){2, 3}, NULL);
    prints(&view, NULL,
           "f64 (2, 3)\n[[  1.           2.5         -3.125     ]\n [100.           0.           0.33333333]]\n");
    double mixed[] = {1e10, 1e-5, (double)NAN, -(double)INFINITY};
    bp_view_init(&view, mixed, BP_F64, 1, (const int64_t[]){4}, NULL);
    prints(&view, &values_only, "[1.e+10 1.e-05    nan   -inf]\n");
    bp_view_init(&view, mixed + 2, BP_F64, 1, (const int64_t[]){1}, NULL);
    prints(&view, &values_only, "[nan]\n");
    float single[] = {0.1f, 0.3f, 1e5f};
    bp_view_init(&view, single, BP_F32, 1, (const int64_t[]){2}, NULL);
    prints(&view, &values_only, "[0.1 0.3]\n");
    bp_view_init(&view, single, BP_F32, 1, (const int64_t[]){3}, NULL);
    prints(&view, &values_only, "[1.e-01 3.e-01 1.e+05]\n");
    double complex_numbers[] = {1, 2, 3.5, -1};
    bp_view_init(&view, complex_numbers, BP_C128, 1, (const int64_t[]){2}, NULL);
    prints(&view, NULL, "c128 (2)\n[1. +2.j 3.5-1.j]\n");
    bp_view_init(&view, complex_numbers, BP_F64, 0, NULL, NULL);
    prints(&view, NULL, "f64 ()\n1.\n");
    const uint16_t halves[] = {0x2e66, 0x3c00}; /* 0.1, 1 */
    bp_view_init(&view, (void *)(uintptr_t)halves, BP_F16, 1, (const int64_t[]){2}, NULL);
    prints(&view, &values_only, "[0.1 1. ]\n");
}

static void integers_and_truth_values(void **unused) {
    (void)unused;
    bp_view view;
    int8_t a[] = {1, -20, 127, 0};
    bp_view_init(&view, a, BP_I8, 2, (const int64_t[]){2, 2}, NULL);
    prints(&view, NULL, "i8 (2, 2)\n[[  1 -20]\n [127   0]]\n");
    uint64_t b[] = {UINT64_MAX};
    bp_view_init(&view, b, BP_U64, 1, (const int64_t[]){1}, NULL);
    prints(&view, &values_only, "[18446744073709551615]\n");
    uint8_t c[] = {1, 0};
    bp_view_init(&view, c, BP_BOOL, 1, (const int64_t[]){2}, NULL);
    prints(&view, &values_only, "[ True False]\n");
    bp_view_init(&view, NULL, BP_F32, 2, (const int64_t[]){0, 3}, NULL);
    prints(&view, NULL, "f32 (0, 3)\n[]\n");
}

static void large_tensors_are_summarised(void **unused) {
    (void)unused;
    static int32_t a[40 * 50];
    bp_view view;
    for (int i = 0; i < 40 * 50; i++) {
        a[i] = i;
    }
    bp_view_init(&view, a, BP_I32, 2, (const int64_t[]){40, 50}, NULL);
    prints(&view, NULL,
           "i32 (40, 50)\n"
           "[[   0    1    2 ...   47   48   49]\n"
           " [  50   51   52 ...   97   98   99]\n"
           " [ 100  101  102 ...  147  148  149]\n"
           " ...\n"
           " [1850 1851 1852 ... 1897 1898 1899]\n"
           " [1900 1901 1902 ... 1947 1948 1949]\n"
           " [1950 1951 1952 ... 1997 1998 1999]]\n");
    const bp_print_options short_edge = {.struct_size = sizeof short_edge, .edge = 1, .no_header = 1};
    prints(&view, &short_edge, "[[   0 ...   49]\n ...\n [1950 ... 1999]]\n");
    /* Long lines are wrapped; strides are followed. */
    bp_view_init(&view, a + 24, BP_I32, 1, (const int64_t[]){25}, (const int64_t[]){-1});
    const bp_print_options narrow = {.struct_size = sizeof narrow, .width = 30, .no_header = 1};
    prints(&view, &narrow, "[24 23 22 21 20 19 18 17 16\n 15 14 13 12 11 10  9  8  7\n  6  5  4  3  2  1  0]\n");
    bp_view_init(&view, a, BP_I32, 3, (const int64_t[]){2, 1, 2}, NULL);
    prints(&view, &values_only, "[[[0 1]]\n\n [[2 3]]]\n");
}

static void text_is_cut_and_files_are_written(void **unused) {
    (void)unused;
    double a[] = {1, 2};
    bp_view view;
    char text[8] = "unset";
    size_t length;
    bp_view_init(&view, a, BP_F64, 1, (const int64_t[]){2}, NULL);
    assert_int_equal(bp_tensor_format(&view.tensor, NULL, text, sizeof text, &length), BP_OK);
    assert_string_equal(text, "f64 (2)");
    assert_int_equal(length, strlen("f64 (2)\n[1. 2.]\n"));
    assert_int_equal(bp_tensor_format(&view.tensor, NULL, NULL, 0, &length), BP_OK);
    assert_int_equal(bp_tensor_format(&view.tensor, NULL, NULL, 4, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_tensor_print(NULL, &view.tensor, NULL), BP_E_ARGUMENT);
    char *written = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&written, &size);
    assert_non_null(memory);
    assert_int_equal(bp_tensor_print(memory, &view.tensor, NULL), BP_OK);
    fclose(memory);
    assert_string_equal(written, "f64 (2)\n[1. 2.]\n");
    free(written);
    FILE *full = fopen("/dev/full", "w");
    if (full) {
        setvbuf(full, NULL, _IONBF, 0);
        assert_int_equal(bp_tensor_print(full, &view.tensor, NULL), BP_E_IO);
        fclose(full);
    }
}

static void arguments_are_checked(void **unused) {
    (void)unused;
    double a[] = {1, 2};
    bp_view view;
    char text[64];
    bp_view_init(&view, a, BP_F64, 1, (const int64_t[]){2}, NULL);
    bp_print_options options = {.struct_size = sizeof options, .edge = -1};
    assert_int_equal(bp_tensor_format(&view.tensor, &options, text, sizeof text, NULL), BP_E_ARGUMENT);
    options = (bp_print_options){.struct_size = 0};
    assert_int_equal(bp_tensor_format(&view.tensor, &options, text, sizeof text, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_tensor_format(NULL, NULL, text, sizeof text, NULL), BP_E_ARGUMENT);
    view.tensor.data = NULL;
    assert_int_equal(bp_tensor_format(&view.tensor, NULL, text, sizeof text, NULL), BP_E_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floating_numbers_line_up),     cmocka_unit_test(integers_and_truth_values),
        cmocka_unit_test(large_tensors_are_summarised), cmocka_unit_test(text_is_cut_and_files_are_written),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
