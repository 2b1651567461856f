/* test_text.c - tests growing strings, number parsing, suggestions, hashes and interned texts. */
#include "base/support_base.h"

static void text_grows(void **state) {
    (void)state;
    bp__text text = {0};
    assert_string_equal(bp__text_get(&text), "");
    bp__text_add(&text, "");
    assert_string_equal(bp__text_get(&text), "");
    for (int i = 0; i < 1000; i++) {
        bp__text_addf(&text, "%d,", i);
        bp__text_add_n(&text, "abc", 1);
    }
    assert_false(text.failed);
    assert_int_equal(text.length, strlen(text.bytes));
    assert_int_equal(strncmp(text.bytes, "0,a1,a2,a", 9), 0);
    assert_string_equal(text.bytes + text.length - 5, "999,a");
    bp__text_free(&text);
    assert_int_equal(bp__live_blocks(), 0);
}

static void text_keeps_its_failure(void **state) {
    (void)state;
    failing_allocator(1);
    bp__text text = {0};
    bp__text_add(&text, "fits");
    bp__text_addf(&text, "%01000d", 1);
    assert_true(text.failed);
    bp__text_add(&text, "x"); /* would fit, but an earlier addition is missing */
    assert_string_equal(bp__text_get(&text), "fits");
    bp__text_free(&text);
    calm_allocator();
}

static void integers_are_read_whole(void **state) {
    (void)state;
    int64_t value = 5;
    assert_true(bp__parse_int("0", &value) && value == 0);
    assert_true(bp__parse_int("-12", &value) && value == -12);
    assert_true(bp__parse_int("+7", &value) && value == 7);
    assert_true(bp__parse_int("9223372036854775807", &value) && value == INT64_MAX);
    assert_true(bp__parse_int("-9223372036854775808", &value) && value == INT64_MIN);
    const char *const wrong[] = {"",
                                 "-",
                                 "+",
                                 "--1",
                                 " 1",
                                 "1 ",
                                 "1.0",
                                 "0x10",
                                 "9223372036854775808",
                                 "1e3",
                                 "\xFF",
                                 "-+1",
                                 "-9223372036854775809",
                                 "99999999999999999999999"};
    for (int i = 0; i < BP__COUNT(wrong); i++) {
        value = 5;
        assert_false(bp__parse_int(wrong[i], &value));
        assert_int_equal(value, 5);
    }
}

static void copies_are_terminated(void **state) {
    (void)state;
    char buffer[5];
    assert_true(bp__copy_text(buffer, sizeof buffer, "four"));
    assert_string_equal(buffer, "four");
    assert_false(bp__copy_text(buffer, sizeof buffer, "fives"));
    assert_string_equal(buffer, "five");
    assert_false(bp__copy_text(buffer, sizeof buffer, "abc\xC3\xA4")); /* no half character */
    assert_string_equal(buffer, "abc");
    assert_false(bp__copy_text(buffer, 0, ""));
    assert_true(bp__text_starts("abc", "ab") && !bp__text_starts("a", "ab") && bp__text_starts("a", ""));
}

static const char *name_at(void *user, int index) {
    return ((const char *const *)user)[index];
}

static void names_are_suggested(void **state) {
    (void)state;
    const char *names[] = {"num_threads", "deterministic", "blas.preferred", "verbose", "trace", "", NULL};
    char buffer[128], tiny[12];
    assert_string_equal(bp__suggest("num_thread", name_at, names, buffer, sizeof buffer),
                        "did you mean 'num_threads'?");
    assert_string_equal(bp__suggest("VREBOSE", name_at, names, buffer, sizeof buffer), "did you mean 'verbose'?");
    assert_string_equal(bp__suggest("preferred", name_at, names, buffer, sizeof buffer),
                        "did you mean 'blas.preferred'?");
    assert_string_equal(bp__suggest("trcae", name_at, names, buffer, sizeof buffer), "did you mean 'trace'?");
    assert_string_equal(bp__suggest("xyzzy", name_at, names, buffer, sizeof buffer), "");
    assert_string_equal(bp__suggest("", name_at, names, buffer, sizeof buffer), "");
    assert_string_equal(bp__suggest("num_thread", name_at, names, tiny, sizeof tiny), "");
    const char *near[] = {"aaaa1", "aaaa", "aaab", "aabb", "aaaac", NULL};
    assert_string_equal(bp__suggest("aaaa", name_at, near, buffer, sizeof buffer),
                        "did you mean 'aaaa', 'aaaa1' or 'aaab'?");
    char endless[200];
    memset(endless, 'a', sizeof endless - 1);
    endless[199] = '\0';
    assert_string_equal(bp__suggest(endless, name_at, names, buffer, sizeof buffer), "");
}

static void hashes_differ(void **state) {
    (void)state;
    static unsigned char bytes[64];
    uint64_t hashes[64 + 64 * 8];
    int count = 0;
    for (size_t size = 0; size < 64; size++) {
        hashes[count++] = bp__hash(bytes, size); /* zeros of each length */
    }
    for (int bit = 0; bit < 64 * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        hashes[count++] = bp__hash(bytes, sizeof bytes);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    int low_bits[16] = {0};
    for (int i = 0; i < count; i++) {
        low_bits[hashes[i] & 15]++;
        for (int j = 0; j < i; j++) {
            assert_true(hashes[i] != hashes[j]);
        }
    }
    for (int i = 0; i < 16; i++) {
        assert_in_range(low_bits[i], 10, 70); /* 36 expected: tables use the low bits */
    }
    assert_true(bp__hash("abc", 3) == bp__hash("abc", 3));
}

static void equal_interned_texts_have_one_address(void **state) {
    (void)state;
    const char *kept[500];
    char text[16];
    for (int i = 0; i < 500; i++) {
        snprintf(text, sizeof text, "text %d", i);
        kept[i] = bp__intern(text);
    }
    for (int i = 0; i < 500; i++) {
        snprintf(text, sizeof text, "text %d", i);
        assert_string_equal(kept[i], text);
        assert_ptr_equal(bp__intern(text), kept[i]);
    }
    assert_all_freed();
    for (int n = 0; n < 5; n++) {
        failing_allocator(n);
        assert_string_equal(bp__intern(""), "");
        const char *one = bp__intern("one");
        assert_true(n >= 2 ? one != NULL : one == NULL);
        assert_all_freed();
        calm_allocator();
    }
}

static void time_moves_forward(void **state) {
    (void)state;
    int64_t first = bp__now_ns();
    assert_true(first > 0 && bp__now_ns() >= first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows),
        cmocka_unit_test(text_keeps_its_failure),
        cmocka_unit_test(integers_are_read_whole),
        cmocka_unit_test(copies_are_terminated),
        cmocka_unit_test(names_are_suggested),
        cmocka_unit_test(hashes_differ),
        cmocka_unit_test(equal_interned_texts_have_one_address),
        cmocka_unit_test(time_moves_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
