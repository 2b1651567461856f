/* kernel_windows.h - template: the pooling kernels of runs of windows for one type, with the parameters of
 * kernel_type.h. The results of a block of lanes stay in registers while all taps of a window are read.
 *
 * Each result is computed from its taps in their order, so it does not depend on vectors and blocks. Lanes that are
 * left over are computed together with some of the lanes before them, once more. */
enum { NAME(lanes) = sizeof(VECTOR) / sizeof(REAL) };

/* `wide`: memory has numbers of the type of sums. */
INLINE VECTOR NAME(read)(const char *from, bool wide) {
    VECTOR x;
    if (!wide) {
        return LOAD(from);
    }
    memcpy(&x, from, sizeof x);
    return x;
}

/* ---- Sums ---- */

INLINE void NAME(sum_row)(const bp__pool_run *run, const char *x, int vectors, bool wide, VECTOR *sum) {
    const int64_t size = wide ? (int64_t)sizeof(REAL) : (int64_t)sizeof(IN);
    for (const int64_t *tap = run->tap, *end = tap + run->taps; tap < end; tap++) {
        const char *from = x + *tap * size;
        UNROLL for (int v = 0; v < vectors; v++) {
            sum[v] += NAME(read)(from + v * NAME(lanes) * size, wide);
        }
    }
}

INLINE void NAME(sum_window)(const bp__pool_run *run, const char *x, int vectors, bool wide, VECTOR *sum) {
    const int64_t size = wide ? (int64_t)sizeof(REAL) : (int64_t)sizeof(IN);
    UNROLL for (int v = 0; v < vectors; v++) {
        sum[v] = SPLAT((REAL)0);
    }
    if (run->rows[0] * run->rows[1] == 1) {
        NAME(sum_row)(run, x, vectors, wide, sum);
        return;
    }
    for (int64_t a = 0; a < run->rows[0]; a++) {
        for (int64_t b = 0; b < run->rows[1]; b++) {
            NAME(sum_row)(run, x + (a * run->row_step[0] + b * run->row_step[1]) * size, vectors, wide, sum);
        }
    }
}

INLINE void NAME(sum_block)(const bp__pool_run *run, int64_t window, int64_t lane, int vectors, bool wide) {
    enum { MOST = 8 };
    const int64_t size = wide ? (int64_t)sizeof(REAL) : (int64_t)sizeof(IN);
    const REAL divisor = (REAL)run->divisor;
    const NAME(number) *divisors = run->divisors;
    char *to = run->y + (window * run->y_step + lane) * (int64_t)sizeof(IN);
    VECTOR sum[MOST];
    NAME(sum_window)(run, run->x + (window * run->x_step + lane) * size, vectors, wide, sum);
    UNROLL for (int v = 0; v < vectors; v++) {
        const VECTOR mean = run->exact ? sum[v] * SPLAT(1 / divisor)
                            : run->divisors
                                ? sum[v] / NAME(read)((const char *)(divisors + lane + v * NAME(lanes)), true)
                                : sum[v] / SPLAT(divisor);
        NAME(store_vector)(to + v * NAME(lanes) * (int64_t)sizeof(IN), mean);
    }
}

INLINE void NAME(sum_lanes)(const bp__pool_run *run, bool wide) {
    for (int64_t w = 0; w < run->windows; w++) {
        int64_t lane = 0;
        for (; run->lanes - lane >= 8 * NAME(lanes); lane += 8 * NAME(lanes)) {
            NAME(sum_block)(run, w, lane, 8, wide);
        }
        for (; run->lanes - lane >= 2 * NAME(lanes); lane += 2 * NAME(lanes)) {
            NAME(sum_block)(run, w, lane, 2, wide);
        }
        for (; lane < run->lanes; lane += NAME(lanes)) {
            lane = run->lanes - lane < NAME(lanes) ? run->lanes - NAME(lanes) : lane;
            NAME(sum_block)(run, w, lane, 1, wide);
        }
    }
}

