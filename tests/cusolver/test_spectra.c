/* test_spectra.c - QR factorizations, eigenvalues and singular values on a CUDA device, and the operations that kernels
 * finish: P, L and U apart, and inverses from Cholesky factors. */
#include "cusolver/support_cusolver.h"

#include <math.h>

static const bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128};
static const int64_t sizes[][2] = {{1, 1}, {5, 5}, {7, 4}, {3, 6}, {1, 4}, {6, 1}};

static test_layout any_layout(void) {
    return (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1);
}

static void check(linalg_case *c, unsigned absent, const char *name, int variant) {
    char text[64];
    snprintf(text, sizeof text, "%s %s, variant %d", name, bp_dtype_name(c->dtype), variant);
    put_case(c, any_layout(), absent);
    check_case(c, text);
    free_case(c);
}

/* Adds three matrices, or one. */
static test_array *add_matrices(linalg_case *c, int variant, int64_t m, int64_t n) {
    return variant % 2 ? add_input(c, 2, I64(m, n), any_layout()) : add_input(c, 3, I64(3, m, n), any_layout());
}

static void lu(void **state) {
    (void)state;
    for (int i = 0; i < 48; i++) {
        linalg_case c = new_case(BP_OP_LU, types[i % 4]);
        add_matrices(&c, i / 4, sizes[i / 4 % 6][0], sizes[i / 4 % 6][1]);
        check(&c, 0, "lu", i);
    }
}

static void qr(void **state) {
    static const bp_linalg_mode modes[] = {BP_QR_REDUCED, BP_QR_COMPLETE, BP_QR_R};
    (void)state;
    for (int i = 0; i < 72; i++) {
        linalg_case c = new_case(BP_OP_QR, types[i % 4]);
        c.call.mode = modes[i / 4 % 3];
        add_matrices(&c, i / 4, sizes[i / 12][0], sizes[i / 12][1]);
        check(&c, 0, "qr", i);
    }
}

static void eigh(void **state) {
    (void)state;
    for (int i = 0; i < 48; i++) {
        linalg_case c = new_case(BP_OP_EIGH, types[i % 4]);
        c.call.upper = i / 4 % 2;
        add_matrices(&c, i / 8, 1 + i / 8, 1 + i / 8);
        check(&c, i / 4 % 3 == 2 ? 2 : 0, "eigh", i);
    }
}

static void svd(void **state) {
    (void)state;
    for (int i = 0; i < 72; i++) {
        linalg_case c = new_case(BP_OP_SVD, types[i % 4]);
        const int kind = i / 4 % 3;
        c.call.mode = kind == 1 ? BP_SVD_FULL : BP_SVD_REDUCED;
        add_matrices(&c, i / 4, sizes[i / 12][0], sizes[i / 12][1]);
        check(&c, kind == 2 ? 5 : 0, "svd", i);
    }
}

/* Values are in order, also of a matrix of a low rank. */
static void values_are_sorted(void **state) {
    (void)state;
    linalg_case c = new_case(BP_OP_SVD, BP_F64);
    test_array *a = add_input(&c, 2, I64(5, 4), TEST_COMPACT);
    for (int i = 0; i < 20; i++) {
        const int row = i / 4, column = i % 4;
        test_array_set(a, i, (row + 1) * (column - 1.5)); /* of rank 1 */
    }
    put_case(&c, TEST_COMPACT, 0);
    check_case(&c, "a low rank");
    for (int i = 1; i < 4; i++) {
        assert_true(test_array_get(&c.out[1], i) <= test_array_get(&c.out[1], i - 1));
    }
    free_case(&c);
    c = new_case(BP_OP_EIGH, BP_F32);
    add_input(&c, 2, I64(5, 5), TEST_COMPACT);
    put_case(&c, TEST_COMPACT, 0);
    check_case(&c, "eigenvalues");
    for (int i = 1; i < 5; i++) {
        assert_true(test_array_get(&c.out[0], i) >= test_array_get(&c.out[0], i - 1));
    }
    free_case(&c);
}

static void cholesky_inverses(void **state) {
    (void)state;
    for (int i = 0; i < 32; i++) {
        linalg_case c = new_case(BP_OP_CHOLESKY_INVERSE, types[i % 4]);
        c.call.upper = i / 4 % 2;
        make_dominant(add_matrices(&c, i / 8, 1 + i / 8, 1 + i / 8));
        check(&c, 0, "cholesky_inverse", i);
    }
}

/* ---- Failing items ---- */

/* A singular matrix has LU factors. */
static void factors_of_singular_matrices(void **state) {
    (void)state;
    linalg_case c = new_case(BP_OP_LU, BP_F64);
    test_array *a = add_input(&c, 3, I64(2, 3, 3), TEST_COMPACT);
    for (int i = 0; i < 9; i++) {
        test_array_set(a, i, i % 3 + 1);
    }
    put_case(&c, TEST_COMPACT, 0);
    check_case(&c, "a singular matrix");
    free_case(&c);
}

