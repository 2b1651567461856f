/* hash.c - 64-bit hashes for in-memory tables and cache keys: folded 128-bit products, eight bytes at a time. */
#include "base/base.h"

#include <string.h>

static uint64_t fold(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t bp__hash(const void *bytes, size_t size) {
    const uint64_t odd_a = 0x9E3779B97F4A7C15u, odd_b = 0xD6E8FEB86659FD93u;
    const unsigned char *at = bytes;
    uint64_t state = fold((uint64_t)size ^ odd_a, odd_b);
    uint64_t word;
    for (size_t left = size; left >= 8; left -= 8, at += 8) {
        memcpy(&word, at, 8);
        state = fold(state ^ word, odd_a) + odd_b;
    }
    if (size % 8 > 0) {
        word = 0;
        memcpy(&word, at, size % 8);
        state = fold(state ^ word, odd_a) + odd_b;
    }
    return fold(state ^ (state >> 29), odd_b);
}
