/* report.c - parses the lines that a probe wrote into facts and a message about what is wrong with the library. */
#include "registry/child.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Facts that a report may set; only the parent sets the others. */
static const char *const reported[] = {
    "version",      "kernels",      "int_bits",    "complex_return", "f2c",         "thread_scope",
    "threading",    "runtimes",     "forwards",    "blas",           "open_space",  "call_space",
    "thread_space", "caller_space", "caller_data", "open_data",      "call_data",   "thread_data",
    "overreads",    "outside",      "stack",       "inexact_f32",    "inexact_f64", "left"};

typedef struct summary {
    const char *step;
    const char *error;
    const char *origin;
    const char *wrong;
    const char *unusable;  /* why it cannot be used, found by calls that are not wrong */
    const char *end;       /* how the process ended, reported by its supervisor */
    const char *unstarted; /* why the process was not started */
    const char *limited;   /* the resource that was limited */
    bool shortage;         /* a thread or memory was refused to the probe itself, so that facts are missing */
    bool moment;           /* time, memory or a signal from outside ended a process */
    bool done;
    uint64_t due, passed; /* BP_CHECK_BIT and BP_PRIMITIVE_BIT masks */
    bp__text faults;      /* the lines as received */
} summary;

static bool take_line(bp__facts *facts, summary *all, const char *name, const char *value) {
    for (int i = 0; i < BP__COUNT(reported); i++) {
        if (strcmp(name, reported[i]) == 0) {
            return bp__facts_parse(facts, name, value);
        }
    }
    if (strcmp(name, "how") == 0) {
        return bp__facts_learn_all(&facts->probed, value);
    }
    if (strcmp(name, "step") == 0) {
        all->step = value;
    } else if (strcmp(name, "error") == 0) {
        all->error = value;
    } else if (strcmp(name, "origin") == 0) {
        all->origin = value;
    } else if (strcmp(name, "wrong") == 0 && !all->wrong) {
        all->wrong = value;
    } else if (strcmp(name, "unusable") == 0 && !all->unusable) {
        all->unusable = value;
    } else if (strcmp(name, "end") == 0) {
        all->end = value;
    } else if (strcmp(name, "unstarted") == 0) {
        all->unstarted = value;
    } else if (strcmp(name, "limited") == 0) {
        all->limited = value;
    } else if (strcmp(name, "shortage") == 0) {
        all->shortage = true;
    } else if (strcmp(name, "moment") == 0) {
        all->moment = true;
    } else if (strcmp(name, "done") == 0) {
        all->done = true;
    } else if (strcmp(name, "due") == 0) {
        all->due |= strtoull(value, NULL, 16);
    } else if (strcmp(name, "passed") == 0) {
        all->passed |= strtoull(value, NULL, 16);
    } else if (strcmp(name, "fault") == 0) {
        bp__text_addf(&all->faults, "%s\n", value);
    }
    return true;
}

static bool conclude(bp__facts *facts, const summary *all, const char *otherwise) {
    bp__text reason = {0};
    facts->outcome = BP__OUTCOME_BROKEN;
    if (all->unstarted) {
        facts->outcome = BP__OUTCOME_NO_PROBE;
        bp__text_addf(&reason, "not probed: %.200s", all->unstarted);
    } else if (all->error) {
        facts->outcome = BP__OUTCOME_NO_LOAD;
        bp__text_addf(&reason, "cannot be loaded: %.3000s", all->error);
    } else if (!all->done) {
        bp__text_addf(&reason, "%.200s in probe, %.200s", all->end ? all->end : otherwise, all->step);
    } else if (all->wrong) {
        bp__text_addf(&reason, "wrong results in probe: %.200s", all->wrong);
    } else if (all->unusable) {
        bp__text_addf(&reason, "%.500s", all->unusable);
    } else if (all->origin && facts->int_bits == 0 && facts->kinds & (BP_LIB_BLAS | BP_LIB_CBLAS)) {
        bp__text_addf(&reason, "its routines belong to %.3000s", all->origin);
    } else {
        facts->outcome = BP__OUTCOME_OK;
    }
    facts->left = facts->outcome == BP__OUTCOME_OK && facts->left;
    bool enough = !reason.failed && bp__facts_set(&facts->reason, bp__text_get(&reason));
    bp__text_free(&reason);
    return enough;
}

