/* model_bench.c - `backplane bench MODEL.onnx`: measures runs of a model. */
#include "cli/model/model.h"

#include "cli/operations/candidates.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_RUNS = 5, MOST_RUNS = 10000 };

typedef struct times {
    double first, least, median;
    int count;
} times;

static int compare_times(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Runs the model until the time is over. */
static int measure(const model *m, double limit, times *t) {
    double *list = cli_allocate(MOST_RUNS * sizeof *list);
    cli_progress_begin(CLI_COMPUTING);
    const double begin = cli_now_ns();
    int code = model_run(m);
    t->first = cli_now_ns() - begin;
    cli_progress_end();
    for (t->count = 0; code == CLI_OK && t->count < MOST_RUNS; t->count++) {
        const double start = cli_now_ns();
        if (t->count >= LEAST_RUNS && start - begin > limit) {
            break;
        }
        code = model_run(m);
        list[t->count] = cli_now_ns() - start;
    }
    if (code == CLI_OK) {
        qsort(list, (size_t)t->count, sizeof *list, compare_times);
        t->least = list[0];
        t->median = list[t->count / 2];
    }
    free(list);
    return code;
}

/* Returns the bytes of the plan's intermediate values. */
static int64_t workspace_of(const model *m) {
    bp_plan *plan = NULL;
    bp_plan_info info = {.struct_size = sizeof info};
    if (bp_graph_plan(&plan, m->options, m->graph, m->inputs, (const DLTensor *const *)m->outputs) != BP_OK ||
        bp_plan_describe(plan, &info) != BP_OK) {
        info.workspace = 0;
    }
    bp_plan_release(plan);
    return (int64_t)info.workspace;
}

static void print_text(const model *m, const times *t, int64_t workspace) {
    char one[4][32];
    printf("model      %s\n", m->path);
    printf("read       %s\n", bp__duration(m->read_ns, one[0], sizeof one[0]));
    printf("first run  %s, with planning\n", bp__duration(t->first, one[1], sizeof one[1]));
    printf("run        %s, the median of %d; the fastest one %s\n", bp__duration(t->median, one[2], sizeof one[2]),
           t->count, bp__duration(t->least, one[3], sizeof one[3]));
    printf("workspace  %lld bytes\n", (long long)workspace);
}

static void print_json(const model *m, const times *t, int64_t workspace) {
    json_open(NULL, '{');
    json_text("model", m->path);
    json_number("read_ns", m->read_ns);
    json_number("first_ns", t->first);
    json_number("median_ns", t->median);
    json_number("least_ns", t->least);
    json_int("runs", t->count);
    json_int("workspace", workspace);
    json_close();
}

/* Refuses options that are about operations. */
static int check_options(const cli_args *args) {
    static const char *const own[] = {"dimension", "constant", "seconds", "set", "json"};
    for (int i = 0; i < args->given_count; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof own / sizeof *own; k++) {
            known |= strcmp(args->given[i].option->name, own[k]) == 0;
        }
        if (!known) {
            return cli_fail(CLI_USAGE, "--%s is for operations, and a model is given", args->given[i].option->name);
        }
    }
    return args->count == 1 ? CLI_OK : cli_fail(CLI_USAGE, "one model is measured at a time");
}

int model_bench(const cli_args *args) {
    model m;
    times t = {0};
    int64_t seconds;
    int code = check_options(args);
    code = code == CLI_OK ? cli_number(args, "seconds", 0, 86400, 2, &seconds) : code;
    if (code != CLI_OK) {
        return code;
    }
    code = model_open(&m, args, args->operands[0]);
    code = code == CLI_OK ? model_make_inputs(&m, 1) : code;
    code = code == CLI_OK ? model_make_outputs(&m) : code;
    code = code == CLI_OK ? measure(&m, (double)seconds * 1e9, &t) : code;
    if (code == CLI_OK) {
        (cli_has(args, "json") ? print_json : print_text)(&m, &t, workspace_of(&m));
    }
    model_close(&m);
    return code;
}
