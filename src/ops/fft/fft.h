/* fft.h - how a transform that was asked for becomes the one FFT problem that providers know. Shared by the fft files.
 */
#ifndef BP_OPS_FFT_H
#define BP_OPS_FFT_H

#include "backplane/fft.h"
#include "dispatch/internal.h"

/* A call, resolved against its input: which dimensions, how long, and what kind of transform serves it. */
typedef struct bp__fft {
    const char *name; /* "fft", or "fftn" where it is not one dimension */
    bp_fft_kind kind; /* of the provider's transform */
    bool inverse;     /* the caller's direction: + in the exponent */
    bool whole;       /* R2C whose output has all elements */
    bp_fft_norm norm;
    bp_dtype complex;   /* the complex one of its types */
    bp_dtype out_dtype; /* the output's */
    int ndim;
    int dims[BP_MAX_NDIM]; /* from the front; the last one is the one with n/2+1 elements */
    int64_t n[BP_MAX_NDIM];
} bp__fft;

/* Checks the call and what it says of the input; the input has been checked as a tensor. */
bp_status bp__fft_resolve(bp__fft *fft, const bp_fft_call *call, const DLTensor *in);

void bp__fft_output_shape(const bp__fft *fft, const DLTensor *in, int64_t *shape);

/* "dimension %d is outside ...", or the dimension from the front. */
bp_status bp__fft_dimension(int dim, int rank, int *from_front);

/* A transform as it was asked for. */
typedef struct bp__fft_request {
    const bp_fft_call *call;
    const DLTensor *in, *out;
    bool data_optional;
} bp__fft_request;

/* From a bp__fft_request to a problem: see bp__family. */
bp_status bp__fft_make(bp_problem *problem, const void *request);

extern const bp__adapter bp__fft_adapter; /* adapt.c: padding, conjugation, whole spectra of real input */

/* Fills the member fft of a zeroed problem; output shape and type have been checked. BP_E_LAYOUT. */
bp_status bp__fft_lower(bp_fft_problem *problem, const bp__fft *fft, const DLTensor *in, const DLTensor *out);

#endif
