/* lattice.h - defines the sizes at which times are measured, and interpolates between them.
 *
 * A lattice has up to three dimensions, such as m, n and k of a product. Its points are all combinations of the knots
 * of each dimension. Points whose product of sizes exceeds `most` are not measured; their times follow from smaller
 * points. Values are logarithms (base 2) of times in nanoseconds, or of ratios, because times of neighbouring sizes
 * differ by factors. The same code orders the points in the helper program that measures, and reads the values in the
 * library.
 */
#ifndef BP_CALIBRATION_LATTICE_H
#define BP_CALIBRATION_LATTICE_H

#include <stdbool.h>
#include <stdint.h>

enum { BP__LATTICE_DIMENSIONS = 3, BP__LATTICE_KNOTS = 9, BP__LATTICE_POINTS = 512 };

typedef struct bp__lattice {
    int dimensions;
    int count[BP__LATTICE_DIMENSIONS]; /* knots of each dimension, at least 2, ascending */
    int64_t knot[BP__LATTICE_DIMENSIONS][BP__LATTICE_KNOTS];
    double most;
} bp__lattice;

/* The source of a predicted time, as in bp_time_source. */
typedef enum bp__accuracy { BP__ESTIMATED, BP__INTERPOLATED, BP__MEASURED } bp__accuracy;

int bp__lattice_points(const bp__lattice *lattice); /* all of them, measured or not */
void bp__lattice_sizes(const bp__lattice *lattice, int point, int64_t sizes[BP__LATTICE_DIMENSIONS]);
bool bp__lattice_is_measured(const bp__lattice *lattice, int point);

/* Writes the measured points in the order in which they are measured, and returns their number. Points of a coarse
 * lattice come first, so that an incomplete measurement covers all sizes. */
int bp__lattice_order(const bp__lattice *lattice, int order[BP__LATTICE_POINTS]);

/* Replaces every missing value (NaN). Between two known neighbours it interpolates. Beyond the last known one the time
 * grows with the sizes: `growth` is 1 for times and 0 for ratios. Returns false if no value is known. */
bool bp__lattice_fill(const bp__lattice *lattice, float *values, double growth);

/* Returns the value for any sizes of at least 1. Beyond the last knot it grows as in bp__lattice_fill. Sets *point to
 * the point if all sizes are knots, otherwise to -1. */
double bp__lattice_value(const bp__lattice *lattice, const float *values, const double sizes[BP__LATTICE_DIMENSIONS],
                         double growth, int *point);

#endif
