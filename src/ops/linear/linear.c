/* linear.c - linear layers, as convolutions with a window of one element whose positions are the rows. */
#include "ops/linear/call.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <string.h>

#define MOST_DIMENSIONS (1 + BP_CONV_NDIM) /* of rows: items and positions */

/* An operand of the convolution. It has few dimensions: a bp_view would take much of the stack of each call. */
typedef struct image {
    DLTensor tensor;
    int64_t shape[2 + BP_CONV_NDIM], strides[2 + BP_CONV_NDIM];
} image;

/* The convolution of a call, and the tensors that it reads and writes. */
typedef struct layer {
    bp_conv_call call;
    const DLTensor *of_input, *of_weight, *of_bias, *of_output; /* of the linear layer, or the gradients by them */
    image input, weight, output;
} layer;

static const bp__pass *pass_of(const void *given) {
    const bp_linear_call *call = given;
    return (unsigned)call->pass <= BP_LINEAR_WEIGHT ? &bp__linear_passes[call->pass] : NULL;
}

/* The leading dimensions of input and output: sizes, and strides of both. */
typedef struct rows {
    int count;
    int64_t size[BP_MAX_NDIM], input[BP_MAX_NDIM], output[BP_MAX_NDIM];
} rows;

static bp_status check_rank(const DLTensor *tensor, const char *name, int least, int most) {
    BP__TRY(bp__tensor_check(tensor, name, true));
    return tensor->ndim >= least && tensor->ndim <= most
               ? BP_OK
               : bp__fail(BP_E_SHAPE, "linear: %s has %d dimensions; it must have %s%d", name, tensor->ndim,
                          least == most ? "" : "at least ", least);
}

/* Checks the number of elements in a row, which must be the same as in a row or a column of the weight. */
static bp_status check_rows(const DLTensor *tensor, const char *name, const char *of_weight, int64_t elements) {
    const int64_t given = tensor->shape[tensor->ndim - 1];
    return given == elements
               ? BP_OK
               : bp__fail(BP_E_SHAPE, "linear: a row of %s has %" PRId64 " elements, a %s of weight %" PRId64, name,
                          given, of_weight, elements);
}

static bp_status check_sizes(const DLTensor *weight) {
    return weight->shape[0] > 0 && weight->shape[1] > 0
               ? BP_OK
               : bp__fail(BP_E_SHAPE, "linear: weight is %" PRId64 " x %" PRId64 "; both sizes must be at least 1",
                          weight->shape[0], weight->shape[1]);
}

/* Checks that the output has the rows of the input, and as many elements in each. */
static bp_status check_output(const DLTensor *input, const DLTensor *output, const char *name, int64_t elements) {
    int64_t wanted[BP_MAX_NDIM];
    for (int d = 0; d < input->ndim; d++) {
        wanted[d] = d + 1 < input->ndim ? input->shape[d] : elements;
    }
    if (output->ndim != input->ndim || memcmp(output->shape, wanted, (size_t)input->ndim * sizeof *wanted) != 0) {
        char want[256], got[256];
        return bp__fail(BP_E_SHAPE, "linear: %s has shape %s; it must have shape %s", name,
                        bp__shape_text(output->ndim, output->shape, got, sizeof got),
                        bp__shape_text(input->ndim, wanted, want, sizeof want));
    }
    return BP_OK;
}

/* Finds the tensors of the pass: gradients in place of those by which they are. */
static bp_status find_tensors(layer *l, const bp_linear_call *call) {
    l->of_input = call->pass == BP_LINEAR_INPUT ? call->input_gradient : call->input;
    l->of_weight = call->pass == BP_LINEAR_WEIGHT ? call->weight_gradient : call->weight;
    l->of_bias = call->pass == BP_LINEAR_WEIGHT ? call->bias_gradient : call->bias;
    l->of_output = call->pass == BP_LINEAR_FORWARD ? call->output : call->output_gradient;
    if (call->bias && call->pass == BP_LINEAR_INPUT) {
        return bp__fail(BP_E_ARGUMENT,
                        "linear: the gradient by the input does not depend on the bias, which must be NULL");
    }
    return bp__call_check_surplus(&bp__linear_call, pass_of(call), call);
}

