/* fft_tables.c - divides the sizes of transforms into passes, and makes the tables of the kernels. */
#include "providers/kernels/fft_tables.h"

#include <math.h>

typedef struct number {
    double re, im;
} number;

/* ---- Passes ---- */

static const uint8_t radices[] = {4, 2, 3, 5, 7, 11, 13};

int bp__kernel_fft_passes(int64_t points, uint8_t radix[BP__KERNEL_FFT_PASSES]) {
    int count = 0;
    for (size_t i = 0; i < sizeof radices; i++) {
        for (; points > 1 && points % radices[i] == 0; points /= radices[i]) {
            radix[count++] = radices[i];
        }
    }
    return count;
}

int64_t bp__kernel_fft_points(int64_t n) {
    int64_t rest = n, power = 1;
    for (size_t i = 0; i < sizeof radices; i++) {
        while (rest > 1 && rest % radices[i] == 0) {
            rest /= radices[i];
        }
    }
    if (rest == 1) {
        return n;
    }
    if (n > INT64_C(1) << 30) { /* the squares of indices must fit */
        return 0;
    }
    while (power < 2 * n - 1) {
        power *= 2;
    }
    return power;
}

/* ---- Tables ---- */

/* exp(-2 pi i k / n), with an angle up to an eighth of the circle. */
static number power_of_root(int64_t k, int64_t n) {
    const int64_t quarter = 4 * (k % n) / n, rest = 4 * (k % n) - quarter * n;
    const bool beyond = 2 * rest > n;
    const double angle = 1.57079632679489661923 * ((double)(beyond ? n - rest : rest) / (double)n);
    const double c = beyond ? sin(angle) : cos(angle), s = beyond ? cos(angle) : sin(angle);
    switch (quarter) {
    case 0:
        return (number){c, -s};
    case 1:
        return (number){-s, -c};
    case 2:
        return (number){-c, s};
    default:
        return (number){s, c};
    }
}

/* Transforms a power of 2 of points, whose powers are given. */
static void transform(int64_t points, const number *power, number *x) {
    for (int64_t i = 1, j = 0; i < points; i++) { /* the order of reversed bits */
        int64_t bit = points / 2;
        for (; j & bit; bit /= 2) {
            j ^= bit;
        }
        j ^= bit;
        if (i < j) {
            const number kept = x[i];
            x[i] = x[j];
            x[j] = kept;
        }
    }
    for (int64_t half = 1; half < points; half *= 2) {
        for (int64_t i = 0; i < points; i++) {
            if (i & half) {
                continue;
            }
            const number w = power[(i & (half - 1)) * (points / (2 * half))], a = x[i], b = x[i + half];
            const number turned = {b.re * w.re - b.im * w.im, b.re * w.im + b.im * w.re};
            x[i] = (number){a.re + turned.re, a.im + turned.im};
            x[i + half] = (number){a.re - turned.re, a.im - turned.im};
        }
    }
}

/* Sets factor[j] = exp(-pi i j j / n), and other to the transform of their conjugates, divided by its points. */
static void set_convolution(int64_t n, int64_t points, const number *power, number *factor, number *other) {
    for (int64_t j = 0; j < points; j++) {
        other[j] = (number){0, 0};
    }
    for (int64_t j = 0; j < n; j++) {
        factor[j] = power_of_root(j * j % (2 * n), 2 * n);
        other[j] = (number){factor[j].re / (double)points, -factor[j].im / (double)points};
        if (j > 0) {
            other[points - j] = other[j];
        }
    }
    transform(points, power, other);
}

bp_status bp__kernel_fft_table(const bp_host *host, int64_t n, int64_t points, bool is_double, void **table,
                               size_t *size) {
    const int64_t count = points == n ? points : 2 * points + n;
    number *numbers = host->allocate((size_t)count * sizeof *numbers);
    if (!numbers) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a table of %lld numbers", (long long)count);
    }
    for (int64_t k = 0; k < points; k++) {
        numbers[k] = power_of_root(k, points);
    }
    if (points != n) {
        set_convolution(n, points, numbers, numbers + points, numbers + points + n);
    }
    *size = (size_t)count * (is_double ? sizeof(double) : sizeof(float)) * 2;
    *table = numbers;
    if (!is_double) { /* in place: a float takes the memory of a double that was read */
        float *narrow = (float *)(void *)numbers;
        for (int64_t i = 0; i < count; i++) {
            const number wide = numbers[i];
            narrow[2 * i] = (float)wide.re;
            narrow[2 * i + 1] = (float)wide.im;
        }
    }
    return BP_OK;
}
