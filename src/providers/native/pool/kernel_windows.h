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

/* Vectors of a block of results: vectors of one window or of several. Conversions of f16 take too much code to be
 * repeated, if the processor has none. */
#if VECTOR_BYTES > 16
enum { NAME(block) = 8 };
#else
enum { NAME(block) = sizeof(IN) == 2 ? 4 : 8 };
#endif

/* ---- Sums ---- */

INLINE void NAME(sum_row)(const bp__pool_run *run, const char *x, int windows, int vectors, bool wide, VECTOR *sum) {
    const int64_t size = wide ? (int64_t)sizeof(REAL) : (int64_t)sizeof(IN), step = run->x_step * size;
    for (const int64_t *tap = run->tap, *end = tap + run->taps; tap < end; tap++) {
        const char *from = x + *tap * size;
        UNROLL for (int i = 0; i < windows * vectors; i++) {
            sum[i] += NAME(read)(from + i / vectors * step + i % vectors * NAME(lanes) * size, wide);
        }
    }
}

INLINE void NAME(sum_windows)(const bp__pool_run *run, const char *x, int windows, int vectors, bool wide,
                              VECTOR *sum) {
    const int64_t size = wide ? (int64_t)sizeof(REAL) : (int64_t)sizeof(IN);
    UNROLL for (int i = 0; i < windows * vectors; i++) {
        sum[i] = SPLAT((REAL)0);
    }
    for (int64_t a = 0; a < run->rows[0]; a++) {
        for (int64_t b = 0; b < run->rows[1]; b++) {
            const char *row = x + (a * run->row_step[0] + b * run->row_step[1]) * size;
            NAME(sum_row)(run, row, windows, vectors, wide, sum);
        }
    }
}

INLINE void NAME(sum_block)(const bp__pool_run *run, int64_t window, int64_t lane, int windows, int vectors,
                            bool wide) {
    const int64_t size = wide ? (int64_t)sizeof(REAL) : (int64_t)sizeof(IN), step = run->y_step * (int64_t)sizeof(IN);
    const REAL divisor = (REAL)run->divisor;
    const NAME(number) *divisors = run->divisors;
    char *to = run->y + (window * run->y_step + lane) * (int64_t)sizeof(IN);
    VECTOR sum[NAME(block)];
    NAME(sum_windows)(run, run->x + (window * run->x_step + lane) * size, windows, vectors, wide, sum);
    UNROLL for (int i = 0; i < windows * vectors; i++) {
        const int64_t next = i % vectors * NAME(lanes);
        const VECTOR mean = run->exact      ? sum[i] * SPLAT(1 / divisor)
                            : run->divisors ? sum[i] / NAME(read)((const char *)(divisors + lane + next), true)
                                            : sum[i] / SPLAT(divisor);
        NAME(store_vector)(to + i / vectors * step + next * (int64_t)sizeof(IN), mean);
    }
}

/* Computes all windows for a block of lanes. */
INLINE void NAME(sum_all)(const bp__pool_run *run, int64_t lane, int windows, int vectors, bool wide) {
    for (int64_t window = 0; window < run->windows; window += windows) {
        NAME(sum_block)(run, bp__least(window, run->windows - windows), lane, windows, vectors, wide);
    }
}

/* Computes the lanes from `lane` on, which are at most two blocks of one window. */
INLINE void NAME(sum_rest)(const bp__pool_run *run, int64_t lane, int vectors, bool wide) {
    const int64_t last = run->lanes - vectors * NAME(lanes);
    for (int64_t window = 0; window < run->windows; window++) {
        for (int64_t at = bp__least(lane, last);; at = last) {
            NAME(sum_block)(run, window, at, 1, vectors, wide);
            if (at == last) {
                break;
            }
        }
    }
}

/* The lanes that are left over are vectors of several windows at once. Windows fewer than those have their own blocks.
 */
