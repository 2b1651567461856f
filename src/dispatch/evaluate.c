/* evaluate.c - asks every candidate for its offers of a problem, and refuses what settings or limits do not permit. */
#include "dispatch/times/calibrate.h"
#include "dispatch/times/tune.h"
#include "device/internal.h"
#include "dist/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bp__offer *add_offer(bp__choice *choice, bp__candidate *candidate) {
    if (choice->count == choice->capacity) {
        int capacity = choice->capacity * 2 + 16;
        bp__offer *grown = bp__realloc(choice->offers, (size_t)capacity * sizeof *grown);
        if (!grown) {
            choice->found.failed = true;
            return NULL;
        }
        choice->offers = grown;
        choice->capacity = capacity;
    }
    bp__offer *offer = &choice->offers[choice->count++];
    memset(offer, 0, sizeof *offer);
    offer->candidate = candidate;
    offer->verdict = (bp_verdict)BP_VERDICT_INIT;
    return offer;
}

static void add_refusal(bp__choice *choice, bp__candidate *candidate, bp_reason reason, const char *text) {
    bp__offer *offer = add_offer(choice, candidate);
    if (offer) {
        bp__verdict_refuse(&offer->verdict, reason, text);
    }
}

/* Receives the offers of one candidate. */
typedef struct collector {
    bp_offers base; /* must be first: the provider's interface */
    bp__choice *choice;
    bp__candidate *candidate;
    const char *exclude;
} collector;

/* Keeps the provider's plan data, aligned to 16 bytes. */
static void keep_plan_data(bp__choice *choice, bp__offer *offer, const void *found, size_t size) {
    static const char zeros[16];
    size_t pad = (16 - choice->found.length % 16) % 16;
    bp__text_add_n(&choice->found, zeros, pad);
    offer->found_at = choice->found.length;
    offer->size = size;
    bp__text_add_n(&choice->found, found, size);
}

/* Size of the first published verdict; later minor versions only append. */
#define SMALLEST_VERDICT (offsetof(bp_verdict, packs) + sizeof(((bp_verdict *)0)->packs))

/* Copies the members of a verdict that both sides have. Providers may be third-party code: values that would mislead
 * the choice are replaced, and the text is terminated. */
static void take_verdict(bp_verdict *own, const bp_verdict *given) {
    if (given->struct_size < SMALLEST_VERDICT) {
        bp__verdict_refuse(own, BP_REASON_OTHER,
                           "the provider violates the interface: struct_size of its verdict is too small");
        return;
    }
    memcpy(own, given, given->struct_size < sizeof *own ? given->struct_size : sizeof *own);
    own->struct_size = sizeof *own;
    own->algorithm = own->algorithm ? own->algorithm : "";
    own->text[sizeof own->text - 1] = '\0';
    if (own->reason == BP_REASON_ACCEPTED && !(own->cost_ns >= 0)) {
        bp__verdict_refuse(own, BP_REASON_OTHER, "the provider violates the interface: cost_ns must be 0 or more");
    }
}

static void collect(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size) {
    collector *c = (collector *)self;
    bp__offer *offer = add_offer(c->choice, c->candidate);
    if (!offer) {
        return;
    }
    take_verdict(&offer->verdict, verdict);
    if (offer->verdict.reason != BP_REASON_ACCEPTED) {
        return;
    }
    char text[64];
    bp__exclusion exclusion = bp__name_excluded(c->exclude, c->candidate, offer->verdict.algorithm);
    if (exclusion) {
        bp__verdict_refuse(&offer->verdict, BP_REASON_EXCLUDED,
                           bp__name_why_excluded(exclusion, &c->choice->asked, text, sizeof text));
        return;
    }
    bp__verdict_check(&c->choice->asked, c->candidate, &offer->verdict);
    offer->rank = bp__kernel_rank(&c->choice->asked, offer->verdict.algorithm);
    if (offer->verdict.reason == BP_REASON_ACCEPTED && size > 0) {
        keep_plan_data(c->choice, offer, found, size);
    }
}

