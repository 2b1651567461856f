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

INLINE void NAME(sum_window)(const bp__pool_run *run, const char *x, int vectors, bool wide, VECTOR *sum) {
    const int64_t size = wide ? (int64_t)sizeof(REAL) : (int64_t)sizeof(IN);
    UNROLL for (int v = 0; v < vectors; v++) {
        sum[v] = SPLAT((REAL)0);
    }
    for (int64_t a = 0; a < run->count[0]; a++) {
        for (int64_t b = 0; b < run->count[1]; b++) {
            const char *row = x + (a * run->step[0] + b * run->step[1]) * size;
            for (int64_t t = 0; t < run->count[2]; t++) {
                const char *from = row + run->tap[t] * size;
                UNROLL for (int v = 0; v < vectors; v++) {
                    sum[v] += NAME(read)(from + v * NAME(lanes) * size, wide);
                }
            }
        }
    }
}

INLINE void NAME(sum_block)(const bp__pool_run *run, int64_t lane, int vectors, bool wide) {
    enum { MOST = 8 };
    const int64_t size = wide ? (int64_t)sizeof(REAL) : (int64_t)sizeof(IN);
    const VECTOR divisor = SPLAT((REAL)run->divisor), factor = SPLAT((REAL)1 / (REAL)run->divisor);
    const bool exact = run->exact;
    for (int64_t w = 0; w < run->windows; w++) {
        VECTOR sum[MOST];
        char *to = run->y + (w * run->y_step + lane) * (int64_t)sizeof(IN);
        NAME(sum_window)(run, run->x + (w * run->x_step + lane) * size, vectors, wide, sum);
        UNROLL for (int v = 0; v < vectors; v++) {
            const VECTOR by = run->divisors ? NAME(read)((const char *)((const NAME(number) *)run->divisors + lane +
                                                                        v * NAME(lanes)),
                                                         true)
                                            : divisor;
            NAME(store_vector)(to + v * NAME(lanes) * (int64_t)sizeof(IN), exact ? sum[v] * factor : sum[v] / by);
        }
    }
}

INLINE void NAME(sum_lanes)(const bp__pool_run *run, bool wide) {
    int64_t lane = 0;
    for (; run->lanes - lane >= 8 * NAME(lanes); lane += 8 * NAME(lanes)) {
        NAME(sum_block)(run, lane, 8, wide);
    }
    for (; run->lanes - lane >= 2 * NAME(lanes); lane += 2 * NAME(lanes)) {
        NAME(sum_block)(run, lane, 2, wide);
    }
    for (; lane < run->lanes; lane += NAME(lanes)) {
        lane = run->lanes - lane < NAME(lanes) ? run->lanes - NAME(lanes) : lane;
        NAME(sum_block)(run, lane, 1, wide);
    }
}

VECTORIZED static void NAME(average_run)(const bp__pool_run *run) {
    NAME(sum_lanes)(run, false);
}

VECTORIZED static void NAME(sum_run)(const bp__pool_run *run) {
    NAME(sum_lanes)(run, true);
}

/* ---- Maxima ---- */

/* The maxima of a window. Returns whether all of them are right, which NaN prevents. */
INLINE bool NAME(max_window)(const bp__pool_run *run, const char *x, int vectors, VECTOR *best) {
    NAME(flags) nan = NAME(unordered)(SPLAT((REAL)0), SPLAT((REAL)0));
    UNROLL for (int v = 0; v < vectors; v++) {
        best[v] = SPLAT(-(REAL)__builtin_inf());
    }
    for (int64_t a = 0; a < run->count[0]; a++) {
        for (int64_t b = 0; b < run->count[1]; b++) {
            const char *row = x + (a * run->step[0] + b * run->step[1]) * (int64_t)sizeof(IN);
            for (int64_t t = 0; t < run->count[2]; t++) {
                const char *from = row + run->tap[t] * (int64_t)sizeof(IN);
                UNROLL for (int v = 0; v < vectors; v += 2) {
                    const int other = v + 1 < vectors ? v + 1 : v;
                    const VECTOR one = LOAD(from + v * NAME(lanes) * (int64_t)sizeof(IN)),
                                 two = LOAD(from + other * NAME(lanes) * (int64_t)sizeof(IN));
                    nan |= NAME(unordered)(one, two);
                    best[v] = NAME(larger)(one, best[v]);
                    best[other] = NAME(larger)(two, best[other]);
                }
            }
        }
    }
    return !NAME(any)(nan);
}

