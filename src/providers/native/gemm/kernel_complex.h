/* kernel_complex.h - template: product kernels of one complex type. Parameters: REAL (type of a real part), TYPE (c64
 * or c128), PART (f32 or f64), VL (reals of a vector), VECTOR_LANES, K_BLOCK.
 *
 * Panels hold real and imaginary parts apart: V as [k][vector][re, im], S as [k][column] pairs. For each k, in
 * ascending order, an element adds four products in this order: re += vr*sr, im += vr*si, re -= vi*si, im += vi*sr.
 */
#define NAME(x) JOIN(x, TYPE)
#define PARTS(x) JOIN(x, PART)
#define VECTOR PARTS(vector)
#define MV COMPLEX_VECTORS
#define NR COMPLEX_COLUMNS
#define CHUNK ((int)(S_CHUNK_BYTES / (K_BLOCK * 2 * sizeof(REAL)) / NR * NR))

typedef REAL NAME(loose) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
INLINE VECTOR NAME(load)(const REAL *from) {
    return *(const NAME(loose) *)from;
}
INLINE void NAME(store)(REAL *to, VECTOR x) {
    *(NAME(loose) *)to = x;
}

/* split() separates VL complex numbers in memory into real and imaginary parts; join() stores them as pairs again. */
#define EVEN(lane, a) (2 * (lane))
#define ODD(lane, a) (2 * (lane) + 1)
#define ZIP(lane, from) (((lane)&1 ? VL : 0) + (lane) / 2 + (from))
INLINE void NAME(split_vectors)(VECTOR low, VECTOR high, VECTOR *re, VECTOR *im) {
    *re = __builtin_shufflevector(low, high, VECTOR_LANES(EVEN, 0));
    *im = __builtin_shufflevector(low, high, VECTOR_LANES(ODD, 0));
}
INLINE void NAME(split)(const REAL *from, VECTOR *re, VECTOR *im) {
    NAME(split_vectors)(NAME(load)(from), NAME(load)(from + VL), re, im);
}
INLINE void NAME(join)(REAL *to, VECTOR re, VECTOR im) {
    NAME(store)(to, __builtin_shufflevector(re, im, VECTOR_LANES(ZIP, 0)));
    NAME(store)(to + VL, __builtin_shufflevector(re, im, VECTOR_LANES(ZIP, VL / 2)));
}

INLINE int NAME(vectors)(int64_t left) {
    int64_t vectors = (left + VL - 1) / VL;
    return vectors < MV ? (int)vectors : MV;
}

/* (re, im) *= factor. A real factor multiplies both parts, because 1 * (Inf, 0) must not produce NaN. */
#define SCALE(factor, re, im, madd, msub, splat)                                                                       \
    do {                                                                                                               \
        if ((factor)[1] == 0) {                                                                                        \
            (re) = (re)*splat((REAL)(factor)[0]);                                                                      \
            (im) = (im)*splat((REAL)(factor)[0]);                                                                      \
        } else {                                                                                                       \
            const __typeof__(re) real_ = msub(im, splat((REAL)(factor)[1]), (re)*splat((REAL)(factor)[0]));            \
            (im) = madd(re, splat((REAL)(factor)[1]), (im)*splat((REAL)(factor)[0]));                                  \
            (re) = real_;                                                                                              \
        }                                                                                                              \
    } while (0)
INLINE REAL NAME(scalar_msub)(REAL a, REAL b, REAL c) {
    return PARTS(scalar_madd)(-a, b, c);
}
INLINE REAL NAME(self)(REAL x) {
    return x;
}

/* Writes one element of C: c = alpha * sum + beta * c. */
INLINE void NAME(update)(REAL *c, REAL re, REAL im, const double *alpha, const double *beta) {
    SCALE(alpha, re, im, PARTS(scalar_madd), NAME(scalar_msub), NAME(self));
    if (beta[0] != 0 || beta[1] != 0) {
        REAL c_re = c[0], c_im = c[1];
        SCALE(beta, c_re, c_im, PARTS(scalar_madd), NAME(scalar_msub), NAME(self));
        re += c_re;
        im += c_im;
    }
    c[0] = re;
    c[1] = im;
}

