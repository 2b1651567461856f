/* axis.h - declares the transform of one dimension: the same 1-D line at many positions, given by strides. */
#ifndef BP_NATIVE_FFT_AXIS_H
#define BP_NATIVE_FFT_AXIS_H

#include "line.h"

/* dimensions of a transform and of its batch together */
#define BP__FFT_DIMS_MOST (BP_MAX_FFT_NDIM + BP_MAX_BATCH_NDIM)

/* Positions of lines in two operands. Strides are in reals; the last dimension is the fastest. */
typedef struct bp__fft_grid {
    int ndim;
    int64_t count; /* product of the sizes */
    int64_t size[BP__FFT_DIMS_MOST];
    int64_t in[BP__FFT_DIMS_MOST];
    int64_t out[BP__FFT_DIMS_MOST];
} bp__fft_grid;

typedef enum bp__fft_memory { BP__FFT_INPUT, BP__FFT_OUTPUT, BP__FFT_BETWEEN } bp__fft_memory;

/* One axis. Everything except the tables follows from the problem; offsets and strides are in reals. */
typedef struct bp__fft_axis {
    bp_fft_kind kind;
    bool swapped;  /* inverse: real and imaginary parts are exchanged */
    bool in_lanes; /* lines fill the lanes of vectors in groups; otherwise they run one by one */
    bp__fft_memory from, to;
    int64_t n;                 /* length of the transform; elements of a real line */
    int64_t length;            /* length of the complex transform that computes it */
    int64_t in_step, out_step; /* between elements */
    double scale;
    bp__fft_grid lines;
    bp__fft_line *line;
    int64_t chunk;          /* lines, or groups of lines, between two interrupt checks */
    void *combine_twiddles; /* real lines of even n: twiddles times scale, for combine_real() */
} bp__fft_axis;

/* Returns whether the complex transform has half the length. */
static inline bool bp__fft_halves(const bp__fft_axis *axis) {
    return axis->kind != BP_FFT_C2C && axis->n % 2 == 0;
}

/* Returns whether lines are contiguous complex numbers on both sides. */
static inline bool bp__fft_plain(const bp__fft_axis *axis) {
    return axis->kind == BP_FFT_C2C && axis->in_step == 2 && axis->out_step == 2;
}

/* Returns the complex elements of a line in memory. */
static inline int64_t bp__fft_spectrum(const bp__fft_axis *axis) {
    return axis->kind == BP_FFT_C2C ? axis->n : axis->n / 2 + 1;
}

/* Returns a lower bound of the operations of one line. */
static inline double bp__fft_line_work(const bp__fft_axis *axis) {
    return 10 * (double)axis->length;
}

/* Makes the line and the tables of an axis; all other fields must be set. */
bp_status bp__fft_axis_make(const bp_host *host, const bp__fft_kernels *const *kernels, bool f64, bp__fft_axis *axis);
void bp__fft_axis_free(const bp_host *host, bp__fft_axis *axis);

/* Runs part `part` of `parts` of the lines (0 of 1: all), with `threads` threads for each line. Returns early if the
 * call is stopped. */
void bp__fft_axis_run(const bp__fft_axis *axis, const void *in, void *out, int part, int parts, int threads,
                      char *scratch, bp__stop *stop);
/* Returns the bytes of scratch that one call of bp__fft_axis_run() needs. */
size_t bp__fft_axis_scratch(const bp__fft_axis *axis, int threads);

#endif
