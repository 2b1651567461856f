/* interleaved_kernels.h - template: LU, Cholesky, triangular solution and products of one type, for interleaved
 * batches. Parameters: TYPE, PART, REAL, and the tile: ROWS is 4; COLUMNS is how many columns of sums fit in registers
 * with that many rows.
 *
 * All algorithms are left-looking. A tile of the result adds all products with earlier rows and columns in registers, k
 * ascending. It is then finished with the small triangle on the diagonal.
 */

/* x -= a * b, or x -= a * conj(b), for a tile x of `rows` x `columns`; a is rows x k and b is k x columns. */
INLINE void NAME(reduce)(int rows, int columns, bool conjugate, VELEMENT (*x)[COLUMNS], const VELEMENT *a,
                         int64_t a_row, int64_t a_k, const VELEMENT *b, int64_t b_k, int64_t b_column, int64_t k) {
    for (; k > 0; k--, a += a_k, b += b_k) {
        VELEMENT right[COLUMNS];
        UNROLL
        for (int j = 0; j < columns; j++) {
            right[j] = b[j * b_column];
        }
        UNROLL
        for (int i = 0; i < rows; i++) {
            const VELEMENT left = a[i * a_row];
            UNROLL
            for (int j = 0; j < columns; j++) {
                x[i][j] = NAME(subtract_product)(conjugate, x[i][j], left, right[j]);
            }
        }
    }
}

INLINE void NAME(fetch)(int rows, int columns, VELEMENT (*x)[COLUMNS], const VELEMENT *from, int64_t row,
                        int64_t column) {
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < columns; j++) {
            x[i][j] = from[i * row + j * column];
        }
    }
}

INLINE void NAME(put)(int rows, int columns, VELEMENT (*x)[COLUMNS], VELEMENT *to, int64_t row, int64_t column) {
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < columns; j++) {
            to[i * row + j * column] = x[i][j];
        }
    }
}

/* Calls f with the tile's numbers of rows and columns as constants, so that loops are unrolled. */
#define TILE_OF_ROWS(f, rows, ...)                                                                                     \
    (rows == 4 ? f(4, __VA_ARGS__) : rows == 3 ? f(3, __VA_ARGS__) : rows == 2 ? f(2, __VA_ARGS__) : f(1, __VA_ARGS__))
#define EACH_TILE(f, rows, columns, ...)                                                                               \
    do {                                                                                                               \
        if ((columns) == COLUMNS) {                                                                                    \
            TILE_OF_ROWS(f, rows, COLUMNS, __VA_ARGS__);                                                               \
        } else {                                                                                                       \
            TILE_OF_ROWS(f, rows, 1, __VA_ARGS__);                                                                     \
        }                                                                                                              \
    } while (0)

/* Factors with which scale() divides by a vector element. */
typedef struct NAME(inverse) {
    VELEMENT r;
    VECTOR s;
} NAME(inverse);

static void NAME(invert_diagonal)(void *inverses, const void *elements, int64_t step, int n) {
    NAME(inverse) *to = inverses;
    for (int i = 0; i < n; i++) {
        NAME(invert)(((const VELEMENT *)elements)[i * step], &to[i].r, &to[i].s);
    }
}

/* ---- Triangles ---- */

/* Computes rows [i, i + rows) and columns [j, j + columns) of the solution. Rows of b before `from` are zero in these
 * columns. */
