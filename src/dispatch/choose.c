/* choose.c - selects one of the candidates: constraints first, then the preference, then the cost.
 *
 * No other code makes a choice. Running uses the result, and explain shows it. */
#include "dispatch/times/tune.h"
#include "base/uncancelled.h"
#include "device/internal.h"
#include "dist/internal.h"
#include "dispatch/needs.h"
#include "registry/internal.h"

#include <stdio.h>
#include <string.h>

static bool is_before(const bp__offer *a, const bp__offer *b) {
    return a->rank != b->rank ? a->rank < b->rank : a->order < b->order;
}

/* Returns the first usable offer, by rank and cost, that matches `name` with quality `match` or more; -1: none. */
static int cheapest_offer(const bp__choice *choice, const char *name, int match) {
    int best = -1;
    for (int i = 0; i < choice->count; i++) {
        const bp__offer *o = &choice->offers[i];
        if (bp__offer_is_usable(o) && (!name || bp__name_matches(name, o->candidate, o->verdict.algorithm) >= match) &&
            (best < 0 || is_before(o, &choice->offers[best]))) {
            best = i;
        }
    }
    return best;
}

/* Returns how specific a refusal is, from 0 to 2. Several providers of a library, or libraries of a family, may refuse.
 * The one that offers the operation and the type, on the device, gives the useful reason. */
static int weight(bp_reason reason) {
    return reason == BP_REASON_OP ? 0 : reason == BP_REASON_DTYPE || reason == BP_REASON_DEVICE ? 1 : 2;
}

/* Returns the best match for a preference among all offers, usable or not; -1 if no candidate matches. The library
 * counts first, then the algorithm, then the weight of the reason. */
static int best_match(const bp__choice *choice, const char *name) {
    int best = -1;
    int quality = 0;
    for (int i = 0; i < choice->count; i++) {
        const bp__offer *o = &choice->offers[i];
        int match = 6 * bp__name_matches(name, o->candidate, NULL);
        match += match > 0 && bp__name_matches(name, o->candidate, o->verdict.algorithm) > 0 ? 3 : 0;
        match += match > 0 ? weight(o->verdict.reason) : 0;
        if (match > quality || (match == quality && match > 0 && o->verdict.reason == BP_REASON_MEMORY)) {
            quality = match;
            best = i;
        }
    }
    return best;
}

static void decide_by_cost(bp__choice *choice, const bp_problem *problem) {
    int open = 0;
    const int fastest = cheapest_offer(choice, NULL, 0);
    choice->chosen = bp__choice_build(choice, fastest);
    for (int i = 0; i < choice->count; i++) {
        open += bp__offer_is_usable(&choice->offers[i]);
    }
    if (open == 1) {
        bp__text_add(&choice->decision, "the only candidate that accepts");
    } else if (open > 1 && bp__kernels_ordered(problem)) {
        bp__text_addf(&choice->decision, "the first kernel of %s that accepts", bp__kernels_order(problem));
    } else if (open > 1 && bp__place_is_map(problem->place)) {
        bp__text_addf(&choice->decision,
                      "lowest estimated time of %d that accept; the first of dist.preferred if equal", open);
    } else if (open > 1 && *choice->neighbour) {
        char age[64];
        bp__text_addf(&choice->decision, "lowest time of %d candidates that accept, from a measured neighbour %s, %s",
                      open, choice->neighbour, bp__tune_age(choice->neighbour_s, age, sizeof age));
    } else if (open > 1) {
        bp__text_addf(&choice->decision,
                      choice->measured    ? "lowest measured time of %d candidates that accept"
                      : choice->predicted ? "lowest time of %d candidates that accept, by measurements on this machine"
                                          : "lowest estimated time of %d candidates that accept, not measured here",
                      open);
        bp__choice_tell_build(choice, fastest);
        if (problem->policy.deterministic == 2) {
            bp__text_addf(&choice->decision, " (on %d threads, independent of num_threads)", bp__machine_threads());
        }
    }
}

