/* test_double_attention.c - the double of cuDNN notices mistakes in graphs of attention: each is made here with the
 * provider's own description of a graph, and must be a violation, an error, or a list without engines. */
#include "cudnn/support_cudnn.h"

#include "providers/cudnn/attention.h"

#include <dlfcn.h>

static bp__cudnn_api api;
static cudnnHandle_t handle;

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

static int begin(void **state) {
    const int begun = begin_cudnn(state);
    program_context(0);
    return begun != 0 ? begun : (int)api.Create(&handle);
}

static int end(void **state) {
    const int gone = (int)api.Destroy(handle);
    driver()->CtxSetCurrent(NULL);
    return gone != 0 ? gone : end_cudnn(state);
}

/* ---- Graphs ---- */

static void set(bp__cudnn_tensor *tensor, int64_t heads, int64_t rows, int64_t columns) {
    *tensor = (bp__cudnn_tensor){.type = BP__CUDNN_DATA_HALF,
                                 .ndim = 4,
                                 .size = {2, heads, rows, columns},
                                 .stride = {heads * rows * columns, rows * columns, columns, 1}};
}

static bp__cudnn_attention small_attention(bool backward) {
    bp__cudnn_attention a = {.type = BP__CUDNN_DATA_HALF,
                             .backward = backward,
                             .causal = true,
                             .batch = 2,
                             .heads = 4,
                             .queries = 3,
                             .keys = 5};
    for (int k = 0; k <= backward; k++) {
        const int first = k ? BP_ATTENTION_QUERY_GRADIENT : BP_ATTENTION_QUERY;
        set(&a.tensor[first], 4, 3, 16);
        set(&a.tensor[first + 1], 2, 5, 16);
        set(&a.tensor[first + 2], 2, 5, 8);
        set(&a.tensor[k ? BP_ATTENTION_OUTPUT_GRADIENT : BP_ATTENTION_OUTPUT], 4, 3, 8);
    }
    set(&a.tensor[BP_ATTENTION_LOGSUMEXP], 4, 3, 1);
    set(&a.sums, 4, 3, 1);
    set(&a.total, 4, 3, 16);
    a.tensor[BP_ATTENTION_LOGSUMEXP].type = a.sums.type = a.total.type = BP__CUDNN_DATA_FLOAT;
    return a;
}

static bool count_engine(void *user, const bp__cudnn_graph *graph, const bp__cudnn_engine *engine) {
    (void)graph;
    (void)engine;
    ++*(int *)user;
    return false;
}

/* The graph has this status, its list so many engines, and there were so many violations. */
static void expect(const bp__cudnn_attention *a, cudnnStatus_t status, int engines, int violations) {
    const bp__cudnn_filter filter = {.workspace = INT64_MAX, .rank = -1};
    bp__cudnn_graph graph;
    int found = 0;
    bp__cudnn_graph_begin(&graph, &api, handle, NULL);
    bp__cudnn_attention_describe(a, 0, &graph, BP__CUDNN_ALIGNMENT);
    bp__cudnn_graph_complete(&graph);
    assert_int_equal(graph.status, status);
    (void)bp__cudnn_each_engine(&graph, &filter, count_engine, &found);
    assert_int_equal(found, engines);
    assert_int_equal(the_cudnn()->violations > 0, violations > 0);
    the_cudnn()->violations = 0;
    bp__cudnn_graph_free(&graph);
}

/* ---- Mistakes ---- */

static void no_mistake(void **state) {
    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        bp__cudnn_attention a = small_attention(backward);
        expect(&a, BP__CUDNN_STATUS_SUCCESS, 2, 0);
        a.causal = false;
        expect(&a, BP__CUDNN_STATUS_SUCCESS, 2, 0);
    }
}

static void mistakes_in_rows(void **state) {
    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        bp__cudnn_attention a = small_attention(backward);
        a.tensor[BP_ATTENTION_QUERY].stride[2] = 20;
        expect(&a, BP__CUDNN_STATUS_SUCCESS, 2, 1);
        a = small_attention(backward);
        a.tensor[BP_ATTENTION_KEY].stride[1] = 84;
        expect(&a, BP__CUDNN_STATUS_SUCCESS, 2, 1);
        a = small_attention(backward);
        a.tensor[BP_ATTENTION_VALUE].stride[3] = 2;
        expect(&a, BP__CUDNN_STATUS_SUCCESS, 2, 1);
    }
}

/* Sizes that the library does not have are no mistakes: it says so. */
static void sizes(void **state) {
    (void)state;
    bp__cudnn_attention a = small_attention(false);
    set(&a.tensor[BP_ATTENTION_VALUE], 2, 5, 264);
    set(&a.tensor[BP_ATTENTION_OUTPUT], 4, 3, 264);
    expect(&a, BP__CUDNN_STATUS_SUCCESS, 0, 0);
}

static void mistakes_in_sizes(void **state) {
    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        bp__cudnn_attention a = small_attention(backward);
        set(&a.tensor[BP_ATTENTION_KEY], 2, 6, 16); /* not as many as scores */
        expect(&a, BP__CUDNN_STATUS_BAD_PARAM, 0, 1);
        a = small_attention(backward);
        set(&a.tensor[BP_ATTENTION_VALUE], 3, 5, 8); /* heads that do not divide the query's */
        expect(&a, BP__CUDNN_STATUS_BAD_PARAM, 0, 1);
        a = small_attention(backward);
        set(&a.tensor[BP_ATTENTION_OUTPUT], 4, 3, 16);
        expect(&a, BP__CUDNN_STATUS_BAD_PARAM, 0, 1);
    }
    bp__cudnn_attention a = small_attention(true);
    set(&a.tensor[BP_ATTENTION_KEY_GRADIENT], 3, 5, 16);
    expect(&a, BP__CUDNN_STATUS_BAD_PARAM, 0, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_mistake, begin, end),
        cmocka_unit_test_setup_teardown(mistakes_in_rows, begin, end),
        cmocka_unit_test_setup_teardown(sizes, begin, end),
        cmocka_unit_test_setup_teardown(mistakes_in_sizes, begin, end),
    };
    return cmocka_run_group_tests_name("double_attention", tests, open_double, stop_cudnn);
}
