/* kernel_complex.h - template: sums, dot products and products of one complex type. Real and imaginary parts alternate
 * in vectors as in memory. Parameters: as in kernel_real.h, for the type of the parts. Sums without b use that type's
 * kernels.
 *
 * A product is kept in two sums, which are combined at the end. In rows and products, `straight` adds a * re(b), and
 * `crossed` adds im(b) times a with its real and imaginary parts exchanged. In dot products, `straight` adds a * b part
 * by part, and `crossed` adds a times b with its parts exchanged.
 */
#define VECTOR OF_SUM(vector)

typedef struct NAME(sum) {
    VECTOR straight, crossed;
} NAME(sum);

INLINE VECTOR NAME(exchange)(VECTOR x) {
    return __builtin_shufflevector(x, x, EACH_LANE(EXCHANGED, 0));
}

/* Returns straight + crossed in the imaginary lanes and straight - crossed in the real lanes. */
INLINE VECTOR NAME(together)(VECTOR straight, VECTOR crossed) {
    const VECTOR sign = {EACH_LANE(SIGN, 0)};
    return OF_SUM(madd)(sign, crossed, straight);
}

INLINE VECTOR NAME(load)(const char *from, int64_t lanes) {
    return lanes == LANES ? OF_SUM(load)(from) : OF_SUM(load_some)(from, lanes);
}

/* Real and imaginary part of b, each in both lanes of its pair. */
typedef struct NAME(factor) {
    VECTOR re, im;
} NAME(factor);

INLINE NAME(factor) NAME(factor_of)(VECTOR b) {
    return (NAME(factor)){__builtin_shufflevector(b, b, EACH_LANE(TWIN_EVEN, 0)),
                          __builtin_shufflevector(b, b, EACH_LANE(TWIN_ODD, 0))};
}

INLINE NAME(factor) NAME(factor_at)(const char *b) {
    return (NAME(factor)){OF_SUM(splat)(OF_SUM(one_of)(b)), OF_SUM(splat)(OF_SUM(one_of)(b + BYTES))};
}

/* Returns the next `lanes` reals of the product, added over all rows. x is an offset in bytes. */
INLINE VECTOR NAME(terms)(bool broadcast, int rows, const char *const *a, const char *const *b,
                          const NAME(factor) * factors, int64_t x, int64_t lanes) {
    VECTOR straight = {0}, crossed = {0};
    UNROLL
    for (int r = 0; r < rows; r++) {
        const VECTOR left = NAME(load)(a[r] + x, lanes), other = NAME(exchange)(left);
        const NAME(factor) f = broadcast ? factors[r] : NAME(factor_of)(NAME(load)(b[r] + x, lanes));
        straight = r ? OF_SUM(madd)(left, f.re, straight) : left * f.re;
        crossed = r ? OF_SUM(madd)(other, f.im, crossed) : other * f.im;
    }
    return NAME(together)(straight, crossed);
}

/* sums[x] += the sum over `rows` rows of a[ay[r] + x] * b[by[r] + x], for n complex elements. */
INLINE void NAME(add_rows)(bool broadcast, int rows, int64_t n, char *sums, const char *a, const int64_t *ay,
                           const char *b, const int64_t *by) {
    const char *left[4], *right[4];
    NAME(factor) factors[4];
    UNROLL
    for (int r = 0; r < rows; r++) {
        left[r] = a + ay[r];
        right[r] = b + by[r];
        factors[r] = broadcast ? NAME(factor_at)(right[r]) : (NAME(factor)){{0}, {0}};
    }
    int64_t x = 0;
    for (; x + LANES <= 2 * n; x += LANES) {
        char *to = sums + x * BYTES;
        OF_SUM(store)(to, OF_SUM(load)(to) + NAME(terms)(broadcast, rows, left, right, factors, x * BYTES, LANES));
    }
    if (x < 2 * n) {
        char *to = sums + x * BYTES;
        OF_SUM(store)(to, OF_SUM(load)(to) + NAME(terms)(broadcast, rows, left, right, factors, x * BYTES, 2 * n - x));
    }
}

INLINE void NAME(all_rows)(bool broadcast, int64_t n, int64_t count, char *sums, const char *a, const int64_t *ay,
                           const char *b, const int64_t *by) {
    int64_t y = 0;
    for (; y + 4 <= count; y += 4) {
        NAME(add_rows)(broadcast, 4, n, sums, a, ay + y, b, by + y);
    }
    for (; y < count; y++) {
        NAME(add_rows)(broadcast, 1, n, sums, a, ay + y, b, by + y);
    }
}

/* Sums without b are sums of reals, so the real type's kernel adds them. */
static void NAME(rows)(int64_t n, int64_t count, void *sums, const char *a, const int64_t *ay, const char *b,
                       const int64_t *by, bool broadcast) {
    if (!b) {
        OF_SUM(rows)(2 * n, count, sums, a, ay, b, by, broadcast);
    } else if (broadcast) {
        NAME(all_rows)(true, n, count, sums, a, ay, b, by);
    } else {
        NAME(all_rows)(false, n, count, sums, a, ay, b, by);
    }
}

