/* test_backends.c - backends of the program: what they are told, the choice, failures, and how long they live, also in
 * other threads and in a child of fork. */
#include "backplane.h"

#include "dispatch/internal.h"
#include "graph/region.h"
#include "graph/support_graph.h"
#include "support/child.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- A backend ---- */

enum { ELEMENTS = 24 };

/* What a backend does, and what it has seen. */
typedef struct own {
    double cost_ns;
    unsigned properties;
    bp_status plan_status, run_status;
    const char *refusal; /* NULL: accepts */
    atomic_int asked, planned, runs, destroyed, released;
    void (*look)(const bp_region *region); /* NULL: does not look */
} own;

/* A region in plain C: f32 and elements one after another, or one for all. */
typedef struct program {
    own *of;
    int values, nodes, inputs, outputs, elements;
    bool single[32];
    bp_region_node node[16];
    char function[16][32];
} program;

static int accept_region(void *user, const bp_region *region, bp_region_offer *offer) {
    own *o = user;
    o->asked++;
    if (o->look) {
        o->look(region);
    }
    if (o->refusal) {
        snprintf(offer->reason, sizeof offer->reason, "%s", o->refusal);
        return 0;
    }
    offer->cost_ns = o->cost_ns;
    offer->properties = o->properties;
    offer->workspace = (size_t)region->value_count * ELEMENTS * sizeof(float);
    return 1;
}

static bp_status plan_region(void *user, const bp_region *region, void **planned) {
    own *o = user;
    if (o->plan_status != BP_OK) {
        return o->plan_status;
    }
    program *p = calloc(1, sizeof *p);
    p->of = o;
    p->values = region->value_count;
    p->inputs = region->input_count;
    p->outputs = region->output_count;
    p->nodes = region->node_count;
    p->elements = 1;
    for (int d = 0; d < region->ndim; d++) {
        p->elements *= (int)region->shape[d];
    }
    for (int i = 0; i < p->inputs; i++) {
        p->single[i] = region->values[i].strides[0] == 0;
    }
    for (int i = 0; i < p->nodes; i++) {
        p->node[i] = region->nodes[i];
        snprintf(p->function[i], sizeof p->function[i], "%s", region->nodes[i].function);
    }
    o->planned++;
    *planned = p;
    return BP_OK;
}

static float compute(const char *function, float a, float b) {
    return strcmp(function, "add") == 0        ? a + b
           : strcmp(function, "multiply") == 0 ? a * b
           : strcmp(function, "negative") == 0 ? -a
           : a < 0                             ? 0
                                               : a;
}

static bp_status run_region(void *planned, void *const *addresses, void *workspace) {
    program *p = planned;
    p->of->runs++;
    if (p->of->run_status != BP_OK) {
        return p->of->run_status;
    }
    const int operands = p->inputs + p->outputs;
    for (int i = 0; i < p->nodes; i++) {
        const bp_region_node *n = &p->node[i];
        for (int e = 0; e < p->elements; e++) {
            float x[2] = {0};
            for (int k = 0; k < n->operand_count; k++) {
                const int v = n->operand[k];
                const float *from = v < operands ? addresses[v] : (float *)workspace + v * ELEMENTS;
                x[k] = from[v < p->inputs && p->single[v] ? 0 : e];
            }
            float *to = n->result < operands ? addresses[n->result] : (float *)workspace + n->result * ELEMENTS;
            to[e] = compute(p->function[i], x[0], x[1]);
        }
    }
    return BP_OK;
}

static void destroy_region(void *planned) {
    ((program *)planned)->of->destroyed++;
    free(planned);
}

static void release_own(void *user) {
    ((own *)user)->released++;
}

static bp_graph_backend backend_of(own *o, const char *name) {
    return (bp_graph_backend){.struct_size = sizeof(bp_graph_backend),
                              .name = name,
                              .description = "plain C",
                              .user = o,
                              .accept = accept_region,
                              .plan = plan_region,
                              .run = run_region,
                              .destroy = destroy_region,
                              .release = release_own};
}

