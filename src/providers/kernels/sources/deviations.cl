/* deviations.cl - adds the differences of elements to one of them, and the squares of their deviations from the mean, for
 * normalizations and variances. common.cl and walk.cl come before, and STORAGE and WIDEN(x) of the elements.
 *
 * The results of the walk are the rows. If they have several parts, the workspace has a sum of differences, and then of
 * squares, for each part and row. */
#define BLOCK 128 /* elements of a lane whose sum is added to the lane's sum at once */

#define DIFFERENCE_STEP(l, i, at) block[l] = plus_number(block[l], (precise)WIDEN(x[at]) - center[l]);
#define SQUARE_STEP(l, i, at)                                                                                          \
    {                                                                                                                  \
        const precise distance = ((precise)WIDEN(x[at]) - center[l]) - mean[l];                                        \
        block[l] = plus_number(block[l], distance * distance);                                                         \
    }

JOIN_MEMBERS(sum_of_members, wide, plus_wide)

#define ADD_ALL(name, STEP)                                                                                            \
    static inline void name(__global const STORAGE *x, const walk *w, const tile *t, long number,                      \
                            const precise center[LANES], const precise mean[LANES], __local wide *values,              \
                            wide sum[LANES]) {                                                                         \
        for (int l = 0; l < LANES; l++) {                                                                              \
            sum[l] = WIDE_0;                                                                                           \
        }                                                                                                              \
        EACH_STRIP(w, t, number, s) {                                                                                  \
            for (long from = 0; from < s.count; from += BLOCK) {                                                       \
                const long to = min(from + BLOCK, s.count);                                                            \
                wide block[LANES];                                                                                     \
                for (int l = 0; l < LANES; l++) {                                                                      \
                    block[l] = WIDE_0;                                                                                 \
                }                                                                                                      \
                EACH_ELEMENT(s, from, to, STEP)                                                                        \
                for (int l = 0; l < LANES; l++) {                                                                      \
                    sum[l] = plus_wide(sum[l], block[l]);                                                              \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        if (!COLUMNS(w)) {                                                                                             \
            for (int l = 1; l < LANES; l++) {                                                                          \
                sum[0] = plus_wide(sum[0], sum[l]);                                                                    \
            }                                                                                                          \
            sum[0] = sum_of_members(w, values, sum[0]);                                                                \
            for (int l = 1; l < LANES; l++) {                                                                          \
                sum[l] = sum[0];                                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }
ADD_ALL(add_differences, DIFFERENCE_STEP)
ADD_ALL(add_squares, SQUARE_STEP)

/* The first element of each row, or 0. */
static inline void read_centers(__global const STORAGE *x, const walk *w, const tile *t, int subtract_mean,
                                precise center[LANES]) {
    for (int l = 0; l < LANES; l++) {
        const long lane = COLUMNS(w) ? min(l, t->lanes - 1) : 0;
        center[l] = subtract_mean ? (precise)WIDEN(x[t->at[0] + lane * t->lane[0]]) : (precise)0;
    }
}

/* The sum of all parts for each lane. */
static inline void read_sums(__global const wide *sums, const walk *w, const tile *t, __local wide *values,
                             precise total[LANES]) {
    for (int l = 0; l < LANES; l++) {
        if (COLUMNS(w) || l == 0) {
            wide sum = WIDE_0;
            for (long part = member_of(w); part < w->parts; part += MEMBERS(w)) {
                sum = plus_wide(sum, sums[part * w->results + RESULT_OF_LANE(w, t, l)]);
            }
            total[l] = value_of(sum_of_members(w, values, sum));
        } else {
            total[l] = total[0];
        }
    }
}

static inline void read_averages(__global const wide *sums, const walk *w, const tile *t, __local wide *values,
                                 precise average[LANES]) {
    read_sums(sums, w, t, values, average);
    for (int l = 0; l < LANES; l++) {
        average[l] /= (precise)w->reduced;
    }
}

static inline void write_sums(__global wide *sums, const walk *w, const tile *t, long number, const wide sum[LANES]) {
    EACH_RESULT(*t, l) {
        sums[number * w->results + t->result + l] = sum[l];
    }
}

__kernel void differences_of_parts(__global const STORAGE *x, ulong x_first, __global wide *sums, ulong sums_first,
                                   const walk w) {
    x += (long)x_first;
    SHARED wide values[GROUP];
    EACH_TILE(w, t) {
        precise center[LANES];
        wide sum[LANES];
        read_centers(x, &w, &t, 1, center);
        add_differences(x, &w, &t, part_of(), center, center, values, sum);
        write_sums(sums + (long)sums_first, &w, &t, part_of(), sum);
    }
}
