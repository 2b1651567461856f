/* tune_session.c - measures the candidates of one problem class: plans, private operands, results, times.
 *
 * Nothing here reads or writes memory of the program. */
#include "dispatch/times/tune_session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_BYTES ((size_t)64 << 20)    /* of the operands; larger problems are not bp__measured */
#define MOST_RESULTS ((size_t)256 << 20) /* bytes of the results that are compared */
#define CHECK_NS 1.0                     /* of one byte of a result: a copy, and the comparison */
#define RUNS 2                           /* of each candidate before the comparison of times */
#define SLOWER 4.0 /* than the fastest: a candidate whose long first run shows that is not run again */
#define LONG 0.05  /* of the time that is left: such a run is long */

/* Makes the offer's plan, and what its runs need. */
static bp_status make_plan(bp__session *s, bp__measured *m, const bp__offer *offer, const void *found) {
    const bp__candidate *candidate = offer->candidate;
    bp_status status =
        candidate->provider->plan(candidate->instance, &s->choice->asked, &offer->verdict, found, &m->prepared);
    status = status == BP_OK ? bp__workspace_align(&m->prepared, s->choice->asked.place) : status;
    if (status != BP_OK) {
        m->prepared = NULL;
        return status;
    }
    m->timed.prepared = m->prepared;
    m->timed.threaded = offer->verdict.threads != 1;
    if (m->prepared->workspace > 0 && !(m->timed.workspace = bp__alloc_aligned(m->prepared->workspace))) {
        return BP_E_NO_MEMORY;
    }
    return BP_OK;
}

/* Packs the inputs that calls of this class pass in packed form. A library without a packed form reads them as they
 * are, because a copy in the same layout takes its place. */
static bp_status pack(bp__session *s, bp__measured *m, const bp__offer *offer) {
    const bp_problem *asked = &s->choice->asked;
    const uint32_t wanted = m->prepared->pack ? asked->policy.packed & offer->verdict.packs : 0;
    for (int i = 0; i < BP__OPERANDS && wanted >> i; i++) {
        if (wanted >> i & 1) {
            BP__TRY(m->prepared->pack(m->prepared, i, &s->trial.operands[i], &m->packed[i]));
            m->timed.packed = (const bp_packed *const *)m->packed;
        }
    }
    return BP_OK;
}

/* Returns whether the first run of a candidate is enough to know that it is slow. It shows nothing if the library was
 * loaded for it, or if the call is so short that code and data were not in the cache yet. */
static bool is_slow(const bp__session *s, const bp__measured *m) {
    const bool used = atomic_load(&m->offer->candidate->used_by_tuning);
    return used && s->budget.known && m->run_ns > SLOWER * s->budget.call_ns &&
           m->run_ns > LONG * bp__budget_left(&s->budget);
}

/* Does not count what the first use of a library takes beyond a call, nor planning of transforms: libraries that
 * measure while they plan have limits of their own. */
static void exclude_loading(bp__session *s, const bp__measured *m) {
    bp__candidate *candidate = m->offer->candidate;
    if (!atomic_exchange(&candidate->used_by_tuning, true)) {
        bp__budget_exclude(&s->budget, m->plan_ns + m->run_ns - m->timed.first_ns);
    } else if (bp__family_of(&s->choice->asked)->measuring->plans_by_measuring) {
        bp__budget_exclude(&s->budget, m->plan_ns);
    }
}

void bp__session_compute(bp__session *s, bp__measured *m, const bp__offer *offer, const void *found) {
    const int64_t start = bp__now_ns();
    m->timed.status = make_plan(s, m, offer, found);
    if (m->timed.status != BP_OK) {
        return;
    }
    const int64_t planned = bp__now_ns();
    bp__trial_restore(&s->trial);
    const int64_t restored = bp__now_ns();
    m->timed.status = pack(s, m, offer);
    m->timed.status = m->timed.status == BP_OK ? bp__timed_run(&s->trial, &m->timed) : m->timed.status;
    m->plan_ns = (double)(planned - start);
    m->run_ns = (double)(bp__now_ns() - restored);
    if (m->timed.status == BP_OK) {
        m->timed.status = bp__trial_keep(&s->trial, &m->result);
        m->has_result = m->timed.status == BP_OK;
    }
}

/* Runs the next candidate, and times a first sample of its calls. */
static void prepare(bp__session *s, const bp__offer *offer) {
    bp__measured *m = &s->list[s->count++];
    m->offer = offer;
    bp__session_compute(s, m, offer, offer->size > 0 ? s->choice->found.bytes + offer->found_at : NULL);
    if (m->has_result && is_slow(s, m)) {
        m->timed.calls = 1;
        m->timed.first_ns = m->timed.least_ns = m->run_ns;
    } else if (m->has_result) {
        bp__timed_prepare(&s->trial, &m->timed);
        exclude_loading(s, m);
    }
}

void bp__session_release(bp__measured *m) {
    bp__trial_result_free(&m->result);
    bp__free_aligned(m->timed.workspace);
    for (int i = 0; i < BP__OPERANDS; i++) {
        if (m->packed[i]) {
            m->packed[i]->destroy(m->packed[i]);
        }
    }
    if (m->prepared) {
        m->prepared->destroy(m->prepared);
    }
}

