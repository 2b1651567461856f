/* test_rewrite.c - graphs under graph.rewrite: normalization in the weights in front of it, attention in place of
 * products with a softmax, what must stay as it is, copies of random graphs, lifetimes and threads. */
#include "backplane.h"

#include "base/base.h"
#include "dispatch/internal.h"
#include "graph/graph.h"
#include "graph/support_graph.h"
#include "support/conditions.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Graphs with numbers that all types have ---- */

/* Multiples of 1/16 from `low` on, below low + 1. */
static double number_at(double low, int64_t i) {
    return low + (double)(i * 7 % 16) / 16;
}

static int64_t count_of(int ndim, const int64_t *shape) {
    int64_t count = 1;
    for (int d = 0; d < ndim; d++) {
        count *= shape[d];
    }
    return count;
}

/* Writes such numbers to a new compact tensor. */
static void *make_numbers(bp_view *view, bp_dtype dtype, int ndim, const int64_t *shape, double low) {
    const int64_t count = count_of(ndim, shape);
    double *numbers = malloc((size_t)count * sizeof *numbers + 1);
    void *memory = malloc((size_t)count * sizeof *numbers + 1);
    bp_view from;
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = number_at(low, i);
    }
    bp_view_init(&from, numbers, BP_F64, ndim, shape, NULL);
    bp_view_init(view, memory, dtype, ndim, shape, NULL);
    assert_int_equal(bp_unary_run(NULL, BP_UNARY_COPY, &from.tensor, &view->tensor), BP_OK);
    free(numbers);
    return memory;
}

static bp_value constant(bp_graph *graph, const char *name, bp_dtype dtype, int ndim, const int64_t *shape,
                         double low) {
    bp_view view;
    bp_value value;
    void *memory = make_numbers(&view, dtype, ndim, shape, low);
    assert_int_equal(bp_graph_constant(graph, name, &view.tensor, 0, &value), BP_OK);
    free(memory);
    return value;
}

