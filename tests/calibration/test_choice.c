/* test_choice.c - tests that measured times decide: with a provider whose estimates are wrong, with one that ends its
 * process, with settings, and with stored times of an earlier process. */
#define _GNU_SOURCE
#include "calibration/steps.h"
#include "dispatch/internal.h"
#include "support/conditions.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SKIPPED = 77 }; /* ctest counts it as skipped */

/* ---- Steps, in processes of their own ---- */

static bp_explanation *explained(int64_t m, int64_t n, int64_t k, const char *settings) {
    bp_view a, b, c;
    bp_options *options;
    bp_explanation *e = NULL;
    bp_view_matrix(&a, NULL, BP_F64, m, k);
    bp_view_matrix(&b, NULL, BP_F64, k, n);
    bp_view_matrix(&c, NULL, BP_F64, m, n);
    if (bp_options_new(&options, settings) != BP_OK ||
        bp_matmul_explain(&e, options, &a.tensor, &b.tensor, &c.tensor) != BP_OK) {
        fprintf(stderr, "%s\n", bp_last_error());
        exit(1);
    }
    bp_options_release(options);
    return e;
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 11;
}

/* The provider is chosen where it is fast and not where it is slow, at sizes that are not measured. */
static void step_uneven(void) {
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 50; i++) {
        const int64_t n = 3 + (int64_t)(next_random(&state) % 60), k = 3 + (int64_t)(next_random(&state) % 60);
        const int64_t slow = 70 + (int64_t)(next_random(&state) % 100), fast = 5 + (int64_t)(next_random(&state) % 10);
        bp_time_source source;
        bp_explanation *e = explained(slow, n, k, "num_threads=1");
        expect(!is_chosen(e, "uneven", &source) || test_sanitized(), "a provider is not chosen where it is slow");
        expect(source == BP_TIME_INTERPOLATED, "times between measured sizes are interpolated");
        expect(strstr(bp_explanation_text(e), "interpolated") != NULL, "the text names the source");
        expect(strstr(bp_explanation_decision(e), "by measurements on this machine") != NULL,
               "the reason names it too");
        bp_explanation_release(e);
        e = explained(fast, n + 30, k + 30, "num_threads=1");
        expect(is_chosen(e, "uneven", &source), "it is chosen where it is fast");
        bp_explanation_release(e);
    }
}

static void step_measured(void) {
    bp_time_source source;
    bp_explanation *e = explained(64, 64, 64, "num_threads=1");
    expect((!is_chosen(e, "uneven", &source) || test_sanitized()) && source == BP_TIME_MEASURED,
           "times of measured sizes are called measured");
    expect(strstr(bp_explanation_json(e), "\"time_source\":\"measured\"") != NULL ||
               strstr(bp_explanation_json(e), "\"time_source\": \"measured\"") != NULL,
           "JSON names the source");
    bp_explanation_release(e);
    e = explained(1024, 1024, 1024, "num_threads=1");
    is_chosen(e, "native", &source);
    expect(source == BP_TIME_INTERPOLATED, "times of sizes that are too large to measure are not");
    bp_explanation_release(e);
}

static double expected_ns(const bp_explanation *e, const char *library) {
    bp_candidate_info info = {.struct_size = sizeof info};
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        if (strcmp(info.library, library) == 0) {
            return info.cost_ns;
        }
    }
    return 0;
}

/* Plans are compared with operations that have no measured times on the scale of native's estimates. */
static void step_scale(void) {
    bp_view a, b, c;
    bp_plan *plan = NULL;
    bp_view_matrix(&a, NULL, BP_F64, 10, 50);
    bp_view_matrix(&b, NULL, BP_F64, 50, 60);
    bp_view_matrix(&c, NULL, BP_F64, 10, 60);
    bp_explanation *measured = explained(10, 60, 50, "num_threads=1");
    bp_explanation *estimated = explained(10, 60, 50, "num_threads=1, calibration=off");
    expect(bp_set_num_threads(1) == BP_OK && bp_matmul_plan(&plan, NULL, &a.tensor, &b.tensor, &c.tensor) == BP_OK,
           "a plan is made");
    expect(strcmp(plan->candidate->provider->name, "uneven") == 0, "it runs on the provider with wrong estimates");
    const double scale = expected_ns(estimated, "native") / expected_ns(measured, "native");
    expect(plan->order_ns > 0.999 * expected_ns(measured, "uneven") * scale &&
               plan->order_ns < 1.001 * expected_ns(measured, "uneven") * scale,
           "its measured time is put on the scale of estimates");
    bp_plan_release(plan);
    bp_explanation_release(measured);
    bp_explanation_release(estimated);
}

