/* test_call_refusals.c - what calls by their names (calls.h) refuse: the shape, plan and message that the caller gets.
 */
#include "backplane.h"
#include "ops/named_tensors.h"
#include "support/named.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void shape_refused(named_call *n, const DLTensor *const *tensors, int operand, bp_status wanted,
                          const char *words) {
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    named_operands(n, tensors);
    assert_int_equal(bp_call_shape(n->call, &n->arguments, operand, &dtype, &ndim, shape), wanted);
    assert_non_null(strstr(bp_last_error(), words));
}

/* There is no result where the call itself would fail. */
static void shapes_of_what_cannot_run(void **state) {
    const DLTensor *x = TENSOR(in[0], BP_F64, 2, 3, 4), *square = TENSOR(in[1], BP_F64, 2, 4, 4);
    const DLTensor *none = TENSOR(in[0], BP_F64, 2, 3, 0);
    named_call n;
    (void)state;
    named_begin(&n, "softmax_backward");
    shape_refused(&n, (const DLTensor *[]){x, square, NULL}, 2, BP_E_SHAPE, "output_gradient has shape (4, 4)");
    named_begin(&n, "matrix_power");
    shape_refused(&n, (const DLTensor *[]){x, NULL}, 1, BP_E_SHAPE, "must be square");
    named_begin(&n, "reduce");
    named_int(&n, "kind", BP_REDUCE_MAX);
    shape_refused(&n, (const DLTensor *[]){none, NULL}, 1, BP_E_SHAPE, "no elements to compare");
    named_begin(&n, "linear");
    shape_refused(&n, (const DLTensor *[]){square, TENSOR(in[2], BP_F64, 2, 2, 3), NULL, NULL}, 3, BP_E_SHAPE,
                  "a row of input has 4 elements, a row of weight 3");
    shape_refused(&n, (const DLTensor *[]){none, TENSOR(in[2], BP_F64, 2, 2, 0), NULL, NULL}, 3, BP_E_SHAPE,
                  "weight is 2 x 0");
    named_int(&n, "pass", BP_LINEAR_INPUT);
    shape_refused(&n, (const DLTensor *[]){square, TENSOR(in[2], BP_F64, 2, 3, 4), NULL, NULL}, 3, BP_E_SHAPE,
                  "a row of output_gradient has 4 elements, a column of weight 3");
    named_int(&n, "pass", BP_LINEAR_WEIGHT);
    shape_refused(&n, (const DLTensor *[]){x, square, NULL, NULL}, 2, BP_E_SHAPE,
                  "output_gradient has shape (4, 4); it must have shape (3, 4)");
}

static void a_refused_call_gives_no_plan(void **state) {
    const DLTensor *x[] = {TENSOR(in[0], BP_F64, 2, 3, 4), TENSOR(in[1], BP_F64, 2, 4, 4)};
    (void)state;
    for (int i = 0; bp_call_at(i); i++) {
        const bp_call_info *info = bp_call_get_info(bp_call_at(i));
        for (int form = 0; form < 3; form++) { /* nothing set, no size, no arguments */
            bp_plan *plan = (bp_plan *)(uintptr_t)&plan;
            bp_explanation *explanation = (bp_explanation *)(uintptr_t)&explanation;
            named_call n;
            named_begin(&n, info->name);
            n.arguments.size = form == 0 ? info->size : 0;
            const void *arguments = form == 2 ? NULL : &n.arguments;
            assert_int_not_equal(bp_call_run(NULL, n.call, arguments), BP_OK);
            assert_int_not_equal(bp_call_plan(&plan, NULL, n.call, arguments), BP_OK);
            assert_int_not_equal(bp_call_explain(&explanation, NULL, n.call, arguments), BP_OK);
            assert_null(plan);
            assert_null(explanation);
        }
    }
    bp_plan *plan = (bp_plan *)(uintptr_t)&plan;
    bp_explanation *explanation = (bp_explanation *)(uintptr_t)&explanation;
    const bp_linear_call bad = {.struct_size = sizeof bad, .pass = (bp_linear_pass)7};
    assert_int_equal(bp_linear_plan(&plan, NULL, &bad), BP_E_ARGUMENT);
    assert_int_equal(bp_linear_explain(&explanation, NULL, &bad), BP_E_ARGUMENT);
    assert_null(plan);
    assert_null(explanation);
    named_call n;
    named_begin(&n, "einsum");
    named_int(&n, "count", 1);
    named_pointer(&n, "operands", x);
    named_pointer(&n, "output", TENSOR(out, BP_F64, 0, 0));
    assert_int_equal(bp_call_run(NULL, n.call, &n.arguments), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "expression is NULL"));
}

/* An error names the operation, as many calls have a tensor of that name. */
static void overlaps_name_the_operation(void **state) {
    const DLTensor *x = TENSOR(in[0], BP_F64, 2, 3, 3), *y = TENSOR(in[0] + 1, BP_F64, 2, 3, 3);
    static const char *const names[] = {"unary", "softmax", "inv", "fftshift", "ifftshift", "matrix_power"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char words[64];
        named_call n;
        named_begin(&n, names[i]);
        if (strstr(names[i], "shift")) {
            named_int(&n, "axis_count", -1);
        }
        named_operands(&n, (const DLTensor *[]){x, y, NULL});
        snprintf(words, sizeof words, "%s: ", names[i]);
        assert_int_equal(bp_call_run(NULL, n.call, &n.arguments), BP_E_OVERLAP);
        assert_ptr_equal(strstr(bp_last_error(), words), bp_last_error());
        named_operands(&n, (const DLTensor *[]){TENSOR(in[1], BP_F64, 2, 3, 3), y, NULL});
        ((DLTensor *)(uintptr_t)y)->strides[0] = 1;
        assert_int_equal(bp_call_run(NULL, n.call, &n.arguments), BP_E_OVERLAP);
        assert_ptr_equal(strstr(bp_last_error(), words), bp_last_error());
        ((DLTensor *)(uintptr_t)y)->strides[0] = 3;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_of_what_cannot_run),
        cmocka_unit_test(a_refused_call_gives_no_plan),
        cmocka_unit_test(overlaps_name_the_operation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
