/* test_probe_cache.c - tests the probe cache: hits, misses for every part of the key, damage, modes, and what must not
 * be stored. */
#include "registry/support_registry.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backplane.h"
#include "registry/probe_cache.h"
#include "support/conditions.h"

static const char *folder;
static char library[4352], cache[4352], store[4608];

static int make(void **state) {
    (void)state;
    unsetenv("OPENBLAS_CORETYPE"); /* part of the key; a test changes it */
    folder = strdup(make_folder());
    snprintf(library, sizeof library, "%s/libplain.so", folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(store, sizeof store, "%s/libraries.txt", cache);
    copy_file(FAKES "/plain/libplain.so", library);
    return 0;
}

static int forget(void **state) {
    (void)state;
    forget_folder(folder);
    free((void *)(uintptr_t)folder);
    return bp_reset() != BP_OK || bp__live_blocks() != 0;
}

/* Lists again and returns whether the library was probed (1) or its facts came from the probe cache (0). */
static int was_probed(void) {
    restart(library, cache);
    bp_library_info row = only_row();
    assert_int_equal(row.state, BP_LIBRARY_OK);
    assert_int_equal(row.int_bits, 32);
    assert_string_equal(row.complex_return, "register");
    assert_non_null(strstr(row.fact_sources, "int_bits: isamax"));
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

/* Nothing is probed, and a list that needs it is not kept. */
static void test_list_from_the_cache_alone(void **state) {
    (void)state;
    int known = -1;
    restart(library, cache);
    assert_int_equal(bp_libraries_cached(&known), BP_OK);
    assert_int_equal(known, 0);
    assert_true(only_row().probe_ms > 0);
    assert_int_equal(bp_libraries_cached(&known), BP_OK); /* the list exists */
    assert_int_equal(known, 1);
    known = -1;
    restart(library, cache);
    assert_int_equal(bp_libraries_cached(&known), BP_OK);
    assert_int_equal(known, 1);
    assert_true(only_row().probe_ms == 0);
    assert_int_equal(bp_libraries_cached(NULL), BP_E_ARGUMENT);
}

static void test_each_part_of_the_key(void **state) {
    (void)state;
    struct stat facts;
    assert_int_equal(was_probed(), 1);
    struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, library, times, 0), 0); /* modification time */
    assert_int_equal(was_probed(), 1);
    assert_int_equal(was_probed(), 0);
    setenv("OPENBLAS_CORETYPE", "Testbridge", 1); /* environment that selects kernels */
    assert_int_equal(was_probed(), 1);
    assert_int_equal(was_probed(), 0);
    unsetenv("OPENBLAS_CORETYPE"); /* the facts found without it are still stored */
    assert_int_equal(was_probed(), 0);
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "50000", 1);
    assert_int_equal(was_probed(), 1);
    unsetenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT");
    remove(library); /* another inode */
    copy_file(FAKES "/plain/libplain.so", library);
    assert_int_equal(utimensat(AT_FDCWD, library, times, 0), 0);
    assert_int_equal(was_probed(), 1);
    assert_int_equal(stat(library, &facts), 0);
    assert_int_equal(truncate(library, facts.st_size + 8), 0); /* size */
    assert_int_equal(utimensat(AT_FDCWD, library, times, 0), 0);
    assert_int_equal(was_probed(), 1);
}

/* Another library written to the same file, with its old size and times: only the change time and the build-id differ.
 */
static void test_content_replaced_in_place(void **state) {
    (void)state;
    struct stat facts;
    assert_int_equal(was_probed(), 1);
    assert_int_equal(stat(library, &facts), 0);
    copy_file(FAKES "/f2c/libf2c.so", library);
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

/* A changed byte invalidates at most the entry: the result is the same, without a crash. */
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
    free(copy);
}

static void test_another_format_is_replaced(void **state) {
    (void)state;
    char warning[512];
    assert_int_equal(was_probed(), 1);
    write_store("backplane-libraries 1\n", 22);
    assert_int_equal(was_probed(), 1);
    assert_int_equal(bp_warning_at(0, warning, sizeof warning), 0);
    assert_int_equal(was_probed(), 0);
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
    assert_non_null(strstr(warning, "the probe cache is not used"));
    assert_int_equal(was_probed(), 1);
    assert_int_equal(stat(store, &after), 0); /* nothing is written there either */
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(chmod(store, 0600), 0);
    assert_int_equal(was_probed(), 0);
}