/* Without measurements the provider's estimate of one nanosecond decides. */
static void step_estimated(const char *settings) {
    bp_time_source source;
    bp_explanation *e = explained(64, 64, 64, settings);
    expect(is_chosen(e, "uneven", &source) && source == BP_TIME_ESTIMATED, "estimates decide");
    expect(strstr(bp_explanation_decision(e), "not measured here") != NULL, "the reason says so");
    bp_explanation_release(e);
}

static void step_deterministic(void) {
    bp_time_source source;
    bp_explanation *e = explained(64, 64, 64, "num_threads=1, deterministic=run");
    is_chosen(e, "native", &source);
    expect(source == BP_TIME_ESTIMATED, "repeatable results do not depend on a measurement");
    bp_explanation_release(e);
}

/* A plan, and a second one under other settings, are kept apart in the cache. */
static void step_settings_are_part_of_the_key(void) {
    static double x[64 * 64], y[64 * 64], z[64 * 64];
    bp_view a, b, c;
    bp_scope *scope;
    bp_view_matrix(&a, x, BP_F64, 64, 64);
    bp_view_matrix(&b, y, BP_F64, 64, 64);
    bp_view_matrix(&c, z, BP_F64, 64, 64);
    bp_plan_info info = {.struct_size = sizeof info};
    bp_set("num_threads", "1");
    bp_matmul(&a.tensor, &b.tensor, &c.tensor);
    bp_last_plan(&info);
    expect((strcmp(info.library, "uneven") != 0 && z[0] == 0) || test_sanitized(), "measured times decide in calls");
    bp_scope_enter(&scope, "calibration=off");
    bp_matmul(&a.tensor, &b.tensor, &c.tensor);
    bp_last_plan(&info);
    expect(strcmp(info.library, "uneven") == 0 && z[0] == 7, "estimates decide in the scope");
    bp_scope_leave(&scope);
    bp_matmul(&a.tensor, &b.tensor, &c.tensor);
    expect(z[0] == 0 || test_sanitized(), "measured times decide again");
}

static void step_crashing(void) {
    bp_time_source source;
    bp_explanation *e = explained(64, 64, 64, "num_threads=1");
    is_chosen(e, "native", &source);
    expect(source == BP_TIME_ESTIMATED, "measured times are not used if the times of one candidate are missing");
    bp_explanation_release(e);
    e = explained(64, 64, 64, "num_threads=1, dispatch.exclude=crashing");
    is_chosen(e, "native", &source);
    expect(source == BP_TIME_MEASURED, "a candidate that is excluded needs no times");
    bp_explanation_release(e);
}

static int on_progress(void *user, const char *library, const char *what) {
    int *count = user;
    expect(*library && strchr(what, '.') != NULL, "progress names the library and the class");
    return --*count > 0;
}

static void step_machine(void) {
    int left = 3;
    expect(bp_calibrate(-1, NULL, NULL) == BP_E_ARGUMENT, "a negative time is refused");
    expect(bp_calibrate(0, on_progress, &left) == BP_OK && left == 0, "the program can stop it");
    expect(bp_calibrate(1e-9, NULL, NULL) == BP_E_TIMEOUT, "it stops when the time is over");
}

