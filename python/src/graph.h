/* graph.h - declares the object backplane.Graph, which graph.c builds and graph_run.c runs. */
#ifndef BACKPLANE_PYTHON_GRAPH_H
#define BACKPLANE_PYTHON_GRAPH_H

#include "core.h"

/* An output, and the layout of the arrays that calls make for it. */
typedef struct graph_output {
    bp_graph_port port;
    int64_t *strides; /* NULL: row-major */
} graph_output;

typedef struct graph {
    PyObject_HEAD bp_graph *graph;
    int input_count, output_count;
    const char **input_names; /* NULL until the graph is finished */
    graph_output *outputs;    /* NULL until the graph is finished */
    operand **borrowed;       /* constants in memory of the caller's arrays */
    int borrowed_count;
} graph;

/* Replaces the graph of an object, which owns `made` afterwards. Returns false with an exception set. (graph.c) */
bool core_graph_take(graph *self, bp_graph *made);

/* ---- graph_onnx.c: a method ---- */

PyObject *core_graph_onnx(PyObject *self, PyObject *arguments);

/* ---- graph_run.c: methods ---- */

PyObject *core_graph_call(PyObject *self, PyObject *arrays, PyObject *names);
PyObject *core_graph_explain(PyObject *self, PyObject *arrays, PyObject *names);

#endif
