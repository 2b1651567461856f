/* tune_eligible.c - finds the offers among which measured times decide, and what measuring them is expected to take. */
#include "dispatch/times/tune_session.h"

#include <math.h>

#define LIKELY 4.0    /* a candidate is measured if its expected time is within this factor of the least */
#define TURN_NS 40e3  /* the shortest turns of one candidate, for the expected cost */
#define FIXED_NS 1e6  /* operands, comparison and the file, likewise */
#define COST_CALLS 10 /* calls of one candidate, likewise */

/* Returns how well a usable offer matches the preference, at best; 0 if there is no preference. */
static int preference_quality(const bp__choice *choice, const char *preferred) {
    int best = 0;
    for (int i = 0; *preferred && i < choice->count; i++) {
        const bp__offer *o = &choice->offers[i];
        int match = bp__offer_is_usable(o) ? bp__name_matches(preferred, o->candidate, o->verdict.algorithm) : 0;
        best = match > best ? match : best;
    }
    return best;
}

static double expected_ns(const bp__choice *choice, int offer) {
    return bp__tune_expected_ns(choice, &choice->offers[offer]);
}

static void insert(bp__eligible *all, const bp__choice *choice, int offer) {
    if (all->count == BP__TUNE_MOST) {
        all->many = true;
        return;
    }
    int at = all->count++;
    const double ns = expected_ns(choice, offer);
    for (; at > 0 && ns < expected_ns(choice, all->offer[at - 1]); at--) {
        all->offer[at] = all->offer[at - 1];
    }
    all->offer[at] = offer;
}

bp__eligible bp__tune_eligible(const bp__choice *choice) {
    bp__eligible all = {.count = 0};
    const char *preferred = bp__policy_preferred(&choice->asked);
    int quality = preference_quality(choice, preferred);
    for (int i = 0; i < choice->count; i++) {
        const bp__offer *o = &choice->offers[i];
        if (bp__offer_is_usable(o) &&
            (quality == 0 || bp__name_matches(preferred, o->candidate, o->verdict.algorithm) >= quality)) {
            insert(&all, choice, i);
        }
    }
    all.count = all.many ? 0 : all.count;
    all.usable = all.count;
    return all;
}

/* Keeps those that may be the fastest, at most benchmark_limit. */
void bp__tune_keep_likely(bp__eligible *all, const bp__choice *choice) {
    const int limit = bp__benchmark_limit(&choice->asked.policy);
    int keep = 0;
    while (keep < all->count && (limit == BP__BENCHMARK_ALL || keep < limit) &&
           expected_ns(choice, all->offer[keep]) <= LIKELY * expected_ns(choice, all->offer[0])) {
        keep++;
    }
    all->count = keep;
}

/* How much longer measuring took than expected, for the last classes of each operation, in thousandths: libraries are
 * loaded, and some plan by measurement. */
enum { AS_EXPECTED = 1000, MOST_CORRECTION = 1000 * AS_EXPECTED, OF_PLANNING = 100 * AS_EXPECTED };
static atomic_int corrections[BP__OPERATIONS]; /* 0: nothing was measured */

static double correction_of(const bp__choice *choice) {
    const int known = atomic_load_explicit(&corrections[choice->asked.op], memory_order_relaxed);
    const bool plans = bp__family_of(&choice->asked)->measuring->plans_by_measuring;
    return known ? known : plans ? OF_PLANNING : AS_EXPECTED;
}

double bp__tune_modelled_ns(const bp__choice *choice, const bp__eligible *all) {
    return FIXED_NS + all->count * fmax(COST_CALLS * expected_ns(choice, all->offer[0]), TURN_NS);
}

double bp__tune_cost(const bp__choice *choice) {
    bp__eligible all = bp__tune_eligible(choice);
    bp__tune_keep_likely(&all, choice);
    return all.count < 2 ? 0 : bp__tune_modelled_ns(choice, &all) * correction_of(choice) / AS_EXPECTED;
}

/* Changes the correction by half, on a logarithmic scale, because the time of one class varies. */
void bp__tune_correct(const bp__choice *choice, double modelled_ns, double took_ns) {
    const double now =
        fmin(MOST_CORRECTION, sqrt(correction_of(choice) * fmax(1, AS_EXPECTED * took_ns / modelled_ns)));
    atomic_store_explicit(&corrections[choice->asked.op], (int)fmax(AS_EXPECTED, now), memory_order_relaxed);
}
