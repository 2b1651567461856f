/* kernel_bytes.h - loads 8-bit integers as pairs of 16-bit numbers with neighbouring k, the lower k in the lower half.
 * Included after kernel_vector.h. For `count` pairs (4, 8 or 16) of the type i8 or u8:
 *     columns_<count>_<type>(even, odd)   from two rows: contiguous across, one pair for each column
 *     row_<count>_<type>(from)            from one row: contiguous along k, 2 * count elements
 * The processors for which vectors are compiled are little-endian.
 */
#ifndef BP_NATIVE_KERNEL_BYTES_H
#define BP_NATIVE_KERNEL_BYTES_H

typedef uint8_t bytes_16 __attribute__((vector_size(16)));
typedef int8_t bytes_i8 __attribute__((vector_size(16)));
typedef int16_t shorts_8 __attribute__((vector_size(16)));
typedef int16_t shorts_16 __attribute__((vector_size(32)));
typedef int16_t shorts_32 __attribute__((vector_size(64)));
typedef uint64_t words_2 __attribute__((vector_size(16)));
typedef uint32_t pairs_4 __attribute__((vector_size(16)));
typedef uint32_t pairs_8 __attribute__((vector_size(32)));
typedef uint32_t pairs_16 __attribute__((vector_size(64)));

/* Loads 16, 8 or 4 bytes; the others are 0. */
INLINE bytes_16 load_bytes_16(const void *from) {
    bytes_16 x;
    memcpy(&x, from, sizeof x);
    return x;
}
INLINE bytes_16 load_bytes_8(const void *from) {
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return (bytes_16)(words_2){word, 0};
}
INLINE bytes_16 load_bytes_4(const void *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return (bytes_16)(words_2){word, 0};
}

/* Loads `count` bytes, at most 16; the others are 0. Memory beyond them is not accessed. */
#if defined(__AVX512BW__) && defined(__AVX512VL__)
INLINE bytes_16 load_bytes_part(const void *from, int count) {
    return (bytes_16)_mm_maskz_loadu_epi8((__mmask16)((1u << count) - 1u), from);
}
#else
INLINE bytes_16 load_bytes_part(const void *from, int count) {
    const uint8_t *bytes = from;
    uint64_t low, high = 0;
    if (count >= 8) { /* two words that overlap */
        memcpy(&low, bytes, sizeof low);
        memcpy(&high, bytes + count - 8, sizeof high);
        high = count == 8 ? 0 : high >> 8 * (16 - count);
    } else if (count >= 4) {
        uint32_t first, last;
        memcpy(&first, bytes, sizeof first);
        memcpy(&last, bytes + count - 4, sizeof last);
        low = first | (uint64_t)last << 8 * (count - 4);
    } else if (count > 0) { /* the first, the middle and the last byte, which may be the same */
        low = bytes[0] | (uint64_t)bytes[count / 2] << 8 * (count / 2) | (uint64_t)bytes[count - 1] << 8 * (count - 1);
    } else {
        low = 0;
    }
    return (bytes_16)(words_2){low, high};
}
#endif

#define INTERLEAVE(lane, first) ((lane) / 2 + (first) + ((lane)&1) * 16)
#define SAME_LANE(lane, first) ((lane) + (first))

INLINE bytes_16 interleave_low(bytes_16 even, bytes_16 odd) {
    return __builtin_shufflevector(even, odd, LANES_16(INTERLEAVE, 0));
}
INLINE bytes_16 interleave_high(bytes_16 even, bytes_16 odd) {
    return __builtin_shufflevector(even, odd, LANES_16(INTERLEAVE, 8));
}
INLINE pairs_4 lower_pairs(shorts_16 x) {
    return (pairs_4)(shorts_8)__builtin_shufflevector(x, x, LANES_8(SAME_LANE, 0));
}
INLINE pairs_16 join_pairs(shorts_16 low, shorts_16 high) {
    return (pairs_16)(shorts_32)__builtin_shufflevector(low, high, LANES_16(SAME_LANE, 0), LANES_16(SAME_LANE, 16));
}

/* gcc 12 converts the halves of the vector, and joins them. */
#if defined(__AVX2__)
INLINE shorts_16 widen_i8(bytes_16 x) {
    return (shorts_16)_mm256_cvtepi8_epi16((__m128i)x);
}
INLINE shorts_16 widen_u8(bytes_16 x) {
    return (shorts_16)_mm256_cvtepu8_epi16((__m128i)x);
}
#else
INLINE shorts_16 widen_i8(bytes_16 x) {
    return __builtin_convertvector((bytes_i8)x, shorts_16);
}
INLINE shorts_16 widen_u8(bytes_16 x) {
    return __builtin_convertvector(x, shorts_16);
}
#endif

#define BYTES_OF(type)                                                                                                 \
    INLINE pairs_4 columns_4_##type(bytes_16 even, bytes_16 odd) {                                                     \
        return lower_pairs(widen_##type(interleave_low(even, odd)));                                                   \
    }                                                                                                                  \
    INLINE pairs_8 columns_8_##type(bytes_16 even, bytes_16 odd) {                                                     \
        return (pairs_8)widen_##type(interleave_low(even, odd));                                                       \
    }                                                                                                                  \
    INLINE pairs_16 columns_16_##type(bytes_16 even, bytes_16 odd) {                                                   \
        return join_pairs(widen_##type(interleave_low(even, odd)), widen_##type(interleave_high(even, odd)));          \
    }                                                                                                                  \
    INLINE pairs_4 row_4_##type(const void *from) {                                                                    \
        return lower_pairs(widen_##type(load_bytes_8(from)));                                                          \
    }                                                                                                                  \
    INLINE pairs_8 row_8_##type(const void *from) {                                                                    \
        return (pairs_8)widen_##type(load_bytes_16(from));                                                             \
    }                                                                                                                  \
    INLINE pairs_16 row_16_##type(const void *from) {                                                                  \
        return join_pairs(widen_##type(load_bytes_16(from)), widen_##type(load_bytes_16((const char *)from + 16)));    \
    }                                                                                                                  \
    INLINE pairs_4 row_part_4_##type(const void *from, int count) {                                                    \
        return lower_pairs(widen_##type(load_bytes_part(from, count)));                                                \
    }                                                                                                                  \
    INLINE pairs_8 row_part_8_##type(const void *from, int count) {                                                    \
        return (pairs_8)widen_##type(load_bytes_part(from, count));                                                    \
    }                                                                                                                  \
    INLINE pairs_16 row_part_16_##type(const void *from, int count) {                                                  \
        const bytes_16 high = count > 16 ? load_bytes_part((const char *)from + 16, count - 16) : (bytes_16){0};       \
        return join_pairs(widen_##type(load_bytes_part(from, count < 16 ? count : 16)), widen_##type(high));           \
    }
BYTES_OF(i8)
BYTES_OF(u8)
#undef BYTES_OF
#undef INTERLEAVE
#undef SAME_LANE

#endif
