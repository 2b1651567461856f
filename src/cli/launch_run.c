/* launch_run.c - runs a program in place of this process, or as a child whose end is waited for. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int launch_replace(const char *path, char *const *words) {
    execv(path, words);
    cli_fail(CLI_IO, "%s: %s", path, strerror(errno));
    return errno == ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_CANNOT_RUN;
}

/* Signals that are meant for the program. SIGINT and SIGQUIT of a terminal reach it without help. */
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

typedef struct actions {
    struct sigaction passed[PASSED], shared[SHARED];
} actions;

/* A signal that is ignored stays ignored, for nohup. */
static void set_signals(actions *before) {
    struct sigaction pass = {.sa_handler = pass_on, .sa_flags = SA_RESTART}, ignore = {.sa_handler = SIG_IGN};
    for (int i = 0; i < PASSED; i++) {
        sigaction(passed[i], NULL, &before->passed[i]);
        if (before->passed[i].sa_handler != SIG_IGN) {
            sigaction(passed[i], &pass, NULL);
        }
    }
    for (int i = 0; i < SHARED; i++) {
        sigaction(shared[i], &ignore, &before->shared[i]);
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

int launch_wait(const char *path, char *const *words) {
    actions before;
    sigset_t all, mask;
    int status;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask); /* no signal is lost between the start and the assignment of `child` */
    set_signals(&before);
    const pid_t started = fork();
    if (started == 0) {
        restore_signals(&before);
        sigprocmask(SIG_SETMASK, &mask, NULL);
        _exit(launch_replace(path, words));
    }
    child = (sig_atomic_t)started;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (started < 0) {
        restore_signals(&before);
        return cli_fail(CLI_IO, "no process can be started: %s", strerror(errno));
    }
    while (waitpid(started, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    restore_signals(&before);
    return WIFSIGNALED(status) ? LAUNCH_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

int launch_redirect_output(const char *path) {
    const int file = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : STDERR_FILENO;
    if (file < 0 || fflush(stdout) != 0 || dup2(file, STDOUT_FILENO) < 0) {
        return cli_fail(CLI_IO, "%s cannot be written: %s", path ? path : "the report", strerror(errno));
    }
    if (path) {
        close(file);
    }
    return CLI_OK;
}
