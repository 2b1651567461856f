/* test_warning.c - tests warnings: each reported once, kept without a handler, none lost between threads, no lock held
 * in a child of fork. */
#include "base/support_base.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static int setup(void **state) {
    (void)state;
    bp__warning_reset();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    bp_set_warning_handler(NULL, NULL);
    assert_all_freed();
    return 0;
}

static void the_last_64_are_kept(void **state) {
    (void)state;
    char text[32], expected[32];
    assert_int_equal(bp_warning_at(0, text, sizeof text), 0);
    assert_string_equal(text, "");
    for (int i = 0; i < 100; i++) {
        bp__warn("warning %d", i);
        bp__warn("warning %d", i);
    }
    for (int i = 0; i < 64; i++) {
        snprintf(expected, sizeof expected, "warning %d", i + 36);
        assert_int_equal(bp_warning_at(i, text, sizeof text), 1);
        assert_string_equal(text, expected);
    }
    assert_int_equal(bp_warning_at(64, text, sizeof text), 0);
    assert_int_equal(bp_warning_at(-1, text, sizeof text), 0);
    assert_int_equal(bp_warning_at(0, NULL, 0), 1);
    assert_int_equal(bp_warning_at(0, text, 4), 1);
    assert_string_equal(text, "war");
}

static void count_and_copy(void *user, const char *text) {
    bp__text_addf(user, "%s;", text);
}

static void a_handler_gets_each_once(void **state) {
    (void)state;
    bp__text seen = {0};
    char text[8];
    bp_set_warning_handler(count_and_copy, &seen);
    bp__warn("a");
    bp__warn("b");
    bp__warn("a");
    assert_string_equal(bp__text_get(&seen), "a;b;");
    assert_int_equal(bp_warning_at(0, text, sizeof text), 0);
    bp_set_warning_handler(NULL, NULL);
    bp__warn("a");
    bp__warn("c");
    assert_int_equal(bp_warning_at(0, text, sizeof text), 1);
    assert_string_equal(text, "c");
    bp__text_free(&seen);
}

static void without_memory_warnings_still_reach_the_handler(void **state) {
    (void)state;
    int told = 0;
    for (int n = 0; n < 4; n++) {
        failing_allocator(n);
        bp__warn("kept if it fits");
        told += bp_warning_at(0, NULL, 0);
        assert_all_freed();
        calm_allocator();
    }
    assert_in_range(told, 2, 3);
    failing_allocator(0);
    char buffer[8];
    bp__text seen = {.bytes = buffer, .capacity = sizeof buffer};
    bp_set_warning_handler(count_and_copy, &seen);
    bp__warn("a");
    bp__warn("a"); /* not recorded: reported twice rather than never */
    assert_string_equal(buffer, "a;a;");
    bp_set_warning_handler(NULL, NULL);
    calm_allocator();
}

static void count(void *user, const char *text) {
    (void)text;
    atomic_fetch_add((atomic_int *)user, 1);
}

static void *warn_much(void *user) {
    (void)user;
    for (int i = 0; i < 300; i++) {
        bp__warn("shared %d", i);
        bp_warning_at(i, NULL, 0);
    }
    return NULL;
}

static void threads_report_each_once(void **state) {
    (void)state;
    pthread_t threads[4];
    atomic_int told = 0;
    bp_set_warning_handler(count, &told);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, warn_much, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&told), 300);
}

static void a_forked_child_can_lock(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        bp__warn("in the child");
        bp__fail(BP_E_IO, "%0300d", 1);
        _exit(bp__intern("word") && bp_warning_at(0, NULL, 0) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_64_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_handler_gets_each_once, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_warnings_still_reach_the_handler, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_report_each_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_forked_child_can_lock, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
