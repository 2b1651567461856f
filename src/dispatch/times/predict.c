/* predict.c - replaces estimated times by times that were measured on this machine.
 *
 * The estimates of providers come from constants. Measured and estimated times must not be compared with each other, so
 * the candidates of a choice are ranked by measurements only if there are measurements of all of them.
 *
 * The ratio of measured times to estimates is known at a few sizes of each class. A prediction is the estimate times
 * the ratio between them. Products have times of their own (ops/gemm/predict.c). */
#include "dispatch/internal.h"

#include <math.h>

/* A measured time belongs to a candidate's fastest algorithm under the default precision, so algorithms that round
 * their inputs are predicted by the ratio of their estimates to the estimate of the fastest other one. */
static bool rounds(const bp_verdict *verdict) {
    return (verdict->properties & (BP_PROPERTY_ROUNDS_BELOW_TF32 | BP_PROPERTY_INPUTS_TF32)) != 0;
}

/* Collects the least estimated time of a candidate's accepted algorithms; -1 if there are none. */
typedef struct least {
    bp_offers base; /* must be first: the provider's interface */
    double exact_ns, rounding_ns;
} least;

static void note_cost(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size) {
    least *l = (least *)self;
    (void)found, (void)size;
    double *ns = rounds(verdict) ? &l->rounding_ns : &l->exact_ns;
    if (verdict->reason == BP_REASON_ACCEPTED && (*ns < 0 || verdict->cost_ns < *ns)) {
        *ns = verdict->cost_ns;
    }
}

double bp__estimate_of(const bp__candidate *candidate, const bp_problem *problem) {
    least l = {{note_cost}, -1, -1};
    candidate->provider->accept(candidate->instance, problem, &l.base);
    return l.exact_ns >= 0 ? l.exact_ns : l.rounding_ns;
}

bool bp__cost_follows_kernels(const bp__candidate *candidate) {
    const bp_provider *provider = candidate->provider;
    return provider->cost_follows_kernels;
}

static bool is_accepted(const bp__offer *offer) {
    return offer->verdict.reason == BP_REASON_ACCEPTED;
}

static bool is_preferred(const bp__offer *offer, const bp__offer *to) {
    return rounds(&offer->verdict) == rounds(&to->verdict) ? offer->verdict.cost_ns < to->verdict.cost_ns
                                                           : !rounds(&offer->verdict);
}

/* Predicts the time of an offer by the ratio of its class. Returns false if nothing similar was measured. */
static bool predict_by_ratio(const bp__choice *choice, bp__offer *o, bool is_best) {
    const bp__calibration *calibration = atomic_load_explicit(&o->candidate->calibration, memory_order_acquire);
    bp__class_place place = {.class = -1};
    bp__accuracy accuracy;
    bp__family_of(&choice->asked)->measuring->place(&choice->asked, &o->verdict, &place);
    o->predicted_ns =
        o->verdict.cost_ns * bp__calibration_ratio(calibration, place.class, place.sizes[0], place.sizes[1], &accuracy);
    /* What was measured is the algorithm that the provider prefers. */
    o->accuracy = is_best && !place.differs ? accuracy : BP__INTERPOLATED;
    return o->predicted_ns > 0;
}

/* Predicts the time of an offer, whose candidate's preferred offer is `best`. */
static bool predict_offer(const bp__choice *choice, bp__offer *o, const bp__offer *best) {
    const bp__measuring *measuring = bp__family_of(&choice->asked)->measuring;
    if (!measuring->predict) {
        return predict_by_ratio(choice, o, o->verdict.cost_ns == best->verdict.cost_ns);
    }
    o->predicted_ns = measuring->predict(o->candidate, &choice->asked, &o->verdict, &best->verdict, &o->accuracy);
    return o->predicted_ns > 0;
}

/* Predicts the times of the offers of one candidate, which are those from `first` to `end`. */
static bool predict_offers(bp__choice *choice, int first, int end) {
    const bp__offer *best = NULL;
    for (int i = first; i < end; i++) {
        const bp__offer *o = &choice->offers[i];
        best = is_accepted(o) && (!best || is_preferred(o, best)) ? o : best;
    }
    bool known = true;
    for (int i = first; i < end && known; i++) {
        known = !is_accepted(&choice->offers[i]) || predict_offer(choice, &choice->offers[i], best);
    }
    return known;
}

/* Whether the problem is of an operation with measured times, and its result has elements. */
static bool is_predictable(const bp_problem *problem) {
    const bp__measuring *measuring = bp__family_of(problem)->measuring;
    return measuring && (measuring->predict || measuring->place) && !bp__writes_nothing(problem);
}

void bp__predict(bp__choice *choice) {
    bool complete = choice->asked.policy.measured && is_predictable(&choice->asked);
    for (int first = 0, end; complete && first < choice->count; first = end) {
        end = first + 1;
        while (end < choice->count && choice->offers[end].candidate == choice->offers[first].candidate) {
            end++;
        }
        complete = predict_offers(choice, first, end);
    }
    choice->predicted = complete;
    for (int i = 0; i < choice->count; i++) {
        bp__offer *o = &choice->offers[i];
        o->order = complete ? o->predicted_ns : o->estimate_ns;
    }
}
