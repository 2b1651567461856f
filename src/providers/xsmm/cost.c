/* cost.c - estimates the time of a kernel, fitted to libxsmm 1.17 on one core of a Zen 3 server processor (AVX2).
 *
 * A kernel computes whole vectors of a column of C together. Below AVX-512 the remaining rows follow in halves of a
 * vector and then one by one, each in a pass of its own over A and B, which takes about as long as a pass with many
 * vectors. So sizes that are no multiple of a vector are slow, up to twice per element.
 */
#include "providers/xsmm/xsmm.h"

#define CALL_NS 3.0
#define VECTOR_NS 0.16 /* for each vector, column and step of k; with AVX without FMA, and with SSE, twice that */
#define PASS_NS 0.14   /* for each step of k in a pass: a third of the time of three columns */
#define PART_NS 0.23   /* likewise for a pass over a half vector or a single row */
#define STORE_NS 0.19  /* for each vector or part of one, and column */
#define ITEM_NS 2.5    /* for each item of a batch */

#define GRAIN_NS 20000.0 /* work that repays waking another thread of our pool */
#define START_NS 3000.0
#define SHARED_PART 0.92 /* fraction of the ideal rate of several threads */

double bp__xsmm_kernel_ns(const bp__driver *driver, const bp__xsmm_route *route) {
    double flops = bp__driver_kernel_flops(driver->library->kernels, driver->host->hardware);
    int64_t lanes = (flops >= 32 ? 8 : flops >= 8 ? 4 : 2) * (route->single ? 2 : 1);
    int64_t vectors = route->m / lanes, rest = route->m % lanes, half = lanes / 2;
    int64_t parts = flops >= 32 ? 0 : half > 1 ? rest / half + rest % half : rest;
    vectors += flops >= 32 && rest > 0; /* masked */
    double n = (double)route->n, k = (double)route->k;
    double vector_ns = flops >= 16 ? VECTOR_NS : 2 * VECTOR_NS;
    return CALL_NS + n * k * ((double)vectors * vector_ns + (vectors > 0 ? PASS_NS : 0) + (double)parts * PART_NS) +
           n * (double)(vectors + parts) * STORE_NS;
}

double bp__xsmm_alone_ns(const bp__driver *driver, const bp__xsmm_route *route) {
    double kernel = bp__xsmm_kernel_ns(driver, route);
    return route->batch.count > 1 ? (double)route->batch.count * (kernel + ITEM_NS) : kernel;
}

int bp__xsmm_sharers(const bp__xsmm_route *route, double alone_ns, int most) {
    double worth = 1 + alone_ns / GRAIN_NS;
    worth = worth < (double)route->batch.count ? worth : (double)route->batch.count;
    return worth < most ? (int)worth : most;
}

double bp__xsmm_shared_ns(double alone_ns, int sharers) {
    return START_NS + alone_ns / (SHARED_PART * sharers);
}
