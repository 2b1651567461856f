/* test_plan.c - planned graphs: equal bytes as node by node, the workspace, joined and folded nodes, packed constants
 * and threads. */
#include "backplane.h"

#include "base/base.h"
#include "dispatch/internal.h"
#include "graph/plan.h"
#include "graph/support_graph.h"
#include "support/child.h"
#include "support/conditions.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static bp_graph *parse(const char *text) {
    bp_graph *graph;
    if (bp_graph_parse(&graph, strlen(text), text) != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    return graph;
}

static const bp__graph_plan *owner_of(const bp_plan *plan) {
    return bp__program_of(plan)->owner;
}

/* Makes a plan for compact tensors. */
static bp_plan *plan_graph(const bp_graph *graph) {
    random_source random = {1};
    tensors in, out;
    bp_plan *plan;
    make_tensors(&in, graph, false, false, &random);
    make_tensors(&out, graph, true, false, &random);
    if (bp_graph_plan(&plan, NULL, graph, (const DLTensor *const *)in.list, (const DLTensor *const *)out.list) !=
        BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    free_tensors(&in);
    free_tensors(&out);
    return plan;
}

/* ---- Random graphs ---- */

/* Runs a plan in a workspace that has NaN in each block before the run. */
static bp_status execute_graph(const bp_graph *graph, const tensors *in, const tensors *out) {
    bp_plan *plan;
    bp_operand operands[64];
    poison_tensors(out);
    bp_status status =
        bp_graph_plan(&plan, NULL, graph, (const DLTensor *const *)in->list, (const DLTensor *const *)out->list);
    if (status != BP_OK) {
        return status;
    }
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    assert_int_equal(info.operands, in->count + out->count);
    for (int i = 0; i < in->count + out->count; i++) {
        const DLTensor *t = i < in->count ? in->list[i] : out->list[i - in->count];
        operands[i] = (bp_operand){t->data, t->byte_offset};
    }
    char *space = bp__alloc_aligned(info.workspace + 64);
    memset(space, 0xff, info.workspace + 64);
    const bp_exec exec = {
        .struct_size = sizeof exec, .workspace = {space, 0}, .workspace_size = info.workspace, .operand_count = 0};
    status = bp_execute(plan, operands, info.workspace ? &exec : NULL);
    for (int i = 0; i < 64; i++) {
        assert_true((unsigned char)space[info.workspace + (size_t)i] == 0xff);
    }
    bp__free_aligned(space);
    bp_plan_release(plan);
    return status;
}

static void compare(const tensors *want, const tensors *got, uint64_t seed, const char *way) {
    for (int i = 0; i < want->count; i++) {
        if (memcmp(want->block[i], got->block[i], (size_t)want->size[i]) != 0) {
            fail_msg("seed %d: output %d of %s differs", (int)seed, i, way);
        }
    }
}

static int compared;

static void check_seed(uint64_t seed, int *accepted) {
    random_source random = {seed};
    bp_graph *graph = random_graph(&random, 3 + (int)random_below(&random, 14), accepted);
    const bool strided = random_below(&random, 2);
    compared_tensors t;
    make_compared(&t, graph, strided, &random);
    const char *const ways[] = {"num_threads=1", "num_threads=2"};
    bp_status eager = BP_OK;
    for (int i = 0; i < 2; i++) { /* with as many threads, because bits of some libraries depend on them */
        char call_by_call[64];
        snprintf(call_by_call, sizeof call_by_call, "graph.backend=eager,%s", ways[i]);
        eager = run_graph(graph, call_by_call, &t.in, &t.want);
        const bp_status planned = run_graph(graph, ways[i], &t.in, &t.got);
        if (planned != eager) {
            fail_msg("seed %d: %s, but %s (%s)", (int)seed, bp_status_text(eager), bp_status_text(planned),
                     bp_last_error());
        }
        if (eager == BP_OK) {
            compare(&t.want, &t.got, seed, ways[i]);
        }
    }
    if (eager == BP_OK) {
        compared++;
        assert_int_equal(run_graph(graph, "graph.backend=eager", &t.in, &t.want), BP_OK);
        assert_int_equal(execute_graph(graph, &t.in, &t.got), BP_OK);
        compare(&t.want, &t.got, seed, "a plan");
    }
    free_compared(&t);
    bp_graph_release(graph);
}

static void test_random(void **state) {
    (void)state;
    static int accepted[256];
    const int many = getenv("TESTED_ALL") ? 10000 : test_cases(1000, 6);
    for (int seed = 1; seed <= many; seed++) {
        check_seed((uint64_t)seed, accepted);
    }
    assert_true(compared > many / 2);
}

/* Blocks that are used at the same time are apart, and the workspace has all of them. */
static void test_blocks(void **state) {
    (void)state;
    static int accepted[256];
    for (uint64_t seed = 1; seed <= 100; seed++) {
        random_source random = {seed};
        bp_graph *graph = random_graph(&random, 30, accepted);
        bp_plan *plan = plan_graph(graph);
        const bp__lowered *l = &owner_of(plan)->lowered;
        for (int i = 0; i < l->use_count; i++) {
            const bp__use *a = &l->uses[i];
            assert_true(a->first >= l->step_count || a->offset + a->bytes <= bp__program_of(plan)->workspace);
            for (int k = 0; k < i; k++) {
                const bp__use *b = &l->uses[k];
                const bool together = a->first <= b->last && b->first <= a->last && a->first < l->step_count;
                assert_true(!together || a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset);
            }
        }
        bp_plan_release(plan);
        bp_graph_release(graph);
    }
}

#define HEAD "graph 1\ninput x f32 [4, 4]\n"

/* Returns the number of steps; negative if one of them is a copy. */
static int count_steps(const char *text) {
    bp_graph *graph = parse(text);
    bp_plan *plan = plan_graph(graph);
    const bp__lowered *l = &owner_of(plan)->lowered;
    int count = l->step_count;
    for (int i = 0; i < l->step_count && count > 0; i++) {
        count = l->steps[i].node < 0 ? -count : count;
    }
    bp_plan_release(plan);
    bp_graph_release(graph);
    return count;
}

/* Dead, equal and constant nodes are no steps; nodes with other fields or operands are. */
static void test_steps(void **state) {
    (void)state;
    assert_int_equal(count_steps(HEAD "a = unary(x, kind=exp)\nb = unary(x, kind=exp)\nc = binary(a, b, kind=add)\n"
                                      "d = unary(x, kind=tanh)\noutput y = c\n"),
                     2);
    assert_int_equal(count_steps(HEAD "a = unary(x, kind=exp)\nb = unary(x, kind=tanh)\nc = binary(a, b, kind=add)\n"
                                      "output y = c\n"),
                     3);
    assert_int_equal(count_steps(HEAD "p = permute(x, [1, 0])\nq = permute(x, [1, 0])\na = unary(p, kind=exp)\n"
                                      "b = unary(q, kind=exp)\nc = binary(a, b, kind=add)\noutput y = c\n"),
                     2);
    assert_int_equal(count_steps(HEAD "constant k f32 [4] = [1, 2, 3, 4]\ne = unary(k, kind=exp)\n"
                                      "v = reshape(e, [4, 1])\nf = unary(v, kind=sqrt)\nc = binary(x, f, kind=add)\n"
                                      "output y = c\n"),
                     1);
    assert_int_equal(count_steps(HEAD "a = unary(x, kind=exp)\nb = unary(x, kind=exp)\noutput y = a\noutput z = b\n"),
                     2);
    assert_int_equal(count_steps(HEAD "output y = x\n"), -1);
    assert_int_equal(count_steps("graph 1\ninput x f32 [0, 4]\na = unary(x, kind=exp)\noutput y = a\n"), 0);
}

/* A constant weight is packed, and the result is the call's. */
static void test_packed(void **state) {
    (void)state;
    enum { N = 256 };
    static float w[N * N], x[N * N], y[N * N], want[N * N];
    for (int i = 0; i < N * N; i++) {
        w[i] = (float)(i % 23) / 16 - 0.5F;
        x[i] = (float)(i % 31) / 8 - 2;
    }
    bp_view wv, xv, yv, zv;
    bp_view_matrix(&wv, w, BP_F32, N, N);
    bp_view_matrix(&xv, x, BP_F32, N, N);
    bp_view_matrix(&yv, y, BP_F32, N, N);
    bp_view_matrix(&zv, want, BP_F32, N, N);
    bp_graph *graph;
    bp_value xi, wc, out;
    assert_int_equal(bp_graph_create(&graph), BP_OK);
    assert_int_equal(bp_graph_input(graph, "x", BP_F32, 2, (int64_t[]){N, N}, &xi), BP_OK);
    assert_int_equal(bp_graph_constant(graph, "w", &wv.tensor, BP_GRAPH_BORROW, &wc), BP_OK);
    assert_int_equal(bp_graph_call(graph, "linear", "", 2, (bp_value[]){xi, wc}, 1, (bp_value *[]){&out}), BP_OK);
    assert_int_equal(bp_graph_output(graph, "y", out), BP_OK);
    assert_int_equal(bp_graph_finish(graph), BP_OK);
    bp_options *options;
    assert_int_equal(bp_options_new(&options, "conv.preferred=native"), BP_OK);
    const bp_linear_call call = {
        .struct_size = sizeof call, .input = &xv.tensor, .weight = &wv.tensor, .output = &zv.tensor};
    assert_int_equal(bp_linear_run(options, &call), BP_OK);
    bp_plan *plan;
    assert_int_equal(
        bp_graph_plan(&plan, options, graph, (const DLTensor *[]){&xv.tensor}, (const DLTensor *[]){&yv.tensor}),
        BP_OK);
    assert_true(owner_of(plan)->packed_bytes >= (int64_t)sizeof w);
    bp_graph_release(graph); /* the plan holds what it needs */
    assert_int_equal(bp_execute(plan, (bp_operand[]){{x, 0}, {y, 0}}, NULL), BP_OK);
    assert_memory_equal(y, want, sizeof y);
    bp_plan_release(plan);
    bp_options_release(options);
    assert_int_equal(bp__packed_held(), 0);
}

/* The same plan serves the same layouts, and settings that matter give another one. */
static void test_kept(void **state) {
    (void)state;
    bp_graph *graph = parse(HEAD "a = unary(x, kind=exp)\noutput y = a\n");
    bp_plan *first = plan_graph(graph), *second = plan_graph(graph);
    assert_ptr_equal(first, second);
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, "deterministic=run"), BP_OK);
    bp_plan *other = plan_graph(graph);
    assert_ptr_not_equal(first, other);
    bp_scope_leave(&scope);
    bp_plan_release(first);
    bp_plan_release(second);
    bp_plan_release(other);
    bp_plan_cache_clear();
    float x[16] = {0}, y[16];
    bp_view xv, yv;
    bp_view_matrix(&xv, x, BP_F32, 4, 4);
    bp_view_matrix(&yv, y, BP_F32, 4, 4);
    for (int i = 0; i < 200; i++) { /* more layouts than are kept */
        bp_view wide;
        static float rows[4 * 256];
        assert_int_equal(bp_view_init(&wide, rows, BP_F32, 2, (int64_t[]){4, 4}, (int64_t[]){4 + i, 1}), BP_OK);
        assert_int_equal(bp_graph_run(NULL, graph, (const DLTensor *[]){&xv.tensor}, (DLTensor *[]){&wide.tensor}),
                         BP_OK);
        assert_true(rows[0] == 1 && rows[(4 + i) * 3 + 3] == 1);
    }
    bp_graph_release(graph);
}

