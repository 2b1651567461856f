/* cost.c - how long small matrices take, roughly, so that a dispatcher can compare lanes with a loop over a library.
 *
 * Times of single kernels were measured for groups that fill their lanes, on a Zen core near 3 GHz, and fitted by their
 * counts of multiply-adds, moved cells and steps. A vector takes about as long in every instruction set: the gain of a
 * wide one is that fewer groups are needed. */
#include "small.h"

/* Nanoseconds for one group. */
typedef struct rates {
    double product; /* a cell times a cell, added to a third */
    double copy;    /* a cell from or to memory, looked at for NaN on the way in */
    double swap;    /* a cell of the rows that are exchanged, in all lanes */
} rates;

static rates rates_of(const bp__interleaved_kernels *kernels) {
    const double parts = kernels->parts, lanes = kernels->lanes;
    return (rates){.product = kernels->parts == 2 ? 0.47 : 0.14,
                   .copy = parts * (0.5 + 0.1 * lanes),
                   .swap = parts * (0.6 + 0.7 * lanes)};
}

static double lu(const rates *r, double m, double n) {
    const double k = m < n ? m : n;
    return 0.6 * r->product * m * n * k + r->swap * k * n + 17 * k;
}

/* Right sides in and out, and `triangles` of them. */
static double solving(const rates *r, double n, double k, int triangles) {
    return triangles * (r->product * n * n * k + 2 * n) + 2 * r->copy * n * k + 10 * n;
}

/* QL steps: each rotation waits for the one before, whatever the lanes hold, and with vectors turns two columns. */
static double eigenvalues(const rates *r, double n, bool vectors) {
    const double rotated = vectors ? (1.4 + 5) * r->product * n * n * n : 0;
    return 1.8 * r->product * n * n * n + 36 * n * n + 20 * n + rotated;
}

/* The same for QR steps, with twice the rotations, of both sides. */
static double singular_values(const rates *r, double most, double least, bool vectors) {
    const double rotated = vectors ? (3.2 + 10) * r->product * most * least * least : 0;
    return 2.8 * r->product * most * least * least + 55 * least * least + 40 * least + rotated;
}

static double spectral_cost(const bp_problem *problem, const rates *r) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const double m = (double)l->m, n = (double)l->n, most = m > n ? m : n, least = m > n ? n : m;
    const double product = problem->op == BP_OP_PINV ? r->product * m * n * least + r->copy * m * n : 0;
    const bool pinv = problem->op == BP_OP_PINV, hermitian = problem->op == BP_OP_EIGH || l->hermitian;
    if (hermitian) {
        const bool vectors = pinv || l->operand[2].dtype != 0;
        return eigenvalues(r, n, vectors) + product + (vectors ? 2 * r->copy * n * n : 0);
    }
    const bool vectors = pinv || (problem->op == BP_OP_SVD && l->operand[1].dtype != 0);
    const double stored = problem->op == BP_OP_SVD && l->mode == BP_SVD_FULL ? most * most : most * least;
    return singular_values(r, most, least, vectors) + product + (vectors ? 2 * r->copy * (stored + least * least) : 0);
}

static double group_cost(const bp_problem *problem, const bp__interleaved_kernels *kernels) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const rates r = rates_of(kernels);
    const double m = (double)l->m, n = (double)l->n, k = (double)l->k, in = 60 + r.copy * m * n, lanes = kernels->lanes;
    const double items = l->batch < kernels->lanes ? (double)l->batch : lanes; /* whose diagonals are walked */
    switch ((bp_op)problem->op) {
    case BP_OP_LU_FACTOR:
        return in + lu(&r, m, n) + r.copy * m * n;
    case BP_OP_LU:
        return in + lu(&r, m, n) + r.copy * (m * m + 2 * m * n);
    case BP_OP_INV:
        return in + lu(&r, n, n) + 1.5 * r.product * n * n * n + 1.5 * r.copy * n * n + 14 * n;
    case BP_OP_CHOLESKY:
        return in + 0.65 * r.product * n * n * n + 12 * n + 1.3 * r.copy * n * n;
    case BP_OP_CHOLESKY_INVERSE:
        return in + 1.5 * r.product * n * n * n + 1.8 * r.copy * n * n + 14 * n;
    case BP_OP_SOLVE:
        return in + lu(&r, n, n) + solving(&r, n, k, 2);
    case BP_OP_LU_SOLVE:
        return in + lanes * n + solving(&r, n, k, 2);
    case BP_OP_CHOLESKY_SOLVE:
        return in + solving(&r, n, k, 2);
    case BP_OP_SOLVE_TRIANGULAR:
        return in + solving(&r, n, k, 1);
    case BP_OP_SLOGDET:
        return in + lu(&r, n, n) + items * (2 * n + 35);
    case BP_OP_DET:
        return in + lu(&r, n, n) + items * (2 * n + 10);
    default: /* of eigenvalues or singular values */
        return in + spectral_cost(problem, &r);
    }
}

double bp__small_cost(const bp_problem *problem, const bp__interleaved_kernels *kernels) {
    const int64_t groups = (problem->of.linalg.batch + kernels->lanes - 1) / kernels->lanes;
    return 20 + (double)groups * group_cost(problem, kernels);
}
