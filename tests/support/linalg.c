/* linalg.c - implements linalg.h. */
#include "support/linalg.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Returns the name of an operand: inputs, then outputs. */
static const char *name_of(bp_op op, int operand, int *inputs) {
    const char *name = bp_op_inputs(op);
    *inputs = 1;
    for (const char *at = name; *at; at++) {
        *inputs += *at == ',';
    }
    if (operand >= *inputs) {
        name = bp_op_outputs(op);
        operand -= *inputs;
    }
    for (; operand > 0 && name; operand--) {
        name = strchr(name, ',');
        name = name ? name + 1 : NULL;
    }
    return name;
}

static bool begins_with_one(const char *name, const char *const *list, size_t count) {
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        found |= strncmp(name, list[i], strlen(list[i])) == 0;
    }
    return found;
}

/* Returns the dimensions of an item. The row vector of X A = b is a column in the problem. */
static int rank_of(const bp_problem *problem, int operand, const char *name) {
    static const char *const numbers[] = {"det", "sign", "logabsdet", "rank", "cond", "norm", "info"};
    static const char *const vectors[] = {"w", "S", "pivots", "residuals"};
    const bp_linalg_problem *l = &problem->of.linalg;
    const bool right = problem->op == BP_OP_SOLVE && !l->a_on_left && (*name == 'B' || *name == 'X');
    if (begins_with_one(name, numbers, sizeof numbers / sizeof *numbers)) {
        return 0;
    }
    const bool row = right && l->operand[operand].columns == 1 && l->n > 1;
    return row || begins_with_one(name, vectors, sizeof vectors / sizeof *vectors) ? 1 : 2;
}

static void make_view(bp_view *view, const bp_problem *problem, int operand, const char *name, void *address) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const bp_linalg_operand *x = &l->operand[operand];
    const int rank = rank_of(problem, operand, name);
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    int ndim = 0;
    for (int d = 0; d < l->batch_ndim; d++) {
        shape[ndim] = l->batch_shape[d];
        strides[ndim++] = x->batch[d];
    }
    if (rank > 0) {
        shape[ndim] = x->rows;
        strides[ndim++] = x->row;
    }
    if (rank > 1) {
        shape[ndim] = x->columns;
        strides[ndim++] = x->column;
    }
    assert_int_equal(bp_view_init(view, address, (bp_dtype)x->dtype, ndim, shape, strides), BP_OK);
}

void test_linalg_make(test_linalg *made, const bp_problem *problem, void *const *addresses) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const bp_op op = (bp_op)problem->op;
    const bool solves = op == BP_OP_SOLVE || op == BP_OP_LU_SOLVE || op == BP_OP_SOLVE_TRIANGULAR;
    made->call = (bp_linalg_call){.struct_size = sizeof made->call,
                                  .op = op,
                                  .mode = (bp_linalg_mode)l->mode,
                                  .upper = l->upper,
                                  .right = solves && !l->a_on_left,
                                  .adjoint = l->adjoint,
                                  .unitriangular = l->unit_diagonal,
                                  .hermitian = l->hermitian,
                                  .order = l->order};
    for (int i = 0, inputs; i < BP_LINALG_OPERANDS; i++) {
        const char *name = name_of(op, i, &inputs);
        if (name && addresses[i]) {
            make_view(&made->views[i], problem, i, name, addresses[i]);
            if (i < inputs) {
                made->call.input[i] = &made->views[i].tensor;
            } else {
                made->call.output[i - inputs] = &made->views[i].tensor;
            }
        }
    }
}

void test_check_equations(const bp_linalg_call *call, double part, const char *text) {
    const char *equations = reference_linalg_equations(call);
    double error;
    assert_true(equations || reference_linalg_is_spectrum(call));
    assert_int_equal(reference_linalg_error(call, &error), BP_OK);
    const double bound = part * reference_linalg_bound(call);
    if (!(error <= bound)) {
        fail_msg("%s: %s: the residual is %g, the bound %g", text, equations ? equations : "sums of values", error,
                 bound);
    }
}

void test_linalg_values(reference_results *made, const bp_linalg_call *call, double most) {
    assert_int_equal(reference_of_matrix_values(made, call), BP_OK);
    for (int i = 0; i < made->count && most > 0; i++) {
        reference *values = &made->of[i].values;
        for (int64_t j = 0; j < values->count; j++) {
            reference_value *value = &values->values[j];
            const double size = hypot(value->re, value->im);
            /* The second result of slogdet is a logarithm, whose error is the relative one of the determinant. */
            value->scale = fmin(value->scale, (i == 0 ? most * size : most + 2 * size) / 1.01);
        }
    }
}
