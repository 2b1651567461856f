/* cost.c - estimates the time of a transform on FFTW, fitted to FFTW 3.3.10 (Debian, SSE2 and AVX) on one core of a Zen
 * 3 server processor. docs/explanation/fft_libraries.md states the error of the fit. */
#include "providers/fftw/fftw.h"
#include "providers/transform/cost.h"

#define CALL_NS 8.0
#define WALK_NS 15.0    /* nanoseconds for each call of a batch that the provider iterates over */
#define THREADS_NS 8000 /* nanoseconds to start the thread pool and wait for it */

static const bp__transform_speed speed = {
    .rates = {{27, 58}, {22, 42}, {11, 24}, {10, 15}, {6.5, 8.5}, {3.5, 4.5}, {2.8, 2.8}},
    .weights = {{1, 1.7, 1.4, 1.5, 2.3, 2.1}, {1, 2.9, 2.7, 2.8, 4.2, 4}},
    .middle_primes = {1, 1.8},
    .large_primes = {9.2, 15.4}, /* these lengths do not use vectors */
    .dimension = {1.2, 8.7},
    .real = {1.3, 1.5},
    .odd = {2, 2},
    .strided = 3,
};

/* Returns whether elements that are used together map to few sets of a cache. */
static bool is_aliased(const bp_fft_problem *fft, int64_t size) {
    for (int d = 0; d < fft->ndim; d++) {
        if (fft->in[d] != 0 && fft->in[d] * size % 4096 == 0) {
            return true;
        }
    }
    return false;
}

/* Returns the factor by which an estimated plan is slower. It is large if strides alias in caches, which FFTW's
 * estimate ignores. */
static double loss_of_estimate(const bp_fft_problem *fft, const bp__fftw_route *route, double bytes) {
    bool aliased = is_aliased(fft, route->in.size) && route->kind == BP_FFT_C2C && bytes >= (4 << 20);
    return aliased ? 6 : bytes < (1 << 20) ? 1.3 : 1.7;
}

static double around_ns(const bp_fft_problem *fft, const bp__fftw_route *route) {
    double in = (double)(route->in.span * route->in.size), out = (double)(route->out.span * route->out.size);
    double bytes = (route->copies ? 2 * in : 0) + (fft->scale != 1 ? out : 0);
    return bytes / 16 + bp__transform_stream_ns(bytes);
}

double bp__fftw_cost(const bp_fft_problem *fft, const bp__fftw_route *route, bool single, bp__fftw_effort effort,
                     int threads) {
    double calls = (double)route->calls, ns = bp__transform_items_ns(fft, single, &speed);
    if (effort == BP__FFTW_BY_ESTIMATE) {
        ns *= loss_of_estimate(fft, route, bp__transform_bytes(fft, single));
    }
    ns = threads > 1 ? ns / (0.9 * threads) + calls * THREADS_NS : ns;
    return ns + calls * (CALL_NS + (route->walked > 0 ? WALK_NS : 0) + around_ns(fft, route));
}