static void test_faults_are_kept(void **state) {
    (void)state;
    copy_file(FAKES "/lapack-wrong/liblapack-wrong.so", library);
    for (int round = 0; round < 2; round++) {
        restart(library, cache);
        bp_library_info row = only_row();
        assert_int_equal(row.state, BP_LIBRARY_OK);
        assert_true(row.faulty == BP_CHECK_BIT(BP_CHECK_CHOLESKY, BP_F64));
        assert_non_null(strstr(row.faults, "cholesky f64: wrong results in probe: dpotrf, random matrix"));
        assert_int_equal(row.probe_ms > 0, round == 0);
    }
}

/* Facts of a LAPACK without BLAS are valid only together with its BLAS. */
static void test_another_blas_is_checked_again(void **state) {
    (void)state;
    char lapack[4608], blas[4608], runtime[4608];
    bp_library_info row = {.struct_size = sizeof row};
    snprintf(lapack, sizeof lapack, "%s/libalone.so", folder);
    snprintf(blas, sizeof blas, "%s/libopenmp.so", folder);
    snprintf(runtime, sizeof runtime, "%s/libgomp.so", folder);
    assert_int_equal(remove(library), 0);
    copy_file(FAKES "/openmp/libalone.so", lapack);
    copy_file(FAKES "/openmp/libopenmp.so", blas);
    copy_file(FAKES "/openmp/libgomp.so", runtime);
    for (int round = 0; round < 4; round++) {
        restart(folder, cache);
        assert_int_equal(bp_library_find("libalone.so", &row), BP_OK);
        assert_int_equal(row.state, BP_LIBRARY_OK);
        assert_int_equal(row.probe_ms > 0, round % 2 == 0);
        assert_int_equal(bp_library_find("libopenmp.so", &row), BP_OK);
        if (round == 1) {
            remove(blas);
            copy_file(FAKES "/openmp/libopenmp.so", blas);
        }
    }
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
    assert_non_null(strstr(warning, "could not be written"));
}

/* A missing home is not made, without a warning: package builds have such a home. */
static void test_missing_home_is_not_made(void **state) {
    (void)state;
    char home[4400], below[4500], warning[512], *was = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    char *xdg = getenv("XDG_CACHE_HOME") ? strdup(getenv("XDG_CACHE_HOME")) : NULL;
    snprintf(home, sizeof home, "%s/absent", folder);
    snprintf(below, sizeof below, "%s/.cache", home);
    setenv("HOME", home, 1);
    for (int round = 0; round < 3; round++) {
        unsetenv("XDG_CACHE_HOME");
        if (round == 1) {
            setenv("XDG_CACHE_HOME", below, 1);
        } else if (round == 2) {
            assert_int_equal(mkdir(home, 0700), 0);
        }
        restart(library, "");
        assert_true(only_row().probe_ms > 0);
        assert_int_equal(bp_warning_at(0, warning, sizeof warning), 0);
        assert_int_equal(access(home, F_OK) == 0, round == 2);
    }
    snprintf(below, sizeof below, "%s/.cache/backplane/libraries.txt", home);
    assert_int_equal(access(below, F_OK), 0);
    if (was) {
        setenv("HOME", was, 1);
    } else {
        unsetenv("HOME");
    }
    if (xdg) {
        setenv("XDG_CACHE_HOME", xdg, 1);
    }
    free(was);
    free(xdg);
}

/* Lists a library that prints, in a program that may not write files of more than 4 bytes. Returns 0 on success. */
static int list_within_a_size_limit(void) {
    const struct rlimit limit = {4, 4};
    bp_library_info row = {.struct_size = sizeof row};
    char warning[512];
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 1;
    }
    restart(library, cache);
    if (!bp_library_at(0, &row) || row.state != BP_LIBRARY_OK) {
        return 2;
    }
    return bp_warning_at(0, warning, sizeof warning) && strstr(warning, "File too large") ? 0 : 3;
}

