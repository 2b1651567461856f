/* test_layers.c - linear layers against the reference: passes, layouts, sizes of 0, packed weights, and refused calls.
 */
#include "support/results.h"
#include "support/passes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})

enum { MOST = 1 << 14 };
static double memory[4][MOST]; /* of input, weight, bias and output, in any type */
static bp_view view[4];
static bp_linear_call call;

enum { INPUT, WEIGHT, BIAS, OUTPUT };

static void set(int which, int64_t at, double value) {
    if (view[which].tensor.dtype.bits == 32) {
        ((float *)memory[which])[at] = (float)value;
    } else {
        memory[which][at] = value;
    }
}

static void init(int which, bp_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides) {
    assert_int_equal(bp_view_init(&view[which], memory[which], dtype, ndim, shape, strides), BP_OK);
}

/* Whole numbers, whose sums are exact. */
static void fill(int which) {
    for (int64_t i = 0; i < MOST; i++) {
        memory[which][i] = 0;
    }
    for (int64_t i = 0; i < MOST; i++) {
        set(which, i, (double)((i * 37 + which * 11) % 19 - 9));
    }
}

static void begin(bp_linear_pass pass, bool with_bias, bool relu) {
    call = (bp_linear_call){.struct_size = sizeof call,
                            .activation = relu ? BP_UNARY_RELU : BP_UNARY_COPY,
                            .input = &view[INPUT].tensor,
                            .weight = &view[WEIGHT].tensor,
                            .bias = with_bias ? &view[BIAS].tensor : NULL,
                            .output = &view[OUTPUT].tensor};
    test_call_to_pass("linear", &call, (int)pass);
    for (int i = 0; i < 4; i++) {
        fill(i);
    }
}

/* Compares the results of the call's pass with the reference. */
static void check(void) {
    reference_results made;
    assert_int_equal(reference_of_linear(&made, &call), BP_OK);
    test_check_exact(&made, "a linear layer");
}

static void run(void) {
    for (int again = 0; again < 2; again++) {
        if (bp_linear_run(NULL, &call) != BP_OK) {
            fail_msg("%s", bp_last_error());
        }
        check();
    }
}

static void passes(void) {
    for (int with_bias = 0; with_bias < 2; with_bias++) {
        begin(BP_LINEAR_FORWARD, with_bias, false);
        run();
        begin(BP_LINEAR_FORWARD, with_bias, true);
        run();
        begin(BP_LINEAR_WEIGHT, with_bias, false);
        run();
    }
    begin(BP_LINEAR_INPUT, false, false);
    run();
}

static void compact_tensors(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1}, {7, 5, 3}, {33, 17, 40}, {2, 64, 48}, {0, 4, 3}, {100, 1, 9}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int wide = 0; wide < 2; wide++) {
            const int64_t *s = sizes[i];
            const bp_dtype dtype = wide ? BP_F64 : BP_F32;
            init(INPUT, dtype, 2, I64(s[0], s[1]), NULL);
            init(WEIGHT, dtype, 2, I64(s[2], s[1]), NULL);
            init(BIAS, dtype, 1, I64(s[2]), NULL);
            init(OUTPUT, dtype, 2, I64(s[0], s[2]), NULL);
            passes();
        }
    }
}

static void layouts(void **state) {
    (void)state;
    /* A single row; a transposed weight and a bias with gaps. */
    init(INPUT, BP_F32, 1, I64(9), I64(3));
    init(WEIGHT, BP_F32, 2, I64(5, 9), I64(1, 5));
    init(BIAS, BP_F32, 1, I64(5), I64(2));
    init(OUTPUT, BP_F32, 1, I64(5), NULL);
    passes();
    /* Leading dimensions that cannot be merged: 2, 3 and 4 of them; sizes of 1 between. */
    init(INPUT, BP_F32, 3, I64(4, 3, 9), I64(40, 10, 1));
    init(OUTPUT, BP_F32, 3, I64(4, 3, 5), I64(5, 20, 1));
    passes();
    init(INPUT, BP_F32, 3, I64(4, 3, 9), NULL); /* only the output's cannot */
    passes();
    init(INPUT, BP_F32, 5, I64(2, 1, 3, 2, 9), I64(200, 77, 50, 20, 2));
    init(OUTPUT, BP_F32, 5, I64(2, 1, 3, 2, 5), I64(60, 0, 20, 10, 1));
    passes();
    init(INPUT, BP_F32, 5, I64(2, 2, 3, 2, 9), I64(140, 60, 18, 9, 1));
    init(OUTPUT, BP_F32, 5, I64(2, 2, 3, 2, 5), I64(5, 200, 20, 10, 1));
    passes();
    /* A row that is broadcast. */
    init(INPUT, BP_F32, 2, I64(6, 9), I64(0, 1));
    init(OUTPUT, BP_F32, 2, I64(6, 5), NULL);
    begin(BP_LINEAR_FORWARD, true, false);
    run();
}

