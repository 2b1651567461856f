/* test_twiddle.c - tests that the roots of unity in plans are correct to half a unit in the last place, however small
 * they are. */
#include "fft_case.h"

#include "providers/native/fft/twiddle.h"

#include <math.h>

#define TURN 6.283185307179586476925286766559005768L

/* Returns e^(-2 pi i t / n) from functions of the C library, with the angle reduced to an eighth of a turn. */
static wide root_of(int64_t t, int64_t n) {
    const int64_t eighth = (8 * t + n) / (2 * n) % 4, rest = 4 * t - (8 * t + n) / (2 * n) * n;
    const long double angle = TURN * (long double)rest / (4 * (long double)n);
    static const long double quarter_turns[4][2] = {{1, 0}, {0, -1}, {-1, 0}, {0, 1}};
    return (cosl(angle) - sinl(angle) * (wide)I) * (quarter_turns[eighth][0] + quarter_turns[eighth][1] * (wide)I);
}

/* Returns the error of `got` in units of its last place. */
static double units(double got, long double value) {
    const double size = fabs(got);
    return (double)(fabsl((long double)got - value) / ((long double)nextafter(size, HUGE_VAL) - (long double)size));
}

static void test_half_ulp_accuracy(void **state) {
    (void)state;
    static const int64_t lengths[] = {1,  2,   3,    4,    5,     7,     8,     12,      16,
                                      61, 100, 1000, 4096, 10007, 30030, 65536, 1 << 20, 20014};
    double worst = 0;
    for (int i = 0; i < COUNT(lengths); i++) {
        const int64_t n = lengths[i];
        bp__fft_roots roots;
        assert_true(bp__fft_roots_open(test_plain_host(), n, &roots));
        for (int64_t t = 0; t < n; t++) {
            const bp__fft_root root = bp__fft_root_at(&roots, t);
            double pair[2];
            float narrow[2];
            bp__fft_put(pair, true, 0, root);
            bp__fft_put(narrow, false, 0, root);
            const wide expected = root_of(t, n);
            const double re = units(pair[0], creall(expected)), im = units(pair[1], cimagl(expected));
            worst = fmax(worst, fmax(re, im));
            /* The rounding of the last bits of long double adds to half a unit. */
            assert_true(re <= 0.502 && im <= 0.502);
            assert_true(fabsl((long double)narrow[0] - creall(expected)) <=
                        0.5001L * (long double)fabsf(narrow[0]) * 1.2e-7L);
            assert_true(fabsl((long double)narrow[1] - cimagl(expected)) <=
                        0.5001L * (long double)fabsf(narrow[1]) * 1.2e-7L);
        }
        bp__fft_roots_close(test_plain_host(), &roots);
    }
    print_message("largest error: %.4f units\n", worst);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_half_ulp_accuracy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
