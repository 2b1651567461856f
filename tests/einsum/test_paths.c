/* test_paths.c - path objects: reports, cache, threads, failing allocations, bp_reset, and large networks. */
#include "einsum/support_einsum.h"

#include "base/base.h"
#include "support/failing.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Texts ---- */

static void report_and_json(void **state) {
    (void)state;
    bp_contraction_path *path;
    assert_int_equal(text_path(&path, NULL, "ij,jk,kl,lm->im", "10x20,20x30,30x5,5x7"), BP_OK);
    assert_string_equal(bp_contraction_path_text(path),
                        "  Complete contraction:  ij,jk,kl,lm->im\n"
                        "              Strategy:  auto (exact), least flops\n"
                        "         Naive scaling:  5\n"
                        "     Optimized scaling:  3\n"
                        "      Naive FLOP count:  8.400e+5\n"
                        "  Optimized FLOP count:  8.700e+3\n"
                        "   Theoretical speedup:  9.655e+1\n"
                        "  Largest intermediate:  1.000e+2 elements\n"
                        "   Peak of those alive:  1.200e+3 bytes of f64\n"
                        "--------------------------------------------------------------------------------\n"
                        "scaling           kind                 current                             remaining\n"
                        "--------------------------------------------------------------------------------\n"
                        "   3              gemm               kl,jk->lj                          ij,lm,lj->im\n"
                        "   3              gemm               lj,ij->li                             lm,li->im\n"
                        "   3              gemm               li,lm->im                                im->im\n");
    const char *json = bp_contraction_path_json(path);
    assert_non_null(strstr(json, "\"steps\":[{\"positions\":[1,2],\"operands\":[1,2],\"result\":4,\"expression\":"
                                 "\"kl,jk->lj\",\"kind\":\"gemm\",\"scaling\":3,\"flops\":6000,\"size\":100}"));
    assert_non_null(strstr(json, "\"naive_flops\":840000,"));
    assert_non_null(strstr(json, "\"output_shape\":[10,7]"));
    assert_ptr_equal(json, bp_contraction_path_json(path));
    bp_contraction_path_release(path);
}

/* Labels that broadcast appear in the step's text, but not in results that do not have them. */
static void steps_as_text(void **state) {
    (void)state;
    bp_contraction_path *path;
    bp_contraction_step s = {.struct_size = sizeof s};
    bp_einsum_search search = {.struct_size = sizeof search, .strategy = BP_PATH_LEFT_TO_RIGHT};
    assert_int_equal(text_path(&path, &search, "ij,ja,ia->a", "1x3,3x4,5x4"), BP_OK);
    assert_int_equal(bp_contraction_path_at(path, 0, &s), 1);
    assert_string_equal(s.expression, "ja,ij->a"); /* the first operand has i with size 1 only */
    assert_int_equal(bp_contraction_path_at(path, 1, &s), 1);
    assert_string_equal(s.expression, "a,ia->a");
    bp_contraction_path_release(path);
    int wide[] = {60, 61};
    bp_einsum_operand o = {2, (const int64_t[]){2, 3}, wide, 2};
    assert_int_equal(bp_einsum_path_sublists(&path, NULL, 1, &o, 1, wide), BP_OK);
    assert_string_equal(bp_contraction_path_expression(path), "{60}{61}->{60}");
    bp_contraction_path_release(path);
    assert_int_equal(bp_contraction_path_at(NULL, 0, &s), 0);
}

/* ---- The cache ---- */

static bp_plan_cache_info stats(void) {
    bp_plan_cache_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_einsum_path_cache_stats(&info), BP_OK);
    return info;
}

static bp_contraction_path *path_of(const char *expression, const char *shapes, uint64_t seed) {
    bp_contraction_path *path;
    bp_einsum_search search = {.struct_size = sizeof search, .seed = seed};
    assert_int_equal(text_path(&path, &search, expression, shapes), BP_OK);
    return path;
}

