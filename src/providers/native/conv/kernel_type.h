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

static void NAME(gather)(void *panel, int width, const char *const *from, int64_t step, int64_t k) {
    NAME(number) *to = panel;
    for (int i = 0; i < width; i++) {
        const NAME(element) *column = (const NAME(element) *)(const void *)from[i];
        if (!column) {
            for (int64_t l = 0; l < k; l++) {
                to[l * width + i] = 0;
            }
            continue;
        }
        for (int64_t l = 0; l < k; l++) {
            to[l * width + i] = WIDEN(column[l * step]);
        }
    }
}

INLINE IN NAME(result)(REAL sum, REAL bias, bool relu) {
    const REAL x = sum + bias;
    return NARROW(relu && x < 0 ? 0 : x);
}

/* Copies of the loop, of which the compiler makes vectors for contiguous results. */
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
 * that sums stay in registers. */
INLINE void NAME(add_block)(const bp__conv_sums *s, const int runs, const int vectors, int64_t first, int64_t i) {
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
    const int64_t terms = s->terms, run = s->run, weight_term = s->weight_term, at = first * run + i;
    const char *const *from = s->from;
    const bool same = s->weight_step == 0; /* for all results */
    const NAME(number) *weights = (const NAME(number) *)s->weights + (same ? 0 : i);
    for (int64_t t = 0; t < terms; t++, weights += weight_term) {
        if (!from[t]) {
            continue;
        }
        const NAME(element) *x = (const NAME(element) *)(const void *)from[t] + at;
        UNROLL
        for (int v = 0; v < vectors; v++) {
            const VECTOR weight = same ? SPLAT(weights[0]) : NAME(load_number)(weights + v * LANES);
            UNROLL
            for (int r = 0; r < runs; r++) {
                sum[r * vectors + v] = MADD(weight, NAME(load)(x + r * run + v * LANES), sum[r * vectors + v]);
            }
        }
    }
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
INLINE int64_t NAME(add_runs)(const bp__conv_sums *s, const int runs, int64_t first) {
    enum { LANES = VECTOR_BYTES / sizeof(REAL) };
    const int wide = runs == 1 ? 4 : 2;
    int64_t i = 0;
    for (; i + wide * LANES <= s->n; i += wide * LANES) {
        NAME(add_block)(s, runs, wide, first, i);
    }
    for (; i + LANES <= s->n; i += LANES) {
        NAME(add_block)(s, runs, 1, first, i);
    }
    return i;
}

static void NAME(add)(const bp__conv_sums *s) {
    int64_t r = 0, i = 0;
    for (; s->step == 1 && r + 4 <= s->runs; r += 4) {
        i = NAME(add_runs)(s, 4, r);
    }
    for (; s->step == 1 && r < s->runs; r++) {
        i = NAME(add_runs)(s, 1, r);
    }
    if (i < s->n) {
        NAME(add_rest)(s, i);
    }
}

static void NAME(widen_each)(int64_t n, void *to, const char *from, int64_t step) {
    for (int64_t i = 0; i < n; i++) {
        ((NAME(number) *)to)[i] = WIDEN(((const NAME(element) *)(const void *)from)[i * step]);
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
