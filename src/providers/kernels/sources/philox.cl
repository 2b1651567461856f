/* philox.cl - computes a block of random numbers: Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, 2011). */

/* Replaces the counter by the four words of its block, the first word first. */
static inline void philox(uint4 *c, uint2 key) {
    for (int round = 0; round < 10; round++) {
        const ulong first = (ulong)0xD2511F53u * c->x, second = (ulong)0xCD9E8D57u * c->z;
        *c = MAKE4(uint4, (uint)(second >> 32) ^ c->y ^ key.x, (uint)second, (uint)(first >> 32) ^ c->w ^ key.y,
                     (uint)first);
        key += MAKE2(uint2, 0x9E3779B9u, 0xBB67AE85u);
    }
}
