/* model.c - computes what the routines send between the ranks, from the loops of ScaLAPACK and PBLAS.
 *
 * A panel is sent along a row or a column of the grid, from each rank to one fewer than the ranks there. For products
 * that is exact. For Cholesky it is within 5 % with blocks of 32 to 64 and many blocks for each rank, otherwise within
 * 20 %: where PBLAS decides what to send by sizes, factors were fitted to counts. Pivots are assumed in random rows. */
#include "providers/scalapack/scalapack.h"

#include <math.h>

/* PBLAS multiplies panels of this many columns (PILAENV), cut at the edges of blocks. */
enum { PANEL = 32 };

static double panels_of(int64_t size, int block) {
    const double whole = (double)(size / block), rest = (double)(size % block);
    return whole * ceil((double)block / PANEL) + ceil(rest / PANEL);
}

static double item_of(const bp_problem *problem) {
    return (double)bp__scalapack_item(problem);
}

static double complex_factor(const bp_problem *problem) {
    return bp__scalapack_is_complex(problem) ? 4 : 1;
}

static double memory_of(const bp_problem *problem, const bp_dist_place *place, int64_t rows, int64_t columns) {
    return item_of(problem) * (double)bp__scalapack_most(place, 0, rows) *
           (double)bp__scalapack_most(place, 1, columns);
}

/* The part of a dimension that the rank with the most of it has. */
static double share_of(const bp_dist_place *place, int dimension, int64_t size) {
    return size > 0 ? (double)bp__scalapack_most(place, dimension, size) / (double)size : 0;
}

static double blocks_of(const bp_dist_place *place, int dimension, int64_t size) {
    return ceil((double)size / place->dist->block[dimension]);
}

/* Adds panels of a matrix that go along the rows of the grid (`along` 1) or the columns (0): `bytes` in all, in `count`
 * panels. A panel is divided by its length among the ranks of the other dimension. */
static void add_panels(bp__ranks_model *m, const bp_dist_place *place, int along, double bytes, double count,
                       int64_t length) {
    const double ranks = place->dist->grid[along], blocks = blocks_of(place, !along, length);
    const double lines = blocks < place->dist->grid[!along] ? blocks : place->dist->grid[!along];
    m->bytes += bytes * (ranks - 1);
    m->messages += count * lines * (ranks - 1);
    m->most_bytes += bytes * share_of(place, !along, length) * (ranks - 1) / ranks;
    m->most_messages += count * (ranks - 1) / ranks;
    m->steps += ranks > 1 ? count * ceil(log2(ranks)) : 0;
}

/* ---- Products ---- */

/* PBLAS leaves one of the three matrices of C = A B where it is, and moves panels of both others. `length` is the
 * dimension that a moved panel shares with the matrix that stays, `size` the dimension that is cut into panels. */
typedef struct moved {
    int64_t length, size;
    int along;    /* 1: panels go along the rows of the grid */
    bool is_sum;  /* of the result: partial sums are added */
    bool crosses; /* panels are columns where rows are needed, or the other way round */
    int block;    /* of the dimension `size` */
} moved;

/* What a product of A (m x k, or its transpose is stored) and B (k x n) moves if A, B or C stays. */
typedef enum stays { C_STAYS, A_STAYS, B_STAYS, STAYS } stays;

static void moves_of(const bp__scalapack_product *p, const bp_dist_place *place, stays which, moved moves[2]) {
    const int *block = place->dist->block;
    const bool ta = p->transposed[0], tb = p->transposed[1];
    if (which == C_STAYS) {
        moves[0] = (moved){p->m, p->k, 1, false, ta, block[!ta]};
        moves[1] = (moved){p->n, p->k, 0, false, tb, block[tb]};
    } else if (which == A_STAYS) {
        moves[0] = (moved){p->k, p->n, ta, false, ta == tb, block[!tb]};
        moves[1] = (moved){p->m, p->n, !ta, true, ta, block[1]};
    } else {
        moves[0] = (moved){p->k, p->m, !tb, false, ta == tb, block[ta]};
        moves[1] = (moved){p->n, p->m, tb, true, tb, block[0]};
    }
}

/* The largest local part of a dimension, in whole blocks. */
static double whole_blocks(const bp_dist_place *place, int dimension, int64_t size) {
    return ceil(blocks_of(place, dimension, size) / place->dist->grid[dimension]) * place->dist->block[dimension];
}

/* What PBLAS compares (pdgemm): elements of a rank. Sums count 1.3 times as much. */
static double pblas_cost(const moved *move, const bp_dist_place *place) {
    const double across = whole_blocks(place, !move->along, move->length);
    const double other = whole_blocks(place, move->along, move->length);
    const double sent = place->dist->grid[move->along] > 1 ? across * (move->is_sum ? 1.3 : 1) : 0;
    return (double)move->size * (sent + (move->crosses ? bp__most_real(across, other) : 0));
}

