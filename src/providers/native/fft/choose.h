/* choose.h - what is decided about a transform before anything is allocated. */
#ifndef BP_NATIVE_FFT_CHOOSE_H
#define BP_NATIVE_FFT_CHOOSE_H

#include "axis.h"

typedef struct bp__fft_choice {
    const bp__fft_kernels *const *kernels; /* of the type, widest first */
    int set;                               /* 0 default, 1 AVX2, 2 AVX-512 */
    bool f64;
    bool empty; /* nothing to write */
    int axes;
    bp__fft_axis axis[BP_MAX_FFT_NDIM + 1]; /* in order, without their tables */
    bp__fft_grid items;                     /* all stages are run for each of these in turn */
    int64_t between;                        /* elements of memory that stages share, 0 for none */
    bool split_items;                       /* threads take items, or parts of each stage */
    bool split_lines;                       /* of stages: threads take lines, or parts of each line */
    int threads;
    double cost_ns;
    const char *algorithm;
} bp__fft_choice;

bp_reason bp__fft_choose(const bp_host *host, const bp_problem *problem, bp__fft_choice *choice);

/* Estimated time on one thread (cost.c), and how many of `most` threads are worth their while. */
double bp__fft_cost(const bp_host *host, const bp__fft_choice *choice);
int bp__fft_worth(double alone_ns, int most);
double bp__fft_cost_threads(double alone_ns, int threads);

/* ---- run.c ---- */
bp_status bp__fft_prepare(const bp_host *host, const bp__fft_choice *choice, bp_prepared **prepared);

#endif
