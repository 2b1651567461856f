/* choose.c - asks every candidate and picks one: constraints first (they refuse), then the preference, then the cost.
 *
 * This is the only place where a choice is made. Running takes its result, explain shows it. */
#include "dispatch/internal.h"

#include "registry/internal.h"

#include <stdio.h>
#include <string.h>

static void refuse(bp_verdict *verdict, bp_reason reason, const char *text) {
    verdict->reason = reason;
    bp__copy_text(verdict->text, sizeof verdict->text, text);
}

/* The promises that the policy asks for, checked here for all providers alike: an absent note means "unknown". */
static void check_promises(const bp_problem *problem, bp_verdict *verdict) {
    const bp_policy *policy = &problem->policy;
    bool f32 = problem->dtype == BP_F32 || problem->dtype == BP_C64;
    int precision = f32 ? policy->precision : 0;
    bool bf16 = (verdict->notes & BP_NOTE_DOWN_CONVERTS) != 0, tf32 = (verdict->notes & BP_NOTE_INPUTS_TF32) != 0;
    if ((bf16 && precision < 2) || (tf32 && precision < 1)) {
        refuse(verdict, BP_REASON_PRECISION, "rounds its inputs to less than fp32_precision allows");
    } else if (policy->deterministic == 2 && !(verdict->notes & BP_NOTE_SAME_THREADS)) {
        refuse(verdict, BP_REASON_DETERMINISM, "makes no promise of the same bits with any number of threads");
    } else if (policy->deterministic == 1 && !(verdict->notes & (BP_NOTE_SAME_RUN | BP_NOTE_SAME_THREADS))) {
        refuse(verdict, BP_REASON_DETERMINISM, "makes no promise of the same bits in the next run");
    } else if (verdict->threads > policy->threads) {
        refuse(verdict, BP_REASON_THREADS, "would use more threads than num_threads allows");
    }
}

static uint32_t simulation_note(const bp_problem *problem) {
    bool bf16 = problem->policy.simulate == 2;
    return !bp__adapter_simulate.applies(problem) ? 0 : bf16 ? BP_NOTE_DOWN_CONVERTS : BP_NOTE_INPUTS_TF32;
}

/* The setting that switches off what a candidate is or runs on; NULL when none does. */
static const char *switched_off(const bp__candidate *candidate, unsigned avoid) {
    const bp_library_info *library = candidate->library;
    if (!library || avoid == 0) {
        return NULL;
    }
    return avoid & BP__AVOID_MKL && bp__text_equal(library->family, "mkl")         ? "mkl.enabled is false"
           : avoid & BP__AVOID_ONEDNN && bp__text_equal(library->family, "onednn") ? "mkldnn.enabled is false"
           : avoid & BP__AVOID_OPENMP && bp__on_openmp(library)                    ? "openmp.enabled is false"
                                                                                   : NULL;
}

static void ask(const bp__candidate *candidate, const bp_problem *problem, const char *exclude, bp_verdict *verdict) {
    memset(verdict, 0, sizeof *verdict);
    verdict->struct_size = sizeof *verdict;
    verdict->algorithm = "";
    if (bp__name_listed(candidate, exclude)) {
        refuse(verdict, BP_REASON_EXCLUDED, "named by dispatch.exclude");
    } else if (switched_off(candidate, problem->policy.avoid)) {
        refuse(verdict, BP_REASON_EXCLUDED, switched_off(candidate, problem->policy.avoid));
    } else if (!candidate->instance) {
        refuse(verdict, BP_REASON_BROKEN, candidate->refusal);
    } else {
        candidate->provider->accept(candidate->instance, problem, verdict);
        if (verdict->reason == BP_REASON_ACCEPTED) {
            check_promises(problem, verdict);
            verdict->notes |= simulation_note(problem);
        }
    }
}

static bool open_to(const bp__choice *choice, int index, uint64_t skip) {
    bool skipped = index < 64 && (skip >> index & 1);
    return choice->verdicts[index].reason == BP_REASON_ACCEPTED && !skipped;
}

