/* test_safety.c - tests measured times where something is wrong: results, files, other threads and processes. */
#define _GNU_SOURCE
#include "tuning/support_tuning.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WRONG_RIVAL = 2 };
static int warnings;
static char last_warning[1024];

static void on_warning(void *user, const char *text) {
    (void)user;
    warnings++;
    bp__copy_text(last_warning, sizeof last_warning, text);
}

static int setup(void **state) {
    warnings = 0;
    last_warning[0] = '\0';
    return tuning_setup(state);
}

static int teardown(void **state) {
    bp_set_warning_handler(NULL, NULL);
    return tuning_teardown(state);
}

static bp_reason reason_of(const char *algorithm) {
    return rival(RIVALS_ONLY, 16, algorithm).reason;
}

/* Fast and wrong, and fast without a result: never chosen, and refused from then on. */
static void wrong_results_lead_to_quarantine(void **state) {
    (void)state;
    assert_string_equal(multiply(NOW, 16), "quick");
    const char *file = cache_file("quarantine.txt");
    assert_contains(file, "rivals:rivals:wrong gemm it computes 1 where ");
    assert_contains(file, "rivals:rivals:idle gemm it does not write every element");
    assert_null(strstr(file, "quick"));
    assert_int_equal(reason_of("wrong"), BP_REASON_BROKEN);
    assert_contains(rival(RIVALS_ONLY, 16, "wrong").text, "in quarantine: it computes 1 where ");
    assert_int_equal(reason_of("idle"), BP_REASON_BROKEN);
    assert_int_equal(reason_of("quick"), BP_REASON_ACCEPTED);
    assert_int_equal(rival(RIVALS_ONLY, 63, "wrong").reason, BP_REASON_BROKEN); /* at every size */
    tuning_restart();
    assert_int_equal(reason_of("wrong"), BP_REASON_BROKEN);
    assert_string_equal(multiply("blas.preferred=rivals:wrong", 16), multiply("", 16)); /* even if preferred */
}

/* native is trusted if it is among the candidates, and is the majority with those that agree. */
static void native_is_the_reference(void **state) {
    (void)state;
    multiply("benchmark=true, tuning.start=now, benchmark_limit=0", 16);
    assert_contains(cache_file("quarantine.txt"), "rivals:rivals:idle");
    assert_null(strstr(cache_file("quarantine.txt"), "native"));
    assert_null(strstr(cache_file("quarantine.txt"), "steady"));
}

static void users_may_extend_the_quarantine(void **state) {
    (void)state;
    char path[160];
    snprintf(path, sizeof path, "%s/quarantine.txt", cache_folder);
    FILE *file = fopen(path, "w");
    fputs("# a comment\n\nrivals:quick gemm does not suit me\nrivals:moody * nothing of it\nrivals:steady fft other\n"
          "rivals:wrong@1234 gemm of another build\nincomplete",
          file);
    fclose(file);
    assert_int_equal(reason_of("quick"), BP_REASON_BROKEN);
    assert_contains(rival(RIVALS_ONLY, 16, "quick").text, "in quarantine: does not suit me");
    assert_int_equal(reason_of("moody"), BP_REASON_BROKEN);
    assert_int_equal(reason_of("steady"), BP_REASON_ACCEPTED);
    assert_int_equal(reason_of("wrong"), BP_REASON_ACCEPTED);
    assert_string_equal(multiply(NOW, 16), "steady");
    assert_contains(cache_file("quarantine.txt"), "incomplete\nrivals:rivals:"); /* lines of users stay */
    assert_contains(cache_file("quarantine.txt"), "# a comment\n");
}

static void a_file_of_others_is_not_used(void **state) {
    (void)state;
    char path[160];
    snprintf(path, sizeof path, "%s/quarantine.txt", cache_folder);
    FILE *file = fopen(path, "w");
    fputs("rivals:steady gemm reason\n", file);
    fclose(file);
    chmod(path, 0666);
    bp_set_warning_handler(on_warning, NULL);
    assert_string_equal(multiply(RIVALS_ONLY, 16), "steady");
    assert_int_equal(warnings, 1);
    assert_contains(last_warning, "quarantine.txt is not used");
}

