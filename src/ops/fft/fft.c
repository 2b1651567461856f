/* fft.c - runs, plans and explains the transforms of fft.h. */
#include "ops/fft/fft.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <string.h>

static bp_status check_output(const bp__fft *fft, const bp__fft_request *r) {
    bp_dtype dtype = bp_dtype_from_dlpack(r->out->dtype);
    if (dtype != fft->out_dtype) {
        return bp__fail(BP_E_DTYPE, "out is %s; %s of %s gives %s", bp_dtype_name(dtype), fft->name,
                        bp_dtype_name(bp_dtype_from_dlpack(r->in->dtype)), bp_dtype_name(fft->out_dtype));
    }
    int64_t shape[BP_MAX_NDIM];
    int ndim = r->in->ndim;
    bp__fft_output_shape(fft, r->in, shape);
    if (r->out->ndim != ndim || (ndim > 0 && memcmp(r->out->shape, shape, (size_t)ndim * sizeof shape[0]) != 0)) {
        char want[256], got[256];
        return bp__fail(BP_E_SHAPE, "out has shape %s; the result of %s has shape %s",
                        bp__shape_text(r->out->ndim, r->out->shape, got, sizeof got), fft->name,
                        bp__shape_text(ndim, shape, want, sizeof want));
    }
    return BP_OK;
}

/* Returns whether each index has the same address in both tensors, if they start at the same one. */
static bool same_places(const DLTensor *in, const DLTensor *out) {
    int64_t in_strides[BP_MAX_NDIM], out_strides[BP_MAX_NDIM];
    bp__tensor_strides(in, in_strides);
    bp__tensor_strides(out, out_strides);
    for (int i = 0; i < in->ndim; i++) {
        if (in->shape[i] != out->shape[i] || (in->shape[i] > 1 && in_strides[i] != out_strides[i])) {
            return false;
        }
    }
    return true;
}

static bool same_address(const DLTensor *in, const DLTensor *out) {
    return in->data && out->data && bp__tensor_same_start(in, out);
}

static bp_status check_memory(const bp__fft *fft, const bp__fft_request *r, bool *in_place) {
    *in_place = fft->kind == BP_FFT_C2C && same_address(r->in, r->out) && same_places(r->in, r->out);
    if (bp__tensor_self_overlaps(r->out)) {
        return bp__fail_self_overlap("out", r->out);
    }
    if (!*in_place && r->in->data && r->out->data && bp__tensor_overlap(r->in, r->out)) {
        return bp__fail(
            BP_E_OVERLAP,
            "out overlaps the input; it must have its own memory. A complex-to-complex transform may also run "
            "in place, with the input's address, shape and strides.");
    }
    return BP_OK;
}

