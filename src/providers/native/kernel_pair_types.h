/* kernel_pair_types.h - template: vectors of pairs, in which the half of an even k is the lower one. Parameters:
 * VECTOR_BYTES, and S_LANES (pairs that are packed at once for S).
 */
typedef uint32_t pairs_v __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t pairs_s __attribute__((vector_size(4 * S_LANES)));
typedef uint32_t loose_v __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef uint32_t loose_s __attribute__((vector_size(4 * S_LANES), aligned(4), may_alias));
