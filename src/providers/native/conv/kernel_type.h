/* kernel_type.h - template: the convolution kernels of one type. Parameters: TYPE (its suffix), REAL (type of sums and
 * panels), IN (type in memory), WIDEN(x) and NARROW(x), which convert from IN to REAL and back, and for vectors of REAL
 * VECTOR, MADD, SPLAT and LOAD(from), which converts too. */
typedef IN NAME(element) __attribute__((may_alias));
typedef REAL NAME(number) __attribute__((may_alias));

INLINE VECTOR NAME(load)(const NAME(element) * from) {
    return LOAD(from);
}

INLINE REAL NAME(chain)(REAL a, REAL b, REAL c) {
    return sizeof(REAL) == 4 ? (REAL)scalar_madd_f32((float)a, (float)b, (float)c)
                             : (REAL)scalar_madd_f64((double)a, (double)b, (double)c);
}

/* Four elements, which are exchanged with elements of three other columns. */
typedef REAL NAME(four) __attribute__((vector_size(4 * sizeof(REAL))));

INLINE NAME(four) NAME(load_four)(const NAME(element) * from) {
    NAME(four) x = {0};
    if (from && sizeof(IN) == sizeof(REAL)) {
        memcpy(&x, from, sizeof x);
    } else if (from) {
        x = (NAME(four)){WIDEN(from[0]), WIDEN(from[1]), WIDEN(from[2]), WIDEN(from[3])};
    }
    return x;
}

INLINE void NAME(store_four)(NAME(number) * to, NAME(four) x) {
    memcpy(to, &x, sizeof x);
}

/* Packs four columns with contiguous elements. Returns how many rows were packed. */
INLINE int64_t NAME(gather_four)(NAME(number) * to, int width, const char *const *from, int64_t k) {
    const NAME(element) * column[4];
    int64_t l = 0;
    UNROLL
    for (int i = 0; i < 4; i++) {
        column[i] = (const NAME(element) *)(const void *)from[i];
    }
    for (; l + 4 <= k; l += 4, to += 4 * width) {
        NAME(four) x[4];
        UNROLL
        for (int i = 0; i < 4; i++) {
            x[i] = NAME(load_four)(column[i] ? column[i] + l : NULL);
        }
        const NAME(four) a = __builtin_shufflevector(x[0], x[1], 0, 4, 2, 6);
        const NAME(four) b = __builtin_shufflevector(x[0], x[1], 1, 5, 3, 7);
        const NAME(four) c = __builtin_shufflevector(x[2], x[3], 0, 4, 2, 6);
        const NAME(four) d = __builtin_shufflevector(x[2], x[3], 1, 5, 3, 7);
        NAME(store_four)(to, __builtin_shufflevector(a, c, 0, 1, 4, 5));
        NAME(store_four)(to + width, __builtin_shufflevector(b, d, 0, 1, 4, 5));
        NAME(store_four)(to + 2 * width, __builtin_shufflevector(a, c, 2, 3, 6, 7));
        NAME(store_four)(to + 3 * width, __builtin_shufflevector(b, d, 2, 3, 6, 7));
    }
    return l;
}

static void NAME(gather)(void *panel, int width, const char *const *from, int64_t step, int64_t k) {
    NAME(number) *to = panel;
    int64_t done = 0;
    for (int i = 0; i < width; i++) {
        const NAME(element) *column = (const NAME(element) *)(const void *)from[i];
        if (i % 4 == 0) {
            done = step == 1 && i + 4 <= width ? NAME(gather_four)(to + i, width, from + i, k) : 0;
        }
        for (int64_t l = done; l < k; l++) {
            to[l * width + i] = column ? WIDEN(column[l * step]) : 0;
        }
    }
}

INLINE IN NAME(result)(REAL sum, REAL bias, bool relu) {
    const REAL x = sum + bias;
    return NARROW(relu && x < 0 ? 0 : x);
}

