/* test_wire.c - the wire format of protocol buffers: each kind of field, and bytes that are none. */
#include "onnx/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Bytes without any behind them, so that a sanitizer sees a read there. */
typedef struct exact {
    unsigned char *block;
    bp__bytes bytes;
} exact;

static exact exact_of(size_t size, const void *bytes) {
    exact made = {.block = malloc(size ? size : 1)};
    memcpy(made.block, bytes, size);
    made.bytes = (bp__bytes){made.block, made.block + size};
    return made;
}
#define EXACT(text) exact_of(sizeof(text) - 1, text)

static void check_one(exact given, int number, bp__wire_type type, uint64_t value) {
    bp__wire_field field;
    assert_int_equal(bp__wire_next(&given.bytes, &field), BP__WIRE_FIELD);
    assert_int_equal(field.number, number);
    assert_int_equal(field.type, type);
    assert_true(field.value == value);
    assert_int_equal(bp__wire_next(&given.bytes, &field), BP__WIRE_END);
    free(given.block);
}

static void test_fields(void **state) {
    (void)state;
    check_one(EXACT("\x08\x00"), 1, BP__VARINT, 0);
    check_one(EXACT("\x08\x96\x01"), 1, BP__VARINT, 150);
    check_one(EXACT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 1, BP__VARINT, UINT64_MAX);
    check_one(EXACT("\x0d\x01\x02\x03\x84"), 1, BP__FIXED32, 0x84030201u);
    check_one(EXACT("\x09\x01\x02\x03\x04\x05\x06\x07\x88"), 1, BP__FIXED64, 0x8807060504030201u);
    check_one(EXACT("\xf8\xff\xff\xff\x0f\x01"), (1 << 29) - 1, BP__VARINT, 1);
    exact text = EXACT("\x12\x03"
                       "abc");
    bp__wire_field field;
    assert_int_equal(bp__wire_next(&text.bytes, &field), BP__WIRE_FIELD);
    assert_int_equal(bp__bytes_size(field.inside), 3);
    assert_memory_equal(field.inside.at, "abc", 3);
    free(text.block);
}

static void check_broken(exact given) {
    bp__wire_field field;
    assert_int_equal(bp__wire_next(&given.bytes, &field), BP__WIRE_BROKEN);
    free(given.block);
}

static void test_broken(void **state) {
    (void)state;
    check_broken(EXACT("\x08"));                                             /* no number */
    check_broken(EXACT("\x08\x80"));                                         /* a cut number */
    check_broken(EXACT("\x80"));                                             /* a cut key */
    check_broken(EXACT("\x00\x00"));                                         /* field 0 */
    check_broken(EXACT("\x0b\x00"));                                         /* a group */
    check_broken(EXACT("\x0e\x00"));                                         /* type 6 */
    check_broken(EXACT("\x80\x80\x80\x80\x10\x00"));                         /* field 2^29 */
    check_broken(EXACT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"));     /* 65 bits */
    check_broken(EXACT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")); /* 11 bytes */
    check_broken(EXACT("\x0d\x01\x02\x03"));
    check_broken(EXACT("\x09\x01\x02\x03\x04\x05\x06\x07"));
    check_broken(EXACT("\x12\x04"
                       "abc"));
    check_broken(EXACT("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                       "abc"));
}

/* Reads all numbers of field 1. Returns how many there are; -1: the list is broken. */
static int numbers_of(exact given, bp__wire_type type, uint64_t sum[1]) {
    bp__wire_field field;
    bp__wire_result each;
    uint64_t number;
    int count = 0;
    *sum = 0;
    while (bp__wire_next(&given.bytes, &field) == BP__WIRE_FIELD) {
        while ((each = bp__wire_number(&field, type, &number)) == BP__WIRE_FIELD) {
            *sum += number;
            count++;
        }
        if (each == BP__WIRE_BROKEN) {
            count = -1;
            break;
        }
    }
    free(given.block);
    return count;
}

static void test_lists(void **state) {
    uint64_t sum;
    (void)state;
    assert_int_equal(numbers_of(EXACT("\x08\x01\x08\x02"), BP__VARINT, &sum), 2); /* not packed */
    assert_int_equal(sum, 3);
    assert_int_equal(numbers_of(EXACT("\x0a\x03\x96\x01\x02\x08\x03"), BP__VARINT, &sum), 3); /* both */
    assert_int_equal(sum, 155);
    assert_int_equal(numbers_of(EXACT("\x0a\x00"), BP__VARINT, &sum), 0);
    assert_int_equal(numbers_of(EXACT("\x0a\x08\x01\x00\x00\x00\x02\x00\x00\x00"), BP__FIXED32, &sum), 2);
    assert_int_equal(sum, 3);
    assert_int_equal(numbers_of(EXACT("\x0a\x01\x96"), BP__VARINT, &sum), -1);          /* cut */
    assert_int_equal(numbers_of(EXACT("\x0a\x03\x01\x00\x00"), BP__FIXED32, &sum), -1); /* no multiple of 4 */
    assert_int_equal(numbers_of(EXACT("\x0d\x01\x00\x00\x00"), BP__VARINT, &sum), -1);  /* of another type */
    assert_int_equal(numbers_of(EXACT("\x08\x01"), BP__FIXED64, &sum), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fields), cmocka_unit_test(test_broken),
                                       cmocka_unit_test(test_lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
