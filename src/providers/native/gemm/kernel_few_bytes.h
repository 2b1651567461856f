/* kernel_few_bytes.h - template: products of a few columns of S, as pairs, with V of one type, contiguous along p or k.
 * Parameters: BYTES (i8 or u8) and IN (its C type). Included in kernel_integer_paths.h.
 */
#define BNAME(x) JOIN(x, BYTES)
#define OF_LANES(name) JOIN(JOIN(name, V_LANES), BYTES)

/* Converts a column of S to pairs, followed by zeros up to a whole vector. */
static void BNAME(few_pairs)(uint32_t *to, const void *column, int64_t along, int64_t k) {
    const IN *from = column;
    int64_t l = 0;
    for (; along == 1 && l + 2 * VL <= k; l += 2 * VL) {
        *(loose_v *)(void *)(to + l / 2) = (VECTOR)OF_LANES(row)(from + l);
    }
    if (along == 1 && l < k) {
        *(loose_v *)(void *)(to + l / 2) = (VECTOR)OF_LANES(row_part)(from + l, (int)(k - l));
        return;
    }
    for (; l < k; l += 2) {
        to[l / 2] = pair_of(from[l * along], l + 1 < k ? from[(l + 1) * along] : 0);
    }
    *(loose_v *)(void *)(to + l / 2) = (VECTOR){0};
}

/* ---- V contiguous along k: vectors run along k ---- */

/* Adds the products of a vector of pairs of each row and column. `part`: only `count` elements of each row exist. */
INLINE void BNAME(rows_step)(int rows, int columns, bool part, VECTOR (*sum)[FEW_COLUMNS], const IN *v, int64_t v_p,
                             uint32_t (*s)[FEW_PAIRS], int64_t pair, int count) {
    UNROLL
    for (int i = 0; i < rows; i++) {
        const VECTOR x = part ? (VECTOR)OF_LANES(row_part)(v + i * v_p, count) : (VECTOR)OF_LANES(row)(v + i * v_p);
        UNROLL
        for (int j = 0; j < columns; j++) {
            sum[i][j] = DOT(sum[i][j], x, *(const loose_v *)(const void *)(s[j] + pair));
        }
    }
}

INLINE void BNAME(rows_tile)(int rows, int columns, const bp__native_view *w, uint32_t (*s)[FEW_PAIRS], int64_t p) {
    const IN *v = (const IN *)w->v + p * w->v_p;
    VECTOR sum[FEW_ROWS][FEW_COLUMNS];
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < columns; j++) {
            sum[i][j] = splat_u32(0);
        }
    }
    int64_t k = 0;
    for (; k + 2 * VL <= w->k; k += 2 * VL) {
        BNAME(rows_step)(rows, columns, false, sum, v + k, w->v_p, s, k / 2, 2 * VL);
    }
    if (k < w->k) {
        BNAME(rows_step)(rows, columns, true, sum, v + k, w->v_p, s, k / 2, (int)(w->k - k));
    }
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < columns; j++) {
            add_to(w, p + i, j, sum_of_lanes(sum[i][j]));
        }
    }
}

INLINE void BNAME(few_rows)(int rows, int columns, const bp__native_view *w, uint32_t (*s)[FEW_PAIRS]) {
    int64_t p = 0;
    for (; p + rows <= w->p; p += rows) {
        BNAME(rows_tile)(rows, columns, w, s, p);
    }
    for (; p < w->p; p++) {
        BNAME(rows_tile)(1, columns, w, s, p);
    }
}

/* ---- V contiguous along p: vectors run along p ---- */

/* Adds products of `pairs` pairs of rows of k to the sums of UNIT elements of each column, which are in the order in
 * which UNPACK leaves them. `part`: only `count` elements exist. */