/* Copies of the loop: the compiler makes vectors of them for contiguous results. */
INLINE void NAME(finish_runs)(const bp__conv_results *r, const int64_t step, const int64_t bias_step,
                              const NAME(element) * bias, const int64_t bias_run, const bool relu) {
    const int64_t n = r->n, runs = r->runs; /* the results may alias *r */
    for (int64_t run = 0; run < runs; run++) {
        NAME(element) *restrict to = (NAME(element) *)(void *)r->to + run * r->to_run;
        const NAME(number) *restrict sums = (const NAME(number) *)r->sums + run * r->sums_run;
        const NAME(element) *restrict from = bias + run * bias_run;
        for (int64_t i = 0; i < n; i++) {
            to[i * step] = NAME(result)(sums[i], WIDEN(from[i * bias_step]), relu);
        }
    }
}

VECTORIZED static void NAME(finish)(const bp__conv_results *r) {
    static const IN none = 0;
    const NAME(element) *bias = (const NAME(element) *)(const void *)(r->bias ? r->bias : (const char *)&none);
    const int64_t bias_step = r->bias ? r->bias_step : 0, bias_run = r->bias ? r->bias_run : 0;
    if (r->to_step == 1 && bias_step == 0 && r->relu) {
        NAME(finish_runs)(r, 1, 0, bias, bias_run, true);
    } else if (r->to_step == 1 && bias_step == 0) {
        NAME(finish_runs)(r, 1, 0, bias, bias_run, false);
    } else if (r->to_step == 1 && bias_step == 1) {
        NAME(finish_runs)(r, 1, 1, bias, bias_run, r->relu);
    } else {
        NAME(finish_runs)(r, r->to_step, bias_step, bias, bias_run, r->relu);
    }
}

INLINE VECTOR NAME(load_number)(const NAME(number) * from) {
    VECTOR x;
    memcpy(&x, from, sizeof x);
    return x;
}

/* Adds the terms to `vectors` vectors of `runs` runs, from run `first` and result i on. Both counts are constants, so
 * that sums stay in registers. So are `same`, all results have the same weight, and `edge`, some runs lack terms. */
INLINE void NAME(add_chains)(const bp__conv_sums *s, const int runs, const int vectors, const bool same,
                             const bool edge, int64_t first, int64_t i, VECTOR *sum) {
    enum { LANES = VECTOR_BYTES / sizeof(REAL), MOST_VECTORS = 8 };
    const int64_t terms = s->terms, run = s->run, weight_term = s->weight_term, at = first * run + i;
    const char *const *from = s->from;
    const NAME(number) *weights = (const NAME(number) *)s->weights + (same ? 0 : i);
    for (int64_t t = 0; t < terms; t++, weights += weight_term) {
        if (!from[t]) {
            continue;
        }
        const NAME(element) *x = (const NAME(element) *)(const void *)from[t] + at;
        VECTOR weight[MOST_VECTORS];
        UNROLL
        for (int v = 0; v < vectors; v++) {
            weight[v] = same ? SPLAT(weights[0]) : NAME(load_number)(weights + v * LANES);
        }
        UNROLL
        for (int r = 0; r < runs; r++, x += run) {
            if (edge && !(s->inside[t] >> r & 1)) {
                continue;
            }
            UNROLL
            for (int v = 0; v < vectors; v++) {
                sum[r * vectors + v] = MADD(weight[v], NAME(load)(x + v * LANES), sum[r * vectors + v]);
            }
        }
    }
}

/* The same for sums in memory. */
INLINE void NAME(add_block)(const bp__conv_sums *s, const int runs, const int vectors, const bool same, int64_t first,
                            int64_t i) {
    enum { LANES = VECTOR_BYTES / sizeof(REAL), MOST = 8 };
    NAME(number) *sums = (NAME(number) *)s->sums + first * s->n + i;
    VECTOR sum[MOST];
    UNROLL
    for (int r = 0; r < runs; r++) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            sum[r * vectors + v] = NAME(load_number)(sums + r * s->n + v * LANES);
        }
    }
    NAME(add_chains)(s, runs, vectors, same, false, first, i, sum);
    UNROLL
    for (int r = 0; r < runs; r++) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            memcpy(sums + r * s->n + v * LANES, &sum[r * vectors + v], sizeof(VECTOR));
        }
    }
}

