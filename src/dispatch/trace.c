/* trace.c - writes the lines of BACKPLANE_VERBOSE and the events of BACKPLANE_TRACE, one per call, hands calls to
 * records, and reports new plans to the program's handler.
 *
 * The library writes nothing else. These two settings are the user's explicit request, for standard error and for the
 * named file. Each line is one write, so that lines of several threads do not mix. */
#include "dispatch/internal.h"
#include "base/number.h"
#include "base/uncancelled.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

pthread_mutex_t bp__trace_mutex = PTHREAD_MUTEX_INITIALIZER;

static struct {
    bool tried; /* the file was opened, or could not be */
    int fd;     /* of the trace file; -1: it cannot be opened */
    pid_t owner;
    bool any;
    dev_t device; /* of the file that this process began; kept through bp_reset */
    ino_t inode;
} trace;

#define TRACE_END "\n]\n"

bool bp__trace_wanted(void) {
    return bp__setting_int(BP_SET_verbose) > 0 || *bp__setting_text(BP_SET_trace) || bp__records_run();
}

/* A write error, such as a closed stderr or a full disk, never fails the computation. The caller decides whether to
 * warn. */
bool bp__write_all(int fd, const char *text, size_t size) {
    while (size > 0) {
        ssize_t n = bp__file_write(fd, text, size);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        if (n > 0) {
            text += n;
            size -= (size_t)n;
        }
    }
    return true;
}

/* Continues at the closing bracket of a file that this process ended before. Truncates any other file. */
static bool begin_or_continue(int fd) {
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        return false;
    }
    if (trace.any && facts.st_dev == trace.device && facts.st_ino == trace.inode) {
        return lseek(fd, -(off_t)strlen(TRACE_END), SEEK_END) >= 0;
    }
    trace.any = false;
    trace.device = facts.st_dev;
    trace.inode = facts.st_ino;
    if (S_ISREG(facts.st_mode) && ftruncate(fd, 0) != 0) {
        return false;
    }
    bp__write_all(fd, "[", 1);
    return true;
}

/* Opens the file above the standard streams, because a program that closed those may reopen them. Follows no link,
 * because another user may have replaced the file by one. */
