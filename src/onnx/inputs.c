/* inputs.c - adds the inputs of a model to the graph, with the sizes and values that the caller chose. */
#include "onnx/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Returns the size that the caller gave for a name of the model; -1: none. */
static int64_t chosen_size(bp__onnx *r, bp__bytes name) {
    const bp_onnx_choices *choices = r->choices;
    int64_t found = -1;
    for (int i = 0; i < choices->size_count; i++) {
        if (!bp__bytes_empty(name) && bp__bytes_are(name, choices->size_names[i])) {
            r->used[i] = true;
            found = choices->sizes[i];
        }
    }
    return found;
}

/* Finds an open size: by its name, or by its place, as "x[0]". */
static bp_status find_size(bp__onnx *r, const bp__onnx_port *port, int axis, int64_t *number) {
    const bp__onnx_size *size = &port->sizes[axis];
    bp__shown_text input, name;
    bp__text place = {0};
    bp__text_add_n(&place, (const char *)port->name.at, bp__bytes_size(port->name));
    bp__text_addf(&place, "[%d]", axis);
    if (place.failed) {
        bp__text_free(&place);
        return bp__fail_memory(bp__bytes_size(port->name), "an ONNX model");
    }
    const unsigned char *at = (const unsigned char *)bp__text_get(&place);
    const int64_t by_place = chosen_size(r, (bp__bytes){at, at + place.length});
    const int64_t by_name = chosen_size(r, size->name);
    bp__text_free(&place);
    *number = size->number >= 0 ? size->number : by_place >= 0 ? by_place : by_name;
    if (size->number >= 0 && by_place >= 0 && by_place != size->number) {
        return bp__fail(BP_E_ARGUMENT, "dimension %d of input '%s' has %" PRId64 " elements in the model", axis,
                        bp__bytes_show(port->name, &input), size->number);
    }
    return *number >= 0 ? BP_OK
                        : bp__fail(BP_E_ARGUMENT,
                                   "the model leaves a size open, which must be given: dimension %d of input '%s'%s%s",
                                   axis, bp__bytes_show(port->name, &input),
                                   bp__bytes_empty(size->name) ? "" : ", named ", bp__bytes_show(size->name, &name));
}

static bp_status find_shape(bp__onnx *r, const bp__onnx_port *port, int64_t *shape) {
    bp__shown_text shown;
    if (port->ndim < 0) {
        return bp__fail(BP_E_UNSUPPORTED, "input '%s' has no shape in the model", bp__bytes_show(port->name, &shown));
    }
    if (port->ndim > BP_MAX_NDIM) {
        return bp__fail(BP_E_UNSUPPORTED, "input '%s' has more than %d dimensions", bp__bytes_show(port->name, &shown),
                        BP_MAX_NDIM);
    }
    for (int d = 0; d < port->ndim; d++) {
        BP__TRY(find_size(r, port, d, &shape[d]));
    }
    return BP_OK;
}

/* ---- Inputs that become constants ---- */

static const DLTensor *chosen_value(bp__onnx *r, bp__bytes name) {
    const bp_onnx_choices *choices = r->choices;
    for (int i = 0; i < choices->value_count; i++) {
        if (bp__bytes_are(name, choices->value_names[i])) {
            r->used[choices->size_count + i] = true;
            return choices->values[i];
        }
    }
    return NULL;
}

static bp_status check_value(const bp__onnx_port *port, const DLTensor *tensor) {
    bp__shown_text shown;
    BP__TRY(bp__tensor_check(tensor, bp__bytes_show(port->name, &shown), false));
    BP__TRY(bp__tensor_check_host(tensor, shown.text));
    if (bp_dtype_from_dlpack(tensor->dtype) != bp__onnx_dtype(port->type)) {
        return bp__fail(BP_E_DTYPE, "the value of input '%s' has elements of type %s; the model has %s", shown.text,
                        bp_dtype_name(bp_dtype_from_dlpack(tensor->dtype)), bp_dtype_name(bp__onnx_dtype(port->type)));
    }
    bool fits = port->ndim < 0 || port->ndim == tensor->ndim;
    for (int d = 0; d < port->ndim && fits; d++) {
        fits = port->sizes[d].number < 0 || port->sizes[d].number == tensor->shape[d];
    }
    return fits ? BP_OK
                : bp__fail(BP_E_SHAPE, "the value of input '%s' has another shape than the model says", shown.text);
}

static bp_status add_known(bp__onnx *r, const bp__onnx_port *port, const DLTensor *tensor) {
    bp__onnx_value *value;
    void *data;
    BP__TRY(check_value(port, tensor));
    BP__TRY(bp__onnx_known(r, bp__onnx_dtype(port->type), tensor->ndim, tensor->shape, &value, &data));
    value->name = port->name;
    DLTensor own = *tensor;
    own.data = data;
    own.byte_offset = 0;
    own.strides = NULL;
    own.device = (DLDevice){kDLCPU, 0};
    BP__TRY(bp_tensor_copy(&own, tensor));
    return bp__onnx_define(r, port->name, value);
}

/* ---- Inputs ---- */

static bp_status add_input(bp__onnx *r, const bp__onnx_port *port) {
    int64_t shape[BP_MAX_NDIM];
    bp__shown_text shown;
    bp__text name = {0};
    const bp_dtype dtype = bp__onnx_dtype(port->type);
    if (dtype == BP_DTYPE_NONE) {
        return bp__fail(BP_E_UNSUPPORTED,
                        "input '%s' is no tensor, or has elements of a type that no call has (%" PRId64
                        " of TensorProto)",
                        bp__bytes_show(port->name, &shown), port->type);
    }
    const DLTensor *chosen = chosen_value(r, port->name);
    if (chosen) {
        return add_known(r, port, chosen);
    }
    BP__TRY(find_shape(r, port, shape));
    bp__onnx_value *value = bp__onnx_new_value(r, dtype, port->ndim, shape);
    bp_status status = value ? bp__onnx_graph_name(r, port->name, &r->graph->names, &name) : BP_E_NO_MEMORY;
    if (status == BP_OK) {
        value->name = port->name;
        status = bp_graph_input(r->graph, bp__text_get(&name), dtype, port->ndim, shape, &value->value);
    }
    bp__text_free(&name);
    return status == BP_OK ? bp__onnx_define(r, port->name, value) : status;
}

bp_status bp__onnx_add_inputs(bp__onnx *r, const bp__onnx_graph *graph) {
    for (int i = 0; i < graph->input_count; i++) {
        if (!bp__onnx_find(r, graph->inputs[i].name)) {
            BP__TRY(add_input(r, &graph->inputs[i]));
        }
    }
    return bp__onnx_check_choices(r);
}

bp_status bp__onnx_check_choices(const bp__onnx *r) {
    const bp_onnx_choices *choices = r->choices;
    for (int i = 0; i < choices->size_count + choices->value_count; i++) {
        const bool size = i < choices->size_count;
        if (!r->used[i]) {
            return bp__fail(BP_E_ARGUMENT, "the model has no %s '%s'", size ? "open size" : "input",
                            size ? choices->size_names[i] : choices->value_names[i - choices->size_count]);
        }
    }
    return BP_OK;
}
