/* tune_key.c - names problem classes and candidates in records of measured times.
 *
 * A key has everything that may change which candidate is fastest or permitted. It is readable at its beginning, and
 * exact by the hash of the problem's bytes at its end. */
#include "dispatch/times/tune.h"

#include "machine/internal.h"
#include "registry/probe_cache_key.h"

#include <inttypes.h>
#include <string.h>

uint64_t bp__tune_machine(void) {
    static atomic_uint_least64_t known;
    uint64_t hash = atomic_load_explicit(&known, memory_order_relaxed);
    if (hash == 0) {
        int64_t loader;
        bp__text text = {0};
        bp__text_addf(&text, "%" PRIx64 "\n%d\n%d\n", bp__probe_cache_key(&loader), bp__available_cpus(),
                      bp__host()->machine->logical_cpus);
        bp__add_speed_variables(&text);
        hash = bp__hash(bp__text_get(&text), text.length) | 1;
        bp__text_free(&text);
        atomic_store_explicit(&known, hash, memory_order_relaxed);
    }
    return hash;
}

/* Handles of texts differ between processes, and some members do not change what a candidate does. Not inlined, as
 * layout_hash(). */
__attribute__((noinline)) static uint64_t problem_hash(const bp_problem *asked) {
    bp_problem exact = *asked;
    exact.struct_size = 0;
    exact.policy.preferred = exact.policy.exclude = 0;
    exact.policy.fallback = exact.policy.warn_only = 0;
    exact.policy.benchmark = exact.policy.tuning = 0;
    exact.policy.benchmark_limit = 0;
    exact.policy.convolutions &= (uint8_t)~BP_CUDNN_BENCHMARK;
    return bp__hash(&exact, bp__problem_size(asked));
}

/* Returns a hash of everything in a problem but its sizes. Not inlined, so that its copy of the problem is not on the
 * stack of what follows. */
__attribute__((noinline)) static uint64_t layout_hash(const bp_problem *asked) {
    bp_problem plain = *asked;
    bp__family_of(asked)->measuring->forget_sizes(&plain);
    return problem_hash(&plain);
}

void bp__tune_key(bp__text *key, const bp_problem *asked) {
    static const char *const precisions[] = {"", "; tf32", "; bf16"}, *const levels[] = {"", "; run", "; threads"},
                             *const packed[] = {"", " first", " second", " both"};
    const bp_policy *policy = &asked->policy;
    const char *preferred = bp__policy_preferred(asked), *exclude = bp__policy_text(policy->exclude);
    const int excluded = (int)strcspn(exclude, BP__ENABLED);
    const char *enabled = exclude + excluded + (exclude[excluded] != '\0');
    char problem[256];
    bp__problem_text(asked, problem, sizeof problem);
    if (!bp__family_of(asked)->products) {
        bp__text_addf(key, "%s ", bp_op_name((bp_op)asked->op));
    } else {
        bp__text_add(key, "matmul ");
    }
    bp__text_addf(key, "%s; %d thread%s%s", problem, (int)policy->threads, policy->threads == 1 ? "" : "s",
                  precisions[policy->precision % 3]);
    if (policy->packed) {
        bp__text_addf(key, "; packed%s", packed[policy->packed % 4]);
    }
    if (policy->deterministic) {
        bp__text_addf(key, "; deterministic%s", levels[policy->deterministic % 3]);
    }
    bp__text_addf(key, "%s%s%s%.*s%s%s", *preferred ? "; preferred " : "", preferred, excluded ? "; excluded " : "",
                  excluded, exclude, *enabled ? "; enabled " : "", enabled);
    if (bp__family_of(asked)->kernels) {
        const char *kernels = bp__policy_text(policy->preferred);
        const int length = (int)strcspn(kernels, BP__PREFERRED);
        bp__text_addf(key, "%s%.*s", length ? "; kernels " : "", length, kernels);
    }
    bp__text_addf(key, "; machine %016" PRIx64, bp__tune_machine());
    if (bp__family_of(asked)->measuring->forget_sizes) {
        bp__text_addf(key, "; layout %016" PRIx64, layout_hash(asked));
    }
    bp__text_addf(key, "; class %016" PRIx64, problem_hash(asked));
}

void bp__tune_name(bp__text *name, const bp__offer *offer) {
    const bp__candidate *candidate = offer->candidate;
    const bp_library_info *library = candidate->library;
    bp__text_addf(name, "%s:%s:%s@%.16s", bp__candidate_id(candidate), candidate->provider->name,
                  offer->verdict.algorithm,
                  library && *library->build_id ? library->build_id : bp__candidate_version(candidate));
    if (library && *library->kernels) {
        bp__text_addf(name, "/%s", library->kernels);
    }
}
