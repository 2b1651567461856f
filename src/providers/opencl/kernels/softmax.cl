/* softmax.cl - computes softmax and its logarithm along some dimensions.
 *
 * X is the type of the elements. Rows of one part are computed by one kernel; otherwise the parts of a row first find
 * their greatest elements, then the sums of their exponentials, and then write. The sums of exponentials are f64, or pairs of f32. */
#include "common.cl"
#include "math.cl"
#include "walk.cl"

#define STORAGE JOIN(storage, X)
#define WIDEN(x) JOIN(widen, X)(x)
#define NARROW(x) JOIN(narrow, X)(x)
#define BLOCK 128 /* elements of a lane whose sum is added to that of the lane at once */

/* The greater one; NaN is greater than all numbers. */
static inline REAL greater(REAL a, REAL b) {
    return !(a <= b) && b == b ? a : b;
}

/* Exponentials below the least normal number are 0. */
static inline REAL exp_or_0(REAL x) {
    return x < LEAST_EXPONENT * (REAL)0.69314718055994530942 ? (REAL)0 : exp_of(x);
}

static inline void join_lanes(const walk *w, REAL best[LANES], wide sum[LANES], bool sums) {
    if (!w->columns) {
        for (int l = 1; l < LANES; l++) {
            best[0] = sums ? best[0] : greater(best[l], best[0]);
            sum[0] = sums ? plus_wide(sum[0], sum[l]) : sum[0];
        }
        for (int l = 1; l < LANES; l++) {
            best[l] = best[0];
            sum[l] = sum[0];
        }
    }
}

#define GREATEST_STEP(l, i, at) best[l] = greater(WIDEN(x[at]), best[l]);

static inline void find_greatest(__global const STORAGE *x, const walk *w, const tile *t, long number,
                                 REAL best[LANES]) {
    wide unused[LANES];
    for (int l = 0; l < LANES; l++) {
        best[l] = -(REAL)INFINITY;
    }
    EACH_STRIP(w, t, number, s) {
        EACH_ELEMENT(s, 0, s.count, GREATEST_STEP)
    }
    join_lanes(w, best, unused, false);
}

#define EXP_STEP(l, i, at) block[l] = plus_number(block[l], exp_or_0(WIDEN(x[at]) - center[l]));

static inline void add_exps(__global const STORAGE *x, const walk *w, const tile *t, long number, REAL center[LANES],
                            wide sum[LANES]) {
    for (int l = 0; l < LANES; l++) {
        sum[l] = WIDE_0;
    }
    EACH_STRIP(w, t, number, s) {
        for (long from = 0; from < s.count; from += BLOCK) {
            const long to = min(from + BLOCK, s.count);
            wide block[LANES];
            for (int l = 0; l < LANES; l++) {
                block[l] = WIDE_0;
            }
            EACH_ELEMENT(s, from, to, EXP_STEP)
            for (int l = 0; l < LANES; l++) {
                sum[l] = plus_wide(sum[l], block[l]);
            }
        }
    }
    join_lanes(w, center, sum, true);
}

/* With f64 that of OpenCL, whose error is far below that of REAL; it is that of REAL for f64. */
#ifdef HAS_F64
#define LOG log
#else
#define LOG log_of
#endif

#define WRITE_STEP(l, i, place)                                                                                        \
    {                                                                                                                  \
        const REAL distance = WIDEN(x[place]) - center[l];                                                             \
        const REAL result = logarithm ? distance - scale[l] : exp_or_0(distance) * scale[l];                           \
        y[s.at[1] + (i) * s.next[1] + (l) * s.lane[1]] = NARROW(result);                                               \
    }

