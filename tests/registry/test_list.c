/* test_list.c - tests the whole list: copies and links, trust, ids and lookups, absent names, refresh, and opening. */
#include "registry/support_registry.h"

#include "backplane.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder;

static int make(void **state) {
    (void)state;
    folder = make_folder();
    char path[4096];
    snprintf(path, sizeof path, "%s", folder);
    folder = strdup(path); /* outlives the texts that a reset frees */
    return 0;
}

static int forget(void **state) {
    (void)state;
    forget_folder(folder);
    free((void *)(uintptr_t)folder);
    return bp_reset() != BP_OK || bp__live_blocks() != 0;
}

static const char *in_folder(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *fake_name, const char *name) {
    char from[4096], to[4096];
    snprintf(from, sizeof from, "%s/%s/lib%s.so", FAKES, fake_name, fake_name);
    snprintf(to, sizeof to, "%s/%s", folder, name);
    copy_file(from, to);
}

/* Every test area finds the libraries of .venv, however the tests are started. Must run first, in the environment set
 * by ctest. */
static void test_the_virtual_environment_is_searched(void **state) {
    (void)state;
    const char *place, *outcome, *expected = BP_TEST_SOURCE_DIR "/.venv";
    bool searched = false;
    assert_non_null(getenv("VIRTUAL_ENV"));
    assert_string_equal(getenv("VIRTUAL_ENV"), expected);
    for (int i = 0; bp_search_location_at(i, &place, &outcome); i++) {
        searched = searched || strstr(place, expected);
    }
    assert_true(searched);
}

/* Its kernels and threads are its BLAS's, which it may reach through a library that only forwards. Must run second. */
static void test_another_process_describes_a_lapack_equally(void **state) {
    (void)state;
    enum { MOST = 16 };
    static char paths[MOST][3 * 4096], expected[MOST][256], found[256];
    bp_library_info row = {.struct_size = sizeof row};
    int count = 0;
    for (int i = 0; bp_library_at(i, &row) && count < MOST; i++) {
        if (*row.blas && row.state == BP_LIBRARY_OK) {
            snprintf(expected[count], sizeof expected[count], "%s %s %s", row.path, row.kernels, row.threading);
            bp__library_write_paths(&row, paths[count++], sizeof paths[0]);
        }
    }
    for (int i = 0; i < count; i++) {
        restart(paths[i], NULL);
        paths[i][strcspn(paths[i], ":")] = '\0';
        assert_int_equal(bp_library_find(paths[i], &row), BP_OK);
        snprintf(found, sizeof found, "%s %s %s", row.path, row.kernels, row.threading);
        assert_string_equal(found, expected[i]);
    }
    if (count == 0) {
        skip(); /* each LAPACK of this machine has a BLAS of its own */
    }
}

static void test_links_and_copies_are_one_entry(void **state) {
    (void)state;
    put("plain", "libplain.so.1.2");
    put("plain", "copy.so");
    assert_int_equal(symlink("libplain.so.1.2", in_folder("libplain.so")), 0);
    char twin[4096];
    snprintf(twin, sizeof twin, "%s", in_folder("twin.so"));
    assert_int_equal(link(in_folder("libplain.so.1.2"), twin), 0);
    restart(folder, NULL);
    bp_library_info row = only_row();
    int lines = 1;
    for (const char *c = row.aliases; *c; c++) {
        lines += *c == '\n';
    }
    assert_int_equal(lines, 3);
    assert_non_null(strstr(row.aliases, "/libplain.so"));
    assert_int_equal(bp_library_find(in_folder("libplain.so"), &row), BP_OK);
    assert_int_equal(bp_library_find(twin, &row), BP_OK);
}

static void test_a_path_twice_is_searched_once(void **state) {
    (void)state;
    char list[8192];
    const char *place, *outcome;
    put("plain", "libplain.so");
    snprintf(list, sizeof list, "%s:%s/.:/proc/none::%s/libplain.so", folder, folder, folder);
    restart(list, NULL);
    only_row();
    assert_int_equal(bp_search_location_at(0, &place, &outcome), 1);
    assert_string_equal(place, folder);
    assert_string_equal(outcome, "1 library");
    assert_int_equal(bp_search_location_at(1, &place, &outcome), 1);
    assert_string_equal(outcome, "searched already");
    assert_int_equal(bp_search_location_at(2, &place, &outcome), 1);
    assert_string_equal(outcome, "no such directory");
    assert_int_equal(bp_search_location_at(3, &place, &outcome), 1);
    assert_string_equal(outcome, "1 library");
    assert_int_equal(bp_search_location_at(4, &place, &outcome), 0);
    assert_int_equal(bp_search_location_at(-1, &place, &outcome), 0);
}

