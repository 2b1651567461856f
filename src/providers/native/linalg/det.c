/* det.c - computes determinants from LU factors. The diagonal is multiplied in double with the exponent apart, so that
 * intermediate products cannot overflow or underflow. A logarithm is taken only once. */
#include "small.h"

#include <math.h>
#include <string.h>

/* (re + i im) * 2^exponent */
typedef struct product {
    double re, im;
    int64_t exponent;
} product;

/* Scales a value to near 1 if it is so large or small that a product could leave the range of double. */
static void normalize(product *p) {
    const double re = fabs(p->re), im = fabs(p->im), size = re > im ? re : im;
    if ((size > 0x1p-250 && size < 0x1p250) || size == 0 || !isfinite(size)) {
        return;
    }
    int exponent;
    (void)frexp(size, &exponent);
    p->re = ldexp(p->re, -exponent);
    p->im = ldexp(p->im, -exponent);
    p->exponent += exponent;
}

/* The diagonal of one lane's U. */
typedef struct diagonal {
    const char *velement;
    size_t step;
    int lanes, lane;
    bool single, complex;
} diagonal;

static diagonal diagonal_of(const bp__small_group *g, int lane) {
    const bp__interleaved_kernels *kernels = g->plan->kernels;
    const uint32_t dtype = g->l->operand[0].dtype;
    return (diagonal){.velement = g->a,
                      .step = (size_t)(g->plan->factor_row + 1) * kernels->velement,
                      .lanes = kernels->lanes,
                      .lane = lane,
                      .single = dtype == BP_F32 || dtype == BP_C64,
                      .complex = kernels->parts == 2};
}

static inline product element_of(const diagonal *d, int i) {
    const void *velement = d->velement + (size_t)i * d->step;
    const int im = d->lanes + d->lane;
    if (d->single) {
        const float *f = velement;
        return (product){(double)f[d->lane], d->complex ? (double)f[im] : 0, 0};
    }
    const double *f = velement;
    return (product){f[d->lane], d->complex ? f[im] : 0, 0};
}

static inline product times(product a, product b) {
    return (product){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re, a.exponent + b.exponent};
}

/* Returns whether a value is so near to 1 that the product of all diagonal elements stays in range. */
static inline bool is_moderate(product p) {
    const double size = fabs(p.re) + fabs(p.im);
    return size > 0x1p-30 && size < 0x1p30;
}

static product careful_det(const diagonal *d, int n) {
    product det = {1, 0, 0};
    for (int i = 0; i < n; i++) {
        product next = element_of(d, i);
        normalize(&next);
        det = times(det, next);
        normalize(&det);
    }
    return det;
}

static product det_of(const bp__small_group *g, int lane) {
    const diagonal d = diagonal_of(g, lane);
    const int n = (int)g->l->n;
    product det = {1, 0, 0};
    bool moderate = true, odd = false;
    for (int i = 0; i < n; i++) {
        const product next = element_of(&d, i);
        moderate &= is_moderate(next);
        odd ^= g->pivots[i * d.lanes + lane] != i;
        det = times(det, next);
    }
    if (!moderate) {
        det = careful_det(&d, n);
    }
    return odd ? (product){-det.re, -det.im, det.exponent} : det;
}

/* Returns v * 2^exponent, rounded. |exponent| may be far outside the range of int. */
static double scaled(double v, int64_t exponent) {
    return exponent == 0 ? v : ldexp(v, exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : (int)exponent);
}

static void put_determinant(const bp__small_group *g, int operand, int lane, double re, double im) {
    void *at = g->at[operand][lane];
    switch (g->l->operand[operand].dtype) {
    case BP_F32:
        *(float *)at = (float)re;
        return;
    case BP_C64:
        memcpy(at, (float[2]){(float)re, (float)im}, 2 * sizeof(float));
        return;
    case BP_C128:
        memcpy(at, (double[2]){re, im}, 2 * sizeof(double));
        return;
    default:
        *(double *)at = re;
        return;
    }
}

void bp__small_det(bp__small_group *g) {
    for (int lane = 0; lane < g->items; lane++) {
        const product det = det_of(g, lane);
        put_determinant(g, 1, lane, scaled(det.re, det.exponent), scaled(det.im, det.exponent));
    }
}

void bp__small_slogdet(bp__small_group *g) {
    for (int lane = 0; lane < g->items; lane++) {
        const product det = det_of(g, lane);
        const double size = g->plan->kernels->parts == 2 ? hypot(det.re, det.im) : fabs(det.re);
        put_determinant(g, 1, lane, size == 0 ? 0 : det.re / size, size == 0 ? 0 : det.im / size);
        put_determinant(g, 2, lane, size == 0 ? -INFINITY : log(size) + (double)det.exponent * 0x1.62e42fefa39efp-1, 0);
    }
}