static void packed_weight(void **state) {
    (void)state;
    init(INPUT, BP_F32, 2, I64(13, 24), NULL);
    init(WEIGHT, BP_F32, 2, I64(10, 24), NULL);
    init(BIAS, BP_F32, 1, I64(10), NULL);
    init(OUTPUT, BP_F32, 2, I64(13, 10), NULL);
    begin(BP_LINEAR_FORWARD, true, false);
    bp_plan *plan;
    assert_int_equal(bp_linear_plan(&plan, NULL, &call), BP_OK);
    const bp_operand operands[] = {{memory[INPUT], 0}, {memory[WEIGHT], 0}, {memory[BIAS], 0}, {memory[OUTPUT], 0}};
    bp_packed *weight;
    assert_int_equal(bp_plan_pack(&weight, plan, 1, &operands[1]), BP_OK);
    const bp_packed *packed[] = {NULL, weight, NULL, NULL};
    const bp_exec exec = {.struct_size = sizeof exec, .packed = packed};
    assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
    check();
    bp_packed_release(weight);
    bp_plan_release(plan);
    bp_explanation *explanation;
    assert_int_equal(bp_linear_explain(&explanation, NULL, &call), BP_OK);
    assert_non_null(strstr(bp_explanation_text(explanation), "conv"));
    bp_explanation_release(explanation);
}

static void refused(bp_status wanted, const char *words) {
    fill(OUTPUT);
    const double first = memory[OUTPUT][0];
    for (int again = 0; again < 2; again++) {
        const bp_status status = bp_linear_run(NULL, &call);
        if (status != wanted || !strstr(bp_last_error(), words)) {
            fail_msg("%s instead of %s: \"%s\" should have \"%s\"", bp_status_name(status), bp_status_name(wanted),
                     bp_last_error(), words);
        }
        assert_true(memory[OUTPUT][0] == first);
    }
    bp_plan *plan;
    assert_int_equal(bp_linear_plan(&plan, NULL, &call), wanted);
}

static void valid(void) {
    init(INPUT, BP_F32, 3, I64(2, 4, 6), NULL);
    init(WEIGHT, BP_F32, 2, I64(5, 6), NULL);
    init(BIAS, BP_F32, 1, I64(5), NULL);
    init(OUTPUT, BP_F32, 3, I64(2, 4, 5), NULL);
    begin(BP_LINEAR_FORWARD, true, false);
}

static void refusals(void **state) {
    (void)state;
    valid();
    run();
    assert_int_equal(bp_linear_run(NULL, NULL), BP_E_ARGUMENT);
    call.struct_size = 4;
    assert_int_equal(bp_linear_run(NULL, &call), BP_E_ARGUMENT);
    valid();
    call.pass = (bp_linear_pass)3;
    refused(BP_E_ARGUMENT, "pass is no value");
    valid();
    call.weight = NULL;
    refused(BP_E_ARGUMENT, "weight");
    valid();
    call.pass = BP_LINEAR_INPUT;
    refused(BP_E_ARGUMENT, "bias");
    valid();
    test_call_to_pass("linear", &call, BP_LINEAR_WEIGHT);
    call.activation = BP_UNARY_RELU;
    refused(BP_E_ARGUMENT, "activation");
    valid();
    call.weight_gradient = &view[WEIGHT].tensor;
    refused(BP_E_ARGUMENT, "linear: FORWARD has no weight_gradient, which must be NULL");
    valid();
    init(WEIGHT, BP_F32, 2, I64(5, 7), NULL);
    refused(BP_E_SHAPE, "a row of input has 6 elements, a row of weight 7");
    valid();
    init(INPUT, BP_F32, 2, I64(4, 0), NULL);
    init(WEIGHT, BP_F32, 2, I64(5, 0), NULL);
    init(OUTPUT, BP_F32, 2, I64(4, 5), NULL);
    refused(BP_E_SHAPE, "weight is 5 x 0");
    valid();
    init(WEIGHT, BP_F32, 3, I64(5, 6, 1), NULL);
    refused(BP_E_SHAPE, "weight has 3 dimensions; it must have 2");
    valid();
    init(OUTPUT, BP_F32, 3, I64(2, 5, 5), NULL);
    refused(BP_E_SHAPE, "output has shape (2, 5, 5); it must have shape (2, 4, 5)");
    valid();
    init(BIAS, BP_F32, 1, I64(4), NULL);
    refused(BP_E_SHAPE, "bias has 4 elements, weight has 5 rows");
    valid();
    init(WEIGHT, BP_F64, 2, I64(5, 6), NULL);
    refused(BP_E_DTYPE, "weight");
    valid();
    view[OUTPUT].tensor.data = memory[INPUT];
    refused(BP_E_OVERLAP, "output");
    valid();
    init(INPUT, BP_F32, 6, I64(2, 2, 2, 2, 2, 6), I64(500, 200, 90, 40, 15, 1));
    init(OUTPUT, BP_F32, 6, I64(2, 2, 2, 2, 2, 5), NULL);
    refused(BP_E_LAYOUT, "5 leading dimensions cannot be merged");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compact_tensors),
        cmocka_unit_test(layouts),
        cmocka_unit_test(packed_weight),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