static void add(own *o, const char *name) {
    const bp_graph_backend backend = backend_of(o, name);
    if (bp_graph_backend_add(&backend) != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
}

/* ---- A graph ---- */

#define TEXT                                                                                                           \
    "graph 1\ninput x f32 [24]\ninput y f32 [1]\nconstant c f32 [] = [0x1p-1]\na = binary(x, y, kind=multiply)\n"      \
    "b = binary(a, c)\nd = unary(b, kind=negative)\ne = unary(d, kind=relu)\noutput z = e\noutput w = b\n"

typedef struct example {
    bp_graph *graph;
    float x[ELEMENTS], y[1], z[ELEMENTS], w[ELEMENTS];
    bp_view view[4];
} example;

static void open_example(example *e) {
    assert_int_equal(bp_graph_parse(&e->graph, strlen(TEXT), TEXT), BP_OK);
    for (int i = 0; i < ELEMENTS; i++) {
        e->x[i] = (float)i - 11.5f;
    }
    e->y[0] = 0.75f;
    float *const memory[] = {e->x, e->y, e->z, e->w};
    for (int i = 0; i < 4; i++) {
        const int64_t size = i == 1 ? 1 : ELEMENTS;
        assert_int_equal(bp_view_init(&e->view[i], memory[i], BP_F32, 1, &size, NULL), BP_OK);
    }
}

static bp_status run(example *e, const char *settings) {
    bp_options *options;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    memset(e->z, 0xff, sizeof e->z);
    memset(e->w, 0xff, sizeof e->w);
    const bp_status status =
        bp_graph_run(options, e->graph, (const DLTensor *[]){&e->view[0].tensor, &e->view[1].tensor},
                     (DLTensor *[]){&e->view[2].tensor, &e->view[3].tensor});
    bp_options_release(options);
    return status;
}

static bool is_right(const example *e) {
    bool right = true;
    for (int i = 0; i < ELEMENTS; i++) {
        const float w = e->x[i] * e->y[0] + 0.5f;
        right &= e->w[i] == w && e->z[i] == (-w < 0 ? 0 : -w);
    }
    return right;
}

static void check(example *e, const char *settings) {
    if (run(e, settings) != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    assert_true(is_right(e));
}

static bp_plan *plan(const example *e, const char *settings) {
    bp_options *options;
    bp_plan *made;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    if (bp_graph_plan(&made, options, e->graph, (const DLTensor *[]){&e->view[0].tensor, &e->view[1].tensor},
                      (const DLTensor *[]){&e->view[2].tensor, &e->view[3].tensor}) != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    bp_options_release(options);
    return made;
}

static bp_explanation *explain(const example *e, const char *settings) {
    bp_options *options;
    bp_explanation *page;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(bp_graph_explain(&page, options, e->graph,
                                      (const DLTensor *[]){&e->view[0].tensor, &e->view[1].tensor},
                                      (const DLTensor *[]){&e->view[2].tensor, &e->view[3].tensor}),
                     BP_OK);
    bp_options_release(options);
    return page;
}

/* ---- Descriptions ---- */

static int looks;

static void look(const bp_region *r) {
    static const char *const functions[] = {"multiply", "add", "negative", "relu"};
    looks++;
    assert_int_equal(r->struct_size, sizeof *r);
    assert_true(r->ndim == 1 && r->shape[0] == ELEMENTS && r->threads == 3 && r->deterministic == 0);
    assert_true(r->input_count == 3 && r->output_count == 2 && r->value_count == 7 && r->node_count == 4);
    for (int i = 0; i < r->value_count; i++) {
        const bool inside = i >= 5;
        assert_int_equal(r->values[i].dtype, BP_F32);
        assert_int_equal(r->values[i].strides == NULL, inside);
        assert_int_equal(r->values[i].constant == NULL, i != 2);
    }
    assert_true(r->values[0].strides[0] == 1 && r->values[1].strides[0] == 0 && r->values[2].strides[0] == 0);
    assert_true(*(const float *)r->values[2].constant == 0.5f);
    for (int i = 0; i < r->node_count; i++) {
        const bp_region_node *n = &r->nodes[i];
        assert_string_equal(n->call, i < 2 ? "binary" : "unary");
        assert_string_equal(n->function, functions[i]);
        assert_true(n->operand_count == (i < 2 ? 2 : 1) && n->node == i && isnan(n->number[0]) && isnan(n->number[1]));
    }
    assert_true(r->nodes[0].operand[0] == 0 && r->nodes[0].operand[1] == 1 && r->nodes[0].result == 5);
    assert_true(r->nodes[1].operand[0] == 5 && r->nodes[1].operand[1] == 2);
    const int w = r->nodes[1].result, z = r->nodes[3].result; /* outputs, in the order of the nodes */
    assert_true(w == 3 && z == 4 && r->nodes[2].operand[0] == w && r->nodes[2].result == 6);
    assert_true(r->nodes[3].operand[0] == 6);
}

static void look_at_numbers(const bp_region *r) {
    looks++;
    assert_string_equal(r->nodes[0].function, "clip");
    assert_true(r->nodes[0].number[0] == -1 && r->nodes[0].number[1] == 2);
    assert_string_equal(r->nodes[1].function, "copy");
    assert_int_equal(r->values[r->nodes[1].result].dtype, BP_F64);
    assert_string_equal(r->nodes[2].call, "where");
    assert_string_equal(r->nodes[2].function, "");
    assert_int_equal(r->nodes[2].operand_count, 3);
}

static void test_region(void **state) {
    (void)state;
    own o = {.refusal = "it only looks", .look = look};
    example e;
    open_example(&e);
    add(&o, "mine");
    check(&e, "num_threads=3");
    assert_true(looks > 0 && looks == o.asked && o.planned == 0); /* the first plan of a process may be made twice */
    looks = 0;
    bp_graph_release(e.graph);
    const char *text = "graph 1\ninput x f32 [24]\ninput q bool [24]\na = unary(x, kind=clip, first=-1, second=2)\n"
                       "b = unary(a, dtype=f64)\nc = where(q, b, b)\noutput y = c\n";
    bp_graph *graph;
    random_source random = {1};
    tensors in, out;
    o.look = look_at_numbers;
    assert_int_equal(bp_graph_parse(&graph, strlen(text), text), BP_OK);
    make_tensors(&in, graph, false, false, &random);
    make_tensors(&out, graph, true, false, &random);
    assert_int_equal(run_graph(graph, "", &in, &out), BP_OK);
    assert_int_equal(looks, 1);
    free_tensors(&in);
    free_tensors(&out);
    bp_graph_release(graph);
    assert_int_equal(bp_graph_backend_remove("mine"), BP_OK);
    assert_int_equal(o.released, 1);
}

/* ---- The choice ---- */

static void test_choice(void **state) {
    (void)state;
    own cheap = {.cost_ns = 1}, dear = {.cost_ns = 1e9};
    example e;
    open_example(&e);
    check(&e, "");
    add(&cheap, "cheap");
    add(&dear, "dear");
    check(&e, ""); /* planned again */
    assert_true(cheap.runs == 1 && dear.runs == 0);
    check(&e, "graph.backend=dear");
    assert_true(cheap.runs == 1 && dear.runs == 1);
    check(&e, "graph.backend=\"dear, cheap\"");
    check(&e, "graph.backend=\"-cheap\"");
    assert_true(cheap.runs == 1 && dear.runs == 2);
    check(&e, "graph.backend=\"-cheap, -blocks\"");
    assert_true(cheap.runs == 1 && dear.runs == 3);
    check(&e, "graph.backend=\"-cheap, -dear, -blocks\"");
    check(&e, "graph.backend=blocks");
    check(&e, "graph.backend=eager");
    assert_true(cheap.runs == 1 && dear.runs == 3);
    check(&e, "deterministic=run"); /* neither guarantees it */
    assert_true(cheap.runs == 1 && dear.runs == 3);
    cheap.properties = BP_PROPERTY_REPRODUCIBLE;
    check(&e, "deterministic=run, graph.backend=cheap");
    assert_int_equal(cheap.runs, 2);
    assert_int_equal(run(&e, "graph.backend=other"), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "\"other\" is no backend"));
    assert_int_equal(bp_graph_backend_remove("dear"), BP_OK);
    assert_int_equal(run(&e, "graph.backend=dear"), BP_E_ARGUMENT);
    assert_int_equal(bp_graph_backend_remove("cheap"), BP_OK);
    check(&e, "");
    assert_int_equal(cheap.runs, 2);
    bp_graph_release(e.graph);
    assert_true(cheap.released == 1 && dear.released == 1 && cheap.planned == cheap.destroyed);
}

static void test_explanation(void **state) {
    (void)state;
    own mine = {.cost_ns = 1}, other = {.refusal = "it has no compiler"};
    example e;
    open_example(&e);
    add(&mine, "mine");
    add(&other, "other");
    bp_explanation *page = explain(&e, "");
    const char *text = bp_explanation_text(page);
    assert_non_null(strstr(text, "4 nodes together"));
    assert_non_null(strstr(text, "* backend mine: estimated 1 ns\n"));
    assert_non_null(strstr(text, "  backend blocks: estimated "));
    assert_non_null(strstr(text, "  backend other: refuses: it has no compiler\n"));
    assert_non_null(strstr(text, "node 1 (binary)\n"));
    assert_non_null(strstr(bp_explanation_json(page), "{\"name\":\"mine\",\"chosen\":true,\"accepted\":true"));
    bp_explanation_release(page);
    page = explain(&e, "graph.backend=\"-mine, blocks\"");
    text = bp_explanation_text(page);
    assert_non_null(strstr(text, "backend mine: refuses: excluded by graph.backend\n"));
    assert_non_null(strstr(text, ", preferred\n"));
    bp_explanation_release(page);
    bp_graph_release(e.graph);
    assert_int_equal(bp_graph_backend_remove("mine"), BP_OK);
    assert_int_equal(bp_graph_backend_remove("other"), BP_OK);
}

static void test_list(void **state) {
    (void)state;
    own o = {0};
    bp_graph_backend_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_graph_backend_at(0, &info), 1);
    assert_string_equal(info.name, "blocks");
    assert_int_equal(bp_graph_backend_at(1, &info), 0);
    assert_int_equal(bp_graph_backend_at(-1, &info), 0);
    add(&o, "a-2_B");
    assert_int_equal(bp_graph_backend_at(1, &info), 1);
    assert_string_equal(info.name, "a-2_B");
    assert_string_equal(info.description, "plain C");
    assert_int_equal(bp_graph_backend_at(2, &info), 0);
    assert_int_equal(bp_graph_backend_remove("a-2_B"), BP_OK);
    assert_int_equal(bp_graph_backend_at(1, &info), 0);
}

/* ---- Failures ---- */

static void test_wrong(void **state) {
    (void)state;
    static const char *const names[] = {"", "auto", "eager", "blocks", "-a", "2", "a b", NULL};
    own o = {0};
    bp_graph_backend b;
    char long_name[80] = {0};
    for (int i = 0; i < 8; i++) {
        b = backend_of(&o, names[i]);
        assert_int_equal(bp_graph_backend_add(&b), BP_E_ARGUMENT);
    }
    memset(long_name, 'a', 64);
    b = backend_of(&o, long_name);
    assert_int_equal(bp_graph_backend_add(&b), BP_E_ARGUMENT);
    b = backend_of(&o, "mine");
    b.run = NULL;
    assert_int_equal(bp_graph_backend_add(&b), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "run of backend mine"));
    assert_int_equal(bp_graph_backend_add(NULL), BP_E_ARGUMENT);
    add(&o, "mine");
    b = backend_of(&o, "mine");
    assert_int_equal(bp_graph_backend_add(&b), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "already"));
    assert_int_equal(bp_graph_backend_remove("blocks"), BP_E_ARGUMENT);
    assert_int_equal(bp_graph_backend_remove(NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_graph_backend_remove("mine"), BP_OK);
    assert_int_equal(bp_graph_backend_remove("mine"), BP_E_ARGUMENT);
    char name[32];
    for (int i = 0; i < 33; i++) {
        snprintf(name, sizeof name, "b%d", i);
        b = backend_of(&o, name);
        assert_int_equal(bp_graph_backend_add(&b), i < 32 ? BP_OK : BP_E_ARGUMENT);
    }
    for (int i = 0; i < 32; i++) {
        snprintf(name, sizeof name, "b%d", i);
        assert_int_equal(bp_graph_backend_remove(name), BP_OK);
    }
    assert_int_equal(o.released, 33);
}

