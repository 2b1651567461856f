/* far_angle.h - reduces large angles to quarter turns.
 *
 * The product of a number m 2^e and 2 / pi is computed with the bits of 2 / pi that count: bits before them are whole
 * turns. It keeps 126 bits behind the point. No f64 is closer to a multiple of pi / 2 than 2^-62 of it, so at least 64
 * of these bits are left. */
#ifndef BP_NATIVE_FAR_ANGLE_H
#define BP_NATIVE_FAR_ANGLE_H

#include <stdbool.h>
#include <stdint.h>

/* An angle of `quarters` quarter turns and a rest of at most half a quarter turn: size 2^-scale, in radians, with the
 * sign. Whole turns are left out. */
typedef struct far_angle {
    uint64_t size;
    int scale, quarters;
    bool negative;
} far_angle;

static inline uint64_t far_high(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)a * b >> 64);
}

/* Reduces m 2^e, with m < 2^53 and e from -62 to 971. */
__attribute__((noinline, unused)) static far_angle far_angle_of(uint64_t m, int e) {
    /* The bits of 2 / pi behind the point, with a word of zeros before them. */
    static const uint64_t two_over_pi[] = {0,
                                           0xa2f9836e4e441529,
                                           0xfc2757d1f534ddc0,
                                           0xdb6295993c439041,
                                           0xfe5163abdebbc561,
                                           0xb7246e3a424dd2e0,
                                           0x06492eea09d1921c,
                                           0xfe1deb1cb129a73e,
                                           0xe88235f52ebb4484,
                                           0xe99c7026b45f7e41,
                                           0x3991d639835339f4,
                                           0x9c845f8bbdf9283b,
                                           0x1ff897ffde05980f,
                                           0xef2f118b5a0a6d1f,
                                           0x6d367ecf27cb09b7,
                                           0x4f463f669e5fea2d,
                                           0x7527bac7ebe5f17b,
                                           0x3d0739f78a5292ea,
                                           0x6bfb5fb11f8d5d08,
                                           0x56033046fc7b6bab,
                                           0xf0cfbc209af4361d};
    uint64_t window[3];
    const int first = e + 62, word = first / 64, bit = first % 64; /* the bit that is 2 quarter turns */
    for (int i = 0; i < 3; i++) {
        const uint64_t *at = two_over_pi + word + i;
        window[i] = bit ? at[0] << bit | at[1] >> (64 - bit) : at[0];
    }
    uint64_t low = m * window[1], high = m * window[0] + far_high(m, window[1]);
    const uint64_t carried = far_high(m, window[2]);
    low += carried;
    high += low < carried;
    far_angle angle = {.quarters = (int)((high + (UINT64_C(1) << 61)) >> 62 & 3)};
    high = high << 2 | low >> 62; /* the fraction of a quarter turn, in two's complement */
    low <<= 2;
    angle.negative = high >> 63;
    if (angle.negative) {
        low = 0 - low;
        high = ~high + (low == 0);
    }
    const int zeros = __builtin_clzll(high);
    high = zeros ? high << zeros | low >> (64 - zeros) : high;
    angle.size = far_high(high, 0xc90fdaa22168c235); /* pi / 2 times 2^63 */
    angle.scale = 63 + zeros;
    return angle;
}

#endif
