/* read.c - makes a graph of an ONNX file. */
#include "onnx/read.h"

#include "base/uncancelled.h"

#include <limits.h>
#include <string.h>

static bp_status check_list(int count, const void *names, const void *list, const char *what) {
    return count < 0 || (count > 0 && (!names || !list))
               ? bp__fail(BP_E_ARGUMENT, "choices: the count of %s is negative, or a list of them is NULL", what)
               : BP_OK;
}

/* Checks what the caller chose. */
static bp_status check_choices(const bp_onnx_choices *choices) {
    BP__TRY(check_list(choices->size_count, choices->size_names, choices->sizes, "sizes"));
    BP__TRY(check_list(choices->value_count, choices->value_names, choices->values, "values"));
    for (int i = 0; i < choices->size_count; i++) {
        if (!choices->size_names[i] || choices->sizes[i] < 0) {
            return bp__fail(BP_E_ARGUMENT, "choices: size %d is negative, or has no name", i);
        }
    }
    for (int i = 0; i < choices->value_count; i++) {
        if (!choices->value_names[i] || !choices->values[i]) {
            return bp__fail(BP_E_ARGUMENT, "choices: value %d or its name is NULL", i);
        }
    }
    return BP_OK;
}

static bp_status add_output(bp__onnx *r, bp__bytes given, bp__onnx_value *output) {
    bp__text name = {0};
    bp_value number;
    bp_status status = bp__onnx_in_graph(r, output, &number);
    status = status == BP_OK ? bp__onnx_graph_name(r, given, &r->graph->output_names, &name) : status;
    status = status == BP_OK ? bp_graph_output(r->graph, bp__text_get(&name), number) : status;
    bp__text_free(&name);
    return status;
}

/* Adds the outputs; two of them may be one value. */
static bp_status add_outputs(bp__onnx *r, bp__onnx_value *const *outputs) {
    const bp__onnx_graph *graph = r->model->graph;
    for (int i = 0; i < graph->output_count; i++) {
        BP__TRY(add_output(r, graph->outputs[i].name, outputs[i]));
    }
    return BP_OK;
}

static bp_status build(bp__onnx *r) {
    bp__onnx_scope scope;
    const bp__onnx_graph *graph = r->model->graph;
    bp__onnx_value **outputs = bp__onnx_new(r->memory, (size_t)graph->output_count, sizeof *outputs);
    const size_t choices = (size_t)r->choices->size_count + (size_t)r->choices->value_count;
    r->used = bp__onnx_new(r->memory, choices, sizeof *r->used);
    if (!outputs || !r->used) {
        return BP_E_NO_MEMORY;
    }
    bp__onnx_scope_begin(r, &scope);
    bp_status status = bp__onnx_add_graph(r, graph, outputs);
    bp__onnx_scope_end(r, &scope);
    BP__TRY(status);
    BP__TRY(add_outputs(r, outputs));
    return bp_graph_finish(r->graph);
}

bp_status bp__onnx_read(bp_graph **graph, size_t size, const void *bytes, const char *folder,
                        const bp_onnx_choices *choices) {
    bp__onnx_memory memory = {0};
    bp__onnx_model model;
    const unsigned char *from = bytes;
    bp__onnx r = {.memory = &memory, .model = &model, .folder = folder, .choices = choices};
    *graph = NULL;
    bp_status status = bp__onnx_parse(&model, &memory, (bp__bytes){from, from + size});
    status = status == BP_OK ? bp_graph_create(&r.graph) : status;
    status = status == BP_OK ? build(&r) : status;
    bp__onnx_drop(&memory);
    status = memory.failed ? bp__fail_memory(size, "an ONNX model") : status;
    if (status != BP_OK) {
        bp_graph_release(r.graph);
        return status;
    }
    *graph = r.graph;
    return BP_OK;
}

static bp_status read_file(bp_graph **graph, const char *path, const bp_onnx_choices *choices) {
    char *bytes;
    size_t size;
    const char *slash = strrchr(path, '/');
    const size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    bp__text folder = {0};
    bp__text_add(&folder, slash ? "" : ".");
    bp__text_add_n(&folder, path, length);
    if (folder.failed) {
        bp__text_free(&folder);
        return bp__fail_memory(length, "an ONNX model");
    }
    bp_status status = bp__file_read(path, INT32_MAX, &bytes, &size);
    if (status == BP_OK) {
        status = bp__onnx_read(graph, size, bytes, bp__text_get(&folder), choices);
        bp__free(bytes);
        status = status == BP_OK ? BP_OK : bp__fail(status, "%s: %s", path, bp_last_error());
    }
    bp__text_free(&folder);
    return status;
}

bp_status bp_graph_from_onnx(bp_graph **graph, const char *path, const bp_onnx_choices *choices) {
    BP__UNCANCELLED;
    bp_onnx_choices own;
    const bp_onnx_choices none = {.struct_size = sizeof none};
    if (!graph || !path) {
        return bp__fail(BP_E_ARGUMENT, "bp_graph_from_onnx: graph and path must not be NULL");
    }
    *graph = NULL;
    const bp_onnx_choices *given = choices ? bp__struct_read(&own, sizeof own, choices, "choices") : &none;
    if (!given) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(check_choices(given));
    return read_file(graph, path, given);
}
