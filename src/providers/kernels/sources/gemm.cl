/* gemm.cl - computes matrix products: C = alpha A B + beta C for every item of a batch.
 *
 * A_TYPE, B_TYPE and C_TYPE are the types of the operands, NUMBER is the type of the computation. A sum is always
 * computed in the order of k, so that an element's bits depend neither on its place nor on the sizes. */
#include "common.cl"

#define A_STORAGE JOIN(storage, A_TYPE)
#define B_STORAGE JOIN(storage, B_TYPE)
#define C_STORAGE JOIN(storage, C_TYPE)
#define WIDEN_A(x) ((NUMBER)JOIN(widen, A_TYPE)(x))
#define WIDEN_B(x) ((NUMBER)JOIN(widen, B_TYPE)(x))
#define WIDEN_C(x) ((NUMBER)JOIN(widen, C_TYPE)(x))
#define NARROW_C(x) JOIN(narrow, C_TYPE)(x)
#define BATCH_DIMS 16

typedef struct product {
    long m, n, k;
    long a_row, a_column, b_row, b_column, c_row, c_column;
    long first_row, rows, first_column, columns, first_item; /* the part of C that a step computes */
    int batch_ndim;
    int conjugate_a, conjugate_b;
    int alpha, beta; /* 0: zero, 1: one, 2: any */
    int reserved;
    long size[BATCH_DIMS], a[BATCH_DIMS], b[BATCH_DIMS], c[BATCH_DIMS];
} product;

/* Offsets of an item of the batch in A, B and C. */
static inline void find_item(const product *p, long item, long offset[3]) {
    offset[0] = offset[1] = offset[2] = 0;
    for (int d = p->batch_ndim - 1; d >= 0; d--) {
        const long at = item % p->size[d];
        offset[0] += at * p->a[d];
        offset[1] += at * p->b[d];
        offset[2] += at * p->c[d];
        item /= p->size[d];
    }
}

/* Returns alpha sum + beta C. For integers, alpha is 1, and beta 0 or 1. */
static inline NUMBER scaled(const product *p, __global const C_STORAGE *c, NUMBER sum, SCALAR alpha, SCALAR beta) {
#ifndef INTEGER
    sum = p->alpha == 2 ? MULTIPLY(alpha, sum) : sum;
    if (p->beta == 2) {
        sum = sum + MULTIPLY(beta, WIDEN_C(*c));
    }
#endif
    if (p->beta == 1) {
        sum = sum + WIDEN_C(*c);
    }
    return sum;
}

static inline void store(const product *p, __global C_STORAGE *c, NUMBER sum, SCALAR alpha, SCALAR beta) {
    *c = NARROW_C(scaled(p, c, sum, alpha, beta));
}

/* ---- Convolutions ----
 *
 * With FINISHES, the matrices belong to a convolution (conv.cl): A is in memory once for each group, B for the items
 * and columns of a step only. A number is added to each row of C, and negative results become 0. */
#ifdef FINISHES
typedef struct finish {
    long groups, bias;   /* number of groups; stride of the numbers */
    long a_item, b_item; /* tiles: elements of A of a group, and of B of an item */
    int has_bias, relu;
} finish;
#define FINISH_PARAMETERS , __global const C_STORAGE *bias, ulong bias_first, const finish f
#define GROUP_OF_ITEM(id) ((p.first_item + (id)) % f.groups)
#define PANELS_OF_A GROUP_OF_ITEM(get_global_id(2))
#define ITEM_OF_A (GROUP_OF_ITEM(get_group_id(2)) * f.a_item)
#define ITEM_OF_B ((long)get_group_id(2) * f.b_item - p.first_column * p.b_column)
#define BIAS_OF(row, id)                                                                                               \
    (f.has_bias ? WIDEN_C(bias[(long)bias_first + (GROUP_OF_ITEM(id) * p.m + min((long)(row), p.m - 1)) * f.bias])     \
                : ZERO)
