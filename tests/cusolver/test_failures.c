/* test_failures.c - failures of cuSOLVER and of allocations, versions and libraries that are not supported, a driver
 * without kernels, children of fork, and a device that is lost. */
#include "cusolver/support_cusolver.h"

#include "support/child.h"
#include "support/failing.h"

static void begin_case(linalg_case *c, int64_t n) {
    *c = new_case(BP_OP_CHOLESKY, BP_F32);
    make_definite(add_input(c, 2, I64(n, n), TEST_COMPACT));
    put_case(c, TEST_COMPACT, 2);
}

/* ---- The library ---- */

static void failures_of_calls(void **state) {
    static const struct {
        int status;
        bp_status expected;
        const char *text;
    } cases[] = {{BP__CUSOLVER_STATUS_ALLOC_FAILED, BP_E_NO_MEMORY,
                  "library 'cusolver': cusolverDnXpotrf: CUSOLVER_STATUS_ALLOC_FAILED (2)"},
                 {BP__CUSOLVER_STATUS_EXECUTION_FAILED, BP_E_DEVICE, "CUSOLVER_STATUS_EXECUTION_FAILED (6)"},
                 {77, BP_E_DEVICE, "an unknown status (77)"}};
    (void)state;
    linalg_case c;
    begin_case(&c, 20);
    assert_ok(run_case(&c));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        the_cusolver()->refuse_call = cases[i].status;
        assert_fails(run_case(&c), cases[i].expected, cases[i].text);
    }
    the_cusolver()->refuse_call = 0;
    check_case(&c, "after failures");
    free_case(&c);
}

/* Each test plans matrices that no other has planned. */
static void failures_of_plans(void **state) {
    (void)state;
    linalg_case c;
    begin_case(&c, 21);
    the_cusolver()->refuse_size = BP__CUSOLVER_STATUS_NOT_SUPPORTED; /* a late refusal */
    assert_int_equal(run_case(&c), BP_E_NO_CANDIDATE);
    the_cusolver()->refuse_size = BP__CUSOLVER_STATUS_INVALID_VALUE; /* the size is too large */
    assert_fails(run_case(&c), BP_E_NO_CANDIDATE, "no workspace for matrices of this size");
    the_cusolver()->refuse_size = BP__CUSOLVER_STATUS_ALLOC_FAILED;
    assert_fails(run_case(&c), BP_E_NO_MEMORY, "the size of a workspace: CUSOLVER_STATUS_ALLOC_FAILED (2)");
    the_cusolver()->refuse_size = 0;
    check_case(&c, "after failures");
    free_case(&c);
}

static void a_handle_that_is_not_made(void **state) {
    (void)state;
    linalg_case c;
    assert_ok(bp_reset());
    begin_case(&c, 22);
    the_cusolver()->refuse_make = BP__CUSOLVER_STATUS_ALLOC_FAILED;
    assert_fails(run_case(&c), BP_E_NO_MEMORY, "cusolverDnCreate: CUSOLVER_STATUS_ALLOC_FAILED (2)");
    the_cusolver()->refuse_make = 0;
    check_case(&c, "after a failure");
    free_case(&c);
}

static void versions_that_are_not_supported(void **state) {
    static const char *const versions[][2] = {{"version=10300", "it has version 10.3.0"},
                                              {"version=13000", "it has version 13.0.0"}};
    (void)state;
    linalg_case c;
    begin_case(&c, 22);
    for (int i = 0; i < 2; i++) {
        setenv("CUSOLVER_DOUBLE", versions[i][0], 1);
        free_case(&c);
        assert_ok(bp_reset());
        begin_case(&c, 22);
        assert_fails(run_case(&c), BP_E_NO_CANDIDATE, versions[i][1]);
    }
    unsetenv("CUSOLVER_DOUBLE");
    free_case(&c);
    assert_ok(bp_reset());
}

static void libraries_that_are_absent_or_incomplete(void **state) {
    (void)state;
    linalg_case c;
    assert_ok(restart_with(DOUBLES "/good"));
    begin_case(&c, 23);
    assert_int_equal(run_case(&c), BP_E_NO_CANDIDATE);
    free_case(&c);
    assert_ok(restart_with(CUSOLVER_DOUBLES "/short:" DOUBLES "/good"));
    begin_case(&c, 23);
    assert_fails(run_case(&c), BP_E_NO_CANDIDATE,
                 "has no function cusolverDnDestroy; a library of CUDA 12 or 13 is needed");
    free_case(&c);
    assert_ok(restart_with(CUSOLVER_DOUBLES "/good:" DOUBLES "/good"));
}

