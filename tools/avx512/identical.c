/* identical.c - compares the AVX-512 product kernels with the same tiles compiled for AVX2 (tests/native/wide), which
 * every machine tests, and with the AVX2 kernels. Results must be bitwise identical. AVX2 kernels are compared for real
 * types only, and not for results of one element, because their sums have as many lanes as a vector (see
 * src/providers/native/gemm/gemm.h).
 */
#include "native.h"

#include "backplane/tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bp_dtype dtypes[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_C64, BP_C128};
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* Each path, with whole tiles and with remainders. */
static const int64_t shapes[][3] = {{3, 2, 3},    {1, 1, 333},   {19, 21, 1},     {200, 1, 30},  {1, 200, 30},
                                    {50, 60, 70}, {49, 25, 300}, {130, 121, 129}, {50, 90, 400}, {17, 16, 15}};

static bool equal(product p, kernels set) {
    operands here, there;
    p.set = KERNELS_AVX512;
    make_operands(&here, &p);
    assert_int_equal(run_product(&here, &p, NULL), BP_OK);
    p.set = set;
    make_operands(&there, &p);
    assert_int_equal(run_product(&there, &p, NULL), BP_OK);
    bool same = memcmp(here.memory[2], there.memory[2], here.bytes[2]) == 0;
    if (!same) {
        print_message("%s, %dx%dx%d, layouts %d %d %d: the result differs from the result of %s\n",
                      bp_dtype_name(p.dtype), (int)p.m, (int)p.n, (int)p.k, p.a, p.b, p.c, kernels_name(set));
    }
    free_operands(&here);
    free_operands(&there);
    return same;
}

static void test_results_are_identical(void **state) {
    (void)state;
    int different = 0, compared = 0;
    for (int d = 0; d < COUNT(dtypes); d++) {
        for (int at = 0; at < COUNT(shapes) * 4; at++) {
            const int64_t *shape = shapes[at / 4];
            product p = {.dtype = dtypes[d],
                         .m = shape[0],
                         .n = shape[1],
                         .k = shape[2],
                         .batch = 1,
                         .threads = 1,
                         .alpha = {0.7, 0.1},
                         .beta = {0.3, -0.2},
                         .seed = (unsigned)at};
            p.a = at % 4 == 1 ? COLUMNS : at % 4 == 2 ? STRIDED : ROWS;
            p.b = at % 4 == 1 ? COLUMNS : at % 4 == 3 ? BACKWARD : ROWS;
            p.c = at % 4 == 2 ? COLUMNS : ROWS;
            different += !equal(p, KERNELS_WIDE);
            compared++;
            if (parts_of(p.dtype) == 1 && p.m * p.n > 1) {
                different += !equal(p, KERNELS_AVX2);
                compared++;
            }
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
