/* elements.c - describes the elements of the operands of a transform. */
#include "ops/fft/fft.h"

bool bp__fft_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    const bp_fft_problem *f = &problem->of.fft;
    const bool input = operand == 0, real = f->kind == (input ? BP_FFT_R2C : BP_FFT_C2R);
    const bool half = !input && f->kind == BP_FFT_R2C && !f->full_spectrum;
    const bp_dtype complex = (bp_dtype)problem->dtype;
    elements->dtype = !real ? complex : complex == BP_C64 ? BP_F32 : BP_F64;
    if (f->batch == 0) { /* which has no dimensions */
        return false;
    }
    bp__elements_add_all(elements, f->batch_ndim, f->batch_shape, input ? f->batch_in : f->batch_out);
    for (int d = 0; d < f->ndim; d++) {
        const int64_t whole = half && d == f->ndim - 1 ? f->n[d] / 2 + 1 : f->n[d];
        bp__elements_add(elements, input ? f->input_size[d] : whole, input ? f->in[d] : f->out[d]);
    }
    return true;
}
