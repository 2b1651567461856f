/* functions.c - computes functions of elements, products of matrices, reductions and views for the double. */
#include "parts.h"

#include <math.h>

static const tensor *at(const run_values *v, int i) {
    return &v->what->tensors[i];
}

/* Returns the element of b that belongs to element i of y: dimensions of size 1 are repeated. */
static int64_t broadcast(const tensor *y, const tensor *b, int64_t i) {
    int64_t found = 0, scale = 1;
    for (int d = y->ndim - 1; d >= 0; d--) {
        found += b->size[d] > 1 ? i % y->size[d] * scale : 0;
        scale *= b->size[d];
        i /= y->size[d];
    }
    return found;
}

/* ---- Functions of elements ---- */

/* Returns the index of an element in a dimension. */
static long double index_of(const tensor *y, int64_t i, int64_t axis) {
    for (int d = y->ndim - 1; d > axis; d--) {
        i /= y->size[d];
    }
    return (long double)(i % y->size[axis]);
}

/* Rows whose scores all are -infinity have weights 0, and a logarithm of -infinity. */
static long double subtract(long double a, long double b) {
    const bool empty = isinf(a) && a < 0 && a == b && !double_has(CUDNN_FAULT_EMPTY);
    return empty ? a : a - b;
}

static long double divide(long double a, long double b) {
    return a == 0 && b == 0 ? 0 : a / b;
}

/* Returns the function of the inputs at an element; `memory`: the second input is an operand. */
static long double value_of(const operation *o, const long double in[3], const tensor *y, int64_t i, bool memory) {
    switch (o->mode) {
    case BP__CUDNN_POINTWISE_ADD:
        return in[0] + (double_has(CUDNN_FAULT_BIAS) || (memory && double_has(CUDNN_FAULT_MASK)) ? 0 : in[1]);
    case BP__CUDNN_POINTWISE_MUL:
        return in[0] * in[1];
    case BP__CUDNN_POINTWISE_SUB:
        return subtract(in[0], in[1]);
    case BP__CUDNN_POINTWISE_DIV:
        return divide(in[0], in[1]);
    case BP__CUDNN_POINTWISE_EXP:
        return expl(in[0]);
    case BP__CUDNN_POINTWISE_LOG:
        return double_has(CUDNN_FAULT_STATS) ? log2l(in[0]) : logl(in[0]);
    case BP__CUDNN_POINTWISE_RELU_FWD:
        return in[0] < 0 && !double_has(CUDNN_FAULT_RELU) ? 0 : in[0];
    case BP__CUDNN_POINTWISE_GEN_INDEX:
        return index_of(y, i, o->axis);
    case BP__CUDNN_POINTWISE_CMP_GE:
        return double_has(CUDNN_FAULT_CAUSAL) ? in[0] > in[1] : in[0] >= in[1];
    case BP__CUDNN_POINTWISE_BINARY_SELECT:
        return in[2] != 0 ? in[0] : in[1];
    default: /* identity */
        return in[0];
    }
}

static bool is_in_memory(const run_values *v, int i) {
    return i >= 0 && !at(v, i)->is_virtual && !at(v, i)->is_number;
}

static void compute_function(const run_values *v, const operation *o) {
    const tensor *y = at(v, o->out);
    const bool memory = is_in_memory(v, o->in[1]);
    const bool forgets = double_has(CUDNN_FAULT_SUMS) && o->mode == BP__CUDNN_POINTWISE_MUL && !y->is_virtual;
    const int64_t count = double_count(y);
    for (int64_t i = 0; i < count; i++) {
        long double in[3] = {0};
        for (int k = 0; k < 3 && o->in[k] >= 0; k++) {
            in[k] = v->of[o->in[k]][broadcast(y, at(v, o->in[k]), i)];
            in[k] = at(v, o->in[k])->is_number && isfinite(in[k]) && double_has(CUDNN_FAULT_SCALE) ? 1 : in[k];
        }
        v->of[o->out][i] = forgets ? 0 : double_round(y->type, value_of(o, in, y, i, memory));
    }
}

/* ---- Products, reductions, views ---- */

/* Heads that share a matrix are neighbours. */
static int64_t head_of(int64_t head, int64_t all, int64_t own) {
    return double_has(CUDNN_FAULT_HEADS) ? head % own : head / (all / own);
}

static void multiply(const run_values *v, const operation *o) {
    const tensor *a = at(v, o->in[0]), *b = at(v, o->in[1]), *c = at(v, o->out);
    const int64_t rows = c->size[2], columns = c->size[3], inner = a->size[3], count = double_count(c);
    for (int64_t i = 0; i < count; i++) {
        const int64_t item = i / (rows * columns), row = i / columns % rows, column = i % columns;
        const int64_t shared = item / c->size[1] * b->size[1] + head_of(item % c->size[1], c->size[1], b->size[1]);
        const long double *left = v->of[o->in[0]] + (item * rows + row) * inner;
        const long double *right = v->of[o->in[1]] + shared * inner * columns + column;
        long double sum = 0;
        for (int64_t k = 0; k < inner; k++) {
            sum += left[k] * right[k * columns];
        }
        v->of[o->out][i] = double_round(c->type, sum);
    }
}

static void reduce(const run_values *v, const operation *o) {
    const tensor *x = at(v, o->in[0]), *y = at(v, o->out);
    const bool most = o->mode == BP__CUDNN_REDUCE_TENSOR_MAX;
    const int64_t all = double_count(y), count = double_count(x);
    for (int64_t i = 0; i < all; i++) {
        v->of[o->out][i] = most ? -INFINITY : 0;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, to = 0, scale = 1;
        for (int d = x->ndim - 1; d >= 0; d--) {
            const int64_t index = rest % x->size[d];
            to += scale * (y->size[d] == 1 ? 0 : d == 1 ? head_of(index, x->size[1], y->size[1]) : index);
            scale *= y->size[d];
            rest /= x->size[d];
        }
        long double *into = &v->of[o->out][to];
        const long double value = v->of[o->in[0]][i];
        *into = !most ? *into + value : value > *into || isnan(value) ? value : *into;
    }
    for (int64_t i = 0; i < all; i++) {
        v->of[o->out][i] = double_round(y->type, v->of[o->out][i]);
    }
}

static void turn(const run_values *v, const operation *o) {
    const tensor *y = at(v, o->out);
    const int64_t rows = y->size[2], columns = y->size[3], count = double_count(y);
    for (int64_t i = 0; i < count; i++) {
        const int64_t matrix = i / (rows * columns), row = i / columns % rows, column = i % columns;
        v->of[o->out][i] = double_round(y->type, v->of[o->in[0]][(matrix * columns + column) * rows + row]);
    }
}

void double_apply(const run_values *v, const operation *o) {
    switch (o->type) {
    case BP__CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        multiply(v, o);
        return;
    case BP__CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        reduce(v, o);
        return;
    case BP__CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        turn(v, o);
        return;
    default:
        compute_function(v, o);
    }
}