static bp_status check_shapes(const layer *l, bp_linear_pass pass) {
    const DLTensor *input = l->of_input, *output = l->of_output, *weight = l->of_weight, *bias = l->of_bias;
    const char *const input_name = pass == BP_LINEAR_INPUT ? "input_gradient" : "input";
    const char *const output_name = pass == BP_LINEAR_FORWARD ? "output" : "output_gradient";
    const char *const bias_name = pass == BP_LINEAR_WEIGHT ? "bias_gradient" : "bias";
    BP__TRY(check_rank(input, input_name, 1, BP_MAX_NDIM));
    BP__TRY(check_rank(output, output_name, 1, BP_MAX_NDIM));
    BP__TRY(check_rank(weight, pass == BP_LINEAR_WEIGHT ? "weight_gradient" : "weight", 2, 2));
    BP__TRY(check_rows(input, input_name, "row", weight->shape[1]));
    BP__TRY(check_sizes(weight));
    BP__TRY(check_output(input, output, output_name, weight->shape[0]));
    if (bias) {
        BP__TRY(check_rank(bias, bias_name, 1, 1));
        if (bias->shape[0] != weight->shape[0]) {
            return bp__fail(BP_E_SHAPE, "linear: %s has %" PRId64 " elements, weight has %" PRId64 " rows", bias_name,
                            bias->shape[0], weight->shape[0]);
        }
    }
    return BP_OK;
}

/* Collects the leading dimensions of the input except of size 1, and merges neighbours. Without rows there is
 * one, of size 0.
 */
static void collect(rows *r, const DLTensor *tensor, const int64_t *input, const int64_t *output) {
    r->count = 0;
    for (int d = 0; d < tensor->ndim - 1; d++) {
        const int64_t size = tensor->shape[d];
        if (size == 0) {
            *r = (rows){.count = 1};
            return;
        }
        const int last = r->count - 1;
        const bool follows = last >= 0 && r->input[last] == input[d] * size && r->output[last] == output[d] * size;
        const int at = follows ? last : r->count;
        r->size[at] = follows ? r->size[at] * size : size;
        r->input[at] = input[d];
        r->output[at] = output[d];
        r->count = at + (size > 1 || follows);
    }
}

static void set_view(image *view, const DLTensor *tensor, int ndim) {
    view->tensor = *tensor;
    view->tensor.ndim = ndim;
    view->tensor.shape = view->shape;
    view->tensor.strides = view->strides;
    for (int d = 0; d < ndim; d++) {
        view->shape[d] = 1;
        view->strides[d] = 0;
    }
}

/* Makes the image of a tensor: items x channels x positions. The last rows are positions; if there are none at all, or
 * more than positions, the first ones are items. */
static void set_image(image *view, const DLTensor *tensor, const rows *r, const int64_t *stride, int64_t step,
                      int positions) {
    const bool empty = r->count == 1 && r->size[0] == 0;
    set_view(view, tensor, 2 + positions);
    view->shape[1] = tensor->shape[tensor->ndim - 1];
    view->strides[1] = step;
    for (int i = 0; i < r->count; i++) {
        const int d = empty || i == r->count - 1 - positions ? 0 : 2 + positions - r->count + i;
        view->shape[d] = r->size[i];
        view->strides[d] = stride[i];
    }
}

/* Makes the call of the convolution from the views. */
static void set_call(layer *l, const bp_linear_call *call, int positions) {
    static const bp_conv_pass passes[] = {BP_CONV_FORWARD, BP_CONV_INPUT, BP_CONV_WEIGHT};
    l->call = (bp_conv_call){.struct_size = sizeof l->call,
                             .pass = passes[call->pass],
                             .ndim = positions,
                             .activation = call->activation,
                             .bias = call->bias,
                             .bias_gradient = call->bias_gradient};
    if (call->pass == BP_LINEAR_FORWARD) {
        l->call.output = &l->output.tensor;
    } else {
        l->call.output_gradient = &l->output.tensor;
    }
    if (call->pass == BP_LINEAR_INPUT) {
        l->call.input_gradient = &l->input.tensor;
    } else {
        l->call.input = &l->input.tensor;
    }
    if (call->pass == BP_LINEAR_WEIGHT) {
        l->call.weight_gradient = &l->weight.tensor;
    } else {
        l->call.weight = &l->weight.tensor;
    }
}