/* The cheapest open candidate among those that match `name` at least so well; -1 when there is none. */
static int cheapest(const bp__choice *choice, uint64_t skip, const char *name, int match) {
    int best = -1;
    for (int i = 0; i < choice->count; i++) {
        if (open_to(choice, i, skip) && (!name || bp__candidate_matches(choice->candidates[i], name) >= match) &&
            (best < 0 || choice->order[i] < choice->order[best])) {
            best = i;
        }
    }
    return best;
}

/* How much a refusal says of this call, from 0 to 2: of several providers of a library, and of several libraries of a
 * family, the one that offers the operation and the type knows why the call cannot be run. */
static int weight(bp_reason reason) {
    return reason == BP_REASON_OP ? 0 : reason == BP_REASON_DTYPE ? 1 : 2;
}

/* The best match for a preference among all candidates, open or not; of equal ones, the one whose reason has the most
 * weight. -1 when no candidate is meant by it. */
static int meant(const bp__choice *choice, const char *name) {
    int best = -1;
    int quality = 0;
    for (int i = 0; i < choice->count; i++) {
        int match = 3 * bp__candidate_matches(choice->candidates[i], name);
        match += match > 0 ? weight(choice->verdicts[i].reason) : 0;
        if (match > quality) {
            quality = match;
            best = i;
        }
    }
    return best;
}

static int machine_threads(void) {
    int count = bp__host()->machine.logical_cpus;
    return count > 0 ? count : 1;
}

static void decide_by_cost(bp__choice *choice, const bp_problem *problem, uint64_t skip) {
    choice->chosen = cheapest(choice, skip, NULL, 0);
    if (choice->chosen < 0) {
        return;
    }
    int open = 0;
    for (int i = 0; i < choice->count; i++) {
        open += open_to(choice, i, skip);
    }
    if (open == 1) {
        bp__text_add(&choice->decision, "the only candidate that accepts");
    } else {
        bp__text_addf(&choice->decision, "lowest estimated time of %d candidates that accept", open);
        if (problem->policy.deterministic == 2) {
            bp__text_addf(&choice->decision, " (on %d threads, whatever num_threads says)", machine_threads());
        }
    }
}

static const char *said(const bp_verdict *verdict) {
    return verdict->text[0] ? verdict->text : bp_reason_text(verdict->reason);
}

