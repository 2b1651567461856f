/* test_fork.c - tests that a child of fork gets a result or an error from every library, and never hangs. */
#include "blas/support_blas.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 200
#define SECONDS 20

enum { WORKED, REFUSED, WRONG };

typedef struct reused {
    void *instance;
    bp_problem problem;
    test_offers offers; /* evaluated before any fork */
    bp_prepared *prepared;
} reused;

static double a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];

static bool make_reused(reused *h, const bp_library_info *row, int threads) {
    test_product p = {.dtype = BP_F64, .m = SIZE, .n = SIZE, .k = SIZE, .alpha = 1, .threads = threads};
    h->problem = test_problem(&p);
    if (test_open(row, &h->instance) != BP_OK) {
        return false;
    }
    test_offers_ask(&h->offers, &bp_provider_blas, h->instance, &h->problem);
    int first = test_offers_next(&h->offers, -1);
    return first >= 0 && test_offers_plan(&h->offers, first, &h->problem, &h->prepared) == BP_OK;
}

static bp_status multiply(const reused *h) {
    memset(c, 0, sizeof c);
    return test_enqueue(h->prepared, (void *[]){a, b, c}, 3, NULL);
}

static bool is_right(void) {
    for (int i = 0; i < SIZE * SIZE; i++) {
        if (c[i] != SIZE * 0.5) {
            return false;
        }
    }
    return true;
}

/* In the child: runs the reused plan, a new plan, and a small product that needs only one thread. */
static int try_in_child(reused *h) {
    alarm(SECONDS);
    bp_status status = multiply(h);
    if (status == BP_E_FORKED) {
        bp_verdict verdict = test_verdict(&bp_provider_blas, h->instance, &h->problem);
        bp_prepared *prepared;
        bool refused = verdict.reason == BP_REASON_FORKED && strstr(test_error, "child of fork") &&
                       test_offers_plan(&h->offers, 0, &h->problem, &prepared) == BP_E_FORKED;
        return refused ? REFUSED : WRONG;
    }
    if (status != BP_OK || !is_right()) {
        return WRONG;
    }
    reused fresh = *h;
    return test_offers_plan(&h->offers, 0, &h->problem, &fresh.prepared) == BP_OK && multiply(&fresh) == BP_OK &&
                   is_right()
               ? WORKED
               : WRONG;
}

static int outcome_of_child(reused *h) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(try_in_child(h));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status)) {
        fail_msg("the child %s", WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hung" : "crashed");
    }
    return WEXITSTATUS(status);
}

static void test_library(const bp_library_info *row, bool must_survive, bool must_refuse) {
    reused h = {0};
    assert_true(make_reused(&h, row, 2));
    if (outcome_of_child(&h) != WORKED) { /* nothing ran before, so every library must work */
        fail_msg("%s: a child cannot use a library that never ran before fork", row->id);
    }
    assert_int_equal(multiply(&h), BP_OK);
    assert_true(is_right());
    int outcome = outcome_of_child(&h);
    if (outcome == WRONG || (must_survive && outcome != WORKED) || (must_refuse && outcome != REFUSED)) {
        fail_msg("%s: outcome %d in a child after a product on 2 threads: %s", row->id, outcome, test_error);
    }
    print_message("%s: %s in a child after %d threads\n", row->id, outcome == WORKED ? "works" : "is refused",
                  test_offers_verdict(&h.offers)->threads);
    assert_int_equal(multiply(&h), BP_OK); /* the parent continues as before */
    assert_true(is_right());
    h.prepared->destroy(h.prepared);
    bp_provider_blas.close(h.instance);
}

static bool on_libgomp(const bp_library_info *row) {
    return strcmp(row->threading, "libgomp") == 0;
}

static void results_after_fork(const bp_library_info *row) {
    bool openmp = on_libgomp(row);
    test_library(row, strcmp(row->family, "openblas") == 0 && !openmp, openmp);
}

/* A provider that is closed and reopened, as after bp_reset, knows what ran before. */
static void reopened(const bp_library_info *row) {
    reused h = {0};
    assert_true(make_reused(&h, row, 2));
    assert_int_equal(multiply(&h), BP_OK);
    int before = outcome_of_child(&h);
    h.prepared->destroy(h.prepared);
    bp_provider_blas.close(h.instance);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(SECONDS);
        reused again = {0};
        bool taken = make_reused(&again, row, 2);
        bool good = before == REFUSED ? !taken && test_offers_verdict(&again.offers)->reason == BP_REASON_FORKED
                                      : taken && multiply(&again) == BP_OK && is_right();
        _exit(!good);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0) {
        fail_msg("%s: a child ignores what a closed instance ran: status %d", row->id, status);
    }
}

