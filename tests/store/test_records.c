/* test_records.c - tests files of records: values come back, damage, other processes, limits, clocks. */
#define _GNU_SOURCE
#include "base/support_base.h"

#include "settings/internal.h"
#include "settings/private.h"
#include "store/place.h"
#include "store/store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[64], path[128];

static int setup(void **state) {
    (void)state;
    umask(022);
    make_folder(folder);
    snprintf(path, sizeof path, "%s/records.txt", folder);
    setenv("BACKPLANE_CACHE_DIR", folder, 1);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    remove_folder(folder);
    bp__settings_reset();
    assert_all_freed();
    return 0;
}

static bp_status put(const char *key, const char *value) {
    const bp__store_record record = {.key = key, .value = value};
    return bp__store_put("records.txt", &record, 1);
}

static bp__store *opened(void) {
    bp__store *store;
    assert_int_equal(bp__store_open(&store, "records.txt"), BP_OK);
    return store;
}

static void assert_value(const char *key, const char *expected) {
    bp__store *store = opened();
    const char *value = bp__store_find(store, key, NULL);
    if (expected) {
        assert_non_null(value);
        assert_string_equal(value, expected);
    } else {
        assert_null(value);
    }
    bp__store_close(store);
}

static bool count_one(void *user, const bp__store_record *record) {
    (void)record;
    ++*(int *)user;
    return true;
}

static int record_count(void) {
    int count = 0;
    bp__store *store = opened();
    bp__store_visit(store, count_one, &count);
    bp__store_close(store);
    return count;
}

static int warnings;
static char last_warning[1024];

static void on_warning(void *user, const char *text) {
    (void)user;
    warnings++;
    bp__copy_text(last_warning, sizeof last_warning, text);
}

