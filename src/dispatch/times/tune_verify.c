/* tune_verify.c - finds candidates whose result is wrong, and puts them into quarantine. */
#include "dispatch/times/tune_session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Relative error of one operation, as the candidates may round. */
static double rounding(const bp__session *s) {
    const uint32_t dtype = s->choice->asked.dtype;
    const double unit = dtype == BP_F64 || dtype == BP_C128 ? 0x1p-53 : 0x1p-24;
    double error = unit;
    for (int i = 0; i < s->count; i++) {
        const uint32_t properties = s->list[i].offer->verdict.properties;
        error = properties & BP_PROPERTY_ROUNDS_BELOW_TF32 ? fmax(error, 0x1p-9)
                : properties & BP_PROPERTY_INPUTS_TF32     ? fmax(error, 0x1p-11)
                : properties & BP_PROPERTY_LARGER_ERROR    ? fmax(error, 32 * unit)
                                                           : error;
    }
    return error;
}

/* Compares all results with the result of `right`; notes in `differs` how each differs. Returns how many others agree,
 * -1 if `right` itself is not a whole result. */
static int compare_all(bp__session *s, bp__measured *right, double error) {
    int count = 0;
    if (!bp__trial_measure(&s->trial, &right->result, right->wrong, sizeof right->wrong)) {
        return -1;
    }
    for (int i = 0; i < s->count; i++) {
        bp__measured *m = &s->list[i];
        m->differs[0] = '\0';
        if (m != right && m->has_result) {
            count += bp__trial_agrees(&s->trial, &right->result, &m->result, error, m->differs, sizeof m->differs);
        }
    }
    return count;
}

static int result_count(const bp__session *s) {
    int count = 0;
    for (int i = 0; i < s->count; i++) {
        count += s->list[i].has_result;
    }
    return count;
}

/* Compares the results with the result of native, or of another candidate if most disagree with native. Returns the
 * number that agree with the best one; *right is NULL if there is no whole result. */
static int find_right(bp__session *s, double error, bp__measured **right) {
    const int others = result_count(s) - 1;
    const bp__measured *last = NULL;
    int most = -1;
    *right = NULL;
    for (int natives = 1; natives >= 0 && 2 * most < others; natives--) {
        for (int i = 0; i < s->count && 2 * most < others; i++) {
            bp__measured *m = &s->list[i];
            if (!m->has_result || bp__candidate_is_native(m->offer->candidate) != natives) {
                continue;
            }
            int count = compare_all(s, m, error);
            last = count < 0 ? last : m;
            if (count > most) {
                most = count;
                *right = m;
            }
        }
    }
    if (*right && last != *right) {
        most = compare_all(s, *right, error);
    }
    return most;
}

/* Receives the first offer of native, with the data for its plan. */
typedef struct native_offer {
    bp_offers base;
    bp_verdict verdict;
    bool found;
    size_t size;
    _Alignas(16) char data[1024];
} native_offer;

static void take_native(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size) {
    native_offer *o = (native_offer *)self;
    if (!o->found && verdict->reason == BP_REASON_ACCEPTED && size <= sizeof o->data) {
        o->found = true;
        o->verdict = *verdict;
        o->size = size;
        if (size > 0) {
            memcpy(o->data, found, size);
        }
    }
}

/* Computes the result of a candidate. Returns whether it has an offer. */
BP__OWN_FRAME static bool run_candidate(bp__session *s, bp__measured *m, bp__candidate *candidate) {
    native_offer o = {.base = {take_native}};
    bp__offer offer = {.candidate = candidate};
    candidate->provider->accept(candidate->instance, &s->choice->asked, &o.base);
    offer.verdict = o.verdict;
    if (o.found) {
        bp__session_compute(s, m, &offer, o.size > 0 ? o.data : NULL);
    }
    return o.found;
}

/* Computes the result of native, which settings may have excluded from the comparison. */
static void run_native(bp__session *s, bp__measured *m) {
    bp__candidate **list;
    int count;
    if (bp__candidates(NULL, -1, &list, &count) != BP_OK) {
        return;
    }
    for (int i = 0; i < count; i++) {
        if (list[i]->instance && bp__candidate_is_native(list[i]) && run_candidate(s, m, list[i])) {
            return;
        }
    }
}

/* Finds wrong results. Returns false if the candidates disagree and it is unknown which one is right. */
bool bp__session_verify(bp__session *s) {
    const double error = rounding(s);
    bp__measured native = {0}, *right;
    const int agree = find_right(s, error, &right), results = result_count(s);
    bool known = right && (bp__candidate_is_native(right->offer->candidate) || agree > 0);
    if (right && !known) { /* each has another result, or there is only one */
        run_native(s, &native);
        known = native.has_result && compare_all(s, &native, error) >= 0;
    }
    for (int i = 0; known && i < s->count; i++) {
        bp__measured *m = &s->list[i];
        if (m->has_result && m != right && *m->differs) {
            bp__copy_text(m->wrong, sizeof m->wrong, m->differs);
        }
    }
    if (native.has_result && right && *right->differs) {
        bp__copy_text(right->wrong, sizeof right->wrong, right->differs);
    }
    bp__session_release(&native);
    return known || results < 2;
}

static void punish(bp__session *s, bp__measured *m) {
    const bp_op op = (bp_op)s->choice->asked.op;
    bp__offer *offer = (bp__offer *)m->offer;
    char problem[256], why[512];
    m->timed.status = BP_E_BROKEN;
    bp__problem_text(&s->choice->asked, problem, sizeof problem);
    snprintf(why, sizeof why, "%s (%s)", m->wrong, problem);
    bp__warn("'%s' computes %s wrongly and is not used for it any more: %s", bp__candidate_id(offer->candidate),
             bp_op_name(op), why);
    if (!bp__candidate_is_native(offer->candidate)) {
        bp__quarantine_add(offer, op, why);
        offer->verdict.reason = BP_REASON_BROKEN;
        snprintf(offer->verdict.text, sizeof offer->verdict.text, "in quarantine: %.150s", why);
    }
}

int bp__session_punish(bp__session *s) {
    int count = 0;
    for (int i = 0; i < s->count; i++) {
        bp__measured *m = &s->list[i];
        if (*m->wrong && m->has_result) {
            punish(s, m);
            bp__trial_result_free(&m->result);
            m->has_result = false;
            count++;
        }
    }
    return count;
}
