/* curves.c - makes curves of measured times, and predicts the times of other sizes from them. */
#include "calibration/internal.h"

#include "machine/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Returns the median of log2(a[i] / b[i]) over the points that both have; 0 if there are none. */
static double median_ratio(const double *a, const double *b) {
    double ratios[BP__FIRST_POINTS];
    int count = 0;
    for (int i = 0; i < BP__FIRST_POINTS; i++) {
        if (a[i] > 0 && b[i] > 0) {
            ratios[count++] = log2(a[i] / b[i]);
        }
    }
    qsort(ratios, (size_t)count, sizeof *ratios, ascending);
    return count ? (ratios[(count - 1) / 2] + ratios[count / 2]) / 2 : 0;
}

/* Returns the mean of log2(own[i] / native[i]) over the points that are compared; 0 if there are none. A library is
 * called slow by this mean, so that the times that follow from it are slow too. */
static double mean_ratio(const double *own, const double *native) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < BP__FIRST_POINTS; i++) {
        if (own[i] > 0 && native[i] > BP__FIRST_NATIVE_NS) {
            sum += log2(own[i] / native[i]);
            count++;
        }
    }
    return count ? sum / count : 0;
}

/* The processor may have been slower while one class was measured than while another one was. The same products of
 * `native` were measured in each process, so that their times are the common measure. */
static double speed_correction(const bp__measured *reference, const bp__measured *measured) {
    const double most = 1; /* a factor of two */
    const double change = median_ratio(reference->native, measured->native);
    return change > most ? most : change < -most ? -most : change;
}

/* The first points are points of the base classes' lattice, which a short measurement may not have reached. */
static void add_first(bp__curve *curve, const bp__class *class, const bp__measured *measured, double correction) {
    for (int i = 0; i < bp__lattice_points(class->lattice); i++) {
        int64_t sizes[BP__LATTICE_DIMENSIONS];
        bp__lattice_sizes(class->lattice, i, sizes);
        for (int j = 0; j < BP__FIRST_POINTS && isnan(curve->values[i]); j++) {
            if (measured->first[j] > 0 && memcmp(sizes, bp__first_sizes[j], sizeof sizes) == 0) {
                curve->values[i] = (float)(log2(measured->first[j]) + correction);
            }
        }
    }
}

/* Replaces times by ratios to the provider's estimates. */
static void divide_by_estimates(bp__curve *curve, const bp__class *class, const bp__calibrated *candidate) {
    for (int i = 0; i < bp__lattice_points(class->lattice); i++) {
        int64_t sizes[BP__LATTICE_DIMENSIONS];
        bp__lattice_sizes(class->lattice, i, sizes);
        const double estimate = candidate->estimate(candidate->owner, class, sizes);
        curve->values[i] = estimate > 0 ? curve->values[i] - (float)log2(estimate) : NAN;
    }
}

bool bp__curve_read(bp__curve *curve, const bp__class *class, const bp__calibrated *candidate,
                    const bp__measured *measured, const bp__measured *reference, const bp__measured *native,
                    const bp__curve *native_curve) {
    const double correction = speed_correction(reference, measured);
    const int points = bp__lattice_points(class->lattice);
    if (measured->failed || (measured->slow && !(native && native_curve->known))) {
        return false;
    }
    for (int i = 0; i < points; i++) {
        curve->values[i] =
            !measured->slow && measured->times[i] > 0 ? (float)(log2(measured->times[i]) + correction) : NAN;
    }
    add_first(curve, class, measured, correction);
    for (int i = 0; i < points; i++) {
        curve->measured[i] = !isnan(curve->values[i]);
    }
    for (int i = 0; i < points && measured->slow; i++) {
        if (!curve->measured[i]) {
            curve->values[i] =
                native_curve->values[i] + (float)(mean_ratio(measured->first, native->first) + correction);
        }
    }
    curve->ratios = !class->times;
    if (bp__class_is_base(class) && candidate->estimate) {
        divide_by_estimates(curve, class, candidate);
        curve->ratios = true;
    }
    return bp__lattice_fill(class->lattice, curve->values, curve->ratios ? 0 : 1);
}

static bool is_batch(bp__variant variant) {
    return variant == BP__VARIANT_BATCHED || variant == BP__VARIANT_INTERLEAVED;
}

/* Whether the variant is measured at whole products, whose time it has then. */
static bool is_whole(bp__variant variant) {
    return variant >= BP__VARIANT_UNEVEN;
}