/* Plans that no call finds any more are not kept. */
static void test_forgotten(void **state) {
    (void)state;
    bp_graph *graph = parse(HEAD "a = unary(x, kind=exp)\noutput y = a\n");
    int64_t blocks = 0;
    for (int i = 0; i < 20; i++) {
        bp_plan_cache_clear();
        bp_plan_release(plan_graph(graph));
        blocks = i == 2 ? bp__live_blocks() : blocks;
    }
    assert_int_equal(bp__live_blocks(), blocks);
    bp_graph_release(graph);
}

static atomic_bool sets;
static atomic_int allocations;

/* An allocation at which a setting changes, as if another thread did it. */
static void *set_and_allocate(void *user, size_t size) {
    (void)user;
    allocations++;
    if (atomic_exchange(&sets, false)) {
        assert_int_equal(bp_set("deterministic", "run"), BP_OK);
    }
    return malloc(size);
}

static void *set_and_reallocate(void *user, void *old, size_t size) {
    (void)user;
    return realloc(old, size);
}

static void release_block(void *user, void *block) {
    (void)user;
    free(block);
}

/* A plan that is made while settings change is not found under the ones before. */
static void test_changed(void **state) {
    (void)state;
    static const bp_allocator setting = {set_and_allocate, set_and_reallocate, release_block, NULL};
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set_allocator(&setting), BP_OK);
    bp_graph *graph = parse(HEAD "a = unary(x, kind=exp)\noutput y = a\n");
    bp_plan *plans[3];
    random_source random = {1};
    tensors in, out;
    make_tensors(&in, graph, false, false, &random);
    make_tensors(&out, graph, true, false, &random);
    for (int i = 0; i < 3; i++) {
        atomic_store(&sets, i == 0);
        assert_int_equal(
            bp_graph_plan(&plans[i], NULL, graph, (const DLTensor *const *)in.list, (const DLTensor *const *)out.list),
            BP_OK);
        assert_false(atomic_load(&sets));
        assert_int_equal(bp_unset("deterministic"), BP_OK);
    }
    assert_ptr_not_equal(plans[0], plans[1]);
    assert_ptr_equal(plans[1], plans[2]);
    bp_options *options;
    bp_plan *same;
    assert_int_equal(bp_options_new(&options, "deterministic=run"), BP_OK);
    assert_int_equal(
        bp_graph_plan(&same, options, graph, (const DLTensor *const *)in.list, (const DLTensor *const *)out.list),
        BP_OK);
    assert_ptr_equal(same, plans[0]); /* it was planned again, for the settings after the change */
    bp_plan_release(same);
    bp_options_release(options);
    for (int i = 0; i < 3; i++) {
        bp_plan_release(plans[i]);
    }
    free_tensors(&in);
    free_tensors(&out);
    bp_graph_release(graph);
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
}

