/* test_failures.c - failures of cuFFT and of allocations, versions and libraries that are not supported, a driver
 * without kernels, children of fork, and a device that is lost. */
#include "cufft/support_cufft.h"

#include "support/child.h"
#include "support/failing.h"

static void begin_case(fft_case *c, int64_t n) {
    *c = (fft_case){.call = {.struct_size = sizeof c->call, .axis_count = 1}};
    make_fft(c, BP_FFT, BP_C64, 1, &n, TEST_COMPACT, TEST_COMPACT);
}

static bp_status run(const fft_case *c) {
    DLTensor out = c->device_out.tensor;
    const bp_status status = bp_fft_run(NULL, &c->call, &c->device_in.tensor, &out);
    return status == BP_OK ? bp_device_wait(cuda_place(0)) : status;
}

/* ---- The library ---- */

static void failures_of_calls(void **state) {
    static const struct {
        int status;
        bp_status expected;
        const char *text;
    } cases[] = {{BP__CUFFT_ALLOC_FAILED, BP_E_NO_MEMORY, "library 'cufft': cufftXtExec: CUFFT_ALLOC_FAILED (2)"},
                 {BP__CUFFT_EXEC_FAILED, BP_E_DEVICE, "CUFFT_EXEC_FAILED (6)"},
                 {77, BP_E_DEVICE, "an unknown status (77)"}};
    (void)state;
    fft_case c;
    begin_case(&c, 20);
    assert_ok(run(&c));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        the_cufft()->refuse_calls = cases[i].status;
        assert_fails(run(&c), cases[i].expected, cases[i].text);
    }
    the_cufft()->refuse_calls = 0;
    check_fft(&c, "after failures");
    free_fft(&c);
}

/* Each test plans transforms that no other has planned. */
static void failures_of_plans(void **state) {
    (void)state;
    fft_case c;
    begin_case(&c, 21);
    the_cufft()->refuse_plans = BP__CUFFT_INVALID_SIZE; /* a late refusal */
    assert_int_equal(run(&c), BP_E_NO_CANDIDATE);
    the_cufft()->refuse_plans = BP__CUFFT_ALLOC_FAILED;
    assert_fails(run(&c), BP_E_NO_MEMORY, "cufftXtMakePlanMany: CUFFT_ALLOC_FAILED (2)");
    the_cufft()->refuse_plans = 0;
    check_fft(&c, "after failures");
    free_fft(&c);
}

static void versions_that_are_not_supported(void **state) {
    static const char *const versions[][2] = {{"version=10900", "it has version 10.9.0"},
                                              {"version=13000", "it has version 13.0.0"}};
    (void)state;
    fft_case c;
    begin_case(&c, 22);
    for (int i = 0; i < 2; i++) {
        setenv("CUFFT_DOUBLE", versions[i][0], 1);
        free_fft(&c);
        assert_ok(bp_reset());
        begin_case(&c, 22);
        assert_fails(run(&c), BP_E_NO_CANDIDATE, versions[i][1]);
    }
    unsetenv("CUFFT_DOUBLE");
    free_fft(&c);
    assert_ok(bp_reset());
}

static void libraries_that_are_absent_or_incomplete(void **state) {
    (void)state;
    fft_case c;
    assert_ok(restart_with(DOUBLES "/good"));
    begin_case(&c, 23);
    assert_int_equal(run(&c), BP_E_NO_CANDIDATE);
    free_fft(&c);
    assert_ok(restart_with(CUFFT_DOUBLES "/short:" DOUBLES "/good"));
    begin_case(&c, 23);
    assert_fails(run(&c), BP_E_NO_CANDIDATE, "has no function cufftDestroy; a library of CUDA 12 or 13 is needed");
    free_fft(&c);
    assert_ok(restart_with(CUFFT_DOUBLES "/good:" DOUBLES "/good"));
}

/* A driver that loads no kernels runs transforms that copy nothing. */
static void a_driver_without_kernels(void **state) {
    (void)state;
    fft_case c;
    assert_ok(bp_reset());
    the_double()->refuse_modules = true;
    begin_case(&c, 24);
    check_fft(&c, "without kernels");
    c.call.transform = BP_IFFT; /* scaled */
    assert_fails(run(&c), BP_E_NO_CANDIDATE, "the driver has not loaded the kernels that copy and scale");
    free_fft(&c);
    the_double()->refuse_modules = false;
    assert_ok(bp_reset());
}

/* ---- The process ---- */

static void allocations_that_fail(void **state) {
    (void)state;
    assert_ok(bp_reset());
    assert_ok(bp_set_allocator(&test_failing_allocator));
    fft_case c;
    bool failed = true;
    begin_case(&c, 25);
    for (long succeed = 0; failed; succeed++) {
        bp_plan *plan = NULL;
        test_fail_allocations(succeed, false);
        const bp_status status = bp_fft_plan(&plan, NULL, &c.call, &c.device_in.tensor, &c.device_out.tensor);
        failed = test_end_of_failures();
        assert_true(status == BP_OK || (failed && status == BP_E_NO_MEMORY));
        bp_plan_release(plan);
    }
    free_fft(&c);
    assert_ok(bp_reset());
    assert_ok(bp_set_allocator(NULL));
}

static int use_in_child(fft_case *c, bp_plan *plan, const bp_operand *operands) {
    const bool refused = bp_execute(plan, operands, NULL) == BP_E_FORKED && run(c) == BP_E_FORKED;
    bp_plan_release(plan);
    free_fft(c);
    return refused && bp_reset() == BP_OK && the_cufft()->violations == 0 && the_double()->violations == 0 ? 0 : 1;
}

static void a_child_calls_no_library_of_its_parent(void **state) {
    (void)state;
    fft_case c;
    bp_operand operands[2];
    begin_case(&c, 26);
    bp_plan *plan = plan_fft(&c, "num_threads=1", operands);
    assert_ok(bp_execute(plan, operands, NULL));
    assert_ok(bp_device_wait(cuda_place(0)));
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        _exit(use_in_child(&c, plan, operands));
    }
    assert_int_equal(test_end_of_child(child, "transforms after fork"), 0);
    check_fft(&c, "in the parent");
    bp_plan_release(plan);
    free_fft(&c);
}

/* An error of a command loses the device, at the call of the library that finds it. The last test: the double's context
 * keeps the error. */
static void a_lost_device(void **state) {
    (void)state;
    fft_case c;
    begin_case(&c, 27);
    assert_ok(run(&c));
    program_context(0);
    CUstream stream = program_stream(0);
    assert_int_equal(driver()->MemsetD8Async(16, 0, 16, stream), BP__CU_SUCCESS);
    assert_int_equal(driver()->StreamSynchronize(stream), BP__CU_ILLEGAL_ADDRESS);
    assert_fails(run(&c), BP_E_DEVICE, "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    bp_device_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_describe(cuda_place(0), &info));
    assert_int_equal(info.state, BP_DEVICE_LOST);
    (void)driver()->StreamDestroy(stream);
    free_fft(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(failures_of_calls, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(failures_of_plans, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(versions_that_are_not_supported, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(libraries_that_are_absent_or_incomplete, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(a_driver_without_kernels, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(allocations_that_fail, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(a_child_calls_no_library_of_its_parent, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(a_lost_device, begin_cufft, end_cufft),
    };
    return cmocka_run_group_tests_name("failures", tests, start_cufft, stop_cufft);
}
