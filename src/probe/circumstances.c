/* circumstances.c - tells what the library did from what a moment caused: a busy machine, limits of the user, signals
 * from outside.
 *
 * A library that waits for a processor is not hung, so limits count the processor time of its busiest thread. One that
 * sleeps uses none; it is given up after the same time by the clock. That may be wrong, so such a verdict is reported
 * as one of the moment, and is not stored. */
#include "probe/probe.h"
#include "probe/shortage.h"

#include "base/base.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOKS = 4,           /* at the threads of a session, for one answer */
    BETWEEN_LOOKS = 10,  /* milliseconds */
    AWAKE_PART = 50,     /* a thread that uses less than this part of a period sleeps */
    STACK = 8 << 20,     /* bytes of a thread's stack that libraries expect: Linux's default */
    FEW_PROCESSES = 512, /* threads count too */
    FEW_FILES = 256
};

/* ---- Threads of a session ---- */

typedef struct census {
    long session;
    int64_t busiest_ms; /* processor time of one thread */
    int64_t total_ms;
    bool runs; /* a thread runs, waits for a processor, or waits for a disk */
} census;

/* Reads /proc/.../stat of a thread: "NUMBER (NAME) STATE PARENT GROUP SESSION ...", in which the name may contain any
 * bytes, and the times in user and system mode follow eight fields later. Returns false if it is in another session. */
static bool count_thread(const char *path, census *all) {
    char line[512], state;
    long session;
    unsigned long long user, system;
    bp__read_text(path, line, sizeof line);
    const char *end = strrchr(line, ')');
    if (!end || sscanf(end + 1, " %c %*d %*d %ld %*d %*d %*u %*u %*u %*u %*u %llu %llu", &state, &session, &user,
                       &system) != 4) {
        return true; /* it has ended meanwhile */
    }
    if (session != all->session) {
        return false;
    }
    const int64_t used = (int64_t)(user + system) * 1000 / sysconf(_SC_CLK_TCK);
    all->busiest_ms = used > all->busiest_ms ? used : all->busiest_ms;
    all->total_ms += used;
    all->runs = all->runs || state == 'R' || state == 'D';
    return true;
}

static void count_process(const char *number, census *all) {
    char path[600];
    snprintf(path, sizeof path, "/proc/%.20s/task", number);
    DIR *threads = opendir(path);
    bool mine = true;
    for (struct dirent *each; threads && mine && (each = readdir(threads));) {
        if (isdigit((unsigned char)each->d_name[0])) {
            snprintf(path, sizeof path, "/proc/%.20s/task/%.20s/stat", number, each->d_name);
            mine = count_thread(path, all);
        }
    }
    if (threads) {
        closedir(threads);
    }
}

static census count_session(pid_t session) {
    census all = {.session = session};
    DIR *processes = opendir("/proc");
    for (struct dirent *each; processes && (each = readdir(processes));) {
        if (isdigit((unsigned char)each->d_name[0])) {
            count_process(each->d_name, &all);
        }
    }
    if (processes) {
        closedir(processes);
    }
    return all;
}

session_state state_of_session(pid_t session, int64_t limit_ms) {
    census first = count_session(session), last = first;
    bool runs = first.runs;
    for (int look = 1; look < LOOKS; look++) {
        const struct timespec pause = {.tv_nsec = BETWEEN_LOOKS * 1000000L};
        nanosleep(&pause, NULL);
        last = count_session(session);
        runs = runs || last.runs;
    }
    return last.busiest_ms >= limit_ms              ? SESSION_USED_UP
           : runs || last.total_ms > first.total_ms ? SESSION_AWAKE
                                                    : SESSION_SLEEPS;
}

/* ---- The limit of one check ---- */

static int64_t used_before, period_ns;
static int periods;

static int64_t processor_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * (int64_t)1000000000 + used.tv_nsec;
}

