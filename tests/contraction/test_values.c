/* test_values.c - results of einsum compared with the reference: every kind of step, every type, various layouts,
 * and random expressions. */
#include "contraction/support_contraction.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const bp_dtype dtypes[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_C64, BP_C128};

static const char *const expressions[] = {
    "->",
    "a->a",
    "a->",
    "ab->ba",
    "abc->cab",
    "aa->a",
    "aa->",
    "aba->ba",
    "aaa->a",
    "abc->b",
    "abcd->db",
    "a,a->a",
    "a,a->",
    "a,b->ab",
    "a,b->ba",
    "a,b->",
    "ab,b->a",
    "ab,a->b",
    "ab,b->ab",
    "ab,ba->ab",
    "ab,ba->",
    "ab,ab->a",
    "ab,ab->b",
    "ab,bc->ac",
    "ba,bc->ca",
    "ab,cb->ac",
    "ab,bc->b",
    "ab,bc->",
    "ab,cd->bd",
    "ab,cd->",
    "abc,cd->abd",
    "abc,abd->acd",
    "abc,acd->abd",
    "acb,adc->dba",
    "abc,dc->adb",
    "abcd,abed->abce",
    "abcd,aebd->abce",
    "abc,bad->cd",
    "abc,bac->c",
    "abc,cb->a",
    "abx,bx->ax",
    "abx,bcx->acx",
    "xab,xbc->acx",
    "abcd,dbe->eac",
    "abcd,cdef->abef",
    "abcd,ecbf->afed",
    "aab,bcc->ac",
    "ab!,bc->ac",
    "a!b,ab->ab",
    "a!b!,cab->cab",
    "ab,a!c->bc",
    "ab,bc,cd->ad",
    "ab,bc,cd->ca",
    "ab,ac,ad->bcd",
    "ab,ab,ab->ab",
    "ab,bc,ca->",
    "a,ab,bc,c->",
    "ab,cd,ef->bdf",
    "abc,bcd,cda,dab->",
    "ab,bc,cd,de,ef,fa->",
    "abi,bcj,cak->ijk",
    "ab,b,bc,c,cd,d->a",
};

static void sizes_from(int64_t size[SAMPLE_LABELS], const int64_t *list, int count) {
    for (int i = 0; i < SAMPLE_LABELS; i++) {
        size[i] = list[i % count];
    }
}

static void check_all(const int64_t size[SAMPLE_LABELS], sample_layout operands, sample_layout out) {
    test_array_random = 88172645463325252u + (uint64_t)operands;
    for (size_t e = 0; e < sizeof expressions / sizeof *expressions; e++) {
        for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++) {
            sample s;
            sample_make(&s, expressions[e], size, dtypes[t], operands, out);
            sample_check(&s, NULL);
            sample_free(&s);
        }
    }
}

static void every_kind_of_step(void **state) {
    (void)state;
    int64_t size[SAMPLE_LABELS];
    sizes_from(size, (const int64_t[]){3, 5, 2, 4, 3, 2}, 6);
    check_all(size, COMPACT, COMPACT);
    check_all(size, PERMUTED, PERMUTED);
}

static void layouts_with_gaps_and_zero_strides(void **state) {
    (void)state;
    int64_t size[SAMPLE_LABELS];
    sizes_from(size, (const int64_t[]){4, 2, 5, 3}, 4);
    check_all(size, SCATTERED, SCATTERED);
    check_all(size, ZERO_STRIDES, PERMUTED);
}

static void dimensions_of_one_and_none(void **state) {
    (void)state;
    int64_t size[SAMPLE_LABELS];
    sizes_from(size, (const int64_t[]){1}, 1);
    check_all(size, COMPACT, COMPACT);
    sizes_from(size, (const int64_t[]){1, 7, 1, 3}, 4);
    check_all(size, SCATTERED, SCATTERED);
    sizes_from(size, (const int64_t[]){3, 0, 2, 4}, 4);
    check_all(size, COMPACT, SCATTERED);
}

static void random_expressions(void **state) {
    (void)state;
    test_array_random = 0x9E3779B97F4A7C15u;
    for (int i = 0; i < 1500; i++) {
        char text[128];
        int64_t size[SAMPLE_LABELS];
        sample s;
        sample_expression(text, 1 + (int)test_array_between(0, 4), size);
        sample_make(&s, text, size, dtypes[test_array_between(0, 5)], (sample_layout)test_array_between(0, LAYOUTS - 1),
                    (sample_layout)test_array_between(0, ZERO_STRIDES - 1));
        sample_check(&s, NULL);
        sample_free(&s);
    }
}

