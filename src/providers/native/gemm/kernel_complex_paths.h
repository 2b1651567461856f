/* kernel_complex_paths.h - template: complex products that need no packed S. Included after kernel_complex.h, with the
 * same parameters. S is never conjugated here, because choose.c gives such products to the packed path.
 */

/* Computes a small product: packs V panel by panel into scratch and reads S in memory. */
static void NAME(small)(const bp__native_view *whole, void *scratch) {
    bp__native_view t = *whole;
    for (int64_t k = 0; k < whole->k; k += K_BLOCK) {
        t.k = whole->k - k < K_BLOCK ? whole->k - k : K_BLOCK;
        for (int64_t p = 0; p < whole->p;) {
            const int mv = NAME(vectors)(whole->p - p);
            const int rows = whole->p - p < mv * VL ? (int)(whole->p - p) : mv * VL;
            NAME(pack_v)
            (scratch, (const REAL *)whole->v + 2 * (p * whole->v_p + k * whole->v_k), whole->v_p, whole->v_k, rows, t.k,
             whole->v_conjugate);
            for (int64_t q = 0; q < whole->q; q += NR) {
                const int nr = whole->q - q < NR ? (int)(whole->q - q) : NR;
                NAME(tiles)
                [1][mv - 1][nr - 1](&t, scratch, (const REAL *)whole->s + 2 * (q * whole->s_q + k * whole->s_k),
                                    (REAL *)whole->c + 2 * (p * whole->c_p + q * whole->c_q), rows);
            }
            p += rows;
        }
        t.beta[0] = 1;
        t.beta[1] = 0;
    }
}

/* Computes an outer product (k == 1): packs V once, then writes C column by column in memory order. */
static void NAME(outer)(const bp__native_view *w, void *scratch) {
    NAME(pack_v)(scratch, w->v, w->v_p, w->v_k, w->p, 1, w->v_conjugate);
    for (int64_t q = 0; q < w->q; q++) {
        const REAL *s = (const REAL *)w->s + 2 * q * w->s_q, *v = scratch;
        REAL *c = (REAL *)w->c + 2 * q * w->c_q;
        for (int64_t p = 0; p < w->p;) {
            const int mv = NAME(vectors)(w->p - p);
            const int rows = w->p - p < mv * VL ? (int)(w->p - p) : mv * VL;
            NAME(tiles)[1][mv - 1][0](w, v, s, c + 2 * p * w->c_p, rows);
            v += 2 * mv * VL;
            p += rows;
        }
    }
}

/* Elements of C in a slice: their sums stay in the first-level cache while V is read. */
#define SLICE ((int)(4096 / sizeof(REAL)))

/* sum[i] += v[i] * x for `rows` elements; real and imaginary parts of the sums are apart. `sign` is -1 if v is
 * conjugated. */
INLINE void NAME(gather)(REAL *sum_re, REAL *sum_im, const REAL *v, const REAL *x, REAL sign, int rows) {
    const VECTOR x_re = PARTS(splat)(x[0]), x_im = PARTS(splat)(x[1]), signs = PARTS(splat)(sign);
    int i = 0;
    for (; i + VL <= rows; i += VL) {
        VECTOR re = NAME(load)(sum_re + i), im = NAME(load)(sum_im + i), v_re, v_im;
        NAME(split)(v + 2 * i, &v_re, &v_im);
        v_im *= signs;
        re = PARTS(madd)(v_re, x_re, re);
        im = PARTS(madd)(v_re, x_im, im);
        NAME(store)(sum_re + i, PARTS(msub)(v_im, x_im, re));
        NAME(store)(sum_im + i, PARTS(madd)(v_im, x_re, im));
    }
    for (; i < rows; i++) {
        const REAL v_re = v[2 * i], v_im = sign * v[2 * i + 1];
        sum_re[i] = NAME(scalar_msub)(v_im, x[1], PARTS(scalar_madd)(v_re, x[0], sum_re[i]));
        sum_im[i] = PARTS(scalar_madd)(v_im, x[0], PARTS(scalar_madd)(v_re, x[1], sum_im[i]));
    }
}

/* Computes C = alpha * V*s + beta * C for one column s, with contiguous columns of V. Each slice of C reads all columns
 * of V once. */
