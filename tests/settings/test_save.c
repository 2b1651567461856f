/* test_save.c - tests bp_save_setting: one line of the user file changes, the others stay. */
#include "settings/support_settings.h"

#include <sys/stat.h>
#include <unistd.h>

static void assert_file(const char *expected) {
    char *text = file_text(user_path);
    assert_string_equal(text, expected);
    free(text);
}

/* Checks the change from one text of the file to another by one call. */
static void assert_save(const char *before, const char *name, const char *value, const char *after) {
    write_file(user_path, before);
    assert_int_equal(bp_save_setting(name, value), BP_OK);
    assert_file(after);
}

static void the_file_is_made(void **state) {
    (void)state;
    assert_int_equal(bp_save_setting("verbose", NULL), BP_OK);
    assert_int_equal(access(user_path, F_OK), -1);
    assert_int_equal(bp_save_setting("verbose", "2"), BP_OK);
    assert_file("verbose = 2\n");
    assert_int_equal(bp_get_verbose(), 0); /* this process keeps its settings */
    reset_settings();
    assert_int_equal(bp_get_verbose(), 2); /* the next process reads it */
    assert_int_equal(bp_save_setting("registry.cache", "off"),
                     BP_OK); /* settings that programs cannot change can be saved */
    assert_file("verbose = 2\nregistry.cache = off\n");
}

/* A missing home is not made, whichever variable names it. */
static void a_missing_home_is_not_made(void **state) {
    (void)state;
    char home[128], folder[160], kept[96];
    struct stat facts;
    snprintf(kept, sizeof kept, "%s", getenv("XDG_CONFIG_HOME"));
    snprintf(home, sizeof home, "%s/absent", kept);
    snprintf(folder, sizeof folder, "%s/.config", home);
    setenv("HOME", home, 1);
    unsetenv("XDG_CONFIG_HOME");
    assert_int_equal(bp_save_setting("verbose", "2"), BP_E_NOT_FOUND);
    assert_non_null(strstr(bp_last_error(), "absent does not exist"));
    setenv("XDG_CONFIG_HOME", folder, 1);
    assert_int_equal(bp_save_setting("verbose", "2"), BP_E_NOT_FOUND);
    assert_int_not_equal(stat(home, &facts), 0);
    assert_int_equal(mkdir(home, 0700), 0);
    assert_int_equal(bp_save_setting("verbose", "2"), BP_OK);
    setenv("XDG_CONFIG_HOME", kept, 1);
}

static void other_lines_stay(void **state) {
    (void)state;
    const char *before = "# mine\n\n  verbose = 1  # loud\nnonsense \" here\nnum_threads=2";
    assert_save(before, "verbose", "2", "# mine\n\n  verbose = 2  # loud\nnonsense \" here\nnum_threads=2");
    assert_save(before, "verbose", NULL, "# mine\n\nnonsense \" here\nnum_threads=2");
    assert_save(before, "num_threads", "4", "# mine\n\n  verbose = 1  # loud\nnonsense \" here\nnum_threads=4");
    assert_save(before, "trace", "t", "# mine\n\n  verbose = 1  # loud\nnonsense \" here\nnum_threads=2\ntrace = t\n");
    assert_save(before, "trace", NULL, before);
    assert_save("verbose=1\nnum_threads=1\nverbose=2 # b\n", "verbose", "0", "verbose=0\nnum_threads=1\n");
    assert_save("verbose=1\nnum_threads=1\nverbose=2 # b\n", "verbose", NULL, "num_threads=1\n");
    assert_save("verbose=\"1\"# x\n", "verbose", "0", "verbose=0# x\n");
    assert_save("#verbose=1\n", "verbose", "2", "#verbose=1\nverbose = 2\n");
}

static void line_ends_and_marks_stay(void **state) {
    (void)state;
    assert_save("\xEF\xBB\xBF"
                "verbose = 1\r\ntrace =\r\n",
                "verbose", "2",
                "\xEF\xBB\xBF"
                "verbose = 2\r\ntrace =\r\n");
    assert_save("\xEF\xBB\xBF"
                "verbose = 1\r\ntrace = \r\n",
                "trace", "x",
                "\xEF\xBB\xBF"
                "verbose = 1\r\ntrace =x \r\n");
    assert_save("\xEF\xBB\xBF"
                "verbose = 1\r\ntrace = x\r\n",
                "verbose", NULL,
                "\xEF\xBB\xBF"
                "trace = x\r\n");
    assert_save("verbose = 1\r\n", "verbose", "2", "verbose = 2\r\n");
}

