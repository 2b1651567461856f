/* axis.h - one dimension of a transform: the same line over and over, at places that strides tell. */
#ifndef BP_NATIVE_FFT_AXIS_H
#define BP_NATIVE_FFT_AXIS_H

#include "line.h"

/* Dimensions of a transform and of its batch together. */
#define BP__FFT_DIMS_MOST (BP_MAX_FFT_NDIM + BP_MAX_BATCH_NDIM)

/* Places in two operands, counted in lines; strides in reals, the last dimension fastest. */
typedef struct bp__fft_grid {
    int ndim;
    int64_t count; /* product of the sizes */
    int64_t size[BP__FFT_DIMS_MOST];
    int64_t in[BP__FFT_DIMS_MOST];
    int64_t out[BP__FFT_DIMS_MOST];
} bp__fft_grid;

typedef enum bp__fft_memory { BP__FFT_INPUT, BP__FFT_OUTPUT, BP__FFT_BETWEEN } bp__fft_memory;

/* Everything but the tables follows from the problem; offsets and steps are in reals. */
typedef struct bp__fft_axis {
    bp_fft_kind kind;
    bool swapped;  /* inverse */
    bool in_lanes; /* lines go through in groups, or one by one */
    bp__fft_memory from, to;
    int64_t n;                 /* of the transform; elements of a real line */
    int64_t length;            /* of the complex transform that does it */
    int64_t in_step, out_step; /* between elements */
    double scale;
    bp__fft_grid lines;
    bp__fft_line *line;
    int64_t chunk;          /* lines, or groups of them, between two questions whether to go on */
    void *combine_twiddles; /* real lines of even n: twiddles, scale and all */
} bp__fft_axis;

/* Whether the complex transform has half the length. */
static inline bool bp__fft_halves(const bp__fft_axis *axis) {
    return axis->kind != BP_FFT_C2C && axis->n % 2 == 0;
}

/* Whether lines are contiguous pairs on both sides. */
static inline bool bp__fft_plain(const bp__fft_axis *axis) {
    return axis->kind == BP_FFT_C2C && axis->in_step == 2 && axis->out_step == 2;
}

/* Elements of a complex line in memory on either side. */
static inline int64_t bp__fft_spectrum(const bp__fft_axis *axis) {
    return axis->kind == BP_FFT_C2C ? axis->n : axis->n / 2 + 1;
}

/* Of one line, at least. */
static inline double bp__fft_line_work(const bp__fft_axis *axis) {
    return 10 * (double)axis->length;
}

/* Makes line and tables of a stage whose other fields are filled. */
bp_status bp__fft_axis_make(const bp_host *host, const bp__fft_kernels *const *kernels, bool f64, bp__fft_axis *axis);
void bp__fft_axis_free(const bp_host *host, bp__fft_axis *axis);

/* Runs part `part` of `parts` of the lines (0 of 1: all), each line on `threads` threads, unless it is stopped. */
void bp__fft_axis_run(const bp__fft_axis *axis, const void *in, void *out, int part, int parts, int threads,
                      char *scratch, bp__stop *stop);
size_t bp__fft_axis_scratch(const bp__fft_axis *axis, int threads);

#endif