bool bp__curve_make_factors(bp__calibration *calibration, int index, const bp__calibrated *candidate) {
    const bp__class *class = &bp__classes[index], *base = &bp__classes[bp__class_base(class->dtype)];
    bp__curve *curve = &calibration->curves[index];
    for (int i = 0; i < bp__lattice_points(class->lattice); i++) {
        int64_t sizes[BP__LATTICE_DIMENSIONS];
        uint32_t factors;
        bp__accuracy accuracy;
        bp__lattice_sizes(class->lattice, i, sizes);
        const bp__gemm_shape plain = {
            .dtype = class->dtype,
            .m = (double)sizes[0],
            .n = (double)sizes[1],
            .k = (double)sizes[2],
            .estimate = candidate->estimate ? candidate->estimate(candidate->owner, base, sizes) : 0,
            .items = is_batch((bp__variant) class->variant) ? BP__BATCH_ITEMS : 1,
            .threads = 1,
        };
        const double time = bp__calibration_predict(calibration, &plain, &factors, &accuracy);
        if (time <= 0) {
            return false;
        }
        curve->values[i] -= (float)log2(time);
    }
    return true;
}

/* ---- Prediction ---- */

/* Returns how much of a variant's factor applies: none for one item or thread, all for those that were measured. */
static double share_of(const bp__gemm_shape *product, bp__variant variant) {
    const double measured = is_batch(variant) ? BP__BATCH_ITEMS : bp__available_cpus();
    const double wanted = is_batch(variant) ? product->items : product->threads;
    if (!is_batch(variant) && variant != BP__VARIANT_THREADED) {
        return 1;
    }
    return wanted >= measured ? 1 : wanted <= 1 ? 0 : log2(wanted) / log2(measured);
}

/* Returns how many times as much work as measured the threads have: for more items than one, and for sizes beyond the
 * lattice. */
static double excess_of(const bp__gemm_shape *product, const bp__lattice *lattice, const double sizes[]) {
    double excess = product->divides_items ? product->items : 1;
    for (int d = 0; d < lattice->dimensions; d++) {
        const double last = (double)lattice->knot[d][lattice->count[d] - 1];
        excess *= sizes[d] > last ? sizes[d] / last : 1;
    }
    return excess;
}

/* The factor of threads has two parts: what starting and joining them takes, which does not grow with the work, and
 * each thread's part of the work. */
static double spread(double value, double excess) {
    const double factor = exp2(value), part = 1.0 / bp__available_cpus();
    return factor > part ? log2(part + (factor - part) / excess) : value;
}

static bool is_measured(const bp__curve *curve, int point) {
    return point >= 0 && curve->measured[point];
}

bool bp__calibration_knows(const bp__calibration *calibration, int class) {
    return calibration && class >= 0 && calibration->curves[class].known;
}

double bp__calibration_predict(const bp__calibration *calibration, const bp__gemm_shape *product, uint32_t *factors,
                               bp__accuracy *accuracy) {
    const double sizes[] = {product->m, product->n, product->k};
    const int base = bp__class_base(product->dtype);
    int point;
    *factors = 0;
    *accuracy = BP__ESTIMATED;
    const bp__curve *plain = calibration && base >= 0 ? &calibration->curves[base] : NULL;
    if (!plain || !plain->known || (plain->ratios && !(product->estimate > 0))) {
        return 0;
    }
    double value = bp__lattice_value(bp__classes[base].lattice, plain->values, sizes, plain->ratios ? 0 : 1, &point) +
                   (plain->ratios ? log2(product->estimate) : 0);
    bool measured = is_measured(plain, point);
    for (uint32_t left = product->variants; left != 0; left &= left - 1) {
        const int variant = __builtin_ctz(left), class = bp__class_find(bp__classes[base].op, product->dtype, variant);
        if (bp__calibration_knows(calibration, class)) {
            const bp__lattice *lattice = bp__classes[class].lattice;
            double factor = bp__lattice_value(lattice, calibration->curves[class].values, sizes, 0, &point);
            measured = measured && is_whole((bp__variant)variant) && is_measured(&calibration->curves[class], point);
            factor = variant == BP__VARIANT_THREADED ? spread(factor, excess_of(product, lattice, sizes)) : factor;
            value += share_of(product, (bp__variant)variant) * factor;
            *factors |= UINT32_C(1) << variant;
        } else {
            measured = false;
        }
    }
    *accuracy = measured ? BP__MEASURED : BP__INTERPOLATED;
    return exp2(value) * (product->items > 1 ? product->items : 1);
}

double bp__calibration_ratio(const bp__calibration *calibration, int class, double size, double items,
                             bp__accuracy *accuracy) {
    const double sizes[BP__LATTICE_DIMENSIONS] = {size > 1 ? size : 1, items > 1 ? items : 1, 1};
    int point;
    *accuracy = BP__ESTIMATED;
    if (!bp__calibration_knows(calibration, class)) {
        return 0;
    }
    const double value =
        bp__lattice_value(bp__classes[class].lattice, calibration->curves[class].values, sizes, 0, &point);
    *accuracy = is_measured(&calibration->curves[class], point) ? BP__MEASURED : BP__INTERPOLATED;
    return exp2(value);
}
