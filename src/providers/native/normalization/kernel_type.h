/* kernel_type.h - template: the kernels of batch normalization for one type. Parameters: as in kernel_each_type.h. Sums
 * over contiguous lanes have loops of their own, so that the compiler can use vectors. */
#include "providers/native/kernel_lanes.h"

#define AT_LEAST(a, b) _Generic(a, vector_f32 : maximum_f32, vector_f64 : maximum_f64)(a, b)

INLINE NAME(element) * NAME(row)(const bp__batch_norm_grid *grid, int64_t i) {
    return (NAME(element) *)(void *)(uintptr_t)grid->at + i * grid->next;
}

INLINE void NAME(doubles_at)(const NAME(element) * from, int64_t lane, bool whole, int lanes, vector_f64 *to) {
    if (whole) {
        NAME(read_doubles)(from, to);
    } else {
        DOUBLES(NAME(get)(from, lane, false, lanes), to);
    }
}

INLINE void NAME(moments_tile)(int64_t lane, int vectors, bool whole, int lanes, int64_t count,
                               const bp__batch_norm_grid *x, const double *center, int64_t step, double *mean,
                               double *squares) {
    const int used = whole ? vectors * NAME(WIDTH) : lanes;
    double numbers[TILE * NAME(WIDTH)] = {0};
    vector_f64 first[TILE][NAME(PARTS)], value[NAME(PARTS)];
    NAME(lanes) second, square;
    NAME(clear)(second);
    NAME(clear)(square);
    for (int l = 0; l < used; l++) {
        numbers[l] = center[(lane + l) * step];
    }
    memcpy(first, numbers, sizeof first);
    const NAME(element) *from = NAME(row)(x, 0) + lane * x->lane;
    for (int64_t i = 0; i < count; i++, from += x->next) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            NAME(doubles_at)(from + v * NAME(WIDTH), x->lane, whole, lanes, value);
            UNROLL
            for (int h = 0; h < NAME(PARTS); h++) {
                second[v][h] += value[h] - first[v][h];
            }
        }
    }
    UNROLL
    for (int i = 0; i < TILE * NAME(PARTS); i++) {
        second[i / NAME(PARTS)][i % NAME(PARTS)] /= splat_f64((double)count);
    }
    from = NAME(row)(x, 0) + lane * x->lane;
    for (int64_t i = 0; i < count; i++, from += x->next) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            NAME(doubles_at)(from + v * NAME(WIDTH), x->lane, whole, lanes, value);
            UNROLL
            for (int h = 0; h < NAME(PARTS); h++) {
                value[h] = (value[h] - first[v][h]) - second[v][h];
                square[v][h] = madd_f64(value[h], value[h], square[v][h]);
            }
        }
    }
    memcpy(numbers, second, sizeof numbers);
    memcpy(mean + lane, numbers, (size_t)used * sizeof *mean);
    memcpy(numbers, square, sizeof numbers);
    memcpy(squares + lane, numbers, (size_t)used * sizeof *squares);
}

/* One lane: the positions of a channel that are fewer than the lanes of a block. */
INLINE void NAME(moments_alone)(int64_t count, const bp__batch_norm_grid *x, double center, double *mean,
                                double *squares) {
    double sum = 0, square = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += (double)WIDEN(*NAME(row)(x, i)) - center;
    }
    sum /= (double)count;
    for (int64_t i = 0; i < count; i++) {
        const double distance = ((double)WIDEN(*NAME(row)(x, i)) - center) - sum;
        square = scalar_madd_f64(distance, distance, square);
    }
    *mean = sum;
    *squares = square;
}

static void NAME(moments)(int64_t lanes, int64_t count, const bp__batch_norm_grid *x, const double *center,
                          int64_t step, double *mean, double *squares) {
    if (lanes == 1) {
        NAME(moments_alone)(count, x, center[0], mean, squares);
    } else {
        EACH_TILE(lanes, x->lane == 1, NAME(moments_tile), count, x, center, step, mean, squares);
    }
}

