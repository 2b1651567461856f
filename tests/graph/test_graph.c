/* test_graph.c - graphs run as the calls one by one: nodes, views, constants, outputs, and what is refused. */
#include "backplane.h"

#include "base/base.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OK(call) assert_int_equal_message((call), BP_OK, #call)

static void assert_int_equal_message(bp_status status, bp_status wanted, const char *call) {
    if (status != wanted) {
        fail_msg("%s: %s (%s)", call, bp_status_text(status), bp_last_error());
    }
}

#define FAILS(call, status, words) check_failure((call), status, words, #call)
static void check_failure(bp_status got, bp_status wanted, const char *words, const char *call) {
    if (got != wanted || !strstr(bp_last_error(), words)) {
        fail_msg("%s: %s (%s)", call, bp_status_text(got), bp_last_error());
    }
}

static float random_float(uint64_t *seed) {
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (float)((double)(*seed >> 40) / (1 << 23) - 1);
}

static void fill(float *to, int count, uint64_t seed) {
    for (int i = 0; i < count; i++) {
        to[i] = random_float(&seed);
    }
}

#define VIEW(name, memory, dtype, ...)                                                                                 \
    bp_view name;                                                                                                      \
    OK(bp_view_init(&name, memory, dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__}, NULL))

static bp_value input(bp_graph *g, const char *name, bp_dtype dtype, int ndim, const int64_t *shape) {
    bp_value v;
    OK(bp_graph_input(g, name, dtype, ndim, shape, &v));
    return v;
}

static bp_value constant(bp_graph *g, const char *name, const bp_view *view, unsigned flags) {
    bp_value v;
    OK(bp_graph_constant(g, name, &view->tensor, flags, &v));
    return v;
}

static bp_value call(bp_graph *g, const char *name, const char *fields, int count, const bp_value *operands) {
    bp_value v = 0;
    OK(bp_graph_call(g, name, fields, count, operands, 1, (bp_value *[]){&v}));
    return v;
}

#define LIST(...)                                                                                                      \
    (int)(sizeof((bp_value[]){__VA_ARGS__}) / sizeof(bp_value)), (bp_value[]) {                                        \
        __VA_ARGS__                                                                                                    \
    }

/* Two linear layers, a residual, a norm with its statistics, and softmax. */
static void test_network(void **state) {
    (void)state;
    enum { B = 3, I = 10, H = 7 };
    static float x[B * I], w[H * I], b[H], g[H], y[B * H], mean[B], h[B * H], two[B * H], want[B * H], want_mean[B];
    fill(x, B * I, 1), fill(w, H * I, 2), fill(b, H, 3), fill(g, H, 4);
    VIEW(xv, x, BP_F32, B, I);
    VIEW(wv, w, BP_F32, H, I);
    VIEW(bv, b, BP_F32, H);
    VIEW(gv, g, BP_F32, H);
    VIEW(yv, y, BP_F32, B, H);
    VIEW(mv, mean, BP_F32, B);
    VIEW(hv, h, BP_F32, B, H);
    VIEW(tv, two, BP_F32, B, H);
    VIEW(wanted, want, BP_F32, B, H);
    VIEW(wanted_mean, want_mean, BP_F32, B);
    bp_graph *graph;
    OK(bp_graph_create(&graph));
    const bp_value xi = input(graph, "x", BP_F32, 2, (int64_t[]){B, I});
    const bp_value wc = constant(graph, "w", &wv, 0), bc = constant(graph, "b", &bv, BP_GRAPH_BORROW);
    const bp_value gc = constant(graph, "g", &gv, 0);
    const bp_value hidden = call(graph, "linear", "activation=gelu", LIST(xi, wc, bc));
    const bp_value sum = call(graph, "binary", "kind=add", LIST(hidden, hidden));
    bp_value normed, mean_value;
    OK(bp_graph_call(graph, "layer_norm", "row_ndim=1, eps=0x1p-10", LIST(sum, gc), 2,
                     (bp_value *[]){&normed, &mean_value}));
    OK(bp_graph_output(graph, "y", call(graph, "softmax", NULL, LIST(normed))));
    OK(bp_graph_output(graph, "mean", mean_value));
    OK(bp_graph_finish(graph));
    memset(w, 0, sizeof w); /* it was copied */
    OK(bp_graph_run(NULL, graph, (const DLTensor *[]){&xv.tensor}, (DLTensor *[]){&yv.tensor, &mv.tensor}));
    fill(w, H * I, 2);
    const bp_linear_call linear = {.struct_size = sizeof linear,
                                   .activation = BP_UNARY_GELU,
                                   .input = &xv.tensor,
                                   .weight = &wv.tensor,
                                   .bias = &bv.tensor,
                                   .output = &hv.tensor};
    OK(bp_linear_run(NULL, &linear));
    OK(bp_binary_run(NULL, BP_BINARY_ADD, &hv.tensor, &hv.tensor, &tv.tensor));
    const bp_layer_norm_call norm = {.struct_size = sizeof norm,
                                     .row_ndim = 1,
                                     .eps = 0x1p-10,
                                     .input = &tv.tensor,
                                     .weight = &gv.tensor,
                                     .output = &hv.tensor,
                                     .mean = &wanted_mean.tensor};
    OK(bp_layer_norm_run(NULL, &norm));
    OK(bp_softmax_run(NULL, BP_SOFTMAX, &hv.tensor, -1, &wanted.tensor));
    assert_memory_equal(y, want, sizeof y);
    assert_memory_equal(mean, want_mean, sizeof mean);
    assert_int_equal(bp_reset(), BP_E_BUSY);
    bp_graph_release(graph);
}

