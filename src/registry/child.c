/* child.c - starts the probe helper for each library, reads the reports side by side, and ends what takes too long. */
#include "registry/child.h"

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
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_AT_ONCE = 32, REPORT_ROOM = 32768, REPORT_FILE = 3, FIRST_FREE_FILE = 10 };

#ifndef BP_PROBE_INSTALLED
#define BP_PROBE_INSTALLED "../libexec/backplane/backplane-probe"
#endif

typedef struct child {
    bp__file *file; /* NULL: the slot is free */
    pid_t process;
    int pipe;
    int64_t started;
    int64_t deadline;
    size_t length;
    char *report; /* REPORT_ROOM bytes */
} child;

bool bp__deepbind(void) {
    enum { AUTO, ON, OFF };
    int64_t word = bp__setting_int(BP_SET_registry_deepbind);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    bool suits = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
    bool suits = false;
#else
    bool suits = true;
#endif
#else
    bool suits = true;
#endif
    return word == ON || (word == AUTO && suits);
}

/* In the build folder the helper lies beside the library; installed, it has a place of its own. */
const char *bp__probe_helper(char *buffer, size_t size) {
    static const char *const places[] = {"backplane-probe", BP_PROBE_INSTALLED};
    Dl_info own;
    if (dladdr((const void *)(uintptr_t)&bp__families, &own) == 0 || !own.dli_fname) {
        return NULL;
    }
    char path[PATH_MAX];
    const char *slash = strrchr(own.dli_fname, '/');
    int folder = slash ? (int)(slash - own.dli_fname) : 0;
    if (!slash) { /* a program started through PATH knows itself by its bare name only */
        ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
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

/* A pipe whose ends cannot be mistaken for the child's first files, and that other children do not inherit. */
static bool make_pipe(int ends[2]) {
    int raw[2];
    if (pipe2(raw, O_CLOEXEC) != 0) {
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

/* Own process group, so that what the library starts can be ended with it; default signals; no terminal. */
static int spawn(const char *helper, const bp__facts *facts, const char *path, int report, pid_t *process) {
    extern char **environ;
    char kinds[24], timeout[24];
    snprintf(kinds, sizeof kinds, "%lld", (long long)facts->kinds);
    snprintf(timeout, sizeof timeout, "%lld", (long long)bp__setting_int(BP_SET_registry_probe_timeout));
    const char *words[] = {helper,        path,
                           facts->base,   facts->prefix,
                           facts->suffix, facts->cblas_suffix,
                           kinds,         bp__deepbind() ? "1" : "0",
                           timeout,       NULL};
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

/* false when out of memory; a child that cannot be started is the file's outcome. */
static bool start(child *slot, bp__file *file, const char *helper) {
    int ends[2];
    if (!make_pipe(ends)) {
        return fail_start(file, "no pipe could be made");
    }
    slot->report = bp__alloc(REPORT_ROOM);
    int error = slot->report ? spawn(helper, &file->facts, file->path, ends[1], &slot->process) : 0;
    close(ends[1]);
    if (!slot->report || error != 0) {
        char reason[128];
        close(ends[0]);
        bool out_of_memory = !slot->report;
        bp__free(slot->report);
        return !out_of_memory && fail_start(file, strerror_r(error, reason, sizeof reason));
    }
    slot->file = file;
    slot->pipe = ends[0];
    slot->length = 0;
    slot->started = bp__now_ns();
    slot->deadline = slot->started + bp__setting_int(BP_SET_registry_probe_timeout) * 1000000;
    return true;
}

/* Waits for the child and says how it ended. A host program that collects all children itself may have been faster:
 * then the report alone decides. */
static const char *end_of(child *slot, bool hung, char *buffer, size_t size) {
    int state = 0;
    pid_t got;
    /* Also what the library has started and left behind. A child that has ended keeps its state. */
    kill(-slot->process, SIGKILL);
    do {
        got = waitpid(slot->process, &state, 0);
    } while (got < 0 && errno == EINTR);
    if (hung) {
        return "hung";
    }
    if (got == slot->process && WIFSIGNALED(state)) {
        const char *name = sigabbrev_np(WTERMSIG(state));
        snprintf(buffer, size, "SIG%s", name ? name : "?");
        return buffer;
    }
    return "ended early";
}

static bool finish(child *slot, bool hung) {
    char buffer[32];
    const char *died = end_of(slot, hung, buffer, sizeof buffer);
    close(slot->pipe);
    slot->report[slot->length] = 0;
    bool done = bp__probe_take_report(&slot->file->facts, slot->report, died);
    slot->file->facts.probe_ms = (double)(bp__now_ns() - slot->started) / 1e6;
    bp__free(slot->report);
    memset(slot, 0, sizeof *slot);
    return done;
}

/* Reads what is there; true when the child has closed its end. */
static bool drain(child *slot) {
    char spare[512];
    size_t room = REPORT_ROOM - 1 - slot->length;
    ssize_t got = read(slot->pipe, room ? slot->report + slot->length : spare, room ? room : sizeof spare);
    if (got > 0 && room) {
        slot->length += (size_t)got;
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

/* Waits until something happens in one of the running children, and finishes those that are through. */
static bool attend(child *slots, int count) {
    struct pollfd waits[MOST_AT_ONCE];
    bool enough_memory = true;
    for (int i = 0; i < count; i++) {
        waits[i] = (struct pollfd){.fd = slots[i].file ? slots[i].pipe : -1, .events = POLLIN};
    }
    int ready = poll(waits, (nfds_t)count, milliseconds_left(slots, count));
    for (int i = 0; i < count; i++) {
        if (!slots[i].file) {
            continue;
        }
        bool closed = ready > 0 && waits[i].revents != 0 && drain(&slots[i]);
        if (closed || bp__now_ns() >= slots[i].deadline) {
            enough_memory = finish(&slots[i], !closed) && enough_memory;
        }
    }
    return enough_memory;
}

bp_status bp__probe(bp__file *const *files, int count) {
    child slots[MOST_AT_ONCE] = {{0}};
    char buffer[PATH_MAX];
    int width = bp__usable_cpus(), next = 0, running = 0;
    bool enough_memory = true;
    width = width > MOST_AT_ONCE ? MOST_AT_ONCE : width;
    const char *helper = bp__probe_helper(buffer, sizeof buffer);
    for (int i = 0; i < count && !helper; i++) {
        enough_memory = fail_start(files[i], "the helper program backplane-probe is missing") && enough_memory;
    }
    while (helper && (running > 0 || (next < count && enough_memory))) {
        for (int i = 0; i < width && next < count && enough_memory; i++) {
            if (!slots[i].file) {
                enough_memory = start(&slots[i], files[next++], helper);
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
    return enough_memory ? BP_OK : bp__fail_memory(REPORT_ROOM, "a probe's report");
}
