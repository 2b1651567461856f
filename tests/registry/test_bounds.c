/* test_bounds.c - probes fake libraries that access memory outside of the operands of products and of LAPACK. */
#include "registry/support_registry.h"

/* Products are right, but read outside of their operands in two types. The others stay usable, and so do those after
 * the types that ended a child. */
static void test_peeking_products(void **state) {
    (void)state;
    bp_library_info row = probe_good("peeking");
    assert_true(row.faulty == (BP_CHECK_BIT(BP_CHECK_GEMM, BP_F64) | BP_CHECK_BIT(BP_CHECK_GEMM, BP_C64)));
    const char *const before = "gemm f64: reads memory outside of its operands in probe: dgemm (op ",
                      *const after = "\ngemm c64: reads memory outside of its operands in probe: cgemm (op ";
    assert_memory_equal(row.faults, before, strlen(before));
    assert_non_null(strstr(row.faults, after));
}

/* Other routines of BLAS, which end the process or not. Those that stay within their operands, and those that the
 * library does not have, are not in the list. */
static void test_peeking_routines(void **state) {
    (void)state;
    bp_library_info row = probe_good("peeking");
    assert_string_equal(row.outside, "ssyrk daxpy zhpmv");
    row = probe_good("plain");
    assert_string_equal(row.outside, "");
    row = (bp_library_info){.struct_size = sizeof row};
    assert_int_equal(bp_library_find("native", &row), BP_OK);
    assert_string_equal(row.outside, "");
}

/* Nothing is known of the routines behind one that ends the process without an access. */
static void test_routine_that_ends_the_process(void **state) {
    (void)state;
    bp_library_info row = probe_good("ending");
    assert_string_equal(row.outside, "*");
    assert_string_equal(row.faults, "");
    assert_non_null(strstr(row.fact_sources, "outside: dcopy ended the probe"));
}

/* A read next to an operand is a property. A write, a distant read, and a result that depends on such memory are
 * faults.
 */
static void test_peeking_lapack(void **state) {
    (void)state;
    bp_library_info row = probe_good("lapack-peeking");
    assert_int_equal(row.overreads, BP_OVERREAD_BIT(BP_C64));
    assert_non_null(strstr(row.fact_sources,
                           "overreads: reads memory next to its operands in probe: cpotrf (L, 1x1, 1 right sides)"));
    assert_string_equal(
        row.faults,
        "cholesky f32: reads memory far outside of its operands in probe: spotrf (L, 1x1, 1 right sides)\n"
        "cholesky f64: its results depend on memory outside of its operands in probe: dpotrf (L, 1x1, 1 right sides)\n"
        "cholesky c128: writes memory outside of its operands in probe: zpotrf (L, 1x1, 1 right sides)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peeking_products),
        cmocka_unit_test(test_peeking_routines),
        cmocka_unit_test(test_routine_that_ends_the_process),
        cmocka_unit_test(test_peeking_lapack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
