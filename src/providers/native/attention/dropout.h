/* dropout.h - computes the random numbers of dropout in attention: Philox 4x32 with 10 rounds (Salmon and others,
 * "Parallel random numbers: as easy as 1, 2, 3", 2011).
 *
 * Number j of a row is word j modulo 4 of the block whose counter has the words {j / 4 (64 bits), row (64 bits)}, low
 * words first; the key is the seed. So numbers depend on seed, row and key position only. */
#ifndef BP_NATIVE_ATTENTION_DROPOUT_H
#define BP_NATIVE_ATTENTION_DROPOUT_H

#include <stdint.h>

static inline void bp__dropout_numbers(uint64_t seed, uint64_t row, uint64_t block, uint32_t number[4]) {
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)row, (uint32_t)(row >> 32)};
    for (int round = 0; round < 10; round++) {
        const uint64_t first = UINT64_C(0xD2511F53) * c[0], second = UINT64_C(0xCD9E8D57) * c[2];
        c[0] = (uint32_t)(second >> 32) ^ c[1] ^ key[0];
        c[1] = (uint32_t)second;
        c[2] = (uint32_t)(first >> 32) ^ c[3] ^ key[1];
        c[3] = (uint32_t)first;
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++) {
        number[i] = c[i];
    }
}

#endif
