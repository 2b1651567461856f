/* interleaved_reflect.h - template: functions shared by eigenvalues and singular values: scaling, reflectors
 * (Householder), rotations (Givens) and the order of values. Parameters: as in interleaved_kernels.h.
 *
 * Matrices are first scaled to a size near 1 by a power of two for each lane. Elements are later neglected relative to
 * that size, far below its rounding.
 */
#define UNIT (sizeof(REAL) == 4 ? (REAL)0x1p-24 : (REAL)0x1p-53)
#define LEAST_SQUARES OF_PART(splat)(OF_PART(LEAST_SQUARES))

/* Multiplies the matrix by a power of two that brings its largest part to between 1/2 and 1. Returns the inverse. */
static VECTOR NAME(normalize)(VELEMENT *a, int64_t row, int rows, int columns) {
    VECTOR most = {0};
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            UNROLL
            for (int part = 0; part < PARTS; part++) {
                most = OF_PART(larger)(OF_PART(absolute)(a[i * row + j].part[part]), most);
            }
        }
    }
    const VECTOR scale = OF_PART(unscale)(most);
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            UNROLL
            for (int part = 0; part < PARTS; part++) {
                a[i * row + j].part[part] *= scale;
            }
        }
    }
    return 1 / scale;
}

/* ---- Reflectors ---- */

/* H = I - tau v v^H with H^H x = (beta, 0, 0, ...) for a real beta; the first element of v is 1. */
typedef struct NAME(reflector) {
    VELEMENT tau;
    VECTOR beta;
} NAME(reflector);

/* Replaces x by v. If x has only a real first element, all others being negligible, H is I. */
static NAME(reflector) NAME(reflect)(VELEMENT *x, int64_t step, int count) {
    VECTOR rest[2] = {OF_PART(splat)(0), OF_PART(splat)(0)};
    for (int part = 1; part < PARTS; part++) {
        rest[1] = x[0].part[part] * x[0].part[part];
    }
    for (int i = 1; i < count; i++) {
        UNROLL
        for (int part = 0; part < PARTS; part++) {
            const VECTOR y = x[i * step].part[part];
            rest[part] = OF_PART(madd)(y, y, rest[part]);
        }
    }
    rest[0] += rest[1];
    const VECTOR re = x[0].part[0], zero = OF_PART(splat)(0);
    const VECTOR beta = -OF_PART(signed)(OF_PART(root)(OF_PART(madd)(re, re, rest[0])), re);
    const INTS none = ~(rest[0] >= LEAST_SQUARES);
    x[0].part[0] = re - beta;
    NAME(reflector) to = {.beta = OF_PART(select)(none, re, beta)};
    VELEMENT r;
    VECTOR s;
    NAME(invert)(x[0], &r, &s);
    UNROLL
    for (int part = 0; part < PARTS; part++) {
        to.tau.part[part] = OF_PART(select)(none, zero, -x[0].part[part] / beta);
        r.part[part] = OF_PART(select)(none, zero, r.part[part]);
        x[0].part[part] = OF_PART(splat)(part == 0);
    }
    for (int i = 1; i < count; i++) {
        x[i * step] = NAME(scale)(x[i * step], r, s);
    }
    return to;
}

/* Applies a reflector to `lines` vectors a of `count` elements: a = (I - tau v v^H) a if `left`, otherwise a^T = a^T (I
 * - tau v v^H).
 */
INLINE void NAME(reflect_tile)(int lines, bool left, VELEMENT *a, int64_t line, int64_t step, int count,
                               const VELEMENT *v, int64_t v_step, VELEMENT tau) {
    const VELEMENT zero = {{OF_PART(splat)(0)}};
    VELEMENT sum[ROWS];
    UNROLL
    for (int i = 0; i < lines; i++) {
        sum[i] = zero;
    }
    for (int k = 0; k < count; k++) {
        const VELEMENT x = v[k * v_step];
        UNROLL
        for (int i = 0; i < lines; i++) {
            sum[i] = NAME(subtract_product)(left, sum[i], a[i * line + k * step], x);
        }
    }
    UNROLL
    for (int i = 0; i < lines; i++) {
        sum[i] = NAME(subtract_product)(false, zero, tau, sum[i]);
    }
    for (int k = 0; k < count; k++) {
        const VELEMENT x = v[k * v_step];
        UNROLL
        for (int i = 0; i < lines; i++) {
            VELEMENT *at = &a[i * line + k * step];
            *at = NAME(subtract_product)(!left, *at, sum[i], x);
        }
    }
}

INLINE void NAME(reflect_lines)(bool left, VELEMENT *a, int64_t line, int lines, int64_t step, int count,
                                const VELEMENT *v, int64_t v_step, VELEMENT tau) {
    int i = 0;
    for (; i + ROWS <= lines; i += ROWS) {
        NAME(reflect_tile)(ROWS, left, a + i * line, line, step, count, v, v_step, tau);
    }
    for (; i < lines; i++) {
        NAME(reflect_tile)(1, left, a + i * line, line, step, count, v, v_step, tau);
    }
}

