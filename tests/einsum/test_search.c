/* test_search.c - compares exact strategies with all possible orders, and checks all strategies: recomputed costs,
 * limits, objectives, seeds, the caller's paths. */
#include "einsum/support_einsum.h"

#include "einsum/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 120

static bool near(double a, double b) {
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static bp_einsum_search search_for(bp_path_strategy strategy, bp_path_objective objective) {
    return (bp_einsum_search){.struct_size = sizeof(bp_einsum_search), .strategy = strategy, .objective = objective};
}

static void exact_strategies_find_the_minimum(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        network net = network_random(seed, 2 + (int)(seed % 6), seed % 2 != 0);
        reference best = network_reference(&net, HUGE_VAL);
        const double expected[] = {best.flops, best.size, best.write, best.combo};
        for (int objective = BP_MINIMIZE_FLOPS; objective <= BP_MINIMIZE_COMBO; objective++) {
            bp_einsum_search search = search_for(BP_PATH_OPTIMAL, (bp_path_objective)objective);
            bp_contraction_path_info info = network_info(&net, &search);
            if (!info.exact || !near(info.cost, expected[objective])) {
                fail_msg("seed %d, %s: %.17g, the least is %.17g", (int)seed,
                         bp_path_objective_name((bp_path_objective)objective), info.cost, expected[objective]);
            }
            if (objective == BP_MINIMIZE_SIZE) {
                if (!near(info.flops, best.flops_in_size)) {
                    fail_msg("seed %d: %.17g operations, the least is %.17g", (int)seed, info.flops,
                             best.flops_in_size);
                }
            }
        }
        bp_einsum_search dp = search_for(BP_PATH_DP, BP_MINIMIZE_FLOPS);
        assert_true(network_info(&net, &dp).flops >= best.flops * (1 - 1e-9));
    }
}

/* Each strategy returns a valid path with the reported cost, which is not below the best one. */
static void reported_costs_can_be_recomputed(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        network net = network_random(seed + 1000, 1 + (int)(seed % 8), seed % 2 != 0);
        double best = net.terms > 1 ? network_reference(&net, HUGE_VAL).flops : 0;
        for (int strategy = BP_PATH_AUTO; strategy <= BP_PATH_LEFT_TO_RIGHT; strategy++) {
            for (int objective = BP_MINIMIZE_FLOPS; objective <= BP_MINIMIZE_LIMIT; objective++) {
                bp_einsum_search search = search_for((bp_path_strategy)strategy, (bp_path_objective)objective);
                bp_contraction_path *path;
                bp_contraction_path_info info = {.struct_size = sizeof info};
                double largest;
                assert_int_equal(network_path(&net, &search, &path), BP_OK);
                assert_int_equal(bp_contraction_path_describe(path, &info), BP_OK);
                double counted = network_recount(&net, path, &largest);
                if (!near(counted, info.flops) || !near(largest, info.largest) || info.flops < best * (1 - 1e-9)) {
                    fail_msg("seed %d, %s: reported %.17g and %.17g, recomputed %.17g and %.17g, least %.17g",
                             (int)seed, info.strategy, info.flops, info.largest, counted, largest, best);
                }
                bp_contraction_path_release(path);
            }
        }
    }
}

/* opt_einsum's issue 248: a label on three tensors. Its optimal strategy is 198 times too expensive there. */
static void labels_on_three_tensors(void **state) {
    (void)state;
    bp_contraction_path *path;
    bp_contraction_path_info info = {.struct_size = sizeof info};
    static const bp_path_strategy strategies[] = {BP_PATH_OPTIMAL, BP_PATH_DP, BP_PATH_AUTO, BP_PATH_AUTO_HQ};
    for (int i = 0; i < 4; i++) {
        bp_einsum_search search = search_for(strategies[i], BP_MINIMIZE_FLOPS);
        assert_int_equal(text_path(&path, &search, "iP,sP,PQ,jQ,tQ,ti,sj->",
                                   "300x1200,50x1200,1200x1200,2000x1200,300x1200,300x300,50x2000"),
                         BP_OK);
        assert_int_equal(bp_contraction_path_describe(path, &info), BP_OK);
        bp_contraction_path_release(path);
    }
    network net = {.terms = 7,
                   .labels = 6, /* i P s Q j t */
                   .rank = {2, 2, 2, 2, 2, 2, 2},
                   .label = {{0, 1}, {2, 1}, {1, 3}, {4, 3}, {5, 3}, {5, 0}, {2, 4}},
                   .size = {300, 1200, 50, 1200, 2000, 300}};
    assert_true(near(info.flops, network_reference(&net, HUGE_VAL).flops));
}

