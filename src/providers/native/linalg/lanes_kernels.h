/* lanes_kernels.h - template: factorizations and solutions of one type, on cells (lanes.h). Parameters: TYPE, PART,
 * REAL and the tile: ROWS is 4, COLUMNS is how many columns of sums the registers hold beside that many rows.
 *
 * All sums run left-looking: a tile of the result collects all products of earlier rows and columns in registers, k
 * ascending, and is then finished with the small triangle on the diagonal.
 */

/* x -= a * b, for `rows` x k cells of a and k x `columns` cells of b, or of the conjugate of b. */
INLINE void NAME(reduce)(int rows, int columns, bool conjugate, CELL (*x)[COLUMNS], const CELL *a, int64_t a_row,
                         int64_t a_k, const CELL *b, int64_t b_k, int64_t b_column, int64_t k) {
    for (; k > 0; k--, a += a_k, b += b_k) {
        CELL right[COLUMNS];
        UNROLL
        for (int j = 0; j < columns; j++) {
            right[j] = b[j * b_column];
        }
        UNROLL
        for (int i = 0; i < rows; i++) {
            const CELL left = a[i * a_row];
            UNROLL
            for (int j = 0; j < columns; j++) {
                x[i][j] = NAME(subtract_product)(conjugate, x[i][j], left, right[j]);
            }
        }
    }
}

INLINE void NAME(fetch)(int rows, int columns, CELL (*x)[COLUMNS], const CELL *from, int64_t row, int64_t column) {
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < columns; j++) {
            x[i][j] = from[i * row + j * column];
        }
    }
}

INLINE void NAME(put)(int rows, int columns, CELL (*x)[COLUMNS], CELL *to, int64_t row, int64_t column) {
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < columns; j++) {
            to[i * row + j * column] = x[i][j];
        }
    }
}

/* Calls f with constants for how many rows and columns of a tile there are. */
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

/* What divides by a cell. */
typedef struct NAME(inverse) {
    CELL r;
    VECTOR s;
} NAME(inverse);

static void NAME(invert_diagonal)(void *inverses, const void *cells, int64_t step, int n) {
    NAME(inverse) *to = inverses;
    for (int i = 0; i < n; i++) {
        NAME(invert)(((const CELL *)cells)[i * step], &to[i].r, &to[i].s);
    }
}

/* ---- Triangles ---- */

/* Rows i to i + rows of the solution, columns j to j + columns; rows before `from` of b are zeros there. */
INLINE void NAME(solve_tile)(int rows, int columns, const bp__lanes_solve *t, int i, int j, int from) {
    const CELL *l = (const CELL *)t->factor + i * t->factor_row;
    CELL *b = (CELL *)t->b + j * t->b_column, x[ROWS][COLUMNS];
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
            const CELL left = l[below * t->factor_row + (i + p) * t->factor_column];
            UNROLL
            for (int q = 0; q < columns; q++) {
                x[below][q] = NAME(subtract_product)(false, x[below][q], left, x[p][q]);
            }
        }
    }
    NAME(put)(rows, columns, x, b + i * t->b_row, t->b_row, t->b_column);
}

static void NAME(solve)(const bp__lanes_solve *t) {
    for (int i = 0; i < t->n; i += ROWS) {
        const int rows = t->n - i < ROWS ? t->n - i : ROWS;
        for (int j = 0, columns; j < t->k && !(t->triangular && j >= i + rows); j += columns) {
            columns = t->k - j < COLUMNS ? 1 : COLUMNS;
            const int from = !t->triangular ? 0 : j < i ? j : i;
            EACH_TILE(NAME(solve_tile), rows, columns, t, i, j, from);
        }
    }
}

/* ---- LU ---- */