/* A run that finds its plan takes no lock, and allocates nothing. */
static void test_warm(void **state) {
    (void)state;
    static const bp_allocator counting = {set_and_allocate, set_and_reallocate, release_block, NULL};
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set_allocator(&counting), BP_OK);
    bp_graph *graph = parse(HEAD "a = unary(x, kind=exp)\nb = binary(a, x)\nc = unary(b, kind=abs)\noutput y = c\n");
    random_source random = {1};
    tensors in, out;
    make_tensors(&in, graph, false, false, &random);
    make_tensors(&out, graph, true, false, &random);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bp_graph_run(NULL, graph, (const DLTensor *const *)in.list, out.list), BP_OK);
    }
    atomic_store(&allocations, 0);
    alarm(60); /* a run that waits for the lock never ends */
    pthread_mutex_lock(&bp__cache_mutex);
    assert_int_equal(bp_graph_run(NULL, graph, (const DLTensor *const *)in.list, out.list), BP_OK);
    pthread_mutex_unlock(&bp__cache_mutex);
    alarm(0);
    assert_int_equal(allocations, 0);
    free_tensors(&in);
    free_tensors(&out);
    bp_graph_release(graph);
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
}

/* A plan that is taken out of the list while a run reads it is freed after that run. */
static void test_forgotten_in_use(void **state) {
    (void)state;
    bp_graph *graph = parse(HEAD "a = unary(x, kind=exp)\noutput y = a\n");
    random_source random = {1};
    tensors in, out;
    bp_plan *plan, *next;
    bool fresh;
    make_tensors(&in, graph, false, false, &random);
    make_tensors(&out, graph, true, false, &random);
    bp_plan_release(plan_graph(graph));
    const DLTensor *const *from = (const DLTensor *const *)in.list, *const *to = (const DLTensor *const *)out.list;
    assert_int_equal(bp__graph_plans_enter(&plan, graph, from, to, false, &fresh), BP_OK);
    assert_false(fresh);
    const int64_t blocks = bp__live_blocks();
    bp__graph_plans_forget(graph, plan);
    assert_int_equal(bp__live_blocks(), blocks);
    assert_int_equal(plan->references, 1);
    bp__graph_plans_leave(graph);
    assert_true(bp__live_blocks() < blocks);
    assert_int_equal(bp__graph_plans_enter(&next, graph, from, to, false, &fresh), BP_OK);
    assert_true(fresh);
    bp__plan_release(next);
    free_tensors(&in);
    free_tensors(&out);
    bp_graph_release(graph);
}