static void say_none(bp__choice *choice, uint64_t skip) {
    choice->status = BP_E_NO_CANDIDATE;
    int said_of = 0;
    for (int i = 0; i < choice->count; i++) {
        const bp_verdict *v = &choice->verdicts[i];
        bool failed = v->reason == BP_REASON_ACCEPTED && i < 64 && (skip >> i & 1);
        if (v->reason != BP_REASON_OP) {
            bp__text_addf(&choice->decision, "%s%s: %s",
                          said_of++ ? "; " : "none accepts: ", bp__candidate_id(choice->candidates[i]),
                          failed ? "failed when tried" : said(v));
        }
    }
    if (said_of == 0) {
        bp__text_addf(&choice->decision, "none of %d candidates offers %s", choice->count,
                      bp_op_name((bp_op)choice->asked.op));
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

/* "blas.preferred", or the setting that stands there for another family of operations. */
static const char *preference(const bp__choice *choice) {
    return bp_setting_at((int)bp__preference_of(choice->asked.op))->name;
}

/* The relatives of a library that refuses the type of the elements are libraries of its family: FFTW, for one, has a
 * library for each precision, and a setting names one of them. NULL when it has none to ask. */
static const char *family_of(const bp__choice *choice, int wanted) {
    const bp_library_info *library = wanted < 0 ? NULL : choice->candidates[wanted]->library;
    bool asks = library && *library->family && choice->verdicts[wanted].reason == BP_REASON_DTYPE;
    return asks ? library->family : NULL;
}

/* Whose reason to give: that of the relative which takes the type, where there is one. */
static int refuser(const bp__choice *choice, int wanted) {
    const char *family = family_of(choice, wanted);
    for (int i = 0; family && i < choice->count; i++) {
        if (bp__candidate_matches(choice->candidates[i], family) && weight(choice->verdicts[i].reason) == 2) {
            return i;
        }
    }
    return wanted;
}

/* Providers that drive the same library, or libraries of one family, as many as are meant by the name equally well. */
static int shared_by(const bp__choice *choice, const char *name, int wanted) {
    int quality = bp__candidate_matches(choice->candidates[wanted], name), count = 0;
    for (int i = 0; i < choice->count; i++) {
        count += bp__candidate_matches(choice->candidates[i], name) == quality;
    }
    return count;
}

static const char *why_not(const bp__choice *choice, const char *preferred, int wanted, char *buffer, size_t size) {
    if (wanted < 0) {
        bp__name_why_absent(preferred, buffer, size);
        return buffer;
    }
    int from = refuser(choice, wanted);
    const bp_verdict *v = &choice->verdicts[from];
    if (v->reason == BP_REASON_OP && shared_by(choice, preferred, wanted) > 1) {
        snprintf(buffer, size, "it does not offer %s", bp_op_name((bp_op)choice->asked.op));
        return buffer;
    }
    const char *why = v->reason == BP_REASON_ACCEPTED ? "it failed when tried" : said(v);
    if (from == wanted) {
        return why;
    }
    snprintf(buffer, size, "%s: %s", bp__candidate_id(choice->candidates[from]), why);
    return buffer;
}

static void refuse_to_fall_back(bp__choice *choice, const char *preferred, int wanted) {
    choice->chosen = -1;
    if (wanted < 0) {
        choice->status = bp__library_absent(preferred);
        bp__text_add(&choice->decision, bp_last_error());
    } else {
        char why[512];
        choice->status = BP_E_FALLBACK;
        bp__text_addf(&choice->decision, "%s=%s cannot run this: %s (dispatch.fallback=strict)", preference(choice),
                      preferred, why_not(choice, preferred, wanted, why, sizeof why));
    }
}

/* What dispatch.fallback makes of a preference that cannot be followed. */
static void fall_back(bp__choice *choice, const bp_problem *problem, uint64_t skip, const char *preferred, int wanted) {
    if (problem->policy.fallback == 0) {
        refuse_to_fall_back(choice, preferred, wanted);
        return;
    }
    char buffer[512];
    const char *why = why_not(choice, preferred, wanted, buffer, sizeof buffer);
    bp__text_addf(&choice->decision, "%s=%s cannot run this (%s); ", preference(choice), preferred, why);
    decide_by_cost(choice, problem, skip);
    if (choice->chosen < 0) {
        say_none(choice, skip);
    } else if (problem->policy.fallback == 1) {
        bp__text_addf(&choice->warning, "%s=%s cannot run %s: %s; '%s' runs instead", preference(choice), preferred,
                      bp_op_name((bp_op)problem->op), why, bp__candidate_id(choice->candidates[choice->chosen]));
    }
}

/* The cheapest open relative; -1 when there is none. */
static int relative(const bp__choice *choice, uint64_t skip, int wanted) {
    const char *family = family_of(choice, wanted);
    return family ? cheapest(choice, skip, family, 1) : -1;
}

/* What is left of an empty problem is no library's work, so that nobody's wish is passed over; nor is what einsum does
 * between products. */
static bool is_preferable(const bp_problem *problem) {
    if (problem->op == BP_OP_CONTRACT) {
        return false;
    }
    return problem->op == BP_OP_GEMM || problem->op == BP_OP_FFT || !problem->of.linalg.empty;
}

static void decide(bp__choice *choice, const bp_problem *problem, uint64_t skip) {
    const char *preferred = bp__policy_text(problem->policy.preferred);
    if (!*preferred || !is_preferable(problem)) {
        decide_by_cost(choice, problem, skip);
        if (choice->chosen < 0) {
            say_none(choice, skip);
        }
        return;
    }
    int wanted = meant(choice, preferred);
    int quality = wanted < 0 ? 1 : bp__candidate_matches(choice->candidates[wanted], preferred);
    choice->chosen = cheapest(choice, skip, preferred, quality);
    bool exact = choice->chosen >= 0;
    choice->chosen = exact ? choice->chosen : relative(choice, skip, wanted);
    if (choice->chosen < 0) {
        fall_back(choice, problem, skip, preferred, wanted);
        return;
    }
    char origin[256];
    bp__text_addf(&choice->decision, "preferred by %s=%s (%s)%s", preference(choice), preferred,
                  origin_text(bp__preference_of(problem->op), origin, sizeof origin),
                  exact ? "" : ", whose family has another library for this type");
}

/* Estimated time; where results must not depend on the number of threads, neither may the choice: then it is the time
 * with as many as the machine has processors. */
static double order_of(const bp__candidate *candidate, const bp_problem *problem, const bp_verdict *verdict) {
    if (verdict->reason != BP_REASON_ACCEPTED || problem->policy.deterministic < 2) {
        return verdict->cost_ns;
    }
    bp_problem fixed = *problem;
    bp_verdict then = {.struct_size = sizeof then, .algorithm = ""};
    fixed.policy.threads = machine_threads();
    candidate->provider->accept(candidate->instance, &fixed, &then);
    return then.reason == BP_REASON_ACCEPTED ? then.cost_ns : verdict->cost_ns;
}

static bp_status ask_all(bp__choice *choice, const bp_problem *problem, bool need_libraries) {
    BP__TRY(bp__candidates(need_libraries, &choice->candidates, &choice->count));
    size_t room = (size_t)choice->count + 1;
    bp_verdict *verdicts = bp__realloc(choice->verdicts, room * sizeof *verdicts);
    choice->verdicts = verdicts ? verdicts : choice->verdicts;
    double *order = bp__realloc(choice->order, room * sizeof *order);
    choice->order = order ? order : choice->order;
    if (!verdicts || !order) {
        return bp__fail_memory(room * sizeof *verdicts, "the verdicts");
    }
    const char *exclude = bp__policy_text(problem->policy.exclude);
    for (int i = 0; i < choice->count; i++) {
        ask(choice->candidates[i], problem, exclude, &verdicts[i]);
        order[i] = order_of(choice->candidates[i], problem, &verdicts[i]);
    }
    return BP_OK;
}

/* Chooses for choice->asked. */
static bp_status choose(bp__choice *choice, uint64_t skip, bool all) {
    const bp_problem *asked = &choice->asked;
    const char *preferred = bp__policy_text(asked->policy.preferred);
    choice->chosen = -1;
    choice->status = BP_OK;
    /* A preference for a provider that needs no library is settled without a search of the machine. */
    bool early = false;
    if (!all && *preferred) {
        BP__TRY(ask_all(choice, asked, false));
        int wanted = meant(choice, preferred);
        early = wanted >= 0 && !choice->candidates[wanted]->library && open_to(choice, wanted, skip);
    }
    if (!early) {
        BP__TRY(ask_all(choice, asked, true));
    }
    decide(choice, asked, skip);
    if (!early) {
        bp__name_warn_of_unknown(choice, bp__policy_text(asked->policy.exclude));
    }
    return BP_OK;
}

/* deterministic_algorithms with warn_only: a candidate without the promise is better than none. */
static bp_status choose_without_promise(bp__choice *choice, uint64_t skip, bool all) {
    choice->asked.policy.deterministic = 0;
    bp__text_free(&choice->decision);
    bp__text_free(&choice->warning);
    BP__TRY(choose(choice, skip, all));
    if (choice->chosen >= 0) {
        bp__text_addf(&choice->warning,
                      "%sno candidate for %s promises the same bits again, and '%s' runs all the same "
                      "(deterministic_algorithms.warn_only)",
                      choice->warning.length > 0 ? "; " : "", bp_op_name((bp_op)choice->asked.op),
                      bp__candidate_id(choice->candidates[choice->chosen]));
    }
    return BP_OK;
}

bp_status bp__choose(bp__choice *choice, const bp_problem *problem, uint64_t skip, bool all) {
    memset(choice, 0, sizeof *choice);
    choice->asked = *problem;
    const char *adapted = bp__adapted(problem);
    bp__adapt_layout(&choice->asked);
    bp_status status = choose(choice, skip, all);
    if (status == BP_OK && choice->status == BP_E_NO_CANDIDATE && problem->policy.warn_only) {
        status = choose_without_promise(choice, skip, all);
    }
    if (status == BP_OK && adapted && choice->chosen >= 0) {
        bp__text_addf(&choice->decision, "; %s", adapted);
    }
    if (status == BP_OK && (choice->decision.failed || choice->warning.failed)) {
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
    bp__free(choice->verdicts);
    bp__free(choice->order);
    choice->verdicts = NULL;
    choice->order = NULL;
}