/* A zero on the diagonal of a factor, also one whose imaginary part is not zero. */
static void zeros_of_a_factor(void **state) {
    (void)state;
    for (int type = 0; type < 4; type++) {
        linalg_case c = new_case(BP_OP_CHOLESKY_INVERSE, types[type]);
        test_array *a = add_input(&c, 3, I64(3, 4, 4), TEST_GAPS);
        make_dominant(a);
        test_array_set_complex(a, 16 + 10, (bp_scalar){-0.0, 0});
        test_array_set_complex(a, 16 + 15, (bp_scalar){0, 0});
        test_array_set_complex(a, 32 + 5, (bp_scalar){type < 2 ? 1e-30 : 0, 1});
        put_case(&c, TEST_COMPACT, 0);
        assert_ok(run_case(&c));
        for (int i = 0; i < 3; i++) {
            assert_int_equal(test_array_get_i64(&c.out[1], i), i == 1 ? 3 : 0);
        }
        free_case(&c);
    }
}

static void expect_nan(const test_array *a, int64_t first, int64_t end) {
    for (int64_t i = 0; i < test_array_count(a); i++) {
        const bool is_nan = isnan(test_array_get(a, i));
        assert_int_equal(is_nan, i >= first && i < end);
    }
}

/* The outputs of an item that is not finite are NaN; without info the call fails later. */
static void items_that_are_not_finite(void **state) {
    static const bp_op ops[] = {BP_OP_LU, BP_OP_QR, BP_OP_EIGH, BP_OP_SVD};
    (void)state;
    for (int i = 0; i < 16; i++) {
        linalg_case c = new_case(ops[i % 4], types[i / 4]);
        test_array *a = add_input(&c, 3, I64(3, 4, 4), TEST_COMPACT);
        test_array_set(a, 16 + 8, (double)(i % 3 ? NAN : INFINITY));
        put_case(&c, any_layout(), 0);
        assert_fails(run_case(&c), BP_E_NON_FINITE, "(Batch element 1): the input contains NaN or infinity");
        for (int o = 0; o < CASE_OUTPUTS && c.out[o].memory; o++) {
            const int64_t each = test_array_count(&c.out[o]) / 3;
            get(&c.device_out[o]);
            expect_nan(&c.out[o], each, 2 * each);
        }
        free_case(&c);
    }
}

static void values_that_do_not_converge(void **state) {
    static const bp_op ops[] = {BP_OP_EIGH, BP_OP_SVD};
    (void)state;
    for (int i = 0; i < 2; i++) {
        linalg_case c = new_case(ops[i], BP_F64);
        add_input(&c, 2, I64(3, 3), TEST_COMPACT);
        put_case(&c, TEST_COMPACT, 0);
        the_cusolver()->fail_spectra = 2;
        assert_fails(run_case(&c), BP_E_NOT_CONVERGED, "(error code: 2)");
        the_cusolver()->fail_spectra = 0;
        check_case(&c, "after a failure");
        free_case(&c);
    }
}

/* ---- Captures and empty matrices ---- */

/* The provider assumes that these routines wait for the device. */
static void captures_are_refused(void **state) {
    (void)state;
    linalg_case c = new_case(BP_OP_EIGH, BP_F64);
    bp_operand operands[CASE_INPUTS + CASE_OUTPUTS];
    bp_queue_graph *graph = NULL;
    add_input(&c, 2, I64(3, 3), TEST_COMPACT);
    put_case(&c, TEST_COMPACT, 0);
    bp_plan *plan = plan_case(&c, operands);
    bp_queue *queue = cuda_queue(0);
    const bp_exec exec = {.struct_size = sizeof exec, .queue = queue};
    assert_ok(bp_queue_capture_begin(queue));
    assert_fails(bp_execute(plan, operands, &exec), BP_E_UNSUPPORTED, "cuSOLVER waits for the device");
    if (bp_queue_capture_end(&graph, queue) == BP_OK) {
        bp_queue_graph_release(graph);
    }
    bp_plan_release(plan);
    bp_queue_release(queue);
    free_case(&c);
}

/* Bases of the whole space are identities. */
static void empty_matrices(void **state) {
    static const struct {
        bp_op op;
        bp_linalg_mode mode;
        int64_t m, n;
        int identity; /* number of the output */
    } cases[] = {{BP_OP_LU, BP_MODE_DEFAULT, 4, 0, 0},
                 {BP_OP_QR, BP_QR_COMPLETE, 3, 0, 0},
                 {BP_OP_SVD, BP_SVD_FULL, 3, 0, 0},
                 {BP_OP_SVD, BP_SVD_FULL, 0, 5, 2},
                 {BP_OP_EIGH, BP_MODE_DEFAULT, 0, 0, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        linalg_case c = new_case(cases[i].op, types[i % 4]);
        c.call.mode = cases[i].mode;
        add_input(&c, 3, I64(2, cases[i].m, cases[i].n), TEST_COMPACT);
        put_case(&c, TEST_REVERSED, 0);
        assert_ok(run_case(&c));
        const test_array *basis = &c.out[cases[i].identity];
        const int64_t n = basis->view.tensor.shape[2];
        for (int64_t j = 0; j < test_array_count(basis); j++) {
            assert_true(test_array_get(basis, j) == (j / n % n == j % n));
        }
        free_case(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lu, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(qr, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(eigh, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(svd, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(values_are_sorted, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(cholesky_inverses, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(factors_of_singular_matrices, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(zeros_of_a_factor, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(items_that_are_not_finite, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(values_that_do_not_converge, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(captures_are_refused, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(empty_matrices, begin_cusolver, end_cusolver),
    };
    return cmocka_run_group_tests_name("spectra", tests, start_cusolver, stop_cusolver);
}
