/* measuring.c - what measuring contractions needs. */
#include "ops/einsum/classes.h"
#include "ops/einsum/einsum.h"
#include "tuning/trial.h"

#include <math.h>
#include <stdlib.h>

static void finish_trial(bp__trial *trial) {
    const bp_contract_problem *p = &trial->problem->of.contract;
    double products = 1; /* in one sum */
    for (int d = p->output_ndim; d < p->ndim; d++) {
        products *= (double)p->size[d];
    }
    trial->roundings = sqrt(products);
    trial->scale = sqrt(products) / 3 + 1; /* of a sum of products of numbers in [-1, 1] */
}

/* Returns the dimension in which the operand's elements are nearest to each other; -1: it has none with more than one
 * index. */
static int nearest_dimension(const bp_contract_problem *p, const int64_t *strides) {
    int nearest = -1;
    for (int d = 0; d < p->ndim; d++) {
        const bool walks = p->size[d] > 1 && strides[d] != 0;
        nearest = walks && (nearest < 0 || llabs(strides[d]) < llabs(strides[nearest])) ? d : nearest;
    }
    return nearest;
}

/* A tile is transposed if each of its sides is contiguous in one of the tensors. */
static bp__contract_variant variant_of_copy(const bp_contract_problem *p) {
    enum { TILE = 4 };
    const int to = nearest_dimension(p, p->c), from = nearest_dimension(p, p->a);
    if (to == from || to < 0 || from < 0) {
        return BP__CONTRACT_COPIED_ROWS;
    }
    return p->size[to] >= TILE && p->size[from] >= TILE ? BP__CONTRACT_TRANSPOSED : BP__CONTRACT_GATHERED;
}

/* Whether each operand has a kept dimension that the other one does not have. */
static bool multiplies_matrices(const bp_contract_problem *p) {
    bool rows = false, columns = false;
    for (int d = 0; d < p->output_ndim && p->has_b; d++) {
        rows |= p->size[d] > 1 && p->b[d] == 0;
        columns |= p->size[d] > 1 && p->a[d] == 0;
    }
    return rows && columns;
}

static bp__contract_variant variant_of_matrices(const bp_contract_problem *p) {
    const int a = nearest_dimension(p, p->a), b = nearest_dimension(p, p->b);
    if ((a >= 0 && a < p->output_ndim && p->b[a] != 0) || (b >= 0 && b < p->output_ndim && p->a[b] != 0)) {
        return BP__CONTRACT_MATRICES_ITEMS;
    }
    const int along = (a >= p->output_ndim) + (b >= p->output_ndim);
    return along == 2 ? BP__CONTRACT_MATRICES_BOTH : along == 1 ? BP__CONTRACT_MATRICES_ONE : BP__CONTRACT_MATRICES;
}

static bp__contract_variant variant_of(const bp_contract_problem *p) {
    if (p->ndim == p->output_ndim) {
        return p->has_b ? BP__CONTRACT_PRODUCTS : variant_of_copy(p);
    }
    if (multiplies_matrices(p)) {
        return variant_of_matrices(p);
    }
    const bool along = nearest_dimension(p, p->a) >= p->output_ndim;
    return along ? (p->has_b ? BP__CONTRACT_DOTS : BP__CONTRACT_SUMS)
                 : (p->has_b ? BP__CONTRACT_SCALED_ROWS : BP__CONTRACT_ROW_SUMS);
}

static void place(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_contract_problem *p = &problem->of.contract;
    const bp__contract_variant variant = variant_of(p);
    double kept = 1, summed = 1;
    (void)verdict;
    for (int d = 0; d < p->ndim; d++) {
        *(d < p->output_ndim ? &kept : &summed) *= (double)p->size[d];
    }
    const bool sums = p->ndim > p->output_ndim;
    const double side = sqrt(variant == BP__CONTRACT_GATHERED ? kept / 2 : kept);
    place->class = bp__class_find((bp_op)problem->op, (bp_dtype)problem->dtype, (int)variant);
    place->sizes[0] = sums ? kept : side;
    place->sizes[1] = sums ? summed : side;
    place->differs = true;
}

