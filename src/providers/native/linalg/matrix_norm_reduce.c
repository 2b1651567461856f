/* matrix_norm_reduce.c - reduces a line of elements to its largest or smallest modulus, the number of elements that are
 * not 0, or a sum of powers, for vector norms. Plain loops: powers take far longer than their loads, and extremes of
 * contiguous elements wait for memory. */
#include "matrix_norm.h"

#include <math.h>

#define CHAINS 4 /* comparisons that do not wait for each other */

/* Moduli in double precision. hypot() does not overflow, and gives infinity for a complex number of infinity and NaN.
 */
#define MODULUS_REAL(p) fabs((double)(p)[0])
#define MODULUS_COMPLEX(p) hypot((double)(p)[0], (double)(p)[1])

#define REDUCE(NAME, REAL, PARTS, MODULUS)                                                                             \
    static double NAME##_extreme(const bp__matrix_norm_line *l, double start, double sign) {                           \
        const REAL *at = l->at;                                                                                        \
        double best[CHAINS] = {start, start, start, start}, nan = 0;                                                   \
        int64_t i = 0;                                                                                                 \
        for (; i + CHAINS <= l->length; i += CHAINS) {                                                                 \
            for (int c = 0; c < CHAINS; c++) {                                                                         \
                const double x = sign * MODULUS(at + (i + c) * l->step * PARTS);                                       \
                best[c] = x > best[c] ? x : best[c];                                                                   \
                nan = x == x ? nan : x;                                                                                \
            }                                                                                                          \
        }                                                                                                              \
        for (; i < l->length; i++) {                                                                                   \
            const double x = sign * MODULUS(at + i * l->step * PARTS);                                                 \
            best[0] = x > best[0] ? x : best[0];                                                                       \
            nan = x == x ? nan : x;                                                                                    \
        }                                                                                                              \
        return nan == nan ? sign * fmax(fmax(best[0], best[1]), fmax(best[2], best[3])) : nan;                         \
    }                                                                                                                  \
    static double NAME(bp__matrix_norm_kind kind, const bp__matrix_norm_line *l) {                                     \
        const REAL *at = l->at;                                                                                        \
        double sum = 0;                                                                                                \
        switch (kind) {                                                                                                \
        case BP__NORM_LARGEST:                                                                                         \
            return NAME##_extreme(l, 0, 1);                                                                            \
        case BP__NORM_SMALLEST:                                                                                        \
            return NAME##_extreme(l, -(double)INFINITY, -1);                                                           \
        case BP__NORM_NONZERO:                                                                                         \
            for (int64_t i = 0; i < l->length; i++) {                                                                  \
                const REAL *p = at + i * l->step * PARTS;                                                              \
                sum += p[0] != 0 || p[PARTS - 1] != 0;                                                                 \
            }                                                                                                          \
            return sum;                                                                                                \
        default:                                                                                                       \
            for (int64_t i = 0; i < l->length; i++) {                                                                  \
                sum += pow(MODULUS(at + i * l->step * PARTS) / l->unit, l->order);                                     \
            }                                                                                                          \
            return sum;                                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME##_join(bp__matrix_norm_kind kind, const void *from, int64_t next, int64_t count,                  \
                            double *so_far) {                                                                          \
        const REAL *at = from;                                                                                         \
        for (int64_t i = 0; kind == BP__NORM_SQUARES && i < count; i++) {                                              \
            const REAL *p = at + i * next * PARTS;                                                                     \
            so_far[i] += (double)p[0] * (double)p[0] + (PARTS == 2 ? (double)p[PARTS - 1] * (double)p[PARTS - 1] : 0); \
        }                                                                                                              \
        for (int64_t i = 0; kind == BP__NORM_NONZERO && i < count; i++) {                                              \
            const REAL *p = at + i * next * PARTS;                                                                     \
            so_far[i] += p[0] != 0 || p[PARTS - 1] != 0;                                                               \
        }                                                                                                              \
        for (int64_t i = 0; kind == BP__NORM_LARGEST && i < count; i++) {                                              \
            const double x = MODULUS(at + i * next * PARTS);                                                           \
            so_far[i] = x > so_far[i] || x != x ? x : so_far[i];                                                       \
        }                                                                                                              \
        for (int64_t i = 0; kind == BP__NORM_SMALLEST && i < count; i++) {                                             \
            const double x = MODULUS(at + i * next * PARTS);                                                           \
            so_far[i] = x < so_far[i] || x != x ? x : so_far[i];                                                       \
        }                                                                                                              \
    }

REDUCE(of_f32, float, 1, MODULUS_REAL)
REDUCE(of_f64, double, 1, MODULUS_REAL)
REDUCE(of_c64, float, 2, MODULUS_COMPLEX)
REDUCE(of_c128, double, 2, MODULUS_COMPLEX)

double bp__matrix_norm_reduce(bp__matrix_norm_kind kind, bp_dtype dtype, const bp__matrix_norm_line *line) {
    switch (dtype) {
    case BP_F32:
        return of_f32(kind, line);
    case BP_F64:
        return of_f64(kind, line);
    case BP_C64:
        return of_c64(kind, line);
    default:
        return of_c128(kind, line);
    }
}

void bp__matrix_norm_join(bp__matrix_norm_kind kind, bp_dtype dtype, const void *at, int64_t next, int64_t count,
                          double *so_far) {
    switch (dtype) {
    case BP_F32:
        of_f32_join(kind, at, next, count, so_far);
        break;
    case BP_F64:
        of_f64_join(kind, at, next, count, so_far);
        break;
    case BP_C64:
        of_c64_join(kind, at, next, count, so_far);
        break;
    default:
        of_c128_join(kind, at, next, count, so_far);
    }
}
