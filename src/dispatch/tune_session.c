/* tune_session.c - measures the candidates of one problem class: plans, private operands, results, times.
 *
 * Nothing here reads or writes memory of the program. */
#include "dispatch/tune_session.h"

#include <math.h>
#include <string.h>

#define MOST_BYTES ((size_t)64 << 20)    /* of the operands; larger problems are not bp__measured */
#define MOST_RESULTS ((size_t)256 << 20) /* bytes of the results that are compared */
#define LEAST_BUDGET_NS 20e6 /* the comparison takes at most this, or BUDGET_CALLS times the call */
#define BUDGET_CALLS 50

/* Makes the offer's plan, and runs it once on fresh operands. */
void bp__session_prepare(bp__session *s, bp__measured *m, const bp__offer *offer, const void *found) {
    const bp__candidate *candidate = offer->candidate;
    bp_status status =
        candidate->provider->plan(candidate->instance, &s->choice->asked, &offer->verdict, found, &m->prepared);
    m->timed.status = status;
    if (status != BP_OK) {
        m->prepared = NULL;
        return;
    }
    m->timed.prepared = m->prepared;
    m->timed.threaded = offer->verdict.threads != 1;
    if (m->prepared->workspace > 0 && !(m->timed.workspace = bp__alloc_aligned(m->prepared->workspace))) {
        m->timed.status = BP_E_NO_MEMORY;
        return;
    }
    bp__trial_restore(&s->trial);
    m->timed.status = bp__timed_run(&s->trial, &m->timed);
    if (m->timed.status == BP_OK) {
        m->timed.status = bp__trial_keep(&s->trial, &m->result);
        m->has_result = m->timed.status == BP_OK;
    }
}

void bp__session_release(bp__measured *m) {
    bp__trial_result_free(&m->result);
    bp__free_aligned(m->timed.workspace);
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

/* Runs the comparison among the likely ones. */
void bp__session_run(bp__session *s, const bp__eligible *all, const bp_operand *addresses, bp__text *record) {
    int64_t start = bp__now_ns();
    if (bp__trial_open(&s->trial, &s->choice->asked, addresses, MOST_BYTES) != BP_OK) {
        bp__text_addf(record, "!%s", bp_last_error());
        return;
    }
    if (bp__trial_result_size(&s->trial) * (size_t)all->count > MOST_RESULTS) {
        bp__text_addf(record, "!the results of %d candidates are larger than %zu MiB", all->count, MOST_RESULTS >> 20);
        release(s);
        return;
    }
    for (int i = 0; i < all->count; i++) {
        bp__measured *m = &s->list[s->count++];
        *m = (bp__measured){.offer = &s->choice->offers[all->offer[i]]};
        bp__session_prepare(s, m, m->offer, m->offer->size > 0 ? s->choice->found.bytes + m->offer->found_at : NULL);
    }
    if (!bp__session_verify(s)) {
        bp__text_add(record, "!the candidates disagree about the result");
        release(s);
        return;
    }
    bp__session_punish(s);
    bp__timed comparison[BP__TUNE_MOST];
    for (int i = 0; i < s->count; i++) {
        comparison[i] = s->list[i].timed;
    }
    double budget = fmax(LEAST_BUDGET_NS, BUDGET_CALLS * s->choice->offers[all->offer[0]].order);
    double pace = bp__compare_times(&s->trial, comparison, s->count, bp__now_ns() + (int64_t)budget);
    for (int i = 0; i < s->count; i++) {
        s->list[i].timed = comparison[i];
    }
    bp__tune_write(s, all, (double)(bp__now_ns() - start), pace, record);
    release(s);
}
