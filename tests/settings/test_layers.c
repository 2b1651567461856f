/* test_layers.c - tests files and environment: every syntax error is a problem with its location, and none stops the
 * program. */
#include "settings/support_settings.h"

#include <sys/stat.h>
#include <unistd.h>

static void assert_problem(int index, const char *place, const char *what) {
    const char *problem = bp_config_error_at(index);
    assert_non_null(problem);
    assert_contains(problem, place);
    assert_contains(problem, what);
}

static void good_lines_are_read(void **state) {
    (void)state;
    write_file(user_path, "\xEF\xBB\xBF# a comment, with = and \" in it\r\n"
                          "\r\n"
                          "  num_threads=3\r\n"
                          "\tblas.preferred = \"a # \\\"b\\\\\"  # why\r\n"
                          "dispatch.exclude = blis, netlib# no commas here\n"
                          "dispatch.fallback = \"allow\"\n"
                          "registry.library_path =\n"
                          "verbose = 2");
    assert_int_equal(bp_get_num_threads(), 3);
    assert_string_equal(bp_get_blas_preferred(), "a # \"b\\");
    assert_string_equal(bp_get_dispatch_exclude(), "blis, netlib");
    assert_string_equal(bp_get_dispatch_fallback(), "allow");
    char place[128];
    snprintf(place, sizeof place, "%s:7", user_path);
    assert_setting("registry.library_path", "", BP_LAYER_USER_FILE, place);
    assert_int_equal(bp_get_verbose(), 2);
    assert_int_equal(problem_count(), 0);
}

static void bad_lines_are_ignored(void **state) {
    (void)state;
    static char text[8192] = "num_threads\n"
                             "= 3\n"
                             "verbose = \"1\n"
                             "verbose = \"1\" 2\n"
                             "verbose = \"\\n\"\n"
                             "num_treads = 4\n"
                             "verbose = 1\n"
                             "verbose = 2\n"
                             "[section]\n"
                             "verbose # = 1\n"
                             "trace = ";
    memset(text + strlen(text), 'x', 4096);
    strcat(text, "\nblas.preferred = mkl");
    write_file(user_path, text);
    char places[13][128];
    for (int line = 1; line < 13; line++) {
        snprintf(places[line], sizeof places[line], "%s:%d:", user_path, line);
    }
    assert_string_equal(bp_get_blas_preferred(), "mkl");
    assert_int_equal(bp_get_verbose(), 2);
    assert_problem(0, places[1], "'=' and a value are missing");
    assert_problem(1, places[2], "name is missing");
    assert_problem(2, places[3], "not closed");
    assert_problem(3, places[4], "follows the closing quote");
    assert_problem(4, places[5], "backslash");
    assert_problem(5, places[6], "did you mean 'num_threads'");
    assert_problem(6, places[8], "is given twice");
    assert_problem(7, places[9], "'=' and a value are missing");
    assert_problem(8, places[10], "'=' and a value are missing");
    assert_problem(9, places[11], "4095");
    assert_int_equal(problem_count(), 10);
}

static void hostile_bytes_are_problems(void **state) {
    (void)state;
    static const char bytes[] = "verbose\0 = 1\n\0\0\0\nblas.preferred = a\0b\nnum_threads = 1\0\n\xFF\xFE=\x1b[2J\n"
                                "trace=\rx\nverbose=1";
    write_bytes(user_path, bytes, sizeof bytes - 1);
    assert_int_equal(bp_get_verbose(), 1);
    assert_int_equal(bp_get_num_threads(), 0);
    assert_string_equal(bp_get_blas_preferred(), "");
    assert_string_equal(bp_get_trace(), "x"); /* a carriage return is a blank */
    assert_int_equal(problem_count(), 5);
    for (int i = 0; bp_config_error_at(i); i++) {
        for (const char *each = bp_config_error_at(i); *each; each++) {
            assert_in_range(*each, 0x20, 0x7E);
        }
    }
}

static void the_number_of_problems_is_limited(void **state) {
    (void)state;
    bp__text text = {0};
    for (int i = 0; i < 2000; i++) {
        bp__text_addf(&text, "line %d\n", i);
    }
    write_file(user_path, bp__text_get(&text));
    bp__text_free(&text);
    assert_int_equal(problem_count(), 256);
    assert_string_equal(bp_config_error_at(255), "more problems are not listed");
}

static void files_must_be_small_regular_and_trusted(void **state) {
    (void)state;
    write_file(user_path, "verbose = 1\n");
    chmod(user_path, 0666);
    assert_int_equal(bp_get_verbose(), 0);
    assert_problem(0, "ignored", user_path);
    assert_problem(0, "everyone", user_path);
    assert_int_equal(problem_count(), 1);

    reset_settings();
    static char large[BP__LARGEST_FILE + 2];
    memset(large, '\n', sizeof large);
    memcpy(large, "verbose = 1", 11);
    chmod(user_path, 0644);
    write_bytes(user_path, large, BP__LARGEST_FILE + 1);
    assert_int_equal(bp_get_verbose(), 0);
    assert_problem(0, "ignored", "larger than");

    reset_settings();
    write_bytes(user_path, large, BP__LARGEST_FILE);
    assert_int_equal(bp_get_verbose(), 1);
    assert_int_equal(problem_count(), 0);

    reset_settings();
    unlink(user_path);
    assert_int_equal(mkdir(user_path, 0755), 0);
    assert_int_equal(bp_get_verbose(), 0);
    assert_problem(0, "ignored", "not a regular file");
    rmdir(user_path);
}