static bp_status lower(layer *l, const bp_linear_call *given) {
    bp_linear_call own;
    const bp_linear_call *call = bp__struct_read(&own, sizeof own, given, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    if ((unsigned)call->pass > BP_LINEAR_WEIGHT) {
        return bp__fail(BP_E_ARGUMENT, "linear: pass is no value of its enumeration");
    }
    BP__TRY(find_tensors(l, call));
    BP__TRY(check_shapes(l, call->pass));
    int64_t input[BP_MAX_NDIM], output[BP_MAX_NDIM], weight[2];
    bp__tensor_strides(l->of_input, input);
    bp__tensor_strides(l->of_output, output);
    bp__tensor_strides(l->of_weight, weight);
    rows r;
    collect(&r, l->of_input, input, output);
    if (r.count > MOST_DIMENSIONS) {
        return bp__fail(BP_E_LAYOUT,
                        "linear: %d leading dimensions cannot be merged, because of the strides of input and output; "
                        "at most %d can be read where they are",
                        r.count, MOST_DIMENSIONS);
    }
    const int positions = r.count > 1 ? r.count - 1 : 1;
    set_image(&l->input, l->of_input, &r, r.input, input[l->of_input->ndim - 1], positions);
    set_image(&l->output, l->of_output, &r, r.output, output[l->of_output->ndim - 1], positions);
    set_view(&l->weight, l->of_weight, 2 + positions);
    for (int d = 0; d < 2; d++) {
        l->weight.shape[d] = l->of_weight->shape[d];
        l->weight.strides[d] = weight[d];
    }
    set_call(l, call, positions);
    return BP_OK;
}

bp_status bp_linear_run(const bp_options *options, const bp_linear_call *call) {
    layer l;
    BP__TRY(lower(&l, call));
    const bool before = bp__precision_of_linear(true);
    const bp_status status = bp_conv_run(options, &l.call);
    bp__precision_of_linear(before);
    return status;
}

bp_status bp_linear(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, DLTensor *output) {
    const bp_linear_call call = {
        .struct_size = sizeof call, .input = input, .weight = weight, .bias = bias, .output = output};
    return bp_linear_run(NULL, &call);
}

bp_status bp_linear_plan(bp_plan **plan, const bp_options *options, const bp_linear_call *call) {
    layer l;
    if (plan) {
        *plan = NULL;
    }
    BP__TRY(lower(&l, call));
    const bool before = bp__precision_of_linear(true);
    const bp_status status = bp_conv_plan(plan, options, &l.call);
    bp__precision_of_linear(before);
    return status;
}

bp_status bp_linear_explain(bp_explanation **explanation, const bp_options *options, const bp_linear_call *call) {
    layer l;
    if (explanation) {
        *explanation = NULL;
    }
    BP__TRY(lower(&l, call));
    const bool before = bp__precision_of_linear(true);
    const bp_status status = bp_conv_explain(explanation, options, &l.call);
    bp__precision_of_linear(before);
    return status;
}

BP__DEFINE_FUNCTIONS(linear)

/* ---- The description ---- */

/* Sets the shape of a result: the leading dimensions of `like`, if it is not NULL, then `first` unless it is negative,
 * then `last`. */
static bp_status set_result(bp__call_result *result, const DLTensor *like, int64_t first, int64_t last) {
    result->ndim = 0;
    for (int d = 0; like && d + 1 < like->ndim; d++) {
        result->shape[result->ndim++] = like->shape[d];
    }
    if (first >= 0) {
        result->shape[result->ndim++] = first;
    }
    result->shape[result->ndim++] = last;
    return BP_OK;
}

static bp_status result_shape(const void *given, bp__call_result *result) {
    const bp_linear_call *call = given;
    const DLTensor *input = call->input, *weight = call->weight, *output = call->output_gradient;
    const bool is_bias = result->pass->operand[result->operand].info.offset == offsetof(bp_linear_call, bias_gradient);
    if (call->pass != BP_LINEAR_INPUT) {
        BP__TRY(check_rank(input, "input", 1, BP_MAX_NDIM));
    }
    if (call->pass != BP_LINEAR_WEIGHT) {
        BP__TRY(check_rank(weight, "weight", 2, 2));
        BP__TRY(check_sizes(weight));
    }
    if (call->pass != BP_LINEAR_FORWARD) {
        BP__TRY(check_rank(output, "output_gradient", 1, BP_MAX_NDIM));
    }
    switch (call->pass) {
    case BP_LINEAR_FORWARD:
        BP__TRY(check_rows(input, "input", "row", weight->shape[1]));
        result->dtype = bp_dtype_from_dlpack(input->dtype);
        return set_result(result, input, -1, weight->shape[0]);
    case BP_LINEAR_INPUT:
        BP__TRY(check_rows(output, "output_gradient", "column", weight->shape[0]));
        result->dtype = bp_dtype_from_dlpack(output->dtype);
        return set_result(result, output, -1, weight->shape[1]);
    default:
        BP__TRY(check_output(input, output, "output_gradient", output->shape[output->ndim - 1]));
        result->dtype = bp_dtype_from_dlpack(input->dtype);
        return is_bias ? set_result(result, NULL, -1, output->shape[output->ndim - 1])
                       : set_result(result, NULL, output->shape[output->ndim - 1], input->shape[input->ndim - 1]);
    }
}

const bp_call bp__linear_call = {
    .info = {"linear", "linear layers", sizeof(bp_linear_call), BP__COUNT(bp__linear_fields),
             BP__COUNT(bp__linear_passes), 0, false},
    .op = BP_OP_CONV,
    .ndim_offset = -1,
    .fields = bp__linear_fields,
    .family = &bp__family_conv,
    .passes = bp__linear_passes,
    .pass = pass_of,
    .shape = result_shape,
    .functions = &bp__linear_functions,
};