static void test_failures(void **state) {
    (void)state;
    own o = {.plan_status = BP_E_UNSUPPORTED};
    example e;
    open_example(&e);
    add(&o, "mine");
    check(&e, "dispatch.fallback=strict"); /* a late refusal */
    o.plan_status = BP_E_LOAD;
    check(&e, "dispatch.fallback=allow");
    assert_int_equal(run(&e, "dispatch.fallback=strict, num_threads=1"), BP_E_LOAD);
    assert_non_null(strstr(bp_last_error(), "backend mine: "));
    o.cost_ns = (double)NAN;
    o.plan_status = BP_OK;
    check(&e, "num_threads=2");
    assert_int_equal(o.runs, 0);
    o.cost_ns = 1;
    o.run_status = BP_E_INTERNAL;
    assert_int_equal(run(&e, "num_threads=3"), BP_E_INTERNAL);
    assert_non_null(strstr(bp_last_error(), "4 nodes together: backend mine: "));
    o.run_status = BP_E_CANCELLED;
    assert_int_equal(run(&e, "num_threads=3"), BP_E_CANCELLED);
    o.run_status = BP_OK;
    check(&e, "num_threads=3");
    assert_int_equal(bp_graph_backend_remove("mine"), BP_OK);
    bp_graph_release(e.graph);
    assert_int_equal(o.released, 1);
}