static bp_value call(bp_graph *graph, const char *name, const char *fields, int count, const bp_value *operands) {
    bp_value result;
    if (bp_graph_call(graph, name, fields, count, operands, 1, (bp_value *[]){&result}) != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    return result;
}

/* The inputs and the outputs of a run; the first output is looked at. */
typedef struct arrays {
    bp_view in[4], out[2];
    void *memory[4], *written[2];
    const DLTensor *inputs[4];
    DLTensor *outputs[2];
    int count, output_count;
} arrays;

static void make_arrays(arrays *a, const bp_graph *graph, double low) {
    bp_graph_port port = {.struct_size = sizeof port};
    for (a->count = 0; bp_graph_input_at(graph, a->count, &port); a->count++) {
        bp_view *view = &a->in[a->count];
        a->memory[a->count] = make_numbers(view, port.dtype, port.ndim, port.shape, low);
        a->inputs[a->count] = &view->tensor;
    }
    for (a->output_count = 0; bp_graph_output_at(graph, a->output_count, &port); a->output_count++) {
        bp_view *view = &a->out[a->output_count];
        a->written[a->output_count] = make_numbers(view, port.dtype, port.ndim, port.shape, -1000);
        a->outputs[a->output_count] = &view->tensor;
    }
}

static void free_arrays(const arrays *a) {
    for (int i = 0; i < a->count; i++) {
        free(a->memory[i]);
    }
    for (int i = 0; i < a->output_count; i++) {
        free(a->written[i]);
    }
}

/* Runs a graph on the same numbers in each type. Returns its result in f64; free() frees it. */
static double *run_in(const bp_graph *graph, const char *settings, double low, int64_t *count) {
    arrays a;
    bp_options *options;
    bp_view wide;
    make_arrays(&a, graph, low);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    if (bp_graph_run(options, graph, a.inputs, a.outputs) != BP_OK) {
        fail_msg("%s: %s", settings, bp_last_error());
    }
    bp_options_release(options);
    *count = count_of(a.out[0].tensor.ndim, a.out[0].tensor.shape);
    double *result = malloc((size_t)*count * sizeof *result + 1);
    bp_view_init(&wide, result, BP_F64, a.out[0].tensor.ndim, a.out[0].tensor.shape, NULL);
    assert_int_equal(bp_unary_run(NULL, BP_UNARY_COPY, &a.out[0].tensor, &wide.tensor), BP_OK);
    free_arrays(&a);
    return result;
}

/* Returns the numbers of rewritten norms and attentions in the explanation, as norms + 100 attentions. */
static int count_rewritten(const bp_graph *graph, const char *settings) {
    arrays a;
    bp_options *options;
    bp_explanation *explanation;
    int norms = -1, attentions = -1;
    make_arrays(&a, graph, 0);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(bp_graph_explain(&explanation, options, graph, a.inputs, (const DLTensor *const *)a.outputs),
                     BP_OK);
    const char *json = bp_explanation_json(explanation);
    const char *at = strstr(json, "\"folded_norms\":"), *other = strstr(json, "\"found_attentions\":");
    assert_true(at && other && sscanf(at, "\"folded_norms\": %d", &norms) == 1 &&
                sscanf(other, "\"found_attentions\": %d", &attentions) == 1);
    const char *text = bp_explanation_text(explanation);
    assert_true((strstr(text, "folded into the weights") != NULL) == (norms > 0));
    bp_explanation_release(explanation);
    bp_options_release(options);
    free_arrays(&a);
    return norms + 100 * attentions;
}

static double roundoff(bp_dtype dtype) {
    return dtype == BP_F64 ? 0x1p-53 : dtype == BP_F32 ? 0x1p-24 : dtype == BP_F16 ? 0x1p-11 : 0x1p-8;
}

/* ---- Normalization ---- */

typedef struct layer {
    const char *call, *fields, *norm;
    int ndim;
    int64_t input[5], weight[5];
    int64_t channels;
    bool has_bias, has_weight; /* of the layer, and of the normalization */
} layer;

static const layer layers[] = {
    {"conv", "ndim=1", "eps=0x1p-6", 3, {2, 3, 9}, {4, 3, 2}, 4, true, true},
    {"conv", "padding=[1, 0], stride=[2, 1]", "eps=0x1p-6, relu=true", 4, {2, 4, 5, 6}, {6, 2, 3, 1}, 6, false, true},
    {"conv", "ndim=3, groups=3", "eps=0x1p-6", 5, {1, 3, 3, 4, 2}, {3, 1, 2, 2, 1}, 3, true, false},
    {"conv", "ndim=2, transposed=true", "eps=0x1p-6", 4, {1, 3, 4, 3}, {3, 5, 2, 2}, 5, true, true},
    {"conv",
     "ndim=2, transposed=true, groups=2",
     "eps=0x1p-6, relu=true",
     4,
     {2, 4, 3, 3},
     {4, 3, 2, 1},
     6,
     false,
     true},
    {"conv", "ndim=2", "eps=0x1p-6", 4, {1, 1, 1, 1}, {1, 1, 1, 1}, 1, true, true},
    {"linear", "", "eps=0x1p-6, relu=true", 2, {7, 5}, {3, 5}, 3, true, true},
    {"linear", "", "eps=0x1p-6", 2, {1, 1}, {1, 1}, 1, false, false},
};
enum { LAYERS = sizeof layers / sizeof *layers };

/* All numbers are positive, so that errors are relative. `low` is the least number of the normalization's weight. */
static bp_graph *make_layer(const layer *l, bp_dtype dtype, double low) {
    bp_graph *graph;
    bp_value x, y;
    char fields[128];
    assert_int_equal(bp_graph_create(&graph), BP_OK);
    assert_int_equal(bp_graph_input(graph, "x", dtype, l->ndim, l->input, &x), BP_OK);
    const int groups = strstr(l->fields, "groups=2") ? 2 : strstr(l->fields, "groups=3") ? 3 : 1;
    snprintf(fields, sizeof fields, "%s%s", l->fields,
             groups == 1 && strstr(l->fields, "stride") ? ", groups=2" : ""); /* of 4 channels, weights of 2 */
    const bp_value weight = constant(graph, "w", dtype, l->ndim, l->weight, 0.5);
    const bp_value bias = l->has_bias ? constant(graph, "b", dtype, 1, &l->channels, 1) : 0;
    y = call(graph, l->call, fields, 3, (bp_value[]){x, weight, bias});
    const bp_value mean = constant(graph, "mean", dtype, 1, &l->channels, -1);
    const bp_value variance = constant(graph, "var", dtype, 1, &l->channels, 0.5);
    const bp_value scale = l->has_weight ? constant(graph, "scale", dtype, 1, &l->channels, low) : 0;
    const bp_value shift = l->has_weight ? constant(graph, "shift", dtype, 1, &l->channels, 0) : 0;
    y = call(graph, "batch_norm", l->norm, 5, (bp_value[]){y, scale, shift, mean, variance});
    assert_int_equal(bp_graph_output(graph, "y", y), BP_OK);
    assert_int_equal(bp_graph_finish(graph), BP_OK);
    return graph;
}

/* Compares with the exact result in f64. Each weight and the result are rounded, and sums have `terms` roundings. */
static void check_close(const bp_graph *graph, const bp_graph *wide, const char *settings, bp_dtype dtype, double low,
                        double roundings, double terms, const char *what) {
    int64_t count, other;
    double *want = run_in(wide, "graph.rewrite=exact", low, &count), *got = run_in(graph, settings, low, &other);
    assert_int_equal(count, other);
    const double bound = roundings * roundoff(dtype) + terms * roundoff(dtype == BP_F64 ? BP_F64 : BP_F32);
    for (int64_t i = 0; i < count; i++) {
        if (!(fabs(got[i] - want[i]) <= bound * fabs(want[i]))) {
            fail_msg("%s, %s: element %d is %.17g instead of %.17g", what, bp_dtype_name(dtype), (int)i, got[i],
                     want[i]);
        }
    }
    free(want);
    free(got);
}

static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};

