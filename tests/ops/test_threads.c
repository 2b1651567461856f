/* test_threads.c - many threads at once, each with its own settings: every result is right, and every thread's plan
 * follows its own scope.
 *
 * Also run under ThreadSanitizer. Also checks that results of the native provider are bitwise equal for all thread
 * counts. */
#include "backplane.h"
#include "support/arrays.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 24
#define ROUNDS 200

typedef struct worker {
    pthread_t thread;
    const char *scope;
    const char *expected; /* the library that must have run; NULL: any */
    int threads;          /* the largest number of threads it may have used */
    int wrong;
} worker;

static double left[N * N], right[N * N], exact[N * N];

static void fill(void) {
    for (int i = 0; i < N * N; i++) {
        left[i] = i % 7 - 3;
        right[i] = i % 5 - 2; /* small integers, so that sums are exact on every library */
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            exact[i * N + j] = 0;
            for (int p = 0; p < N; p++) {
                exact[i * N + j] += left[i * N + p] * right[p * N + j];
            }
        }
    }
}

static void *work(void *argument) {
    worker *w = argument;
    double *out = malloc(sizeof exact);
    bp_view a, b, c;
    bp_view_matrix(&a, left, BP_F64, N, N);
    bp_view_matrix(&b, right, BP_F64, N, N);
    bp_view_matrix(&c, out, BP_F64, N, N);
    for (int i = 0; i < ROUNDS; i++) {
        bp_scope *scope;
        bp_plan_info info = {.struct_size = sizeof info};
        memset(out, 0, sizeof exact);
        w->wrong += bp_scope_enter(&scope, w->scope) != BP_OK;
        w->wrong += bp_matmul(&a.tensor, &b.tensor, &c.tensor) != BP_OK;
        w->wrong += bp_last_plan(&info) != BP_OK;
        w->wrong += memcmp(out, exact, sizeof exact) != 0;
        w->wrong += info.threads > w->threads;
        w->wrong += w->expected && (!info.library || strcmp(info.library, w->expected) != 0);
        w->wrong += bp_scope_leave(&scope) != BP_OK;
    }
    free(out);
    return NULL;
}

static void each_thread_has_its_scope(void **state) {
    (void)state;
    worker workers[] = {
        {.scope = "blas.preferred=native, num_threads=1", .expected = "native", .threads = 1},
        {.scope = "blas.preferred=native, num_threads=3", .expected = "native", .threads = 3},
        {.scope = "deterministic=threads", .threads = 64},
        {.scope = "num_threads=1, deterministic=run", .threads = 1},
        {.scope = "dispatch.exclude=native", .threads = 64},
        {.scope = "blas.preferred=native, cpu.capability=default", .expected = "native", .threads = 64},
    };
    enum { COUNT = sizeof workers / sizeof workers[0] };
    /* Without libraries, only native can be excluded. */
    int libraries;
    assert_int_equal(bp_library_count(&libraries), BP_OK);
    bp_library_info row = {.struct_size = sizeof row};
    bool other = false;
    for (int i = 0; i < libraries && bp_library_at(i, &row); i++) {
        other |= row.state == BP_LIBRARY_OK && (row.kinds & (BP_LIB_BLAS | BP_LIB_CBLAS));
    }
    if (!other) {
        print_message("no BLAS on this machine: the thread that excludes native is left out\n");
        workers[4].scope = "num_threads=2";
    }
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int round = 0; round < 20; round++) { /* meanwhile, settings of the process and the cache change */
        assert_int_equal(bp_set_plan_cache_max_size(round % 3), BP_OK);
        assert_int_equal(bp_plan_cache_clear(), BP_OK);
    }
    for (int i = 0; i < COUNT; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].wrong) {
            fail_msg("scope '%s': %d wrong", workers[i].scope, workers[i].wrong);
        }
    }
    assert_int_equal(bp_unset("plan_cache.max_size"), BP_OK);
}

