/* test_in_blocks.c - functions of single elements that run block by block: the results of node by node, for blocks of
 * any size, broadcasting, views, several outputs, and threads. */
#include "backplane.h"

#include "dispatch/internal.h"
#include "graph/plan.h"
#include "graph/support_graph.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VALUES = 64 };

/* A graph while it is made: values whose shapes broadcast with each other. */
typedef struct pool {
    bp_graph *graph;
    random_source *random;
    bp_value value[VALUES];
    int count;
    int ndim;
    int64_t shape[3];
} pool;

/* ---- Random graphs ---- */

static bp_value choose(const pool *p) {
    const uint32_t recent = random_below(p->random, 3) ? (uint32_t)(p->count < 4 ? p->count : 4) : (uint32_t)p->count;
    return p->value[p->count - 1 - (int)random_below(p->random, recent)];
}

static void keep(pool *p, bp_value value) {
    if (p->count < VALUES) {
        p->value[p->count++] = value;
    }
}

/* Adds inputs of the whole shape, and some with dimensions of 1 or with less dimensions. */
static void add_inputs(pool *p) {
    char name[16];
    for (int i = 0; i < 4; i++) {
        int64_t shape[3];
        const int skipped = i > 1 && random_below(p->random, 3) == 0 ? (int)random_below(p->random, 3) : 0;
        const int ndim = p->ndim > skipped ? p->ndim - skipped : 0;
        bp_value value;
        for (int d = 0; d < ndim; d++) {
            shape[d] = i > 1 && random_below(p->random, 3) == 0 ? 1 : p->shape[p->ndim - ndim + d];
        }
        snprintf(name, sizeof name, "x%d", i);
        assert_int_equal(bp_graph_input(p->graph, name, BP_F32, ndim, shape, &value), BP_OK);
        keep(p, value);
    }
}

static void add_view(pool *p) {
    const bp_value of = choose(p);
    bp_value made = of;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    assert_int_equal(bp_graph_shape(p->graph, of, &dtype, &ndim, shape), BP_OK);
    if (ndim > 0 && random_below(p->random, 2)) { /* mirrored along an axis */
        const int axis = (int)random_below(p->random, (uint32_t)ndim);
        bp_graph_slice(p->graph, of, axis, -1, INT64_MIN, -1, &made);
    } else if (ndim > 1 && shape[ndim - 1] == shape[ndim - 2]) {
        int axes[3] = {0, 1, 2};
        axes[ndim - 1] = ndim - 2;
        axes[ndim - 2] = ndim - 1;
        bp_graph_permute(p->graph, of, ndim, axes, &made);
    }
    keep(p, made);
}

static void add_node(pool *p) {
    static const char *const unary[] = {"exp", "negative", "tanh", "abs", "floor", "sigmoid"};
    static const char *const binary[] = {"add", "multiply", "subtract", "maximum", "divide"};
    char fields[64];
    bp_value made = 0, *outputs[] = {&made}, operands[3] = {choose(p), choose(p), choose(p)};
    bp_status status;
    switch (random_below(p->random, 8)) {
    case 0:
        add_view(p);
        return;
    case 1: /* a condition, and the choice between two */
        status = bp_graph_call(p->graph, "binary", "kind=less", 2, operands, 1, outputs);
        operands[0] = made;
        if (status == BP_OK) {
            status =
                bp_graph_call(p->graph, "where", NULL, 3, (bp_value[]){made, operands[1], operands[2]}, 1, outputs);
        }
        break;
    case 2: /* wider, and back */
        status = bp_graph_call(p->graph, "unary", "dtype=f64", 1, operands, 1, outputs);
        status = status == BP_OK ? bp_graph_call(p->graph, "unary", "kind=exp", 1, &made, 1, outputs) : status;
        status = status == BP_OK ? bp_graph_call(p->graph, "unary", "dtype=f32", 1, &made, 1, outputs) : status;
        break;
    case 3:
    case 4:
    case 5:
        snprintf(fields, sizeof fields, "kind=%s", binary[random_below(p->random, 5)]);
        status = bp_graph_call(p->graph, "binary", fields, 2, operands, 1, outputs);
        break;
    default:
        snprintf(fields, sizeof fields, "kind=%s", unary[random_below(p->random, 6)]);
        status = bp_graph_call(p->graph, "unary", fields, 1, operands, 1, outputs);
    }
    if (status == BP_OK) {
        keep(p, made);
    }
}

