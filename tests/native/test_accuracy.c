/* test_accuracy.c - tests products of every type, layout and kernel set on difficult shapes, within the forward error
 * bound of the type. */
#include "native.h"
#include "support/modes.h"

#include <stdio.h>

static const bp_dtype dtypes[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_C64, BP_C128};
#define DTYPES ((int)(sizeof dtypes / sizeof dtypes[0]))
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static product plain(bp_dtype dtype, int64_t m, int64_t n, int64_t k, kernels set) {
    return (product){.dtype = dtype,
                     .m = m,
                     .n = n,
                     .k = k,
                     .batch = 1,
                     .alpha = {1, 0},
                     .set = set,
                     .threads = 1,
                     .seed = (unsigned)(m * 1000003 + n * 1009 + k)};
}

#define EACH_SET(set)                                                                                                  \
    for (kernels set = KERNELS_DEFAULT; set < KERNELS_SETS; set++)                                                     \
        if (!runs_here(set)) {                                                                                         \
            print_message("skipped on this processor: %s\n", kernels_name(set));                                       \
        } else

/* Sizes around one, two and three vectors of every set, tiles, and half tiles. */
static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 9, 12, 13, 15, 16, 17, 23, 25, 31, 33, 47, 49};

static void test_every_small_shape(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int d = 0; d < DTYPES; d++) {
            for (int i = 0; i < COUNT(sizes); i++) {
                for (int j = 0; j < COUNT(sizes); j++) {
                    product p = plain(dtypes[d], sizes[i], sizes[j], sizes[(i * 5 + j * 3) % COUNT(sizes)], set);
                    check_product(&p);
                    p.k = 1 + (i + j) % 3;
                    p.c = COLUMNS;
                    p.beta = (bp_scalar){-0.5, 0.25};
                    check_product(&p);
                }
            }
        }
    }
}

static void test_every_layout(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{5, 7, 3}, {1, 37, 19}, {37, 1, 19}, {1, 1, 77}, {19, 21, 1}, {33, 35, 41}};
    EACH_SET(set) {
        for (int d = 0; d < DTYPES; d++) {
            for (int at = 0; at < LAYOUTS * LAYOUTS * (LAYOUTS - 1) * 2; at++) {
                /* Two of the shapes for each triple of layouts; each type uses other shapes. */
                const int64_t *shape = shapes[(at + at / 7 + d) % COUNT(shapes)];
                int rest = at / 2;
                product p = plain(dtypes[d], shape[0], shape[1], shape[2], set);
                p.a = (layout)(rest % LAYOUTS);
                p.b = (layout)(rest / LAYOUTS % LAYOUTS);
                p.c = (layout)(rest / LAYOUTS / LAYOUTS);
                p.conjugate_a = rest % 2 == 1;
                p.conjugate_b = rest % 3 == 1;
                p.alpha = (bp_scalar){1.5, rest % 5 == 0 ? 0 : -0.75};
                p.beta = (bp_scalar){rest % 4 == 0 ? 0 : 0.5, rest % 4 == 1 ? 0.25 : 0};
                check_product(&p);
            }
        }
    }
}

/* Tests several blocks in each direction, and shapes with one long side. */
static void test_blocks(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{129, 127, 65}, {64, 63, 769},  {257, 131, 390}, {3, 5, 3001}, {2, 2100, 17},
                                        {1050, 3, 400}, {1, 1500, 800}, {1500, 1, 800},  {6, 4, 257},  {150, 1, 385}};
    EACH_SET(set) {
        for (int d = 0; d < DTYPES; d++) {
            for (int i = 0; i < COUNT(shapes); i++) {
                product p = plain(dtypes[d], shapes[i][0], shapes[i][1], shapes[i][2], set);
                p.threads = 1 + i % 3;
                if (!test_leaves_out(i + d + (int)set, 2)) {
                    check_product(&p);
                }
                if (test_leaves_out(i + d + (int)set + 1, 2)) {
                    continue;
                }
                p.a = i % 2 ? COLUMNS : STRIDED;
                p.b = i % 3 ? COLUMNS : BACKWARD;
                p.c = i % 2 ? PADDED : COLUMNS;
                p.conjugate_a = true;
                p.beta = (bp_scalar){1, 0};
                check_product(&p);
            }
        }
    }
}

/* Tests products of small integers: every sum is exact, so the result must be exact. */
static void test_exact(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int d = 0; d < DTYPES; d++) {
            for (int i = 0; i < COUNT(sizes); i++) {
                product p = plain(dtypes[d], sizes[i], sizes[COUNT(sizes) - 1 - i], 25, set);
                p.whole_numbers = true;
                p.conjugate_b = i % 2 == 0;
                p.beta = (bp_scalar){i % 3 - 1, 0};
                check_product(&p);
            }
        }
    }
}

static void test_factors(void **state) {
    (void)state;
    static const bp_scalar factors[] = {{0, 0}, {1, 0}, {-1, 0}, {0.5, 0}, {0, 1}, {1, -2}};
    static const int64_t shapes[][3] = {{3, 3, 3},    {1, 40, 9},      {20, 24, 1}, {1, 1, 50},
                                        {30, 26, 28}, {130, 140, 300}, {4, 6, 0}};
    EACH_SET(set) {
        for (int d = 0; d < DTYPES; d++) {
            for (int at = 0; at < COUNT(factors) * COUNT(factors) * COUNT(shapes) * 2; at++) {
                const int64_t *shape = shapes[at / 2 % COUNT(shapes)];
                int rest = at / 2 / COUNT(shapes);
                if (test_leaves_out(rest + at / 2 % COUNT(shapes) + d, 7)) {
                    continue;
                }
                product p = plain(dtypes[d], shape[0], shape[1], shape[2], set);
                p.any_factors = at % 2 == 1;
                p.alpha = factors[rest % COUNT(factors)];
                p.beta = factors[rest / COUNT(factors)];
                if (parts_of(p.dtype) == 1) { /* imaginary parts of factors are ignored, so the reference must not use
                                               * them */
                    p.alpha.im = p.beta.im = 0;
                }
                check_product(&p);
            }
        }
    }
}

static void test_batches(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{2, 2, 2}, {9, 7, 5},    {1, 33, 40}, {1, 1, 12},
                                        {8, 9, 1}, {65, 70, 66}, {0, 3, 2}};
    EACH_SET(set) {
        for (int d = 0; d < DTYPES; d++) {
            for (int i = 0; i < COUNT(shapes); i++) {
                product p = plain(dtypes[d], shapes[i][0], shapes[i][1], shapes[i][2], set);
                p.batch = 5 + i;
                p.share_b = i % 2 == 0;
                p.threads = 1 + i % 3;
                p.c = i % 2 ? PADDED : ROWS;
                check_product(&p);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_small_shape),
        cmocka_unit_test(test_every_layout),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
