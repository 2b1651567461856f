/* test_allocation.c - everything that a graph does, with the n-th allocation failing, alone or with all later ones, for
 * all n. Each must fail with BP_E_NO_MEMORY or succeed, and nothing may leak. */
#include "backplane.h"

#include "base/base.h"
#include "graph/graph.h"
#include "support/exhausted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "graph 1\ninput x f32 [4, 4]\n"

/* Everything that a graph does. */
static bp_status live_once(void) {
    static const char text[] =
        HEAD "constant k f32 [2, 2] = [1, 2, 3, 0x1p-4]\nconstant n f32 [1] = bytes 0000c07f\nc = unary(k, kind=exp)\n"
             "p = permute(x, [1, 0])\nr = reshape(p, [8, 2])\nm = matmul(r, c)\nl, -, s = layer_norm(m, row_ndim=1)\n"
             "j = concat(l, m, axis=1)\ne = einsum(j, j, expression=\"ab,cb->ac\")\nv, - = eigh(e)\noutput y = v\n"
             "output z = r\noutput s = s\n";
    float x[16], y[8], z[16], s[8];
    unsigned char hash[32];
    char *written = NULL;
    bp_graph *graph;
    bp_view xv, yv, zv, sv;
    for (int i = 0; i < 16; i++) {
        x[i] = (float)(i * 7 % 11);
    }
    bp_view_matrix(&xv, x, BP_F32, 4, 4);
    bp_view_init(&yv, y, BP_F32, 1, (int64_t[]){8}, NULL);
    bp_view_matrix(&zv, z, BP_F32, 8, 2);
    bp_view_init(&sv, s, BP_F32, 1, (int64_t[]){8}, NULL);
    bp_status status = bp_graph_parse(&graph, sizeof text - 1, text);
    if (status != BP_OK) {
        return status;
    }
    const DLTensor *in[] = {&xv.tensor};
    DLTensor *out[] = {&yv.tensor, &zv.tensor, &sv.tensor};
    bp_explanation *explanation = NULL;
    status = bp_graph_run(NULL, graph, in, out);
    if (status == BP_OK) {
        status = bp__graph_run_eager(graph, in, (const DLTensor *const *)out);
    }
    if (status == BP_OK) {
        status = bp_graph_text(graph, &written);
    }
    if (status == BP_OK) {
        status = bp_graph_hash(graph, hash);
    }
    if (status == BP_OK) {
        status = bp_graph_explain(&explanation, NULL, graph, in, (const DLTensor *const *)out);
    }
    bp_explanation_release(explanation);
    bp_graph_text_release(written);
    bp_graph_release(graph);
    return status;
}

static void test_allocation(void **state) {
    (void)state;
    test_exhausted(live_once);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_allocation)};
    /* Real libraries would slow down every round; other tests cover them. */
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