INLINE void NAME(solve_tile)(int rows, int columns, const bp__interleaved_solve *t, int i, int j, int from) {
    const VELEMENT *l = (const VELEMENT *)t->factor + i * t->factor_row;
    VELEMENT *b = (VELEMENT *)t->b + j * t->b_column, x[ROWS][COLUMNS];
    NAME(fetch)(rows, columns, x, b + i * t->b_row, t->b_row, t->b_column);
    NAME(reduce)
    (rows, columns, false, x, l + from * t->factor_column, t->factor_row, t->factor_column, b + from * t->b_row,
     t->b_row, t->b_column, i - from);
    UNROLL
    for (int p = 0; p < rows; p++) {
        if (t->inverses) {
            const NAME(inverse) *d = (const NAME(inverse) *)t->inverses + (i + p) * t->inverses_step;
            UNROLL
            for (int q = 0; q < columns; q++) {
                x[p][q] = NAME(scale)(x[p][q], d->r, d->s);
            }
        }
        UNROLL
        for (int below = p + 1; below < rows; below++) {
            const VELEMENT left = l[below * t->factor_row + (i + p) * t->factor_column];
            UNROLL
            for (int q = 0; q < columns; q++) {
                x[below][q] = NAME(subtract_product)(false, x[below][q], left, x[p][q]);
            }
        }
    }
    NAME(put)(rows, columns, x, b + i * t->b_row, t->b_row, t->b_column);
}

/* Solves L x = b in tiles, from the first row to the last. A triangular b has no tiles above its diagonal. */
static void NAME(solve)(const bp__interleaved_solve *t) {
    for (int i = 0; i < t->n; i += ROWS) {
        const int rows = t->n - i < ROWS ? t->n - i : ROWS;
        for (int j = 0, columns; j < t->k && !(t->triangular && j >= i + rows); j += columns) {
            columns = t->k - j < COLUMNS ? 1 : COLUMNS;
            const int from = !t->triangular ? 0 : j < i ? j : i;
            EACH_TILE(NAME(solve_tile), rows, columns, t, i, j, from);
        }
    }
}

/* Records failures as LAPACK's info: sets lanes in which `failed` is set for the first time to at + 1. info is kept in
 * the real type. */
INLINE VECTOR NAME(first_failure)(VECTOR info, INTS failed, int at) {
    return OF_PART(select)(failed & (info == 0), OF_PART(splat)((REAL)(at + 1)), info);
}

static void NAME(put_info)(const bp__interleaved_factor *t, VECTOR info) {
    for (int lane = 0; lane < VL; lane++) {
        t->info[lane] = (int32_t)info[lane];
    }
}

/* ---- LU ---- */

/* Subtracts the products with the factored columns from a tile of the panel. */
INLINE void NAME(panel_tile)(int rows, int columns, const bp__interleaved_factor *t, int i, int j, int k) {
    VELEMENT *a = t->elements, x[ROWS][COLUMNS];
    const int64_t row = t->row;
    NAME(fetch)(rows, columns, x, a + i * row + j, row, 1);
    NAME(reduce)(rows, columns, false, x, a + i * row, row, 1, a + j, row, 1, k);
    NAME(put)(rows, columns, x, a + i * row + j, row, 1);
}

/* Returns for each lane the row, from `first` on, with the largest element in column `first`; among equals the first.
 * The maximum is computed in several independent chains. Then rows are compared with it, from the last to the first. */
INLINE INTS NAME(find_pivot)(const bp__interleaved_factor *t, int first, VECTOR *largest) {
    const VELEMENT *a = (const VELEMENT *)t->elements + first;
    const int64_t row = t->row;
    VECTOR best[CHAINS];
    UNROLL
    for (int c = 0; c < CHAINS; c++) {
        best[c] = NAME(size)(a[first * row]);
    }
    int i = first + 1;
    for (; i + CHAINS <= t->rows; i += CHAINS) {
        UNROLL
        for (int c = 0; c < CHAINS; c++) {
            best[c] = OF_PART(larger)(NAME(size)(a[(i + c) * row]), best[c]);
        }
    }
    for (; i < t->rows; i++) {
        best[0] = OF_PART(larger)(NAME(size)(a[i * row]), best[0]);
    }
    UNROLL
    for (int c = 1; c < CHAINS; c++) {
        best[0] = OF_PART(larger)(best[c], best[0]);
    }
    INTS pivot = (INTS){0} + first;
    for (i = t->rows - 1; i >= first; i--) {
        const INTS here = NAME(size)(a[i * row]) == best[0];
        pivot = (INTS)OF_PART(select)(here, (VECTOR)((INTS){0} + i), (VECTOR)pivot);
    }
    *largest = best[0];
    return pivot;
}

