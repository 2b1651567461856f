/* tune_session.h - declares the parts of measuring one problem class: which offers, their runs, the check, the record.
 */
#ifndef BP_DISPATCH_TUNE_SESSION_H
#define BP_DISPATCH_TUNE_SESSION_H

#include "dispatch/times/tune.h"
#include "dispatch/trial.h"

enum { BP__TUNE_MOST = 64 }; /* offers of one class; if there are more, none is measured */

/* ---- Offers among which the time decides (tune_eligible.c) ---- */

typedef struct bp__eligible {
    int offer[BP__TUNE_MOST]; /* indices, by rising expected time */
    int count;
    int usable; /* number before those that are too slow by their expected times were removed */
    bool many;  /* there are more than fit, so none is measured */
} bp__eligible;
bp__eligible bp__tune_eligible(const bp__choice *choice);
/* Keeps those that may be the fastest, at most benchmark_limit. */
void bp__tune_keep_likely(bp__eligible *all, const bp__choice *choice);
/* Returns what measuring them takes if libraries are loaded and plans are made at once. */
double bp__tune_modelled_ns(const bp__choice *choice, const bp__eligible *all);
/* Corrects what bp__tune_cost() returns, by what a class took. */
void bp__tune_correct(const bp__choice *choice, double modelled_ns, double took_ns);

/* Returns the expected time of an offer: calibrated, or the provider's estimate. */
static inline double bp__tune_expected_ns(const bp__choice *choice, const bp__offer *offer) {
    return choice->predicted ? offer->predicted_ns : offer->estimate_ns;
}

/* ---- Runs (tune_session.c) ---- */

typedef struct bp__measured {
    const bp__offer *offer;
    bp__timed timed;
    bp_prepared *prepared;
    bp_packed *packed[BP__OPERANDS]; /* inputs that the caller will pass in packed form; NULL: as they are */
    double plan_ns, run_ns;          /* what making the plan took, and its first run */
    bp__trial_result result;
    bool has_result;
    char wrong[160];   /* why the result is wrong; "" if it is right */
    char differs[160]; /* how it differs from the one that all were compared with last; "" if it agrees */
} bp__measured;

typedef struct bp__session {
    bp__choice *choice;
    bp__trial trial;
    bp__budget budget;
    bp__measured list[BP__TUNE_MOST]; /* the eligible ones that have run, in the same order */
    int count;
    bp__timed compared[BP__TUNE_MOST]; /* their times while they run in turn */
} bp__session;

/* Makes the offer's plan, runs it once on fresh operands and keeps the result. `m` is zeroed before. */
void bp__session_compute(bp__session *s, bp__measured *m, const bp__offer *offer, const void *found);
void bp__session_release(bp__measured *m);
/* Compares the eligible offers, as far as the budget permits, and writes the record. Leaves it empty if there was not
 * enough time for two of them or not enough memory, or if all of them failed. */
void bp__session_run(bp__session *s, const bp__eligible *all, const bp_operand *addresses, bp__text *record);

/* ---- The check of the results (tune_verify.c) ---- */

/* Finds wrong results. Returns false if the candidates disagree and it is unknown which one is right. */
bool bp__session_verify(bp__session *s);
/* Puts wrong candidates into quarantine and refuses them. native is never refused: it must remain. Returns how many
 * were wrong. */
int bp__session_punish(bp__session *s);

/* ---- The text of a record (tune_record_text.c) ---- */

/* Ranks the offers by the record of the class. Returns false if there is none that may be used. */
bool bp__tune_apply(bp__choice *choice, const bp__eligible *all, const char *key);
/* Ranks the offers by the record of a similar problem. Returns false if an offer that would be measured has no time in
 * it, or if its expected times are from another source. */
bool bp__tune_read_neighbour(bp__choice *choice, const bp__eligible *all, const char *record);
void bp__tune_write(const bp__session *s, const bp__eligible *all, double pace, bp__text *record);

/* ---- Similar problems (tune_neighbours.c) ---- */

/* Ranks the offers of a class without a record by the record of the nearest neighbour. Returns false if there is none
 * that may be used. */
bool bp__neighbour_apply(bp__choice *choice, const bp__eligible *eligible, const char *key);

#endif