/* Sums of a panel's rows i to i + rows, whose columns j to j + columns begin below the factored part. */
INLINE void NAME(panel_tile)(int rows, int columns, const bp__lanes_factor *t, int i, int j, int k) {
    CELL *a = t->cells, x[ROWS][COLUMNS];
    const int64_t row = t->columns;
    NAME(fetch)(rows, columns, x, a + i * row + j, row, 1);
    NAME(reduce)(rows, columns, false, x, a + i * row, row, 1, a + j, row, 1, k);
    NAME(put)(rows, columns, x, a + i * row + j, row, 1);
}

/* In each lane the row, from `first` on, whose cell of column `first` is the largest: the first one of equals. */
INLINE WORDS NAME(find_pivot)(const bp__lanes_factor *t, int first, VECTOR *largest) {
    const CELL *a = (const CELL *)t->cells + first;
    VECTOR best = NAME(size)(a[(int64_t)first * t->columns]);
    WORDS pivot = (WORDS){0} + first;
    for (int i = first + 1; i < t->rows; i++) {
        const VECTOR size = NAME(size)(a[(int64_t)i * t->columns]);
        const WORDS larger = size > best;
        best = OF_PART(select)(larger, size, best);
        pivot = (larger & i) | (~larger & pivot);
    }
    *largest = best;
    return pivot;
}

/* Exchanges row `first` with the pivot's in each lane. With few rows left, every row takes its turn in whole vectors;
 * with many, single lanes move. */
static void NAME(exchange)(const bp__lanes_factor *t, int first, const int32_t *pivot, WORDS pivots) {
    CELL *top = (CELL *)t->cells + (int64_t)first * t->columns;
    if (t->rows - first <= FEW_ROWS) {
        for (int i = first + 1; i < t->rows; i++) {
            const WORDS here = pivots == i;
            CELL *row = (CELL *)t->cells + (int64_t)i * t->columns;
            for (int j = 0; j < t->columns; j++) {
                UNROLL
                for (int part = 0; part < PARTS; part++) {
                    const VECTOR above = top[j].part[part], below = row[j].part[part];
                    top[j].part[part] = OF_PART(select)(here, below, above);
                    row[j].part[part] = OF_PART(select)(here, above, below);
                }
            }
        }
        return;
    }
    REAL *low[VL];
    UNROLL
    for (int lane = 0; lane < VL; lane++) {
        low[lane] = (REAL *)((CELL *)t->cells + (int64_t)pivot[lane] * t->columns) + lane;
    }
    for (int j = 0; j < t->columns * PARTS; j++) {
        VECTOR *at = (VECTOR *)top + j;
        const VECTOR above = *at;
        VECTOR below;
        UNROLL
        for (int lane = 0; lane < VL; lane++) {
            below[lane] = low[lane][j * VL];
        }
        UNROLL
        for (int lane = 0; lane < VL; lane++) {
            low[lane][j * VL] = above[lane];
        }
        *at = below;
    }
}

/* Divides column `at` below the diagonal by the pivot, and takes its products from the next `rest` columns. */
INLINE void NAME(eliminate)(int rest, const bp__lanes_factor *t, int at, CELL r, VECTOR s) {
    CELL *a = (CELL *)t->cells + (int64_t)at * t->columns + at;
    CELL u[PANEL];
    UNROLL
    for (int j = 1; j <= rest; j++) {
        u[j - 1] = a[j];
    }
    for (int i = at + 1; i < t->rows; i++) {
        a += t->columns;
        const CELL l = a[0] = NAME(scale)(a[0], r, s);
        UNROLL
        for (int j = 1; j <= rest; j++) {
            a[j] = NAME(subtract_product)(false, a[j], l, u[j - 1]);
        }
    }
}

/* One column of a panel; `rest` columns of the panel follow it. */
static void NAME(factor_column)(const bp__lanes_factor *t, int at, int rest) {
    VECTOR largest;
    const WORDS pivots = NAME(find_pivot)(t, at, &largest), none = largest == 0;
    int32_t *pivot = t->pivots + at * VL;
    int32_t moved = 0;
    for (int lane = 0; lane < VL; lane++) {
        pivot[lane] = (int32_t)pivots[lane];
        moved |= pivot[lane] - at;
        t->info[lane] = none[lane] && t->info[lane] == 0 ? at + 1 : t->info[lane];
    }
    if (moved) {
        NAME(exchange)(t, at, pivot, pivots);
    }
    CELL r;
    VECTOR s;
    NAME(invert)(((CELL *)t->cells)[(int64_t)at * t->columns + at], &r, &s);
    /* Below a pivot of zero there are only zeros, and they stay. */
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
}