static void limits_hold(void **state) {
    (void)state;
    int kept = 0, refused = 0;
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        network net = network_random(seed + 2000, 3 + (int)(seed % 5), seed % 2 != 0);
        double smallest = network_reference(&net, HUGE_VAL).size;
        for (int step = 0; step < 3; step++) {
            int64_t limit = (int64_t)fmax(1, smallest * (step == 0 ? 0.5 : step));
            double best = network_reference(&net, (double)limit).flops;
            for (int strategy = BP_PATH_AUTO; strategy <= BP_PATH_RANDOM_GREEDY; strategy++) {
                bp_einsum_search search = search_for((bp_path_strategy)strategy, BP_MINIMIZE_FLOPS);
                bp_contraction_path *path;
                search.memory_limit = limit;
                bp_status status = network_path(&net, &search, &path);
                /* An existing order is always found: if the strategy finds none, every order is tried. */
                assert_int_equal(status, best < HUGE_VAL ? BP_OK : BP_E_CONSTRAINT);
                kept += status == BP_OK;
                refused += status != BP_OK;
                if (status == BP_OK) {
                    bp_contraction_path_info info = {.struct_size = sizeof info};
                    bp_contraction_step s = {.struct_size = sizeof s};
                    assert_int_equal(bp_contraction_path_describe(path, &info), BP_OK);
                    for (int i = 0; i + 1 < info.steps; i++) {
                        assert_int_equal(bp_contraction_path_at(path, i, &s), 1);
                        assert_true(s.size <= (double)limit);
                    }
                    if (strategy == BP_PATH_OPTIMAL && !near(info.flops, best)) {
                        fail_msg("seed %d, limit %lld: the least is %.17g\n%s", (int)seed, (long long)limit, best,
                                 bp_contraction_path_text(path));
                    }
                    bp_contraction_path_release(path);
                }
            }
        }
    }
    assert_true(kept > 500 && refused > 100);
}

static void largest_operand_as_limit(void **state) {
    (void)state;
    bp_contraction_path *path;
    bp_einsum_search search = search_for(BP_PATH_LEFT_TO_RIGHT, BP_MINIMIZE_FLOPS);
    search.memory_limit = BP_PATH_LARGEST_OPERAND;
    assert_int_equal(text_path(&path, &search, "i,j,ij->", "10,10,10x10"), BP_OK);
    bp_contraction_path_release(path);
    assert_int_equal(text_path(&path, &search, "i,j,k,ij,jk->", "10,10,10,10x10,10x10"), BP_E_CONSTRAINT);
    assert_non_null(strstr(bp_last_error(), "1000 elements; the memory limit is 100"));
    search.strategy = BP_PATH_GREEDY;
    assert_int_equal(text_path(&path, &search, "i,j,k,ij,jk->", "10,10,10,10x10,10x10"), BP_OK);
    bp_contraction_path_release(path);
}

static void single_operands_are_summed_first(void **state) {
    (void)state;
    bp_contraction_path *path;
    bp_contraction_path_info info = {.struct_size = sizeof info};
    bp_contraction_step s = {.struct_size = sizeof s};
    bp_einsum_search search = search_for(BP_PATH_AUTO, BP_MINIMIZE_FLOPS);
    assert_int_equal(text_path(&path, &search, "abx,bc->ac", "10x20x30,20x40"), BP_OK);
    assert_int_equal(bp_contraction_path_describe(path, &info), BP_OK);
    assert_int_equal(info.steps, 2);
    assert_int_equal(bp_contraction_path_at(path, 0, &s), 1);
    assert_true(s.count == 1 && s.position[0] == 0 && s.result == 2);
    assert_string_equal(s.expression, "abx->ab");
    assert_string_equal(s.kind, "sum");
    assert_int_equal(bp_contraction_path_at(path, 1, &s), 1);
    assert_string_equal(s.expression, "ab,bc->ac");
    assert_int_equal(bp_contraction_path_at(path, 2, &s), 0);
    assert_true(near(info.flops, 2 * 10 * 20 * 30 + 2 * 10 * 20 * 40));
    assert_true(near(info.peak_bytes, 10 * 20 * 8));
    bp_contraction_path_release(path);
}

