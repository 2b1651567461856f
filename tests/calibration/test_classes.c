/* test_classes.c - tests that the problem which is measured at each point of each class is one of that class: it has
 * the operation and the type, and the times of the class are found for it, at the point's sizes. */
#include "dispatch/internal.h"
#include "tuning/trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void check_point(int index, int point) {
    const bp__class *class = &bp__classes[index];
    int64_t sizes[BP__LATTICE_DIMENSIONS];
    bp_problem problem = {0};
    bp_verdict verdict = {0};
    bp__class_place place = {.class = -1};
    bp__lattice_sizes(class->lattice, point, sizes);
    if (bp__sample_make(&problem, class, sizes) != BP_OK) {
        fail_msg("%s, point %d: %s", class->name, point, bp_last_error());
    }
    assert_int_equal(problem.op, class->op);
    assert_int_equal(problem.dtype, class->dtype);
    const bp__measuring *measuring = bp__family_of(&problem)->measuring;
    if (measuring->predict) {
        return; /* products have times, and factors to them */
    }
    verdict.algorithm = class->algorithm ? class->algorithm : "";
    measuring->place(&problem, &verdict, &place);
    if (place.class != index) {
        fail_msg("%s, point %d: the times of %s are used", class->name, point,
                 place.class < 0 ? "no class" : bp__classes[place.class].name);
    }
    double found = 1, measured = 1; /* a size may stand for the mean of two */
    for (int d = 0; d < class->lattice->dimensions; d++) {
        found *= place.sizes[d];
        measured *= (double)sizes[d];
    }
    if (fabs(found - measured) > 1e-6 * measured) {
        fail_msg("%s, point %d: the sizes have a product of %g in place of %g", class->name, point, found, measured);
    }
}

static void problems_are_of_their_class(void **state) {
    (void)state;
    for (int class = 0; class < BP__CLASSES; class ++) {
        for (int point = 0; point < bp__lattice_points(bp__classes[class].lattice); point++) {
            check_point(class, point);
        }
    }
}

/* The helper program gets the names of all classes of an operation in one text. */
static void names_fit(void **state) {
    (void)state;
    for (int class = 0; class < BP__CLASSES; class ++) {
        assert_true(strlen(bp__classes[class].name) < BP__CLASS_NAME_BYTES);
    }
}

/* Returns whether calibration measures an operation in a type. */
static bool is_measured(bp_op op, bp_dtype dtype) {
    for (int class = 0; class < BP__CLASSES; class ++) {
        if (bp__classes[class].op == op && bp__classes[class].dtype == dtype) {
            return true;
        }
    }
    return false;
}

/* The operations that have the times of another one, or whose times are not measured. */
static bool is_measured_elsewhere(bp_op op) {
    const bp_problem problem = {.op = op};
    return bp__family_of(&problem) == &bp__family_linalg || op == BP_OP_EINSUM || op == BP_OP_GRAPH ||
           op == BP_OP_GATHER || op == BP_OP_WHERE || op == BP_OP_VARIANCE || op == BP_OP_FLIP || op == BP_OP_ROLL ||
           op == BP_OP_ATTENTION_PAGED || op == BP_OP_ATTENTION_LENGTHS || op == BP_OP_ATTENTION_LENGTHS_BACKWARD;
}

static void gradients_and_types_are_measured(void **state) {
    static const bp_dtype types[] = {BP_F64, BP_F16, BP_BF16};
    (void)state;
#define X(number, name, text, inputs, outputs, family)                                                                 \
    if (!is_measured_elsewhere(BP_OP_##name)) {                                                                        \
        const bool gradient = strstr(text, "backward") || strncmp(text, "conv_", 5) == 0,                              \
                   transform = number == BP_OP_FFT;                                                                    \
        assert_true(is_measured(BP_OP_##name, transform ? BP_C64 : BP_F32));                                           \
        for (int i = 0; i < BP__COUNT(types) && !gradient && !transform && number != BP_OP_GEMM; i++) {                \
            assert_true(is_measured(BP_OP_##name, types[i]));                                                          \
        }                                                                                                              \
    }
    BP_OP_MAP(X)
#undef X
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(problems_are_of_their_class),
        cmocka_unit_test(names_fit),
        cmocka_unit_test(gradients_and_types_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
