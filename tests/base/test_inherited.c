/* test_inherited.c - tests that test programs do not depend on what they inherit: this program starts itself in a state
 * that hardly any user has, and looks what is left of it. tests/checks/inherited_state.py tests the same for Python. */
#define _GNU_SOURCE
#include "support_base.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USUAL = 0, SIGNALS = 2, MASK, UMASK, LIMITS, VARIABLES };

/* Returns what is unusual in this process. */
static int unusual(void) {
    struct sigaction now;
    sigset_t blocked;
    struct rlimit limit;
    static const int ignored[] = {SIGINT, SIGHUP, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        if (sigaction(ignored[i], NULL, &now) != 0 || now.sa_handler == SIG_IGN) {
            return SIGNALS;
        }
    }
    if (sigprocmask(SIG_BLOCK, NULL, &blocked) != 0 || sigismember(&blocked, SIGINT) ||
        sigismember(&blocked, SIGUSR1)) {
        return MASK;
    }
    if (umask(022) != 022) {
        return UMASK;
    }
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != limit.rlim_max) {
        return LIMITS;
    }
    return getenv("OMP_NUM_THREADS") || getenv("OPENBLAS_NUM_THREADS") || getenv("LC_ALL") ? VARIABLES : USUAL;
}

/* Starts this program in an unusual state. */
static void start_again(void) {
    sigset_t all;
    struct rlimit limit;
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_IGN);
    }
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    umask(0777);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 1 << 20;
    setrlimit(RLIMIT_FSIZE, &limit);
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    execl("/proc/self/exe", "test_inherited", "look", (char *)NULL);
    _exit(1);
}

static int status_of_second(bool resets) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (resets) {
            unsetenv("TESTED_INHERITED");
        }
        start_again();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_first_program_resets(void **state) {
    (void)state;
    assert_int_equal(status_of_second(true), USUAL);
}

/* What a test chooses for a program that it starts again stays. */
static void test_second_program_keeps(void **state) {
    (void)state;
    assert_int_equal(status_of_second(false), SIGNALS);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "look") == 0) {
        return unusual();
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_program_resets),
                                       cmocka_unit_test(test_second_program_keeps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