static void release(bp__session *s) {
    for (int i = 0; i < s->count; i++) {
        bp__session_release(&s->list[i]);
    }
    bp__trial_close(&s->trial);
}

static bool is_right(const bp__measured *m) {
    return m->has_result && m->timed.status == BP_OK;
}

/* Returns the expected time of a call of the offer. If the first candidate took longer or less than expected, so will
 * the others. */
static double expected_ns(const bp__session *s, const bp__offer *offer) {
    const bp__measured *first = &s->list[0];
    const double modelled = bp__tune_expected_ns(s->choice, offer);
    const double of_first = s->count > 0 && is_right(first) ? bp__tune_expected_ns(s->choice, first->offer) : 0;
    return of_first > 0 ? modelled * first->timed.first_ns / of_first : modelled;
}

/* Returns whether the offer can be compared within the budget, after one sample of each that has run. */
static bool fits(const bp__session *s, const bp__offer *offer) {
    const double expected = expected_ns(s, offer);
    double needed = (RUNS + 2) * expected + CHECK_NS * (double)bp__trial_result_size(&s->trial);
    for (int i = 0; i < s->count; i++) {
        needed += is_right(&s->list[i]) ? bp__timed_sample_ns(&s->list[i].timed) : 0;
    }
    return needed <= bp__budget_left(&s->budget);
}

/* Sets the class's own time to the time of its fastest candidate. */
static void learn_call(bp__session *s) {
    s->budget.known = false;
    for (int i = 0; i < s->count; i++) {
        if (is_right(&s->list[i])) {
            bp__budget_call(&s->budget, s->list[i].timed.first_ns);
        }
    }
}

/* Runs the candidates that have not run, in the order of their expected times, as long as the next one fits. The first
 * one runs in any case, because the limit depends on its time. Returns whether there was one. */
static bool prepare_all(bp__session *s, const bp__eligible *all) {
    const int before = s->count;
    while (s->count < all->count) {
        const bp__offer *offer = &s->choice->offers[all->offer[s->count]];
        if (s->budget.known && !fits(s, offer)) {
            break;
        }
        prepare(s, offer);
        learn_call(s);
    }
    return s->count > before;
}

/* Runs candidates and removes wrong ones. One that is wrong and fast has shortened the time for the others, which then
 * continue. Returns false if it is unknown which result is right. */
static bool prepare_and_verify(bp__session *s, const bp__eligible *all) {
    while (prepare_all(s, all)) {
        if (!bp__session_verify(s)) {
            return false;
        }
        if (bp__session_punish(s) == 0) {
            break;
        }
        learn_call(s);
    }
    return true;
}

static double compare(bp__session *s) {
    for (int i = 0; i < s->count; i++) {
        s->compared[i] = s->list[i].timed;
    }
    const double pace = bp__compare_times(&s->trial, s->compared, s->count, &s->budget);
    for (int i = 0; i < s->count; i++) {
        s->list[i].timed = s->compared[i];
    }
    return pace;
}

static bool any_time(const bp__session *s) {
    for (int i = 0; i < s->count; i++) {
        if (is_right(&s->list[i])) {
            return true;
        }
    }
    return false;
}

/* Notes why there is no comparison. A record says so too if it will be the same another time. */
static void give_up(bp__session *s, bp__text *record, const char *why) {
    bp__copy_text(s->choice->not_measured, sizeof s->choice->not_measured, why);
    if (record) {
        bp__text_addf(record, "!%s", why);
    }
}

static void run_and_compare(bp__session *s, const bp__eligible *all, bp__text *record) {
    char why[96];
    if (bp__trial_result_size(&s->trial) * (size_t)all->count > MOST_RESULTS) {
        snprintf(why, sizeof why, "the results of %d candidates are larger than %zu MiB", all->count,
                 MOST_RESULTS >> 20);
        give_up(s, record, why);
    } else if (!prepare_and_verify(s, all)) {
        give_up(s, record, "the candidates disagree about the result");
    } else if (s->count < 2 && all->count > 1) {
        give_up(s, NULL, "there was no time for a second candidate");
    } else {
        const double pace = compare(s);
        if (any_time(s)) {
            bp__tune_write(s, all, pace, record);
        } else {
            give_up(s, NULL, "all candidates failed");
        }
    }
}

void bp__session_run(bp__session *s, const bp__eligible *all, const bp_operand *addresses, bp__text *record) {
    bp__budget_begin(&s->budget, bp__tune_expected_ns(s->choice, &s->choice->offers[all->offer[0]]));
    bp_status status = bp__trial_describe(&s->trial, &s->choice->asked);
    status = status == BP_OK ? bp__trial_open(&s->trial, addresses, MOST_BYTES) : status;
    if (status == BP_OK) {
        run_and_compare(s, all, record);
        release(s);
    } else { /* memory may be enough another time */
        give_up(s, status == BP_E_UNSUPPORTED ? record : NULL, bp_last_error());
    }
}
