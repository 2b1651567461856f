/* philox.h - computes random numbers: Philox 4x32 with 10 rounds (Salmon and others, "Parallel random numbers: as easy
 * as 1, 2, 3", 2011).
 *
 * A block of four words is a function of a counter of 128 bits and a key of 64. Dropout in attention and random numbers
 * use it; their headers in include/backplane say which counters they take. */
#ifndef BP_NATIVE_PHILOX_H
#define BP_NATIVE_PHILOX_H

#include <stdint.h>

static inline __attribute__((always_inline)) void bp__philox(uint64_t seed, uint64_t low, uint64_t high,
                                                             uint32_t number[4]) {
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t c[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
#if defined(__clang__)
    _Pragma("unroll")
#else
    _Pragma("GCC unroll 10")
#endif
        for (int round = 0; round < 10; round++) {
        const uint64_t first = UINT64_C(0xD2511F53) * c[0], second = UINT64_C(0xCD9E8D57) * c[2];
        c[0] = (uint32_t)(second >> 32) ^ c[1] ^ key[0];
        c[1] = (uint32_t)second;
        c[2] = (uint32_t)(first >> 32) ^ c[3] ^ key[1];
        c[3] = (uint32_t)first;
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    number[0] = c[0];
    number[1] = c[1];
    number[2] = c[2];
    number[3] = c[3];
}

#endif
