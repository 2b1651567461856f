/* fft.h - computes discrete Fourier transforms with the names, shapes and norms of torch.fft and numpy.fft.
 *
 * Element types: real input f32, f64; complex input c64, c128; the output has the precision of the input. Any lengths
 * (including primes), strides and number of dimensions. Dimensions that are not transformed are batch dimensions. The
 * caller provides the output, with the shape of bp_fft_shape(). It must not overlap the input or itself (BP_E_OVERLAP).
 * Exception: a complex-to-complex transform with the same address, shape and strides runs in place.
 *
 *   fft, ifft     complex or real to complex          output[k] = sum_j input[j] exp(-+ 2 pi i j k / n)
 *   rfft          real to complex, n/2+1 elements     fft of a real signal, without the half that symmetry implies
 *   irfft         complex, n/2+1 elements, to real    inverse of rfft; default n is 2 (m - 1) for m elements
 *   hfft          complex, n/2+1 elements, to real    fft of a signal that is Hermitian in time; default n as irfft
 *   ihfft         real to complex, n/2+1 elements     inverse of hfft
 *
 * n is the length of the transform. Longer input is truncated. Shorter input is zero-padded (to n/2+1 for irfft and
 * hfft). The norm scales the transforms: BP_FFT_BACKWARD the inverse ones by 1/n, BP_FFT_FORWARD the forward ones by
 * 1/n, BP_FFT_ORTHO both by 1/sqrt(n); n is the number of elements of the real or full side. hfft counts as forward,
 * ihfft as inverse, as in PyTorch. irfft and hfft ignore the imaginary part of elements that are their own mirror image
 * (the first; the middle one if n is even).
 *
 * Distributed operands (distributed.h): all dimensions are transformed, two or three, at their full length. Each rank
 * has whole columns (bp_dist_slabs), and the dimension that is divided is not the halved one. There is no hfft and
 * ihfft.
 *
 * All functions are thread-safe. Plans are kept in the transform plan cache (bp_fft_plan_cache_stats, and on CUDA
 * devices bp_device_fft_plan_cache_stats).
 *
 * Errors of all functions: BP_E_ARGUMENT (NULL, an axis given twice or out of range, n < 1, unknown norm),
 * BP_E_SHAPE, BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT (an address that is not aligned for its type; more than
 * BP_MAX_FFT_NDIM dimensions to transform, or more batch dimensions than that after merging), BP_E_OVERLAP,
 * BP_E_OVERFLOW, BP_E_NO_CANDIDATE, BP_E_FALLBACK, BP_E_NOT_FOUND, BP_E_NO_MEMORY, BP_E_CANCELLED (interrupt.h).
 */
#ifndef BACKPLANE_FFT_H
#define BACKPLANE_FFT_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The list of transforms: number, NAME, text, name of the n-dimensional form. */
#define BP_FFT_MAP(X)                                                                                                  \
    X(0, FFT, "fft", "fftn")                                                                                           \
    X(1, IFFT, "ifft", "ifftn")                                                                                        \
    X(2, RFFT, "rfft", "rfftn")                                                                                        \
    X(3, IRFFT, "irfft", "irfftn")                                                                                     \
    X(4, HFFT, "hfft", "hfftn")                                                                                        \
    X(5, IHFFT, "ihfft", "ihfftn")

typedef enum bp_fft_transform {
#define BP__ENTRY(number, name, text, many) BP_##name = number,
    BP_FFT_MAP(BP__ENTRY)
#undef BP__ENTRY
} bp_fft_transform;

typedef enum bp_fft_norm { BP_FFT_BACKWARD, BP_FFT_ORTHO, BP_FFT_FORWARD } bp_fft_norm;

/* Converts "backward", "ortho" or "forward"; NULL means backward. Errors: BP_E_BAD_VALUE. */
BP_API bp_status bp_fft_norm_from_name(const char *name, bp_fft_norm *norm);

#define BP_FFT_ALL (-1)    /* as axis_count: all dimensions */
#define BP_FFT_LENGTH (-1) /* as a size: the length of the input (irfft, hfft: 2 (m - 1)) */

/* One call of the general form. */
typedef struct bp_fft_call {
    size_t struct_size; /* sizeof(bp_fft_call) */
    bp_fft_transform transform;
    bp_fft_norm norm;
    int axis_count;   /* number of transformed dimensions, or BP_FFT_ALL (then axes is NULL) */
    const int *axes;  /* these dimensions, from the front, or negative from the back; NULL: the last ones */
    const int64_t *s; /* their lengths, each may be BP_FFT_LENGTH; NULL: all are BP_FFT_LENGTH */
} bp_fft_call;

/* General form: run, plan or explain any transform, with settings for this call (NULL: none). The operands of the plan
 * are {input, output}. For planning and explaining, data pointers may be NULL; if both are, the call is not in place.
 * Release a plan with bp_plan_release(), an explanation with bp_explanation_release(). */
BP_API bp_status bp_fft_run(const bp_options *options, const bp_fft_call *call, const DLTensor *input,
                            DLTensor *output);
BP_API bp_status bp_fft_plan(bp_plan **plan, const bp_options *options, const bp_fft_call *call, const DLTensor *input,
                             const DLTensor *output);
BP_API bp_status bp_fft_explain(bp_explanation **explanation, const bp_options *options, const bp_fft_call *call,
                                const DLTensor *input, const DLTensor *output);