static int open_trace(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd >= 0 && fd <= STDERR_FILENO) {
        int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(fd);
        fd = higher;
    }
    if (fd >= 0 && !begin_or_continue(fd)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Opens the file unless that was tried before. Returns what is wrong, for a warning; NULL if nothing is. */
static const char *open_once(void) {
    if (trace.tried) {
        return NULL;
    }
    trace.tried = true;
    trace.owner = getpid();
    trace.fd = open_trace(bp__setting_text(BP_SET_trace));
    return trace.fd < 0 ? "cannot be opened" : NULL;
}

static const char *write_event(const bp__text *text) {
    const char *wrong = open_once();
    if (trace.fd < 0 || text->failed) {
        return wrong;
    }
    const bool written = bp__write_all(trace.fd, trace.any ? ",\n" : "\n", trace.any ? 2 : 1) &&
                         bp__write_all(trace.fd, text->bytes, text->length);
    trace.any = true;
    return written ? NULL : "is incomplete";
}

static void end_trace(void) {
    if (trace.tried && trace.fd >= 0) {
        if (trace.owner == getpid()) {
            bp__write_all(trace.fd, TRACE_END, strlen(TRACE_END));
        }
        close(trace.fd);
    }
    trace.tried = false;
}

/* Without the closing bracket, trace viewers still load the file, but JSON parsers do not. */
__attribute__((destructor)) static void end_trace_at_exit(void) {
    end_trace();
}

static void add_event(const bp_plan *plan, bool fresh, int64_t start_ns, int64_t end_ns, bp_status status) {
    bp__text text = {0};
    bp__json json;
    bp__json_begin(&json, &text);
    bp__json_open(&json, NULL, '{');
    bp__json_text(&json, "name", bp_op_name((bp_op)plan->problem.op));
    bp__json_text(&json, "cat", plan->candidate->provider->name);
    bp__json_text(&json, "ph", "X");
    bp__json_number(&json, "ts", (double)start_ns / 1000.0);
    bp__json_number(&json, "dur", (double)(end_ns - start_ns) / 1000.0);
    bp__json_int(&json, "pid", getpid());
    bp__json_int(&json, "tid", (int64_t)syscall(SYS_gettid));
    bp__json_open(&json, "args", '{');
    bp__json_text(&json, "library", bp__candidate_id(plan->candidate));
    bp__json_text(&json, "algorithm", plan->verdict.algorithm);
    bp__json_text(&json, "problem", plan->text);
    bp__json_int(&json, "threads", plan->verdict.threads);
    bp__json_text(&json, "plan", fresh ? "new" : "hit");
    bp__json_text(&json, "status", bp_status_name(status));
    if (plan->problem.place != 0) {
        bp__json_bool(&json, "queued", true); /* the times are of enqueueing */
    }
    bp__json_close(&json, '}');
    bp__json_close(&json, '}');
    pthread_mutex_lock(&bp__trace_mutex);
    const char *wrong = write_event(&text);
    const int error = errno;
    pthread_mutex_unlock(&bp__trace_mutex);
    if (wrong) { /* the handler may wait for a thread that waits for the mutex, such as one that reads a record */
        bp__warn("trace file '%s' %s: %s", bp__setting_text(BP_SET_trace), wrong, strerror(error));
    }
    bp__text_free(&text);
}

static void trace_run(const bp_plan *plan, bool part, bool fresh, int64_t start_ns, int64_t end_ns, bp_status status) {
    BP__UNCANCELLED;
    if (bp__records_run()) {
        bp__records_add(plan, part, fresh, start_ns, end_ns, status);
    }
    if (bp__setting_int(BP_SET_verbose) > 0) {
        char line[768];
        int n = bp__format(line, sizeof line, "backplane,%s,%s,%s,%s,%s,threads %d,plan %s,%s,%.3f us%s\n",
                           bp_op_name((bp_op)plan->problem.op), plan->candidate->provider->name,
                           bp__candidate_id(plan->candidate), plan->verdict.algorithm, plan->text,
                           plan->verdict.threads, fresh ? "new" : "hit", bp_status_name(status),
                           (double)(end_ns - start_ns) / 1000.0, plan->problem.place != 0 ? ",queued" : "");
        bp__write_all(STDERR_FILENO, line, n < 0 ? 0 : ((size_t)n < sizeof line ? (size_t)n : sizeof line - 1));
    }
    if (*bp__setting_text(BP_SET_trace)) {
        add_event(plan, fresh, start_ns, end_ns, status);
    }
}

void bp__trace_call(const bp_plan *plan, bool fresh, int64_t start_ns, int64_t end_ns, bp_status status) {
    trace_run(plan, false, fresh, start_ns, end_ns, status);
}

void bp__trace_part(const bp_plan *part, int64_t start_ns, int64_t end_ns, bp_status status) {
    trace_run(part, true, false, start_ns, end_ns, status);
}

void bp__trace_plan(const bp__choice *choice, const bp_problem *problem) {
    BP__UNCANCELLED;
    if (bp__setting_int(BP_SET_verbose) < 2) {
        return;
    }
    bp__text text = {0};
    char words[256];
    bp__problem_text(problem, words, sizeof words);
    for (int i = 0; i < choice->count; i++) {
        const bp_verdict *v = &choice->offers[i].verdict;
        bool accepted = v->reason == BP_REASON_ACCEPTED;
        bp__text_addf(&text, "backplane,candidate,%s,%s,%s,%s,%s,%.3f us\n", words,
                      bp__candidate_id(choice->offers[i].candidate),
                      i == choice->chosen ? "chosen" : (accepted ? "accepted" : "refused"), v->algorithm,
                      accepted || v->text[0] ? v->text : bp_reason_text(v->reason), v->cost_ns / 1000.0);
    }
    if (!text.failed && text.length > 0) {
        bp__write_all(STDERR_FILENO, text.bytes, text.length);
    }
    bp__text_free(&text);
}

static struct {
    bp_choice_handler call;
    void *user;
} choices; /* under the mutex of the trace */

void bp_set_choice_handler(bp_choice_handler handler, void *user) {
    pthread_mutex_lock(&bp__trace_mutex);
    choices.call = handler;
    choices.user = user;
    pthread_mutex_unlock(&bp__trace_mutex);
}

void bp__report_choice(const bp_plan *plan) {
    pthread_mutex_lock(&bp__trace_mutex);
    const bp_choice_handler call = choices.call;
    void *user = choices.user;
    pthread_mutex_unlock(&bp__trace_mutex);
    if (!call) {
        return;
    }
    BP__UNCANCELLED; /* callers may hold locks */
    bp__text text = {0};
    bp__text_addf(&text, "%s %s: %s, %s", bp_op_name((bp_op)plan->problem.op), plan->text,
                  bp__candidate_id(plan->candidate), plan->verdict.algorithm);
    if (plan->verdict.threads > 0) {
        bp__text_addf(&text, ", %d thread%s", plan->verdict.threads, plan->verdict.threads == 1 ? "" : "s");
    }
    bp__text_addf(&text, "; %s", plan->reason);
    if (!text.failed) {
        call(user, bp__text_get(&text)); /* outside the mutex: a handler may wait for a lock of the program */
    }
    bp__text_free(&text);
}

void bp__trace_reset(void) {
    pthread_mutex_lock(&bp__trace_mutex);
    end_trace();
    pthread_mutex_unlock(&bp__trace_mutex);
}
