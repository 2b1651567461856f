/* test_failures.c - failures of cuDNN and of allocations, versions and libraries that are not supported, children of
 * fork, and a device that is lost. */
#include "cudnn/support_cudnn.h"

#include "support/child.h"
#include "support/failing.h"

/* Each test plans convolutions that no other has planned: `n` items. */
static void begin_case(conv_trial *t, int64_t n) {
    const conv_case c = {
        .dtype = BP_F32, .ndim = 2, .batch = n, .in_channels = 2, .out_channels = 3, .in = {4, 5}, .kernel = {2, 2}};
    make_conv(t, &c);
}

static bp_status run(const conv_trial *t) {
    return run_conv(t, EXACT);
}

static void check_after_failures(conv_trial *t) {
    assert_ok(run(t));
    expect_conv(t);
    free_conv(t);
}

/* ---- The library ---- */

static void failures_of_calls(void **state) {
    static const struct {
        int status;
        bp_status expected;
        const char *text;
    } cases[] = {{BP__CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, BP_E_NO_MEMORY,
                  "library 'cudnn': cudnnBackendExecute (said the double): "
                  "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED (4004)"},
                 {BP__CUDNN_STATUS_EXECUTION_FAILED, BP_E_DEVICE, "CUDNN_STATUS_EXECUTION_FAILED (5000)"},
                 {77, BP_E_DEVICE, "an unknown status (77)"}};
    (void)state;
    conv_trial t;
    begin_case(&t, 2);
    assert_ok(run(&t));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        the_cudnn()->refuse_calls = cases[i].status;
        assert_fails(run(&t), cases[i].expected, cases[i].text);
    }
    the_cudnn()->refuse_calls = 0;
    check_after_failures(&t);
}

/* A graph that no engine runs is refused late. */
static void failures_of_plans(void **state) {
    (void)state;
    conv_trial t;
    begin_case(&t, 3);
    the_cudnn()->refuse_plans = BP__CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED;
    assert_fails(run(&t), BP_E_NO_CANDIDATE, "no engine that the settings permit runs it");
    the_cudnn()->refuse_plans = 0;
    the_cudnn()->refuse_lists = BP__CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
    assert_fails(run(&t), BP_E_NO_CANDIDATE, "CUDNN_STATUS_NOT_SUPPORTED_SHAPE (3002)");
    the_cudnn()->refuse_lists = 0;
    check_after_failures(&t);
}

/* A library without its parts, as where files of two versions are mixed. */
static void a_library_that_makes_no_handle(void **state) {
    (void)state;
    conv_trial t;
    assert_ok(bp_reset());
    begin_case(&t, 4);
    the_cudnn()->refuse_create = BP__CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH;
    assert_fails(run(&t), BP_E_NO_CANDIDATE, "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH (1002)");
    the_cudnn()->refuse_create = 0;
    check_after_failures(&t);
}

static void versions_that_are_not_supported(void **state) {
    static const char *const versions[][2] = {{"version=80907", "it has version"},
                                              {"version=100000", "it has version 10.0.0; version 9 is supported"}};
    (void)state;
    conv_trial t;
    begin_case(&t, 5);
    for (int i = 0; i < 2; i++) {
        setenv("CUDNN_DOUBLE", versions[i][0], 1);
        free_conv(&t);
        assert_ok(bp_reset());
        begin_case(&t, 5);
        assert_fails(run(&t), BP_E_NO_CANDIDATE, versions[i][1]);
    }
    unsetenv("CUDNN_DOUBLE");
    free_conv(&t);
    assert_ok(bp_reset());
}

static void libraries_that_are_absent_or_incomplete(void **state) {
    (void)state;
    conv_trial t;
    assert_ok(restart_with(DOUBLES "/good"));
    begin_case(&t, 6);
    assert_int_equal(run(&t), BP_E_NO_CANDIDATE);
    free_conv(&t);
    assert_ok(restart_with(CUDNN_DOUBLES "/short:" DOUBLES "/good"));
    begin_case(&t, 6);
    assert_fails(run(&t), BP_E_NO_CANDIDATE, "has no function cudnnDestroy; cuDNN 9 is needed");
    free_conv(&t);
    assert_ok(restart_with(CUDNN_DOUBLES "/good:" DOUBLES "/good"));
}

/* ---- The process ---- */

static void allocations_that_fail(void **state) {
    (void)state;
    assert_ok(bp_reset());
    assert_ok(bp_set_allocator(&test_failing_allocator));
    conv_trial t;
    bool failed = true;
    begin_case(&t, 7);
    for (long succeed = 0; failed; succeed++) {
        bp_plan *plan = NULL;
        test_fail_allocations(succeed, false);
        const bp_status status = bp_conv_plan(&plan, NULL, &t.call);
        failed = test_end_of_failures();
        assert_true(status == BP_OK || (failed && status == BP_E_NO_MEMORY));
        bp_plan_release(plan);
    }
    free_conv(&t);
    assert_ok(bp_reset());
    assert_ok(bp_set_allocator(NULL));
}

static int use_in_child(conv_trial *t, bp_plan *plan, const bp_operand *operands) {
    const bool refused = bp_execute(plan, operands, NULL) == BP_E_FORKED && run(t) == BP_E_FORKED;
    bp_plan_release(plan);
    free_conv(t);
    return refused && bp_reset() == BP_OK && the_cudnn()->violations == 0 && the_double()->violations == 0 ? 0 : 1;
}

static void a_child_calls_no_library_of_its_parent(void **state) {
    (void)state;
    conv_trial t;
    bp_operand operands[4];
    begin_case(&t, 8);
    bp_plan *plan = plan_conv(&t, EXACT, operands);
    assert_ok(bp_execute(plan, operands, NULL));
    assert_ok(bp_device_wait(cuda_place(0)));
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        _exit(use_in_child(&t, plan, operands));
    }
    assert_int_equal(test_end_of_child(child, "convolutions after fork"), 0);
    bp_plan_release(plan);
    check_after_failures(&t);
}

/* An error of a command loses the device, at the call of the library that finds it. The last test: the double's context
 * keeps the error. */
static void a_lost_device(void **state) {
    (void)state;
    conv_trial t;
    begin_case(&t, 9);
    assert_ok(run(&t));
    program_context(0);
    CUstream stream = program_stream(0);
    assert_int_equal(driver()->MemsetD8Async(16, 0, 16, stream), BP__CU_SUCCESS);
    assert_int_equal(driver()->StreamSynchronize(stream), BP__CU_ILLEGAL_ADDRESS);
    assert_fails(run(&t), BP_E_DEVICE, "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    bp_device_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_describe(cuda_place(0), &info));
    assert_int_equal(info.state, BP_DEVICE_LOST);
    (void)driver()->StreamDestroy(stream);
    free_conv(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(failures_of_calls, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(failures_of_plans, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(a_library_that_makes_no_handle, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(versions_that_are_not_supported, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(libraries_that_are_absent_or_incomplete, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(allocations_that_fail, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(a_child_calls_no_library_of_its_parent, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(a_lost_device, begin_cudnn, end_cudnn),
    };
    return cmocka_run_group_tests_name("failures", tests, start_cudnn, stop_cudnn);
}
