/* test_lifetime.c - lifetimes of plans: a refused reset, plans that are dropped while they run, and plans whose
 * destruction takes long while other threads compute and fork. */
#include "backplane.h"

#include "gate.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static double x[64], y[64];

static bp_status multiply_into(double *z, int64_t n) {
    bp_view a, b, c;
    bp_view_matrix(&a, x, BP_F64, n, n);
    bp_view_matrix(&b, y, BP_F64, n, n);
    bp_view_matrix(&c, z, BP_F64, n, n);
    return bp_matmul(&a.tensor, &b.tensor, &c.tensor);
}

static bp_plan *held_plan(int64_t n) {
    bp_view a, c;
    bp_plan *plan;
    bp_view_matrix(&a, x, BP_F64, n, n);
    bp_view_matrix(&c, NULL, BP_F64, n, n);
    assert_int_equal(bp_matmul_plan(&plan, NULL, &a.tensor, &a.tensor, &c.tensor), BP_OK);
    return plan;
}

/* Fills memory before it is freed, so that use after free is detected. */
static void *allocate(void *user, size_t size) {
    (void)user;
    return malloc(size);
}

static void *reallocate(void *user, void *old, size_t size) {
    (void)user;
    return realloc(old, size);
}

static void release_filled(void *user, void *block) {
    (void)user;
    if (block) {
        memset(block, 0xDD, malloc_usable_size(block));
    }
    free(block);
}

static const bp_allocator filling = {.allocate = allocate, .reallocate = reallocate, .release = release_filled};

/* ---- A refused reset ---- */

static pthread_barrier_t barrier;
static uint64_t runs_seen;

static void *multiply_around_a_reset(void *unused) {
    double z[16];
    bp_plan_info info = {.struct_size = sizeof info};
    bp_status status = multiply_into(z, 2);
    status = status == BP_OK ? multiply_into(z, 2) : status;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* the reset is refused */
    status = status == BP_OK ? multiply_into(z, 2) : status;
    status = status == BP_OK ? bp_last_plan(&info) : status;
    runs_seen = info.runs;
    return status == BP_OK ? unused : &barrier;
}

static void a_refused_reset_changes_nothing(void **state) {
    (void)state;
    pthread_t thread;
    void *wrong;
    assert_int_equal(bp_set_allocator(&filling), BP_OK);
    assert_int_equal(bp_set_blas_preferred("native"), BP_OK);
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, multiply_around_a_reset, NULL), 0);
    pthread_barrier_wait(&barrier);
    bp_plan *plan = held_plan(3);
    bp_plan_cache_info before = {.struct_size = sizeof before}, after = before;
    assert_int_equal(bp_plan_cache_stats(&before), BP_OK);
    assert_int_equal(bp_reset(), BP_E_BUSY);
    assert_non_null(strstr(bp_last_error(), "1 plan is still held"));
    assert_int_equal(bp_plan_cache_stats(&after), BP_OK);
    assert_int_equal(before.size, 2);
    assert_int_equal(after.size, before.size);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, &wrong);
    assert_null(wrong);
    assert_int_equal(runs_seen, 3); /* the third call found the plan of the first one */
    pthread_barrier_destroy(&barrier);
    bp_plan_release(plan);
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
}

/* References are counted individually: a plan that was returned twice still has one reference after one release. */
static void every_reference_prevents_a_reset(void **state) {
    (void)state;
    bp_plan *first = held_plan(2), *second = held_plan(2), *third;
    assert_ptr_equal(first, second);
    assert_int_equal(bp_plan_cache_at(&third, 0), 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bp_reset(), BP_E_BUSY);
        bp_plan_release(first);
    }
    assert_int_equal(bp_reset(), BP_OK);
}

/* ---- A plan that is dropped while it runs ---- */

enum { OUTER = 128, BATCH = 5, MOST_INNER = 90 };
static bool helps;

/* Computes products of many sizes in the waiting thread, so that they fill every slot of its thread cache. */
static void helping_executor(void *user, int threads, int count, bp_task task, void *context) {
    (void)user, (void)threads;
    static double z[MOST_INNER * MOST_INNER], a[MOST_INNER * MOST_INNER];
    for (int i = 0; i < count; i++) {
        task(context, i);
        for (int64_t n = 2; helps && i == 0 && n < 3 * MOST_INNER; n++) {
            bp_view left, right, c;
            bp_view_matrix(&left, a, BP_F64, 1 + n / 3, 1 + n % 3);
            bp_view_matrix(&right, a, BP_F64, 1 + n % 3, 1);
            bp_view_matrix(&c, z, BP_F64, 1 + n / 3, 1);
            assert_int_equal(bp_matmul(&left.tensor, &right.tensor, &c.tensor), BP_OK);
        }
    }
}

