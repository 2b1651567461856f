/* kernel_number.h - template: the kernels of attention that compute, for one real type. Parameters: as in
 * kernel_each_real.h, ROWS (rows of a tile), and DOTS.
 *
 * A panel has the same 2 * LANES queries in each of its rows, so that the steps of softmax need no sum across lanes.
 */

enum { NAME(LANES) = VECTOR_BYTES / sizeof(REAL), NAME(WIDTH) = 2 * NAME(LANES) };

/* ---- Products ---- */

/* One tile: c = c * factor + a * b, or a * b without a factor; `inner` is not 0. Sums without a factor begin with a
 * product: to set as many registers to zero as a tile has takes longer. */
INLINE void NAME(tile)(int rows, int64_t inner, const NAME(number) * a, int64_t a_row, int64_t a_inner,
                       const NAME(number) * b, NAME(number) * c, const NAME(number) * factor) {
    VECTOR sum[ROWS][2];
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int v = 0; v < 2; v++) {
            const int at = v * NAME(LANES);
            sum[i][v] = factor ? NAME(load)(c + i * NAME(WIDTH) + at) * NAME(load)(factor + at)
                               : SPLAT(a[i * a_row]) * NAME(load)(b + at);
        }
    }
    for (int64_t k = factor ? 0 : 1; k < inner; k++) {
        const VECTOR first = NAME(load)(b + k * NAME(WIDTH)), second = NAME(load)(b + k * NAME(WIDTH) + NAME(LANES));
        UNROLL
        for (int i = 0; i < rows; i++) {
            const VECTOR same = SPLAT(a[i * a_row + k * a_inner]);
            sum[i][0] = MADD(same, first, sum[i][0]);
            sum[i][1] = MADD(same, second, sum[i][1]);
        }
    }
    UNROLL
    for (int i = 0; i < rows; i++) {
        NAME(store)(c + i * NAME(WIDTH), sum[i][0]);
        NAME(store)(c + i * NAME(WIDTH) + NAME(LANES), sum[i][1]);
    }
}

/* A tile of fewer rows than ROWS. */
static void NAME(edge)(int rows, int64_t inner, const NAME(number) * a, int64_t a_row, int64_t a_inner,
                       const NAME(number) * b, NAME(number) * c, const NAME(number) * factor) {
    int done = 0;
    for (; rows - done >= 4; done += 4) {
        NAME(tile)(4, inner, a + done * a_row, a_row, a_inner, b, c + done * NAME(WIDTH), factor);
    }
    for (; rows - done >= 2; done += 2) {
        NAME(tile)(2, inner, a + done * a_row, a_row, a_inner, b, c + done * NAME(WIDTH), factor);
    }
    for (; rows - done >= 1; done += 1) {
        NAME(tile)(1, inner, a + done * a_row, a_row, a_inner, b, c + done * NAME(WIDTH), factor);
    }
}

/* c = c * factor, or 0 without a factor. */
static void NAME(scale_rows)(int64_t rows, NAME(number) * c, const NAME(number) * factor) {
    for (int64_t i = 0; i < rows * 2; i++) {
        NAME(number) *at = c + i * NAME(LANES);
        NAME(store)(at, factor ? NAME(load)(at) * NAME(load)(factor + i % 2 * NAME(LANES)) : SPLAT(0));
    }
}

INLINE void NAME(tiles)(int64_t rows, int64_t inner, const NAME(number) * a, int64_t a_row, int64_t a_inner,
                        const NAME(number) * b, NAME(number) * c, const NAME(number) * factor) {
    int64_t i = 0;
    for (; rows - i >= ROWS; i += ROWS) {
        NAME(tile)(ROWS, inner, a + i * a_row, a_row, a_inner, b, c + i * NAME(WIDTH), factor);
    }
    if (i < rows) {
        NAME(edge)((int)(rows - i), inner, a + i * a_row, a_row, a_inner, b, c + i * NAME(WIDTH), factor);
    }
}

