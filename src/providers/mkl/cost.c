/* cost.c - estimates the time of a transform on MKL, fitted to MKL 2026 on one core of a Zen 3 server processor (AVX2).
 * Wider vectors were not measured; they are assumed to gain the square root of their nominal speedup. */
#include "providers/mkl/mkl.h"
#include "providers/transform/cost.h"

#include <math.h>

#define CALL_NS 25.0
#define SEVERAL_DIMS_NS 400.0 /* added to a call with more than one dimension */
#define ITEM_NS 6.0
/* Slowdown of several dimensions that exceed the second-level cache: measured at 512x512, in f32 and f64. */
#define WIDE_BYTES (2 << 20)
#define WIDE_FACTOR 1.8
/* f64 operations per nanosecond of the measured kernels, in terms of bp__driver.peak. */
#define MEASURED_PEAK 44.6

static const bp__transform_speed speed = {
    .rates = {{16, 33}, {16, 32}, {15, 30}, {13, 24}, {4.5, 13}, {2.4, 4.8}, {2, 3.1}},
    .weights = {{1, 1.4, 1.2, 1.4, 1.7, 2.2}, {1, 2.2, 1.9, 1.8, 1.9, 2.6}},
    .middle_primes = {0.76, 1.2},
    .large_primes = {9, 9},
    .dimension = {1.4, 8.5},
    .real = {1.2, 1.2},
    .odd = {1.7, 2},
    .strided = 1.6,
};

double bp__mkl_cost(const bp__driver *driver, const bp_fft_problem *fft, const bp__mkl_route *route, int threads) {
    double calls = 0, ns = bp__transform_items_ns(fft, route->single, &speed);
    ns *= fft->ndim > 1 && bp__transform_bytes(fft, route->single) > WIDE_BYTES ? WIDE_FACTOR : 1;
    for (int i = 0; i < route->stages; i++) {
        calls += (double)(route->items.calls * route->stage[i].walk.calls);
    }
    double gain = driver->peak[1] > MEASURED_PEAK ? sqrt(driver->peak[1] / MEASURED_PEAK) : 1;
    ns = ns / gain + 2 * bp__transform_stream_ns((double)route->between) * (double)route->items.calls;
    ns = threads > 1 ? ns / (1 + 0.6 * (threads - 1)) + driver->family->speed.start : ns;
    return ns + calls * (CALL_NS + (fft->ndim > 1 ? SEVERAL_DIMS_NS : 0)) + (double)fft->batch * ITEM_NS;
}