static void a_running_plan_outlives_its_cache_slot(void **state) {
    (void)state;
    assert_int_equal(bp_set_allocator(&filling), BP_OK);
    assert_int_equal(bp_set_plan_cache_max_size(1), BP_OK);
    assert_int_equal(bp_set_blas_preferred("native"), BP_OK);
    assert_int_equal(bp_set_num_threads(2), BP_OK);
    assert_int_equal(bp_set_executor(helping_executor, NULL), BP_OK);
    enum { ELEMENTS = BATCH * OUTER * OUTER };
    const int64_t shape[] = {BATCH, OUTER, OUTER};
    double *memory = calloc((size_t)2 * ELEMENTS, sizeof *memory), *result = memory + ELEMENTS;
    for (int i = 0; i < ELEMENTS; i++) {
        memory[i] = 1;
    }
    bp_view a, c;
    assert_int_equal(bp_view_init(&a, memory, BP_F64, 3, shape, NULL), BP_OK);
    assert_int_equal(bp_view_init(&c, result, BP_F64, 3, shape, NULL), BP_OK);
    for (int turn = 0; turn < 3; turn++) { /* the first call makes the plan, the others find it in the thread cache */
        helps = turn > 0;
        memset(result, 0, ELEMENTS * sizeof *result);
        assert_int_equal(bp_matmul(&a.tensor, &a.tensor, &c.tensor), BP_OK);
        for (int i = 0; i < ELEMENTS; i++) {
            assert_true(result[i] == OUTER);
        }
    }
    assert_int_equal(bp_set_executor(NULL, NULL), BP_OK);
    free(memory);
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
}

/* ---- Plans with slow destruction ---- */

static gate slow;
static atomic_int finished;

static void *multiply_gated(void *unused) {
    double z[16];
    bp_scope *scope;
    bp_status status = bp_scope_enter(&scope, "blas.preferred=gated");
    status = status == BP_OK ? multiply_into(z, 2) : status;
    bp_scope_leave(&scope);
    return status == BP_OK ? unused : &slow;
}

static void *clear_cache(void *unused) {
    bp_plan_cache_clear();
    atomic_fetch_add(&finished, 1);
    return unused;
}

static void *multiply_meanwhile(void *unused) {
    double z[16];
    bp_status status = multiply_into(z, 3);
    pid_t child = status == BP_OK ? fork() : -1;
    if (child == 0) {
        _exit(multiply_into(z, 2) == BP_OK ? 0 : 1);
    }
    int how = 1;
    waitpid(child, &how, 0);
    atomic_fetch_add(&finished, 1);
    return child > 0 && how == 0 ? unused : &slow;
}

/* If the lock were held, the product and the fork would wait for the gate, which opens only after both. */
static void slow_destruction_blocks_no_other_thread(void **state) {
    (void)state;
    pthread_t first, clearing, other;
    void *wrong;
    enum { PAUSES = 50000 }; /* ten seconds: far more than a product and a fork take */
    assert_int_equal(bp_set_dispatch_exclude("unplannable, starving"), BP_OK);
    atomic_store(&finished, 0);
    atomic_store(&slow.waiting, 0);
    offer_gate(&slow);
    assert_int_equal(pthread_create(&first, NULL, multiply_gated, NULL), 0); /* its end frees its thread cache */
    pthread_join(first, &wrong);
    assert_null(wrong);
    atomic_store(&slow.closed, 1);
    assert_int_equal(pthread_create(&clearing, NULL, clear_cache, NULL), 0);
    while (atomic_load(&slow.waiting) == 0) {
        short_pause();
    }
    assert_int_equal(pthread_create(&other, NULL, multiply_meanwhile, NULL), 0);
    for (int i = 0; i < PAUSES && atomic_load(&finished) == 0; i++) {
        short_pause();
    }
    int before_the_gate = atomic_load(&finished);
    atomic_store(&slow.closed, 0);
    pthread_join(clearing, NULL);
    pthread_join(other, &wrong);
    assert_null(wrong);
    assert_int_equal(before_the_gate, 1);
}

static int reset(void **state) {
    (void)state;
    return bp_reset() == BP_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_refused_reset_changes_nothing, reset),
        cmocka_unit_test_setup(every_reference_prevents_a_reset, reset),
        cmocka_unit_test_setup(a_running_plan_outlives_its_cache_slot, reset),
        cmocka_unit_test_setup(slow_destruction_blocks_no_other_thread, reset),
    };
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
    setenv("BACKPLANE_PROVIDER_PATH", BP_TEST_BUILD_DIR "/tests/dispatch-fakes", 1);
    setenv("BACKPLANE_DISPATCH_FALLBACK", "allow", 1);
    return cmocka_run_group_tests(tests, NULL, reset);
}
