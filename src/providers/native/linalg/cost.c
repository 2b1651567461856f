/* cost.c - how long small matrices take, roughly. */
#include "small.h"

double bp__small_cost(const bp_problem *problem, const bp__lanes_kernels *kernels, int set) {
    (void)set;
    const bp_linalg_problem *l = &problem->of.linalg;
    const double n = (double)l->n, groups = (double)((l->batch + kernels->lanes - 1) / kernels->lanes);
    return 20 + groups * (50 + n * n * n * (kernels->parts == 2 ? 4 : 1) / 2);
}
