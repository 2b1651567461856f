/* cost.c - estimates the time of batches of small matrices, so that dispatch can compare the interleaved kernels with a
 * loop over a library.
 *
 * The times of single kernels were measured for full groups, on a Zen core near 3 GHz, and fitted by their counts of
 * multiply-adds, copied elements and steps. A vector takes about the same time in every instruction set; a wider one
 * needs fewer groups.
 */
#include "small.h"

/* Nanoseconds for one group. */
typedef struct rates {
    double product; /* multiply-add of vector elements */
    double copy;    /* load or store of a vector element; loads include the check for NaN */
    double swap;    /* exchange of a vector element in all lanes */
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

/* Loads and stores right sides and solves with `triangles` triangles. */
static double solving(const rates *r, double n, double k, int triangles) {
    return triangles * (r->product * n * n * k + 2 * n) + 2 * r->copy * n * k + 10 * n;
}

/* QL steps: each rotation depends on the one before, and with vectors it is applied to two columns. */
static double eigenvalues(const rates *r, double n, bool vectors) {
    const double rotated = vectors ? (1.4 + 5) * r->product * n * n * n : 0;
    return 1.8 * r->product * n * n * n + 36 * n * n + 20 * n + rotated;
}

/* QR steps: like QL steps, with twice the rotations, for both sides. */
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
    const double items = l->batch < kernels->lanes ? (double)l->batch : lanes; /* each item's diagonal is read
                                                                                * separately */
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
    default: /* operations on eigenvalues or singular values */
        return in + spectral_cost(problem, &r);
    }
}

double bp__small_cost(const bp_problem *problem, const bp__interleaved_kernels *kernels) {
    const int64_t groups = (problem->of.linalg.batch + kernels->lanes - 1) / kernels->lanes;
    return 20 + (double)groups * group_cost(problem, kernels);
}
