/* vector_norm.c - rewrites a call of VECTOR_NORM, which reduces any dimensions, for the table of linear algebra.
 *
 * Operations of the table see a batch of matrices. So the reduced dimensions become the last two, merged as far as
 * their strides allow, and all others are the batch. Addresses stay as they are, so that the thread cache can keep the
 * plan under the caller's own tensors. The order of the elements does not count. */
#include "ops/linalg/linalg.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <string.h>

typedef struct dim {
    int64_t size, stride;
} dim;

#define FAIL(status, ...) bp__linalg_fail(bp__linalg_entry_of(BP_OP_VECTOR_NORM), status, __VA_ARGS__)

bp_status bp__vector_norm_dims(const bp_linalg_call *call, uint64_t *reduced) {
    const int rank = call->input[0]->ndim;
    *reduced = 0;
    if (rank < 0 || rank > BP_MAX_NDIM) {
        return FAIL(BP_E_ARGUMENT, "A has %d dimensions; it may have up to %d", rank, BP_MAX_NDIM);
    }
    if (!call->axes) {
        *reduced = rank == 64 ? UINT64_MAX : (UINT64_C(1) << rank) - 1;
        return call->axis_count == 0
                   ? BP_OK
                   : FAIL(BP_E_ARGUMENT, "axes is NULL and axis_count is %d; it must be 0", call->axis_count);
    }
    if (call->axis_count < 0 || call->axis_count > rank) {
        return FAIL(BP_E_ARGUMENT, "axis_count is %d; A has %d dimensions", call->axis_count, rank);
    }
    for (int i = 0; i < call->axis_count; i++) {
        const int at = call->axes[i] < 0 ? call->axes[i] + rank : call->axes[i];
        if (at < 0 || at >= rank) {
            return FAIL(BP_E_ARGUMENT, "dimension %d is outside A, which has %d dimensions", call->axes[i], rank);
        }
        if (*reduced >> at & 1) {
            return FAIL(BP_E_ARGUMENT, "dimension %d is given twice", call->axes[i]);
        }
        *reduced |= UINT64_C(1) << at;
    }
    return BP_OK;
}

/* The shape of the result, from a checked A. */
static int result_shape(const bp_linalg_call *call, uint64_t reduced, int64_t *shape) {
    const DLTensor *a = call->input[0];
    int ndim = 0;
    for (int d = 0; d < a->ndim; d++) {
        if (!(reduced >> d & 1)) {
            shape[ndim++] = a->shape[d];
        } else if (call->keep) {
            shape[ndim++] = 1;
        }
    }
    return ndim;
}

static int64_t magnitude(int64_t x) {
    return x < 0 ? -x : x;
}

/* The reduced dimensions by stride, the largest first, and merged. Returns how many remain. */
static int merge(const DLTensor *a, uint64_t reduced, dim *dims) {
    int64_t strides[BP_MAX_NDIM];
    int used = 0, merged = 0;
    bp__tensor_strides(a, strides);
    for (int d = 0; d < a->ndim; d++) {
        if (!(reduced >> d & 1) || a->shape[d] == 1) {
            continue;
        }
        if (a->shape[d] == 0) {
            dims[0] = (dim){0, 1};
            return 1;
        }
        int at = used++;
        for (; at > 0 && magnitude(strides[d]) > magnitude(dims[at - 1].stride); at--) {
            dims[at] = dims[at - 1];
        }
        dims[at] = (dim){a->shape[d], strides[d]};
    }
    for (int i = 0; i < used; i++) {
        if (merged > 0 && dims[merged - 1].stride == dims[i].stride * dims[i].size) {
            dims[merged - 1] = (dim){dims[merged - 1].size * dims[i].size, dims[i].stride};
        } else {
            dims[merged++] = dims[i];
        }
    }
    return merged;
}

static bp_status check_result(const bp_linalg_call *call, uint64_t reduced) {
    int64_t shape[BP_MAX_NDIM];
    const DLTensor *norm = call->output[0];
    int ndim = result_shape(call, reduced, shape);
    if (norm && (norm->ndim != ndim ||
                 (ndim > 0 && norm->shape && memcmp(norm->shape, shape, (size_t)ndim * sizeof *shape) != 0))) {
        char got[256], want[256];
        const bool readable = norm->ndim >= 0 && norm->ndim <= BP_MAX_NDIM && (norm->shape || norm->ndim == 0);
        return FAIL(BP_E_SHAPE, "norm has shape %s; it must have shape %s",
                    readable ? bp__shape_text(norm->ndim, norm->shape, got, sizeof got) : "?",
                    bp__shape_text(ndim, shape, want, sizeof want));
    }
    return BP_OK;
}