static void test_norms(void **state) {
    (void)state;
    for (int i = 0; i < LAYERS; i++) {
        for (int t = 0; t < 4; t++) {
            bp_graph *graph = make_layer(&layers[i], types[t], 0.25), *wide = make_layer(&layers[i], BP_F64, 0.25);
            const double terms = (double)count_of(layers[i].ndim, layers[i].weight);
            assert_int_equal(count_rewritten(graph, "graph.rewrite=exact"), 0);
            assert_int_equal(count_rewritten(graph, "graph.rewrite=fold"), 1);
            check_close(graph, wide, "graph.rewrite=fold", types[t], 0.5, 3, terms, layers[i].fields);
            check_close(graph, wide, "graph.rewrite=fast, graph.backend=eager", types[t], 0.5, 3, terms,
                        layers[i].fields);
            bp_graph_release(graph);
            bp_graph_release(wide);
        }
    }
}

/* A normalization whose scaled weights do not fit into the type stays. */
static void test_large_scales(void **state) {
    (void)state;
    static const double scales[] = {25000, 40000};
    for (int i = 0; i < 2; i++) { /* of the first layer the bias is too large, of the second one the weight */
        bp_graph *graph = make_layer(&layers[i], BP_F16, scales[i]);
        assert_int_equal(count_rewritten(graph, "graph.rewrite=fold"), 0);
        bp_graph_release(graph);
    }
}

#define CONV                                                                                                           \
    "graph 1\ninput x f32 [1, 2, 3]\nconstant w f32 [2, 2, 1] = [-1, 2, 3, -4]\nconstant m f32 [2] = [1, 2]\n"         \
    "constant v f32 [2] = [1, 3]\n"
#define NORM "b = batch_norm(input=a, running_mean=m, running_var=v)\n"

