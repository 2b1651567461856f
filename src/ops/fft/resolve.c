/* resolve.c - resolves a transform call for its input by PyTorch's rules for dims, sizes, types and norms. */
#include "ops/fft/fft.h"

#include "tensor/internal.h"

#include <inttypes.h>
#include <string.h>

static const char *const names[][2] = {
#define X(number, name, text, many) [number] = {text, many},
    BP_FFT_MAP(X)
#undef X
};

static const char *const norm_names[] = {"backward", "ortho", "forward"};

bp_status bp_fft_norm_from_name(const char *name, bp_fft_norm *norm) {
    if (!norm) {
        return bp__fail(BP_E_ARGUMENT, "bp_fft_norm_from_name: norm must not be NULL");
    }
    for (int i = 0; i < BP__COUNT(norm_names); i++) {
        if (!name || strcmp(name, norm_names[i]) == 0) { /* index 0 is the default */
            *norm = (bp_fft_norm)i;
            return BP_OK;
        }
    }
    return bp__fail(BP_E_BAD_VALUE, "norm is '%s'; it must be backward, ortho or forward", name);
}

static bp_status check_call(const bp__fft_arguments *call) {
    if ((unsigned)call->transform >= (unsigned)BP__COUNT(names)) {
        return bp__fail(BP_E_ARGUMENT, "transform is %d; it must be a bp_fft_transform", (int)call->transform);
    }
    if ((unsigned)call->norm >= (unsigned)BP__COUNT(norm_names)) {
        return bp__fail(BP_E_ARGUMENT, "norm is %d; it must be a bp_fft_norm", (int)call->norm);
    }
    if (call->axis_count < BP_FFT_ALL) {
        return bp__fail(BP_E_ARGUMENT, "axis_count is %d; it must be a number of dimensions, or BP_FFT_ALL",
                        call->axis_count);
    }
    if (call->axis_count == BP_FFT_ALL && call->axes) {
        return bp__fail(BP_E_ARGUMENT, "axes is given, but axis_count is BP_FFT_ALL; it must be the number of axes");
    }
    return BP_OK;
}

/* Sets the input and output types of a transform. */
static bp_status resolve_types(bp__fft *fft, bp_fft_transform transform, bp_dtype in) {
    bool real = in == BP_F32 || in == BP_F64, complex = in == BP_C64 || in == BP_C128;
    bool from_real = transform == BP_RFFT || transform == BP_IHFFT;
    bool from_half = transform == BP_IRFFT || transform == BP_HFFT;
    if ((from_real && !real) || (from_half && !complex) || (!real && !complex)) {
        return bp__fail(BP_E_DTYPE, "the input is %s; %s takes %s", bp_dtype_name(in), fft->name,
                        from_real   ? "real input, f32 or f64"
                        : from_half ? "complex input, c64 or c128"
                                    : "f32, f64, c64 and c128");
    }
    fft->kind = from_half ? BP_FFT_C2R : real ? BP_FFT_R2C : BP_FFT_C2C;
    fft->whole = real && !from_real;
    fft->complex = in == BP_F32 || in == BP_C64 ? BP_C64 : BP_C128;
    fft->out_dtype = !from_half ? fft->complex : in == BP_C64 ? BP_F32 : BP_F64;
    return BP_OK;
}

bp_status bp__fft_dimension(int dim, int rank, int *from_front) {
    if (dim < -rank || dim >= rank) {
        return rank == 0 ? bp__fail(BP_E_ARGUMENT, "dimension %d is given, but the input has none", dim)
                         : bp__fail(BP_E_ARGUMENT, "dimension %d is outside of %d to %d, which an input of rank %d has",
                                    dim, -rank, rank - 1, rank);
    }
    *from_front = dim < 0 ? dim + rank : dim;
    return BP_OK;
}

static bp_status resolve_dims(bp__fft *fft, const bp__fft_arguments *call, int rank) {
    uint64_t seen = 0;
    int ndim = call->axis_count == BP_FFT_ALL ? rank : call->axis_count;
    if (!call->axes && ndim > rank) {
        return bp__fail(BP_E_ARGUMENT, "%d dimensions are given, but the input has rank %d", ndim, rank);
    }
    if (ndim == 0 && (fft->kind == BP_FFT_C2R || (fft->kind == BP_FFT_R2C && !fft->whole))) {
        return bp__fail(BP_E_ARGUMENT, "%s must transform at least one dimension", fft->name);
    }
    for (int i = 0; i < ndim; i++) { /* at most rank iterations succeed, because dims must be unique */
        int dim;
        BP__TRY(bp__fft_dimension(call->axes ? call->axes[i] : rank - ndim + i, rank, &dim));
        if (seen >> dim & 1) {
            return bp__fail(BP_E_ARGUMENT, "axes must be unique, but dimension %d is given twice", dim);
        }
        seen |= UINT64_C(1) << dim;
        fft->dims[i] = dim;
    }
    fft->ndim = ndim;
    return BP_OK;
}

static bp_status resolve_sizes(bp__fft *fft, const bp__fft_arguments *call) {
    const DLTensor *in = call->input;
    for (int i = 0; i < fft->ndim; i++) {
        int64_t size = in->shape[fft->dims[i]];
        int64_t n = call->s ? call->s[i] : BP_FFT_LENGTH;
        if (n == BP_FFT_LENGTH) {
            n = fft->kind == BP_FFT_C2R && i == fft->ndim - 1 ? 2 * (size - 1) : size;
        }
        if (n < 1) {
            return bp__fail(BP_E_ARGUMENT,
                            "invalid number of data points (%" PRId64 ") in dimension %d; %s needs at least 1", n,
                            fft->dims[i], fft->name);
        }
        fft->n[i] = n;
    }
    return BP_OK;
}

bp_status bp__fft_resolve(bp__fft *fft, const bp__fft_arguments *call) {
    const DLTensor *in = call->input;
    BP__TRY(check_call(call));
    bp_fft_transform transform = call->transform;
    fft->name = names[transform][call->axis_count != 1];
    fft->inverse = transform == BP_IFFT || transform == BP_IRFFT || transform == BP_IHFFT;
    fft->norm = call->norm;
    fft->distributed = bp__is_distributed(in->device);
    BP__TRY(resolve_types(fft, transform, bp_dtype_from_dlpack(in->dtype)));
    BP__TRY(resolve_dims(fft, call, in->ndim));
    return resolve_sizes(fft, call);
}

void bp__fft_output_shape(const bp__fft *fft, const DLTensor *in, int64_t *shape) {
    for (int i = 0; i < in->ndim; i++) {
        shape[i] = in->shape[i];
    }
    for (int i = 0; i < fft->ndim; i++) {
        bool half = i == fft->ndim - 1 && fft->kind == BP_FFT_R2C && !fft->whole;
        shape[fft->dims[i]] = half ? fft->n[i] / 2 + 1 : fft->n[i];
    }
}
