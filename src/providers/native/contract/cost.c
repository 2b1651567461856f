/* cost.c - estimates the time of a contraction, so that tiling.c can choose the vector axis and dispatch can compare a
 * contraction with a library's product.
 */
#include "contract.h"

/* Nanoseconds to pack an element in the first-level caches, on a Zen core near 3 GHz. */
static const double pack_ns[] = {
    [BP__PACK_ROWS] = 0.03,       [BP__PACK_FILL] = 0.03,  [BP__PACK_TRANSPOSE] = 0.25,
    [BP__PACK_UNTRANSPOSE] = 0.3, [BP__PACK_GATHER] = 0.4, [BP__PACK_SCATTER] = 0.6,
};
/* Bytes per nanosecond beyond the second-level cache and beyond the last one: contiguous, and strided. */
static const double cache_rate[] = {65, 28}, memory_rate[] = {17, 5};
/* Nanoseconds for an element beyond the caches that is alone in its cache line and its page. */
static const double far_ns = 6;
/* Nanoseconds to load one byte by vectors, and to load one element alone. */
static const double load_ns = 0.006, one_ns = 0.02;
/* Nanoseconds to start a row of sums, a dot product, a short dot product, and a row of products. */
static const double row_ns = 9, dot_ns = 9, few_ns = 1, product_ns = 4;
/* Factor of each ISA's vectors, relative to AVX2. */
static const double slower[] = {1.8, 1, 0.8};

static bool is_dense(const bp__contract_tiling *t, int d, int side) {
    return d < 0 || t->dim[d].step[side] == t->unit;
}

/* Returns whether two dimensions make tiles that can be transposed. */
static bool is_square(const bp__contract_tiling *t, int x, int y) {
    return x >= 0 && y >= 0 && t->dim[x].size >= 4 && t->dim[y].size >= 4;
}

/* Returns whether an operand is contiguous in a dimension of C other than x, so that tiles of it can be transposed. */
static bool can_transpose(const bp__contract_tiling *t, int x, int side) {
    for (int d = 0; d < t->output_ndim; d++) {
        if (d != x && is_dense(t, d, side) && is_square(t, x, d)) {
            return true;
        }
    }
    return false;
}

/* Returns whether the kernels add the terms of a dot product one by one. */
static bool is_few(const bp__contract_tiling *t, double terms) {
    return terms <= 4 && !t->pairs;
}

static double size_of(const bp__contract_tiling *t, int d, double most) {
    const double size = d < 0 ? 1 : (double)t->dim[d].size;
    return size < most ? size : most;
}

/* Returns the nanoseconds that an operand adds to a product if vectors follow `along`. */
static double operand_price(const bp__contract_tiling *t, int side, int along, bool transposed) {
    const double load = load_ns * (double)t->unit;
    if (is_dense(t, along, side)) {
        return load;
    }
    if (t->dim[along].step[side] == 0) {
        return one_ns;
    }
    return load + pack_ns[transposed ? BP__PACK_TRANSPOSE : BP__PACK_GATHER];
}

double bp__contract_price(const bp__contract_tiling *t, bp__contract_mode mode, int x, int y, double row) {
    const bool dots = mode == BP__CONTRACT_DOTS, product = mode == BP__CONTRACT_PRODUCT, folds = x >= t->output_ndim;
    const double nx = row < 2048 ? row : 2048, ny = size_of(t, y, dots ? 4096 : 512), length = dots ? ny : nx;
    const double lanes = 32 / (double)(t->unit < 4 ? 4 : t->unit);
    const bool few = dots && is_few(t, ny);
    double price = dots ? (few ? few_ns : dot_ns) / ny : product ? product_ns / nx : row_ns / (nx * ny);
    for (int side = BP__A; side <= (t->has_b ? BP__B : BP__A); side++) {
        const int along = dots ? y : x, across = dots ? x : y;
        const bool transposed = product ? can_transpose(t, x, side) : is_square(t, x, y) && is_dense(t, across, side);
        const double operand = operand_price(t, side, along, transposed);
        price += operand * (length < lanes && operand < 0.2 && !few ? lanes / length : 1);
    }
    /* A folded row is reduced at the end, once for each element of C. */
    const double each =
        folds ? 20 + nx : operand_price(t, BP__C, x, can_transpose(t, x, BP__C)) + (x < t->output_ndim - 1 ? 0.01 : 0);
    return price + (product ? each : each * t->elements / t->products);
}