/* Ends the process if it slept in this period. Otherwise it waited for a processor, and gets another period. */
static void on_alarm(int number) {
    const int64_t used = processor_ns();
    if (used - used_before < period_ns / AWAKE_PART || ++periods >= MOST_PERIODS) {
        signal(number, SIG_DFL);
        raise(number); /* takes effect when this handler returns */
    }
    used_before = used;
}

static void set_timer(__itimer_which_t which, int number, void (*handler)(int), int milliseconds, bool again) {
    const struct timeval time = {milliseconds / 1000, milliseconds % 1000 * 1000};
    const struct itimerval limit = {.it_value = time, .it_interval = again ? time : (struct timeval){0, 0}};
    sigset_t mask;
    signal(number, handler);
    sigemptyset(&mask);
    sigaddset(&mask, number);
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
    setitimer(which, &limit, NULL);
}

/* The library may have changed the handling of these signals. */
void limit_check(int milliseconds) {
    used_before = processor_ns();
    period_ns = (int64_t)milliseconds * 1000000;
    periods = 0;
    set_timer(ITIMER_PROF, SIGPROF, SIG_DFL, milliseconds, false);
    set_timer(ITIMER_REAL, SIGALRM, on_alarm, milliseconds, true);
}

bool is_time_limit(int number) {
    return number == SIGPROF || number == SIGALRM;
}

/* ---- Signals ---- */

bool is_own_fault(int number) {
    static const int faults[] = {SIGSEGV, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP, SIGPROF};
    for (int i = 0; i < BP__COUNT(faults); i++) {
        if (number == faults[i]) {
            return true;
        }
    }
    return false; /* others come from outside, or because memory (SIGBUS, SIGKILL) or time ran out */
}

/* ---- Resource limits ---- */

static const struct {
    __rlimit_resource_t resource;
    rlim_t enough;
    const char *what;
} limits[] = {
    {RLIMIT_AS, RLIM_INFINITY, "the address space (ulimit -v)"},
    {RLIMIT_DATA, RLIM_INFINITY, "memory for data (ulimit -d)"},
    {RLIMIT_STACK, STACK, "the stack (ulimit -s)"},
    {RLIMIT_NPROC, FEW_PROCESSES, "the number of processes (ulimit -u)"},
    {RLIMIT_NOFILE, FEW_FILES, "the number of open files (ulimit -n)"},
    {RLIMIT_CPU, RLIM_INFINITY, "processor time (ulimit -t)"},
};

/* New threads of the library get the stack that its program would give them without a lower soft limit. */
static void raise_stack_of_threads(void) {
    pthread_attr_t attributes;
    size_t size = 0;
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur < STACK || pthread_attr_init(&attributes) != 0) {
        return;
    }
    pthread_attr_getstacksize(&attributes, &size);
    if (size < STACK / 4 && pthread_attr_setstacksize(&attributes, STACK) == 0) {
        pthread_setattr_default_np(&attributes);
    }
    pthread_attr_destroy(&attributes);
}

void raise_limits(void) {
    struct rlimit limit;
    for (int i = 0; i < BP__COUNT(limits); i++) {
        if (getrlimit(limits[i].resource, &limit) == 0 && limit.rlim_cur < limits[i].enough) {
            limit.rlim_cur = limit.rlim_max < limits[i].enough ? limit.rlim_max : limits[i].enough;
            setrlimit(limits[i].resource, &limit);
        }
    }
    raise_stack_of_threads();
}

bool memory_is_scarce(int64_t mebibytes) {
    bp__memory left;
    const int64_t most = mebibytes << 20;
    return bp__memory_left(&left) && (left.space < most || left.data < most);
}

const char *limit_in_force(int64_t mebibytes) {
    struct rlimit limit;
    for (int i = 0; i < BP__COUNT(limits); i++) {
        if (getrlimit(limits[i].resource, &limit) == 0 && limit.rlim_cur < limits[i].enough) {
            return limits[i].what;
        }
    }
    return system_shortage("", mebibytes);
}