/* Exchanges row `first` with the pivot row of each lane, without branches. Lanes are exchanged one after another,
 * because two lanes may have the same pivot row. Whole vectors are loaded and stored, because loading a vector right
 * after storing parts of it is slow. */
#define TAKE_LANE(lane, from) ((lane) == (from) ? VL + (lane) : (lane))
#define EXCHANGE_LANE(lane)                                                                                            \
    {                                                                                                                  \
        const VECTOR below = low[lane][j];                                                                             \
        low[lane][j] = __builtin_shufflevector(below, above, PART_LANES(TAKE_LANE, lane));                             \
        chosen = __builtin_shufflevector(chosen, below, PART_LANES(TAKE_LANE, lane));                                  \
    }
static void NAME(exchange)(const bp__interleaved_factor *t, int first, const int16_t *pivot) {
    VECTOR *top = (VECTOR *)((VELEMENT *)t->elements + (int64_t)first * t->row), *low[VL];
    UNROLL
    for (int lane = 0; lane < VL; lane++) {
        low[lane] = (VECTOR *)((VELEMENT *)t->elements + (int64_t)pivot[lane] * t->row);
    }
    for (int j = 0; j < t->columns * PARTS; j++) {
        const VECTOR above = top[j];
        VECTOR chosen = above;
        EXCHANGE_LANE(0)
        EXCHANGE_LANE(1)
#if VL > 2
        EXCHANGE_LANE(2)
        EXCHANGE_LANE(3)
#endif
#if VL > 4
        EXCHANGE_LANE(4)
        EXCHANGE_LANE(5)
        EXCHANGE_LANE(6)
        EXCHANGE_LANE(7)
#endif
#if VL > 8
        EXCHANGE_LANE(8)
        EXCHANGE_LANE(9)
        EXCHANGE_LANE(10)
        EXCHANGE_LANE(11)
        EXCHANGE_LANE(12)
        EXCHANGE_LANE(13)
        EXCHANGE_LANE(14)
        EXCHANGE_LANE(15)
#endif
        top[j] = chosen;
    }
}
#undef TAKE_LANE
#undef EXCHANGE_LANE

/* Exchanges row `first` with a lower row in all lanes. */
static void NAME(exchange_rows)(const bp__interleaved_factor *t, int first, int lower) {
    VECTOR *top = (VECTOR *)((VELEMENT *)t->elements + (int64_t)first * t->row);
    VECTOR *low = (VECTOR *)((VELEMENT *)t->elements + (int64_t)lower * t->row);
    for (int j = 0; j < t->columns * PARTS; j++) {
        const VECTOR above = top[j];
        top[j] = low[j];
        low[j] = above;
    }
}

/* Divides column `at` below the diagonal by the pivot and subtracts its products from the next `rest` columns. */
INLINE void NAME(eliminate)(int rest, const bp__interleaved_factor *t, int at, VELEMENT r, VECTOR s) {
    VELEMENT *a = (VELEMENT *)t->elements + (int64_t)at * t->row + at;
    VELEMENT u[PANEL];
    UNROLL
    for (int j = 1; j <= rest; j++) {
        u[j - 1] = a[j];
    }
    for (int i = at + 1; i < t->rows; i++) {
        a += t->row;
        const VELEMENT l = a[0] = NAME(scale)(a[0], r, s);
        UNROLL
        for (int j = 1; j <= rest; j++) {
            a[j] = NAME(subtract_product)(false, a[j], l, u[j - 1]);
        }
    }
}