static inline void write_results(__global const STORAGE *x, __global STORAGE *y, const walk *w, const tile *t,
                                 long number, const REAL center[LANES], const wide sum[LANES], bool logarithm) {
    REAL scale[LANES];
    for (int l = 0; l < LANES; l++) {
        const precise all = value_of(sum[l]);
        scale[l] = (REAL)(logarithm ? LOG(all) : 1 / all);
    }
    EACH_STRIP(w, t, number, s) {
        if (s.lane[1] == 1 && s.lane[0] == 1 && s.lanes == LANES) {
            for (long i = 0; i < s.count; i++) {
                const long row = s.at[0] + i * s.next[0];
                INDEPENDENT
                for (int l = 0; l < LANES; l++) {
                    WRITE_STEP(l, i, row + l)
                }
            }
        } else {
            EACH_ELEMENT(s, 0, s.count, WRITE_STEP)
        }
    }
}

__kernel void softmax_rows(__global const STORAGE *x, ulong x_first, __global STORAGE *y, ulong y_first, const walk w,
                           const int logarithm) {
    x += (long)x_first;
    EACH_TILE(w, false, t) {
        REAL center[LANES];
        wide sum[LANES];
        find_greatest(x, &w, &t, 0, center);
        add_exps(x, &w, &t, 0, center, sum);
        write_results(x, y + (long)y_first, &w, &t, 0, center, sum, logarithm);
    }
}

/* ---- Parts ---- */

__kernel void greatest_of_parts(__global const STORAGE *x, ulong x_first, __global REAL *greatest,
                                ulong greatest_first, const walk w) {
    const long number = part_of(&w);
    EACH_TILE(w, true, t) {
        REAL best[LANES];
        find_greatest(x + (long)x_first, &w, &t, number, best);
        for (int l = 0; l < t.lanes; l++) {
            greatest[(long)greatest_first + number * w.results + t.result + l] = best[l];
        }
    }
}

/* All lanes of a row have the same number. */
#define RESULT_OF_LANE(l) (t->result + (w->columns ? min(l, t->lanes - 1) : 0))

static inline void read_greatest(__global const REAL *greatest, const walk *w, const tile *t, REAL center[LANES]) {
    for (int l = 0; l < LANES; l++) {
        center[l] = -(REAL)INFINITY;
        for (long part = 0; part < w->parts; part++) {
            center[l] = greater(greatest[part * w->results + RESULT_OF_LANE(l)], center[l]);
        }
    }
}

static inline void read_sums(__global const wide *sums, const walk *w, const tile *t, wide sum[LANES]) {
    for (int l = 0; l < LANES; l++) {
        sum[l] = WIDE_0;
        for (long part = 0; part < w->parts; part++) {
            sum[l] = plus_wide(sum[l], sums[part * w->results + RESULT_OF_LANE(l)]);
        }
    }
}

__kernel void sums_of_parts(__global const STORAGE *x, ulong x_first, __global const REAL *greatest,
                            ulong greatest_first, __global wide *sums, ulong sums_first, const walk w) {
    const long number = part_of(&w);
    EACH_TILE(w, true, t) {
        REAL center[LANES];
        wide sum[LANES];
        read_greatest(greatest + (long)greatest_first, &w, &t, center);
        add_exps(x + (long)x_first, &w, &t, number, center, sum);
        for (int l = 0; l < t.lanes; l++) {
            sums[(long)sums_first + number * w.results + t.result + l] = sum[l];
        }
    }
}

__kernel void write_parts(__global const STORAGE *x, ulong x_first, __global STORAGE *y, ulong y_first,
                          __global const REAL *greatest, ulong greatest_first, __global const wide *sums,
                          ulong sums_first, const walk w, const int logarithm) {
    const long number = part_of(&w);
    EACH_TILE(w, true, t) {
        REAL center[LANES];
        wide sum[LANES];
        read_greatest(greatest + (long)greatest_first, &w, &t, center);
        read_sums(sums + (long)sums_first, &w, &t, sum);
        write_results(x + (long)x_first, y + (long)y_first, &w, &t, number, center, sum, logarithm);
    }
}
