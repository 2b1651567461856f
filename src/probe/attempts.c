/* attempts.c - opens the library in children: one for all queries and checks, and another one after each check that
 * ended a child. */
#include "probe/probe.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ALL_DONE = INT_MAX };

/* Ends this process as the child ended, so that the parent can detect it. */
static _Noreturn void end_like(int status) {
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
}

/* Returns how the child has ended. If none can be started, the remaining work is skipped. */
static int try_once(subject *library, progress *state, void (*work)(subject *, progress *)) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        become_reporter();
        work(library, state);
        state->check = ALL_DONE;
        _exit(0); /* without running destructors of the library */
    }
    if (child < 0) {
        state->check = ALL_DONE;
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

static bool accessed_memory(int status) {
    return WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
}

static void report_end(const subject *library, progress *state, int status) {
    char how[64];
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        snprintf(how, sizeof how, "did not end within %d ms", state->limit_ms);
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) {
        snprintf(how, sizeof how, "did not end within %d ms of processor time", state->limit_ms);
    } else if (WIFSIGNALED(status)) {
        snprintf(how, sizeof how, "ended the probe with %s", signal_name(WTERMSIG(status)));
    } else {
        snprintf(how, sizeof how, "ended the probe");
    }
    if (WIFSIGNALED(status) && !is_own_fault(WTERMSIG(status))) {
        report("moment", "1");
    }
    report_unfinished(library, state, accessed_memory(status), how);
}

/* Whether the probe is given up: the library waits for memory that it does not get, and would do so in each of the
 * other steps. Without measured needs it is not called in a process with limits. */
static bool gives_up(const subject *library, const progress *state, int status) {
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return library->scarce && (state->measuring || is_time_limit(number));
}

void work_in_children(subject *library, int limit_ms, void (*work)(subject *library, progress *state)) {
    progress *state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (state == MAP_FAILED) {
        _exit(3);
    }
    *state = (progress){.limit_ms = limit_ms, .check = -1};
    int status = try_once(library, state, work);
    if (!state->known) {
        end_like(status);
    }
    library->int_bits = state->int_bits;
    while (state->check != ALL_DONE) {
        if (state->check >= 0 && !state->measuring) {
            report_end(library, state, status);
        }
        if (gives_up(library, state, status)) {
            report("shortage", "memory");
            break;
        }
        if (!state->measuring) {
            skip_unfinished(state, accessed_memory(status));
        }
        state->measuring = false;
        status = try_once(library, state, work);
    }
    end_like(status);
}