bp_status bp__fft_make(bp_problem *problem, const void *asked) {
    const bp__fft_request *r = asked;
    bp__fft fft;
    bp_fft_call own;
    bool in_place;
    const bp_fft_call *call = bp__struct_read(&own, sizeof own, r->call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(bp__tensor_check(r->in, "input", r->data_optional));
    BP__TRY(bp__fft_resolve(&fft, call, r->in));
    BP__TRY(bp__tensor_check(r->out, "out", r->data_optional));
    BP__TRY(check_output(&fft, r));
    BP__TRY(check_memory(&fft, r, &in_place));
    problem->op = BP_OP_FFT;
    problem->dtype = (uint32_t)fft.complex;
    BP__TRY(bp__fft_lower(&problem->of.fft, &fft, r->in, r->out));
    problem->of.fft.in_place = in_place;
    return BP_OK;
}

/* ---- The call's key ---- */

/* Packs a number into `bits` bits. A number out of range becomes the largest one, so that an invalid call never matches
 * a checked one. */
static uint64_t field(unsigned value, unsigned bits, unsigned shift) {
    unsigned most = (1u << bits) - 1;
    return (uint64_t)(value < most ? value : most) << shift;
}

static void describe(bp__operation *o, const bp_fft_call *call, const DLTensor *in, const DLTensor *out) {
    int listed = call->ndim < 0 ? 0 : call->ndim;
    int count = (call->dims ? listed : 0) + (call->s ? listed : 0);
    bool fits = listed <= BP__PARAMETERS && count <= BP__PARAMETERS && !(call->s && call->ndim < 0);
    o->tag = bp__tag(BP_OP_FFT, field((unsigned)call->transform, 4, 0) | field((unsigned)call->norm, 2, 4) |
                                    field((unsigned)call->ndim + 1, 6, 6) | (uint64_t)(call->dims != NULL) << 12 |
                                    (uint64_t)(call->s != NULL) << 13);
    o->count = 2;
    o->inputs = 1;
    o->tensors[0] = in;
    o->tensors[1] = out;
    o->in_place = in && out && same_address(in, out);
    o->parameter_count = 0;
    for (int i = 0; fits && call->dims && i < listed; i++) {
        o->parameters[o->parameter_count++] = (uint64_t)(int64_t)call->dims[i];
    }
    for (int i = 0; fits && call->s && i < listed; i++) {
        o->parameters[o->parameter_count++] = (uint64_t)call->s[i];
    }
    o->parameter_count = fits ? o->parameter_count : BP__PARAMETERS_LONG;
}

static inline bp_status run_transform(const bp_fft_call *call, const DLTensor *in, DLTensor *out) {
    bp__operation operation;
    describe(&operation, call, in, out);
    const bp_plan *plan = bp__operation_find(&operation);
    if (BP__LIKELY(plan != NULL)) {
        return bp__operation_run(&operation, plan);
    }
    const bp__fft_request r = {call, in, out, false};
    return bp__operation_run_request(&operation, &bp__family_fft, &r);
}

bp_status bp_fft_run(const bp_options *options, const bp_fft_call *call, const DLTensor *in, DLTensor *out) {
    bp_fft_call own;
    call = bp__struct_read(&own, sizeof own, call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_status status = run_transform(call, in, out);
    bp__call_leave(&scope);
    return status;
}

bp_status bp_fft_plan(bp_plan **plan, const bp_options *options, const bp_fft_call *call, const DLTensor *in,
                      const DLTensor *out) {
    bp__fft_request r = {call, in, out, true};
    return bp__plan_for(plan, options, &bp__family_fft, &r);
}

bp_status bp_fft_explain(bp_explanation **explanation, const bp_options *options, const bp_fft_call *call,
                         const DLTensor *in, const DLTensor *out) {
    bp__fft_request r = {call, in, out, true};
    return bp__explain_for(explanation, options, &bp__family_fft, &r);
}

/* ---- Functions by name ---- */

static bp_status run_named(bp_fft_transform transform, bp_fft_norm norm, int ndim, const int *dims, const int64_t *s,
                           const DLTensor *in, DLTensor *out) {
    bp_fft_call call = {sizeof call, transform, norm, ndim, dims, s};
    return run_transform(&call, in, out);
}

#define NAMED(name, NAME)                                                                                              \
    bp_status bp_##name(const DLTensor *in, int64_t n, int dim, bp_fft_norm norm, DLTensor *out) {                     \
        return run_named(BP_##NAME, norm, 1, &dim, &n, in, out);                                                       \
    }                                                                                                                  \
    bp_status bp_##name##2(const DLTensor *in, const int64_t *s, const int *dims, bp_fft_norm norm, DLTensor *out) {   \
        return run_named(BP_##NAME, norm, 2, dims, s, in, out);                                                        \
    }                                                                                                                  \
    bp_status bp_##name##n(const DLTensor *in, int ndim, const int64_t *s, const int *dims, bp_fft_norm norm,          \
                           DLTensor *out) {                                                                            \
        return run_named(BP_##NAME, norm, ndim, dims, s, in, out);                                                     \
    }

NAMED(fft, FFT)
NAMED(ifft, IFFT)
NAMED(rfft, RFFT)
NAMED(irfft, IRFFT)
NAMED(hfft, HFFT)
NAMED(ihfft, IHFFT)
