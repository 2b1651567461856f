/* model.h - ONNX models of the command: a graph with tensors for its inputs and outputs. */
#ifndef BP_CLI_MODEL_H
#define BP_CLI_MODEL_H

#include "cli/operations/operations.h"

/* What a model leaves open, for all commands that take one. */
#define OPTIONS_MODEL                                                                                                  \
    {"dimension", 0, "NAME=N",                                                                                         \
     "Of an ONNX model: a size that it leaves open, such as batch=8 or x[0]=8. May be repeated."},                     \
    {                                                                                                                  \
        "constant", 0, "NAME=FILE",                                                                                    \
            "Of an ONNX model: an input that becomes a constant, from a .npy file. May be repeated."                   \
    }

typedef struct model {
    const char *path;
    bp_graph *graph;
    bp_options *options;
    double read_ns; /* the time in which the file was read */
    int input_count, output_count;
    npy_array *arrays; /* of the inputs, then of the outputs */
    bp_view *views;
    const DLTensor **inputs;
    DLTensor **outputs;
} model;

/* Returns whether an operand is the name of a model's file. */
bool model_is_named(const char *operand);
/* Returns CLI_USAGE, after a message, if an option of models is given; for commands without a model. */
int model_options_absent(const cli_args *args);

/* Makes the graph of a file, with views of its inputs and outputs that have no memory. model_close() frees all. */
int model_open(model *m, const cli_args *args, const char *path);
void model_close(model *m);

/* Reads the inputs from files, as many as the model has. */
int model_read_inputs(model *m, int count, const char *const *paths);
/* Makes inputs: numbers from -1 to 1 of a seed, and 0 or 1 for whole numbers and bool. */
int model_make_inputs(model *m, int64_t seed);
int model_make_outputs(model *m);
/* Runs the graph. */
int model_run(const model *m);

/* `backplane explain` and `backplane bench` of a model. */
int model_explain(const cli_args *args);
int model_bench(const cli_args *args);

#endif
