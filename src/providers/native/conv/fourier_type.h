/* fourier_type.h - template: the kernels of convolutions by Fourier transforms for one type. Parameters: TYPE (its
 * suffix), REAL, and for vectors of REAL VECTOR, MADD, MSUB and SPLAT. */
typedef REAL NAME(number) __attribute__((may_alias));

enum { NAME(LANES) = VECTOR_BYTES / sizeof(REAL) };

INLINE VECTOR NAME(load)(const NAME(number) * from) {
    VECTOR x;
    memcpy(&x, from, sizeof x);
    return x;
}

INLINE void NAME(store)(void *to, VECTOR x) {
    memcpy(to, &x, sizeof x);
}

static void NAME(to_lane)(int64_t n, int lanes, void *to, const void *from, int64_t step) {
    NAME(number) *lane = to;
    const NAME(number) *x = from;
    for (int64_t i = 0; i < n; i++) {
        lane[i * lanes] = x[i * step];
    }
}

static void NAME(from_lane)(int64_t n, int lanes, void *to, int64_t step, const void *from) {
    NAME(number) *x = to;
    const NAME(number) *lane = from;
    for (int64_t i = 0; i < n; i++) {
        x[i * step] = lane[i * lanes];
    }
}

/* Multiplies one element. Both loops below round in the same way. */
INLINE void NAME(multiply_one)(NAME(number) * to, const NAME(number) * x, VECTOR re, VECTOR im) {
    const VECTOR x_re = NAME(load)(x), x_im = NAME(load)(x + NAME(LANES));
    NAME(store)(to, MSUB(x_im, im, x_re * re));
    NAME(store)(to + NAME(LANES), MADD(x_im, re, x_re * im));
}

static void NAME(multiply)(int64_t n, void *to, const void *x, const void *w) {
    const NAME(number) *image = x, *weight = w;
    for (int64_t i = 0; i < 2 * NAME(LANES) * n; i += 2 * NAME(LANES)) {
        NAME(multiply_one)
        ((NAME(number) *)to + i, image + i, NAME(load)(weight + i), NAME(load)(weight + i + NAME(LANES)));
    }
}

static void NAME(multiply_pairs)(int64_t n, void *to, const void *x, const void *w) {
    const NAME(number) *image = x, *weight = w;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = 2 * NAME(LANES) * i;
        NAME(multiply_one)((NAME(number) *)to + at, image + at, SPLAT(weight[2 * i]), SPLAT(weight[2 * i + 1]));
    }
}

static void NAME(spread)(int64_t n, char *to, int64_t step, int64_t part, const void *from) {
    const NAME(number) *x = from;
    for (int64_t i = 0; i < n; i++, x += 2 * NAME(LANES)) {
        NAME(store)(to + i * step, NAME(load)(x));
        NAME(store)(to + i * step + part, NAME(load)(x + NAME(LANES)));
    }
}

/* NaN stays. */
static void NAME(finish)(int64_t n, void *x, const void *bias, bool relu) {
    const VECTOR added = NAME(load)(bias), zero = SPLAT(0);
    NAME(number) *at = x;
    for (int64_t i = 0; i < n; i++, at += NAME(LANES)) {
        const VECTOR sum = NAME(load)(at) + added;
        NAME(store)(at, relu ? (VECTOR)((__typeof__(sum < zero))sum & ~(sum < zero)) : sum);
    }
}
