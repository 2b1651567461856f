/* test_threads.c - tests threads with their own scopes while the process's values change; mainly for ThreadSanitizer.
 */
#include "settings/support_settings.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 400 };

static const bp_options *shared;

static void *scope_again_and_again(void *user) {
    int number = *(int *)user;
    char outer_text[64], inner_text[64], name[16];
    snprintf(outer_text, sizeof outer_text, "num_threads=%d, blas.preferred=lib%d", number, number);
    snprintf(inner_text, sizeof inner_text, "num_threads=%d", number + 100);
    snprintf(name, sizeof name, "lib%d", number);
    for (int i = 0; i < ROUNDS; i++) {
        bp_scope *outer, *inner, *by_options;
        assert_int_equal(bp_scope_enter(&outer, outer_text), BP_OK);
        assert_int_equal(bp_get_num_threads(), number);
        assert_int_equal(bp_scope_enter(&inner, inner_text), BP_OK);
        assert_int_equal(bp_scope_enter_options(&by_options, shared), BP_OK);
        assert_int_equal(bp_get_num_threads(), number + 100);
        assert_string_equal(bp_get_blas_preferred(), name);
        assert_string_equal(bp_get_dispatch_fallback(), "strict");
        assert_int_equal(bp_scope_leave(i % 2 ? &inner : &outer), BP_OK);
        assert_int_equal(bp_get_num_threads(), i % 2 ? number : number + 100);
        assert_int_equal(bp_scope_leave(i % 2 ? &outer : &inner), BP_OK);
        assert_int_equal(bp_scope_leave(&by_options), BP_OK);
        assert_in_range(bp_get_verbose(), 0, 2);
        const char *value, *where;
        bp_layer layer;
        assert_int_equal(bp_get("deterministic", &value, &layer, &where), BP_OK);
        assert_true((strcmp(value, "off") == 0) == (layer == BP_LAYER_DEFAULT)); /* value and layer are consistent */
        bp_config_error_at(0);
    }
    return NULL;
}

/* A reader that keeps its values while the epoch is unchanged must end with the current ones. */
static void *follow_by_epoch(void *user) {
    uint64_t epoch = 0;
    int64_t verbose = -1;
    while (!atomic_load((atomic_bool *)user)) {
        uint64_t now = bp__settings_epoch();
        if (now != epoch) {
            verbose = bp_get_verbose();
            epoch = now;
        }
    }
    if (bp__settings_epoch() != epoch) {
        verbose = bp_get_verbose();
    }
    assert_int_equal(verbose, bp_get_verbose());
    return NULL;
}

static void scopes_and_process_values_do_not_mix(void **state) {
    (void)state;
    pthread_t threads[THREADS], follower;
    int numbers[THREADS];
    atomic_bool done = false;
    bp_options *options;
    assert_int_equal(bp_options_new(&options, "dispatch.fallback=strict"), BP_OK);
    shared = options;
    reset_settings(); /* so that the threads also compete to read the layers */
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, scope_again_and_again, &numbers[i]), 0);
    }
    assert_int_equal(pthread_create(&follower, NULL, follow_by_epoch, &done), 0);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(bp_set_verbose(i % 3), BP_OK);
        assert_int_equal(i % 2 ? bp_set("deterministic", "run") : bp_unset("deterministic"), BP_OK);
        assert_int_equal(bp_get_num_threads(), 0); /* no scope of another thread */
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    atomic_store(&done, true);
    pthread_join(follower, NULL);
    bp_options_release(options);
}

static void a_forked_child_can_set(void **state) {
    (void)state;
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, "num_threads=2"), BP_OK);
    pid_t child = fork();
    if (child == 0) {
        bool good = bp_set_verbose(2) == BP_OK && bp_get_verbose() == 2 && bp_get_num_threads() == 2 &&
                    bp_scope_leave(&scope) == BP_OK && bp_get_num_threads() == 0;
        _exit(good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
}

static void *hold_a_scope(void *user) {
    pthread_barrier_t *both = user;
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, "num_threads=2"), BP_OK);
    pthread_barrier_wait(both);
    pthread_barrier_wait(both);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    return NULL;
}

