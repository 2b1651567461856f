/* cumsum.c - checks, runs, plans and explains cumulative sums. */
#include "ops/cumsum/call.h"

#include "ops/shape.h"
#include "tensor/internal.h"

/* ---- Checks ---- */

/* A tensor without dimensions is a row, so it has the axes of one dimension. */
static bp_status find_axis(const bp_cumsum_call *call, int *axis) {
    const int ndim = call->input->ndim > 0 ? call->input->ndim : 1;
    if (call->axis < -ndim || call->axis >= ndim) {
        return bp__fail(BP_E_ARGUMENT, "cumsum: axis is %d; it must be from %d to %d, for %d dimensions", call->axis,
                        -ndim, ndim - 1, (int)call->input->ndim);
    }
    *axis = call->axis < 0 ? call->axis + ndim : call->axis;
    return BP_OK;
}

static bp_status check_types(bp_dtype input, bp_dtype output) {
    const bool floating = input >= BP_F16 && input <= BP_F64, integer = input == BP_I32 || input == BP_I64;
    if (!floating && !integer) {
        return bp__fail(BP_E_DTYPE, "cumsum: input is %s; it must be f16, bf16, f32, f64, i32 or i64",
                        bp_dtype_name(input));
    }
    if (output != input && !(input == BP_I32 && output == BP_I64)) {
        return bp__fail(BP_E_DTYPE, "cumsum: output is %s; it must be %s%s, for an input of %s", bp_dtype_name(output),
                        bp_dtype_name(input), input == BP_I32 ? " or i64" : "", bp_dtype_name(input));
    }
    return BP_OK;
}

static bp_status check_shapes(const DLTensor *input, const DLTensor *output) {
    char want[256], got[256];
    if (output->ndim == input->ndim &&
        (input->ndim == 0 || memcmp(output->shape, input->shape, (size_t)input->ndim * sizeof *input->shape) == 0)) {
        return BP_OK;
    }
    return bp__fail(BP_E_SHAPE, "cumsum: output has shape %s; it must have the shape of the input, %s",
                    bp__shape_text(output->ndim, output->shape, got, sizeof got),
                    bp__shape_text(input->ndim, input->shape, want, sizeof want));
}

/* ---- The problem ---- */

static int64_t magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

/* Adds a dimension of the rows before dimensions of smaller strides in the output, so that the order of the dimensions
 * in the tensor does not matter. */
static void add_dimension(bp_cumsum_problem *p, int64_t size, int64_t x, int64_t y) {
    int at = p->ndim++;
    for (; at > 0 && magnitude(p->y[at - 1]) < magnitude(y); at--) {
        p->size[at] = p->size[at - 1];
        p->x[at] = p->x[at - 1];
        p->y[at] = p->y[at - 1];
    }
    p->size[at] = size;
    p->x[at] = x;
    p->y[at] = y;
}

static void merge_dimensions(bp_cumsum_problem *p) {
    int count = 0;
    for (int d = 0; d < p->ndim; d++) {
        const int64_t size = p->size[d], x = p->x[d], y = p->y[d];
        const bool follows = count > 0 && p->x[count - 1] == size * x && p->y[count - 1] == size * y;
        count += !follows;
        p->size[count - 1] = follows ? p->size[count - 1] * size : size;
        p->x[count - 1] = x;
        p->y[count - 1] = y;
    }
    for (int d = count; d < p->ndim; d++) {
        p->size[d] = p->x[d] = p->y[d] = 0;
    }
    p->ndim = count;
}

/* A problem without elements has a length of 0 and no dimensions: strides of an empty tensor may be any. */
static void lower(bp_cumsum_problem *p, const bp_cumsum_call *call, int axis) {
    const DLTensor *input = call->input;
    int64_t x[BP_MAX_NDIM], y[BP_MAX_NDIM];
    p->output = (uint32_t)bp_dtype_from_dlpack(call->output->dtype);
    p->exclusive = call->exclusive != 0;
    p->reverse = call->reverse != 0;
    if (bp__tensor_elements(input) == 0) {
        return;
    }
    bp__tensor_strides(input, x);
    bp__tensor_strides(call->output, y);
    p->length = input->ndim > 0 ? input->shape[axis] : 1;
    p->x_axis = p->length > 1 ? x[axis] : 0;
    p->y_axis = p->length > 1 ? y[axis] : 0;
    for (int d = 0; d < input->ndim; d++) {
        if (d != axis && input->shape[d] != 1) {
            add_dimension(p, input->shape[d], x[d], y[d]);
        }
    }
    merge_dimensions(p);
}

static bp_status bp__cumsum_problem(bp_problem *problem, const bp_cumsum_call *call, bool data_optional) {
    int axis = 0;
    BP__TRY(bp__tensor_check(call->input, "input", data_optional));
    BP__TRY(bp__tensor_check(call->output, "output", data_optional));
    const bp_dtype dtype = bp_dtype_from_dlpack(call->input->dtype);
    BP__TRY(check_types(dtype, bp_dtype_from_dlpack(call->output->dtype)));
    BP__TRY(find_axis(call, &axis));
    BP__TRY(check_shapes(call->input, call->output));
    BP__TRY(bp__call_check_overlap(&bp__cumsum_call, bp__cumsum_passes, call));
    problem->op = BP_OP_CUMSUM;
    problem->dtype = (uint32_t)dtype;
    lower(&problem->of.cumsum, call, axis);
    return BP_OK;
}

/* ---- The description ---- */

static bp_status bp__cumsum_output(const bp_cumsum_call *call, bp_dtype *dtype, int *ndim, int64_t *shape) {
    int axis;
    BP__TRY(bp__tensor_check(call->input, "input", true));
    const bp_dtype input = bp_dtype_from_dlpack(call->input->dtype);
    *dtype = call->output ? bp_dtype_from_dlpack(call->output->dtype) : input == BP_I32 ? BP_I64 : input;
    BP__TRY(check_types(input, *dtype));
    BP__TRY(find_axis(call, &axis));
    *ndim = call->input->ndim;
    memcpy(shape, call->input->shape, (size_t)*ndim * sizeof *shape);
    return BP_OK;
}

static bp_status result_shape(const void *call, bp__call_result *result) {
    return bp__cumsum_output(call, &result->dtype, &result->ndim, result->shape);
}

const bp_call bp__cumsum_call = {
    .info = {"cumsum", "cumulative sums along an axis", sizeof(bp_cumsum_call), BP__COUNT(bp__cumsum_fields),
             BP__COUNT(bp__cumsum_passes), 1, false},
    .op = BP_OP_CUMSUM,
    .ndim_offset = -1,
    .fields = bp__cumsum_fields,
    .family = &bp__family_cumsum,
    .passes = bp__cumsum_passes,
    .shape = result_shape,
};

BP__DEFINE_RUN(cumsum, bp_cumsum_call)
BP__DEFINE_PLAN(cumsum, bp_cumsum_call)
BP__DEFINE_SHAPE(cumsum, bp_cumsum_call)