static const char *text_of(const bp_verdict *verdict) {
    return verdict->text[0] ? verdict->text : bp_reason_text(verdict->reason);
}

static void describe_refusals(bp__choice *choice) {
    choice->status = BP_E_NO_CANDIDATE;
    int listed = 0, of_host = 0, of_others = 0;
    for (int i = 0; i < choice->count; i++) {
        const bp__offer *o = &choice->offers[i];
        choice->status = o->verdict.reason == BP_REASON_MEMORY ? BP_E_NO_MEMORY : choice->status;
        of_host += o->verdict.reason == BP_REASON_DEVICE && !o->candidate->provider->runtimes;
        of_others += o->verdict.reason == BP_REASON_DEVICE && o->candidate->provider->runtimes;
        if (o->verdict.reason != BP_REASON_OP && o->verdict.reason != BP_REASON_DEVICE) {
            const char *kernel = bp__family_of(&choice->asked)->kernels ? o->verdict.algorithm : "";
            bp__text_addf(&choice->decision, "%s%s%s%s: %s",
                          listed++ ? "; " : "none accepts: ", bp__candidate_id(o->candidate), *kernel ? " " : "",
                          kernel, o->failed ? "failed when tried" : text_of(&o->verdict));
        }
    }
    if (listed == 0 && bp__place_is_map(choice->asked.place)) {
        bp__text_addf(&choice->decision, "no library offers %s for distributed operands",
                      bp_op_name((bp_op)choice->asked.op));
    } else if (listed == 0) {
        bp__text_addf(&choice->decision, "none of %d candidates offers %s", choice->count,
                      bp_op_name((bp_op)choice->asked.op));
    }
    if (of_host > 0) {
        bp__text_addf(&choice->decision, "; %d others work on host memory only", of_host);
    }
    if (of_others > 0) {
        bp__text_addf(&choice->decision, "; %d others work on other devices only", of_others);
    }
}

static const char *origin_text(bp_setting_id id, char *buffer, size_t size) {
    bp_layer layer;
    const char *where;
    bp_setting_id node;
    bp__setting_origin(id, &layer, &where, &node);
    snprintf(buffer, size, *where ? "%s, %s" : "%s", bp_layer_name(layer), where);
    return buffer;
}

/* Returns the setting of the preferred library: of the family, or for all distributed operands. */
static int preference_id(const bp_problem *problem) {
    return bp__place_is_map(problem->place) ? BP_SET_dist_preferred : bp__family_of(problem)->preference;
}

/* Returns its name, such as "blas.preferred". */
static const char *preference(const bp__choice *choice) {
    return bp_setting_at(preference_id(&choice->asked))->name;
}

/* Writes the algorithms that the library accepts, because it does not offer the requested one. */
static void list_algorithms(const bp__choice *choice, int wanted, char *buffer, size_t size) {
    const bp__candidate *candidate = choice->offers[wanted].candidate;
    size_t used = (size_t)snprintf(buffer, size, "it has no such algorithm here, but ");
    const char *between = "";
    for (int i = 0; i < choice->count && used < size; i++) {
        const bp__offer *o = &choice->offers[i];
        if (o->candidate == candidate && o->verdict.reason == BP_REASON_ACCEPTED) {
            used += (size_t)snprintf(buffer + used, size - used, "%s'%s'", between, o->verdict.algorithm);
            between = ", ";
        }
    }
}

/* Returns the family to search for a counterpart if the preferred library refuses the element type. FFTW has one
 * library for each precision, but a setting names one of them. NULL if there is no family to search. */
static const char *family_of(const bp__choice *choice, int wanted) {
    const bp__offer *o = wanted < 0 ? NULL : &choice->offers[wanted];
    const bp_library_info *library = o ? o->candidate->library : NULL;
    bool asks = library && *library->family && o->verdict.reason == BP_REASON_DTYPE;
    return asks ? library->family : NULL;
}