/* a = H a for a rows x columns matrix; v is a column. */
static void NAME(reflect_left)(VELEMENT *a, int64_t row, int rows, int columns, const VELEMENT *v, int64_t v_step,
                               VELEMENT tau) {
    NAME(reflect_lines)(true, a, 1, columns, row, rows, v, v_step, tau);
}

static void NAME(reflect_right)(VELEMENT *a, int64_t row, int rows, int columns, const VELEMENT *v, VELEMENT tau) {
    NAME(reflect_lines)(false, a, row, rows, 1, columns, v, 1, tau);
}

INLINE VELEMENT NAME(conjugated)(VELEMENT a) {
    for (int part = 1; part < PARTS; part++) {
        a.part[part] = -a.part[part];
    }
    return a;
}

INLINE VELEMENT NAME(negative)(VELEMENT a) {
    UNROLL
    for (int part = 0; part < PARTS; part++) {
        a.part[part] = -a.part[part];
    }
    return a;
}

/* ---- Rotations ---- */

/* A sequence of rotations of neighbouring columns: the first one applies to columns first and first + step, the second
 * one to first + step and first + 2 step, and so on. */
typedef struct NAME(rotations) {
    int first, step, count;
    VECTOR c[BP__SMALL_MOST], s[BP__SMALL_MOST];
} NAME(rotations);

INLINE void NAME(apply_rotation)(VELEMENT *a, int64_t row, int rows, const NAME(rotations) * t, int k) {
    const VECTOR c = t->c[k], s = t->s[k];
    VELEMENT *at = a + t->first + k * t->step, *neighbour = at + t->step;
    for (int i = 0; i < rows; i++, at += row, neighbour += row) {
        UNROLL
        for (int part = 0; part < PARTS; part++) {
            const VECTOR x = at->part[part], y = neighbour->part[part];
            at->part[part] = OF_PART(madd)(s, y, c * x);
            neighbour->part[part] = OF_PART(msub)(s, x, c * y);
        }
    }
}

/* Applies rotations k and later to a few rows. */
INLINE void NAME(apply_rotations_tile)(int rows, VELEMENT *a, int64_t row, const NAME(rotations) * t, int k) {
    VELEMENT x[ROWS];
    a += t->first + k * t->step;
    UNROLL
    for (int i = 0; i < rows; i++) {
        x[i] = a[i * row];
    }
    for (; k < t->count; k++, a += t->step) {
        UNROLL
        for (int i = 0; i < rows; i++) {
            UNROLL
            for (int part = 0; part < PARTS; part++) {
                const VECTOR next = a[i * row + t->step].part[part];
                a[i * row].part[part] = OF_PART(madd)(t->s[k], next, t->c[k] * x[i].part[part]);
                x[i].part[part] = OF_PART(msub)(t->s[k], x[i].part[part], t->c[k] * next);
            }
        }
    }
    UNROLL
    for (int i = 0; i < rows; i++) {
        a[i * row] = x[i];
    }
}

static void NAME(apply_rotations)(VELEMENT *a, int64_t row, int rows, const NAME(rotations) * t, int k) {
    int i = 0;
    for (; k < t->count && i + ROWS <= rows; i += ROWS) {
        NAME(apply_rotations_tile)(ROWS, a + i * row, row, t, k);
    }
    for (; k < t->count && i < rows; i++) {
        NAME(apply_rotations_tile)(1, a + i * row, row, t, k);
    }
}

/* Replaces -0 by 0. A rotation by the identity can change -0 to 0, and whether it happens depends on the other lanes.
 */
static void NAME(clear_signs)(VELEMENT *a, int64_t row, int rows, int columns) {
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            UNROLL
            for (int part = 0; part < PARTS; part++) {
                a[i * row + j].part[part] += OF_PART(splat)(0);
            }
        }
    }
}

/* ---- Values ---- */

/* Writes the position of each number in ascending or descending order; equal numbers keep their order. */
static void NAME(put_in_order)(const VECTOR *values, int n, bool ascending, int16_t *order) {
    for (int i = 0; i < n; i++) {
        INTS position = {0};
        for (int j = 0; j < n; j++) {
            const INTS before = ascending ? values[j] < values[i] : values[j] > values[i];
            position -= before | (j < i ? (INTS)(values[j] == values[i]) : (INTS){0});
        }
        for (int lane = 0; lane < VL; lane++) {
            order[i * VL + lane] = (int16_t)position[lane];
        }
    }
}

/* Returns the largest number among the lanes of the mask, at least 0. */
static int NAME(last_of)(VECTOR number, INTS counts) {
    int last = 0;
    for (int lane = 0; lane < VL; lane++) {
        const int here = (int)number[lane];
        last = counts[lane] && here > last ? here : last;
    }
    return last;
}