INLINE void NAME(sum_lanes)(const bp__pool_run *run, bool wide) {
    enum { MOST = NAME(block) };
    const int64_t whole = run->lanes / (MOST * NAME(lanes)) * (MOST * NAME(lanes)), rest = run->lanes - whole;
    for (int64_t w = 0; w < run->windows && whole > 0; w++) {
        for (int64_t lane = 0; lane < whole; lane += MOST * NAME(lanes)) {
            NAME(sum_block)(run, w, lane, 1, MOST, wide);
        }
    }
    int64_t lane = whole;
    if (rest == 0) {
        return;
    } else if (run->windows >= MOST / 2) {
        for (; MOST > 2 && run->lanes - lane >= 2 * NAME(lanes); lane += 2 * NAME(lanes)) {
            NAME(sum_all)(run, lane, MOST / 2, 2, wide);
        }
        for (; lane < run->lanes; lane += NAME(lanes)) {
            NAME(sum_all)(run, bp__least(lane, run->lanes - NAME(lanes)), MOST / 2, 1, wide);
        }
    } else if (MOST > 4 && rest >= 4 * NAME(lanes)) {
        NAME(sum_rest)(run, lane, 4, wide);
    } else if (rest >= 2 * NAME(lanes)) {
        NAME(sum_rest)(run, lane, 2, wide);
    } else {
        NAME(sum_rest)(run, lane, 1, wide);
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

INLINE NAME(flags)
    NAME(max_row)(const bp__pool_run *run, const char *x, int windows, int vectors, VECTOR *best, NAME(flags) nan) {
    const int64_t step = run->x_step * (int64_t)sizeof(IN), next = NAME(lanes) * (int64_t)sizeof(IN);
    for (const int64_t *tap = run->tap, *end = tap + run->taps; tap < end; tap++) {
        const char *from = x + *tap * (int64_t)sizeof(IN);
        UNROLL for (int i = 0; i < windows * vectors; i += 2) {
            const int j = windows * vectors > 1 ? i + 1 : i;
            const VECTOR one = LOAD(from + i / vectors * step + i % vectors * next),
                         two = LOAD(from + j / vectors * step + j % vectors * next);
            nan |= NAME(unordered)(one, two);
            best[i] = NAME(larger)(one, best[i]);
            best[j] = NAME(larger)(two, best[j]);
        }
    }
    return nan;
}

/* Maxima and their places, counted from the window's first tap on. */
INLINE NAME(flags) NAME(places_row)(const bp__pool_run *run, const char *x, int64_t first, int windows, int vectors,
                                    VECTOR *best, NAME(places) * which, NAME(flags) nan) {
    static const NAME(places) zero;
    const int64_t step = run->x_step * (int64_t)sizeof(IN), next = NAME(lanes) * (int64_t)sizeof(IN);
    for (int64_t t = 0; t < run->taps; t++) {
        const NAME(places) place = zero + (NAME(place))(first + run->place[t]);
        const char *from = x + run->tap[t] * (int64_t)sizeof(IN);
        UNROLL for (int i = 0; i < windows * vectors; i += 2) {
            const int j = windows * vectors > 1 ? i + 1 : i;
            const VECTOR one = LOAD(from + i / vectors * step + i % vectors * next),
                         two = LOAD(from + j / vectors * step + j % vectors * next);
            which[i] = NAME(choose)(NAME(greater)(one, best[i]), place, which[i]);
            best[i] = NAME(larger)(one, best[i]);
            which[j] = NAME(choose)(NAME(greater)(two, best[j]), place, which[j]);
            best[j] = NAME(larger)(two, best[j]);
            nan |= NAME(unordered)(one, two);
        }
    }
    return nan;
}

/* Returns whether the maxima are right. NaN prevents it. Places are also not right if all taps are minus infinity: the
 * first one may be padding. */
INLINE bool NAME(max_windows)(const bp__pool_run *run, const char *x, int windows, int vectors, bool indexed,
                              VECTOR *best, NAME(places) * which) {
    static const NAME(places) zero;
    NAME(flags) nan = NAME(unordered)(SPLAT((REAL)0), SPLAT((REAL)0));
    UNROLL for (int i = 0; i < windows * vectors; i++) {
        best[i] = SPLAT(-(REAL)__builtin_inf());
        which[i] = zero - 1;
    }
    for (int64_t a = 0; a < run->rows[0]; a++) {
        for (int64_t b = 0; b < run->rows[1]; b++) {
            const char *row = x + (a * run->row_step[0] + b * run->row_step[1]) * (int64_t)sizeof(IN);
            const int64_t first = a * run->row_place[0] + b * run->row_place[1];
            nan = indexed ? NAME(places_row)(run, row, first, windows, vectors, best, which, nan)
                          : NAME(max_row)(run, row, windows, vectors, best, nan);
        }
    }
    NAME(places) all = zero;
    for (int i = 0; indexed && i < windows * vectors; i++) {
        all |= which[i];
    }
    return !NAME(any)(nan) && !NAME(negative)(all);
}

INLINE void NAME(store_places)(const bp__pool_run *run, int64_t window, int64_t lane, int vectors,
                               const NAME(places) * which) {
    NAME(place) place[NAME(block) * NAME(lanes)];
    int64_t *to = run->indices + window * run->i_step + lane;
    const int64_t first = run->first + window * run->place_step + lane * run->place_lane;
    memcpy(place, which, (size_t)vectors * sizeof *which);
    if (run->place_lane == 0) {
        for (int l = 0; l < vectors * NAME(lanes); l++) {
            to[l] = first + (int64_t)place[l];
        }
        return;
    }
    for (int l = 0; l < vectors * NAME(lanes); l++) {
        to[l] = first + (int64_t)place[l] + l * run->place_lane;
    }
}

INLINE bool NAME(max_block)(const bp__pool_run *run, int64_t window, int64_t lane, int windows, int vectors,
                            bool indexed) {
    VECTOR best[NAME(block)];
    NAME(places) which[NAME(block)];
    const char *x = run->x + (window * run->x_step + lane) * (int64_t)sizeof(IN);
    char *to = run->y + (window * run->y_step + lane) * (int64_t)sizeof(IN);
    if (!NAME(max_windows)(run, x, windows, vectors, indexed, best, which)) {
        return false;
    }
    UNROLL for (int i = 0; i < windows * vectors; i++) {
        NAME(store_vector)(to + (i / vectors * run->y_step + i % vectors * NAME(lanes)) * (int64_t)sizeof(IN), best[i]);
    }
    for (int w = 0; indexed && w < windows; w++) {
        NAME(store_places)(run, window + w, lane, vectors, which + w * vectors);
    }
    return true;
}

/* Computes all windows for a block of lanes. */
INLINE bool NAME(max_all)(const bp__pool_run *run, int64_t lane, int windows, int vectors, bool indexed) {
    bool right = true;
    for (int64_t window = 0; right && window < run->windows; window += windows) {
        right = NAME(max_block)(run, bp__least(window, run->windows - windows), lane, windows, vectors, indexed);
    }
    return right;
}

/* Computes the lanes from `lane` on, as sum_rest() does. */
INLINE bool NAME(max_rest)(const bp__pool_run *run, int64_t lane, int vectors, bool indexed) {
    const int64_t last = run->lanes - vectors * NAME(lanes);
    bool right = true;
    for (int64_t window = 0; right && window < run->windows; window++) {
        for (int64_t at = bp__least(lane, last); right; at = last) {
            right = NAME(max_block)(run, window, at, 1, vectors, indexed);
            if (at == last) {
                break;
            }
        }
    }
    return right;
}

INLINE bool NAME(max_lanes)(const bp__pool_run *run, int most, bool indexed) {
    const int64_t whole = run->lanes / (most * NAME(lanes)) * (most * NAME(lanes)), rest = run->lanes - whole;
    bool right = true;
    for (int64_t w = 0; w < run->windows && whole > 0; w++) {
        for (int64_t lane = 0; right && lane < whole; lane += most * NAME(lanes)) {
            right = NAME(max_block)(run, w, lane, 1, most, indexed);
        }
    }
    int64_t lane = whole;
    if (rest == 0 || !right) {
        return right;
    } else if (run->windows >= (most < 4 ? most : 4)) {
        for (; right && most == 8 && run->lanes - lane >= 2 * NAME(lanes); lane += 2 * NAME(lanes)) {
            right = NAME(max_all)(run, lane, 4, 2, indexed);
        }
        for (; right && lane < run->lanes; lane += NAME(lanes)) {
            right = NAME(max_all)(run, bp__least(lane, run->lanes - NAME(lanes)), most < 4 ? most : 4, 1, indexed);
        }
        return right;
    }
    return most > 4 && rest >= 4 * NAME(lanes)   ? NAME(max_rest)(run, lane, 4, indexed)
           : most > 2 && rest >= 2 * NAME(lanes) ? NAME(max_rest)(run, lane, 2, indexed)
                                                 : NAME(max_rest)(run, lane, 1, indexed);
}

VECTORIZED static bool NAME(max_run)(const bp__pool_run *run) {
    const bp__pool_run copy = *run;
    return copy.indices ? NAME(max_lanes)(&copy, NAME(block) / 2, true) : NAME(max_lanes)(&copy, NAME(block), false);
}

/* ---- Rows of positions ---- */

/* Copies n elements. Steps of 1 have copies of the loop that use vectors. */
VECTORIZED static void NAME(copy)(int64_t n, char *to, int64_t to_step, const char *from, int64_t from_step) {
    NAME(element) *restrict y = (NAME(element) *)(void *)to;
    const NAME(element) *restrict x = (const NAME(element) *)(const void *)from;
    if (to_step == 1 && from_step == 1) {
        memcpy(to, from, (size_t)n * sizeof(IN));
    } else if (to_step == 1 && from_step == 2) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = x[i * 2];
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            y[i * to_step] = x[i * from_step];
        }
    }
}

/* Sets n elements to 0, or to minus infinity. */
static void NAME(pad)(int64_t n, char *to, bool lowest) {
    const IN value = NARROW(lowest ? -(REAL)__builtin_inf() : (REAL)0);
    for (int64_t i = 0; i < n; i++) {
        ((NAME(element) *)(void *)to)[i] = value;
    }
}

/* Writes n divisors of the type of sums: sizes[i] * rest. */
VECTORIZED static void NAME(divisors)(int64_t n, void *to, const double *sizes, double rest) {
    for (int64_t i = 0; i < n; i++) {
        ((NAME(number) *)to)[i] = (REAL)(sizes[i] * rest);
    }
}
