/* kernel_type.h - template: the pooling kernels of one type. Parameters: TYPE (its suffix), REAL (type of sums), IN
 * (type in memory), WIDEN(x) and NARROW(x), which convert from IN to REAL and back. Loops over contiguous elements have
 * copies of their own, so that the compiler can use vectors. */
typedef IN NAME(element) __attribute__((may_alias));
typedef REAL NAME(number) __attribute__((may_alias));

/* NaN is larger than every number, and a later NaN replaces an earlier one. */
INLINE bool NAME(exceeds)(REAL x, REAL best) {
    return (x > best) | (x != x);
}

INLINE void NAME(max_loop)(int64_t n, NAME(number) *restrict best, const NAME(element) *restrict from, int64_t step) {
    for (int64_t i = 0; i < n; i++) {
        const REAL x = WIDEN(from[i * step]);
        best[i] = NAME(exceeds)(x, best[i]) ? x : best[i];
    }
}

INLINE void NAME(which_loop)(int64_t n, NAME(number) *restrict best, int64_t *restrict which,
                             const NAME(element) *restrict from, int64_t step, int64_t number) {
    for (int64_t i = 0; i < n; i++) {
        const REAL x = WIDEN(from[i * step]);
        const bool takes = NAME(exceeds)(x, best[i]);
        best[i] = takes ? x : best[i];
        which[i] = takes ? number : which[i];
    }
}

VECTORIZED static void NAME(max)(const bp__pool_row *row, void *best, int64_t *which, const char *at, int64_t number) {
    const NAME(element) *from = (const NAME(element) *)(const void *)at;
    for (int64_t t = 0; t < row->taps; t++, from += row->tap_step) {
        if (which && row->step == 1) {
            NAME(which_loop)(row->n, best, which, from, 1, number + t * row->number_step);
        } else if (which) {
            NAME(which_loop)(row->n, best, which, from, row->step, number + t * row->number_step);
        } else if (row->step == 1) {
            NAME(max_loop)(row->n, best, from, 1);
        } else if (row->step == 2) {
            NAME(max_loop)(row->n, best, from, 2);
        } else {
            NAME(max_loop)(row->n, best, from, row->step);
        }
    }
}

VECTORIZED static void NAME(lowest)(int64_t n, void *best) {
    for (int64_t i = 0; i < n; i++) {
        ((NAME(number) *)best)[i] = -(REAL)__builtin_inf();
    }
}

/* The sum of a long row for one result: chains of their own for each lane, added in a fixed order. */
INLINE REAL NAME(row_sum)(int64_t n, const NAME(element) * from) {
    enum { LANES = 16 };
    REAL lanes[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int l = 0; l < LANES; l++) {
            lanes[l] += WIDEN(from[i + l]);
        }
    }
    for (int l = 0; l < LANES; l++) {
        sum += lanes[l];
    }
    for (; i < n; i++) {
        sum += WIDEN(from[i]);
    }
    return sum;
}

INLINE void NAME(add_loop)(int64_t n, NAME(number) *restrict sums, const NAME(element) *restrict from, int64_t step) {
    for (int64_t i = 0; i < n; i++) {
        sums[i] += WIDEN(from[i * step]);
    }
}

VECTORIZED static void NAME(add)(const bp__pool_row *row, void *to, const char *at) {
    const NAME(element) *from = (const NAME(element) *)(const void *)at;
    NAME(number) *sums = to;
    if (row->n == 1 && row->tap_step == 1) {
        sums[0] += NAME(row_sum)(row->taps, from);
        return;
    }
    for (int64_t t = 0; t < row->taps; t++, from += row->tap_step) {
        if (row->step == 1) {
            NAME(add_loop)(row->n, sums, from, 1);
        } else if (row->step == 2) {
            NAME(add_loop)(row->n, sums, from, 2);
        } else {
            NAME(add_loop)(row->n, sums, from, row->step);
        }
    }
}

INLINE void NAME(store_loop)(int64_t n, NAME(element) *restrict to, int64_t step, const NAME(number) *restrict sums,
                             REAL divisor) {
    for (int64_t i = 0; i < n; i++) {
        to[i * step] = NARROW(sums[i] / divisor);
    }
}

VECTORIZED static void NAME(store)(int64_t n, char *at, int64_t step, const void *sums, double divisor) {
    NAME(element) *to = (NAME(element) *)(void *)at;
    if (step == 1) {
        NAME(store_loop)(n, to, 1, sums, (REAL)divisor);
    } else {
        NAME(store_loop)(n, to, step, sums, (REAL)divisor);
    }
}

INLINE void NAME(spread_loop)(int64_t n, NAME(number) *restrict sums, int64_t step, const NAME(element) *restrict from,
                              int64_t from_step, REAL divisor) {
    for (int64_t i = 0; i < n; i++) {
        sums[i * step] += WIDEN(from[i * from_step]) / divisor;
    }
}

VECTORIZED static void NAME(spread)(const bp__pool_row *row, void *to, const char *at, int64_t from_step,
                                    double divisor) {
    const NAME(element) *from = (const NAME(element) *)(const void *)at;
    NAME(number) *sums = to;
    if (row->n == 1 && row->tap_step == 1) {
        const REAL value = WIDEN(from[0]) / (REAL)divisor;
        for (int64_t t = 0; t < row->taps; t++) {
            sums[t] += value;
        }
        return;
    }
    for (int64_t t = 0; t < row->taps; t++, sums += row->tap_step) {
        if (row->step == 1 && from_step == 1) {
            NAME(spread_loop)(row->n, sums, 1, from, 1, (REAL)divisor);
        } else {
            NAME(spread_loop)(row->n, sums, row->step, from, from_step, (REAL)divisor);
        }
    }
}

static bool NAME(scatter)(int64_t n, void *to, int64_t sums_step, int64_t next, const char *with, int64_t from_step,
                          const int64_t *at, int64_t at_step, int64_t places) {
    const NAME(element) *from = (const NAME(element) *)(const void *)with;
    NAME(number) *sums = to;
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = at[i * at_step];
        if ((uint64_t)place + 1 > (uint64_t)places) {
            return false;
        }
        if (place >= 0) {
            sums[place * sums_step + i * next] += WIDEN(from[i * from_step]);
        }
    }
    return true;
}

#include "kernel_windows.h"
