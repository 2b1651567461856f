/* test_fork.c - fork during activity: a child can use the library, whatever other threads were doing in it.
 *
 * Cases of a process's first call run in separate processes, so nothing may be called here before them. */
#include "backplane.h"
#include "support/conditions.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static bp_status multiply(void) {
    double in[4] = {1, 2, 3, 4}, out[4];
    bp_view a, c;
    bp_view_matrix(&a, in, BP_F64, 2, 2);
    bp_view_matrix(&c, out, BP_F64, 2, 2);
    bp_status status = bp_matmul(&a.tensor, &a.tensor, &c.tensor);
    return status == BP_OK && (out[0] != 7 || out[3] != 22) ? BP_E_BROKEN : status;
}

static int exit_code(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, 0) != child && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int in_own_process(int (*test)(int which, int number), int which, int number) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(240);
        _exit(test(which, number));
    }
    return exit_code(child);
}

static atomic_int allocations_left;
static atomic_bool in_the_midst, called;

static void pause_here(void) {
    if (atomic_fetch_sub(&allocations_left, 1) == 1) {
        atomic_store(&in_the_midst, true);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); /* long enough for a fork to occur meanwhile */
    }
}

static void *pausing_allocate(void *user, size_t size) {
    (void)user;
    pause_here();
    return malloc(size);
}

static void *pausing_reallocate(void *user, void *old, size_t size) {
    (void)user;
    pause_here();
    return realloc(old, size);
}

static void release(void *user, void *block) {
    (void)user;
    free(block);
}

static bp_status ask_machine(void) {
    bp_machine_info info = {.struct_size = sizeof info};
    return bp_machine(&info);
}

static bp_status ask_setting(void) {
    const char *value;
    return bp_get("num_threads", &value, NULL, NULL);
}

typedef bp_status call(void);
static call *const calls[] = {multiply, ask_machine, ask_setting};

static void *first_call(void *made) {
    (*(call *const *)made)();
    atomic_store(&called, true);
    return NULL;
}

enum { NO_SUCH_ALLOCATION = 77 };

/* Forks while another thread makes the process's first call, at its `number`th allocation; the child must work. */
static int fork_into_first_call(int which, int number) {
    static const bp_allocator pausing = {pausing_allocate, pausing_reallocate, release, NULL};
    pthread_t thread;
    atomic_store(&allocations_left, number);
    if (bp_set_allocator(&pausing) != BP_OK || pthread_create(&thread, NULL, first_call, (void *)&calls[which]) != 0) {
        return 1;
    }
    while (!atomic_load(&in_the_midst) && !atomic_load(&called)) {
        sched_yield();
    }
    if (!atomic_load(&in_the_midst)) {
        return NO_SUCH_ALLOCATION;
    }
    pid_t child = fork();
    if (child == 0) {
        alarm(240);
        _exit(calls[which]() != BP_OK || multiply() != BP_OK);
    }
    int code = exit_code(child);
    pthread_join(thread, NULL);
    return code;
}

static void a_fork_during_the_first_call_works(void **state) {
    (void)state;
    if (!test_may_fork_with_threads()) {
        print_message("skipped: this sanitizer does not follow a fork while another thread works\n");
        skip();
    }
    setenv("BACKPLANE_BLAS_PREFERRED", "native", 1); /* needs no search of the machine */
    for (int which = 0; which < (int)(sizeof calls / sizeof calls[0]); which++) {
        int number = 1, code;
        while ((code = in_own_process(fork_into_first_call, which, number)) == 0) {
            number++;
        }
        assert_int_equal(code, NO_SUCH_ALLOCATION);
        assert_true(number > 1);
    }
    unsetenv("BACKPLANE_BLAS_PREFERRED");
}

static int helpers_started;

static void *forking_allocate(void *user, size_t size) {
    (void)user;
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    helpers_started += exit_code(child) == 0;
    return malloc(size);
}

static void *no_reallocate(void *user, void *old, size_t size) {
    (void)user, (void)old, (void)size;
    return NULL;
}

static int fork_while_gathering(int unused, int unused_too) {
    static const bp_allocator forking = {forking_allocate, no_reallocate, release, NULL};
    (void)unused, (void)unused_too;
    alarm(240);
    return bp_set_allocator(&forking) != BP_OK || ask_machine() != BP_OK || helpers_started == 0;
}

/* The allocator forks, as plugins of hwloc do to start helper programs. */
static void a_fork_inside_a_call_does_not_deadlock(void **state) {
    (void)state;
    assert_int_equal(in_own_process(fork_while_gathering, 0, 0), 0);
}

static void *hold_a_scope(void *user) {
    bp_scope *scope;
    if (bp_scope_enter(&scope, "num_threads=1") == BP_OK) {
        pthread_barrier_wait(user);
        pthread_barrier_wait(user);
        bp_scope_leave(&scope);
    }
    return NULL;
}

/* Scopes of threads that do not exist in the child must not prevent its reset. */
static void a_child_of_fork_can_reset(void **state) {
    (void)state;
    pthread_barrier_t both;
    pthread_t thread;
    assert_int_equal(pthread_barrier_init(&both, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, hold_a_scope, &both), 0);
    pthread_barrier_wait(&both);
    assert_int_equal(bp_reset(), BP_E_BUSY);
    pid_t child = fork();
    if (child == 0) {
        alarm(240);
        _exit(bp_reset() != BP_OK);
    }
    assert_int_equal(exit_code(child), 0);
    pthread_barrier_wait(&both);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&both);
}

static int reset(void **state) {
    (void)state;
    assert_int_equal(bp_reset(), BP_OK);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fork_during_the_first_call_works),
        cmocka_unit_test(a_fork_inside_a_call_does_not_deadlock),
        cmocka_unit_test(a_child_of_fork_can_reset),
    };
    return cmocka_run_group_tests(tests, NULL, reset);
}