/* The other threads' scopes do not exist in the child, so nothing may wait for them. */
static void a_forked_child_has_its_own_scopes_only(void **state) {
    (void)state;
    pthread_barrier_t both;
    pthread_t thread;
    bp_scope *scope;
    assert_int_equal(pthread_barrier_init(&both, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, hold_a_scope, &both), 0);
    assert_int_equal(bp_scope_enter(&scope, "num_threads=3"), BP_OK);
    pthread_barrier_wait(&both);
    assert_int_equal(bp__settings_held(), 1);
    pid_t child = fork();
    if (child == 0) {
        bp__settings_forked();
        bool good = bp__settings_held() == 0 && bp_scope_leave(&scope) == BP_OK && bp__settings_held() == 0;
        _exit(good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(bp__settings_held(), 1);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    pthread_barrier_wait(&both);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&both);
}

static pthread_key_t last_act;

/* A destructor of the host program may run after ours. */
static void open_one_more(void *user) {
    bp_scope *scope;
    (void)user;
    assert_int_equal(bp_scope_enter(&scope, "num_threads=9"), BP_OK);
    assert_int_equal(bp_get_num_threads(), 9);
}

static void *end_in_scopes(void *user) {
    bp_scope *scopes[3];
    bp__call_scope call;
    pthread_setspecific(last_act, user);
    assert_int_equal(bp_scope_enter(&scopes[0], "num_threads=2"), BP_OK);
    assert_int_equal(bp_scope_enter(&scopes[1], "num_threads=3"), BP_OK);
    bp__call_enter(&call, user);
    assert_int_equal(bp_scope_enter(&scopes[2], "verbose=1"), BP_OK);
    assert_int_equal(bp_scope_leave(&scopes[0]), BP_OK);
    assert_int_equal(bp_get_num_threads(), 7);
    memset(&call, 0xAA, sizeof call); /* as after pthread_exit(), which has left the function that held it */
    pthread_exit(NULL);
}

/* A thread that ends with open scopes, and in the middle of a call, frees all of them. */
static void a_thread_that_ends_leaves_its_scopes(void **state) {
    (void)state;
    pthread_t thread;
    bp_options *options;
    assert_int_equal(pthread_key_create(&last_act, open_one_more), 0);
    assert_int_equal(bp_options_new(&options, "num_threads=7"), BP_OK);
    int64_t blocks = bp__live_blocks(), held = bp__settings_held();
    for (int i = 0; i < 100; i++) {
        assert_int_equal(pthread_create(&thread, NULL, end_in_scopes, options), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(bp__settings_held(), held);
        assert_int_equal(bp__live_blocks(), blocks);
    }
    assert_int_equal(pthread_key_delete(last_act), 0);
    bp_options_release(options);
}

static void fork_waits_for_each_mutex(void **state) {
    (void)state;
    bp__settings_fork_lock();
    int settings = pthread_mutex_trylock(&bp__settings_mutex), rows = pthread_mutex_trylock(&bp__table_mutex);
    bp__settings_fork_unlock();
    assert_int_equal(settings, EBUSY);
    assert_int_equal(rows, EBUSY);
    assert_int_equal(pthread_mutex_trylock(&bp__settings_mutex), 0);
    assert_int_equal(pthread_mutex_trylock(&bp__table_mutex), 0);
    pthread_mutex_unlock(&bp__table_mutex);
    pthread_mutex_unlock(&bp__settings_mutex);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scopes_and_process_values_do_not_mix, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(a_forked_child_can_set, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(a_forked_child_has_its_own_scopes_only, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(a_thread_that_ends_leaves_its_scopes, enter_environment, leave_environment),
        cmocka_unit_test_setup_teardown(fork_waits_for_each_mutex, enter_environment, leave_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
