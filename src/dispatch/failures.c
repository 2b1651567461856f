/* failures.c - notes the algorithms, and their candidates, that have failed for a call, so that they are not chosen
 * again. */
#include "dispatch/internal.h"

/* Limit of failed algorithms of one candidate; the candidate is given up after that. Without it, a provider that
 * violates the interface and offers new algorithms each time would be tried for ever. */
#define MOST_TRIES 16

bool bp__failures_try_one_thread(const bp__failures *failures, const bp_verdict *verdict, bp_status status) {
    return status == BP_E_NO_MEMORY && verdict->threads != 1 && !failures->one_thread;
}

bp_status bp__failures_add(bp__failures *failures, const bp__candidate *candidate, const bp_verdict *verdict,
                           bp_status status, const char *sentence) {
    if (bp__failures_try_one_thread(failures, verdict, status)) {
        failures->one_thread = failures->short_of_memory = true;
        bp__text_addf(&failures->text, "; '%s' failed: %s; one thread was tried then", bp__candidate_id(candidate),
                      sentence);
        return BP_OK;
    }
    /* if memory is short or the library cannot run this algorithm, another one may succeed */
    bool whole = status != BP_E_NO_MEMORY && status != BP_E_UNSUPPORTED;
    int tries = 0;
    for (int i = 0; i < failures->count; i++) {
        tries += failures->list[i].candidate == candidate;
    }
    whole = whole || tries >= MOST_TRIES;
    bp__failed *grown = bp__realloc(failures->list, ((size_t)failures->count + 1) * sizeof *grown);
    if (!grown) {
        return bp__fail_memory(sizeof *grown, "the list of failures");
    }
    failures->list = grown;
    failures->list[failures->count++] = (bp__failed){candidate, whole ? NULL : verdict->algorithm};
    failures->short_of_memory |= status == BP_E_NO_MEMORY;
    bp__text_addf(&failures->text, "; '%s' failed: %s", bp__candidate_id(candidate), sentence);
    return BP_OK;
}

void bp__failures_free(bp__failures *failures) {
    bp__free(failures->list);
    bp__text_free(&failures->text);
    *failures = (bp__failures){0};
}

void bp__failures_mark(const bp__failures *failures, bp__choice *choice) {
    for (int f = 0; failures && f < failures->count; f++) {
        const bp__failed *failed = &failures->list[f];
        for (int i = 0; i < choice->count; i++) {
            bp__offer *o = &choice->offers[i];
            o->failed |= o->candidate == failed->candidate &&
                         (!failed->algorithm || bp__text_equal(o->verdict.algorithm, failed->algorithm));
        }
    }
}
