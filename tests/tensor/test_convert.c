/* test_convert.c - tests the 16-bit types bit by bit: every pattern, and values that a second rounding or a lost carry
 * would change. */
#include "tensor/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Computes the value of a pattern arithmetically, as an independent reference. */
static double value_of(uint16_t pattern, int fraction, int exponent_bits) {
    int bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = pattern >> fraction & ((1 << exponent_bits) - 1);
    int rest = pattern & ((1 << fraction) - 1);
    double sign = pattern >> 15 ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1) {
        return rest ? (double)NAN : sign * (double)INFINITY;
    }
    double scaled = exponent ? (double)(rest + (1 << fraction)) : (double)rest;
    return sign * ldexp(scaled, (exponent ? exponent : 1) - bias - fraction);
}

static void check_every_pattern(int fraction, int exponent, float (*widen)(uint16_t), uint16_t (*from_f32)(float),
                                uint16_t (*from_f64)(double)) {
    for (uint32_t p = 0; p <= 0xffff; p++) {
        uint16_t pattern = (uint16_t)p;
        float wide = widen(pattern);
        double expected = value_of(pattern, fraction, exponent);
        if (isnan(expected)) {
            uint16_t quiet = (uint16_t)(pattern | 1u << (fraction - 1));
            assert_true(isnan(wide));
            assert_int_equal(bits_of(wide) >> 22 & 1, 1);
            assert_int_equal(from_f32(wide), quiet);
            assert_int_equal(from_f64((double)wide), quiet);
        } else {
            assert_true((double)wide == expected && !signbit(wide) == !signbit(expected));
            assert_int_equal(from_f32(wide), pattern);
            assert_int_equal(from_f64((double)wide), pattern);
        }
    }
}

static void test_every_f16_pattern(void **state) {
    (void)state;
    check_every_pattern(10, 5, bp__f16_to_f32, bp__f32_to_f16, bp__f64_to_f16);
}

static void test_every_bf16_pattern(void **state) {
    (void)state;
    check_every_pattern(7, 8, bp__bf16_to_f32, bp__f32_to_bf16, bp__f64_to_bf16);
}

/* Between two neighbours: the middle rounds to the even one, one f64 step off the middle to the nearer one. */
static void check_ties(uint16_t last, float (*widen)(uint16_t), uint16_t (*from_f64)(double),
                       uint16_t (*from_f32)(float)) {
    for (uint32_t p = 0; p < last; p++) {
        uint16_t below = (uint16_t)p;
        uint16_t above = (uint16_t)(p + 1);
        double middle = ((double)widen(below) + (double)widen(above)) / 2;
        uint16_t even = below & 1 ? above : below;
        assert_int_equal(from_f64(middle), even);
        assert_int_equal(from_f64(-middle), even | 0x8000);
        assert_int_equal(from_f64(nextafter(middle, 0.0)), below);
        assert_int_equal(from_f64(nextafter(middle, (double)INFINITY)), above);
        if ((double)(float)middle == middle) {
            assert_int_equal(from_f32((float)middle), even);
            assert_int_equal(from_f32(nextafterf((float)middle, 0.0f)), below);
            assert_int_equal(from_f32(nextafterf((float)middle, INFINITY)), above);
        }
    }
}

static void test_ties(void **state) {
    (void)state;
    check_ties(0x7bff, bp__f16_to_f32, bp__f64_to_f16, bp__f32_to_f16);
    check_ties(0x7f7f, bp__bf16_to_f32, bp__f64_to_bf16, bp__f32_to_bf16);
}

static void test_one_rounding(void **state) {
    (void)state;
    /* 1 + half a step + a little: f32 would round the little away, and the tie would then round down to 1. */
    double f16_trap = 1.0 + ldexp(1.0, -11) + ldexp(1.0, -40);
    assert_int_equal(bp__f32_to_f16((float)f16_trap), 0x3c00);
    assert_int_equal(bp__f64_to_f16(f16_trap), 0x3c01);
    double bf16_trap = 1.0 + ldexp(1.0, -8) + ldexp(1.0, -40);
    assert_int_equal(bp__f32_to_bf16((float)bf16_trap), 0x3f80);
    assert_int_equal(bp__f64_to_bf16(bf16_trap), 0x3f81);
    /* As above, below the smallest denormal. */
    assert_int_equal(bp__f64_to_f16(ldexp(1.0, -25)), 0);
    assert_int_equal(bp__f64_to_f16(ldexp(1.0 + ldexp(1.0, -52), -25)), 1);
    assert_int_equal(bp__f64_to_bf16(ldexp(1.0, -134)), 0);
    assert_int_equal(bp__f64_to_bf16(ldexp(1.0 + ldexp(1.0, -52), -134)), 1);
}

static void test_ends_of_the_range(void **state) {
    (void)state;
    assert_int_equal(bp__f64_to_f16(65504.0), 0x7bff);
    assert_int_equal(bp__f64_to_f16(65519.999999), 0x7bff);
    assert_int_equal(bp__f64_to_f16(65520.0), 0x7c00); /* the tie with the first value above the range */
    assert_int_equal(bp__f32_to_f16(-65520.0f), 0xfc00);
    assert_int_equal(bp__f64_to_f16(1e300), 0x7c00);
    assert_int_equal(bp__f32_to_bf16(3.4028235e38f), 0x7f80);
    assert_int_equal(bp__f64_to_bf16(-1e300), 0xff80);
    assert_int_equal(bp__f64_to_f16(5e-324), 0);
    assert_int_equal(bp__f64_to_f16(-5e-324), 0x8000);
    assert_int_equal(bp__f64_to_f16(-1e-10), 0x8000);
    assert_int_equal(bp__f64_to_bf16(-1e-45), 0x8000);
    assert_int_equal(bp__f64_to_f16(-(double)INFINITY), 0xfc00);
    assert_int_equal(bp__f32_to_bf16(INFINITY), 0x7f80);
}

static void test_nan_payload_never_becomes_infinity(void **state) {
    (void)state;
    uint32_t low_payload = 0x7f800001u;
    uint64_t low_payload64 = UINT64_C(0xfff0000000000001);
    float nan32;
    double nan64;
    memcpy(&nan32, &low_payload, sizeof nan32);
    memcpy(&nan64, &low_payload64, sizeof nan64);
    assert_int_equal(bp__f32_to_bf16(nan32), 0x7fc0);
    assert_int_equal(bp__f64_to_f16(nan64), 0xfe00);
    assert_int_equal(bp__f64_to_bf16(nan64), 0xffc0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_f16_pattern),
        cmocka_unit_test(test_every_bf16_pattern),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_one_rounding),
        cmocka_unit_test(test_ends_of_the_range),
        cmocka_unit_test(test_nan_payload_never_becomes_infinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
