/* concat.c - concatenates tensors: checks all of them, then copies each into its part of the output. */
#include "ops/elementwise/elementwise.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <stdio.h>

/* Refuses a tensor that does not fit the output, except along the axis. */
static bp_status check_part(const DLTensor *part, const char *name, int axis, const DLTensor *output) {
    const bp_dtype dtype = bp_dtype_from_dlpack(part->dtype), wanted = bp_dtype_from_dlpack(output->dtype);
    char got[256], want[256];
    if (dtype != wanted) {
        return bp__fail(BP_E_DTYPE, "concat: %s is %s; it must be %s, as the output is", name, bp_dtype_name(dtype),
                        bp_dtype_name(wanted));
    }
    bool fits = part->ndim == output->ndim;
    for (int d = 0; d < output->ndim && fits; d++) {
        fits = d == axis || part->shape[d] == output->shape[d];
    }
    if (!fits) {
        return bp__fail(BP_E_SHAPE,
                        "concat: %s has shape %s; it must have the shape of the output %s, except in "
                        "dimension %d",
                        name, bp__shape_text(part->ndim, part->shape, got, sizeof got),
                        bp__shape_text(output->ndim, output->shape, want, sizeof want), axis);
    }
    if (bp__tensor_overlap(part, output)) {
        return bp__fail(BP_E_OVERLAP, "concat: output overlaps %s; it must have its own memory", name);
    }
    return BP_OK;
}

static bp_status check(const DLTensor *const *tensors, int count, int axis, const DLTensor *output, int *from_first) {
    int64_t sum = 0;
    if (!tensors || count < 1) {
        return bp__fail(BP_E_ARGUMENT, "concat: there are no tensors; at least one is needed");
    }
    BP__TRY(bp__tensor_check(output, "output", false));
    BP__TRY(bp__elementwise_axis("concat", axis, output->ndim, from_first));
    if (bp__tensor_self_overlaps(output)) {
        return bp__fail_self_overlap("output", output);
    }
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "tensors[%d]", i);
        BP__TRY(bp__tensor_check(tensors[i], name, false));
        BP__TRY(check_part(tensors[i], name, *from_first, output));
        if (__builtin_add_overflow(sum, tensors[i]->shape[*from_first], &sum)) {
            return bp__fail(BP_E_OVERFLOW, "concat: the sum of the sizes in dimension %d overflows", *from_first);
        }
    }
    if (sum != output->shape[*from_first]) {
        return bp__fail(BP_E_SHAPE,
                        "concat: output has size %" PRId64 " in dimension %d; the tensors have %" PRId64 " in all",
                        output->shape[*from_first], *from_first, sum);
    }
    return BP_OK;
}

bp_status bp_concat_run(const bp_options *options, const DLTensor *const *tensors, int count, int axis,
                        const DLTensor *output) {
    int64_t strides[BP_MAX_NDIM], from = 0;
    int along;
    BP__TRY(check(tensors, count, axis, output, &along));
    const int64_t element = (int64_t)bp_dtype_size(bp_dtype_from_dlpack(output->dtype));
    bp__tensor_strides(output, strides);
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_status status = BP_OK;
    for (int i = 0; i < count && status == BP_OK; i++) {
        DLTensor part = *output;
        part.shape = tensors[i]->shape;
        part.strides = strides;
        /* The offset may be negative, which byte_offset cannot be. */
        part.data = (void *)((uintptr_t)part.data + (uintptr_t)(from * strides[along] * element));
        from += tensors[i]->shape[along];
        const bp__elementwise_request r = {BP_OP_UNARY, BP_UNARY_COPY, 0, 2, {tensors[i], &part}, false};
        status = bp__tensor_elements(tensors[i]) > 0 ? bp__elementwise_run(&r) : BP_OK;
    }
    bp__call_leave(&scope);
    return status;
}
