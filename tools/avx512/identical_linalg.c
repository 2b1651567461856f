/* identical_linalg.c - compares the AVX-512 kernels for interleaved batches with the same templates compiled for AVX2
 * (tests/native_linalg/wide), which every machine tests. All outputs must be bitwise identical, because both have the
 * same number of lanes. */
#include "linalg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bp_op solving[] = {
    BP_OP_INV,    BP_OP_CHOLESKY, BP_OP_CHOLESKY_SOLVE, BP_OP_CHOLESKY_INVERSE, BP_OP_LU_FACTOR,
    BP_OP_LU,     BP_OP_LU_SOLVE, BP_OP_SOLVE,          BP_OP_SOLVE_TRIANGULAR, BP_OP_DET,
    BP_OP_SLOGDET};
static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 31, 32};

static bool equal(task t) {
    operands here, there;
    t.set = KERNELS_AVX512;
    make_operands(&here, &t);
    shape_inputs(&here, false);
    assert_int_equal(run_task(&here), BP_OK);
    t.set = KERNELS_WIDE;
    make_operands(&there, &t);
    shape_inputs(&there, false);
    assert_int_equal(run_task(&there), BP_OK);
    bool same = true;
    for (int x = here.inputs; x < here.count; x++) {
        same = same && memcmp(here.memory[x], there.memory[x], here.bytes[x]) == 0;
    }
    if (!same) {
        print_message("operation %d of %s, %d rows: the result differs from the result of AVX2\n", t.op,
                      bp_dtype_name(t.dtype), (int)t.m);
    }
    free_operands(&here);
    free_operands(&there);
    return same;
}

static void test_results_are_identical(void **state) {
    (void)state;
    int different = 0, compared = 0;
    for (int op = 0; op < COUNT(solving); op++) {
        for (int at = 0; at < COUNT(sizes) * DTYPES; at++) {
            const bool solves = solving[op] == BP_OP_SOLVE || solving[op] == BP_OP_LU_SOLVE ||
                                solving[op] == BP_OP_SOLVE_TRIANGULAR || solving[op] == BP_OP_CHOLESKY_SOLVE;
            const int64_t n = sizes[at / DTYPES];
            task t = {.op = solving[op],
                      .dtype = dtypes[at % DTYPES],
                      .m = n,
                      .n = n,
                      .k = solves ? n % 7 + 1 : 0,
                      .batch = 19,
                      .in = at % 3 == 0 ? COLUMNS : ROWS,
                      .upper = at % 5 == 0,
                      .seed = (unsigned)at};
            different += !equal(t);
            compared++;
        }
    }
    print_message("compared %d results, %d differ\n", compared, different);
    assert_int_equal(different, 0);
}

int main(void) {
    if (!runs_here(KERNELS_AVX512)) {
        printf("this processor has no AVX-512\n");
        return EXIT_FAILURE;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_identical)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
