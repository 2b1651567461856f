/* test_half.c - compares conversions of f16 by vectors of integers with conversions of single numbers: all f16, and f32
 * near each power of two and each limit, of both signs. Processors with conversions of their own do not use these
 * vectors.
 */
#define VECTOR_BYTES 16
#include "native.h"

#include "providers/native/kernel_vector.h"

#include "providers/native/half.h"
#include "providers/native/kernel_convert.h"

#define LANES 4

static void widens_all(void **state) {
    (void)state;
    for (uint32_t first = 0; first < 65536; first += LANES) {
        uint16_t half[LANES];
        for (uint32_t l = 0; l < LANES; l++) {
            half[l] = (uint16_t)(first + l);
        }
        const vector_f32 x = F16_LOAD_V(half);
        for (int l = 0; l < LANES; l++) {
            assert_int_equal(bits_of(x[l]), bits_of(widen_f16(half[l])));
        }
    }
}

static void check_narrow(uint32_t bits) {
    vector_f32 x;
    uint16_t half[LANES];
    for (uint32_t l = 0; l < LANES; l++) {
        x[l] = float_of(bits + l * 0x80000000u / 2); /* both signs, and another exponent next to each */
    }
    store_vector_f16(half, x);
    for (int l = 0; l < LANES; l++) {
        assert_int_equal(half[l], narrow_f16(x[l]));
    }
}

static void narrows(void **state) {
    (void)state;
    for (uint32_t exponent = 0; exponent < 256; exponent++) {
        for (uint32_t upper = 0; upper < 1024; upper++) {
            static const uint32_t lower[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x1fff}; /* around the middle of two f16 */
            for (int i = 0; i < (int)(sizeof lower / sizeof lower[0]); i++) {
                check_narrow(exponent << 23 | upper << 13 | lower[i]);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(widens_all), cmocka_unit_test(narrows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