INLINE void BNAME(gather_unit)(int pairs, int columns, bool part, uint32_t *sums, int64_t step, const IN **row, int i,
                               VECTOR (*factor)[FEW_COLUMNS], int count) {
    VECTOR x[MOST_PAIRS][2];
    UNROLL
    for (int l = 0; l < pairs; l++) {
        const IN *even = row[2 * l] + i, *odd = row[2 * l + 1] + i;
        const shorts_v a = (shorts_v)(part ? OF_LANES(row_part)(even, count) : OF_LANES(row)(even));
        const shorts_v b = (shorts_v)(part ? OF_LANES(row_part)(odd, count) : OF_LANES(row)(odd));
        x[l][0] = (VECTOR)UNPACK(a, b, 0);
        x[l][1] = (VECTOR)UNPACK(a, b, 4);
    }
    UNROLL
    for (int j = 0; j < 2 * columns; j++) {
        uint32_t *at = sums + j / 2 * step + i + j % 2 * VL;
        VECTOR sum = load_u32(at);
        UNROLL
        for (int l = 0; l < pairs; l++) {
            sum = DOT(sum, x[l][j % 2], factor[l][j / 2]);
        }
        store_u32(at, sum);
    }
}

/* Adds the products of k to k + 2 * pairs for a slice of rows. Behind an odd number of k, the last one is read again,
 * and multiplied by the 0 of its pair. */
INLINE void BNAME(gather)(int pairs, int columns, const bp__native_view *w, uint32_t *sums, int64_t step, int64_t p,
                          int rows, int64_t k, uint32_t (*s)[FEW_PAIRS]) {
    const IN *row[2 * MOST_PAIRS];
    VECTOR factor[MOST_PAIRS][FEW_COLUMNS];
    UNROLL
    for (int l = 0; l < pairs; l++) {
        row[2 * l] = (const IN *)w->v + p + (k + 2 * l) * w->v_k;
        row[2 * l + 1] = k + 2 * l + 1 < w->k ? row[2 * l] + w->v_k : row[2 * l];
        UNROLL
        for (int j = 0; j < columns; j++) {
            factor[l][j] = splat_u32(s[j][k / 2 + l]);
        }
    }
    int i = 0;
    for (; i + UNIT <= rows; i += UNIT) {
        BNAME(gather_unit)(pairs, columns, false, sums, step, row, i, factor, UNIT);
    }
    if (i < rows) {
        BNAME(gather_unit)(pairs, columns, true, sums, step, row, i, factor, rows - i);
    }
}

INLINE void BNAME(few_columns)(int pairs, int columns, const bp__native_view *w, uint32_t (*s)[FEW_PAIRS]) {
    const int64_t step = SLICE / columns / UNIT * UNIT;
    for (int64_t p = 0; p < w->p; p += step) {
        uint32_t sums[SLICE];
        const int rows = w->p - p < step ? (int)(w->p - p) : (int)step;
        for (int j = 0; j < columns; j++) {
            memset(sums + j * step, 0, (size_t)((rows + UNIT - 1) / UNIT * UNIT) * sizeof sums[0]);
        }
        int64_t k = 0;
        for (; k + 2 * pairs <= w->k; k += 2 * pairs) {
            BNAME(gather)(pairs, columns, w, sums, step, p, rows, k, s);
        }
        for (; k < w->k; k += 2) {
            BNAME(gather)(1, columns, w, sums, step, p, rows, k, s);
        }
        for (int j = 0; j < columns; j++) {
            add_sums(w, p, j, sums + j * step, rows);
        }
    }
}

static void BNAME(few)(const bp__native_view *w, uint32_t (*s)[FEW_PAIRS]) {
    const bool along_k = w->v_k == 1 && w->v_p != 1;
    switch (w->q) {
    case 1:
        along_k ? BNAME(few_rows)(FEW_ROWS, 1, w, s) : BNAME(few_columns)(MOST_PAIRS, 1, w, s);
        break;
    case 2:
        along_k ? BNAME(few_rows)(2, 2, w, s) : BNAME(few_columns)(2, 2, w, s);
        break;
    case 3:
        along_k ? BNAME(few_rows)(2, 3, w, s) : BNAME(few_columns)(2, 3, w, s);
        break;
    default:
        along_k ? BNAME(few_rows)(2, FEW_COLUMNS, w, s) : BNAME(few_columns)(2, FEW_COLUMNS, w, s);
    }
}

#undef BNAME
#undef OF_LANES
#undef BYTES
#undef IN