/* Calls them with strides of 1 as constants, as `factor` is if the caller's factor is. */
INLINE void NAME(tiles_of)(int64_t rows, int64_t inner, const NAME(number) * a, int64_t a_row, int64_t a_inner,
                           const NAME(number) * b, NAME(number) * c, const NAME(number) * factor) {
    if (a_inner == 1) {
        NAME(tiles)(rows, inner, a, a_row, 1, b, c, factor);
    } else if (a_row == 1) {
        NAME(tiles)(rows, inner, a, 1, a_inner, b, c, factor);
    } else {
        NAME(tiles)(rows, inner, a, a_row, a_inner, b, c, factor);
    }
}

static void NAME(product)(int64_t rows, int64_t inner, const void *a, int64_t a_row, int64_t a_inner, const void *b,
                          void *c, const void *factor) {
    if (inner == 0) {
        NAME(scale_rows)(rows, c, factor);
    } else if (factor) {
        NAME(tiles_of)(rows, inner, a, a_row, a_inner, b, c, factor);
    } else {
        NAME(tiles_of)(rows, inner, a, a_row, a_inner, b, c, NULL);
    }
}

/* ---- Softmax of a panel ---- */

/* Adds the bias to keys [from, to), removes those outside the limits, and updates the greatest score of each lane. */
INLINE void NAME(prepare_keys)(int64_t from, int64_t to, NAME(number) * scores, const NAME(number) * bias,
                               const NAME(number) * first, const NAME(number) * end, VECTOR greatest[2]) {
    const VECTOR none = SPLAT((REAL)-INFINITY);
    for (int64_t k = from; k < to; k++) {
        UNROLL
        for (int v = 0; v < 2; v++) {
            const int64_t at = k * NAME(WIDTH) + v * NAME(LANES);
            VECTOR score = NAME(load)(scores + at);
            if (bias) {
                score += NAME(load)(bias + at);
            }
            if (end) {
                score = NAME(select)((NAME(bitmask))(NAME(load)(end + v * NAME(LANES)) > SPLAT((REAL)k)), score, none);
            }
            if (first) {
                score =
                    NAME(select)((NAME(bitmask))(NAME(load)(first + v * NAME(LANES)) > SPLAT((REAL)k)), none, score);
            }
            if (bias || first || end) {
                NAME(store)(scores + at, score);
            }
            greatest[v] = GREATER(score, greatest[v]);
        }
    }
}

/* The same for all keys. Those from the greatest first one to the least end need no comparison. */
INLINE void NAME(prepare)(int64_t keys, NAME(number) * scores, const NAME(number) * bias, bp__attention_limits limits,
                          VECTOR greatest[2]) {
    const NAME(number) *first = limits.first, *end = limits.end;
    int64_t from = 0, to = keys;
    for (int lane = 0; first && lane < NAME(WIDTH); lane++) {
        from = (int64_t)first[lane] > from ? (int64_t)first[lane] : from;
    }
    for (int lane = 0; end && lane < NAME(WIDTH); lane++) {
        to = (int64_t)end[lane] < to ? (int64_t)end[lane] : to;
    }
    if (first) {
        from = from < keys ? from : keys;
        to = to > from ? to : from;
        NAME(prepare_keys)(0, from, scores, bias, first, end, greatest);
    }
    if (bias) {
        NAME(prepare_keys)(from, to, scores, bias, NULL, NULL, greatest);
    } else {
        NAME(prepare_keys)(from, to, scores, NULL, NULL, NULL, greatest);
    }
    if (end) {
        NAME(prepare_keys)(to, keys, scores, bias, NULL, end, greatest);
    }
}

/* ---- Softcap ---- */

/* The derivative is 4 e / (1 + e)^2 with e of -2 |x|, which keeps its digits where 1 - tanh^2 would lose them. */
INLINE VECTOR NAME(cap_slope)(VECTOR x) {
    const VECTOR size = NAME(select)((NAME(bitmask))(x < SPLAT(0)), -x, x), e = NAME(weight)(size * SPLAT(-2));
    const VECTOR sum = e + SPLAT(1);
    return SPLAT(4) * e / (sum * sum);
}

