/* kernel_transpose.h - transposes squares in registers: as many vectors as a vector has lanes. Include it after
 * kernel_vector.h. */
#ifndef BP_NATIVE_KERNEL_TRANSPOSE_H
#define BP_NATIVE_KERNEL_TRANSPOSE_H

/* Exchanges the blocks at a distance. After the distances 1, 2, 4, ... the square is transposed. */
#define LOWER_LANE(lane, distance) ((lane) & (distance) ? side + (lane) - (distance) : (lane))
#define UPPER_LANE(lane, distance) ((lane) & (distance) ? side + (lane) : (lane) + (distance))
#define EXCHANGE_AT(distance, lanes)                                                                                   \
    UNROLL                                                                                                             \
    for (int i = 0; i < side; i++) {                                                                                   \
        if (!(i & (distance))) {                                                                                       \
            const __typeof__(*v) low = v[i], high = v[i + (distance)];                                                 \
            v[i] = __builtin_shufflevector(low, high, lanes(LOWER_LANE, distance));                                    \
            v[i + (distance)] = __builtin_shufflevector(low, high, lanes(UPPER_LANE, distance));                       \
        }                                                                                                              \
    }

INLINE void transpose_f32(vector_f32 *v) {
    enum { side = VECTOR_BYTES / sizeof(float) };
    EXCHANGE_AT(1, LANES_F32)
    EXCHANGE_AT(2, LANES_F32)
#if VECTOR_BYTES > 16
    EXCHANGE_AT(4, LANES_F32)
#endif
#if VECTOR_BYTES > 32
    EXCHANGE_AT(8, LANES_F32)
#endif
}

INLINE void transpose_f64(vector_f64 *v) {
    enum { side = VECTOR_BYTES / sizeof(double) };
    EXCHANGE_AT(1, LANES_F64)
#if VECTOR_BYTES > 16
    EXCHANGE_AT(2, LANES_F64)
#endif
#if VECTOR_BYTES > 32
    EXCHANGE_AT(4, LANES_F64)
#endif
}

#undef LOWER_LANE
#undef UPPER_LANE
#undef EXCHANGE_AT

#endif
