/* test_processes.c - probes libraries that start processes or allocate much memory, in host programs that collect all
 * children, that fork, or that are killed meanwhile. No process outlives a probe, and no other process is affected. */
#include "registry/support_registry.h"
#include "support/conditions.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char notes[4352];
static const char *folder;

static int make(void **state) {
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s", make_folder());
    folder = strdup(path); /* outlives the texts that a reset frees */
    snprintf(notes, sizeof notes, "%s/notes", folder);
    setenv("FAKE_NOTES", notes, 1);
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "20000", 1);
    return 0;
}

static int forget(void **state) {
    (void)state;
    unsetenv("FAKE_NOTES");
    unsetenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT");
    unsetenv("BACKPLANE_REGISTRY_PROBE_MEMORY");
    forget_folder(folder);
    free((void *)(uintptr_t)folder);
    return bp_reset() != BP_OK || bp__live_blocks() != 0;
}

/* Counts signals that this library sends by process number. A host program may have given that number to another
 * process. */
static atomic_int signals_sent;

int kill(pid_t process, int number) {
    signals_sent++;
    return (int)syscall(SYS_kill, process, number);
}

static bool is_alive(pid_t process) {
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    ssize_t length = read(file, line, sizeof line - 1);
    close(file);
    const char *end = length > 0 ? strrchr(line, ')') : NULL;
    return end && end[2] != 'Z' && end[2] != 'X';
}

/* Returns the number that a process of the library has written; waits for it. */
static pid_t noted(void) {
    int number = 0;
    for (int i = 0; i < 20000 && number == 0; i++) {
        FILE *file = fopen(notes, "r");
        if (file && fscanf(file, "%d\n", &number) != 1) {
            number = 0;
        }
        if (file) {
            fclose(file);
        }
        poll(NULL, 0, number ? 0 : 1);
    }
    assert_int_not_equal(number, 0);
    return number;
}

static void list(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", FAKES, name);
    restart(path, NULL);
}

static bp_library_info probe_row(const char *name) {
    list(name);
    return only_row();
}

static void expect_reason(const char *name, const char *reason) {
    bp_library_info row = probe_row(name);
    assert_string_equal(row.reason, reason);
    assert_int_equal(row.state, *reason ? BP_LIBRARY_BROKEN : BP_LIBRARY_OK);
}

/* How far the library came before the time limit depends on the load of the machine. */
static void expect_hung(const char *name) {
    bp_library_info row = probe_row(name);
    assert_int_equal(row.state, BP_LIBRARY_BROKEN);
    assert_memory_equal(row.reason, "hung in probe, ", strlen("hung in probe, "));
}

/* The emulator of another processor neither hands orphans to the probe, nor limits its memory. */
static void skip_if_emulated(void) {
    if (test_emulated()) {
        print_message("skipped: the emulator does not do what the kernel does for processes\n");
        skip();
    }
}

static void test_daemons_end_with_the_probe(void **state) {
    (void)state;
    skip_if_emulated();
    expect_reason("start_daemon", "");
    assert_false(is_alive(noted()));
}

/* Without the probe, the host program would end. */
static void test_a_library_that_goes_to_the_background(void **state) {
    (void)state;
    expect_reason("go_to_background", "ended early in probe, while it was loaded");
    assert_false(is_alive(noted()));
}

static void test_memory_is_limited(void **state) {
    (void)state;
    skip_if_emulated();
    struct rusage usage;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("skipped: a sanitizer maps more memory than any limit would allow\n");
    skip();
#endif
    setenv("BACKPLANE_REGISTRY_PROBE_MEMORY", "400", 1);
    expect_reason("take_memory",
                  "SIGABRT at its limit of memory (registry.probe_memory) in probe, while it was loaded");
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
    assert_true(usage.ru_maxrss < 400 << 10);
    assert_true(usage.ru_maxrss > 300 << 10); /* memory within the limit can be used */
    unsetenv("BACKPLANE_REGISTRY_PROBE_MEMORY");
    expect_reason("plain", "");
}

/* ---- Host programs that collect unknown children ---- */

static void collect_all(int number) {
    int error = errno;
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    errno = error;
}

static void *collect_forever(void *user) {
    while (!atomic_load((atomic_bool *)user)) {
        if (waitpid(-1, NULL, 0) < 0) {
            poll(NULL, 0, 1);
        }
    }
    return NULL;
}

static void expect_usual_results(void) {
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "20000", 1);
    for (int i = 0; i < 5; i++) {
        expect_reason("plain", "");
        expect_reason("crash", "SIGILL in probe, while it was loaded");
        expect_reason("exit", "ended early in probe, while it was loaded");
    }
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "200", 1);
    expect_hung("hang");
}

static void test_a_host_that_collects_all_children(void **state) {
    (void)state;
    pthread_t thread;
    atomic_bool done = false;
    const struct sigaction collecting = {.sa_handler = collect_all}, ignoring = {.sa_handler = SIG_IGN};
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    assert_int_equal(sigaction(SIGCHLD, &collecting, NULL), 0);
    expect_usual_results();
    assert_int_equal(sigaction(SIGCHLD, &ignoring, NULL), 0);
    expect_usual_results();
    assert_int_equal(sigaction(SIGCHLD, &usual, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, collect_forever, &done), 0);
    expect_usual_results();
    atomic_store(&done, true);
    pthread_join(thread, NULL);
}

