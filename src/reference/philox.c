/* philox.c - computes blocks of Philox 4x32-10. */
#include "reference/philox.h"

/* One round of Philox 4x32. */
static void mix(uint32_t c[4], uint32_t low_key, uint32_t high_key) {
    const uint64_t left = UINT64_C(0xD2511F53) * c[0], right = UINT64_C(0xCD9E8D57) * c[2];
    const uint32_t next[] = {(uint32_t)(right >> 32) ^ c[1] ^ low_key, (uint32_t)right,
                             (uint32_t)(left >> 32) ^ c[3] ^ high_key, (uint32_t)left};
    for (int i = 0; i < 4; i++) {
        c[i] = next[i];
    }
}

void reference_philox(uint64_t low, uint64_t high, uint64_t key, uint32_t words[4]) {
    words[0] = (uint32_t)low;
    words[1] = (uint32_t)(low >> 32);
    words[2] = (uint32_t)high;
    words[3] = (uint32_t)(high >> 32);
    for (uint32_t round = 0; round < 10; round++) {
        mix(words, (uint32_t)key + round * 0x9E3779B9u, (uint32_t)(key >> 32) + round * 0xBB67AE85u);
    }
}
