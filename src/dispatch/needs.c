/* needs.c - refuses libraries for which the limits of the process leave too little memory, or the thread too little
 * stack.
 *
 * Many libraries end the process if they get no memory. The probe has measured what each takes
 * (probe/needs.c). The limits are read when a plan is made and when a thread runs a plan for the first time, not in
 * each run: that takes some microseconds. A library that has run in this thread keeps its buffers, so
 * that it needs no more than what grows with the operands.
 *
 * A library that finds no stack ends the process, too. Only threads with stacks of less than 1 MiB are asked about
 * it, in each of their calls. */
#include "dispatch/needs.h"

#include "machine/internal.h"
#include "registry/internal.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SPARE = 1 << 20 }; /* bytes that anything else may take meanwhile */

/* What runs in progress may still take. */
static _Atomic int64_t kept_space, kept_data;

void bp__needs_forked(void) {
    atomic_store(&kept_space, 0);
    atomic_store(&kept_data, 0);
    memset(bp__thread.threads_run, 0, sizeof bp__thread.threads_run);
    memset(bp__thread.ran, 0, sizeof bp__thread.ran);
}

/* Returns the most threads on which the candidate has run for this thread; 0: it has not run, or it is not known. */
static int threads_of_mine(const bp__candidate *candidate) {
    return candidate->number < BP__CANDIDATES_RUN ? bp__thread.threads_run[candidate->number] : 0;
}

static void note_threads_of_mine(const bp__candidate *candidate, int threads) {
    const int kept = threads < 1 ? 1 : threads < UINT8_MAX ? threads : UINT8_MAX;
    if (candidate->number < BP__CANDIDATES_RUN && kept > threads_of_mine(candidate)) {
        bp__thread.threads_run[candidate->number] = (uint8_t)kept;
    }
}

/* Returns an estimate of the library's copies, which are no larger than the operands, and our workspace. */
static int64_t bytes_of_work(const bp_problem *problem, size_t workspace) {
    double bytes = (double)workspace;
    bp__elements *e = bp__alloc(sizeof *e); /* large: not on the stack */
    for (int i = 0; e && i < bp__operand_count((bp_op)problem->op); i++) {
        double size = bp__operand_elements(problem, i, e) ? (double)bp_dtype_size(e->dtype) : 0;
        for (int d = 0; d < e->ndim; d++) {
            size *= (double)e->shape[d];
        }
        bytes += size;
    }
    bp__free(e);
    return bytes < 0x1p60 ? (int64_t)bytes : INT64_C(1) << 60;
}

/* What has been done in this process already, and what a call will do. */
typedef struct situation {
    bool open;        /* the library is open */
    bool called;      /* by any thread */
    bool has_run;     /* this thread has called it */
    bool shared;      /* the threads are callers, with one library thread each */
    int more_threads; /* than before in this thread: most runtimes have threads of their own for each caller */
} situation;

static bool has_callers(const bp_problem *problem) {
    const bp__family *family = bp__family_of(problem);
    return family->has_callers && family->has_callers(problem);
}

static situation situation_of(const bp__candidate *candidate, const bp_problem *problem, const bp_verdict *verdict) {
    const bp_library_info *library = candidate->library;
    const int threads = verdict->threads > 0 ? verdict->threads : problem->policy.threads;
    const int mine = threads_of_mine(candidate), before = mine > 0 ? mine : 1;
    return (situation){
        .open = library->loaded || bp__library_is_open(library),
        .called = atomic_load(&candidate->called),
        .has_run = mine > 0,
        .shared = has_callers(problem),
        .more_threads = threads > before ? threads - before : 0,
    };
}

/* The stack of a thread that a library starts. The probe may have measured threads with stacks that existed already. */
static int64_t stack_of_thread(void) {
    pthread_attr_t attributes;
    size_t size = 0;
    if (pthread_getattr_default_np(&attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &size);
        pthread_attr_destroy(&attributes);
    }
    return (int64_t)size;
}

/* The part of a need that is not met. */
static int64_t rest_of(const bp_library_need *need, const situation *s) {
    const int64_t own = !s->called ? need->call : s->has_run ? 0 : need->caller;
    const int64_t each = s->shared && need->caller > need->thread ? need->caller : need->thread;
    const int64_t threads = s->more_threads > 0 ? s->more_threads * (each + stack_of_thread()) : 0;
    return (s->open ? 0 : need->open) + own + threads;
}

static bp__memory need_of(const bp__candidate *candidate, const bp_problem *problem, const bp_verdict *verdict) {
    const situation s = situation_of(candidate, problem, verdict);
    const int64_t more = bytes_of_work(problem, verdict->workspace) + SPARE;
    return (bp__memory){rest_of(&candidate->library->space, &s) + more, rest_of(&candidate->library->data, &s) + more};
}

/* Whether the candidate runs in this process, on a library. */
static bool has_library(const bp__candidate *candidate, const bp_problem *problem) {
    return candidate->library && problem->place == 0;
}

static bool is_measured(const bp__candidate *candidate) {
    return candidate->library->space.open > 0 || candidate->library->space.call > 0;
}

/* Returns false, and writes the reason, if the limits leave less. `kept`: what other runs in progress may take. */
static bool fits(const bp__candidate *candidate, const bp__memory *left, const bp__memory *need, const bp__memory *kept,
                 char *text, size_t size) {
    if (!is_measured(candidate)) {
        snprintf(text, size, "the process has a limit of memory, and what the library needs could not be measured");
        return false;
    }
    const bool space = need->space <= left->space - kept->space, data = need->data <= left->data - kept->data;
    if (space && data) {
        return true;
    }
    const int64_t rest = space ? left->data - kept->data : left->space - kept->space;
    snprintf(text, size, "%s leaves %" PRId64 " MiB, and the library needs %" PRId64 " MiB for this call",
             space ? "the limit of data (RLIMIT_DATA)" : "the limit of the address space (RLIMIT_AS)",
             rest > 0 ? rest >> 20 : 0, ((space ? need->data : need->space) + SPARE - 1) >> 20);
    return false;
}