static stays choose_stays(const bp__scalapack_product *p, const bp_dist_place *place) {
    double cost[STAYS];
    for (stays which = C_STAYS; which < STAYS; which++) {
        moved moves[2];
        moves_of(p, place, which, moves);
        cost[which] = pblas_cost(&moves[0], place) + pblas_cost(&moves[1], place);
    }
    const bool c_stays = cost[C_STAYS] <= 1.3 * cost[A_STAYS] && cost[C_STAYS] <= 1.3 * cost[B_STAYS];
    const bool a_stays = cost[A_STAYS] <= cost[B_STAYS] && 1.3 * cost[A_STAYS] <= cost[C_STAYS];
    return c_stays ? C_STAYS : a_stays ? A_STAYS : B_STAYS;
}

static int common_multiple(int a, int b) {
    int larger = a, smaller = b;
    while (smaller > 0) {
        const int rest = larger % smaller;
        larger = smaller;
        smaller = rest;
    }
    return a / larger * b;
}

/* Elements of a dimension in the blocks whose number is `rest` modulo `step`. */
static double elements_at(int64_t size, int block, int64_t rest, int64_t step) {
    const int64_t blocks = (size + block - 1) / block;
    if (rest >= blocks) {
        return 0;
    }
    const int64_t own = (blocks - 1 - rest) / step + 1;
    const bool has_last = rest + (own - 1) * step == blocks - 1;
    return (double)(own * block - (has_last ? blocks * block - size : 0));
}

/* The part of a crossing panel that changes its rank. Block b of its length is at position b of the grid's dimension
 * `along` before, at position b of the other one behind; the positions in the other dimension are the panel's, and 0.
 */
static double elsewhere(const moved *move, const bp_dist_place *place) {
    const int before = move->along, behind = !move->along;
    const int *grid = place->dist->grid, *block = place->dist->block;
    const int64_t step = common_multiple(grid[0], grid[1]);
    double stay = 0;
    for (int64_t b = 0; b < step; b += grid[before]) {
        const double length = elements_at(move->length, block[before], b, step);
        stay += length * elements_at(move->size, block[behind], b % grid[behind], grid[behind]);
    }
    const double all = (double)move->length * (double)move->size;
    return all > 0 ? 1 - stay / all : 0;
}

/* Panels that cross are moved to the other dimension of the grid first. */
static void add_crossing(const moved *move, const bp_dist_place *place, double item, double count, bp__ranks_model *m) {
    const double part = elsewhere(move, place), blocks = blocks_of(place, move->along, move->length);
    const double pairs = common_multiple(place->dist->grid[0], place->dist->grid[1]);
    const double bytes = item * (double)move->length * (double)move->size * part;
    m->bytes += bytes;
    m->messages += count * (blocks < pairs ? blocks : pairs) * part;
    m->most_bytes += bytes / place->size;
    m->most_messages += count * part / place->size;
    m->steps += place->size > 1 ? count : 0;
}

void bp__scalapack_model_gemm(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m) {
    const bp_gemm_problem *g = &problem->of.gemm;
    const bp__scalapack_product p = bp__scalapack_product_of(g);
    const double item = item_of(problem);
    moved moves[2];
    moves_of(&p, place, choose_stays(&p, place), moves);
    m->flops = 2 * (double)g->m * (double)g->k * (double)g->n * complex_factor(problem);
    for (int i = 0; i < 2; i++) {
        const double count = panels_of(moves[i].size, moves[i].block);
        add_panels(m, place, moves[i].along, item * (double)moves[i].length * (double)moves[i].size, count,
                   moves[i].length);
        if (moves[i].crosses) {
            add_crossing(&moves[i], place, item, count, m);
        }
    }
    m->operand_bytes = memory_of(problem, place, g->m, g->k) + memory_of(problem, place, g->k, g->n) +
                       memory_of(problem, place, g->m, g->n);
    m->work_bytes = item * PANEL * (double)(bp__scalapack_most(place, 0, g->m) + bp__scalapack_most(place, 1, g->n));
}

/* ---- Linear algebra ---- */

/* The panels below the diagonal go along the rows of the grid, and transposed along the columns. PBLAS cuts the
 * transposed ones into pieces, and fills these. */