/* Returns the offer with the reason to report: the counterpart's that supports the type, if there is one. */
static int refuser(const bp__choice *choice, int wanted) {
    const char *family = family_of(choice, wanted);
    for (int i = 0; family && i < choice->count; i++) {
        const bp__offer *o = &choice->offers[i];
        if (bp__name_matches(family, o->candidate, NULL) && weight(o->verdict.reason) == 2) {
            return i;
        }
    }
    return wanted;
}

/* Returns how many candidates the name matches equally well: providers of one library, or libraries of one family. */
static int shared_by(const bp__choice *choice, const char *name, int wanted) {
    int quality = bp__name_matches(name, choice->offers[wanted].candidate, ""), count = 0;
    for (int i = 0; i < choice->count; i++) {
        const bp__candidate *candidate = choice->offers[i].candidate;
        bool again = i > 0 && choice->offers[i - 1].candidate == candidate;
        count += !again && quality > 0 && bp__name_matches(name, candidate, "") == quality;
    }
    return count;
}

static const char *why_not(const bp__choice *choice, const char *preferred, int wanted, char *buffer, size_t size) {
    if (wanted < 0) {
        bp__name_why_absent(preferred, buffer, size);
        return buffer;
    }
    if (bp__offer_is_usable(&choice->offers[wanted])) {
        list_algorithms(choice, wanted, buffer, size);
        return buffer;
    }
    int from = refuser(choice, wanted);
    const bp__offer *o = &choice->offers[from];
    if (o->verdict.reason == BP_REASON_OP && shared_by(choice, preferred, wanted) > 1) {
        snprintf(buffer, size, "it does not offer %s", bp_op_name((bp_op)choice->asked.op));
        return buffer;
    }
    const char *why = o->failed ? "it failed when tried" : text_of(&o->verdict);
    if (from == wanted) {
        return why;
    }
    snprintf(buffer, size, "%s: %s", bp__candidate_id(o->candidate), why);
    return buffer;
}

static void refuse_to_fall_back(bp__choice *choice, const char *preferred, int wanted) {
    choice->chosen = -1;
    if (wanted < 0) {
        choice->status = bp__name_absent(preferred);
        bp__text_add(&choice->decision, bp_last_error());
    } else {
        char why[512];
        choice->status = choice->offers[wanted].verdict.reason == BP_REASON_MEMORY ? BP_E_NO_MEMORY : BP_E_FALLBACK;
        bp__text_addf(&choice->decision, "%s=%s cannot run this: %s (dispatch.fallback=strict)", preference(choice),
                      preferred, why_not(choice, preferred, wanted, why, sizeof why));
    }
}

/* Applies dispatch.fallback to a preference that cannot be satisfied. */
static void fall_back(bp__choice *choice, const bp_problem *problem, const char *preferred, int wanted) {
    if (problem->policy.fallback == 0) {
        refuse_to_fall_back(choice, preferred, wanted);
        return;
    }
    char buffer[512];
    const char *why = why_not(choice, preferred, wanted, buffer, sizeof buffer);
    bp__text_addf(&choice->decision, "%s=%s cannot run this (%s); ", preference(choice), preferred, why);
    decide_by_cost(choice, problem);
    if (choice->chosen < 0) {
        describe_refusals(choice);
    } else if (problem->policy.fallback == 1) {
        bp__text_addf(&choice->warning, "%s=%s cannot run %s: %s; '%s' runs instead", preference(choice), preferred,
                      bp_op_name((bp_op)problem->op), why, bp__candidate_id(choice->offers[choice->chosen].candidate));
    }
}

/* Returns the cheapest usable counterpart in the family; -1 if there is none. */
static int counterpart(const bp__choice *choice, int wanted) {
    const char *family = family_of(choice, wanted);
    return family ? cheapest_offer(choice, family, 1) : -1;
}

static bool is_preferable(const bp_problem *problem) {
    const bp__family *family = bp__family_of(problem);
    return preference_id(problem) != BP__NO_SETTING && !(family->is_trivial && family->is_trivial(problem));
}

/* dist.preferred is for all operations, also for those that the library does not have. */
static bool is_for_others(const bp__choice *choice, int wanted) {
    return bp__place_is_map(choice->asked.place) && wanted >= 0 &&
           choice->offers[wanted].verdict.reason == BP_REASON_OP;
}

