/* test_caches.c - the plan cache of transforms that each CUDA device has: sizes, limits, the order of last use. */
#include "cufft/support_cufft.h"

static bp_plan_cache_info stats(int device) {
    bp_plan_cache_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_fft_plan_cache_stats(cuda_place(device), &info));
    return info;
}

/* Transforms n points on the first device. */
static void transform(int64_t n) {
    fft_case c = {.call = {.struct_size = sizeof c.call, .axis_count = 1}};
    make_fft(&c, BP_FFT, BP_C64, 1, &n, TEST_COMPACT, TEST_COMPACT);
    check_fft(&c, "a transform");
    free_fft(&c);
}

static void empty_caches(void) {
    for (int i = 0; i < 2; i++) {
        assert_ok(bp_device_fft_plan_cache_clear(cuda_place(i)));
        assert_ok(bp_device_set_fft_plan_cache_max_size(cuda_place(i), -1));
    }
}

static void plans_are_counted(void **state) {
    bp_plan_cache_info general = {.struct_size = sizeof general};
    (void)state;
    empty_caches();
    assert_int_equal(stats(0).max_size, 4096);
    const int made = the_cufft()->made;
    assert_ok(bp_device_plan_cache_stats(cuda_place(0), &general));
    const int64_t others = general.size;
    for (int i = 0; i < 3; i++) {
        for (int n = 5; n <= 8; n++) {
            transform(n);
        }
    }
    assert_int_equal(stats(0).size, 4);
    assert_int_equal(stats(1).size, 0);
    assert_int_equal(the_cufft()->made, made + 4);
    assert_ok(bp_device_plan_cache_stats(cuda_place(0), &general)); /* of all other operations */
    assert_int_equal(general.size, others);
    const int plans = the_cufft()->plans;
    assert_ok(bp_device_fft_plan_cache_clear(cuda_place(0)));
    assert_int_equal(stats(0).size, 0);
    assert_int_equal(the_cufft()->plans, plans - 3); /* bp_last_plan() holds one */
}

/* A smaller limit removes the plans that were not used for longest. */
static void limits(void **state) {
    (void)state;
    empty_caches();
    for (int n = 5; n <= 9; n++) {
        transform(n);
    }
    transform(5);
    assert_ok(bp_device_set_fft_plan_cache_max_size(cuda_place(0), 3)); /* 5, 9 and 8 stay */
    assert_int_equal(stats(0).size, 3);
    assert_int_equal(stats(0).max_size, 3);
    int made = the_cufft()->made;
    transform(8);
    transform(9);
    transform(5);
    assert_int_equal(the_cufft()->made, made);
    transform(6); /* in the place of 8 */
    transform(9);
    assert_int_equal(the_cufft()->made, made + 1);
    assert_int_equal(stats(0).size, 3);
    transform(8);
    assert_int_equal(the_cufft()->made, made + 2);
    assert_ok(bp_device_set_fft_plan_cache_max_size(cuda_place(0), 0)); /* nothing is kept */
    made = the_cufft()->made;
    const int plans = the_cufft()->plans - 3 + 1; /* bp_last_plan() holds one */
    for (int i = 0; i < 3; i++) {
        transform(9);
        assert_int_equal(stats(0).size, 0);
    }
    assert_int_equal(the_cufft()->made, made + 3);
    assert_int_equal(the_cufft()->plans, plans);
    empty_caches();
}

/* A device follows the setting unless it has a limit. */
static void the_setting(void **state) {
    (void)state;
    empty_caches();
    assert_ok(bp_device_set_fft_plan_cache_max_size(cuda_place(1), 7));
    assert_ok(bp_set_cuda_cufft_plan_cache_max_size(2));
    assert_int_equal(stats(0).max_size, 2);
    assert_int_equal(stats(1).max_size, 7);
    for (int n = 5; n <= 9; n++) {
        transform(n);
    }
    assert_int_equal(stats(0).size, 2);
    assert_ok(bp_device_set_fft_plan_cache_max_size(cuda_place(1), -1));
    assert_int_equal(stats(1).max_size, 2);
    assert_int_equal(bp_set("cuda.cufft_plan_cache.max_size", "-1"), BP_E_BAD_VALUE);
    assert_ok(bp_set_cuda_cufft_plan_cache_max_size(4096));
    empty_caches();
}

static void errors(void **state) {
    bp_plan_cache_info info = {.struct_size = sizeof info};
    (void)state;
    assert_fails(bp_device_set_fft_plan_cache_max_size(cuda_place(0), -2), BP_E_ARGUMENT,
                 "it must be 0 or more, or -1 for the setting cuda.cufft_plan_cache.max_size");
    assert_fails(bp_device_fft_plan_cache_stats(0, &info), BP_E_ARGUMENT, "the host has two plan caches");
    assert_int_equal(bp_device_fft_plan_cache_stats(99, &info), BP_E_NOT_FOUND);
    assert_int_equal(bp_device_fft_plan_cache_clear(99), BP_E_NOT_FOUND);
    assert_int_equal(bp_device_fft_plan_cache_stats(cuda_place(0), NULL), BP_E_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plans_are_counted, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(limits, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(the_setting, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(errors, begin_cufft, end_cufft),
    };
    return cmocka_run_group_tests_name("caches", tests, start_cufft, stop_cufft);
}