/* ---- Stack ---- */

enum {
    STACK_BIT = 64,      /* the lower one of BP__STACK_CLASS */
    STACK_OWN = 16 << 10 /* our own functions take no more */
};

/* Bytes that are left at least, by class. */
static const int64_t stack_of_class[] = {INT64_MAX, 640 << 10, 176 << 10, 0};

uint8_t bp__stack_class(void) {
    const int64_t left = bp__stack_left();
    int class = left == INT64_MAX ? 0 : 1;
    while (left < stack_of_class[class]) {
        class ++;
    }
    return (uint8_t)(class * STACK_BIT);
}

/* Returns false, and writes the reason, if the library needs more stack. */
static bool fits_stack(const bp_library_info *library, int64_t left, char *text, size_t size) {
    if (left == INT64_MAX || (library->stack > 0 && library->stack + STACK_OWN <= left)) {
        return true;
    }
    if (library->stack == 0) {
        snprintf(text, size, "the thread has a small stack, and what the library needs could not be measured");
    } else {
        snprintf(text, size, "the library needs %" PRId64 " KiB of stack, and the thread has a small one",
                 library->stack >> 10);
    }
    return false;
}

void bp__needs_tell_limited(bp__choice *choice) {
    const int count = choice->chosen < 0 ? bp__libraries_limited() : 0;
    if (count > 0) {
        bp__text_addf(&choice->decision, "; %d librar%s could not be read or probed under the limits of this process",
                      count, count == 1 ? "y" : "ies");
    }
}

static int threads_of(const bp__choice *choice, const bp__offer *offer) {
    const bool starts = bp__offer_is_usable(offer) && has_library(offer->candidate, &choice->asked) &&
                        strcmp(offer->candidate->library->threading, "serial") != 0;
    return !starts ? 1 : offer->verdict.threads > 0 ? offer->verdict.threads : choice->asked.policy.threads;
}

void bp__needs_tell_threads(bp__choice *choice) {
    int most = 1;
    char reason[128];
    for (int i = 0; i < choice->count; i++) {
        const int threads = threads_of(choice, &choice->offers[i]);
        most = threads > most ? threads : most;
    }
    const int error = most > 1 ? bp__threads_start_error(most - 1) : 0;
    if (error != 0) {
        bp__text_addf(&choice->decision,
                      "; this process cannot start %d thread%s (%s), so that a library whose threads have not started "
                      "yet runs on one thread, or another one runs",
                      most - 1, most == 2 ? "" : "s", strerror_r(error, reason, sizeof reason));
    }
}

void bp__needs_check(const bp_problem *problem, const bp__candidate *candidate, bp_verdict *verdict) {
    bp__memory left;
    char text[160];
    if (verdict->reason != BP_REASON_ACCEPTED || !has_library(candidate, problem)) {
        return;
    }
    const int class = (problem->policy.constraints & BP__STACK_CLASS) / STACK_BIT;
    if (!fits_stack(candidate->library, stack_of_class[class], text, sizeof text)) {
        bp__verdict_refuse(verdict, BP_REASON_MEMORY, text);
        return;
    }
    if (!bp__memory_left(&left)) {
        return;
    }
    const bp__memory need = need_of(candidate, problem, verdict);
    const bp__memory kept = {atomic_load(&kept_space), atomic_load(&kept_data)};
    if (!fits(candidate, &left, &need, &kept, text, sizeof text)) {
        bp__verdict_refuse(verdict, BP_REASON_MEMORY, text);
    }
}

bool bp__needs_memory(const bp_plan *plan) {
    return !plan->composed && has_library(plan->candidate, &plan->problem);
}

bp_status bp__needs_enter(const bp_plan *plan, bp__memory *kept) {
    bp__memory left;
    char text[160];
    *kept = (bp__memory){0, 0};
    if (!bp__needs_memory(plan)) {
        return BP_OK;
    }
    if (bp__thread.small_stack && !fits_stack(plan->candidate->library, bp__stack_left(), text, sizeof text)) {
        return bp__fail(BP_E_NO_MEMORY, "library '%s' is not called: %s", bp__candidate_id(plan->candidate), text);
    }
    if (!bp__memory_left(&left)) {
        return BP_OK;
    }
    const bp__memory need = need_of(plan->candidate, &plan->problem, &plan->verdict);
    const bp__memory others = {atomic_fetch_add(&kept_space, need.space), atomic_fetch_add(&kept_data, need.data)};
    *kept = need;
    if (fits(plan->candidate, &left, &need, &others, text, sizeof text)) {
        return BP_OK;
    }
    bp__needs_leave(plan, kept, BP_E_NO_MEMORY);
    return bp__fail(BP_E_NO_MEMORY, "library '%s' is not called: %s", bp__candidate_id(plan->candidate), text);
}

static void note_run(const bp_plan *plan) {
    bp__candidate *candidate = (bp__candidate *)(uintptr_t)plan->candidate;
    atomic_store(&candidate->called, true);
    note_threads_of_mine(candidate, plan->verdict.threads > 0 ? plan->verdict.threads : plan->problem.policy.threads);
}

void bp__needs_leave(const bp_plan *plan, const bp__memory *kept, bp_status status) {
    atomic_fetch_sub(&kept_space, kept->space);
    atomic_fetch_sub(&kept_data, kept->data);
    if (status == BP_OK && !plan->composed) {
        note_run(plan);
    }
}
