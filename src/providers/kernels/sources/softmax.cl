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
#define BLOCK 128 /* elements of a lane whose sum is added to the lane's sum at once */

/* The greater one; NaN is greater than all numbers. */
static inline REAL greater(REAL a, REAL b) {
    return !(a <= b) && b == b ? a : b;
}

/* Exponentials below the least normal number are 0. */
static inline REAL exp_or_0(REAL x) {
    return x < LEAST_EXPONENT * (REAL)0.69314718055994530942 ? (REAL)0 : exp_of(x);
}

JOIN_MEMBERS(greatest_of_members, REAL, greater)
JOIN_MEMBERS(sum_of_members, wide, plus_wide)

/* Joins the lanes of a row, in all members of it. Each lane has the result. */
#define JOIN_LANES(name, TYPE, JOINED, MEMBERS_JOINED)                                                                 \
    static inline void name(const walk *w, __local TYPE *values, TYPE value[LANES]) {                                  \
        if (!COLUMNS(w)) {                                                                                             \
            for (int l = 1; l < LANES; l++) {                                                                          \
                value[0] = JOINED(value[0], value[l]);                                                                 \
            }                                                                                                          \
            value[0] = MEMBERS_JOINED(w, values, value[0]);                                                            \
            for (int l = 1; l < LANES; l++) {                                                                          \
                value[l] = value[0];                                                                                   \
            }                                                                                                          \
        }                                                                                                              \
    }
JOIN_LANES(greatest_of_lanes, REAL, greater, greatest_of_members)
JOIN_LANES(sum_of_lanes, wide, plus_wide, sum_of_members)

#define GREATEST_STEP(l, i, at) best[l] = greater(WIDEN(x[at]), best[l]);

static inline void find_greatest(__global const STORAGE *x, const walk *w, const tile *t, long number,
                                 __local REAL *values, REAL best[LANES]) {
    for (int l = 0; l < LANES; l++) {
        best[l] = -(REAL)INFINITY;
    }
    EACH_STRIP(w, t, number, s) {
        EACH_ELEMENT(s, 0, s.count, GREATEST_STEP)
    }
    greatest_of_lanes(w, values, best);
}

#define EXP_STEP(l, i, at) block[l] = plus_number(block[l], exp_or_0(WIDEN(x[at]) - center[l]));

static inline void add_exps(__global const STORAGE *x, const walk *w, const tile *t, long number,
                            const REAL center[LANES], __local wide *values, wide sum[LANES]) {
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
    sum_of_lanes(w, values, sum);
}

/* With f64 the logarithm of OpenCL, whose error is far below the rounding of f32; for f64 it is of the same size. */
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
    SHARED REAL reals[GROUP];
    SHARED wide wides[GROUP];
    EACH_TILE(w, t) {
        REAL center[LANES];
        wide sum[LANES];
        find_greatest(x, &w, &t, 0, reals, center);
        add_exps(x, &w, &t, 0, center, wides, sum);
        write_results(x, y + (long)y_first, &w, &t, 0, center, sum, logarithm);
    }
}

/* ---- Parts ---- */

__kernel void greatest_of_parts(__global const STORAGE *x, ulong x_first, __global REAL *greatest,
                                ulong greatest_first, const walk w) {
    SHARED REAL reals[GROUP];
    const long number = part_of();
    EACH_TILE(w, t) {
        REAL best[LANES];
        find_greatest(x + (long)x_first, &w, &t, number, reals, best);
        EACH_RESULT(t, l) {
            greatest[(long)greatest_first + number * w.results + t.result + l] = best[l];
        }
    }
}

/* The members of a row take its parts in turn. */
#define READ_PARTS(name, TYPE, neutral, JOINED, JOINED_LANES)                                                          \
    static inline void name(__global const TYPE *parts, const walk *w, const tile *t, __local TYPE *values,            \
                            TYPE value[LANES]) {                                                                       \
        for (int l = 0; l < LANES; l++) {                                                                              \
            value[l] = neutral;                                                                                        \
        }                                                                                                              \
        for (long part = member_of(w); part < w->parts; part += MEMBERS(w)) {                                          \
            for (int l = 0; l < (COLUMNS(w) ? LANES : 1); l++) {                                                       \
                value[l] = JOINED(value[l], parts[part * w->results + RESULT_OF_LANE(w, t, l)]);                       \
            }                                                                                                          \
        }                                                                                                              \
        JOINED_LANES(w, values, value);                                                                                \
    }
READ_PARTS(read_greatest, REAL, -(REAL)INFINITY, greater, greatest_of_lanes)
READ_PARTS(read_sums, wide, WIDE_0, plus_wide, sum_of_lanes)

__kernel void sums_of_parts(__global const STORAGE *x, ulong x_first, __global const REAL *greatest,
                            ulong greatest_first, __global wide *sums, ulong sums_first, const walk w) {
    SHARED REAL reals[GROUP];
    SHARED wide wides[GROUP];
    const long number = part_of();
    EACH_TILE(w, t) {
        REAL center[LANES];
        wide sum[LANES];
        read_greatest(greatest + (long)greatest_first, &w, &t, reals, center);
        add_exps(x + (long)x_first, &w, &t, number, center, wides, sum);
        EACH_RESULT(t, l) {
            sums[(long)sums_first + number * w.results + t.result + l] = sum[l];
        }
    }
}

__kernel void write_parts(__global const STORAGE *x, ulong x_first, __global STORAGE *y, ulong y_first,
                          __global const REAL *greatest, ulong greatest_first, __global const wide *sums,
                          ulong sums_first, const walk w, const int logarithm) {
    SHARED REAL reals[GROUP];
    SHARED wide wides[GROUP];
    const long number = part_of();
    EACH_TILE(w, t) {
        REAL center[LANES];
        wide sum[LANES];
        read_greatest(greatest + (long)greatest_first, &w, &t, reals, center);
        read_sums(sums + (long)sums_first, &w, &t, wides, sum);
        write_results(x + (long)x_first, y + (long)y_first, &w, &t, number, center, sum, logarithm);
    }
}
