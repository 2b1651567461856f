/* test_addresses.c - bp_execute: addresses that are missing, not aligned, or another operand's.
 *
 * build/tests/fuzz_families passes such addresses to plans of every family. Here are the rules of overlap, operations
 * in place, and packed operands. */
#include "dispatch/product.h"
#include "support/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bp_plan *product_plan(const char *settings) {
    bp_view v[3];
    bp_options *options;
    bp_plan *plan;
    views(v);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(bp_matmul_plan(&plan, options, &v[0].tensor, &v[1].tensor, &v[2].tensor), BP_OK);
    bp_options_release(options);
    return plan;
}

static void refuses(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec, bp_status status,
                    const char *words) {
    assert_int_equal(bp_execute(plan, operands, exec), status);
    assert_non_null(strstr(bp_last_error(), words));
    assert_memory_equal(c, expected, sizeof c);
}

/* Addresses are checked with and without a bp_exec, before anything is written. */
static void wrong_addresses_are_refused(void **state) {
    (void)state;
    const bp_exec exec = {.struct_size = sizeof exec}, *const execs[] = {NULL, &exec};
    bp_plan *plan = product_plan("blas.preferred=native");
    for (int e = 0; e < 2; e++) {
        fill();
        refuses(plan, (bp_operand[]){{a, 0}, {NULL, 0}, {c, 0}}, execs[e], BP_E_ARGUMENT, "operand 1 (B) has elements");
        refuses(plan, (bp_operand[]){{a, 0}, {b, 0}, {NULL, 64}}, execs[e], BP_E_ARGUMENT,
                "operand 2 (C) has elements");
        refuses(plan, (bp_operand[]){{a, 4}, {b, 0}, {c, 0}}, execs[e], BP_E_LAYOUT, "multiple of 8");
        refuses(plan, (bp_operand[]){{c, 0}, {b, 0}, {c, 0}}, execs[e], BP_E_OVERLAP, "overlaps operand 0 (A)");
        refuses(plan, (bp_operand[]){{a, 0}, {c + ELEMENTS - 1, 0}, {c, 0}}, execs[e], BP_E_OVERLAP, "operand 1 (B)");
        assert_int_equal(bp_execute(plan, (bp_operand[]){{a, 0}, {a, 0}, {c, 0}}, execs[e]), BP_OK);
    }
    bp_plan_release(plan);
}

/* Columns that alternate share a range of addresses and no element. */
/* Each operand of plans with one output and one or five inputs: absent, and at an odd address. */
static void every_operand_of_one_output_is_checked(void **state) {
    (void)state;
    static double memory[6][4];
    bp_view image[2], channel[4];
    bp_plan *plans[2];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(bp_view_init(&channel[i], NULL, BP_F64, 1, (int64_t[]){2}, NULL), BP_OK);
        assert_int_equal(bp_view_matrix(&image[i % 2], NULL, BP_F64, 2, 2), BP_OK);
    }
    const bp_batch_norm_call call = {.struct_size = sizeof call,
                                     .eps = 1,
                                     .input = &image[0].tensor,
                                     .weight = &channel[0].tensor,
                                     .bias = &channel[1].tensor,
                                     .running_mean = &channel[2].tensor,
                                     .running_var = &channel[3].tensor,
                                     .output = &image[1].tensor};
    assert_int_equal(bp_unary_plan(&plans[0], NULL, BP_UNARY_COPY, &image[0].tensor, &image[1].tensor), BP_OK);
    assert_int_equal(bp_batch_norm_plan(&plans[1], NULL, &call), BP_OK);
    for (int i = 0; i < 16; i++) { /* plan, operand and mistake */
        const int p = i >= 4, operand = p ? (i - 4) / 2 : i / 2, count = p ? 6 : 2;
        bp_operand operands[6];
        for (int o = 0; o < count; o++) {
            operands[o] = (bp_operand){memory[o], 0};
        }
        assert_int_equal(bp_execute(plans[p], operands, NULL), BP_OK);
        operands[operand] = i % 2 ? (bp_operand){memory[operand], 1} : (bp_operand){NULL, 0};
        assert_int_equal(bp_execute(plans[p], operands, NULL), i % 2 ? BP_E_LAYOUT : BP_E_ARGUMENT);
    }
    bp_plan_release(plans[0]);
    bp_plan_release(plans[1]);
}

static void interleaved_operands_are_apart(void **state) {
    (void)state;
    static double columns[8 * 2 * 4];
    const int64_t shape[] = {8, 4}, square[] = {4, 4}, strides[] = {8, 1};
    bp_view in, square_view, out;
    bp_plan *plan;
    fill();
    bp_view_init(&in, columns, BP_F64, 2, shape, strides);
    bp_view_init(&square_view, b, BP_F64, 2, square, NULL);
    bp_view_init(&out, columns + 4, BP_F64, 2, shape, strides);
    assert_int_equal(bp_matmul_plan(&plan, NULL, &in.tensor, &square_view.tensor, &out.tensor), BP_OK);
    assert_int_equal(bp_execute(plan, (bp_operand[]){{columns, 0}, {b, 0}, {columns, 32}}, NULL), BP_OK);
    assert_int_equal(bp_execute(plan, (bp_operand[]){{columns, 0}, {b, 0}, {columns, 24}}, NULL), BP_E_OVERLAP);
    bp_plan_release(plan);
}

