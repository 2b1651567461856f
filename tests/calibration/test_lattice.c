/* test_lattice.c - tests the sizes that are measured, missing values, and interpolation. */
#include "calibration/classes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The time is a product of powers of the sizes, for which interpolation of logarithms is exact. */
static double power_of(const double sizes[3]) {
    return 3 + 0.5 * log2(sizes[0]) + 0.25 * log2(sizes[1]) + log2(sizes[2]);
}

static void fill_by_power(const bp__lattice *lattice, float *values) {
    for (int point = 0; point < bp__lattice_points(lattice); point++) {
        int64_t sizes[3];
        bp__lattice_sizes(lattice, point, sizes);
        values[point] = (float)power_of((double[]){(double)sizes[0], (double)sizes[1], (double)sizes[2]});
    }
}

static void order_has_each_measured_point_once(void **state) {
    (void)state;
    for (int class = 0; class < BP__CLASSES; class ++) {
        const bp__lattice *lattice = bp__classes[class].lattice;
        int order[BP__LATTICE_POINTS], seen[BP__LATTICE_POINTS] = {0}, measured = 0;
        const int count = bp__lattice_order(lattice, order);
        assert_in_range(bp__lattice_points(lattice), 1, BP__LATTICE_POINTS);
        for (int i = 0; i < count; i++) {
            assert_int_equal(seen[order[i]]++, 0);
            assert_true(bp__lattice_is_measured(lattice, order[i]));
        }
        for (int point = 0; point < bp__lattice_points(lattice); point++) {
            measured += bp__lattice_is_measured(lattice, point);
        }
        assert_int_equal(count, measured);
        assert_int_equal(bp__class_named(bp__classes[class].name), class);
        assert_int_equal(bp__class_find(bp__classes[class].op, bp__classes[class].dtype, bp__classes[class].variant),
                         class);
    }
    assert_int_equal(bp__class_named("gemm"), -1);
}

static void first_points_are_measured_points(void **state) {
    (void)state;
    const bp__lattice *lattice = bp__classes[bp__class_base(BP_F32)].lattice;
    for (int i = 0; i < BP__FIRST_POINTS; i++) {
        int matches = 0;
        for (int point = 0; point < bp__lattice_points(lattice); point++) {
            int64_t sizes[3];
            bp__lattice_sizes(lattice, point, sizes);
            matches += memcmp(sizes, bp__first_sizes[i], sizeof sizes) == 0 && bp__lattice_is_measured(lattice, point);
        }
        assert_int_equal(matches, 1);
    }
}

static void values_between_points_follow_a_power(void **state) {
    (void)state;
    const bp__lattice *lattice = bp__classes[0].lattice;
    float values[BP__LATTICE_POINTS];
    fill_by_power(lattice, values);
    static const double sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {1000, 2, 33}, {17, 900, 1}, {64, 64, 64}, {1024, 1, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int point;
        assert_true(fabs(bp__lattice_value(lattice, values, sizes[i], 1, &point) - power_of(sizes[i])) < 1e-5);
        assert_int_equal(point >= 0, i == 0 || i >= 4);
        if (point >= 0) {
            int64_t knots[BP__LATTICE_DIMENSIONS];
            bp__lattice_sizes(lattice, point, knots);
            assert_true((double)knots[0] == sizes[i][0] && (double)knots[1] == sizes[i][1] &&
                        (double)knots[2] == sizes[i][2]);
        }
    }
}

static void values_beyond_the_last_knot_grow(void **state) {
    (void)state;
    const bp__lattice *lattice = bp__classes[0].lattice;
    float values[BP__LATTICE_POINTS];
    int point;
    fill_by_power(lattice, values);
    const double last[] = {1024, 16, 16}, beyond[] = {4096, 16, 16};
    const double known = bp__lattice_value(lattice, values, last, 1, &point);
    assert_true(fabs(bp__lattice_value(lattice, values, beyond, 1, &point) - known - 2) < 1e-6);
    assert_int_equal(point, -1);
    assert_true(fabs(bp__lattice_value(lattice, values, beyond, 0, &point) - known) < 1e-6);
}

static void missing_values_are_completed(void **state) {
    (void)state;
    const bp__lattice *lattice = bp__classes[0].lattice;
    float values[BP__LATTICE_POINTS], complete[BP__LATTICE_POINTS];
    fill_by_power(lattice, complete);
    for (int step = 2; step < 60; step += 3) { /* every step-th point is known */
        for (int point = 0; point < bp__lattice_points(lattice); point++) {
            values[point] = point % step == 0 ? complete[point] : NAN;
        }
        assert_true(bp__lattice_fill(lattice, values, 1));
        for (int point = 0; point < bp__lattice_points(lattice); point++) {
            assert_true(isfinite(values[point]));
            assert_true(point % step != 0 || values[point] == complete[point]);
        }
    }
}

/* Cubes too large to measure have the rate of the largest measured cube, not the rate of a thin product. */
static void large_cubes_continue_cubes(void **state) {
    (void)state;
    const bp__lattice *lattice = bp__classes[0].lattice;
    float values[BP__LATTICE_POINTS];
    int point;
    for (int i = 0; i < bp__lattice_points(lattice); i++) {
        int64_t s[3];
        bp__lattice_sizes(lattice, i, s);
        const int64_t least = s[0] < s[1] ? (s[0] < s[2] ? s[0] : s[2]) : (s[1] < s[2] ? s[1] : s[2]);
        const double work = (double)(s[0] * s[1] * s[2]) * (least < 16 ? 50 : 1); /* thin products are slow */
        values[i] = bp__lattice_is_measured(lattice, i) ? (float)log2(work) : NAN;
    }
    assert_true(bp__lattice_fill(lattice, values, 1));
    const double cube[] = {1024, 1024, 1024};
    assert_true(fabs(bp__lattice_value(lattice, values, cube, 1, &point) - 30) < 1e-3);
}

static void nothing_known_is_reported(void **state) {
    (void)state;
    const bp__lattice *lattice = bp__classes[0].lattice;
    float values[BP__LATTICE_POINTS];
    for (int point = 0; point < bp__lattice_points(lattice); point++) {
        values[point] = NAN;
    }
    assert_false(bp__lattice_fill(lattice, values, 1));
    values[0] = 5;
    assert_true(bp__lattice_fill(lattice, values, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_has_each_measured_point_once),
        cmocka_unit_test(first_points_are_measured_points),
        cmocka_unit_test(values_between_points_follow_a_power),
        cmocka_unit_test(values_beyond_the_last_knot_grow),
        cmocka_unit_test(missing_values_are_completed),
        cmocka_unit_test(large_cubes_continue_cubes),
        cmocka_unit_test(nothing_known_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