/* ---- Forks while another thread is in a call ---- */

#define FORKS 40

typedef struct worker {
    const reused *reused;
    atomic_bool stop;
    atomic_int calls, failures;
} worker;

static void *work(void *opaque) {
    static double mine[SIZE * SIZE];
    worker *w = opaque;
    while (!atomic_load(&w->stop)) {
        bp_prepared *prepared = w->reused->prepared;
        atomic_fetch_add(&w->failures, test_enqueue(prepared, (void *[]){a, b, mine}, 3, NULL) != BP_OK);
        atomic_fetch_add(&w->calls, 1);
    }
    return NULL;
}

/* Counts refusals in children forked at random moments of a call. No child may hang or return a wrong result. */
static int refused_during_calls(reused *h, const char *id) {
    worker w = {.reused = h};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, work, &w), 0);
    while (atomic_load(&w.calls) == 0) {
        usleep(100);
    }
    int refused = 0;
    for (int i = 0; i < FORKS; i++) {
        usleep((useconds_t)(100 + 37 * (i % 29)));
        int outcome = outcome_of_child(h);
        if (outcome == WRONG) {
            fail_msg("%s: wrong result or wrong error in a child that was forked during a call: %s", id, test_error);
        }
        refused += outcome == REFUSED;
    }
    atomic_store(&w.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&w.failures), 0);
    return refused;
}

static void forks_during_calls(const bp_library_info *row) {
    for (int threads = 1; threads <= 2; threads++) {
        reused h = {0};
        assert_true(make_reused(&h, row, threads));
        alarm(6 * SECONDS); /* the parent must not hang either */
        int refused = refused_during_calls(&h, row->id);
        print_message("%s: %d of %d children were refused while a thread was in a product on %d\n", row->id, refused,
                      FORKS, test_offers_verdict(&h.offers)->threads);
        if (strcmp(row->family, "netlib") == 0) {
            assert_int_equal(refused, 0); /* this library keeps no state */
        }
        alarm(0);
        h.prepared->destroy(h.prepared);
        bp_provider_blas.close(h.instance);
    }
}

/* ---- All libraries, and pairs of them ---- */

/* Each library runs in its own process, so that the state of one does not affect another. */
static void in_process_of_its_own(void (*test)(const bp_library_info *row), const bp_library_info *row) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        test(row);
        fflush(NULL);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0) {
        fail_msg("%s: see above (status %d)", row->id, status);
    }
}

static void for_each_library(void (*test)(const bp_library_info *row)) {
    int count;
    const bp_library_info **rows = test_libraries(&count);
    if (count == 0) {
        print_message("skipped: no BLAS library is installed\n");
        skip();
    }
    for (int i = 0; i < count; i++) {
        in_process_of_its_own(test, rows[i]);
    }
}

static void test_child_of_each_library(void **state) {
    (void)state;
    for_each_library(results_after_fork);
}

static void test_reopened_provider_keeps_fork_state(void **state) {
    (void)state;
    for_each_library(reopened);
}

static void test_forks_during_calls(void **state) {
    (void)state;
    for_each_library(forks_during_calls);
}

/* The thread pool belongs to the OpenMP runtime. If only the first library ran, the second one is unusable, too. */
static const bp_library_info *second;

static void on_one_runtime(const bp_library_info *first) {
    reused ran = {0}, idle = {0};
    assert_true(make_reused(&ran, first, 2) && make_reused(&idle, second, 2));
    assert_int_equal(multiply(&ran), BP_OK);
    assert_int_equal(outcome_of_child(&idle), REFUSED);
}

static void test_second_library_on_one_runtime(void **state) {
    (void)state;
    int count;
    const bp_library_info **rows = test_libraries(&count), *first = NULL;
    second = NULL;
    for (int i = 0; i < count; i++) {
        if (on_libgomp(rows[i]) && strcmp(rows[i]->family, "mkl") != 0) {
            second = first ? rows[i] : NULL;
            first = first ? first : rows[i];
        }
    }
    if (!second) {
        print_message("skipped: fewer than two libraries on libgomp\n");
        skip();
    }
    in_process_of_its_own(on_one_runtime, first);
}

int main(void) {
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = 1;
        b[i] = 0.5;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_child_of_each_library), cmocka_unit_test(test_reopened_provider_keeps_fork_state),
        cmocka_unit_test(test_forks_during_calls), cmocka_unit_test(test_second_library_on_one_runtime)};
    return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
