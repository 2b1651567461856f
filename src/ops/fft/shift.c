/* shift.c - computes the frequencies of a transform's output, and moves the zero frequency. */
#include "ops/fft/call.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Frequencies ---- */

static bp_status check_frequencies(double d, const DLTensor *out) {
    BP__TRY(bp__tensor_check(out, "output", false));
    BP__TRY(bp__tensor_check_host(out, "output"));
    bp_dtype dtype = bp_dtype_from_dlpack(out->dtype);
    if (dtype != BP_F32 && dtype != BP_F64) {
        return bp__fail(BP_E_DTYPE, "output is %s; frequencies are f32 or f64", bp_dtype_name(dtype));
    }
    if (out->ndim != 1) {
        return bp__fail(BP_E_SHAPE, "output has rank %d; frequencies need one dimension", (int)out->ndim);
    }
    if (d == 0 || !isfinite(d)) {
        return bp__fail(BP_E_ARGUMENT, "the sample distance is %g; it must be finite and not 0", d);
    }
    return bp__tensor_self_overlaps(out) ? bp__fail_self_overlap("output", out) : BP_OK;
}

/* Sets out[i] = k / (n d). k is i, or i - n after the last positive frequency. The quotient is computed in a wider
 * type, so that it is rounded once. */
static void write_frequencies(const DLTensor *out, int64_t n, double d, int64_t positive) {
    int64_t stride;
    char *data = bp__tensor_data(out);
    long double whole = (long double)n * d;
    bool wide = bp_dtype_from_dlpack(out->dtype) == BP_F64;
    bp__tensor_strides(out, &stride);
    for (int64_t i = 0; i < out->shape[0]; i++) {
        long double value = (long double)(i < positive ? i : i - n) / whole;
        if (wide) {
            ((double *)data)[i * stride] = (double)value;
        } else {
            ((float *)data)[i * stride] = (float)value;
        }
    }
}

/* These functions and the shifts call no library, so that no setting concerns them. */
static bp_status fftfreq_run(const bp_call *described, const bp_options *options, const void *given) {
    const bp__frequencies_arguments *call = given;
    const DLTensor *out = call->output;
    (void)described, (void)options;
    BP__TRY(check_frequencies(call->d, out));
    write_frequencies(out, out->shape[0], call->d, (out->shape[0] + 1) / 2);
    return BP_OK;
}

static bp_status check_points(int64_t n) {
    return n < 1 ? bp__fail(BP_E_ARGUMENT, "n is %" PRId64 "; a transform has at least 1 point", n) : BP_OK;
}

static bp_status rfftfreq_run(const bp_call *described, const bp_options *options, const void *given) {
    const bp__frequencies_arguments *call = given;
    const int64_t n = call->n;
    const DLTensor *out = call->output;
    (void)described, (void)options;
    BP__TRY(check_frequencies(call->d, out));
    BP__TRY(check_points(n));
    if (out->shape[0] != n / 2 + 1) {
        return bp__fail(BP_E_SHAPE,
                        "output has %" PRId64 " elements; a transform of %" PRId64 " points has %" PRId64
                        " frequencies",
                        out->shape[0], n, n / 2 + 1);
    }
    write_frequencies(out, n, call->d, n / 2 + 1);
    return BP_OK;
}

static bp_status fftfreq_shape(const void *call, bp__call_result *result) {
    (void)call;
    return bp__call_fail_unknown_shape(result);
}

/* The type is the output's; f64 where none is given. */
static bp_status rfftfreq_shape(const void *given, bp__call_result *result) {
    const bp__frequencies_arguments *call = given;
    BP__TRY(check_points(call->n));
    result->dtype = call->output ? bp_dtype_from_dlpack(call->output->dtype) : BP_F64;
    result->ndim = 1;
    result->shape[0] = call->n / 2 + 1;
    return BP_OK;
}