static void cache(void **state) {
    (void)state;
    assert_int_equal(bp_einsum_path_cache_clear(), BP_OK);
    bp_plan_cache_info before = stats();
    bp_contraction_path *a = path_of("ij,jk->ik", "2x3,3x4", 0), *b = path_of("ij,jk->ik", "2x3,3x4", 0);
    bp_contraction_path *c = path_of("ij,jk->ik", "2x3,3x5", 0), *d = path_of("ij,jk->ik", "2x3,3x4", 1);
    bp_contraction_path *e = path_of("ij,jk", "2x3,3x4", 0);
    assert_ptr_equal(a, b);
    assert_true(a != c && a != d && a != e && d != e);
    bp_plan_cache_info after = stats();
    assert_int_equal(after.hits - before.hits, 1);
    assert_int_equal(after.misses - before.misses, 4);
    assert_int_equal(after.size, 4);
    bp_contraction_path *all[] = {a, b, c, d, e};
    for (int i = 0; i < 5; i++) {
        bp_contraction_path_release(all[i]);
    }
    /* The least recently used path is evicted first. */
    assert_int_equal(bp_set_einsum_path_cache_max_size(2), BP_OK);
    bp_contraction_path_release(path_of("ij,jk", "2x3,3x4", 0));
    assert_int_equal(stats().size, 2);
    bp_contraction_path *again = path_of("ij,jk->ik", "2x3,3x4", 1);
    assert_ptr_equal(again, d);
    bp_contraction_path_release(again);
    assert_int_equal(bp_set_einsum_path_cache_max_size(0), BP_OK);
    bp_contraction_path_release(path_of("ij,jk", "2x3,3x4", 0));
    assert_int_equal(stats().size, 0);
    assert_int_equal(bp_unset("einsum.path_cache.max_size"), BP_OK);
    assert_int_equal(bp_einsum_path_cache_stats(NULL), BP_E_ARGUMENT);
}

static void reset_waits_for_paths(void **state) {
    (void)state;
    bp_contraction_path *path = path_of("ij,jk->ik", "2x3,3x4", 0);
    assert_int_equal(bp_reset(), BP_E_BUSY);
    assert_non_null(strstr(bp_last_error(), "1 contraction path is"));
    bp_contraction_path_release(path);
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp__live_blocks(), 0);
}

/* ---- Threads ---- */

static void *plan_and_read(void *argument) {
    uint64_t seed = *(uint64_t *)argument;
    for (int round = 0; round < 60; round++) {
        bp_contraction_path *path;
        network net = network_random(seed % 3 + (uint64_t)round % 7, 6, true);
        if (network_path(&net, NULL, &path) != BP_OK || !*bp_contraction_path_text(path) ||
            !*bp_contraction_path_json(path)) {
            return argument;
        }
        bp_contraction_path_release(path);
        if (round % 20 == 0) {
            bp_einsum_path_cache_clear();
        }
    }
    return NULL;
}

