/* test_store.c - stored probe results: hits, misses for every part of the key, damage, modes, and what must not be
 * kept. */
#include "registry/support_registry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "registry/store.h"

static const char *folder;
static char library[4352], cache[4352], store[4608];

static int make(void **state) {
    (void)state;
    char path[4096];
    unsetenv("OPENBLAS_CORETYPE"); /* a part of the key that a test changes */
    snprintf(path, sizeof path, "%s", make_folder());
    folder = strdup(path);
    snprintf(library, sizeof library, "%s/libplain.so", folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(store, sizeof store, "%s/libraries.txt", cache);
    copy_file(DOUBLES "/plain/libplain.so", library);
    return 0;
}

static int forget(void **state) {
    (void)state;
    forget_folder(folder);
    free((void *)(uintptr_t)folder);
    return bp_reset() != BP_OK || bp__live_blocks() != 0;
}

/* Lists anew and says whether the library was probed (1) or taken from the store (0). */
static int was_probed(void) {
    restart(library, cache);
    bp_library_info row = only_row();
    assert_int_equal(row.state, BP_LIBRARY_OK);
    assert_int_equal(row.int_bits, 32);
    assert_string_equal(row.complex_return, "register");
    assert_non_null(strstr(row.learned, "int_bits: isamax"));
    return row.probe_ms > 0;
}

static void test_hit(void **state) {
    (void)state;
    assert_int_equal(was_probed(), 1);
    assert_int_equal(was_probed(), 0);
    assert_int_equal(bp_libraries_refresh(0), BP_OK);
    assert_true(only_row().probe_ms == 0);
    assert_int_equal(bp_libraries_refresh(1), BP_OK);
    assert_true(only_row().probe_ms > 0);
}

static void test_each_part_of_the_key(void **state) {
    (void)state;
    struct stat facts;
    assert_int_equal(was_probed(), 1);
    struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, library, times, 0), 0); /* modification time */
    assert_int_equal(was_probed(), 1);
    assert_int_equal(was_probed(), 0);
    setenv("OPENBLAS_CORETYPE", "Testbridge", 1); /* environment that chooses kernels */
    assert_int_equal(was_probed(), 1);
    assert_int_equal(was_probed(), 0);
    unsetenv("OPENBLAS_CORETYPE"); /* what was learned without it is still there */
    assert_int_equal(was_probed(), 0);
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "60000", 1);
    assert_int_equal(was_probed(), 1);
    unsetenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT");
    remove(library); /* another inode */
    copy_file(DOUBLES "/plain/libplain.so", library);
    assert_int_equal(utimensat(AT_FDCWD, library, times, 0), 0);
    assert_int_equal(was_probed(), 1);
    assert_int_equal(stat(library, &facts), 0);
    assert_int_equal(truncate(library, facts.st_size + 8), 0); /* size */
    assert_int_equal(utimensat(AT_FDCWD, library, times, 0), 0);
    assert_int_equal(was_probed(), 1);
}

/* Another library written into the same file, with its old size and times: only the change time and the build-id tell.
 */
static void test_content_replaced_in_place(void **state) {
    (void)state;
    struct stat facts;
    assert_int_equal(was_probed(), 1);
    assert_int_equal(stat(library, &facts), 0);
    copy_file(DOUBLES "/f2c/libf2c.so", library);
    assert_int_equal(truncate(library, facts.st_size), 0);
    struct timespec times[2] = {facts.st_atim, facts.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, library, times, 0), 0);
    restart(library, cache);
    assert_true(only_row().probe_ms > 0);
}

static char *read_store(size_t *size) {
    char *bytes;
    assert_int_equal(bp__file_read(store, 1 << 22, &bytes, size), BP_OK);
    return bytes;
}