static void NAME(gemv)(const bp__native_view *w, void *scratch) {
    (void)scratch;
    static const double one[2] = {1, 0};
    const REAL sign = w->v_conjugate ? -1 : 1;
    for (int64_t p = 0; p < w->p; p += SLICE) {
        const int rows = w->p - p < SLICE ? (int)(w->p - p) : SLICE;
        for (int64_t first = 0; first < w->k; first += K_BLOCK) {
            REAL re[SLICE], im[SLICE];
            const size_t whole = (size_t)(rows + VL - 1) / VL * VL * sizeof(REAL);
            memset(re, 0, whole);
            memset(im, 0, whole);
            for (int64_t k = first; k < w->k && k < first + K_BLOCK; k++) {
                NAME(gather)
                (re, im, (const REAL *)w->v + 2 * (p + k * w->v_k), (const REAL *)w->s + 2 * k * w->s_k, sign, rows);
            }
            for (int i = 0; i < rows; i += VL) {
                NAME(finish_vector)
                (NAME(load)(re + i), NAME(load)(im + i), w->alpha, first == 0 ? w->beta : one,
                 (REAL *)w->c + 2 * (p + i) * w->c_p, w->c_p, rows - i < VL ? rows - i : VL);
            }
        }
    }
}
#undef SLICE

/* Computes a dot product. Element l is added in lane l mod (2 * VL) for all strides, so that the result does not depend
 * on them. */
static void NAME(dot)(const bp__native_view *w, void *scratch) {
    (void)scratch;
    enum { STEP = 8 * VL };
    REAL x[2][STEP], y[2][STEP];
    VECTOR re[2] = {PARTS(splat)(0), PARTS(splat)(0)}, im[2] = {PARTS(splat)(0), PARTS(splat)(0)};
    const REAL *v = w->v, *s = w->s;
    for (int64_t first = 0; first < w->k; first += STEP) {
        const int count = w->k - first < STEP ? (int)(w->k - first) : STEP;
        if (count < STEP) {
            memset(x, 0, sizeof x);
            memset(y, 0, sizeof y);
        }
        for (int l = 0; l < count; l++) {
            x[0][l] = v[2 * (first + l) * w->v_k];
            x[1][l] = v[2 * (first + l) * w->v_k + 1] * (w->v_conjugate ? -1 : 1);
            y[0][l] = s[2 * (first + l) * w->s_k];
            y[1][l] = s[2 * (first + l) * w->s_k + 1] * (w->s_conjugate ? -1 : 1);
        }
        for (int l = 0; l < STEP; l += VL) {
            const int i = l / VL & 1;
            const VECTOR v_re = NAME(load)(x[0] + l), v_im = NAME(load)(x[1] + l);
            const VECTOR s_re = NAME(load)(y[0] + l), s_im = NAME(load)(y[1] + l);
            re[i] = PARTS(msub)(v_im, s_im, PARTS(madd)(v_re, s_re, re[i]));
            im[i] = PARTS(madd)(v_im, s_re, PARTS(madd)(v_re, s_im, im[i]));
        }
    }
    const VECTOR all_re = re[0] + re[1], all_im = im[0] + im[1];
    REAL total_re = 0, total_im = 0;
    for (int lane = 0; lane < VL; lane++) {
        total_re += all_re[lane];
        total_im += all_im[lane];
    }
    NAME(update)(w->c, total_re, total_im, w->alpha, w->beta);
}

/* Computes a product in scalar loops; k is at most K_BLOCK. */
static void NAME(tiny)(const bp__native_view *w, void *scratch) {
    (void)scratch;
    for (int64_t q = 0; q < w->q; q++) {
        for (int64_t p = 0; p < w->p; p++) {
            const REAL *v = (const REAL *)w->v + 2 * p * w->v_p, *s = (const REAL *)w->s + 2 * q * w->s_q;
            REAL re = 0, im = 0;
            for (int64_t k = 0; k < w->k; k++, v += 2 * w->v_k, s += 2 * w->s_k) {
                const REAL v_im = w->v_conjugate ? -v[1] : v[1];
                re = PARTS(scalar_madd)(v[0], s[0], re);
                im = PARTS(scalar_madd)(v[0], s[1], im);
                re = NAME(scalar_msub)(v_im, s[1], re);
                im = PARTS(scalar_madd)(v_im, s[0], im);
            }
            NAME(update)((REAL *)w->c + 2 * (p * w->c_p + q * w->c_q), re, im, w->alpha, w->beta);
        }
    }
}

/* C = beta * C. A beta of 0 writes zeros without reading C. */
static void NAME(scale)(const bp__native_view *w, void *scratch) {
    (void)scratch;
    const bool keep = w->beta[0] != 0 || w->beta[1] != 0;
    for (int64_t q = 0; q < w->q; q++) {
        for (int64_t p = 0; p < w->p; p++) {
            REAL *c = (REAL *)w->c + 2 * (p * w->c_p + q * w->c_q);
            REAL re = keep ? c[0] : 0, im = keep ? c[1] : 0;
            SCALE(w->beta, re, im, PARTS(scalar_madd), NAME(scalar_msub), NAME(self));
            c[0] = re;
            c[1] = im;
        }
    }
}

#undef EVEN
#undef ODD
#undef ZIP
#undef SCALE