#define FINISHED(type, x) (f.relu ? ((x) < (type)0 ? (type)0 : (x)) : (x)) /* NaN stays NaN */
#define BIAS_PARAMETER , const finish f, NUMBER bias
#define BIAS_ARGUMENT(row, id) , f, BIAS_OF(row, id)
#else
#define FINISH_PARAMETERS
#define BIAS_PARAMETER
#define BIAS_ARGUMENT(row, id)
#define PANELS_OF_A (same_a ? 0 : get_global_id(2))
#define ITEM_OF_A offset[0]
#define ITEM_OF_B offset[1]
#endif

/* ---- Panels: for processors ----
 *
 * A and B are first copied to panels of ROWS rows and of COLUMNS columns, which are zero past the end. Then each work
 * item computes tiles of ROWS x COLUMNS elements of C in registers. */
#ifdef PANELS
#define COLUMNS (WIDTH * VECTORS)
#ifdef COMPLEX
#define PARTS 2
#else
#define PARTS 1
#endif
#include "vector.cl"

static inline void put(__global REAL *to, int step, int i, NUMBER x) {
#ifdef COMPLEX
    to[i] = x.x;
    to[step + i] = x.y;
#else
    to[i] = x;
#endif
}

/* Copies a panel of `wide` rows or columns of an operand, of all k. */
#define PACK(name, STORAGE, WIDEN)                                                                                     \
    static inline void name(__global const STORAGE *from, long across, long along, long inside, long k, int wide,      \
                            bool conjugate, __global REAL *panel) {                                                    \
        if (inside == wide && across == 1) {                                                                           \
            for (long l = 0; l < k; l++) {                                                                             \
                for (int i = 0; i < wide; i++) {                                                                       \
                    put(panel + l * wide * PARTS, wide, i, CONJUGATED(WIDEN(from[l * along + i]), conjugate));         \
                }                                                                                                      \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int i = 0; i < wide; i++) {                                                                           \
                for (long l = 0; l < k; l++) {                                                                         \
                    put(panel + l * wide * PARTS, wide, i,                                                             \
                        i < inside ? CONJUGATED(WIDEN(from[l * along + i * across]), conjugate) : ZERO);               \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
PACK(pack_panel_a, A_STORAGE, WIDEN_A)
PACK(pack_panel_b, B_STORAGE, WIDEN_B)

__kernel void pack_a(__global const A_STORAGE *a, ulong a_first, __global REAL *panels, ulong panels_first,
                     const product p) {
    long offset[3];
    find_item(&p, p.first_item + get_global_id(2), offset);
    const long panel = get_global_id(0), all = (p.rows + ROWS - 1) / ROWS;
    pack_panel_a(a + (long)a_first + offset[0] + (p.first_row + panel * ROWS) * p.a_row, p.a_row, p.a_column,
                 min((long)ROWS, p.rows - panel * ROWS), p.k, ROWS, p.conjugate_a,
                 panels + (long)panels_first + (get_global_id(2) * all + panel) * ROWS * PARTS * p.k);
}

__kernel void pack_b(__global const B_STORAGE *b, ulong b_first, __global REAL *panels, ulong panels_first,
                     const product p) {
    long offset[3];
    find_item(&p, p.first_item + get_global_id(2), offset);
    const long panel = get_global_id(0), all = (p.columns + COLUMNS - 1) / COLUMNS;
    pack_panel_b(b + (long)b_first + offset[1] + (p.first_column + panel * COLUMNS) * p.b_column, p.b_column, p.b_row,
                 min((long)COLUMNS, p.columns - panel * COLUMNS), p.k, COLUMNS, p.conjugate_b,
                 panels + (long)panels_first + (get_global_id(2) * all + panel) * COLUMNS * PARTS * p.k);
}

static inline void write_tile(const product *p, __global C_STORAGE *c, long rows, long columns,
                              vector sum[ROWS][VECTORS * PARTS], SCALAR alpha, SCALAR beta) {
#ifdef STORES_VECTORS
    if (columns == COLUMNS && p->c_column == 1 && p->beta == 0 && p->alpha == 1) {
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            if (i < rows) {
#pragma unroll
                for (int v = 0; v < VECTORS; v++) {
                    STORE(WIDTH, sum[i][v], v, (__global REAL *)(c + i * p->c_row));
                }
            }
        }
        return;
    }
#endif
    REAL lanes[ROWS * PARTS * COLUMNS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int v = 0; v < VECTORS * PARTS; v++) {
            STORE(WIDTH, sum[i][v], i * VECTORS * PARTS + v, lanes);
        }
    }
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            const REAL *from = lanes + i * PARTS * COLUMNS + j;
#ifdef COMPLEX
            store(p, c + i * p->c_row + j * p->c_column, MAKE2(NUMBER, from[0], from[COLUMNS]), alpha, beta);
#else
            store(p, c + i * p->c_row + j * p->c_column, from[0], alpha, beta);
#endif
        }
    }
}

