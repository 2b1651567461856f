/* command_run.c - `backplane run`: runs an ONNX model on arrays in .npy files, or on random ones. */
#include "cli/ranks/ranks.h"
#include "cli/model/model.h"

#include "cli/operations/candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Output files ---- */

static int check_targets(const cli_args *args, const model *m) {
    const char *path, *other;
    int count = 0;
    bp__npy_error error;
    for (int position = 0; (path = cli_next_value(args, "output", &position)); count++) {
        if (count == m->output_count) {
            return cli_fail(CLI_USAGE, "%s has %d output%s; -o %s is one too many", m->path, count,
                            count == 1 ? "" : "s", path);
        }
        for (int later = position; (other = cli_next_value(args, "output", &later));) {
            if (strcmp(path, other) == 0) {
                return cli_fail(CLI_USAGE, "-o %s is given twice; each output needs its own file", path);
            }
        }
        const bp_status status = npy_check_target(path, &error);
        if (status != BP_OK) {
            return cli_fail(cli_exit_of(status), "%s", error.text);
        }
    }
    return CLI_OK;
}

static int write_outputs(const cli_args *args, const model *m) {
    const char *path;
    bp__npy_error error;
    int index = m->input_count;
    for (int position = 0; (path = cli_next_value(args, "output", &position)); index++) {
        const bp_status status = npy_write(path, &m->arrays[index], &error);
        if (status != BP_OK) {
            return cli_fail(cli_exit_of(status), "%s", error.text);
        }
    }
    return CLI_OK;
}

/* ---- The summary ---- */

/* Least, mean and greatest element; NaN for no elements, and for types that are not converted to f64. */
typedef struct facts {
    double least, mean, most;
} facts;

static facts facts_of(const bp_view *view) {
    facts f = {NAN, NAN, NAN};
    npy_array numbers;
    bp_view wide;
    if (operand_result(&numbers, &wide, BP_F64, view->tensor.ndim, view->shape) != CLI_OK) {
        return f;
    }
    const double *list = numbers.data;
    if (bp_unary_run(NULL, BP_UNARY_COPY, &view->tensor, &wide.tensor) == BP_OK && numbers.header.count > 0) {
        f = (facts){list[0], 0, list[0]};
        for (int64_t i = 0; i < numbers.header.count; i++) {
            f.least = list[i] < f.least || list[i] != list[i] ? list[i] : f.least;
            f.most = list[i] > f.most || list[i] != list[i] ? list[i] : f.most;
            f.mean += list[i] / (double)numbers.header.count;
        }
    }
    npy_free(&numbers);
    return f;
}

static void print_summary(const model *m, double elapsed) {
    bp_graph_port port = {.struct_size = sizeof port};
    char shape[256], time[32];
    cli_table *table = cli_table_new("OUTPUT|TYPE|SHAPE|>LEAST|>MEAN|>GREATEST");
    for (int i = 0; bp_graph_output_at(m->graph, i, &port); i++) {
        const facts f = facts_of(&m->views[m->input_count + i]);
        cli_cell(table, CLI_STRONG, "%s", port.name);
        cli_cell(table, CLI_PLAIN, "%s", bp_dtype_name(port.dtype));
        cli_cell(table, CLI_PLAIN, "%s", cli_shape(port.ndim, port.shape, shape, sizeof shape));
        cli_cell(table, CLI_PLAIN, "%.6g", f.least);
        cli_cell(table, CLI_PLAIN, "%.6g", f.mean);
        cli_cell(table, CLI_PLAIN, "%.6g", f.most);
    }
    cli_table_end(table);
    printf("[%s]\n", bp__duration(elapsed, time, sizeof time));
}

static void print_summary_json(const model *m, double elapsed) {
    bp_graph_port port = {.struct_size = sizeof port};
    json_open(NULL, '{');
    json_number("time_ns", elapsed);
    json_open("outputs", '[');
    for (int i = 0; bp_graph_output_at(m->graph, i, &port); i++) {
        const facts f = facts_of(&m->views[m->input_count + i]);
        json_open(NULL, '{');
        json_text("name", port.name);
        json_text("dtype", bp_dtype_name(port.dtype));
        json_open("shape", '[');
        for (int d = 0; d < port.ndim; d++) {
            json_int(NULL, port.shape[d]);
        }
        json_close();
        json_number("least", f.least);
        json_number("mean", f.mean);
        json_number("greatest", f.most);
        json_close();
    }
    json_close();
    json_close();
}

/* ---- The command ---- */

static int make_inputs(model *m, const cli_args *args) {
    int64_t seed;
    const bool given = args->count > 1;
    const int code = cli_number(args, "seed", 0, INT64_MAX, 1, &seed);
    if (code == CLI_OK && given && cli_has(args, "seed")) {
        return cli_fail(CLI_USAGE, "--seed is for random inputs; files are given too");
    }
    return code != CLI_OK ? code
           : given        ? model_read_inputs(m, args->count - 1, args->operands + 1)
                          : model_make_inputs(m, seed);
}

static int run_model(const cli_args *args) {
    model m;
    double elapsed = 0;
    if (cli_has(args, "ranks")) {
        return ranks_run(args, args->operands);
    }
    if (!model_is_named(args->operands[0])) {
        return cli_fail(CLI_USAGE, "'%s' is no model; its name must end with .onnx", args->operands[0]);
    }
    int code = ranks_refuse_options(args);
    if (code != CLI_OK) {
        return code;
    }
    code = model_open(&m, args, args->operands[0]);
    code = code == CLI_OK ? check_targets(args, &m) : code;
    code = code == CLI_OK ? make_inputs(&m, args) : code;
    code = code == CLI_OK ? model_make_outputs(&m) : code;
    if (code == CLI_OK) {
        cli_progress_begin(CLI_COMPUTING);
        const double start = cli_now_ns();
        code = model_run(&m);
        elapsed = cli_now_ns() - start;
        cli_progress_end();
    }
    code = code == CLI_OK ? write_outputs(args, &m) : code;
    if (code == CLI_OK) {
        (cli_has(args, "json") ? print_summary_json : print_summary)(&m, elapsed);
    }
    model_close(&m);
    return code;
}

static const cli_option options[] = {
    {"output", 'o', "FILE", "Output file (.npy) of the first output; the next -o is of the second one."},
    OPTIONS_MODEL,
    {"seed", 0, "N", "Random inputs of this seed; default 1."},
    CLI_OPTION_SET,
    CLI_OPTION_JSON,
    {"ranks", 'n', "N", "Start the program behind -- on N ranks of MPI."},
    OPTIONS_RANKS,
    {NULL, 0, NULL, NULL},
};

const cli_command command_run = {
    .name = "run",
    .summary = "Run an ONNX model on arrays in .npy files, or a program on several ranks of MPI.",
    .operands = "MODEL.onnx [INPUT.npy ...] [-o OUTPUT.npy ...] | -n N -- PROGRAM [ARGUMENT ...]",
    .details =
        "\nInputs and outputs have the order of the model. Without files, inputs are random: from -1 to 1, and 0 "
        "or 1 for whole numbers. The time is the first run's, with planning; `backplane bench "
        "MODEL.onnx` measures more runs, and `backplane explain MODEL.onnx` shows which library runs each node.\n"
        "\nWith -n, the program behind -- starts on N ranks, with the launcher of the MPI. The exit code is the "
        "launcher's; "
        "1: a rank ended without closing its communicators; 124: the time limit.",
    .least = 1,
    .most = JOB_MANY,
    .options = options,
    .run = run_model,
};
