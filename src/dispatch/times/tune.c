/* tune.c - ranks candidates by measured times, and measures a class that has none.
 *
 * A call never waits for this unless tuning.start=now. */
#include "dispatch/times/tune_session.h"
#include "dispatch/needs.h"

#include "machine/internal.h"

#include <stdio.h>
#include <time.h>

static atomic_llong spent_ns, measured_count;
static pthread_mutex_t measuring = PTHREAD_MUTEX_INITIALIZER; /* one class at a time: two would slow each other */
static _Thread_local bool inside __attribute__((tls_model("initial-exec"))); /* this thread is measuring */

int64_t bp__tune_measured(void) {
    return atomic_load(&measured_count);
}

int64_t bp__tune_spent_ns(void) {
    return atomic_load(&spent_ns);
}

void bp__tune_forked(void) {
    pthread_mutex_init(&measuring, NULL); /* the thread that measured is not in the child */
}

static void tell(bp__choice *choice, const char *why) {
    bp__copy_text(choice->not_measured, sizeof choice->not_measured, why);
}

/* Measures the eligible and keeps the record. Messages and interrupts of the private runs do not reach the caller. */
static void measure(bp__choice *choice, const char *key, const bp_operand *addresses) {
    bp__eligible all = bp__tune_eligible(choice);
    bp__tune_keep_likely(&all, choice);
    /* With limits of memory a library that is only measured might take what the program needs. */
    const char *why = bp__memory_is_limited() ? "the process has a limit of memory" : NULL;
    bp__session *s = why ? NULL : bp__alloc_zero(1, sizeof *s);
    if (!s) {
        tell(choice, why ? why : "memory is short");
        return;
    }
    bp__held_error held;
    bp__text record = {0};
    const double modelled_ns = bp__tune_modelled_ns(choice, &all); /* before measured times replace estimates */
    int64_t start = bp__now_ns();
    bp__error_hold(&held);
    bool silent = bp__interrupt_silence(true);
    inside = true;
    s->choice = choice;
    bp__session_run(s, &all, addresses, &record);
    inside = false;
    bp__interrupt_silence(silent);
    if (!record.failed && record.length > 0) {
        atomic_fetch_add(&measured_count, *bp__text_get(&record) != '!');
        bp__tune_keep(key, bp__text_get(&record));
    }
    bp__error_return(&held);
    bp__text_free(&record);
    bp__free(s);
    atomic_fetch_add(&spent_ns, bp__now_ns() - start);
    bp__tune_correct(choice, modelled_ns, (double)(bp__now_ns() - start));
}

/* ---- The choice ---- */

static void refuse_quarantined(bp__choice *choice) {
    char why[sizeof choice->offers->verdict.text];
    for (int i = 0; i < choice->count; i++) {
        bp_verdict *verdict = &choice->offers[i].verdict;
        if (verdict->reason == BP_REASON_ACCEPTED &&
            bp__quarantined(&choice->offers[i], (bp_op)choice->asked.op, why, sizeof why)) {
            verdict->reason = BP_REASON_BROKEN;
            bp__copy_text(verdict->text, sizeof verdict->text, why);
        }
    }
}

/* Returns why measuring is not possible here, where a call waits, or where no record is ever used; NULL if it is. */
static const char *why_not_here(const bp_problem *asked) {
    return asked->policy.deterministic >= 2 ? "deterministic=threads uses no measured times"
           : asked->place != 0              ? "operations on devices are not measured"
           : inside                         ? "another class is being measured"
           : bp__executor_awaited()         ? "the program's threads are in use by a call"
           : bp__interrupt_check_runs()     ? "the program's interrupt check runs"
                                            : NULL;
}

/* Returns whether there is a record that need not be replaced: it says why the class is not measured, or it may not be
 * used now. */
static bool is_settled(bp__choice *choice, const char *key) {
    bp__text record = {0};
    int64_t written_s;
    const bool found = bp__tune_find(key, false, &record, &written_s),
               says_why = found && *bp__text_get(&record) == '!';
    if (says_why) {
        tell(choice, bp__text_get(&record) + 1);
    }
    bp__text_free(&record);
    return says_why || (found && choice->asked.policy.deterministic > 0);
}

/* Takes the right to measure. A call that measures first waits for another thread, but not for ever: a library may not
 * return. */
