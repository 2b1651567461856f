/* fft.h - discrete Fourier transforms, with the names, shapes and norms of torch.fft and numpy.fft.
 *
 * Element types: real input f32, f64; complex input c64, c128; the output has the precision of the input. Any lengths
 * (primes too), any strides, any number of dimensions; every index that no transform runs over is a batch. Outputs are
 * the caller's memory, of the shape that bp_fft_shape() tells. An output must not overlap the input or itself
 * (BP_E_OVERLAP), with one exception: complex to complex with the same address, shape and strides works in place.
 *
 *   fft, ifft     complex or real to complex          out[k] = sum_j in[j] exp(-+ 2 pi i j k / n)
 *   rfft          real to complex, n/2+1 elements     the half of fft that symmetry does not give
 *   irfft         complex, n/2+1 elements, to real    its inverse; default n is 2 (m - 1) for m elements
 *   hfft          complex, n/2+1 elements, to real    fft of a signal that is Hermitian in time; default n as irfft
 *   ihfft         real to complex, n/2+1 elements     its inverse
 *
 * n is the length of the transform: longer input is cut, shorter input goes on with zeros (as n/2+1 for irfft and
 * hfft). The norm scales the transforms: BP_FFT_BACKWARD the inverse ones by 1/n, BP_FFT_FORWARD the forward ones by
 * 1/n, BP_FFT_ORTHO both by 1/sqrt(n), where n is the number of elements of the real or full side. hfft counts as
 * forward, ihfft as inverse, as in PyTorch. In irfft and hfft the imaginary part of elements that are their own mirror
 * image (the first; the middle one of an even n) is ignored.
 *
 * All functions are thread-safe. Plans are kept in the transform plan cache (bp_fft_plan_cache_stats).
 *
 * Errors of all: BP_E_ARGUMENT (NULL, a dimension twice or outside, n < 1, unknown norm), BP_E_SHAPE, BP_E_DTYPE,
 * BP_E_DEVICE, BP_E_LAYOUT (an address that is not aligned for its type; more than BP_MAX_FFT_NDIM dimensions to
 * transform, or as many batch dimensions that do not merge), BP_E_OVERLAP, BP_E_OVERFLOW, BP_E_NO_CANDIDATE,
 * BP_E_FALLBACK, BP_E_NOT_FOUND, BP_E_NO_MEMORY, BP_E_CANCELLED (interrupt.h).
 */
#ifndef BACKPLANE_FFT_H
#define BACKPLANE_FFT_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The one list of transforms: number, NAME, text, what the n-dimensional form is called. */
#define BP_FFT_MAP(X)                                                                                                  \
    X(0, FFT, "fft", "fftn")                                                                                           \
    X(1, IFFT, "ifft", "ifftn")                                                                                        \
    X(2, RFFT, "rfft", "rfftn")                                                                                        \
    X(3, IRFFT, "irfft", "irfftn")                                                                                     \
    X(4, HFFT, "hfft", "hfftn")                                                                                        \
    X(5, IHFFT, "ihfft", "ihfftn")

typedef enum bp_fft_transform {
#define X(number, name, text, many) BP_##name = number,
    BP_FFT_MAP(X)
#undef X
} bp_fft_transform;

typedef enum bp_fft_norm { BP_FFT_BACKWARD, BP_FFT_ORTHO, BP_FFT_FORWARD } bp_fft_norm;

/* "backward", "ortho", "forward"; NULL means backward. BP_E_BAD_VALUE lists the three. */
BP_API bp_status bp_fft_norm_from_name(const char *name, bp_fft_norm *norm);

#define BP_FFT_ALL (-1)    /* ndim: every dimension */
#define BP_FFT_LENGTH (-1) /* a size: as long as the input (irfft, hfft: 2 (m - 1)) */

/* What is to be transformed, for the general functions. */
typedef struct bp_fft_call {
    size_t struct_size;
    bp_fft_transform transform;
    bp_fft_norm norm;
    int ndim;         /* number of dimensions, or BP_FFT_ALL (then dims is NULL) */
    const int *dims;  /* from the front, or negative from the back; NULL: the last ndim ones */
    const int64_t *s; /* a size for each of them, which may be BP_FFT_LENGTH; NULL: all are */
} bp_fft_call;

/* Runs, plans or explains any transform; the plan is run by bp_execute() with {input, output}. For planning and
 * explaining, data pointers may be NULL (a call with both NULL is not in place). `options` may be NULL. */
BP_API bp_status bp_fft_run(const bp_options *options, const bp_fft_call *call, const DLTensor *in, DLTensor *out);
BP_API bp_status bp_fft_plan(bp_plan **plan, const bp_options *options, const bp_fft_call *call, const DLTensor *in,
                             const DLTensor *out);
BP_API bp_status bp_fft_explain(bp_explanation **explanation, const bp_options *options, const bp_fft_call *call,
                                const DLTensor *in, const DLTensor *out);

