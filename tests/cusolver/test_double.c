/* test_double.c - the double of cuSOLVER notices mistakes of its user: each is made here, and must be a violation or an
 * error. */
#include "cusolver/support_cusolver.h"

#include <dlfcn.h>
#include <math.h>

static bp__cusolver_api api;

static int open_double(void **state) {
    if (start_cusolver(state) != 0) {
        return -1;
    }
    void *library = dlopen(CUSOLVER_DOUBLES "/good/libcusolver.so.12", RTLD_NOW | RTLD_LOCAL);
#define X(name, symbol, parameters) *(void **)&api.name = dlsym(library, #symbol);
    BP__CUSOLVER_FUNCTIONS(X)
#undef X
    return api.Getrs ? 0 : -1;
}

static void expect_violations(int count) {
    assert_int_equal(the_cusolver()->violations, count);
    the_cusolver()->violations = 0;
}

/* A handle, parameters and memory of the program. */
typedef struct session {
    cusolverDnHandle_t handle;
    cusolverDnParams_t params;
    CUstream stream;
    DLManagedTensorVersioned *memory;
    char *at; /* a matrix; its info is behind 2048 bytes, its workspace behind 3072 */
} session;

static void begin_session(session *s) {
    s->memory = cuda_bytes(0, 4096, 0);
    s->at = (char *)s->memory->dl_tensor.data + s->memory->dl_tensor.byte_offset;
    program_context(0);
    s->stream = program_stream(0);
    assert_int_equal(api.Create(&s->handle), 0);
    assert_int_equal(api.CreateParams(&s->params), 0);
}

static void end_session(session *s) {
    assert_int_equal(api.DestroyParams(s->params), 0);
    assert_int_equal(api.Destroy(s->handle), 0);
    assert_int_equal(driver()->StreamDestroy(s->stream), BP__CU_SUCCESS);
    driver()->CtxSetCurrent(NULL);
    free_tensor(s->memory);
}

static cusolverStatus_t factor(const session *s, int64_t n, int64_t ld, size_t size, size_t at) {
    return api.Potrf(s->handle, s->params, BP__CUBLAS_FILL_MODE_LOWER, n, BP__CUDA_R_64F, s->at, ld, BP__CUDA_R_64F,
                     s->at + at, size, NULL, 0, (int *)(void *)(s->at + 2048));
}

static void mistakes_in_calls(void **state) {
    (void)state;
    session s;
    size_t device, host;
    begin_session(&s);
    assert_int_equal(api.PotrfSize(s.handle, s.params, 0, 4, BP__CUDA_R_64F, NULL, 3, BP__CUDA_R_64F, &device, &host),
                     BP__CUSOLVER_STATUS_INVALID_VALUE);
    assert_int_equal(api.PotrfSize(s.handle, s.params, 0, 4, BP__CUDA_R_64F, NULL, 4, BP__CUDA_R_64F, &device, &host),
                     0);
    assert_true(device > 0 && host == 0);
    assert_int_equal(factor(&s, 4, 4, device, 3072), 0); /* in no stream */
    assert_int_equal(driver()->CtxSynchronize(), BP__CU_SUCCESS);
    expect_violations(1);
    assert_int_equal(api.SetStream(s.handle, s.stream), 0);
    assert_int_equal(factor(&s, 4, 3, device, 3072), BP__CUSOLVER_STATUS_INVALID_VALUE);
    assert_int_equal(factor(&s, 4, 4, device - 1, 3072), BP__CUSOLVER_STATUS_INVALID_WORKSPACE);
    assert_int_equal(factor(&s, 4, 4, device, 3072 + 8), BP__CUSOLVER_STATUS_INVALID_WORKSPACE);
    the_cusolver()->host_bytes = 8;
    assert_int_equal(factor(&s, 4, 4, device, 3072), BP__CUSOLVER_STATUS_INVALID_WORKSPACE);
    the_cusolver()->host_bytes = 0;
    expect_violations(0);
    assert_int_equal(factor(&s, 4, 4, device, 4096), 0); /* behind the memory */
    assert_int_equal(driver()->StreamSynchronize(s.stream), BP__CU_SUCCESS);
    expect_violations(1);
    program_context(1);
    assert_int_equal(api.SetStream(s.handle, s.stream), BP__CUSOLVER_STATUS_INVALID_VALUE);
    expect_violations(1);
    program_context(0);
    end_session(&s);
    expect_violations(0);
    program_context(0);
    assert_int_equal(api.SetStream(s.handle, NULL), BP__CUSOLVER_STATUS_INVALID_VALUE);
    expect_violations(1);
    driver()->CtxSetCurrent(NULL);
}

static void numbers_that_are_not_finite(void **state) {
    const double values[2] = {1, (double)NAN};
    (void)state;
    session s;
    begin_session(&s);
    memcpy(the_double()->bytes_of((uint64_t)(uintptr_t)s.at, sizeof values), values, sizeof values);
    assert_int_equal(api.SetStream(s.handle, s.stream), 0);
    assert_int_equal(factor(&s, 1, 1, 16, 3072), 0);
    assert_int_equal(driver()->StreamSynchronize(s.stream), BP__CU_SUCCESS);
    expect_violations(0);
    assert_int_equal(factor(&s, 2, 2, 32, 3072), 0);
    assert_int_equal(driver()->StreamSynchronize(s.stream), BP__CU_SUCCESS);
    expect_violations(1);
    end_session(&s);
}

static void pivots_that_are_no_rows(void **state) {
    (void)state;
    session s;
    begin_session(&s); /* all pivots are 0 */
    assert_int_equal(api.SetStream(s.handle, s.stream), 0);
    assert_int_equal(api.Getrs(s.handle, s.params, BP__CUBLAS_OP_N, 2, 1, BP__CUDA_R_64F, s.at, 2,
                               (int64_t *)(void *)(s.at + 1024), BP__CUDA_R_64F, s.at + 512, 2,
                               (int *)(void *)(s.at + 2048)),
                     0);
    assert_int_equal(driver()->StreamSynchronize(s.stream), BP__CU_SUCCESS);
    expect_violations(1);
    end_session(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(mistakes_in_calls, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(numbers_that_are_not_finite, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(pivots_that_are_no_rows, begin_cusolver, end_cusolver),
    };
    return cmocka_run_group_tests_name("double", tests, open_double, stop_cusolver);
}
