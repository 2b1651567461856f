/* test_table.c - tests every setting of the table in every layer. */
#include "settings/support_settings.h"

#include <limits.h>

#define EACH_ENTRY(row)                                                                                                \
    const bp_setting_info *row = bp_setting_at(0);                                                                     \
    row;                                                                                                               \
    row = next_row(row)

static const bp_setting_info *next_row(const bp_setting_info *row) {
    return bp_setting_at(row->number + 1);
}

static bool by_program(const bp_setting_info *row) {
    return (row->flags & (BP_SETTING_STARTUP | BP_SETTING_READ_ONLY)) == 0;
}

static void entries_are_consistent(void **state) {
    (void)state;
    int count = 0;
    for (EACH_ENTRY(row)) {
        const bp__setting_entry *full = bp__table_at((bp_setting_id)count);
        bp__value value;
        assert_int_equal(row->number, count);
        assert_int_equal(bp_setting_find(row->name), count++);
        assert_true(*row->help && *row->affects);
        assert_null(strpbrk(row->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ- =#\","));
        assert_int_equal(strncmp(row->environment, "BACKPLANE_", 10), 0);
        assert_null(strpbrk(row->environment, "abcdefghijklmnopqrstuvwxyz."));
        assert_int_equal(strlen(row->environment), 10 + strlen(row->name));
        assert_int_equal(
            bp__value_parse((bp_setting_id)(count - 1), row->default_text, strlen(row->default_text), &value), BP_OK);
        assert_string_equal(bp__value_text((bp_setting_id)(count - 1), value), row->default_text);
        assert_string_equal(bp__value_text((bp_setting_id)(count - 1), full->default_value), row->default_text);
        assert_true(full->default_value != BP__UNREAD);
        assert_true(row->type != BP_SETTING_INT || (full->least < full->most && full->least > INT64_MIN + 1));
        assert_true(row->type != BP_SETTING_ENUM || (full->word_count > 1 && full->word_count < BP__MOST_WORDS));
        assert_true((row->type == BP_SETTING_ENUM) == (strchr(row->allowed, '|') != NULL));
    }
    assert_int_equal(count, BP_SETTING_COUNT);
}

static const char *name_of(int number) {
    const bp_setting_info *info = bp_setting_at(number);
    return info ? info->name : "(none)";
}

/* Compiled programs rely on this: a number identifies its setting, and lists end at NULL. */
static void numbers_name_settings(void **state) {
    (void)state;
#define X(id, number, name, type, default_text, allowed, alias, flags, affects, help)                                  \
    assert_int_equal(BP_SET_##id, number);                                                                             \
    assert_string_equal(name_of(number), name);
    BP_SETTINGS_MAP(X)
#undef X
    static const int outside[] = {-1, INT_MIN, BP_SETTING_COUNT, BP_SETTING_COUNT + 1, INT_MAX};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        assert_null(bp_setting_at(outside[i]));
        assert_null(bp_setting_listed_at(outside[i]));
    }
}

/* Lists keep the table's order, independent of the numbers. */
static void entries_keep_their_order(void **state) {
    (void)state;
    int row = 0;
#define X(id, number, name, type, default_text, allowed, alias, flags, affects, help)                                  \
    assert_ptr_equal(bp_setting_listed_at(row++), bp_setting_at(BP_SET_##id));
    BP_SETTINGS_MAP(X)
#undef X
    assert_int_equal(row, BP_SETTING_COUNT);
    assert_null(bp_setting_listed_at(row));
}

static void variables_are_unique(void **state) {
    (void)state;
    for (EACH_ENTRY(a)) {
        for (EACH_ENTRY(b)) {
            assert_true(a == b || strcmp(a->environment, b->environment) != 0);
            assert_true(a == b || strcmp(a->name, b->name) != 0);
            assert_true(!*a->alias || strcmp(a->alias, b->environment) != 0);
            assert_true(a == b || !*a->alias || strcmp(a->alias, b->alias) != 0);
        }
    }
}

static void defaults_are_in_force(void **state) {
    (void)state;
    for (EACH_ENTRY(row)) {
        const char *value, *where;
        assert_setting(row->name, row->default_text, BP_LAYER_DEFAULT, "");
        assert_int_equal(bp_get_layer(row->name, BP_LAYER_DEFAULT, &value, &where), BP_OK);
        assert_string_equal(value, row->default_text);
        for (int layer = BP_LAYER_DEFAULT + 1; layer < BP_LAYER_COUNT; layer++) {
            assert_int_equal(bp_get_layer(row->name, (bp_layer)layer, &value, &where), BP_OK);
            assert_null(value);
            assert_string_equal(where, "");
        }
    }
    assert_int_equal(problem_count(), 0);
}

static void programs_set_and_unset(void **state) {
    (void)state;
    for (EACH_ENTRY(row)) {
        sample values = sample_of(row);
        if (!by_program(row)) {
            assert_int_equal(bp_set(row->name, values.one), BP_E_READ_ONLY);
            bool fact = (row->flags & BP_SETTING_READ_ONLY) != 0;
            assert_contains(bp_last_error(), fact ? "is read-only" : *row->alias ? row->alias : row->environment);
            assert_int_equal(bp_unset(row->name), BP_E_READ_ONLY);
            assert_setting(row->name, row->default_text, BP_LAYER_DEFAULT, "");
            continue;
        }
        uint64_t epoch = bp__settings_epoch();
        assert_int_equal(bp_set(row->name, values.one), BP_OK);
        assert_setting(row->name, values.one, BP_LAYER_PROCESS, "");
        assert_true(bp__settings_epoch() != epoch && bp__settings_epoch() != 0);
        epoch = bp__settings_epoch();
        assert_int_equal(bp_set(row->name, values.one), BP_OK);
        assert_true(bp__settings_epoch() == epoch); /* nothing changed */
        assert_int_equal(bp_set(row->name, values.two), BP_OK);
        assert_setting(row->name, values.two, BP_LAYER_PROCESS, "");
        assert_int_equal(bp_set(row->name, values.bad), BP_E_BAD_VALUE);
        assert_contains(bp_last_error(), row->name);
        assert_setting(row->name, values.two, BP_LAYER_PROCESS, "");
        assert_int_equal(bp_unset(row->name), BP_OK);
        assert_setting(row->name, row->default_text, BP_LAYER_DEFAULT, "");
        assert_int_equal(bp_unset(row->name), BP_OK);
    }
}

/* Some environment aliases have their own words for a value: "1:cublaslt,0:cublas". The value may have none. */
static void set_alias(const bp_setting_info *row, char *value) {
    const char *words = bp__table_at((bp_setting_id)bp_setting_find(row->name))->alias_words;
    char pair[80], variable[2] = "";
    if (words && !strchr(words, ':')) {
        bool pairs = strcmp(words, "pairs") == 0;
        strcpy(value, pairs ? "49152" : "2048");
        setenv(row->alias, pairs ? ":16:2:4:4" : "2", 1);
        return;
    }
    snprintf(pair, sizeof pair, ":%s", value);
    const char *found = words ? strstr(words, pair) : NULL;
    if (words && !found) {
        strcpy(value, strchr(words, ':') + 1);
        value[strcspn(value, ",")] = 0;
        found = strchr(words, ':');
    }
    variable[0] = words ? found[-1] : 0;
    setenv(row->alias, words ? variable : value, 1);
}

/* Each layer overrides the one below, up to the process; removing them restores the one below. */
static void layers_override_each_other(void **state) {
    (void)state;
    for (EACH_ENTRY(row)) {
        sample values = sample_of(row);
        char text[128], place[160];
        if (row->flags & BP_SETTING_READ_ONLY) {
            continue;
        }
        reset_settings();
        snprintf(text, sizeof text, "# first\n%s = %s\n", row->name, values.one);
        write_file(system_path, text);
        snprintf(place, sizeof place, "%s:2", system_path);
        assert_setting(row->name, values.one, BP_LAYER_SYSTEM_FILE, place);
        reset_settings();
        snprintf(text, sizeof text, "%s = %s # why\n", row->name, values.two);
        write_file(user_path, text);
        snprintf(place, sizeof place, "%s:1", user_path);
        assert_setting(row->name, values.two, BP_LAYER_USER_FILE, place);
        if (*row->alias) {
            char expected[64];
            strcpy(expected, values.two);
            reset_settings();
            set_alias(row, expected);
            assert_setting(row->name, expected, BP_LAYER_ENVIRONMENT, row->alias);
        }
        reset_settings();
        setenv(row->environment, values.one, 1);
        assert_setting(row->name, values.one, BP_LAYER_ENVIRONMENT, row->environment);
        const char *value;
        assert_int_equal(bp_get_layer(row->name, BP_LAYER_USER_FILE, &value, NULL), BP_OK);
        assert_string_equal(value, values.two);
        assert_int_equal(bp_get_layer(row->name, BP_LAYER_SYSTEM_FILE, &value, NULL), BP_OK);
        assert_string_equal(value, values.one);
        if (by_program(row)) {
            assert_int_equal(bp_set(row->name, values.two), BP_OK);
            assert_setting(row->name, values.two, BP_LAYER_PROCESS, "");
            assert_int_equal(bp_unset(row->name), BP_OK);
            assert_setting(row->name, values.one, BP_LAYER_ENVIRONMENT, row->environment);
        }
        assert_int_equal(problem_count(), 0);
        unsetenv(row->environment);
        unsetenv(*row->alias ? row->alias : row->environment);
        write_file(system_path, "");
        write_file(user_path, "");
    }
}

static void bad_values_below_become_problems(void **state) {
    (void)state;
    for (EACH_ENTRY(row)) {
        sample values = sample_of(row);
        char text[128];
        snprintf(text, sizeof text, "%s = %s\n", row->name, values.bad);
        write_file(user_path, text);
        setenv(row->environment, values.bad, 1);
        reset_settings();
        bp__fail(BP_E_IO, "from before");
        assert_setting(row->name, row->default_text, BP_LAYER_DEFAULT, "");
        assert_int_equal(problem_count(), 2);
        assert_contains(bp_config_error_at(0), user_path);
        assert_contains(bp_config_error_at(0), row->name);
        assert_contains(bp_config_error_at(1), row->environment);
        assert_string_equal(bp_last_error(), "from before"); /* reading layers does not change the last error */
        assert_int_equal(bp_last_status(), BP_E_IO);
        unsetenv(row->environment);
    }
}

static void scopes_override_the_process(void **state) {
    (void)state;
    for (EACH_ENTRY(row)) {
        sample values = sample_of(row);
        char one[128], two[128], bad[128];
        bp_scope *outer = NULL, *inner = (bp_scope *)1;
        snprintf(one, sizeof one, "%s=\"%s\"", row->name, values.one);
        snprintf(two, sizeof two, "%s = %s", row->name, values.two);
        snprintf(bad, sizeof bad, "%s=%s", row->name, values.bad);
        if (!by_program(row)) {
            assert_int_equal(bp_scope_enter(&inner, one), BP_E_READ_ONLY);
            assert_null(inner);
            continue;
        }
        uint64_t epoch = bp__settings_epoch();
        assert_int_equal(bp_scope_enter(&outer, one), BP_OK);
        assert_setting(row->name, values.one, BP_LAYER_SCOPE, one);
        uint64_t outer_epoch = bp__settings_epoch();
        assert_true(outer_epoch != epoch);
        assert_int_equal(bp_scope_enter(&inner, bad), BP_E_BAD_VALUE);
        assert_null(inner);
        assert_int_equal(bp_scope_enter(&inner, two), BP_OK);
        assert_setting(row->name, values.two, BP_LAYER_SCOPE, two);
        assert_int_equal(bp_set(row->name, values.one), BP_OK);
        assert_setting(row->name, values.two, BP_LAYER_SCOPE, two);
        assert_int_equal(bp_unset(row->name), BP_OK);
        assert_int_equal(bp_scope_leave(&inner), BP_OK);
        assert_null(inner);
        assert_setting(row->name, values.one, BP_LAYER_SCOPE, one);
        assert_int_equal(bp_scope_leave(&outer), BP_OK);
        assert_setting(row->name, row->default_text, BP_LAYER_DEFAULT, "");
    }
}

/* The typed functions agree with the functions by name, for every setting. */
static bool same_as_text(int value, const char *text) {
    return strcmp(value ? "true" : "false", text) == 0;
}

static void typed_functions_agree(void **state) {
    (void)state;
    const char *text;
#define AGREES_BOOL(id) assert_true(same_as_text(bp_get_##id(), text))
#define AGREES_INT(id) assert_int_equal(bp_get_##id(), strtoll(text, NULL, 10))
#define AGREES_ENUM(id) assert_string_equal(bp_get_##id(), text)
#define AGREES_TEXT(id) assert_string_equal(bp_get_##id(), text)
#define SET_BOOL(id) bp_set_##id(strcmp(values.one, "true") == 0)
#define SET_INT(id) bp_set_##id(strtoll(values.one, NULL, 10))
#define SET_ENUM(id) bp_set_##id(values.one)
#define SET_TEXT(id) bp_set_##id(values.one)
#define NULL_BOOL(id) BP_E_ARGUMENT
#define NULL_INT(id) BP_E_ARGUMENT
#define NULL_ENUM(id) bp_set_##id(NULL)
#define NULL_TEXT(id) bp_set_##id(NULL)
#define X(id, number, name, type, default_text, allowed, alias, flags, affects, help)                                  \
    {                                                                                                                  \
        sample values = sample_of(bp_setting_at(BP_SET_##id));                                                         \
        bp_get(name, &text, NULL, NULL);                                                                               \
        AGREES_##type(id);                                                                                             \
        bool writable = by_program(bp_setting_at(BP_SET_##id));                                                        \
        assert_int_equal(SET_##type(id), writable ? BP_OK : BP_E_READ_ONLY);                                           \
        assert_int_equal(NULL_##type(id), BP_E_ARGUMENT);                                                              \
        bp_get(name, &text, NULL, NULL);                                                                               \
        assert_string_equal(text, writable ? values.one : default_text);                                               \
        AGREES_##type(id);                                                                                             \
        assert_int_equal(bp_unset(name), writable ? BP_OK : BP_E_READ_ONLY); /* others may inherit from it */          \
    }
    BP_SETTINGS_MAP(X)
#undef X
    assert_int_equal(bp_set_num_threads(-1), BP_E_BAD_VALUE);
    assert_int_equal(bp_set_num_threads(INT64_MIN), BP_E_BAD_VALUE);
    assert_int_equal(bp_set_num_threads(INT64_MAX), BP_E_BAD_VALUE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(entries_are_consistent, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(numbers_name_settings, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(entries_keep_their_order, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(variables_are_unique, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(defaults_are_in_force, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(programs_set_and_unset, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(layers_override_each_other, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(bad_values_below_become_problems, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(scopes_override_the_process, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(typed_functions_agree, enter_environment, leave_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
