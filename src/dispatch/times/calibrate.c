/* calibrate.c - gives candidates their measured times: stored ones, or new ones from the helper program. */
#include "dispatch/times/calibrate.h"
#include "base/uncancelled.h"

#include "backplane/calibrate.h"
#include "backplane/fft.h"

#include <string.h>

/* Times that were replaced. Choices in other threads may still read them, so they live until bp_reset. */
static struct retired {
    struct retired *next;
    bp__calibration *calibration;
} * retired;

/* The milliseconds of the class that a choice first needs. */
enum { FIRST_BUDGET_MS = 45 };

static double base_estimate(const void *owner, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    bp_problem plain;
    return bp__sample_make(&plain, class, sizes) == BP_OK ? bp__estimate_of(owner, &plain) : -1;
}

typedef struct group {
    bp__calibrated *members;
    bp__candidate **owners; /* of the members */
    int count;
} group;

/* Describes the candidates, with `native` first. */
static void describe(group *g, bp__candidate *const *list, int count) {
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < count; i++) {
            if (bp__candidate_is_native(list[i]) == (pass == 0)) {
                g->owners[g->count] = list[i];
                g->members[g->count++] =
                    (bp__calibrated){.provider = list[i]->provider,
                                     .library = list[i]->library,
                                     .estimate = bp__cost_follows_kernels(list[i]) ? base_estimate : NULL,
                                     .owner = list[i]};
            }
        }
    }
}

/* Finds the classes that each candidate offers. The helper finds out which points are refused. */
static bp_status find_classes(group *g) {
    bp_problem *sample = bp__alloc(sizeof *sample); /* large: not on the stack */
    bp_status status = sample ? BP_OK : bp__fail_memory(sizeof *sample, "a problem to measure");
    for (int class = 0; class < BP__CLASSES && status == BP_OK; class ++) {
        status = bp__class_sample(sample, &bp__classes[class]);
        for (int i = 0; i < g->count && status == BP_OK; i++) {
            bp__class_add(&g->members[i].classes, class,
                          bp__candidate_offers(g->owners[i], sample) &&
                              !bp__candidate_refuses_type(g->owners[i], sample));
        }
    }
    bp__free(sample);
    return status;
}

static void free_group(group *g) {
    bp__free(g->members);
    bp__free(g->owners);
}

static bp_status make_group(group *g, bp__candidate *const *list, int count) {
    *g = (group){.members = bp__alloc_zero((size_t)count + 1, sizeof *g->members),
                 .owners = bp__alloc_zero((size_t)count + 1, sizeof(bp__candidate *))};
    if (!g->members || !g->owners) {
        free_group(g);
        return bp__fail_memory((size_t)count * sizeof *g->members, "the candidates to measure");
    }
    describe(g, list, count);
    const bp_status status = find_classes(g);
    if (status != BP_OK) {
        free_group(g);
    }
    return status;
}

/* Users exclude a library because it must not run, so it is not measured either. */
static void leave_out_excluded(group *g) {
    const char *excluded = bp__setting_text(BP_SET_dispatch_exclude);
    for (int i = 0; i < g->count && *excluded; i++) {
        if (bp__name_excluded(excluded, g->owners[i], NULL)) {
            g->members[i].classes = (bp__class_set){{0}};
        }
    }
}

/* Sets the times of a candidate. Choices in other threads may still read older ones. */
static bp_status publish_one(bp__candidate *owner, bp__calibration *calibration) {
    bp__calibration *old = (bp__calibration *)(uintptr_t)atomic_load(&owner->calibration);
    struct retired *node = old ? bp__alloc(sizeof *node) : NULL;
    if (old && !node) {
        bp__calibration_free(calibration);
        return bp__fail_memory(sizeof *node, "measured times");
    }
    if (old) {
        *node = (struct retired){retired, old};
        retired = node;
    }
    atomic_store_explicit(&owner->calibration, calibration, memory_order_release);
    return BP_OK;
}