bp_status bp_fftfreq(double d, DLTensor *out) {
    const bp__frequencies_arguments call = {sizeof call, d, 0, out};
    return fftfreq_run(&bp__fftfreq_call, NULL, &call);
}

bp_status bp_rfftfreq(int64_t n, double d, DLTensor *out) {
    const bp__frequencies_arguments call = {sizeof call, d, n, out};
    return rfftfreq_run(&bp__rfftfreq_call, NULL, &call);
}

/* ---- Shifts ---- */

typedef struct shift {
    int count;
    int dims[BP_MAX_NDIM]; /* the dimensions to shift that are longer than 1 */
} shift;

static bp_status resolve_shift(shift *s, int axis_count, const int *axes, const DLTensor *in) {
    uint64_t seen = 0;
    if (axis_count < BP_FFT_ALL || (axis_count > 0 && !axes)) {
        return bp__fail(BP_E_ARGUMENT, "axis_count is %d; it must be the number of axes, or BP_FFT_ALL", axis_count);
    }
    int count = axis_count == BP_FFT_ALL ? in->ndim : axis_count;
    for (int i = 0; i < count; i++) {
        int dim = i;
        if (axis_count != BP_FFT_ALL) {
            BP__TRY(bp__fft_dimension(axes[i], in->ndim, &dim));
        }
        if (seen >> dim & 1) {
            return bp__fail(BP_E_ARGUMENT, "axes must be unique, but dimension %d is given twice", dim);
        }
        seen |= UINT64_C(1) << dim;
        if (in->shape[dim] > 1) {
            s->dims[s->count++] = dim;
        }
    }
    return BP_OK;
}

static bp_status check_shift(const bp_call *described, const bp__shift_arguments *call) {
    const DLTensor *in = call->input, *out = call->output;
    BP__TRY(bp__tensor_check(in, "input", false));
    BP__TRY(bp__tensor_check(out, "output", false));
    BP__TRY(bp__tensor_check_host(in, "input"));
    BP__TRY(bp__tensor_check_host(out, "output"));
    bp_dtype from = bp_dtype_from_dlpack(in->dtype), to = bp_dtype_from_dlpack(out->dtype);
    if (from != to) {
        return bp__fail(BP_E_DTYPE, "the input is %s, but output is %s; they must have the same type",
                        bp_dtype_name(from), bp_dtype_name(to));
    }
    if (in->ndim != out->ndim ||
        (in->ndim > 0 && memcmp(in->shape, out->shape, (size_t)in->ndim * sizeof in->shape[0]) != 0)) {
        char want[256], got[256];
        return bp__fail(BP_E_SHAPE, "output has shape %s; it must have the input's shape %s",
                        bp__shape_text(out->ndim, out->shape, got, sizeof got),
                        bp__shape_text(in->ndim, in->shape, want, sizeof want));
    }
    return bp__call_check_overlap(described, bp__shift_passes, call);
}

/* Narrows a view of a tensor to a range of one dimension. */
static void narrow(bp_view *view, int dim, int64_t start, int64_t size) {
    int64_t item = (int64_t)bp_dtype_size(bp_dtype_from_dlpack(view->tensor.dtype));
    view->tensor.data = (char *)view->tensor.data + start * view->strides[dim] * item;
    view->shape[dim] = size;
}

static bp_status view_of(bp_view *view, const DLTensor *tensor) {
    int64_t strides[BP_MAX_NDIM];
    bp__tensor_strides(tensor, strides);
    return bp_view_init(view, bp__tensor_data(tensor), bp_dtype_from_dlpack(tensor->dtype), tensor->ndim, tensor->shape,
                        strides);
}

/* Copies one block. Every shifted dimension has two blocks that swap, so 2^count blocks are copied, at most one per
 * element. Bit i of `block` selects the first or the second block of the i-th dimension. */
