/* test_failures.c - failures of cuBLASLt and cuBLAS, and of allocations; versions and libraries that are not supported;
 * a device that is lost. */
#include "cublas/support_squares.h"

#include "support/failing.h"

/* ---- Failures ---- */

static void failures_of_the_libraries(void **state) {
    static const struct {
        int status;
        bp_status expected;
        const char *text;
    } cases[] = {
        {BP__CUBLAS_STATUS_ALLOC_FAILED, BP_E_NO_MEMORY, "CUBLAS_STATUS_ALLOC_FAILED (3)"},
        {BP__CUBLAS_STATUS_EXECUTION_FAILED, BP_E_DEVICE, "CUBLAS_STATUS_EXECUTION_FAILED (13)"},
        {BP__CUBLAS_STATUS_NOT_SUPPORTED, BP_E_UNSUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED (15)"},
        {77, BP_E_DEVICE, "an unknown status (77)"},
    };
    (void)state;
    for (int library = 0; library < 2; library++) {
        cublas_controls *d = library == 0 ? the_lt() : the_classic();
        matrices *m = make_matrices(0, 0);
        bp_plan *plan = make_plan(m, libraries[library]);
        write_matrices(m, NULL);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            d->refuse_products = cases[i].status;
            assert_fails(bp_execute(plan, m->operands, NULL), cases[i].expected, cases[i].text);
            assert_non_null(strstr(bp_last_error(), library == 0 ? "'cublaslt'" : "'cublas'"));
        }
        d->refuse_products = 0;
        assert_ok(bp_execute(plan, m->operands, NULL)); /* nothing has been lost */
        expect_product(m, NULL);
        bp_plan_release(plan);
        free_matrices(m);
    }
}

/* Each test of these plans products that no other has planned. */
static gemm_case fresh_case(int number) {
    return (gemm_case){.dtype = BP_F32, .m = 20 + number, .n = 3, .k = 5, .alpha = {1, 0}};
}

static void failures_of_the_heuristic(void **state) {
    (void)state;
    gemm_case c = fresh_case(0);
    the_lt()->empty_lists = true;
    assert_int_equal(run_gemm(&c, "dispatch.exclude=cublas"), BP_E_NO_CANDIDATE);
    assert_ok(run_gemm(&c, "num_threads=1")); /* by cuBLAS */
    the_lt()->empty_lists = false;
    the_lt()->refuse_lists = BP__CUBLAS_STATUS_NOT_SUPPORTED;
    c = fresh_case(1);
    assert_int_equal(run_gemm(&c, "dispatch.exclude=cublas"), BP_E_NO_CANDIDATE);
}

static void handles_that_cannot_be_made(void **state) {
    (void)state;
    assert_ok(bp_reset()); /* without handles */
    the_lt()->refuse_create = BP__CUBLAS_STATUS_NOT_INITIALIZED;
    the_classic()->refuse_create = BP__CUBLAS_STATUS_NOT_INITIALIZED;
    gemm_case c = fresh_case(2);
    assert_int_equal(run_gemm(&c, "num_threads=1"), BP_E_DEVICE);
    assert_contains(bp_last_error(), "CUBLAS_STATUS_NOT_INITIALIZED (1)");
    the_lt()->refuse_create = 0;
    the_classic()->refuse_create = 0;
    assert_ok(bp_reset());
    assert_ok(run_gemm(&c, "num_threads=1"));
}

static void allocations_that_fail(void **state) {
    (void)state;
    assert_ok(bp_reset());
    assert_ok(bp_set_allocator(&test_failing_allocator));
    matrices *m = make_matrices(0, 0);
    write_matrices(m, NULL);
    for (int library = 0; library < 2; library++) {
        bp_options *options;
        bool failed = true;
        assert_ok(bp_options_new(&options, libraries[library]));
        for (long succeed = 0; failed; succeed++) {
            bp_plan *plan = NULL;
            test_fail_allocations(succeed, false);
            const bp_status status = bp_matmul_plan(&plan, options, tensor_at(m, 0), tensor_at(m, 1), tensor_at(m, 2));
            failed = test_end_of_failures();
            assert_true(status == BP_OK || (failed && status == BP_E_NO_MEMORY));
            bp_plan_release(plan);
        }
        bp_options_release(options);
    }
    free_matrices(m);
    assert_ok(bp_reset());
    assert_ok(bp_set_allocator(NULL));
}

