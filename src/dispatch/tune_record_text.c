/* tune_record_text.c - reads and writes the record of a problem class: "took 2.1 ms|1234.5 NAME|- NAME|failed NAME". */
#include "dispatch/tune_session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the word of the record before the name: its length in *length; NULL if the name is not in the record. */
static const char *find_name(const char *record, const char *name, size_t *length) {
    const size_t size = strlen(name);
    for (const char *at = strchr(record, '|'); at; at = strchr(at, '|')) {
        at++;
        *length = strcspn(at, " |");
        const char *rest = at + *length + 1;
        if (at[*length] == ' ' && strncmp(rest, name, size) == 0 && (rest[size] == '\0' || rest[size] == '|')) {
            return at;
        }
    }
    return NULL;
}

static int entry_count(const char *record) {
    int count = 0;
    for (; *record; record++) {
        count += *record == '|';
    }
    return count;
}

/* Reads the times of all eligible. Returns false if the record is not for the same ones. */
static bool read_record(bp__choice *choice, const bp__eligible *all, const char *record) {
    double times[BP__TUNE_MOST];
    for (int i = 0; i < all->count; i++) {
        bp__text name = {0};
        size_t length;
        bp__tune_name(&name, &choice->offers[all->offer[i]]);
        const char *word = find_name(record, bp__text_get(&name), &length);
        bp__text_free(&name);
        if (!word) {
            return false;
        }
        times[i] = strtod(word, NULL); /* 0 for "-" and "failed" */
    }
    if (entry_count(record) != all->count) {
        return false;
    }
    for (int i = 0; i < all->count; i++) {
        bp__offer *o = &choice->offers[all->offer[i]];
        bool measured = times[i] > 0 && isfinite(times[i]);
        o->measured_ns = measured ? times[i] : 0;
        o->order = measured ? times[i] : 1e30 + o->order; /* those without a time were slower, or failed */
    }
    return true;
}

bool bp__tune_apply(bp__choice *choice, const bp__eligible *all, const char *key) {
    const bp_policy *policy = &choice->asked.policy;
    bp__text record = {0};
    bool frozen = policy->tuning == BP__TUNING_FROZEN && policy->deterministic == 1;
    bool allowed = policy->deterministic == 0 || frozen, applied = false;
    if (bp__tune_find(key, frozen, &record, &choice->measured_s) && *bp__text_get(&record) != '!') {
        applied = allowed && read_record(choice, all, bp__text_get(&record));
        choice->unmeasured = applied   ? NULL
                             : allowed ? "measured times are not used, because other candidates accepted then"
                                       : "measured times are not used, because deterministic is set";
    }
    choice->measured = applied;
    bp__text_free(&record);
    return applied;
}

void bp__tune_write(const bp__session *s, const bp__eligible *all, double pace, bp__text *record) {
    const double ns = (double)(bp__now_ns() - s->budget.start_ns);
    bp__text_addf(record, "took %.3g ms", ns / 1e6);
    if (s->budget.excluded_ns > 0) {
        bp__text_addf(record, " with %.3g ms for the first use of libraries", s->budget.excluded_ns / 1e6);
    }
    bp__text_addf(record, ", machine %.2f", pace);
    for (int i = 0; i < all->usable; i++) {
        const bp__offer *offer = &s->choice->offers[all->offer[i]];
        const bp__measured *m = i < s->count ? &s->list[i] : NULL;
        if (offer->verdict.reason != BP_REASON_ACCEPTED) {
            continue; /* in quarantine now */
        }
        if (m && m->timed.status == BP_OK && m->timed.least_ns > 0) {
            bp__text_addf(record, "|%.5g ", m->timed.least_ns);
        } else {
            bp__text_add(record, m ? "|failed " : "|- ");
        }
        bp__tune_name(record, offer);
    }
}
