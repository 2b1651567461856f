/* kernels.h - declares the transform kernels of one instruction set, and the memory layouts that they read and write.
 *
 * Each kernel transforms `lanes` lines at once, one line in each lane of a vector, so that arithmetic never mixes
 * lanes. Working memory is an array of elements; each is a vector of real parts followed by a vector of imaginary
 * parts. Lines of a batch or columns of a matrix fill the lanes directly. A single line of n = lanes * m elements fills
 * them with its own residues after a first pass of radix `lanes` (first_line_pass).
 *
 * A line is computed by the same operations with the same roundings in every lane, next to any other lines, and for
 * every vector width. Results are therefore bitwise reproducible: they depend on the length and the instruction set
 * alone.
 *
 * Lanes hold lines in the order in which interleaved complex numbers are loaded within 16-byte blocks of a vector. Only
 * the kernels and order[] depend on it.
 */
#ifndef BP_NATIVE_FFT_KERNELS_H
#define BP_NATIVE_FFT_KERNELS_H

#include "backplane/provider.h"

#include <stdbool.h>
#include <stddef.h>

/* The largest radix with unrolled code, and the largest prime radix. Primes between them share a loop. */
#define BP__FFT_RADIX_MOST 16
#define BP__FFT_PRIME_MOST 61
#define BP__FFT_LANES_MOST 16

typedef enum bp__fft_layout {
    BP__FFT_LANES,         /* working memory, or other vectors: `step` is then not 2 * lanes */
    BP__FFT_LANES_SWAPPED, /* the same with real and imaginary parts exchanged; inverse transforms use it */
    BP__FFT_PAIRS,         /* neighbouring lines are neighbouring complex numbers */
    BP__FFT_PAIRS_SWAPPED,
    BP__FFT_PLAIN /* neighbouring lines are neighbouring reals; imaginary parts are `part` reals after the real ones */
} bp__fft_layout;

/* Memory of `lanes` lines: element e starts at `at` + e * step. Steps are in reals. */
typedef struct bp__fft_view {
    void *at;
    int64_t step;
    int64_t part;
    bp__fft_layout layout;
} bp__fft_view;

/* A pass over a line of n = radix * m * s elements (decimation in frequency, natural order at both ends):
 *   to[q + s (radix p + k)] = w^(p k) * sum over j of from[q + s (p + m j)] * e^(-2 pi i j k / radix),
 * with w = e^(-2 pi i / (radix m)), p < m, q < s.
 */
typedef struct bp__fft_pass {
    int radix;
    int64_t m, s;
    const void *twiddle; /* w^(p k) as pairs, [m][radix - 1] */
    const void *roots;   /* odd radices: cos and sin of 2 pi j / radix as pairs, [radix] */
} bp__fft_pass;

/* Lines at any position in memory. Steps and offsets are in reals. */
typedef struct bp__fft_lines {
    void *at;
    const int64_t *offset; /* of each line */
    int count;             /* at most `lanes`; other lanes load zeros and are not stored */
    int64_t step;          /* between elements */
    int64_t part;          /* from real to imaginary part */
    bool real;             /* there are no imaginary parts: loads return zero for them, and stores skip them */
} bp__fft_lines;

typedef struct bp__fft_kernels {
    int lanes;
    int bytes; /* of a vector */
    /* Runs `count` passes. `unit` is the product of the radices of passes that already distributed one line over the
     * lanes, otherwise 1. `work` has two blocks of n / unit elements, used alternately; the first pass writes work[0].
     * The last result is multiplied by `scale`. */
    void (*passes)(const bp__fft_pass *pass, int count, int64_t unit, const bp__fft_view *in, const bp__fft_view *out,
                   double scale, void *const *work);
    /* Runs the first pass (of radix `lanes`) of one line of lanes * m contiguous pairs, m >= lanes. The result is
     * working memory of m elements. `twiddle` was made by interleave_twiddles(). */
    void (*first_line_pass)(const void *in, bool swapped, const void *twiddle, int64_t m, void *work);
    /* Makes the twiddles of first_line_pass() from the twiddles of a pass: blocks of `lanes` values of p; the last one
     * ends at m. */
    void (*interleave_twiddles)(void *to, const void *twiddle, int64_t m);
    /* Copy n elements of lines to working memory and back. */
    void (*gather)(void *work, const bp__fft_lines *lines, bool swapped, int64_t n);
    void (*scatter)(const void *work, const bp__fft_lines *lines, bool swapped, int64_t n);
    /* to[j + lanes * g][k] = w * from[k][j]: `lanes` columns are multiplied by vectors of `twiddle` and become rows of
     * `lanes` elements, `to_step` reals apart. `count` elements, padded to a multiple of `lanes`. */
    void (*twiddle_transpose)(void *to, int64_t to_step, const void *from, const void *twiddle, int64_t count);
    /* order[i] is the line in lane i, for twiddle vectors of twiddle_transpose(). */
    const int *order;
    /* Converts between the spectrum of h pairs of reals (elements 0 to h-1) and the spectrum of the 2 h reals (elements
     * 0 to h). For k from 1 to h/2, with a = x[k] and b = conj x[h-k]: y[k] = g (a + b) + v[k] (a - b), and y[h-k] is
     * the conjugate of the difference. If `splits`, y[0] and y[h] come from x[0]; otherwise y[0] comes from the real
     * parts of x[0] and x[h]. combine_real() works on lanes, combine_real_line() on one line of pairs. y may be x. */
    void (*combine_real)(void *y, const void *x, const void *v, double g, bool splits, int64_t h);
    void (*combine_real_line)(void *y, const void *x, const void *v, double g, bool splits, int64_t h);
    /* Fills in n elements of real data's spectrum from the first n/2+1, for odd n. */
    void (*mirror)(void *work, int64_t n);
    /* y[j] = scale * x[j] * v[j] for one line of pairs; `swap_x` and `swap_y` exchange real and imaginary parts. */
    void (*modulate)(void *y, const void *x, const void *v, int64_t count, bool swap_x, bool swap_y, double scale);
} bp__fft_kernels;

/* Kernels of both element types: the widest first, the last with one lane. */
#define BP__FFT_WIDTHS 4
typedef struct bp__fft_set {
    const bp__fft_kernels *of[2][BP__FFT_WIDTHS]; /* f32, f64 */
} bp__fft_set;

extern const bp__fft_set bp__fft_default;
extern const bp__fft_set bp__fft_avx2;
extern const bp__fft_set bp__fft_avx512;

#endif