/* ---- Messages ---- */

static void test_failing_node(void **state) {
    (void)state;
    bp_graph *graph = parse(HEAD "e = unary(x, kind=abs)\ni, - = inv(e)\noutput y = i\n");
    float x[16] = {0}, y[16];
    bp_view xv, yv;
    bp_view_matrix(&xv, x, BP_F32, 4, 4);
    bp_view_matrix(&yv, y, BP_F32, 4, 4);
    const char *const ways[] = {"graph.backend=eager", "graph.backend=auto"};
    for (int i = 0; i < 2; i++) {
        bp_options *options;
        assert_int_equal(bp_options_new(&options, ways[i]), BP_OK);
        assert_int_not_equal(bp_graph_run(options, graph, (const DLTensor *[]){&xv.tensor}, (DLTensor *[]){&yv.tensor}),
                             BP_OK);
        assert_non_null(strstr(bp_last_error(), "node 1 (inv): "));
        bp_options_release(options);
    }
    assert_int_equal(bp_graph_run(NULL, graph, (const DLTensor *[]){&xv.tensor}, (DLTensor *[]){&xv.tensor}),
                     BP_E_OVERLAP);
    assert_int_equal(bp_graph_run(NULL, graph, (const DLTensor *[]){&xv.tensor}, NULL), BP_E_ARGUMENT);
    bp_graph_release(graph);
}