/* A (*,m,n): the kept dimensions, then the reduced ones. */
static bp_status lower_input(bp__vector_norm *v, const DLTensor *a, uint64_t reduced) {
    dim dims[BP_MAX_NDIM];
    int64_t strides[BP_MAX_NDIM];
    int ndim = 0, count = merge(a, reduced, dims);
    if (count > 2) {
        return FAIL(BP_E_LAYOUT,
                    "%d dimensions to reduce remain after merging; at most %d can be handled without a copy", count, 2);
    }
    bp__tensor_strides(a, strides);
    for (int d = 0; d < a->ndim; d++) {
        if (!(reduced >> d & 1)) {
            v->a_shape[ndim] = a->shape[d];
            v->a_strides[ndim++] = strides[d];
        }
    }
    if (ndim + 2 > BP_MAX_NDIM) {
        return FAIL(BP_E_SHAPE, "%d dimensions remain; at most %d can be handled", ndim, BP_MAX_NDIM - 2);
    }
    for (int i = 0; i < 2; i++) {
        v->a_shape[ndim] = i < count ? dims[i].size : 1;
        v->a_strides[ndim++] = i < count ? dims[i].stride : 1;
    }
    v->a = *a;
    v->a.ndim = ndim;
    v->a.shape = v->a_shape;
    v->a.strides = v->a_strides;
    v->call.input[0] = &v->a;
    return BP_OK;
}

/* The result without the dimensions that it keeps with size 1. */
static void lower_result(bp__vector_norm *v, const DLTensor *norm, int rank, uint64_t reduced) {
    int64_t strides[BP_MAX_NDIM];
    int ndim = 0;
    bp__tensor_strides(norm, strides);
    for (int d = 0, at = 0; d < rank; d++) {
        const bool kept = !(reduced >> d & 1);
        if (kept) {
            v->norm_shape[ndim] = norm->shape[at];
            v->norm_strides[ndim++] = strides[at];
        }
        at += kept || v->call.keep;
    }
    v->norm = *norm;
    v->norm.ndim = ndim;
    v->norm.shape = v->norm_shape;
    v->norm.strides = v->norm_strides;
    v->call.output[0] = &v->norm;
}

bp_status bp__vector_norm_lower(bp__vector_norm *v, const bp_linalg_call *call, bool data_optional) {
    const DLTensor *a = call->input[0], *norm = call->output[0];
    uint64_t reduced;
    v->call = *call;
    BP__TRY(bp__tensor_check(a, "A", data_optional));
    BP__TRY(bp__vector_norm_dims(call, &reduced));
    BP__TRY(check_result(call, reduced));
    BP__TRY(lower_input(v, a, reduced));
    if (norm) {
        BP__TRY(bp__tensor_check(norm, "norm", data_optional));
        lower_result(v, norm, a->ndim, reduced);
    }
    return BP_OK;
}

bp_status bp__vector_norm_shape(const bp_linalg_call *call, bp_dtype *dtype, int *ndim, int64_t *shape) {
    bp__linalg_facts facts = {0};
    bp__vector_norm lowered;
    bp_linalg_call inputs = *call;
    uint64_t reduced;
    int unused;
    inputs.output[0] = NULL;
    BP__TRY(bp__linalg_parameters(&facts, &inputs));
    BP__TRY(bp__tensor_check(call->input[0], "A", true));
    BP__TRY(bp__vector_norm_dims(call, &reduced));
    if (!bp__vector_norm_scattered(&inputs)) {
        BP__TRY(bp__vector_norm_lower(&lowered, &inputs, true));
        facts.call = &lowered.call;
        BP__TRY(bp__linalg_inputs(&facts, true));
    }
    facts.dtype = bp_dtype_from_dlpack(call->input[0]->dtype);
    int64_t batch[BP_MAX_NDIM];
    bp__linalg_output(&facts, 1, dtype, &unused, batch);
    *ndim = result_shape(call, reduced, shape);
    return BP_OK;
}

bool bp__vector_norm_scattered(const bp_linalg_call *call) {
    const DLTensor *a = call->input[0];
    dim dims[BP_MAX_NDIM];
    uint64_t reduced;
    bp_dtype dtype = a ? bp_dtype_from_dlpack(a->dtype) : BP_DTYPE_NONE;
    return dtype >= BP_F32 && dtype <= BP_C128 && bp__tensor_check(a, "A", true) == BP_OK &&
           bp__vector_norm_dims(call, &reduced) == BP_OK && merge(a, reduced, dims) > 2;
}

bp_status bp__vector_norm_copied(const bp_linalg_call *call) {
    const DLTensor *a = call->input[0], *norm = call->output[0];
    DLManagedTensorVersioned *copy;
    bp_linalg_call of_copy = *call;
    BP__TRY(bp__tensor_check(a, "A", false));
    BP__TRY(bp__tensor_check(norm, "norm", false));
    if (bp__tensor_overlap(a, norm)) {
        return FAIL(BP_E_OVERLAP, "norm overlaps A; an output must have its own memory");
    }
    int64_t strides[BP_MAX_NDIM], step = 1;
    uint64_t reduced;
    BP__TRY(bp__vector_norm_dims(call, &reduced));
    for (int kept = 0; kept < 2; kept++) { /* the reduced dimensions are next to each other, so that they merge */
        for (int d = a->ndim < BP_MAX_NDIM ? a->ndim : BP_MAX_NDIM; d-- > 0;) {
            if ((reduced >> d & 1) == (kept ? 0 : 1)) {
                strides[d] = step;
                step *= a->shape[d] > 0 ? a->shape[d] : 1;
            }
        }
    }
    BP__TRY(bp_tensor_empty(&copy, bp_dtype_from_dlpack(a->dtype), a->ndim, a->shape, strides));
    bp_status status = bp_tensor_copy(&copy->dl_tensor, a);
    of_copy.input[0] = &copy->dl_tensor;
    status = status == BP_OK ? bp__linalg_run(&of_copy, false) : status;
    copy->deleter(copy);
    return status;
}
