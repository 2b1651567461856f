/* fold.c - computes a node whose inputs are known when the model is read.
 *
 * Shapes are often computed by nodes, from sizes that are known. Such a node becomes a graph of its own, which is run
 * at once by the same calls as all others, and whose results are known values. */
#include "onnx/read.h"

#include <string.h>

static bp_status is_foldable(bp__onnx *r, bool *foldable) {
    *foldable = r->input_count > 0;
    for (int i = 0; i < r->input_count && *foldable; i++) {
        bp__onnx_value *input = r->inputs[i];
        if (input) {
            BP__TRY(bp__onnx_load(r, input));
            *foldable = input->data && bp__onnx_bytes(input) <= BP__ONNX_SMALL;
        }
    }
    return BP_OK;
}

/* Makes inputs that are not in the graph yet, which is another one. */
static bp_status copy_inputs(bp__onnx *r, bp__onnx_value **copies) {
    for (int i = 0; i < r->input_count; i++) {
        if (r->inputs[i]) {
            copies[i] = bp__onnx_new(r->memory, 1, sizeof *copies[i]);
            if (!copies[i]) {
                return BP_E_NO_MEMORY;
            }
            *copies[i] = *r->inputs[i];
            copies[i]->value = 0;
        }
    }
    return BP_OK;
}

/* Makes the results that must be computed outputs of the graph. *fits: all are small. */
static bp_status add_outputs(bp__onnx *r, DLTensor **outputs, int *count, bool *fits) {
    char name[32];
    *count = 0;
    *fits = true;
    for (int i = 0; i < r->node->output_count; i++) {
        bp__onnx_value *result = r->results[i];
        if (result) {
            *fits &= bp__onnx_bytes(result) <= BP__ONNX_SMALL;
        }
        if (!result || result->data || !*fits) {
            continue;
        }
        BP__TRY(bp__onnx_spend(r, bp__onnx_bytes(result)));
        DLTensor *tensor = bp__onnx_new(r->memory, 1, sizeof *tensor);
        void *data = bp__onnx_new_elements(r->memory, bp__onnx_bytes(result));
        if (!tensor || !data) {
            return BP_E_NO_MEMORY;
        }
        *tensor = (DLTensor){.data = data,
                             .device = {kDLCPU, 0},
                             .ndim = result->ndim,
                             .dtype = bp_dtype_to_dlpack(result->dtype),
                             .shape = (int64_t *)(uintptr_t)result->shape};
        snprintf(name, sizeof name, "y%d", i);
        BP__TRY(bp_graph_output(r->graph, name, result->value));
        outputs[(*count)++] = tensor;
    }
    return BP_OK;
}

/* Gives the results what was computed. */
static bp_status take_outputs(bp__onnx *r, DLTensor *const *outputs) {
    int next = 0;
    for (int i = 0; i < r->node->output_count; i++) {
        bp__onnx_value *result = r->results[i];
        if (result) {
            bp__onnx_value *own = bp__onnx_new_value(r, result->dtype, result->ndim, result->shape);
            if (!own) {
                return BP_E_NO_MEMORY;
            }
            own->data = result->data ? result->data : outputs[next++]->data;
            r->results[i] = own;
        }
    }
    return BP_OK;
}

static bp_status compute(bp__onnx *r, const bp__onnx_row *row, bool *done) {
    int count;
    bool fits;
    DLTensor **outputs = bp__onnx_new(r->memory, (size_t)r->node->output_count, sizeof *outputs);
    if (!outputs) {
        return BP_E_NO_MEMORY;
    }
    BP__TRY(row->convert(r, row));
    BP__TRY(add_outputs(r, outputs, &count, &fits));
    if (!fits) {
        return BP_OK;
    }
    if (count > 0) {
        BP__TRY(bp_graph_finish(r->graph));
        BP__TRY(bp__graph_run_eager(r->graph, NULL, (const DLTensor *const *)outputs));
    }
    BP__TRY(take_outputs(r, outputs));
    *done = true;
    return BP_OK;
}

static bp_status fold(bp__onnx *r, const bp__onnx_row *row, bool *done) {
    bp_graph *const graph = r->graph;
    bp__onnx_value **const inputs = r->inputs;
    bp__onnx_value **copies = bp__onnx_new(r->memory, (size_t)r->input_count, sizeof *copies);
    BP__TRY(copies ? copy_inputs(r, copies) : BP_E_NO_MEMORY);
    bp_graph *own;
    BP__TRY(bp_graph_create(&own));
    r->graph = own;
    r->inputs = copies;
    r->folds = true;
    bp_status status = compute(r, row, done);
    bp_graph_release(own);
    r->graph = graph;
    r->inputs = inputs;
    r->folds = false;
    return status;
}

/* A node that cannot be computed now is added to the graph. If it is wrong, that fails with its message. */
bp_status bp__onnx_fold(bp__onnx *r, const bp__onnx_row *row, bool *done) {
    bool foldable;
    bp__held_error held;
    *done = false;
    BP__TRY(is_foldable(r, &foldable));
    if (!foldable) {
        return BP_OK;
    }
    bp__error_hold(&held);
    const bp_status status = fold(r, row, done);
    const bool fails =
        status == BP_E_NO_MEMORY || status == BP_E_CANCELLED || (status != BP_OK && r->spent > BP__ONNX_MOST_KNOWN);
    if (!*done) {
        memset(r->results, 0, (size_t)r->node->output_count * sizeof *r->results);
    }
    return bp__error_finish(&held, fails ? status : BP_OK);
}
