/* child.c - starts the probe helper for each library and reads the reports of several at a time.
 *
 * The helper enforces the time limit, ends all processes that the library has started, and reports how the library
 * ended (probe/supervise.c). So this file sends no signal to a process number. That number may belong to another
 * process by then, if the host program or the kernel collects all children. The helper waits for a first byte, and runs
 * to its end only after this file holds a handle (pidfd) of it.
 */
#include "registry/child.h"
#include "base/path_buffer.h"
#include "base/uncancelled.h"

#include "base/sanitizer.h"
#include "machine/internal.h"
#include "settings/internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST_AT_ONCE = 32,
    REPORT_BYTES = 32768, /* bytes */
    REPORT_FILE = 3,
    FIRST_FREE_FILE = 10,
    OVERTIME = 2000,    /* milliseconds beyond its limit that a helper may take to end */
    MOST_PERIODS = 7,   /* limits of time that a helper may take if it reports meanwhile (probe/circumstances.c) */
    BASE_MEMORY = 2048, /* mebibytes */
    CPU_MEMORY = 256,   /* additional mebibytes for each processor: OpenBLAS has 128 MiB of buffers for each thread */
    BY_HANDLE = 3       /* P_PIDFD, which older C libraries lack */
};

#ifndef BP_PROBE_INSTALLED
#define BP_PROBE_INSTALLED "../libexec/backplane/backplane-probe"
#endif

typedef struct child {
    bp__file *file; /* the probed file; NULL: the slot is free, or the helper measures */
    pid_t process;
    int handle; /* of the process; -1 if the system has none */
    int socket;
    int64_t started;
    int64_t deadline;
    int64_t period; /* from a report to the next deadline, in nanoseconds */
    size_t length;
    char *report; /* REPORT_BYTES bytes */
} child;

bool bp__deepbind(void) {
    enum { AUTO, ON, OFF };
    int64_t word = bp__setting_int(BP_SET_registry_deepbind);
    return word == ON || (word == AUTO && !bp__sanitizer_runs());
}

int64_t bp__probe_memory(void) {
    int64_t given = bp__setting_int(BP_SET_registry_probe_memory);
    return given > 0 ? given : BASE_MEMORY + CPU_MEMORY * (int64_t)sysconf(_SC_NPROCESSORS_CONF);
}

/* Finds the helper: in the build directory it is next to the library; installed, it has its own directory. */
const char *bp__probe_helper(char *buffer, size_t size) {
    static const char *const places[] = {"backplane-probe", BP_PROBE_INSTALLED};
    Dl_info own;
    if (dladdr((const void *)(uintptr_t)&bp__library_families, &own) == 0 || !own.dli_fname) {
        return NULL;
    }
    BP__PATH_BUFFER(path);
    const char *slash = strrchr(own.dli_fname, '/');
    int folder = slash ? (int)(slash - own.dli_fname) : 0;
    if (!slash && !path) {
        return NULL;
    }
    if (!slash) { /* a program started through PATH has only its bare name here */
        ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
        path[length > 0 ? length : 0] = 0;
        slash = strrchr(path, '/');
        folder = slash ? (int)(slash - path) : 0;
        own.dli_fname = path;
    }
    for (int i = 0; i < BP__COUNT(places); i++) {
        int length = snprintf(buffer, size, "%.*s/%s", folder, own.dli_fname, places[i]);
        if (length > 0 && (size_t)length < size && access(buffer, X_OK) == 0) {
            return buffer;
        }
    }
    return NULL;
}

static bool fail_start(bp__file *file, const char *why) {
    char reason[256];
    snprintf(reason, sizeof reason, "not probed: %.200s", why);
    file->facts.outcome = BP__OUTCOME_NO_PROBE;
    return bp__facts_set(&file->facts.reason, reason);
}

/* Makes two connected sockets. Their numbers cannot be numbers of the child's first files, and other children do not
 * inherit them. */
static bool make_sockets(int ends[2]) {
    int raw[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, raw) != 0) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(raw[i], F_DUPFD_CLOEXEC, FIRST_FREE_FILE);
        close(raw[i]);
    }
    if (ends[0] >= 0 && ends[1] >= 0) {
        return true;
    }
    for (int i = 0; i < 2; i++) {
        if (ends[i] >= 0) {
            close(ends[i]);
        }
    }
    return false;
}

/* Starts the helper in its own process group, so that terminal signals for the host program do not reach it, and with
 * default signal handling. */