static void set_dimension(bp_contract_problem *p, int64_t size, int64_t a, int64_t b, int64_t c) {
    p->size[p->ndim] = size;
    p->a[p->ndim] = a;
    p->b[p->ndim] = b;
    p->c[p->ndim++] = c;
}

/* The product of two matrices of similar sizes, whose rows are two dimensions that are in another order in the result:
 * products that libraries take as they are seldom become contractions. */
static void sample_matrices(bp_contract_problem *p, bp__contract_variant variant, int64_t elements, int64_t summed) {
    const int64_t side = (int64_t)sqrt((double)elements), inner = side < 16 ? 2 : 8, outer = side / inner;
    const bool along_a = variant == BP__CONTRACT_MATRICES_BOTH, along_b = variant != BP__CONTRACT_MATRICES;
    set_dimension(p, outer, along_a ? summed : 1, 0, side * inner);
    set_dimension(p, side, 0, along_b ? summed : 1, inner);
    set_dimension(p, inner, outer * summed, 0, 1);
    set_dimension(p, summed, along_a ? 1 : outer, along_b ? 1 : side, 0);
}

/* Products of matrices, with elements of the other products between the elements of each. */
static void sample_items(bp_contract_problem *p, int64_t elements, int64_t summed) {
    const int64_t items = elements < 256 ? 4 : 16, side = (int64_t)sqrt((double)(elements / items));
    set_dimension(p, side, items, 0, side * items);
    set_dimension(p, side, 0, items, items);
    set_dimension(p, items, 1, 1, 1);
    set_dimension(p, summed, side * items, side * items, 0);
}

/* A matrix of rows and columns is copied, or multiplied by a vector, or its rows are added; or it is the product of two
 * vectors. */
static bp_status sample(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    bp_contract_problem *p = &problem->of.contract;
    const int64_t rows = sizes[0], columns = sizes[1];
    const bp__contract_variant variant = (bp__contract_variant) class->variant;
    problem->dtype = (uint32_t) class->dtype;
    p->has_b = variant >= BP__CONTRACT_DOTS;
    switch (variant) {
    case BP__CONTRACT_TRANSPOSED:
        set_dimension(p, columns, 1, 0, rows);
        set_dimension(p, rows, columns, 0, 1);
        break;
    case BP__CONTRACT_COPIED_ROWS:
        set_dimension(p, rows, 2 * columns, 0, columns);
        set_dimension(p, columns, 1, 0, 1);
        break;
    case BP__CONTRACT_GATHERED: /* pairs of rows are interleaved */
        set_dimension(p, rows, 2 * columns, 0, 2 * columns);
        set_dimension(p, columns, 1, 0, 2);
        set_dimension(p, 2, columns, 0, 1);
        break;
    case BP__CONTRACT_PRODUCTS:
        set_dimension(p, rows, 1, 0, columns);
        set_dimension(p, columns, 0, 1, 1);
        break;
    case BP__CONTRACT_SUMS:
    case BP__CONTRACT_DOTS:
        set_dimension(p, rows, columns, 0, 1);
        set_dimension(p, columns, 1, p->has_b, 0);
        break;
    case BP__CONTRACT_ROW_SUMS:
    case BP__CONTRACT_SCALED_ROWS:
        set_dimension(p, rows, 1, 0, 1);
        set_dimension(p, columns, rows, p->has_b, 0);
        break;
    case BP__CONTRACT_MATRICES:
    case BP__CONTRACT_MATRICES_ONE:
    case BP__CONTRACT_MATRICES_BOTH:
        sample_matrices(p, variant, rows, columns);
        break;
    case BP__CONTRACT_MATRICES_ITEMS:
        sample_items(p, rows, columns);
        break;
    }
    const bool sums = variant >= BP__CONTRACT_SUMS && variant != BP__CONTRACT_PRODUCTS; /* over the last dimension */
    p->output_ndim = p->ndim - sums;
    return BP_OK;
}

const bp__measuring bp__measuring_contract = {
    .sample = sample,
    .place = place,
    .finish_trial = finish_trial,
};
