/* test_fork.c - a child of fork gets a result or an error from every library, and never hangs. */
#include "blas/support_blas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 200
#define SECONDS 20

enum { WORKED, REFUSED, WRONG };

typedef struct held {
    void *instance;
    bp_problem problem;
    bp_verdict verdict;
    bp_prepared *prepared;
} held;

static double a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];

static bool hold(held *h, const bp_library_info *row, int threads) {
    test_product p = {.dtype = BP_F64, .m = SIZE, .n = SIZE, .k = SIZE, .alpha = 1, .threads = threads};
    h->problem = test_problem(&p);
    h->verdict = (bp_verdict){.struct_size = sizeof h->verdict};
    if (test_open(row, &h->instance) != BP_OK) {
        return false;
    }
    bp_provider_blas.accept(h->instance, &h->problem, &h->verdict);
    return h->verdict.reason == BP_REASON_ACCEPTED &&
           bp_provider_blas.plan(h->instance, &h->problem, &h->verdict, &h->prepared) == BP_OK;
}

static bp_status multiply(const held *h) {
    memset(c, 0, sizeof c);
    return h->prepared->run(h->prepared, a, b, c, NULL);
}

static bool is_right(void) {
    for (int i = 0; i < SIZE * SIZE; i++) {
        if (c[i] != SIZE * 0.5) {
            return false;
        }
    }
    return true;
}

/* In the child: the held plan, a new plan, and a small product, which needs one thread only. */
static int try_in_child(held *h) {
    alarm(SECONDS);
    bp_status status = multiply(h);
    if (status == BP_E_FORKED) {
        bp_verdict verdict = {.struct_size = sizeof verdict};
        bp_provider_blas.accept(h->instance, &h->problem, &verdict);
        bp_prepared *prepared;
        bool refused = verdict.reason == BP_REASON_FORKED && strstr(test_error, "forked") &&
                       bp_provider_blas.plan(h->instance, &h->problem, &h->verdict, &prepared) == BP_E_FORKED;
        return refused ? REFUSED : WRONG;
    }
    if (status != BP_OK || !is_right()) {
        return WRONG;
    }
    held fresh = *h;
    return bp_provider_blas.plan(h->instance, &h->problem, &h->verdict, &fresh.prepared) == BP_OK &&
                   multiply(&fresh) == BP_OK && is_right()
               ? WORKED
               : WRONG;
}

static int outcome_of_child(held *h) {
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
    held h = {0};
    assert_true(hold(&h, row, 2));
    if (outcome_of_child(&h) != WORKED) { /* nothing ran before: every library must work */
        fail_msg("%s: a child cannot use a library that never ran before fork", row->id);
    }
    assert_int_equal(multiply(&h), BP_OK);
    assert_true(is_right());
    int outcome = outcome_of_child(&h);
    if (outcome == WRONG || (must_survive && outcome != WORKED) || (must_refuse && outcome != REFUSED)) {
        fail_msg("%s: outcome %d in a child after a product on 2 threads: %s", row->id, outcome, test_error);
    }
    print_message("%s: %s in a child after %d threads\n", row->id, outcome == WORKED ? "works" : "is refused",
                  h.verdict.threads);
    assert_int_equal(multiply(&h), BP_OK); /* the parent goes on as before */
    assert_true(is_right());
    h.prepared->destroy(h.prepared);
    bp_provider_blas.close(h.instance);
}

/* Each library has a process of its own: what one leaves behind must not decide about another. */
static void test_each_library(void **state) {
    (void)state;
    int count;
    const bp_library_info **rows = test_libraries(&count);
    if (count == 0) {
        print_message("skipped: no BLAS library is installed\n");
        skip();
    }
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = 1;
        b[i] = 0.5;
    }
    for (int i = 0; i < count; i++) {
        bool openmp = strcmp(rows[i]->threading, "libgomp") == 0;
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            test_library(rows[i], strcmp(rows[i]->family, "openblas") == 0 && !openmp, openmp);
            fflush(NULL);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0) {
            fail_msg("%s: see above", rows[i]->id);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_library)};
    return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
