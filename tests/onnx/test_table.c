/* test_table.c - the table of operators: each row is found in its opsets, and the reference page has each operator. */
#include "onnx/read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bp__bytes bytes_of(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    return (bp__bytes){at, at + strlen(text)};
}

/* Rows of one operator have opsets that do not overlap, so that each is the one that is found. */
static void test_rows(void **state) {
    const bp__onnx_row *row, *other;
    (void)state;
    for (int i = 0; (row = bp__onnx_row_at(i)); i++) {
        const int last = row->until ? row->until : BP__ONNX_NEWEST;
        assert_true(row->since <= last && (row->most < 0 || row->least <= row->most));
        assert_ptr_equal(bp__onnx_row_of(bytes_of(row->operation), row->since, &other), row);
        assert_ptr_equal(bp__onnx_row_of(bytes_of(row->operation), last, &other), row);
    }
    assert_null(bp__onnx_row_of(bytes_of("Gelu"), 19, &other));
    assert_string_equal(other->operation, "Gelu");
    assert_null(bp__onnx_row_of(bytes_of("Dream"), 19, &other));
    assert_null(other);
}

static char *read_page(void) {
    FILE *file = fopen(BP_TEST_SOURCE_DIR "/docs/reference/onnx.md", "r");
    assert_non_null(file);
    char *page = calloc(1, 1 << 16);
    assert_true(fread(page, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
    return page;
}

/* Returns the oldest opset of an operator that is read. */
static int oldest_of(const char *operation) {
    int oldest = BP__ONNX_NEWEST + 1;
    const bp__onnx_row *row;
    for (int i = 0; (row = bp__onnx_row_at(i)); i++) {
        if (strcmp(row->operation, operation) == 0 && row->since < oldest) {
            oldest = row->since;
        }
    }
    return oldest < BP__ONNX_OLDEST ? BP__ONNX_OLDEST : oldest;
}

static void test_page(void **state) {
    const bp__onnx_row *row;
    char line[128], name[64];
    int since, listed = 0, operators = 0;
    char *page = read_page();
    (void)state;
    for (int i = 0; (row = bp__onnx_row_at(i)); i++) {
        snprintf(line, sizeof line, "\n| %s | %d |", row->operation, oldest_of(row->operation));
        if (!strstr(page, line)) {
            fail_msg("docs/reference/onnx.md has no line%s", line);
        }
        operators += i == 0 || strcmp(row->operation, bp__onnx_row_at(i - 1)->operation) != 0;
    }
    for (const char *at = strstr(page, "\n| "); at; at = strstr(at + 1, "\n| ")) {
        listed += sscanf(at, "\n| %63s | %d |", name, &since) == 2;
    }
    assert_int_equal(listed, operators);
    free(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