/* SIGXFSZ ends neither the program nor the probe, and no file is left. */
static void test_a_size_limit_is_a_warning(void **state) {
    (void)state;
    int status, files = 0;
    copy_file(FAKES "/print/libprint.so", library);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(list_within_a_size_limit());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    DIR *all = opendir(cache);
    assert_non_null(all);
    for (struct dirent *each; (each = readdir(all));) {
        files += each->d_name[0] != '.';
    }
    closedir(all);
    assert_int_equal(files, 1); /* the lock file */
}

static void test_broken_is_stored(void **state) {
    (void)state;
    copy_file(FAKES "/crash/libcrash.so", library);
    for (int round = 0; round < 2; round++) {
        restart(library, cache);
        bp_library_info row = only_row();
        assert_int_equal(row.state, BP_LIBRARY_BROKEN);
        assert_string_equal(row.reason, "SIGILL in probe, while it was loaded");
        assert_int_equal(row.probe_ms > 0, round == 0);
    }
}

/* ---- What a moment caused is not stored ---- */

/* Lists the library again, in this process or in a child with a limit, and returns its entry's state. `reason` must be
 * a part of the entry's reason. */
static int state_after_probe(const char *reason, bool probed) {
    restart(library, cache);
    bp_library_info row = only_row();
    assert_int_equal(row.probe_ms > 0, probed);
    if (!strstr(row.reason, reason)) {
        fail_msg("the reason is '%s' without '%s'", row.reason, reason);
    }
    return (int)row.state;
}

static void use_fake(const char *name) {
    char from[4352];
    snprintf(from, sizeof from, FAKES "/%s/lib%s.so", name, name);
    copy_file(from, library);
}

static void test_a_sleeping_library_is_not_stored(void **state) {
    (void)state;
    use_fake("hang");
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "200", 1);
    assert_int_equal(state_after_probe("hung in probe, ", true), BP_LIBRARY_BROKEN);
    assert_int_equal(state_after_probe("hung in probe, ", true), BP_LIBRARY_BROKEN);
    unsetenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT");
}

/* Probes the library until its result is stored. This needs a sixth of a processor. */
static void probe_until_stored(void) {
    for (int probes = 0; probes < 20; probes++) {
        restart(library, cache);
        if (only_row().probe_ms == 0) {
            return;
        }
    }
    unsetenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT");
    assert_true(is_starved());
    skip();
}

static void test_a_spinning_library_is_stored(void **state) {
    (void)state;
    use_fake("spin");
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "200", 1);
    probe_until_stored();
    assert_int_equal(state_after_probe("hung in probe, while it was loaded", false), BP_LIBRARY_BROKEN);
    unsetenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT");
}

/* It takes longer by the clock than the limit, and less processor time. */
static void test_a_library_on_a_busy_machine_is_good(void **state) {
    (void)state;
    use_fake("work_with_pauses");
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "1000", 1);
    probe_until_stored();
    assert_int_equal(state_after_probe("", false), BP_LIBRARY_OK);
    unsetenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT");
}

static void test_a_signal_from_outside_is_not_stored(void **state) {
    (void)state;
    use_fake("be_terminated");
    assert_int_equal(state_after_probe("", true), BP_LIBRARY_OK);
    setenv("FAKE_NOTES", "/dev/null", 1);
    restart(library, cache);
    assert_int_equal(bp_libraries_refresh(1), BP_OK); /* does not replace the good result either */
    assert_string_equal(only_row().reason, "SIGTERM in probe, while it was loaded");
    unsetenv("FAKE_NOTES");
    assert_int_equal(state_after_probe("", false), BP_LIBRARY_OK);
}

