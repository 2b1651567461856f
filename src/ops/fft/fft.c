/* fft.c - runs, plans and explains the transforms of fft.h. */
#include "ops/fft/call.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <string.h>

static bp_status check_output(const bp__fft *fft, const bp__fft_arguments *call) {
    const DLTensor *in = call->input, *out = call->output;
    bp_dtype dtype = bp_dtype_from_dlpack(out->dtype);
    if (dtype != fft->out_dtype) {
        return bp__fail(BP_E_DTYPE, "output is %s; %s of %s gives %s", bp_dtype_name(dtype), fft->name,
                        bp_dtype_name(bp_dtype_from_dlpack(in->dtype)), bp_dtype_name(fft->out_dtype));
    }
    int64_t shape[BP_MAX_NDIM];
    int ndim = in->ndim;
    bp__fft_output_shape(fft, in, shape);
    if (out->ndim != ndim || (ndim > 0 && memcmp(out->shape, shape, (size_t)ndim * sizeof shape[0]) != 0)) {
        char want[256], got[256];
        return bp__fail(BP_E_SHAPE, "output has shape %s; the result of %s has shape %s",
                        bp__shape_text(out->ndim, out->shape, got, sizeof got), fft->name,
                        bp__shape_text(ndim, shape, want, sizeof want));
    }
    return BP_OK;
}

bp_status bp__fft_make(bp_problem *problem, const void *asked) {
    const bp__call_request *request = asked;
    const bp__fft_arguments *call = request->call;
    bp__fft fft;
    BP__TRY(bp__tensor_check(call->input, "input", request->data_optional));
    BP__TRY(bp__fft_resolve(&fft, call));
    BP__TRY(bp__tensor_check(call->output, "output", request->data_optional));
    BP__TRY(check_output(&fft, call));
    BP__TRY(bp__call_check_overlap(&bp__fft_call, bp__fft_passes, call));
    problem->op = BP_OP_FFT;
    problem->dtype = (uint32_t)fft.complex;
    BP__TRY(bp__fft_lower(&problem->of.fft, &fft, call->input, call->output));
    problem->of.fft.in_place = bp__call_same_places(call->input, call->output);
    return BP_OK;
}

/* ---- The description ---- */

static bp_status result_shape(const void *given, bp__call_result *result) {
    const bp__fft_arguments *call = given;
    bp__fft fft;
    BP__TRY(bp__tensor_check(call->input, "input", true));
    BP__TRY(bp__fft_resolve(&fft, call));
    bp__fft_output_shape(&fft, call->input, result->shape);
    result->dtype = fft.out_dtype;
    result->ndim = call->input->ndim;
    return BP_OK;
}

/* Only a transform from complex to complex has one type, and so can run in place. */
const bp_call bp__fft_call = {
    .info = {"fft", "Fourier transforms", sizeof(bp__fft_arguments), BP__COUNT(bp__fft_fields), 1, 1, false},
    .op = BP_OP_FFT,
    .ndim_offset = offsetof(bp__fft_arguments, axis_count),
    .ndim_least = BP_FFT_ALL,
    .ndim_most = BP_MAX_NDIM,
    .whole_sizes = true,
    .fields = bp__fft_fields,
    .family = &bp__family_fft,
    .passes = bp__fft_passes,
    .shape = result_shape,
};

/* ---- General form ---- */

/* Fails if the struct is of a version that is not known. */
static bp_status read_call(bp__fft_arguments *made, const bp_fft_call *call, const DLTensor *in, const DLTensor *out) {
    bp_fft_call own;
    call = bp__struct_read(&own, sizeof own, call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    *made =
        (bp__fft_arguments){sizeof *made, call->transform, call->norm, call->axis_count, call->axes, call->s, in, out};
    return BP_OK;
}

bp_status bp_fft_run(const bp_options *options, const bp_fft_call *call, const DLTensor *in, DLTensor *out) {
    bp__fft_arguments arguments;
    BP__TRY(read_call(&arguments, call, in, out));
    return bp__call_run_described(&bp__fft_call, options, &arguments);
}

bp_status bp_fft_plan(bp_plan **plan, const bp_options *options, const bp_fft_call *call, const DLTensor *in,
                      const DLTensor *out) {
    bp__fft_arguments arguments;
    if (plan) {
        *plan = NULL;
    }
    BP__TRY(read_call(&arguments, call, in, out));
    return bp__call_plan_described(&bp__fft_call, plan, options, &arguments);
}

bp_status bp_fft_explain(bp_explanation **explanation, const bp_options *options, const bp_fft_call *call,
                         const DLTensor *in, const DLTensor *out) {
    bp__fft_arguments arguments;
    if (explanation) {
        *explanation = NULL;
    }
    BP__TRY(read_call(&arguments, call, in, out));
    return bp__call_explain_described(&bp__fft_call, explanation, options, &arguments);
}

bp_status bp_fft_shape(const bp_fft_call *call, const DLTensor *in, bp_dtype *dtype, int *ndim, int64_t *shape) {
    bp__fft_arguments arguments;
    BP__TRY(bp__call_check_shape_arguments("bp_fft_shape", dtype, ndim, shape));
    BP__TRY(read_call(&arguments, call, in, NULL));
    return bp_call_shape(&bp__fft_call, &arguments, 1, dtype, ndim, shape);
}

/* ---- Functions by name ---- */

static bp_status run_named(bp_fft_transform transform, bp_fft_norm norm, int axis_count, const int *axes,
                           const int64_t *s, const DLTensor *in, DLTensor *out) {
    const bp__fft_arguments call = {sizeof call, transform, norm, axis_count, axes, s, in, out};
    return bp__call_run_plain(&bp__fft_call, &call);
}

#define NAMED(name, NAME)                                                                                              \
    bp_status bp_##name(const DLTensor *in, int64_t n, int dim, bp_fft_norm norm, DLTensor *out) {                     \
        return run_named(BP_##NAME, norm, 1, &dim, &n, in, out);                                                       \
    }                                                                                                                  \
    bp_status bp_##name##2(const DLTensor *in, const int64_t *s, const int *axes, bp_fft_norm norm, DLTensor *out) {   \
        return run_named(BP_##NAME, norm, 2, axes, s, in, out);                                                        \
    }                                                                                                                  \
    bp_status bp_##name##n(const DLTensor *in, int axis_count, const int64_t *s, const int *axes, bp_fft_norm norm,    \
                           DLTensor *out) {                                                                            \
        return run_named(BP_##NAME, norm, axis_count, axes, s, in, out);                                               \
    }

NAMED(fft, FFT)
NAMED(ifft, IFFT)
NAMED(rfft, RFFT)
NAMED(irfft, IRFFT)
NAMED(hfft, HFFT)
NAMED(ihfft, IHFFT)
