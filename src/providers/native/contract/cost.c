/* cost.c - how long a contraction takes, roughly: so that tiling.c can choose what vectors follow, and a planner can
 * compare a contraction with a product by a library.
 */
#include "contract.h"

/* Nanoseconds for an element, in the first caches, on a Zen core near 3 GHz. */
static const double move_ns[] = {
    [BP__MOVE_ROWS] = 0.03,  [BP__MOVE_FILL] = 0.03,  [BP__MOVE_TURN] = 0.25,
    [BP__MOVE_UNTURN] = 0.3, [BP__MOVE_GATHER] = 0.4, [BP__MOVE_SCATTER] = 0.6,
};
/* Bytes of a nanosecond beyond the second cache and beyond the last one, along lines and across them. */
static const double cache_rate[] = {65, 28}, memory_rate[] = {17, 5};
/* An element that shares its line and its page with no other, beyond the caches. */
static const double far_ns = 6;
/* A load of an element by vectors, for each of its bytes, and one element that is loaded alone. */
static const double load_ns = 0.006, one_ns = 0.02;
/* To begin with a row of sums, a dot product, or a row of products. */
static const double row_ns = 9, dot_ns = 9, few_ns = 1, product_ns = 4;
/* Vectors of other instruction sets than AVX2. */
static const double slower[] = {1.8, 1, 0.8};

static double larger(double a, double b) {
    return a > b ? a : b;
}

static bool is_dense(const bp__contract_tiling *f, int d, int side) {
    return d < 0 || f->dim[d].step[side] == f->unit;
}

/* Whether two dimensions make tiles that can be turned. */
static bool is_square(const bp__contract_tiling *f, int x, int y) {
    return x >= 0 && y >= 0 && f->dim[x].size >= 4 && f->dim[y].size >= 4;
}

/* Whether an operand is contiguous in some dimension of C but x, so that tiles of it can be turned. */
static bool turns(const bp__contract_tiling *f, int x, int side) {
    for (int d = 0; d < f->kept; d++) {
        if (d != x && is_dense(f, d, side) && is_square(f, x, d)) {
            return true;
        }
    }
    return false;
}

/* Whether the kernels add a dot product's terms one by one. */
static bool is_few(const bp__contract_tiling *f, double terms) {
    return terms <= 4 && !f->pairs;
}

static double size_of(const bp__contract_tiling *f, int d, double most) {
    const double size = d < 0 ? 1 : (double)f->dim[d].size;
    return size < most ? size : most;
}

/* An operand's part of a product when vectors follow `along`. */
static double operand_price(const bp__contract_tiling *f, int side, int along, bool turned) {
    const double load = load_ns * (double)f->unit;
    if (is_dense(f, along, side)) {
        return load;
    }
    if (f->dim[along].step[side] == 0) {
        return one_ns;
    }
    return load + move_ns[turned ? BP__MOVE_TURN : BP__MOVE_GATHER];
}

double bp__contract_price(const bp__contract_tiling *f, bp__contract_mode mode, int x, int y, double row) {
    const bool dots = mode == BP__CONTRACT_DOTS, product = mode == BP__CONTRACT_PRODUCT, folds = x >= f->kept;
    const double nx = row < 2048 ? row : 2048, ny = size_of(f, y, dots ? 4096 : 512), length = dots ? ny : nx;
    const double lanes = 32 / (double)(f->unit < 4 ? 4 : f->unit);
    const bool few = dots && is_few(f, ny);
    double price = dots ? (few ? few_ns : dot_ns) / ny : product ? product_ns / nx : row_ns / (nx * ny);
    for (int side = BP__A; side <= (f->second ? BP__B : BP__A); side++) {
        const int along = dots ? y : x, across = dots ? x : y;
        const bool turned = product ? turns(f, x, side) : is_square(f, x, y) && is_dense(f, across, side);
        const double operand = operand_price(f, side, along, turned);
        price += operand * (length < lanes && operand < 0.2 && !few ? lanes / length : 1);
    }
    /* A row that folds is added up in the end, for each element of C. */
    const double each = folds ? 20 + nx : operand_price(f, BP__C, x, turns(f, x, BP__C)) + (x < f->kept - 1 ? 0.01 : 0);
    return price + (product ? each : each * f->elements / f->products);
}

