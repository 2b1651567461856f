/* supervise.c - supervises the process that opens the library, and enforces its limits.
 *
 * backplane-probe forks. The child starts those that open the library (attempts.c). This process enforces the time
 * limit, ends the child and everything that it has started, and reports to the host program how the child ended. It is
 * the subreaper of all processes that the library starts, so that a daemon becomes its child too. Only this process
 * collects its children, so a process number that it signals cannot belong to another process. The host program could
 * not do that: it may collect all children at any moment, and being a subreaper would affect the whole program.
 */
#include "probe/probe.h"

#include "base/base.h"
#include "base/sanitizer.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_TO_END = 1000,    /* milliseconds to end what the library has started */
    MOST_FOR_HOST = 10000, /* milliseconds that the host program may take to read the end of the report */
    BETWEEN_LOOKS = 1,     /* milliseconds */
    NANOSECONDS_PER_MS = 1000000
};

/* HUNG: it has used the time of a processor. STUCK: it has slept that long, or never got that much. */
typedef enum outcome { ENDED, HUNG, STUCK, ABANDONED } outcome;

static pid_t reporter;

void become_reporter(void) {
    reporter = getpid();
}

bool may_report(void) {
    return getpid() == reporter;
}

/* ---- In the child; its own children inherit these settings ---- */

/* Sets RLIMIT_DATA, which counts private writable memory. RLIMIT_AS would also count reserved addresses, and some
 * libraries reserve far more than they use. A sanitizer in this process needs more than any limit. If memory runs out
 * nevertheless, the kernel ends this process first. */
static void limit_memory(int64_t mebibytes) {
    static const char first_to_go[] = "1000";
    const rlim_t bytes = (rlim_t)mebibytes << 20;
    struct rlimit most;
    if (mebibytes > 0 && !bp__sanitizer_runs() && getrlimit(RLIMIT_DATA, &most) == 0 && bytes < most.rlim_max) {
        most.rlim_cur = most.rlim_cur < bytes ? most.rlim_cur : bytes;
        most.rlim_max = bytes;
        setrlimit(RLIMIT_DATA, &most);
    }
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        ssize_t wrote = write(file, first_to_go, sizeof first_to_go - 1);
        (void)wrote; /* a failure has no consequence */
        close(file);
    }
}

/* Makes a new session: no terminal, and a process group that can be ended as a whole. */
static void become_child(pid_t parent, const sigset_t *mask, int64_t mebibytes) {
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(0); /* the parent ended before prctl took effect */
    }
    become_reporter();
    limit_memory(mebibytes);
}

/* ---- In the supervisor ---- */

static void on_signal(int number) {
    (void)number;
}

/* Makes SIGCHLD interrupt ppoll() and nothing else. */
static void watch_children(sigset_t *before) {
    const struct sigaction action = {.sa_handler = on_signal};
    sigset_t child_ends;
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    sigaction(SIGCHLD, &action, NULL);
    sigprocmask(SIG_BLOCK, &child_ends, before);
}

/* Decides about a child whose time by the clock is over. If it goes on, the host program, which has a limit of its own,
 * is told. */
static outcome judge(pid_t child, int64_t milliseconds, bool last) {
    switch (state_of_session(child, milliseconds)) {
    case SESSION_USED_UP:
        return HUNG;
    case SESSION_AWAKE:
        if (!last && write(REPORT_FILE, "\n", 1) == 1) {
            return ENDED;
        }
        break;
    case SESSION_SLEEPS:
        break;
    }
    return STUCK;
}

/* Waits until the child has ended, without collecting it; or until its time is over; or until the host program has
 * closed its end, which sends nothing after its first byte. */
static outcome watch(pid_t child, int64_t milliseconds, const sigset_t *while_waiting) {
    const int64_t period = milliseconds * NANOSECONDS_PER_MS, last = bp__now_ns() + MOST_PERIODS * period;
    int64_t deadline = bp__now_ns() + period;
    for (;;) {
        siginfo_t end = {0};
        int64_t left = deadline - bp__now_ns();
        if (waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid == child) {
            return ENDED;
        }
        if (left <= 0) {
            const outcome how = judge(child, milliseconds, bp__now_ns() >= last);
            if (how != ENDED) {
                return how;
            }
            deadline = bp__now_ns() + period / 4;
            continue;
        }
        const struct timespec most = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        struct pollfd host = {.fd = REPORT_FILE, .events = POLLIN};
        if (ppoll(&host, 1, &most, while_waiting) > 0) {
            return ABANDONED;
        }
    }
}