/* Adds the terms to the results from i on, one by one. */
static void NAME(add_rest)(const bp__conv_sums *s, int64_t i) {
    for (int64_t r = 0; r < s->runs; r++) {
        NAME(number) *sums = (NAME(number) *)s->sums + r * s->n;
        for (int64_t t = 0; t < s->terms; t++) {
            const NAME(element) *x = (const NAME(element) *)(const void *)s->from[t];
            const NAME(number) *weights = (const NAME(number) *)s->weights + t * s->weight_term;
            for (int64_t j = i; x && j < s->n; j++) {
                sums[j] = NAME(chain)(weights[j * s->weight_step], WIDEN(x[r * s->run + j * s->step]), sums[j]);
            }
        }
    }
}

/* Adds the terms to all whole vectors of `runs` runs. Returns how many results these are in each. */
INLINE int64_t NAME(add_runs)(const bp__conv_sums *s, const int runs, const bool same, int64_t first) {
    enum { LANES = VECTOR_BYTES / sizeof(REAL) };
    const int wide = runs == 1 ? 4 : 2;
    int64_t i = 0;
    for (; i + wide * LANES <= s->n; i += wide * LANES) {
        NAME(add_block)(s, runs, wide, same, first, i);
    }
    for (; i + LANES <= s->n; i += LANES) {
        NAME(add_block)(s, runs, 1, same, first, i);
    }
    return i;
}

/* Adds the terms to the whole vectors of all runs. Returns how many results these are in each. */
INLINE int64_t NAME(add_vectors)(const bp__conv_sums *s, const bool same) {
    int64_t r = 0, i = 0;
    for (; r + 4 <= s->runs; r += 4) {
        i = NAME(add_runs)(s, 4, same, r);
    }
    for (; r < s->runs; r++) {
        i = NAME(add_runs)(s, 1, same, r);
    }
    return i;
}

static void NAME(add)(const bp__conv_sums *s) {
    const int64_t whole = s->step != 1          ? 0
                          : s->weight_step == 0 ? NAME(add_vectors)(s, true)
                                                : NAME(add_vectors)(s, false);
    if (whole < s->n) {
        NAME(add_rest)(s, whole);
    }
}

/* Writes a vector of results. */
INLINE void NAME(store_results)(NAME(element) * to, VECTOR sum, VECTOR bias, bool relu) {
    VECTOR x = sum + bias;
    if (relu) {
        const __typeof__(x < x) negative = x < SPLAT((REAL)0);
        x = (VECTOR)(~negative & (__typeof__(negative))x);
    }
    NAME(store_vector)(to, x);
}

/* Completes `vectors` vectors of `runs` runs, from run `first` and result i on. */
INLINE void NAME(complete_block)(const bp__conv_sums *s, const bp__conv_results *results, const int runs,
                                 const int vectors, const bool edge, int64_t first, int64_t i) {
    enum { LANES = VECTOR_BYTES / sizeof(REAL), MOST = 12 };
    const NAME(element) *bias = (const NAME(element) *)(const void *)results->bias;
    NAME(element) *to = (NAME(element) *)(void *)results->to + first * results->to_run + i;
    VECTOR sum[MOST];
    UNROLL
    for (int j = 0; j < runs * vectors; j++) {
        sum[j] = SPLAT((REAL)0);
    }
    NAME(add_chains)(s, runs, vectors, false, edge, first, i, sum);
    UNROLL
    for (int v = 0; v < vectors; v++) {
        const VECTOR add = !bias                     ? SPLAT((REAL)0)
                           : results->bias_step == 0 ? SPLAT(WIDEN(*bias))
                                                     : NAME(load)(bias + i + v * LANES);
        UNROLL
        for (int r = 0; r < runs; r++) {
            if (!edge || r < s->runs) {
                NAME(store_results)(to + r * results->to_run + v * LANES, sum[r * vectors + v], add, results->relu);
            }
        }
    }
}

/* Completes the whole vectors of `runs` runs, which are a constant. Returns how many results these are in each. */
INLINE int64_t NAME(complete_runs)(const bp__conv_sums *s, const bp__conv_results *results, const int runs,
                                   const bool edge, int64_t first) {
    enum { LANES = VECTOR_BYTES / sizeof(REAL) };
    const int wide = runs == 4   ? 3
                     : runs == 2 ? 4
                                 : 6; /* at most 12 chains, which registers hold in addition to weights */
    int64_t i = 0;
    /* Two blocks of two vectors have more chains than blocks of three and one. */
    for (; i + wide * LANES <= s->n && (wide != 3 || s->n - i != 4 * LANES); i += wide * LANES) {
        NAME(complete_block)(s, results, runs, wide, edge, first, i);
    }
    for (; i + 2 * LANES <= s->n; i += 2 * LANES) {
        NAME(complete_block)(s, results, runs, 2, edge, first, i);
    }
    for (; i < s->n && s->n >= LANES; i += LANES) { /* at the end some results once more */
        NAME(complete_block)(s, results, runs, 1, edge, first, i + LANES <= s->n ? i : s->n - LANES);
    }
    return i < s->n ? i : s->n;
}