/* ---- How long a backend lives ---- */

/* Makes a graph that the backend runs. */
static void open_running(example *e, own *o) {
    open_example(e);
    add(o, "mine");
    check(e, "");
}

static void test_lifetime(void **state) {
    (void)state;
    own o = {.cost_ns = 1};
    example e;
    open_running(&e, &o);
    bp_plan *held = plan(&e, "");
    assert_int_equal(bp_graph_backend_remove("mine"), BP_OK);
    check(&e, ""); /* planned again; the graph keeps the new plan in the place of the old one */
    assert_true(o.runs == 1 && o.destroyed == 0 && o.released == 0);
    memset(e.z, 0xff, sizeof e.z);
    memset(e.w, 0xff, sizeof e.w);
    assert_int_equal(bp_execute(held, (bp_operand[]){{e.x, 0}, {e.y, 0}, {e.z, 0}, {e.w, 0}}, NULL), BP_OK);
    assert_true(is_right(&e) && o.runs == 2);
    bp_graph_release(e.graph);
    assert_int_equal(bp_reset(), BP_E_BUSY);
    bp_plan_release(held);
    assert_true(o.destroyed == 1 && o.released == 1);
    assert_int_equal(bp_reset(), BP_OK);
    add(&o, "mine");
    assert_int_equal(bp_reset(), BP_E_BUSY);
    assert_non_null(strstr(bp_last_error(), "graph backend"));
    assert_int_equal(bp_graph_backend_remove("mine"), BP_OK);
    assert_int_equal(bp_reset(), BP_OK);
}

