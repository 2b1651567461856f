/* policy.c - resolves the settings that affect the choice, for the calling thread and once per change.
 *
 * Every call needs the policy in force, but reading all its settings would cost more than a small product. A thread
 * therefore keeps a number for the whole policy, and compares one epoch to know that the number is still valid. Equal
 * policies have equal numbers, so that plans made under a scope are found again when that scope is entered again. */
#include "dispatch/needs.h"
#include "dispatch/times/tune.h"
#include "machine/internal.h"

#include <string.h>

_Thread_local bp__thread_state bp__thread __attribute__((tls_model("initial-exec")));

pthread_mutex_t bp__policy_mutex = PTHREAD_MUTEX_INITIALIZER;

/* The content of a policy number: the policy of each family, the path settings of einsum, and the plan caches that are
 * off. If a plan cache is off, the thread cache is not used either. */
typedef struct numbered {
    bp_policy family[BP__FAMILIES];
    uint32_t einsum;
    uint32_t uncached; /* see bp__thread_state */
} numbered;
_Static_assert(sizeof(numbered) == BP__FAMILIES * sizeof(bp_policy) + 2 * sizeof(uint32_t), "compared by its bytes");

/* Texts in policies, and the policies themselves. Both tables only grow and stay small. */
static struct {
    const char **texts;
    uint32_t text_count;
    numbered *policies;
    uint32_t policy_count;
} known;

#define NOT_KEPT UINT32_MAX /* handle of a text for which there is no memory */

/* Returns a handle for a text. Returns 0 for "" and for "default", which cancels a preference of a lower layer. */
static uint32_t text_handle(const char *text) {
    if (!*text || bp__text_equal(text, "default")) {
        return 0;
    }
    for (uint32_t i = 0; i < known.text_count; i++) {
        if (bp__text_equal(known.texts[i], text)) {
            return i + 1;
        }
    }
    const char *kept = bp__intern(text);
    const char **grown = bp__realloc(known.texts, (known.text_count + 1) * sizeof *grown);
    if (grown) {
        known.texts = grown;
    }
    if (!kept || !grown) {
        return NOT_KEPT;
    }
    known.texts[known.text_count++] = kept;
    return known.text_count;
}

const char *bp__policy_text(uint32_t handle) {
    pthread_mutex_lock(&bp__policy_mutex);
    const char *text = handle > 0 && handle <= known.text_count ? known.texts[handle - 1] : "";
    pthread_mutex_unlock(&bp__policy_mutex);
    return text;
}

static uint8_t constraints(void) {
    return (uint8_t)((bp__setting_int(BP_SET_mkl_enabled) ? 0 : BP__DISABLED_MKL) |
                     (bp__setting_int(BP_SET_openmp_enabled) ? 0 : BP__DISABLED_OPENMP) |
                     (bp__setting_int(BP_SET_mkldnn_enabled) ? 0 : BP__DISABLED_ONEDNN) |
                     (bp__setting_int(BP_SET_mkldnn_deterministic) ? BP__REPRODUCIBLE_ONEDNN : 0));
}

/* Returns whether the user set num_threads, as opposed to a limit meant for other software. */
static bool user_decides_threads(void) {
    bp_layer layer;
    const char *where;
    bp_setting_id node;
    bp__setting_origin(BP_SET_num_threads, &layer, &where, &node);
    return layer > BP_LAYER_SHARED_ENVIRONMENT;
}

bool bp__policy_in_region(void) {
    int (*region)(void) = bp__region_get_test();
    return region && region() && !user_decides_threads();
}

/* Limits meant for other software only lower the count; the user's own value is used as it is. */
static int32_t allowed_threads(void) {
    int64_t threads = bp__setting_int(BP_SET_num_threads);
    int cpus = bp__available_cpus();
    if (bp__policy_in_region()) {
        return 1;
    }
    bool limited = threads > 0 && (threads <= cpus || user_decides_threads());
    return limited ? (int32_t)threads : cpus;
}

int32_t bp__policy_load_limit(void) {
    const int32_t limit = atomic_load_explicit(&bp__load_limit, memory_order_relaxed);
    const bool counted = bp__setting_int(BP_SET_num_threads) > 0 && user_decides_threads();
    return limit > 0 && !counted && bp__setting_int(BP_SET_threads_adapt) ? limit : 0;
}

void bp__policy_read_load(void) {
    bp__load_poll();
}

/* Another number of threads may give other bits. */
static void apply_load(bp_policy *policy) {
    const int32_t limit = policy->deterministic == 0 ? bp__policy_load_limit() : 0;
    policy->threads = limit > 0 && limit < policy->threads ? limit : policy->threads;
}

