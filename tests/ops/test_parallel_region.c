/* test_parallel_region.c - calls from inside an OpenMP parallel region run on one thread, unless the user sets
 * otherwise.
 *
 * This holds for every runtime, whenever it was loaded. Regions are started by the entry point that gcc emits for
 * `#pragma omp parallel`. All runtimes have it, so that one program tests all that are installed. Each test has a
 * separate process, because a runtime stays loaded. */
#include "backplane.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/no_leak_check.h"
#include "support/require.h"

enum { N = 192, TEAM = 3, SIDE = 1500, MANY = 0 };

static const char *const runtimes[] = {"libgomp.so.1", "libomp.so.5", BP_TEST_SOURCE_DIR "/.venv/lib/libiomp5.so"};
enum { GOMP, OMP, IOMP5, RUNTIMES };

typedef void (*region_starter)(void (*body)(void *), void *argument, unsigned threads, unsigned flags);

static double left[N * N], right[N * N], exact[N * N], tall[SIDE * SIDE];
static int cpus;

/* ---- Calls, and the number of threads that they used ---- */

static int threads_of_last(void) {
    bp_plan_info info = {.struct_size = sizeof info};
    REQUIRE(bp_last_plan(&info) == BP_OK);
    return info.threads;
}

/* Computes a product of the first `rows` rows, so that tests can use new problems. */
static int product(int rows) {
    double *out = calloc(N * N, sizeof *out);
    bp_view a, b, c;
    bp_view_matrix(&a, left, BP_F64, rows, N);
    bp_view_matrix(&b, right, BP_F64, N, N);
    bp_view_matrix(&c, out, BP_F64, rows, N);
    REQUIRE(bp_matmul(&a.tensor, &b.tensor, &c.tensor) == BP_OK);
    REQUIRE(memcmp(out, exact, (size_t)rows * N * sizeof *out) == 0);
    free(out);
    return threads_of_last();
}

/* An operation on the general fast path. */
static int norm(void) {
    double value = 0;
    bp_view a, out;
    bp_view_matrix(&a, tall, BP_F64, SIDE, SIDE);
    bp_view_init(&out, &value, BP_F64, 0, NULL, NULL);
    REQUIRE(bp_matrix_norm(&a.tensor, BP_NORM_FRO, 0, &out.tensor) == BP_OK);
    REQUIRE(value > SIDE - 1e-6 && value < SIDE + 1e-6);
    return threads_of_last();
}

/* ---- Regions ---- */

static void *load(int runtime) {
    return dlopen(runtimes[runtime], RTLD_NOW | RTLD_LOCAL);
}

/* The call made by the threads of the current region, and its results. They are atomic, because ThreadSanitizer cannot
 * follow synchronisation in an uninstrumented runtime. */
static _Atomic(int (*)(void)) call_made;
static atomic_int calls, most, least;

static void visit(void *argument) {
    (void)argument;
    int threads = atomic_load(&call_made)(), high = atomic_load(&most), low = atomic_load(&least);
    while (threads > high && !atomic_compare_exchange_weak(&most, &high, threads)) {
    }
    while (threads < low && !atomic_compare_exchange_weak(&least, &low, threads)) {
    }
    atomic_fetch_add(&calls, 1);
}

/* Returns whether there are several threads, if the machine has the cores. */
static bool is_many(int threads) {
    return threads > 1 || (cpus == 1 && threads == 1);
}

/* Every thread of a region makes the call; each must get `threads`, or MANY. */
static void in_region(void *runtime, int (*call)(void), int threads) {
    REQUIRE(runtime != NULL);
    region_starter start = (region_starter)dlsym(runtime, "GOMP_parallel");
    REQUIRE(start != NULL);
    atomic_store(&call_made, call);
    atomic_store(&calls, 0);
    atomic_store(&most, 0);
    atomic_store(&least, 1000);
    start(visit, NULL, TEAM, 0);
    REQUIRE(atomic_load(&calls) == TEAM);
    int got = atomic_load(&least);
    REQUIRE(got == atomic_load(&most));
    REQUIRE(threads == MANY ? is_many(got) : got == threads);
}

static int whole_product(void) {
    return product(N);
}

static int new_product(void) {
    return product(N - 1);
}

static int product_with_scope(void) {
    bp_scope *scope;
    REQUIRE(bp_scope_enter(&scope, "num_threads=2") == BP_OK);
    int threads = product(N);
    REQUIRE(bp_scope_leave(&scope) == BP_OK);
    return threads;
}

static int product_of_a_plan(void) {
    bp_plan *plan;
    bp_view a, b, c;
    bp_view_matrix(&a, left, BP_F64, N, N);
    bp_view_matrix(&b, right, BP_F64, N, N);
    bp_view_matrix(&c, exact, BP_F64, N, N);
    bp_plan_info info = {.struct_size = sizeof info};
    REQUIRE(bp_matmul_plan(&plan, NULL, &a.tensor, &b.tensor, &c.tensor) == BP_OK);
    REQUIRE(bp_plan_describe(plan, &info) == BP_OK);
    bp_plan_release(plan);
    return info.threads;
}

