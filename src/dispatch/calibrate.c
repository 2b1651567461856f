/* calibrate.c - gives candidates their measured times: stored ones, or new ones from the helper program. */
#include "dispatch/internal.h"

#include "backplane/calibrate.h"

#include <string.h>

/* Times that were replaced. Choices in other threads may still read them, so they live until bp_reset. */
static struct retired {
    struct retired *next;
    bp__calibration *calibration;
} * retired;

/* The milliseconds of one class when a library is used for the first time. */
enum { FIRST_BUDGET_MS = 45 };

/* Returns a small product of this type, which every provider of products accepts. */
static bp_problem sample_of(bp_dtype dtype) {
    enum { SIDE = 16 };
    return (bp_problem){
        .struct_size = sizeof(bp_problem),
        .op = BP_OP_GEMM,
        .dtype = (uint32_t)dtype,
        .policy = {.threads = 1},
        .of.gemm = {.m = SIDE,
                    .n = SIDE,
                    .k = SIDE,
                    .a_row = SIDE,
                    .a_column = 1,
                    .b_row = SIDE,
                    .b_column = 1,
                    .c_row = SIDE,
                    .c_column = 1,
                    .alpha = BP_FACTOR_ONE,
                    .beta = BP_FACTOR_ZERO,
                    .batch = 1},
    };
}

/* Returns the classes that the candidate may offer, as bits. For transforms and linear algebra the kind of its library
 * decides; the helper finds out what is refused. */
static uint64_t classes_of(const bp__candidate *candidate) {
    const unsigned kinds = candidate->library ? candidate->library->kinds : ~0u;
    uint64_t classes = 0;
    for (int i = 0; candidate->instance && i < BP__CLASSES; i++) {
        const bp__class *class = &bp__classes[i];
        const bp_problem sample = sample_of(class->dtype);
        const bool offers = class->op == BP_OP_GEMM  ? bp__estimate_of(candidate, &sample) >= 0
                            : class->op == BP_OP_FFT ? (kinds & BP_LIB_FFT) != 0
                                                     : (kinds & BP_LIB_LAPACK) != 0;
        classes |= (uint64_t)offers << i;
    }
    return classes;
}

static bool is_native(const bp__candidate *candidate) {
    return !candidate->library && bp__text_equal(candidate->provider->name, "native");
}

/* Makes the list for calibration, with `native` first. Returns the number of members. */
static int describe(bp__calibrated *members, bp__candidate **owners, bp__candidate *const *list, int count) {
    int used = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < count; i++) {
            if (is_native(list[i]) == (pass == 0)) {
                owners[used] = list[i];
                members[used++] = (bp__calibrated){
                    .provider = list[i]->provider, .library = list[i]->library, .classes = classes_of(list[i])};
            }
        }
    }
    return used;
}

/* Users exclude a library because it must not run, so it is not measured either. */
static void leave_out_excluded(bp__calibrated *members, bp__candidate *const *owners, int count) {
    const char *excluded = bp__setting_text(BP_SET_dispatch_exclude);
    for (int i = 0; i < count && *excluded; i++) {
        members[i].classes = bp__name_listed(excluded, owners[i], NULL) ? 0 : members[i].classes;
    }
}

static bp_status publish(bp__calibrated *members, bp__candidate *const *owners, int count) {
    for (int i = 0; i < count; i++) {
        bp__calibration *own = (bp__calibration *)(uintptr_t)atomic_load(&owners[i]->calibration);
        if (!own || !members[i].calibration) {
            if (members[i].calibration) {
                atomic_store_explicit(&owners[i]->calibration, members[i].calibration, memory_order_release);
            }
            continue;
        }
        struct retired *node = bp__alloc(sizeof *node);
        if (!node) {
            for (; i < count; i++) {
                bp__calibration_free(members[i].calibration);
            }
            return bp__fail_memory(sizeof *node, "measured times");
        }
        *node = (struct retired){retired, own};
        retired = node;
        atomic_store_explicit(&owners[i]->calibration, members[i].calibration, memory_order_release);
    }
    return BP_OK;
}

bp_status bp__calibrate(bp__candidate *const *list, int count, const bp__calibration_request *request) {
    bp__calibrated *members = bp__alloc_zero((size_t)count + 1, sizeof *members);
    bp__candidate **owners = bp__alloc_zero((size_t)count + 1, sizeof *owners);
    bp_status status = BP_OK, measured = BP_OK;
    if (!members || !owners) {
        status = bp__fail_memory((size_t)count * sizeof *members, "the candidates to measure");
    }
    if (status == BP_OK) {
        describe(members, owners, list, count);
        status = bp__calibration_load(members, count);
    }
    if (status == BP_OK && request->wanted) {
        leave_out_excluded(members, owners, count);
        measured = bp__calibration_measure(members, count, request->wanted, request->budget_ms, request->progress,
                                           request->user);
        status = measured == BP_E_NO_MEMORY ? measured : BP_OK;
    }
    if (status == BP_OK) {
        status = publish(members, owners, count);
    }
    bp__free(members);
    bp__free(owners);
    return status == BP_OK ? measured : status;
}

bp_status bp__calibrate_first(bp__candidate *const *list, int count, bool measure) {
    enum { OFF, READ_ONLY, READ_WRITE };
    const bool possible = measure && bp__setting_int(BP_SET_registry_cache) == READ_WRITE;
    const bp_status status = bp__calibrate(
        list, count,
        &(bp__calibration_request){.wanted = possible ? bp__first_classes() : 0, .budget_ms = FIRST_BUDGET_MS});
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
    int done;
    bool stopped;
} watch;

static bool on_progress(void *user, const bp__calibrated *candidate, const char *class) {
    watch *w = user;
    const char *name = candidate->library ? candidate->library->id : candidate->provider->name;
    if (bp__now_ns() >= w->deadline) {
        w->stopped = true;
        return false;
    }
    w->done++;
    return !w->progress || w->progress(w->user, name, class);
}

bp_status bp_calibrate(double seconds, bp_calibrate_progress progress, void *user) {
    enum { BUDGET_MS = 1000 };
    bp__candidate **list;
    int count;
    if (!(seconds >= 0)) {
        return bp__fail(BP_E_ARGUMENT, "bp_calibrate: seconds must be 0 or more");
    }
    BP__TRY(bp__candidates(true, &list, &count));
    watch w = {.deadline = seconds > 0 ? bp__now_ns() + (int64_t)(seconds * 1e9) : INT64_MAX,
               .progress = progress,
               .user = user};
    bp_status status = bp__candidates_measure(&(bp__calibration_request){
        .wanted = (UINT64_C(1) << BP__CLASSES) - 1, .budget_ms = BUDGET_MS, .progress = on_progress, .user = &w});
    if (status == BP_OK && w.done > 0) {
        status = bp_plan_cache_clear(); /* the next calls choose again */
    }
    return status == BP_OK && w.stopped ? bp__fail(BP_E_TIMEOUT, "the time was over before everything was measured; "
                                                                 "the next call continues")
                                        : status;
}
