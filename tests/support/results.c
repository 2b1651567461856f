/* results.c - implements results.h. */
#include "support/results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void test_compare_results(const reference_results *made, double part, const char *text) {
    assert_true(made->count > 0);
    for (int i = 0; i < made->count; i++) {
        const reference_result *result = &made->of[i];
        const double bound = reference_bound(&result->values, bp_dtype_from_dlpack(result->tensor->dtype));
        double error;
        assert_non_null(result->values.values);
        assert_int_equal(reference_error(&result->values, result->tensor, &error), BP_OK);
        if (!(error <= part * bound)) {
            fail_msg("%s: %s: the error is %g, the bound %g", text, result->name, error, part * bound);
        }
    }
}

void test_check_results_within(reference_results *made, double part, const char *text) {
    test_compare_results(made, part, text);
    reference_results_free(made);
}

void test_check_results(reference_results *made, const char *text) {
    test_check_results_within(made, 1, text);
}

void test_check_exact(reference_results *made, const char *text) {
    test_check_results_within(made, 0, text);
}
