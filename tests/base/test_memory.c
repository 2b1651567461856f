/* test_memory.c - tests memory functions: alignment, overflow, block counts, and the host program's allocator. */
#include "base/support_base.h"

#include <pthread.h>

static void blocks_are_counted(void **state) {
    (void)state;
    void *a = bp__alloc(0), *b = bp__alloc_zero(3, 5);
    assert_non_null(a);
    assert_memory_equal(b, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 15);
    char *text = bp__strdup("word");
    assert_int_equal(bp__live_blocks(), 3);
    text = bp__realloc(text, 1000);
    assert_string_equal(text, "word");
    assert_int_equal(bp__live_blocks(), 3);
    void *c = bp__realloc(NULL, 8);
    assert_int_equal(bp__live_blocks(), 4);
    bp__free(NULL);
    bp__free(a);
    bp__free(b);
    bp__free(c);
    bp__free(text);
    assert_int_equal(bp__live_blocks(), 0);
}

static void overflow_returns_null(void **state) {
    (void)state;
    assert_null(bp__alloc_zero(SIZE_MAX / 2, 3));
    assert_null(bp__alloc_aligned(SIZE_MAX - 3));
    assert_int_equal(bp__live_blocks(), 0);
}

static void aligned_blocks_are_aligned(void **state) {
    (void)state;
    for (size_t size = 0; size < 300; size += 7) {
        char *block = bp__alloc_aligned(size);
        assert_int_equal((uintptr_t)block % 64, 0);
        memset(block, 1, size);
        bp__free_aligned(block);
    }
    bp__free_aligned(NULL);
    assert_int_equal(bp__live_blocks(), 0);
}

static void a_failing_allocator_is_survived(void **state) {
    (void)state;
    failing_allocator(1);
    char *kept = bp__alloc(10);
    strcpy(kept, "still");
    assert_null(bp__alloc(10));
    assert_null(bp__alloc_zero(1, 10));
    assert_null(bp__alloc_aligned(10));
    assert_null(bp__strdup("x"));
    assert_null(bp__alloc(0));
    assert_null(bp__realloc(kept, 0)); /* the host program's functions never get a size of zero */
    assert_null(bp__realloc(kept, 100));
    assert_string_equal(kept, "still");
    assert_int_equal(bp__live_blocks(), 1);
    assert_int_equal(bp_set_allocator(NULL), BP_E_BUSY);
    assert_contains(bp_last_error(), "1 block");
    bp__free(kept);
    calm_allocator();
}

static void an_incomplete_allocator_is_refused(void **state) {
    (void)state;
    const bp_allocator empty = {0};
    assert_int_equal(bp_set_allocator(&empty), BP_E_ARGUMENT);
    void *block = bp__alloc(1); /* from the old allocator */
    assert_non_null(block);
    bp__free(block);
}

static void *churn(void *user) {
    (void)user;
    for (int i = 0; i < 5000; i++) {
        bp__free(bp__alloc(16));
    }
    return NULL;
}

/* The allocator may change whenever no block is allocated, also between two steps of other threads. */
static void replacing_while_allocating(void **state) {
    (void)state;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, churn, NULL), 0);
    }
    for (int i = 0; i < 1000; i++) {
        bp_status status = bp_set_allocator(NULL);
        assert_true(status == BP_OK || status == BP_E_BUSY);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(bp__live_blocks(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_counted),
        cmocka_unit_test(overflow_returns_null),
        cmocka_unit_test(aligned_blocks_are_aligned),
        cmocka_unit_test(a_failing_allocator_is_survived),
        cmocka_unit_test(an_incomplete_allocator_is_refused),
        cmocka_unit_test(replacing_while_allocating),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