INLINE void NAME(sums_row)(int64_t n, const NAME(element) *restrict y, int64_t y_lane, const NAME(element) *restrict x,
                           int64_t x_lane, const double *restrict center, int64_t step, double *restrict sum,
                           double *restrict product) {
    for (int64_t l = 0; l < n; l++) {
        const double value = (double)WIDEN(y[l * y_lane]);
        sum[l] += value;
        product[l] += value * ((double)WIDEN(x[l * x_lane]) - center[l * step]);
    }
}

VECTORIZED static void NAME(sums)(int64_t lanes, int64_t count, const bp__batch_norm_grid *y,
                                  const bp__batch_norm_grid *x, const double *center, int64_t step, double *sum,
                                  double *product) {
    for (int64_t i = 0; i < count; i++) {
        if (y->lane == 1 && x->lane == 1 && step == 1) {
            NAME(sums_row)(lanes, NAME(row)(y, i), 1, NAME(row)(x, i), 1, center, 1, sum, product);
        } else if (y->lane == 1 && x->lane == 1) {
            NAME(sums_row)(lanes, NAME(row)(y, i), 1, NAME(row)(x, i), 1, center, 0, sum, product);
        } else {
            NAME(sums_row)(lanes, NAME(row)(y, i), y->lane, NAME(row)(x, i), x->lane, center, step, sum, product);
        }
    }
}

/* The numbers of the channels of lanes: one for all if they do not follow channels. */
typedef struct NAME(numbers) {
    const NAME(number) * each[BP__BATCH_NORM_NUMBERS];
    VECTOR same[BP__BATCH_NORM_NUMBERS];
} NAME(numbers);

INLINE NAME(numbers) NAME(numbers_of)(const void *const given[BP__BATCH_NORM_NUMBERS]) {
    NAME(numbers) numbers;
    UNROLL
    for (int i = 0; i < BP__BATCH_NORM_NUMBERS; i++) {
        numbers.each[i] = given[i];
        numbers.same[i] = given[i] ? SPLAT(numbers.each[i][0]) : SPLAT(0);
    }
    return numbers;
}

INLINE VECTOR NAME(number_at)(const NAME(numbers) * numbers, int which, bool step, int64_t lane, bool whole,
                              int lanes) {
    return step ? NAME(read)(numbers->each[which] + lane, whole, lanes) : numbers->same[which];
}
#define NUMBER(which) NAME(number_at)(numbers, BP__BATCH_NORM_##which, step, at, whole, lanes)

/* A row of a grid, and the distance of its lanes. */
typedef struct NAME(line) {
    NAME(element) * at;
    int64_t lane;
} NAME(line);

INLINE VECTOR NAME(lanes_at)(NAME(line) row, int64_t lane, bool whole, int lanes) {
    return NAME(get)(row.at + lane * row.lane, row.lane, whole, lanes);
}

INLINE NAME(line) NAME(line_of)(const bp__batch_norm_grid *grid, int64_t i) {
    return (NAME(line)){NAME(row)(grid, i), grid->lane};
}

INLINE void NAME(apply_tile)(int64_t lane, int vectors, bool whole, int lanes, NAME(line) y, NAME(line) x,
                             const NAME(numbers) * numbers, bool step, bool rest, bool twice, REAL least) {
    UNROLL
    for (int v = 0; v < vectors; v++) {
        const int64_t at = lane + v * NAME(WIDTH);
        VECTOR distance = NAME(lanes_at)(x, at, whole, lanes) - NUMBER(CENTER);
        distance = rest ? distance - NUMBER(REST) : distance;
        distance = twice ? distance * NUMBER(FACTOR) : distance;
        const VECTOR value = AT_LEAST(SPLAT(least), MADD(distance, NUMBER(SCALE), NUMBER(SHIFT)));
        NAME(put)(y.at + at * y.lane, y.lane, whole, lanes, value);
    }
}

