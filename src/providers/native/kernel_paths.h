/* kernel_paths.h - template: products of one real type other than matrix times matrix: matrix-vector, outer and dot
 * products, tiny products in scalar loops, and C = beta * C. Included after kernel_real.h, with the same parameters.
 */

/* Elements of C in a slice: their sums stay in the first-level cache while V is read. */
#define SLICE ((int)(8192 / sizeof(REAL)))
/* Columns of V that are added at once, so that sums are loaded and stored less often. */
#define DEPTH 4

/* sum[i] = fma(v[i][0..depth), x[0..depth), sum[i]) for `rows` rows, k ascending: the chain of native.h. */
INLINE void NAME(gather)(int depth, REAL *sum, const REAL *v, int64_t v_k, const REAL *x, int rows) {
    VECTOR factor[DEPTH];
    UNROLL
    for (int l = 0; l < depth; l++) {
        factor[l] = NAME(splat)(x[l]);
    }
    int i = 0;
    for (; i + 2 * VL <= rows; i += 2 * VL) {
        VECTOR a = NAME(load)(sum + i), b = NAME(load)(sum + i + VL);
        UNROLL
        for (int l = 0; l < depth; l++) {
            a = NAME(madd)(NAME(load)(v + l * v_k + i), factor[l], a);
            b = NAME(madd)(NAME(load)(v + l * v_k + i + VL), factor[l], b);
        }
        NAME(store)(sum + i, a);
        NAME(store)(sum + i + VL, b);
    }
    for (; i < rows; i++) {
        for (int l = 0; l < depth; l++) {
            sum[i] = NAME(scalar_madd)(v[l * v_k + i], x[l], sum[i]);
        }
    }
}

/* Computes C = alpha * V*s + beta * C for one column s, with contiguous columns of V. Each slice of C reads all columns
 * of V once, DEPTH columns at a time. */
static void NAME(gemv)(const bp__native_view *w, void *scratch) {
    (void)scratch;
    const REAL *s = w->s;
    const REAL alpha = (REAL)w->alpha[0];
    for (int64_t p = 0; p < w->p; p += SLICE) {
        const int rows = w->p - p < SLICE ? (int)(w->p - p) : SLICE;
        for (int64_t first = 0; first < w->k; first += K_BLOCK) {
            REAL sum[SLICE];
            memset(sum, 0, (size_t)rows * sizeof(REAL));
            const int64_t end = w->k - first < K_BLOCK ? w->k : first + K_BLOCK;
            int64_t k = first;
            for (; k + DEPTH <= end; k += DEPTH) {
                const REAL x[DEPTH] = {s[k * w->s_k], s[(k + 1) * w->s_k], s[(k + 2) * w->s_k], s[(k + 3) * w->s_k]};
                NAME(gather)(DEPTH, sum, (const REAL *)w->v + p + k * w->v_k, w->v_k, x, rows);
            }
            for (; k < end; k++) {
                NAME(gather)(1, sum, (const REAL *)w->v + p + k * w->v_k, w->v_k, s + k * w->s_k, rows);
            }
            const REAL beta = first == 0 ? (REAL)w->beta[0] : 1;
            REAL *c = (REAL *)w->c + p * w->c_p;
            for (int i = 0; i < rows; i++) {
                c[i * w->c_p] = beta == 0 ? alpha * sum[i] : NAME(update)(alpha, sum[i], beta, c[i * w->c_p]);
            }
        }
    }
}

/* Computes an outer product (k == 1). The chain of an element starts from zero as in native.h, so that a product of -0
 * becomes +0. */
