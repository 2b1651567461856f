/* test_error.c - tests statuses and error messages, with several threads and without memory. */
#include "base/support_base.h"

#include <pthread.h>

static void statuses_have_names_and_texts(void **state) {
    (void)state;
    bp_status status;
    int count = 0;
    for (; bp_status_at(count, &status); count++) {
        assert_string_not_equal(bp_status_name(status), "E_?");
        assert_string_not_equal(bp_status_text(status), "unknown status");
    }
    assert_true(count > 30);
    assert_int_equal(bp_status_at(-1, &status), 0);
    assert_int_equal(bp_status_at(0, NULL), 0);
    assert_string_equal(bp_status_name(BP_OK), "OK");
    assert_string_equal(bp_status_name(BP_E_SHAPE), "E_SHAPE");
    assert_string_equal(bp_status_name((bp_status)9999), "E_?");
    assert_string_equal(bp_status_text((bp_status)-1), "unknown status");
    assert_string_equal(bp_version(), BP_VERSION_STRING);
}

static void messages_are_kept(void **state) {
    (void)state;
    assert_int_equal(bp__fail(BP_E_SHAPE, "a: has %d dimensions", 3), BP_E_SHAPE);
    assert_string_equal(bp_last_error(), "a: has 3 dimensions");
    assert_int_equal(bp_last_status(), BP_E_SHAPE);
    bp__fail(BP_E_DTYPE, "while b: %s", bp_last_error());
    assert_string_equal(bp_last_error(), "while b: a: has 3 dimensions");
    assert_int_equal(bp__live_blocks(), 0); /* short messages need no memory */
    assert_int_equal(bp__fail_memory(77, "a plan"), BP_E_NO_MEMORY);
    assert_contains(bp_last_error(), "77");
    assert_contains(bp_last_error(), "a plan");
}

/* Lengths around the limit of in-place messages and around the longest message. */
static void messages_of_every_length(void **state) {
    (void)state;
    static char text[9000];
    const int lengths[] = {0, 1, 110, 111, 112, 113, 500, 8190, 8191, 8192, 8999};
    for (int i = 0; i < BP__COUNT(lengths); i++) {
        memset(text, 'x', sizeof text);
        text[lengths[i]] = '\0';
        bp__error_reset();
        bp__fail(BP_E_IO, "%s", text);
        assert_int_equal(bp__live_blocks(), lengths[i] < 112 ? 0 : 1);
        int kept = lengths[i] > 8191 ? 8191 : lengths[i];
        assert_int_equal(strlen(bp_last_error()), kept);
        if (lengths[i] > 8191) {
            assert_string_equal(bp_last_error() + kept - 4, "x...");
        } else {
            assert_string_equal(bp_last_error(), text);
        }
        bp__fail(BP_E_IO, "%s!", bp_last_error()); /* quotes the previous message */
        assert_int_equal(bp_last_error()[0], lengths[i] > 0 ? 'x' : '!');
    }
    assert_all_freed();
    assert_int_equal(bp_last_status(), BP_E_IO);
    assert_string_equal(bp_last_error(), bp_status_text(BP_E_IO));
}

static void status_survives_lack_of_memory(void **state) {
    (void)state;
    failing_allocator(0);
    bp__fail(BP_E_OVERLAP, "%0300d", 7);
    assert_int_equal(bp_last_status(), BP_E_OVERLAP);
    assert_int_equal(strlen(bp_last_error()), 111);
    assert_string_equal(bp_last_error() + 108, "...");
    calm_allocator();
}

static void errors_can_be_saved_and_restored(void **state) {
    (void)state;
    bp__held_error held;
    for (int length = 50; length <= 500; length += 450) { /* stored in place, and on the heap */
        bp__fail(BP_E_SHAPE, "%0*d", length, 1);
        const char *before = bp_last_error();
        bp__error_hold(&held);
        assert_int_equal(bp_last_status(), BP_OK);
        assert_string_equal(bp_last_error(), "");
        bp__fail(BP_E_IO, "%0400d", 2);
        bp__error_return(&held);
        assert_int_equal(bp_last_status(), BP_E_SHAPE);
        assert_ptr_equal(bp_last_error(), before);
        assert_int_equal(strlen(before), length);
        assert_int_equal(before[length - 1], '1');
    }
    assert_all_freed();
}

static void recovered_failures_leave_no_error(void **state) {
    (void)state;
    bp__held_error held;
    for (int length = 50; length <= 500; length += 450) {
        bp__fail(BP_E_SHAPE, "%0*d", length, 1);
        bp__error_hold(&held);
        bp__fail(BP_E_IO, "%0*d", length, 2);
        assert_int_equal(bp__error_finish(&held, BP_OK), BP_OK);
        assert_int_equal(bp_last_status(), BP_E_SHAPE);
        bp__error_hold(&held);
        bp__fail(BP_E_IO, "%0*d", length, 3);
        assert_int_equal(bp__error_finish(&held, BP_E_IO), BP_E_IO);
        assert_int_equal(bp_last_status(), BP_E_IO);
        assert_int_equal(bp_last_error()[length - 1], '3');
        bp__error_hold(&held);
        assert_int_equal(bp__error_finish(&held, BP_E_FORKED), BP_E_FORKED); /* without a message */
        assert_string_equal(bp_last_error(), bp_status_text(BP_E_FORKED));
    }
    assert_all_freed();
}

static pthread_barrier_t barrier;

static void *fail_at_length(void *user) {
    int length = *(int *)user;
    for (int round = 0; round < 200; round++) {
        bp__fail(BP_E_ARGUMENT, "%0*d", length, round);
        assert_int_equal(strlen(bp_last_error()), length);
        assert_int_equal(strtol(bp_last_error(), NULL, 10), round);
    }
    pthread_barrier_wait(&barrier); /* the main thread frees all long messages */
    pthread_barrier_wait(&barrier);
    assert_string_equal(bp_last_error(), length < 112 ? bp_last_error() : bp_status_text(BP_E_ARGUMENT));
    bp__fail(BP_E_IO, "%0*d", length, 5);
    assert_int_equal(strlen(bp_last_error()), length);
    return NULL;
}

static void threads_have_their_own_errors(void **state) {
    (void)state;
    pthread_t threads[4];
    int lengths[4] = {20, 200, 1000, 5000};
    pthread_barrier_init(&barrier, NULL, 5);
    bp__fail(BP_E_SHAPE, "mine");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, fail_at_length, &lengths[i]), 0);
    }
    pthread_barrier_wait(&barrier);
    assert_int_equal(bp__live_blocks(), 3);
    bp__error_reset();
    assert_int_equal(bp__live_blocks(), 0);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&barrier);
    assert_string_equal(bp_last_error(), "mine");
    assert_int_equal(bp__live_blocks(), 0); /* each thread freed its own when it ended */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_have_names_and_texts),     cmocka_unit_test(messages_are_kept),
        cmocka_unit_test(messages_of_every_length),          cmocka_unit_test(status_survives_lack_of_memory),
        cmocka_unit_test(recovered_failures_leave_no_error), cmocka_unit_test(errors_can_be_saved_and_restored),
        cmocka_unit_test(threads_have_their_own_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