/* Factors one column of a panel; `rest` columns of the panel follow it. */
static VECTOR NAME(factor_column)(const bp__interleaved_factor *t, int at, int rest, VECTOR info) {
    VECTOR largest;
    const INTS pivots = NAME(find_pivot)(t, at, &largest), none = largest == 0;
    int16_t *pivot = t->pivots + at * VL;
    int32_t moved = 0, differ = 0;
    for (int lane = 0; lane < VL; lane++) {
        pivot[lane] = (int16_t)pivots[lane];
        moved |= pivot[lane] - at;
        differ |= pivot[lane] - pivot[0];
    }
    if (differ) {
        NAME(exchange)(t, at, pivot);
    } else if (moved) { /* such as for one matrix, which is in all lanes */
        NAME(exchange_rows)(t, at, pivot[0]);
    }
    VELEMENT r;
    VECTOR s;
    NAME(invert)(((VELEMENT *)t->elements)[(int64_t)at * t->row + at], &r, &s);
    /* Below a pivot of zero all elements are zero; a factor of zero keeps them so. */
    UNROLL
    for (int part = 0; part < PARTS; part++) {
        r.part[part] = OF_PART(select)(none, OF_PART(splat)(0), r.part[part]);
    }
    if (rest == 3) {
        NAME(eliminate)(3, t, at, r, s);
    } else if (rest == 2) {
        NAME(eliminate)(2, t, at, r, s);
    } else if (rest == 1) {
        NAME(eliminate)(1, t, at, r, s);
    } else {
        NAME(eliminate)(0, t, at, r, s);
    }
    return NAME(first_failure)(info, none, at);
}

/* LU with partial pivoting of a rows x columns matrix, in panels of PANEL columns: solve with L above, subtract
 * products below, then factor the panel column by column. */
static void NAME(lu)(const bp__interleaved_factor *t) {
    VELEMENT *a = t->elements;
    VECTOR info = {0};
    for (int first = 0; first < t->columns; first += PANEL) {
        const int width = t->columns - first < PANEL ? t->columns - first : PANEL;
        const int done = first < t->rows ? first : t->rows;
        const bp__interleaved_solve upper = {.factor = a,
                                             .factor_row = t->row,
                                             .factor_column = 1,
                                             .b = a + first,
                                             .b_row = t->row,
                                             .b_column = 1,
                                             .n = done,
                                             .k = width};
        NAME(solve)(&upper);
        for (int i = done; done > 0 && i < t->rows; i += ROWS) {
            const int rows = t->rows - i < ROWS ? t->rows - i : ROWS;
            for (int j = 0, columns; j < width; j += columns) {
                columns = width - j < COLUMNS ? 1 : COLUMNS;
                EACH_TILE(NAME(panel_tile), rows, columns, t, i, first + j, done);
            }
        }
        for (int j = 0; j < width && first + j < t->rows; j++) {
            info = NAME(factor_column)(t, first + j, width - 1 - j, info);
        }
    }
    NAME(put_info)(t, info);
}

/* ---- Cholesky ---- */

/* Factors the tile on the diagonal, whose reduced elements are in x. Writes L to x and the inverses of its
 * diagonal. Returns info. */
INLINE VECTOR NAME(cholesky_diagonal)(int columns, VELEMENT (*x)[COLUMNS], VECTOR *inverses, int at, VECTOR info) {
    UNROLL
    for (int j = 0; j < columns; j++) {
        const VECTOR square = x[j][j].part[0];
        info = NAME(first_failure)(info, ~(square > 0), at + j);
        const VECTOR root = OF_PART(root)(square);
        inverses[j] = 1 / root;
        x[j][j] = (VELEMENT){{root}};
        UNROLL
        for (int i = j + 1; i < columns; i++) {
            UNROLL
            for (int part = 0; part < PARTS; part++) {
                x[i][j].part[part] *= inverses[j];
            }
            UNROLL
            for (int q = j + 1; q <= i; q++) {
                x[i][q] = NAME(subtract_product)(true, x[i][q], x[i][j], x[q][j]);
            }
        }
    }
    return info;
}

/* Computes rows [i, i + rows) of L below the tile `diagonal`. */
INLINE void NAME(cholesky_below)(int rows, int columns, VELEMENT *a, int64_t row, int i, int at,
                                 VELEMENT (*diagonal)[COLUMNS], const VECTOR *inverses) {
    VELEMENT x[ROWS][COLUMNS];
    NAME(fetch)(rows, columns, x, a + i * row + at, row, 1);
    NAME(reduce)(rows, columns, true, x, a + i * row, row, 1, a + at * row, 1, row, at);
    UNROLL
    for (int p = 0; p < rows; p++) {
        UNROLL
        for (int j = 0; j < columns; j++) {
            UNROLL
            for (int part = 0; part < PARTS; part++) {
                x[p][j].part[part] *= inverses[j];
            }
            UNROLL
            for (int q = j + 1; q < columns; q++) {
                x[p][q] = NAME(subtract_product)(true, x[p][q], x[p][j], diagonal[q][j]);
            }
        }
    }
    NAME(put)(rows, columns, x, a + i * row + at, row, 1);
}