INLINE VECTOR NAME(cap_vector)(VECTOR *score, REAL cap, bool sloped) {
    const VECTOR x = *score / SPLAT(cap);
    *score = NAME(tanh)(x) * SPLAT(cap);
    return sloped ? NAME(cap_slope)(x) : x;
}

INLINE void NAME(cap_all)(int64_t count, NAME(number) * scores, REAL cap, NAME(number) * slopes) {
    int64_t i = 0;
    for (; i + NAME(LANES) <= count; i += NAME(LANES)) {
        VECTOR score = NAME(load)(scores + i);
        const VECTOR slope = NAME(cap_vector)(&score, cap, slopes != NULL);
        NAME(store)(scores + i, score);
        if (slopes) {
            NAME(store)(slopes + i, slope);
        }
    }
    if (i < count) {
        REAL part[NAME(LANES)], part_slopes[NAME(LANES)];
        VECTOR score = LOAD_PART(scores + i, (int)(count - i));
        NAME(store)(part_slopes, NAME(cap_vector)(&score, cap, slopes != NULL));
        NAME(store)(part, score);
        for (int rest = 0; i + rest < count; rest++) {
            scores[i + rest] = part[rest];
            if (slopes) {
                slopes[i + rest] = part_slopes[rest];
            }
        }
    }
}

static void NAME(cap)(int64_t count, void *scores, double cap, void *slopes) {
    if (slopes) {
        NAME(cap_all)(count, scores, (REAL)cap, slopes);
    } else {
        NAME(cap_all)(count, scores, (REAL)cap, NULL);
    }
}

/* ---- Softmax ---- */

static void NAME(softmax)(int64_t keys, void *of_scores, const void *bias, bp__attention_limits limits,
                          void *of_greatest, void *of_sum, void *of_factor) {
    NAME(number) *scores = of_scores, *greatest = of_greatest, *sum = of_sum, *factor = of_factor;
    const VECTOR none = SPLAT((REAL)-INFINITY);
    VECTOR center[2] = {NAME(load)(greatest), NAME(load)(greatest + NAME(LANES))}, total[2] = {none, none};
    const VECTOR before[2] = {center[0], center[1]};
    NAME(prepare)(keys, scores, bias, limits, center);
    UNROLL
    for (int v = 0; v < 2; v++) {
        NAME(store)(greatest + v * NAME(LANES), center[v]);
        /* Without any score above -infinity, every weight is 0. */
        center[v] = NAME(select)((NAME(bitmask))(center[v] == none), SPLAT(0), center[v]);
        total[v] = SPLAT(0);
    }
    for (int64_t k = 0; k < keys; k++) {
        UNROLL
        for (int v = 0; v < 2; v++) {
            NAME(number) *at = scores + k * NAME(WIDTH) + v * NAME(LANES);
            const VECTOR weight = NAME(weight)(NAME(load)(at) - center[v]);
            NAME(store)(at, weight);
            total[v] += weight;
        }
    }
    UNROLL
    for (int v = 0; v < 2; v++) {
        const int at = v * NAME(LANES);
        const VECTOR change = NAME(weight)(before[v] - center[v]);
        NAME(store)(factor + at, change);
        NAME(store)(sum + at, MADD(NAME(load)(sum + at), change, total[v]));
    }
}

/* ---- Gradients of a panel ---- */