static atomic_bool ends;

static void *run_always(void *given) {
    example e;
    (void)given;
    open_example(&e);
    while (!atomic_load(&ends)) {
        check(&e, "");
    }
    bp_graph_release(e.graph);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    own o = {.cost_ns = 1};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_always, NULL), 0);
    }
    for (int i = 0; i < 200; i++) {
        add(&o, "mine");
        for (int k = 0; k < 100 && o.runs == 0; k++) {
            sched_yield();
        }
        assert_int_equal(bp_graph_backend_remove("mine"), BP_OK);
    }
    atomic_store(&ends, true);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_true(o.planned == o.destroyed && o.released == 200);
}

/* In a child of fork the backend and its plans work. */
static void test_fork(void **state) {
    (void)state;
    own o = {.cost_ns = 1};
    example e;
    open_running(&e, &o);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const bool before = run(&e, "") == BP_OK && is_right(&e) && o.runs == 2;
        const bool removed = bp_graph_backend_remove("mine") == BP_OK && run(&e, "") == BP_OK && is_right(&e);
        bp_graph_release(e.graph);
        _exit(before && removed && o.runs == 2 && o.released == 1 ? 0 : 1);
    }
    assert_int_equal(test_end_of_child(child, "runs a graph, and removes the backend"), 0);
    check(&e, "");
    assert_int_equal(o.runs, 2);
    assert_int_equal(bp_graph_backend_remove("mine"), BP_OK);
    bp_graph_release(e.graph);
    assert_int_equal(o.released, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_region),   cmocka_unit_test(test_choice),  cmocka_unit_test(test_explanation),
        cmocka_unit_test(test_list),     cmocka_unit_test(test_wrong),   cmocka_unit_test(test_failures),
        cmocka_unit_test(test_lifetime), cmocka_unit_test(test_threads), cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