static void test_world_writable_is_refused(void **state) {
    (void)state;
    void *handle = &handle;
    put("print", "libprint.so");
    assert_int_equal(chmod(in_folder("libprint.so"), 0777), 0);
    restart(folder, NULL);
    bp_library_info row = only_row();
    assert_int_equal(row.state, BP_LIBRARY_UNTRUSTED);
    assert_string_equal(row.id, "untrusted");
    assert_int_equal(row.kinds, 0);
    assert_non_null(strstr(row.reason, "everyone can write to it"));
    assert_int_equal(bp__library_open(bp__library_lookup("untrusted"), &handle), BP_E_UNTRUSTED);
    assert_null(handle);
}

static void test_foreign_owner_is_refused(void **state) {
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can give a file to another user\n");
        skip();
    }
    put("plain", "libplain.so");
    assert_int_equal(chown(in_folder("libplain.so"), 12345, 12345), 0);
    restart(folder, NULL);
    bp_library_info row = only_row();
    assert_int_equal(row.state, BP_LIBRARY_UNTRUSTED);
    assert_non_null(strstr(row.reason, "belongs to user 12345"));
}

static void test_writable_folder_is_refused(void **state) {
    (void)state;
    put("plain", "libplain.so");
    assert_int_equal(chmod(folder, 0777), 0);
    restart(folder, NULL);
    assert_int_equal(only_row().state, BP_LIBRARY_UNTRUSTED);
}

static void test_other_files_are_ignored(void **state) {
    (void)state;
    FILE *file = fopen(in_folder("libtext.so"), "w");
    assert_non_null(file);
    fputs("INPUT(libblas.so.3)\n", file);
    fclose(file);
    file = fopen(in_folder("libempty.so"), "w");
    fclose(file);
    assert_int_equal(mkfifo(in_folder("libpipe.so"), 0600), 0);
    assert_int_equal(mkdir(in_folder("libfolder.so"), 0700), 0);
    assert_int_equal(symlink("nowhere", in_folder("libgone.so")), 0);
    put("plain", "libplain.so");
    put("wide", "plain.so.debug");
    restart(folder, NULL);
    assert_non_null(strstr(only_row().path, "/libplain.so"));
}

static void test_ids_and_order(void **state) {
    (void)state;
    static const char *const expected[] = {"openblas",      "blas",          "blas-serial", "blas64",
                                           "blas64-serial", "blas-serial-2", "native"};
    int count = 0;
    put("marked", "z.so");
    put("plain", "b.so");
    put("f2c", "a.so");
    put("wide", "c.so");
    put("suffixed", "d.so");
    put("crash", "0.so");
    for (int round = 0; round < 2; round++) {
        restart(folder, NULL);
        assert_int_equal(bp_library_count(&count), BP_OK);
        assert_int_equal(count, BP__COUNT(expected));
        for (int i = 0; i < count; i++) {
            bp_library_info row = {.struct_size = sizeof row};
            assert_int_equal(bp_library_at(i, &row), 1);
            assert_string_equal(row.id, expected[i]);
            assert_int_equal(bp_library_find(row.id, &row), BP_OK);
            assert_string_equal(row.id, expected[i]);
        }
    }
    bp_library_info row = {.struct_size = sizeof row};
    assert_int_equal(bp_library_find("unknown", &row), BP_OK); /* the family: its best member */
    assert_string_equal(row.id, "blas");
    assert_int_equal(bp_library_find("libwide.so", &row), BP_OK); /* the SONAME */
    assert_string_equal(row.id, "blas64");
}

