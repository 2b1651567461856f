/* concat.c - concatenates tensors: checks all of them, then copies each into its part of the output. */
#include "ops/elementwise/call.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <stdio.h>
#include <string.h>

static bp_status check_type(const DLTensor *part, const char *name, bp_dtype wanted, const char *like) {
    const bp_dtype dtype = bp_dtype_from_dlpack(part->dtype);
    return dtype == wanted ? BP_OK
                           : bp__fail(BP_E_DTYPE, "concat: %s is %s; it must be %s, as %s is", name,
                                      bp_dtype_name(dtype), bp_dtype_name(wanted), like);
}

static bp_status concat_shape(const void *given, bp__call_result *result) {
    const bp__concat_arguments *call = given;
    const DLTensor *const *tensors = call->tensors;
    const int count = call->count;
    int64_t *shape = result->shape;
    int along = 0;
    char name[32], got[256], want[256];
    if (!tensors || count < 1) {
        return bp__fail(BP_E_ARGUMENT, "concat: there are no tensors; at least one is needed");
    }
    for (int i = 0; i < count; i++) {
        const DLTensor *first = tensors[0], *part = tensors[i];
        snprintf(name, sizeof name, "tensors[%d]", i);
        BP__TRY(bp__tensor_check(part, name, true));
        if (i == 0) {
            BP__TRY(bp__elementwise_axis("concat", call->axis, first->ndim, &along));
            memcpy(shape, first->shape, (size_t)first->ndim * sizeof *shape);
            result->ndim = first->ndim;
            result->dtype = bp_dtype_from_dlpack(first->dtype);
            continue;
        }
        BP__TRY(check_type(part, name, result->dtype, "tensors[0]"));
        bool fits = part->ndim == first->ndim;
        for (int d = 0; d < first->ndim && fits; d++) {
            fits = d == along || part->shape[d] == first->shape[d];
        }
        if (!fits) {
            return bp__fail(BP_E_SHAPE,
                            "concat: %s has shape %s; it must have the shape of tensors[0] %s, except in dimension %d",
                            name, bp__shape_text(part->ndim, part->shape, got, sizeof got),
                            bp__shape_text(first->ndim, first->shape, want, sizeof want), along);
        }
        if (__builtin_add_overflow(shape[along], part->shape[along], &shape[along])) {
            return bp__fail(BP_E_OVERFLOW, "concat: the sum of the sizes in dimension %d overflows", along);
        }
    }
    return BP_OK;
}

static bp_status check_part(const DLTensor *part, int index, const DLTensor *output) {
    char name[32];
    snprintf(name, sizeof name, "tensors[%d]", index);
    BP__TRY(bp__tensor_check(part, name, false));
    return check_type(part, name, bp_dtype_from_dlpack(output->dtype), "the output");
}

static bp_status check(const bp__concat_arguments *call, int *along) {
    const DLTensor *output = call->output;
    int64_t shape[BP_MAX_NDIM];
    int ndim;
    char got[256], want[256];
    BP__TRY(bp__tensor_check(output, "output", false));
    BP__TRY(bp__call_output_shape(&bp__concat_call, call, &ndim, shape));
    BP__TRY(bp__elementwise_axis("concat", call->axis, ndim, along));
    if (output->ndim != ndim || memcmp(output->shape, shape, (size_t)ndim * sizeof *shape) != 0) {
        return bp__fail(BP_E_SHAPE, "concat: output has shape %s; the result has shape %s",
                        bp__shape_text(output->ndim, output->shape, got, sizeof got),
                        bp__shape_text(ndim, shape, want, sizeof want));
    }
    for (int i = 0; i < call->count; i++) {
        BP__TRY(check_part(call->tensors[i], i, output));
    }
    return bp__call_check_overlap(&bp__concat_call, bp__concat_passes, call);
}

