/* line.h - transforms of one length: how a length is taken apart, the tables that this needs, and running it on one
 * line of contiguous complex numbers or on as many lines as a vector has lanes.
 *
 * The way is chosen by the length, the element type and the instruction set alone, never by strides, batch or threads,
 * so that a line has the same bits wherever it stands.
 */
#ifndef BP_NATIVE_FFT_LINE_H
#define BP_NATIVE_FFT_LINE_H

#include "kernels.h"
#include "providers/native/stop.h"

typedef enum bp__fft_way {
    BP__FFT_DIRECT, /* passes of small radices, in lanes or along the line */
    BP__FFT_SPLIT,  /* n = columns * rows: transforms of the columns, twiddles, transforms of the rows */
    BP__FFT_CHIRP   /* Bluestein: a convolution of smooth length, for large prime factors */
} bp__fft_way;

/* What is known of a length before anything is allocated. */
typedef struct bp__fft_algorithm {
    bp__fft_way way;
    int64_t n;
    int64_t columns, rows;         /* SPLIT */
    int64_t inner;                 /* CHIRP: length of the convolution */
    const bp__fft_kernels *wide;   /* DIRECT, SPLIT: for lines in lanes */
    const bp__fft_kernels *across; /* DIRECT: for one line; of one lane where the length does not fit others */
    const bp__fft_kernels *narrow; /* of one lane: what it calls working memory is a line of pairs */
} bp__fft_algorithm;

/* kernels: those of one type, widest first, NULL or the end of the array after the last. */
bp__fft_algorithm bp__fft_algorithm_of(const bp__fft_kernels *const *kernels, int64_t n);

#define BP__FFT_PASSES_MOST 40

/* Radices of a DIRECT recipe in order; returns how many. */
int bp__fft_radices(const bp__fft_algorithm *algorithm, int *radix);

typedef struct bp__fft_line bp__fft_line;
struct bp__fft_line {
    const bp_host *host;
    bp__fft_algorithm algorithm;
    bool f64;
    size_t pair; /* bytes of a complex number */
    int count;   /* DIRECT: passes */
    bp__fft_pass pass[BP__FFT_PASSES_MOST];
    void *first_twiddles;         /* DIRECT: twiddles of the first pass along the line */
    bp__fft_line *first, *second; /* SPLIT: columns and rows. CHIRP: the convolution's, and NULL */
    void *twiddle;                /* SPLIT: between columns and rows. CHIRP: e^(-pi i j j / n) */
    void *spectrum;               /* CHIRP: of the conjugate chirp, over the length of the convolution */
};

/* IN_LANES: for line_lanes() alone, so that the way is DIRECT at any (smooth) length. */
typedef enum bp__fft_use { BP__FFT_ALONE, BP__FFT_IN_LANES } bp__fft_use;

bp_status bp__fft_line_make(const bp_host *host, const bp__fft_kernels *const *kernels, bool f64, int64_t n,
                            bp__fft_use use, bp__fft_line **line);
void bp__fft_line_free(bp__fft_line *line);

/* A line of contiguous pairs; swapped makes the inverse. `in` may be `out`. The scratch has line_scratch() bytes. Where
 * the call is stopped, what is in `out` means nothing. */
void bp__fft_line_run(const bp__fft_line *line, const void *in, void *out, bool swapped, double scale, char *scratch,
                      int threads, bp__stop *stop);
size_t bp__fft_line_scratch(const bp__fft_line *line, int threads);

/* DIRECT only: as many lines as recipe.wide has lanes. `work` has two blocks of n elements. */
void bp__fft_line_lanes(const bp__fft_line *line, const bp__fft_view *in, const bp__fft_view *out, double scale,
                        void *const *work);

#endif
