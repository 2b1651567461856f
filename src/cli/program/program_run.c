/* program_run.c - runs a program in place of this process, or as a child whose end is waited for. */
#include "program.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int program_replace(const char *path, char *const *words) {
    cli_signals_restore();
    execv(path, words);
    cli_fail(CLI_IO, "%s: %s", path, strerror(errno));
    return errno == ENOENT ? PROGRAM_NOT_FOUND : PROGRAM_CANNOT_RUN;
}

/* Signals that are meant for the program. A terminal sends SIGINT and SIGQUIT to both; other processes send them to one
 * of them. */
static const int passed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
static const int shared[] = {SIGINT, SIGQUIT};
enum { PASSED = sizeof passed / sizeof passed[0], SHARED = sizeof shared / sizeof shared[0] };

static volatile sig_atomic_t child;

static void pass_on(int signal) {
    const int before = errno;
    if (child > 0) {
        kill((pid_t)child, signal);
    }
    errno = before;
}

static void pass_on_unless_of_terminal(int signal, siginfo_t *facts, void *state) {
    (void)state;
    if (facts->si_code <= 0) { /* sent by a process */
        pass_on(signal);
    }
}

typedef struct actions {
    struct sigaction passed[PASSED], shared[SHARED];
} actions;

/* A signal that is ignored stays ignored, for nohup. */
static void set_signals(actions *before) {
    struct sigaction pass = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    struct sigaction share = {.sa_sigaction = pass_on_unless_of_terminal, .sa_flags = SA_RESTART | SA_SIGINFO};
    for (int i = 0; i < PASSED; i++) {
        sigaction(passed[i], NULL, &before->passed[i]);
        if (before->passed[i].sa_handler != SIG_IGN) {
            sigaction(passed[i], &pass, NULL);
        }
    }
    for (int i = 0; i < SHARED; i++) {
        sigaction(shared[i], NULL, &before->shared[i]);
        if (before->shared[i].sa_handler != SIG_IGN) {
            sigaction(shared[i], &share, NULL);
        }
    }
}

static void restore_signals(const actions *before) {
    for (int i = 0; i < PASSED; i++) {
        sigaction(passed[i], &before->passed[i], NULL);
    }
    for (int i = 0; i < SHARED; i++) {
        sigaction(shared[i], &before->shared[i], NULL);
    }
}

/* Waits for the end of a child. */
static int status_of(pid_t started, program_look *look, void *context) {
    const struct timespec pause = {.tv_nsec = 5000000};
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(started, &status, look ? WNOHANG : 0)) == 0 || (ended < 0 && errno == EINTR)) {
        if (look) {
            look(started, context);
            nanosleep(&pause, NULL);
        }
    }
    return status;
}

int program_wait(const char *path, char *const *words, program_look *look, void *context) {
    actions before;
    sigset_t all, mask;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask); /* no signal is lost between the start and the assignment of `child` */
    set_signals(&before);
    const pid_t started = fork();
    if (started == 0) {
        restore_signals(&before);
        sigprocmask(SIG_SETMASK, &mask, NULL);
        _exit(program_replace(path, words));
    }
    child = (sig_atomic_t)started;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (started < 0) {
        restore_signals(&before);
        return cli_fail(CLI_IO, "no process can be started: %s", strerror(errno));
    }
    const int status = status_of(started, look, context);
    child = 0;
    restore_signals(&before);
    return WIFSIGNALED(status) ? PROGRAM_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}
