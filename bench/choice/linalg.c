/* linalg.c - makes problems of linear algebra: nine operations on single matrices of 1 to 600 rows and on batches of
 * small ones, row-major. */
#include "choice.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define LARGEST 600
#define MOST_WORK 2e9 /* n^3 multiplied by the number of items and the operation's factor */

typedef struct operation {
    const char *name;
    bp_op op;
    int inputs, outputs;
    double work; /* roughly, in units of n^3 */
} operation;

static const operation operations[] = {
    {"inv", BP_OP_INV, 1, 1, 2},     {"cholesky", BP_OP_CHOLESKY, 1, 1, 0.3},
    {"solve", BP_OP_SOLVE, 2, 1, 1}, {"lu_factor", BP_OP_LU_FACTOR, 1, 2, 0.7},
    {"qr", BP_OP_QR, 1, 2, 3},       {"eigh", BP_OP_EIGH, 1, 2, 9},
    {"svd", BP_OP_SVD, 1, 3, 20},    {"det", BP_OP_DET, 1, 1, 0.7},
    {"lstsq", BP_OP_LSTSQ, 2, 1, 4},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* Items and rows. */
static const int64_t fixed_sizes[][2] = {{1, 3}, {1, 12}, {1, 50}, {1, 150}, {1, 300}, {500, 4}, {100, 20}};
enum { SIZES = sizeof fixed_sizes / sizeof *fixed_sizes };

/* Makes the matrices of cholesky positive definite: the diagonal exceeds the sum of the others by far in the mean, and
 * only one triangle is read. */
static void add_to_diagonals(const problem *p, int64_t batch, int64_t n) {
    for (int64_t i = 0; i < batch * n; i++) {
        const int64_t at = i / n * n * n + i % n * (n + 1);
        if (bp_dtype_from_dlpack(p->views[0].tensor.dtype) == BP_F64) {
            ((double *)p->memory[0].base)[at] += 2 * (double)n;
        } else {
            ((float *)p->memory[0].base)[at] += 2 * (float)n;
        }
    }
}

static void make(problem *p, const operation *o, bp_dtype dtype, int64_t batch, int64_t n, int64_t columns) {
    const int64_t rows = o->op == BP_OP_LSTSQ ? 2 * n : n;
    const int64_t a[] = {batch, rows, n}, b[] = {batch, rows, columns};
    p->linalg = (bp_linalg_call){.struct_size = sizeof p->linalg, .op = o->op};
    problem_add(p, dtype, 3, a);
    if (o->inputs == 2) {
        problem_add(p, dtype, 3, b);
    }
    if (o->op == BP_OP_CHOLESKY) {
        add_to_diagonals(p, batch, n);
    }
    for (int i = 0; i < o->inputs; i++) {
        p->linalg.input[i] = &p->views[i].tensor;
    }
    for (int i = 0; i < o->outputs; i++) {
        bp_dtype type;
        int ndim;
        int64_t shape[BP_MAX_NDIM];
        must(bp_linalg_shape(&p->linalg, i, &type, &ndim, shape), "bp_linalg_shape");
        problem_add(p, type, ndim, shape);
        p->linalg.output[i] = &p->views[o->inputs + i].tensor;
    }
    snprintf(p->name, sizeof p->name, "%s %s %" PRId64 "*%" PRId64 "x%" PRId64, o->name, bp_dtype_name(dtype), batch,
             rows, o->inputs == 2 ? columns : n);
}

static void make_fixed(problem *p, int index) {
    const int64_t *size = fixed_sizes[index % SIZES];
    const int rest = index / SIZES;
    make(p, &operations[rest % OPERATIONS], rest < OPERATIONS ? BP_F32 : BP_F64, size[0], size[1], 5);
}

/* Whether matrices of this size are measured when the machine is calibrated. */
static bool is_measured(int64_t n) {
    return n == 2 || n == 8 || n == 32 || n == 96 || n == 256;
}

static void make_random(problem *p, uint64_t *state) {
    const operation *o = &operations[random_below(state, OPERATIONS)];
    int64_t n, batch;
    do {
        n = random_size(state, LARGEST);
        batch = random_below(state, 2) && n <= 64 ? random_size(state, 1000) : 1;
    } while (is_measured(n) || o->work * (double)(n * n * n * batch) > MOST_WORK);
    const bp_dtype dtype = random_below(state, 2) ? BP_F64 : BP_F32;
    make(p, o, dtype, batch, n, random_size(state, 32));
}

static bp_status plan(bp_plan **plan, const bp_options *options, const problem *p) {
    return bp_linalg_plan(plan, options, &p->linalg);
}

static bp_status explain(bp_explanation **explanation, const bp_options *options, const problem *p) {
    return bp_linalg_explain(explanation, options, &p->linalg);
}

static bp_status run(const problem *p) {
    return bp_linalg_run(NULL, &p->linalg);
}

const family family_linalg = {
    .name = "linalg",
    .preferred = "linalg.preferred",
    .fixed = 2 * OPERATIONS * SIZES,
    .make_fixed = make_fixed,
    .make_random = make_random,
    .plan = plan,
    .explain = explain,
    .run = run,
};