/* Each view, also of a view, and reshaped ones that are copies. */
static void test_views(void **state) {
    (void)state;
    static float x[2 * 3 * 4], turned[4 * 6], part[2 * 2 * 3 * 2], rows[3 * 8];
    fill(x, 24, 5);
    VIEW(xv, x, BP_F32, 2, 3, 4);
    VIEW(tv, turned, BP_F32, 4, 6);
    VIEW(pv, part, BP_F32, 2, 2, 3, 2);
    VIEW(rv, rows, BP_F32, 3, 8);
    bp_graph *graph;
    bp_value a, b, c, d, e;
    OK(bp_graph_create(&graph));
    const bp_value xi = input(graph, "x", BP_F32, 3, (int64_t[]){2, 3, 4});
    OK(bp_graph_permute(graph, xi, 3, (int[]){2, -3, 1}, &a));
    OK(bp_graph_reshape(graph, a, 2, (int64_t[]){4, -1}, &b));
    OK(bp_graph_output(graph, "turned", b));
    OK(bp_graph_slice(graph, xi, -1, -1, INT64_MIN, -2, &c));
    OK(bp_graph_expand(graph, c, 4, (int64_t[]){2, 2, 3, 2}, &d));
    OK(bp_graph_output(graph, "part", d));
    OK(bp_graph_slice(graph, xi, 1, 5, 9, 1, &e));
    OK(bp_graph_reshape(graph, a, 2, (int64_t[]){3, 8}, &c)); /* no strides have these rows */
    OK(bp_graph_output(graph, "rows", c));
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    OK(bp_graph_shape(graph, e, &dtype, &ndim, shape));
    assert_true(dtype == BP_F32 && ndim == 3 && shape[0] == 2 && shape[1] == 0 && shape[2] == 4);
    FAILS(bp_graph_reshape(graph, xi, 2, (int64_t[]){5, -1}, &e), BP_E_SHAPE, "(2, 3, 4) cannot have shape (5, -1)");
    FAILS(bp_graph_reshape(graph, xi, 2, (int64_t[]){-1, -1}, &e), BP_E_SHAPE, "reshape");
    FAILS(bp_graph_permute(graph, xi, 3, (int[]){0, 1, 1}, &e), BP_E_ARGUMENT, "axes[2] is 1");
    FAILS(bp_graph_permute(graph, xi, 2, (int[]){0, 1}, &e), BP_E_ARGUMENT, "2 axes");
    FAILS(bp_graph_slice(graph, xi, 3, 0, 1, 1, &e), BP_E_ARGUMENT, "axis is 3");
    FAILS(bp_graph_slice(graph, xi, 0, 0, 1, 0, &e), BP_E_ARGUMENT, "step is 0");
    FAILS(bp_graph_expand(graph, xi, 3, (int64_t[]){2, 6, 4}, &e), BP_E_SHAPE, "expand");
    OK(bp_graph_finish(graph));
    OK(bp_graph_run(NULL, graph, (const DLTensor *[]){&xv.tensor}, (DLTensor *[]){&tv.tensor, &pv.tensor, &rv.tensor}));
    assert_memory_equal(rows, turned, sizeof rows);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 4; k++) {
                assert_true(turned[k * 6 + i * 3 + j] == x[i * 12 + j * 4 + k]);
            }
            for (int n = 0; n < 4; n++) {
                assert_true(part[(n / 2) * 12 + i * 6 + j * 2 + n % 2] == x[i * 12 + j * 4 + 3 - 2 * (n % 2)]);
            }
        }
    }
    bp_graph_release(graph);
}