static bp_graph *make_graph(random_source *random) {
    static const int64_t shapes[][3] = {{7, 1, 13}, {1, 40, 3}, {64, 1, 1}, {3, 50, 1},
                                        {5, 6, 6},  {1, 1, 90}, {2, 3, 11}, {33, 2, 2}};
    pool p = {.random = random, .ndim = 3 - (int)random_below(random, 2)};
    char name[16];
    const int64_t *shape = shapes[random_below(random, 8)];
    memcpy(p.shape, shape + 3 - p.ndim, (size_t)p.ndim * sizeof *shape);
    assert_int_equal(bp_graph_create(&p.graph), BP_OK);
    add_inputs(&p);
    for (int i = 0; i < 4 + (int)random_below(random, 12); i++) {
        add_node(&p);
    }
    const int outputs = 1 + (int)random_below(random, 3);
    for (int k = 0; k < outputs; k++) {
        snprintf(name, sizeof name, "y%d", k);
        assert_int_equal(bp_graph_output(p.graph, name, k == 0 ? p.value[p.count - 1] : choose(&p)), BP_OK);
    }
    assert_int_equal(bp_graph_finish(p.graph), BP_OK);
    return p.graph;
}

/* ---- Comparing ---- */

/* What the plans of all seeds have. */
static struct { int loops, flat, axes, rests, shared, inner; } seen;

static void count_blocks(const bp_graph *graph, const bp_options *options, const tensors *in, const tensors *out) {
    bp_plan *plan;
    assert_int_equal(
        bp_graph_plan(&plan, options, graph, (const DLTensor *const *)in->list, (const DLTensor *const *)out->list),
        BP_OK);
    const bp__lowered *l = &((const bp__graph_plan *)bp__program_of(plan)->owner)->lowered;
    for (int i = 0; i < l->blocks_count; i++) {
        seen.loops++;
        *(l->blocks[i].axis < 0 ? &seen.flat : &seen.axes) += 1;
        seen.rests += l->blocks[i].rest > 0;
        seen.shared += l->blocks[i].threads > 1;
    }
    for (bp_value v = 1; l->inner && v <= graph->value_count; v++) {
        seen.inner += l->inner[v];
    }
    bp_plan_release(plan);
}

/* Runs the graph, and counts the blocks of its plan. */
static bp_status run(const bp_graph *graph, const char *settings, const tensors *in, const tensors *out) {
    bp_options *options;
    const bp_status status = run_graph(graph, settings, in, out);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    count_blocks(graph, options, in, out);
    bp_options_release(options);
    return status;
}

/* Compares numbers by their bits, except NaN: a function of two elements that are both NaN may return either. */
static bool are_equal(const tensors *a, const tensors *b, int output) {
    bool equal = true;
    for (int64_t i = 0; i + 4 <= a->size[output]; i += 4) {
        float x, y;
        memcpy(&x, a->block[output] + i, sizeof x);
        memcpy(&y, b->block[output] + i, sizeof y);
        equal &= memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y);
    }
    return equal;
}

static void check_seed(uint64_t seed) {
    static const char *const ways[] = {
        "graph.block_bytes=64, num_threads=1",  "graph.block_bytes=200, num_threads=1",
        "graph.block_bytes=600, num_threads=1", "graph.block_bytes=64, num_threads=2",
        "graph.block_bytes=200, num_threads=3", "graph.block_bytes=1",
    };
    random_source random = {seed};
    bp_graph *graph = make_graph(&random);
    const bool strided = random_below(&random, 2);
    tensors in, want, got;
    make_tensors(&in, graph, false, strided, &random);
    random_source same = random, again = random;
    make_tensors(&want, graph, true, strided, &same);
    make_tensors(&got, graph, true, strided, &again);
    fill_tensors(&in, &random);
    assert_int_equal(run(graph, "graph.backend=eager", &in, &want), BP_OK);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        assert_int_equal(run(graph, ways[w], &in, &got), BP_OK);
        for (int i = 0; i < want.count; i++) {
            if (!are_equal(&want, &got, i)) {
                fail_msg("seed %d: output %d differs with %s", (int)seed, i, ways[w]);
            }
        }
    }
    free_tensors(&in);
    free_tensors(&want);
    free_tensors(&got);
    bp_graph_release(graph);
}

static void test_random(void **state) {
    (void)state;
    const int many = getenv("TESTED_ALL") ? 5000 : 300;
    for (int seed = 1; seed <= many; seed++) {
        check_seed((uint64_t)seed);
    }
    assert_true(seen.loops > many && seen.flat > many / 8 && seen.axes > many / 8);
    assert_true(seen.rests > many / 8 && seen.shared > many / 8 && seen.inner > many / 8);
}

/* ---- The default ---- */

#define LINE "a = binary(x, x, kind=multiply)\nb = unary(a, kind=exp)\noutput y = b\n"

static int loops_of(const char *head, const char *settings) {
    char text[512];
    bp_graph *graph;
    bp_plan *plan;
    bp_options *options;
    tensors in, out;
    random_source random = {1};
    snprintf(text, sizeof text, "graph 1\n%s\n" LINE, head);
    assert_int_equal(bp_graph_parse(&graph, strlen(text), text), BP_OK);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    make_tensors(&in, graph, false, false, &random);
    make_tensors(&out, graph, true, false, &random);
    assert_int_equal(
        bp_graph_plan(&plan, options, graph, (const DLTensor *const *)in.list, (const DLTensor *const *)out.list),
        BP_OK);
    const bp__program *program = bp__program_of(plan);
    int loops = 0;
    for (int i = 0; i < program->count; i++) {
        loops += program->parts[i].loop > 0;
    }
    bp_plan_release(plan);
    free_tensors(&in);
    free_tensors(&out);
    bp_options_release(options);
    bp_graph_release(graph);
    return loops;
}

