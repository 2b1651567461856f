/* einsum.c - computes attention scores, then a chain of matrices. An expression defines the sum; the library finds the
 * order of the products. The chain reuses one plan. */
#include <backplane.h>

#include <math.h>
#include <stdio.h>

enum { HEADS = 2, ROWS = 3, COLUMNS = 4, DEPTH = 5 };

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, bp_last_error());
    return 1;
}

/* scores[h][q][k] = sum over d of query[h][q][d] * key[h][k][d]. The program copies and transposes nothing. */
static int attention(void) {
    static double query[HEADS][ROWS][DEPTH], key[HEADS][COLUMNS][DEPTH], scores[HEADS][ROWS][COLUMNS];
    for (int i = 0; i < HEADS * ROWS * DEPTH; i++) {
        (&query[0][0][0])[i] = i % 7;
    }
    for (int i = 0; i < HEADS * COLUMNS * DEPTH; i++) {
        (&key[0][0][0])[i] = i % 3 - 1;
    }
    bp_view q, k, out;
    if (bp_view_init(&q, query, BP_F64, 3, (const int64_t[]){HEADS, ROWS, DEPTH}, NULL) != BP_OK ||
        bp_view_init(&k, key, BP_F64, 3, (const int64_t[]){HEADS, COLUMNS, DEPTH}, NULL) != BP_OK ||
        bp_view_init(&out, scores, BP_F64, 3, (const int64_t[]){HEADS, ROWS, COLUMNS}, NULL) != BP_OK) {
        return failed("describing the arrays");
    }
    const DLTensor *operands[] = {&q.tensor, &k.tensor};
    if (bp_einsum("hqd,hkd->hqk", 2, operands, &out.tensor) != BP_OK) {
        return failed("contracting");
    }
    double expected = 0;
    for (int d = 0; d < DEPTH; d++) {
        expected += query[1][2][d] * key[1][3][d];
    }
    printf("scores[1][2][3] = %g\n", scores[1][2][3]);
    return scores[1][2][3] == expected ? 0 : 1;
}

/* Prints the steps of a plan. */
static void show(const bp_plan *plan) {
    bp_einsum_part part = {.struct_size = sizeof part};
    for (int i = 0; bp_einsum_part_at(plan, i, &part); i++) {
        bp_plan_info info = {.struct_size = sizeof info};
        bp_contraction_step step = {.struct_size = sizeof step};
        if (bp_plan_describe(part.plan, &info) == BP_OK &&
            bp_contraction_path_at(bp_einsum_plan_path(plan), part.step, &step)) {
            printf("step %d: %-12s %-16s by %s (%s)\n", part.step + 1, step.expression, part.action, info.library,
                   info.algorithm);
        }
    }
}

/* A plan is made once and runs on any memory of the same layout. The vector is multiplied first, in any order of the
 * operands: twenty thousand multiplications instead of a million. */
static int chain(void) {
    enum { N = 100 };
    static double a[N][N], b[N][N], v[N], out[N];
    for (int i = 0; i < N; i++) {
        a[i][i] = 2;
        b[i][N - 1 - i] = 1;
        v[i] = i;
    }
    bp_view views[4];
    const int64_t square[] = {N, N};
    if (bp_view_init(&views[0], a, BP_F64, 2, square, NULL) != BP_OK ||
        bp_view_init(&views[1], b, BP_F64, 2, square, NULL) != BP_OK ||
        bp_view_init(&views[2], v, BP_F64, 1, square, NULL) != BP_OK ||
        bp_view_init(&views[3], out, BP_F64, 1, square, NULL) != BP_OK) {
        return failed("describing the arrays");
    }
    const DLTensor *operands[] = {&views[0].tensor, &views[1].tensor, &views[2].tensor};
    bp_einsum_call call = {.struct_size = sizeof call, .expression = "ij,jk,k->i", .count = 3, .operands = operands};
    bp_plan *plan;
    if (bp_einsum_plan(&plan, NULL, &call, &views[3].tensor) != BP_OK) {
        return failed("planning");
    }
    show(plan);
    bp_status status = bp_execute(plan, (bp_operand[]){{a, 0}, {b, 0}, {v, 0}, {out, 0}}, NULL);
    bp_plan_release(plan);
    if (status != BP_OK) {
        return failed("running the plan");
    }
    return fabs(out[0] - 2.0 * (N - 1)) < 1e-12 && out[N - 1] == 0 ? 0 : 1;
}

int main(void) {
    return attention() != 0 || chain() != 0;
}
