/* test_reproducibility.c - tests that results are bitwise the same for any number of threads, position in a batch,
 * other rows, and layout. */
#include "native.h"

#include "support/conditions.h"
#include "support/pool.h"
#include "support/modes.h"

#include <stdlib.h>
#include <string.h>

static const bp_dtype dtypes[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_C64, BP_C128};
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
#define EACH_SET(set)                                                                                                  \
    for (kernels set = KERNELS_DEFAULT; set < KERNELS_SETS; set++)                                                     \
        if (!runs_here(set)) {                                                                                         \
            print_message("skipped on this processor: %s\n", kernels_name(set));                                       \
        } else

/* Returns whether to skip a combination. Instrumented code takes twenty times as long, so it runs a third of them:
 * every kernel set with every type and every shape, but not every type with every shape. */
static bool skipped_under_sanitizers(int set, int dtype, int shape) {
    return test_sanitized() && (set + dtype + shape) % 3 != 0;
}

static size_t size_of(bp_dtype dtype) {
    static const size_t size[] = {
        [BP_F16] = 2, [BP_BF16] = 2, [BP_F32] = 4, [BP_F64] = 8, [BP_C64] = 8, [BP_C128] = 16};
    return size[dtype];
}

static product make(bp_dtype dtype, const int64_t *shape, kernels set) {
    return (product){.dtype = dtype,
                     .m = shape[0],
                     .n = shape[1],
                     .k = shape[2],
                     .batch = 1,
                     .alpha = {0.7, 0.1},
                     .beta = {0.3, -0.2},
                     .set = set,
                     .threads = 1,
                     .seed = 77};
}

/* Runs every offer with several numbers of threads. */
static void check_threads(product p, int used[8]) {
    static const int threads[] = {2, 3, 7};
    operands one, many;
    make_operands(&one, &p);
    const int offers = count_offers(&one, &p);
    for (int offer = 0; offer < offers; offer++) {
        p.threads = 1;
        free_operands(&one);
        make_operands(&one, &p);
        assert_int_equal(run_offer(&one, &p, offer, NULL), BP_OK);
        for (int t = 0; t < COUNT(threads); t++) {
            p.threads = threads[t];
            make_operands(&many, &p);
            assert_int_equal(count_offers(&many, &p), offers);
            assert_int_equal(run_offer(&many, &p, offer, NULL), BP_OK);
            assert_memory_equal(many.memory[2], one.memory[2], one.bytes[2]);
            used[threads_planned(&many, &p)]++;
            free_operands(&many);
        }
    }
    free_operands(&one);
}

/* Only large products get several threads. These shapes are large enough for seven threads on every path. */
static void test_threads(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{181, 173, 391}, {97, 801, 260}, {3, 4001, 150}, {1, 5003, 397}, {5003, 1, 397},
                                        {1501, 1301, 1}, {700, 3, 900},  {64, 64, 5003}, {1, 1, 200001}};
    int used[8] = {0};
    EACH_SET(set) {
        for (int d = 0; d < COUNT(dtypes); d++) {
            for (int i = 0; i < COUNT(shapes); i++) {
                if (skipped_under_sanitizers((int)set, d, i) || test_leaves_out((int)set + d + i, 2)) {
                    continue;
                }
                product p = make(dtypes[d], shapes[i], set);
                p.b = i % 2 ? COLUMNS : ROWS;
                check_threads(p, used);
            }
        }
    }
    assert_true(used[2] > 0 && used[3] > 0 && used[7] > 0);
}

/* Tests that each product of a batch has bitwise the same result alone. */
static void test_batch_positions(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{2, 2, 2},   {1, 1, 300}, {7, 9, 5},      {33, 20, 70},
                                        {1, 90, 40}, {12, 13, 1}, {120, 121, 122}};
    EACH_SET(set) {
        for (int d = 0; d < COUNT(dtypes); d++) {
            for (int i = 0; i < COUNT(shapes); i++) {
                if (skipped_under_sanitizers((int)set, d, i)) {
                    continue;
                }
                product p = make(dtypes[d], shapes[i], set);
                p.batch = i == 6 ? 5 : 203;
                p.threads = 3;
                operands all, before;
                make_operands(&all, &p);
                make_operands(&before, &p);
                assert_int_equal(run_product(&all, &p, NULL), BP_OK);
                product single = p;
                single.batch = 1;
                for (int64_t item = 0; item < p.batch; item += p.batch / 5) {
                    operands o;
                    make_operands(&o, &single);
                    for (int operand = 0; operand < 3; operand++) {
                        memcpy(o.memory[operand], element(&before, operand, item, 0, 0), o.bytes[operand]);
                    }
                    assert_int_equal(run_product(&o, &single, NULL), BP_OK);
                    assert_memory_equal(o.memory[2], element(&all, 2, item, 0, 0), o.bytes[2]);
                    free_operands(&o);
                }
                free_operands(&all);
                free_operands(&before);
            }
        }
    }
}