/* A plan that was made to run in place needs equal addresses. Others must not have them. */
static void transforms_in_place_stay_in_place(void **state) {
    (void)state;
    static double spectrum[2 * ELEMENTS];
    bp_view v, w;
    bp_plan *plan;
    bp_view_init(&v, a, BP_C128, 1, (int64_t[]){SIDE}, NULL);
    bp_view_init(&w, spectrum, BP_C128, 1, (int64_t[]){SIDE}, NULL);
    fill();
    bp_fft_call call = {.struct_size = sizeof call, .transform = BP_FFT, .axis_count = 1};
    assert_int_equal(bp_fft_plan(&plan, NULL, &call, &v.tensor, &v.tensor), BP_OK);
    refuses(plan, (bp_operand[]){{a, 0}, {c, 0}}, NULL, BP_E_ARGUMENT, "in place");
    assert_int_equal(bp_execute(plan, (bp_operand[]){{spectrum, 0}, {spectrum, 0}}, NULL), BP_OK);
    bp_plan_release(plan);
    assert_int_equal(bp_fft_plan(&plan, NULL, &call, &v.tensor, &w.tensor), BP_OK);
    refuses(plan, (bp_operand[]){{c, 0}, {c, 0}}, NULL, BP_E_OVERLAP, "overlaps");
    assert_int_equal(bp_execute(plan, (bp_operand[]){{a, 0}, {spectrum, 0}}, NULL), BP_OK);
    bp_plan_release(plan);
}

/* A function of single elements may write over its input, with a plan that was made for either. */
static void elements_may_be_replaced(void **state) {
    (void)state;
    bp_view v[3];
    bp_plan *plan;
    fill();
    views(v);
    assert_int_equal(bp_unary_plan(&plan, NULL, BP_UNARY_NEGATIVE, &v[0].tensor, &v[2].tensor), BP_OK);
    assert_int_equal(bp_execute(plan, (bp_operand[]){{c, 0}, {c, 0}}, NULL), BP_OK);
    for (int i = 0; i < ELEMENTS; i++) {
        assert_true(c[i] == -expected[i]);
    }
    fill();
    refuses(plan, (bp_operand[]){{c, 8}, {c, 0}}, NULL, BP_E_OVERLAP, "overlaps");
    bp_plan_release(plan);
}

/* The plain operand of a packed one is not looked at. */
static void packed_operands_need_no_address(void **state) {
    (void)state;
    const bp_operand source = {b, 0}, odd = {b, 4}, operands[] = {{a, 0}, {NULL, 0}, {c, 0}};
    bp_packed *packed;
    bp_plan *plan = product_plan("blas.preferred=native:packed");
    fill();
    assert_int_equal(bp_plan_pack(&packed, plan, 1, &odd), BP_E_LAYOUT);
    assert_non_null(strstr(bp_last_error(), "bp_plan_pack"));
    assert_int_equal(bp_plan_pack(&packed, plan, 1, &source), BP_OK);
    const bp_packed *const list[] = {NULL, packed, NULL};
    const bp_exec exec = {.struct_size = sizeof exec, .packed = list};
    assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
    fill();
    refuses(plan, operands, NULL, BP_E_ARGUMENT, "operand 1 (B)");
    bp_packed_release(packed);
    bp_plan_release(plan);
}

/* A dimension of size 0 is one, also with stride 0. */
static void empty_images_need_no_address(void **state) {
    const int64_t shape[] = {0, 2, 1}, strides[] = {0, 1, 1}, kernel[] = {1};
    bp_view image;
    bp_plan *plan;
    (void)state;
    assert_int_equal(bp_view_init(&image, NULL, BP_F32, 3, shape, strides), BP_OK);
    for (int pass = BP_POOL_FORWARD; pass <= BP_POOL_BACKWARD; pass++) {
        bp_pool_call call = {.struct_size = sizeof call,
                             .kind = BP_POOL_AVERAGE,
                             .ndim = 1,
                             .kernel = kernel,
                             .input = &image.tensor,
                             .output = &image.tensor};
        test_call_to_pass("pool", &call, pass);
        assert_int_equal(bp_pool_plan(&plan, NULL, &call), BP_OK);
        assert_int_equal(bp_execute(plan, (const bp_operand[]){{NULL, 0}, {NULL, 0}}, NULL), BP_OK);
        bp_plan_release(plan);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_addresses_are_refused),
        cmocka_unit_test(interleaved_operands_are_apart),
        cmocka_unit_test(transforms_in_place_stay_in_place),
        cmocka_unit_test(elements_may_be_replaced),
        cmocka_unit_test(packed_operands_need_no_address),
        cmocka_unit_test(empty_images_need_no_address),
        cmocka_unit_test(every_operand_of_one_output_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