/* Returns whether the provider works on the place: on the host, or on a device of a runtime that it names. */
static bool works_on(const bp_provider *provider, int32_t place) {
    const char *runtimes = provider->runtimes;
    if (place == 0 || !runtimes) {
        return place == 0 && !runtimes;
    }
    const bp_device_info *device = bp__device_facts(place);
    return device && bp__text_has_word(runtimes, device->runtime);
}

/* Collects the reasons of a candidate's verdicts, as bits; 0 if it cannot evaluate the problem. */
typedef struct reasons {
    bp_offers base;
    uint32_t bits;
} reasons;

static void note_reason(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size) {
    (void)found, (void)size;
    ((reasons *)self)->bits |= UINT32_C(1) << ((unsigned)verdict->reason & 31);
}

static uint32_t reasons_of(const bp__candidate *candidate, const bp_problem *problem) {
    reasons r = {{note_reason}, 0};
    if (!candidate->instance || !works_on(candidate->provider, problem->place)) {
        return 0;
    }
    candidate->provider->accept(candidate->instance, problem, &r.base);
    return r.bits ? r.bits : 1u << BP_REASON_OP;
}

bool bp__candidate_offers(const bp__candidate *candidate, const bp_problem *sample) {
    return (reasons_of(candidate, sample) & ~(1u << BP_REASON_OP | 1u << BP_REASON_SYMBOL)) != 0;
}

bool bp__candidate_refuses_type(const bp__candidate *candidate, const bp_problem *sample) {
    return reasons_of(candidate, sample) == 1u << BP_REASON_DTYPE;
}

/* Refuses an excluded candidate. One that does not offer the operation is refused for that, like any other. */
static void add_exclusion(bp__choice *choice, bp__candidate *candidate, const char *text) {
    const bool absent = reasons_of(candidate, &choice->asked) == 1u << BP_REASON_OP;
    add_refusal(choice, candidate, absent ? BP_REASON_OP : BP_REASON_EXCLUDED, absent ? "" : text);
}

/* Refuses a candidate that does not work on the problem's device. On the host, the providers of devices are of no
 * interest, on a device those that do not offer the operation anywhere, and for distributed operands all but those that
 * offer it on the host. */
BP__OWN_FRAME static void add_device_refusal(bp__choice *choice, bp__candidate *candidate) {
    bp_problem on_host = choice->asked;
    on_host.place = 0;
    const bool map = bp__place_is_map(choice->asked.place);
    const uint32_t there = choice->asked.place != 0 ? reasons_of(candidate, &on_host) : 1u << BP_REASON_OP;
    const bool relevant = there != 1u << BP_REASON_OP && (there != 0 || !map);
    char text[96] = "";
    if (relevant && map) {
        snprintf(text, sizeof text, "the operands are distributed");
    } else if (relevant && candidate->provider->runtimes) {
        snprintf(text, sizeof text, "works on devices of %.64s only", candidate->provider->runtimes);
    }
    add_refusal(choice, candidate, relevant ? BP_REASON_DEVICE : BP_REASON_OP, text);
}

static void collect_offers(bp__choice *choice, bp__candidate *candidate, const char *exclude) {
    collector c = {{collect}, choice, candidate, exclude};
    candidate->provider->accept(candidate->instance, &choice->asked, &c.base);
}

/* Receives the algorithms of a library's own list. */
typedef struct expander {
    collector base; /* must be first: it receives each of them */
    double least_ns;
    int left;
} expander;