/* Writes a line for each check that was due and has not passed, in the order of their bits. */
static bool conclude_checks(bp__facts *facts, const summary *all, const char *otherwise) {
    uint64_t open = all->due & ~all->passed;
    bp__text lines = {0};
    char topic[64];
    for (int bit = 0; bit < 64 && facts->outcome == BP__OUTCOME_OK; bit++) {
        if (!(open >> bit & 1) || !bp__check_topic(bit, topic, sizeof topic)) {
            continue;
        }
        size_t length;
        const char *line = bp__topic_line(bp__text_get(&all->faults), topic, &length);
        bp__text_add(&lines, lines.length ? "\n" : "");
        if (line) {
            bp__text_add_n(&lines, line, length);
        } else {
            bp__text_addf(&lines, "%s: not tested: the probe %s before", topic, all->end ? all->end : otherwise);
        }
    }
    bool enough = !lines.failed && !all->faults.failed && bp__facts_set(&facts->faults, bp__text_get(&lines));
    bp__text_free(&lines);
    return enough;
}

static bool take_lines(bp__facts *facts, summary *all, char *report) {
    for (char *line = report; *line;) {
        char *end = line + strcspn(line, "\n");
        if (*end == 0) {
            break; /* a line without an end is truncated */
        }
        *end = 0;
        char *equals = strchr(line, '=');
        if (equals) {
            *equals = 0;
            if (strlen(equals + 1) < 4096 && !take_line(facts, all, line, equals + 1)) {
                return false;
            }
        }
        line = end + 1;
    }
    return true;
}

/* Returns whether the loader's message tells of a shortage. */
static bool tells_of_shortage(const char *error) {
    static const int shortages[] = {ENOMEM, EMFILE, ENFILE, EAGAIN, EIO, ESTALE, EINTR};
    char text[128];
    for (int i = 0; error && i < BP__COUNT(shortages); i++) {
        if (strstr(error, strerror_r(shortages[i], text, sizeof text))) {
            return true;
        }
    }
    return false;
}

/* Tells a verdict about the library from one about the moment. A supervisor that has not reported the end was ended
 * from outside. */
static bool conclude_moment(bp__facts *facts, const summary *all) {
    const bool unmeasured = facts->open_space == 0 && facts->call_space == 0;
    facts->momentary = all->shortage || (all->limited && unmeasured);
    const bool outside_known = strcmp(facts->outside, "*") != 0 || facts->left;
    if (facts->outcome == BP__OUTCOME_OK && !*facts->faults && outside_known) {
        return true;
    }
    facts->momentary = all->shortage || all->moment || all->limited || !all->end || tells_of_shortage(all->error);
    if (!all->limited || !*facts->reason) {
        return true;
    }
    bp__text text = {0};
    bp__text_addf(&text, "%s; this process has a limit of %s", facts->reason, all->limited);
    bool enough = !text.failed && bp__facts_set(&facts->reason, bp__text_get(&text));
    bp__text_free(&text);
    return enough;
}

bool bp__probe_take_report(bp__facts *facts, char *report, const char *otherwise) {
    summary all = {.step = "before it was loaded"};
    bool enough = take_lines(facts, &all, report);
    if (!all.end && bp__memory_is_limited()) {
        all.limited = "memory (ulimit -v or -d), which may have ended the probe itself";
    }
    enough = enough && conclude(facts, &all, otherwise) && conclude_checks(facts, &all, otherwise) &&
             conclude_moment(facts, &all);
    bp__text_free(&all.faults);
    return enough;
}
