/* cost.c - estimates the time of a matrix product, so that dispatch can compare this provider with libraries.
 *
 * Rates were measured with bench/native_gemm on a Zen 3 core near 3 GHz. AVX-512 is assumed to be 1.8 times as
 * fast as AVX2, and AVX512_BF16 twice as fast as AVX-512. Other processors differ, but they differ for all libraries
 * alike.
 */
#include "choose.h"

#include <math.h>

/* Multiply-adds per nanosecond in the inner tile, by ISA index and type. */
static const double rate[3][BP__NATIVE_DTYPES] = {
    [0] = {10, 10, 10, 5, 2.5, 1.2},
    [1] = {46, 46, 46, 23, 11.6, 5.8},
    [2] = {83, 83, 83, 41, 21, 10.5},
};

/* Rate of 8-bit integers, relative to the rate of f32: two products in each lane of an instruction, and a sum in
 * another. */
#define INTEGER_GAIN 1.6
/* What one instruction instead of two gains. Assumed: no processor with VPDPWSSD was measured. */
#define VNNI_GAIN 1.6

/* Nanoseconds from one multiply-add of a chain to the next. */
#define LATENCY_NS 1.2

/* Nanoseconds of work per thread: several times what waking a thread takes. */
#define GRAIN_NS 25000

static double whole(double x, double unit) {
    return (double)(int64_t)((x + unit - 1) / unit) * unit;
}

/* Returns the bytes per nanosecond at which operands of this size can be read: `in_cache` if they fit in half of the
 * third-level cache. */
static double bandwidth(const bp_host *host, double bytes, double in_cache) {
    const double cache = host->machine->l3_bytes > 0 ? (double)host->machine->l3_bytes : 8e6;
    return bytes < cache / 2 ? in_cache : 15;
}

/* Returns the nanoseconds of the path SMALL. A tile takes some time besides its multiply-adds, and edges and strided
 * columns of C are written in parts. Complex types always pack V, and have chains of two multiply-adds for each k. */
static double small_cost(const bp_host *host, double speed, const bp__native_choice *choice) {
    static const struct {
        double read, vector, edge, element, call;
    } ns[] = {{0.2, 0.3, 0.6, 0.45, 5}, {0.6, 0.8, 2, 1.5, 30}}; /* real and complex types */
    const bp__native_kernels *kernels = choice->kernels;
    const bp__native_view *v = &choice->view;
    const double p = (double)v->p, q = (double)v->q, k = (double)v->k;
    const double bytes = (double)kernels->element * (p * k + q * k + p * q), vectors = ceil(p / kernels->lanes);
    const double chain = kernels->complex ? 2 * LATENCY_NS : LATENCY_NS, chains = 12;
    const double multiply =
        bp__most_real(vectors * q * k * kernels->lanes / speed, ceil(vectors * q / chains) * k * chain);
    const bool packs = bp__native_small_packs(choice), part = v->p % kernels->lanes != 0;
    const double reads = packs ? p * k * ns[kernels->complex].read : v->v_p != 1 ? 3 * p * k / speed : 0;
    const double writes = v->c_p != 1
                              ? p * q * ns[kernels->complex].element
                              : vectors * q * ns[kernels->complex].vector + part * q * ns[kernels->complex].edge;
    const double tiles = 2.5 * vectors * q / chains;
    return bp__most_real(multiply + reads + writes + tiles + ns[kernels->complex].call,
                         bytes / bandwidth(host, bytes, 45));
}

/* Returns the nanoseconds of one product on one thread. */
static double cost_of_one(const bp_host *host, double speed, const bp__native_choice *choice) {
    const bp__native_kernels *kernels = choice->kernels;
    const bp__native_view *v = &choice->view;
    const double p = (double)v->p, q = (double)v->q, k = (double)v->k, element = (double)kernels->element,
                 result = (double)kernels->result;
    const double bytes = element * (p * k + q * k) + result * p * q;
    /* Padding lanes of a tile are computed too. */
    const double compute = whole(p, kernels->lanes) * q * k / speed;
    const double pack = kernels->widen || kernels->pair ? 0.4 : 0.2;
    /* A single column or a single vector has too few independent chains to fill the arithmetic units. */
    const double chains = q < 2 ? 3 : p <= kernels->lanes && kernels->p_panel > kernels->lanes ? 1.8 : 1;
    switch (choice->path) {
    case BP__PATH_NONE:
        return 0;
    case BP__PATH_SCALE:
        return result * p * q / bandwidth(host, result * p * q, 20);
    case BP__PATH_TINY:
        return p * q * (k + 1) * (kernels->complex ? 2 : 1);
    case BP__PATH_DOT:
        return bp__most_real(3 * k / speed, bytes / bandwidth(host, bytes, 50));
    case BP__PATH_OUTER:
        return bp__most_real((kernels->complex ? 6 : 2) * compute, bytes / bandwidth(host, bytes, 40));
    case BP__PATH_GEMV:
        if (kernels->s_columns > 0) { /* each vector of V is widened once */
            return bp__most_real((1 + 0.5 * q) / q * compute, bytes / bandwidth(host, bytes, 50));
        }
        return bp__most_real(bp__most_real((kernels->complex ? 4 : 2) * compute, k * LATENCY_NS),
                             bytes / bandwidth(host, bytes, 50));
    case BP__PATH_SMALL:
        return small_cost(host, speed, choice);
    case BP__PATH_PACKED:
    case BP__NATIVE_PATHS:
        break;
    }
    const double packing = ((choice->packed_v ? 0 : p * k) + q * k) * pack;
    return 100 + bp__most_real(compute * chains * 1.02 + packing, bytes / bandwidth(host, bytes, 24));
}

double bp__native_rate(int set, bp_dtype dtype) {
    return rate[set][dtype - BP_F16];
}

double bp__native_bf16_rate(void) {
    return 2 * bp__native_rate(BP_CAPABILITY_AVX512, BP_BF16);
}

double bp__native_integer_rate(bp__native_integer_isa isa) {
    if (isa == BP__INTEGER_AVX_VNNI || isa == BP__INTEGER_AVX512_VNNI) {
        return VNNI_GAIN * bp__native_integer_rate(isa == BP__INTEGER_AVX_VNNI ? BP__INTEGER_AVX2 : BP__INTEGER_AVX512);
    }
    return INTEGER_GAIN * bp__native_rate((int)isa, BP_F32);
}

double bp__native_cost(const bp_host *host, double speed, const bp__native_choice *choice, int64_t batch) {
    const double one = cost_of_one(host, speed, choice);
    return 10 + (double)batch * (one + (batch > 1 ? 10 : 0));
}

double bp__native_cost_threads(const bp__native_choice *choice, double alone_ns, int threads) {
    if (threads <= 1) {
        return alone_ns;
    }
    /* Compute-bound paths scale with the threads. Memory-bound ones do not: two threads use the whole bandwidth. */
    const bool computes = choice->path == BP__PATH_PACKED || choice->path == BP__PATH_SMALL;
    return alone_ns / (computes ? 0.95 * threads : 1.5) + 2000;
}

int bp__native_worth(double alone_ns, int most) {
    const double worth = 1 + alone_ns / GRAIN_NS;
    return most < 1 ? 1 : worth < most ? (int)worth : most;
}