/* Writes one vector of sums to C, where `rows` rows exist: c = alpha * sum + beta * c. `c_p` is in elements. */
INLINE void NAME(finish_vector)(VECTOR re, VECTOR im, const double *alpha, const double *beta, REAL *to, int64_t c_p,
                                int rows) {
    const bool keep = beta[0] != 0 || beta[1] != 0;
    REAL lanes[2 * VL];
    if (c_p != 1) {
        NAME(store)(lanes, re);
        NAME(store)(lanes + VL, im);
        for (int lane = 0; lane < VL && lane < rows; lane++) {
            NAME(update)(to + 2 * lane * c_p, lanes[lane], lanes[VL + lane], alpha, beta);
        }
        return;
    }
    const int low_count = 2 * rows < VL ? 2 * rows : VL, high_count = 2 * rows - low_count;
    SCALE(alpha, re, im, PARTS(madd), PARTS(msub), PARTS(splat));
    if (keep) {
        VECTOR low, high, c_re, c_im;
        if (rows >= VL) {
            low = NAME(load)(to);
            high = NAME(load)(to + VL);
        } else {
            low = PARTS(load_part)(to, low_count);
            high = PARTS(load_part)(to + VL, high_count);
        }
        NAME(split_vectors)(low, high, &c_re, &c_im);
        SCALE(beta, c_re, c_im, PARTS(madd), PARTS(msub), PARTS(splat));
        re += c_re;
        im += c_im;
    }
    if (rows >= VL) {
        NAME(join)(to, re, im);
        return;
    }
    const VECTOR low = __builtin_shufflevector(re, im, VECTOR_LANES(ZIP, 0));
    if (low_count == VL) {
        NAME(store)(to, low);
        PARTS(store_part)(to + VL, __builtin_shufflevector(re, im, VECTOR_LANES(ZIP, VL / 2)), high_count);
    } else {
        PARTS(store_part)(to, low, low_count);
    }
}

/* Writes the sums of a tile, [nr][mv][re, im][VL] in memory, to C in every case. It is one function for all tiles:
 * copies for each size would be most of the code of a set. `rows` rows exist. */
static __attribute__((noinline)) void NAME(finish_any)(int mv, int nr, const REAL *sums, const bp__native_view *t,
                                                       REAL *c, int rows) {
    const int64_t c_p = t->c_p, c_q = t->c_q;
    for (int j = 0; j < nr; j++) {
        for (int i = 0; i < mv; i++, sums += 2 * VL) {
            NAME(finish_vector)
            (NAME(load)(sums), NAME(load)(sums + VL), t->alpha, t->beta, c + 2 * (j * c_q + i * VL * c_p), c_p,
             rows - i * VL);
        }
    }
}

/* Writes the sums of a tile to C: directly if rows of C are contiguous, factors are real, and all vectors are full. */
INLINE void NAME(finish)(int mv, int nr, VECTOR (*re)[MV], VECTOR (*im)[MV], const bp__native_view *t, REAL *c,
                         int rows) {
    if (t->c_p == 1 && t->alpha[1] == 0 && t->beta[1] == 0 && rows == mv * VL) {
        const VECTOR alpha = PARTS(splat)((REAL)t->alpha[0]), beta = PARTS(splat)((REAL)t->beta[0]);
        const int64_t c_q = t->c_q;
        if (t->beta[0] == 0) {
            UNROLL
            for (int l = 0; l < mv * nr; l++) {
                const int i = l % mv, j = l / mv;
                NAME(join)(c + 2 * (j * c_q + i * VL), re[j][i] * alpha, im[j][i] * alpha);
            }
            return;
        }
        UNROLL
        for (int l = 0; l < mv * nr; l++) {
            const int i = l % mv, j = l / mv;
            REAL *to = c + 2 * (j * c_q + i * VL);
            VECTOR c_re, c_im;
            NAME(split)(to, &c_re, &c_im);
            NAME(join)(to, re[j][i] * alpha + c_re * beta, im[j][i] * alpha + c_im * beta);
        }
        return;
    }
    REAL sums[MV * NR * 2 * VL];
    UNROLL
    for (int l = 0; l < mv * nr; l++) {
        NAME(store)(sums + l * 2 * VL, re[l / mv][l % mv]);
        NAME(store)(sums + l * 2 * VL + VL, im[l / mv][l % mv]);
    }
    NAME(finish_any)(mv, nr, sums, t, c, rows);
}

