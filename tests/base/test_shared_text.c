/* test_shared_text.c - what the command uses of the base module: durations, names behind a mark, and indented JSON. */
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>

static void durations_have_four_digits(void **state) {
    (void)state;
    static const struct {
        double ns;
        const char *text;
    } cases[] = {
        {0, "0 ns"},          {0.4, "0 ns"},        {25, "25 ns"},
        {999.4, "999 ns"},    {999.6, "1.000 us"},  {1500, "1.500 us"},
        {9999.4, "9.999 us"}, {9999.6, "10.00 us"}, {99996, "100.0 us"},
        {999940, "999.9 us"}, {999960, "1.000 ms"}, {1814600, "1.815 ms"},
        {2.5e6, "2.500 ms"},  {12e6, "12.00 ms"},   {1.5e9, "1.500 s"},
        {59.99e9, "59.99 s"}, {1.5e12, "1500 s"},   {1234567e9, "1234567 s"},
    };
    char buffer[32];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(bp__duration(cases[i].ns, buffer, sizeof buffer), cases[i].text);
    }
    char tiny[4];
    assert_string_equal(bp__duration(DBL_MAX, tiny, sizeof tiny), "179");
}

static const char *name_at(void *user, int index) {
    return ((const char *const *)user)[index];
}

static void names_are_marked(void **state) {
    (void)state;
    const char *names[] = {"json", "joson", NULL};
    char buffer[128];
    assert_string_equal(bp__suggest_marked("jsno", "--", name_at, names, buffer, sizeof buffer),
                        "did you mean '--json'?");
}

static void json_is_indented(void **state) {
    (void)state;
    bp__text out = {0};
    bp__json json;
    bp__json_begin(&json, &out);
    json.pretty = true;
    bp__json_open(&json, NULL, '{');
    bp__json_int(&json, "a", 1);
    bp__json_open(&json, "none", '[');
    bp__json_close(&json, ']');
    bp__json_open(&json, "b", '[');
    bp__json_text(&json, NULL, "x");
    bp__json_bool(&json, NULL, true);
    bp__json_close(&json, ']');
    bp__json_close(&json, '}');
    assert_string_equal(bp__text_get(&out),
                        "{\n  \"a\": 1,\n  \"none\": [],\n  \"b\": [\n    \"x\",\n    true\n  ]\n}");
    bp__text_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_have_four_digits),
        cmocka_unit_test(names_are_marked),
        cmocka_unit_test(json_is_indented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