/* Lists the library in a child with a limit. Returns the state of its entry, or -1 if there is none. */
static int state_under(__rlimit_resource_t resource, rlim_t soft, rlim_t hard) {
    int status;
    restart(library, cache);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bp_library_info row = {.struct_size = sizeof row};
        setrlimit(resource, &(struct rlimit){soft, hard});
        _exit(!bp_library_at(0, &row) ? 99 : *row.path ? (int)row.state : 98);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A sanitizer or an emulator needs more memory than these limits. */
static void skip_under_tools(void) {
    if (test_emulated() || test_sanitized()) {
        skip();
    }
}

static void test_a_limit_of_the_user_is_not_stored(void **state) {
    (void)state;
    skip_under_tools();
    const rlim_t most = (rlim_t)700 << 20;
    use_fake("need_memory");
    assert_int_equal(state_under(RLIMIT_AS, most, most), BP_LIBRARY_BROKEN);
    assert_int_equal(state_after_probe("", true), BP_LIBRARY_OK);
    assert_int_equal(state_under(RLIMIT_AS, most, most), BP_LIBRARY_OK); /* stored */
}

/* Returns the processor time of all ended children, in milliseconds. */
static int64_t time_of_children(void) {
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * (int64_t)1000 +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

/* It asks for a buffer of 64 MiB until it gets one: in its first call, or in the first one of a second thread. */
static void test_waiting_for_memory_ends_soon(void **state) {
    enum { TIME = 4000 };
    (void)state;
    skip_under_tools();
    use_fake("asking");
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "4000", 1);
    for (rlim_t mebibytes = 60; mebibytes <= 240; mebibytes += 20) {
        const int64_t before = time_of_children();
        const int end = state_under(RLIMIT_AS, mebibytes << 20, mebibytes << 20);
        assert_int_equal(end, mebibytes == 60 ? BP_LIBRARY_BROKEN : end);
        assert_in_range(time_of_children() - before, 0, TIME / 5); /* one step has a tenth */
        restart(library, cache);                                   /* whatever was stored is the whole truth */
        const bp_library_info row = only_row();
        assert_int_equal(row.state, BP_LIBRARY_OK);
        assert_string_equal(row.faults, "");
        assert_in_range(row.space.call, (int64_t)64 << 20, (int64_t)400 << 20);
        assert_in_range(row.space.caller, (int64_t)64 << 20, (int64_t)400 << 20);
        unlink(store);
    }
    unsetenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT");
}

/* The library works, but what it needs could not be measured, because the probe got no thread. */
static void test_a_shortage_of_threads_is_not_stored(void **state) {
    (void)state;
    skip_under_tools();
    use_fake("limit_itself");
    assert_int_equal(state_after_probe("", true), BP_LIBRARY_OK);
    assert_int_equal(state_after_probe("", true), BP_LIBRARY_OK);
}

static void test_soft_limits_are_raised(void **state) {
    (void)state;
    const rlim_t mib = 1 << 20;
    struct rlimit limit;
    skip_under_tools();
    use_fake("need_stack");
    getrlimit(RLIMIT_STACK, &limit);
    assert_int_equal(state_under(RLIMIT_STACK, mib, limit.rlim_max), BP_LIBRARY_OK);
    use_fake("need_memory");
    getrlimit(RLIMIT_AS, &limit);
    assert_int_equal(state_under(RLIMIT_AS, 700 * mib, limit.rlim_max), BP_LIBRARY_OK);
}

/* Tells in the entry and in a call without a candidate that the limit is the reason. Returns 0 if both are right. */
static int solve_without_library(void) {
    enum { SIDE = 300 }; /* the built-in kernels solve small systems */
    static double numbers[SIDE * SIDE], result[SIDE * SIDE];
    int64_t shape[] = {SIDE, SIDE};
    DLTensor a = {.data = numbers,
                  .device = {kDLCPU, 0},
                  .ndim = 2,
                  .dtype = {.code = kDLFloat, .bits = 64, .lanes = 1},
                  .shape = shape};
    DLTensor x = a;
    bp_library_info row = {.struct_size = sizeof row};
    x.data = result;
    setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)8 << 30, (rlim_t)8 << 30});
    if (!bp_library_at(0, &row) || !strstr(row.reason, "RLIMIT_AS")) {
        return 1;
    }
    const bp_status status = bp_solve(&a, &a, 0, &x);
    if (!strstr(bp_last_error(), "; 1 library could not be read or probed under the limits of this process")) {
        print_message("the message is '%s'\n", bp_last_error());
        return 2;
    }
    return status == BP_E_NO_CANDIDATE ? 0 : 3;
}

