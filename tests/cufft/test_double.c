/* test_double.c - the double of cuFFT notices mistakes of its user: each is made here, and must be a violation or an
 * error. */
#include "cufft/support_cufft.h"

#include <dlfcn.h>

static bp__cufft_api api;

static int open_double(void **state) {
    if (start_cufft(state) != 0) {
        return -1;
    }
    void *library = dlopen(CUFFT_DOUBLES "/good/libcufft.so.12", RTLD_NOW | RTLD_LOCAL);
#define X(name, symbol, parameters) *(void **)&api.name = dlsym(library, #symbol);
    BP__CUFFT_FUNCTIONS(X)
#undef X
    return api.Exec ? 0 : -1;
}

/* Makes a plan of 10 complex numbers, which needs a workspace. */
static cufftHandle new_plan(void) {
    cufftHandle plan;
    long long n[] = {10};
    size_t size;
    program_context(0);
    assert_int_equal(api.Create(&plan), 0);
    assert_int_equal(api.SetAutoAllocation(plan, 0), 0);
    assert_int_equal(
        api.MakePlanMany(plan, 1, n, n, 1, 10, BP__CUDA_C_32F, n, 1, 10, BP__CUDA_C_32F, 1, &size, BP__CUDA_C_32F), 0);
    assert_true(size > 0);
    return plan;
}

static void expect_violations(int count) {
    assert_int_equal(the_cufft()->violations, count);
    the_cufft()->violations = 0;
}

static void mistakes_in_calls(void **state) {
    (void)state;
    DLManagedTensorVersioned *memory = cuda_bytes(0, 4096, 0);
    char *at = (char *)memory->dl_tensor.data + memory->dl_tensor.byte_offset;
    const cufftHandle plan = new_plan();
    CUstream stream = program_stream(0);
    assert_int_equal(api.Exec(plan, at, at + 1024, -1), BP__CUFFT_NO_WORKSPACE);
    assert_int_equal(api.SetWorkArea(plan, at + 2048 + 8), BP__CUFFT_INVALID_VALUE);
    assert_int_equal(api.SetWorkArea(plan, at + 2048), 0);
    expect_violations(0);
    assert_int_equal(api.Exec(plan, at, at + 1024, -1), 0); /* in no stream */
    assert_int_equal(driver()->CtxSynchronize(), BP__CU_SUCCESS);
    expect_violations(1);
    assert_int_equal(api.SetStream(plan, stream), 0);
    assert_int_equal(api.Exec(plan, at + 4, at + 1024, -1), BP__CUFFT_UNALIGNED_DATA);
    expect_violations(1);
    assert_int_equal(api.SetWorkArea(plan, at + 4096), 0); /* behind the memory */
    assert_int_equal(api.Exec(plan, at, at + 1024, -1), 0);
    assert_int_equal(driver()->StreamSynchronize(stream), BP__CU_SUCCESS);
    expect_violations(1);
    program_context(1);
    assert_int_equal(api.SetStream(plan, stream), BP__CUFFT_INVALID_PLAN);
    expect_violations(1);
    program_context(0);
    assert_int_equal(api.Destroy(plan), 0);
    expect_violations(0);
    assert_int_equal(api.Exec(plan, at, at + 1024, -1), BP__CUFFT_INVALID_PLAN);
    assert_int_equal(api.Destroy(plan), BP__CUFFT_INVALID_PLAN);
    expect_violations(2);
    assert_int_equal(driver()->StreamDestroy(stream), BP__CU_SUCCESS);
    driver()->CtxSetCurrent(NULL);
    free_tensor(memory);
}

static void a_plan_is_destroyed_before_its_graph(void **state) {
    (void)state;
    DLManagedTensorVersioned *memory = cuda_bytes(0, 4096, 0);
    char *at = (char *)memory->dl_tensor.data + memory->dl_tensor.byte_offset;
    const cufftHandle plan = new_plan();
    CUstream stream = program_stream(1);
    CUgraph graph;
    CUgraphExec run;
    assert_int_equal(api.SetStream(plan, stream), 0);
    assert_int_equal(api.SetWorkArea(plan, at + 2048), 0);
    assert_int_equal(driver()->StreamBeginCapture(stream, BP__CU_STREAM_CAPTURE_MODE_RELAXED), BP__CU_SUCCESS);
    assert_int_equal(api.Exec(plan, at, at + 1024, -1), 0);
    assert_int_equal(driver()->StreamEndCapture(stream, &graph), BP__CU_SUCCESS);
    assert_int_equal(driver()->GraphInstantiate(&run, graph, 0), BP__CU_SUCCESS);
    assert_int_equal(driver()->GraphDestroy(graph), BP__CU_SUCCESS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(driver()->GraphLaunch(run, stream), BP__CU_SUCCESS);
        assert_int_equal(driver()->StreamSynchronize(stream), BP__CU_SUCCESS);
        expect_violations(i);
        if (i == 0) {
            assert_int_equal(api.Destroy(plan), 0);
        }
    }
    assert_int_equal(driver()->GraphExecDestroy(run), BP__CU_SUCCESS);
    assert_int_equal(driver()->StreamDestroy(stream), BP__CU_SUCCESS);
    driver()->CtxSetCurrent(NULL);
    free_tensor(memory);
}

static void mistakes_in_plans(void **state) {
    (void)state;
    cufftHandle plan;
    long long n[] = {4, 6}, gap[] = {4, 8}, short_row[] = {4, 5};
    size_t size;
    program_context(0);
    assert_int_equal(api.Create(&plan), 0);
#define MAKE(embed, stride, type, batch)                                                                               \
    api.MakePlanMany(plan, 2, n, embed, stride, 40, type, n, 1, 24, BP__CUDA_C_64F, batch, &size, BP__CUDA_C_64F)
    assert_int_equal(MAKE(gap, 1, BP__CUDA_C_64F, 0), BP__CUFFT_INVALID_VALUE);
    expect_violations(1); /* the library would allocate */
    assert_int_equal(api.SetAutoAllocation(plan, 0), 0);
    assert_int_equal(MAKE(short_row, 1, BP__CUDA_C_64F, 1), BP__CUFFT_INVALID_VALUE);
    assert_int_equal(MAKE(gap, 0, BP__CUDA_C_64F, 1), BP__CUFFT_INVALID_VALUE);
    assert_int_equal(MAKE(gap, 1, BP__CUDA_R_32F, 1), BP__CUFFT_INVALID_VALUE);
    assert_int_equal(MAKE(gap, 1, BP__CUDA_C_64F, 2), 0);
    expect_violations(0);
    assert_int_equal(MAKE(gap, 1, BP__CUDA_C_64F, 2), 0);
    expect_violations(1); /* twice */
    assert_int_equal(api.Destroy(plan), 0);
    driver()->CtxSetCurrent(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(mistakes_in_calls, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(a_plan_is_destroyed_before_its_graph, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(mistakes_in_plans, begin_cufft, end_cufft),
    };
    return cmocka_run_group_tests_name("double", tests, open_double, stop_cufft);
}
