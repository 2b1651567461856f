/* support_settings.c - see support_settings.h. */
#include "settings/support_settings.h"

#include "support/failing.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

char system_path[96], user_path[96];
static char folder[64];

static void clear_variables(void) {
    const bp_setting_info *row;
    for (int i = 0; (row = bp_setting_listed_at(i)) != NULL; i++) {
        unsetenv(row->environment);
        if (*row->alias) {
            unsetenv(row->alias);
        }
    }
    static const char *const limits[] = {"OMP_NUM_THREADS",  "OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS",
                                         "GOTO_NUM_THREADS", "MKL_NUM_THREADS",  "BLIS_NUM_THREADS"};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        unsetenv(limits[i]);
    }
}

void reset_settings(void) {
    bp__settings_reset();
    bp__warning_reset();
    bp__intern_reset();
    bp__error_reset();
}

int enter_environment(void **state) {
    (void)state;
    umask(022);
    strcpy(folder, "/tmp/backplane-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(system_path, sizeof system_path, "%s/system.conf", folder);
    snprintf(user_path, sizeof user_path, "%s/backplane/backplane.conf", folder);
    bp__system_file = system_path;
    setenv("XDG_CONFIG_HOME", folder, 1);
    clear_variables();
    bp__setting_set_check(BP_SET_cpu_capability, NULL); /* these tests accept every capability */
    reset_settings();
    return 0;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place) {
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

int leave_environment(void **state) {
    (void)state;
    clear_variables();
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(bp__settings_held(), 0);
    reset_settings();
    assert_int_equal(bp__live_blocks(), 0);
    assert_null(bp__settings_thread.top);
    return 0;
}

void write_bytes(const char *path, const void *bytes, size_t size) {
    assert_int_equal(bp__file_replace(path, 0, bytes, size), BP_OK);
}

void write_file(const char *path, const char *text) {
    write_bytes(path, text, strlen(text));
}

char *file_text(const char *path) {
    char *bytes;
    size_t size;
    assert_int_equal(bp__file_read(path, 1 << 21, &bytes, &size), BP_OK);
    char *copy = strdup(bytes);
    bp__free(bytes);
    return copy;
}

void assert_setting(const char *name, const char *value, bp_layer layer, const char *where) {
    const char *got, *got_where;
    bp_layer got_layer;
    assert_int_equal(bp_get(name, &got, &got_layer, &got_where), BP_OK);
    if (strcmp(got, value) != 0 || got_layer != layer || strcmp(got_where, where) != 0) {
        fail_msg("%s is '%s' (%s, '%s') instead of '%s' (%s, '%s')", name, got, bp_layer_name(got_layer), got_where,
                 value, bp_layer_name(layer), where);
    }
}

int problem_count(void) {
    int count = 0;
    while (bp_config_error_at(count)) {
        count++;
    }
    return count;
}

/* Words: the first and the last that are not the default; if there is only one other, the default is the second. */
static void sample_words(const bp__setting_entry *row, sample *out) {
    for (int i = 0; i < row->word_count; i++) {
        if (strcmp(row->words[i], row->info.default_text) != 0) {
            strcpy(*out->one ? out->two : out->one, row->words[i]);
        }
    }
    if (!*out->two) {
        strcpy(out->two, row->info.default_text);
    }
}

sample sample_of(const bp_setting_info *info) {
    const bp__setting_entry *row = bp__table_at((bp_setting_id)bp_setting_find(info->name));
    sample out = {"", "", "no such value"};
    switch (info->type) {
    case BP_SETTING_BOOL:
        strcpy(out.one, strcmp(info->default_text, "true") == 0 ? "false" : "true");
        strcpy(out.two, info->default_text);
        break;
    case BP_SETTING_INT:
        snprintf(out.one, sizeof out.one, "%lld", (long long)row->least + 1);
        snprintf(out.two, sizeof out.two, "%lld", (long long)row->most);
        snprintf(out.bad, sizeof out.bad, "%lld", (long long)row->most + 1);
        break;
    case BP_SETTING_ENUM:
        sample_words(row, &out);
        break;
    case BP_SETTING_TEXT:
        strcpy(out.one, *info->allowed ? "math" : "/some/where");
        strcpy(out.two, *info->allowed ? "flash" : "else=x y");
        strcpy(out.bad, "bell\a");
        break;
    }
    return out;
}

void failing_allocator(int n, bool once) {
    test_fail_allocations(n, once);
    assert_int_equal(bp_set_allocator(&test_failing_allocator), BP_OK);
}

void calm_allocator(void) {
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
}
