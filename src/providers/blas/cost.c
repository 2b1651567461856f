/* cost.c - estimates the time of a call. The estimates only rank libraries; they are not predictions.
 *
 * gemm: a fixed cost, the arithmetic at the rate of the library's kernel set, and a cost for each element. The cost of
 * C dominates if k is small, the cost of A and B if m or n is small. gemv: a fixed cost and one for each element of the
 * matrix, which is higher if the matrix does not fit the cache.
 */
#include "providers/blas/blas.h"

#define COPY_ELEMENT 1.0      /* nanoseconds to copy an element of an operand to scratch memory */
#define MEMORY_BYTE 0.06      /* nanoseconds to stream a byte from memory to one core */
#define VECTOR_BYTE 0.036     /* nanoseconds per byte of the vectors of a gemv; dominates scalar products */
#define SHORT_K 16            /* some libraries have kernels without packing up to this k */
#define CACHE_BYTES (8 << 20) /* assumed if the machine does not report its cache */

static double count(const bp__blas_matrix *x) {
    return (double)x->rows * (double)x->columns;
}

static bool is_complex(const bp__blas_route *route) {
    return route->dtype == BP_C64 || route->dtype == BP_C128;
}

static int precision(const bp__blas_route *route) {
    return route->dtype == BP_F64 || route->dtype == BP_C128;
}

/* Returns the number of elements of C that kernels compute. They always compute whole tiles of about 64 bytes by 4,
 * unlike plain loops. */
static double whole_tiles(const bp__driver_family *family, const bp__blas_route *route) {
    double rows = (double)route->m;
    double columns = (double)route->n;
    if (family->speed.plain > 0) {
        return rows * columns;
    }
    double tile = 64.0 / (double)route->element;
    return (rows < tile ? tile : rows) * (columns < 4 ? 4 : columns);
}

static double gemm_work(const bp__driver *driver, const bp__blas_route *route, double wide) {
    const bp__driver_speed *speed = &driver->family->speed;
    int p = precision(route);
    const double *c_element = route->k > SHORT_K ? speed->c_panels : driver->c_element;
    double operations = 2.0 * whole_tiles(driver->family, route) * (double)route->k * wide * wide;
    return operations / driver->peak[p] + count(&route->c) * wide * c_element[p] +
           (count(&route->first) + count(&route->second)) * wide * speed->pack_element[p];
}

static double gemv_work(const bp__driver *driver, const bp__blas_route *route, double wide) {
    const bp__driver_speed *speed = &driver->family->speed;
    int64_t cache = driver->host->machine->l3_bytes;
    double elements = count(&route->first);
    double bytes = elements * (double)route->element;
    int64_t columns = route->first.transform == 'N' ? route->k : route->m;
    double work = elements * wide * speed->gemv_element[precision(route)] + (double)columns * speed->gemv_column +
                  ((double)route->m + (double)route->k) * (double)route->element * VECTOR_BYTE;
    double stream = bytes > (double)(cache > 0 ? cache : CACHE_BYTES) ? bytes * MEMORY_BYTE : 0;
    return work > stream ? work : stream;
}

static double copies(const bp__blas_route *route) {
    const bp__blas_matrix *all[] = {&route->first, &route->second, &route->c};
    double elements = 0;
    for (int i = 0; i < 3; i++) {
        elements += all[i]->packs ? count(all[i]) * (i == 2 ? 2 : 1) : 0;
    }
    return elements * COPY_ELEMENT;
}

double bp__blas_cost(const bp__driver *driver, const bp__blas_route *route, int threads) {
    const bp__driver_speed *speed = &driver->family->speed;
    double wide = is_complex(route) ? 2 : 1;
    double calls = (double)route->batch.count;
    switch (route->kind) {
    case BP__BLAS_NOTHING:
        return 5;
    case BP__BLAS_SCALE:
        return 10 + calls * count(&route->c) * wide * 0.5;
    case BP__BLAS_GEMV:
    case BP__BLAS_GEMM:
        break;
    }
    bool gemv = route->kind == BP__BLAS_GEMV;
    double work = gemv ? gemv_work(driver, route, wide) : gemm_work(driver, route, wide);
    if (threads > 1) {
        work = work / threads + speed->start;
    }
    return calls * ((gemv ? speed->gemv_call : speed->gemm_call) + work + copies(route));
}