void bp__scalapack_model_cholesky(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m) {
    const int64_t n = problem->of.linalg.n;
    const double item = item_of(problem), size = (double)n, block = place->dist->block[0];
    const double panels = ceil(size / block), below = item * bp__most_real(size - block, 0) * size / 2;
    const double fill = 50 * PANEL / block, rows = place->dist->grid[0];
    const bool column = place->dist->grid[1] == 1;
    m->flops = size * size * size / 3 * complex_factor(problem);
    add_panels(m, place, 1, below, 2 * panels, n);
    add_panels(m, place, 0, below > 0 ? below + item * size * fill : 0, column ? panels : 2 * panels, n);
    m->messages += column ? (rows - 1) * panels * panels_of(n, place->dist->block[0]) / 2 : 0;
    m->operand_bytes = 2 * memory_of(problem, place, n, n);
    m->work_bytes = item * block * (double)(bp__scalapack_most(place, 0, n) + bp__scalapack_most(place, 1, n));
}

/* Two triangular solutions. `part` of a whole matrix goes along the rows of the grid. */
static void add_triangular(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m, double part) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const double item = item_of(problem), n = (double)l->n, k = (double)l->k, panels = ceil(n / place->dist->block[0]);
    m->flops += 2 * n * n * k * complex_factor(problem);
    add_panels(m, place, 1, part * item * n * n, 2 * panels, l->n);
    add_panels(m, place, 0, 2 * item * n * k, 2 * panels, l->k);
}

void bp__scalapack_model_cholesky_solve(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m) {
    const bp_linalg_problem *l = &problem->of.linalg;
    add_triangular(problem, place, m, place->dist->grid[0] > 1 ? 0.75 : 0.45);
    m->operand_bytes = memory_of(problem, place, l->n, l->n) + 2 * memory_of(problem, place, l->n, l->k);
    m->work_bytes = item_of(problem) * place->dist->block[0] * (double)bp__scalapack_most(place, 0, l->n);
}

void bp__scalapack_model_lu_solve(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m) {
    bp__scalapack_model_cholesky_solve(problem, place, m);
}

/* Each column has a search for its pivot, and an exchange of rows. */
static void add_lu(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const double item = item_of(problem), rows = (double)l->m, columns = (double)l->n;
    const double least = rows < columns ? rows : columns, panels = ceil(least / place->dist->block[0]);
    const double grid_rows = place->dist->grid[0];
    m->flops += (rows * columns * least - (rows + columns) * least * least / 2 + least * least * least / 3) * 2 *
                complex_factor(problem);
    add_panels(m, place, 1, item * (rows * least - least * least / 2), panels, l->m);
    add_panels(m, place, 0, item * (columns * least - least * least / 2), panels, l->n);
    const double exchanges = grid_rows > 1 ? least * (grid_rows - 1) / grid_rows : 0;
    m->bytes += 2 * item * exchanges * columns;
    m->messages += exchanges > 0 ? least * (4 * (grid_rows - 1) + 3 * place->dist->grid[1]) : 0;
    m->steps += exchanges * (2 + ceil(log2(grid_rows + 1)));
}

void bp__scalapack_model_lu(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m) {
    const bp_linalg_problem *l = &problem->of.linalg;
    add_lu(problem, place, m);
    m->operand_bytes = 2 * memory_of(problem, place, l->m, l->n);
    m->work_bytes = item_of(problem) * place->dist->block[0] * (double)bp__scalapack_most(place, 0, l->m);
}

void bp__scalapack_model_solve(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m) {
    const bp_linalg_problem *l = &problem->of.linalg;
    add_lu(problem, place, m);
    add_triangular(problem, place, m, 0.75);
    m->operand_bytes = memory_of(problem, place, l->n, l->n) + 2 * memory_of(problem, place, l->n, l->k);
    m->work_bytes = memory_of(problem, place, l->n, l->n);
}

void bp__scalapack_model_inv(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m) {
    const int64_t n = problem->of.linalg.n;
    const double size = (double)n, item = item_of(problem), panels = ceil(size / place->dist->block[0]);
    add_lu(problem, place, m);
    m->flops += 4 * size * size * size / 3 * complex_factor(problem);
    add_panels(m, place, 1, 2.5 * item * size * size, 2 * panels, n);
    add_panels(m, place, 0, item * size * size, 2 * panels, n);
    m->operand_bytes = 2 * memory_of(problem, place, n, n);
    m->work_bytes =
        item * place->dist->block[0] * (double)(bp__scalapack_most(place, 0, n) + bp__scalapack_most(place, 1, n));
}

/* The sums of all columns or rows go to all ranks, as f64. */
void bp__scalapack_model_norm(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const double sums = l->mode == BP_NORM_FRO ? 1 : (double)(fabs(l->order) == 1 ? l->n : l->m);
    const double others = place->size - 1;
    m->flops = 2 * (double)l->m * (double)l->n;
    m->bytes = 2 * 8 * sums * others;
    m->messages = 2 * others;
    m->most_bytes = place->size > 1 ? 2 * 8 * sums : 0;
    m->most_messages = others > 0 ? 2 : 0;
    m->steps = 2 * ceil(log2(place->size));
    m->operand_bytes = memory_of(problem, place, l->m, l->n);
    m->work_bytes = 3 * 8 * sums;
}