static void NAME(weigh)(int64_t keys, void *of_scores, const void *bias, bp__attention_limits limits,
                        const void *of_sums) {
    NAME(number) *scores = of_scores;
    const NAME(number) *centers = of_sums, *logarithms = centers + NAME(WIDTH);
    const VECTOR center[2] = {NAME(load)(centers), NAME(load)(centers + NAME(LANES))};
    const VECTOR logarithm[2] = {NAME(load)(logarithms), NAME(load)(logarithms + NAME(LANES))};
    VECTOR unused[2] = {center[0], center[1]};
    if (bias || limits.first || limits.end) {
        NAME(prepare)(keys, scores, bias, limits, unused);
    }
    for (int64_t k = 0; k < keys; k++) {
        UNROLL
        for (int v = 0; v < 2; v++) {
            NAME(number) *at = scores + k * NAME(WIDTH) + v * NAME(LANES);
            NAME(store)(at, NAME(weight)(NAME(load)(at) - center[v] - logarithm[v]));
        }
    }
}

static void NAME(slope)(int64_t keys, void *of_slopes, const void *of_weights, const void *of_shares) {
    NAME(number) *slopes = of_slopes;
    const NAME(number) *weights = of_weights, *shares = of_shares;
    for (int64_t k = 0; k < keys; k++) {
        UNROLL
        for (int v = 0; v < 2; v++) {
            const int64_t at = k * NAME(WIDTH) + v * NAME(LANES);
            NAME(store)
            (slopes + at, NAME(load)(weights + at) * (NAME(load)(slopes + at) - NAME(load)(shares + v * NAME(LANES))));
        }
    }
}

static void NAME(multiply)(int64_t count, void *of_x, const void *of_by) {
    NAME(number) *x = of_x;
    const NAME(number) *by = of_by;
    for (int64_t i = 0; i < count; i++) {
        x[i] *= by[i];
    }
}

/* ---- Rows of one query ---- */

/* Sums of products of a query and `count` keys, each in lanes that are then added pairwise. */
INLINE void NAME(dots_of)(int count, int64_t size, const NAME(number) * query, const NAME(number) * key,
                          int64_t key_row, NAME(number) * scores) {
    const int64_t whole = size / NAME(LANES) * NAME(LANES);
    VECTOR sum[DOTS][2];
    UNROLL
    for (int k = 0; k < count; k++) {
        sum[k][0] = sum[k][1] = SPLAT(0);
    }
    int64_t d = 0;
    for (; d + NAME(WIDTH) <= size; d += NAME(WIDTH)) {
        UNROLL
        for (int k = 0; k < count; k++) {
            const NAME(number) *at = key + k * key_row + d;
            sum[k][0] = MADD(NAME(load)(query + d), NAME(load)(at), sum[k][0]);
            sum[k][1] = MADD(NAME(load)(query + d + NAME(LANES)), NAME(load)(at + NAME(LANES)), sum[k][1]);
        }
    }
    for (int k = 0; k < count && d < whole; k++) {
        sum[k][0] = MADD(NAME(load)(query + d), NAME(load)(key + k * key_row + d), sum[k][0]);
    }
    for (int k = 0; k < count && whole < size; k++) {
        const int rest = (int)(size - whole);
        sum[k][1] = MADD(LOAD_PART(query + whole, rest), LOAD_PART(key + k * key_row + whole, rest), sum[k][1]);
    }
    REAL lane[DOTS][NAME(LANES)];
    UNROLL
    for (int k = 0; k < count; k++) {
        NAME(store)(lane[k], sum[k][0] + sum[k][1]);
    }
    UNROLL
    for (int half = NAME(LANES) / 2; half > 0; half /= 2) {
        UNROLL
        for (int k = 0; k < count; k++) {
            UNROLL
            for (int i = 0; i < half; i++) {
                lane[k][i] += lane[k][i + half];
            }
        }
    }
    UNROLL
    for (int k = 0; k < count; k++) {
        scores[k] = lane[k][0];
    }
}

static void NAME(dots)(int64_t keys, int64_t size, const void *of_query, const void *of_key, int64_t key_row,
                       void *of_scores) {
    const NAME(number) *query = of_query, *key = of_key;
    NAME(number) *scores = of_scores;
    int64_t k = 0;
    for (; k + DOTS <= keys; k += DOTS) {
        NAME(dots_of)(DOTS, size, query, key + k * key_row, key_row, scores + k);
    }
    for (; k < keys; k++) {
        NAME(dots_of)(1, size, query, key + k * key_row, key_row, scores + k);
    }
}