static void test_absent_lists_locations_reasons_and_package(void **state) {
    (void)state;
    bp_library_info row = {.struct_size = sizeof row};
    put("crash", "libcrash.so");
    char list[8192];
    snprintf(list, sizeof list, "%s:/proc/none", folder);
    restart(list, NULL);
    assert_int_equal(bp_library_find("openblas-openmp", &row), BP_E_NOT_FOUND);
    const char *sentence = bp_last_error();
    assert_non_null(strstr(sentence, "no library 'openblas-openmp' was found"));
    assert_non_null(strstr(sentence, "libopenblas0-pthread"));
    assert_non_null(strstr(sentence, "`backplane list --all` shows the 2 locations that were searched"));
    assert_null(strstr(sentence, "/proc/none"));
    const char *place, *outcome;
    assert_int_equal(bp_search_location_at(0, &place, &outcome), 1);
    assert_string_equal(place, folder);
    assert_int_equal(bp_search_location_at(1, &place, &outcome), 1);
    assert_string_equal(place, "/proc/none");
    assert_string_equal(outcome, "no such directory");
    assert_int_equal(bp_library_find("libcrash2", &row), BP_E_NOT_FOUND);
    assert_non_null(strstr(bp_last_error(), "'blas' is broken"));
    assert_non_null(strstr(bp_last_error(), "SIGILL in probe"));
    assert_int_equal(bp_library_find("blass", &row), BP_E_NOT_FOUND);
    assert_non_null(strstr(bp_last_error(), "did you mean 'blas'"));
    restart(NULL, NULL);
    assert_int_equal(bp_library_find("mkl", &row), BP_E_NOT_FOUND);
    assert_non_null(strstr(bp_last_error(), "registry.system is false"));
}

/* The message describes what exists under the name, and suggests no similar names. */
static void expect_absence(const char *name, const char *first, const char *second) {
    assert_int_equal(bp__library_absent(name), BP_E_NOT_FOUND);
    const char *sentence = bp_last_error();
    if (!strstr(sentence, first) || !strstr(sentence, second) || strstr(sentence, "did you mean") ||
        strstr(sentence, "was found")) {
        fail_msg("%s: %s", name, sentence);
    }
}

