/* kernels.h - what one instruction set offers the Fourier transforms of the native provider, and the shapes of memory
 * that its kernels read and write.
 *
 * Everything is made of one thing: a transform of `lanes` lines at once, one line in each lane of a vector, so that no
 * arithmetic ever mixes lanes. Its working memory is a row of elements, each a vector of real parts followed by a
 * vector of imaginary parts. Lines of a batch and columns of a matrix fill the lanes as they are; a single line of n =
 * lanes * m elements fills them with its own residues after one butterfly across the lanes (head).
 *
 * A line's arithmetic is the same sequence of the same roundings whichever lane it is in, whatever stands in the other
 * lanes, and however wide the vectors are: bits depend on the length and the instruction set alone.
 *
 * Lanes hold lines in the order that loading interleaved complex numbers within 16-byte parts of a vector gives; only
 * the kernels know it.
 */
#ifndef BP_NATIVE_FFT_KERNELS_H
#define BP_NATIVE_FFT_KERNELS_H

#include "backplane/provider.h"

#include <stdbool.h>
#include <stddef.h>

/* The largest radix with code of its own, and the largest prime radix: those in between share a loop. */
#define BP__FFT_RADIX_MOST 16
#define BP__FFT_PRIME_MOST 61
#define BP__FFT_LANES_MOST 16

typedef enum bp__fft_layout {
    BP__FFT_LANES,         /* working memory: `step` is 2 * lanes */
    BP__FFT_LANES_SWAPPED, /* real and imaginary parts exchanged, which is how inverse transforms are made */
    BP__FFT_PAIRS,         /* neighbouring lines are neighbouring complex numbers */
    BP__FFT_PAIRS_SWAPPED,
    BP__FFT_PLAIN /* neighbouring lines are neighbouring reals; imaginary parts stand `part` reals further on */
} bp__fft_layout;

/* Memory of `lanes` lines: element e starts at `at` + e * step. Steps are in reals. */
typedef struct bp__fft_view {
    void *at;
    int64_t step;
    int64_t part;
    bp__fft_layout layout;
} bp__fft_view;

/* A pass over a line of n = radix * m * s elements (decimation in frequency, in natural order at both ends):
 *     to[q + s (radix p + k)] = w^(p k) * sum over j of from[q + s (p + m j)] * e^(-2 pi i j k / radix),
 * with w = e^(-2 pi i / (radix m)), p < m, q < s. */
typedef struct bp__fft_pass {
    int radix;
    int64_t m, s;
    const void *twiddle; /* w^(p k) as pairs, [m][radix - 1] */
    const void *roots;   /* odd radices: cos and sin of 2 pi j / radix as pairs, [radix] */
} bp__fft_pass;

/* Lines anywhere in memory. Steps and offsets are in reals. */
typedef struct bp__fft_lines {
    void *at;
    const int64_t *offset; /* of each line */
    int count;             /* at most `lanes`; other lanes get zeros, and are not stored */
    int64_t step;          /* between elements */
    int64_t part;          /* from real to imaginary part */
    bool real;             /* there is no imaginary part: zero is read, nothing is written */
} bp__fft_lines;

typedef struct bp__fft_kernels {
    int lanes;
    /* All passes but those that the caller has done: `unit` is the product of their radices where they made the lanes
     * out of one line, else 1. `work` has two blocks of n / unit elements, which take turns; the first pass writes
     * work[0]. The last result is multiplied by `scale`. */
    void (*passes)(const bp__fft_pass *pass, int count, int64_t unit, const bp__fft_view *in, const bp__fft_view *out,
                   double scale, void *const *work);
    /* The first pass (of radix `lanes`) of one line of lanes * m contiguous pairs, m >= lanes, to working memory of m
     * elements. `twiddle` is made by spread(). */
    void (*first_line_pass)(const void *in, bool swapped, const void *twiddle, int64_t m, void *work);
    /* Head's twiddles from a pass's: blocks of `lanes` p, the last one ending at m. */
    void (*interleave_twiddles)(void *to, const void *twiddle, int64_t m);
    /* n elements of lines to and from working memory. */
    void (*gather)(void *work, const bp__fft_lines *lines, bool swapped, int64_t n);
    void (*scatter)(const void *work, const bp__fft_lines *lines, bool swapped, int64_t n);
    /* to[j + lanes * g][k] = w * from[k][j]: `lanes` columns, multiplied by vectors of `twiddle`, become rows of
     * `lanes` elements each, `to_step` reals apart. `count` elements, padded to a multiple of `lanes`. */
    void (*twiddle_transpose)(void *to, int64_t to_step, const void *from, const void *twiddle, int64_t count);
    /* The lanes' order: vectors of twiddles for turn(). order[i] is the line in lane i. */
    const int *order;
    /* Between the spectrum of h pairs of reals (elements 0 to h-1) and that of the 2 h reals (elements 0 to h): for k
     * from 1 to h/2, with a = x[k] and b = conj x[h-k], y[k] = g (a + b) + v[k] (a - b), and y[h-k] is the conjugate of
     * the difference. The ends are made of real parts alone: y[0] and y[h] from x[0] when `splits`, y[0] from x[0] and
     * x[h] otherwise. weave() works in lanes, weave_line() on one line of pairs; y may be x. */
    void (*combine_real)(void *y, const void *x, const void *v, double g, bool splits, int64_t h);
    void (*combine_real_line)(void *y, const void *x, const void *v, double g, bool splits, int64_t h);
    /* Completes n elements of real data's spectrum from the first n/2+1, for odd n. */
    void (*mirror)(void *work, int64_t n);
    /* y[j] = scale * x[j] * v[j] for one line of pairs; x and y swapped on request. */
    void (*modulate)(void *y, const void *x, const void *v, int64_t count, bool swap_x, bool swap_y, double scale);
} bp__fft_kernels;

/* Kernels of one element type: the widest first, the last with one lane. */
#define BP__FFT_WIDTHS 4
typedef struct bp__fft_set {
    const bp__fft_kernels *of[2][BP__FFT_WIDTHS]; /* f32, f64 */
} bp__fft_set;

extern const bp__fft_set bp__fft_default;
extern const bp__fft_set bp__fft_avx2;
extern const bp__fft_set bp__fft_avx512;

#endif