static void NAME(lu)(const bp__lanes_factor *t) {
    CELL *a = t->cells;
    for (int first = 0; first < t->columns; first += PANEL) {
        const int width = t->columns - first < PANEL ? t->columns - first : PANEL;
        const int done = first < t->rows ? first : t->rows;
        const bp__lanes_solve upper = {.factor = a,
                                       .factor_row = t->columns,
                                       .factor_column = 1,
                                       .b = a + first,
                                       .b_row = t->columns,
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
            NAME(factor_column)(t, first + j, width - 1 - j);
        }
    }
}

/* ---- Cholesky ---- */

/* The tile on the diagonal, whose sums are in x; leaves L there, and the inverses of its diagonal. */
INLINE void NAME(cholesky_diagonal)(int columns, CELL (*x)[COLUMNS], VECTOR *inverses, int at, int32_t *info) {
    UNROLL
    for (int j = 0; j < columns; j++) {
        const VECTOR square = x[j][j].part[0];
        const WORDS positive = square > 0;
        for (int lane = 0; lane < VL; lane++) {
            info[lane] = !positive[lane] && info[lane] == 0 ? at + j + 1 : info[lane];
        }
        const VECTOR root = OF_PART(root)(square);
        inverses[j] = 1 / root;
        x[j][j] = (CELL){{root}};
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
}

/* Rows i to i + rows below a tile on the diagonal, which is `diagonal`. */
INLINE void NAME(cholesky_below)(int rows, int columns, CELL *a, int64_t row, int i, int at, CELL (*diagonal)[COLUMNS],
                                 const VECTOR *inverses) {
    CELL x[ROWS][COLUMNS];
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

INLINE void NAME(cholesky_columns)(int columns, const bp__lanes_factor *t, int at) {
    CELL *a = t->cells, diagonal[COLUMNS][COLUMNS];
    VECTOR inverses[COLUMNS];
    const int64_t row = t->columns;
    NAME(fetch)(columns, columns, diagonal, a + at * row + at, row, 1);
    NAME(reduce)(columns, columns, true, diagonal, a + at * row, row, 1, a + at * row, 1, row, at);
    NAME(cholesky_diagonal)(columns, diagonal, inverses, at, t->info);
    NAME(put)(columns, columns, diagonal, a + at * row + at, row, 1);
    for (int i = at + columns; i < t->rows; i += ROWS) {
        const int rows = t->rows - i < ROWS ? t->rows - i : ROWS;
        TILE_OF_ROWS(NAME(cholesky_below), rows, columns, a, row, i, at, diagonal, inverses);
    }
}

static void NAME(cholesky)(const bp__lanes_factor *t) {
    int at = 0;
    for (; at + COLUMNS <= t->rows; at += COLUMNS) {
        NAME(cholesky_columns)(COLUMNS, t, at);
    }
    for (; at < t->rows; at++) {
        NAME(cholesky_columns)(1, t, at);
    }
}

/* ---- Filling ---- */

static void NAME(identity)(void *cells, int n) {
    CELL *a = cells;
    for (int i = 0; i < n * n; i++) {
        a[i] = (CELL){{OF_PART(splat)(i % (n + 1) == 0)}};
    }
}

static void NAME(conjugate)(void *cells, int64_t count) {
    for (CELL *a = cells; PARTS == 2 && count > 0; count--, a++) {
        a->part[PARTS - 1] = -a->part[PARTS - 1];
    }
}

/* ---- Between memory and cells ---- */

INLINE CELL NAME(gather)(const char *const *memory, int64_t offset) {
    CELL x;
    UNROLL
    for (int part = 0; part < PARTS; part++) {
        UNROLL
        for (int lane = 0; lane < VL; lane++) {
            x.part[part][lane] = ((const REAL *)(const void *)(memory[lane] + offset))[part];
        }
    }
    return x;
}

INLINE void NAME(scatter)(CELL x, int lanes, char *const *memory, int64_t offset) {
    UNROLL
    for (int part = 0; part < PARTS; part++) {
        UNROLL
        for (int lane = 0; lane < lanes; lane++) {
            ((REAL *)(void *)(memory[lane] + offset))[part] = x.part[part][lane];
        }
    }
}

/* The addresses of row i in each lane. */
INLINE void NAME(rows_at)(const bp__lanes_move *t, int i, char **at) {
    UNROLL
    for (int lane = 0; lane < VL; lane++) {
        at[lane] = t->memory[lane] + (t->order ? t->order[i * VL + lane] : i) * t->row;
    }
}

static unsigned NAME(load)(const bp__lanes_move *t) {
    VECTOR zero = {0};
    for (int i = 0; i < t->rows; i++) {
        const int end = t->shape == BP__LANES_ALL ? t->columns : t->shape == BP__LANES_STRICT ? i : i + 1;
        CELL *to = (CELL *)t->cells + i * t->cell_row;
        char *at[VL];
        NAME(rows_at)(t, i, at);
        for (int j = 0; j < end; j++) {
            CELL x = NAME(gather)((const char *const *)at, j * t->column);
            if (PARTS == 2 && t->conjugate) {
                x.part[PARTS - 1] = -x.part[PARTS - 1];
            }
            if (PARTS == 2 && t->shape == BP__LANES_HERMITIAN && i == j) {
                x.part[PARTS - 1] = OF_PART(splat)(0);
            }
            UNROLL
            for (int part = 0; part < PARTS; part++) {
                zero = OF_PART(madd)(x.part[part], OF_PART(splat)(0), zero);
            }
            to[j * t->cell_column] = x;
        }
    }
    unsigned wrong = 0;
    for (int lane = 0; lane < VL; lane++) {
        wrong |= (unsigned)(zero[lane] != 0) << lane;
    }
    return wrong;
}

/* What is written to row i, column j. */
INLINE CELL NAME(written)(const bp__lanes_move *t, int i, int j) {
    const bool mirrored = t->shape == BP__LANES_HERMITIAN && i < j;
    const bool zero = t->shape == BP__LANES_UPPER ? i > j : t->shape != BP__LANES_ALL && i < j && !mirrored;
    if (zero || (t->shape == BP__LANES_UNIT && i == j)) {
        return (CELL){{OF_PART(splat)(i == j)}};
    }
    const int row = mirrored ? j : i, column = mirrored ? i : j;
    CELL x = ((const CELL *)t->cells)[row * t->cell_row + column * t->cell_column];
    if (PARTS == 2 && t->conjugate != mirrored) {
        x.part[PARTS - 1] = -x.part[PARTS - 1];
    }
    if (PARTS == 2 && t->shape == BP__LANES_HERMITIAN && i == j) {
        x.part[PARTS - 1] = OF_PART(splat)(0);
    }
    return x;
}

INLINE void NAME(store_lanes)(const bp__lanes_move *t, int lanes) {
    for (int i = 0; i < t->rows; i++) {
        char *at[VL];
        NAME(rows_at)(t, i, at);
        for (int j = 0; j < t->columns; j++) {
            NAME(scatter)(NAME(written)(t, i, j), lanes, at, j * t->column);
        }
    }
}

static void NAME(store)(const bp__lanes_move *t) {
    if (t->lanes == VL) {
        NAME(store_lanes)(t, VL);
    } else {
        NAME(store_lanes)(t, t->lanes);
    }
}

#undef TILE_OF_ROWS
#undef EACH_TILE