/* ---- Dot products ---- */

INLINE void NAME(chain)(bool alone, NAME(sum) * sum, const char *a, const char *b, int64_t lanes) {
    const VECTOR left = NAME(load)(a, lanes);
    if (alone) {
        sum->straight += left;
        return;
    }
    const VECTOR right = NAME(load)(b, lanes);
    sum->straight = OF_SUM(madd)(left, right, sum->straight);
    sum->crossed = OF_SUM(madd)(left, NAME(exchange)(right), sum->crossed);
}

/* Adds the even lanes of `x` to pair[0] (real part) and the odd ones to pair[1] (imaginary part). */
INLINE void NAME(pair_of_lanes)(VECTOR x, REAL *pair) {
    REAL part[LANES];
    memcpy(part, &x, sizeof part);
    for (int half = LANES / 2; half > 1; half /= 2) {
        for (int i = 0; i < half; i++) {
            part[i] += part[i + half];
        }
    }
    pair[0] = part[0];
    pair[1] = part[1];
}

/* Adds the dot product of `count` contiguous elements to `to`, or the sum of a's elements if `alone`. There are CHAINS
 * independent pairs of sums. */
INLINE void NAME(dot)(bool alone, int64_t count, const char *a, const char *b, REAL *to) {
    NAME(sum) sum[CHAINS] = {{{0}, {0}}};
    int64_t y = 0;
    for (; y + CHAINS * LANES <= 2 * count; y += CHAINS * LANES) {
        UNROLL
        for (int c = 0; c < CHAINS; c++) {
            const int64_t at = (y + c * LANES) * BYTES;
            NAME(chain)(alone, &sum[c], a + at, alone ? NULL : b + at, LANES);
        }
    }
    for (; y + LANES <= 2 * count; y += LANES) {
        NAME(chain)(alone, &sum[0], a + y * BYTES, alone ? NULL : b + y * BYTES, LANES);
    }
    if (y < 2 * count) {
        NAME(chain)(alone, &sum[1], a + y * BYTES, alone ? NULL : b + y * BYTES, 2 * count - y);
    }
    REAL pair[2], cross[2] = {0, 0};
    NAME(pair_of_lanes)((sum[0].straight + sum[1].straight) + (sum[2].straight + sum[3].straight), pair);
    if (!alone) {
        NAME(pair_of_lanes)((sum[0].crossed + sum[1].crossed) + (sum[2].crossed + sum[3].crossed), cross);
    }
    to[0] += alone ? pair[0] : pair[0] - pair[1];
    to[1] += alone ? pair[1] : cross[0] + cross[1];
}

static void NAME(dots)(int64_t n, int64_t count, void *sums, const char *a, const int64_t *ax, const char *b,
                       const int64_t *bx) {
    REAL *to = sums;
    for (int64_t x = 0; x < n; x++) {
        if (b) {
            NAME(dot)(false, count, a + ax[x], b + bx[x], to + 2 * x);
        } else {
            NAME(dot)(true, count, a + ax[x], NULL, to + 2 * x);
        }
    }
}

/* ---- Products ---- */

INLINE void NAME(product)(bool broadcast, int64_t n, char *c, const char *a, const char *b) {
    const NAME(factor) factor = broadcast ? NAME(factor_at)(b) : (NAME(factor)){{0}, {0}};
    int64_t x = 0;
    for (; x + LANES <= 2 * n; x += LANES) {
        OF_SUM(store)(c + x * BYTES, NAME(terms)(broadcast, 1, &a, &b, &factor, x * BYTES, LANES));
    }
    if (x < 2 * n) {
        const VECTOR rest = NAME(terms)(broadcast, 1, &a, &b, &factor, x * BYTES, 2 * n - x);
        OF_SUM(store_some)(c + x * BYTES, rest, 2 * n - x);
    }
}

static void NAME(products)(int64_t rows, int64_t n, char *c, const int64_t *cz, const char *a, const int64_t *az,
                           const char *b, const int64_t *bz, bool broadcast) {
    for (int64_t z = 0; z < rows; z++) {
        if (broadcast) {
            NAME(product)(true, n, c + cz[z], a + az[z], b + bz[z]);
        } else {
            NAME(product)(false, n, c + cz[z], a + az[z], b + bz[z]);
        }
    }
}

/* ---- Results ---- */

static void NAME(flush)(int64_t n, double *totals, void *sums) {
    OF_SUM(flush)(2 * n, totals, sums);
}

static void NAME(store_sums)(int64_t n, void *to, const void *sums) {
    OF_SUM(store_sums)(2 * n, to, sums);
}

static void NAME(store_totals)(int64_t n, void *to, const double *totals) {
    OF_SUM(store_totals)(2 * n, to, totals);
}

#undef VECTOR
