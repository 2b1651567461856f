/* test_planner.c - tests the planner with several threads and in children of fork, and the reproducibility guarantees.
 */
#include "fftw/support_fftw.h"
#include "support/conditions.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static test_fftw f;

enum { ESTIMATE = 1, MEASURE = 2 };

static void skip_without_library(void) {
    if (!f.transforms[0] || !f.transforms[1]) {
        skip();
    }
}

/* ---- Several threads ---- */

static void *plan_and_run(void *context) {
    const int *number = context;
    for (int i = 0; i < 6; i++) {
        test_transform t = {.single = (*number + i) % 2, .n = {20 + 4 * (i % 3)}, .batch = {3}};
        t.planner = i % 2 ? MEASURE : ESTIMATE;
        t.deterministic = i == 3;
        test_run(&bp_provider_fftw, f.transforms[t.single], &t);
    }
    return NULL;
}

static void test_concurrent(void **state) {
    (void)state;
    skip_without_library();
    pthread_t threads[4];
    int numbers[4];
    for (int i = 0; i < 4; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, plan_and_run, &numbers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* One plan, run by several threads at once, each on its own memory. */
static bp_prepared *shared;
static const test_transform of_shared = {.n = {96}, .batch = {8}, .planner = ESTIMATE, .odd_out = 1, .scale = 2};

static void *run_shared(void *context) {
    test_operands o;
    (void)context;
    test_make(&o, &of_shared);
    for (int i = 0; i < 50; i++) {
        test_refill(&o);
        test_execute(shared, &o);
    }
    test_check(&o, &of_shared);
    test_release_operands(&o);
    return NULL;
}

static void test_shared_plan(void **state) {
    (void)state;
    skip_without_library();
    test_operands o;
    test_make(&o, &of_shared);
    shared = test_plan(&bp_provider_fftw, f.transforms[0], &o.problem);
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

/* ---- Fork ---- */

static int in_child(int (*task)(void *), void *context) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(240);
        _exit(task(context));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status)) {
        fail_msg("the child %s", WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hung" : "crashed");
    }
    return WEXITSTATUS(status);
}

static int run_reused_and_new(void *context) {
    bp_prepared *reused = context;
    test_transform t = {.n = {64, 64}, .batch = {16}, .threads = 2, .planner = ESTIMATE};
    test_operands o;
    test_make(&o, &t);
    test_execute(reused, &o);
    test_check(&o, &t);
    test_release_operands(&o);
    reused->destroy(reused);
    test_run(&bp_provider_fftw, f.transforms[0], &t);
    return 0;
}

/* ThreadSanitizer ends a child that starts threads. */
static void skip_without_library_or_children(void) {
    if (!test_child_may_start_threads()) {
        print_message("skipped: ThreadSanitizer does not support threads in a child of fork\n");
        skip();
    }
    skip_without_library();
}

/* Our thread pool restarts in a child, so that plans with threads work there, too. */
static void test_child(void **state) {
    (void)state;
    skip_without_library_or_children();
    test_transform t = {.n = {64, 64}, .batch = {16}, .threads = 2, .planner = ESTIMATE};
    test_operands o;
    test_make(&o, &t);
    bp_prepared *reused = test_plan(&bp_provider_fftw, f.transforms[0], &o.problem);
    test_execute(reused, &o);
    assert_int_equal(in_child(run_reused_and_new, reused), 0);
    reused->destroy(reused);
    test_release_operands(&o);
}

static test_offers before_fork;

static int find_planner_unusable(void *context) {
    bp_prepared *reused = context, *fresh = NULL;
    test_transform t = {.n = {64, 64}, .batch = {16}, .threads = 2, .planner = ESTIMATE};
    test_operands o;
    test_make(&o, &t);
    bp_verdict verdict = test_verdict(&bp_provider_fftw, f.transforms[0], &o.problem);
    bool refused = verdict.reason == BP_REASON_FORKED && strstr(verdict.text, "forked") &&
                   test_offers_plan(&before_fork, 0, &o.problem, &fresh) == BP_E_FORKED;
    test_execute(reused, &o);
    test_check(&o, &t);
    reused->destroy(reused);
    return refused ? 0 : 1;
}

/* A child of a process in which a thread was inside the planner. */
static void test_planner_unusable_in_child(void **state) {
    (void)state;
    skip_without_library_or_children();
    test_transform t = {.n = {64, 64}, .batch = {16}, .threads = 2, .planner = ESTIMATE};
    test_operands o;
    test_make(&o, &t);
    bp_prepared *reused = test_plan(&bp_provider_fftw, f.transforms[0], &o.problem);
    test_offers_ask(&before_fork, &bp_provider_fftw, f.transforms[0], &o.problem);
    assert_true(bp__fftw_lock(test_host()));
    int outcome = in_child(find_planner_unusable, reused);
    test_offers_free(&before_fork);
    bp__fftw_unlock(test_host());
    assert_int_equal(outcome, 0);
    reused->destroy(reused);
    test_run(&bp_provider_fftw, f.transforms[0], &t); /* the parent continues as before */
    test_release_operands(&o);
}

/* ---- Guarantees ---- */

static const test_transform repeated = {.n = {60}, .batch = {6}, .single = true, .deterministic = 1};

/* Writes the bytes of the output, whose layout is compact. */
static void bits_of(const test_transform *t, void *bits, size_t size) {
    test_operands o;
    test_make(&o, t);
    bp_prepared *prepared = test_plan(&bp_provider_fftw, f.transforms[t->single], &o.problem);
    test_execute(prepared, &o);
    test_check(&o, t);
    memcpy(bits, o.first[1], size);
    prepared->destroy(prepared);
    test_release_operands(&o);
}

#define REPEATED_BYTES (60 * 6 * 8)

static int write_bits(void *context) {
    const int *to = context;
    char bits[REPEATED_BYTES];
    if (to[1]) { /* wisdom of the same transform, aligned and unaligned, with more effort than an estimate */
        test_transform t = repeated;
        t.deterministic = 0;
        t.planner = MEASURE;
        test_run(&bp_provider_fftw, f.transforms[1], &t);
        t.batch[0] = 0;
        test_run(&bp_provider_fftw, f.transforms[1], &t);
    }
    bits_of(&repeated, bits, sizeof bits);
    return write(to[0], bits, sizeof bits) == sizeof bits ? 0 : 1;
}

/* Two processes get the same result bit for bit, whatever else they measured. */
static void test_reproducible_in_every_run(void **state) {
    (void)state;
    skip_without_library();
    char bits[2][REPEATED_BYTES];
    for (int measured = 0; measured < 2; measured++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(in_child(write_bits, (int[]){ends[1], measured}), 0);
        assert_int_equal(read(ends[0], bits[measured], REPEATED_BYTES), REPEATED_BYTES);
        close(ends[0]);
        close(ends[1]);
    }
    assert_memory_equal(bits[0], bits[1], REPEATED_BYTES);
}

static void test_reproducible_at_every_address(void **state) {
    (void)state;
    skip_without_library();
    char first[REPEATED_BYTES], bits[REPEATED_BYTES];
    bits_of(&repeated, first, sizeof first);
    for (int odd = 1; odd < 16; odd++) {
        test_transform t = repeated;
        t.odd_in = odd % 4;
        t.odd_out = odd / 4;
        bits_of(&t, bits, sizeof bits);
        assert_memory_equal(first, bits, sizeof bits);
    }
}

/* With deterministic=threads the result is also the same for other thread counts and for a single item. */
static void test_reproducible_on_any_thread_count(void **state) {
    (void)state;
    skip_without_library();
    static char first[64 * 64 * 16 * 8], bits[64 * 64 * 16 * 8];
    test_transform t = {.n = {64, 64}, .batch = {16}, .single = true, .deterministic = 2, .threads = 1};
    bits_of(&t, first, sizeof first);
    t.threads = 4;
    bits_of(&t, bits, sizeof bits);
    assert_memory_equal(first, bits, sizeof bits);
    t.batch[0] = 0;
    bits_of(&t, bits, 64 * 64 * 8);
    assert_memory_equal(first, bits, 64 * 64 * 8);
}

/* It is also the same at any position in a batch: all items share memory here. */
static void test_reproducible_at_any_batch_position(void **state) {
    (void)state;
    skip_without_library();
    for (int64_t n = 2; n < 80; n++) {
        test_transform t = {.n = {n}, .batch = {7}, .broadcast = true, .single = n % 2, .deterministic = 2};
        test_operands o;
        test_make(&o, &t);
        bp_prepared *prepared = test_plan(&bp_provider_fftw, f.transforms[t.single], &o.problem);
        test_execute(prepared, &o);
        size_t size = (size_t)n * bp_dtype_size(o.out.dtype);
        for (size_t item = 1; item < 7; item++) {
            assert_memory_equal(o.first[1], o.first[1] + item * size, size);
        }
        prepared->destroy(prepared);
        test_release_operands(&o);
    }
}

/* ---- Memory ---- */

static void test_memory(void **state) {
    (void)state;
    skip_without_library();
    test_transform t = {.n = {48}, .odd_in = 1, .planner = MEASURE};
    test_operands o;
    test_make(&o, &t);
    bp_prepared *prepared;
    int before = test_blocks;
    for (int n = 1; n <= 2; n++) {
        test_fail_allocation = n;
        assert_int_equal(test_plan_first(&bp_provider_fftw, f.transforms[0], &o.problem, &prepared), BP_E_NO_MEMORY);
        assert_int_equal(test_blocks, before);
    }
    prepared = test_plan(&bp_provider_fftw, f.transforms[0], &o.problem);
    assert_true(prepared->workspace > 0); /* unaligned operands are copied */
    test_fail_scratch = true;             /* a run gets its workspace, and allocates nothing else */
    test_fail_allocation = 1;
    test_execute(prepared, &o);
    assert_int_equal(test_fail_allocation, 1);
    test_fail_scratch = false;
    test_fail_allocation = 0;
    test_check(&o, &t);
    prepared->destroy(prepared);
    assert_int_equal(test_blocks, before);
    test_release_operands(&o);
}

static int open_all(void **state) {
    (void)state;
    test_open_all(&f);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    test_close_all(&f);
    return test_blocks;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reproducible_in_every_run),
        cmocka_unit_test(test_reproducible_at_every_address),
        cmocka_unit_test(test_reproducible_on_any_thread_count),
        cmocka_unit_test(test_reproducible_at_any_batch_position),
        cmocka_unit_test(test_concurrent),
        cmocka_unit_test(test_shared_plan),
        cmocka_unit_test(test_child),
        cmocka_unit_test(test_planner_unusable_in_child),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("planner", tests, open_all, close_all);
}
