/* product.h - the matrices of a product whose plan tests run: fixed numbers, and what C must keep if a run is refused.
 */
#ifndef TESTS_DISPATCH_PRODUCT_H
#define TESTS_DISPATCH_PRODUCT_H

#include "backplane.h"

enum { SIDE = 70, ELEMENTS = SIDE * SIDE };
static double a[ELEMENTS], b[ELEMENTS], c[ELEMENTS], expected[ELEMENTS];

static void fill(void) {
    for (int i = 0; i < ELEMENTS; i++) {
        a[i] = (i * 37 % 101) / 16.0 - 3;
        b[i] = (i * 53 % 97) / 8.0 - 6;
        c[i] = expected[i] = i % 13;
    }
}

static void views(bp_view v[3]) {
    bp_view_matrix(&v[0], a, BP_F64, SIDE, SIDE);
    bp_view_matrix(&v[1], b, BP_F64, SIDE, SIDE);
    bp_view_matrix(&v[2], c, BP_F64, SIDE, SIDE);
}

#endif
