/* test_elements.c - elements of tensors, in each form and type that a file may have, and in other files. */
#define _GNU_SOURCE
#include "onnx/model.h"
#include "onnx/support_onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Reads the only initializer of a model, and its elements into memory. */
static bp_status read_tensor(const message *tensor, const char *folder, size_t size, void *memory) {
    static message graph, model;
    bp__onnx_memory own = {0};
    bp__onnx_model read;
    graph.size = 0;
    put_message(&graph, 5, tensor);
    make_model(&model, 17, &graph);
    unsigned char *exact = malloc(model.size);
    memcpy(exact, model.bytes, model.size);
    bp_status status = bp__onnx_parse(&read, &own, (bp__bytes){exact, exact + model.size});
    if (status == BP_OK) {
        const bp__onnx_tensor *found = &read.graph->tensors[0];
        assert_true(found->bytes <= (int64_t)size);
        char *elements = malloc((size_t)found->bytes + 1);
        status = bp__onnx_elements(found, folder, elements);
        if (status == BP_OK) {
            memcpy(memory, elements, (size_t)found->bytes);
        }
        free(elements);
    }
    bp__onnx_drop(&own);
    free(exact);
    return status;
}

static message tensor;

static message *begin_tensor(int type, int64_t count) {
    tensor.size = 0;
    put_number(&tensor, 1, count);
    put_number(&tensor, 2, type);
    put_text(&tensor, 8, "t");
    return &tensor;
}

static void check(const void *wanted, size_t size) {
    char got[64];
    assert_int_equal(read_tensor(&tensor, NULL, sizeof got, got), BP_OK);
    assert_memory_equal(got, wanted, size);
}

static void refuse(bp_status wanted, const char *words) {
    char got[64];
    const bp_status status = read_tensor(&tensor, NULL, sizeof got, got);
    if (status != wanted || !strstr(bp_last_error(), words)) {
        fail_msg("%s: %s", bp_status_text(status), bp_last_error());
    }
}

/* All types as raw bytes, and two elements in the field of each type. */
static void test_forms(void **state) {
    static const unsigned char raw[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    (void)state;
    for (int type = 0; type < 30; type++) {
        const size_t size = 2 * bp_dtype_size(bp__onnx_dtype(type));
        begin_tensor(type, 2);
        put_bytes(&tensor, 9, size, raw);
        if (size == 0) {
            refuse(BP_E_UNSUPPORTED, "which no call has");
        } else {
            check(raw, size);
        }
    }
    static const int int32_fields[] = {2, 3, 4, 5, 6, 9, 10, 16};
    for (size_t i = 0; i < sizeof int32_fields / sizeof *int32_fields; i++) {
        const int type = int32_fields[i];
        const size_t each = bp_dtype_size(bp__onnx_dtype(type));
        const int32_t numbers[2] = {1, 258};
        char wanted[16];
        memcpy(wanted, &numbers[0], each);
        memcpy(wanted + each, &numbers[1], each);
        begin_tensor(type, 2);
        put_number(&tensor, 5, 1);
        put_number(&tensor, 5, 258);
        check(wanted, 2 * each);
    }
}

static void test_numbers(void **state) {
    (void)state;
    const float reals[2] = {1.5f, -2};
    begin_tensor(1, 2);
    put_bytes(&tensor, 4, sizeof reals, reals);
    check(reals, sizeof reals);
    begin_tensor(14, 1);
    put_fixed32(&tensor, 4, 1.5f);
    put_fixed32(&tensor, 4, -2);
    check(reals, sizeof reals);
    const double wide[2] = {1e300, -0.0};
    begin_tensor(11, 2);
    put_bytes(&tensor, 10, sizeof wide, wide);
    check(wide, sizeof wide);
    begin_tensor(15, 1);
    put_bytes(&tensor, 10, sizeof wide, wide);
    check(wide, sizeof wide);
    const int64_t whole[2] = {INT64_MIN, -1};
    begin_tensor(7, 2);
    put_number(&tensor, 7, INT64_MIN);
    put_number(&tensor, 7, -1);
    check(whole, sizeof whole);
    const uint64_t large[2] = {UINT64_MAX, 5};
    begin_tensor(13, 2);
    put_number(&tensor, 11, -1);
    put_number(&tensor, 11, 5);
    check(large, sizeof large);
    const uint32_t medium[1] = {UINT32_MAX};
    begin_tensor(12, 1);
    put_number(&tensor, 11, UINT32_MAX);
    check(medium, sizeof medium);
}

static void test_counts(void **state) {
    (void)state;
    begin_tensor(1, 2);
    put_bytes(&tensor, 9, 7, "1234567");
    refuse(BP_E_FORMAT, "has not as many elements");
    begin_tensor(7, 2);
    put_number(&tensor, 7, 1);
    refuse(BP_E_FORMAT, "has not as many elements");
    put_number(&tensor, 7, 1);
    put_number(&tensor, 7, 1);
    refuse(BP_E_FORMAT, "has not as many elements");
    begin_tensor(7, 0); /* no elements at all */
    check("", 0);
    begin_tensor(7, -1);
    refuse(BP_E_FORMAT, "size 0 is negative");
    begin_tensor(7, INT64_MAX);
    refuse(BP_E_OVERFLOW, "more elements than memory");
    begin_tensor(7, INT64_MAX / 4);
    put_number(&tensor, 1, 8);
    refuse(BP_E_OVERFLOW, "more elements than memory");
    put_number(&tensor, 1, 0); /* also without elements */
    refuse(BP_E_OVERFLOW, "more elements than memory");
    begin_tensor(7, 1);
    put_message(&tensor, 3, &(message){.size = 0}); /* segments */
    refuse(BP_E_UNSUPPORTED, "segments");
    begin_tensor(7, 1);
    for (int i = 0; i < BP_MAX_NDIM; i++) {
        put_number(&tensor, 1, 1);
    }
    refuse(BP_E_FORMAT, "more than 64 dimensions");
}

/* ---- Files next to the model ---- */

static char folder[64];

static void put_entry(const char *key, const char *value) {
    static message entry;
    entry.size = 0;
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_message(&tensor, 13, &entry);
}

static void begin_external(const char *location, const char *offset, const char *length) {
    begin_tensor(1, 2);
    put_number(&tensor, 14, 1);
    put_entry("location", location);
    put_entry("checksum", "of no interest");
    if (offset) {
        put_entry("offset", offset);
    }
    if (length) {
        put_entry("length", length);
    }
}

static void check_external(bp_status wanted, const char *words) {
    float got[2] = {0, 0};
    const bp_status status = read_tensor(&tensor, folder, sizeof got, got);
    if (status != wanted || (words && !strstr(bp_last_error(), words))) {
        fail_msg("%s: %s", bp_status_text(status), bp_last_error());
    }
    if (status == BP_OK) {
        assert_true(got[0] == 3 && got[1] == 4);
    }
}

static void write_file(const char *name) {
    const float numbers[4] = {1, 2, 3, 4};
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(numbers, sizeof *numbers, 4, file), 4);
    fclose(file);
}