/* Work items: groups of `group` panels of A, panels of B, items. */
__kernel void multiply_panels(__global const REAL *a, ulong a_first, __global const REAL *b, ulong b_first,
                              __global C_STORAGE *c, ulong c_first, const product p, const int group, const int same_a,
                              const int same_b, SCALAR alpha, SCALAR beta FINISH_PARAMETERS) {
    long offset[3];
    find_item(&p, p.first_item + get_global_id(2), offset);
    const long a_panels = (p.rows + ROWS - 1) / ROWS, b_panels = (p.columns + COLUMNS - 1) / COLUMNS;
    const long column = get_global_id(1), first = get_global_id(0) * group, last = min(first + group, a_panels);
    for (long row = first; row < last; row++) {
        __global const REAL *left =
            a + (long)a_first + (PANELS_OF_A * a_panels + row) * ROWS * PARTS * p.k;
        __global const REAL *right =
            b + (long)b_first + ((same_b ? 0 : get_global_id(2) * b_panels) + column) * COLUMNS * PARTS * p.k;
        vector sum[ROWS][VECTORS * PARTS];
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
#pragma unroll
            for (int v = 0; v < VECTORS * PARTS; v++) {
                sum[i][v] = (vector)0;
            }
        }
        for (long l = 0; l < p.k; l++) {
            vector x[VECTORS * PARTS];
#pragma unroll
            for (int v = 0; v < VECTORS * PARTS; v++) {
                x[v] = LOAD(WIDTH, v, right);
            }
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
#ifdef COMPLEX
                const vector re = (vector)left[i], im = (vector)left[ROWS + i];
#pragma unroll
                for (int v = 0; v < VECTORS; v++) {
                    sum[i][v] = fma(-im, x[VECTORS + v], fma(re, x[v], sum[i][v]));
                    sum[i][VECTORS + v] = fma(im, x[v], fma(re, x[VECTORS + v], sum[i][VECTORS + v]));
                }
#else
                const vector y = (vector)left[i];
#pragma unroll
                for (int v = 0; v < VECTORS; v++) {
                    sum[i][v] = MULTIPLY_ADD(y, x[v], sum[i][v]);
                }
#endif
            }
            left += ROWS * PARTS;
            right += COLUMNS * PARTS;
        }
        const long i = p.first_row + row * ROWS, j = p.first_column + column * COLUMNS;
#ifdef FINISHES
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const vector added = (vector)BIAS_OF(i + r, get_global_id(2));
#pragma unroll
            for (int v = 0; v < VECTORS; v++) {
                sum[r][v] = sum[r][v] + added;
                sum[r][v] = FINISHED(vector, sum[r][v]);
            }
        }
#endif
        write_tile(&p, c + (long)c_first + offset[2] + i * p.c_row + j * p.c_column,
                   min((long)ROWS, p.first_row + p.rows - i), min((long)COLUMNS, p.first_column + p.columns - j), sum,
                   alpha, beta);
    }
}
#endif

/* ---- Tiles: for devices with local memory ----
 *
 * A group computes TILE x TILE elements of C, each work item SIDE x SIDE of them, from pieces of A and B in local memory
 * that are DEEP wide. While a piece is multiplied, the next one is read to registers. */