static void native_results_do_not_depend_on_threads(void **state) {
    (void)state;
    enum { M = 150, K = 333, C = 170 };
    static const char *const scopes[] = {"num_threads=1", "num_threads=2", "num_threads=3", "num_threads=7"};
    static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_C64, BP_C128, BP_F16, BP_BF16};
    for (int t = 0; t < 6; t++) {
        DLManagedTensorVersioned *a, *b, *c[4];
        assert_int_equal(bp_tensor_new(&a, dtypes[t], 2, (const int64_t[]){M, K}), BP_OK);
        assert_int_equal(bp_tensor_new(&b, dtypes[t], 2, (const int64_t[]){K, C}), BP_OK);
        size_t size = bp_dtype_size(dtypes[t]);
        test_array_random = 3;
        for (size_t i = 0; i < (size_t)M * K * size / 2; i++) {
            /* Exponents near the exponent of one, in the upper half of every floating type. */
            ((uint16_t *)a->dl_tensor.data)[i] = (uint16_t)((test_array_next() & 0x87ff) | 0x3800);
        }
        for (size_t i = 0; i < (size_t)K * C * size / 2; i++) {
            ((uint16_t *)b->dl_tensor.data)[i] = (uint16_t)((test_array_next() & 0x87ff) | 0x3800);
        }
        for (int i = 0; i < 4; i++) {
            bp_scope *scope, *inner;
            assert_int_equal(bp_tensor_new(&c[i], dtypes[t], 2, (const int64_t[]){M, C}), BP_OK);
            assert_int_equal(bp_scope_enter(&scope, "blas.preferred=native, deterministic=threads"), BP_OK);
            assert_int_equal(bp_scope_enter(&inner, scopes[i]), BP_OK);
            assert_int_equal(bp_matmul(&a->dl_tensor, &b->dl_tensor, &c[i]->dl_tensor), BP_OK);
            assert_int_equal(bp_scope_leave(&inner), BP_OK);
            assert_int_equal(bp_scope_leave(&scope), BP_OK);
            assert_memory_equal(c[i]->dl_tensor.data, c[0]->dl_tensor.data, (size_t)M * C * size);
        }
        for (int i = 0; i < 4; i++) {
            c[i]->deleter(c[i]);
        }
        a->deleter(a);
        b->deleter(b);
    }
}

/* The requested number must be in force, as read back from each library that reports it. */
static void libraries_obey_num_threads(void **state) {
    (void)state;
    enum { BIG = 300 };
    DLManagedTensorVersioned *a, *c;
    int count, asked = 0;
    bp_library_info row = {.struct_size = sizeof row};
    assert_int_equal(bp_tensor_new(&a, BP_F64, 2, (const int64_t[]){BIG, BIG}), BP_OK);
    assert_int_equal(bp_tensor_new(&c, BP_F64, 2, (const int64_t[]){BIG, BIG}), BP_OK);
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int i = 0; i < count && bp_library_at(i, &row); i++) {
        if (row.state != BP_LIBRARY_OK || !(row.kinds & (BP_LIB_BLAS | BP_LIB_CBLAS))) {
            continue;
        }
        for (int threads = 2; threads >= 1; threads--) {
            char text[256];
            bp_options *options;
            bp_plan_info info = {.struct_size = sizeof info};
            int in_force;
            snprintf(text, sizeof text, "blas.preferred=%s, dispatch.fallback=strict, num_threads=%d", row.id, threads);
            assert_int_equal(bp_options_new(&options, text), BP_OK);
            assert_int_equal(bp_matmul_run(options, &a->dl_tensor, &a->dl_tensor, &c->dl_tensor), BP_OK);
            bp_options_release(options);
            assert_int_equal(bp_last_plan(&info), BP_OK);
            assert_string_equal(info.library, row.id);
            assert_true(info.threads <= threads);
            if (bp_library_threads(row.id, &in_force) == BP_OK && in_force > 0) {
                /* The OpenMP thread count is set for the call and restored afterwards. */
                bool lasts = strcmp(row.threading, "pthread") == 0;
                if (lasts && in_force > threads) {
                    fail_msg("%s runs %d threads instead of %d", row.id, in_force, threads);
                }
                asked++;
            }
        }
    }
    if (asked == 0) {
        print_message("SKIPPED in part: no library reports its number of threads\n");
    }
    assert_int_equal(bp_library_threads("no-such-library", &count), BP_E_NOT_FOUND);
    assert_int_equal(bp_library_threads("native", &count), BP_OK);
    assert_true(count >= 1);
    /* An algorithm has no threads of its own, existing or not. */
    assert_int_equal(bp_library_threads("native:packed", &count), BP_E_NOT_FOUND);
    assert_int_equal(bp_library_threads("native:no-such-algorithm", &count), BP_E_NOT_FOUND);
    assert_int_equal(bp_library_threads(":packed", &count), BP_E_NOT_FOUND);
    assert_int_equal(bp_library_threads("native:native", &count), BP_OK);
    a->deleter(a);
    c->deleter(c);
}