/* ---- Threads ---- */

static bp_graph *shared;
static float wanted_shared[16];

static void *run_shared(void *argument) {
    (void)argument;
    float x[16], y[16];
    bp_view xv, yv;
    bp_view_matrix(&xv, x, BP_F32, 4, 4);
    bp_view_matrix(&yv, y, BP_F32, 4, 4);
    for (int i = 0; i < 16; i++) {
        x[i] = (float)i / 8;
    }
    for (int i = 0; i < 300; i++) {
        memset(y, 0, sizeof y);
        if (i % 50 == 0) {
            bp_plan_cache_clear();
        }
        if (bp_graph_run(NULL, shared, (const DLTensor *[]){&xv.tensor}, (DLTensor *[]){&yv.tensor}) != BP_OK ||
            memcmp(y, wanted_shared, sizeof y) != 0) {
            return (void *)(uintptr_t)1;
        }
    }
    return NULL;
}

static void make_shared(void) {
    shared = parse(HEAD "a = matmul(x, x)\nb = softmax(a)\nc = matmul(b, x)\nd = concat(c, b, axis=0)\n"
                        "e = slice(d, [0, 0, 4, 1])\noutput y = e\n");
    float x[16];
    bp_view xv, yv;
    bp_view_matrix(&xv, x, BP_F32, 4, 4);
    bp_view_matrix(&yv, wanted_shared, BP_F32, 4, 4);
    for (int i = 0; i < 16; i++) {
        x[i] = (float)i / 8;
    }
    assert_int_equal(bp_graph_run(NULL, shared, (const DLTensor *[]){&xv.tensor}, (DLTensor *[]){&yv.tensor}), BP_OK);
}

static void test_threads(void **state) {
    pthread_t threads[4];
    (void)state;
    make_shared();
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_shared, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    bp_graph_release(shared);
}

static atomic_bool stopped;

static void *run_until_stopped(void *argument) {
    void *failed = NULL;
    while (!failed && !atomic_load(&stopped)) {
        failed = run_shared(argument);
    }
    return failed;
}

/* A child of fork runs the graph, whatever other threads did with its plans at that moment. */
static void test_forks(void **state) {
    pthread_t threads[2];
    (void)state;
    if (!test_may_fork_with_threads()) {
        print_message("skipped: this sanitizer does not follow a fork while another thread works\n");
        skip();
    }
    make_shared();
    atomic_store(&stopped, false);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_until_stopped, NULL), 0);
    }
    for (int i = 0; i < 100; i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(30); /* ends a child that waits for a lock of a thread that it does not have */
            _exit(run_shared(NULL) != NULL);
        }
        assert_int_equal(test_end_of_child(child, "runs a graph after a fork"), 0);
    }
    atomic_store(&stopped, true);
    for (int i = 0; i < 2; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    bp_graph_release(shared);
}

/* ---- Explanations ---- */

static void test_explanation(void **state) {
    (void)state;
    bp_graph *graph =
        parse(HEAD "constant k f32 [4] = [1, 2, 3, 4]\nf = unary(k, kind=exp)\na = binary(x, f, kind=add)\n"
                   "b = binary(x, f, kind=add)\nu = unary(x, kind=tanh)\nm = matmul(a, b)\n"
                   "p = matrix_power(m, n=2)\noutput y = p\n");
    float x[16] = {0}, y[16];
    bp_view xv, yv;
    bp_view_matrix(&xv, x, BP_F32, 4, 4);
    bp_view_matrix(&yv, y, BP_F32, 4, 4);
    bp_explanation *e;
    assert_int_equal(
        bp_graph_explain(&e, NULL, graph, (const DLTensor *[]){&xv.tensor}, (const DLTensor *[]){&yv.tensor}), BP_OK);
    const char *text = bp_explanation_text(e), *json = bp_explanation_json(e);
    assert_non_null(
        strstr(text, "nodes     3 run, 1 equal to another one, 1 computed when the plan was made, 1 not needed"));
    assert_non_null(strstr(text, "node 4 (matmul)"));
    assert_non_null(strstr(text, "a call without a plan of its own"));
    assert_non_null(strstr(json, "\"equal_nodes\":1"));
    assert_non_null(bp_explanation_part(e, 1));
    assert_null(bp_explanation_part(e, 2));
    bp_explanation_release(e);
    bp_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_forgotten),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_failing_node),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_forks),
        cmocka_unit_test(test_explanation),
        cmocka_unit_test(test_warm),
        cmocka_unit_test(test_forgotten_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
