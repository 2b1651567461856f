/* test_regions.c - functions of single elements that run together, block by block: the bytes of node by node, for all
 * types, instruction sets, blocks of any size, broadcasting, views, several outputs, and threads. */
#include "backplane.h"

#include "dispatch/internal.h"
#include "graph/plan.h"
#include "graph/region.h"
#include "graph/support_graph.h"
#include "support/options.h"

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

static const bp_dtype dtypes[] = {BP_F32,  BP_F32, BP_F32, BP_F64, BP_F64, BP_F16,
                                  BP_BF16, BP_I32, BP_I64, BP_I8,  BP_U8,  BP_BOOL};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static bp_dtype dtype_of(const pool *p, bp_value value) {
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    assert_int_equal(bp_graph_shape(p->graph, value, &dtype, &ndim, shape), BP_OK);
    return dtype;
}

static bp_value choose(const pool *p) {
    const uint32_t recent = random_below(p->random, 3) ? (uint32_t)(p->count < 4 ? p->count : 4) : (uint32_t)p->count;
    return p->value[p->count - 1 - (int)random_below(p->random, recent)];
}

/* Chooses a value of a type; the given one if no other is found. */
static bp_value choose_like(const pool *p, bp_value given) {
    const bp_dtype dtype = dtype_of(p, given);
    for (int i = 0; i < 8; i++) {
        const bp_value found = choose(p);
        if (dtype_of(p, found) == dtype) {
            return found;
        }
    }
    return given;
}

static void keep(pool *p, bp_value value) {
    if (p->count < VALUES) {
        p->value[p->count++] = value;
    }
}

