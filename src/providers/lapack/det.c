/* det.c - computes det and slogdet, from the diagonal of U and the parity of the row exchanges. */
#include "providers/lapack/factor.h"
#include "providers/lapack/operations.h"

#include <math.h>

enum { FACTOR_VIEW };

static bp_status prepare(bp__lapack_plan *plan) {
    plan->view[FACTOR_VIEW] = bp__lapack_place_in_scratch(plan, 0, false, false);
    plan->at[0] = bp__lapack_reserve(plan, plan->problem.of.linalg.n, plan->integer);
    return BP_OK;
}

/* A product that cannot overflow: for det value * 2^exponent, with components of value near one. */
typedef struct product {
    bp_scalar value;
    int64_t exponent;
    double log; /* for slogdet: logarithm of the absolute value */
    bp_scalar sign;
} product;

static bp_scalar times(bp_scalar a, bp_scalar b) {
    return (bp_scalar){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Scales a number by a power of two, so that its absolute value is between 1/2 and 2. */
static bp_scalar moderate(bp_scalar number, int64_t *exponent) {
    int power;
    frexp(fmax(fabs(number.re), fabs(number.im)), &power);
    *exponent += power;
    return (bp_scalar){ldexp(number.re, -power), ldexp(number.im, -power)};
}

static void multiply(product *p, bp_scalar factor) {
    p->value = times(p->value, moderate(factor, &p->exponent));
    p->value = moderate(p->value, &p->exponent);
}

/* Updates sign and logarithm. det skips this, because it takes longer than everything else here. */
static void add_log(product *p, bp_scalar factor) {
    int64_t exponent = 0;
    bp_scalar scaled = moderate(factor, &exponent);
    double length = hypot(scaled.re, scaled.im);
    p->sign = times(p->sign, (bp_scalar){scaled.re / length, scaled.im / length});
    p->log += log(length) + (double)exponent * M_LN2;
}

static product product_of(const bp__lapack_plan *plan, const bp__lapack_item *item) {
    const bp__lapack_view *view = &plan->view[FACTOR_VIEW];
    const char *lu = item->scratch + view->at;
    void (*take)(product *, bp_scalar) = plan->problem.op == BP_OP_DET ? multiply : add_log;
    product p = {.value = {1, 0}, .sign = {1, 0}};
    for (int64_t i = 0; i < view->rows; i++) {
        bp_scalar factor = bp__lapack_get(plan->dtype, lu + (size_t)(i * view->ld + i) * plan->size);
        bool exchanged = bp__lapack_value_at(plan, item->scratch + plan->at[0], i) != i + 1;
        take(&p, exchanged ? (bp_scalar){-factor.re, -factor.im} : factor);
    }
    return p;
}

/* Returns zeros for a singular matrix, exactly or numerically; that is no failure. */
static product product_of_item(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    bp__lapack_factor_either(plan, item, &plan->view[FACTOR_VIEW], item->scratch + plan->at[0], info);
    if (*info == 0) {
        return product_of(plan, item);
    }
    *info = *info > 0 ? 0 : *info;
    return (product){.log = -INFINITY};
}

static int limited_exponent(int64_t exponent) {
    return (int)(exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : exponent);
}

static bp_status run_det(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    product p = product_of_item(plan, item, info);
    int exponent = limited_exponent(p.exponent);
    if (*info == 0) {
        bp__lapack_put(plan->dtype, item->operand[1],
                       (bp_scalar){ldexp(p.value.re, exponent), ldexp(p.value.im, exponent)});
    }
    return BP_OK;
}

static bp_status run_slogdet(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    product p = product_of_item(plan, item, info);
    if (*info == 0) {
        double length = plan->complex && p.log > -INFINITY ? hypot(p.sign.re, p.sign.im) : 1;
        bp__lapack_put(plan->dtype, item->operand[1], (bp_scalar){p.sign.re / length, p.sign.im / length});
        bp__lapack_put(plan->real_type, item->operand[2], (bp_scalar){p.log, 0});
    }
    return BP_OK;
}

const bp__lapack_operation bp__lapack_det = {
    .algorithm = "getrf",
    .routines = {BP__LAPACK_getrf},
    .routine_count = 1,
    .prepare = prepare,
    .run = run_det,
    .work = bp__lapack_work_lu,
};

const bp__lapack_operation bp__lapack_slogdet = {
    .algorithm = "getrf",
    .routines = {BP__LAPACK_getrf},
    .routine_count = 1,
    .prepare = prepare,
    .run = run_slogdet,
    .work = bp__lapack_work_lu,
};