/* Returns the exit status of a child that calls the function. */
static int end_of(int (*function)(void)) {
    int status;
    restart(library, cache);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(function());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A file that cannot be mapped is examined again by the next process. */
static void test_a_file_that_could_not_be_read_is_not_stored(void **state) {
    (void)state;
    skip_under_tools();
    assert_int_equal(truncate(library, (off_t)1 << 40), 0); /* more than there is address space */
    assert_int_equal(state_under(RLIMIT_AS, (rlim_t)8 << 30, (rlim_t)8 << 30), BP_LIBRARY_UNPROBED);
    assert_int_equal(end_of(solve_without_library), 0);
    restart(library, cache);
    assert_int_equal(only_row().state, BP_LIBRARY_OK);
}

static void test_other_entries_stay(void **state) {
    (void)state;
    assert_int_equal(was_probed(), 1);
    restart(FAKES "/wide", cache);
    assert_true(only_row().probe_ms > 0);
    assert_int_equal(was_probed(), 0);
    restart(FAKES "/wide", cache);
    assert_true(only_row().probe_ms == 0);
}

static void test_hostile_text(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "backplane-libraries 13\n",
        "backplane-libraries 13\nfile\n",
        "backplane-libraries 13\nfile 1 2 3 4 5 6 7 8",
        "backplane-libraries 13\nfile 1 2 3 4 5 6 7 8 /x\n\tfamily",
        "backplane-libraries 13\nfile -1 2 3 4 5 6 7 8 /x\n",
        "backplane-libraries 13\nfile 99999999999999999999999 2 3 4 5 6 7 8 /x\n\t\n\t\n",
        "backplane-libraries 13\n\tfamily x\n\n\n\nfile file file\nfile 1 2 3 4 5 zz 7 8 /x\n",
    };
    for (int i = 0; i < BP__COUNT(texts); i++) {
        bp__probe_cache read = {0};
        char text[512];
        snprintf(text, sizeof text, "%s", texts[i]);
        assert_int_equal(bp__probe_cache_parse(&read, text), i == 0 ? BP_E_FORMAT : BP_OK);
        assert_int_equal(read.count, 0);
        bp__probe_cache_close(&read);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hit, make, forget),
        cmocka_unit_test_setup_teardown(test_list_from_the_cache_alone, make, forget),
        cmocka_unit_test_setup_teardown(test_each_part_of_the_key, make, forget),
        cmocka_unit_test_setup_teardown(test_content_replaced_in_place, make, forget),
        cmocka_unit_test_setup_teardown(test_damage, make, forget),
        cmocka_unit_test_setup_teardown(test_another_format_is_replaced, make, forget),
        cmocka_unit_test_setup_teardown(test_tampering_is_refused, make, forget),
        cmocka_unit_test_setup_teardown(test_faults_are_kept, make, forget),
        cmocka_unit_test_setup_teardown(test_another_blas_is_checked_again, make, forget),
        cmocka_unit_test_setup_teardown(test_modes, make, forget),
        cmocka_unit_test_setup_teardown(test_unwritable_folder_is_a_warning, make, forget),
        cmocka_unit_test_setup_teardown(test_missing_home_is_not_made, make, forget),
        cmocka_unit_test_setup_teardown(test_a_size_limit_is_a_warning, make, forget),
        cmocka_unit_test_setup_teardown(test_broken_is_stored, make, forget),
        cmocka_unit_test_setup_teardown(test_a_sleeping_library_is_not_stored, make, forget),
        cmocka_unit_test_setup_teardown(test_a_spinning_library_is_stored, make, forget),
        cmocka_unit_test_setup_teardown(test_a_library_on_a_busy_machine_is_good, make, forget),
        cmocka_unit_test_setup_teardown(test_a_signal_from_outside_is_not_stored, make, forget),
        cmocka_unit_test_setup_teardown(test_a_limit_of_the_user_is_not_stored, make, forget),
        cmocka_unit_test_setup_teardown(test_waiting_for_memory_ends_soon, make, forget),
        cmocka_unit_test_setup_teardown(test_a_shortage_of_threads_is_not_stored, make, forget),
        cmocka_unit_test_setup_teardown(test_soft_limits_are_raised, make, forget),
        cmocka_unit_test_setup_teardown(test_a_file_that_could_not_be_read_is_not_stored, make, forget),
        cmocka_unit_test_setup_teardown(test_other_entries_stay, make, forget),
        cmocka_unit_test_setup_teardown(test_hostile_text, make, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
