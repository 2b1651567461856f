/* test_budgets.c - how searches end: by counted work, and by the calling thread's interrupt check; and that nothing is
 * leaked. */
#include "base/base.h"
#include "einsum/support_einsum.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VECTORS = 52, RING = 90, MOST = 1000 };

static const int64_t threes[] = {3, 3, 3};

/* `count` operands: scalars, vectors without shared labels, or a ring in which every operand shares labels with its two
 * neighbours and with the opposite one. */
typedef enum kind { SCALARS, APART, TIED } kind;

static bp_status search_of(kind of, int count, const bp_einsum_search *search, bp_contraction_path **path) {
    static int labels[MOST][3];
    bp_einsum_operand operands[MOST];
    for (int i = 0; i < count; i++) {
        int across = i < count / 2 ? i : i - count / 2;
        labels[i][0] = i;
        labels[i][1] = (i + 1) % count;
        labels[i][2] = count + (across * 7 + (i < count / 2 ? 0 : 3)) % (count / 2 + 1);
        int rank = of == SCALARS ? 0 : of == APART ? 1 : 3;
        operands[i] = (bp_einsum_operand){rank, threes, labels[i], rank};
    }
    return bp_einsum_path_sublists(path, search, count, operands, 0, NULL);
}

static bp_einsum_search search_by(bp_path_strategy strategy, int64_t work) {
    return (bp_einsum_search){.struct_size = sizeof(bp_einsum_search), .strategy = strategy, .work = work};
}

/* A check that counts its calls and cancels at the `stop`-th one; 0: never. */
typedef struct counter {
    int asked, stop;
} counter;

static int count_asked(void *user) {
    counter *c = user;
    return ++c->asked == c->stop;
}

static bp_status counted(kind of, int count, const bp_einsum_search *search, counter *c, bp_contraction_path **path) {
    void *before;
    assert_null(bp_set_interrupt_check(count_asked, c, &before));
    assert_null(before);
    bp_status status = search_of(of, count, search, path);
    assert_ptr_equal(bp_set_interrupt_check(NULL, NULL, &before), count_asked);
    assert_ptr_equal(before, c);
    return status;
}

static int without_cache(void **state) {
    (void)state;
    return bp_set_einsum_path_cache_max_size(0) != BP_OK;
}

/* Without a limit from the caller. */
static void searches_end_by_themselves(void **state) {
    (void)state;
    bp_contraction_path *path;
    bp_einsum_search search = search_by(BP_PATH_OPTIMAL, 0);
    assert_int_equal(search_of(APART, VECTORS, &search, &path), BP_E_TIMEOUT);
    assert_non_null(strstr(bp_last_error(), "strategy optimal"));
    static const bp_path_strategy ends[] = {BP_PATH_BRANCH_ALL, BP_PATH_DP, BP_PATH_AUTO, BP_PATH_AUTO_HQ};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        search.strategy = ends[i];
        assert_int_equal(search_of(APART, VECTORS, &search, &path), BP_OK);
        bp_contraction_path_release(path);
    }
    search.strategy = BP_PATH_BRANCH_2;
    assert_int_equal(search_of(SCALARS, MOST, &search, &path), BP_OK);
    bp_contraction_path_release(path);
}

