/* test_linalg_threads.c - linear algebra from many threads at once, each with its own settings, while the plan cache is
 * cleared.
 *
 * Every solution must be right, and every failure must name its own thread's item. Also run under ThreadSanitizer. */
#include "backplane.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 12, ITEMS = 6, ROUNDS = 100 };

typedef struct worker {
    pthread_t thread;
    const char *scope;
    const char *expected; /* the library that must have run; NULL: any */
    int singular;         /* the singular item */
    int wrong;
} worker;

/* Diagonally dominant, except for one item, which is zero. */
static void fill(double *a, int singular) {
    for (int i = 0; i < ITEMS * N * N; i++) {
        int item = i / (N * N), row = i / N % N, column = i % N;
        a[i] = item == singular ? 0 : row == column ? 2.0 * N : (row * 7 + column * 3 + item) % 5 - 2;
    }
}

static int residual_is_large(const double *a, const double *inverse) {
    double worst = 0;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            double sum = i == j ? -1.0 : 0.0;
            for (int p = 0; p < N; p++) {
                sum += a[i * N + p] * inverse[p * N + j];
            }
            worst = fmax(worst, fabs(sum));
        }
    }
    return !(worst < 1e-12);
}

static void one_round(worker *w, const double *memory, double *out) {
    int32_t infos[ITEMS];
    char needle[64];
    const int64_t shape[] = {ITEMS, N, N};
    bp_view a, inverse, info;
    bp_plan_info plan = {.struct_size = sizeof plan};
    bp_view_init(&a, (void *)(uintptr_t)memory, BP_F64, 3, shape, NULL);
    bp_view_init(&inverse, out, BP_F64, 3, shape, NULL);
    bp_view_init(&info, infos, BP_I32, 1, shape, NULL);
    memset(out, 0, (size_t)ITEMS * N * N * sizeof *out);
    w->wrong += bp_inv_ex(&a.tensor, &inverse.tensor, &info.tensor) != BP_OK;
    for (int i = 0; i < ITEMS; i++) {
        w->wrong += infos[i] != (i == w->singular);
        w->wrong += i != w->singular && residual_is_large(memory + i * N * N, out + i * N * N);
    }
    w->wrong += bp_last_plan(&plan) != BP_OK;
    w->wrong += w->expected && strcmp(plan.library, w->expected) != 0;
    w->wrong += bp_inv(&a.tensor, &inverse.tensor) != BP_E_SINGULAR;
    snprintf(needle, sizeof needle, "(Batch element %d)", w->singular);
    w->wrong += !strstr(bp_last_error(), needle);
}

static void *work(void *argument) {
    worker *w = argument;
    double *memory = malloc((size_t)2 * ITEMS * N * N * sizeof *memory);
    fill(memory, w->singular);
    for (int i = 0; i < ROUNDS; i++) {
        bp_scope *scope;
        w->wrong += bp_scope_enter(&scope, w->scope) != BP_OK;
        one_round(w, memory, memory + ITEMS * N * N);
        w->wrong += bp_scope_leave(&scope) != BP_OK;
    }
    free(memory);
    return NULL;
}

static void each_thread_has_its_own(void **state) {
    (void)state;
    worker workers[] = {
        {.scope = "linalg.preferred=native, num_threads=1", .expected = "native", .singular = 0},
        {.scope = "linalg.preferred=native, num_threads=3", .expected = "native", .singular = 1},
        {.scope = "deterministic=threads", .singular = 2},
        {.scope = "num_threads=1", .singular = 3},
        {.scope = "num_threads=2", .singular = 5},
    };
    enum { COUNT = sizeof workers / sizeof workers[0] };
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int round = 0; round < 20; round++) {
        assert_int_equal(bp_plan_cache_clear(), BP_OK);
    }
    for (int i = 0; i < COUNT; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].wrong) {
            fail_msg("scope '%s': %d wrong", workers[i].scope, workers[i].wrong);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_thread_has_its_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
