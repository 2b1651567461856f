/* test_small_stack.c - tests that first calls work in a thread whose stack has 32 KiB; the C library's own
 * functions need a part of it. */
#include "registry/support_registry.h"
#include "support/conditions.h"

#include "backplane.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIDE = 40, STACK = 32 << 10, GUARD = 64 << 10 };

static double a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];

static bp_status count_libraries(void) {
    int count;
    return bp_library_count(&count);
}

static bp_status set(void) {
    return bp_set("num_threads", "1");
}

static bp_status read_machine(void) {
    bp_machine_info info = {.struct_size = sizeof info};
    return bp_machine(&info);
}

static bp_status read_provider(void) {
    bp_provider_info info = {.struct_size = sizeof info};
    return bp_provider_at(0, &info) ? BP_OK : BP_E_NOT_FOUND;
}

static bp_status multiply(void) {
    bp_view v[3];
    double *const data[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        bp_view_matrix(&v[i], data[i], BP_F64, SIDE, SIDE);
    }
    return bp_matmul(&v[0].tensor, &v[1].tensor, &v[2].tensor);
}

typedef struct call {
    bp_status (*run)(void);
    bp_status status;
} call;

static void *run(void *user) {
    call *one = user;
    one->status = one->run();
    return NULL;
}

/* A page that cannot be written lies below the stack: a call that needs more ends this program. */
static void expect_ok(bp_status (*function)(void)) {
    call one = {.run = function, .status = BP_E_BUSY};
    pthread_attr_t attributes;
    pthread_t thread;
    restart(NULL, NULL);
    char *memory = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(mprotect(memory, GUARD, PROT_NONE), 0);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, memory + GUARD, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run, &one), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(one.status, BP_OK);
    pthread_attr_destroy(&attributes);
    munmap(memory, GUARD + STACK);
}

static void test_first_calls(void **state) {
    static bp_status (*const calls[])(void) = {set, read_machine, read_provider, count_libraries, multiply};
    (void)state;
    if (test_emulated() || test_sanitized()) {
        skip(); /* frames are larger there */
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        expect_ok(calls[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