/* Equal work ends at the same point: as many checks, and the same path. */
static void work_is_counted(void **state) {
    (void)state;
    static const struct {
        bp_path_strategy strategy;
        kind of;
        int count;
        int64_t work;
        bp_status status;
    } rows[] = {
        {BP_PATH_OPTIMAL, APART, VECTORS, 20000000, BP_E_TIMEOUT},
        {BP_PATH_DP, TIED, RING, 20000000, BP_E_TIMEOUT},
        {BP_PATH_BRANCH_2, TIED, RING, 20000000, BP_OK},
        {BP_PATH_BRANCH_ALL, TIED, RING, 20000000, BP_OK},
        {BP_PATH_BRANCH_2, TIED, RING, 1, BP_OK},
        {BP_PATH_AUTO_HQ, TIED, RING, 20000000, BP_OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[2][16384] = {"", ""};
        counter c[2] = {{0, 0}, {0, 0}};
        for (int k = 0; k < 2; k++) {
            bp_contraction_path *path;
            bp_einsum_search search = search_by(rows[i].strategy, rows[i].work);
            assert_int_equal(counted(rows[i].of, rows[i].count, &search, &c[k], &path), rows[i].status);
            if (path) {
                snprintf(text[k], sizeof text[k], "%s", bp_contraction_path_json(path));
                bp_contraction_path_release(path);
            }
        }
        assert_int_equal(c[0].asked, c[1].asked);
        assert_true(rows[i].work == 1 || (c[0].asked > 100 && c[0].asked < 1000));
        assert_string_equal(text[0], text[1]);
    }
    bp_contraction_path *path;
    bp_einsum_search search = search_by(BP_PATH_OPTIMAL, -1);
    assert_int_equal(search_of(APART, 4, &search, &path), BP_E_ARGUMENT);
}

/* A search that is stopped at any point reports it and frees everything; the next search is not affected. */
static void checks_stop_searches(void **state) {
    (void)state;
    for (int strategy = BP_PATH_AUTO; strategy <= BP_PATH_RANDOM_GREEDY; strategy++) {
        for (int limit = 0; limit < 2; limit++) {
            bp_contraction_path *path;
            bp_einsum_search search = search_by((bp_path_strategy)strategy, 5000000);
            search.memory_limit = limit ? 20 : 0; /* no order meets it, so that every search is tried */
            counter all = {0, 0};
            bp_status ends = counted(TIED, RING, &search, &all, &path);
            bp_contraction_path_release(path);
            int64_t blocks = bp__live_blocks();
            for (int stop = 1; stop <= all.asked; stop += 1 + all.asked / 12) {
                counter c = {0, stop};
                assert_int_equal(counted(TIED, RING, &search, &c, &path), BP_E_CANCELLED);
                assert_int_equal(c.asked, stop); /* the check does not run again after that */
                assert_null(path);
                assert_non_null(strstr(bp_last_error(), "interrupt check"));
                assert_int_equal(bp__live_blocks(), blocks);
            }
            if (all.asked == 0) {
                assert_true(limit == 0 && (strategy == BP_PATH_GREEDY || strategy == BP_PATH_BRANCH_1));
            }
            counter again = {0, 0};
            assert_int_equal(counted(TIED, RING, &search, &again, &path), ends);
            assert_int_equal(again.asked, all.asked);
            bp_contraction_path_release(path);
        }
    }
}

static void *search_elsewhere(void *unused) {
    (void)unused;
    bp_contraction_path *path;
    bp_einsum_search search = search_by(BP_PATH_AUTO_HQ, 3000000);
    bp_status status = search_of(TIED, RING, &search, &path);
    bp_contraction_path_release(path);
    return status == BP_OK ? NULL : search_elsewhere;
}

/* Searches, and starts a thread that searches; neither runs this check. */
static int search_within(void *user) {
    counter *c = user;
    pthread_t thread;
    void *failed = c;
    c->asked++;
    bool fine = search_elsewhere(NULL) == NULL && pthread_create(&thread, NULL, search_elsewhere, NULL) == 0 &&
                pthread_join(thread, &failed) == 0 && !failed;
    return !fine || c->asked == 3;
}

static void checks_may_call_the_library(void **state) {
    (void)state;
    bp_contraction_path *path;
    bp_einsum_search search = search_by(BP_PATH_AUTO_HQ, 30000000);
    counter c = {0, 0};
    bp_set_interrupt_check(search_within, &c, NULL);
    assert_int_equal(search_of(TIED, RING, &search, &path), BP_E_CANCELLED);
    bp_set_interrupt_check(NULL, NULL, NULL);
    assert_int_equal(c.asked, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(searches_end_by_themselves, without_cache),
        cmocka_unit_test_setup(work_is_counted, without_cache),
        cmocka_unit_test_setup(checks_stop_searches, without_cache),
        cmocka_unit_test_setup(checks_may_call_the_library, without_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