static void write_file(const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void read_file(char *text, size_t size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void records_come_back(void **state) {
    (void)state;
    int64_t before = (int64_t)time(NULL), written = 0;
    assert_value("a", NULL); /* no file yet */
    assert_int_equal(put("a", "1"), BP_OK);
    assert_int_equal(put("key with\ttab, line\nend and \\n", "value\twith\nall\\"), BP_OK);
    assert_int_equal(put("a", ""), BP_OK); /* replaced */
    assert_value("a", "");
    assert_value("key with\ttab, line\nend and \\n", "value\twith\nall\\");
    assert_value("key", NULL);
    assert_value("", NULL);
    assert_int_equal(record_count(), 2);
    bp__store *store = opened();
    assert_non_null(bp__store_find(store, "a", &written));
    assert_true(written >= before && written <= (int64_t)time(NULL));
    assert_int_equal(put("a", NULL), BP_OK); /* removed from the file, not from the snapshot */
    assert_non_null(bp__store_find(store, "a", NULL));
    bp__store_close(store);
    assert_value("a", NULL);
    assert_int_equal(record_count(), 1);
}

static void several_at_once_and_other_paths(void **state) {
    (void)state;
    char other[192];
    bp__store *store;
    const bp__store_record rows[] = {{"a", "1", 7}, {"b", "2", 0}, {"c", NULL, 0}};
    snprintf(other, sizeof other, "%s/deep/other.txt", folder);
    assert_int_equal(put("a", "elsewhere"), BP_OK);
    assert_int_equal(bp__store_put(other, rows, 3), BP_OK);
    assert_int_equal(bp__store_open(&store, other), BP_OK);
    int64_t written;
    assert_string_equal(bp__store_find(store, "a", &written), "1");
    assert_int_equal(written, 7);
    assert_string_equal(bp__store_find(store, "b", NULL), "2");
    assert_null(bp__store_find(store, "c", NULL));
    bp__store_close(store);
    assert_value("a", "elsewhere");
}

/* A changed byte makes its own record unusable, and no other. One warning tells how many. */
static void damaged_lines_are_ignored(void **state) {
    (void)state;
    assert_int_equal(put("first", "1"), BP_OK);
    assert_int_equal(put("second", "2"), BP_OK);
    assert_int_equal(put("third", "3"), BP_OK);
    char text[1024];
    read_file(text, sizeof text);
    char *line = strstr(text, "second"), *next = strstr(text, "third");
    assert_non_null(line);
    assert_non_null(next);
    bp_set_warning_handler(on_warning, NULL);
    for (char *at = line; at < next - 1; at++) {
        char good = *at;
        *at ^= 1;
        write_file(text);
        bp__warning_reset();
        warnings = 0;
        assert_value("first", "1");
        assert_value("second", NULL);
        assert_value("third", "3");
        assert_int_equal(warnings, 1); /* of three snapshots */
        assert_contains(last_warning, "1 damaged line is ignored");
        *at = good;
    }
    text[strlen(text) - 1] = '\0'; /* a line without its end */
    write_file(text);
    assert_value("third", NULL);
    assert_value("second", "2");
    assert_int_equal(put("fourth", "4"), BP_OK); /* damaged lines are gone after a write */
    warnings = 0;
    bp__warning_reset();
    assert_int_equal(record_count(), 3);
    assert_int_equal(warnings, 0);
    bp_set_warning_handler(NULL, NULL);
}

static void other_formats_give_no_records(void **state) {
    (void)state;
    bp_set_warning_handler(on_warning, NULL);
    warnings = 0;
    write_file("backplane-records 99\nof another version\n");
    assert_int_equal(record_count(), 0);
    assert_int_equal(warnings, 0);
    write_file("something else\n");
    assert_int_equal(record_count(), 0);
    assert_int_equal(warnings, 1);
    assert_contains(last_warning, "does not begin with");
    write_file("");
    assert_int_equal(record_count(), 0);
    assert_int_equal(warnings, 1);
    assert_int_equal(put("a", "1"), BP_OK);
    assert_value("a", "1");
    chmod(path, 0666); /* others may change it: neither read nor written */
    assert_int_equal(record_count(), 0);
    assert_int_equal(warnings, 2);
    assert_int_equal(put("b", "2"), BP_E_UNTRUSTED);
    chmod(path, 0600);
    assert_value("a", "1");
    assert_value("b", NULL);
    bp_set_warning_handler(NULL, NULL);
}

static char large[BP__STORE_MOST + 1];

/* The first records of the file are dropped, whatever their times say. */
static void a_file_stays_below_its_limit(void **state) {
    (void)state;
    enum { COUNT = 40 };
    struct stat facts;
    char key[16];
    bp__store_record rows[COUNT];
    char keys[COUNT][16];
    memset(large, 'x', sizeof large - 1);
    large[BP__STORE_MOST / COUNT] = '\0';
    for (int i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof keys[i], "%d", i);
        rows[i] = (bp__store_record){.key = keys[i], .value = large, .written_s = 1000000 - i};
    }
    assert_int_equal(bp__store_put("records.txt", rows, COUNT - 2), BP_OK);
    assert_int_equal(record_count(), COUNT - 2);
    assert_int_equal(bp__store_put("records.txt", rows + COUNT - 2, 2), BP_OK);
    assert_int_equal(stat(path, &facts), 0);
    assert_true((size_t)facts.st_size <= BP__STORE_MOST);
    assert_int_equal(record_count(), COUNT - 1);
    assert_value("0", NULL);
    snprintf(key, sizeof key, "%d", COUNT - 1);
    bp__store *store = opened();
    assert_non_null(bp__store_find(store, key, NULL));
    bp__store_close(store);
    memset(large, 'x', sizeof large - 1); /* one that fits no file */
    assert_int_equal(put("huge", large), BP_E_OVERFLOW);
    assert_int_equal(record_count(), COUNT - 1);
}

/* A record of the future, from a clock that was wrong, neither protects itself nor hides a later one. */
static void a_clock_may_jump(void **state) {
    (void)state;
    const bp__store_record future = {"a", "early", INT64_MAX};
    int64_t written;
    assert_int_equal(bp__store_put("records.txt", &future, 1), BP_OK);
    assert_int_equal(put("a", "late"), BP_OK);
    bp__store *store = opened();
    assert_string_equal(bp__store_find(store, "a", &written), "late");
    assert_true(written < INT64_MAX);
    bp__store_close(store);
}

/* ---- Other processes ---- */

static int exit_of_child(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/* Starts a process that puts `times` records, each again until no other process holds the lock. */
static pid_t start_writer(char name, int times) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (int i = 0; i < times; i++) {
            char key[32];
            bp_status status;
            snprintf(key, sizeof key, "%c%d", name, i);
            while ((status = put(key, key)) == BP_E_BUSY) {
            }
            if (status != BP_OK) {
                _exit(1);
            }
        }
        _exit(0);
    }
    return child;
}

static void no_record_of_several_processes_is_lost(void **state) {
    (void)state;
    enum { WRITERS = 3, TIMES = 60 };
    pid_t writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = start_writer((char)('a' + i), TIMES);
    }
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(exit_of_child(writers[i]), 0);
    }
    assert_int_equal(record_count(), WRITERS * TIMES);
    assert_value("b17", "b17");
}

