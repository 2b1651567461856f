/* test_factors.c - factorizations and solutions on a CUDA device: values of every element type and layout against their
 * equations, with batches that are broadcast and merged. */
#include "cusolver/support_cusolver.h"

#include <math.h>

static const bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128};

static test_layout any_layout(void) {
    return (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1);
}

/* Runs a case and checks it. */
static void check(linalg_case *c, test_layout layout, const char *name, int variant) {
    char text[64];
    snprintf(text, sizeof text, "%s %s, variant %d", name, bp_dtype_name(c->dtype), variant);
    put_case(c, layout, 0);
    check_case(c, text);
    free_case(c);
}

/* Shapes of matrices: a single one, batches of one and of two dimensions. */
static int shape_of(int64_t *shape, int variant, int64_t m, int64_t n) {
    static const int64_t batches[][2] = {{0, 0}, {5, 0}, {2, 3}, {1, 0}};
    int ndim = 0;
    for (int d = 0; d < 2 && batches[variant % 4][d] > 0; d++) {
        shape[ndim++] = batches[variant % 4][d];
    }
    shape[ndim++] = m;
    shape[ndim++] = n;
    return ndim;
}

#define FOR_TYPES(type) for (int type = 0; type < 4; type++)

static void cholesky(void **state) {
    (void)state;
    FOR_TYPES(type) {
        for (int i = 0; i < 24; i++) {
            linalg_case c = new_case(BP_OP_CHOLESKY, types[type]);
            int64_t shape[4];
            const int ndim = shape_of(shape, i, 1 + i % 9, 1 + i % 9);
            c.call.upper = i / 2 % 2;
            make_definite(add_input(&c, ndim, shape, any_layout()));
            check(&c, any_layout(), "cholesky", i);
        }
    }
}

/* The other triangle, and imaginary parts of the diagonal, have no effect: the reference does not read them either. */
static void cholesky_reads_one_triangle(void **state) {
    (void)state;
    for (int upper = 0; upper < 2; upper++) {
        linalg_case c = new_case(BP_OP_CHOLESKY, BP_C128);
        test_array *a = add_input(&c, 2, I64(6, 6), TEST_COMPACT);
        make_definite(a);
        for (int i = 0; i < 36; i++) {
            const bool other = upper ? i % 6 < i / 6 : i % 6 > i / 6;
            if (other) {
                test_array_set_complex(a, i, (bp_scalar){(double)NAN, (double)INFINITY});
            }
        }
        c.call.upper = upper;
        check(&c, TEST_COMPACT, "one triangle", upper);
    }
}

static void lu_factor(void **state) {
    static const int64_t sizes[][2] = {{1, 1}, {7, 7}, {9, 4}, {3, 8}, {1, 5}, {6, 1}};
    (void)state;
    FOR_TYPES(type) {
        for (int i = 0; i < 18; i++) {
            linalg_case c = new_case(BP_OP_LU_FACTOR, types[type]);
            int64_t shape[4];
            const int ndim = shape_of(shape, i, sizes[i % 6][0], sizes[i % 6][1]);
            add_input(&c, ndim, shape, any_layout());
            check(&c, any_layout(), "lu_factor", i);
        }
    }
}

static void inverses(void **state) {
    (void)state;
    FOR_TYPES(type) {
        for (int i = 0; i < 12; i++) {
            linalg_case c = new_case(BP_OP_INV, types[type]);
            int64_t shape[4];
            const int ndim = shape_of(shape, i, 1 + i % 7, 1 + i % 7);
            make_dominant(add_input(&c, ndim, shape, any_layout()));
            check(&c, any_layout(), "inv", i);
        }
    }
}

static void solutions(void **state) {
    (void)state;
    FOR_TYPES(type) {
        for (int i = 0; i < 24; i++) {
            linalg_case c = new_case(BP_OP_SOLVE, types[type]);
            int64_t shape[4];
            const int64_t n = 1 + i % 6, k = 1 + i % 5;
            c.call.right = i / 3 % 2;
            make_dominant(add_input(&c, shape_of(shape, i, n, n), shape, any_layout()));
            const int ndim = shape_of(shape, i, c.call.right ? k : n, c.call.right ? n : k);
            add_input(&c, ndim, shape, any_layout());
            check(&c, any_layout(), "solve", i);
        }
    }
}

/* A vector, one matrix for many right sides, and one right side for many matrices. */
static void broadcast_solutions(void **state) {
    (void)state;
    FOR_TYPES(type) {
        linalg_case vector = new_case(BP_OP_SOLVE, types[type]);
        make_dominant(add_input(&vector, 2, I64(5, 5), any_layout()));
        add_input(&vector, 1, I64(5), any_layout());
        check(&vector, any_layout(), "a vector", type);
        linalg_case sides = new_case(BP_OP_SOLVE, types[type]);
        make_dominant(add_input(&sides, 2, I64(4, 4), any_layout()));
        add_input(&sides, 4, I64(3, 2, 4, 2), any_layout());
        check(&sides, any_layout(), "many right sides", type);
        linalg_case matrices = new_case(BP_OP_SOLVE, types[type]);
        make_dominant(add_input(&matrices, 4, I64(2, 3, 4, 4), any_layout()));
        add_input(&matrices, 3, I64(3, 4, 1), any_layout());
        check(&matrices, any_layout(), "many matrices", type);
    }
}