/* ---- Files that cannot be written: the process goes on with its own times. ---- */

static int in_child(int (*body)(void)) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(240);
        _exit(body());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/* Measures two classes; returns 0 if that works with one warning for each of the two files. */
static int goes_on_with_a_warning(void) {
    warnings = 0;
    bp_set_warning_handler(on_warning, NULL);
    bool good =
        strcmp(multiply("dispatch.exclude=\"rivals:wrong, rivals:idle, native\", benchmark=true, tuning.start=now", 16),
               "quick") == 0;
    good = good && strcmp(multiply("dispatch.exclude=\"rivals:wrong, rivals:idle, native\", benchmark=true, "
                                   "tuning.start=now",
                                   4),
                          "moody") == 0;
    return good && warnings == 1 && strstr(last_warning, "for this process only") ? 0 : 1;
}

static int beyond_a_size_limit(void) {
    const struct rlimit limit = {16, 16};
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 ? goes_on_with_a_warning() : 77;
}

static int on_a_full_disk(void) {
    struct stat facts;
    char path[160];
    if (!enter_namespace(CLONE_NEWNS, geteuid(), getegid()) ||
        mount("none", cache_folder, "tmpfs", 0, "size=4k,mode=700") != 0) {
        return 77;
    }
    snprintf(path, sizeof path, "%s/full", cache_folder);
    int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    static char page[8192];
    while (write(file, page, sizeof page) > 0) {
    }
    close(file);
    return stat(path, &facts) == 0 ? goes_on_with_a_warning() : 1;
}

static int where_nothing_can_be_written(void) {
    if (!enter_namespace(CLONE_NEWNS, geteuid(), getegid()) ||
        mount("none", cache_folder, "tmpfs", MS_RDONLY, "") != 0) {
        return 77;
    }
    return goes_on_with_a_warning();
}

static int without_a_home(void) {
    unsetenv("BACKPLANE_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/nonexistent", 1);
    return bp_reset() == BP_OK ? goes_on_with_a_warning() : 1;
}

static void files_that_cannot_be_written_are_a_warning(void **state) {
    (void)state;
    assert_int_equal(in_child(beyond_a_size_limit), 0);
    assert_int_equal(in_child(without_a_home), 0);
    int full = in_child(on_a_full_disk), read_only = in_child(where_nothing_can_be_written);
    if (full == 77 || read_only == 77) {
        print_message("not tested: a user namespace in which to mount a disk is not permitted here\n");
        return;
    }
    assert_int_equal(full, 0);
    assert_int_equal(read_only, 0);
}

/* ---- Other processes ---- */

static int measure_and_repeat(void) {
    for (int i = 0; i < 3; i++) {
        if (strcmp(multiply(NOW, 16), "quick") != 0) {
            return 1;
        }
    }
    return strcmp(multiply(NOW, 4), "moody") == 0 ? 0 : 1;
}

static int lines_with(const char *text, const char *part) {
    int count = 0;
    while ((text = strstr(text, part))) {
        count++;
        text++;
    }
    return count;
}

static void two_processes_measure_one_class(void **state) {
    (void)state;
    enum { PROCESSES = 3 };
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            alarm(240);
            _exit(measure_and_repeat());
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(lines_with(cache_file("tuning.txt"), "16x16 @ 16x16"), 1);
    assert_int_equal(lines_with(cache_file("tuning.txt"), "4x4 @ 4x4"), 1);
    tuning_restart();
    assert_string_equal(multiply(RIVALS_ONLY, 16), "quick");
}

