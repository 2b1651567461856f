/* twiddle.h - declares roots of unity for the tables of plans, correct to half a unit in the last place. */
#ifndef BP_NATIVE_FFT_TWIDDLE_H
#define BP_NATIVE_FFT_TWIDDLE_H

#include "backplane/provider.h"

#include <stdbool.h>

/* e^(-2 pi i t / n) for one n. */
typedef struct bp__fft_roots {
    int64_t n;
    int64_t block; /* an angle is a multiple of `block` fine steps (coarse table) plus a fine step */
    long double *coarse, *fine;
} bp__fft_roots;

bool bp__fft_roots_open(const bp_host *host, int64_t n, bp__fft_roots *roots); /* returns false if memory runs out */
void bp__fft_roots_close(const bp_host *host, bp__fft_roots *roots);

typedef struct bp__fft_root {
    long double re, im;
} bp__fft_root;

/* Returns root t, 0 <= t < n. */
bp__fft_root bp__fft_root_at(const bp__fft_roots *roots, int64_t t);

/* Writes pair i of a table of f32 or, if `wide`, f64. */
void bp__fft_put(void *table, bool wide, int64_t i, bp__fft_root root);

#endif