/* Lists of operands, operands by name, and calls without plans. */
static void test_operands(void **state) {
    (void)state;
    static float x[4], y[6], joined[10], power[4], product[4], shifted[6];
    fill(x, 4, 6), fill(y, 6, 7);
    VIEW(xv, x, BP_F32, 2, 2);
    VIEW(yv, y, BP_F32, 2, 3);
    VIEW(jv, joined, BP_F32, 2, 5);
    VIEW(wv, power, BP_F32, 2, 2);
    VIEW(pv, product, BP_F32, 2, 2);
    VIEW(sv, shifted, BP_F32, 2, 3);
    bp_graph *graph;
    OK(bp_graph_create(&graph));
    const bp_value xi = input(graph, "x", BP_F32, 2, (int64_t[]){2, 2});
    const bp_value yi = input(graph, "y.1", BP_F32, 2, (int64_t[]){2, 3});
    OK(bp_graph_output(graph, "joined", call(graph, "concat", "axis=1", LIST(xi, yi))));
    OK(bp_graph_output(graph, "power", call(graph, "matrix_power", "n=3", LIST(xi))));
    OK(bp_graph_output(graph, "product", call(graph, "einsum", "expression=\"ij,kj->ik\"", LIST(yi, yi))));
    OK(bp_graph_output(graph, "shifted", call(graph, "fftshift", "input=y.1, axes=[1]", 0, NULL)));
    OK(bp_graph_finish(graph));
    OK(bp_graph_run(NULL, graph, (const DLTensor *[]){&xv.tensor, &yv.tensor},
                    (DLTensor *[]){&jv.tensor, &wv.tensor, &pv.tensor, &sv.tensor}));
    static float want[10];
    VIEW(w5, want, BP_F32, 2, 5);
    VIEW(w2, want, BP_F32, 2, 2);
    VIEW(w3, want, BP_F32, 2, 3);
    OK(bp_concat_run(NULL, 2, (const DLTensor *[]){&xv.tensor, &yv.tensor}, 1, &w5.tensor));
    assert_memory_equal(want, joined, sizeof joined);
    OK(bp_matrix_power(&xv.tensor, 3, &w2.tensor));
    assert_memory_equal(want, power, sizeof power);
    OK(bp_einsum("ij,kj->ik", 2, (const DLTensor *[]){&yv.tensor, &yv.tensor}, &w2.tensor));
    assert_memory_equal(want, product, sizeof product);
    OK(bp_fftshift(&yv.tensor, 1, (int[]){1}, &w3.tensor));
    assert_memory_equal(want, shifted, sizeof shifted);
    bp_graph_release(graph);
}

/* A value without a name is an operand by its number; an input of such a name comes first. */
static void test_operands_by_number(void **state) {
    (void)state;
    float x[2] = {1, 2}, y[2];
    VIEW(xv, x, BP_F32, 2);
    VIEW(yv, y, BP_F32, 2);
    bp_graph *graph;
    bp_value sum;
    OK(bp_graph_create(&graph));
    const bp_value v2 = input(graph, "v2", BP_F32, 1, (int64_t[]){2});
    const bp_value root = call(graph, "unary", "kind=sqrt, input=v2", 0, NULL);
    assert_int_equal(v2, 1);
    assert_int_equal(root, 2);
    const bp_value square = call(graph, "binary", "kind=multiply, a=v2, b=v1", 0, NULL); /* the input twice */
    OK(bp_graph_call(graph, "binary", "kind=add, a=v3, b=v2", 0, NULL, 1, (bp_value *[]){&sum}));
    assert_int_equal(square, 3);
    const char *absent[] = {"v0", "v5", "v", "v3x", "v99999999999999999999", "v2147483648", "v4294967297"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        char fields[64];
        snprintf(fields, sizeof fields, "kind=sqrt, input=%s", absent[i]);
        FAILS(bp_graph_call(graph, "unary", fields, 0, NULL, 1, (bp_value *[]){&sum}), BP_E_ARGUMENT,
              "name of a value");
    }
    OK(bp_graph_output(graph, "y", sum));
    OK(bp_graph_finish(graph));
    OK(bp_graph_run(NULL, graph, (const DLTensor *[]){&xv.tensor}, (DLTensor *[]){&yv.tensor}));
    assert_true(y[0] == 2 && y[1] == 6);
    bp_graph_release(graph);
}