/* The same, and the places of the maxima from the window's first tap on. Places are also not right if all taps are
 * minus infinity: the first one may be padding. */
INLINE bool NAME(max_places)(const bp__pool_run *run, const char *x, int vectors, VECTOR *best, NAME(places) *which) {
    static const NAME(places) zero;
    const NAME(places) step = zero + (__typeof__(zero[0]))run->place[2];
    NAME(flags) nan = NAME(unordered)(SPLAT((REAL)0), SPLAT((REAL)0));
    UNROLL for (int v = 0; v < vectors; v++) {
        best[v] = SPLAT(-(REAL)__builtin_inf());
        which[v] = zero - 1;
    }
    for (int64_t a = 0; a < run->count[0]; a++) {
        for (int64_t b = 0; b < run->count[1]; b++) {
            const char *row = x + (a * run->step[0] + b * run->step[1]) * (int64_t)sizeof(IN);
            NAME(places) place = zero + (__typeof__(zero[0]))(a * run->place[0] + b * run->place[1]);
            for (int64_t t = 0; t < run->count[2]; t++, place += step) {
                const char *from = row + run->tap[t] * (int64_t)sizeof(IN);
                UNROLL for (int v = 0; v < vectors; v++) {
                    const VECTOR one = LOAD(from + v * NAME(lanes) * (int64_t)sizeof(IN));
                    nan |= NAME(unordered)(one, one);
                    which[v] = NAME(choose)(NAME(greater)(one, best[v]), place, which[v]);
                    best[v] = NAME(larger)(one, best[v]);
                }
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
                               const NAME(places) *which) {
    enum { MOST = 4 };
    __typeof__(which[0][0]) place[MOST * NAME(lanes)];
    int64_t *to = run->indices + window * run->i_step + lane;
    const int64_t first = run->first + window * run->place_step + lane * run->place_lane;
    memcpy(place, which, (size_t)vectors * sizeof *which);
    for (int l = 0; l < vectors * NAME(lanes); l++) {
        to[l] = first + (int64_t)place[l] + l * run->place_lane;
    }
}

INLINE bool NAME(max_block)(const bp__pool_run *run, int64_t lane, int vectors, bool indexed) {
    enum { MOST = 8 };
    for (int64_t w = 0; w < run->windows; w++) {
        VECTOR best[MOST];
        NAME(places) which[MOST];
        const char *x = run->x + (w * run->x_step + lane) * (int64_t)sizeof(IN);
        char *to = run->y + (w * run->y_step + lane) * (int64_t)sizeof(IN);
        if (!(indexed ? NAME(max_places)(run, x, vectors, best, which) : NAME(max_window)(run, x, vectors, best))) {
            return false;
        }
        UNROLL for (int v = 0; v < vectors; v++) {
            NAME(store_vector)(to + v * NAME(lanes) * (int64_t)sizeof(IN), best[v]);
        }
        if (indexed) {
            NAME(store_places)(run, lane, w, vectors, which);
        }
    }
    return true;
}

INLINE bool NAME(max_lanes)(const bp__pool_run *run, int most, bool indexed) {
    int64_t lane = 0;
    bool right = true;
    for (; right && run->lanes - lane >= most * NAME(lanes); lane += most * NAME(lanes)) {
        right = NAME(max_block)(run, lane, most, indexed);
    }
    for (; right && lane < run->lanes; lane += NAME(lanes)) {
        lane = run->lanes - lane < NAME(lanes) ? run->lanes - NAME(lanes) : lane;
        right = NAME(max_block)(run, lane, 1, indexed);
    }
    return right;
}

VECTORIZED static bool NAME(max_run)(const bp__pool_run *run) {
    return run->indices ? NAME(max_lanes)(run, 4, true) : NAME(max_lanes)(run, 8, false);
}