/* Returns 1 if the explanation states the reason for one thread. */
static int explained(void) {
    bp_explanation *explanation;
    bp_view a, b, c;
    bp_view_matrix(&a, left, BP_F64, N, N);
    bp_view_matrix(&b, right, BP_F64, N, N);
    bp_view_matrix(&c, exact, BP_F64, N, N);
    REQUIRE(bp_matmul_explain(&explanation, NULL, &a.tensor, &b.tensor, &c.tensor) == BP_OK);
    int says = strstr(bp_explanation_text(explanation), "inside a parallel region of OpenMP") != NULL;
    bp_explanation_release(explanation);
    return says;
}

/* ---- Tests: each runs in a child process, with exit status 0 for success ---- */

static void loaded_before_the_first_call(int runtime) {
    void *handle = load(runtime);
    in_region(handle, whole_product, 1);
    in_region(handle, norm, 1);
    in_region(handle, explained, 1);
    REQUIRE(is_many(whole_product()));
    REQUIRE(is_many(norm()));
    REQUIRE(explained() == 0);
    in_region(handle, whole_product, 1); /* both plans are in thread caches */
    in_region(handle, norm, 1);
    REQUIRE(is_many(whole_product()));
}

static void first_met_by_a_plan(int runtime) {
    void *handle = load(runtime);
    in_region(handle, product_of_a_plan, 1);
    REQUIRE(is_many(product_of_a_plan()));
}

/* A thread with earlier calls detects the runtime when it makes its next plan. */
static void loaded_after_the_first_call(int runtime) {
    REQUIRE(is_many(whole_product()));
    in_region(load(runtime), new_product, 1);
    REQUIRE(is_many(new_product()));
    REQUIRE(is_many(whole_product()));
}

static void user_sets_all_cores(int runtime) {
    void *handle = load(runtime);
    in_region(handle, whole_product, 1);
    in_region(handle, product_with_scope, 2);
    REQUIRE(bp_set_num_threads(0) == BP_OK); /* every core, set by the user */
    in_region(handle, whole_product, MANY);
    REQUIRE(bp_set_num_threads(2) == BP_OK);
    in_region(handle, whole_product, 2);
    REQUIRE(bp_unset("num_threads") == BP_OK);
    in_region(handle, whole_product, 1);
}

/* Two copies of LLVM's runtime end the process if both start, so that checking must start neither. */
static void runtimes_side_by_side(int runtime) {
    void *handle = load(runtime), *others[RUNTIMES];
    for (int i = 0; i < RUNTIMES; i++) {
        others[i] = load(i);
    }
    in_region(handle, whole_product, 1);
    REQUIRE(is_many(whole_product()));
    if (runtime != GOMP && others[GOMP]) {
        in_region(others[GOMP], whole_product, 1);
    }
}

static int run_in_child(void (*test)(int runtime), int runtime) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(250);
        test(runtime);
        exit(0); /* so that a runtime removes its file in /dev/shm */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Loading a runtime here would leave it in all children. */
static void is_installed(int runtime) {
    _exit(load(runtime) ? 0 : 2);
}

static void with_each_runtime(void (*test)(int runtime)) {
    int tested = 0;
    for (int i = 0; i < RUNTIMES; i++) {
        if (run_in_child(is_installed, i) == 2) {
            print_message("%s is not installed, and not tested\n", runtimes[i]);
            continue;
        }
        int failure = run_in_child(test, i);
        if (failure != 0) {
            fail_msg("with %s: %d", runtimes[i], failure);
        }
        tested++;
    }
    if (tested == 0) {
        skip();
    }
}

static void before_the_first_call(void **state) {
    (void)state;
    with_each_runtime(loaded_before_the_first_call);
}

static void in_the_first_plan(void **state) {
    (void)state;
    with_each_runtime(first_met_by_a_plan);
}

static void after_the_first_call(void **state) {
    (void)state;
    with_each_runtime(loaded_after_the_first_call);
}

static void the_users_setting_takes_precedence(void **state) {
    (void)state;
    with_each_runtime(user_sets_all_cores);
}

static void several_runtimes_are_not_started(void **state) {
    (void)state;
    with_each_runtime(runtimes_side_by_side);
}

static int fill(void **state) {
    (void)state;
    setenv("BACKPLANE_BLAS_PREFERRED", "native", 1);
    setenv("BACKPLANE_LINALG_PREFERRED", "native", 1);
    static const char *const limits[] = {"OMP_NUM_THREADS",  "OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS",
                                         "GOTO_NUM_THREADS", "MKL_NUM_THREADS",  "BLIS_NUM_THREADS"};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        unsetenv(limits[i]);
    }
    bp_machine_info machine = {.struct_size = sizeof machine};
    if (bp_machine(&machine) != BP_OK) {
        return -1;
    }
    cpus = machine.usable_cpus;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            left[i * N + j] = (i + j) % 7 - 3;
            right[i * N + j] = (i + 2 * j) % 5 - 2; /* small integers, so that sums are exact */
        }
    }
    for (int i = 0; i < N * N; i++) {
        for (int k = 0; k < N; k++) {
            exact[i] += left[i / N * N + k] * right[k * N + i % N];
        }
    }
    for (int i = 0; i < SIDE * SIDE; i++) {
        tall[i] = 1;
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_first_call),
        cmocka_unit_test(in_the_first_plan),
        cmocka_unit_test(after_the_first_call),
        cmocka_unit_test(the_users_setting_takes_precedence),
        cmocka_unit_test(several_runtimes_are_not_started),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