/* Describes the part of the output that begins at `from` along the axis, with the shape of a tensor. */
static DLTensor part_of(const DLTensor *output, int64_t *strides, const DLTensor *tensor, int along, int64_t from) {
    const int64_t element = (int64_t)bp_dtype_size(bp_dtype_from_dlpack(output->dtype));
    const int64_t ahead = from * strides[along] * element;
    DLTensor part = *output;
    part.shape = tensor->shape;
    part.strides = strides;
    if (bp__tensor_has_address(output)) { /* it may be negative, which byte_offset cannot be */
        part.data = (void *)((uintptr_t)part.data + (uintptr_t)ahead);
    } else {
        part.byte_offset += (uint64_t)ahead;
    }
    return part;
}

/* Prepares the copies, or runs those that are prepared; plans[i] is NULL for a tensor without elements. */
static bp_status copy_all(const DLTensor *const *tensors, int count, int along, const DLTensor *output, bp_plan **plans,
                          bool runs) {
    int64_t strides[BP_MAX_NDIM], from = 0;
    bp__tensor_strides(output, strides);
    for (int i = 0; i < count; i++) {
        if (bp__tensor_elements(tensors[i]) == 0) { /* the stride may be any then */
            continue;
        }
        const DLTensor part = part_of(output, strides, tensors[i], along, from);
        BP__TRY(runs ? bp__copy_run_prepared(tensors[i], &part, plans[i])
                     : bp__copy_prepare(tensors[i], &part, &plans[i]));
        from += tensors[i]->shape[along];
    }
    return BP_OK;
}

/* All plans are made before the first copy, so that a failure leaves the output as it was. */
static bp_status copy_prepared(const DLTensor *const *tensors, int count, int along, const DLTensor *output) {
    bp_plan *few[16] = {NULL};
    const bool heap = count > BP__COUNT(few);
    bp_plan **plans = heap ? bp__alloc_zero((size_t)count, sizeof *plans) : few;
    if (!plans) {
        return bp__fail_memory((size_t)count * sizeof *plans, "the copies of concat");
    }
    bp_status status = copy_all(tensors, count, along, output, plans, false);
    status = status == BP_OK ? copy_all(tensors, count, along, output, plans, true) : status;
    for (int i = 0; i < count; i++) {
        bp__plan_release(plans[i]);
    }
    bp__free(heap ? plans : NULL);
    return status;
}

static bp_status concat_run(const bp_call *described, const bp_options *options, const void *given) {
    (void)described;
    const bp__concat_arguments *call = given;
    int along = 0;
    bp__devices_noted noted;
    bp__devices_note(&noted);
    bp_status status = check(call, &along);
    bp__devices_noted_end(&noted);
    if (status != BP_OK) {
        return status;
    }
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    status = copy_prepared(call->tensors, call->count, along, call->output);
    bp__call_leave(&scope);
    return status;
}

static const bp__call_functions functions = {concat_run, NULL, NULL};

const bp_call bp__concat_call = {
    .info = {"concat", "tensors one after another", sizeof(bp__concat_arguments), BP__COUNT(bp__concat_fields), 1, 0,
             true},
    .op = BP_OP_UNARY,
    .ndim_offset = -1,
    .moves = true,
    .joins_axis = offsetof(bp__concat_arguments, axis),
    .count_offset = offsetof(bp__concat_arguments, count),
    .fields = bp__concat_fields,
    .family = &bp__family_elementwise,
    .passes = bp__concat_passes,
    .shape = concat_shape,
    .functions = &functions,
};

bp_status bp_concat_run(const bp_options *options, int count, const DLTensor *const *tensors, int axis,
                        DLTensor *output) {
    const bp__concat_arguments call = {sizeof call, axis, count, tensors, output};
    return concat_run(&bp__concat_call, options, &call);
}

bp_status bp_concat_shape(int count, const DLTensor *const *tensors, int axis, int *ndim, int64_t *shape) {
    const bp__concat_arguments call = {sizeof call, axis, count, tensors, NULL};
    return bp__call_output_shape(&bp__concat_call, &call, ndim, shape);
}