/* Graphs, and what is rewritten in them: norms + 100 attentions. */
static const struct rule_case {
    const char *text;
    int rewritten;
} cases[] = {
    {CONV "a = conv(x, w, ndim=1)\n" NORM "output y = b\n", 1},
    {CONV "constant k f32 [4, 1] = [1, 2, 3, 4]\nr = reshape(k, [2, 2, 1])\na = conv(x, r, ndim=1)\n" NORM
          "output y = b\n",
     0}, /* a view, not a constant */
    {CONV "a = conv(x, w, ndim=1, activation=relu)\n" NORM "output y = b\n", 0},
    {CONV "a = conv(x, w, ndim=1)\n" NORM "c = binary(a, b)\noutput y = c\n", 0},
    {CONV "a = conv(x, w, ndim=1)\n" NORM "output y = b\noutput z = a\n", 0},
    {CONV "p = slice(x, [1, 0, 2, 1])\na = conv(p, w, ndim=1)\n" NORM "output y = b\n", 1},
    {CONV "a = unary(x, kind=exp)\n" NORM "output y = b\n", 0},
    {CONV "input n f32 [2]\na = conv(x, w, ndim=1)\nb = batch_norm(input=a, running_mean=n, running_var=v)\noutput y = "
          "b\n",
     0},
    {CONV "input u f32 [2, 2, 1]\na = conv(x, u, ndim=1)\n" NORM "output y = b\n", 0},
    {CONV "constant k f32 [2, 3] = [1, 2, 3, 4, 5, 6]\na = linear(x, k)\n" NORM "output y = b\n", 0}, /* 3 dimensions */
    {CONV "a = conv(x, w, ndim=1)\n" NORM "c = conv(b, w, ndim=1)\nd = batch_norm(input=c, running_mean=m, "
          "running_var=v, relu=true)\noutput y = d\n",
     2},
};

/* What is not rewritten gives the same bytes, and each way to run the same bytes. */
static void check_case(const char *text, const char *rewrite, int rewritten) {
    bp_graph *graph;
    int64_t count;
    char eager[64];
    if (bp_graph_parse(&graph, strlen(text), text) != BP_OK) {
        fail_msg("%s\n%s", bp_last_error(), text);
    }
    snprintf(eager, sizeof eager, "%s, graph.backend=eager", rewrite);
    const int found = count_rewritten(graph, rewrite);
    if (found != rewritten) {
        fail_msg("%d are rewritten instead of %d\n%s", found, rewritten, text);
    }
    double *planned = run_in(graph, rewrite, 0.5, &count), *called = run_in(graph, eager, 0.5, &count);
    double *exact = run_in(graph, "graph.rewrite=exact", 0.5, &count);
    assert_memory_equal(planned, called, (size_t)count * sizeof *planned);
    if (rewritten == 0) {
        assert_memory_equal(planned, exact, (size_t)count * sizeof *planned);
    }
    for (int64_t i = 0; i < count; i++) {
        assert_true(fabs(planned[i] - exact[i]) <= 0x1p-18 * fabs(exact[i]));
    }
    free(planned);
    free(called);
    free(exact);
    bp_graph_release(graph);
}

static void test_rules_of_norms(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_case(cases[i].text, "graph.rewrite=fold", cases[i].rewritten);
    }
}

/* ---- Attention ---- */

#define QKV "graph 1\ninput q f32 [2, 3, 4]\ninput k f32 [2, 5, 4]\ninput v f32 [2, 5, 6]\nt = permute(k, [0, 2, 1])\n"
#define SCALAR "constant c f32 [1] = [0x1p-2]\ne = expand(c, [2, 3, 5])\n"
#define FIVE "constant m f32 [5] = [0, 1, 0x1p-1, 0, 2]\n"
#define END "p = softmax(s)\ny = matmul(p, v)\noutput y = y\n"

