/* kernel_paths.h - template: products of one real type that need no packed S: small, matrix-vector, outer and dot
 * products, tiny products in scalar loops, and C = beta * C. Included after kernel_rows.h, with the same parameters.
 */

/* Columns of a tile that reads S in memory, by its vectors less one. */
static const int NAME(most_columns)[] = {MEMORY_COLUMNS_1, MEMORY_COLUMNS_2, MEMORY_COLUMNS_3};

/* Returns the vectors of the next panel of a small product with `q` columns. Tiles with fewer vectors have more
 * columns, so that all columns are computed at once if possible: V is then read once. */
INLINE int NAME(small_vectors)(int64_t left, int64_t q) {
    const int most = MV > 2 && q > NAME(most_columns)[MV - 1] && q <= NAME(most_columns)[1] ? 2 : MV;
    const int vectors = NAME(vectors)(left);
    return vectors < most ? vectors : most;
}

/* Computes a small product. S is read in memory. V is read in memory if its columns are contiguous, or if its rows are
 * and S has few columns. Otherwise it is packed panel by panel into scratch. */
static void NAME(small)(const bp__native_view *whole, void *scratch) {
    bp__native_view t = *whole;
    const bool in_place = whole->v_p == 1;
    if (!in_place && whole->v_k == 1 && whole->q <= ROWS_COLUMNS) {
        NAME(rows)(whole);
        return;
    }
    for (int64_t k = 0; k < whole->k; k += K_BLOCK) {
        t.k = whole->k - k < K_BLOCK ? whole->k - k : K_BLOCK;
        for (int64_t p = 0; p < whole->p;) {
            const int mv = NAME(small_vectors)(whole->p - p, whole->q);
            const int rows = whole->p - p < mv * VL ? (int)(whole->p - p) : mv * VL;
            const REAL *v = (const REAL *)whole->v + p * whole->v_p + k * whole->v_k;
            if (!in_place) {
                NAME(pack_v)(scratch, v, whole->v_p, whole->v_k, rows, t.k, false);
                v = scratch;
                t.v_k = mv * VL;
            }
            NAME(tile_function) *const *tile =
                NAME(tiles)[in_place && rows < mv * VL ? FROM_PART : FROM_MEMORY][mv - 1];
            const REAL *s = (const REAL *)whole->s + k * whole->s_k;
            REAL *c = (REAL *)whole->c + p * whole->c_p;
            const int64_t most = NAME(most_columns)[mv - 1];
            const int64_t groups = (whole->q + most - 1) / most, nr = (whole->q + groups - 1) / groups;
            const int64_t full = whole->q / nr, rest = whole->q % nr, q = whole->q - rest;
            tile[nr - 1](&t, v, s, c, rows, full);
            if (rest) {
                tile[rest - 1](&t, v, s + q * whole->s_q, c + q * whole->c_q, rows, 1);
            }
            p += rows;
        }
        t.beta[0] = 1;
    }
}

/* Elements of C in a slice: their sums stay in the first-level cache while V is read. */
#define SLICE ((int)(8192 / sizeof(REAL)))
/* Columns of V that are added at once, so that sums are loaded and stored less often. */
#define DEPTH 4
/* Vectors of rows whose sums are in registers, and the columns of V up to which that is done for any number of rows. */
#define GEMV_VECTORS 12
#define GEMV_SHORT 32

/* Loads the next rows of a column, at most a vector. Memory beyond them is not accessed. */
INLINE VECTOR NAME(load_up_to)(const REAL *from, int64_t rows) {
    return rows < VL ? NAME(load_part)(from, (int)rows) : NAME(load)(from);
}

/* sum[i] = fma(v[i][0..depth), x[0..depth), sum[i]) for `rows` rows, k ascending: the chain of gemm.h. `sum` has whole
 * vectors. */
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
    for (; i < rows; i += VL) {
        VECTOR a = NAME(load)(sum + i);
        UNROLL
        for (int l = 0; l < depth; l++) {
            a = NAME(madd)(NAME(load_up_to)(v + l * v_k + i, rows - i), factor[l], a);
        }
        NAME(store)(sum + i, a);
    }
}

