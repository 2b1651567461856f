/* concat.c - concatenates tensors: checks all of them, then copies each into its part of the output. */
#include "ops/elementwise/elementwise.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <stdio.h>
#include <string.h>

bp_status bp_concat_shape(const DLTensor *const *tensors, int count, int axis, int *ndim, int64_t *shape) {
    int along = 0;
    char name[32], got[256], want[256];
    if (!tensors || count < 1) {
        return bp__fail(BP_E_ARGUMENT, "concat: there are no tensors; at least one is needed");
    }
    if (!ndim || !shape) {
        return bp__fail(BP_E_ARGUMENT, "%s must not be NULL", ndim ? "shape" : "ndim");
    }
    for (int i = 0; i < count; i++) {
        const DLTensor *first = tensors[0], *part = tensors[i];
        snprintf(name, sizeof name, "tensors[%d]", i);
        BP__TRY(bp__tensor_check(part, name, true));
        if (i == 0) {
            BP__TRY(bp__elementwise_axis("concat", axis, first->ndim, &along));
            memcpy(shape, first->shape, (size_t)first->ndim * sizeof *shape);
            *ndim = first->ndim;
            continue;
        }
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
    const bp_dtype dtype = bp_dtype_from_dlpack(part->dtype), wanted = bp_dtype_from_dlpack(output->dtype);
    char name[32];
    snprintf(name, sizeof name, "tensors[%d]", index);
    BP__TRY(bp__tensor_check(part, name, false));
    if (dtype != wanted) {
        return bp__fail(BP_E_DTYPE, "concat: %s is %s; it must be %s, as the output is", name, bp_dtype_name(dtype),
                        bp_dtype_name(wanted));
    }
    if (bp__tensor_overlap(part, output)) {
        return bp__fail(BP_E_OVERLAP, "concat: output overlaps %s; it must have its own memory", name);
    }
    return BP_OK;
}

static bp_status check(const DLTensor *const *tensors, int count, int axis, const DLTensor *output, int *along) {
    int64_t shape[BP_MAX_NDIM];
    int ndim;
    char got[256], want[256];
    BP__TRY(bp__tensor_check(output, "output", false));
    BP__TRY(bp_concat_shape(tensors, count, axis, &ndim, shape));
    BP__TRY(bp__elementwise_axis("concat", axis, ndim, along));
    if (output->ndim != ndim || memcmp(output->shape, shape, (size_t)ndim * sizeof *shape) != 0) {
        return bp__fail(BP_E_SHAPE, "concat: output has shape %s; the result has shape %s",
                        bp__shape_text(output->ndim, output->shape, got, sizeof got),
                        bp__shape_text(ndim, shape, want, sizeof want));
    }
    if (bp__tensor_self_overlaps(output)) {
        return bp__fail_self_overlap("output", output);
    }
    for (int i = 0; i < count; i++) {
        BP__TRY(check_part(tensors[i], i, output));
    }
    return BP_OK;
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
        const bp__elementwise_request r = {BP_OP_UNARY, BP_UNARY_COPY, 0, 2, {tensors[i], &part}, false};
        BP__TRY(runs ? bp__elementwise_run_prepared(&r, plans[i]) : bp__elementwise_prepare(&r, &plans[i]));
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

bp_status bp_concat_run(const bp_options *options, const DLTensor *const *tensors, int count, int axis,
                        const DLTensor *output) {
    int along = 0;
    bp__devices_noted noted;
    bp__devices_note(&noted);
    bp_status status = check(tensors, count, axis, output, &along);
    bp__devices_noted_end(&noted);
    if (status != BP_OK) {
        return status;
    }
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    status = copy_prepared(tensors, count, along, output);
    bp__call_leave(&scope);
    return status;
}