/* As softmax(), of the scores of one query. */
static void NAME(softmax_row)(int64_t keys, void *of_scores, const void *of_bias, void *of_greatest, void *of_sum,
                              void *of_factor) {
    NAME(number) *scores = of_scores, *greatest = of_greatest, *sum = of_sum, *factor = of_factor;
    const NAME(number) *bias = of_bias;
    const REAL before = *greatest, none = (REAL)-INFINITY;
    REAL center = before;
    for (int64_t k = 0; k < keys; k++) {
        scores[k] += bias ? bias[k] : 0;
        center = scores[k] > center ? scores[k] : center;
    }
    *greatest = center;
    const VECTOR centers = SPLAT(center == none ? 0 : center);
    VECTOR total = SPLAT(0);
    int64_t k = 0;
    for (; k + NAME(LANES) <= keys; k += NAME(LANES)) {
        const VECTOR weight = NAME(weight)(NAME(load)(scores + k) - centers);
        NAME(store)(scores + k, weight);
        total += weight;
    }
    REAL lane[NAME(LANES)], rest = 0;
    NAME(store)(lane, total);
    if (k < keys) {
        REAL part[NAME(LANES)];
        NAME(store)(part, NAME(weight)(LOAD_PART(scores + k, (int)(keys - k)) - centers));
        for (int i = 0; k + i < keys; i++) {
            scores[k + i] = part[i];
            rest += part[i];
        }
    }
    for (int i = 0; i < NAME(LANES); i++) {
        rest += lane[i];
    }
    NAME(store)(lane, NAME(weight)(SPLAT(before) - centers));
    *factor = lane[0];
    *sum = *sum * *factor + rest;
}

VECTORIZED static void NAME(merge)(int64_t rows, int64_t lanes, void *of_c, const void *of_a, const void *of_more,
                                   const void *of_b) {
    NAME(number) *c = of_c;
    const NAME(number) *a = of_a, *more = of_more, *b = of_b;
    for (int64_t i = 0; i < rows && lanes > 1; i++) {
        for (int v = 0; v < NAME(WIDTH); v += NAME(LANES)) {
            NAME(number) *at = c + i * NAME(WIDTH) + v;
            NAME(store)
            (at, MADD(NAME(load)(at), NAME(load)(a + v), NAME(load)(more + i * NAME(WIDTH) + v) * NAME(load)(b + v)));
        }
    }
    for (int64_t i = 0; i < rows && lanes == 1; i++) {
        c[i] = SCALAR_MADD(c[i], *a, more[i] * *b);
    }
}

static void NAME(scale)(int64_t count, void *of, double factor) {
    NAME(number) *x = of;
    for (int64_t i = 0; i < count; i++) {
        x[i] *= (REAL)factor;
    }
}

static void NAME(slope_row)(int64_t keys, void *of_slopes, const void *of_weights) {
    NAME(number) *slopes = of_slopes;
    const NAME(number) *weights = of_weights;
    REAL share;
    NAME(dots)(1, keys, slopes, weights, 0, &share);
    for (int64_t k = 0; k < keys; k++) {
        slopes[k] = weights[k] * (slopes[k] - share);
    }
}

/* sum[e] = sum[e] * factor + the sum over keys of weights[k] * value[k][e]. */
INLINE void NAME(combine_vectors)(int count, int64_t keys, const NAME(number) * weights, const NAME(number) * value,
                                  int64_t value_row, NAME(number) * sum, REAL factor) {
    VECTOR total[8];
    UNROLL
    for (int v = 0; v < count; v++) {
        total[v] = NAME(load)(sum + v * NAME(LANES)) * SPLAT(factor);
    }
    for (int64_t k = 0; k < keys; k++) {
        const VECTOR weight = SPLAT(weights[k]);
        UNROLL
        for (int v = 0; v < count; v++) {
            total[v] = MADD(weight, NAME(load)(value + k * value_row + v * NAME(LANES)), total[v]);
        }
    }
    UNROLL
    for (int v = 0; v < count; v++) {
        NAME(store)(sum + v * NAME(LANES), total[v]);
    }
}