static void a_driver_without_kernels(void **state) {
    (void)state;
    linalg_case c;
    assert_ok(bp_reset());
    the_double()->refuse_modules = true;
    begin_case(&c, 24);
    assert_fails(run_case(&c), BP_E_NO_CANDIDATE, "the driver has not loaded the kernels that copy and check matrices");
    free_case(&c);
    the_double()->refuse_modules = false;
    assert_ok(bp_reset());
}

/* ---- The process ---- */

static void allocations_that_fail(void **state) {
    (void)state;
    assert_ok(bp_reset());
    assert_ok(bp_set_allocator(&test_failing_allocator));
    the_cusolver()->host_bytes = 50;
    linalg_case c;
    bool failed = true;
    begin_case(&c, 25);
    for (long succeed = 0; failed; succeed++) {
        bp_plan *plan = NULL;
        test_fail_allocations(succeed, false);
        const bp_status status = bp_linalg_plan(&plan, NULL, device_call(&c));
        failed = test_end_of_failures();
        assert_true(status == BP_OK || (failed && status == BP_E_NO_MEMORY));
        bp_plan_release(plan);
    }
    failed = true;
    for (long succeed = 0; failed; succeed++) {
        test_fail_allocations(succeed, false);
        const bp_status status = bp_linalg_run(NULL, device_call(&c));
        failed = test_end_of_failures();
        assert_true(status == BP_OK || (failed && status == BP_E_NO_MEMORY));
        assert_ok(bp_device_wait(cuda_place(0)));
    }
    free_case(&c);
    assert_ok(bp_reset());
    assert_ok(bp_set_allocator(NULL));
}

static int use_in_child(linalg_case *c, bp_plan *plan, const bp_operand *operands) {
    const bool refused = bp_execute(plan, operands, NULL) == BP_E_FORKED && run_case(c) == BP_E_FORKED;
    bp_plan_release(plan);
    free_case(c);
    return refused && bp_reset() == BP_OK && the_cusolver()->violations == 0 && the_double()->violations == 0 ? 0 : 1;
}

static void a_child_calls_no_library_of_its_parent(void **state) {
    (void)state;
    linalg_case c;
    bp_operand operands[CASE_INPUTS + CASE_OUTPUTS];
    begin_case(&c, 26);
    bp_plan *plan = plan_case(&c, operands);
    assert_ok(bp_execute(plan, operands, NULL));
    assert_ok(bp_device_wait(cuda_place(0)));
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        _exit(use_in_child(&c, plan, operands));
    }
    assert_int_equal(test_end_of_child(child, "linear algebra after fork"), 0);
    check_case(&c, "in the parent");
    bp_plan_release(plan);
    free_case(&c);
}

/* An error of a command loses the device, also for a run that is to be examined. The last test: the double's context
 * keeps the error. */
static void a_lost_device(void **state) {
    (void)state;
    linalg_case c;
    begin_case(&c, 27);
    assert_ok(run_case(&c));
    program_context(0);
    CUstream stream = program_stream(0);
    the_double()->open_gate(false);
    assert_ok(bp_linalg_run(NULL, device_call(&c)));
    assert_int_equal(driver()->MemsetD8Async(16, 0, 16, stream), BP__CU_SUCCESS);
    the_double()->open_gate(true);
    assert_int_equal(driver()->StreamSynchronize(stream), BP__CU_ILLEGAL_ADDRESS);
    assert_fails(run_case(&c), BP_E_DEVICE, "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    bp_device_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_describe(cuda_place(0), &info));
    assert_int_equal(info.state, BP_DEVICE_LOST);
    (void)driver()->StreamDestroy(stream);
    free_case(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(failures_of_calls, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(failures_of_plans, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(a_handle_that_is_not_made, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(versions_that_are_not_supported, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(libraries_that_are_absent_or_incomplete, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(a_driver_without_kernels, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(allocations_that_fail, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(a_child_calls_no_library_of_its_parent, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(a_lost_device, begin_cusolver, end_cusolver),
    };
    return cmocka_run_group_tests_name("failures", tests, start_cusolver, stop_cusolver);
}
