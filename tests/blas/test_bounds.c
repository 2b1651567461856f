/* test_bounds.c - products on every candidate whose operands end at a page without access, or begin after one.
 *
 * A candidate that accesses more than its operands ends this process; the probe must have refused it. The shapes
 * include those of a known defect of OpenBLAS 0.3.21: a vector of 7 numbers by a matrix of 7 x 126, in c64. */
#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { REGION = 1 << 18 };
static char *regions[3];

static int map_regions(void **state) {
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < 3; i++) {
        char *block = mmap(NULL, REGION + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(block != MAP_FAILED);
        assert_int_equal(mprotect(block + page, REGION, PROT_READ | PROT_WRITE), 0);
        regions[i] = block + page;
    }
    return 0;
}

static void view(bp_view *v, int operand, bp_dtype dtype, int64_t rows, int64_t columns, bool at_end) {
    const size_t bytes = (size_t)(rows * columns) * bp_dtype_size(dtype);
    bp_view_matrix(v, regions[operand] + (at_end ? REGION - bytes : 0), dtype, rows, columns);
}

/* Runs each accepted candidate. The last line that was printed tells which one ended the process. */
static int run_all(bp_dtype dtype, int64_t m, int64_t n, int64_t k, bool at_end) {
    bp_view a, b, c;
    bp_explanation *explanation;
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    int ran = 0;
    view(&a, 0, dtype, m, k, at_end);
    view(&b, 1, dtype, k, n, at_end);
    view(&c, 2, dtype, m, n, at_end);
    assert_int_equal(bp_matmul_explain(&explanation, NULL, &a.tensor, &b.tensor, &c.tensor), BP_OK);
    for (int i = 0; bp_explanation_at(explanation, i, &candidate); i++) {
        char settings[256];
        bp_options *options;
        if (candidate.reason != BP_REASON_ACCEPTED) {
            continue;
        }
        snprintf(settings, sizeof settings, "num_threads=1,dispatch.fallback=strict,blas.preferred=%s:%.*s",
                 candidate.library, (int)strcspn(candidate.algorithm, " "), candidate.algorithm);
        print_message("%s, %s %dx%dx%d, at %s\n", settings, bp_dtype_name(dtype), (int)m, (int)n, (int)k,
                      at_end ? "the end" : "the start");
        assert_int_equal(bp_options_new(&options, settings), BP_OK);
        assert_int_equal(bp_matmul_run(options, &a.tensor, &b.tensor, &c.tensor), BP_OK);
        bp_options_release(options);
        ran++;
    }
    bp_explanation_release(explanation);
    return ran;
}

static void every_candidate_stays_within_its_operands(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{1, 126, 7}, {126, 1, 7}, {1, 6, 3}, {6, 1, 3},  {2, 1, 3},    {3, 2, 1},
                                        {2, 3, 1},   {1, 1, 13},  {5, 7, 9}, {34, 3, 6}, {17, 33, 10}, {1, 66, 34}};
    int ran = 0;
    for (bp_dtype dtype = BP_F32; dtype <= BP_C128; dtype = (bp_dtype)(dtype + 1)) {
        for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; i++) {
            ran += run_all(dtype, shapes[i / 2][0], shapes[i / 2][1], shapes[i / 2][2], i % 2 == 1);
        }
    }
    assert_true(ran >= 4 * 24); /* native takes all of them */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_candidate_stays_within_its_operands)};
    return cmocka_run_group_tests(tests, map_regions, NULL);
}
