/* kernel_finish.h - template: loads and stores vectors of one real type, cuts V into panels, and writes sums to C.
 * Parameters: REAL, TYPE (its suffix), VECTOR (a vector of it), VL (its elements), NAME(x) (appends the suffix), MV and
 * NR (vectors and columns of a tile), and optionally SCALED(factor, x), their product.
 */
#ifndef SCALED
#define SCALED(factor, x) ((factor) * (x))
#endif

typedef REAL NAME(loose) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
INLINE VECTOR NAME(load)(const REAL *from) {
    return *(const NAME(loose) *)from;
}
INLINE void NAME(store)(REAL *to, VECTOR x) {
    *(NAME(loose) *)to = x;
}

/* Returns the number of vectors of the next panel of V. Panels are full, except that MV + 1 remaining vectors are cut
 * into two panels of similar size. */
INLINE int NAME(vectors)(int64_t left) {
    int64_t vectors = (left + VL - 1) / VL;
    return vectors == MV + 1 && MV > 2 ? MV - 1 : vectors < MV ? (int)vectors : MV;
}

INLINE REAL NAME(update)(REAL alpha, REAL sum, REAL beta, REAL c) {
    return NAME(scalar_madd)(alpha, sum, SCALED(beta, c));
}

/* Target of the sums of tiles: c = alpha * sum + beta * c. `rows` of a tile's rows exist. With a bias, it is added to
 * c, and negative results become 0 if `relu`. */
typedef struct NAME(target) {
    REAL alpha, beta;
    int64_t c_p, c_q;
    int rows;
    const REAL *bias;
    bool relu;
} NAME(target);

INLINE NAME(target) NAME(target_of)(const bp__native_view *t, int rows) {
    return (NAME(target)){(REAL)t->alpha[0], (REAL)t->beta[0], t->c_p, t->c_q, rows, t->bias, t->relu};
}

/* Returns a vector of results for contiguous rows of C; the first `rows` exist. */
INLINE VECTOR NAME(result_vector)(VECTOR sum, const NAME(target) * t, const REAL *c, int rows) {
    const VECTOR alphas = NAME(splat)(t->alpha), betas = NAME(splat)(t->beta);
    return t->beta == 0 ? SCALED(alphas, sum)
                        : NAME(madd)(alphas, sum, SCALED(betas, rows >= VL ? NAME(load)(c) : NAME(load_part)(c, rows)));
}

/* Adds the bias of `rows` rows, and replaces negative results by 0 if `relu`. */
INLINE VECTOR NAME(follow)(VECTOR x, const REAL *bias, bool relu, int rows) {
    x += rows >= VL ? NAME(load)(bias) : NAME(load_part)(bias, rows);
    const VECTOR zero = NAME(splat)(0);
    const __typeof__(x < zero) negative = x < zero;
    return relu ? (VECTOR)(~negative & (__typeof__(negative))x) : x;
}

INLINE void NAME(store_rows)(REAL *to, VECTOR x, int rows) {
    if (rows >= VL) {
        NAME(store)(to, x);
    } else {
        NAME(store_part)(to, x, rows);
    }
}

/* Writes one vector of sums to contiguous rows of C; the first `rows` exist. */
INLINE void NAME(finish_vector)(VECTOR sum, const NAME(target) * t, REAL *to, int rows) {
    NAME(store_rows)(to, NAME(result_vector)(sum, t, to, rows), rows);
}

/* Writes the sums of a tile to C. */
INLINE void NAME(finish)(int mv, int nr, VECTOR (*sum)[MV], const NAME(target) * t, REAL *c) {
    if (t->c_p == 1 && t->bias) {
        UNROLL
        for (int j = 0; j < nr; j++) {
            UNROLL
            for (int i = 0; i < mv; i++) {
                const int rows = i < mv - 1 ? VL : t->rows - i * VL;
                REAL *to = c + j * t->c_q + i * VL;
                const VECTOR x = NAME(result_vector)(sum[j][i], t, to, rows);
                NAME(store_rows)(to, NAME(follow)(x, t->bias + i * VL, t->relu, rows), rows);
            }
        }
        return;
    }
    if (t->c_p == 1) {
        UNROLL
        for (int j = 0; j < nr; j++) {
            UNROLL
            for (int i = 0; i < mv; i++) {
                NAME(finish_vector)(sum[j][i], t, c + j * t->c_q + i * VL, i < mv - 1 ? VL : t->rows - i * VL);
            }
        }
        return;
    }
    REAL lanes[MOST_COLUMNS * MV * VL];
    UNROLL
    for (int j = 0; j < nr; j++) {
        UNROLL
        for (int i = 0; i < mv; i++) {
            NAME(store)(lanes + (j * mv + i) * VL, sum[j][i]);
        }
    }
    for (int i = 0; i < t->rows; i++) {
        UNROLL
        for (int j = 0; j < nr; j++) {
            REAL *to = c + j * t->c_q + i * t->c_p, x = lanes[j * mv * VL + i];
            *to = t->beta == 0 ? SCALED(t->alpha, x) : NAME(update)(t->alpha, x, t->beta, *to);
        }
    }
}

/* C = beta * C. A beta of 0 writes zeros without reading C. */
static void NAME(scale)(const bp__native_view *w, void *scratch) {
    (void)scratch;
    const REAL beta = (REAL)w->beta[0];
    for (int64_t q = 0; q < w->q; q++) {
        REAL *c = (REAL *)w->c + q * w->c_q;
        if (w->c_p == 1 && beta == 0) {
            memset(c, 0, (size_t)w->p * sizeof(REAL));
            continue;
        }
        for (int64_t p = 0; p < w->p; p++) {
            c[p * w->c_p] = beta == 0 ? 0 : beta * c[p * w->c_p];
        }
    }
}