#ifdef TILES
#define TILE (GROUP * SIDE)
#define ITEMS (GROUP * GROUP)
#define PART (TILE * DEEP / ITEMS) /* numbers of a piece that a work item reads */
#define LINE (TILE + RUN)          /* numbers of a row in local memory; RUN of them against conflicts of banks */

/* Rows or columns of a tile that belong to work item `at` of its dimension: runs of RUN neighbours, which are 16 bytes if
 * there are enough. */
#define PLACE(at, i) ((i) / RUN * (GROUP * RUN) + (at) * RUN + (i) % RUN)

/* Neighbouring work items read neighbours across k (rows of A with A_ACROSS, columns of B with B_ACROSS), or along it.
 * The numbers of a work item are NEXT_ACROSS rows or columns, or NEXT_ALONG of k, apart. */
#define FIRST_ACROSS(is_across, id) ((is_across) ? (id) % TILE : (id) / DEEP)
#define FIRST_ALONG(is_across, id) ((is_across) ? (id) / TILE : (id) % DEEP)
#define NEXT_ACROSS(is_across) ((is_across) ? 0 : ITEMS / DEEP)
#define NEXT_ALONG(is_across) ((is_across) ? ITEMS / TILE : 0)

/* Reads a work item's part of a piece with `wide` rows or columns and `deep` of k. Zeros are past the end. */
#define READ_PART(name, STORAGE, WIDEN, ACROSS)                                                                        \
    static inline void name(__global const STORAGE *from, long next, int id, int wide, int deep, bool conjugate,       \
                            NUMBER part[PART]) {                                                                       \
        _Pragma("unroll") for (int s = 0; s < PART; s++) {                                                             \
            const bool inside = FIRST_ACROSS(ACROSS, id) + s * NEXT_ACROSS(ACROSS) < wide &&                           \
                                FIRST_ALONG(ACROSS, id) + s * NEXT_ALONG(ACROSS) < deep;                               \
            part[s] = inside ? CONJUGATED(WIDEN(from[s * next]), conjugate) : ZERO;                                    \
        }                                                                                                              \
    }
READ_PART(read_part_a, A_STORAGE, WIDEN_A, A_ACROSS)
READ_PART(read_part_b, B_STORAGE, WIDEN_B, B_ACROSS)

#define KEEP_PART(name, ACROSS)                                                                                        \
    static inline void name(__local NUMBER *piece, int id, const NUMBER part[PART]) {                                  \
        piece += FIRST_ALONG(ACROSS, id) * LINE + FIRST_ACROSS(ACROSS, id);                                            \
        _Pragma("unroll") for (int s = 0; s < PART; s++) {                                                             \
            piece[s * (NEXT_ALONG(ACROSS) * LINE + NEXT_ACROSS(ACROSS))] = part[s];                                    \
        }                                                                                                              \
    }
KEEP_PART(keep_part_a, A_ACROSS)
KEEP_PART(keep_part_b, B_ACROSS)

static inline void multiply_step(__local const NUMBER *left, __local const NUMBER *right, NUMBER sum[SIDE][SIDE]) {
    NUMBER u[SIDE], v[SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        u[i] = left[PLACE(0, i)];
        v[i] = right[PLACE(0, i)];
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
#pragma unroll
        for (int j = 0; j < SIDE; j++) {
            sum[i][j] = MULTIPLY_ADD(u[i], v[j], sum[i][j]);
        }
    }
}

/* Writes a work item's elements of a row; elements before `columns` are inside. */
static inline void write_row(const product *p, __global C_STORAGE *c, const long at[SIDE], int columns,
                             NUMBER sum[SIDE], SCALAR alpha, SCALAR beta BIAS_PARAMETER) {
#ifdef FINISHES
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
        sum[j] = sum[j] + bias;
        sum[j] = FINISHED(NUMBER, sum[j]);
    }