/* A process that is killed while it measures or writes leaves a file that later ones can use. */
static void a_killed_process_leaves_usable_files(void **state) {
    (void)state;
    for (int i = 0; i < 12; i++) {
        const struct timespec pause = {.tv_nsec = 2000000 + i * 1700000};
        pid_t child = fork();
        if (child == 0) {
            for (int n = 17; n < 60; n++) {
                multiply(NOW, n);
            }
            _exit(0);
        }
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
    bp_set_warning_handler(on_warning, NULL);
    tuning_restart();
    assert_string_equal(multiply(NOW, 15), "quick");
    assert_null(strstr(last_warning, "damaged"));
}

/* A child of fork knows the parent's times, adds its own, and writes nothing old back. */
static int measure_another(void) {
    char path[160];
    snprintf(path, sizeof path, "%s/tuning.txt", cache_folder);
    if (strcmp(multiply(RIVALS_ONLY, 16), "quick") != 0 || remove(path) != 0) {
        return 1;
    }
    bool measured = strcmp(multiply(NOW, 18), "quick") == 0;
    return measured && !strstr(cache_file("tuning.txt"), "16x16") && strstr(cache_file("tuning.txt"), "18x18") ? 0 : 1;
}

static void a_child_of_fork_measures_for_itself(void **state) {
    (void)state;
    assert_string_equal(multiply(NOW, 16), "quick");
    assert_int_equal(in_child(measure_another), 0);
    assert_string_equal(multiply(RIVALS_ONLY, 16), "quick");
}

/* ---- Threads ---- */

/* Returns whether this thread has used little of a processor, whatever else the machine does. */
static bool has_time(void) {
    struct timespec used;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0 && used.tv_sec < 20;
}

static void *measure_in_a_thread(void *argument) {
    const char *settings = argument;
    static const int64_t n = 16;
    double a[256], c[256];
    bp_view in, out;
    bp_scope *scope;
    bool good = bp_scope_enter(&scope, settings) == BP_OK;
    bp_view_matrix(&in, a, BP_F64, n, n);
    bp_view_matrix(&out, c, BP_F64, n, n);
    for (int i = 0; i < 256; i++) {
        a[i] = 1;
    }
    bp_plan_info info = {.struct_size = sizeof info};
    bool quick = false;
    while (good && !quick && has_time()) { /* the thread that measures may wait long for a processor */
        good = bp_matmul(&in.tensor, &in.tensor, &out.tensor) == BP_OK && c[0] == 16 && c[255] == 16;
        good = good && bp_last_plan(&info) == BP_OK;
        quick = good && strcmp(info.algorithm, "quick") == 0;
        sched_yield();
    }
    good = good && quick;
    return bp_scope_leave(&scope) == BP_OK && good ? NULL : argument;
}

static void in_threads(const char *settings) {
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, measure_in_a_thread, (void *)(uintptr_t)settings), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}

static void threads_measure_a_class_once(void **state) {
    (void)state;
    bp_tuning_info info = {.struct_size = sizeof info};
    in_threads(NOW);
    assert_int_equal(bp_tuning_stats(&info), BP_OK);
    assert_int_equal(info.classes, 1);
    assert_int_equal(bp_tuning_clear(), BP_OK);
    in_threads("benchmark=true, " RIVALS_ONLY); /* all change to the new plan */
    assert_int_equal(bp_tuning_stats(&info), BP_OK);
    assert_int_equal(info.classes, 2);
}

/* ---- A candidate that does not return ---- */

static sem_t reached, released;
static _Thread_local bool stops;

static void stop_once(void) {
    if (stops) {
        stops = false;
        sem_post(&reached);
        sem_wait(&released);
    }
}

static void *measure_and_stop(void *argument) {
    stops = true;
    return measure_in_a_thread(argument);
}

/* Starts a thread that stays in the first run of a candidate until `released` is posted. */
static pthread_t begin_stopped(void) {
    pthread_t thread;
    seen.during = stop_once;
    assert_int_equal(sem_init(&reached, 0, 0), 0);
    assert_int_equal(sem_init(&released, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, measure_and_stop, (void *)(uintptr_t)NOW), 0);
    assert_int_equal(sem_wait(&reached), 0);
    return thread;
}

static void end_stopped(pthread_t thread) {
    void *failed;
    sem_post(&released);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
}

static int64_t classes(void) {
    bp_tuning_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_tuning_stats(&info), BP_OK);
    return info.classes;
}