static void decide(bp__choice *choice, const bp_problem *problem) {
    const char *preferred = bp__policy_preferred(problem);
    choice->chosen = -1;
    choice->status = BP_OK;
    if (!*preferred || !is_preferable(problem)) {
        decide_by_cost(choice, problem);
        if (choice->chosen < 0) {
            describe_refusals(choice);
        }
        return;
    }
    int wanted = best_match(choice, preferred);
    if (is_for_others(choice, wanted)) {
        decide_by_cost(choice, problem);
        return;
    }
    int quality = wanted < 0 ? 1 : bp__name_matches(preferred, choice->offers[wanted].candidate, NULL);
    choice->chosen = cheapest_offer(choice, preferred, quality);
    bool exact = choice->chosen >= 0;
    choice->chosen = exact ? choice->chosen : counterpart(choice, wanted);
    if (choice->chosen < 0) {
        fall_back(choice, problem, preferred, wanted);
        return;
    }
    char origin[256];
    bp__text_addf(&choice->decision, "preferred by %s=%s (%s)%s", preference(choice), preferred,
                  origin_text((bp_setting_id)preference_id(problem), origin, sizeof origin),
                  exact ? "" : ", whose family has another library for this type");
}

/* Makes the remaining checks of the chosen library, because none is opened without them. If nothing was chosen, asks
 * for all libraries, whose reasons the error has. Sets *again if the choice is to be made again. */
static bp_status finish_choice(const bp__choice *choice, bp__need *need, bool *again) {
    const bp__candidate *chosen = choice->chosen < 0 ? NULL : choice->offers[choice->chosen].candidate;
    const bool was_all = need->kinds == BP__NEED_ALL.kinds && !need->brief;
    if (chosen) {
        return chosen->library ? bp__library_check_rest(chosen->library, again) : BP_OK;
    }
    *again = !was_all;
    *need = BP__NEED_ALL;
    return BP_OK;
}

/* Makes the choice among all candidates that may run the problem. */
static bp_status choose_among(bp__choice *choice, const bp__failures *failures, bp__need need) {
    bool again = false;
    do {
        if (again) {
            bp__text_free(&choice->decision);
            bp__text_free(&choice->warning);
        }
        again = false;
        BP__TRY(bp__evaluate_all(choice, &need));
        bp__failures_mark(failures, choice);
        bp__tune_choice(choice);
        decide(choice, &choice->asked);
        BP__TRY(finish_choice(choice, &need, &again));
    } while (again);
    bp__name_warn_of_unknown(choice);
    return BP_OK;
}

/* Makes the choice for the problem in choice->asked. */
static bp_status choose(bp__choice *choice, const bp__failures *failures, bool all) {
    const bp_problem *asked = &choice->asked;
    const char *preferred = is_preferable(asked) ? bp__policy_preferred(asked) : "";
    /* A preference for a provider without a library is decided without a search of the machine. */
    if (!all && *preferred) {
        BP__TRY(bp__evaluate_all(choice, NULL));
        bp__failures_mark(failures, choice);
        int wanted = best_match(choice, preferred);
        const bp__offer *offer = wanted < 0 ? NULL : &choice->offers[wanted];
        if (offer && !offer->candidate->library && bp__offer_is_usable(offer) &&
            bp__name_matches(preferred, offer->candidate, offer->verdict.algorithm) > 0) {
            bp__tune_choice(choice);
            decide(choice, asked);
            return BP_OK;
        }
    }
    return choose_among(choice, failures, all ? BP__NEED_ALL : bp__need_of(asked));
}

