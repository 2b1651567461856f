/* policy.c - resolves the settings that take part in choosing, once per change, for the calling thread.
 *
 * Every call needs to know which policy is in force. Reading six settings would cost more than a small product, so a
 * thread keeps a small number that stands for the whole policy, and checks one epoch to know that the number still
 * holds. Equal policies get equal numbers, so that plans made under a scope are found again the next time that scope is
 * entered. */
#include "dispatch/internal.h"

#include "machine/internal.h"

#include <string.h>

_Thread_local bp__thread_state bp__thread __attribute__((tls_model("initial-exec")));

pthread_mutex_t bp__policy_mutex = PTHREAD_MUTEX_INITIALIZER;

/* What one number stands for: the policy, the preferences of the families of operations beside that of products, how
 * einsum looks for paths, and which plan caches are off, since a thread's short list is then not used either. */
typedef struct numbered {
    bp_policy policy;
    uint32_t linalg, fft;
    uint32_t einsum;
    uint32_t uncached; /* see bp__thread_state */
} numbered;
_Static_assert(sizeof(numbered) == sizeof(bp_policy) + 4 * sizeof(uint32_t), "compared by its bytes");

/* Texts that policies name, and policies themselves; both only grow, and are few. */
static struct {
    const char **texts;
    uint32_t text_count;
    numbered *policies;
    uint32_t policy_count;
} known;

/* A number for a text, 0 for "" and for "default", which takes back a preference of a lower layer (and where memory is
 * short: then the preference is left out of this policy). */
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
        return 0;
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

/* The CPU's node of the precision tree: every provider of today computes there. */
static uint8_t matmul_precision(void) {
    const char *word = bp_get_mkldnn_matmul_fp32_precision();
    return bp__text_equal(word, "bf16") ? 2 : bp__text_equal(word, "tf32") ? 1 : 0;
}

static uint8_t avoided(void) {
    return (uint8_t)((bp__setting_int(BP_SET_mkl_enabled) ? 0 : BP__AVOID_MKL) |
                     (bp__setting_int(BP_SET_openmp_enabled) ? 0 : BP__AVOID_OPENMP) |
                     (bp__setting_int(BP_SET_mkldnn_enabled) ? 0 : BP__AVOID_ONEDNN));
}

bp_setting_id bp__preference_of(uint32_t op) {
    return op == BP_OP_GEMM ? BP_SET_blas_preferred : op == BP_OP_FFT ? BP_SET_fft_preferred : BP_SET_linalg_preferred;
}

/* The settings but for the texts. */
static void resolve_numbers(bp_policy *policy) {
    memset(policy, 0, sizeof *policy);
    int64_t threads = bp__setting_int(BP_SET_num_threads);
    policy->threads = threads > 0 ? (int32_t)threads : bp__usable_cpus();
    policy->deterministic = (uint8_t)bp__setting_int(BP_SET_deterministic);
    policy->capability = (uint8_t)bp__cpu_capability();
    policy->fallback = (uint8_t)bp__setting_int(BP_SET_dispatch_fallback);
    bool wish = bp__setting_int(BP_SET_deterministic_algorithms) && policy->deterministic == 0;
    policy->deterministic = wish ? 1 : policy->deterministic;
    policy->warn_only = wish && bp__setting_int(BP_SET_deterministic_algorithms_warn_only);
    policy->precision = matmul_precision();
    policy->avoid = avoided();
    policy->fft_planner = (uint8_t)bp__setting_int(BP_SET_fftw_planner);
    policy->simulate = bp__setting_int(BP_SET_simulate_bf16) ? 2 : bp__setting_int(BP_SET_simulate_tf32) ? 1 : 0;
}

void bp__policy_resolve(bp_policy *policy, bp_op op) {
    resolve_numbers(policy);
    const char *preferred = bp__setting_text(bp__preference_of(op));
    const char *exclude = bp__setting_text(BP_SET_dispatch_exclude);
    pthread_mutex_lock(&bp__policy_mutex);
    policy->preferred = text_handle(preferred);
    policy->exclude = text_handle(exclude);
    pthread_mutex_unlock(&bp__policy_mutex);
}

/* Numbers start at 1; 0 means that memory was short, and keeps the call out of the short list. */
static uint32_t policy_number(const numbered *policy) {
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
    return (bp__setting_int(BP_SET_plan_cache_max_size) ? 0 : BP__UNCACHED_GENERAL) |
           (bp__setting_int(BP_SET_fft_plan_cache_max_size) ? 0 : BP__UNCACHED_FFT);
}

void bp__thread_refresh(uint64_t epoch) {
    numbered policy = {.uncached = uncached()};
    bp__hot_check();
    bp__policy_resolve(&policy.policy, BP_OP_GEMM);
    const char *linalg = bp__setting_text(BP_SET_linalg_preferred), *fft = bp__setting_text(BP_SET_fft_preferred);
    uint32_t einsum = (uint32_t)bp__setting_int(BP_SET_opt_einsum_enabled) |
                      (uint32_t)bp__setting_int(BP_SET_opt_einsum_strategy) << 1;
    pthread_mutex_lock(&bp__policy_mutex);
    policy.einsum = einsum;
    policy.linalg = text_handle(linalg);
    policy.fft = text_handle(fft);
    bp__thread.policy = policy_number(&policy);
    bp__thread.uncached = policy.uncached;
    pthread_mutex_unlock(&bp__policy_mutex);
    bp__thread.observed = bp__observe_wanted();
    bp__thread.epoch = epoch;
}

void bp__policy_reset(void) {
    pthread_mutex_lock(&bp__policy_mutex);
    bp__free(known.texts);
    bp__free(known.policies);
    memset(&known, 0, sizeof known);
    pthread_mutex_unlock(&bp__policy_mutex);
    bp__thread.epoch = 0;
}