INLINE VECTOR NAME(cholesky_columns)(int columns, const bp__interleaved_factor *t, int at, VECTOR info) {
    VELEMENT *a = t->elements, diagonal[COLUMNS][COLUMNS];
    VECTOR inverses[COLUMNS];
    const int64_t row = t->row;
    NAME(fetch)(columns, columns, diagonal, a + at * row + at, row, 1);
    NAME(reduce)(columns, columns, true, diagonal, a + at * row, row, 1, a + at * row, 1, row, at);
    info = NAME(cholesky_diagonal)(columns, diagonal, inverses, at, info);
    NAME(put)(columns, columns, diagonal, a + at * row + at, row, 1);
    for (int i = at + columns; i < t->rows; i += ROWS) {
        const int rows = t->rows - i < ROWS ? t->rows - i : ROWS;
        TILE_OF_ROWS(NAME(cholesky_below), rows, columns, a, row, i, at, diagonal, inverses);
    }
    return info;
}

/* Factors A = L L^H in columns of tiles: subtract earlier columns, factor the diagonal tile, then solve the tiles
 * below. */
static void NAME(cholesky)(const bp__interleaved_factor *t) {
    VECTOR info = {0};
    int at = 0;
    for (; at + COLUMNS <= t->rows; at += COLUMNS) {
        info = NAME(cholesky_columns)(COLUMNS, t, at, info);
    }
    for (; at < t->rows; at++) {
        info = NAME(cholesky_columns)(1, t, at, info);
    }
    NAME(put_info)(t, info);
}

static void NAME(conjugate)(void *elements, int64_t count) {
    for (VELEMENT *a = elements; PARTS == 2 && count > 0; count--, a++) {
        a->part[PARTS - 1] = -a->part[PARTS - 1];
    }
}

/* ---- Products ---- */

INLINE void NAME(combine_tile)(int rows, int columns, const bp__interleaved_combine *t, int i, int j) {
    VELEMENT x[ROWS][COLUMNS];
    UNROLL
    for (int p = 0; p < rows; p++) {
        UNROLL
        for (int q = 0; q < columns; q++) {
            x[p][q] = (VELEMENT){{OF_PART(splat)(0)}};
        }
    }
    NAME(reduce)
    (rows, columns, true, x, (const VELEMENT *)t->left + i * t->left_row, t->left_row, 1,
     (const VELEMENT *)t->right + j * t->right_row, 1, t->right_row, t->count);
    NAME(put)(rows, columns, x, (VELEMENT *)t->to + i * t->to_row + j, t->to_row, 1);
}

/* to = left diag(values) right^H, in tiles of ROWS x COLUMNS with sums in registers. */
static void NAME(combine)(const bp__interleaved_combine *t) {
    const VECTOR *values = t->values;
    for (int i = 0; i < t->rows; i++) {
        VELEMENT *left = (VELEMENT *)t->left + i * t->left_row;
        for (int k = 0; k < t->count; k++) {
            UNROLL
            for (int part = 0; part < PARTS; part++) {
                left[k].part[part] *= -values[k]; /* combine_tile() subtracts products, so factors are negated */
            }
        }
    }
    for (int i = 0; i < t->rows; i += ROWS) {
        const int rows = t->rows - i < ROWS ? t->rows - i : ROWS;
        for (int j = 0, columns; j < t->columns; j += columns) {
            columns = t->columns - j < COLUMNS ? 1 : COLUMNS;
            EACH_TILE(NAME(combine_tile), rows, columns, t, i, j);
        }
    }
}

#undef TILE_OF_ROWS
#undef EACH_TILE