static void NAME(outer)(const bp__native_view *w, void *scratch) {
    const REAL *v = w->v;
    if (w->v_p != 1) {
        REAL *copy = scratch;
        for (int64_t p = 0; p < w->p; p++) {
            copy[p] = v[p * w->v_p];
        }
        v = copy;
    }
    const REAL alpha = (REAL)w->alpha[0], beta = (REAL)w->beta[0];
    const VECTOR zero = NAME(splat)(0), alphas = NAME(splat)(alpha), betas = NAME(splat)(beta);
    for (int64_t q = 0; q < w->q; q++) {
        const REAL y = ((const REAL *)w->s)[q * w->s_q];
        const VECTOR ys = NAME(splat)(y);
        REAL *c = (REAL *)w->c + q * w->c_q;
        int64_t p = 0;
        if (w->c_p == 1 && beta == 0) {
            for (; p + VL <= w->p; p += VL) {
                NAME(store)(c + p, alphas * NAME(madd)(NAME(load)(v + p), ys, zero));
            }
        } else if (w->c_p == 1) {
            for (; p + VL <= w->p; p += VL) {
                const VECTOR sum = NAME(madd)(NAME(load)(v + p), ys, zero);
                NAME(store)(c + p, NAME(madd)(alphas, sum, betas * NAME(load)(c + p)));
            }
        }
        for (; p < w->p; p++) {
            const REAL sum = NAME(scalar_madd)(v[p], y, 0);
            REAL *to = c + p * w->c_p;
            *to = beta == 0 ? alpha * sum : NAME(update)(alpha, sum, beta, *to);
        }
    }
}

/* Returns the sum of x[l] * y[l]. Element l is added in lane l mod (4 * VL) for all strides: strided operands are first
 * copied to a contiguous buffer. */
static REAL NAME(dot_sum)(const REAL *x, int64_t x_k, const REAL *y, int64_t y_k, int64_t k) {
    enum { STEP = 16 * VL };
    VECTOR sum[4] = {NAME(splat)(0), NAME(splat)(0), NAME(splat)(0), NAME(splat)(0)};
    REAL gathered[2][STEP];
    for (int64_t first = 0; first < k; first += STEP) {
        const int count = k - first < STEP ? (int)(k - first) : STEP;
        const REAL *a = x + first * x_k, *b = y + first * y_k;
        if (x_k != 1 || count < STEP) {
            memset(gathered[0], 0, sizeof gathered[0]);
            for (int l = 0; l < count; l++) {
                gathered[0][l] = a[l * x_k];
            }
            a = gathered[0];
        }
        if (y_k != 1 || count < STEP) {
            memset(gathered[1], 0, sizeof gathered[1]);
            for (int l = 0; l < count; l++) {
                gathered[1][l] = b[l * y_k];
            }
            b = gathered[1];
        }
        for (int l = 0; l < STEP && l < count; l += 4 * VL) {
            UNROLL
            for (int i = 0; i < 4; i++) {
                sum[i] = NAME(madd)(NAME(load)(a + l + i * VL), NAME(load)(b + l + i * VL), sum[i]);
            }
        }
    }
    const VECTOR all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    REAL total = all[0];
    for (int i = 1; i < VL; i++) {
        total += all[i];
    }
    return total;
}

static void NAME(dot)(const bp__native_view *w, void *scratch) {
    (void)scratch;
    const REAL sum = NAME(dot_sum)(w->v, w->v_k, w->s, w->s_k, w->k), alpha = (REAL)w->alpha[0];
    const REAL beta = (REAL)w->beta[0];
    REAL *c = w->c;
    *c = beta == 0 ? alpha * sum : NAME(update)(alpha, sum, beta, *c);
}

/* Computes a product in scalar loops; k is at most K_BLOCK. */
static void NAME(tiny)(const bp__native_view *w, void *scratch) {
    (void)scratch;
    const REAL alpha = (REAL)w->alpha[0], beta = (REAL)w->beta[0];
    for (int64_t q = 0; q < w->q; q++) {
        for (int64_t p = 0; p < w->p; p++) {
            const REAL *v = (const REAL *)w->v + p * w->v_p, *s = (const REAL *)w->s + q * w->s_q;
            REAL sum = 0;
            for (int64_t k = 0; k < w->k; k++) {
                sum = NAME(scalar_madd)(v[k * w->v_k], s[k * w->s_k], sum);
            }
            REAL *c = (REAL *)w->c + p * w->c_p + q * w->c_q;
            *c = beta == 0 ? alpha * sum : NAME(update)(alpha, sum, beta, *c);
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

#undef SLICE
#undef DEPTH
