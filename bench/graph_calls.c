/* graph_calls.c - measures what a warm run of a graph takes besides its kernels.
 *
 *     graph_calls [elements]      default: 16
 *
 * Chains of functions of one f32 tensor on one thread: as one region, and as parts. `run` is bp_graph_run(), `plan` is
 * bp_execute() of a plan. The time of a further function is the difference of two chains.
 */
#include "backplane.h"
#include "timing.h"

enum { MOST_ELEMENTS = 1 << 20, ROUNDS = 15 };

typedef struct job {
    bp_graph *graph;
    bp_plan *plan;
    bp_view x, y;
} job;

static float memory[2][MOST_ELEMENTS];

static void check(bp_status status) {
    if (status != BP_OK) {
        fprintf(stderr, "graph_calls: %s\n", bp_last_error());
        exit(1);
    }
}

static void run(void *context) {
    job *j = context;
    check(bp_graph_run(NULL, j->graph, (const DLTensor *[]){&j->x.tensor}, (DLTensor *[]){&j->y.tensor}));
}

static void execute(void *context) {
    check(bp_execute(((job *)context)->plan, (bp_operand[]){{memory[0], 0}, {memory[1], 0}}, NULL));
}

static void make(job *j, int functions, int64_t elements) {
    bp_value value;
    check(bp_graph_create(&j->graph));
    check(bp_graph_input(j->graph, "x", BP_F32, 1, &elements, &value));
    for (int i = 0; i < functions; i++) {
        check(bp_graph_call(j->graph, "unary", i % 2 ? "kind=abs" : "kind=negative", 1, &value, 1,
                            (bp_value *[]){&value}));
    }
    check(bp_graph_output(j->graph, "y", value));
    check(bp_graph_finish(j->graph));
    check(bp_view_init(&j->x, memory[0], BP_F32, 1, &elements, NULL));
    check(bp_view_init(&j->y, memory[1], BP_F32, 1, &elements, NULL));
    check(bp_graph_plan(&j->plan, NULL, j->graph, (const DLTensor *[]){&j->x.tensor},
                        (const DLTensor *[]){&j->y.tensor}));
}

static void measure(const char *way, int functions, int64_t elements) {
    job j;
    make(&j, functions, elements);
    candidate list[] = {{.name = "run", .run = run, .context = &j}, {.name = "plan", .run = execute, .context = &j}};
    double least[2] = {1e30, 1e30};
    for (int i = 0; i < 2; i++) {
        timing_calibrate(&list[i], 1e6);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2; i++) {
            const double ns = timing_sample(&list[i], list[i].repeats);
            least[i] = ns < least[i] ? ns : least[i];
        }
    }
    printf("%-7s %2d functions   run %8.1f ns   plan %8.1f ns\n", way, functions, least[0], least[1]);
    bp_plan_release(j.plan);
    bp_graph_release(j.graph);
}

int main(int argc, char **argv) {
    const int64_t elements = argc > 1 ? atoll(argv[1]) : 16;
    if (elements < 1 || elements > MOST_ELEMENTS) {
        fprintf(stderr, "graph_calls: elements must be 1 to %d\n", MOST_ELEMENTS);
        return 2;
    }
    check(bp_set("num_threads", "1"));
    for (int functions = 1; functions <= 16; functions *= 2) {
        measure("region", functions, elements);
    }
    check(bp_set("graph.block_bytes", "1000000000"));
    for (int functions = 1; functions <= 16; functions *= 2) {
        measure("parts", functions, elements);
    }
    return 0;
}
