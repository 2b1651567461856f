/* lower.c - converts a resolved transform and its tensors to the FFT problem.
 *
 * Equal transforms become equal problems for any spelling of the call, because plans are cached by problem. Dimensions
 * without effect are dropped, except for distributed operands, because they tell which dimension is divided. The others
 * are sorted by the output's strides if their order does not matter. Batch dimensions with matching strides are merged.
 */
#include "ops/fft/fft.h"

#include "tensor/internal.h"

#include <math.h>
#include <stdlib.h>

typedef struct axis {
    int64_t n;     /* length of the transform, or size of a batch dimension */
    int64_t given; /* elements of the input, at most as many as the transform needs */
    int64_t needs;
    int64_t in, out;
} axis;

/* Inserts in stable order. Insertion sort suffices, because ranks are small and tensors mostly sorted. */
static void insert_by_stride(axis *axes, int *count, axis one) {
    int at = (*count)++;
    while (at > 0 && llabs(axes[at - 1].out) < llabs(one.out)) {
        axes[at] = axes[at - 1];
        at--;
    }
    axes[at] = one;
}

static axis axis_of(const bp__fft *fft, int i, const DLTensor *in, const int64_t *in_strides,
                    const int64_t *out_strides) {
    int dim = fft->dims[i];
    bool halved = i == fft->ndim - 1;
    axis one = {.n = fft->n[i], .needs = fft->n[i], .in = in_strides[dim], .out = out_strides[dim]};
    if (halved && fft->kind == BP_FFT_C2R) {
        one.needs = one.n / 2 + 1;
    }
    one.given = in->shape[dim] < one.needs ? in->shape[dim] : one.needs;
    if (!fft->distributed) {
        one.in = one.given > 1 ? one.in : 0;
        one.out = one.n > 1 ? one.out : 0;
    }
    return one;
}

/* Collects the transformed dimensions. The last dimension of a transform with a half spectrum stays last; the others
 * may be in any order. A transform of one element is the identity and is dropped. */
static int collect_axes(const bp__fft *fft, const DLTensor *in, const int64_t *in_strides, const int64_t *out_strides,
                        axis *axes) {
    int count = 0;
    bool half = fft->kind != BP_FFT_C2C && !fft->whole;
    for (int i = 0; i < fft->ndim - half; i++) {
        axis one = axis_of(fft, i, in, in_strides, out_strides);
        if (one.n > 1 || one.given == 0 || fft->distributed) {
            insert_by_stride(axes, &count, one);
        }
    }
    if (half) {
        axes[count++] = axis_of(fft, fft->ndim - 1, in, in_strides, out_strides);
    } else if (fft->whole && count == 0) { /* no transform is left, but real input becomes complex */
        axes[count++] = (axis){.n = 1, .given = 1, .needs = 1};
    }
    return count;
}

/* Sorts the batch dimensions, then merges them in their place. */
static int collect_batch(const bp__fft *fft, const DLTensor *in, const int64_t *in_strides, const int64_t *out_strides,
                         axis *axes) {
    uint64_t transformed = 0;
    int count = 0, kept = 0;
    for (int i = 0; i < fft->ndim; i++) {
        transformed |= UINT64_C(1) << fft->dims[i];
    }
    for (int dim = 0; dim < in->ndim; dim++) {
        if (!(transformed >> dim & 1) && in->shape[dim] != 1) {
            insert_by_stride(axes, &count, (axis){.n = in->shape[dim], .in = in_strides[dim], .out = out_strides[dim]});
        }
    }
    for (int i = 0; i < count; i++) {
        axis *outer = kept > 0 ? &axes[kept - 1] : NULL;
        const axis one = axes[i];
        if (outer && outer->in == one.in * one.n && outer->out == one.out * one.n) {
            *outer = (axis){.n = outer->n * one.n, .in = one.in, .out = one.out};
        } else {
            axes[kept++] = one;
        }
    }
    return kept;
}

static double scale_of(const bp__fft *fft) {
    double points = 1;
    for (int i = 0; i < fft->ndim; i++) {
        points *= (double)fft->n[i];
    }
    bool scales = fft->norm == BP_FFT_ORTHO || fft->inverse == (fft->norm == BP_FFT_BACKWARD);
    return !scales ? 1 : fft->norm == BP_FFT_ORTHO ? 1 / sqrt(points) : 1 / points;
}

static void store_axes(bp_fft_problem *problem, const axis *axes, int count) {
    problem->ndim = count;
    for (int i = 0; i < count; i++) {
        problem->n[i] = axes[i].n;
        problem->in[i] = axes[i].in;
        problem->out[i] = axes[i].out;
        problem->input_size[i] = axes[i].given;
        problem->zero_padded |= axes[i].given != axes[i].needs;
    }
}

/* Stores the batch. An empty batch has no dimensions and 0 items. */
static void store_batch(bp_fft_problem *problem, const axis *axes, int count) {
    problem->batch = 1;
    for (int i = 0; i < count; i++) {
        problem->batch *= axes[i].n; /* no overflow: the output has at least as many elements */
    }
    problem->batch_ndim = problem->batch > 0 ? count : 0;
    for (int i = 0; i < problem->batch_ndim; i++) {
        problem->batch_shape[i] = axes[i].n;
        problem->batch_in[i] = axes[i].in;
        problem->batch_out[i] = axes[i].out;
    }
}

bp_status bp__fft_lower(bp_fft_problem *problem, const bp__fft *fft, const DLTensor *in, const DLTensor *out) {
    int64_t in_strides[BP_MAX_NDIM], out_strides[BP_MAX_NDIM];
    axis axes[BP_MAX_NDIM + 1]; /* a dimension is transformed or of the batch; one more if no transform is left */
    bp__tensor_strides(in, in_strides);
    bp__tensor_strides(out, out_strides);
    int count = collect_axes(fft, in, in_strides, out_strides, axes);
    const axis *batch = axes + count;
    int batch_count = collect_batch(fft, in, in_strides, out_strides, axes + count);
    if (count > BP_MAX_FFT_NDIM) {
        return bp__fail(BP_E_LAYOUT, "%d dimensions are to be transformed; at most %d can be handled", count,
                        BP_MAX_FFT_NDIM);
    }
    if (batch_count > BP_MAX_BATCH_NDIM) {
        return bp__fail(BP_E_LAYOUT, "%d batch dimensions remain after merging; at most %d can be handled", batch_count,
                        BP_MAX_BATCH_NDIM);
    }
    problem->kind = (uint8_t)fft->kind;
    problem->inverse = fft->inverse;
    problem->conjugate = fft->kind == BP_FFT_C2R ? !fft->inverse : fft->kind == BP_FFT_R2C && fft->inverse;
    problem->scale = scale_of(fft);
    store_axes(problem, axes, count);
    store_batch(problem, batch, batch_count);
    /* For up to 2 elements, the half is the full spectrum. */
    problem->full_spectrum = fft->whole && problem->n[count - 1] > 2;
    return BP_OK;
}
