/* test_npy.c - tests the parser of .npy headers. */
#include "cli/arrays/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static bp__npy_header header;
static bp__npy_error error;

/* Parses from memory of exactly that length, so that a sanitizer finds a read past the end. */
static bp_status parse_n(const char *text, size_t length, unsigned flags) {
    char *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    error.text[0] = 0;
    bp_status status = bp__npy_parse_header(copy, length, flags, &header, &error);
    free(copy);
    assert_true((status == BP_OK) == (error.text[0] == 0));
    return status;
}

static bp_status parse(const char *text) {
    return parse_n(text, strlen(text), 0);
}

static void headers_of_numpy_are_read(void **state) {
    (void)state;
    assert_int_equal(parse("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }     \n"), BP_OK);
    assert_true(header.dtype == BP_F32 && header.fortran && !header.swapped && header.ndim == 2);
    assert_true(header.shape[0] == 2 && header.shape[1] == 3 && header.count == 6 && header.size == 24);
    assert_int_equal(parse("{'descr': '>c16', 'fortran_order': False, 'shape': (), }\n"), BP_OK);
    assert_true(header.dtype == BP_C128 && header.swapped && header.ndim == 0 && header.count == 1);
    assert_int_equal(parse("{\"shape\":(7,),\"fortran_order\":False,\"descr\":\"|b1\"}"), BP_OK);
    assert_true(header.dtype == BP_BOOL && header.shape[0] == 7);
    const char *bf16 = "{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }";
    assert_int_equal(parse(bf16), BP_E_DTYPE);
    assert_int_equal(parse_n(bf16, strlen(bf16), BP__NPY_BF16), BP_OK);
    assert_int_equal(header.dtype, BP_BF16);
}

/* A truncated description is an error, and nothing past its end is read. */
static void truncated_headers_are_errors(void **state) {
    (void)state;
    const char *whole = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
    for (size_t length = 0; length < strlen(whole); length++) {
        assert_int_equal(parse_n(whole, length, 0), BP_E_FORMAT);
    }
    assert_int_equal(parse(whole), BP_OK);
}

static void sizes_are_checked_for_overflow(void **state) {
    (void)state;
    assert_int_equal(parse("{'descr':'<f8','fortran_order':False,'shape':(9223372036854775808,)}"), BP_E_OVERFLOW);
    assert_int_equal(parse("{'descr':'<f8','fortran_order':False,'shape':(9223372036854775807,)}"), BP_E_OVERFLOW);
    assert_int_equal(parse("{'descr':'|i1','fortran_order':False,'shape':(9223372036854775807,)}"), BP_OK);
    assert_int_equal(parse("{'descr':'<f8','fortran_order':False,'shape':(4294967296,4294967296)}"), BP_E_OVERFLOW);
    assert_int_equal(parse("{'descr':'<f8','fortran_order':False,'shape':(4294967296,4294967296,0)}"), BP_OK);
    assert_true(header.count == 0 && header.size == 0);
}

static void too_many_dimensions_are_an_error(void **state) {
    (void)state;
    char text[1024] = "{'descr':'<f8','fortran_order':False,'shape':(";
    for (int i = 0; i < BP_MAX_NDIM; i++) {
        strcat(text, "1,");
    }
    char more[1024];
    strcpy(more, text);
    strcat(text, ")}");
    strcat(more, "1,)}");
    assert_int_equal(parse(text), BP_OK);
    assert_int_equal(header.ndim, BP_MAX_NDIM);
    assert_int_equal(parse(more), BP_E_FORMAT);
}

static void prefix_is_read(void **state) {
    (void)state;
    size_t start, length;
    const unsigned char one[] = "\x93NUMPY\x01\x00\x76\x00", three[] = "\x93NUMPY\x03\x00\x00\x01\x00\x00";
    assert_int_equal(bp__npy_parse_prefix(one, 10, &start, &length, &error), BP_OK);
    assert_true(start == 10 && length == 0x76);
    assert_int_equal(bp__npy_parse_prefix(three, 12, &start, &length, &error), BP_OK);
    assert_true(start == 12 && length == 0x100);
    assert_int_equal(bp__npy_parse_prefix(three, 11, &start, &length, &error), BP_E_TRUNCATED);
    assert_int_equal(bp__npy_parse_prefix(one, 0, &start, &length, &error), BP_E_TRUNCATED);
    assert_int_equal(bp__npy_parse_prefix((const unsigned char *)"\x93NUMPX", 6, &start, &length, &error), BP_E_FORMAT);
    const unsigned char huge[] = "\x93NUMPY\x02\x00\x00\x00\x01\x00";
    assert_int_equal(bp__npy_parse_prefix(huge, 12, &start, &length, &error), BP_E_FORMAT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_of_numpy_are_read),
        cmocka_unit_test(truncated_headers_are_errors),
        cmocka_unit_test(sizes_are_checked_for_overflow),
        cmocka_unit_test(too_many_dimensions_are_an_error),
        cmocka_unit_test(prefix_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
