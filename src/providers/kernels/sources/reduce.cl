/* reduce.cl - joins the elements along some dimensions: sums, products, truths, extremes and their positions.
 *
 * X is the type of the elements, Y the type of the results, SUM the type of sums and products (wide, or ulong
 * for integers) and of TRUTHS (int; AS_WORD(x) is an element as an integer WORD, BITS those that are not 0 if it is true),
 * VALUE the type of extremes. If there are several parts, each writes its value to the workspace, for each part and result,
 * and a second kernel joins them in their order. */
#include "common.cl"
#include "walk.cl"

#define X_STORAGE JOIN(storage, X)
#define Y_STORAGE JOIN(storage, Y)
#define WIDEN(x) JOIN(widen, X)(x)
#define BLOCK 128 /* elements of a lane whose sum is added to the lane's sum at once */


/* ---- Sums, products and truths ---- */
#ifdef SUM
#ifdef TRUTHS
#define RESULT(sum, n) ((Y_STORAGE)(sum))
#elif defined(INTEGER)
#define ZERO 0
#define PLUS(sum, x) ((sum) + (SUM)(x))
#define PLUS_SUM(a, b) ((a) + (b))
#define RESULT(sum, n) ((Y_STORAGE)(sum))
#else
#define ZERO WIDE_0
#define PLUS(sum, x) plus_number(sum, (precise)(x))
#define PLUS_SUM(a, b) plus_wide(a, b)
#define RESULT(sum, n) JOIN(narrow, Y)((NUMBER)value_of(sum))
#define MEAN(sum, n) JOIN(narrow, Y)((NUMBER)(value_of(sum) / (precise)(n)))
#endif
#define TIMES(a, b) ((a) * (b))