/* Hands the loaded times over. Members without new times keep their old ones. The caller holds the candidates' mutex.
 */
static bp_status publish(group *g) {
    bp_status status = BP_OK;
    for (int i = 0; i < g->count; i++) {
        if (g->members[i].calibration) {
            const bp_status one = publish_one(g->owners[i], g->members[i].calibration);
            status = status == BP_OK ? one : status;
        }
    }
    return status;
}

bp_status bp__calibrate_load(bp__candidate *const *list, int count) {
    group g;
    BP__TRY(make_group(&g, list, count));
    bp_status status = bp__calibration_load(g.members, g.count);
    if (status == BP_OK) {
        status = publish(&g);
    }
    free_group(&g);
    return status;
}

bp_status bp__calibrate_measure(bp__candidate *const *list, int count, const bp__calibration_request *request) {
    group g;
    bool changed;
    BP__TRY(make_group(&g, list, count));
    leave_out_excluded(&g);
    bp_status status = bp__calibration_measure(g.members, g.count, request, &changed);
    if (changed) {
        pthread_mutex_lock(&bp__candidates_mutex);
        const bp_status published = publish(&g);
        pthread_mutex_unlock(&bp__candidates_mutex);
        status = published == BP_OK ? status : published;
        bp_plan_cache_clear(); /* the next calls choose again */
        bp_fft_plan_cache_clear();
    }
    free_group(&g);
    return status;
}

int bp__calibrate_class_of(const bp_problem *problem) {
    const bp__class_set first = bp__first_classes();
    for (int i = 0; i < BP__CLASSES && problem->policy.measured && problem->place == 0; i++) {
        const bp_problem sample = {.op = bp__classes[i].op};
        if (bp__class_in(&first, i) && bp__classes[i].dtype == (bp_dtype)problem->dtype &&
            bp__family_of(&sample) == bp__family_of(problem)) {
            return i;
        }
    }
    return -1;
}

bp_status bp__calibrate_first(bp__candidate *const *list, int count, int class) {
    bp__calibration_request request = {.budget_ms = FIRST_BUDGET_MS};
    bp__class_add(&request.wanted, class, true);
    const bp_status status = bp__calibrate_measure(list, count, &request);
    return status == BP_E_NO_MEMORY ? status : BP_OK; /* without measured times, estimates decide */
}

void bp__calibrate_reset(void) {
    while (retired) {
        struct retired *node = retired;
        retired = node->next;
        bp__calibration_free(node->calibration);
        bp__free(node);
    }
}

/* ---- The public function ---- */

typedef struct watch {
    int64_t deadline;
    bp_calibrate_progress progress;
    void *user;
    bool stopped;
} watch;

static bool on_progress(void *user, const bp__calibrated *candidate, const char *class) {
    watch *w = user;
    const char *name = candidate->library ? candidate->library->id : candidate->provider->name;
    if (bp__now_ns() >= w->deadline) {
        w->stopped = true;
        return false;
    }
    return !w->progress || w->progress(w->user, name, class);
}

bp_status bp_calibrate(double seconds, bp_calibrate_progress progress, void *user) {
    BP__UNCANCELLED;
    enum { BUDGET_MS = 1000 };
    if (!(seconds >= 0)) {
        return bp__fail(BP_E_ARGUMENT, "bp_calibrate: seconds must be 0 or more");
    }
    watch w = {.deadline = seconds > 0 ? bp__now_ns() + (int64_t)(seconds * 1e9) : INT64_MAX,
               .progress = progress,
               .user = user};
    const bp_status status = bp__candidates_measure(&(bp__calibration_request){
        .wanted = bp__all_classes(), .budget_ms = BUDGET_MS, .progress = on_progress, .user = &w});
    return status == BP_OK && w.stopped ? bp__fail(BP_E_TIMEOUT, "the time was over before everything was measured; "
                                                                 "the next call continues")
                                        : status;
}
