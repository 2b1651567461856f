/* call.h - describes the calls of transforms, of their frequencies and of shifts, whose functions take arguments. */
#ifndef BP_OPS_FFT_CALL_H
#define BP_OPS_FFT_CALL_H

#include "ops/fft/fft.h"

#define BP__CALL bp__fft_arguments
static const bp_call_field bp__fft_fields[] = {
    BP__WORD(transform, BP_IHFFT, "fft,ifft,rfft,irfft,hfft,ihfft", "the transform"),
    BP__WORD(norm, BP_FFT_FORWARD, "backward,ortho,forward", "which transforms are scaled"),
    BP__SIGNED(axis_count, BP_FFT_ALL, "number of dimensions that are transformed; -1: all"),
    BP__AXES(axes, "these dimensions; the last ones if absent"),
    BP__SIZES(s, "lengths of the transforms; -1, or absent: the length of the input"),
    BP__TENSOR(input, "real or complex, as the transform takes"),
    BP__TENSOR(output, "real or complex, as the transform gives"),
};
static const bp__pass bp__fft_passes[] = {
    {{"FORWARD", BP_OP_FFT, 2, 1}, {BP__IN(input, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

/* These are loops without plans; no operation of providers is in them. */
#define BP__NO_OPERATION ((bp_op)0)

#define BP__CALL bp__frequencies_arguments
static const bp_call_field bp__fftfreq_fields[] = {
    BP__REAL(d, 1, "distance of the samples"),
    BP__TENSOR(output, "one dimension, as long as the transform"),
};
static const bp_call_field bp__rfftfreq_fields[] = {
    BP__REAL(d, 1, "distance of the samples"),
    BP__NUMBER(n, 0, "length of the transform"),
    BP__TENSOR(output, "n/2 + 1 elements"),
};
static const bp__pass bp__frequencies_passes[] = {{{"FORWARD", BP__NO_OPERATION, 1, 0}, {BP__OUT(output, true, 0)}}};
#undef BP__CALL

#define BP__CALL bp__shift_arguments
static const bp_call_field bp__shift_fields[] = {
    BP__SIGNED(axis_count, BP_FFT_ALL, "number of dimensions that are shifted; -1: all"),
    BP__AXES(axes, "these dimensions; absent for all"),
    BP__TENSOR(input, "any shape and type"),
    BP__TENSOR(output, "the shape and type of the input"),
};
static const bp__pass bp__shift_passes[] = {
    {{"FORWARD", BP__NO_OPERATION, 2, 1}, {BP__IN(input, true, 0), BP__OUT(output, true, 0)}}};
#undef BP__CALL

#endif