static void kinds(void **state) {
    (void)state;
    static const struct {
        const char *expression, *shapes, *kind;
    } rows[] = {
        {"ij,jk->ik", "2x3,3x4", "gemm"},
        {"bij,bjk->bik", "5x2x3,5x3x4", "batched gemm"},
        {"ij,j->i", "2x3,3", "gemv"},
        {"bij,bj->bi", "5x2x3,5x3", "batched gemv"},
        {"i,i->", "3,3", "dot"},
        {"bi,bi->b", "5x3,5x3", "batched dot"},
        {"i,j->ij", "2,3", "outer"},
        {"bi,bj->bij", "5x2,5x3", "batched outer"},
        {"ij,ij->ij", "2x3,2x3", "elementwise"},
        {"ij,j->ij", "2x3,3", "elementwise"},
        {"ij->i", "2x3", "sum"},
        {"ij->ji", "2x3", "view"},
        {"ii->i", "3x3", "view"},
        {"ij,jk->ik", "2x1,5x4", "sum"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bp_contraction_path *path;
        bp_contraction_step s = {.struct_size = sizeof s};
        assert_int_equal(text_path(&path, NULL, rows[i].expression, rows[i].shapes), BP_OK);
        assert_int_equal(bp_contraction_path_at(path, 0, &s), 1);
        assert_string_equal(s.kind, rows[i].kind);
        bp_contraction_path_release(path);
    }
}

static void seeds(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        network net = network_random(seed + 3000, NET_TERMS, seed % 2 != 0);
        bp_einsum_search search = search_for(BP_PATH_RANDOM_GREEDY, BP_MINIMIZE_FLOPS);
        bp_einsum_search plain = search_for(BP_PATH_GREEDY, BP_MINIMIZE_FLOPS);
        search.seed = seed;
        search.trials = 40;
        bp_contraction_path *one, *two;
        assert_int_equal(bp_einsum_path_cache_clear(), BP_OK);
        assert_int_equal(network_path(&net, &search, &one), BP_OK);
        assert_int_equal(bp_einsum_path_cache_clear(), BP_OK);
        assert_int_equal(network_path(&net, &search, &two), BP_OK);
        assert_ptr_not_equal(one, two);
        assert_string_equal(bp_contraction_path_json(one), bp_contraction_path_json(two));
        bp_contraction_path_info info = {.struct_size = sizeof info};
        assert_int_equal(bp_contraction_path_describe(one, &info), BP_OK);
        assert_true(info.flops <= network_info(&net, &plain).flops * (1 + 1e-9));
        bp_contraction_path_release(one);
        bp_contraction_path_release(two);
    }
}

static bp_status given(const int *path, const int *counts, int steps, double *flops) {
    bp_contraction_path *made;
    bp_contraction_path_info info = {.struct_size = sizeof info};
    bp_einsum_search search = search_for(BP_PATH_GIVEN, BP_MINIMIZE_FLOPS);
    search.path = path;
    search.path_counts = counts;
    search.path_steps = steps;
    bp_status status = text_path(&made, &search, "ij,jk,kl->il", "2x3,3x4,4x5");
    if (status == BP_OK) {
        assert_int_equal(bp_contraction_path_describe(made, &info), BP_OK);
        assert_string_equal(info.strategy, "given");
        *flops = info.flops;
        bp_contraction_path_release(made);
    }
    return status;
}