static void a_candidate_that_does_not_return_stops_no_others(void **state) {
    (void)state;
    pthread_t thread = begin_stopped();
    for (int i = 0; i < 2000; i++) { /* many times what is enough to be measured */
        assert_string_equal(multiply("benchmark=true, " RIVALS_ONLY, 30), "steady");
    }
    assert_int_equal(classes(), 0);
    assert_string_equal(multiply(NOW, 40), "steady"); /* after waiting for some time */
    assert_int_equal(classes(), 0);
    end_stopped(thread);
    assert_int_equal(classes(), 1);
    for (int i = 0; i < 20000 && classes() == 1; i++) {
        multiply("benchmark=true, " RIVALS_ONLY, 30); /* it was only postponed */
    }
    assert_int_equal(classes(), 2);
    assert_contains(decision(NOW, 40), "lowest measured time");
}

static int measures_for_itself(void) {
    return strcmp(multiply(NOW, 16), "quick") == 0 && strcmp(multiply(NOW, 30), "quick") == 0 ? 0 : 1;
}

static void a_child_of_fork_measures_while_its_parent_does(void **state) {
    (void)state;
    pthread_t thread = begin_stopped();
    assert_int_equal(in_child(measures_for_itself), 0);
    end_stopped(thread);
}

/* ---- Short memory ---- */

enum { ENOUGH = 4 << 20 };

static void *allocate(void *user, size_t size) {
    (void)user;
    return size <= ENOUGH ? malloc(size) : NULL;
}

static void *reallocate(void *user, void *old, size_t size) {
    (void)user;
    return size <= ENOUGH ? realloc(old, size) : NULL;
}

static void release(void *user, void *memory) {
    (void)user;
    free(memory);
}

static void short_memory_is_no_record(void **state) {
    (void)state;
    enum { N = 1000 };
    const bp_allocator little = {allocate, reallocate, release, NULL};
    double *x = calloc((size_t)2 * N * N, sizeof *x);
    bp_view a, c;
    bp_options *options;
    bp_explanation *e;
    assert_non_null(x);
    assert_int_equal(bp_set_allocator(&little), BP_OK);
    bp_view_matrix(&a, x, BP_F64, N, N);
    bp_view_matrix(&c, x + N * N, BP_F64, N, N);
    assert_int_equal(bp_options_new(&options, NOW), BP_OK);
    assert_int_equal(bp_matmul_explain(&e, options, &a.tensor, &a.tensor, &c.tensor), BP_OK);
    assert_null(strstr(cache_file("tuning.txt"), "1000x1000"));
    bp_explanation_release(e);
    bp_options_release(options);
    tuning_restart();
    calm_allocator();
    free(x);
}

/* A candidate that was found to be wrong stays refused where quarantine.txt cannot be written. */
static int stays_refused(void) {
    bool good = strcmp(multiply(NOW, 16), "quick") == 0 && reason_of("wrong") == BP_REASON_BROKEN &&
                reason_of("idle") == BP_REASON_BROKEN && strcmp(multiply(RIVALS_ONLY, 16), "quick") == 0;
    seen.estimates[WRONG_RIVAL] = 0.5;
    return good && strcmp(multiply(RIVALS_ONLY, 30), "steady") == 0 ? 0 : 1;
}

static int without_a_home_stays_refused(void) {
    unsetenv("BACKPLANE_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/nonexistent", 1);
    return bp_reset() == BP_OK ? stays_refused() : 1;
}

static int beyond_a_size_limit_stays_refused(void) {
    const struct rlimit limit = {16, 16};
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 ? stays_refused() : 1;
}

static void wrong_ones_are_refused_without_a_file(void **state) {
    (void)state;
    assert_int_equal(in_child(without_a_home_stays_refused), 0);
    assert_int_equal(in_child(beyond_a_size_limit_stays_refused), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(wrong_results_lead_to_quarantine),
        TEST(native_is_the_reference),
        TEST(users_may_extend_the_quarantine),
        TEST(a_file_of_others_is_not_used),
        TEST(files_that_cannot_be_written_are_a_warning),
        TEST(two_processes_measure_one_class),
        TEST(a_killed_process_leaves_usable_files),
        TEST(a_child_of_fork_measures_for_itself),
        TEST(threads_measure_a_class_once),
        TEST(a_candidate_that_does_not_return_stops_no_others),
        TEST(a_child_of_fork_measures_while_its_parent_does),
        TEST(short_memory_is_no_record),
        TEST(wrong_ones_are_refused_without_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