static void test_absent_describes_an_existing_entry(void **state) {
    (void)state;
    char path[600], text[700], other[600];
    put("crash", "libcrash.so");
    copy_file(FAKES "/openmp/libgomp.so", in_folder("libgomp.so.1"));
    put("plain", "libplain.so");
    put("wide", "libother.so");
    snprintf(other, sizeof other, "%s/libother.so", folder);
    assert_int_equal(chmod(other, 0777), 0);
    restart(folder, NULL);
    expect_absence("libcrash.so", "(", "cannot be used, it is broken: SIGILL in probe");
    expect_absence("libgomp", "library 'libgomp' (", "is not a BLAS: it is an OpenMP runtime");
    expect_absence("untrusted", "libother.so", "cannot be used, it is untrusted: ");
    expect_absence("blas", "library 'blas' (", "is listed and works");
    snprintf(path, sizeof path, "%s/absent.so", folder);
    snprintf(text, sizeof text, "file '%s' does not exist", path);
    expect_absence(path, text, "");
    snprintf(path, sizeof path, "%s/linked", folder);
    snprintf(text, sizeof text, "%s/libplain.so", folder);
    assert_int_equal(symlink(text, path), 0);
    expect_absence(path, "resolves to ", "library 'blas' (");
    assert_int_equal(unlink(path), 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("text", file);
    fclose(file);
    expect_absence(path, "file '", "is not a loadable library: ");
    assert_int_equal(chmod(path, 0777), 0);
    expect_absence(path, "file '", "chmod go-w");
    expect_absence(folder, "' is not a file", "");
    expect_absence("./libplain.so", "is a relative path", "");
    expect_absence("/proc/self/exe", "exports no BLAS symbols", "");
    assert_int_equal(unlink(path), 0);
}

static void test_arguments(void **state) {
    (void)state;
    int count;
    bp_library_info row = {.struct_size = sizeof row};
    restart(NULL, NULL);
    assert_int_equal(bp_library_count(NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_library_count(&count), BP_OK);
    assert_int_equal(count, 1);
    assert_int_equal(bp_library_at(-1, &row), 0);
    assert_int_equal(bp_library_at(1, &row), 0);
    assert_int_equal(bp_library_at(0, NULL), 0);
    row.struct_size = 8;
    assert_int_equal(bp_library_at(0, &row), 0);
    assert_int_equal(bp_library_find(NULL, &row), BP_E_ARGUMENT);
    assert_int_equal(bp_library_find("", &row), BP_E_ARGUMENT);
    row.struct_size = sizeof row;
    assert_int_equal(bp_library_find("native", &row), BP_OK);
    assert_int_equal(row.kinds, BP_LIB_BUILTIN);
    for (bp_library_state at = BP_LIBRARY_OK; at <= BP_LIBRARY_UNPROBED; at++) {
        assert_string_not_equal(bp_library_state_name(at), "?");
    }
    assert_string_equal(bp_library_state_name((bp_library_state)77), "?");
}

static void test_refresh_keeps_old_entries(void **state) {
    (void)state;
    const bp_library_info **before, **after;
    int count;
    put("plain", "libplain.so");
    restart(folder, NULL);
    assert_int_equal(bp__libraries(BP__NEED_ALL, &before, &count), BP_OK);
    assert_int_equal(count, 2);
    put("wide", "libwide.so");
    assert_int_equal(bp_libraries_refresh(0), BP_OK);
    assert_int_equal(bp__libraries(BP__NEED_ALL, &after, &count), BP_OK);
    assert_int_equal(count, 3);
    assert_ptr_not_equal(before, after);
    assert_string_equal(before[0]->id, "blas");
    assert_ptr_equal(before[0], after[0]);
}

static void refresh(int probe_all) {
    assert_int_equal(bp_libraries_refresh(probe_all), BP_OK);
}

/* Multiplies on the listed library, so that candidates, plans and a provider hold its entry. */
static void multiply(void) {
    float a[4] = {1, 2, 3, 4}, c[4];
    bp_view view, result;
    assert_int_equal(bp_view_matrix(&view, a, BP_F32, 2, 2), BP_OK);
    assert_int_equal(bp_view_matrix(&result, c, BP_F32, 2, 2), BP_OK);
    assert_int_equal(bp_matmul(&view.tensor, &view.tensor, &result.tensor), BP_OK);
    assert_true(c[0] == 7 && c[3] == 22);
}

/* A refresh of an unchanged machine uses no memory and repeats no decision. */
static void test_refreshes_use_no_memory(void **state) {
    (void)state;
    const bp_library_info **before, **after;
    int count;
    char cache[4096];
    put("plain", "libplain.so");
    put("crash", "libcrash.so");
    snprintf(cache, sizeof cache, "%s/cache", folder);
    restart(folder, cache);
    multiply();
    assert_int_equal(bp__libraries(BP__NEED_ALL, &before, &count), BP_OK);
    refresh(1);
    refresh(0);
    multiply();
    int64_t blocks = bp__live_blocks();
    uint32_t lists = bp__library_lists();
    for (int i = 0; i < 1000; i++) {
        refresh(i % 200 == 0);
        if (i % 100 == 0) {
            multiply();
        }
    }
    assert_int_equal(bp__live_blocks(), blocks);
    assert_int_equal(bp__library_lists(), lists);
    assert_int_equal(bp__libraries(BP__NEED_ALL, &after, &count), BP_OK);
    assert_ptr_equal(before, after);
}

/* A library that needs more memory is another entry, and one that needs less at another moment is not. */
static void test_needs_at_other_moments(void **state) {
    (void)state;
    static const char *const sizes[] = {"32", "16", "64", "32"};
    const bp_library_info **list, *entry[4];
    int count;
    put("buffered", "libbuffered.so");
    restart(folder, NULL);
    for (int i = 0; i < 4; i++) {
        setenv("FAKE_MIB", sizes[i], 1);
        refresh(1);
        assert_int_equal(bp__libraries(BP__NEED_ALL, &list, &count), BP_OK);
        assert_int_equal(count, 2);
        entry[i] = list[0];
    }
    unsetenv("FAKE_MIB");
    assert_true(entry[0]->data.call >= 32 << 20 && entry[0]->data.call < 48 << 20);
    assert_ptr_equal(entry[1], entry[0]);
    assert_ptr_not_equal(entry[2], entry[0]);
    assert_true(entry[2]->data.call >= 64 << 20);
    assert_ptr_equal(entry[3], entry[2]);
}

/* A library that comes and goes uses no memory either, once it is known. */
static void test_libraries_that_come_and_go(void **state) {
    (void)state;
    int64_t blocks = 0;
    char kept[4096], away[4096], cache[4096];
    put("plain", "libplain.so");
    put("wide", "libwide.so");
    snprintf(kept, sizeof kept, "%s/libwide.so", folder);
    snprintf(away, sizeof away, "%s/gone", folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    restart(folder, cache);
    for (int i = 0; i < 40; i++) {
        bp_library_info row = {.struct_size = sizeof row};
        uint32_t lists = bp__library_lists();
        refresh(0);
        assert_int_equal(bp_library_find("blas64", &row), BP_OK);
        assert_int_equal(rename(kept, away), 0);
        refresh(0);
        assert_int_equal(bp_library_find("blas64", &row), BP_E_NOT_FOUND);
        assert_int_not_equal(bp__library_lists(), lists);
        assert_int_equal(rename(away, kept), 0);
        if (i == 1) {
            blocks = bp__live_blocks();
        }
    }
    assert_int_equal(bp__live_blocks(), blocks);
}

/* Entries and lists from before a refresh can be read after it. */
static void *read_old_entries(void *user) {
    atomic_bool *done = user;
    while (!atomic_load(done)) {
        const bp_library_info **rows;
        int count;
        assert_int_equal(bp__libraries(BP__NEED_ALL, &rows, &count), BP_OK);
        sched_yield();
        for (int i = 0; i < count; i++) {
            assert_int_not_equal(strlen(rows[i]->id) + strlen(rows[i]->fact_sources) + strlen(rows[i]->path), 0);
        }
    }
    return NULL;
}

static void test_readers_of_old_entries(void **state) {
    (void)state;
    pthread_t reader;
    atomic_bool done = false;
    char kept[4096], away[4096], cache[4096];
    put("plain", "libplain.so");
    put("wide", "libwide.so");
    snprintf(kept, sizeof kept, "%s/libwide.so", folder);
    snprintf(away, sizeof away, "%s/gone", folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    restart(folder, cache);
    assert_int_equal(pthread_create(&reader, NULL, read_old_entries, &done), 0);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(i % 2 ? rename(away, kept) : rename(kept, away), 0);
        refresh(0);
    }
    atomic_store(&done, true);
    pthread_join(reader, NULL);
}

static void test_open(void **state) {
    (void)state;
    void *handle = NULL, *again = NULL;
    put("plain", "libplain.so");
    restart(folder, NULL);
    const bp_library_info *row = bp__library_lookup("blas");
    assert_non_null(row);
    assert_false(bp__library_is_open(row));
    assert_int_equal(bp__library_open(row, &handle), BP_OK);
    assert_non_null(dlsym(handle, "dgemm_"));
    assert_null(dlsym(RTLD_DEFAULT, "cblas_dgemm")); /* its names are not visible to others */
    assert_true(bp__library_is_open(row));
    assert_int_equal(bp__library_open(row, &again), BP_OK);
    assert_ptr_equal(handle, again);
    assert_int_equal(bp_libraries_refresh(0), BP_OK);
    bp_library_info now = {.struct_size = sizeof now};
    assert_int_equal(bp_library_find("blas", &now), BP_OK);
    assert_int_equal(now.loaded, 1);
}

static void test_open_refuses(void **state) {
    (void)state;
    void *handle = &handle;
    put("crash", "libcrash.so");
    put("plain", "libplain.so");
    restart(folder, NULL);
    assert_int_equal(bp__library_open(bp__library_lookup("native"), &handle), BP_E_UNSUPPORTED);
    assert_int_equal(bp__library_open(bp__library_lookup("blas-serial"), &handle), BP_E_BROKEN);
    assert_non_null(strstr(bp_last_error(), "SIGILL in probe"));
    assert_null(handle);
    const bp_library_info *row = bp__library_lookup("blas");
    remove(row->path);
    put("f2c", "libplain.so");
    assert_int_equal(bp__library_open(row, &handle), BP_E_LOAD);
    assert_non_null(strstr(bp_last_error(), "was replaced since it was listed"));
    assert_int_equal(chmod(row->path, 0666), 0);
    assert_int_equal(bp__library_open(row, &handle), BP_E_UNTRUSTED);
    remove(row->path);
    assert_int_not_equal(bp__library_open(row, &handle), BP_OK);
    assert_null(handle);
}

static void test_second_openmp_runtime_is_warned_of(void **state) {
    (void)state;
    void *handle;
    char warning[1024];
    bp_library_info row = {.struct_size = sizeof row};
    restart(FAKES "/openmp", NULL);
    assert_int_equal(bp_library_find("blas", &row), BP_OK);
    assert_string_equal(row.threading, "libgomp");
    assert_int_equal(bp_library_find("libomp", &row), BP_OK);
    assert_int_equal(row.kinds, BP_LIB_OPENMP);
    assert_int_equal(row.state, BP_LIBRARY_UNPROBED);
    assert_non_null(dlopen(row.path, RTLD_NOW | RTLD_LOCAL));
    assert_int_equal(bp_warning_at(0, warning, sizeof warning), 0);
    assert_int_equal(bp__library_open(bp__library_lookup("blas"), &handle), BP_OK);
    assert_int_equal(bp_warning_at(0, warning, sizeof warning), 1);
    assert_non_null(strstr(warning, "second OpenMP runtime, libgomp, in addition to "));
    assert_non_null(strstr(warning, "/libomp.so"));
    assert_int_equal(bp_reset(), BP_OK); /* if its own runtime is already loaded, there is no warning */
    assert_int_equal(bp__library_open(bp__library_lookup("blas"), &handle), BP_OK);
    assert_int_equal(bp_warning_at(0, warning, sizeof warning), 0);
}

static void *list_and_find(void *user) {
    bp_library_info row = {.struct_size = sizeof row};
    int count, *failures = user;
    for (int i = 0; i < 20; i++) {
        *failures += bp_library_count(&count) != BP_OK || bp_library_find("blas", &row) != BP_OK ||
                     !bp_library_at(count - 1, &row);
        *failures += i % 10 == 0 && bp_libraries_refresh(0) != BP_OK;
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[4];
    int failures[4] = {0};
    char cache[4096];
    put("plain", "libplain.so");
    snprintf(cache, sizeof cache, "%s/cache", folder);
    restart(folder, cache);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, list_and_find, &failures[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failures[i], 0);
    }
}

static void test_this_machine(void **state) {
    (void)state;
    int count = 0, usable = 0;
    unsetenv("BACKPLANE_LIBRARY_PATH");
    restart(NULL, NULL);
    unsetenv("BACKPLANE_REGISTRY_SYSTEM");
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int i = 0; i < count; i++) {
        bp_library_info row = {.struct_size = sizeof row};
        assert_int_equal(bp_library_at(i, &row), 1);
        assert_true(row.state == BP_LIBRARY_OK || *row.reason);
        assert_true(*row.id && *row.family);
        if (row.state == BP_LIBRARY_OK && row.kinds & (BP_LIB_BLAS | BP_LIB_CBLAS)) {
            usable++;
            assert_true(row.int_bits == 32 || row.int_bits == 64);
            assert_true(row.path[0] == '/');
        }
        for (int j = 0; j < i; j++) {
            bp_library_info other = {.struct_size = sizeof other};
            assert_int_equal(bp_library_at(j, &other), 1);
            assert_string_not_equal(row.id, other.id);
        }
    }
    if (usable == 0) {
        print_message("skipped: no BLAS is installed here\n");
        skip();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_virtual_environment_is_searched),
        cmocka_unit_test(test_another_process_describes_a_lapack_equally),
        cmocka_unit_test_setup_teardown(test_links_and_copies_are_one_entry, make, forget),
        cmocka_unit_test_setup_teardown(test_a_path_twice_is_searched_once, make, forget),
        cmocka_unit_test_setup_teardown(test_world_writable_is_refused, make, forget),
        cmocka_unit_test_setup_teardown(test_foreign_owner_is_refused, make, forget),
        cmocka_unit_test_setup_teardown(test_writable_folder_is_refused, make, forget),
        cmocka_unit_test_setup_teardown(test_other_files_are_ignored, make, forget),
        cmocka_unit_test_setup_teardown(test_ids_and_order, make, forget),
        cmocka_unit_test_setup_teardown(test_absent_lists_locations_reasons_and_package, make, forget),
        cmocka_unit_test_setup_teardown(test_absent_describes_an_existing_entry, make, forget),
        cmocka_unit_test_setup_teardown(test_arguments, make, forget),
        cmocka_unit_test_setup_teardown(test_refresh_keeps_old_entries, make, forget),
        cmocka_unit_test_setup_teardown(test_refreshes_use_no_memory, make, forget),
        cmocka_unit_test_setup_teardown(test_needs_at_other_moments, make, forget),
        cmocka_unit_test_setup_teardown(test_libraries_that_come_and_go, make, forget),
        cmocka_unit_test_setup_teardown(test_readers_of_old_entries, make, forget),
        cmocka_unit_test_setup_teardown(test_open, make, forget),
        cmocka_unit_test_setup_teardown(test_open_refuses, make, forget),
        cmocka_unit_test_setup_teardown(test_second_openmp_runtime_is_warned_of, make, forget),
        cmocka_unit_test_setup_teardown(test_threads, make, forget),
        cmocka_unit_test_setup_teardown(test_this_machine, make, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
