/* observe.c - what BACKPLANE_VERBOSE and BACKPLANE_TRACE show: a line per call, a trace event per call.
 *
 * The library is silent by law; these two settings are the user's explicit order to write, to standard error and to the
 * named file. Lines go out in one write each, so that threads do not mix theirs. */
#include "dispatch/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

pthread_mutex_t bp__observe_mutex = PTHREAD_MUTEX_INITIALIZER;

static struct {
    int fd; /* of the trace; 0: not opened, -1: cannot be */
    pid_t owner;
    bool any;
} trace;

bool bp__observe_wanted(void) {
    return bp__setting_int(BP_SET_verbose) > 0 || *bp__setting_text(BP_SET_trace);
}

static void write_all(int fd, const char *text, size_t size) {
    while (size > 0) {
        ssize_t n = write(fd, text, size);
        if (n < 0 && errno != EINTR) {
            return; /* a closed stderr or a full disk must not disturb the computation */
        }
        if (n > 0) {
            text += n;
            size -= (size_t)n;
        }
    }
}

/* The file is opened once, and never follows a link that someone else may have put in its place. */
static int trace_file(void) {
    if (trace.fd != 0) {
        return trace.fd;
    }
    const char *path = bp__setting_text(BP_SET_trace);
    trace.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    trace.owner = getpid();
    if (trace.fd < 0) {
        bp__warn("trace file '%s' cannot be opened: %s", path, strerror(errno));
        trace.fd = -1;
    } else {
        write_all(trace.fd, "[", 1);
    }
    return trace.fd;
}

static void end_trace(void) {
    if (trace.fd > 0) {
        if (trace.owner == getpid()) {
            write_all(trace.fd, "\n]\n", 3);
        }
        close(trace.fd);
    }
    memset(&trace, 0, sizeof trace);
}

/* Without its last bracket the file would still load in trace viewers, but in no JSON parser. */
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
    bp__json_close(&json, '}');
    bp__json_close(&json, '}');
    pthread_mutex_lock(&bp__observe_mutex);
    if (trace_file() > 0 && !text.failed) {
        write_all(trace.fd, trace.any ? ",\n" : "\n", trace.any ? 2 : 1);
        write_all(trace.fd, text.bytes, text.length);
        trace.any = true;
    }
    pthread_mutex_unlock(&bp__observe_mutex);
    bp__text_free(&text);
}

void bp__observe_call(const bp_plan *plan, bool fresh, int64_t start_ns, int64_t end_ns, bp_status status) {
    if (bp__setting_int(BP_SET_verbose) > 0) {
        char line[768];
        int n = snprintf(line, sizeof line, "backplane,%s,%s,%s,%s,%s,threads %d,plan %s,%s,%.3f us\n",
                         bp_op_name((bp_op)plan->problem.op), plan->candidate->provider->name,
                         bp__candidate_id(plan->candidate), plan->verdict.algorithm, plan->text, plan->verdict.threads,
                         fresh ? "new" : "hit", bp_status_name(status), (double)(end_ns - start_ns) / 1000.0);
        write_all(STDERR_FILENO, line, n < 0 ? 0 : ((size_t)n < sizeof line ? (size_t)n : sizeof line - 1));
    }
    if (*bp__setting_text(BP_SET_trace)) {
        add_event(plan, fresh, start_ns, end_ns, status);
    }
}

void bp__observe_plan(const bp__choice *choice, const bp_problem *problem) {
    if (bp__setting_int(BP_SET_verbose) < 2) {
        return;
    }
    bp__text text = {0};
    char words[256];
    bp__problem_text(problem, words, sizeof words);
    for (int i = 0; i < choice->count; i++) {
        const bp_verdict *v = &choice->verdicts[i];
        bool accepted = v->reason == BP_REASON_ACCEPTED;
        bp__text_addf(&text, "backplane,candidate,%s,%s,%s,%s,%s,%.3f us\n", words,
                      bp__candidate_id(choice->candidates[i]),
                      i == choice->chosen ? "chosen" : (accepted ? "accepted" : "refused"), v->algorithm,
                      accepted || v->text[0] ? v->text : bp_reason_text(v->reason), v->cost_ns / 1000.0);
    }
    if (!text.failed && text.length > 0) {
        write_all(STDERR_FILENO, text.bytes, text.length);
    }
    bp__text_free(&text);
}

void bp__observe_reset(void) {
    pthread_mutex_lock(&bp__observe_mutex);
    end_trace();
    pthread_mutex_unlock(&bp__observe_mutex);
}