#define SUMS(name, JOINED, neutral, RESULT_OF)                                                                         \
    static inline void name##_strip(__global const X_STORAGE *x, const strip *s, SUM sum[LANES]) {                     \
        for (long from = 0; from < s->count; from += BLOCK) {                                                          \
            const long to = min(from + BLOCK, s->count);                                                               \
            SUM block[LANES];                                                                                          \
            for (int l = 0; l < LANES; l++) {                                                                          \
                block[l] = neutral;                                                                                    \
            }                                                                                                          \
            EACH_ELEMENT(*s, from, to, name##_STEP)                                                                    \
            for (int l = 0; l < LANES; l++) {                                                                          \
                sum[l] = JOINED(sum[l], block[l]);                                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    JOIN_MEMBERS(name##_members, SUM, JOINED)                                                                          \
    __kernel void name##_part(__global const X_STORAGE *x, ulong x_first, __global Y_STORAGE *y, ulong y_first,        \
                              __global SUM *partial, ulong partial_first, const walk w) {                              \
        SHARED SUM values[GROUP];                                                                                      \
        const long number = part_of();                                                                                 \
        x += (long)x_first;                                                                                            \
        EACH_TILE(w, t) {                                                                                              \
            SUM sum[LANES];                                                                                            \
            for (int l = 0; l < LANES; l++) {                                                                          \
                sum[l] = neutral;                                                                                      \
            }                                                                                                          \
            EACH_STRIP(&w, &t, number, s) {                                                                            \
                name##_strip(x, &s, sum);                                                                              \
            }                                                                                                          \
            if (!COLUMNS(&w)) {                                                                                        \
                for (int l = 1; l < LANES; l++) {                                                                      \
                    sum[0] = JOINED(sum[0], sum[l]);                                                                   \
                }                                                                                                      \
            }                                                                                                          \
            sum[0] = name##_members(&w, values, sum[0]);                                                               \
            EACH_RESULT(t, l) {                                                                                        \
                if (w.parts > 1) {                                                                                     \
                    partial[(long)partial_first + number * w.results + t.result + l] = sum[l];                         \
                } else {                                                                                               \
                    y[(long)y_first + t.at[1] + l * t.lane[1]] = RESULT_OF(sum[l], w.reduced);                         \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    __kernel void name##_join(__global Y_STORAGE *y, ulong y_first, __global const SUM *partial, ulong partial_first,  \
                              const walk w) {                                                                          \
        SHARED SUM values[GROUP];                                                                                      \
        EACH_TILE(w, t) {                                                                                              \
            SUM sum[LANES];                                                                                            \
            for (int l = 0; l < RESULTS; l++) {                                                                        \
                sum[l] = neutral;                                                                                      \
                for (long part = member_of(&w); part < w.parts && l < t.lanes; part += MEMBERS(&w)) {                  \
                    sum[l] = JOINED(sum[l], partial[(long)partial_first + part * w.results + t.result + l]);           \
                }                                                                                                      \
            }                                                                                                          \
            sum[0] = name##_members(&w, values, sum[0]);                                                               \
            EACH_RESULT(t, l) {                                                                                        \
                y[(long)y_first + t.at[1] + l * t.lane[1]] = RESULT_OF(sum[l], w.reduced);                             \
            }                                                                                                          \
        }                                                                                                              \
    }
#define sum_STEP(l, i, at) block[l] = PLUS(block[l], WIDEN(x[at]));
#define mean_STEP sum_STEP
#define prod_STEP(l, i, at) block[l] *= (SUM)WIDEN(x[at]);
#ifdef TRUTHS
/* A floating number is 0 if no bit other than its sign is set; comparisons of numbers may take denormal ones for 0. */
#define IS_TRUE(x) (((WORD)AS_WORD(x) & (WORD)(BITS)) != 0)
#define any_STEP(l, i, at) block[l] |= IS_TRUE(x[at]);
#define all_STEP(l, i, at) block[l] &= IS_TRUE(x[at]);
#define EITHER(a, b) ((a) | (b))
#define BOTH(a, b) ((a) & (b))
SUMS(any, EITHER, 0, RESULT)
SUMS(all, BOTH, 1, RESULT)
#else
SUMS(sum, PLUS_SUM, ZERO, RESULT)
#ifndef INTEGER
SUMS(mean, PLUS_SUM, ZERO, MEAN)
#endif
#if defined(INTEGER) || defined(HAS_F64)
SUMS(prod, TIMES, (SUM)1, RESULT)
#endif
#endif
#endif

/* ---- Extremes ---- */
#ifdef VALUE
#ifdef INTEGER
#define UNORDERED(x) false
#else
#define UNORDERED(x) ((x) != (x))
#endif
/* Whether x is more extreme than y: NaN is more extreme than all numbers. */
#define ABOVE(x, y) (!((x) <= (y)) && !UNORDERED(y))
#define BELOW(x, y) (!((x) >= (y)) && !UNORDERED(y))
#define NOWHERE LONG_MAX

/* A value is replaced by one that is more extreme, or that is as extreme and has a smaller index. */
#define EXTREME_STEP(l, i, at)                                                                                         \
    {                                                                                                                  \
        const VALUE value = (VALUE)WIDEN(x[at]);                                                                       \
        best[l] = EXCEEDS(value, best[l]) ? value : best[l];                                                           \
    }
#define POSITION_STEP(l, i, at)                                                                                        \
    {                                                                                                                  \
        const VALUE value = (VALUE)WIDEN(x[at]);                                                                       \
        const long index = s.index + l * s.index_lane + (i) * s.index_next;                                            \
        const bool better = EXCEEDS(value, best[l]) || index_of[l] == NOWHERE;                                         \
        best[l] = better ? value : best[l];                                                                            \
        index_of[l] = better ? index : index_of[l];                                                                    \
    }
#define TAKE_BETTER(value, index, other, other_index)                                                                  \
    if (EXCEEDS(other, value) || (!EXCEEDS(value, other) && other_index < index)) {                                    \
        value = other;                                                                                                 \
        index = other_index;                                                                                           \
    }

/* As the functions that JOIN_MEMBERS defines, of values and their indices. */
static inline void join_extremes(const walk *w, __local VALUE *values, __local long *positions, VALUE *value,
                                 long *index) {
#if GROUP > 1
    const int id = (int)get_local_id(0), member = member_of(w), step = member_step(w);
    values[id] = *value;
    positions[id] = *index;
    for (int distance = w->members / 2; distance > 0; distance /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (member < distance) {
            const VALUE other = values[id + distance * step];
            const long other_index = positions[id + distance * step];
            TAKE_BETTER(*value, *index, other, other_index)
            values[id] = *value;
            positions[id] = *index;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE); /* before the next values; member 0 has the result */
#endif
}

#define EXTREME(name, STEP, RESULT_OF)                                                                                 \
    __kernel void name##_part(__global const X_STORAGE *x, ulong x_first, __global Y_STORAGE *y, ulong y_first,        \
                              __global VALUE *partial, ulong partial_first, __global long *indices,                    \
                              ulong indices_first, const walk w) {                                                     \
        SHARED VALUE values[GROUP];                                                                                    \
        SHARED long positions[GROUP];                                                                                  \
        const long number = part_of();                                                                                 \
        x += (long)x_first;                                                                                            \
        EACH_TILE(w, t) {                                                                                              \
            VALUE best[LANES];                                                                                         \
            long index_of[LANES];                                                                                      \
            for (int l = 0; l < LANES; l++) {                                                                          \
                best[l] = WORST;                                                                                       \
                index_of[l] = NOWHERE;                                                                                 \
            }                                                                                                          \
            EACH_STRIP(&w, &t, number, s) {                                                                            \
                EACH_ELEMENT(s, 0, s.count, STEP)                                                                      \
            }                                                                                                          \
            if (!COLUMNS(&w)) {                                                                                        \
                for (int l = 1; l < LANES; l++) {                                                                      \
                    TAKE_BETTER(best[0], index_of[0], best[l], index_of[l])                                            \
                }                                                                                                      \
            }                                                                                                          \
            join_extremes(&w, values, positions, &best[0], &index_of[0]);                                              \
            EACH_RESULT(t, l) {                                                                                        \
                if (w.parts > 1) {                                                                                     \
                    partial[(long)partial_first + number * w.results + t.result + l] = best[l];                        \
                    indices[(long)indices_first + number * w.results + t.result + l] = index_of[l];                    \
                } else {                                                                                               \
                    y[(long)y_first + t.at[1] + l * t.lane[1]] = RESULT_OF(best[l], index_of[l]);                      \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    __kernel void name##_join(__global Y_STORAGE *y, ulong y_first, __global const VALUE *partial,                     \
                              ulong partial_first, __global const long *indices, ulong indices_first,                  \
                              const walk w) {                                                                          \
        SHARED VALUE values[GROUP];                                                                                    \
        SHARED long positions[GROUP];                                                                                  \
        EACH_TILE(w, t) {                                                                                              \
            VALUE best[LANES];                                                                                         \
            long index_of[LANES];                                                                                      \
            for (int l = 0; l < RESULTS; l++) {                                                                        \
                best[l] = WORST;                                                                                       \
                index_of[l] = NOWHERE;                                                                                 \
                for (long part = member_of(&w); part < w.parts && l < t.lanes; part += MEMBERS(&w)) {                  \
                    const VALUE other = partial[(long)partial_first + part * w.results + t.result + l];                \
                    const long other_index = indices[(long)indices_first + part * w.results + t.result + l];           \
                    TAKE_BETTER(best[l], index_of[l], other, other_index)                                              \
                }                                                                                                      \
            }                                                                                                          \
            join_extremes(&w, values, positions, &best[0], &index_of[0]);                                              \
            EACH_RESULT(t, l) {                                                                                        \
                y[(long)y_first + t.at[1] + l * t.lane[1]] = RESULT_OF(best[l], index_of[l]);                          \
            }                                                                                                          \
        }                                                                                                              \
    }
#define VALUE_OF(value, index) JOIN(narrow, Y)((NUMBER)(value))
#define INDEX_OF(value, index) (index)
#if defined(POSITIONS)
EXTREME(extreme, POSITION_STEP, INDEX_OF)
#else
EXTREME(extreme, EXTREME_STEP, VALUE_OF)
#endif
#endif