static void collect_listed(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size) {
    expander *e = (expander *)self;
    bp__choice *choice = e->base.choice;
    const int before = choice->count;
    if (e->left-- <= 0) {
        return;
    }
    collect(self, verdict, found, size);
    for (int i = before; i < choice->count; i++) {
        bp__offer *offer = &choice->offers[i];
        offer->listed = choice->expansion == BP__EXPANDS_TO_LIST;
        if (offer->listed && offer->verdict.reason == BP_REASON_ACCEPTED && !*offer->verdict.text) {
            bp__copy_text(offer->verdict.text, sizeof offer->verdict.text,
                          "of the library's own list, which benchmark measures");
        }
        offer->verdict.cost_ns = fmax(offer->verdict.cost_ns, e->least_ns);
    }
}

/* Adds the library's own list for the offers from `first` on. */
static void expand(bp__choice *choice, bp__candidate *candidate, const char *exclude, int first) {
    enum { MOST_LISTED = 32 };
    const int end = choice->count;
    for (int i = first; i < end && candidate->provider->expand && choice->expansion != BP__EXPANDS_NOTHING; i++) {
        const bp_verdict offer = choice->offers[i].verdict; /* a copy, because the offers move */
        expander e = {{{collect_listed}, choice, candidate, exclude}, offer.cost_ns, MOST_LISTED};
        if (offer.reason == BP_REASON_ACCEPTED && !choice->offers[i].one_thread) {
            candidate->provider->expand(candidate->instance, &choice->asked, &offer, &e.base.base);
        }
    }
}

/* Whether the limits of memory refuse all of a candidate's offers, from `first` on, where some have several threads.
 */
static bool lacks_memory_for_threads(const bp__choice *choice, int first) {
    bool several = false;
    for (int i = first; i < choice->count; i++) {
        const bp_verdict *verdict = &choice->offers[i].verdict;
        if (verdict->reason != BP_REASON_MEMORY) {
            return false;
        }
        several |= verdict->threads > 1;
    }
    return several;
}

static void collect_on_one_thread(bp__choice *choice, bp__candidate *candidate, const char *exclude) {
    const int first = choice->count, threads = choice->asked.policy.threads;
    choice->asked.policy.threads = 1;
    collect_offers(choice, candidate, exclude);
    choice->asked.policy.threads = threads;
    for (int i = first; i < choice->count; i++) {
        bp__offer *offer = &choice->offers[i];
        if (offer->verdict.reason == BP_REASON_ACCEPTED) {
            offer->one_thread = true;
            bp__copy_text(offer->verdict.text, sizeof offer->verdict.text,
                          "the limits of the process leave too little memory for more threads");
        }
    }
}

/* Whether a provider was built before the provider interface had what the problem needs. */
static bool is_too_old(const bp_provider *provider, const bp_problem *problem) {
    const bp__family *family = bp__family_of(problem);
    return family->least_minor && (provider->abi & 0xffffu) < family->least_minor(problem);
}

/* Adds the candidate's offers or refusals for the problem, at least one. */
static void evaluate(bp__choice *choice, bp__candidate *candidate, const char *exclude) {
    const bp_problem *problem = &choice->asked;
    char text[96];
    if (bp__place_is_map(problem->place) && !works_on(candidate->provider, problem->place)) {
        add_device_refusal(choice, candidate); /* whatever else is against it */
        return;
    }
    bp__exclusion exclusion = bp__name_excluded(exclude, candidate, NULL);
    const char *off = exclusion ? bp__name_why_excluded(exclusion, problem, text, sizeof text)
                                : bp__candidate_off(candidate, &problem->policy);
    if (off) {
        add_exclusion(choice, candidate, off);
    } else if (!candidate->instance) {
        add_refusal(choice, candidate, BP_REASON_BROKEN, candidate->refusal);
    } else if (!works_on(candidate->provider, problem->place)) {
        add_device_refusal(choice, candidate);
    } else if (is_too_old(candidate->provider, problem)) {
        add_refusal(choice, candidate, BP_REASON_OTHER, "was built for an older interface, which lacks what is asked");
    } else {
        int before = choice->count;
        collect_offers(choice, candidate, exclude);
        if (lacks_memory_for_threads(choice, before)) {
            choice->count = before;
            collect_on_one_thread(choice, candidate, exclude);
        }
        expand(choice, candidate, exclude, before);
        if (choice->count == before) {
            add_refusal(choice, candidate, BP_REASON_OP, "");
        }
    }
}

