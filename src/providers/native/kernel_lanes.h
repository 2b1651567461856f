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
    for (int i = 0; i < lanes; i++) {
        x[i] = WIDEN(from[i * stride]);
    }
    return x;
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
    if (whole) {
        memcpy(&x, from, sizeof x);
        return x;
    }
    for (int i = 0; i < lanes; i++) {
        x[i] = from[i];
    }
    return x;
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
