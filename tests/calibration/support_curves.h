/* support_curves.h - declares curves of measured times that tests make themselves. */
#ifndef BP_TESTS_CALIBRATION_SUPPORT_CURVES_H
#define BP_TESTS_CALIBRATION_SUPPORT_CURVES_H

#include "calibration/internal.h"

/* Gives products in f32 the value at each size of the variant's curve: nanoseconds for BP__VARIANT_PLAIN, else a
 * factor.
 */
void set_curve(bp__calibration *calibration, int variant, double value);

#endif
