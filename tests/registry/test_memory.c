/* test_memory.c - lets every allocation of the registry fail once: the call reports it, nothing leaks, and the next one
 * works. */
#include "registry/support_registry.h"

#include "support/failing.h"

static void use_registry(bp_status *status) {
    const bp_library_info *row;
    bp_library_info info = {.struct_size = sizeof info};
    void *handle;
    *status = bp_library_find("openblas", &info);
    if (*status == BP_OK) {
        row = bp__library_lookup("openblas");
        *status = row ? bp__library_open(row, &handle) : BP_E_NO_MEMORY;
    }
    if (*status == BP_OK) {
        *status = bp_library_find("absent", &info) == BP_E_NOT_FOUND ? BP_OK : bp_last_status();
    }
}

static void sweep(const char *cache, int64_t step) {
    bp_status status = BP_E_NO_MEMORY;
    for (int64_t allowed = 0; status != BP_OK; allowed += step) {
        test_end_of_failures();
        restart(FAKES "/marked", cache);
        test_fail_allocations(allowed, false);
        use_registry(&status);
        assert_true(status == BP_OK || status == BP_E_NO_MEMORY);
        assert_true(allowed < 100000);
    }
    test_end_of_failures();
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp__live_blocks(), 0);
}

static void test_warm(void **state) {
    (void)state;
    char cache[4096];
    bp_status status;
    snprintf(cache, sizeof cache, "%s", make_folder());
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set_allocator(&test_failing_allocator), BP_OK);
    restart(FAKES "/marked", cache);
    use_registry(&status);
    assert_int_equal(status, BP_OK);
    sweep(cache, 1);
    sweep(NULL, 23); /* each step probes, so a sample of the steps is enough */
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
    forget_folder(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_warm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