/* Adds inputs of the whole shape, and some with dimensions of 1 or with less dimensions. */
static void add_inputs(pool *p) {
    char name[16];
    const bp_dtype most = dtypes[random_below(p->random, DTYPES)];
    for (int i = 0; i < 5; i++) {
        int64_t shape[3];
        const int skipped = i > 1 && random_below(p->random, 3) == 0 ? (int)random_below(p->random, 3) : 0;
        const int ndim = p->ndim > skipped ? p->ndim - skipped : 0;
        const bp_dtype dtype = i < 4 ? most : dtypes[random_below(p->random, DTYPES)];
        bp_value value;
        for (int d = 0; d < ndim; d++) {
            shape[d] = i > 1 && random_below(p->random, 3) == 0 ? 1 : p->shape[p->ndim - ndim + d];
        }
        snprintf(name, sizeof name, "x%d", i);
        assert_int_equal(bp_graph_input(p->graph, name, dtype, ndim, shape, &value), BP_OK);
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

static bp_status call(pool *p, const char *name, const char *fields, int count, const bp_value *operands,
                      bp_value *made) {
    return bp_graph_call(p->graph, name, fields, count, operands, 1, (bp_value *[]){made});
}

/* Adds a node, unless the functions do not take the types. */
static void add_node(pool *p) {
    static const char *const unary[] = {"negative", "abs",  "relu",    "clip, low=-1, high=2", "exp", "tanh",
                                        "floor",    "sign", "sigmoid", "logical_not",          "abs", "relu"};
    static const char *const binary[] = {"add",       "multiply", "subtract",    "maximum", "minimum",
                                         "add",       "multiply", "divide",      "pow",     "atan2",
                                         "remainder", "fmod",     "floor_divide"};
    char fields[64];
    const bp_value a = choose(p), b = choose_like(p, a), c = choose_like(p, a);
    bp_value made = 0;
    bp_status status;
    switch (random_below(p->random, 10)) {
    case 0:
        add_view(p);
        return;
    case 1: /* a condition, and the choice between two */
        status = call(p, "binary", "kind=less", 2, (bp_value[]){a, b}, &made);
        status = status == BP_OK ? call(p, "where", NULL, 3, (bp_value[]){made, b, c}, &made) : status;
        break;
    case 2: /* another type */
        snprintf(fields, sizeof fields, "dtype=%s", bp_dtype_name(dtypes[random_below(p->random, DTYPES)]));
        status = call(p, "unary", fields, 1, &a, &made);
        break;
    case 3:
    case 4:
    case 5:
    case 6:
        snprintf(fields, sizeof fields, "kind=%s", binary[random_below(p->random, 13)]);
        status = call(p, "binary", fields, 2, (bp_value[]){a, b}, &made);
        break;
    default:
        snprintf(fields, sizeof fields, "kind=%s", unary[random_below(p->random, 12)]);
        status = call(p, "unary", fields, 1, &a, &made);
    }
    if (status == BP_OK) {
        keep(p, made);
    }
}

static bp_graph *make_graph(random_source *random) {
    static const int64_t shapes[][3] = {{7, 1, 13}, {1, 40, 3}, {64, 1, 1}, {3, 50, 1}, {5, 6, 6},   {1, 1, 90},
                                        {2, 3, 11}, {33, 2, 2}, {1, 1, 1},  {4, 0, 3},  {1, 37, 41}, {1, 1, 1023}};
    pool p = {.random = random, .ndim = 3 - (int)random_below(random, 3)};
    char name[16];
    const int64_t *shape = shapes[random_below(random, sizeof shapes / sizeof *shapes)];
    memcpy(p.shape, shape + 3 - p.ndim, (size_t)p.ndim * sizeof *shape);
    assert_int_equal(bp_graph_create(&p.graph), BP_OK);
    add_inputs(&p);
    for (int i = 0; i < 4 + (int)random_below(random, 16); i++) {
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

/* ---- Elements ---- */

/* Makes elements of reals NaN with random bits, of both signs, quiet and signaling. */
static void add_nans(const tensors *t, random_source *random) {
    for (int i = 0; i < t->count; i++) {
        const bp_dtype dtype = bp_dtype_from_dlpack(t->list[i]->dtype);
        const int64_t item = (int64_t)bp_dtype_size(dtype);
        const uint64_t infinity = dtype == BP_F16    ? 0x7c00
                                  : dtype == BP_BF16 ? 0x7f80
                                  : dtype == BP_F32  ? 0x7f800000
                                                     : 0x7ff0000000000000;
        const bool is_real = dtype == BP_F16 || dtype == BP_BF16 || dtype == BP_F32 || dtype == BP_F64;
        for (int64_t at = 0; is_real && at + item <= t->size[i]; at += item) {
            const uint64_t sign = random_below(random, 2) ? UINT64_C(1) << (8 * item - 1) : 0;
            const uint64_t nan = infinity | sign | (1 + random_below(random, 120));
            if (random_below(random, 8) == 0) {
                memcpy(t->block[i] + at, &nan, (size_t)item);
            }
        }
    }
}

/* Makes some dimensions of the inputs repeat their first element. */
static void repeat_dimensions(const tensors *t, random_source *random) {
    for (int i = 0; i < t->count; i++) {
        for (int d = 0; d < t->list[i]->ndim; d++) {
            t->list[i]->strides[d] = random_below(random, 6) == 0 ? 0 : t->list[i]->strides[d];
        }
    }
}

/* ---- Comparing ---- */

/* What the plans of all seeds have. */
static struct { int regions, joined, tiles, copied, constant, shared, operands, slots; } seen;

static void count_region(const bp__region_call *r) {
    seen.regions++;
    seen.joined += r->joined_count;
    seen.tiles += r->tiles.count > 1;
    seen.shared += r->threads > 1;
    seen.slots += r->slot_count > 1;
    seen.operands += r->tiles.operands - r->inputs > 1;
    for (int i = 0; i < r->tiles.operands; i++) {
        seen.copied += !r->tiles.operand[i].direct && !r->tiles.operand[i].constant;
        seen.constant += !r->tiles.operand[i].direct && r->tiles.operand[i].constant;
    }
}

/* Makes all regions of a plan run on so many threads, as large tensors would. */
static void share(const bp_plan *plan, int threads) {
    const bp__program *program = bp__program_of(plan);
    for (int i = 0; i < program->count; i++) {
        bp__region_call *r = (bp__region_call *)(uintptr_t)bp__region_of(program->parts[i].plan);
        if (r) {
            r->threads = threads < r->tiles.count ? threads : (int)r->tiles.count;
            count_region(r);
        }
    }
}

/* Runs a plan of the graph in which regions have so many threads. */
static void run(const bp_graph *graph, const char *settings, int threads, const tensors *in, const tensors *out) {
    bp_options *options = test_options(settings);
    bp_plan *plan;
    assert_int_equal(
        bp_graph_plan(&plan, options, graph, (const DLTensor *const *)in->list, (const DLTensor *const *)out->list),
        BP_OK);
    bp_operand *operands = calloc((size_t)(in->count + out->count), sizeof *operands);
    for (int i = 0; i < in->count + out->count; i++) {
        const DLTensor *t = i < in->count ? in->list[i] : out->list[i - in->count];
        operands[i] = (bp_operand){t->data, t->byte_offset};
    }
    share(plan, threads);
    /* The plan has space for as many threads as it was made for. */
    const size_t size = bp__program_of(plan)->base.workspace * (size_t)threads + 4096;
    char *workspace = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    const bp_exec exec = {.struct_size = sizeof exec, .workspace = {workspace, 0}, .workspace_size = size};
    poison_tensors(out);
    memset(workspace, 0xff, size);
    assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
    free(workspace);
    free(operands);
    bp_plan_release(plan);
    bp_options_release(options);
}

static void check_ways(int seed, const bp_graph *graph, const char *isa, const tensors *in, const tensors *want,
                       const tensors *got) {
    static const int bytes[] = {0, 64, 200, 600, 5000, 1};
    char settings[128];
    snprintf(settings, sizeof settings, "graph.backend=eager, cpu.capability=%s", isa);
    assert_int_equal(run_graph(graph, settings, in, want), BP_OK);
    for (int w = 0; w < 6; w++) {
        snprintf(settings, sizeof settings, "graph.block_bytes=%d, cpu.capability=%s", bytes[w], isa);
        run(graph, settings, 1 + (seed + w) % 3, in, got);
        for (int i = 0; i < want->count; i++) {
            if (memcmp(want->block[i], got->block[i], (size_t)want->size[i]) != 0) {
                fail_msg("seed %d: output %d differs with %s", seed, i, settings);
            }
        }
    }
}

static void check_seed(int seed) {
    static const char *const isas[] = {"default", "avx2", "avx512"};
    random_source random = {(uint64_t)seed};
    bp_graph *graph = make_graph(&random);
    const bool strided = random_below(&random, 2);
    compared_tensors t;
    make_compared(&t, graph, strided, &random);
    add_nans(&t.in, &random);
    if (strided) {
        repeat_dimensions(&t.in, &random);
    }
    check_ways(seed, graph, isas[seed % 3], &t.in, &t.want, &t.got);
    free_compared(&t);
    bp_graph_release(graph);
}

static void test_random(void **state) {
    (void)state;
    const int many = getenv("TESTED_ALL") ? 20000 : 2000;
    for (int seed = 1; seed <= many; seed++) {
        check_seed(seed);
    }
    assert_true(seen.regions > 2 * many && seen.joined > many / 8 && seen.tiles > many && seen.copied > many);
    assert_true(seen.constant > many && seen.shared > many && seen.operands > many && seen.slots > many);
}

/* ---- The default ---- */

#define LINE "a = binary(x, x, kind=multiply)\nb = unary(a, kind=exp)\noutput y = b\n"

static int regions_of(const char *head, const char *settings) {
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
    int regions = 0;
    for (int i = 0; i < program->count; i++) {
        regions += bp__region_of(program->parts[i].plan) != NULL;
    }
    bp_plan_release(plan);
    free_tensors(&in);
    free_tensors(&out);
    bp_options_release(options);
    bp_graph_release(graph);
    return regions;
}

static void test_default(void **state) {
    (void)state;
    assert_int_equal(regions_of("input x f32 [100]", ""), 1);
    assert_int_equal(regions_of("input x f32 [100]", "graph.block_bytes=256"), 1);
    assert_int_equal(regions_of("input x f32 [20000000]", ""), 1);
    assert_int_equal(regions_of("input x f32 [20000000]", "graph.block_bytes=1000000000"), 0);
    assert_int_equal(regions_of("input x f32 [0, 3]", ""), 0);
    assert_int_equal(regions_of("input x f32 []", ""), 1);
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
    const char *shown = bp_explanation_text(page);
    assert_non_null(strstr(shown, "2 nodes together"));
    assert_non_null(strstr(shown, "2 functions in 3 blocks of 384 elements"));
    assert_non_null(strstr(shown, "node 0 (binary, kind=multiply)\n"));
    assert_non_null(strstr(shown, "node 1 (unary, kind=exp)\n"));
    assert_non_null(strstr(bp_explanation_json(page), "\"nodes\":[0,1]"));
    assert_non_null(bp_explanation_part(page, 1)); /* each function has its own */
    assert_null(bp_explanation_part(page, 2));
    bp_explanation_release(page);
    free_tensors(&in);
    free_tensors(&out);
    bp_options_release(options);
    bp_graph_release(graph);
}

/* ---- Threads and interruption ---- */

static int stop_always(void *user) {
    (void)user;
    return 1;
}

/* Runs a region of many blocks twice, and returns the status of the second run, which has an interrupt check. */
static bp_status run_large(const char *settings, bp_interrupt_check check) {
    const char *text = "graph 1\ninput x f32 [400000]\n" LINE;
    bp_graph *graph;
    tensors in, out;
    random_source random = {1};
    assert_int_equal(bp_graph_parse(&graph, strlen(text), text), BP_OK);
    make_tensors(&in, graph, false, false, &random);
    make_tensors(&out, graph, true, false, &random);
    fill_tensors(&in, &random);
    assert_int_equal(run_graph(graph, settings, &in, &out), BP_OK);
    bp_set_interrupt_check(check, NULL, NULL);
    const bp_status status = run_graph(graph, settings, &in, &out);
    bp_set_interrupt_check(NULL, NULL, NULL);
    free_tensors(&in);
    free_tensors(&out);
    bp_graph_release(graph);
    return status;
}

static void test_interrupted(void **state) {
    (void)state;
    const char *settings = "graph.block_bytes=256, num_threads=1";
    assert_int_equal(run_large(settings, stop_always), BP_E_CANCELLED);
    assert_non_null(strstr(bp_last_error(), "2 nodes together: graph was stopped"));
    assert_int_equal(run_large(settings, NULL), BP_OK);
}

/* A task of an executor that starts a thread for each one. */
typedef struct started {
    bp_task task;
    void *context;
    int number;
} started;

static int tasks;

static void *start(void *given) {
    started *s = given;
    s->task(s->context, s->number);
    return NULL;
}

static void start_threads(void *user, int threads, int count, bp_task task, void *context) {
    (void)user;
    (void)threads;
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        started s = {task, context, i};
        assert_int_equal(pthread_create(&thread, NULL, start, &s), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        tasks++;
    }
}

static void test_threads_of_the_program(void **state) {
    (void)state;
    assert_int_equal(bp_set_executor(start_threads, NULL), BP_OK);
    assert_int_equal(run_large("num_threads=2", NULL), BP_OK);
    assert_int_equal(tasks, 4);
    assert_int_equal(bp_set_executor(NULL, NULL), BP_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_explanation),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_threads_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