/* ---- Libraries ---- */

static void versions_that_are_not_supported(void **state) {
    static const struct {
        const char *version, *text;
    } cases[] = {{"version=110900", "it has version 11.9.0; versions 12 and 13 are supported"},
                 {"version=140000", "it has version 14.0.0; versions 12 and 13 are supported"}};
    (void)state;
    const gemm_case c = fresh_case(3);
    for (int i = 0; i < 2; i++) {
        setenv("CUBLAS_DOUBLE", cases[i].version, 1);
        assert_ok(bp_reset());
        assert_int_equal(run_gemm(&c, "num_threads=1"), BP_E_NO_CANDIDATE);
        assert_contains(bp_last_error(), cases[i].text);
    }
    setenv("CUBLAS_DOUBLE", "version=120800", 1);
    assert_ok(bp_reset());
    assert_ok(run_gemm(&c, "num_threads=1"));
    assert_int_equal(run_gemm(&c, "cuda.matmul.fp32_precision=bfx9"), BP_E_NO_CANDIDATE);
    assert_contains(bp_last_error(), "bfx9 needs the libraries of CUDA 12.9 or later");
    setenv("CUBLAS_DOUBLE", "version=120900", 1);
    assert_ok(bp_reset());
    assert_ok(run_gemm(&c, "cuda.matmul.fp32_precision=bfx9"));
    unsetenv("CUBLAS_DOUBLE");
    assert_ok(bp_reset());
}

static void libraries_that_are_absent_or_incomplete(void **state) {
    (void)state;
    const gemm_case c = fresh_case(4);
    assert_ok(restart_with(DOUBLES "/good"));
    assert_int_equal(run_gemm(&c, "num_threads=1"), BP_E_NO_CANDIDATE);
    assert_ok(restart_with(CUBLAS_DOUBLES "/short:" DOUBLES "/good"));
    assert_int_equal(run_gemm(&c, "num_threads=1"), BP_E_NO_CANDIDATE);
    assert_contains(bp_last_error(), "has no function cublasLtDestroy; a library of CUDA 12 or 13 is needed");
    assert_ok(restart_with(CUBLAS_DOUBLES "/classic:" DOUBLES "/good"));
    const int before = the_classic()->calls;
    assert_ok(run_gemm(&c, "num_threads=1"));
    assert_int_equal(the_classic()->calls, before + 1);
    assert_ok(restart_with(CUBLAS_DOUBLES "/lt:" CUBLAS_DOUBLES "/classic:" DOUBLES "/good"));
}

/* An error of a command loses the device, at the call of the library that finds it. The last test: the double's context
 * keeps the error. */
static void a_lost_device(void **state) {
    (void)state;
    matrices *m = make_matrices(1, 0);
    bp_plan *plan = make_plan(m, "num_threads=1");
    assert_ok(bp_execute(plan, m->operands, NULL));
    assert_ok(bp_device_wait(cuda_place(1)));
    program_context(1);
    CUstream stream = program_stream(0);
    assert_int_equal(driver()->MemsetD8Async(16, 0, 16, stream), BP__CU_SUCCESS);
    assert_int_equal(driver()->StreamSynchronize(stream), BP__CU_ILLEGAL_ADDRESS);
    assert_fails(bp_execute(plan, m->operands, NULL), BP_E_DEVICE, "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    bp_device_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_describe(cuda_place(1), &info));
    assert_int_equal(info.state, BP_DEVICE_LOST);
    (void)driver()->StreamDestroy(stream);
    bp_plan_release(plan);
    free_matrices(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(failures_of_the_libraries, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(failures_of_the_heuristic, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(handles_that_cannot_be_made, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(allocations_that_fail, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(versions_that_are_not_supported, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(libraries_that_are_absent_or_incomplete, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(a_lost_device, begin_cublas, end_cublas),
    };
    return cmocka_run_group_tests_name("failures", tests, start_cublas, stop_cublas);
}