/* Computes `vectors` vectors of rows for one column s, with all sums in registers. The last one may not be full. */
INLINE void NAME(gemv_tile)(int vectors, const bp__native_view *w, int64_t p, int rows, int64_t first, int64_t end) {
    const REAL *v = (const REAL *)w->v + p + first * w->v_k, *s = (const REAL *)w->s + first * w->s_k;
    const int left = rows - (vectors - 1) * VL;
    VECTOR sum[GEMV_VECTORS];
    UNROLL
    for (int i = 0; i < vectors; i++) {
        sum[i] = NAME(splat)(0);
    }
    for (int64_t k = end - first; k > 0; k--, v += w->v_k, s += w->s_k) {
        const VECTOR factor = NAME(splat)(*s);
        UNROLL
        for (int i = 0; i < vectors; i++) {
            const REAL *from = v + i * VL;
            const VECTOR x = i < vectors - 1    ? NAME(load)(from)
                             : PARTS_OF_VECTORS ? NAME(load_part)(from, left)
                                                : NAME(load_up_to)(from, left);
            sum[i] = NAME(madd)(x, factor, sum[i]);
        }
    }
    NAME(target) target = NAME(target_of)(w, rows);
    target.beta = first == 0 ? target.beta : 1;
    REAL *c = (REAL *)w->c + p * w->c_p;
    if (w->c_p == 1 && !w->bias) {
        UNROLL
        for (int i = 0; i < vectors; i++) {
            NAME(finish_vector)(sum[i], &target, c + i * VL, i < vectors - 1 ? VL : left);
        }
        return;
    }
    REAL lanes[GEMV_VECTORS * VL];
    UNROLL
    for (int i = 0; i < vectors; i++) {
        NAME(store)(lanes + i * VL, sum[i]);
    }
    NAME(finish_any)(vectors, 1, lanes, w, target.beta, rows, c);
}

/* One function for each number of vectors: a tile that is smaller than the others has as many chains of sums as it can.
 */
typedef void NAME(gemv_function)(const bp__native_view *w, int64_t p, int rows, int64_t first, int64_t end);
#define GEMV_TILE(vectors)                                                                                             \
    static void NAME(gemv_##vectors)(const bp__native_view *w, int64_t p, int rows, int64_t first, int64_t end) {      \
        NAME(gemv_tile)(vectors, w, p, rows, first, end);                                                              \
    }
#define GEMV_ROW(vectors) [vectors - 1] = NAME(gemv_##vectors),
#define EACH_GEMV(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
EACH_GEMV(GEMV_TILE)
static NAME(gemv_function) *const NAME(gemv_functions)[GEMV_VECTORS] = {EACH_GEMV(GEMV_ROW)};
#undef GEMV_TILE
#undef GEMV_ROW
#undef EACH_GEMV

/* Computes a product with one column in tiles of registers, of similar sizes: each tile reads its rows of all columns
 * of V. */
static void NAME(gemv_tiles)(const bp__native_view *w, int64_t first, int64_t end) {
    for (int64_t p = 0; p < w->p;) {
        const int64_t left = (w->p - p + VL - 1) / VL, tiles = (left + GEMV_VECTORS - 1) / GEMV_VECTORS;
        const int64_t vectors = (left + tiles - 1) / tiles;
        const int rows = w->p - p < vectors * VL ? (int)(w->p - p) : (int)vectors * VL;
        NAME(gemv_functions)[vectors - 1](w, p, rows, first, end);
        p += rows;
    }
}

/* Computes C = alpha * V*s + beta * C for one column s, with contiguous columns of V. Unless sums stay in registers,
 * each slice of C reads all columns of V once, DEPTH columns at a time. */