/* Tests real types: a row of A*B is bitwise the same without the other rows and in any layout. Results of one element
 * are an exception (see native.h), so rows are longer here. */
static void test_rows_and_layouts(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{6, 3, 11}, {40, 37, 300}, {150, 140, 800}, {9, 260, 1}, {30, 2, 513}};
    EACH_SET(set) {
        for (int d = 0; d < 4; d++) {
            for (int i = 0; i < COUNT(shapes); i++) {
                if (skipped_under_sanitizers((int)set, d, i)) {
                    continue;
                }
                product p = make(dtypes[d], shapes[i], set);
                operands whole;
                make_operands(&whole, &p);
                assert_int_equal(run_product(&whole, &p, NULL), BP_OK);
                for (int how = 0; how < 4; how++) {
                    product part = p;
                    part.m = how == 0 ? 1 : how == 1 ? 2 : p.m;
                    part.c = how == 2 ? COLUMNS : ROWS;
                    part.a = how == 3 ? COLUMNS : ROWS;
                    part.b = how == 3 ? STRIDED : ROWS;
                    operands o, before;
                    make_operands(&o, &part);
                    make_operands(&before, &p);
                    for (int operand = 0; operand < 3; operand++) {
                        int64_t rows = operand == 1 ? p.k : part.m, columns = operand == 0 ? p.k : p.n;
                        for (int64_t r = 0; r < rows; r++) {
                            for (int64_t c = 0; c < columns; c++) {
                                memcpy(element(&o, operand, 0, r, c), element(&before, operand, 0, r, c),
                                       size_of(p.dtype));
                            }
                        }
                    }
                    assert_int_equal(run_product(&o, &part, NULL), BP_OK);
                    for (int64_t r = 0; r < part.m; r++) {
                        for (int64_t c = 0; c < p.n; c++) {
                            assert_memory_equal(element(&o, 2, 0, r, c), element(&whole, 2, 0, r, c), size_of(p.dtype));
                        }
                    }
                    free_operands(&o);
                    free_operands(&before);
                }
                free_operands(&whole);
            }
        }
    }
}

/* Tests that AVX2 and AVX-512 tiles sum in the same order with the same fused operations. */
static void test_avx512_tiles_match_avx2(void **state) {
    (void)state;
    if (!runs_here(KERNELS_AVX2)) {
        print_message("skipped: this processor has no AVX2\n");
        skip();
    }
    static const int64_t shapes[][3] = {{50, 60, 700}, {5, 9, 3}, {1, 200, 30}, {200, 1, 30}, {20, 20, 1}};
    for (int d = 0; d < 4; d++) {
        for (int i = 0; i < COUNT(shapes); i++) {
            product p = make(dtypes[d], shapes[i], KERNELS_AVX2);
            operands narrow, wide;
            make_operands(&narrow, &p);
            make_operands(&wide, &p);
            assert_int_equal(run_product(&narrow, &p, NULL), BP_OK);
            p.set = KERNELS_WIDE;
            assert_int_equal(run_product(&wide, &p, NULL), BP_OK);
            assert_memory_equal(narrow.memory[2], wide.memory[2], wide.bytes[2]);
            free_operands(&narrow);
            free_operands(&wide);
        }
    }
}

/* Tests that the instruction gives bitwise what the model of it gives: edges in all directions, odd k, several blocks.
 * The gaps of C have the same random bytes. */
static void test_instruction_matches_model(void **state) {
    (void)state;
    if (!runs_here(KERNELS_BF16)) {
        print_message("skipped: this processor does not have AVX512_BF16, so only the model has run\n");
        skip();
    }
    static const int64_t shapes[][3] = {{50, 60, 700}, {5, 9, 3},      {1, 200, 31},
                                        {200, 1, 30},  {67, 49, 1601}, {1, 1, 9}};
    for (int d = 0; d < 2; d++) {
        for (int i = 0; i < COUNT(shapes) * LAYOUTS; i++) {
            product p = make(d == 0 ? BP_F32 : BP_BF16, shapes[i / LAYOUTS], KERNELS_BF16);
            p.a = (layout)(i % LAYOUTS);
            p.b = (layout)((i + 1) % LAYOUTS);
            p.c = (layout)(i % (LAYOUTS - 1));
            operands own, model;
            make_operands(&own, &p);
            assert_int_equal(run_product(&own, &p, NULL), BP_OK);
            p.set = KERNELS_BF16_MODEL;
            make_operands(&model, &p);
            assert_int_equal(run_product(&model, &p, NULL), BP_OK);
            assert_memory_equal(own.memory[2], model.memory[2], model.bytes[2]);
            free_operands(&own);
            free_operands(&model);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_batch_positions),
        cmocka_unit_test(test_rows_and_layouts),
        cmocka_unit_test(test_avx512_tiles_match_avx2),
        cmocka_unit_test(test_instruction_matches_model),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
