/* lattice.c - orders, completes and interpolates the points of a lattice. */
#include "calibration/lattice.h"

#include <math.h>
#include <string.h>

/* Points are numbered with the last dimension varying fastest. */
static int stride_of(const bp__lattice *lattice, int dimension) {
    int stride = 1;
    for (int d = lattice->dimensions - 1; d > dimension; d--) {
        stride *= lattice->count[d];
    }
    return stride;
}

static int knot_of(const bp__lattice *lattice, int point, int dimension) {
    return point / stride_of(lattice, dimension) % lattice->count[dimension];
}

int bp__lattice_points(const bp__lattice *lattice) {
    return stride_of(lattice, 0) * lattice->count[0];
}

void bp__lattice_sizes(const bp__lattice *lattice, int point, int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    for (int d = 0; d < BP__LATTICE_DIMENSIONS; d++) {
        sizes[d] = d < lattice->dimensions ? lattice->knot[d][knot_of(lattice, point, d)] : 1;
    }
}

bool bp__lattice_is_measured(const bp__lattice *lattice, int point) {
    int64_t sizes[BP__LATTICE_DIMENSIONS];
    double product = 1;
    bp__lattice_sizes(lattice, point, sizes);
    for (int d = 0; d < lattice->dimensions; d++) {
        product *= (double)sizes[d];
    }
    return product <= lattice->most;
}

/* Returns 0 for the points whose knots are each the first, the middle or the last one; 1 for those with every other
 * knot; 2 for the rest. */
static int level_of(const bp__lattice *lattice, int point) {
    int level = 0;
    for (int d = 0; d < lattice->dimensions; d++) {
        const int knot = knot_of(lattice, point, d), last = lattice->count[d] - 1;
        const int own = knot == 0 || knot == last || knot == last / 2 ? 0 : knot % 2 == 0 ? 1 : 2;
        level = own > level ? own : level;
    }
    return level;
}

int bp__lattice_order(const bp__lattice *lattice, int order[BP__LATTICE_POINTS]) {
    int count = 0;
    for (int level = 0; level <= 2; level++) {
        for (int point = 0; point < bp__lattice_points(lattice); point++) {
            if (level_of(lattice, point) == level && bp__lattice_is_measured(lattice, point)) {
                order[count++] = point;
            }
        }
    }
    return count;
}

/* ---- Missing values ---- */

/* Looks along one dimension for the nearest known value on one side. Returns its knot, or -1. */
static int known_knot(const bp__lattice *lattice, const float *values, int point, int d, int step) {
    const int stride = stride_of(lattice, d);
    const int own = knot_of(lattice, point, d);
    for (int knot = own + step; knot >= 0 && knot < lattice->count[d]; knot += step) {
        if (!isnan(values[point + (knot - own) * stride])) {
            return knot;
        }
    }
    return -1;
}

static double value_at(const bp__lattice *lattice, const float *values, int point, int d, int knot) {
    return (double)values[point + (knot - knot_of(lattice, point, d)) * stride_of(lattice, d)];
}

static double log_of(const bp__lattice *lattice, int d, int knot) {
    return log2((double)lattice->knot[d][knot]);
}

/* Interpolates between known neighbours in the dimension where they are nearest. Returns NaN if there are none. */
static float interpolate(const bp__lattice *lattice, const float *values, int point) {
    double nearest = INFINITY, value = NAN;
    for (int d = 0; d < lattice->dimensions; d++) {
        const int low = known_knot(lattice, values, point, d, -1), high = known_knot(lattice, values, point, d, 1);
        if (low < 0 || high < 0) {
            continue;
        }
        const double from = log_of(lattice, d, low), to = log_of(lattice, d, high);
        if (to - from < nearest) {
            const double part = (log_of(lattice, d, knot_of(lattice, point, d)) - from) / (to - from);
            nearest = to - from;
            value = value_at(lattice, values, point, d, low) * (1 - part) +
                    value_at(lattice, values, point, d, high) * part;
        }
    }
    return (float)value;
}

/* Continues the values of one side, first along the largest size. With `adjacent` only from the next knot, so that a
 * cube grows from a smaller cube and not from a thin product. Returns NaN if there are none. */
static float extrapolate(const bp__lattice *lattice, const float *values, int point, double growth, bool adjacent) {
    double largest = -1, value = NAN;
    for (int step = -1; step <= 1 && isnan(value); step += 2) {
        for (int d = 0; d < lattice->dimensions; d++) {
            const int here = knot_of(lattice, point, d), knot = known_knot(lattice, values, point, d, step);
            const double own = log_of(lattice, d, here);
            if (knot >= 0 && own > largest && (!adjacent || knot == here + step)) {
                largest = own;
                value = value_at(lattice, values, point, d, knot) + growth * (own - log_of(lattice, d, knot));
            }
        }
    }
    return (float)value;
}

static bool all_known(const float *values, int count) {
    for (int i = 0; i < count; i++) {
        if (isnan(values[i])) {
            return false;
        }
    }
    return true;
}

enum { BETWEEN, ADJACENT, ANY, WAYS };

/* Completes the points that one way reaches. Returns whether there were any. */
static bool complete(const bp__lattice *lattice, float *values, double growth, int way) {
    const int count = bp__lattice_points(lattice);
    float completed[BP__LATTICE_POINTS];
    bool changed = false;
    memcpy(completed, values, (size_t)count * sizeof *values);
    for (int point = 0; point < count; point++) {
        if (isnan(values[point])) {
            completed[point] = way == BETWEEN ? interpolate(lattice, values, point)
                                              : extrapolate(lattice, values, point, growth, way == ADJACENT);
            changed |= !isnan(completed[point]);
        }
    }
    memcpy(values, completed, (size_t)count * sizeof *values);
    return changed;
}

bool bp__lattice_fill(const bp__lattice *lattice, float *values, double growth) {
    for (int way = BETWEEN; way < WAYS; way++) {
        while (!all_known(values, bp__lattice_points(lattice)) && complete(lattice, values, growth, way)) {
        }
    }
    return all_known(values, bp__lattice_points(lattice));
}

/* ---- Interpolation ---- */

double bp__lattice_value(const bp__lattice *lattice, const float *values, const double sizes[BP__LATTICE_DIMENSIONS],
                         double growth, int *point) {
    double weight[BP__LATTICE_DIMENSIONS], extra = 0, sum = 0;
    int corner = 0, nearest = 0;
    bool exact = true;
    for (int d = 0; d < lattice->dimensions; d++) {
        const int last = lattice->count[d] - 1;
        int knot = 0;
        while (knot < last - 1 && sizes[d] >= (double)lattice->knot[d][knot + 1]) {
            knot++;
        }
        const double from = log_of(lattice, d, knot), to = log_of(lattice, d, knot + 1), own = log2(sizes[d]);
        const double part = (own - from) / (to - from);
        weight[d] = part < 0 ? 0 : part > 1 ? 1 : part;
        extra += part > 1 ? growth * (own - to) : 0;
        exact = exact && (part == 0 || part == 1);
        corner += knot * stride_of(lattice, d);
        nearest += (knot + (part == 1)) * stride_of(lattice, d);
    }
    for (int c = 0; c < 1 << lattice->dimensions; c++) {
        double share = 1;
        int at = corner;
        for (int d = 0; d < lattice->dimensions; d++) {
            const bool upper = (c >> d & 1) != 0;
            share *= upper ? weight[d] : 1 - weight[d];
            at += upper ? stride_of(lattice, d) : 0;
        }
        sum += share > 0 ? share * (double)values[at] : 0;
    }
    *point = exact ? nearest : -1;
    return sum + extra;
}
