/* fft.h - converts a transform call to the FFT problem that providers accept. The files of this folder share it. */
#ifndef BP_OPS_FFT_H
#define BP_OPS_FFT_H

#include "backplane/fft.h"
#include "ops/call.h"

/* The arguments of the public functions. */
typedef struct bp__fft_arguments { /* a bp_fft_call, and the tensors */
    size_t struct_size;
    bp_fft_transform transform;
    bp_fft_norm norm;
    int axis_count;
    const int *axes;
    const int64_t *s;
    const DLTensor *input, *output;
} bp__fft_arguments;

typedef struct bp__frequencies_arguments { /* of fftfreq and rfftfreq */
    size_t struct_size;
    double d;
    int64_t n; /* of rfftfreq */
    const DLTensor *output;
} bp__frequencies_arguments;

typedef struct bp__shift_arguments { /* of fftshift and ifftshift */
    size_t struct_size;
    int axis_count;
    const int *axes;
    const DLTensor *input, *output;
} bp__shift_arguments;

/* A call, resolved for its input: dimensions, lengths, and the kind of the provider's transform. */
typedef struct bp__fft {
    const char *name; /* "fft", or "fftn" if it is not one dimension */
    bp_fft_kind kind; /* of the provider's transform */
    bool inverse;     /* the caller's direction: the exponent is positive */
    bool whole;       /* R2C with full output */
    bool distributed; /* the operands are spread over ranks */
    bp_fft_norm norm;
    bp_dtype complex;   /* the complex type of input and output */
    bp_dtype out_dtype; /* the output's */
    int ndim;
    int dims[BP_MAX_NDIM]; /* counted from the front; the last one may have n/2+1 elements */
    int64_t n[BP_MAX_NDIM];
} bp__fft;

/* Checks the call against its input, which is already checked as a tensor. */
bp_status bp__fft_resolve(bp__fft *fft, const bp__fft_arguments *call);

void bp__fft_output_shape(const bp__fft *fft, const DLTensor *in, int64_t *shape);

/* Converts a dimension to one counted from the front, or fails with "dimension %d is outside ...". */
bp_status bp__fft_dimension(int dim, int rank, int *from_front);

/* Makes a problem: see bp__family. */
bp_status bp__fft_make(bp_problem *problem, const void *request);

extern const bp__adapter bp__fft_adapter; /* adapt.c: padding, conjugation, full spectra of real input */

/* Fills the member fft of a zeroed problem. The caller has checked the output's shape and type. Fails with BP_E_LAYOUT.
 */
bp_status bp__fft_lower(bp_fft_problem *problem, const bp__fft *fft, const DLTensor *in, const DLTensor *out);

bool bp__fft_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
