/* test_cancelled_calls.c - tests that a thread is not cancelled inside calls that it has made before, on each library.
 *
 * The thread asks for its own cancellation before the calls, so the first cancellation point inside would end it there.
 * A library that waits for its threads is in one now and then only, so each call is repeated. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backplane.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 200, ELEMENTS = SIDE * SIDE, ROUNDS = 30 };

static double a[ELEMENTS], b[ELEMENTS], x[2 * ELEMENTS];
static bp_view in, other, out;
static bp_plan *held_plan;

static bp_status multiply(void) {
    return bp_matmul(&in.tensor, &other.tensor, &out.tensor);
}

static bp_status execute(void) {
    const bp_operand operands[] = {{a, 0}, {b, 0}, {x, 0}};
    return bp_execute(held_plan, operands, NULL);
}

static bp_status contract(void) {
    const DLTensor *const operands[] = {&in.tensor, &other.tensor};
    return bp_einsum("ij,jk->ki", 2, operands, &out.tensor);
}

static bp_status solve(void) {
    return bp_solve(&in.tensor, &other.tensor, 0, &out.tensor);
}

static bp_status transform(void) {
    bp_view signal, spectrum;
    bp_view_init(&signal, a, BP_C128, 1, (int64_t[]){ELEMENTS / 2}, NULL);
    bp_view_init(&spectrum, x, BP_C128, 1, (int64_t[]){ELEMENTS / 2}, NULL);
    return bp_fft(&signal.tensor, -1, -1, BP_FFT_BACKWARD, &spectrum.tensor);
}

static bp_status convolve(void) {
    bp_view image, weight, result;
    bp_view_init(&image, a, BP_F32, 4, (int64_t[]){1, 16, 40, 40}, NULL);
    bp_view_init(&weight, b, BP_F32, 4, (int64_t[]){16, 16, 3, 3}, NULL);
    bp_view_init(&result, x, BP_F32, 4, (int64_t[]){1, 16, 38, 38}, NULL);
    const bp_conv_call call = {.struct_size = sizeof call,
                               .ndim = 2,
                               .input = &image.tensor,
                               .weight = &weight.tensor,
                               .output = &result.tensor};
    return bp_conv_run(NULL, &call);
}

typedef struct job {
    bp_status (*run)(void);
    int done; /* calls that returned after the request */
    bp_status status;
} job;

static void *work(void *user) {
    job *mine = user;
    mine->status = mine->run();
    if (mine->status != BP_OK) {
        return NULL; /* the library does not offer it */
    }
    pthread_cancel(pthread_self());
    while (mine->done < ROUNDS && mine->status == BP_OK) {
        mine->status = mine->run();
        mine->done++;
    }
    pthread_testcancel();
    return NULL;
}

/* Returns false if the library does not offer the operation. */
static bool check(const char *library, const char *name, bp_status (*run)(void)) {
    pthread_t thread;
    void *result;
    job mine = {.run = run};
    assert_int_equal(pthread_create(&thread, NULL, work, &mine), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    if (mine.done == 0 && result != PTHREAD_CANCELED) {
        if (mine.status != BP_E_FALLBACK && mine.status != BP_E_NO_CANDIDATE &&
            mine.status != BP_E_LOAD) { /* its BLAS is another one in this process */
            fail_msg("%s on %s: %s", name, library, bp_status_name(mine.status));
        }
        return false;
    }
    if (mine.done < ROUNDS) {
        fprintf(stderr, "%s on %s: the thread was cancelled inside call %d\n", name, library, mine.done + 1);
        _Exit(1); /* any further call may wait for ever */
    }
    assert_int_equal(mine.status, BP_OK);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    return true;
}

static bool check_execute(const char *library) {
    if (bp_gemm_plan(&held_plan, NULL, BP_AS_IS, BP_AS_IS, NULL, &in.tensor, &other.tensor, NULL, &out.tensor) !=
        BP_OK) {
        return false;
    }
    const bool done = check(library, "bp_execute", execute);
    bp_plan_release(held_plan);
    return done;
}

static int check_library(const char *library) {
    static const char *const settings[] = {"blas.preferred", "linalg.preferred", "fft.preferred", "conv.preferred"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        assert_int_equal(bp_set(settings[i], library), BP_OK);
    }
    return check(library, "bp_matmul", multiply) + check_execute(library) + check(library, "bp_einsum", contract) +
           check(library, "bp_solve", solve) + check(library, "bp_fft", transform) +
           check(library, "bp_conv_run", convolve);
}

static void test_libraries(const char *threading) {
    int count, calls = 0;
    bp_library_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int i = 0; i < count; i++) {
        assert_int_equal(bp_library_at(i, &info), 1);
        const unsigned kinds = BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_LAPACK | BP_LIB_FFT | BP_LIB_DNN | BP_LIB_BUILTIN;
        if (info.state == BP_LIBRARY_OK && info.kinds & kinds && strcmp(info.threading, threading) == 0) {
            calls += check_library(info.id);
        }
    }
    printf("%s: %d operations\n", threading, calls);
}

static void test_on_any_number_of_threads(void **state) {
    static const char *const runtimes[] = {"serial", "pthread", "libgomp", "libiomp5"};
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        assert_int_equal(bp_set("num_threads", threads == 1 ? "1" : "2"), BP_OK);
        for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
            test_libraries(runtimes[i]);
        }
    }
}

/* Its products are cancellation points. As a library of an unknown family it may use several threads. */
static void test_a_library_that_waits(void **state) {
    (void)state;
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_REGISTRY_CACHE", "off", 1);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/tests/registry-fakes/waiting", 1);
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set("blas.preferred", "blas"), BP_OK);
    assert_true(check("blas", "bp_matmul", multiply));
    assert_true(check_execute("blas"));
    assert_true(check("blas", "bp_einsum", contract));
    assert_int_equal(bp_reset(), BP_OK);
    unsetenv("BACKPLANE_REGISTRY_SYSTEM");
    unsetenv("BACKPLANE_REGISTRY_CACHE");
    unsetenv("BACKPLANE_LIBRARY_PATH");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_library_that_waits),
                                       cmocka_unit_test(test_on_any_number_of_threads)};
    setenv("BACKPLANE_DISPATCH_FALLBACK", "strict", 1);
    for (int i = 0; i < ELEMENTS; i++) {
        a[i] = (double)(i % 17) / 17 + (i % (SIDE + 1) == 0 ? SIDE : 0);
        b[i] = (double)(i % 13) / 13;
    }
    bp_view_matrix(&in, a, BP_F64, SIDE, SIDE);
    bp_view_matrix(&other, b, BP_F64, SIDE, SIDE);
    bp_view_matrix(&out, x, BP_F64, SIDE, SIDE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