/* A process that is killed at any time leaves a file whose records are whole, and no lock. */
static void a_killed_process_leaves_whole_records(void **state) {
    (void)state;
    enum { TRIALS = 30 };
    assert_int_equal(put("kept", "1"), BP_OK);
    bp_set_warning_handler(on_warning, NULL);
    warnings = 0;
    for (int i = 0; i < TRIALS; i++) {
        pid_t child = start_writer('k', 1000000);
        const struct timespec pause = {.tv_nsec = 1000000 + i * 317000};
        nanosleep(&pause, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_value("kept", "1");
    }
    assert_int_equal(put("after", "2"), BP_OK);
    assert_value("after", "2");
    assert_int_equal(warnings, 0);
    bp_set_warning_handler(NULL, NULL);
}

static void a_held_lock_is_reported(void **state) {
    (void)state;
    int wait[2], ready[2], lock;
    char byte = 0;
    assert_int_equal(pipe(wait), 0);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        close(wait[1]); /* the child also ends when the test fails */
        _exit(bp__file_lock(path, 0, 0, &lock) == BP_OK && write(ready[1], &byte, 1) == 1 &&
                      read(wait[0], &byte, 1) == 1
                  ? 0
                  : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(bp__file_lock(path, 0, 0, &lock), BP_E_BUSY);
    assert_int_equal(put("a", "1"), BP_E_BUSY);
    assert_contains(bp_last_error(), "another process");
    assert_int_equal(write(wait[1], &byte, 1), 1);
    assert_int_equal(exit_of_child(child), 0);
    assert_int_equal(put("a", "1"), BP_OK);
    close(wait[0]), close(wait[1]), close(ready[0]), close(ready[1]);
}

/* ---- Files that cannot be written ---- */

static int put_beyond_a_limit(void) {
    const struct rlimit limit = {256, 256};
    memset(large, 'x', 1000);
    large[1000] = '\0';
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 && put("b", large) == BP_E_IO && put("b", "small") == BP_OK ? 0 : 1;
}

static int put_on_a_full_disk(void) {
    if (!enter_namespace(CLONE_NEWNS, geteuid(), getegid()) || mount("none", folder, "tmpfs", 0, "size=16k") != 0) {
        return 77;
    }
    memset(large, 'x', 100000);
    large[100000] = '\0';
    bool good = put("a", "1") == BP_OK && put("b", large) == BP_E_IO && record_count() == 1;
    return good ? 0 : 1;
}

static int put_where_nothing_can_be_written(void) {
    if (!enter_namespace(CLONE_NEWNS, geteuid(), getegid()) || mount("none", folder, "tmpfs", MS_RDONLY, "") != 0) {
        return 77;
    }
    return put("a", "1") == BP_E_IO && record_count() == 0 ? 0 : 1;
}

static int in_child(int (*body)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(body());
    }
    return exit_of_child(child);
}

static void failed_writes_leave_the_file(void **state) {
    (void)state;
    assert_int_equal(put("a", "1"), BP_OK);
    assert_int_equal(in_child(put_beyond_a_limit), 0);
    assert_value("a", "1");
    assert_value("b", "small");
    int full = in_child(put_on_a_full_disk), read_only = in_child(put_where_nothing_can_be_written);
    if (full == 77 || read_only == 77) {
        print_message("not tested: a user namespace in which to mount a disk is not permitted here\n");
    } else {
        assert_int_equal(full, 0);
        assert_int_equal(read_only, 0);
    }
}

/* Without a home directory there is no file: reading finds nothing, writing is an error. */
static void there_may_be_no_cache_directory(void **state) {
    (void)state;
    char home[512] = "";
    bp__copy_text(home, sizeof home, getenv("HOME") ? getenv("HOME") : "");
    unsetenv("BACKPLANE_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/nonexistent", 1);
    bp__settings_reset();
    assert_int_equal(record_count(), 0);
    assert_int_equal(put("a", "1"), BP_E_NOT_FOUND);
    assert_contains(bp_last_error(), "registry.cache_dir");
    setenv("HOME", home, 1);
}

static void allocations_may_fail(void **state) {
    (void)state;
    assert_int_equal(put("a", "1"), BP_OK);
    bp__settings_reset();
    bp__intern_reset();
    bp__error_reset();
    bp_status status = BP_E_NO_MEMORY;
    for (int i = 0; status == BP_E_NO_MEMORY; i++) {
        bp__store *store = NULL;
        assert_true(i < 200);
        failing_allocator(i);
        status = bp__store_open(&store, path);
        status = status == BP_OK ? bp__store_put(path, &(bp__store_record){"b", "2", 0}, 1) : status;
        bp__store_close(store);
        bp__settings_reset();
        bp__intern_reset();
        bp__error_reset();
        bp__warning_reset();
        calm_allocator();
        assert_value("a", "1");
        bp__settings_reset();
        bp__intern_reset();
    }
    assert_int_equal(status, BP_OK);
    assert_value("b", "2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(several_at_once_and_other_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(damaged_lines_are_ignored, setup, teardown),
        cmocka_unit_test_setup_teardown(other_formats_give_no_records, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_stays_below_its_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(a_clock_may_jump, setup, teardown),
        cmocka_unit_test_setup_teardown(no_record_of_several_processes_is_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(a_killed_process_leaves_whole_records, setup, teardown),
        cmocka_unit_test_setup_teardown(a_held_lock_is_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_writes_leave_the_file, setup, teardown),
        cmocka_unit_test_setup_teardown(there_may_be_no_cache_directory, setup, teardown),
        cmocka_unit_test_setup_teardown(allocations_may_fail, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
