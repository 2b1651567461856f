/* support_compare.c - compares the results of a case with the reference (reference/attention.h). */
#include "attention/cases.h"
#include "reference/attention.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static double rounding(bp_dtype dtype) {
    return dtype == BP_F64 ? 0x1p-53 : dtype == BP_F32 ? 0x1p-24 : dtype == BP_F16 ? 0x1p-11 : 0x1p-8;
}

static reference_attention *open_reference(const attention_case *c) {
    const reference_attention_rounding of = {c->weight_error, c->rounds, 0};
    reference_attention *made;
    assert_int_equal(reference_attention_open(&made, &c->call, &of), BP_OK);
    return made;
}

/* An infinite error means that any value is right. */
static bool agrees(double got, const reference_number *want, double rounded) {
    const double value = (double)want->value, tolerance = (double)want->error + rounded;
    return isinf(tolerance) || (isnan(value)   ? isnan(got)
                                : isinf(value) ? got == value
                                               : fabs(got - value) <= tolerance);
}

/* The error of rounding a value to the type; small ones may become denormal. */
static double last_rounding(bp_dtype dtype, const reference_number *want) {
    const double own = rounding(dtype);
    return own * (isfinite(want->value) ? fabs((double)want->value) : 0) + 1e-6 * own + (dtype == BP_F16 ? 0x1p-24 : 0);
}

static int64_t rows_of(const attention_case *c) {
    const DLTensor *output = &c->tensor[BP_ATTENTION_OUTPUT].view.tensor;
    int64_t rows = 1;
    for (int d = 0; d < output->ndim - 1; d++) {
        rows *= output->shape[d];
    }
    return rows;
}

void attention_reference(const attention_case *c, double *output) {
    reference_attention *a = open_reference(c);
    const int64_t size = c->shape.value_size;
    reference_number *row = reference_numbers(size);
    assert_non_null(row);
    for (int64_t i = 0; i < rows_of(c); i++) {
        reference_attention_row(a, i, row, NULL);
        for (int64_t e = 0; e < size; e++) {
            output[i * size + e] = (double)row[e].value;
        }
    }
    free(row);
    reference_attention_close(a);
}

static void compare_row(const attention_case *c, int64_t row, const reference_number *want,
                        const reference_number *logsumexp) {
    const test_array *output = &c->tensor[BP_ATTENTION_OUTPUT];
    for (int64_t e = 0; e < c->shape.value_size; e++) {
        const double got = test_array_get(output, row * c->shape.value_size + e);
        if (!agrees(got, &want[e], last_rounding(c->shape.dtype, &want[e]))) {
            fail_msg("%s: output %" PRId64 ",%" PRId64 " is %.9g; it must be %.9g, within %.3g", c->text, row, e, got,
                     (double)want[e].value, (double)want[e].error);
        }
    }
    if (c->shape.logsumexp) {
        const double got = test_array_get(&c->tensor[BP_ATTENTION_LOGSUMEXP], row);
        const double own = rounding(c->shape.dtype == BP_F64 ? BP_F64 : BP_F32);
        if (!agrees(got, logsumexp, isfinite(logsumexp->value) ? own * fabs((double)logsumexp->value) : 0)) {
            fail_msg("%s: logsumexp %" PRId64 " is %g; it must be %g", c->text, row, got, (double)logsumexp->value);
        }
    }
}

void attention_compare_output(const attention_case *c) {
    reference_attention *a = open_reference(c);
    reference_number *want = reference_numbers(c->shape.value_size), logsumexp;
    assert_non_null(want);
    for (int64_t row = 0; row < rows_of(c); row++) {
        reference_attention_row(a, row, want, &logsumexp);
        compare_row(c, row, want, &logsumexp);
    }
    free(want);
    reference_attention_close(a);
    test_array_check_gaps(&c->tensor[BP_ATTENTION_OUTPUT], c->text);
    if (c->shape.logsumexp) {
        test_array_check_gaps(&c->tensor[BP_ATTENTION_LOGSUMEXP], c->text);
    }
}

static void compare_gradient(const attention_case *c, int which, const reference_number *want) {
    static const char *const names[REFERENCE_ATTENTION_GRADIENTS] = {"query", "key", "value", "mask"};
    const test_array *got = &c->tensor[BP_ATTENTION_QUERY_GRADIENT + which];
    for (int64_t at = 0; at < test_array_count(got); at++) {
        const double value = test_array_get(got, at), last = last_rounding(got->dtype, &want[at]);
        if (!agrees(value, &want[at], last)) {
            fail_msg("%s: gradient by %s, element %" PRId64 ", is %.9g; it must be %.9g, within %.3g", c->text,
                     names[which], at, value, (double)want[at].value, (double)want[at].error + last);
        }
    }
    test_array_check_gaps(got, c->text);
}

void attention_compare_gradients(const attention_case *c) {
    const int count = c->call.mask_gradient ? REFERENCE_ATTENTION_GRADIENTS : REFERENCE_ATTENTION_GRADIENTS - 1;
    reference_number *of[REFERENCE_ATTENTION_GRADIENTS] = {NULL};
    reference_attention *a = open_reference(c);
    for (int i = 0; i < count; i++) {
        of[i] = reference_numbers(test_array_count(&c->tensor[BP_ATTENTION_QUERY + i]));
        assert_non_null(of[i]);
    }
    reference_attention_gradients(a, of);
    for (int i = 0; i < count; i++) {
        compare_gradient(c, i, of[i]);
        free(of[i]);
    }
    reference_attention_close(a);
}