/* How many elements an operand has, each counted once, and how near the nearest two are, in bytes. */
static double elements_of(const bp__contract_tiling *f, int side, int64_t *nearest) {
    double elements = 1;
    *nearest = INT64_MAX;
    for (int d = 0; d < f->ndim; d++) {
        const int64_t step = f->dim[d].step[side] < 0 ? -f->dim[d].step[side] : f->dim[d].step[side];
        elements *= step ? (double)f->dim[d].size : 1;
        *nearest = step && step < *nearest ? step : *nearest;
    }
    return elements;
}

static double compute_cost(const bp__contract_tiling *f, bool halves, int level) {
    const double unit = (double)f->unit, speed = slower[level] * (halves && level == 0 ? 6 : 1);
    const double x = (double)f->x.count, y = (double)f->y.count, z = (double)f->z.count;
    const double lanes = 32 / (unit < 4 ? 4 : unit), elements = f->elements, products = f->products;
    const double arithmetic = load_ns * (f->second ? 2 : 1) * unit * speed;
    double cost = 0;
    switch (f->mode) {
    case BP__CONTRACT_NOTHING:
        return 0;
    case BP__CONTRACT_COPY:
        return elements * move_ns[f->move[BP__C]] + (double)f->outer.count * (10 + 3 * z);
    case BP__CONTRACT_PRODUCT:
        cost = elements * (arithmetic * larger(1, lanes / x) + load_ns * unit + product_ns / x);
        break;
    case BP__CONTRACT_ROWS:
        cost = products * (arithmetic * larger(1, lanes / x) + row_ns / (x * y)) + elements * load_ns * unit * 2;
        cost += f->folds ? elements / (double)f->base * (20 + x) : 0;
        break;
    case BP__CONTRACT_DOTS:
        cost = is_few(f, y) ? products * (arithmetic + few_ns / y)
                            : products * (arithmetic * larger(1, lanes / y) + dot_ns / y);
        cost += elements * load_ns * unit;
        break;
    }
    for (int side = BP__A; side <= BP__B; side++) {
        cost += f->packed[side] ? products * move_ns[f->move[side]] : 0;
    }
    cost += f->packed[BP__C] ? elements * move_ns[f->move[BP__C]] : 0;
    return cost + (double)f->outer.count * (double)f->terms.count * 10;
}

/* Whether neighbours along the axis that vectors follow are lines apart. */
static bool is_across(const bp__contract_tiling *f, int side) {
    enum { FAR = 128 };
    const bp__contract_axis *axis = f->mode == BP__CONTRACT_DOTS && side != BP__C ? &f->y : &f->x;
    const int64_t step = axis->parts ? f->dim[axis->part[0]].step[side] : 0;
    return step >= FAR || step <= -FAR;
}

/* What moving all operands through the caches takes. */
static double memory_cost(const bp_host *host, const bp__contract_tiling *f) {
    enum { LINE = 64 };
    const double l2 = host->machine->l2_bytes > 0 ? (double)host->machine->l2_bytes : 512 << 10;
    const double l3 = host->machine->l3_bytes > 0 ? (double)host->machine->l3_bytes : 8e6;
    double bytes = 0, far = 0;
    bool across = false;
    for (int side = 0; side < BP__OPERANDS; side++) {
        int64_t nearest = 0;
        const double elements = side == BP__B && !f->second ? 0 : elements_of(f, side, &nearest);
        const bool alone = nearest >= LINE && elements > 1 && elements * (double)nearest > l2;
        across = across || (elements > 1 && is_across(f, side));
        bytes += elements * (double)(alone ? LINE : f->unit);
        far += alone && elements * (double)nearest > l3 ? elements * far_ns : 0;
    }
    return bytes < l2 / 2 ? far : far + bytes / (bytes < l3 / 2 ? cache_rate : memory_rate)[across];
}

double bp__contract_cost(const bp_host *host, const bp_problem *problem, int level, const bp__contract_tiling *f) {
    return 15 + larger(memory_cost(host, f), compute_cost(f, problem->dtype <= BP_BF16, level));
}
