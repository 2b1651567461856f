/* kernel_masks.h - lanes of AVX-512 vectors as bits: comparisons and choices, for the search of positions. */
#ifndef BP_NATIVE_REDUCE_KERNEL_MASKS_H
#define BP_NATIVE_REDUCE_KERNEL_MASKS_H

/* Which lanes are NaN, are greater or less, or have a value; a choice of lanes; the least lane. */
#define FLOATING_MASKS(type, suffix, real)                                                                             \
    INLINE unsigned nan_lanes_##type(vector_##type x, vector_##type y) {                                               \
        return _mm512_cmp_##suffix##_mask(x, y, _CMP_UNORD_Q);                                                         \
    }                                                                                                                  \
    INLINE unsigned more_lanes_##type(vector_##type x, vector_##type y, bool least) {                                  \
        return least ? _mm512_cmp_##suffix##_mask(x, y, _CMP_LT_OQ) : _mm512_cmp_##suffix##_mask(x, y, _CMP_GT_OQ);    \
    }                                                                                                                  \
    INLINE unsigned equal_lanes_##type(vector_##type x, real y) {                                                      \
        return _mm512_cmp_##suffix##_mask(x, splat_##type(y), _CMP_EQ_OQ);                                             \
    }                                                                                                                  \
    INLINE vector_##type pick_##type(unsigned lanes, vector_##type yes, vector_##type no) {                            \
        return _mm512_mask_mov_##suffix(no, (MASK_OF_##type)lanes, yes);                                               \
    }
#define INTEGER_MASKS(type, suffix, integer)                                                                           \
    INLINE unsigned more_lanes_##type(vector_##type x, vector_##type y, bool least) {                                  \
        return least ? _mm512_cmplt_##suffix##_mask((__m512i)x, (__m512i)y)                                            \
                     : _mm512_cmpgt_##suffix##_mask((__m512i)x, (__m512i)y);                                           \
    }                                                                                                                  \
    INLINE unsigned equal_lanes_##type(vector_##type x, integer y) {                                                   \
        return _mm512_cmpeq_##suffix##_mask((__m512i)x, (__m512i)((vector_##type){0} + y));                            \
    }                                                                                                                  \
    INLINE vector_##type pick_##type(unsigned lanes, vector_##type yes, vector_##type no) {                            \
        return (vector_##type)_mm512_mask_mov_##suffix((__m512i)no, (MASK_OF_##type)lanes, (__m512i)yes);              \
    }                                                                                                                  \
    INLINE int64_t least_lane_##type(vector_##type x) {                                                                \
        return _mm512_reduce_min_##suffix((__m512i)x);                                                                 \
    }
#define MASK_OF_f32 __mmask16
#define MASK_OF_f64 __mmask8
#define MASK_OF_i32 __mmask16
#define MASK_OF_i64 __mmask8
FLOATING_MASKS(f32, ps, float)
FLOATING_MASKS(f64, pd, double)
INTEGER_MASKS(i32, epi32, int32_t)
INTEGER_MASKS(i64, epi64, int64_t)
#undef FLOATING_MASKS
#undef INTEGER_MASKS

#define OF_VECTOR(function, x)                                                                                         \
    _Generic(x, vector_f32                                                                                             \
             : function##_f32, vector_f64                                                                              \
             : function##_f64, vector_i32                                                                              \
             : function##_i32, vector_i64                                                                              \
             : function##_i64)
#define MORE_LANES(x, y, least) OF_VECTOR(more_lanes, x)(x, y, least)
#define EQUAL_LANES(x, value) OF_VECTOR(equal_lanes, x)(x, value)
#define PICK(lanes, yes, no) OF_VECTOR(pick, yes)(lanes, yes, no)
#define PICK_FLAGS(lanes, yes, no) _Generic(yes, vector_i32 : pick_i32, vector_i64 : pick_i64)(lanes, yes, no)
#define MORE_FLAGS(x, y) _Generic(x, vector_i32 : more_lanes_i32, vector_i64 : more_lanes_i64)(x, y, false)
#define LEAST_FLAG(x) _Generic(x, vector_i32 : least_lane_i32, vector_i64 : least_lane_i64)(x)

#endif
