/* cost.c - estimates the time of Fourier transforms: see cost.h. */
#include "providers/transform/cost.h"

#include <math.h>
#include <stdlib.h>

static double rate_of(const bp__transform_speed *speed, double bytes, bool single) {
    double at = (log2(bytes) - 15) / 2;
    at = at < 0 ? 0 : at > BP__TRANSFORM_RATES - 1 ? BP__TRANSFORM_RATES - 1 : at;
    int below = (int)at < BP__TRANSFORM_RATES - 2 ? (int)at : BP__TRANSFORM_RATES - 2;
    double low = speed->rates[below][single], high = speed->rates[below + 1][single];
    return low + (at - below) * (high - low);
}

/* Returns log2(n) for a power of two, and more for other lengths. */
static double work_of(const bp__transform_speed *speed, int64_t n, bool single) {
    static const int64_t primes[BP__TRANSFORM_PRIMES] = {2, 3, 5, 7, 11, 13};
    enum { MIDDLE = 17, LARGE = 67 };
    double work = 0;
    for (int i = 0; i < BP__TRANSFORM_PRIMES; i++) {
        for (; n % primes[i] == 0; n /= primes[i]) {
            work += speed->weights[single][i] * log2((double)primes[i]);
        }
    }
    for (int64_t p = MIDDLE; p < LARGE && n > 1; p += 2) {
        for (; n % p == 0; n /= p) {
            work += speed->middle_primes[single] * (double)p;
        }
    }
    return work + (n > 1 ? speed->large_primes[single] * log2((double)n) : 0);
}

static bool is_strided(const bp_fft_problem *fft) {
    for (int d = 0; d < fft->ndim; d++) {
        if (llabs(fft->in[d]) == 1 && llabs(fft->out[d]) == 1) {
            return false;
        }
    }
    return fft->ndim > 0;
}

static double elements_of(const bp_fft_problem *fft) {
    double n = 1;
    for (int d = 0; d < fft->ndim; d++) {
        n *= (double)fft->n[d];
    }
    return n;
}

double bp__transform_bytes(const bp_fft_problem *fft, bool single) {
    return elements_of(fft) * (double)fft->batch * (single ? 8 : 16) * (fft->kind == BP_FFT_C2C ? 2 : 1);
}

double bp__transform_stream_ns(double bytes) {
    return bytes < (512 << 10) ? 0 : bytes < (16 << 20) ? bytes / 100 : bytes / 12;
}

double bp__transform_items_ns(const bp_fft_problem *fft, bool single, const bp__transform_speed *speed) {
    double n = elements_of(fft), work = 0, all = bp__transform_bytes(fft, single);
    double batch = (double)fft->batch, item = all / (batch > 0 ? batch : 1);
    bool real = fft->kind != BP_FFT_C2C;
    for (int d = 0; d < fft->ndim; d++) {
        const bool odd = real && d == fft->ndim - 1 && fft->n[d] % 2 == 1;
        work += work_of(speed, fft->n[d], single) * (odd ? speed->odd[single] : 1);
    }
    work += fft->ndim > 1 ? (fft->ndim - 1) * speed->dimension[single] : 0;
    /* Each of several dimensions is a separate pass, with less memory in use at a time. */
    double rate = rate_of(speed, fft->ndim > 1 ? item / 4 : item, single) / (real ? speed->real[single] : 1);
    double ns = batch * 5 * n * work * (real ? 0.5 : 1) / rate;
    ns *= is_strided(fft) && all > (64 << 10) ? speed->strided : 1;
    return ns + (batch > 1 ? bp__transform_stream_ns(all) : 0);
}