static int spawn(const char *helper, const char *const *words, int report, pid_t *process) {
    extern char **environ;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawn_file_actions_init(&files);
    if (error != 0) {
        return error;
    }
    error = posix_spawnattr_init(&attributes);
    if (error != 0) {
        posix_spawn_file_actions_destroy(&files);
        return error;
    }
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    for (int file = 0; file < 3 && error == 0; file++) {
        error = posix_spawn_file_actions_addopen(&files, file, "/dev/null", O_RDWR, 0);
    }
    if (error == 0) {
        error = posix_spawn_file_actions_adddup2(&files, report, REPORT_FILE);
    }
    if (error == 0) {
        error = posix_spawn(process, helper, &files, &attributes, (char *const *)(uintptr_t)words, environ);
    }
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* Lets the helper begin. Until then it does not end, so that its process number is still valid when the handle is made.
 */
static void let_begin(child *slot) {
#ifdef SYS_pidfd_open
    slot->handle = (int)syscall(SYS_pidfd_open, slot->process, 0);
#else
    slot->handle = -1;
#endif
    while (send(slot->socket, "", 1, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

/* Returns an error number, or 0. */
static int start(child *slot, const char *helper, const char *const *words, int64_t milliseconds) {
    int ends[2];
    if (!make_sockets(ends)) {
        return errno ? errno : EMFILE;
    }
    slot->report = bp__alloc(REPORT_BYTES);
    int error = slot->report ? spawn(helper, words, ends[1], &slot->process) : ENOMEM;
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        bp__free(slot->report);
        slot->report = NULL;
        return error;
    }
    slot->socket = ends[0];
    slot->length = 0;
    slot->started = bp__now_ns();
    slot->period = (milliseconds + OVERTIME) * 1000000;
    slot->deadline = slot->started + slot->period;
    let_begin(slot);
    return 0;
}

/* The names under which the helper runs to probe a library, by the number of libraries that are probed above it. */
static const char *const names[] = {"backplane-probing", "backplane-probing-2"};

/* Returns how many libraries this process probes: the helper itself, and those that have started it. */
static int depth(void) {
    for (int i = 0; i < BP__COUNT(names); i++) {
        if (bp__text_equal(program_invocation_short_name, names[i])) {
            return i + 1;
        }
    }
    return 0;
}

/* A library that is probed may call a drop-in library, as LAPACK calls libblas.so.3, and this one may open Backplane,
 * which looks for libraries again. So libraries that need the BLAS of others are probed at the top only, and none below
 * the second level. */
static bool may_probe(const bp__facts *facts) {
    return depth() == 0 || (depth() < BP__COUNT(names) && facts->kinds != BP_LIB_LAPACK);
}

/* Returns false if out of memory. A child that cannot be started becomes the file's outcome. */
static bool start_probe(child *slot, bp__file *file, const char *helper) {
    const bp__facts *facts = &file->facts;
    const int64_t most = bp__setting_int(BP_SET_registry_probe_timeout);
    char kinds[24], milliseconds[24], mebibytes[24], reason[128];
    if (!may_probe(facts)) {
        return fail_start(file, "this process probes another library, which needs it");
    }
    snprintf(kinds, sizeof kinds, "%lld", (long long)facts->kinds);
    snprintf(milliseconds, sizeof milliseconds, "%lld", (long long)most);
    snprintf(mebibytes, sizeof mebibytes, "%lld", (long long)bp__probe_memory());
    const char *words[] = {names[depth()],
                           file->path,
                           facts->base,
                           facts->prefix,
                           facts->suffix,
                           facts->cblas_suffix,
                           kinds,
                           bp__deepbind() ? "1" : "0",
                           milliseconds,
                           mebibytes,
                           file->brief ? "1" : "0",
                           NULL};
    int error = start(slot, helper, words, most);
    if (error != 0) {
        return error != ENOMEM && fail_start(file, strerror_r(error, reason, sizeof reason));
    }
    slot->file = file;
    return true;
}

/* Ends a helper that does not end by itself, because the library may have stopped it. Without a handle its number is
 * used only while it belongs to a child that has not been collected. */
static void end_stuck(const child *slot) {
    siginfo_t state = {0};
#ifdef SYS_pidfd_send_signal
    if (slot->handle >= 0 && syscall(SYS_pidfd_send_signal, slot->handle, SIGKILL, NULL, 0) == 0) {
        return;
    }
#endif
    if (slot->handle < 0 && waitid(P_PID, (id_t)slot->process, &state, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        state.si_pid == 0) {
        kill(slot->process, SIGKILL);
    }
}

/* Returns false if the system cannot wait for a handle. */
static bool collect_by_handle(int handle) {
    siginfo_t state;
    int result;
    while ((result = waitid((idtype_t)BY_HANDLE, (id_t)handle, &state, WEXITED)) != 0 && errno == EINTR) {
    }
    return result == 0 || errno != EINVAL;
}

/* Collects the helper, unless the host program or the kernel has done so. The helper ends when its socket is shut down,
 * even if another process holds a copy of the socket. */
static void collect(const child *slot) {
    shutdown(slot->socket, SHUT_RDWR);
    close(slot->socket);
    if (slot->handle < 0 || !collect_by_handle(slot->handle)) {
        while (waitpid(slot->process, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (slot->handle >= 0) {
        close(slot->handle);
    }
}

/* Ends and collects the helper, and terminates its report. */
static void finish(const child *slot, bool stuck) {
    if (stuck) {
        end_stuck(slot);
    }
    collect(slot);
    slot->report[slot->length] = 0;
}

static bool finish_probe(child *slot, bool stuck) {
    finish(slot, stuck);
    bool done = bp__probe_take_report(&slot->file->facts, slot->report, stuck ? "hung" : "ended early");
    slot->file->facts.probe_ms = (double)(bp__now_ns() - slot->started) / 1e6;
    bp__free(slot->report);
    memset(slot, 0, sizeof *slot);
    return done;
}

/* A library that waits for a processor may go on. Its supervisor tells so. */
static void extend(child *slot) {
    const int64_t next = bp__now_ns() + slot->period, last = slot->started + MOST_PERIODS * slot->period;
    slot->deadline = next < last ? next : last;
}

/* Reads the available bytes. Returns true when the child has closed its end. */
static bool drain(child *slot) {
    char spare[512];
    size_t space = REPORT_BYTES - 1 - slot->length;
    ssize_t got = read(slot->socket, space ? slot->report + slot->length : spare, space ? space : sizeof spare);
    if (got > 0) {
        slot->length += space ? (size_t)got : 0;
        extend(slot);
    }
    return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

static int milliseconds_left(const child *slots, int count) {
    int64_t now = bp__now_ns(), nearest = INT64_MAX;
    for (int i = 0; i < count; i++) {
        if (slots[i].file && slots[i].deadline < nearest) {
            nearest = slots[i].deadline;
        }
    }
    int64_t left = (nearest - now) / 1000000 + 1;
    return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

/* Waits for an event in one of the running children, and finishes those that have ended. */
static bool attend(child *slots, int count) {
    struct pollfd waits[MOST_AT_ONCE];
    bool enough_memory = true;
    for (int i = 0; i < count; i++) {
        waits[i] = (struct pollfd){.fd = slots[i].file ? slots[i].socket : -1, .events = POLLIN};
    }
    int ready = poll(waits, (nfds_t)count, milliseconds_left(slots, count));
    for (int i = 0; i < count; i++) {
        if (!slots[i].file) {
            continue;
        }
        bool closed = ready > 0 && waits[i].revents != 0 && drain(&slots[i]);
        if (closed || bp__now_ns() >= slots[i].deadline) {
            enough_memory = finish_probe(&slots[i], !closed) && enough_memory;
        }
    }
    return enough_memory;
}

bp_status bp__probe(bp__file *const *files, int count) {
    BP__PATH_BUFFER(buffer);
    int width = bp__available_cpus(), next = 0, running = 0;
    width = width > MOST_AT_ONCE ? MOST_AT_ONCE : width;
    child *slots = bp__alloc_zero((size_t)width, sizeof *slots);
    bool enough_memory = buffer && slots;
    const char *helper = enough_memory ? bp__probe_helper(buffer, PATH_MAX) : NULL;
    for (int i = 0; i < count && !helper && enough_memory; i++) {
        enough_memory = fail_start(files[i], "the helper program backplane-probe is missing") && enough_memory;
    }
    while (helper && (running > 0 || (next < count && enough_memory))) {
        for (int i = 0; i < width && next < count && enough_memory; i++) {
            if (!slots[i].file) {
                enough_memory = start_probe(&slots[i], files[next++], helper);
            }
        }
        running = 0;
        for (int i = 0; i < width; i++) {
            running += slots[i].file != NULL;
        }
        if (running > 0) {
            enough_memory = attend(slots, width) && enough_memory;
        }
    }
    bp__free(slots);
    return enough_memory ? BP_OK : bp__fail_memory(REPORT_BYTES, "a probe's report");
}

bp_status bp__helper_run(const char *const *arguments, int64_t milliseconds, char **report) {
    BP__UNCANCELLED;
    enum { MOST_ARGUMENTS = 64 };
    child slot = {0};
    BP__PATH_BUFFER(buffer);
    char text[128];
    *report = NULL;
    if (!buffer) {
        return bp__fail_memory(PATH_MAX, "a path");
    }
    const char *words[MOST_ARGUMENTS + 2] = {bp__probe_helper(buffer, PATH_MAX)};
    if (!words[0]) {
        return bp__fail(BP_E_NOT_FOUND, "the helper program backplane-probe is missing");
    }
    for (int i = 0; arguments[i] && i < MOST_ARGUMENTS; i++) {
        words[i + 1] = arguments[i];
    }
    int error = start(&slot, words[0], words, milliseconds);
    if (error != 0) {
        return error == ENOMEM ? bp__fail_memory(REPORT_BYTES, "a helper's report")
                               : bp__fail(BP_E_BROKEN, "the helper program backplane-probe cannot be started: %s",
                                          strerror_r(error, text, sizeof text));
    }
    bool closed = false, ended = false;
    while (!closed && !ended && bp__now_ns() < slot.deadline) {
        /* Another thread's fork may have copied the helper's end of the socket, so its end counts too. */
        struct pollfd wait[] = {{.fd = slot.socket, .events = POLLIN}, {.fd = slot.handle, .events = POLLIN}};
        const int64_t left = (slot.deadline - bp__now_ns()) / 1000000 + 1;
        if (poll(wait, 2, left < INT_MAX ? (int)left : INT_MAX) > 0) {
            closed = wait[0].revents && drain(&slot);
            ended = !wait[0].revents && wait[1].revents;
        }
    }
    finish(&slot, !closed && !ended);
    *report = slot.report;
    return BP_OK;
}