static void NAME(combine)(int64_t keys, int64_t size, const void *of_weights, const void *of_value, int64_t value_row,
                          void *of_sum, const void *of_factor) {
    const NAME(number) *weights = of_weights, *value = of_value;
    NAME(number) *sum = of_sum;
    const REAL factor = *(const NAME(number) *)of_factor;
    int64_t e = 0;
    for (; e + 8 * NAME(LANES) <= size; e += 8 * NAME(LANES)) {
        NAME(combine_vectors)(8, keys, weights, value + e, value_row, sum + e, factor);
    }
    for (; e + 4 * NAME(LANES) <= size; e += 4 * NAME(LANES)) {
        NAME(combine_vectors)(4, keys, weights, value + e, value_row, sum + e, factor);
    }
    for (; e + NAME(LANES) <= size; e += NAME(LANES)) {
        NAME(combine_vectors)(1, keys, weights, value + e, value_row, sum + e, factor);
    }
    for (; e < size; e++) {
        REAL total = sum[e] * factor;
        for (int64_t k = 0; k < keys; k++) {
            total = SCALAR_MADD(weights[k], value[k * value_row + e], total);
        }
        sum[e] = total;
    }
}

/* ---- Masks and dropout ---- */

static void NAME(permit)(int64_t keys, const void *of_from, int64_t stride, void *of_to, int64_t lanes) {
    const uint8_t *from = of_from;
    NAME(number) *to = of_to;
    for (int64_t k = 0; k < keys; k++) {
        to[k * lanes] = from[k * stride] ? 0 : (REAL)-INFINITY;
    }
}

static void NAME(bias)(int64_t keys, const float *from, int64_t stride, void *of_to, int64_t lanes) {
    NAME(number) *to = of_to;
    for (int64_t k = 0; k < keys; k++) {
        to[k * lanes] = (REAL)from[k * stride];
    }
}

static void NAME(spread)(int64_t keys, void *of_panel) {
    NAME(number) *panel = of_panel;
    for (int64_t k = 0; k < keys; k++, panel += NAME(WIDTH)) {
        NAME(store)(panel, SPLAT(panel[0]));
        NAME(store)(panel + NAME(LANES), SPLAT(panel[0]));
    }
}

static void NAME(drop)(int lanes, int64_t keys, void *of_weights, int64_t first, const uint64_t *rows, uint64_t seed,
                       uint64_t limit, double factor) {
    NAME(number) *weights = of_weights;
    for (int lane = 0; lane < lanes; lane++) {
        uint32_t number[4] = {0};
        for (int64_t k = 0; k < keys; k++) {
            const uint64_t key = (uint64_t)(first + k);
            if (k == 0 || key % 4 == 0) {
                bp__philox(seed, key / 4, rows[lane], number);
            }
            REAL *weight = &weights[k * lanes + lane];
            *weight = number[key % 4] < limit ? 0 : *weight * (REAL)factor;
        }
    }
}

static double NAME(read)(const void *from) {
    return (double)*(const NAME(number) *)from;
}

static void NAME(set)(void *of_to, int64_t count, double value) {
    NAME(number) *to = of_to;
    int64_t i = 0;
    for (; i + NAME(LANES) <= count; i += NAME(LANES)) {
        NAME(store)(to + i, SPLAT((REAL)value));
    }
    for (; i < count; i++) {
        to[i] = (REAL)value;
    }
}

static void NAME(copy)(void *of_to, int64_t count, const double *from) {
    NAME(number) *to = of_to;
    for (int64_t i = 0; i < count; i++) {
        to[i] = (REAL)from[i];
    }
}