static void threads(void **state) {
    (void)state;
    pthread_t thread[6];
    uint64_t seed[6];
    for (int i = 0; i < 6; i++) {
        seed[i] = (uint64_t)i;
        assert_int_equal(pthread_create(&thread[i], NULL, plan_and_read, &seed[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        void *wrong;
        assert_int_equal(pthread_join(thread[i], &wrong), 0);
        assert_null(wrong);
    }
}

/* ---- Allocations ---- */

static bp_status plan_once(bp_path_strategy strategy, bp_path_objective objective, int64_t limit) {
    network net = network_random(77, 10, true);
    bp_contraction_path *path;
    bp_einsum_search search = {.struct_size = sizeof search,
                               .strategy = strategy,
                               .objective = objective,
                               .trials = 20,
                               .memory_limit = limit};
    bp_status status = network_path(&net, &search, &path);
    if (status == BP_OK) {
        bp_contraction_step s = {.struct_size = sizeof s};
        bool whole = bp_contraction_path_at(path, 0, &s) && *s.expression && *bp_contraction_path_text(path) &&
                     *bp_contraction_path_json(path);
        bp_contraction_path_release(path);
        status = whole ? BP_OK : BP_E_NO_MEMORY;
    }
    return status;
}

static void failing_allocations(void **state) {
    (void)state;
    for (int strategy = BP_PATH_AUTO; strategy <= BP_PATH_LEFT_TO_RIGHT; strategy++) {
        int successes = 0;
        for (long n = 0; n < 5000 && successes < 2; n++) {
            assert_int_equal(bp_einsum_path_cache_clear(), BP_OK);
            test_fail_allocations(n, false);
            bp_status status =
                plan_once((bp_path_strategy)strategy, strategy % 2 ? BP_MINIMIZE_SIZE : BP_MINIMIZE_FLOPS, 0);
            const bool ran_out = test_end_of_failures();
            if (status != BP_OK && status != BP_E_NO_MEMORY) {
                fail_msg("%s with allocation %ld failing: %s (%s)", bp_path_strategy_name((bp_path_strategy)strategy),
                         n, bp_status_name(status), bp_last_error());
            }
            successes += status == BP_OK && !ran_out;
        }
        assert_int_equal(successes, 2);
        assert_int_equal(bp_reset(), BP_OK);
        assert_int_equal(bp__live_blocks(), 0);
    }
}

/* ---- Large networks ---- */

/* A square lattice; every label has size 2. */
static bp_status lattice(int side, const bp_einsum_search *search, bp_contraction_path_info *info) {
    int count = side * side;
    bp_einsum_operand *operands = calloc((size_t)count, sizeof *operands);
    int(*labels)[4] = calloc((size_t)count, sizeof *labels);
    static const int64_t twos[] = {2, 2, 2, 2};
    for (int i = 0; i < count; i++) {
        int row = i / side, column = i % side;
        bp_einsum_operand *o = &operands[i];
        const int all[] = {2 * i, 2 * i + 1, 2 * (i - 1), 2 * (i - side) + 1};
        const bool there[] = {column<side - 1, row<side - 1, column> 0, row> 0};
        *o = (bp_einsum_operand){0, twos, labels[i], 0};
        for (int k = 0; k < 4; k++) {
            if (there[k]) {
                labels[i][o->ndim++] = all[k];
            }
        }
        o->label_count = o->ndim;
    }
    bp_contraction_path *path;
    bp_status status = bp_einsum_path_sublists(&path, search, count, operands, 0, NULL);
    if (status == BP_OK) {
        assert_int_equal(bp_contraction_path_describe(path, info), BP_OK);
        bp_contraction_path_release(path);
    }
    free(operands);
    free(labels);
    return status;
}

static void large_networks(void **state) {
    (void)state;
    bp_contraction_path_info info = {.struct_size = sizeof info};
    bp_einsum_search search = {.struct_size = sizeof search, .strategy = BP_PATH_AUTO};
    assert_int_equal(lattice(8, &search, &info), BP_OK);
    assert_true(info.flops_log10 < 5.1);
    assert_int_equal(lattice(70, &search, &info), BP_OK);
    assert_int_equal(info.steps, 4899);
    assert_true(isinf(info.naive_flops) && info.naive_flops_log10 > 2900 && info.naive_flops_log10 < 3000);
    search.strategy = BP_PATH_OPTIMAL;
    search.seconds = 0.05;
    assert_int_equal(lattice(8, &search, &info), BP_E_TIMEOUT);
    assert_int_equal(lattice(90, &search, &info), BP_E_TIMEOUT);
    search.strategy = BP_PATH_BRANCH_1; /* too large for the strategy without a time limit: greedy's order */
    assert_int_equal(lattice(50, &search, &info), BP_OK);
    assert_string_equal(info.strategy, "greedy");
}

/* Labels on all operands, and operands that share no label: neither may make the search quadratic. */
static void one_label_on_all_and_none_on_any(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    bp_einsum_operand *operands = calloc(COUNT, sizeof *operands);
    int *labels = calloc(2 * (size_t)COUNT, sizeof *labels);
    bp_contraction_path *path;
    static const int64_t twos[] = {2, 2};
    for (int i = 0; i < COUNT; i++) {
        labels[2 * i + 1] = i + 1;
        operands[i] = (bp_einsum_operand){2, twos, &labels[2 * i], 2};
    }
    assert_int_equal(bp_einsum_path_sublists(&path, NULL, COUNT, operands, 1, labels), BP_OK);
    bp_contraction_path_release(path);
    for (int i = 0; i < COUNT; i++) {
        operands[i] = (bp_einsum_operand){1, twos, &labels[2 * i + 1], 1};
    }
    assert_int_equal(bp_einsum_path_sublists(&path, NULL, COUNT, operands, 0, NULL), BP_OK);
    bp_contraction_path_release(path);
    free(operands);
    free(labels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_and_json), cmocka_unit_test(steps_as_text),
        cmocka_unit_test(cache),           cmocka_unit_test(reset_waits_for_paths),
        cmocka_unit_test(threads),         cmocka_unit_test(failing_allocations),
        cmocka_unit_test(large_networks),  cmocka_unit_test(one_label_on_all_and_none_on_any),
    };
    if (bp_set_allocator(&test_failing_allocator) != BP_OK) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
