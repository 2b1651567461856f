/* test_messages.c - tests suggestions, exit codes, shapes, quoting, line breaks and arguments of the command. */
#include "cli/command/cli.h"
#include "cli/doctor/doctor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const char *name_at(void *list, int index) {
    return ((const char *const *)list)[index];
}

static void near_names_are_suggested(void **state) {
    (void)state;
    static const char *names[] = {"list", "settings", "get", "set", "explain", NULL};
    assert_string_equal(cli_suggest("lsit", "", name_at, names), "; did you mean 'list'?");
    assert_string_equal(cli_suggest("exp", "", name_at, names), "; did you mean 'explain'?");
    assert_string_equal(cli_suggest("et", "--", name_at, names), "; did you mean '--get' or '--set'?");
    assert_string_equal(cli_suggest("zzzzzz", "", name_at, names), "");
    assert_string_equal(cli_suggest("", "", name_at, names), "");
    char lengthy[200];
    memset(lengthy, 'x', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = 0;
    assert_string_equal(cli_suggest(lengthy, "", name_at, names), "");
}

/* Each status of the library has a documented exit code. */
static void every_status_has_an_exit_code(void **state) {
    (void)state;
    bp_status status;
    for (int i = 0; bp_status_at(i, &status); i++) {
        int code = (int)cli_exit_of(status);
        assert_non_null(cli_exit_text(code));
        assert_true((status == BP_OK) == (code == CLI_OK));
        assert_int_not_equal(code, CLI_FINDING);
        assert_true(code != CLI_INTERNAL || status == BP_E_INTERNAL);
    }
    assert_int_equal(cli_exit_of(BP_E_SHAPE), CLI_INPUT);
    assert_int_equal(cli_exit_of(BP_E_BAD_VALUE), CLI_USAGE);
    assert_int_equal(cli_exit_of(BP_E_FALLBACK), CLI_LIBRARY);
    assert_int_equal(cli_exit_of(BP_E_NO_MEMORY), CLI_MEMORY);
    assert_int_equal(cli_exit_of(BP_E_IO), CLI_IO);
    assert_int_equal(cli_exit_of(BP_E_TRUNCATED), CLI_INPUT);
    assert_int_equal(cli_exit_of(BP_E_SINGULAR), CLI_NUMERIC);
    assert_int_equal(cli_exit_of((bp_status)12345), CLI_INTERNAL);
}

static void shapes_and_quotes_are_formatted(void **state) {
    (void)state;
    char buffer[64];
    const int64_t shape[] = {3, 0, INT64_MAX};
    assert_string_equal(cli_shape(3, shape, buffer, sizeof buffer), "3x0x9223372036854775807");
    assert_string_equal(cli_shape(0, shape, buffer, sizeof buffer), "scalar");
    char tiny[4];
    assert_string_equal(cli_shape(3, shape, tiny, sizeof tiny), "3x0");
    char *quoted = cli_quote("a\"b\\c,d");
    assert_string_equal(quoted, "\"a\\\"b\\\\c,d\"");
    free(quoted);
    assert_int_equal(cli_text_width("gr\xc3\xbc\xc3\x9f"), 4);
}

static void breaks(const char *text, int width, const char *line, const char *rest) {
    size_t next, length = cli_break(text, width, &next);
    assert_int_equal(length, strlen(line));
    assert_memory_equal(text, line, length);
    assert_string_equal(text + next, rest);
}

static void lines_break_at_sensible_points(void **state) {
    (void)state;
    breaks("one two three", 13, "one two three", "");
    breaks("one two three", 12, "one two", "three");
    breaks("one   two", 4, "one", "two");
    breaks("one two ", 7, "one two", "");
    breaks("/usr/lib/libblas.so.3", 12, "/usr/lib/", "libblas.so.3");
    breaks("blas,cblas,lapack", 11, "blas,cblas,", "lapack");
    breaks("see /usr/lib/x/libblas.so.3", 20, "see",
           "/usr/lib/x/libblas.so.3"); /* the piece on the first line would be too short */
    breaks("see /usr/lib/x86_64/libblas.so.3", 24, "see /usr/lib/x86_64/", "libblas.so.3");
    breaks("see a/b", 6, "see", "a/b"); /* a word that fits is not broken */
    breaks("allow_tf32", 8, "allow_", "tf32");
    breaks("abcdefgh", 3, "abc", "defgh");
    breaks("gr\xc3\xbc\xc3\x9f", 3, "gr\xc3\xbc", "\xc3\x9f"); /* characters stay whole */
    breaks("\xc3\xbc", 0, "\xc3\xbc", "");
    breaks("", 5, "", "");
    assert_int_equal(cli_longest_piece("a /usr/lib/libx.so,b"), 8);
    assert_int_equal(cli_longest_piece(""), 0);
}

static int unused_run(const cli_args *args) {
    (void)args;
    return CLI_OK;
}

static const cli_option options[] = {
    {"all", 'a', NULL, ""}, {"output", 'o', "FILE", ""}, CLI_OPTION_SET, {NULL, 0, NULL, NULL}};
static const cli_command command = {.name = "command",
                                    .summary = "",
                                    .operands = "X Y",
                                    .details = "",
                                    .least = 0,
                                    .most = 3,
                                    .options = options,
                                    .run = unused_run};

static void arguments_are_parsed(void **state) {
    (void)state;
    char *words[] = {"one", "-ao", "file", "--set", "a=1", "--set=b=2,3", "-", "--", "--all"};
    cli_args args;
    assert_int_equal(cli_args_parse(&args, &command, 9, words), CLI_OK);
    assert_int_equal(args.count, 3);
    assert_string_equal(args.operands[0], "one");
    assert_string_equal(args.operands[1], "-");
    assert_string_equal(args.operands[2], "--all");
    assert_true(cli_has(&args, "all"));
    assert_string_equal(cli_value(&args, "output"), "file");
    char *text = cli_options_text(&args, "c=3");
    assert_string_equal(text, "c=3, a=\"1\", b=\"2,3\"");
    free(text);
    cli_args_free(&args);
    char *joined[] = {"-ofile", "-1"};
    assert_int_equal(cli_args_parse(&args, &command, 2, joined), CLI_OK);
    assert_string_equal(cli_value(&args, "output"), "file");
    assert_string_equal(args.operands[0], "-1");
    cli_args_free(&args);
}

static void kernel_sets_have_a_rank(void **state) {
    (void)state;
    assert_int_equal(doctor_kernel_rank("Haswell"), BP_CAPABILITY_AVX2);
    assert_int_equal(doctor_kernel_rank("SkylakeX"), BP_CAPABILITY_AVX512);
    assert_int_equal(doctor_kernel_rank("generic"), BP_CAPABILITY_DEFAULT);
    assert_int_equal(doctor_kernel_rank("zen"), BP_CAPABILITY_AVX2);
    assert_int_equal(doctor_kernel_rank(""), -1);
    assert_int_equal(doctor_kernel_rank("haswell zen2"), -1);
    assert_int_equal(doctor_kernel_rank("nonesuch"), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_names_are_suggested),        cmocka_unit_test(every_status_has_an_exit_code),
        cmocka_unit_test(shapes_and_quotes_are_formatted), cmocka_unit_test(arguments_are_parsed),
        cmocka_unit_test(kernel_sets_have_a_rank),         cmocka_unit_test(lines_break_at_sensible_points),
    };
    cli_out_begin("test");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
