/* kernel_lanes.h - template: reads and writes the lanes of vectors, contiguous or strided, for one floating type.
 * Parameters: as in kernel_each_type.h. Kernels that include it are functions of tiles: up to TILE vectors side by
 * side, whose lanes are all contiguous, or one vector whose first lanes are used. */
typedef IN NAME(element) __attribute__((may_alias));
typedef REAL NAME(number) __attribute__((may_alias));

enum { NAME(WIDTH) = VECTOR_BYTES / sizeof(REAL), NAME(PARTS) = 8 / sizeof(REAL) };

/* Converts to f64, PARTS vectors. */
#define DOUBLES(x, to) _Generic((x), vector_f32 : doubles_f32, vector_f64 : doubles_f64)(x, to)

/* Reads `lanes` elements, the other lanes are 0. */
INLINE VECTOR NAME(get)(const NAME(element) * from, int64_t stride, bool whole, int lanes) {
    if (whole) {
        return LOAD(from);
    }
    VECTOR x = SPLAT(0);
    if (stride == 1 && sizeof *from == sizeof(REAL)) {
        const void *at = from;
        return _Generic(x, vector_f32
                        : load_part_f32((const float *)at, lanes), vector_f64
                        : load_part_f64((const double *)at, lanes));
    }
    if (lanes == NAME(WIDTH)) { /* their number is known, so that no lane goes through memory */
        REAL each[NAME(WIDTH)];
        UNROLL
        for (int i = 0; i < NAME(WIDTH); i++) {
            each[i] = WIDEN(from[i * stride]);
        }
        return _Generic(x, vector_f32 : of_lanes_f32, vector_f64 : of_lanes_f64)(each);
    }
    for (int i = 0; i < lanes; i++) {
        x[i] = WIDEN(from[i * stride]);
    }
    return x;
}

/* Converts the vectors at an address to f64. With AVX-512 halves are loaded, so that none is taken out of a vector. */
INLINE void NAME(read_doubles)(const NAME(element) * from, vector_f64 *to) {
#if VECTOR_BYTES == 64 && defined(__AVX512F__) && defined(LOAD_HALF)
    to[0] = _mm512_cvtps_pd(LOAD_HALF(from));
    to[1] = _mm512_cvtps_pd(LOAD_HALF(from + NAME(WIDTH) / 2));
#else
    DOUBLES(LOAD(from), to);
#endif
}

INLINE void NAME(put)(NAME(element) * to, int64_t stride, bool whole, int lanes, VECTOR x) {
    if (whole || (stride == 1 && lanes == NAME(WIDTH))) {
        NAME(store_vector)(to, x);
        return;
    }
    if (stride == 1 && sizeof *to == sizeof(REAL)) {
        void *at = to;
        _Generic(x, vector_f32 : store_part_f32, vector_f64 : store_part_f64)(at, x, lanes);
        return;
    }
    for (int i = 0; i < lanes; i++) {
        to[i * stride] = NARROW(x[i]);
    }
}

/* Reads numbers of the computation: `lanes` of them, the other lanes are 0. */
INLINE VECTOR NAME(read)(const NAME(number) * from, bool whole, int lanes) {
    VECTOR x = SPLAT(0);
    const void *at = from;
    if (whole) {
        memcpy(&x, from, sizeof x);
        return x;
    }
    return _Generic(x, vector_f32
                    : load_part_f32((const float *)at, lanes), vector_f64
                    : load_part_f64((const double *)at, lanes));
}

/* Adds sums in f64 to the sums of the lanes. */
INLINE void NAME(add_sums)(double *to, const vector_f64 *from, bool whole, int lanes) {
    if (whole) {
        UNROLL
        for (int h = 0; h < NAME(PARTS); h++) {
            vector_f64 sum;
            memcpy(&sum, (char *)to + h * VECTOR_BYTES, sizeof sum);
            sum += from[h];
            memcpy((char *)to + h * VECTOR_BYTES, &sum, sizeof sum);
        }
        return;
    }
    for (int i = 0; i < lanes; i++) {
        to[i] += from[i / (VECTOR_BYTES / 8)][i % (VECTOR_BYTES / 8)];
    }
}

/* Sums of the lanes of TILE vectors in f64. */
typedef vector_f64 NAME(lanes)[TILE][NAME(PARTS)];

/* As memset() does, but in registers: the instruction that gcc takes for it is slow for so few bytes. */
INLINE void NAME(clear)(NAME(lanes) sum) {
    UNROLL
    for (int i = 0; i < TILE * NAME(PARTS); i++) {
        sum[i / NAME(PARTS)][i % NAME(PARTS)] = splat_f64(0);
    }
}

/* Joins the lanes of sums or products of TILE vectors, pairwise. */
INLINE double NAME(joined)(NAME(lanes) sum, bool product) {
    enum { LANES = VECTOR_BYTES / 8 };
    double lanes[LANES];
    UNROLL
    for (int h = 0; h < NAME(PARTS); h++) {
        sum[0][h] = product ? (sum[0][h] * sum[1][h]) * (sum[2][h] * sum[3][h])
                            : (sum[0][h] + sum[1][h]) + (sum[2][h] + sum[3][h]);
    }
    if (NAME(PARTS) > 1) {
        sum[0][0] = product ? sum[0][0] * sum[0][NAME(PARTS) - 1] : sum[0][0] + sum[0][NAME(PARTS) - 1];
    }
    memcpy(lanes, &sum[0][0], sizeof lanes);
    UNROLL
    for (int half = LANES / 2; half > 0; half /= 2) {
        UNROLL
        for (int l = 0; l < half; l++) {
            lanes[l] = product ? lanes[l] * lanes[l + half] : lanes[l] + lanes[l + half];
        }
    }
    return lanes[0];
}
