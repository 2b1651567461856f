/* twiddle.h - roots of unity to within half a unit in the last place, for the tables of plans. */
#ifndef BP_NATIVE_FFT_TWIDDLE_H
#define BP_NATIVE_FFT_TWIDDLE_H

#include "backplane/provider.h"

#include <stdbool.h>

/* e^(-2 pi i t / n) for one n. */
typedef struct bp__fft_roots {
    int64_t n;
    int64_t block; /* an angle is a coarse step of so many fine ones, and a fine step */
    long double *coarse, *fine;
} bp__fft_roots;

bool bp__fft_roots_open(const bp_host *host, int64_t n, bp__fft_roots *roots); /* false: out of memory */
void bp__fft_roots_close(const bp_host *host, bp__fft_roots *roots);

typedef struct bp__fft_root {
    long double re, im;
} bp__fft_root;

/* Any t from 0 to n-1. */
bp__fft_root bp__fft_root_at(const bp__fft_roots *roots, int64_t t);

/* Writes the i-th pair of a table of f32 or f64 (`wide`). */
void bp__fft_put(void *table, bool wide, int64_t i, bp__fft_root root);

#endif
