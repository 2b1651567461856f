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

static double part_of(const bp__lanes_kernels *kernels, const char *cell, int part, int lane) {
    const char *at = cell + (size_t)(part * kernels->lanes + lane) * (kernels->element / (size_t)kernels->parts);
    const void *value = at;
    return kernels->element == sizeof(float) * (size_t)kernels->parts ? (double)*(const float *)value
                                                                      : *(const double *)value;
}

static product det_of(const bp__small_group *g, int lane) {
    const bp__lanes_kernels *kernels = g->plan->kernels;
    const int n = (int)g->l->n;
    product det = {1, 0, 0};
    for (int i = 0; i < n; i++) {
        const char *cell = g->a + (size_t)(i * (n + 1)) * kernels->cell;
        product next = {part_of(kernels, cell, 0, lane), 0, 0};
        if (kernels->parts == 2) {
            next.im = part_of(kernels, cell, 1, lane);
        }
        normalize(&next);
        const double re = det.re * next.re - det.im * next.im, im = det.re * next.im + det.im * next.re;
        const bool odd = g->pivots[i * kernels->lanes + lane] != i;
        det.re = odd ? -re : re;
        det.im = odd ? -im : im;
        det.exponent += next.exponent;
        normalize(&det);
    }
    return det;
}

/* The nearest value of a type to v * 2^exponent; |exponent| may be far outside of int's use. */
static double scaled(double v, int64_t exponent) {
    return ldexp(v, exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : (int)exponent);
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