static const struct rule_case attentions[] = {
    {QKV "s = matmul(q, t)\n" END, 100},
    {QKV SCALAR "a = matmul(q, t)\ns = binary(a, c, kind=multiply)\n" END, 100},
    {QKV SCALAR "a = matmul(q, t)\ns = binary(e, a, kind=multiply)\n" END, 100},
    {QKV SCALAR "a = matmul(q, t)\ns = binary(a, c, kind=divide)\n" END, 100},
    {QKV SCALAR "a = matmul(q, t)\ns = binary(c, a, kind=divide)\n" END, 0},
    {QKV FIVE "a = matmul(q, t)\ns = binary(a, m)\n" END, 100},
    {QKV FIVE SCALAR "a = matmul(q, t)\nb = binary(a, c, kind=multiply)\ns = binary(m, b)\n" END, 100},
    {QKV FIVE SCALAR "r = unary(m, kind=exp)\nf = expand(r, [2, 3, 5])\ng = binary(f, f)\na = matmul(q, t)\n"
                     "b = binary(c, a, kind=multiply)\ns = binary(g, b)\n" END,
     100},
    {QKV SCALAR "u = binary(q, c, kind=multiply)\ns = matmul(u, t)\n" END, 100},
    {QKV "constant m f32 [2, 1, 1, 1] = [1, 2]\na = matmul(q, t)\ns = binary(a, m)\np = softmax(s)\ny = matmul(p, "
         "v)\noutput y = y\n",
     0}, /* the mask has more dimensions than the scores */
    {QKV "constant c f32 [1, 1, 1, 1] = [2]\na = matmul(q, t)\ns = binary(a, c, kind=multiply)\n" END, 0},
    {QKV "s = matmul(q, t)\np = softmax(s, axis=1)\ny = matmul(p, v)\noutput y = y\n", 0},
    {QKV "s = matmul(q, t)\np = softmax(s, axis=2)\ny = matmul(p, v)\noutput y = y\n", 100},
    {QKV "s = matmul(q, t)\np = softmax(s, kind=log_softmax)\ny = matmul(p, v)\noutput y = y\n", 0},
    {QKV "s = matmul(q, t)\np = softmax(s)\ny = matmul(p, v)\noutput y = y\noutput p = p\n", 0},
    {QKV "s = matmul(q, t)\np = softmax(s)\no = matmul(p, v)\nz = matmul(p, v)\ny = binary(o, z)\noutput y = y\n", 0},
    {"graph 1\ninput q f32 [3, 4]\ninput k f32 [4, 5]\ninput v f32 [5, 6]\ns = matmul(q, k)\n" END, 100},
    {"graph 1\ninput q f32 [2, 2, 3, 4]\ninput k f32 [2, 1, 4, 5]\ninput v f32 [1, 2, 5, 6]\ns = matmul(q, k)\n" END,
     100},
    {"graph 1\ninput q f32 [4]\ninput k f32 [4, 5]\ninput v f32 [5, 6]\ns = matmul(q, k)\n" END, 0},
    {"graph 1\ninput q f32 [3, 4]\ninput k f32 [4, 5]\ninput v f32 [5]\ns = matmul(q, k)\n" END, 0},
    {"graph 1\ninput q f32 [1, 1]\ninput k f32 [1, 1]\ninput v f32 [1, 1]\ns = matmul(q, k)\n" END, 100},
};

static void test_attentions(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof attentions / sizeof *attentions; i++) {
        check_case(attentions[i].text, "graph.rewrite=fast", attentions[i].rewritten);
    }
}

/* fold leaves attention as it is. */
static void test_fold_leaves_attention(void **state) {
    (void)state;
    check_case(attentions[0].text, "graph.rewrite=fold", 0);
}

/* ---- Copies ---- */

/* A graph in which nothing is rewritten gives the same status and bytes. */
static void test_random(void **state) {
    (void)state;
    static int accepted[256];
    const int many = getenv("TESTED_ALL") ? 5000 : test_cases(600, 6);
    int compared = 0;
    for (int seed = 1; seed <= many; seed++) {
        random_source random = {(uint64_t)seed};
        bp_graph *graph = random_graph(&random, 3 + (int)random_below(&random, 14), accepted);
        compared_tensors t;
        make_compared(&t, graph, random_below(&random, 2), &random);
        const bp_status exact = run_graph(graph, "", &t.in, &t.want);
        const bp_status rewritten = run_graph(graph, "graph.rewrite=fast", &t.in, &t.got);
        if (exact != rewritten) {
            fail_msg("seed %d: %s, but %s (%s)", seed, bp_status_text(exact), bp_status_text(rewritten),
                     bp_last_error());
        }
        for (int i = 0; exact == BP_OK && i < t.want.count; i++) {
            if (memcmp(t.want.block[i], t.got.block[i], (size_t)t.want.size[i]) != 0) {
                fail_msg("seed %d: output %d differs", seed, i);
            }
        }
        compared += exact == BP_OK;
        free_compared(&t);
        bp_graph_release(graph);
    }
    assert_true(compared > many / 2);
}