INLINE REAL NAME(complete_one)(const bp__conv_sums *s, int64_t r, int64_t i) {
    REAL sum = 0;
    for (int64_t t = 0; t < s->terms; t++) {
        const NAME(element) *x = (const NAME(element) *)(const void *)s->from[t];
        const NAME(number) *weights = (const NAME(number) *)s->weights + t * s->weight_term;
        if (x && (!s->inside || s->inside[t] >> r & 1)) {
            sum = NAME(chain)(weights[i], WIDEN(x[r * s->run + i]), sum);
        }
    }
    return sum;
}

static void NAME(complete)(const bp__conv_sums *s, const bp__conv_results *results) {
    const NAME(element) *bias = (const NAME(element) *)(const void *)results->bias;
    int64_t r = 0, whole = 0;
    if (s->inside) {
        whole = NAME(complete_runs)(s, results, BP__CONV_EDGE, true, 0);
        r = s->runs;
    }
    for (; r + 4 <= s->runs; r += 4) {
        whole = NAME(complete_runs)(s, results, 4, false, r);
    }
    for (; r + 2 <= s->runs; r += 2) {
        whole = NAME(complete_runs)(s, results, 2, false, r);
    }
    for (; r < s->runs; r++) {
        whole = NAME(complete_runs)(s, results, 1, false, r);
    }
    for (r = 0; r < s->runs; r++) {
        NAME(element) *to = (NAME(element) *)(void *)results->to + r * results->to_run;
        for (int64_t i = whole; i < s->n; i++) {
            const REAL add = bias ? WIDEN(bias[i * results->bias_step]) : (REAL)0;
            to[i] = NAME(result)(NAME(complete_one)(s, r, i), add, results->relu);
        }
    }
}

/* ---- Gradients by the weight ---- */

/* Adds the products of positions `begin` to `end` to taps * vectors chains. Unless `edge`, all taps have them. */
INLINE void NAME(add_products)(const bp__conv_correlation *c, const int taps, const int vectors, const bool edge,
                               int64_t t, int64_t i, int64_t begin, int64_t end, VECTOR *sum) {
    enum { LANES = VECTOR_BYTES / sizeof(REAL), MOST_VECTORS = 4 };
    const int64_t x_step = c->x_step, x_tap = c->x_tap, y_step = c->y_step;
    const NAME(number) *y = (const NAME(number) *)c->y + i, *x = (const NAME(number) *)c->x;
    for (int64_t o = begin; o < end; o++) {
        const int64_t at = c->x_first + o * x_step + t * x_tap + i;
        VECTOR factor[MOST_VECTORS];
        UNROLL
        for (int v = 0; v < vectors; v++) {
            factor[v] = NAME(load_number)(y + o * y_step + v * LANES);
        }
        UNROLL
        for (int j = 0; j < taps; j++) {
            if (edge && (o < c->first[t + j] || o >= c->end[t + j])) {
                continue;
            }
            UNROLL
            for (int v = 0; v < vectors; v++) {
                sum[j * vectors + v] =
                    MADD(factor[v], NAME(load_number)(x + at + j * x_tap + v * LANES), sum[j * vectors + v]);
            }
        }
    }
}

