/* random_greedy.c - runs greedy with many parameters and keeps the best order.
 *
 * The first trial is plain greedy, so that no number of trials is worse than that. The next ones weight the sizes
 * differently without noise, and all others with noise. A trial depends on its number and the seed alone.
 *
 * The plain trial has two runs, and the better one counts: a new result becomes a candidate with all its partners, or
 * with the best one alone. Neither is better on most networks. If all sizes are equal, as in circuits, they may differ
 * by orders of magnitude in both directions. */
#include "einsum/internal.h"

#include <string.h>

/* Returns a number in [0, 1) for a trial. */
static double chance(uint64_t seed, int64_t trial, uint64_t which) {
    uint64_t words[] = {seed, (uint64_t)trial, which};
    return (double)(bp__hash(words, sizeof words) >> 11) * 0x1p-53;
}

static bp__greedy_params params_of(uint64_t seed, int64_t trial) {
    static const double weights[] = {1, 2, 0.5, 1.4, 0.7, 3, 0.3};
    if (trial < 0) {
        return (bp__greedy_params){.weight = 1, .narrow = true};
    }
    if (trial < BP__COUNT(weights)) {
        return (bp__greedy_params){.weight = weights[trial]};
    }
    double weight = 0.2 * pow(20, chance(seed, trial, 0));        /* 0.2 to 4 */
    double temperature = 1e-3 * pow(1e3, chance(seed, trial, 1)); /* 0.001 to 1 */
    return (bp__greedy_params){
        .weight = weight, .temperature = temperature, .seed = seed + (uint64_t)trial * 0x9E3779B97F4A7C15u};
}

bp__outcome bp__random_greedy(const bp__network *net, const bp__goal *goal, int64_t first, int64_t trials,
                              uint64_t seed, bp__budget *budget, bp__pair *pairs, double *cost_log) {
    bp__greedy *greedy;
    size_t size = (size_t)(net->terms - 1) * sizeof *pairs;
    bp__pair *tried = bp__alloc(size);
    bp__outcome best = BP__NONE;
    *cost_log = HUGE_VAL;
    if (!tried || bp__greedy_new(&greedy, net, goal) != BP_OK) {
        bp__free(tried);
        return BP__NO_MEMORY;
    }
    for (int64_t i = first == 0 ? -1 : 0; i < trials && (i <= 0 || bp__lasts(budget)); i++) {
        bp__greedy_params params = params_of(seed, first + i);
        double cost;
        bp__pair *into = best == BP__FOUND ? tried : pairs;
        bp__outcome outcome = bp__greedy_run(greedy, &params, *cost_log, budget, into, &cost);
        if (outcome == BP__NO_MEMORY || outcome == BP__CANCELLED) {
            best = outcome;
            break;
        }
        if (outcome == BP__FOUND && (best != BP__FOUND || cost < *cost_log)) {
            if (pairs && into == tried) {
                memcpy(pairs, tried, size);
            }
            *cost_log = cost;
            best = BP__FOUND;
        }
    }
    bp__greedy_free(greedy);
    bp__free(tried);
    return best;
}
