/* results.c - implements results.h. */
#include "support/results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void test_check_results(reference_results *made, const char *text) {
    assert_true(made->count > 0);
    for (int i = 0; i < made->count; i++) {
        const reference_result *result = &made->of[i];
        const double bound = reference_bound(&result->values, bp_dtype_from_dlpack(result->tensor->dtype));
        double error;
        assert_non_null(result->values.values);
        assert_int_equal(reference_error(&result->values, result->tensor, &error), BP_OK);
        if (!(error <= bound)) {
            fail_msg("%s: %s: the error is %g, the bound %g", text, result->name, error, bound);
        }
    }
    reference_results_free(made);
}