/* Returns the element type and shape of the output. `shape` is an array of BP_MAX_NDIM elements. */
BP_API bp_status bp_fft_shape(const bp_fft_call *call, const DLTensor *input, bp_dtype *dtype, int *ndim,
                              int64_t *shape);

/* Transform one dimension. n is a length or BP_FFT_LENGTH; axis may be negative. */
BP_API bp_status bp_fft(const DLTensor *input, int64_t n, int axis, bp_fft_norm norm, DLTensor *output);
BP_API bp_status bp_ifft(const DLTensor *input, int64_t n, int axis, bp_fft_norm norm, DLTensor *output);
BP_API bp_status bp_rfft(const DLTensor *input, int64_t n, int axis, bp_fft_norm norm, DLTensor *output);
BP_API bp_status bp_irfft(const DLTensor *input, int64_t n, int axis, bp_fft_norm norm, DLTensor *output);
BP_API bp_status bp_hfft(const DLTensor *input, int64_t n, int axis, bp_fft_norm norm, DLTensor *output);
BP_API bp_status bp_ihfft(const DLTensor *input, int64_t n, int axis, bp_fft_norm norm, DLTensor *output);

/* Transform two dimensions. s is NULL or has two lengths; axes is NULL (the last two) or has two dimensions. In rfft2,
 * irfft2, hfft2 and ihfft2 the last of axes has n/2+1 elements on the complex side. */
BP_API bp_status bp_fft2(const DLTensor *input, const int64_t *s, const int *axes, bp_fft_norm norm, DLTensor *output);
BP_API bp_status bp_ifft2(const DLTensor *input, const int64_t *s, const int *axes, bp_fft_norm norm, DLTensor *output);
BP_API bp_status bp_rfft2(const DLTensor *input, const int64_t *s, const int *axes, bp_fft_norm norm, DLTensor *output);
BP_API bp_status bp_irfft2(const DLTensor *input, const int64_t *s, const int *axes, bp_fft_norm norm,
                           DLTensor *output);
BP_API bp_status bp_hfft2(const DLTensor *input, const int64_t *s, const int *axes, bp_fft_norm norm, DLTensor *output);
BP_API bp_status bp_ihfft2(const DLTensor *input, const int64_t *s, const int *axes, bp_fft_norm norm,
                           DLTensor *output);

/* Transform any number of dimensions. axis_count, s and axes are as in bp_fft_call. */
BP_API bp_status bp_fftn(const DLTensor *input, int axis_count, const int64_t *s, const int *axes, bp_fft_norm norm,
                         DLTensor *output);
BP_API bp_status bp_ifftn(const DLTensor *input, int axis_count, const int64_t *s, const int *axes, bp_fft_norm norm,
                          DLTensor *output);
BP_API bp_status bp_rfftn(const DLTensor *input, int axis_count, const int64_t *s, const int *axes, bp_fft_norm norm,
                          DLTensor *output);
BP_API bp_status bp_irfftn(const DLTensor *input, int axis_count, const int64_t *s, const int *axes, bp_fft_norm norm,
                           DLTensor *output);
BP_API bp_status bp_hfftn(const DLTensor *input, int axis_count, const int64_t *s, const int *axes, bp_fft_norm norm,
                          DLTensor *output);
BP_API bp_status bp_ihfftn(const DLTensor *input, int axis_count, const int64_t *s, const int *axes, bp_fft_norm norm,
                           DLTensor *output);

/* ---- Frequencies and shifts ---- */

/* Computes the frequencies of fft's output for samples at distance d: (0, 1, ..., -2, -1) / (n d), rounded once; n is
 * the length of `output` (rank 1, f32 or f64). Errors: BP_E_ARGUMENT if d is 0 or not finite. */
BP_API bp_status bp_fftfreq(double d, DLTensor *output);

/* Computes the frequencies of rfft's output: (0 ... n/2) / (n d). The length of `output` must be n/2+1 (BP_E_SHAPE). */
BP_API bp_status bp_rfftfreq(int64_t n, double d, DLTensor *output);

/* Move the zero frequency to the middle (output[(i + n/2) mod n] = input[i]), or back, in each of the dimensions
 * `axes`; axis_count BP_FFT_ALL means all. Any element type. `output` has the shape and type of `input` and must not
 * overlap it. */
BP_API bp_status bp_fftshift(const DLTensor *input, int axis_count, const int *axes, DLTensor *output);
BP_API bp_status bp_ifftshift(const DLTensor *input, int axis_count, const int *axes, DLTensor *output);

/* ---- The plan cache of transforms on the CPU (setting fft.plan_cache.max_size) ---- */

/* As bp_plan_cache_stats(), bp_plan_cache_clear() and bp_plan_cache_at(), which are for all other operations. */
BP_API bp_status bp_fft_plan_cache_stats(bp_plan_cache_info *info);
BP_API bp_status bp_fft_plan_cache_clear(void);
BP_API int bp_fft_plan_cache_at(bp_plan **plan, int index);

/* As bp_device_plan_cache_stats() and its companions, for the plan cache of transforms that each CUDA device has
 * (setting cuda.cufft_plan_cache.max_size). On other devices they are those functions: transforms have no cache of
 * their own. */
BP_API bp_status bp_device_fft_plan_cache_stats(int32_t place, bp_plan_cache_info *info);
BP_API bp_status bp_device_fft_plan_cache_clear(int32_t place);
BP_API bp_status bp_device_set_fft_plan_cache_max_size(int32_t place, int64_t plans);

#ifdef __cplusplus
}
#endif
#endif
