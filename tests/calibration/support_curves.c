/* support_curves.c - makes curves of measured times. See support_curves.h. */
#include "calibration/support_curves.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void set_curve(bp__calibration *calibration, int variant, double value) {
    const int class = bp__class_find(BP_OP_GEMM, BP_F32, variant);
    bp__curve *curve = &calibration->curves[class];
    assert_true(class >= 0);
    curve->known = true;
    for (int i = 0; i < bp__lattice_points(bp__classes[class].lattice); i++) {
        curve->values[i] = (float)log2(value);
        curve->measured[i] = true;
    }
}
