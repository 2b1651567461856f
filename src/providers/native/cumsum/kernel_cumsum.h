/* kernel_cumsum.h - template: adds up elements of one domain. Parameters: TYPE (the suffix of names), NUMBER (the type
 * of an element), SUM (the type of sums). */

typedef SUM NAME(sums) __attribute__((vector_size(LANES * sizeof(SUM))));
typedef NUMBER NAME(elements) __attribute__((vector_size(LANES * sizeof(NUMBER)), aligned(sizeof(NUMBER)), may_alias));

#define VECTOR NAME(sums)
INLINE VECTOR NAME(load)(const NUMBER *from) {
    return __builtin_convertvector(*(const NAME(elements) *)from, VECTOR);
}
INLINE void NAME(store)(NUMBER *to, VECTOR x) {
    *(NAME(elements) *)to = __builtin_convertvector(x, NAME(elements));
}

/* ---- Eight elements of a row, in VECTORS vectors ---- */

/* Makes the sums of the first elements of eight. Each level joins pairs of sums of twice as many elements. */
INLINE void NAME(add_eight)(VECTOR x[VECTORS]) {
    const VECTOR zero = {0};
    for (int v = 0; v < VECTORS; v++) {
        x[v] += BEFORE_1(x[v], zero);
#if LANES > 2
        x[v] += BEFORE_2(x[v], zero);
#endif
#if LANES > 4
        x[v] += BEFORE_4(x[v], zero);
#endif
    }
#if LANES == 2
    x[1] += LAST(x[0]);
    x[3] += LAST(x[2]);
#endif
#if LANES < 8
    for (int v = VECTORS / 2; v < VECTORS; v++) {
        x[v] += LAST(x[VECTORS / 2 - 1]);
    }
#endif
}

/* Adds up eight elements in place. Returns the carry behind them. */
INLINE VECTOR NAME(run_eight)(NUMBER *at, bool exclusive, VECTOR base, VECTOR carry) {
    VECTOR x[VECTORS], before = {0};
    for (int v = 0; v < VECTORS; v++) {
        x[v] = NAME(load)(at + v * LANES);
    }
    NAME(add_eight)(x);
    for (int v = 0; v < VECTORS; v++) {
        NAME(store)(at + v * LANES, base + (carry + (exclusive ? FOLLOWED_BY(before, x[v]) : x[v])));
        before = x[v];
    }
    return carry + LAST(x[VECTORS - 1]);
}

static void NAME(add_row)(int64_t count, bool exclusive, void *elements, const void *of_base, void *of_carry) {
    NUMBER *at = elements, rest[8] = {0};
    const VECTOR zero = {0}, base = zero + *(const SUM *)of_base;
    VECTOR carry = zero + *(const SUM *)of_carry;
    int64_t i = 0;
    if (exclusive) {
        for (; i + 8 <= count; i += 8) {
            carry = NAME(run_eight)(at + i, true, base, carry);
        }
    } else {
        for (; i + 8 <= count; i += 8) {
            carry = NAME(run_eight)(at + i, false, base, carry);
        }
    }
    if (i < count) {
        memcpy(rest, at + i, (size_t)(count - i) * sizeof *at);
        carry = NAME(run_eight)(rest, exclusive, base, carry);
        memcpy(at + i, rest, (size_t)(count - i) * sizeof *at);
    }
    *(SUM *)of_carry = carry[0];
}

/* ---- Eight elements of each of several rows, which are side by side ---- */

/* Adds up LANES rows, whose elements are `step` apart. The additions are as in add_eight(). */
INLINE void NAME(run_columns)(NUMBER *at, int64_t step, bool exclusive, const SUM *of_base, SUM *of_carry) {
    VECTOR x[8], base, carry, before = {0};
    memcpy(&base, of_base, sizeof base);
    memcpy(&carry, of_carry, sizeof carry);
    UNROLL
    for (int i = 0; i < 8; i++) {
        x[i] = NAME(load)(at + i * step);
    }
    UNROLL
    for (int half = 1; half < 8; half *= 2) {
        UNROLL
        for (int i = 0; i < 8; i++) {
            if (i & half) {
                x[i] += x[(i & -2 * half) + half - 1];
            }
        }
    }
    UNROLL
    for (int i = 0; i < 8; i++) {
        NAME(store)(at + i * step, base + (carry + (exclusive ? before : x[i])));
        before = x[i];
    }
    carry += x[7];
    memcpy(of_carry, &carry, sizeof carry);
}

/* The last rows that fill no vector are added up in one of their own. */
static __attribute__((noinline)) void NAME(run_rest)(NUMBER *at, int64_t columns, int64_t count, bool exclusive,
                                                     const SUM *of_base, SUM *of_carry) {
    NUMBER rest[8 * LANES] = {0};
    SUM base[LANES] = {0}, carry[LANES] = {0};
    const size_t bytes = (size_t)count * sizeof *at;
    memcpy(base, of_base, (size_t)count * sizeof *base);
    memcpy(carry, of_carry, (size_t)count * sizeof *carry);
    for (int i = 0; i < 8; i++) {
        memcpy(rest + i * LANES, at + i * columns, bytes);
    }
    NAME(run_columns)(rest, LANES, exclusive, base, carry);
    for (int i = 0; i < 8; i++) {
        memcpy(at + i * columns, rest + i * LANES, bytes);
    }
    memcpy(of_carry, carry, (size_t)count * sizeof *carry);
}

static void NAME(add_columns)(int64_t columns, bool exclusive, void *elements, const void *of_base, void *of_carry) {
    NUMBER *at = elements;
    const SUM *base = of_base;
    SUM *carry = of_carry;
    int64_t j = 0;
    for (; j + LANES <= columns; j += LANES) {
        if (exclusive) {
            NAME(run_columns)(at + j, columns, true, base + j, carry + j);
        } else {
            NAME(run_columns)(at + j, columns, false, base + j, carry + j);
        }
    }
    if (j < columns) {
        NAME(run_rest)(at + j, columns, columns - j, exclusive, base + j, carry + j);
    }
}
#undef VECTOR
