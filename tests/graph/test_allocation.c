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

/* ---- Regions, in blocks and by a backend of the program ---- */

static int accept_all(void *user, const bp_region *region, bp_region_offer *offer) {
    (void)user;
    offer->workspace = (size_t)region->node_count;
    return 1;
}

static bp_status plan_nothing(void *user, const bp_region *region, void **planned) {
    (void)region;
    *planned = user;
    return BP_OK;
}

static bp_status run_nothing(void *planned, void *const *addresses, void *workspace) {
    (void)planned;
    (void)addresses;
    (void)workspace;
    return BP_OK;
}

static void destroy_nothing(void *planned) {
    (void)planned;
}

static bp_status run_regions(const bp_options *options, const bp_graph *graph) {
    static float x[16], y[16];
    bp_view xv, yv;
    bp_explanation *explanation = NULL;
    bp_view_matrix(&xv, x, BP_F32, 4, 4);
    bp_view_matrix(&yv, y, BP_F32, 4, 4);
    const DLTensor *in[] = {&xv.tensor};
    DLTensor *out[] = {&yv.tensor};
    bp_status status = bp_graph_run(options, graph, in, out);
    if (status == BP_OK) {
        status = bp_graph_explain(&explanation, options, graph, in, (const DLTensor *const *)out);
    }
    bp_explanation_release(explanation);
    return status;
}

static bp_status live_with_regions(void) {
    static const char text[] = HEAD "a = binary(x, x, kind=multiply)\nb = binary(a, x)\np = permute(b, [1, 0])\n"
                                    "c = unary(p, kind=exp)\nd = unary(c, kind=relu)\noutput y = d\n";
    const bp_graph_backend backend = {.struct_size = sizeof backend,
                                      .name = "mine",
                                      .description = "nothing",
                                      .accept = accept_all,
                                      .plan = plan_nothing,
                                      .run = run_nothing,
                                      .destroy = destroy_nothing};
    bp_options *options = NULL;
    bp_graph *graph;
    bp_status status = bp_graph_parse(&graph, sizeof text - 1, text);
    if (status != BP_OK) {
        return status;
    }
    status = run_regions(NULL, graph);
    const bp_status added = status == BP_OK ? bp_graph_backend_add(&backend) : BP_E_NO_MEMORY;
    status = status == BP_OK ? added : status;
    status = status == BP_OK ? run_regions(NULL, graph) : status;
    status = status == BP_OK ? bp_options_new(&options, "graph.backend=\"-mine, -blocks\"") : status;
    status = status == BP_OK ? run_regions(options, graph) : status;
    bp_options_release(options);
    if (added == BP_OK) {
        assert_int_equal(bp_graph_backend_remove("mine"), BP_OK);
    }
    bp_graph_release(graph);
    return status;
}

static void test_regions(void **state) {
    (void)state;
    test_exhausted(live_with_regions);
}

/* ---- Rewriting ---- */

/* A normalization in a convolution, attention, a view of each kind, and a list of operands. */
static bp_status live_rewritten(void) {
    static const char text[] =
        HEAD "constant w f32 [4, 4, 1] = bytes "
             "0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f"
             "0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f\n"
             "constant n f32 [4] = [1, 2, 3, 4]\nr = reshape(x, [1, 4, 4])\nc = conv(r, w, ndim=1)\n"
             "b = batch_norm(input=c, running_mean=n, running_var=n)\nt = permute(b, [0, 2, 1])\ns = matmul(b, t)\n"
             "p = softmax(s)\na = matmul(p, b)\ne = expand(a, [1, 4, 4])\nf = slice(e, [0, 0, 1, 1])\n"
             "g = reshape(f, [4, 4])\nj = concat(g, x, axis=0)\nh = reduce(j, kind=sum, axes=[0])\noutput y = h\n";
    float x[16], y[4];
    bp_graph *graph;
    bp_options *options = NULL;
    bp_view xv, yv;
    for (int i = 0; i < 16; i++) {
        x[i] = (float)(i * 7 % 11);
    }
    bp_view_matrix(&xv, x, BP_F32, 4, 4);
    bp_view_init(&yv, y, BP_F32, 1, (int64_t[]){4}, NULL);
    bp_status status = bp_graph_parse(&graph, sizeof text - 1, text);
    if (status != BP_OK) {
        return status;
    }
    status = bp_options_new(&options, "graph.rewrite=fast");
    status = status == BP_OK
                 ? bp_graph_run(options, graph, (const DLTensor *[]){&xv.tensor}, (DLTensor *[]){&yv.tensor})
                 : status;
    bp_options_release(options);
    bp_graph_release(graph);
    return status;
}

static void test_rewriting(void **state) {
    (void)state;
    test_exhausted(live_rewritten);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_allocation), cmocka_unit_test(test_regions),
                                       cmocka_unit_test(test_rewriting)};
    /* Real libraries would slow down every round; other tests cover them. */
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
