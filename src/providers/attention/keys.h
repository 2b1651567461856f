/* keys.h - tells the kinds of attention of a problem, and computes which keys a query sees: the ones from a first one on,
 * and before an end. Providers share it. */
#ifndef BP_PROVIDERS_ATTENTION_KEYS_H
#define BP_PROVIDERS_ATTENTION_KEYS_H

#include "backplane/provider.h"
#include "providers/least.h"

#include <stdbool.h>

static inline bool bp__attention_is_backward(const bp_problem *problem) {
    return problem->op == BP_OP_ATTENTION_BACKWARD || problem->op == BP_OP_ATTENTION_LENGTHS_BACKWARD;
}

/* Whether items have numbers of keys of their own, without pages. */
static inline bool bp__attention_is_counted(const bp_problem *problem) {
    return problem->op == BP_OP_ATTENTION_LENGTHS || problem->op == BP_OP_ATTENTION_LENGTHS_BACKWARD;
}

static inline bool bp__attention_has_window(const bp_attention_problem *p) {
    return p->window_left >= 0 || p->window_right >= 0;
}

/* Returns the position of a query of an item with `keys` keys. */
static inline int64_t bp__attention_position(const bp_attention_problem *p, int64_t query, int64_t keys) {
    return query + (p->lower_right ? keys - p->queries : 0);
}

static inline int64_t bp__attention_first_seen(const bp_attention_problem *p, int64_t query, int64_t keys) {
    const int64_t first = p->window_left < 0 ? 0 : bp__attention_position(p, query, keys) - p->window_left;
    return first < 0 ? 0 : bp__least(first, keys);
}

static inline int64_t bp__attention_end_seen(const bp_attention_problem *p, int64_t query, int64_t keys) {
    if (!p->causal && p->window_right < 0) {
        return keys;
    }
    const int64_t end = bp__attention_position(p, query, keys) + 1 + (p->causal ? 0 : p->window_right);
    return end < 0 ? 0 : bp__least(end, keys);
}

/* Estimates the keys that a query sees on average, for costs. A block that is seen in part is computed as a whole: it
 * has `block` keys. */
static inline double bp__attention_mean_seen(const bp_attention_problem *p, double block) {
    enum { SAMPLES = 16 };
    const double keys = (double)p->keys;
    double sum = 0;
    if (!bp__attention_has_window(p) && !p->lower_right) {
        return p->causal ? keys / 2 + block : keys;
    }
    for (int i = 0; i < SAMPLES && p->queries > 0; i++) {
        const int64_t query = (int64_t)((double)(p->queries - 1) * i / (SAMPLES - 1));
        const int64_t first = bp__attention_first_seen(p, query, p->keys),
                      end = bp__attention_end_seen(p, query, p->keys);
        sum += end > first ? (double)(end - first) : 0;
    }
    return sum / SAMPLES + block < keys ? sum / SAMPLES + block : keys;
}

#endif
