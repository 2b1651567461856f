/* report.c - from the lines that a probe wrote to facts and to the one sentence that says what is wrong with a library.
 */
#include "registry/child.h"

#include <stdio.h>
#include <string.h>

/* Facts that a report may set; all others are the parent's own. */
static const char *const reported[] = {"version", "kernels",      "int_bits",  "complex_return",
                                       "f2c",     "thread_scope", "threading", "runtimes"};

typedef struct summary {
    const char *step;
    const char *error;
    const char *origin;
    const char *wrong;
    const char *end;       /* how the process ended, from the one that watched it */
    const char *unstarted; /* why there was none */
    bool done;
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
    } else if (strcmp(name, "end") == 0) {
        all->end = value;
    } else if (strcmp(name, "unstarted") == 0) {
        all->unstarted = value;
    } else if (strcmp(name, "done") == 0) {
        all->done = true;
    }
    return true;
}

static bool conclude(bp__facts *facts, const summary *all, const char *otherwise) {
    char reason[4096] = "";
    facts->outcome = BP__OUTCOME_BROKEN;
    if (all->unstarted) {
        facts->outcome = BP__OUTCOME_NO_PROBE;
        snprintf(reason, sizeof reason, "not probed: %.200s", all->unstarted);
    } else if (all->error) {
        facts->outcome = BP__OUTCOME_NO_LOAD;
        snprintf(reason, sizeof reason, "cannot be loaded: %.3000s", all->error);
    } else if (!all->done) {
        snprintf(reason, sizeof reason, "%.200s in probe, %.200s", all->end ? all->end : otherwise, all->step);
    } else if (all->wrong) {
        snprintf(reason, sizeof reason, "wrong results in probe: %.200s", all->wrong);
    } else if (all->origin && facts->int_bits == 0 && facts->kinds & (BP_LIB_BLAS | BP_LIB_CBLAS)) {
        snprintf(reason, sizeof reason, "its routines are those of %.3000s", all->origin);
    } else {
        facts->outcome = BP__OUTCOME_OK;
    }
    return bp__facts_set(&facts->reason, reason);
}

bool bp__probe_take_report(bp__facts *facts, char *report, const char *otherwise) {
    summary all = {.step = "before it was loaded"};
    for (char *line = report; *line;) {
        char *end = line + strcspn(line, "\n");
        if (*end == 0) {
            break; /* a line without an end was cut short */
        }
        *end = 0;
        char *equals = strchr(line, '=');
        if (equals) {
            *equals = 0;
            if (strlen(equals + 1) < 4096 && !take_line(facts, &all, line, equals + 1)) {
                return false;
            }
        }
        line = end + 1;
    }
    return conclude(facts, &all, otherwise);
}