/* What the second cache holds is not cut. */
static void test_default(void **state) {
    (void)state;
    assert_int_equal(loops_of("input x f32 [100]", ""), 0);
    assert_int_equal(loops_of("input x f32 [100]", "graph.block_bytes=256"), 1);
    assert_int_equal(loops_of("input x f32 [20000000]", ""), 1);
    assert_int_equal(loops_of("input x f32 [20000000]", "graph.block_bytes=1000000000"), 0);
    assert_int_equal(loops_of("input x f32 [0, 3]", "graph.block_bytes=1"), 0);
    assert_int_equal(loops_of("input x f32 []", "graph.block_bytes=1"), 0);
}

static void test_explanation(void **state) {
    (void)state;
    const char *text = "graph 1\ninput x f32 [1000]\n" LINE;
    bp_graph *graph;
    bp_explanation *page;
    bp_options *options;
    tensors in, out;
    random_source random = {1};
    assert_int_equal(bp_graph_parse(&graph, strlen(text), text), BP_OK);
    assert_int_equal(bp_options_new(&options, "graph.block_bytes=5000, num_threads=1"), BP_OK);
    make_tensors(&in, graph, false, false, &random);
    make_tensors(&out, graph, true, false, &random);
    assert_int_equal(
        bp_graph_explain(&page, options, graph, (const DLTensor *const *)in.list, (const DLTensor *const *)out.list),
        BP_OK);
    assert_non_null(strstr(bp_explanation_text(page), "node 0 (binary), in blocks"));
    assert_non_null(strstr(bp_explanation_text(page), "node 1 (unary), the rest"));
    assert_non_null(strstr(bp_explanation_text(page), "2 times"));
    bp_explanation_release(page);
    free_tensors(&in);
    free_tensors(&out);
    bp_options_release(options);
    bp_graph_release(graph);
}

/* ---- Threads ---- */

/* A task of an executor that starts a thread for each one. */
typedef struct started {
    bp_task task;
    void *context;
    int number, due; /* due: the thread kept a part that is due */
} started;

static int kept;

static void *start(void *given) {
    started *s = given;
    s->task(s->context, s->number);
    s->due = bp__thread.due_part != NULL;
    return NULL;
}

static void start_threads(void *user, int threads, int count, bp_task task, void *context) {
    (void)user;
    (void)threads;
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        started s = {task, context, i, 0};
        assert_int_equal(pthread_create(&thread, NULL, start, &s), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        kept += s.due;
    }
}

static bp_status fail_always(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    (void)self;
    (void)operands;
    (void)exec;
    return bp__fail(BP_E_INTERNAL, "the fifth element");
}

/* A thread of the program keeps no part of a plan that it does not hold, and the message of its failure is not lost. */
static void test_threads_of_the_program(void **state) {
    (void)state;
    const char *text = "graph 1\ninput x f32 [1000]\n" LINE;
    bp_graph *graph;
    bp_plan *plan;
    bp_options *options;
    tensors in, out;
    random_source random = {1};
    assert_int_equal(bp_graph_parse(&graph, strlen(text), text), BP_OK);
    assert_int_equal(bp_options_new(&options, "graph.block_bytes=1000, num_threads=2"), BP_OK);
    make_tensors(&in, graph, false, false, &random);
    make_tensors(&out, graph, true, false, &random);
    assert_int_equal(
        bp_graph_plan(&plan, options, graph, (const DLTensor *const *)in.list, (const DLTensor *const *)out.list),
        BP_OK);
    const bp__part *parts = bp__program_of(plan)->parts;
    assert_int_equal(parts[0].threads, 2);
    atomic_store(&parts[0].plan->due, 0);
    assert_int_equal(bp_set_executor(start_threads, NULL), BP_OK);
    const bp_operand operands[] = {{in.list[0]->data, 0}, {out.list[0]->data, 0}};
    assert_int_equal(bp_execute(plan, operands, NULL), BP_OK);
    assert_int_equal(kept, 0);
    parts[1].plan->prepared->enqueue = fail_always;
    assert_int_equal(bp_execute(plan, operands, NULL), BP_E_INTERNAL);
    assert_non_null(strstr(bp_last_error(), "the fifth element"));
    assert_int_equal(bp_set_executor(NULL, NULL), BP_OK);
    bp_plan_release(plan);
    bp_options_release(options);
    free_tensors(&in);
    free_tensors(&out);
    bp_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_explanation),
        cmocka_unit_test(test_threads_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
