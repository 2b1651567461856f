/* test_fork.c - tests that a child of fork gets a result or an error from MKL's transforms and never hangs, and that
 * several threads may run one plan. */
#include "mkl/support_mkl.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void *mkl;

static const test_transform wide = {.n = {64, 64}, .batch = {16}, .threads = 2};

enum { WORKED, REFUSED, WRONG };

static int try_in_child(bp_prepared *reused) {
    test_operands o;
    alarm(240);
    test_make(&o, &wide);
    void *operands[] = {o.first[0], o.first[1]};
    bp_status status = test_enqueue(reused, operands, 2, NULL);
    bp_verdict verdict = test_verdict(&bp_provider_mkl, mkl, &o.problem);
    reused->destroy(reused);
    if (status == BP_E_FORKED) {
        return verdict.reason == BP_REASON_FORKED ? REFUSED : WRONG;
    }
    if (status != BP_OK || verdict.reason != BP_REASON_ACCEPTED) {
        return WRONG;
    }
    test_check(&o, &wide);
    test_run(&bp_provider_mkl, mkl, &wide);
    return WORKED;
}

static void test_child(void **state) {
    (void)state;
    if (!mkl) {
        skip();
    }
    test_operands o;
    test_make(&o, &wide);
    bp_prepared *reused = test_plan(&bp_provider_mkl, mkl, &o.problem);
    for (int run = 0; run < 2; run++) {
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            _exit(try_in_child(reused));
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) == WRONG) {
            fail_msg("the child hung, crashed or had a wrong result (%d)", status);
        }
        print_message("a child %s%s\n", WEXITSTATUS(status) == WORKED ? "works" : "is refused",
                      run ? " after a transform on 2 threads" : "");
        test_execute(reused, &o); /* the parent continues */
        test_check(&o, &wide);
    }
    reused->destroy(reused);
    test_release_operands(&o);
}

static bp_prepared *shared;
static const test_transform of_shared = {.n = {96}, .batch = {8}, .single = true};

static void *run_shared(void *context) {
    test_operands o;
    (void)context;
    test_make(&o, &of_shared);
    for (int i = 0; i < 50; i++) {
        test_execute(shared, &o);
    }
    test_check(&o, &of_shared);
    test_release_operands(&o);
    return NULL;
}

static void test_shared_plan(void **state) {
    (void)state;
    if (!mkl) {
        skip();
    }
    test_operands o;
    test_make(&o, &of_shared);
    shared = test_plan(&bp_provider_mkl, mkl, &o.problem);
    test_release_operands(&o);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_shared, NULL), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    shared->destroy(shared);
}

static int open_mkl(void **state) {
    (void)state;
    mkl = test_open_mkl();
    if (mkl) {
        test_make_threads_cheap(mkl);
    }
    return 0;
}

static int close_mkl(void **state) {
    (void)state;
    if (mkl) {
        bp_provider_mkl.close(mkl);
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_child), cmocka_unit_test(test_shared_plan)};
    return cmocka_run_group_tests_name("fork", tests, open_mkl, close_mkl);
}