/* Stores do not change a copy of the run, which the compiler therefore keeps in registers. */
VECTORIZED static void NAME(average_run)(const bp__pool_run *run) {
    const bp__pool_run copy = *run;
    NAME(sum_lanes)(&copy, false);
}

VECTORIZED static void NAME(sum_run)(const bp__pool_run *run) {
    const bp__pool_run copy = *run;
    NAME(sum_lanes)(&copy, true);
}

/* Writes numbers of the type of sums: n elements, divided. */
VECTORIZED static void NAME(divide)(int64_t n, void *to, const char *from, int64_t step, double by) {
    const bool exact = bp__pool_is_power(by);
    const VECTOR divisor = SPLAT((REAL)by), factor = SPLAT(1 / (REAL)by);
    const NAME(element) *x = (const NAME(element) *)(const void *)from;
    NAME(number) *y = to;
    int64_t i = 0;
    for (; step == 1 && n - i >= NAME(lanes); i += NAME(lanes)) {
        const VECTOR value = LOAD(from + i * (int64_t)sizeof(IN));
        const VECTOR quotient = exact ? value * factor : value / divisor;
        memcpy(y + i, &quotient, sizeof quotient);
    }
    for (; i < n; i++) {
        y[i] = WIDEN(x[i * step]) / (REAL)by;
    }
}

/* ---- Maxima ---- */

INLINE NAME(flags) NAME(max_row)(const bp__pool_run *run, const char *x, int vectors, VECTOR *best, NAME(flags) nan) {
    for (const int64_t *tap = run->tap, *end = tap + run->taps; tap < end; tap++) {
        const char *from = x + *tap * (int64_t)sizeof(IN);
        UNROLL for (int v = 0; v < vectors; v += 2) {
            const int other = v + 1 < vectors ? v + 1 : v;
            const VECTOR one = LOAD(from + v * NAME(lanes) * (int64_t)sizeof(IN)),
                         two = LOAD(from + other * NAME(lanes) * (int64_t)sizeof(IN));
            nan |= NAME(unordered)(one, two);
            best[v] = NAME(larger)(one, best[v]);
            best[other] = NAME(larger)(two, best[other]);
        }
    }
    return nan;
}

/* The maxima of a window. Returns whether all of them are right, which NaN prevents. */
INLINE bool NAME(max_window)(const bp__pool_run *run, const char *x, int vectors, VECTOR *best) {
    NAME(flags) nan = NAME(unordered)(SPLAT((REAL)0), SPLAT((REAL)0));
    UNROLL for (int v = 0; v < vectors; v++) {
        best[v] = SPLAT(-(REAL)__builtin_inf());
    }
    if (run->rows[0] * run->rows[1] == 1) {
        return !NAME(any)(NAME(max_row)(run, x, vectors, best, nan));
    }
    for (int64_t a = 0; a < run->rows[0]; a++) {
        for (int64_t b = 0; b < run->rows[1]; b++) {
            const char *row = x + (a * run->row_step[0] + b * run->row_step[1]) * (int64_t)sizeof(IN);
            nan = NAME(max_row)(run, row, vectors, best, nan);
        }
    }
    return !NAME(any)(nan);
}

/* Maxima and their places, counted from the window's first tap on. */
INLINE NAME(flags) NAME(places_row)(const bp__pool_run *run, const char *x, int64_t first, int vectors, VECTOR *best,
                                    NAME(places) * which, NAME(flags) nan) {
    static const NAME(places) zero;
    for (int64_t t = 0; t < run->taps; t++) {
        const NAME(places) place = zero + (__typeof__(zero[0]))(first + run->place[t]);
        const char *from = x + run->tap[t] * (int64_t)sizeof(IN);
        UNROLL for (int v = 0; v < vectors; v++) {
            const VECTOR one = LOAD(from + v * NAME(lanes) * (int64_t)sizeof(IN));
            nan |= NAME(unordered)(one, one);
            which[v] = NAME(choose)(NAME(greater)(one, best[v]), place, which[v]);
            best[v] = NAME(larger)(one, best[v]);
        }
    }
    return nan;
}