/* The element type and shape that the output needs; `shape` has room for BP_MAX_NDIM. */
BP_API bp_status bp_fft_shape(const bp_fft_call *call, const DLTensor *in, bp_dtype *dtype, int *ndim, int64_t *shape);

/* One dimension: n is BP_FFT_LENGTH or a length, dim may be negative. */
BP_API bp_status bp_fft(const DLTensor *in, int64_t n, int dim, bp_fft_norm norm, DLTensor *out);
BP_API bp_status bp_ifft(const DLTensor *in, int64_t n, int dim, bp_fft_norm norm, DLTensor *out);
BP_API bp_status bp_rfft(const DLTensor *in, int64_t n, int dim, bp_fft_norm norm, DLTensor *out);
BP_API bp_status bp_irfft(const DLTensor *in, int64_t n, int dim, bp_fft_norm norm, DLTensor *out);
BP_API bp_status bp_hfft(const DLTensor *in, int64_t n, int dim, bp_fft_norm norm, DLTensor *out);
BP_API bp_status bp_ihfft(const DLTensor *in, int64_t n, int dim, bp_fft_norm norm, DLTensor *out);

/* Two dimensions: s is NULL or two sizes, dims is NULL (the last two) or two dimensions. The one of rfft2, irfft2,
 * hfft2 and ihfft2 that has n/2+1 elements is the last of dims. */
BP_API bp_status bp_fft2(const DLTensor *in, const int64_t *s, const int *dims, bp_fft_norm norm, DLTensor *out);
BP_API bp_status bp_ifft2(const DLTensor *in, const int64_t *s, const int *dims, bp_fft_norm norm, DLTensor *out);
BP_API bp_status bp_rfft2(const DLTensor *in, const int64_t *s, const int *dims, bp_fft_norm norm, DLTensor *out);
BP_API bp_status bp_irfft2(const DLTensor *in, const int64_t *s, const int *dims, bp_fft_norm norm, DLTensor *out);
BP_API bp_status bp_hfft2(const DLTensor *in, const int64_t *s, const int *dims, bp_fft_norm norm, DLTensor *out);
BP_API bp_status bp_ihfft2(const DLTensor *in, const int64_t *s, const int *dims, bp_fft_norm norm, DLTensor *out);

/* Any number: as bp_fft_call says of ndim, s and dims. */
BP_API bp_status bp_fftn(const DLTensor *in, int ndim, const int64_t *s, const int *dims, bp_fft_norm norm,
                         DLTensor *out);
BP_API bp_status bp_ifftn(const DLTensor *in, int ndim, const int64_t *s, const int *dims, bp_fft_norm norm,
                          DLTensor *out);
BP_API bp_status bp_rfftn(const DLTensor *in, int ndim, const int64_t *s, const int *dims, bp_fft_norm norm,
                          DLTensor *out);
BP_API bp_status bp_irfftn(const DLTensor *in, int ndim, const int64_t *s, const int *dims, bp_fft_norm norm,
                           DLTensor *out);
BP_API bp_status bp_hfftn(const DLTensor *in, int ndim, const int64_t *s, const int *dims, bp_fft_norm norm,
                          DLTensor *out);
BP_API bp_status bp_ihfftn(const DLTensor *in, int ndim, const int64_t *s, const int *dims, bp_fft_norm norm,
                           DLTensor *out);

/* ---- Frequencies and shifts ---- */

/* The frequencies of fft's output for n = the length of `out` (rank 1, f32 or f64) and samples d apart:
 * 0, 1, ..., -2, -1 over (n d), rounded once. BP_E_ARGUMENT where d is 0 or not finite. */
BP_API bp_status bp_fftfreq(double d, DLTensor *out);

/* Those of rfft's output: 0 ... n/2 over (n d). The length of `out` must be n/2+1 (BP_E_SHAPE). */
BP_API bp_status bp_rfftfreq(int64_t n, double d, DLTensor *out);

/* Moves the zero frequency to the middle (out[(i + n/2) mod n] = in[i]), or back, in each of the given dimensions; ndim
 * BP_FFT_ALL means all. Any element type; out has the shape and type of in, and memory of its own. */
BP_API bp_status bp_fftshift(const DLTensor *in, int ndim, const int *dims, DLTensor *out);
BP_API bp_status bp_ifftshift(const DLTensor *in, int ndim, const int *dims, DLTensor *out);

/* ---- The plan cache of transforms on the CPU (fft.plan_cache.max_size; 0 switches it off) ---- */

/* bp_plan_cache_stats() and its companions tell of all other operations. */
BP_API bp_status bp_fft_plan_cache_stats(bp_plan_cache_info *info);
BP_API bp_status bp_fft_plan_cache_clear(void);
BP_API bp_status bp_fft_plan_cache_at(int index, bp_plan **plan);

#ifdef __cplusplus
}
#endif
#endif