/* The cost of odd sizes, which are not measured, follows the provider's estimates. */
static void step_follows(bool follows) {
    const char *name = follows ? "following" : "smooth";
    for (int64_t rows = 33; rows <= 41; rows++) {
        bp_time_source source;
        bp_explanation *e = explained(rows, 60, 50, "num_threads=1");
        const bool chosen = is_chosen(e, name, &source);
        expect(source == BP_TIME_INTERPOLATED, "times between measured sizes are interpolated");
        expect(chosen == (!follows || rows % 2 == 0) || test_sanitized(),
               follows ? "sizes with a high estimate are slow" : "estimates do not matter");
        bp_explanation_release(e);
    }
}

/* A library whose calls take long by themselves is measured at large sizes too, where it is the fastest. */
static void step_calling(void) {
    bp_time_source source;
    /* A size of the lattice's first level. Later ones are not reached in time by a sanitized program. */
    bp_explanation *e = explained(1, 1024, 1024, "num_threads=1");
    expect(is_chosen(e, "calling", &source), "it is chosen for large products");
    expect(source == BP_TIME_MEASURED, "large products are measured");
    bp_explanation_release(e);
    e = explained(4, 4, 4, "num_threads=1");
    expect(!is_chosen(e, "calling", &source) || test_sanitized(), "it is not chosen for small ones");
    bp_explanation_release(e);
}

static void *make_plan(void *context) {
    (void)context;
    bp_explanation_release(explained(64, 64, 64, "num_threads=1"));
    return NULL;
}

/* While one thread measures, which ends only when the file exists, this one plans and forks. */
static void step_others_do_not_wait(void) {
    const char *go = getenv("TIMED_GO");
    bp_time_source source;
    pthread_t thread;
    char lock[4200];
    snprintf(lock, sizeof lock, "%s/calibration.measuring", getenv("BACKPLANE_CACHE_DIR"));
    expect(pthread_create(&thread, NULL, make_plan, NULL) == 0, "a thread");
    while (access(lock, F_OK) != 0) {
        usleep(1000);
    }
    bp_explanation *e = explained(64, 64, 64, "num_threads=1");
    expect(is_chosen(e, "waiting", &source) && source == BP_TIME_ESTIMATED, "another thread chooses by estimates");
    bp_explanation_release(e);
    expect(bp_calibrate(0, NULL, NULL) == BP_E_BUSY, "one thread measures at a time");
    expect(bp_reset() == BP_E_BUSY, "the candidates of a measurement are not freed");
    const pid_t child = fork();
    if (child == 0) {
        e = explained(64, 64, 64, "num_threads=1");
        is_chosen(e, "waiting", &source);
        _Exit(source == BP_TIME_ESTIMATED ? 0 : 1);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child && status == 0, "a child of fork chooses by estimates");
    expect(close(open(go, O_WRONLY | O_CREAT, 0600)) == 0, "the file");
    pthread_join(thread, NULL);
    e = explained(64, 64, 64, "num_threads=1");
    is_chosen(e, "waiting", &source);
    expect(source == BP_TIME_MEASURED, "then the measured times decide");
    bp_explanation_release(e);
}

static double cost_of(const char *library) {
    bp_candidate_info info = {.struct_size = sizeof info};
    bp_explanation *e = explained(16, 16, 16, "num_threads=1");
    double cost = -1;
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        if (strcmp(info.library, library) == 0 && info.accepted) {
            expect(info.time_source == BP_TIME_MEASURED, "libraries are measured");
            cost = info.cost_ns;
        }
    }
    bp_explanation_release(e);
    expect(cost >= 0, library);
    return cost;
}

/* Each library has its own times. */
static void step_libraries(void) {
    expect(cost_of("blas") < 1e6, "the time of the first library");
    expect(cost_of("blas-serial") > 1e6, "the time of the second library");
}

/* Replaces a library's file by another one, as an update of the system does. */
static void step_replaced(void) {
    char from[4200], to[4200];
    snprintf(from, sizeof from, "%s/next.so", getenv("BACKPLANE_CACHE_DIR"));
    snprintf(to, sizeof to, "%s/libmath.so", getenv("BACKPLANE_CACHE_DIR"));
    expect(cost_of("blas") < 1e6, "the time of the library");
    expect(rename(from, to) == 0, "the library is replaced");
    expect(bp_libraries_refresh(0) == BP_OK, "the libraries are searched for again");
    expect(cost_of("blas") > 1e6, "the time of the library that replaced it");
}