static bool begin_measuring(bool waits) {
    enum { MOST_SECONDS = 2 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += MOST_SECONDS;
    return (waits ? pthread_mutex_timedlock(&measuring, &until) : pthread_mutex_trylock(&measuring)) == 0;
}

/* Measures the class, unless another thread or process has done so. Returns whether it has a record. */
static bool measure_once(bp__choice *choice, const char *key, const bp_operand *addresses) {
    bp__tune_refresh();
    bp__quarantine_refresh();
    refuse_quarantined(choice);
    bp__eligible all = bp__tune_eligible(choice);
    bool ranked = bp__tune_apply(choice, &all, key);
    if (!ranked && !is_settled(choice, key)) {
        measure(choice, key, addresses);
        all = bp__tune_eligible(choice);
        ranked = bp__tune_apply(choice, &all, key);
    }
    return ranked;
}

/* What a choice does about a class without a record. */
typedef enum unmeasured_class { USES_OTHERS, MEASURES, MEASURES_AND_WAITS } unmeasured_class;

/* Applies the record of the class; otherwise the record of a similar one. */
static bp__tune_result rank(bp__choice *choice, unmeasured_class does, const bp_operand *addresses) {
    bp__text key = {0};
    bp__eligible all = bp__tune_eligible(choice);
    bool busy = false;
    if (all.count < 1) {
        tell(choice, all.many ? "too many candidates accept" : "");
        return BP__TUNE_NONE;
    }
    bp__tune_key(&key, &choice->asked);
    bool ranked = !key.failed && bp__tune_apply(choice, &all, bp__text_get(&key));
    if (!ranked && does != USES_OTHERS && !key.failed) {
        const char *why = why_not_here(&choice->asked);
        busy = !why && !begin_measuring(does == MEASURES_AND_WAITS);
        tell(choice, why ? why : busy ? "another thread measures at present" : "");
        if (!why && !busy) {
            ranked = measure_once(choice, bp__text_get(&key), addresses);
            pthread_mutex_unlock(&measuring);
        }
    }
    if (!ranked && !key.failed && !choice->unmeasured) {
        all = bp__tune_eligible(choice);
        bp__neighbour_apply(choice, &all, bp__text_get(&key));
    }
    bp__text_free(&key);
    return ranked ? BP__TUNE_RANKED : busy ? BP__TUNE_BUSY : BP__TUNE_NONE;
}

bool bp__tune_uses(const bp_policy *policy) {
    return bp__benchmark_mode(policy) != BP__BENCHMARK_OFF || (policy->tuning != BP__TUNING_OFF && bp__tune_any());
}

void bp__tune_choice(bp__choice *choice) {
    const bp_policy *policy = &choice->asked.policy;
    choice->measured = false;
    choice->unmeasured = NULL;
    choice->neighbour[0] = choice->not_measured[0] = '\0';
    const int mode = bp__benchmark_mode(policy);
    const bool uses = policy->tuning != BP__TUNING_OFF || mode != BP__BENCHMARK_OFF, now = mode == BP__BENCHMARK_NOW;
    if (uses) {
        refuse_quarantined(choice);
    }
    if (now || (uses && bp__tune_any())) {
        rank(choice, now ? MEASURES_AND_WAITS : USES_OTHERS, NULL);
    }
}

bp__tune_result bp__tune_problem(const bp_problem *problem, const bp_operand *addresses) {
    bp__choice *choice = bp__alloc(sizeof *choice); /* large: not on the stack */
    if (!choice || bp__choose(choice, problem, NULL, true) != BP_OK) {
        bp__free(choice);
        return BP__TUNE_NONE;
    }
    bp__tune_result result = BP__TUNE_RANKED;
    if (!choice->measured) {
        result = rank(choice, MEASURES, bp__adapted(problem) ? NULL : addresses); /* adapters have own operands */
    }
    bp__choice_free(choice);
    bp__free(choice);
    return result;
}

const char *bp__tune_age(int64_t written_s, char *buffer, size_t size) {
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}};
    const int64_t age = (int64_t)time(NULL) - written_s;
    snprintf(buffer, size, "just now"); /* also if the clock has been set back since */
    for (int i = 0; i < BP__COUNT(units); i++) {
        const int64_t count = age / units[i].seconds;
        if (count > 0) {
            snprintf(buffer, size, "%lld %s%s ago", (long long)count, units[i].name, count == 1 ? "" : "s");
            break;
        }
    }
    return buffer;
}

void bp__tune_reset(void) {
    bp__tune_forget();
    bp__quarantine_reset();
    atomic_store(&spent_ns, 0);
    atomic_store(&measured_count, 0);
}