static int executor_calls;

/* Runs the tasks in reverse order, which no operation may depend on. */
static void own_executor(void *user, int threads, int count, bp_task task, void *context) {
    (void)threads;
    executor_calls += user == &executor_calls;
    for (int i = count - 1; i >= 0; i--) {
        task(context, i);
    }
}

static void an_executor_of_the_program_runs_tasks(void **state) {
    (void)state;
    enum { BIG = 300 };
    DLManagedTensorVersioned *a, *c, *d;
    bp_scope *scope;
    assert_int_equal(bp_tensor_new(&a, BP_F64, 2, (const int64_t[]){BIG, BIG}), BP_OK);
    assert_int_equal(bp_tensor_new(&c, BP_F64, 2, (const int64_t[]){BIG, BIG}), BP_OK);
    assert_int_equal(bp_tensor_new(&d, BP_F64, 2, (const int64_t[]){BIG, BIG}), BP_OK);
    for (int i = 0; i < BIG * BIG; i++) {
        ((double *)a->dl_tensor.data)[i] = 1.0 / (i + 1);
    }
    assert_int_equal(bp_scope_enter(&scope, "blas.preferred=native, num_threads=3"), BP_OK);
    assert_int_equal(bp_matmul(&a->dl_tensor, &a->dl_tensor, &c->dl_tensor), BP_OK);
    assert_int_equal(bp_set_executor(own_executor, &executor_calls), BP_OK);
    assert_int_equal(bp_matmul(&a->dl_tensor, &a->dl_tensor, &d->dl_tensor), BP_OK);
    assert_int_equal(bp_set_executor(NULL, NULL), BP_OK);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_true(executor_calls > 0);
    assert_memory_equal(c->dl_tensor.data, d->dl_tensor.data, BIG * BIG * sizeof(double));
    a->deleter(a);
    c->deleter(c);
    d->deleter(d);
}

static int nesting;

/* While its tasks run, multiplies in the waiting thread: a larger product, which uses its own threads. */
static void helping_executor(void *user, int threads, int count, bp_task task, void *context) {
    enum { LARGER = 400 };
    (void)user, (void)threads;
    for (int i = 0; i < count; i++) {
        task(context, i);
        if (nesting == 0) {
            nesting++;
            bp_view a, c;
            double *memory = calloc((size_t)2 * LARGER * LARGER, sizeof *memory);
            bp_view_matrix(&a, memory, BP_F64, LARGER, LARGER);
            bp_view_matrix(&c, memory + LARGER * LARGER, BP_F64, LARGER, LARGER);
            assert_int_equal(bp_matmul(&a.tensor, &a.tensor, &c.tensor), BP_OK);
            free(memory);
            nesting--;
        }
    }
}

static void an_executor_may_multiply_while_it_waits(void **state) {
    (void)state;
    enum { SIDE = 300 };
    bp_view a, c;
    bp_scope *scope;
    double *memory = calloc((size_t)2 * SIDE * SIDE, sizeof *memory);
    for (int i = 0; i < SIDE * SIDE; i++) {
        memory[i] = 1;
    }
    bp_view_matrix(&a, memory, BP_F64, SIDE, SIDE);
    bp_view_matrix(&c, memory + SIDE * SIDE, BP_F64, SIDE, SIDE);
    assert_int_equal(bp_reset(), BP_OK); /* frees scratch memory that might be large enough by chance */
    assert_int_equal(bp_scope_enter(&scope, "blas.preferred=native, num_threads=2"), BP_OK);
    assert_int_equal(bp_set_executor(helping_executor, NULL), BP_OK);
    assert_int_equal(bp_matmul(&a.tensor, &a.tensor, &c.tensor), BP_OK);
    assert_int_equal(bp_set_executor(NULL, NULL), BP_OK);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    for (int i = 0; i < SIDE * SIDE; i++) {
        assert_true(memory[SIDE * SIDE + i] == SIDE);
    }
    free(memory);
}

static int reset(void **state) {
    (void)state;
    assert_int_equal(bp_reset(), BP_OK);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_its_scope),
        cmocka_unit_test(native_results_do_not_depend_on_threads),
        cmocka_unit_test(libraries_obey_num_threads),
        cmocka_unit_test(an_executor_of_the_program_runs_tasks),
        cmocka_unit_test(an_executor_may_multiply_while_it_waits),
    };
    fill();
    return cmocka_run_group_tests(tests, NULL, reset);
}
