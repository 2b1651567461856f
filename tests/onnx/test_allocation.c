/* test_allocation.c - a model is read and run with the n-th allocation failing, alone or with all later ones, for all
 * n. Each must fail with BP_E_NO_MEMORY or succeed, and nothing may leak. */
#include "base/base.h"
#include "onnx/read.h"
#include "onnx/support_onnx.h"
#include "support/exhausted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static message model;

static bp_status live_once(void) {
    static const char *const names[] = {"batch"};
    static const int64_t sizes[] = {2};
    const bp_onnx_choices choices = {
        .struct_size = sizeof choices, .size_count = 1, .size_names = names, .sizes = sizes};
    float x[6] = {1, 2, 3, 4, 5, 6}, y[8];
    bp_view xv, yv;
    bp_graph *graph;
    bp_view_matrix(&xv, x, BP_F32, 2, 3);
    bp_view_matrix(&yv, y, BP_F32, 2, 4);
    bp_status status = bp__onnx_read(&graph, model.size, model.bytes, NULL, &choices);
    if (status != BP_OK) {
        assert_null(graph);
        return status;
    }
    status = bp_graph_run(NULL, graph, (const DLTensor *[]){&xv.tensor}, (DLTensor *[]){&yv.tensor});
    bp_graph_release(graph);
    return status;
}

static void test_allocation(void **state) {
    (void)state;
    make_sample(&model);
    test_exhausted(live_once);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_allocation)};
    /* Real libraries would slow down every round; other tests cover them. */
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