/* Returns the number of distinct elements of an operand; *nearest is its smallest stride in bytes. */
static double elements_of(const bp__contract_tiling *t, int side, int64_t *nearest) {
    double elements = 1;
    *nearest = INT64_MAX;
    for (int d = 0; d < t->ndim; d++) {
        const int64_t step = t->dim[d].step[side] < 0 ? -t->dim[d].step[side] : t->dim[d].step[side];
        elements *= step ? (double)t->dim[d].size : 1;
        *nearest = step && step < *nearest ? step : *nearest;
    }
    return elements;
}

static double compute_cost(const bp__contract_tiling *t, bool halves, int isa) {
    const double unit = (double)t->unit, speed = slower[isa] * (halves && isa == 0 ? 6 : 1);
    const double x = (double)t->x.count, y = (double)t->y.count, z = (double)t->z.count;
    const double lanes = 32 / (unit < 4 ? 4 : unit), elements = t->elements, products = t->products;
    const double arithmetic = load_ns * (t->has_b ? 2 : 1) * unit * speed;
    double cost = 0;
    switch (t->mode) {
    case BP__CONTRACT_NOTHING:
        return 0;
    case BP__CONTRACT_COPY:
        return elements * pack_ns[t->pack_kind[BP__C]] + (double)t->outer.count * (10 + 3 * z);
    case BP__CONTRACT_PRODUCT:
        cost = elements * (arithmetic * bp__most_real(1, lanes / x) + load_ns * unit + product_ns / x);
        break;
    case BP__CONTRACT_ROWS:
        cost = products * (arithmetic * bp__most_real(1, lanes / x) + row_ns / (x * y)) + elements * load_ns * unit * 2;
        cost += t->folds ? elements / (double)t->base * (20 + x) : 0;
        break;
    case BP__CONTRACT_DOTS:
        cost = is_few(t, y) ? products * (arithmetic + few_ns / y)
                            : products * (arithmetic * bp__most_real(1, lanes / y) + dot_ns / y);
        cost += elements * load_ns * unit;
        break;
    }
    for (int side = BP__A; side <= BP__B; side++) {
        cost += t->packed[side] ? products * pack_ns[t->pack_kind[side]] : 0;
    }
    cost += t->packed[BP__C] ? elements * pack_ns[t->pack_kind[BP__C]] : 0;
    return cost + (double)t->outer.count * (double)t->terms.count * 10;
}

/* Returns whether neighbours along the vector axis are at least a cache line apart. */
static bool is_across(const bp__contract_tiling *t, int side) {
    enum { FAR = 128 };
    const bp__contract_axis *axis = t->mode == BP__CONTRACT_DOTS && side != BP__C ? &t->y : &t->x;
    const int64_t step = axis->ndim ? t->dim[axis->dim[0]].step[side] : 0;
    return step >= FAR || step <= -FAR;
}

/* Returns the nanoseconds to move all operands through the caches. */
static double memory_cost(const bp_host *host, const bp__contract_tiling *t) {
    enum { CACHE_LINE = 64 };
    const double l2 = host->machine->l2_bytes > 0 ? (double)host->machine->l2_bytes : 512 << 10;
    const double l3 = host->machine->l3_bytes > 0 ? (double)host->machine->l3_bytes : 8e6;
    double bytes = 0, far = 0;
    bool across = false;
    for (int side = 0; side < BP__OPERANDS; side++) {
        int64_t nearest = 0;
        const double elements = side == BP__B && !t->has_b ? 0 : elements_of(t, side, &nearest);
        const bool alone = nearest >= CACHE_LINE && elements > 1 && elements * (double)nearest > l2;
        across = across || (elements > 1 && is_across(t, side));
        bytes += elements * (double)(alone ? CACHE_LINE : t->unit);
        far += alone && elements * (double)nearest > l3 ? elements * far_ns : 0;
    }
    return bytes < l2 / 2 ? far : far + bytes / (bytes < l3 / 2 ? cache_rate : memory_rate)[across];
}

double bp__contract_cost(const bp_host *host, const bp_problem *problem, int isa, const bp__contract_tiling *t) {
    return 15 + bp__most_real(memory_cost(host, t), compute_cost(t, problem->dtype <= BP_BF16, isa));
}