#endif
    if (p->alpha == 2 || p->beta != 0) {
#pragma unroll
        for (int j = 0; j < SIDE; j++) {
            if (PLACE(0, j) < columns) {
                sum[j] = scaled(p, c + at[j], sum[j], alpha, beta);
            }
        }
    }
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
        if (PLACE(0, j) < columns) {
            c[at[j]] = NARROW_C(sum[j]);
        }
    }
}

__kernel GROUP_SIZE(GROUP, GROUP) void
multiply_tiles(__global const A_STORAGE *a, ulong a_first, __global const B_STORAGE *b, ulong b_first,
               __global C_STORAGE *c, ulong c_first, const product p, SCALAR alpha, SCALAR beta FINISH_PARAMETERS) {
    SHARED NUMBER left[2][DEEP * LINE] __attribute__((aligned(16)));
    SHARED NUMBER right[2][DEEP * LINE] __attribute__((aligned(16)));
    const int x = get_local_id(0), y = get_local_id(1), id = y * GROUP + x;
    const long row = p.first_row + get_group_id(1) * TILE, column = p.first_column + get_group_id(0) * TILE;
    const int rows = (int)min((long)TILE, p.first_row + p.rows - row);
    const int columns = (int)min((long)TILE, p.first_column + p.columns - column);
    long offset[3];
    find_item(&p, p.first_item + get_group_id(2), offset);
    a += (long)a_first + ITEM_OF_A + (row + FIRST_ACROSS(A_ACROSS, id)) * p.a_row +
         FIRST_ALONG(A_ACROSS, id) * p.a_column;
    b += (long)b_first + ITEM_OF_B + (column + FIRST_ACROSS(B_ACROSS, id)) * p.b_column +
         FIRST_ALONG(B_ACROSS, id) * p.b_row;
    const long next_a = NEXT_ACROSS(A_ACROSS) * p.a_row + NEXT_ALONG(A_ACROSS) * p.a_column;
    const long next_b = NEXT_ACROSS(B_ACROSS) * p.b_column + NEXT_ALONG(B_ACROSS) * p.b_row;
    NUMBER sum[SIDE][SIDE], part_a[PART], part_b[PART];
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
#pragma unroll
        for (int j = 0; j < SIDE; j++) {
            sum[i][j] = ZERO;
        }
    }
    int deep = (int)min((long)DEEP, p.k), turn = 0;
    read_part_a(a, next_a, id, rows, deep, p.conjugate_a, part_a);
    read_part_b(b, next_b, id, columns, deep, p.conjugate_b, part_b);
    for (long rest = p.k; rest > 0; rest -= DEEP) {
        keep_part_a(left[turn], id, part_a);
        keep_part_b(right[turn], id, part_b);
        barrier(CLK_LOCAL_MEM_FENCE);
        const int deep_now = deep;
        if (rest > DEEP) {
            deep = (int)min((long)DEEP, rest - DEEP);
            a += DEEP * p.a_column;
            b += DEEP * p.b_row;
            read_part_a(a, next_a, id, rows, deep, p.conjugate_a, part_a);
            read_part_b(b, next_b, id, columns, deep, p.conjugate_b, part_b);
        }
        __local const NUMBER *u = left[turn] + PLACE(y, 0), *v = right[turn] + PLACE(x, 0);
        if (deep_now == DEEP) {
#pragma unroll
            for (int l = 0; l < DEEP; l++) {
                multiply_step(u + l * LINE, v + l * LINE, sum);
            }
        } else {
#pragma unroll 1
            for (int l = 0; l < deep_now; l++) {
                multiply_step(u + l * LINE, v + l * LINE, sum);
            }
        }
        turn ^= 1; /* a piece is overwritten after the next barrier, when all have multiplied it */
    }
    long at_column[SIDE];
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
        at_column[j] = PLACE(x, j) * p.c_column;
    }
    c += (long)c_first + offset[2] + row * p.c_row + column * p.c_column;
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        const int at_row = PLACE(y, i);
        if (at_row < rows) {
            write_row(&p, c + at_row * p.c_row, at_column, columns - PLACE(x, 0), sum[i], alpha,
                      beta BIAS_ARGUMENT(row + at_row, get_group_id(2)));
        }
    }
}
#endif