static void in_folder(char path[128], const char *name) {
    snprintf(path, 128, "%s/%s", folder, name);
}

static void make_files(void) {
    char path[128];
    snprintf(folder, sizeof folder, "/tmp/bp_onnx_XXXXXX");
    assert_non_null(mkdtemp(folder));
    in_folder(path, "inner");
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("weights");
    write_file("inner/weights");
    in_folder(path, "link");
    assert_int_equal(symlink("weights", path), 0);
    in_folder(path, "linked");
    assert_int_equal(symlink("inner", path), 0);
    in_folder(path, "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void remove_files(void) {
    static const char *const names[] = {"inner/weights", "weights", "link", "linked", "pipe"};
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        in_folder(path, names[i]);
        unlink(path);
    }
    in_folder(path, "inner");
    rmdir(path);
    rmdir(folder);
}

static void test_external(void **state) {
    char absolute[128];
    (void)state;
    make_files();
    begin_external("weights", "8", "8");
    check_external(BP_OK, NULL);
    begin_external("weights", "8", NULL);
    check_external(BP_OK, NULL);
    begin_external("./inner//weights", "8", "8");
    check_external(BP_OK, NULL);
    in_folder(absolute, "weights");
    begin_external(absolute, "8", "8");
    check_external(BP_E_UNTRUSTED, "relative");
    begin_external("inner/../weights", "8", "8");
    check_external(BP_E_UNTRUSTED, "without \"..\"");
    begin_external("..", "0", NULL);
    check_external(BP_E_UNTRUSTED, "without \"..\"");
    begin_external("", "0", NULL);
    check_external(BP_E_UNTRUSTED, "relative");
    begin_external("link", "8", "8");
    check_external(BP_E_UNTRUSTED, "a link");
    begin_external("linked/weights", "8", "8");
    check_external(BP_E_NOT_FOUND, "Not a directory");
    begin_external("pipe", "8", "8");
    check_external(BP_E_IO, "not a regular file");
    begin_external("inner", "8", "8");
    check_external(BP_E_IO, "not a regular file");
    begin_external("absent", "8", "8");
    check_external(BP_E_NOT_FOUND, "No such file");
    begin_external("weights", "9", "8");
    check_external(BP_E_FORMAT, "fewer bytes");
    begin_external("weights", "9223372036854775807", "8");
    check_external(BP_E_FORMAT, "fewer bytes");
    begin_external("weights", "8", "7");
    check_external(BP_E_FORMAT, "its length");
    begin_external("weights", "-8", "8");
    check_external(BP_E_FORMAT, "must be a whole number");
    begin_external("weights", "99999999999999999999", "8");
    check_external(BP_E_FORMAT, "must be a whole number");
    begin_external("weights", "8", "8");
    char got[8];
    assert_int_equal(read_tensor(&tensor, NULL, sizeof got, got), BP_E_UNSUPPORTED);
    remove_files();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_counts), cmocka_unit_test(test_external)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
