/* cost.c - how long a product takes, roughly: rates measured with bench/native_gemm, so that a dispatcher can compare.
 */
#include "choose.h"

/* Multiply-adds per nanosecond of the inner tile at about 3 GHz, by instruction set and type. */
static const double rate[3][BP__NATIVE_DTYPES] = {
    [0] = {11, 11, 11, 5.5, 2.7, 1.3},
    [1] = {46, 46, 46, 23, 11.5, 5.7},
    [2] = {84, 84, 84, 42, 21, 10.5},
};
/* A thread is called for each of these, the time that waking one may take. */
#define GRAIN_NS 25000

double bp__native_cost(const bp_host *host, int set, bp_dtype dtype, const bp__native_choice *choice, int64_t batch) {
    const bp__native_kernels *kernels = choice->kernels;
    const bp__native_view *v = &choice->view;
    const double p = (double)v->p, q = (double)v->q, k = (double)v->k, element = (double)kernels->element;
    const double speed = rate[set][dtype - BP_F16];
    /* Lanes and columns that a tile pads are computed too. */
    const double lanes = kernels->lanes;
    const double rows = p + (lanes - 1) / 2, columns = q;
    const double bytes = element * (p * k + q * k + 2 * p * q);
    const double cache = (double)(host->machine.l3_bytes > 0 ? host->machine.l3_bytes : 8 << 20);
    const double bandwidth = bytes < cache / 2 ? 25 : 12; /* bytes per nanosecond */
    double compute = rows * columns * k / speed;
    double overhead = 0, memory = 0;
    switch (choice->path) {
    case BP__PATH_NONE:
        return 5;
    case BP__PATH_SCALE:
        memory = 2 * element * p * q / bandwidth;
        compute = 0;
        overhead = 10;
        break;
    case BP__PATH_TINY:
        compute = p * q * (k + 2) * 0.5 * (kernels->complex ? 3 : 1);
        overhead = 6;
        break;
    case BP__PATH_DOT:
        compute = 2 * k / speed;
        overhead = 15;
        memory = bytes / bandwidth;
        break;
    case BP__PATH_OUTER:
    case BP__PATH_GEMV:
        overhead = 15;
        compute *= 2;
        memory = bytes / bandwidth;
        break;
    case BP__PATH_SMALL:
        overhead = 12 + 4 * (p / kernels->p_panel + 1) * (q / kernels->q_panel + 1);
        memory = p * k * element / bandwidth;
        compute *= 1.05 + (v->v_p != 1 ? 1.0 / (q + 1) : 0);
        break;
    case BP__PATH_PACKED:
        overhead = 100;
        memory = bytes / bandwidth;
        compute = compute * 1.06 + (p * k + q * k) * 0.3 * (kernels->widen ? 2 : 1);
        break;
    }
    return (double)batch * (overhead + (compute > memory ? compute : memory));
}

double bp__native_cost_threads(const bp__native_choice *choice, double alone_ns, int threads) {
    if (threads <= 1) {
        return alone_ns;
    }
    /* Memory does not grow with the threads; half of them fill it. */
    double gain = choice->path == BP__PATH_PACKED || choice->path == BP__PATH_SMALL ? 0.95 * threads
                  : threads > 2                                                     ? 2
                                                                                    : 1.5;
    return alone_ns / gain + 2000;
}

int bp__native_worth(double alone_ns, int most) {
    double worth = 1 + alone_ns / GRAIN_NS;
    return most < 1 ? 1 : worth < most ? (int)worth : most;
}
