/* test_accuracy.c - tests every operation on small matrices, in every type, layout, side and triangle, by the
 * equations of the reference. Elements that an operation must not read are NaN in these tests. */
#include "linalg.h"

#include "support/pool.h"

static task make(bp_op op, bp_dtype dtype, int64_t n, kernels set) {
    return (task){.op = op, .dtype = dtype, .m = n, .n = n, .batch = 1, .set = set, .seed = 7 + (unsigned)n};
}

static bool has_sides(bp_op op) {
    return op == BP_OP_SOLVE || op == BP_OP_LU_SOLVE || op == BP_OP_SOLVE_TRIANGULAR || op == BP_OP_CHOLESKY_SOLVE;
}

/* Tests all sizes, with batches of less than a group, one group, and one group and a part. */
static void test_sizes(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int op = 0; op < OPS_WITH_RESIDUALS; op++) {
            for (int d = 0; d < DTYPES; d++) {
                for (int64_t n = 1; n <= 32; n++) {
                    task t = make(ops[op], dtypes[d], n, set);
                    t.k = has_sides(ops[op]) ? n % 7 + 1 : 0;
                    t.batch = n % 5 == 0 ? 17 : n % 3 + 1;
                    t.in = n % 2 ? COLUMNS : ROWS;
                    t.upper = n % 4 == 3;
                    check_task(&t);
                }
            }
        }
    }
}

/* Tests all ways to solve: side, adjoint, triangle, unit diagonal, vectors, and more columns than are loaded at a time.
 */
static void test_solve_options(void **state) {
    (void)state;
    static const int64_t columns[] = {1, 2, 5, 32, 77};
    EACH_SET(set) {
        for (int op = 0; op < OPS_WITH_RESIDUALS; op++) {
            for (unsigned way = 0; has_sides(ops[op]) && way < 32; way++) {
                for (int c = 0; c < COUNT(columns); c++) {
                    task t = make(ops[op], dtypes[(way + (unsigned)c) % 4], 1 + 5 * c + (int64_t)way % 3, set);
                    t.k = columns[c];
                    t.batch = 3;
                    t.upper = way & 1;
                    t.right = (way & 2) && t.op != BP_OP_CHOLESKY_SOLVE;
                    t.adjoint = (way & 4) && t.op == BP_OP_LU_SOLVE;
                    t.unit = (way & 8) && t.op == BP_OP_SOLVE_TRIANGULAR;
                    t.vector = (way & 16) && t.k == 1 && t.op == BP_OP_SOLVE;
                    t.no_info = way & 1;
                    t.in = (layout)(way % LAYOUTS);
                    t.out = (layout)(way % SHARED);
                    check_task(&t);
                }
            }
        }
    }
}

static void test_layouts(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int op = 0; op < OPS_WITH_RESIDUALS; op++) {
            for (int in = 0; in < LAYOUTS; in++) {
                for (int out = 0; out < SHARED; out++) {
                    task t = make(ops[op], dtypes[(in + out + op) % 4], 6, set);
                    t.k = has_sides(ops[op]) ? 3 : 0;
                    t.batch = 10;
                    t.nested = (in + out) % 2;
                    t.in = (layout)in;
                    t.out = (layout)out;
                    t.upper = out % 2;
                    t.no_info = in == STRIDED;
                    check_task(&t);
                }
            }
        }
    }
}

static void test_rectangles(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{1, 2},  {2, 1},  {3, 7},  {7, 3},   {32, 1},
                                        {1, 32}, {32, 5}, {5, 32}, {13, 31}, {31, 18}};
    EACH_SET(set) {
        for (int i = 0; i < COUNT(shapes); i++) {
            for (int d = 0; d < DTYPES; d++) {
                for (int op = 0; op < 4; op++) {
                    const bp_op which = op == 0 ? BP_OP_LU_FACTOR : op == 1 ? BP_OP_LU : BP_OP_SVD;
                    task t = make(which, dtypes[d], shapes[i][1], set);
                    t.mode = op == 2 ? BP_SVD_REDUCED : op == 3 ? BP_SVD_FULL : BP_MODE_DEFAULT;
                    t.m = shapes[i][0];
                    t.batch = 5;
                    t.out = (layout)(i % SHARED);
                    check_task(&t);
                }
            }
        }
    }
}

/* Tests large batches on several threads. */
static void test_batches(void **state) {
    (void)state;
    static const int64_t batches[] = {2, 3, 4, 5, 8, 9, 16, 17, 33, 1000};
    EACH_SET(set) {
        for (int op = 0; op < OPS_WITH_RESIDUALS; op++) {
            for (int i = 0; i < COUNT(batches); i++) {
                task t = make(ops[op], dtypes[(op + i) % 4], i % 2 ? 4 : 9, set);
                t.k = has_sides(ops[op]) ? 2 : 0;
                t.batch = batches[i];
                t.threads = 3;
                check_task(&t);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),      cmocka_unit_test(test_solve_options), cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_rectangles), cmocka_unit_test(test_batches),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
