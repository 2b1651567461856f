/* products.c - makes matrix products: the ones in grid.c, and random ones. Sizes of the random ones are log-uniform in
 * 1 .. 2048, a part of them with one row or column; at least one size is no power of two, because powers of two are
 * measured when the machine is calibrated. */
#include "choice.h"

#include "../products.h"

#include <inttypes.h>
#include <stdio.h>

#define MOST_MULTIPLICATIONS 6e7

static void make(problem *p, bp_dtype dtype, const int64_t *s) {
    problem_add(p, dtype, 2, (const int64_t[]){s[0], s[1]});
    problem_add(p, dtype, 2, (const int64_t[]){s[1], s[2]});
    problem_add(p, dtype, 2, (const int64_t[]){s[0], s[2]});
    snprintf(p->name, sizeof p->name, "%s %" PRId64 "x%" PRId64 "x%" PRId64, bp_dtype_name(dtype), s[0], s[1], s[2]);
}

static void make_fixed(problem *p, int index) {
    make(p, index < FIXED_PRODUCTS ? BP_F32 : BP_F64, fixed_products[index % FIXED_PRODUCTS]);
}

static bool is_measured(const int64_t *s) {
    bool powers = true;
    for (int i = 0; i < 3; i++) {
        powers = powers && (s[i] & (s[i] - 1)) == 0;
    }
    return powers;
}

static void make_random(problem *p, uint64_t *state) {
    int64_t s[3];
    do {
        for (int i = 0; i < 3; i++) {
            s[i] = random_size(state, 2048);
        }
        const int thin = random_below(state, 8);
        s[0] = thin == 0 ? 1 : s[0];
        s[2] = thin == 1 || thin == 2 ? 1 : s[2];
    } while (is_measured(s) || (double)s[0] * (double)s[1] * (double)s[2] > MOST_MULTIPLICATIONS);
    make(p, random_below(state, 2) ? BP_F64 : BP_F32, s);
}

static bp_status plan(bp_plan **plan, const bp_options *options, const problem *p) {
    return bp_matmul_plan(plan, options, &p->views[0].tensor, &p->views[1].tensor, &p->views[2].tensor);
}

static bp_status explain(bp_explanation **explanation, const bp_options *options, const problem *p) {
    return bp_matmul_explain(explanation, options, &p->views[0].tensor, &p->views[1].tensor, &p->views[2].tensor);
}

static bp_status run(const problem *p) {
    return bp_matmul(&p->views[0].tensor, &p->views[1].tensor, (DLTensor *)&p->views[2].tensor);
}

const family family_products = {
    .name = "products",
    .preferred = "blas.preferred",
    .fixed = 2 * FIXED_PRODUCTS,
    .make_fixed = make_fixed,
    .make_random = make_random,
    .plan = plan,
    .explain = explain,
    .run = run,
};
