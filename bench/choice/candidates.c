/* candidates.c - makes a plan for each candidate of a problem, and for each choice.
 *
 * Every accepted offer is pinned by its full name and strict fallback. An einsum runs several plans, so its candidates
 * are the libraries of its products. Plans that do the same are one job, so a choice is normally one of the
 * candidates; an einsum that runs on several libraries is a job of its own. */
#include "choice.h"

#include "../timing.h"

/* Settings of every plan but the tuned one: records of tuned classes are not used. */
#define UNTUNED "tuning.store=off"

static bp_plan *plan_under(const problem *p, const char *settings) {
    bp_options *options;
    bp_plan *plan = NULL;
    must(bp_options_new(&options, settings), settings);
    if (p->family->plan(&plan, options, p) != BP_OK) {
        plan = NULL;
    }
    bp_options_release(options);
    return plan;
}

/* Adds a plan, or a part of one, to the job's signature. */
static void add_signature(job *j, const bp_plan_info *info) {
    const size_t used = strlen(j->signature);
    snprintf(j->signature + used, SIGNATURE_SIZE - used, "%s%s:%s:%s on %d threads", used ? ", " : "", info->library,
             info->provider, info->algorithm, info->threads);
    j->threaded = j->threaded || info->threads != 1;
}

/* Sets the job's library to the one of all parts that are products, or of all parts if none is. */
static void find_library(job *j, const bp_plan *plan, bool products) {
    bp_einsum_part part = {.struct_size = sizeof part};
    bp_plan_info info = {.struct_size = sizeof info};
    int found = 0;
    for (int i = 0; bp_einsum_part_at(plan, i, &part); i++) {
        if (products && strcmp(part.action, "product") != 0) {
            continue;
        }
        must(bp_plan_describe(part.plan, &info), "bp_plan_describe");
        if (found++ == 0) {
            snprintf(j->library, NAME_SIZE, "%s", info.library);
        } else if (strcmp(j->library, info.library) != 0) {
            j->library[0] = '\0';
        }
    }
    if (found == 0 && products) {
        find_library(j, plan, false);
    }
}

static void describe(job *j, bp_plan *plan) {
    bp_einsum_part part = {.struct_size = sizeof part};
    bp_plan_info info = {.struct_size = sizeof info};
    *j = (job){.plan = plan};
    for (int i = 0; bp_einsum_part_at(plan, i, &part); i++) {
        must(bp_plan_describe(part.plan, &info), "bp_plan_describe");
        add_signature(j, &info);
    }
    if (*j->signature) {
        find_library(j, plan, true);
        snprintf(j->label, NAME_SIZE, "%s", *j->library ? j->library : "several");
        return;
    }
    must(bp_plan_describe(plan, &info), "bp_plan_describe");
    add_signature(j, &info);
    snprintf(j->library, NAME_SIZE, "%s", info.library);
    snprintf(j->label, NAME_SIZE, "%s/%.*s", info.library, (int)strcspn(info.algorithm, " ,"), info.algorithm);
}

/* Adds a plan, or releases it if an equal one is listed. Returns the index of its job; -1 if there is no plan. */
static int add(trial *t, bp_plan *plan) {
    if (!plan) {
        return -1;
    }
    job made;
    describe(&made, plan);
    for (int i = 0; i < t->count; i++) {
        if (strcmp(t->jobs[i].signature, made.signature) == 0) {
            bp_plan_release(plan);
            return i;
        }
    }
    if (t->count == MOST_JOBS) {
        bp_plan_release(plan);
        return -1;
    }
    t->jobs[t->count] = made;
    return t->count++;
}

/* Whether the plan runs the candidate that was pinned. A name may stand for several offers. */
static bool is_offer(const bp_plan *plan, const bp_candidate_info *offer) {
    bp_plan_info info = {.struct_size = sizeof info};
    must(bp_plan_describe(plan, &info), "bp_plan_describe");
    return strcmp(info.library, offer->library) == 0 && strcmp(info.provider, offer->provider) == 0 &&
           strcmp(info.algorithm, offer->algorithm) == 0;
}

/* Adds the candidates of an explanation; candidates of the parts of an einsum without their algorithms, because parts
 * differ in size. */
static void add_candidates(trial *t, const bp_explanation *explanation, bool part) {
    bp_candidate_info offer = {.struct_size = sizeof offer};
    char settings[512];
    for (int i = 0; bp_explanation_at(explanation, i, &offer); i++) {
        if (!offer.accepted) {
            continue;
        }
        snprintf(settings, sizeof settings, UNTUNED ", dispatch.fallback=strict, %s=\"%s:%s%s%s\"",
                 t->p->family->preferred, offer.library, offer.provider, part ? "" : ":", part ? "" : offer.algorithm);
        bp_plan *plan = plan_under(t->p, settings);
        if (plan && !part && !is_offer(plan, &offer)) {
            bp_plan_release(plan);
            continue;
        }
        const int index = add(t, plan);
        if (index >= 0 && !part) {
            t->jobs[index].expected = offer.cost_ns;
        }
    }
    for (int i = 0; bp_explanation_part(explanation, i); i++) {
        add_candidates(t, bp_explanation_part(explanation, i), true);
    }
}

static int64_t classes_measured(void) {
    bp_tuning_info info = {.struct_size = sizeof info};
    must(bp_tuning_stats(&info), "bp_tuning_stats");
    return info.classes;
}

void trial_make(trial *t, const problem *p, bool tune) {
    bp_options *options;
    bp_explanation *explanation;
    memset(t, 0, sizeof *t);
    t->p = p;
    t->tuned = tune;
    bp_plan *chosen[WAYS] = {plan_under(p, UNTUNED ", calibration=off"), plan_under(p, UNTUNED), NULL};
    if (tune) {
        const int64_t classes = classes_measured(), begin = timing_now();
        chosen[BY_TUNING] = plan_under(p, "benchmark=true, tuning.start=now");
        t->tuning_ns = (double)(timing_now() - begin);
        t->tuned_classes = classes_measured() - classes;
    }
    must(bp_options_new(&options, UNTUNED), UNTUNED);
    must(p->family->explain(&explanation, options, p), p->name);
    add_candidates(t, explanation, false);
    bp_explanation_release(explanation);
    bp_options_release(options);
    for (int i = 0; i < WAYS; i++) {
        t->chosen[i] = add(t, chosen[i]);
    }
    if (t->chosen[BY_TIMES] >= 0) {
        t->again = t->jobs[t->chosen[BY_TIMES]];
    }
}

void trial_release(trial *t) {
    for (int i = 0; i < t->count; i++) {
        bp_plan_release(t->jobs[i].plan);
    }
}
