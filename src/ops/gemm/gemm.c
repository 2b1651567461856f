/* gemm.c - bp_gemm: the BLAS operation with factors and transforms, for any strides and batches. */
#include "ops/gemm/call.h"

#include "tensor/internal.h"

#include <inttypes.h>

static bool is_complex(const DLTensor *t) {
    return t->dtype.code == kDLComplex;
}

/* Returns whether the factor has an imaginary part although the matrices are real. */
static bool is_misplaced(const bp_scalar *factor, bool complex) {
    return factor && !complex && factor->im != 0.0;
}

/* Returns whether a factor of integers is one that they do not take. */
static bool is_refused(const bp_scalar *factor, bool zero) {
    return factor && factor->re != 1.0 && !(zero && factor->re == 0.0);
}

/* Returns the factor's class, for the key of a call. A factor that will be refused has its own class, so that its call
 * never matches a checked one. */
static uint64_t factor_word(const bp_scalar *factor, double when_null, bool complex) {
    return is_misplaced(factor, complex) ? 15 : (uint64_t)bp__factor(factor, when_null, complex);
}

static bp_status check_ranks(const DLTensor *const *tensors, int count) {
    for (int i = 0; i < count; i++) {
        if (tensors[i]->ndim < 2) {
            return bp__fail(BP_E_SHAPE, "%c has rank %d; gemm needs matrices, or stacks of them", "abc"[i],
                            tensors[i] -> ndim);
        }
    }
    return BP_OK;
}

static bp_status check_transforms(const bp__gemm_arguments *r) {
    if ((unsigned)r->transform_a > BP_CONJUGATE || (unsigned)r->transform_b > BP_CONJUGATE) {
        return bp__fail(BP_E_ARGUMENT, "transform_%s is not a bp_transform",
                        (unsigned)r->transform_a > BP_CONJUGATE ? "a" : "b");
    }
    return BP_OK;
}

static bp_status check_factors(const bp__gemm_arguments *r) {
    bool complex = is_complex(r->a);
    if (is_misplaced(r->alpha, complex) || is_misplaced(r->beta, complex)) {
        return bp__fail(BP_E_ARGUMENT, "%s has an imaginary part, and the matrices are real",
                        is_misplaced(r->alpha, complex) ? "alpha" : "beta");
    }
    const bool integer = bp_dtype_from_dlpack(r->c->dtype) == BP_I32;
    if (integer && (is_refused(r->alpha, false) || is_refused(r->beta, true))) {
        const bool alpha = is_refused(r->alpha, false);
        return bp__fail(BP_E_ARGUMENT, "%s is %g; for integers %s", alpha ? "alpha" : "beta",
                        alpha ? r->alpha->re : r->beta->re, alpha ? "alpha must be 1" : "beta must be 0 or 1");
    }
    return BP_OK;
}

static void transformed(bp__matrix *matrix, const DLTensor *tensor, bp_transform transform) {
    bp__matrix_from(matrix, tensor);
    if (transform == BP_TRANSPOSE || transform == BP_CONJUGATE_TRANSPOSE) {
        bp__matrix_transpose(matrix);
    }
}

static bool conjugates(bp_transform transform, const DLTensor *tensor) {
    return is_complex(tensor) && (transform == BP_CONJUGATE || transform == BP_CONJUGATE_TRANSPOSE);
}

static bp_status check_inner(const bp__matrix *a, const bp__matrix *b) {
    if (a->columns != b->rows) {
        return bp__fail(BP_E_SHAPE, "the inner sizes differ: op(a) has %" PRId64 " columns, op(b) has %" PRId64 " rows",
                        a->columns, b->rows);
    }
    return BP_OK;
}

static bp_status check_sizes(const bp__matrix *a, const bp__matrix *b, const bp__matrix *c) {
    BP__TRY(check_inner(a, b));
    if (c->rows != a->rows || c->columns != b->columns) {
        return bp__fail(BP_E_SHAPE, "c is %" PRId64 "x%" PRId64 "; this product is %" PRId64 "x%" PRId64, c->rows,
                        c->columns, a->rows, b->columns);
    }
    return BP_OK;
}

bp_status bp__gemm_fill(bp_problem *problem, const bp__gemm_arguments *r, bool data_optional) {
    const DLTensor *a = r->a, *b = r->b, *c = r->c;
    BP__TRY(bp__gemm_check(a, b, c, "c", data_optional));
    BP__TRY(check_transforms(r));
    BP__TRY(check_ranks((const DLTensor *const[]){a, b, c}, 3));
    BP__TRY(check_factors(r));
    bp__matrix left, right, result;
    transformed(&left, a, r->transform_a);
    transformed(&right, b, r->transform_b);
    bp__matrix_from(&result, c);
    BP__TRY(check_sizes(&left, &right, &result));
    BP__TRY(bp__call_check_overlap(&bp__gemm_call, bp__gemm_passes, r));
    problem->of.gemm.conjugate_a = conjugates(r->transform_a, a);
    problem->of.gemm.conjugate_b = conjugates(r->transform_b, b);
    problem->of.gemm.alpha = (uint8_t)bp__factor(r->alpha, 1.0, is_complex(a));
    problem->of.gemm.beta = (uint8_t)bp__factor(r->beta, 0.0, is_complex(a));
    return bp__gemm_lower(problem, &left, &right, &result);
}