static void cholesky_solutions(void **state) {
    (void)state;
    FOR_TYPES(type) {
        for (int i = 0; i < 16; i++) {
            linalg_case c = new_case(BP_OP_CHOLESKY_SOLVE, types[type]);
            int64_t shape[4];
            const int64_t n = 1 + i % 6, k = 1 + i % 4;
            c.call.upper = i / 4 % 2;
            const int ndim = shape_of(shape, i, n, k);
            add_input(&c, ndim, shape, any_layout());
            make_dominant(add_input(&c, shape_of(shape, i, n, n), shape, any_layout()));
            check(&c, any_layout(), "cholesky_solve", i);
        }
    }
}

static void lu_solutions(void **state) {
    (void)state;
    FOR_TYPES(type) {
        for (int i = 0; i < 32; i++) {
            linalg_case c = new_case(BP_OP_LU_SOLVE, types[type]);
            int64_t shape[4];
            const int64_t n = 1 + i % 6, k = 1 + i % 3;
            const int ndim = shape_of(shape, i, n, n);
            c.call.right = i / 2 % 2;
            c.call.adjoint = i / 4 % 2;
            make_dominant(add_input(&c, ndim, shape, any_layout()));
            test_array_make(&c.in[1], BP_I32, ndim - 1, shape, i % 3 ? TEST_COMPACT : TEST_REVERSED);
            for (int64_t j = 0; j < test_array_count(&c.in[1]); j++) {
                test_array_set_i64(&c.in[1], j, test_array_between(j % n + 1, n));
            }
            shape[ndim - 2] = c.call.right ? k : n;
            shape[ndim - 1] = c.call.right ? n : k;
            add_input(&c, ndim, shape, any_layout());
            check(&c, any_layout(), "lu_solve", i);
        }
    }
}

static void triangular_solutions(void **state) {
    (void)state;
    FOR_TYPES(type) {
        for (int i = 0; i < 32; i++) {
            linalg_case c = new_case(BP_OP_SOLVE_TRIANGULAR, types[type]);
            int64_t shape[4];
            const int64_t n = 1 + i % 5, k = 1 + i % 3;
            c.call.upper = i % 2;
            c.call.right = i / 2 % 2;
            c.call.unitriangular = i / 4 % 2;
            test_array *a = add_input(&c, shape_of(shape, i, n, n), shape, any_layout());
            make_dominant(a);
            if (c.call.unitriangular) { /* the diagonal is not read */
                test_array_set(a, 0, (double)NAN);
            }
            const int ndim = shape_of(shape, i, c.call.right ? k : n, c.call.right ? n : k);
            add_input(&c, ndim, shape, any_layout());
            check(&c, any_layout(), "solve_triangular", i);
        }
    }
}

/* Makes the inverses of a batch with two matrices in each of its dimensions, which cannot be merged. */
static void make_separate(linalg_case *c, int count) {
    *c = new_case(BP_OP_INV, BP_F64);
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM], stride = 1;
    for (int d = count + 1; d >= 0; d--) {
        shape[d] = d < count ? 2 : 3;
        strides[d] = stride;
        stride = stride * shape[d] + 1;
    }
    test_array_make_strided(&c->in[0], BP_F64, count + 2, shape, strides, 0);
    test_array_fill(&c->in[0], 1);
    make_dominant(&c->in[0]);
}

static void many_dimensions(void **state) {
    (void)state;
    linalg_case c;
    make_separate(&c, 6);
    check(&c, TEST_COMPACT, "six dimensions", 0);
    make_separate(&c, 7);
    put_case(&c, TEST_COMPACT, 0);
    const bp_status status = run_case(&c);
    free_case(&c);
    assert_fails(status, BP_E_NO_CANDIDATE, "the batch has more than 6 dimensions that cannot be merged");
}

/* Outputs of empty problems are filled in. */
static void empty_matrices(void **state) {
    static const int64_t shapes[][3] = {{3, 0, 0}, {0, 4, 4}, {0, 0, 0}};
    static const bp_op ops[] = {BP_OP_INV, BP_OP_CHOLESKY, BP_OP_LU_FACTOR};
    (void)state;
    for (int i = 0; i < 9; i++) {
        linalg_case c = new_case(ops[i / 3], types[i % 4]);
        add_input(&c, 3, shapes[i % 3], TEST_COMPACT);
        put_case(&c, TEST_COMPACT, 0);
        assert_ok(run_case(&c));
        const int info = ops[i / 3] == BP_OP_LU_FACTOR ? 2 : 1;
        for (int64_t j = 0; j < test_array_count(&c.out[info]); j++) {
            assert_int_equal(test_array_get_i64(&c.out[info], j), 0);
        }
        free_case(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cholesky, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(cholesky_reads_one_triangle, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(lu_factor, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(inverses, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(solutions, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(broadcast_solutions, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(cholesky_solutions, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(lu_solutions, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(triangular_solutions, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(many_dimensions, begin_cusolver, end_cusolver),
        cmocka_unit_test_setup_teardown(empty_matrices, begin_cusolver, end_cusolver),
    };
    return cmocka_run_group_tests_name("factors", tests, start_cusolver, stop_cusolver);
}
