/* tune_record_text.c - reads and writes the record of a problem class.
 *
 *     took 2.1 ms, machine 1.02, expected times estimated|1234.5/1100 NAME|- NAME|failed NAME
 *
 * has the measured and the expected time of each candidate in ns. */
#include "dispatch/times/tune_session.h"
#include "base/number.h"

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

/* Finds the word of an offer. Returns NULL if the record does not name it. */
static const char *find_offer(const char *record, const bp__offer *offer) {
    bp__text name = {0};
    size_t length;
    bp__tune_name(&name, offer);
    const char *word = name.failed ? NULL : find_name(record, bp__text_get(&name), &length);
    bp__text_free(&name);
    return word;
}

static bool is_time(double ns) {
    return ns > 0 && isfinite(ns);
}

/* Sorts an offer behind those with a time: it was slower, or failed. */
static void sort_last(bp__offer *offer) {
    offer->order = 1e30 + offer->order;
}

/* Reads the times of all eligible. Returns false if the record is not for the same ones, or has no time. */
static bool read_record(bp__choice *choice, const bp__eligible *all, const char *record) {
    double times[BP__TUNE_MOST];
    bool any = false;
    for (int i = 0; i < all->count; i++) {
        const char *word = find_offer(record, &choice->offers[all->offer[i]]);
        if (!word) {
            return false;
        }
        times[i] = bp__read_real(word, NULL); /* 0 for "-" and "failed" */
        any |= is_time(times[i]);
    }
    if (!any || entry_count(record) != all->count) {
        return false;
    }
    for (int i = 0; i < all->count; i++) {
        bp__offer *o = &choice->offers[all->offer[i]];
        if (is_time(times[i])) {
            o->order = o->measured_ns = times[i];
        } else {
            sort_last(o);
        }
    }
    return true;
}

/* Returns the ratio of the measured to the expected time in a word "1234.5/1100"; 0 if there is none. */
static double ratio_of(const char *word) {
    char *end;
    const double measured = bp__read_real(word, &end), expected = *end == '/' ? bp__read_real(end + 1, NULL) : 0;
    const double ratio = is_time(measured) && is_time(expected) ? measured / expected : 0;
    return is_time(ratio) ? ratio : 0;
}

static const char *source_of(const bp__choice *choice) {
    return choice->predicted ? ", expected times calibrated|" : ", expected times estimated|";
}

bool bp__tune_read_neighbour(bp__choice *choice, const bp__eligible *all, const char *record) {
    double times[BP__TUNE_MOST];
    bp__eligible likely = *all;
    bp__tune_keep_likely(&likely, choice);
    if (!strstr(record, source_of(choice))) {
        return false;
    }
    for (int i = 0; i < likely.count; i++) {
        const bp__offer *o = &choice->offers[likely.offer[i]];
        const char *word = find_offer(record, o);
        times[i] = word ? ratio_of(word) * bp__tune_expected_ns(choice, o) : 0;
        if (!is_time(times[i])) {
            return false;
        }
    }
    for (int i = 0; i < all->count; i++) {
        bp__offer *o = &choice->offers[all->offer[i]];
        if (i < likely.count) {
            o->order = o->neighbour_ns = times[i];
        } else {
            sort_last(o);
        }
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
    bp__text_addf(record, ", machine %.2f%.*s", pace, (int)strlen(source_of(s->choice)) - 1, source_of(s->choice));
    for (int i = 0; i < all->usable; i++) {
        const bp__offer *offer = &s->choice->offers[all->offer[i]];
        const bp__measured *m = i < s->count ? &s->list[i] : NULL;
        if (offer->verdict.reason != BP_REASON_ACCEPTED) {
            continue; /* in quarantine now */
        }
        if (m && m->timed.status == BP_OK && m->timed.least_ns > 0) {
            bp__text_addf(record, "|%.5g/%.5g ", m->timed.least_ns, bp__tune_expected_ns(s->choice, offer));
        } else {
            bp__text_add(record, m ? "|failed " : "|- ");
        }
        bp__tune_name(record, offer);
    }
}