/* The library keeps the report open in an unknown process, and hangs. */
static void test_no_process_is_signalled_by_number(void **state) {
    (void)state;
    signals_sent = 0;
    expect_reason("start_daemon", "");
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "200", 1);
    expect_hung("hang");
    long handle = syscall(SYS_pidfd_open, getpid(), 0);
    if (handle >= 0) { /* only for a stopped helper does the host program send a signal */
        close((int)handle);
        expect_hung("stop_supervisor");
    }
    assert_int_equal(signals_sent, 0);
}

/* Simulates a system without process handles. */
static bool take_handles_away(void) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = BP__COUNT(steps), .filter = steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

static void test_without_handles(void **state) {
    (void)state;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!take_handles_away()) {
            _exit(77);
        }
        if (syscall(SYS_pidfd_open, getpid(), 0) >= 0) {
            _exit(78);
        }
        expect_usual_results();
        setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "3000", 1);
        expect_hung("stop_supervisor");
        _exit(signals_sent == 1 ? 0 : 79);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("skipped: system calls cannot be filtered here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void test_a_stopped_helper_is_ended(void **state) {
    (void)state;
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "3000", 1);
    expect_hung("stop_supervisor");
    pid_t library = noted();
    for (int i = 0; i < 10000 && is_alive(library); i++) {
        poll(NULL, 0, 1); /* the kernel ends it with its parent */
    }
    assert_false(is_alive(library));
}

/* ---- Host programs that fork or are killed during a probe ---- */

static void *list_hanging(void *result) {
    list("hang_noted");
    *(bp_library_info *)result = only_row();
    return NULL;
}

/* A child of the host program keeps copies of all of its files, including its end of the socket. */
static void test_a_host_that_forks(void **state) {
    (void)state;
    pthread_t thread;
    bp_library_info row;
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "3000", 1);
    assert_int_equal(pthread_create(&thread, NULL, list_hanging, &row), 0);
    pid_t library = noted();
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); /* a fork that libc does not notice */
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    assert_true(child > 0);
    pthread_join(thread, NULL);
    assert_true(is_alive(child));
    assert_string_equal(row.reason, "hung in probe, while it was loaded");
    assert_false(is_alive(library));
    syscall(SYS_kill, child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* The probe holds no file of the host program: a reader of this pipe finds its end at once. */
static void test_files_of_the_host(void **state) {
    (void)state;
    pthread_t thread;
    bp_library_info row;
    int ends[2];
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "3000", 1);
    assert_int_equal(pipe(ends), 0); /* inherited by every started program */
    assert_int_equal(pthread_create(&thread, NULL, list_hanging, &row), 0);
    pid_t library = noted();
    close(ends[1]);
    struct pollfd reader = {.fd = ends[0], .events = POLLIN};
    int ended = poll(&reader, 1, 0);
    bool in_time = is_alive(library);
    pthread_join(thread, NULL);
    close(ends[0]);
    assert_int_equal(ended, 1);
    assert_true(in_time);
}

static pid_t kill_a_host_that_probes(const char *name) {
    pid_t host = fork();
    assert_true(host >= 0);
    if (host == 0) {
        probe(name);
        _exit(0);
    }
    pid_t library = noted();
    assert_true(is_alive(library));
    syscall(SYS_kill, host, SIGKILL);
    assert_int_equal(waitpid(host, NULL, 0), host);
    return library;
}

static void test_a_host_that_is_killed(void **state) {
    (void)state;
    skip_if_emulated();
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "600000", 1);
    static const char *const names[] = {"hang_noted", "hang_with_daemon"};
    for (int i = 0; i < BP__COUNT(names); i++) {
        pid_t library = kill_a_host_that_probes(names[i]);
        for (int j = 0; j < 20000 && is_alive(library); j++) {
            poll(NULL, 0, 1);
        }
        assert_false(is_alive(library));
        assert_int_equal(unlink(notes), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_daemons_end_with_the_probe, make, forget),
        cmocka_unit_test_setup_teardown(test_a_library_that_goes_to_the_background, make, forget),
        cmocka_unit_test_setup_teardown(test_memory_is_limited, make, forget),
        cmocka_unit_test_setup_teardown(test_a_host_that_collects_all_children, make, forget),
        cmocka_unit_test_setup_teardown(test_no_process_is_signalled_by_number, make, forget),
        cmocka_unit_test_setup_teardown(test_without_handles, make, forget),
        cmocka_unit_test_setup_teardown(test_a_stopped_helper_is_ended, make, forget),
        cmocka_unit_test_setup_teardown(test_a_host_that_forks, make, forget),
        cmocka_unit_test_setup_teardown(test_files_of_the_host, make, forget),
        cmocka_unit_test_setup_teardown(test_a_host_that_is_killed, make, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