/* What the graph refuses while it is built leaves it as it was. */
static void test_refusals(void **state) {
    (void)state;
    static float data[6];
    VIEW(v, data, BP_F32, 2, 3);
    bp_graph *graph;
    bp_value x, y, z;
    const int64_t shape[] = {2, 3};
    OK(bp_graph_create(&graph));
    OK(bp_graph_input(graph, "x", BP_F32, 2, shape, &x));
    FAILS(bp_graph_input(graph, "x", BP_F32, 2, shape, &y), BP_E_ARGUMENT, "\"x\" already");
    FAILS(bp_graph_input(graph, "1x", BP_F32, 2, shape, &y), BP_E_ARGUMENT, "begin with a letter");
    FAILS(bp_graph_input(graph, "a b", BP_F32, 2, shape, &y), BP_E_ARGUMENT, "letters");
    FAILS(bp_graph_input(graph, "y", (bp_dtype)99, 2, shape, &y), BP_E_DTYPE, "99");
    FAILS(bp_graph_input(graph, "y", BP_F32, 65, shape, &y), BP_E_ARGUMENT, "ndim is 65");
    FAILS(bp_graph_input(graph, "y", BP_F32, 2, (int64_t[]){2, -3}, &y), BP_E_SHAPE, "-3");
    FAILS(bp_graph_input(graph, "y", BP_F32, 2, (int64_t[]){INT64_MAX, 3}, &y), BP_E_OVERFLOW, "");
    FAILS(bp_graph_constant(graph, "c", NULL, 0, &y), BP_E_ARGUMENT, "");
    FAILS(bp_graph_constant(graph, "c", &v.tensor, 2, &y), BP_E_ARGUMENT, "flags is 2");
    bp_value *out[] = {&y, &z};
    FAILS(bp_graph_call(graph, "liner", NULL, 1, &x, 1, out), BP_E_ARGUMENT, "'linear'");
    FAILS(bp_graph_call(graph, "unary", "kind=rel", 1, &x, 1, out), BP_E_ARGUMENT,
          "node 0 (unary): kind must be one of");
    FAILS(bp_graph_call(graph, "unary", "dtype=c64", 1, &x, 1, out), BP_E_DTYPE, "output is c64");
    FAILS(bp_graph_call(graph, "unary", "kind=exp, dtype=f64", 1, &x, 1, out), BP_E_ARGUMENT, "only copy");
    FAILS(bp_graph_call(graph, "unary", "dtype=f80", 1, &x, 1, out), BP_E_ARGUMENT, "dtype must be one of");
    FAILS(bp_graph_call(graph, "unary", "sort=relu", 1, &x, 1, out), BP_E_ARGUMENT, "no field \"sort\"");
    FAILS(bp_graph_call(graph, "unary", "kind", 1, &x, 1, out), BP_E_ARGUMENT, "name=value");
    FAILS(bp_graph_call(graph, "unary", "kind=relu relu", 1, &x, 1, out), BP_E_ARGUMENT, "behind a value");
    FAILS(bp_graph_call(graph, "unary", "kind=relu", 2, (bp_value[]){x, x}, 1, out), BP_E_ARGUMENT,
          "its inputs are: input");
    FAILS(bp_graph_call(graph, "unary", "kind=relu", 1, (bp_value[]){7}, 1, out), BP_E_ARGUMENT, "value 7");
    FAILS(bp_graph_call(graph, "unary", "kind=relu", 0, NULL, 1, out), BP_E_ARGUMENT, "FORWARD needs input");
    FAILS(bp_graph_call(graph, "unary", "kind=relu", 1, &x, 2, out), BP_E_ARGUMENT, "has 1 output");
    FAILS(bp_graph_call(graph, "matmul", NULL, 2, (bp_value[]){x, x}, 1, out), BP_E_SHAPE, "node 0 (matmul)");
    FAILS(bp_graph_call(graph, "random", NULL, 0, NULL, 1, out), BP_E_UNSUPPORTED, "does not follow");
    FAILS(bp_graph_call(graph, "gemm", NULL, 2, (bp_value[]){x, x}, 1, out), BP_E_UNSUPPORTED, "c is also read");
    FAILS(bp_graph_call(graph, "concat", NULL, 2, (bp_value[]){x, 0}, 1, out), BP_E_ARGUMENT, "operand 1 is absent");
    FAILS(bp_graph_call(graph, "reduce", "axes=[0, 5000000000]", 1, &x, 1, out), BP_E_ARGUMENT, "no axis");
    FAILS(bp_graph_call(graph, "reduce", "axes=[0], axis_count=1, kind=7", 1, &x, 1, out), BP_E_ARGUMENT, "kind");
    FAILS(bp_graph_call(graph, "einsum", "expression=\"ij\\\n->ji\"", 1, &x, 1, out), BP_E_ARGUMENT, "no quote");
    FAILS(bp_graph_finish(graph), BP_E_ARGUMENT, "no output");
    FAILS(bp_graph_output(graph, "o", 9), BP_E_ARGUMENT, "value 9");
    FAILS(bp_graph_run(NULL, graph, NULL, NULL), BP_E_ARGUMENT, "bp_graph_finish");
    OK(bp_graph_call(graph, "unary", "kind=relu", 1, &x, 1, out));
    assert_int_equal(y, 2);
    OK(bp_graph_output(graph, "o", y));
    FAILS(bp_graph_output(graph, "o", y), BP_E_ARGUMENT, "\"o\" already");
    OK(bp_graph_finish(graph));
    FAILS(bp_graph_finish(graph), BP_E_ARGUMENT, "finished");
    FAILS(bp_graph_output(graph, "p", y), BP_E_ARGUMENT, "finished");
    FAILS(bp_graph_create(NULL), BP_E_ARGUMENT, "NULL");
    bp_graph_release(graph);
    bp_graph_release(NULL);
}