int bp__policy_benchmark(const bp__family *family) {
    enum { INHERIT, TRUE };
    int64_t own = family->benchmark == BP__NO_SETTING ? INHERIT : bp__setting_int((bp_setting_id)family->benchmark);
    bool on = own == INHERIT ? bp__setting_int(BP_SET_benchmark) != 0 : own == TRUE;
    return !on ? BP__BENCHMARK_OFF : bp__setting_int(BP_SET_tuning_start) ? BP__BENCHMARK_NOW : BP__BENCHMARK_AUTO;
}

/* Returns the maximum number of candidates that are measured. Nothing has more candidates than the greatest number. */
static int benchmark_limit(const bp__family *family) {
    int64_t own = family->limits ? bp__setting_int(family->limits->benchmark_limit) : -1;
    int64_t limit = own >= 0 ? own : bp__setting_int(BP_SET_benchmark_limit);
    return limit == 0 || limit > BP__BENCHMARK_ALL ? BP__BENCHMARK_ALL : (int)limit;
}

int bp__benchmark_mode(const bp_policy *policy) {
    return policy->benchmark % BP__BENCHMARK_MODES;
}

int bp__benchmark_limit(const bp_policy *policy) {
    return policy->benchmark / BP__BENCHMARK_MODES;
}

static uint8_t tuning(void) {
    return !bp__setting_int(BP_SET_tuning_store)         ? BP__TUNING_OFF
           : *bp__setting_text(BP_SET_tuning_store_path) ? BP__TUNING_FROZEN
                                                         : BP__TUNING_USED;
}

/* Resolves the settings that all families share. */
static void resolve_common(bp_policy *policy) {
    memset(policy, 0, sizeof *policy);
    policy->threads = allowed_threads();
    policy->deterministic = (uint8_t)bp__setting_int(BP_SET_deterministic);
    policy->capability = (uint8_t)bp__cpu_capability();
    policy->fallback = (uint8_t)bp__setting_int(BP_SET_dispatch_fallback);
    bool requested = bp__setting_int(BP_SET_deterministic_algorithms) && policy->deterministic == 0;
    policy->deterministic = requested ? 1 : policy->deterministic;
    policy->warn_only = requested && bp__setting_int(BP_SET_deterministic_algorithms_warn_only);
    policy->constraints = (uint8_t)(constraints() | bp__stack_class());
    /* A measurement may differ from the next one, and another choice has other bits. */
    policy->measured = bp__setting_int(BP_SET_calibration) != 0 && policy->deterministic == 0;
    policy->fft_planner = (uint8_t)bp__setting_int(BP_SET_fftw_planner);
    policy->tuning = tuning();
    const char *exclude = bp__setting_text(BP_SET_dispatch_exclude);
    pthread_mutex_lock(&bp__policy_mutex);
    policy->exclude = text_handle(exclude);
    pthread_mutex_unlock(&bp__policy_mutex);
}

/* Applies the stricter of `deterministic` and the family's own setting. */
static void apply_limits(bp_policy *policy, const bp__family_limits *limits) {
    const uint8_t deterministic = (uint8_t)bp__setting_int(limits->deterministic);
    if (deterministic > policy->deterministic) {
        policy->deterministic = deterministic;
        policy->warn_only = 0;
        policy->measured = 0;
    }
}

static uint32_t handle_of(const bp__text *text) {
    pthread_mutex_lock(&bp__policy_mutex);
    const uint32_t handle = text->failed ? NOT_KEPT : text_handle(bp__text_get(text));
    pthread_mutex_unlock(&bp__policy_mutex);
    return handle;
}

/* Adds the libraries that may run to those that must not. */
static void apply_enabled(bp_policy *policy, const char *enabled) {
    if (*enabled) {
        bp__text both = {0};
        bp__text_addf(&both, "%s" BP__ENABLED "%s", bp__setting_text(BP_SET_dispatch_exclude), enabled);
        policy->exclude = handle_of(&both);
        bp__text_free(&both);
    }
}

/* Sets the preference, with the kernels that settings enable before it. */
static void apply_preference(bp_policy *policy, const bp__family *family) {
    const char *preferred = bp__setting_text((bp_setting_id)family->preference);
    const bool none = !*preferred || bp__text_equal(preferred, "default");
    bp__text both = {0};
    if (family->kernels) {
        bp__kernels_add(family->kernels, &both);
        bp__text_addf(&both, "%s%s", none ? "" : BP__PREFERRED, none ? "" : preferred);
    } else {
        bp__text_add(&both, preferred);
    }
    policy->preferred = handle_of(&both);
    bp__text_free(&both);
}

void bp__policy_on_map(bp_policy *policy) {
    static const char *const names[] = {"", "scalapack", "mkl"}; /* the words of dist.preferred */
    const char *preferred = names[bp__setting_int(BP_SET_dist_preferred)];
    pthread_mutex_lock(&bp__policy_mutex);
    policy->preferred = text_handle(preferred);
    pthread_mutex_unlock(&bp__policy_mutex);
}

const char *bp__policy_preferred(const bp_problem *problem) {
    const char *text = bp__policy_text(problem->policy.preferred);
    const char *mark = bp__family_of(problem)->kernels ? strchr(text, *BP__PREFERRED) : NULL;
    return !bp__family_of(problem)->kernels ? text : mark ? mark + 1 : "";
}