/* Computes a tile of mv vectors by nr columns: all sums are in registers, and k is the outer loop. V is always packed;
 * S is packed or in memory. */
INLINE void NAME(tile)(int mv, int nr, bool packed, const bp__native_view *t, const REAL *v, const REAL *s, REAL *c,
                       int rows) {
    const int64_t s_k = packed ? 2 * NR : 2 * t->s_k, s_q = packed ? 2 : 2 * t->s_q;
    VECTOR re[NR][MV], im[NR][MV];
    UNROLL
    for (int j = 0; j < nr; j++) {
        if (packed) {
            __builtin_prefetch(c + 2 * j * t->c_q, 1);
        }
        UNROLL
        for (int i = 0; i < mv; i++) {
            re[j][i] = im[j][i] = PARTS(splat)(0);
        }
    }
    for (int64_t k = t->k; k > 0; k--) {
        VECTOR v_re[MV], v_im[MV];
        UNROLL
        for (int i = 0; i < mv; i++) {
            v_re[i] = NAME(load)(v + i * VL);
            v_im[i] = NAME(load)(v + (mv + i) * VL);
        }
        UNROLL
        for (int j = 0; j < nr; j++) {
            const VECTOR s_re = PARTS(splat)(s[j * s_q]), s_im = PARTS(splat)(s[j * s_q + 1]);
            UNROLL
            for (int i = 0; i < mv; i++) {
                re[j][i] = PARTS(madd)(v_re[i], s_re, re[j][i]);
                im[j][i] = PARTS(madd)(v_re[i], s_im, im[j][i]);
                re[j][i] = PARTS(msub)(v_im[i], s_im, re[j][i]);
                im[j][i] = PARTS(madd)(v_im[i], s_re, im[j][i]);
            }
        }
        v += 2 * mv * VL;
        s += s_k;
    }
    NAME(finish)(mv, nr, re, im, t, c, rows);
}

typedef void NAME(tile_function)(const bp__native_view *t, const REAL *v, const REAL *s, REAL *c, int rows);
#define TILE(mv, nr)                                                                                                   \
    static void NAME(panels_##mv##nr)(const bp__native_view *t, const REAL *v, const REAL *s, REAL *c, int rows) {     \
        NAME(tile)(mv, nr, true, t, v, s, c, rows);                                                                    \
    }                                                                                                                  \
    static void NAME(memory_##mv##nr)(const bp__native_view *t, const REAL *v, const REAL *s, REAL *c, int rows) {     \
        NAME(tile)(mv, nr, false, t, v, s, c, rows);                                                                   \
    }
EACH_TILE(TILE, COMPLEX_VECTORS, COMPLEX_COLUMNS)
#define PANELS_ROW(mv, nr) [0][mv - 1][nr - 1] = NAME(panels_##mv##nr),
#define MEMORY_ROW(mv, nr) [1][mv - 1][nr - 1] = NAME(memory_##mv##nr),
static NAME(tile_function) *const NAME(tiles)[2][MV][NR] = {
    EACH_TILE(PANELS_ROW, COMPLEX_VECTORS, COMPLEX_COLUMNS) EACH_TILE(MEMORY_ROW, COMPLEX_VECTORS, COMPLEX_COLUMNS)};