/* Odd sizes, large enough for products with copies and for slices. */
static void large_steps(void **state) {
    (void)state;
    static const struct {
        const char *expression;
        int64_t size[6];
    } cases[] = {
        {"abc,bad->cd", {17, 21, 33, 29}},
        {"abcd,dbe->eac", {9, 13, 17, 11, 15}},
        {"abc,acd->abd", {3, 35, 70, 33}},
        {"xab,xbc->acx", {21, 19, 25, 0, 0, 0}},
        {"acb,dbe->dace", {5, 65, 36, 9, 13}},
        {"abc->cba", {67, 71, 73}},
        {"ab,ba->", {301, 277}},
        {"ab->b", {2001, 33}},
        {"ab->a", {33, 2001}},
    };
    test_array_random = 12345;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int layout = COMPACT; layout <= SCATTERED; layout++) {
            sample s;
            int64_t size[SAMPLE_LABELS] = {0};
            memcpy(size, cases[i].size, sizeof cases[i].size);
            size['x' - 'a'] = 13;
            sample_make(&s, cases[i].expression, size, i % 2 ? BP_F32 : BP_C128, (sample_layout)layout,
                        layout == SCATTERED ? COMPACT : PERMUTED);
            sample_check(&s, NULL);
            sample_free(&s);
        }
    }
}

static void nan_reaches_the_result(void **state) {
    (void)state;
    static const char *const texts[] = {"ab,bc->ac", "ab,ab->ab", "ab,b->a", "ab->b", "ab->ba", "ab,bc,cd->ad"};
    int64_t size[SAMPLE_LABELS];
    sizes_from(size, (const int64_t[]){9, 12, 7}, 3);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int what = 0; what < 2; what++) {
            test_array_random = 99;
            sample s;
            sample_make(&s, texts[i], size, BP_F64, COMPACT, COMPACT);
            test_array_set(&s.operand[0], 3, what ? (double)INFINITY : (double)NAN);
            sample_check(&s, NULL);
            sample_free(&s);
        }
    }
}

/* The output contains NaN before the call; it must not be read. */
static void the_old_output_is_not_read(void **state) {
    (void)state;
    int64_t size[SAMPLE_LABELS];
    sizes_from(size, (const int64_t[]){6, 5, 4}, 3);
    for (size_t e = 0; e < sizeof expressions / sizeof *expressions; e++) {
        test_array_random = 7;
        sample s;
        sample_make(&s, expressions[e], size, BP_F64, PERMUTED, SCATTERED);
        for (int64_t i = 0; i < test_array_count(&s.out); i++) {
            test_array_set(&s.out, i, (double)NAN);
        }
        sample_check(&s, NULL);
        sample_free(&s);
    }
}

static void memory_between_output_elements_is_unchanged(void **state) {
    (void)state;
    static const char *const texts[] = {"ab,bc->ac", "ab,ab->ab", "ab->ba", "abc,cd->abd"};
    int64_t size[SAMPLE_LABELS];
    sizes_from(size, (const int64_t[]){16, 33, 18}, 3);
    for (size_t e = 0; e < sizeof texts / sizeof *texts; e++) {
        test_array_random = 7;
        sample s;
        sample_make(&s, texts[e], size, BP_F64, COMPACT, COMPACT);
        test_array compact = s.out;
        int64_t strides[SAMPLE_NDIM];
        for (int d = 0; d < compact.view.tensor.ndim; d++) {
            strides[d] = 2 * compact.view.strides[d];
        }
        test_array_make_strided(&s.out, BP_F64, compact.view.tensor.ndim, compact.view.shape, strides, 0);
        sample_check(&s, NULL);
        test_array_free(&compact);
        sample_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_step),
        cmocka_unit_test(layouts_with_gaps_and_zero_strides),
        cmocka_unit_test(dimensions_of_one_and_none),
        cmocka_unit_test(random_expressions),
        cmocka_unit_test(large_steps),
        cmocka_unit_test(nan_reaches_the_result),
        cmocka_unit_test(the_old_output_is_not_read),
        cmocka_unit_test(memory_between_output_elements_is_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