static void NAME(gemv)(const bp__native_view *w, void *scratch) {
    (void)scratch;
    if (w->k <= GEMV_SHORT || w->p <= GEMV_VECTORS * VL) {
        for (int64_t k = 0; k < w->k; k += K_BLOCK) {
            NAME(gemv_tiles)(w, k, w->k - k < K_BLOCK ? w->k : k + K_BLOCK);
        }
        return;
    }
    const REAL *s = w->s;
    for (int64_t p = 0; p < w->p; p += SLICE) {
        const int rows = w->p - p < SLICE ? (int)(w->p - p) : SLICE;
        for (int64_t first = 0; first < w->k; first += K_BLOCK) {
            REAL sum[SLICE];
            memset(sum, 0, (size_t)((rows + VL - 1) / VL * VL) * sizeof(REAL));
            const int64_t end = w->k - first < K_BLOCK ? w->k : first + K_BLOCK;
            int64_t k = first;
            for (; k + DEPTH <= end; k += DEPTH) {
                const REAL x[DEPTH] = {s[k * w->s_k], s[(k + 1) * w->s_k], s[(k + 2) * w->s_k], s[(k + 3) * w->s_k]};
                NAME(gather)(DEPTH, sum, (const REAL *)w->v + p + k * w->v_k, w->v_k, x, rows);
            }
            for (; k < end; k++) {
                NAME(gather)(1, sum, (const REAL *)w->v + p + k * w->v_k, w->v_k, s + k * w->s_k, rows);
            }
            NAME(finish_any)(1, 1, sum, w, first == 0 ? (REAL)w->beta[0] : 1, rows, (REAL *)w->c + p * w->c_p);
        }
    }
}

/* Computes an outer product (k == 1). The chain of an element starts from zero as in gemm.h, so that a product of -0
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
    const int64_t rows = w->p, columns = w->q, s_q = w->s_q, c_q = w->c_q, c_p = w->c_p;
    const NAME(target) target = NAME(target_of)(w, 0);
    const VECTOR zero = NAME(splat)(0);
    for (int64_t q = 0; q < columns; q++) {
        const REAL y = ((const REAL *)w->s)[q * s_q];
        const VECTOR ys = NAME(splat)(y);
        REAL *c = (REAL *)w->c + q * c_q;
        int64_t p = 0;
        if (c_p == 1) {
            for (; p + VL <= rows; p += VL) {
                NAME(finish_vector)(NAME(madd)(NAME(load)(v + p), ys, zero), &target, c + p, VL);
            }
            if (p < rows) {
                const int left = (int)(rows - p);
                NAME(finish_vector)(NAME(madd)(NAME(load_part)(v + p, left), ys, zero), &target, c + p, left);
            }
            continue;
        }
        for (; p < rows; p++) {
            const REAL sum = NAME(scalar_madd)(v[p], y, 0);
            REAL *to = c + p * c_p;
            *to = beta == 0 ? alpha * sum : NAME(update)(alpha, sum, beta, *to);
        }
    }
}

/* Adds the products of adjacent elements; element l in lane l mod (4 * VL). */
static void NAME(dot_block)(const REAL *x, const REAL *y, int64_t count, VECTOR sum[4]) {
    int64_t l = 0;
    for (; l + 4 * VL <= count; l += 4 * VL) {
        UNROLL
        for (int i = 0; i < 4; i++) {
            sum[i] = NAME(madd)(NAME(load)(x + l + i * VL), NAME(load)(y + l + i * VL), sum[i]);
        }
    }
    for (int i = 0; l < count; i++, l += VL) {
        const int left = (int)(count - l);
        sum[i] = left < VL ? NAME(madd)(NAME(load_part)(x + l, left), NAME(load_part)(y + l, left), sum[i])
                           : NAME(madd)(NAME(load)(x + l), NAME(load)(y + l), sum[i]);
    }
}

/* Returns the sum of x[l] * y[l]. Strided operands are first copied to a contiguous buffer, so that the order of the
 * sum does not depend on the strides. */
static REAL NAME(dot_sum)(const REAL *x, int64_t x_k, const REAL *y, int64_t y_k, int64_t k) {
    enum { STEP = 16 * VL };
    VECTOR sum[4] = {NAME(splat)(0), NAME(splat)(0), NAME(splat)(0), NAME(splat)(0)};
    REAL gathered[2][STEP];
    const bool adjacent = x_k == 1 && y_k == 1;
    if (adjacent) {
        NAME(dot_block)(x, y, k, sum);
    }
    for (int64_t first = 0; first < k && !adjacent; first += STEP) {
        const int count = k - first < STEP ? (int)(k - first) : STEP;
        for (int l = 0; l < count; l++) {
            gathered[0][l] = x[(first + l) * x_k];
            gathered[1][l] = y[(first + l) * y_k];
        }
        NAME(dot_block)(gathered[0], gathered[1], count, sum);
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

#undef SLICE
#undef DEPTH
#undef GEMV_VECTORS
#undef GEMV_SHORT
