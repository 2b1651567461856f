/* kernel_lanes.h - template: vectors of LANES reals, and complex numbers as two such vectors: loads, stores, arithmetic
 * and transposition. Parameters: REAL, TYPE (f32 or f64), LANES, PAIRED (complex numbers in 16 bytes). Included once
 * for each combination.
 */
#define NAME_OF(name, type, lanes) name##_##type##_##lanes
#define NAME_WITH(name, type, lanes) NAME_OF(name, type, lanes)
#define NAME(name) NAME_WITH(name, TYPE, LANES)
#define VECTOR NAME(vector)
#define COMPLEX NAME(complex)

#if LANES == 1
typedef REAL VECTOR;
#else
typedef REAL VECTOR __attribute__((vector_size(LANES * sizeof(REAL))));
#endif

typedef struct COMPLEX {
    VECTOR re, im;
} COMPLEX;

INLINE VECTOR NAME(load)(const REAL *from) {
    VECTOR v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE void NAME(store)(REAL *to, VECTOR v) {
    memcpy(to, &v, sizeof v);
}

INLINE VECTOR NAME(splat)(REAL value) {
#if LANES == 1
    return value;
#else
    return value - (VECTOR){0};
#endif
}

INLINE COMPLEX NAME(add)(COMPLEX a, COMPLEX b) {
    return (COMPLEX){a.re + b.re, a.im + b.im};
}

INLINE COMPLEX NAME(subtract)(COMPLEX a, COMPLEX b) {
    return (COMPLEX){a.re - b.re, a.im - b.im};
}

INLINE COMPLEX NAME(scaled)(COMPLEX a, VECTOR by) {
    return (COMPLEX){a.re * by, a.im * by};
}

INLINE COMPLEX NAME(multiply)(COMPLEX a, COMPLEX w) {
    return (COMPLEX){NAME(nmadd)(a.im, w.im, a.re * w.re), NAME(madd)(a.re, w.im, a.im * w.re)};
}

INLINE COMPLEX NAME(swap)(COMPLEX a) {
    return (COMPLEX){a.im, a.re};
}

/* Returns one complex number in all lanes. */
INLINE COMPLEX NAME(splat_complex)(const REAL *pair) {
    return (COMPLEX){NAME(splat)(pair[0]), NAME(splat)(pair[1])};
}

/* IN_LANE: element of interleaved memory that lane l contains. LANE_OF: lane that contains element e. */
#define IN_LANE(l)                                                                                                     \
    ((l) % (2 * PAIRED) < PAIRED ? (l) / (2 * PAIRED) * PAIRED + (l) % (2 * PAIRED)                                    \
                                 : LANES / 2 + (l) / (2 * PAIRED) * PAIRED + (l) % (2 * PAIRED) - PAIRED)
#define LANE_OF(e)                                                                                                     \
    ((e) < LANES / 2 ? (e) / PAIRED * 2 * PAIRED + (e) % PAIRED                                                        \
                     : ((e)-LANES / 2) / PAIRED * 2 * PAIRED + PAIRED + ((e)-LANES / 2) % PAIRED)

#if LANES == 1
INLINE COMPLEX NAME(load_pairs)(const REAL *from) {
    return (COMPLEX){from[0], from[1]};
}

INLINE void NAME(store_pairs)(REAL *to, COMPLEX a) {
    to[0] = a.re;
    to[1] = a.im;
}

INLINE VECTOR NAME(load_plain)(const REAL *from) {
    return *from;
}

INLINE void NAME(store_plain)(REAL *to, VECTOR v) {
    *to = v;
}
#else

#define RE_AT(l, unused) (2 * IN_LANE(l))
#define IM_AT(l, unused) (2 * IN_LANE(l) + 1)
#define LOW_AT(l, unused) (LANE_OF((l) / 2) + (l) % 2 * LANES)
#define HIGH_AT(l, unused) (LANE_OF(LANES / 2 + (l) / 2) + (l) % 2 * LANES)
#define LANE_AT(l, unused) IN_LANE(l)
#define ELEMENT_AT(l, unused) LANE_OF(l)
#define SHUFFLE(a, b, index, with) __builtin_shufflevector(a, b, EACH_LANE(index, with))

INLINE COMPLEX NAME(load_pairs)(const REAL *from) {
    const VECTOR low = NAME(load)(from), high = NAME(load)(from + LANES);
    return (COMPLEX){SHUFFLE(low, high, RE_AT, 0), SHUFFLE(low, high, IM_AT, 0)};
}

INLINE void NAME(store_pairs)(REAL *to, COMPLEX a) {
    NAME(store)(to, SHUFFLE(a.re, a.im, LOW_AT, 0));
    NAME(store)(to + LANES, SHUFFLE(a.re, a.im, HIGH_AT, 0));
}

INLINE VECTOR NAME(load_plain)(const REAL *from) {
    const VECTOR v = NAME(load)(from);
    return SHUFFLE(v, v, LANE_AT, 0);
}

INLINE void NAME(store_plain)(REAL *to, VECTOR v) {
    NAME(store)(to, SHUFFLE(v, v, ELEMENT_AT, 0));
}

/* Exchanges blocks of d lanes between two rows. A transposition consists of such steps. */
#define KEEP_AT(l, d) ((l) & (d) ? (l) - (d) + LANES : (l))
#define TAKE_AT(l, d) ((l) & (d) ? (l) + LANES : (l) + (d))
#define EXCHANGE(x, d)                                                                                                 \
    UNROLL for (int i = 0; i < LANES; i++) {                                                                           \
        if (!(i & (d))) {                                                                                              \
            const VECTOR a = x[i], b = x[i + (d)];                                                                     \
            x[i] = SHUFFLE(a, b, KEEP_AT, d);                                                                          \
            x[i + (d)] = SHUFFLE(a, b, TAKE_AT, d);                                                                    \
        }                                                                                                              \
    }

/* Transposes a square of LANES vectors in registers. */
INLINE void NAME(transpose)(VECTOR *x) {
#if PAIRED == 2
    /* Rows of floats: no instruction exchanges blocks of one lane. Interleaving two rows and then exchanging blocks of
     * two lanes does both steps. */
#define UNPACK_LOW(l, unused) ((l) / 4 * 4 + (l) % 4 / 2 + (l) % 2 * LANES)
#define UNPACK_HIGH(l, unused) ((l) / 4 * 4 + 2 + (l) % 4 / 2 + (l) % 2 * LANES)
    UNROLL for (int i = 0; i < LANES; i += 4) {
        const VECTOR a = SHUFFLE(x[i], x[i + 1], UNPACK_LOW, 0), b = SHUFFLE(x[i], x[i + 1], UNPACK_HIGH, 0);
        const VECTOR c = SHUFFLE(x[i + 2], x[i + 3], UNPACK_LOW, 0), d = SHUFFLE(x[i + 2], x[i + 3], UNPACK_HIGH, 0);
        x[i] = SHUFFLE(a, c, KEEP_AT, 2);
        x[i + 1] = SHUFFLE(a, c, TAKE_AT, 2);
        x[i + 2] = SHUFFLE(b, d, KEEP_AT, 2);
        x[i + 3] = SHUFFLE(b, d, TAKE_AT, 2);
    }
#undef UNPACK_LOW
#undef UNPACK_HIGH
#else
    EXCHANGE(x, 1)
#if LANES > 2
    EXCHANGE(x, 2)
#endif
#endif
#if LANES > 4
    EXCHANGE(x, 4)
#endif
#if LANES > 8
    EXCHANGE(x, 8)
#endif
}
#endif

/* Loads and stores element e of working memory. */
INLINE COMPLEX NAME(get)(const REAL *work, int64_t e) {
    const REAL *at = work + e * 2 * LANES;
    return (COMPLEX){NAME(load)(at), NAME(load)(at + LANES)};
}

INLINE void NAME(put)(REAL *work, int64_t e, COMPLEX a) {
    REAL *at = work + e * 2 * LANES;
    NAME(store)(at, a.re);
    NAME(store)(at + LANES, a.im);
}