/* Returns the parent of a process from its /proc/PID/stat: "PID (NAME) STATE PARENT ...", in which the name may contain
 * any bytes. */
static long parent_of(const char *pid) {
    char path[300], line[512];
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    bp__read_text(path, line, sizeof line);
    const char *name_end = strrchr(line, ')');
    return name_end && strlen(name_end) > 4 ? strtol(name_end + 4, NULL, 10) : -1;
}

static void signal_children(void) {
    pid_t self = getpid();
    DIR *all = opendir("/proc");
    for (struct dirent *each; all && (each = readdir(all));) {
        if (isdigit((unsigned char)each->d_name[0]) && parent_of(each->d_name) == self) {
            kill((pid_t)strtol(each->d_name, NULL, 10), SIGKILL);
        }
    }
    if (all) {
        closedir(all);
    }
}

/* Ends every child. Their children become children of this process and are ended in the next round. */
static void end_children(void) {
    int64_t deadline = bp__now_ns() + MOST_TO_END * (int64_t)NANOSECONDS_PER_MS;
    for (;;) {
        pid_t got;
        while ((got = waitpid(-1, NULL, WNOHANG)) > 0) {
        }
        if (got < 0 || bp__now_ns() >= deadline) {
            return;
        }
        signal_children();
        poll(NULL, 0, BETWEEN_LOOKS);
    }
}

/* Ends the child and collects it. Until then its process and group numbers cannot be reused. */
static void end_child(pid_t child, int *status, struct rusage *usage) {
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    while (wait4(child, status, 0, usage) < 0 && errno == EINTR) {
    }
}

/* Ends the report. Writes an empty line first, because the child may have been ended in the middle of a line. */
static void say_end(outcome how, int status, const struct rusage *usage, int64_t mebibytes, const char *limited) {
    const char *end = "ended early";
    const char *at_limit = mebibytes > 0 && usage->ru_maxrss / 1024 >= mebibytes / 4 * 3
                               ? " at its limit of memory (registry.probe_memory)"
                               : "";
    const bool outside = how == STUCK || (WIFSIGNALED(status) && !is_own_fault(WTERMSIG(status)));
    if (how == HUNG || how == STUCK || (WIFSIGNALED(status) && is_time_limit(WTERMSIG(status)))) {
        end = "hung";
    } else if (WIFSIGNALED(status)) {
        end = signal_name(WTERMSIG(status));
    }
    if (write(REPORT_FILE, "\n", 1) == 1) {
        report("end", "%s%s", end, at_limit);
        if (how != HUNG && (outside || *at_limit)) {
            report("moment", "1");
        }
        if (limited) {
            report("limited", "%s", limited);
        }
    }
}

/* Keeps this process alive until the host program has read everything, because without process handles the host
 * collects this process by its number. The shutdown ends the socket for every process that still holds it. */
static void wait_for_host(void) {
    struct pollfd host = {.fd = REPORT_FILE, .events = POLLIN};
    shutdown(REPORT_FILE, SHUT_WR);
    poll(&host, 1, MOST_FOR_HOST);
}

void start_supervised(int64_t milliseconds, int64_t mebibytes) {
    char first;
    ssize_t got;
    sigset_t before;
    struct rusage usage = {0};
    int status = 0;
    while ((got = read(REPORT_FILE, &first, 1)) < 0 && errno == EINTR) {
    }
    if (got != 1) {
        _exit(0); /* the host program has ended */
    }
    const char *limited = limit_in_force(mebibytes);
    pid_t self = getpid();
    become_reporter();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    watch_children(&before);
    pid_t child = fork();
    if (child == 0) {
        become_child(self, &before, mebibytes);
        return;
    }
    if (child < 0) {
        report("unstarted", "%s", strerror(errno));
    } else {
        outcome how = watch(child, milliseconds, &before);
        end_child(child, &status, &usage);
        end_children();
        limited = limited ? limited : limit_in_force(mebibytes); /* others may have used it up meanwhile */
        say_end(how, status, &usage, mebibytes, limited);
    }
    wait_for_host();
    _exit(0);
}