bp_status bp_gemm(bp_transform transform_a, bp_transform transform_b, const bp_scalar *alpha, const DLTensor *a,
                  const DLTensor *b, const bp_scalar *beta, DLTensor *c) {
    bp_scalar scalars[2] = {alpha ? *alpha : (bp_scalar){1.0, 0.0}, beta ? *beta : (bp_scalar){0.0, 0.0}};
    bp__call call;
    call.tensors[0] = a;
    call.tensors[1] = b;
    call.tensors[2] = c;
    bool complex = a && is_complex(a);
    /* An invalid transform gets its own tag, so that the call never matches a checked one. */
    uint64_t first = (unsigned)transform_a <= BP_CONJUGATE ? (uint64_t)transform_a : 15;
    uint64_t second = (unsigned)transform_b <= BP_CONJUGATE ? (uint64_t)transform_b : 15;
    uint64_t bits = 1 | first << 1 | second << 5 | factor_word(alpha, 1.0, complex) << 9 |
                    factor_word(beta, 0.0, complex) << 13; /* all bits zero is the tag of bp_matmul */
    const bp_plan *plan = bp__call_find(&call, bp__tag(BP_OP_GEMM, bits));
    if (BP__LIKELY(plan != NULL)) {
        return bp__call_run(&call, plan, scalars);
    }
    const bp__gemm_arguments arguments = {sizeof arguments, transform_a, transform_b, alpha, beta, a, b, c};
    const bp__call_request request = {.call = &arguments, .described = &bp__gemm_call};
    return bp__gemm_run(&request, &call, scalars);
}

bp_status bp_gemm_run(const bp_options *options, bp_transform transform_a, bp_transform transform_b,
                      const bp_scalar *alpha, const DLTensor *a, const DLTensor *b, const bp_scalar *beta,
                      DLTensor *c) {
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_status status = bp_gemm(transform_a, transform_b, alpha, a, b, beta, c);
    bp__call_leave(&scope);
    return status;
}

bp_status bp_gemm_plan(bp_plan **plan, const bp_options *options, bp_transform transform_a, bp_transform transform_b,
                       const bp_scalar *alpha, const DLTensor *a, const DLTensor *b, const bp_scalar *beta,
                       const DLTensor *c) {
    const bp__gemm_arguments call = {sizeof call, transform_a, transform_b, alpha, beta, a, b, c};
    return bp__call_plan_described(&bp__gemm_call, plan, options, &call);
}

bp_status bp_gemm_explain(bp_explanation **explanation, const bp_options *options, bp_transform transform_a,
                          bp_transform transform_b, const bp_scalar *alpha, const DLTensor *a, const DLTensor *b,
                          const bp_scalar *beta, const DLTensor *c) {
    const bp__gemm_arguments call = {sizeof call, transform_a, transform_b, alpha, beta, a, b, c};
    return bp__call_explain_described(&bp__gemm_call, explanation, options, &call);
}

/* ---- The description ---- */

static bp_status shape_of_call(const void *given, bp__call_result *result) {
    const bp__gemm_arguments *call = given;
    bp__matrix left, right;
    BP__TRY(bp__tensor_check(call->a, "a", true));
    BP__TRY(bp__tensor_check(call->b, "b", true));
    BP__TRY(check_transforms(call));
    BP__TRY(check_ranks((const DLTensor *const[]){call->a, call->b}, 2));
    transformed(&left, call->a, call->transform_a);
    transformed(&right, call->b, call->transform_b);
    BP__TRY(check_inner(&left, &right));
    BP__TRY(bp__matrix_batch(&left, &right, &result->ndim, result->shape));
    result->dtype = bp_matmul_dtype(call->a, call->b);
    result->shape[result->ndim++] = left.rows;
    result->shape[result->ndim++] = right.columns;
    return BP_OK;
}

static bp_status run_described(const bp_call *described, const bp_options *options, const void *given) {
    const bp__gemm_arguments *call = given;
    (void)described;
    return bp_gemm_run(options, call->transform_a, call->transform_b, call->alpha, call->a, call->b, call->beta,
                       (DLTensor *)(uintptr_t)call->c);
}

static const bp__call_functions functions = {run_described, bp__call_plan_described, bp__call_explain_described};

const bp_call bp__gemm_call = {
    .info = {"gemm", "scaled products, added to a matrix", sizeof(bp__gemm_arguments), BP__COUNT(bp__gemm_fields), 1, 0,
             false},
    .op = BP_OP_GEMM,
    .ndim_offset = -1,
    .fields = bp__gemm_fields,
    .family = &bp__family_gemm,
    .passes = bp__gemm_passes,
    .shape = shape_of_call,
    .functions = &functions,
};
