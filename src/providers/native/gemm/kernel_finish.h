/* kernel_finish.h - template: loads and stores vectors of one real type, cuts V into panels, and writes sums to C.
 * Parameters: REAL, TYPE (its suffix), VECTOR (a vector of it), VL (its elements), NAME(x) (appends the suffix), MV and
 * NR (vectors and columns of a tile), and optionally SCALED(factor, x), their product.
 */
#undef PARTS_OF_VECTORS
#undef PARTS_OR_WHOLE
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

/* Writes the sums of a tile to C whose rows are not contiguous, row by row. */
INLINE void NAME(finish_across)(int nr, const REAL *sums, int column, const NAME(target) * t, REAL *c) {
    const REAL alpha = t->alpha, beta = t->beta;
    const int64_t c_p = t->c_p, c_q = t->c_q;
    for (const REAL *end = sums + t->rows; beta == 0 && sums < end; sums++, c += c_p) {
        UNROLL
        for (int j = 0; j < nr; j++) {
            c[j * c_q] = SCALED(alpha, sums[j * column]);
        }
    }
    for (const REAL *end = sums + t->rows; beta != 0 && sums < end; sums++, c += c_p) {
        UNROLL
        for (int j = 0; j < nr; j++) {
            c[j * c_q] = NAME(update)(alpha, sums[j * column], beta, c[j * c_q]);
        }
    }
}

/* Writes the sums of a tile, [nr][mv][VL] in memory, to C in every case. It is one function for all tiles: copies for
 * each size would be most of the code of a set. */
static __attribute__((noinline)) void NAME(finish_any)(int mv, int nr, const REAL *sums, const bp__native_view *view,
                                                       REAL beta, int rows, REAL *c) {
    NAME(target) target = NAME(target_of)(view, rows), *t = &target;
    target.beta = beta;
    const int column = mv * VL;
    if (t->c_p != 1 && nr == NR) {
        NAME(finish_across)(NR, sums, column, t, c);
    } else if (t->c_p != 1) {
        NAME(finish_across)(nr, sums, column, t, c);
    }
    for (int j = 0; t->c_p == 1 && j < nr; j++, sums += column, c += t->c_q) {
        for (int i = 0; i < rows; i += VL) {
            const VECTOR x = NAME(result_vector)(NAME(load)(sums + i), t, c + i, rows - i);
            NAME(store_rows)(c + i, t->bias ? NAME(follow)(x, t->bias + i, t->relu, rows - i) : x, rows - i);
        }
    }
}

/* Whether parts of vectors are loaded and stored by instructions, and whether these take whole vectors too. */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
#define PARTS_OF_VECTORS true
#define PARTS_OR_WHOLE 1
#else
#define PARTS_OF_VECTORS (VECTOR_BYTES > 16)
#define PARTS_OR_WHOLE 0
#endif

/* Writes the sums of a tile to C: directly if rows of C are contiguous and nothing is added, unless the last vectors
 * are not full and take a loop. `part`: they are not full. */
INLINE void NAME(finish)(int mv, int nr, bool part, VECTOR (*sum)[MV], const bp__native_view *view,
                         const NAME(target) * t, REAL *c) {
    const bool cut = part ? PARTS_OF_VECTORS : PARTS_OR_WHOLE;
    if (t->c_p == 1 && !t->bias && (cut || t->rows == mv * VL)) {
        const int last = t->rows - (mv - 1) * VL;
        const VECTOR alpha = NAME(splat)(t->alpha), beta = NAME(splat)(t->beta);
        if (t->beta == 0) {
            UNROLL
            for (int l = 0; l < mv * nr; l++) {
                const int i = l % mv, j = l / mv;
                REAL *to = c + j * t->c_q + i * VL;
                if (cut && i == mv - 1) {
                    NAME(store_part)(to, SCALED(alpha, sum[j][i]), last);
                } else {
                    NAME(store)(to, SCALED(alpha, sum[j][i]));
                }
            }
            return;
        }
        UNROLL
        for (int l = 0; l < mv * nr; l++) {
            const int i = l % mv, j = l / mv;
            REAL *to = c + j * t->c_q + i * VL;
            if (cut && i == mv - 1) {
                const VECTOR old = NAME(load_part)(to, last);
                NAME(store_part)(to, NAME(madd)(alpha, sum[j][i], SCALED(beta, old)), last);
            } else {
                NAME(store)(to, NAME(madd)(alpha, sum[j][i], SCALED(beta, NAME(load)(to))));
            }
        }
        return;
    }
    REAL lanes[MOST_COLUMNS * MV * VL];
    UNROLL
    for (int l = 0; l < mv * nr; l++) {
        NAME(store)(lanes + l * VL, sum[l / mv][l % mv]);
    }
    NAME(finish_any)(mv, nr, lanes, view, t->beta, t->rows, c);
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