/* The running statistics of a batch are read and written. */
static void test_updated(void **state) {
    (void)state;
    bp_graph *graph;
    bp_value y, m, s, running;
    OK(bp_graph_create(&graph));
    const bp_value x = input(graph, "x", BP_F32, 2, (int64_t[]){4, 3});
    FAILS(bp_graph_call(graph, "batch_norm", "pass=training, momentum=0", LIST(x), 4,
                        (bp_value *[]){&y, &m, &s, &running}),
          BP_E_UNSUPPORTED, "running_mean is also read");
    OK(bp_graph_call(graph, "batch_norm", "pass=training, momentum=0", LIST(x), 3, (bp_value *[]){&y, &m, &s}));
    assert_true(y > 0 && m > 0 && s > 0);
    bp_graph_release(graph);
}

/* Inputs and outputs of other types, shapes, strides and places. */
static void test_tensors(void **state) {
    (void)state;
    static float x[6], y[16];
    static double wide[6];
    fill(x, 6, 8);
    VIEW(xv, x, BP_F32, 2, 3);
    VIEW(flat, x, BP_F32, 6);
    VIEW(yv, y, BP_F32, 2, 3);
    VIEW(dv, wide, BP_F64, 2, 3);
    bp_graph *graph;
    OK(bp_graph_create(&graph));
    const bp_value xi = input(graph, "x", BP_F32, 2, (int64_t[]){2, 3});
    const bp_value relu = call(graph, "unary", "kind=relu", LIST(xi));
    OK(bp_graph_output(graph, "y", relu));
    OK(bp_graph_output(graph, "again", relu));
    OK(bp_graph_output(graph, "x", xi));
    OK(bp_graph_finish(graph));
    float z[6], t[6];
    VIEW(zv, z, BP_F32, 2, 3);
    VIEW(tv, t, BP_F32, 2, 3);
    const DLTensor *in[] = {&xv.tensor};
    DLTensor *out[] = {&yv.tensor, &zv.tensor, &tv.tensor};
    FAILS(bp_graph_run(NULL, graph, (const DLTensor *[]){&flat.tensor}, out), BP_E_SHAPE, "input 0 (x) has shape (6)");
    FAILS(bp_graph_run(NULL, graph, (const DLTensor *[]){&dv.tensor}, out), BP_E_DTYPE, "it must be f32");
    FAILS(bp_graph_run(NULL, graph, (const DLTensor *[]){NULL}, out), BP_E_ARGUMENT, "input 0 (x)");
    FAILS(bp_graph_run(NULL, graph, in, (DLTensor *[]){&yv.tensor, &dv.tensor, &tv.tensor}), BP_E_DTYPE, "output 1");
    FAILS(bp_graph_run(NULL, graph, in, (DLTensor *[]){&yv.tensor, &yv.tensor, &tv.tensor}), BP_E_OVERLAP, "output y");
    FAILS(bp_graph_run(NULL, graph, in, (DLTensor *[]){&xv.tensor, &zv.tensor, &tv.tensor}), BP_E_OVERLAP, "input x");
    bp_view turned, narrow;
    OK(bp_view_init(&turned, y + 15, BP_F32, 2, (int64_t[]){2, 3}, (int64_t[]){-1, -4}));
    OK(bp_view_init(&narrow, y, BP_F32, 2, (int64_t[]){2, 3}, (int64_t[]){1, 1}));
    FAILS(bp_graph_run(NULL, graph, in, (DLTensor *[]){&narrow.tensor, &zv.tensor, &tv.tensor}), BP_E_OVERLAP, "y");
    OK(bp_graph_run(NULL, graph, in, (DLTensor *[]){&turned.tensor, &zv.tensor, &tv.tensor}));
    for (int i = 0; i < 6; i++) {
        const float want = x[i] > 0 ? x[i] : 0;
        assert_true(y[15 - i / 3 - 4 * (i % 3)] == want && z[i] == want && t[i] == x[i]);
    }
    bp_graph_port port = {.struct_size = sizeof port};
    assert_int_equal(bp_graph_output_at(graph, 1, &port), 1);
    assert_string_equal(port.name, "again");
    assert_int_equal(port.value, relu);
    assert_int_equal(bp_graph_output_at(graph, 3, &port), 0);
    assert_int_equal(bp_graph_input_at(graph, 0, &port), 1);
    assert_true(port.dtype == BP_F32 && port.ndim == 2 && port.shape[1] == 3);
    assert_int_equal(bp_graph_input_at(graph, -1, &port), 0);
    bp_graph_release(graph);
}

