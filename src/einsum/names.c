/* names.c - names of strategies and objectives, and the defaults of a search from the settings. */
#include "einsum/internal.h"

#include "settings/internal.h"

#include <string.h>

#define USUAL_FACTOR 64

static const char *const strategies[] = {
#define X(number, name, text, help) [number] = text,
    BP_PATH_STRATEGY_MAP(X)
#undef X
};

static const char *const objectives[] = {
#define X(number, name, text, help) [number] = text,
    BP_PATH_OBJECTIVE_MAP(X)
#undef X
};

const char *bp_path_strategy_name(bp_path_strategy strategy) {
    return (int)strategy >= 0 && (int)strategy < BP__COUNT(strategies) ? strategies[strategy] : "?";
}

const char *bp_path_objective_name(bp_path_objective objective) {
    return (int)objective >= 0 && (int)objective < BP__COUNT(objectives) ? objectives[objective] : "?";
}

static bp_status refuse_unknown(const char *what, const char *name, const char *const *list, int count) {
    bp__text known = {0};
    for (int i = 0; i < count; i++) {
        bp__text_addf(&known, "%s%s", i ? ", " : "", list[i]);
    }
    bp_status status = bp__fail(BP_E_BAD_VALUE, "einsum: %s '%s' is unknown; it must be one of %s", what,
                                name ? name : "", bp__text_get(&known));
    bp__text_free(&known);
    return status;
}

/* Parses a name with a prefix such as "random-greedy-" and an optional number. */
static bool numbered(const char *name, const char *word, int64_t *number) {
    size_t length = strlen(word);
    *number = 0;
    if (strncmp(name, word, length) != 0) {
        return false;
    }
    return name[length] == 0 || (name[length] == '-' && bp__parse_int(name + length + 1, number) && *number > 0);
}

bp_status bp_path_strategy_from_name(const char *name, bp_path_strategy *strategy, int64_t *trials) {
    static const struct {
        const char *name;
        bp_path_strategy strategy;
    } others[] = {{"eager", BP_PATH_GREEDY}, {"opportunistic", BP_PATH_GREEDY}, {"dynamic-programming", BP_PATH_DP}};
    int64_t number = 0;
    if (!strategy) {
        return bp__fail(BP_E_ARGUMENT, "bp_path_strategy_from_name: strategy must not be NULL");
    }
    for (int i = 0; name && i < BP__COUNT(strategies); i++) {
        bool random = i == BP_PATH_RANDOM_GREEDY;
        if (random ? numbered(name, strategies[i], &number) : strcmp(name, strategies[i]) == 0) {
            *strategy = (bp_path_strategy)i;
            if (trials) {
                *trials = number;
            }
            return BP_OK;
        }
    }
    for (int i = 0; name && i < BP__COUNT(others); i++) {
        if (strcmp(name, others[i].name) == 0) {
            *strategy = others[i].strategy;
            return BP_OK;
        }
    }
    return refuse_unknown("strategy", name, strategies, BP__COUNT(strategies));
}

bp_status bp_path_objective_from_name(const char *name, bp_path_objective *objective, double *factor) {
    int64_t number = 0;
    if (!objective) {
        return bp__fail(BP_E_ARGUMENT, "bp_path_objective_from_name: objective must not be NULL");
    }
    for (int i = 0; name && i < BP__COUNT(objectives); i++) {
        bool weighed = i == BP_MINIMIZE_COMBO || i == BP_MINIMIZE_LIMIT;
        if (weighed ? numbered(name, objectives[i], &number) : strcmp(name, objectives[i]) == 0) {
            *objective = (bp_path_objective)i;
            if (factor) {
                *factor = (double)number;
            }
            return BP_OK;
        }
    }
    return refuse_unknown("objective", name, objectives, BP__COUNT(objectives));
}

/* Sets strategy and trials from opt_einsum's settings if the caller gave none. If the settings disable opt_einsum, the
 * path goes from left to right. */
static bp_status strategy_of_settings(bp_einsum_search *s) {
    int64_t trials = 0;
    if (bp__setting_int(BP_SET_opt_einsum_enabled) == 0) {
        s->strategy = BP_PATH_LEFT_TO_RIGHT;
        return BP_OK;
    }
    BP__TRY(bp_path_strategy_from_name(bp_get_opt_einsum_strategy(), &s->strategy, &trials));
    s->trials = s->trials == 0 ? trials : s->trials;
    return BP_OK;
}

/* Refuses what the strategy or the objective does not use. */
static bp_status check_used(const bp_einsum_search *s) {
    if (s->strategy != BP_PATH_GIVEN && (s->path || s->path_counts || s->path_steps != 0)) {
        return bp__fail(BP_E_ARGUMENT, "einsum: %s is set, and strategy is \"%s\"; a path needs BP_PATH_GIVEN",
                        s->path          ? "path"
                        : s->path_counts ? "path_counts"
                                         : "path_steps",
                        bp_path_strategy_name(s->strategy));
    }
    if (s->strategy == BP_PATH_GIVEN && (s->trials != 0 || s->seconds != 0 || s->seed != 0 || s->work != 0)) {
        return bp__fail(BP_E_ARGUMENT, "einsum: %s is set, and strategy is \"given\", which searches nothing",
                        s->trials != 0    ? "trials"
                        : s->seconds != 0 ? "seconds"
                        : s->seed != 0    ? "seed"
                                          : "work");
    }
    if (s->factor != 0 && s->objective != BP_MINIMIZE_COMBO && s->objective != BP_MINIMIZE_LIMIT) {
        return bp__fail(BP_E_ARGUMENT,
                        "einsum: factor is %g, and objective is \"%s\"; it is for \"combo\" and \"limit\"", s->factor,
                        bp_path_objective_name(s->objective));
    }
    return BP_OK;
}

bp_status bp__search_resolve(bp_einsum_search *s, const bp_einsum_search *given) {
    bp_einsum_search own = {.struct_size = sizeof own};
    const bp_einsum_search *whole = given ? bp__struct_read(&own, sizeof own, given, "einsum: search") : &own;
    if (!whole) {
        return BP_E_ARGUMENT;
    }
    *s = *whole;
    if ((int)s->strategy < 0 || (int)s->strategy >= BP__COUNT(strategies) || (int)s->objective < 0 ||
        (int)s->objective >= BP__COUNT(objectives)) {
        return bp__fail(BP_E_ARGUMENT, "einsum: strategy is %d and objective is %d; at least one of them is unknown",
                        (int)s->strategy, (int)s->objective);
    }
    if (!(s->factor >= 0) || s->factor > 1e30 || !(s->seconds >= 0) || s->seconds > 1e9 || s->trials < 0 ||
        s->work < 0 || s->memory_limit < BP_PATH_LARGEST_OPERAND) {
        return bp__fail(
            BP_E_ARGUMENT,
            "einsum: factor, seconds, trials, work and memory_limit must not be negative, except memory_limit %d, "
            "the size of the largest operand",
            BP_PATH_LARGEST_OPERAND);
    }
    BP__TRY(check_used(s));
    if (s->dtype != BP_DTYPE_NONE && bp_dtype_size(s->dtype) == 0) {
        return bp__fail(BP_E_DTYPE, "einsum: dtype is %d; it must be a bp_dtype", (int)s->dtype);
    }
    s->dtype = s->dtype == BP_DTYPE_NONE ? BP_F64 : s->dtype;
    s->factor = s->factor == 0 ? USUAL_FACTOR : s->factor;
    return s->strategy == BP_PATH_SETTINGS ? strategy_of_settings(s) : BP_OK;
}