/* Resolves the family's own settings. */
static void resolve_family(bp_policy *policy, const bp__family *family) {
    bool simulates = family->adapter && family->products;
    bp__precision_resolve(policy, family, 0);
    policy->benchmark = (uint8_t)(bp__policy_benchmark(family) + BP__BENCHMARK_MODES * benchmark_limit(family));
    policy->simulate = !simulates                              ? 0
                       : bp__setting_int(BP_SET_simulate_bf16) ? 2
                       : bp__setting_int(BP_SET_simulate_tf32) ? 1
                                                               : 0;
    if (family->limits) {
        apply_limits(policy, family->limits);
    }
    apply_load(policy);
    /* A bit mask of the enumeration. */
    policy->packed = family->input_layout ? (uint8_t)bp__setting_int(BP_SET_dispatch_packed) : 0;
    if (family->enabled != BP__NO_SETTING) {
        apply_enabled(policy, bp__setting_text((bp_setting_id)family->enabled));
    }
    if (family->preference != BP__NO_SETTING) {
        apply_preference(policy, family);
    }
}

static bool is_complete(const bp_policy *policy) {
    return policy->preferred != NOT_KEPT && policy->exclude != NOT_KEPT;
}

/* Calls on this path make or look up a plan, so that the search for OpenMP runtimes costs little by comparison. */
bp_status bp__policy_resolve(bp_policy *policy, const bp__family *family) {
    if (bp__region_find_runtimes()) {
        bp__settings_changed();
    }
    resolve_common(policy);
    resolve_family(policy, family);
    return is_complete(policy) ? BP_OK : bp__fail_memory(sizeof *policy, "the preferred and the excluded libraries");
}

/* Returns the policy's number, from 1. Returns 0 if memory is short, which keeps the call out of the thread cache. */
static uint32_t policy_number(const numbered *policy) {
    for (int i = 0; i < BP__FAMILIES; i++) {
        if (!is_complete(&policy->family[i])) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < known.policy_count; i++) {
        if (memcmp(&known.policies[i], policy, sizeof *policy) == 0) {
            return i + 1;
        }
    }
    numbered *grown = bp__realloc(known.policies, (known.policy_count + 1) * sizeof *grown);
    if (!grown) {
        return 0;
    }
    known.policies = grown;
    known.policies[known.policy_count++] = *policy;
    return known.policy_count;
}

static uint32_t uncached(void) {
    return (uint32_t)!bp__setting_int(BP_SET_plan_cache_max_size) << BP__CACHE_GENERAL |
           (uint32_t)!bp__setting_int(BP_SET_fft_plan_cache_max_size) << BP__CACHE_TRANSFORMS;
}

void bp__thread_refresh(uint64_t epoch) {
    numbered policy = {.uncached = uncached()};
    bp_policy common;
    bp__thread_cache_check();
    bool first = bp__thread.epoch == 0; /* the thread's first call, which may be inside a region */
    if (first && bp__region_find_runtimes()) {
        bp__settings_changed();
        epoch = bp__settings_epoch();
    }
    bp__thread.region = bp__region_get_test();
    bp__thread.in_region = bp__thread.region && bp__thread.region();
    resolve_common(&common);
    for (int i = 0; i < BP__FAMILIES; i++) {
        policy.family[i] = common;
        resolve_family(&policy.family[i], bp__family_at(i));
    }
    bp__thread.small_stack = bp__stack_is_small();
    bp__thread.limited =
        bp__setting_int(BP_SET_threads_adapt) && atomic_load_explicit(&bp__load_limit, memory_order_relaxed) != 0;
    policy.einsum = (uint32_t)bp__setting_int(BP_SET_opt_einsum_enabled) |
                    (uint32_t)bp__setting_int(BP_SET_opt_einsum_strategy) << 1;
    pthread_mutex_lock(&bp__policy_mutex);
    bp__thread.policy = bp__thread.small_stack ? 0 : policy_number(&policy);
    pthread_mutex_unlock(&bp__policy_mutex);
    bp__thread.uncached = policy.uncached;
    bp__thread.observed = bp__trace_wanted();
    bp__thread.epoch = epoch;
}

bool bp__thread_find_runtimes(void) {
    uint32_t before = bp__thread.policy;
    if (!bp__region_find_runtimes()) {
        return false;
    }
    bp__settings_changed(); /* other threads must detect the runtime, too */
    bp__thread_refresh(bp__settings_epoch());
    return bp__thread.policy != before;
}

void bp__policy_reset(void) {
    pthread_mutex_lock(&bp__policy_mutex);
    bp__free(known.texts);
    bp__free(known.policies);
    memset(&known, 0, sizeof known);
    pthread_mutex_unlock(&bp__policy_mutex);
    bp__thread.epoch = 0;
}