/* Completes the chains of some taps and vectors, whose numbers are constants, and adds them to the sums. */
INLINE void NAME(correlate_block)(const bp__conv_correlation *c, const int taps, const int vectors, int64_t t,
                                  int64_t i) {
    enum { LANES = VECTOR_BYTES / sizeof(REAL), MOST = 12 };
    VECTOR sum[MOST];
    UNROLL
    for (int j = 0; j < taps * vectors; j++) {
        sum[j] = SPLAT((REAL)0);
    }
    for (int side = 0; side < 2; side++) {
        NAME(add_products)
        (c, taps, vectors, true, t, i, side == 0 ? 0 : c->high, side == 0 ? c->low : c->count, sum);
        if (side == 0) {
            NAME(add_products)(c, taps, vectors, false, t, i, c->low, c->high, sum);
        }
    }
    UNROLL
    for (int j = 0; j < taps; j++) {
        NAME(number) *sums = (NAME(number) *)c->sums + (t + j) * c->sums_tap + i;
        UNROLL
        for (int v = 0; v < vectors; v++) {
            const VECTOR total = NAME(load_number)(sums + v * LANES) + sum[j * vectors + v];
            memcpy(sums + v * LANES, &total, sizeof total);
        }
    }
}

INLINE void NAME(correlate_taps)(const bp__conv_correlation *c, const int taps, const int wide, int64_t t) {
    enum { LANES = VECTOR_BYTES / sizeof(REAL) };
    int64_t i = 0;
    for (; i + wide * LANES <= c->n; i += wide * LANES) {
        NAME(correlate_block)(c, taps, wide, t, i);
    }
    for (; wide > 2 && i + 2 * LANES <= c->n; i += 2 * LANES) {
        NAME(correlate_block)(c, taps, 2, t, i);
    }
    for (; i < c->n; i += LANES) {
        NAME(correlate_block)(c, taps, 1, t, i);
    }
}

/* At most 12 chains, which registers hold in addition to the factors. */
static void NAME(correlate)(const bp__conv_correlation *c) {
    for (int64_t t = 0; t < c->taps;) {
        const int64_t left = c->taps - t;
        if (left == 4) {
            NAME(correlate_taps)(c, 4, 2, t);
            t += 4;
        } else if (left >= 3) {
            NAME(correlate_taps)(c, 3, 4, t);
            t += 3;
        } else if (left == 2) {
            NAME(correlate_taps)(c, 2, 4, t);
            t += 2;
        } else {
            NAME(correlate_taps)(c, 1, 4, t);
            t++;
        }
    }
}

INLINE void NAME(widen_some)(int64_t n, NAME(number) *restrict to, const NAME(element) *restrict from,
                             const int64_t step) {
    for (int64_t i = 0; i < n; i++) {
        to[i] = WIDEN(from[i * step]);
    }
}

/* Copies of the loop: the compiler makes vectors of them for every other element. */
INLINE void NAME(widen_run)(int64_t n, NAME(number) * to, const NAME(element) * from, int64_t step) {
    enum { LANES = VECTOR_BYTES / sizeof(REAL) };
    int64_t i = 0;
    for (; step == 1 && i + LANES <= n; i += LANES) {
        const VECTOR x = NAME(load)(from + i);
        memcpy(to + i, &x, sizeof x);
    }
    if (step == 2) {
        NAME(widen_some)(n, to, from, 2);
    } else {
        NAME(widen_some)(n - i, to + i, from + i * step, step);
    }
}

VECTORIZED static void NAME(widen_each)(int64_t n, void *to, const char *from, int64_t step) {
    NAME(widen_run)(n, to, (const NAME(element) *)(const void *)from, step);
}

VECTORIZED static void NAME(widen_rows)(const bp__conv_rows *r) {
    const int64_t n = r->n, count = r->count, before = r->before, end = r->end, step = r->step;
    for (int64_t row = 0; row < count; row++) {
        NAME(number) *to = (NAME(number) *)r->to + row * r->to_row;
        for (int64_t i = 0; i < before; i++) {
            to[i] = 0;
        }
        NAME(widen_run)(end - before, to + before, (const NAME(element) *)(const void *)r->from + row * r->row, step);
        for (int64_t i = end; i < n; i++) {
            to[i] = 0;
        }
    }
}

/* Four chains, so that the additions of a long sum do not wait for each other. */
static double NAME(sum)(int64_t n, const char *at, int64_t step) {
    const NAME(element) *from = (const NAME(element) *)(const void *)at;
    double sums[4] = {0};
    for (int64_t i = 0; i < n; i++) {
        sums[i & 3] += (double)WIDEN(from[i * step]);
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static void NAME(store)(char *to, double value) {
    *(NAME(element) *)(void *)to = NARROW((REAL)value);
}