static void write_store(const char *bytes, size_t size) {
    FILE *file = fopen(store, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Any changed byte costs at most the entry: the result is the same, and never a crash. */
static void test_damage(void **state) {
    (void)state;
    size_t size;
    assert_int_equal(was_probed(), 1);
    char *bytes = read_store(&size);
    char *copy = malloc(size);
    memcpy(copy, bytes, size);
    bp__free(bytes);
    int probed = 0, rounds = 0;
    for (size_t at = 0; at < size; at += 37, rounds++) {
        copy[at] ^= 4;
        write_store(copy, size);
        copy[at] ^= 4;
        probed += was_probed();
    }
    assert_true(probed > rounds * 9 / 10);
    for (size_t length = 0; length < size - 1; length += 101) {
        write_store(copy, length);
        assert_int_equal(was_probed(), 1);
    }
    write_store("backplane-libraries 2\n", 22);
    assert_int_equal(was_probed(), 1);
    free(copy);
}

static void test_tampering_is_refused(void **state) {
    (void)state;
    char warning[512];
    struct stat before, after;
    assert_int_equal(was_probed(), 1);
    assert_int_equal(chmod(store, 0666), 0);
    assert_int_equal(stat(store, &before), 0);
    assert_int_equal(was_probed(), 1);
    assert_int_equal(bp_warning_at(0, warning, sizeof warning), 1);
    assert_non_null(strstr(warning, "stored probe results are not used"));
    assert_int_equal(was_probed(), 1);
    assert_int_equal(stat(store, &after), 0); /* nor is anything written there */
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(chmod(store, 0600), 0);
    assert_int_equal(was_probed(), 0);
}

static void test_modes(void **state) {
    (void)state;
    restart(library, cache);
    setenv("BACKPLANE_REGISTRY_CACHE", "read-only", 1);
    assert_int_equal(bp_reset(), BP_OK);
    assert_true(only_row().probe_ms > 0);
    assert_int_not_equal(access(cache, F_OK), 0);
    setenv("BACKPLANE_REGISTRY_CACHE", "off", 1);
    assert_int_equal(bp_reset(), BP_OK);
    assert_true(only_row().probe_ms > 0);
    assert_int_not_equal(access(cache, F_OK), 0);
    assert_int_equal(was_probed(), 1);
    setenv("BACKPLANE_REGISTRY_CACHE", "read-only", 1);
    assert_int_equal(bp_reset(), BP_OK);
    assert_true(only_row().probe_ms == 0);
}

static void test_unwritable_folder_is_a_warning(void **state) {
    (void)state;
    char warning[512];
    restart(library, "/proc/nonexistent");
    assert_true(only_row().probe_ms > 0);
    assert_int_equal(bp_warning_at(0, warning, sizeof warning), 1);
    assert_non_null(strstr(warning, "could not be stored"));
}

static void test_broken_is_remembered(void **state) {
    (void)state;
    copy_file(DOUBLES "/crash/libcrash.so", library);
    for (int round = 0; round < 2; round++) {
        restart(library, cache);
        bp_library_info row = only_row();
        assert_int_equal(row.state, BP_LIBRARY_BROKEN);
        assert_string_equal(row.reason, "SIGILL in probe, while it was loaded");
        assert_int_equal(row.probe_ms > 0, round == 0);
    }
}

static void test_other_entries_stay(void **state) {
    (void)state;
    assert_int_equal(was_probed(), 1);
    restart(DOUBLES "/wide", cache);
    assert_true(only_row().probe_ms > 0);
    assert_int_equal(was_probed(), 0);
    restart(DOUBLES "/wide", cache);
    assert_true(only_row().probe_ms == 0);
}

static void test_hostile_text(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "backplane-libraries 1\n",
        "backplane-libraries 1\nfile\n",
        "backplane-libraries 1\nfile 1 2 3 4 5 6 7 8",
        "backplane-libraries 1\nfile 1 2 3 4 5 6 7 8 /x\n\tfamily",
        "backplane-libraries 1\nfile -1 2 3 4 5 6 7 8 /x\n",
        "backplane-libraries 1\nfile 99999999999999999999999 2 3 4 5 6 7 8 /x\n\t\n\t\n",
        "backplane-libraries 1\n\tfamily x\n\n\n\nfile file file\nfile 1 2 3 4 5 zz 7 8 /x\n",
    };
    for (int i = 0; i < BP__COUNT(texts); i++) {
        bp__store read = {0};
        char text[512];
        snprintf(text, sizeof text, "%s", texts[i]);
        assert_int_equal(bp__store_parse(&read, text), i == 0 ? BP_E_FORMAT : BP_OK);
        assert_int_equal(read.count, 0);
        bp__store_close(&read);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hit, make, forget),
        cmocka_unit_test_setup_teardown(test_each_part_of_the_key, make, forget),
        cmocka_unit_test_setup_teardown(test_content_replaced_in_place, make, forget),
        cmocka_unit_test_setup_teardown(test_damage, make, forget),
        cmocka_unit_test_setup_teardown(test_tampering_is_refused, make, forget),
        cmocka_unit_test_setup_teardown(test_modes, make, forget),
        cmocka_unit_test_setup_teardown(test_unwritable_folder_is_a_warning, make, forget),
        cmocka_unit_test_setup_teardown(test_broken_is_remembered, make, forget),
        cmocka_unit_test_setup_teardown(test_other_entries_stay, make, forget),
        cmocka_unit_test_setup_teardown(test_hostile_text, make, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