static void step_without_calibration(void) {
    step_estimated("num_threads=1, calibration=off");
}

static void step_unstored(void) {
    step_estimated("num_threads=1");
}

static void step_following(void) {
    step_follows(true);
}

static void step_smooth(void) {
    step_follows(false);
}

static const step steps[] = {
    {"estimated", step_without_calibration},
    {"unstored", step_unstored},
    {"following", step_following},
    {"smooth", step_smooth},
    {"calling", step_calling},
    {"uneven", step_uneven},
    {"measured", step_measured},
    {"deterministic", step_deterministic},
    {"key", step_settings_are_part_of_the_key},
    {"crashing", step_crashing},
    {"machine", step_machine},
    {"scale", step_scale},
    {"wait", step_others_do_not_wait},
    {"libraries", step_libraries},
    {"replaced", step_replaced},
};

/* ---- Tests ---- */

static void write_store(char *path, size_t size) {
    snprintf(path, size, "%s/calibration.txt", steps_folder);
}

/* Returns the number of bytes of the stored times, or -1. */
static long store_size(void) {
    char path[128];
    write_store(path, sizeof path);
    FILE *file = fopen(path, "r");
    if (!file) {
        return -1;
    }
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    fclose(file);
    return size;
}

static void slow_sizes_are_not_chosen(void **state) {
    (void)state;
    assert_int_equal(run_with("uneven", "uneven"), 0);
    assert_int_equal(run_with("uneven", "measured"), 0);
    assert_int_equal(run_with("uneven", "key"), 0);
    assert_int_equal(run_with("uneven", "scale"), 0);
}

static void long_calls_are_measured(void **state) {
    (void)state;
    assert_int_equal(run_with("calling", "calling"), 0);
}

static void stored_times_are_used_again(void **state) {
    (void)state;
    assert_int_equal(run_with("uneven", "measured"), 0);
    const long size = store_size();
    assert_true(size > 1000);
    setenv("BACKPLANE_CALIBRATION", "read", 1);
    assert_int_equal(run_with("uneven", "measured"), 0);
    setenv("BACKPLANE_CALIBRATION", "auto", 1);
    assert_int_equal(store_size(), size);
}

static void nothing_is_measured_if_it_may_not(void **state) {
    (void)state;
    assert_int_equal(run_with("uneven", "estimated"), 0);
    assert_int_equal(run_with("uneven", "deterministic"), 0);
    setenv("BACKPLANE_CALIBRATION", "read", 1);
    assert_int_equal(run_with("uneven", "unstored"), 0);
    setenv("BACKPLANE_CALIBRATION", "auto", 1);
    setenv("BACKPLANE_REGISTRY_CACHE", "read-only", 1);
    assert_int_equal(run_with("uneven", "unstored"), 0);
    unsetenv("BACKPLANE_REGISTRY_CACHE");
    assert_int_equal(store_size(), -1);
}

static void stored_times_are_not_used_for_repeatable_results(void **state) {
    (void)state;
    assert_int_equal(run_with("uneven", "measured"), 0);
    assert_int_equal(run_with("uneven", "deterministic"), 0);
}

static void damaged_times_are_measured_again(void **state) {
    (void)state;
    char path[128];
    assert_int_equal(run_with("uneven", "measured"), 0);
    const long size = store_size();
    write_store(path, sizeof path);
    assert_int_equal(truncate(path, size / 2), 0);
    assert_int_equal(run_with("uneven", "measured"), 0);
    assert_true(store_size() > size / 2);
}

static void a_crash_is_remembered(void **state) {
    (void)state;
    assert_int_equal(run_with("crashing", "crashing"), 0);
    const long size = store_size();
    assert_true(size > 0);
    assert_int_equal(run_with("crashing", "crashing"), 0);
    assert_int_equal(store_size(), size);
}

