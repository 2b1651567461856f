/* test_large.c - attention to scores that are large and finite, in all kernels and types: outputs, logarithms and
 * gradients are as softmax has them, however large the scores are. */
#include "attention/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const kernels[] = {"cuda.mem_efficient_sdp=false, cuda.math_sdp=false",
                                      "cuda.flash_sdp=false, cuda.math_sdp=false",
                                      "cuda.flash_sdp=false, cuda.mem_efficient_sdp=false",
                                      "cuda.mem_efficient_sdp=false, cuda.math_sdp=false, cpu.capability=default",
                                      "cuda.mem_efficient_sdp=false, cuda.math_sdp=false, cpu.capability=avx2"};

/* Few rows, panels, blocks of keys and parts of them. */
static const struct { int64_t queries, keys; } sizes[] = {{1, 1}, {3, 12}, {33, 131}, {1, 1030}, {5, 1030}};

static void run_case(attention_case *c, const char *kernel) {
    attention_run(c, kernel);
    attention_compare_large(c);
    attention_turn_large(c);
    attention_run(c, kernel);
    attention_compare_large_gradients(c);
    attention_end(c);
}

static void run_kind(attention_large kind) {
    test_array_random = 31;
    for (size_t i = 0; i < COUNT(kernels) * COUNT(sizes) * 4; i++) {
        const size_t size = i / 4 % COUNT(sizes);
        if (i / 4 / COUNT(sizes) > 2 && sizes[size].keys > 1000) { /* parts are merged alike on all processors */
            continue;
        }
        attention_case c;
        attention_begin_large(&c, kind, (bp_dtype)(BP_F16 + (int)(i % 4)), sizes[size].queries, sizes[size].keys);
        run_case(&c, kernels[i / 4 / COUNT(sizes)]);
    }
}

static void masks_of_the_lowest_number(void **state) {
    (void)state;
    run_kind(ATTENTION_PADDED);
}

static void masks_of_the_lowest_number_in_some_rows(void **state) {
    (void)state;
    run_kind(ATTENTION_PADDED_ROWS);
}

static void masks_of_the_lowest_f32(void **state) {
    (void)state;
    run_kind(ATTENTION_PADDED_F32);
}

static void equal_scores(void **state) {
    (void)state;
    run_kind(ATTENTION_HIGH);
    run_kind(ATTENTION_LOW);
}

static void different_scores(void **state) {
    (void)state;
    run_kind(ATTENTION_MIXED);
}

static void products_that_are_greater_than_scores(void **state) {
    (void)state;
    run_kind(ATTENTION_SCALED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_of_the_lowest_number), cmocka_unit_test(masks_of_the_lowest_number_in_some_rows),
        cmocka_unit_test(masks_of_the_lowest_f32),    cmocka_unit_test(equal_scores),
        cmocka_unit_test(different_scores),           cmocka_unit_test(products_that_are_greater_than_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