/* Places are also not right if all taps are minus infinity: the first one may be padding. */
INLINE bool NAME(max_places)(const bp__pool_run *run, const char *x, int vectors, VECTOR *best, NAME(places) * which) {
    static const NAME(places) zero;
    NAME(flags) nan = NAME(unordered)(SPLAT((REAL)0), SPLAT((REAL)0));
    UNROLL for (int v = 0; v < vectors; v++) {
        best[v] = SPLAT(-(REAL)__builtin_inf());
        which[v] = zero - 1;
    }
    if (run->rows[0] * run->rows[1] == 1) {
        nan = NAME(places_row)(run, x, 0, vectors, best, which, nan);
    } else {
        for (int64_t a = 0; a < run->rows[0]; a++) {
            for (int64_t b = 0; b < run->rows[1]; b++) {
                const char *row = x + (a * run->row_step[0] + b * run->row_step[1]) * (int64_t)sizeof(IN);
                nan = NAME(places_row)(run, row, a * run->row_place[0] + b * run->row_place[1], vectors, best, which,
                                       nan);
            }
        }
    }
    NAME(places) all = which[0];
    UNROLL for (int v = 1; v < vectors; v++) {
        all |= which[v];
    }
    return !NAME(any)(nan) && !NAME(negative)(all);
}

INLINE void NAME(store_places)(const bp__pool_run *run, int64_t lane, int64_t window, int vectors,
                               const NAME(places) * which) {
    enum { MOST = 4 };
    __typeof__(which[0][0]) place[MOST * NAME(lanes)];
    int64_t *to = run->indices + window * run->i_step + lane;
    const int64_t first = run->first + window * run->place_step + lane * run->place_lane;
    memcpy(place, which, (size_t)vectors * sizeof *which);
    for (int l = 0; l < vectors * NAME(lanes); l++) {
        to[l] = first + (int64_t)place[l] + l * run->place_lane;
    }
}

INLINE bool NAME(max_block)(const bp__pool_run *run, int64_t window, int64_t lane, int vectors, bool indexed) {
    enum { MOST = 8 };
    VECTOR best[MOST];
    NAME(places) which[MOST];
    const char *x = run->x + (window * run->x_step + lane) * (int64_t)sizeof(IN);
    char *to = run->y + (window * run->y_step + lane) * (int64_t)sizeof(IN);
    if (!(indexed ? NAME(max_places)(run, x, vectors, best, which) : NAME(max_window)(run, x, vectors, best))) {
        return false;
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        NAME(store_vector)(to + v * NAME(lanes) * (int64_t)sizeof(IN), best[v]);
    }
    if (indexed) {
        NAME(store_places)(run, lane, window, vectors, which);
    }
    return true;
}

INLINE bool NAME(max_lanes)(const bp__pool_run *run, int most, bool indexed) {
    bool right = true;
    for (int64_t w = 0; w < run->windows; w++) {
        int64_t lane = 0;
        for (; right && run->lanes - lane >= most * NAME(lanes); lane += most * NAME(lanes)) {
            right = NAME(max_block)(run, w, lane, most, indexed);
        }
        for (; right && lane < run->lanes; lane += NAME(lanes)) {
            lane = run->lanes - lane < NAME(lanes) ? run->lanes - NAME(lanes) : lane;
            right = NAME(max_block)(run, w, lane, 1, indexed);
        }
    }
    return right;
}

VECTORIZED static bool NAME(max_run)(const bp__pool_run *run) {
    const bp__pool_run copy = *run;
    return copy.indices ? NAME(max_lanes)(&copy, 4, true) : NAME(max_lanes)(&copy, 8, false);
}