/* ---- Lifetimes and threads ---- */

/* A plan outlives the graph, and other settings give the exact bytes again. */
static void test_lifetimes(void **state) {
    (void)state;
    bp_graph *graph = make_layer(&layers[0], BP_F32, 0.25);
    int64_t count;
    double *before = run_in(graph, "graph.rewrite=exact", 0.5, &count);
    double *folded = run_in(graph, "graph.rewrite=fold", 0.5, &count);
    double *after = run_in(graph, "graph.rewrite=exact", 0.5, &count);
    assert_memory_equal(before, after, (size_t)count * sizeof *before);
    assert_int_equal(bp__graphs_held(), 1); /* the program has no rewritten graph */
    arrays a;
    bp_options *options;
    bp_plan *plan;
    make_arrays(&a, graph, 0.5);
    assert_int_equal(bp_options_new(&options, "graph.rewrite=fold"), BP_OK);
    assert_int_equal(bp_graph_plan(&plan, options, graph, a.inputs, (const DLTensor *const *)a.outputs), BP_OK);
    bp_options_release(options);
    bp_graph_release(graph);
    const bp_operand operands[] = {{a.in[0].tensor.data, 0}, {a.out[0].tensor.data, 0}};
    assert_int_equal(bp_execute(plan, operands, NULL), BP_OK);
    for (int64_t i = 0; i < count; i++) {
        assert_true((double)((const float *)a.out[0].tensor.data)[i] == folded[i]);
    }
    bp_plan_release(plan);
    free_arrays(&a);
    free(before);
    free(folded);
    free(after);
}

static void *run_first(void *user) {
    int64_t count;
    return run_in(user, "graph.rewrite=fold", 0.5, &count);
}

/* The first runs come at the same time. */
static void test_threads(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        bp_graph *graph = make_layer(&layers[round % LAYERS], BP_F32, 0.25);
        pthread_t threads[3];
        void *results[3];
        int64_t count;
        for (int i = 0; i < 3; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, run_first, graph), 0);
        }
        for (int i = 0; i < 3; i++) {
            assert_int_equal(pthread_join(threads[i], &results[i]), 0);
        }
        double *want = run_in(graph, "graph.rewrite=fold", 0.5, &count);
        for (int i = 0; i < 3; i++) {
            assert_memory_equal(results[i], want, (size_t)count * sizeof *want);
            free(results[i]);
        }
        free(want);
        bp_graph_release(graph);
    }
}

/* Messages and explanations have the numbers of the program's nodes. */
static void test_numbers(void **state) {
    (void)state;
    bp_graph *graph = make_layer(&layers[0], BP_F32, 0.25);
    arrays a;
    bp_options *options;
    bp_explanation *explanation;
    make_arrays(&a, graph, 0.5);
    assert_int_equal(bp_options_new(&options, "graph.rewrite=fold"), BP_OK);
    assert_int_equal(bp_graph_explain(&explanation, options, graph, a.inputs, (const DLTensor *const *)a.outputs),
                     BP_OK);
    assert_non_null(strstr(bp_explanation_text(explanation), "node 0 (conv)"));
    assert_null(strstr(bp_explanation_text(explanation), "batch_norm)"));
    bp_explanation_release(explanation);
    bp_options_release(options);
    free_arrays(&a);
    bp_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_large_scales),
        cmocka_unit_test(test_rules_of_norms),
        cmocka_unit_test(test_attentions),
        cmocka_unit_test(test_fold_leaves_attention),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_lifetimes),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
