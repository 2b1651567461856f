/* twiddle.c - computes roots of unity for the tables of plans, correct to half a unit in the last place.
 *
 * An angle is first reduced to [0, pi/4] by exact integer arithmetic. The reduced angle is the sum of a coarse and a
 * fine step. Their sines and cosines come from two tables of about sqrt(n) values in long double. The addition theorems
 * have no cancellation there, so that small results keep their accuracy. A table of n roots therefore costs n products
 * instead of n calls of sin().
 */
#include "twiddle.h"

#include <math.h>
#include <stddef.h>

#define TWO_PI 6.283185307179586476925286766559005768L

bool bp__fft_roots_open(const bp_host *host, int64_t n, bp__fft_roots *roots) {
    /* Reduced angles are 2 pi r / (4 n) for r from 0 to n/2. */
    const int64_t block = (int64_t)sqrt((double)n / 2) + 1, blocks = n / 2 / block + 1;
    long double *memory = host->allocate((size_t)(block + blocks) * 2 * sizeof *memory);
    if (!memory) {
        return false;
    }
    *roots = (bp__fft_roots){.n = n, .block = block, .fine = memory, .coarse = memory + 2 * block};
    for (int64_t i = 0; i < block; i++) {
        const long double angle = TWO_PI * (long double)i / (4 * (long double)n);
        roots->fine[2 * i] = cosl(angle);
        roots->fine[2 * i + 1] = sinl(angle);
    }
    for (int64_t i = 0; i < blocks; i++) {
        const long double angle = TWO_PI * (long double)(i * block) / (4 * (long double)n);
        roots->coarse[2 * i] = cosl(angle);
        roots->coarse[2 * i + 1] = sinl(angle);
    }
    return true;
}

void bp__fft_roots_close(const bp_host *host, bp__fft_roots *roots) {
    host->release(roots->fine);
}

bp__fft_root bp__fft_root_at(const bp__fft_roots *roots, int64_t t) {
    const int64_t n = roots->n, quarter = 4 * t / n, rest = 4 * t - quarter * n;
    const bool mirrored = 2 * rest > n;
    const int64_t r = mirrored ? n - rest : rest;
    const long double *a = roots->coarse + 2 * (r / roots->block), *b = roots->fine + 2 * (r % roots->block);
    const long double cosine = a[0] * b[0] - a[1] * b[1], sine = a[1] * b[0] + a[0] * b[1];
    const bp__fft_root x = mirrored ? (bp__fft_root){sine, -cosine} : (bp__fft_root){cosine, -sine};
    switch (quarter) {
    case 0:
        return x;
    case 1:
        return (bp__fft_root){x.im, -x.re};
    case 2:
        return (bp__fft_root){-x.re, -x.im};
    default:
        return (bp__fft_root){-x.im, x.re};
    }
}

void bp__fft_put(void *table, bool wide, int64_t i, bp__fft_root root) {
    if (wide) {
        ((double *)table)[2 * i] = (double)root.re;
        ((double *)table)[2 * i + 1] = (double)root.im;
    } else {
        ((float *)table)[2 * i] = (float)root.re;
        ((float *)table)[2 * i + 1] = (float)root.im;
    }
}
