/* test_results.c - attention of random shapes and layouts against a reference that follows attention.h one element at a
 * time, for all types and kernels, on any number of threads. */
#include "attention/cases.h"
#include "support/conditions.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 400, GRADIENT_CASES = 160 };

static int reduced(int cases) {
    return test_cases(cases, 8);
}

static void outputs_equal_the_reference(void **state) {
    (void)state;
    test_array_random = 42;
    attention_check_outputs(reduced(CASES), false);
}

static void gradients_equal_the_reference(void **state) {
    (void)state;
    test_array_random = 43;
    attention_check_gradients(reduced(GRADIENT_CASES), false);
}

/* The rounding of an output of 16 bits is not in a gradient by a mask of f32, with any kernel. */
static void wide_gradients_by_the_mask_equal_the_reference(void **state) {
    (void)state;
    test_array_random = 44;
    for (int i = 0; i < reduced(GRADIENT_CASES / 2); i++) {
        attention_case c;
        attention_shape shape = attention_any(i % 2 ? BP_F16 : BP_BF16);
        shape.logsumexp = true;
        shape.causal = false;
        shape.mask = ATTENTION_F32;
        shape.queries = shape.queries > 100 ? shape.queries / 3 : shape.queries;
        attention_begin(&c, &shape);
        attention_run(&c, "");
        attention_turn(&c);
        attention_run(&c, attention_kernels[i / 2 % ATTENTION_KERNELS]);
        attention_compare_gradients(&c);
        attention_end(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_equal_the_reference),
        cmocka_unit_test(gradients_equal_the_reference),
        cmocka_unit_test(wide_gradients_by_the_mask_equal_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