static void given_paths(void **state) {
    (void)state;
    double flops = 0;
    assert_int_equal(given((const int[]){1, 2, 0, 1}, NULL, 2, &flops), BP_OK);
    assert_true(flops == 2 * 3 * 4 * 5 + 2 * 2 * 3 * 5);
    assert_int_equal(given((const int[]){0, 1, 1, 0}, NULL, 2, &flops), BP_OK);
    assert_true(flops == 2 * 2 * 3 * 4 + 2 * 2 * 4 * 5);
    assert_int_equal(given((const int[]){0, 1, 2}, (const int[]){3}, 1, &flops), BP_OK);
    assert_true(flops == 2 * 2 * 3 * 4 + 2 * 2 * 4 * 5); /* in pairs, from the left */
    assert_int_equal(given((const int[]){0, 0, 1, 0, 1}, (const int[]){1, 2, 2}, 3, &flops), BP_OK);
    static const struct {
        int path[6], counts[3];
        int steps;
        const char *words;
    } bad[] = {
        {{0, 1}, {2}, 1, "leaves 2 operands"},
        {{0, 3, 0, 1}, {2, 2}, 2, "position 3, but only 3 operands"},
        {{1, 1, 0, 1}, {2, 2}, 2, "position 1 twice"},
        {{0, 1, 0, 2}, {2, 2}, 2, "position 2, but only 2 operands"},
        {{-1, 1, 0, 1}, {2, 2}, 2, "position -1"},
        {{0}, {0}, 1, "has no operand"},
        {{0, 1, 2, 3}, {4}, 1, "4 operands, but there are only 3"},
        {{0}, {1}, 0, "leaves 3 operands"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(given(bad[i].path, bad[i].counts, bad[i].steps, &flops), BP_E_ARGUMENT);
        if (!strstr(bp_last_error(), bad[i].words)) {
            fail_msg("'%s' is not in: %s", bad[i].words, bp_last_error());
        }
    }
    assert_int_equal(given(NULL, NULL, 2, &flops), BP_E_ARGUMENT);
    assert_int_equal(given(NULL, NULL, -1, &flops), BP_E_ARGUMENT);
}

static void settings_decide(void **state) {
    (void)state;
    static const struct {
        const char *scope, *strategy;
    } rows[] = {{"opt_einsum.enabled=true", "auto"},
                {"opt_einsum.strategy=greedy", "greedy"},
                {"opt_einsum.strategy=optimal", "optimal"},
                {"opt_einsum.enabled=false", "left-to-right"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bp_scope *scope;
        bp_contraction_path *path;
        bp_contraction_path_info info = {.struct_size = sizeof info};
        assert_int_equal(bp_scope_enter(&scope, rows[i].scope), BP_OK);
        assert_int_equal(text_path(&path, NULL, "ij,jk,kl->il", "2x3,3x4,4x5"), BP_OK);
        assert_int_equal(bp_contraction_path_describe(path, &info), BP_OK);
        assert_string_equal(info.strategy, rows[i].strategy);
        bp_contraction_path_release(path);
        bp_scope_leave(&scope);
    }
}

/* Returns the strategy and trials of a search that uses the settings. */
static bp_path_strategy searched(const char *word, int64_t *trials) {
    bp_contraction_path *path;
    bp_einsum_search given = {.struct_size = sizeof given}, resolved;
    assert_int_equal(bp_set("opt_einsum.strategy", word), BP_OK);
    assert_int_equal(text_path(&path, NULL, "ij,jk,kl->il", "2x3,3x4,4x5"), BP_OK);
    bp_contraction_path_release(path);
    assert_int_equal(bp__search_resolve(&resolved, &given), BP_OK);
    *trials = resolved.trials;
    return resolved.strategy;
}

static void settings_accept_every_strategy(void **state) {
    (void)state;
    static const struct {
        const char *word;
        bp_path_strategy strategy;
        int64_t trials;
    } others[] = {{"eager", BP_PATH_GREEDY, 0},
                  {"opportunistic", BP_PATH_GREEDY, 0},
                  {"dynamic-programming", BP_PATH_DP, 0},
                  {"random-greedy-1", BP_PATH_RANDOM_GREEDY, 1},
                  {"random-greedy-128", BP_PATH_RANDOM_GREEDY, 128}};
    int64_t trials;
    for (int i = BP_PATH_AUTO; i < BP_PATH_GIVEN; i++) {
        assert_int_equal(searched(bp_path_strategy_name((bp_path_strategy)i), &trials), i);
        assert_int_equal(trials, 0);
        assert_string_equal(bp_get_opt_einsum_strategy(), bp_path_strategy_name((bp_path_strategy)i));
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(searched(others[i].word, &trials), others[i].strategy);
        assert_int_equal(trials, others[i].trials);
        assert_string_equal(bp_get_opt_einsum_strategy(), others[i].word);
    }
    assert_int_equal(bp_unset("opt_einsum.strategy"), BP_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_strategies_find_the_minimum),
        cmocka_unit_test(reported_costs_can_be_recomputed),
        cmocka_unit_test(labels_on_three_tensors),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(largest_operand_as_limit),
        cmocka_unit_test(single_operands_are_summed_first),
        cmocka_unit_test(kinds),
        cmocka_unit_test(seeds),
        cmocka_unit_test(given_paths),
        cmocka_unit_test(settings_decide),
        cmocka_unit_test(settings_accept_every_strategy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
