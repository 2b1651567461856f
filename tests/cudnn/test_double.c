/* test_double.c - the double of cuDNN notices mistakes of its user: each is made here, and must be a violation or an
 * error. */
#include "cudnn/support_cudnn.h"

#include <dlfcn.h>

static bp__cudnn_api api;

static int open_double(void **state) {
    if (start_cudnn(state) != 0) {
        return -1;
    }
    void *library = dlopen(CUDNN_DOUBLES "/good/libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
#define X(result, name, symbol, parameters) *(void **)&api.name = dlsym(library, #symbol);
    BP__CUDNN_FUNCTIONS(X)
#undef X
    return api.Execute ? 0 : -1;
}

static void expect_violations(int count) {
    if (the_cudnn()->violations != count) {
        fail_msg("%d violations (%s), not %d", the_cudnn()->violations, the_cudnn()->violation, count);
    }
    the_cudnn()->violations = 0;
}

/* ---- Descriptors ---- */

enum { MOST = 24 };
static cudnnBackendDescriptor_t made[MOST];
static int made_count;

static cudnnBackendDescriptor_t new_descriptor(unsigned type) {
    assert_int_equal(api.DescriptorCreate(type, &made[made_count]), 0);
    return made[made_count++];
}

static void destroy_all(void) {
    while (made_count > 0) {
        assert_int_equal(api.DescriptorDestroy(made[--made_count]), 0);
    }
}

#define SET(of, name, type, count, values)                                                                             \
    api.SetAttribute(of, BP__CUDNN_ATTR_##name, BP__CUDNN_TYPE_##type, count, values)

static cudnnBackendDescriptor_t new_tensor(int64_t uid, const int64_t size[4]) {
    const cudnnBackendDescriptor_t d = new_descriptor(BP__CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const int64_t stride[] = {size[1] * size[2] * size[3], size[2] * size[3], size[3], 1}, alignment = 16;
    const unsigned type = BP__CUDNN_DATA_FLOAT;
    assert_int_equal(SET(d, TENSOR_DATA_TYPE, DATA_TYPE, 1, &type), 0);
    assert_int_equal(SET(d, TENSOR_DIMENSIONS, INT64, 4, size), 0);
    assert_int_equal(SET(d, TENSOR_STRIDES, INT64, 4, stride), 0);
    assert_int_equal(SET(d, TENSOR_UNIQUE_ID, INT64, 1, &uid), 0);
    assert_int_equal(SET(d, TENSOR_BYTE_ALIGNMENT, INT64, 1, &alignment), 0);
    assert_int_equal(api.Finalize(d), 0);
    return d;
}

static cudnnBackendDescriptor_t new_window(void) {
    const cudnnBackendDescriptor_t d = new_descriptor(BP__CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const int64_t two = 2, ones[] = {1, 1}, zeros[] = {0, 0};
    const unsigned type = BP__CUDNN_DATA_FLOAT, mode = BP__CUDNN_CROSS_CORRELATION;
    assert_int_equal(SET(d, CONVOLUTION_COMP_TYPE, DATA_TYPE, 1, &type), 0);
    assert_int_equal(SET(d, CONVOLUTION_CONV_MODE, CONVOLUTION_MODE, 1, &mode), 0);
    assert_int_equal(SET(d, CONVOLUTION_SPATIAL_DIMS, INT64, 1, &two), 0);
    assert_int_equal(SET(d, CONVOLUTION_DILATIONS, INT64, 2, ones), 0);
    assert_int_equal(SET(d, CONVOLUTION_FILTER_STRIDES, INT64, 2, ones), 0);
    assert_int_equal(SET(d, CONVOLUTION_PRE_PADDINGS, INT64, 2, zeros), 0);
    assert_int_equal(SET(d, CONVOLUTION_POST_PADDINGS, INT64, 2, zeros), 0);
    assert_int_equal(api.Finalize(d), 0);
    return d;
}

/* Makes an operation whose result has `rows` rows; the right number is 2. Finalizing it is left to the test. */
static cudnnBackendDescriptor_t new_operation(int64_t rows) {
    const int64_t x[] = {1, 1, 3, 3}, w[] = {1, 1, 2, 2}, y[] = {1, 1, rows, 2};
    const float one = 1, zero = 0;
    cudnnBackendDescriptor_t tensors[] = {new_tensor(1, x), new_tensor(2, w), new_tensor(3, y)}, window = new_window();
    const cudnnBackendDescriptor_t d = new_descriptor(BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    assert_int_equal(SET(d, OPERATION_CONVOLUTION_FORWARD_X, BACKEND_DESCRIPTOR, 1, &tensors[0]), 0);
    assert_int_equal(SET(d, OPERATION_CONVOLUTION_FORWARD_W, BACKEND_DESCRIPTOR, 1, &tensors[1]), 0);
    assert_int_equal(SET(d, OPERATION_CONVOLUTION_FORWARD_Y, BACKEND_DESCRIPTOR, 1, &tensors[2]), 0);
    assert_int_equal(SET(d, OPERATION_CONVOLUTION_FORWARD_CONV_DESC, BACKEND_DESCRIPTOR, 1, &window), 0);
    assert_int_equal(SET(d, OPERATION_CONVOLUTION_FORWARD_ALPHA, FLOAT, 1, &one), 0);
    assert_int_equal(SET(d, OPERATION_CONVOLUTION_FORWARD_BETA, FLOAT, 1, &zero), 0);
    return d;
}

static void mistakes_in_attributes(void **state) {
    (void)state;
    const cudnnBackendDescriptor_t d = new_descriptor(BP__CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const int64_t size[] = {2, 3, 4}, none[] = {2, 0, 4}, stride[] = {12, 4, 1}, uid = 7;
    const unsigned type = BP__CUDNN_DATA_FLOAT;
    assert_int_equal(SET(d, TENSOR_UNIQUE_ID, FLOAT, 1, &uid), BP__CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
    assert_int_equal(SET(d, TENSOR_UNIQUE_ID, INT64, 2, &uid), BP__CUDNN_STATUS_BAD_PARAM);
    assert_int_equal(SET(d, POINTWISE_MODE, POINTWISE_MODE, 1, &type), BP__CUDNN_STATUS_BAD_PARAM);
    assert_int_equal(api.Finalize(d), BP__CUDNN_STATUS_BAD_PARAM); /* it has no type and no sizes */
    expect_violations(4);
    assert_int_equal(SET(d, TENSOR_UNIQUE_ID, INT64, 1, &uid), 0);
    assert_int_equal(SET(d, TENSOR_UNIQUE_ID, INT64, 1, &uid), BP__CUDNN_STATUS_BAD_PARAM);
    expect_violations(1); /* twice */
    assert_int_equal(SET(d, TENSOR_DATA_TYPE, DATA_TYPE, 1, &type), 0);
    assert_int_equal(SET(d, TENSOR_DIMENSIONS, INT64, 3, none), 0);
    assert_int_equal(SET(d, TENSOR_STRIDES, INT64, 3, stride), 0);
    assert_int_equal(SET(d, TENSOR_BYTE_ALIGNMENT, INT64, 1, size), 0);
    assert_int_equal(api.Finalize(d), BP__CUDNN_STATUS_BAD_PARAM); /* a size is 0 */
    expect_violations(1);
    const cudnnBackendDescriptor_t window = new_window();
    assert_int_equal(SET(window, CONVOLUTION_COMP_TYPE, DATA_TYPE, 1, &type), BP__CUDNN_STATUS_BAD_PARAM);
    assert_int_equal(api.Finalize(window), BP__CUDNN_STATUS_BAD_PARAM);
    expect_violations(2); /* after the end */
    destroy_all();
    assert_int_equal(api.Finalize(d), BP__CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    assert_int_equal(api.DescriptorDestroy(d), BP__CUDNN_STATUS_BAD_PARAM);
    expect_violations(2);
}

static void mistakes_in_graphs(void **state) {
    (void)state;
    cudnnBackendDescriptor_t wrong = new_operation(5), right = new_operation(2), window = new_window();
    const cudnnBackendDescriptor_t graph = new_descriptor(BP__CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    assert_int_equal(api.Finalize(wrong), BP__CUDNN_STATUS_BAD_PARAM); /* the sizes do not fit */
    expect_violations(1);
    assert_int_equal(SET(graph, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 1, &right),
                     BP__CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
    assert_int_equal(SET(graph, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 1, &window), BP__CUDNN_STATUS_BAD_PARAM);
    expect_violations(2);
    assert_int_equal(api.Finalize(right), 0);
    assert_int_equal(SET(graph, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 1, &right), 0);
    assert_int_equal(api.Finalize(graph), BP__CUDNN_STATUS_BAD_PARAM); /* it has no handle */
    expect_violations(1);
    destroy_all();
}

/* ---- Calls ---- */

/* Makes the plan of an engine for a graph; `config` is the engine's. */
static cudnnBackendDescriptor_t new_plan(cudnnHandle_t handle, unsigned mode, cudnnBackendDescriptor_t *config) {
    cudnnBackendDescriptor_t operation = new_operation(2);
    cudnnBackendDescriptor_t graph = new_descriptor(BP__CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    const cudnnBackendDescriptor_t list = new_descriptor(BP__CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    const cudnnBackendDescriptor_t plan = new_descriptor(BP__CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    int64_t count;
    assert_int_equal(api.Finalize(operation), 0);
    assert_int_equal(SET(graph, OPERATIONGRAPH_HANDLE, HANDLE, 1, &handle), 0);
    assert_int_equal(SET(graph, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 1, &operation), 0);
    assert_int_equal(api.Finalize(graph), 0);
    assert_int_equal(SET(list, ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1, &graph), 0);
    assert_int_equal(SET(list, ENGINEHEUR_MODE, HEUR_MODE, 1, &mode), 0);
    assert_int_equal(api.Finalize(list), 0);
    *config = new_descriptor(BP__CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    assert_int_equal(
        api.GetAttribute(list, BP__CUDNN_ATTR_ENGINEHEUR_RESULTS, BP__CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, config),
        0);
    assert_int_equal(SET(plan, EXECUTION_PLAN_HANDLE, HANDLE, 1, &handle), 0);
    assert_int_equal(SET(plan, EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR, 1, config), 0);
    return plan;
}

/* Makes the addresses of a call: three tensors of 256 bytes each, and a workspace behind them. */
static cudnnBackendDescriptor_t new_pack(char *at, int64_t tensors, size_t past) {
    const cudnnBackendDescriptor_t pack = new_descriptor(BP__CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    const int64_t uids[] = {1, 2, 3};
    void *pointers[] = {at + past, at + 256, at + 512}, *workspace = at + 768;
    assert_int_equal(SET(pack, VARIANT_PACK_UNIQUE_IDS, INT64, tensors, uids), 0);
    assert_int_equal(SET(pack, VARIANT_PACK_DATA_POINTERS, VOID_PTR, tensors, pointers), 0);
    assert_int_equal(SET(pack, VARIANT_PACK_WORKSPACE, VOID_PTR, 1, &workspace), 0);
    assert_int_equal(api.Finalize(pack), 0);
    return pack;
}

static void mistakes_in_calls(void **state) {
    (void)state;
    DLManagedTensorVersioned *memory = cuda_bytes(0, 4096, 0);
    char *at = (char *)memory->dl_tensor.data + memory->dl_tensor.byte_offset;
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t config;
    program_context(0);
    CUstream stream = program_stream(1);
    assert_int_equal(api.Create(&handle), 0);
    const cudnnBackendDescriptor_t plan = new_plan(handle, BP__CUDNN_HEUR_MODE_FALLBACK, &config);
    const cudnnBackendDescriptor_t pack = new_pack(at, 3, 0);
    assert_int_equal(api.Execute(handle, plan, pack), BP__CUDNN_STATUS_BAD_PARAM); /* the plan is not complete */
    expect_violations(1);
    assert_int_equal(api.Finalize(plan), 0);
    assert_int_equal(api.Execute(handle, plan, pack), 0); /* in no stream */
    assert_int_equal(driver()->CtxSynchronize(), BP__CU_SUCCESS);
    expect_violations(1);
    assert_int_equal(api.SetStream(handle, stream), 0);
    assert_int_equal(api.Execute(handle, plan, new_pack(at, 2, 0)), BP__CUDNN_STATUS_BAD_PARAM);
    assert_int_equal(api.Execute(handle, plan, new_pack(at, 3, 8)), BP__CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
    expect_violations(2);
    assert_int_equal(api.Execute(handle, plan, new_pack(at + 4096 - 768, 3, 0)), 0); /* a workspace behind the memory */
    assert_int_equal(driver()->StreamSynchronize(stream), BP__CU_SUCCESS);
    expect_violations(1);
    program_context(1);
    assert_int_equal(api.Execute(handle, plan, pack), BP__CUDNN_STATUS_BAD_PARAM);
    expect_violations(1);
    program_context(0);
    destroy_all();
    assert_int_equal(api.Execute(handle, plan, pack), BP__CUDNN_STATUS_BAD_PARAM);
    expect_violations(2);
    assert_int_equal(api.Destroy(handle), 0);
    assert_int_equal(api.SetStream(handle, stream), BP__CUDNN_STATUS_BAD_PARAM);
    expect_violations(1);
    assert_int_equal(driver()->StreamDestroy(stream), BP__CU_SUCCESS);
    driver()->CtxSetCurrent(NULL);
    free_tensor(memory);
}

static void a_plan_ends_before_its_graph(void **state) {
    (void)state;
    DLManagedTensorVersioned *memory = cuda_bytes(0, 4096, 0);
    char *at = (char *)memory->dl_tensor.data + memory->dl_tensor.byte_offset;
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t config;
    CUgraph graph;
    CUgraphExec run;
    program_context(0);
    CUstream stream = program_stream(1);
    assert_int_equal(api.Create(&handle), 0);
    const cudnnBackendDescriptor_t plan = new_plan(handle, BP__CUDNN_HEUR_MODE_FALLBACK, &config);
    assert_int_equal(api.Finalize(plan), 0);
    assert_int_equal(api.SetStream(handle, stream), 0);
    assert_int_equal(driver()->StreamBeginCapture(stream, BP__CU_STREAM_CAPTURE_MODE_RELAXED), BP__CU_SUCCESS);
    assert_int_equal(api.Execute(handle, plan, new_pack(at, 3, 0)), 0);
    assert_int_equal(driver()->StreamEndCapture(stream, &graph), BP__CU_SUCCESS);
    assert_int_equal(driver()->GraphInstantiate(&run, graph, 0), BP__CU_SUCCESS);
    assert_int_equal(driver()->GraphDestroy(graph), BP__CU_SUCCESS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(driver()->GraphLaunch(run, stream), BP__CU_SUCCESS);
        assert_int_equal(driver()->StreamSynchronize(stream), BP__CU_SUCCESS);
        expect_violations(i);
        if (i == 0) {
            destroy_all();
        }
    }
    assert_int_equal(driver()->GraphExecDestroy(run), BP__CU_SUCCESS);
    assert_int_equal(api.Destroy(handle), 0);
    assert_int_equal(driver()->StreamDestroy(stream), BP__CU_SUCCESS);
    driver()->CtxSetCurrent(NULL);
    free_tensor(memory);
}

/* The first engine of the first list makes no plan. */
static void engines_that_make_no_plan(void **state) {
    (void)state;
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t config, other;
    int64_t count;
    program_context(0);
    assert_int_equal(api.Create(&handle), 0);
    const cudnnBackendDescriptor_t plan = new_plan(handle, BP__CUDNN_HEUR_MODE_INSTANT, &config);
    assert_int_equal(api.Finalize(plan), BP__CUDNN_STATUS_NOT_SUPPORTED);
    expect_violations(0);
    assert_int_equal(
        api.GetAttribute(plan, BP__CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, BP__CUDNN_TYPE_INT64, 1, &count, &count),
        BP__CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
    expect_violations(1);
    other = new_descriptor(BP__CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    assert_int_equal(
        api.GetAttribute(config, BP__CUDNN_ATTR_ENGINECFG_ENGINE, BP__CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &other),
        BP__CUDNN_STATUS_BAD_PARAM);
    expect_violations(1);
    destroy_all();
    assert_int_equal(api.Destroy(handle), 0);
    driver()->CtxSetCurrent(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(mistakes_in_attributes, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(mistakes_in_graphs, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(mistakes_in_calls, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(a_plan_ends_before_its_graph, begin_cudnn, end_cudnn),
        cmocka_unit_test_setup_teardown(engines_that_make_no_plan, begin_cudnn, end_cudnn),
    };
    return cmocka_run_group_tests_name("double", tests, open_double, stop_cudnn);
}
