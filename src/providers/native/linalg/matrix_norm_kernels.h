/* matrix_norm_kernels.h - template: sums of moduli and squares of one type, in vectors of double. Parameters: TYPE,
 * PARTS (2 for complex types), REAL, PART (the name of REAL), and the parameters of matrix_norm_set.c. A complex type
 * must follow its real type.
 *
 * The square of a modulus can leave the range of double although the modulus does not. norm.c checks the sums for that.
 */

#if PARTS == 1
typedef REAL NAME(loose) __attribute__((vector_size(VL * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));

INLINE vector_f64 NAME(widen)(const REAL *at) {
    return __builtin_convertvector(*(const NAME(loose) *)(const void *)at, vector_f64);
}

INLINE vector_f64 NAME(modulus)(const REAL *at) {
    return absolute_f64(NAME(widen)(at));
}

INLINE double NAME(modulus_of_one)(const REAL *at) {
    return __builtin_fabs((double)*at);
}

INLINE double NAME(square_of_one)(const REAL *at, double scale) {
    const double x = (double)*at * scale;
    return x * x;
}
#else
/* Returns the moduli of as many elements as there are lanes. */
INLINE vector_f64 NAME(modulus)(const REAL *at) {
    const vector_f64 low = OF_PART(widen)(at), high = OF_PART(widen)(at + VL);
    const vector_f64 re = __builtin_shufflevector(low, high, LANES_F64(EVEN, 0));
    const vector_f64 im = __builtin_shufflevector(low, high, LANES_F64(ODD, 0));
    return root_f64(madd_f64(re, re, im * im));
}

INLINE double NAME(modulus_of_one)(const REAL *at) {
    const double re = (double)at[0], im = (double)at[1];
    return __builtin_sqrt(scalar_madd_f64(re, re, im * im));
}

INLINE double NAME(square_of_one)(const REAL *at, double scale) {
    return OF_PART(square_of_one)(at, scale) + OF_PART(square_of_one)(at + 1, scale);
}
#endif

/* Returns the sum of moduli of a contiguous line of several vectors, with CHAINS independent sums. */
INLINE double NAME(long_line)(const REAL *at, int64_t length) {
    vector_f64 sum[CHAINS] = {{0}};
    int64_t i = 0;
    for (; i + CHAINS * VL <= length; i += CHAINS * VL) {
        UNROLL
        for (int c = 0; c < CHAINS; c++) {
            sum[c] += NAME(modulus)(at + (i + c * VL) * PARTS);
        }
    }
    for (; i + VL <= length; i += VL) {
        sum[0] += NAME(modulus)(at + i * PARTS);
    }
    double rest = 0;
    for (; i < length; i++) {
        rest += NAME(modulus_of_one)(at + i * PARTS);
    }
    return sum_of_lanes((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

/* Returns the sum of moduli of a short line, or of one that is not contiguous. */
INLINE double NAME(loose_line)(const REAL *at, int64_t step, int64_t length) {
    double sum[CHAINS] = {0};
    int64_t i = 0;
    for (; i + CHAINS <= length; i += CHAINS) {
        UNROLL
        for (int c = 0; c < CHAINS; c++) {
            sum[c] += NAME(modulus_of_one)(at + (i + c) * step * PARTS);
        }
    }
    for (; i < length; i++) {
        sum[0] += NAME(modulus_of_one)(at + i * step * PARTS);
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void NAME(moduli)(const void *from, int64_t step, int64_t length, int64_t next, int64_t count, double *sums) {
    const REAL *at = from;
    if (step != 1 || length < 2 * VL) {
        for (int64_t line = 0; line < count; line++) {
            sums[line] = NAME(loose_line)(at + line * next * PARTS, step, length);
        }
        return;
    }
    for (int64_t line = 0; line < count; line++) {
        sums[line] = NAME(long_line)(at + line * next * PARTS, length);
    }
}

/* Returns the sum of squared moduli. A contiguous complex line is summed as a real line of twice the length. */
static double NAME(squares)(const void *from, int64_t step, int64_t length, double scale) {
    const REAL *at = from;
#if PARTS == 2
    if (step == 1) {
        return OF_PART(squares)(from, 1, 2 * length, scale);
    }
#endif
    vector_f64 sum[CHAINS] = {{0}};
    int64_t i = 0;
#if PARTS == 1
    const vector_f64 scales = splat_f64(scale);
    for (; step == 1 && i + CHAINS * VL <= length; i += CHAINS * VL) {
        UNROLL
        for (int c = 0; c < CHAINS; c++) {
            const vector_f64 x = NAME(widen)(at + i + c * VL) * scales;
            sum[c] = madd_f64(x, x, sum[c]);
        }
    }
    for (; step == 1 && i + VL <= length; i += VL) {
        const vector_f64 x = NAME(widen)(at + i) * scales;
        sum[0] = madd_f64(x, x, sum[0]);
    }
#endif
    for (; step != 1 && i + CHAINS <= length; i += CHAINS) {
        UNROLL
        for (int c = 0; c < CHAINS; c++) {
            sum[c][0] += NAME(square_of_one)(at + (i + c) * step * PARTS, scale);
        }
    }
    double rest = 0;
    for (; i < length; i++) {
        rest += NAME(square_of_one)(at + i * step * PARTS, scale);
    }
    return sum_of_lanes((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

/* Adds `rows` rows from `at` on to all sums. The sums of a vector are loaded and stored once. */
INLINE void NAME(add_rows)(int rows, const REAL *at, int64_t step, int64_t next, int64_t count, double *sums) {
    int64_t j = 0;
    for (; next == 1 && j + VL <= count; j += VL) {
        vector_f64 sum;
        memcpy(&sum, sums + j, sizeof sum);
        UNROLL
        for (int i = 0; i < rows; i++) {
            sum += NAME(modulus)(at + (i * step + j) * PARTS);
        }
        memcpy(sums + j, &sum, sizeof sum);
    }
    for (; j < count; j++) {
        UNROLL
        for (int i = 0; i < rows; i++) {
            sums[j] += NAME(modulus_of_one)(at + (i * step + j * next) * PARTS);
        }
    }
}

/* Adds four rows at a time to all sums. */
static void NAME(add_moduli)(const void *from, int64_t step, int64_t length, int64_t next, int64_t count,
                             double *sums) {
    const REAL *at = from;
    int64_t i = 0;
    for (; i + 4 <= length; i += 4) {
        NAME(add_rows)(4, at + i * step * PARTS, step, next, count, sums);
    }
    for (; i < length; i++) {
        NAME(add_rows)(1, at + i * step * PARTS, step, next, count, sums);
    }
}