/* While another process measures, a process neither measures nor waits. */
static void one_process_measures_at_a_time(void **state) {
    (void)state;
    char path[128];
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof path, "%s/calibration.measuring", steps_folder);
    const int file = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(file >= 0);
    assert_int_equal(fcntl(file, F_SETLK, &whole), 0);
    assert_int_equal(run_with("uneven", "unstored"), 0);
    close(file);
    assert_int_equal(run_with("uneven", "measured"), 0);
}

static void the_whole_machine_can_be_measured(void **state) {
    (void)state;
    assert_int_equal(run_with("uneven", "machine"), 0);
}

static void estimates_are_followed_if_the_provider_says_so(void **state) {
    (void)state;
    assert_int_equal(run_with("following", "following"), 0);
    assert_int_equal(run_with("smooth", "smooth"), 0);
}

static void other_threads_and_fork_do_not_wait(void **state) {
    (void)state;
    char go[128];
    snprintf(go, sizeof go, "%s/go", steps_folder);
    setenv("TIMED_GO", go, 1);
    assert_int_equal(run_with("waiting", "wait"), 0);
    unsetenv("TIMED_GO");
}

static void write_library(const char *name, char *path, size_t size) {
    snprintf(path, size, "%s", steps_program);
    snprintf(strrchr(path, '/'), 128, "/calibration-libraries/lib%s.so", name);
}

static void each_library_has_its_own_times(void **state) {
    (void)state;
    char quick[4300], sleepy[4300], paths[8700];
    write_library("quick", quick, sizeof quick);
    write_library("sleepy", sleepy, sizeof sleepy);
    snprintf(paths, sizeof paths, "%s:%s", quick, sleepy);
    setenv("BACKPLANE_LIBRARY_PATH", paths, 1);
    assert_int_equal(run_with("uneven", "libraries"), 0);
    unsetenv("BACKPLANE_LIBRARY_PATH");
}

static void copy_library(const char *name, const char *to) {
    char from[4300], command[8700];
    write_library(name, from, sizeof from);
    snprintf(command, sizeof command, "cp '%s' '%s/%s'", from, steps_folder, to);
    assert_int_equal(system(command), 0);
}

static void times_of_a_replaced_library_are_not_used(void **state) {
    (void)state;
    char path[128];
    copy_library("quick", "libmath.so");
    copy_library("sleepy", "next.so");
    snprintf(path, sizeof path, "%s/libmath.so", steps_folder);
    setenv("BACKPLANE_LIBRARY_PATH", path, 1);
    assert_int_equal(run_with("uneven", "replaced"), 0);
    unsetenv("BACKPLANE_LIBRARY_PATH");
}

int main(int count, char **words) {
    if (!steps_begin(count, words, steps, (int)(sizeof steps / sizeof *steps))) {
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(slow_sizes_are_not_chosen, clear_store),
        cmocka_unit_test_setup(long_calls_are_measured, clear_store),
        cmocka_unit_test_setup(stored_times_are_used_again, clear_store),
        cmocka_unit_test_setup(nothing_is_measured_if_it_may_not, clear_store),
        cmocka_unit_test_setup(stored_times_are_not_used_for_repeatable_results, clear_store),
        cmocka_unit_test_setup(damaged_times_are_measured_again, clear_store),
        cmocka_unit_test_setup(a_crash_is_remembered, clear_store),
        cmocka_unit_test_setup(one_process_measures_at_a_time, clear_store),
        cmocka_unit_test_setup(the_whole_machine_can_be_measured, clear_store),
        cmocka_unit_test_setup(estimates_are_followed_if_the_provider_says_so, clear_store),
        cmocka_unit_test_setup(other_threads_and_fork_do_not_wait, clear_store),
        cmocka_unit_test_setup(each_library_has_its_own_times, clear_store),
        cmocka_unit_test_setup(times_of_a_replaced_library_are_not_used, clear_store),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    steps_end();
    return failed;
}