static bp_status copy_block(const shift *s, uint64_t block, bool inverse, const DLTensor *in, const DLTensor *out) {
    bp_view from, to;
    BP__TRY(view_of(&from, in));
    BP__TRY(view_of(&to, out));
    for (int i = 0; i < s->count; i++) {
        int dim = s->dims[i];
        int64_t n = in->shape[dim];
        int64_t first = inverse ? n / 2 : n - n / 2; /* elements of the block that moves to the end */
        if (block >> i & 1) {
            narrow(&from, dim, first, n - first);
            narrow(&to, dim, 0, n - first);
        } else {
            narrow(&from, dim, 0, first);
            narrow(&to, dim, n - first, first);
        }
    }
    return bp_tensor_copy(&to.tensor, &from.tensor);
}

static bp_status move(const bp__shift_arguments *call, bool inverse) {
    const DLTensor *in = call->input, *out = call->output;
    shift s = {.count = 0};
    BP__TRY(check_shift(inverse ? &bp__ifftshift_call : &bp__fftshift_call, call));
    BP__TRY(resolve_shift(&s, call->axis_count, call->axes, in));
    if (bp__tensor_elements(in) == 0) {
        return BP_OK;
    }
    for (uint64_t block = 0; block < UINT64_C(1) << s.count; block++) {
        BP__TRY(copy_block(&s, block, inverse, in, out));
    }
    return BP_OK;
}

static bp_status fftshift_run(const bp_call *described, const bp_options *options, const void *call) {
    (void)described, (void)options;
    return move(call, false);
}

static bp_status ifftshift_run(const bp_call *described, const bp_options *options, const void *call) {
    (void)described, (void)options;
    return move(call, true);
}

static bp_status shift_shape(const void *given, bp__call_result *result) {
    const bp__shift_arguments *call = given;
    const DLTensor *in = call->input;
    BP__TRY(bp__tensor_check(in, "input", true));
    result->dtype = bp_dtype_from_dlpack(in->dtype);
    result->ndim = in->ndim;
    memcpy(result->shape, in->shape, (size_t)in->ndim * sizeof *in->shape);
    return BP_OK;
}

bp_status bp_fftshift(const DLTensor *in, int axis_count, const int *axes, DLTensor *out) {
    const bp__shift_arguments call = {sizeof call, axis_count, axes, in, out};
    return move(&call, false);
}

bp_status bp_ifftshift(const DLTensor *in, int axis_count, const int *axes, DLTensor *out) {
    const bp__shift_arguments call = {sizeof call, axis_count, axes, in, out};
    return move(&call, true);
}

/* ---- The descriptions ---- */

#define DESCRIBED(name, type, of_fields, of_passes, of_shape, sentence)                                                \
    static const bp__call_functions name##_functions = {name##_run, NULL, NULL};                                       \
    const bp_call bp__##name##_call = {                                                                                \
        .info = {#name, sentence, sizeof(type), BP__COUNT(of_fields), 1, 0, true},                                     \
        .op = BP__NO_OPERATION,                                                                                        \
        .ndim_offset = -1,                                                                                             \
        .fields = of_fields,                                                                                           \
        .family = &bp__family_fft,                                                                                     \
        .passes = of_passes,                                                                                           \
        .shape = of_shape,                                                                                             \
        .functions = &name##_functions,                                                                                \
    };

DESCRIBED(fftfreq, bp__frequencies_arguments, bp__fftfreq_fields, bp__frequencies_passes, fftfreq_shape,
          "frequencies of a transform")
DESCRIBED(rfftfreq, bp__frequencies_arguments, bp__rfftfreq_fields, bp__frequencies_passes, rfftfreq_shape,
          "frequencies of a transform of real input")
DESCRIBED(fftshift, bp__shift_arguments, bp__shift_fields, bp__shift_passes, shift_shape,
          "the zero frequency in the middle")
DESCRIBED(ifftshift, bp__shift_arguments, bp__shift_fields, bp__shift_passes, shift_shape,
          "the zero frequency back at the start")