/* What a decomposition column by column moves for each rank more in a row or column of the grid: words for each element
 * of the matrix, and messages for each of its columns. Fitted to counts. */
typedef struct traffic {
    double words, messages;
} traffic;

static void add_columns(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m, traffic in_rows,
                        traffic in_columns) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const double columns = place->dist->grid[1] - 1, rows = place->dist->grid[0] - 1;
    const double size = item_of(problem) * (double)l->m * (double)l->n, least = (double)bp__least(l->m, l->n);
    const double bytes = size * (in_rows.words * columns + in_columns.words * rows);
    const double messages = least * (in_rows.messages * columns + in_columns.messages * rows);
    m->bytes += bytes;
    m->messages += messages;
    m->most_bytes += bytes / place->size;
    m->most_messages += messages / place->size;
    m->steps += messages / place->size * ceil(log2(place->size));
}

void bp__scalapack_model_qr(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const double rows = (double)l->m, columns = (double)l->n, least = (double)bp__least(l->m, l->n);
    const double vectors = l->operand[1].dtype ? 2 : 1;
    m->flops = vectors * 2 *
               (rows * columns * least - (rows + columns) * least * least / 2 + least * least * least / 3) *
               complex_factor(problem);
    add_columns(problem, place, m, (traffic){0.6 * vectors, 0.06 * vectors}, (traffic){1.05 * vectors, 3.5 * vectors});
    m->operand_bytes = memory_of(problem, place, l->m, l->n) + memory_of(problem, place, (int64_t)least, l->n) +
                       (vectors - 1) * memory_of(problem, place, l->m, (int64_t)least);
    m->work_bytes = memory_of(problem, place, l->m, l->n);
}

void bp__scalapack_model_eigh(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m) {
    const int64_t n = problem->of.linalg.n;
    const double size = (double)n;
    m->flops = 9 * size * size * size * complex_factor(problem);
    add_columns(problem, place, m, (traffic){4.1, 3.4}, (traffic){6.3, 15});
    m->operand_bytes = (problem->of.linalg.operand[2].dtype ? 2 : 1) * memory_of(problem, place, n, n);
    m->work_bytes = 4 * memory_of(problem, place, n, n);
}

void bp__scalapack_model_svd(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const double size = (double)l->m * (double)l->n, least = (double)bp__least(l->m, l->n);
    const bool vectors = l->operand[1].dtype || l->operand[3].dtype;
    m->flops = (vectors ? 20 : 8.0 / 3) * size * least * complex_factor(problem);
    add_columns(problem, place, m, vectors ? (traffic){5.6, 13.7} : (traffic){3, 12},
                vectors ? (traffic){6, 17} : (traffic){3, 12});
    m->operand_bytes = (vectors ? 3 : 1) * memory_of(problem, place, l->m, l->n);
    m->work_bytes = (vectors ? 3 : 1) * memory_of(problem, place, l->m, l->n);
}

void bp__scalapack_model_lstsq(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const double rows = (double)l->m, columns = (double)l->n, least = (double)bp__least(l->m, l->n);
    m->flops = (2 * (rows * columns * least - (rows + columns) * least * least / 2 + least * least * least / 3) +
                4 * rows * columns * (double)l->k) *
               complex_factor(problem);
    add_columns(problem, place, m, (traffic){1, 0.1}, (traffic){1.5, 4});
    m->operand_bytes = memory_of(problem, place, l->m, l->n) + memory_of(problem, place, l->m, l->k) +
                       memory_of(problem, place, l->n, l->k);
    m->work_bytes = memory_of(problem, place, l->m, l->n) + memory_of(problem, place, bp__most(l->m, l->n), l->k);
}

/* A rank with M elements of memory that does F multiplications of elements moves F / (2 sqrt(2 M)) - M elements or
 * more: Irony, Toledo and Tiskin (2004) for products, Ballard, Demmel, Holtz and Schwartz (2011) for factorizations. */
double bp__scalapack_least_bytes(const bp_problem *problem, const bp_dist_place *place, const bp__ranks_model *model) {
    const double item = item_of(problem), memory = (model->operand_bytes + model->work_bytes) / item;
    const double multiplications = model->flops / complex_factor(problem) / 2 / place->size;
    const double elements = place->size > 1 && memory > 0 ? multiplications / sqrt(8 * memory) - memory : 0;
    return bp__most_real(elements, 0) * item;
}