static void unreadable_lines_are_replaced(void **state) {
    (void)state;
    assert_save("verbose = \"1 # x\nnum_threads=1\n", "verbose", "2", "verbose = 2\nnum_threads=1\n");
    assert_save("verbose # x\r\nnum_threads=1\n", "verbose", "2", "verbose = 2\r\nnum_threads=1\n");
    assert_save("verbose\n", "verbose", NULL, "");
}

/* Every value is read back unchanged. */
static void values_are_read_back(void **state) {
    (void)state;
    static char endless[4096];
    memset(endless, '"', sizeof endless - 1);
    const char *const values[] = {"plain",       "",      " edges ", "a#b",   "\"quoted\"",
                                  "back\\slash", "x\\\"", "a,b",     "a = b", "\xC3\xA4\xFF",
                                  "\\",          "\"",    "#",       " ",     endless};
    for (int i = 0; i < BP__COUNT(values); i++) {
        assert_int_equal(bp_save_setting("blas.preferred", values[i]), BP_OK);
        reset_settings();
        assert_string_equal(bp_get_blas_preferred(), values[i]);
        assert_int_equal(problem_count(), 0);
    }
}

static void failures_do_not_change_the_file(void **state) {
    (void)state;
    write_file(user_path, "verbose = 1\n");
    assert_int_equal(bp_save_setting("verbose", "3"), BP_E_BAD_VALUE);
    assert_int_equal(bp_save_setting("verbos", "1"), BP_E_UNKNOWN_NAME);
    chmod(user_path, 0666);
    assert_int_equal(bp_save_setting("verbose", "2"), BP_E_UNTRUSTED); /* the file would not be read either */
    chmod(user_path, 0644);
    assert_file("verbose = 1\n");
    static char large[BP__LARGEST_FILE + 1];
    memset(large, '#', sizeof large);
    write_bytes(user_path, large, sizeof large);
    assert_int_equal(bp_save_setting("verbose", "2"), BP_E_OVERFLOW);
}

/* All users can read the file and its directory, whatever the umask is. Directories above are not made. */
static void another_file_is_changed(void **state) {
    (void)state;
    char folder[128], path[160], deep[192];
    struct stat facts;
    snprintf(folder, sizeof folder, "%s.d", system_path);
    snprintf(path, sizeof path, "%s/some.conf", folder);
    snprintf(deep, sizeof deep, "%s/a/b/some.conf", folder);
    assert_string_equal(bp_system_config_path(), system_path);
    assert_int_equal(bp_save_setting_to(path, "verbose", NULL), BP_OK);
    assert_int_not_equal(stat(folder, &facts), 0);
    umask(077);
    assert_int_equal(bp_save_setting_to(path, "verbose", "2"), BP_OK);
    umask(022);
    char *text = file_text(path);
    assert_string_equal(text, "verbose = 2\n");
    free(text);
    assert_int_equal(stat(folder, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0755);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0644);
    assert_int_equal(access(user_path, F_OK), -1);
    assert_int_equal(bp_save_setting_to(deep, "verbose", "2"), BP_E_NOT_FOUND);
    assert_contains(bp_last_error(), "does not exist");
    assert_int_equal(bp_save_setting_to(path, "verbose", "9"), BP_E_BAD_VALUE);
    assert_int_equal(bp_save_setting_to(path, "verbos", "1"), BP_E_UNKNOWN_NAME);
    assert_int_equal(bp_save_setting_to("", "verbose", "1"), BP_E_IO);
    assert_int_equal(bp_save_setting_to(NULL, "verbose", "1"), BP_E_ARGUMENT);
    chmod(path, 0666);
    assert_int_equal(bp_save_setting_to(path, "verbose", "1"), BP_E_UNTRUSTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_file_is_made, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(a_missing_home_is_not_made, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(other_lines_stay, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(line_ends_and_marks_stay, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(unreadable_lines_are_replaced, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(values_are_read_back, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(another_file_is_changed, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(failures_do_not_change_the_file, enter_environment, leave_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
