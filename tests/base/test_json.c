/* test_json.c - tests JSON output: commas, escapes, invalid UTF-8, numbers in every locale. */
#include "base/support_base.h"

#include <locale.h>
#include <math.h>

static void commas_and_brackets(void **state) {
    (void)state;
    bp__text out = {0};
    bp__json json;
    bp__json_begin(&json, &out);
    bp__json_open(&json, NULL, '{');
    bp__json_int(&json, "a", INT64_MIN);
    bp__json_open(&json, "b", '[');
    bp__json_close(&json, ']');
    bp__json_open(&json, "c", '[');
    bp__json_bool(&json, NULL, true);
    bp__json_text(&json, NULL, NULL);
    bp__json_open(&json, NULL, '{');
    bp__json_int(&json, "f", 1);
    bp__json_close(&json, '}');
    bp__json_open(&json, NULL, '{');
    bp__json_bool(&json, "d", false);
    bp__json_close(&json, '}');
    bp__json_close(&json, ']');
    bp__json_text(&json, "e", "");
    bp__json_close(&json, '}');
    assert_string_equal(bp__text_get(&out),
                        "{\"a\":-9223372036854775808,\"b\":[],\"c\":[true,null,{\"f\":1},{\"d\":false}],\"e\":\"\"}");
    bp__text_free(&out);
}

static void assert_text(const char *value, const char *expected) {
    bp__text out = {0};
    bp__json json;
    bp__json_begin(&json, &out);
    bp__json_text(&json, NULL, value);
    assert_string_equal(bp__text_get(&out), expected);
    bp__text_free(&out);
}

static void texts_are_escaped(void **state) {
    (void)state;
    assert_text("a\"b\\c\n\t\r\x01\x7F/", "\"a\\\"b\\\\c\\n\\t\\u000d\\u0001\\u007f/\"");
    assert_text("\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x99\x82 \xED\x9F\xBF \xF4\x8F\xBF\xBF",
                "\"\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x99\x82 \xED\x9F\xBF \xF4\x8F\xBF\xBF\"");
}

#define BAD "\xEF\xBF\xBD"
static void invalid_utf8_is_replaced(void **state) {
    (void)state;
    assert_text("\xFF"
                "a",
                "\"" BAD "a\"");
    assert_text("\x80", "\"" BAD "\"");
    assert_text("\xC3", "\"" BAD "\"");
    assert_text("\xE2\x82", "\"" BAD BAD "\"");
    assert_text("\xC0\xAF", "\"" BAD BAD "\"");
    assert_text("\xE0\x80\xAF", "\"" BAD BAD BAD "\"");
    assert_text("\xED\xA0\x80", "\"" BAD BAD BAD "\"");
    assert_text("\xF4\x90\x80\x80", "\"" BAD BAD BAD BAD "\"");
    assert_text("\xF0\x8F\xBF\xBF", "\"" BAD BAD BAD BAD "\"");
}

static void assert_number(double value, const char *expected) {
    bp__text out = {0};
    bp__json json;
    bp__json_begin(&json, &out);
    bp__json_number(&json, NULL, value);
    assert_string_equal(bp__text_get(&out), expected);
    bp__text_free(&out);
}

static void numbers_read_back(void **state) {
    (void)state;
    assert_number(0.1, "0.1");
    assert_number(1.0 / 3.0, "0.3333333333333333");
    assert_number(-1e300, "-1e+300");
    assert_number(5e-324, "4.94065645841247e-324");
    assert_number((double)NAN, "null");
    assert_number((double)-INFINITY, "null");
    const char *const with_comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ps_AF.UTF-8"};
    for (int i = 0; i < BP__COUNT(with_comma); i++) {
        if (setlocale(LC_NUMERIC, with_comma[i])) {
            assert_number(0.5, "0.5");
        }
    }
    setlocale(LC_NUMERIC, "C");
}

static void too_deep_nesting_is_a_failure(void **state) {
    (void)state;
    bp__text out = {0};
    bp__json json;
    bp__json_begin(&json, &out);
    for (int i = 0; i < 40; i++) {
        bp__json_open(&json, NULL, '[');
    }
    assert_true(out.failed);
    bp__text_free(&out);
    assert_int_equal(bp__live_blocks(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_and_brackets),           cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(invalid_utf8_is_replaced),      cmocka_unit_test(numbers_read_back),
        cmocka_unit_test(too_deep_nesting_is_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
