/* choose.h - declares what is decided about a transform before memory is allocated. */
#ifndef BP_NATIVE_FFT_CHOOSE_H
#define BP_NATIVE_FFT_CHOOSE_H

#include "axis.h"

typedef struct bp__fft_choice {
    const bp__fft_kernels *const *kernels; /* of the type, widest first */
    int set;                               /* ISA index */
    bool f64;
    bool empty; /* nothing to write */
    int axes;
    bp__fft_axis axis[BP_MAX_FFT_NDIM + 1]; /* in order of execution, without their tables */
    bp__fft_grid items;                     /* all axes run for one item, then for the next */
    int64_t between;                        /* elements of the memory between axes; 0: none */
    bool split_items;                       /* threads take items; otherwise they share each axis */
    bool split_lines;                       /* threads that share an axis take lines; otherwise they share each line */
    int threads;
    double cost_ns;
    const char *algorithm;
} bp__fft_choice;

/* Fills in all of a choice. Returns BP_REASON_ACCEPTED or why the problem is refused. */
bp_reason bp__fft_choose(const bp_host *host, const bp_problem *problem, bp__fft_choice *choice);

/* Return the estimated time on one thread (cost.c), the threads that are worth their start-up time (at most `most`),
 * and the estimated time on several threads. */
double bp__fft_cost(const bp_host *host, const bp__fft_choice *choice);
int bp__fft_worth(double alone_ns, int most);
/* Returns the estimated time of lines of n complex numbers in all lanes, without loads and stores of other layouts. */
double bp__fft_lanes_ns(const bp__fft_kernels *const *kernels, int set, bool f64, int64_t n);
double bp__fft_cost_threads(double alone_ns, int threads);

/* ---- run.c ---- */
bp_status bp__fft_prepare(const bp_host *host, const bp__fft_choice *choice, bp_prepared **prepared);

#endif