static void unknown_variables_are_problems(void **state) {
    (void)state;
    setenv("BACKPLANE_NUM_THREAD", "3", 1);
    assert_int_equal(bp_get_num_threads(), 0);
    assert_int_equal(problem_count(), 1);
    assert_problem(0, "BACKPLANE_NUM_THREAD:", "did you mean 'BACKPLANE_NUM_THREADS'");
    unsetenv("BACKPLANE_NUM_THREAD");
    reset_settings();
    setenv("BACKPLANE_CACHE_DIRS", "", 1);
    assert_problem(0, "BACKPLANE_CACHE_DIRS:", "'BACKPLANE_CACHE_DIR'"); /* aliases are suggested too */
    unsetenv("BACKPLANE_CACHE_DIRS");
}

static void aliases_are_read_if_the_own_variable_is_unset(void **state) {
    (void)state;
    setenv("BACKPLANE_LIBRARY_PATH", "/alias", 1);
    setenv("BACKPLANE_REGISTRY_LIBRARY_PATH", "", 1);
    assert_setting("registry.library_path", "/alias", BP_LAYER_ENVIRONMENT, "BACKPLANE_LIBRARY_PATH");
    reset_settings();
    setenv("BACKPLANE_REGISTRY_LIBRARY_PATH", "/rule", 1);
    assert_setting("registry.library_path", "/rule", BP_LAYER_ENVIRONMENT, "BACKPLANE_REGISTRY_LIBRARY_PATH");
    assert_int_equal(problem_count(), 0);
}

static void user_file_follows_xdg_then_home(void **state) {
    (void)state;
    const char *path, *same;
    assert_int_equal(bp_user_config_path(&path), BP_OK);
    assert_string_equal(path, user_path);
    assert_int_equal(bp_user_config_path(&same), BP_OK);
    assert_ptr_equal(path, same);
    setenv("XDG_CONFIG_HOME", "relative", 1);
    setenv("HOME", "/home/of", 1);
    assert_int_equal(bp_user_config_path(&path), BP_OK);
    assert_string_equal(path, "/home/of/.config/backplane/backplane.conf");
    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", "", 1);
    assert_int_equal(bp_user_config_path(&path), BP_E_NOT_FOUND);
    assert_null(path);
    assert_int_equal(bp_save_setting("verbose", "1"), BP_E_NOT_FOUND);
    assert_int_equal(problem_count(), 0); /* a missing home is not a problem */
    static char endless[8000];
    memset(endless, 'x', sizeof endless - 1);
    endless[0] = '/';
    setenv("HOME", endless, 1);
    assert_int_equal(bp_user_config_path(&path), BP_E_NOT_FOUND);
}

/* A file that a variable names lies between the user file and the variables of single settings. */
static void a_variable_names_a_file(void **state) {
    (void)state;
    char named[128], place[160];
    const char *path;
    snprintf(named, sizeof named, "%s.named", user_path);
    snprintf(place, sizeof place, "%s:2", named);
    write_file(user_path, "num_threads = 1\nverbose = 1\ntrace = u\n");
    write_file(named, "num_threads = 2\nverbose = 2\n");
    assert_int_equal(bp_named_config_path(&path), BP_OK);
    assert_string_equal(path, "");
    setenv("BACKPLANE_SETTINGS_FILE", named, 1);
    setenv("BACKPLANE_NUM_THREADS", "3", 1);
    reset_settings();
    assert_setting("num_threads", "3", BP_LAYER_ENVIRONMENT, "BACKPLANE_NUM_THREADS");
    assert_setting("verbose", "2", BP_LAYER_NAMED_FILE, place);
    assert_string_equal(bp_get_trace(), "u");
    assert_int_equal(problem_count(), 0);
    assert_int_equal(bp_named_config_path(&path), BP_OK);
    assert_string_equal(path, named);
    assert_int_equal(bp_named_config_path(NULL), BP_E_ARGUMENT);
}

/* A named file that is not read is reported. */
static void a_named_file_that_is_not_read_is_a_problem(void **state) {
    (void)state;
    char absent[128];
    snprintf(absent, sizeof absent, "%s.absent", user_path);
    const struct {
        const char *value, *problem;
    } cases[] = {{absent, absent}, {"relative.conf", "no absolute path"}, {"/", "/"}};
    for (int i = 0; i < BP__COUNT(cases); i++) {
        setenv("BACKPLANE_SETTINGS_FILE", cases[i].value, 1);
        reset_settings();
        assert_int_equal(problem_count(), 1);
        assert_problem(0, cases[i].problem, "");
    }
    setenv("BACKPLANE_SETTINGS_FILE", "", 1);
    reset_settings();
    assert_int_equal(problem_count(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(good_lines_are_read, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(bad_lines_are_ignored, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(hostile_bytes_are_problems, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(the_number_of_problems_is_limited, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(files_must_be_small_regular_and_trusted, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(unknown_variables_are_problems, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(aliases_are_read_if_the_own_variable_is_unset, enter_environment,
                                        leave_environment),
        cmocka_unit_test_setup_teardown(user_file_follows_xdg_then_home, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(a_variable_names_a_file, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(a_named_file_that_is_not_read_is_a_problem, enter_environment,
                                        leave_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