INLINE void NAME(apply_rows)(int64_t lanes, int64_t count, const bp__batch_norm_grid *y, const bp__batch_norm_grid *x,
                             const NAME(numbers) * numbers, bool step, bool rest, bool twice, REAL least) {
    const bool contiguous = x->lane == 1 && y->lane == 1;
    for (int64_t i = 0; i < count; i++) {
        const NAME(line) to = NAME(line_of)(y, i), from = NAME(line_of)(x, i);
        EACH_TILE(lanes, contiguous, NAME(apply_tile), to, from, numbers, step, rest, twice, least);
    }
}

static void NAME(apply)(int64_t lanes, int64_t count, const bp__batch_norm_grid *y, const bp__batch_norm_grid *x,
                        const void *const given[BP__BATCH_NORM_NUMBERS], int64_t step, bool relu) {
    const NAME(numbers) numbers = NAME(numbers_of)(given);
    const REAL least = relu ? 0 : (REAL)-INFINITY;
    if (given[BP__BATCH_NORM_FACTOR]) {
        NAME(apply_rows)(lanes, count, y, x, &numbers, step, true, true, least);
    } else if (given[BP__BATCH_NORM_REST]) {
        NAME(apply_rows)(lanes, count, y, x, &numbers, step, true, false, least);
    } else if (step) {
        NAME(apply_rows)(lanes, count, y, x, &numbers, true, false, false, least);
    } else {
        NAME(apply_rows)(lanes, count, y, x, &numbers, false, false, false, least);
    }
}

INLINE void NAME(gradient_tile)(int64_t lane, int vectors, bool whole, int lanes, NAME(line) g, NAME(line) y,
                                NAME(line) x, const NAME(numbers) * numbers, bool step, bool twice) {
    UNROLL
    for (int v = 0; v < vectors; v++) {
        const int64_t at = lane + v * NAME(WIDTH);
        const VECTOR distance = NAME(lanes_at)(x, at, whole, lanes) - NUMBER(CENTER);
        const VECTOR rest = NAME(lanes_at)(y, at, whole, lanes) - NUMBER(SHIFT);
        const VECTOR value = MADD(distance, -NUMBER(SLOPE), rest) * NUMBER(SCALE);
        NAME(put)(g.at + at * g.lane, g.lane, whole, lanes, twice ? value * NUMBER(FACTOR) : value);
    }
}

static void NAME(gradient)(int64_t lanes, int64_t count, const bp__batch_norm_grid *g, const bp__batch_norm_grid *y,
                           const bp__batch_norm_grid *x, const void *const given[BP__BATCH_NORM_NUMBERS],
                           int64_t step) {
    const NAME(numbers) numbers = NAME(numbers_of)(given);
    const bool contiguous = g->lane == 1 && y->lane == 1 && x->lane == 1;
    for (int64_t i = 0; i < count; i++) {
        const NAME(line) to = NAME(line_of)(g, i), from = NAME(line_of)(y, i), with = NAME(line_of)(x, i);
        if (given[BP__BATCH_NORM_FACTOR]) {
            EACH_TILE(lanes, contiguous, NAME(gradient_tile), to, from, with, &numbers, step, true);
        } else if (step) {
            EACH_TILE(lanes, contiguous, NAME(gradient_tile), to, from, with, &numbers, true, false);
        } else {
            EACH_TILE(lanes, contiguous, NAME(gradient_tile), to, from, with, &numbers, false, false);
        }
    }
}
#undef NUMBER
#undef AT_LEAST

static double NAME(load)(const char *from) {
    return (double)WIDEN(*(const NAME(element) *)(const void *)from);
}

static void NAME(store)(char *to, double value) {
    *(NAME(element) *)(void *)to = NARROW((REAL)value);
}

static void NAME(set)(void *numbers, int64_t index, double value) {
    ((NAME(number) *)numbers)[index] = (REAL)value;
}
