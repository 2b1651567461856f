/* cost.c - how long a transform takes on FFTW, for putting candidates in order: fitted to FFTW 3.3.10 (Debian, SSE2 and
 * AVX) on one core of a Zen 3 server processor. docs/performance.md tells how well it fits. */
#include "providers/fftw/fftw.h"

#include <math.h>
#include <stdlib.h>

#define CALL_NS 8.0
#define WALK_NS 15.0    /* of each call that we make for a batch */
#define THREADS_NS 8000 /* of handing work to the pool and waiting for it */

/* Operations per nanosecond by the memory of one item, in and out: 2^15 bytes, 2^17, 2^19, ... 2^27; f64, f32. */
static const double rates[][2] = {{27, 58}, {22, 42}, {11, 24}, {10, 15}, {6.5, 8.5}, {3.5, 4.5}, {2.8, 2.8}};
enum { RATES = sizeof rates / sizeof *rates };

static double rate_of(double bytes, bool single) {
    double at = (log2(bytes) - 15) / 2;
    at = at < 0 ? 0 : at > RATES - 1 ? RATES - 1 : at;
    int below = (int)at < RATES - 2 ? (int)at : RATES - 2;
    return rates[below][single] + (at - below) * (rates[below + 1][single] - rates[below][single]);
}

/* Operations of a transform of length n per element, in fives: log2(n) for powers of two. Vectors do not help lengths
 * with large prime factors. */
static double work_of(int64_t n, bool single) {
    static const struct {
        int64_t prime;
        double weight;
    } known[] = {{2, 1}, {3, 1.3}, {5, 1.6}, {7, 2.3}, {11, 3.3}, {13, 3.5}};
    double work = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        for (; n % known[i].prime == 0; n /= known[i].prime) {
            work += known[i].weight * log2((double)known[i].prime);
        }
    }
    return work + (n > 1 ? (single ? 14 : 8) * log2((double)n) : 0);
}

/* Whether no dimension of the transform lies in a row. */
static bool is_strided(const bp_fft_problem *fft) {
    for (int d = 0; d < fft->ndim; d++) {
        if (llabs(fft->in[d]) == 1 && llabs(fft->out[d]) == 1) {
            return false;
        }
    }
    return fft->ndim > 0;
}

/* Whether elements that are taken together share few sets of a cache. */
static bool is_aliased(const bp_fft_problem *fft, int64_t size) {
    for (int d = 0; d < fft->ndim; d++) {
        if (fft->in[d] != 0 && fft->in[d] * size % 4096 == 0) {
            return true;
        }
    }
    return false;
}

/* What a plan by estimate takes longer: much where rules do not see what strides do to caches. */
static double loss_of_estimate(const bp_fft_problem *fft, const bp__fftw_route *route, double bytes) {
    bool aliased = is_aliased(fft, route->in.size) && route->kind == BP_FFT_C2C && bytes >= (4 << 20);
    return aliased ? 6 : bytes < (1 << 20) ? 1.3 : 1.7;
}

/* Memory that streams through: the caches of the second level give it for nothing, main memory does not. */
static double stream_ns(double bytes) {
    return bytes < (512 << 10) ? 0 : bytes < (16 << 20) ? bytes / 100 : bytes / 12;
}

static double items_ns(const bp_fft_problem *fft, const bp__fftw_route *route, bool single, bp__fftw_effort effort) {
    double n = 1, work = 0, batch = (double)fft->batch;
    for (int d = 0; d < fft->ndim; d++) {
        n *= (double)fft->n[d];
        work += work_of(fft->n[d], single);
    }
    bool real = route->kind != BP_FFT_C2C;
    double item = n * (single ? 8 : 16) * (real ? 1 : 2), all = item * batch;
    /* Each dimension of several is a pass of its own with less memory in use at a time. */
    double rate = rate_of(fft->ndim > 1 ? item / 4 : item, single) / (real ? single ? 1.8 : 1.3 : 1);
    double ns = batch * 5 * n * work * (real ? 0.5 : 1) / rate;
    ns *= is_strided(fft) && all > (64 << 10) ? 3 : 1;
    ns *= effort == BP__FFTW_BY_ESTIMATE ? loss_of_estimate(fft, route, all) : 1;
    return ns + (batch > 1 ? stream_ns(all) : 0);
}

double bp__fftw_cost(const bp_fft_problem *fft, const bp__fftw_route *route, bool single, bp__fftw_effort effort,
                     int threads) {
    double in = (double)route->in.span * (double)route->in.size,
           out = (double)route->out.span * (double)route->out.size;
    double calls = (double)route->calls, ns = items_ns(fft, route, single, effort);
    double around = (route->copies ? 2 * in : 0) + (fft->scale != 1 ? out : 0);
    double overhead = calls * (CALL_NS + (route->walked > 0 ? WALK_NS : 0)) + calls * (around / 16 + stream_ns(around));
    return overhead + (threads > 1 ? ns / (0.9 * threads) + calls * THREADS_NS : ns);
}