int bp__machine_threads(void) {
    return bp__host()->machine->logical_cpus > 0 ? bp__host()->machine->logical_cpus : 1;
}

/* If results must not depend on the number of threads, the choice must not either. Candidates are then sorted by their
 * time on as many threads as the machine has processors. */
typedef struct estimator {
    bp_offers base;
    bp__offer *offers;
    int count;
} estimator;

static void estimate(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size) {
    estimator *p = (estimator *)self;
    bp_verdict own = BP_VERDICT_INIT;
    (void)found, (void)size;
    take_verdict(&own, verdict);
    for (int i = 0; i < p->count && own.reason == BP_REASON_ACCEPTED; i++) {
        if (bp__text_equal(p->offers[i].verdict.algorithm, own.algorithm)) {
            p->offers[i].estimate_ns = own.cost_ns;
        }
    }
}

BP__OWN_FRAME static void estimate_on(const bp__choice *choice, bp__offer *offers, int count, int threads) {
    bp_problem fixed = choice->asked;
    estimator p = {{estimate}, offers, count};
    fixed.policy.threads = threads;
    offers->candidate->provider->accept(offers->candidate->instance, &fixed, &p.base);
}

static void set_estimates(bp__choice *choice, int first) {
    bp__offer *offers = choice->offers + first;
    const int count = choice->count - first;
    bool accepted = false;
    for (int i = 0; i < count; i++) {
        offers[i].estimate_ns = offers[i].verdict.cost_ns;
        accepted |= offers[i].verdict.reason == BP_REASON_ACCEPTED;
    }
    if (accepted && choice->asked.policy.deterministic == 2) {
        estimate_on(choice, offers, count, bp__machine_threads());
    }
}

static bool is_short_of_memory(const bp__choice *choice) {
    for (int i = 0; i < choice->count; i++) {
        if (choice->offers[i].one_thread || choice->offers[i].verdict.reason == BP_REASON_MEMORY) {
            return true;
        }
    }
    return false;
}

static const bp__preference *preference_of(const bp__family *family) {
    for (int i = 0; i < BP__FAMILIES && !family->preferred; i++) {
        const bp__family *other = bp__family_at(i);
        family = other->preferred && other->preference == family->preference ? other : family;
    }
    return family->preferred;
}

/* A choice that measures first opens libraries that it does not choose. */
bp__need bp__need_of(const bp_problem *problem) {
    const bp__family *family = bp__family_of(problem);
    const bp__preference *libraries = preference_of(family);
    const bool measures = bp__benchmark_mode(&problem->policy) == BP__BENCHMARK_NOW;
    return problem->place != 0 || !libraries ? BP__NEED_ALL
                                             : (bp__need){libraries->kinds, family->products && !measures};
}

bp_status bp__evaluate_all(bp__choice *choice, const bp__need *need) {
    bp__candidate **candidates;
    int count;
    BP__TRY(bp__candidates(need, need ? bp__calibrate_class_of(&choice->asked) : -1, &candidates, &count));
    const char *exclude = bp__policy_text(choice->asked.policy.exclude);
    bp__text_free(&choice->found);
    choice->count = 0;
    for (int i = 0; i < count && !choice->found.failed; i++) {
        int first = choice->count;
        evaluate(choice, candidates[i], exclude);
        set_estimates(choice, first);
    }
    bp__predict(choice);
    choice->short_of_memory |= is_short_of_memory(choice);
    return choice->found.failed ? bp__fail_memory((size_t)count * sizeof(bp__offer), "the candidates of a choice")
                                : BP_OK;
}
