/* det.c - determinants from LU. The diagonal is multiplied in double with the power of two kept apart, so that nothing
 * overflows on the way to a result that does not, and a logarithm is taken once. */
#include "small.h"

#include <math.h>
#include <string.h>

/* (re + i im) * 2^exponent */
typedef struct product {
    double re, im;
    int64_t exponent;
} product;

/* Takes a value that is so large or small that products would leave double's range to near 1. */
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

static product det_of(const bp__small_group *g, int lane) {
    const bp__lanes_kernels *kernels = g->plan->kernels;
    const bool single = g->l->operand[0].dtype == BP_F32 || g->l->operand[0].dtype == BP_C64;
    const int n = (int)g->l->n, lanes = kernels->lanes;
    const size_t step = (size_t)(g->plan->factor_row + 1) * kernels->cell;
    const char *cell = g->a;
    product det = {1, 0, 0};
    for (int i = 0; i < n; i++, cell += step) {
        const float *floats = (const void *)cell;
        const double *doubles = (const void *)cell;
        product next = {single ? (double)floats[lane] : doubles[lane], 0, 0};
        if (kernels->parts == 2) {
            next.im = single ? (double)floats[lanes + lane] : doubles[lanes + lane];
        }
        normalize(&next);
        const double re = det.re * next.re - det.im * next.im, im = det.re * next.im + det.im * next.re;
        const bool odd = g->pivots[i * lanes + lane] != i;
        det.re = odd ? -re : re;
        det.im = odd ? -im : im;
        det.exponent += next.exponent;
        normalize(&det);
    }
    return det;
}

/* The nearest value of a type to v * 2^exponent; |exponent| may be far outside of int's use. */
static double scaled(double v, int64_t exponent) {
    return exponent == 0 ? v : ldexp(v, exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : (int)exponent);
}

static void put(const bp__small_group *g, int operand, int lane, double re, double im) {
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
        put(g, 1, lane, scaled(det.re, det.exponent), scaled(det.im, det.exponent));
    }
}

void bp__small_slogdet(bp__small_group *g) {
    for (int lane = 0; lane < g->items; lane++) {
        const product det = det_of(g, lane);
        const double size = g->plan->kernels->parts == 2 ? hypot(det.re, det.im) : fabs(det.re);
        put(g, 1, lane, size == 0 ? 0 : det.re / size, size == 0 ? 0 : det.im / size);
        put(g, 2, lane, size == 0 ? -INFINITY : log(size) + (double)det.exponent * 0x1.62e42fefa39efp-1, 0);
    }
}