#undef TILE
#undef PANELS_ROW
#undef MEMORY_ROW

/* Multiplies packed panels, tile by tile. The columns of S are cut into chunks that stay in the second-level cache
 * while all panels of V are read. */
static void NAME(block)(const bp__native_view *b) {
    for (int64_t chunk = 0; chunk < b->q; chunk += CHUNK) {
        const int64_t end = b->q - chunk < CHUNK ? b->q : chunk + CHUNK;
        const REAL *v = b->v;
        for (int64_t p = 0; p < b->p;) {
            const int mv = NAME(vectors)(b->p - p);
            const int rows = b->p - p < mv * VL ? (int)(b->p - p) : mv * VL;
            for (int64_t q = chunk; q < end; q += NR) {
                const int nr = end - q < NR ? (int)(end - q) : NR;
                NAME(tiles)
                [0][mv - 1][nr - 1](b, v, (const REAL *)b->s + 2 * q * b->k,
                                    (REAL *)b->c + 2 * (p * b->c_p + q * b->c_q), rows);
            }
            v += 2 * mv * VL * b->k;
            p += rows;
        }
    }
}

/* Packs one vector of rows into a panel of `width` rows. If k is contiguous, the 2*k reals of each row are transposed
 * like a real type's.
 */
INLINE void NAME(pack_rows)(REAL *to, int width, const REAL *from, int64_t across, int64_t along, int rows, int64_t k) {
    int64_t l = 0;
    if (along == 1) {
        l = JOIN(transpose, PARTS(pack_v))(to, width, from, 2 * across, rows, 2 * k) / 2;
    }
    for (; l < k; l++) {
        const REAL *x = from + 2 * l * along;
        REAL *re = to + 2 * l * width, *im = re + width;
        if (across == 1 && rows == VL) {
            VECTOR x_re, x_im;
            NAME(split)(x, &x_re, &x_im);
            NAME(store)(re, x_re);
            NAME(store)(im, x_im);
            continue;
        }
        for (int lane = 0; lane < VL; lane++) {
            re[lane] = lane < rows ? x[2 * lane * across] : 0;
            im[lane] = lane < rows ? x[2 * lane * across + 1] : 0;
        }
    }
}

/* Packs V into panels [k][vector][re, im]. `conjugate` negates the imaginary parts. */
static void NAME(pack_v)(void *panels, const void *source, int64_t across, int64_t along, int64_t count, int64_t k,
                         bool conjugate) {
    REAL *to = panels;
    for (int64_t p = 0; p < count;) {
        const int mv = NAME(vectors)(count - p), width = mv * VL;
        for (int i = 0; i < mv; i++, p += VL) {
            const int rows = count - p < VL ? (int)(count - p) : VL;
            NAME(pack_rows)(to + i * VL, width, (const REAL *)source + 2 * p * across, across, along, rows, k);
        }
        for (int64_t l = 0; conjugate && l < k; l++) {
            REAL *im = to + (2 * l + 1) * width;
            for (int i = 0; i < width; i++) {
                im[i] = -im[i];
            }
        }
        to += 2 * width * k;
    }
}

/* Packs S into panels [k][column] of pairs. `conjugate` negates the imaginary parts. */
static void NAME(pack_s)(void *panels, const void *source, int64_t across, int64_t along, int64_t count, int64_t k,
                         bool conjugate) {
    REAL *to = panels;
    const REAL sign = conjugate ? -1 : 1;
    for (int64_t q = 0; q < count; q += NR) {
        const int columns = count - q < NR ? (int)(count - q) : NR;
        const REAL *from = (const REAL *)source + 2 * q * across;
        for (int64_t l = 0; l < k; l++, to += 2 * NR, from += 2 * along) {
            for (int j = 0; j < NR; j++) {
                to[2 * j] = j < columns ? from[2 * j * across] : 0;
                to[2 * j + 1] = j < columns ? sign * from[2 * j * across + 1] : 0;
            }
        }
    }
}