/* Applies deterministic_algorithms.warn_only: a candidate without the guarantee is better than none. */
static bp_status choose_without_guarantee(bp__choice *choice, const bp__failures *failures, bool all) {
    choice->asked.policy.deterministic = 0;
    bp__text_free(&choice->decision);
    bp__text_free(&choice->warning);
    BP__TRY(choose(choice, failures, all));
    if (choice->chosen >= 0) {
        bp__text_addf(&choice->warning,
                      "%sno candidate for %s guarantees reproducible results; '%s' runs anyway "
                      "(deterministic_algorithms.warn_only)",
                      choice->warning.length > 0 ? "; " : "", bp_op_name((bp_op)choice->asked.op),
                      bp__candidate_id(choice->offers[choice->chosen].candidate));
    }
    return BP_OK;
}

/* Applies dispatch.transfer: chooses among the candidates of the host, which get copies of the operands. */
static bp_status choose_on_host(bp__choice *choice, const bp_problem *problem, const bp__failures *failures, bool all) {
    const double copies_ns = bp__transfer_cost_ns(problem);
    bp__text why = choice->decision;
    choice->decision = (bp__text){0};
    bp__text_free(&choice->warning);
    choice->transferred = true;
    choice->asked = *problem;
    choice->asked.place = 0;
    if (bp__adapted(&choice->asked)) {
        bp__family_of(problem)->adapter->layout(&choice->asked);
    }
    bp_status status = choose(choice, failures, all);
    if (status == BP_OK) {
        bp__transfer_describe(choice, problem->place, copies_ns, bp__text_get(&why));
    }
    bp__text_free(&why);
    return status;
}

/* Adds when the times were measured, or why times that exist are not used. */
static void describe_measurement(bp__choice *choice) {
    char age[64];
    if (choice->measured && choice->chosen >= 0) {
        bp__text_addf(&choice->decision, "; measured %s", bp__tune_age(choice->measured_s, age, sizeof age));
    } else if (choice->unmeasured) {
        bp__text_addf(&choice->decision, "; %s", choice->unmeasured);
    } else if (*choice->not_measured) {
        bp__text_addf(&choice->decision, "; not measured: %s", choice->not_measured);
    }
}

bp_status bp__choose(bp__choice *choice, const bp_problem *problem, const bp__failures *failures, bool all) {
    BP__UNCANCELLED;
    memset(choice, 0, sizeof *choice);
    choice->asked = *problem;
    choice->since_ns = bp__now_ns();
    choice->expansion = bp__tune_uses(&problem->policy)              ? BP__EXPANDS_TO_MEASURE
                        : all && bp__setting_int(BP_SET_explain_all) ? BP__EXPANDS_TO_LIST
                                                                     : BP__EXPANDS_NOTHING;
    choice->short_of_memory = failures && failures->short_of_memory;
    const char *adapted = bp__adapted(problem);
    if (adapted) {
        bp__family_of(problem)->adapter->layout(&choice->asked);
    }
    if (failures && failures->one_thread) {
        choice->asked.policy.threads = 1;
    }
    bp_status status = choose(choice, failures, all);
    if (status == BP_OK && choice->status == BP_E_NO_CANDIDATE && problem->policy.warn_only) {
        status = choose_without_guarantee(choice, failures, all);
    }
    if (status == BP_OK && choice->status == BP_E_NO_CANDIDATE && (problem->policy.constraints & BP__TRANSFERS)) {
        status = choose_on_host(choice, problem, failures, all);
    }
    if (status == BP_OK) {
        bp__text_add(&choice->decision, failures ? bp__text_get(&failures->text) : "");
        bp__needs_tell_limited(choice);
        describe_measurement(choice);
    }
    if (status == BP_OK && adapted && choice->chosen >= 0) {
        bp__text_addf(&choice->decision, "; %s", adapted);
    }
    if (status == BP_OK && (choice->decision.failed || choice->warning.failed || (failures && failures->text.failed))) {
        status = bp__fail_memory(1024, "the reason of a choice");
    }
    if (status != BP_OK) {
        bp__choice_free(choice);
    }
    return status;
}

void bp__choice_free(bp__choice *choice) {
    bp__text_free(&choice->decision);
    bp__text_free(&choice->warning);
    bp__text_free(&choice->found);
    bp__free(choice->offers);
    choice->offers = NULL;
    choice->count = choice->capacity = 0;
}