/* Values without elements, and sums of nothing. */
static void test_empty(void **state) {
    (void)state;
    float sums[3] = {7, 7, 7};
    bp_view xv, yv, sv;
    OK(bp_view_init(&xv, NULL, BP_F32, 2, (int64_t[]){0, 3}, NULL));
    OK(bp_view_init(&yv, NULL, BP_F32, 2, (int64_t[]){3, 0}, NULL));
    OK(bp_view_init(&sv, sums, BP_F32, 1, (int64_t[]){3}, NULL));
    bp_graph *graph;
    bp_value turned;
    OK(bp_graph_create(&graph));
    const bp_value xi = input(graph, "x", BP_F32, 2, (int64_t[]){0, 3});
    const bp_value e = call(graph, "unary", "kind=exp", LIST(xi));
    OK(bp_graph_reshape(graph, e, 2, (int64_t[]){3, 0}, &turned));
    OK(bp_graph_output(graph, "turned", turned));
    OK(bp_graph_output(graph, "sums", call(graph, "reduce", "kind=sum, axes=[0]", LIST(e))));
    OK(bp_graph_finish(graph));
    OK(bp_graph_run(NULL, graph, (const DLTensor *[]){&xv.tensor}, (DLTensor *[]){&yv.tensor, &sv.tensor}));
    assert_true(sums[0] == 0 && sums[1] == 0 && sums[2] == 0);
    bp_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_network),  cmocka_unit_test(test_views),
        cmocka_unit_test(test_operands), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_updated),  cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_empty),    cmocka_unit_test(test_operands_by_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
