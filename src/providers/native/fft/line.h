/* line.h - declares 1-D transforms of one length: the algorithm for the length, its tables, and runs on one contiguous
 * line or on as many lines as a vector has lanes.
 *
 * The algorithm depends on the length, the element type and the instruction set alone, not on strides, batch or
 * threads. A line therefore has bitwise the same result at every position.
 */
#ifndef BP_NATIVE_FFT_LINE_H
#define BP_NATIVE_FFT_LINE_H

#include "kernels.h"
#include "providers/native/stop.h"

typedef enum bp__fft_way {
    BP__FFT_DIRECT, /* passes of small radices, in lanes or along the line */
    BP__FFT_SPLIT,  /* four-step: n = columns * rows; transforms of the columns, twiddles, transforms of the rows */
    BP__FFT_CHIRP   /* Bluestein: a convolution of smooth length, for large prime factors */
} bp__fft_way;

/* The algorithm for a length. It needs no memory. */
typedef struct bp__fft_algorithm {
    bp__fft_way way;
    int64_t n;
    int64_t columns, rows;         /* SPLIT */
    int64_t inner;                 /* CHIRP: length of the convolution */
    const bp__fft_kernels *wide;   /* DIRECT, SPLIT: for lines in lanes */
    const bp__fft_kernels *across; /* DIRECT: for one line; has one lane if the length fits no other */
    const bp__fft_kernels *narrow; /* has one lane: its working memory is a line of pairs */
} bp__fft_algorithm;

/* Returns the algorithm for length n. `kernels` are of one type, widest first; the array ends with NULL or
 * BP__FFT_WIDTHS entries. */
bp__fft_algorithm bp__fft_algorithm_of(const bp__fft_kernels *const *kernels, int64_t n);

#define BP__FFT_PASSES_MOST 40

/* Writes the radices of a DIRECT algorithm in order of execution and returns their number. */
int bp__fft_radices(const bp__fft_algorithm *algorithm, int *radix);

typedef struct bp__fft_line bp__fft_line;
struct bp__fft_line {
    const bp_host *host;
    bp__fft_algorithm algorithm;
    bool f64;
    size_t pair; /* bytes of a complex number */
    int count;   /* DIRECT: passes */
    bp__fft_pass pass[BP__FFT_PASSES_MOST];
    void *first_twiddles;         /* DIRECT: twiddles of first_line_pass() */
    bp__fft_line *first, *second; /* SPLIT: columns and rows. CHIRP: the convolution's transform, and NULL */
    void *twiddle;                /* SPLIT: between columns and rows. CHIRP: e^(-pi i j j / n) */
    void *spectrum;               /* CHIRP: spectrum of the conjugate chirp, divided by the length of the convolution */
};

/* IN_LANES: the line is only run by bp__fft_line_lanes(), so that the algorithm is DIRECT for every smooth length. */
typedef enum bp__fft_use { BP__FFT_ALONE, BP__FFT_IN_LANES } bp__fft_use;

bp_status bp__fft_line_make(const bp_host *host, const bp__fft_kernels *const *kernels, bool f64, int64_t n,
                            bp__fft_use use, bp__fft_line **line);
void bp__fft_line_free(bp__fft_line *line);

/* Transforms one line of contiguous pairs; `swapped` gives the inverse. `in` may be `out`. `scratch` has
 * bp__fft_line_scratch() bytes. If the call is stopped, the contents of `out` are undefined. */
void bp__fft_line_run(const bp__fft_line *line, const void *in, void *out, bool swapped, double scale, char *scratch,
                      int threads, bp__stop *stop);
size_t bp__fft_line_scratch(const bp__fft_line *line, int threads);

/* DIRECT only: transforms as many lines as algorithm.wide has lanes. `work` has two blocks of n elements. */
void bp__fft_line_lanes(const bp__fft_line *line, const bp__fft_view *in, const bp__fft_view *out, double scale,
                        void *const *work);

#endif
