/* test_memory.c - tests the memory passed to LAPACK's routines, for every operation in every layout. support_fake.h
 * lists the checks. */
#include "lapack/support_fake.h"

#include <math.h>

static void run(void *instance, test_call call) {
    library.known_count = 1;
    library.complaint[0] = 0;
    library.calls = 0;
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        test_operand *x = call.operand[i];
        if (x) {
            library.known[library.known_count++] =
                (test_area){"an operand", x->array.block, x->array.block + x->array.bytes};
        }
    }
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    if (library.complaint[0]) {
        fail_msg("operation %s, mode %d: %s", bp_op_name(call.op), call.fields.mode, library.complaint);
    }
    assert_true(library.calls > 0);
}

typedef struct shape {
    bp_dtype dtype;
    int64_t m, n, k;
    matrix_layout layout;
} shape;

static test_operand make(const shape *s, int64_t rows, int64_t columns) {
    return test_make(s->dtype, rows, columns, 2, false, s->layout);
}

static test_operand make_other(const shape *s, bp_dtype dtype, int64_t rows) {
    return test_make(dtype, rows, 1, 2, false, s->layout);
}

static test_operand make_filled(const shape *s, int64_t rows, int64_t columns) {
    test_operand x = make(s, rows, columns);
    test_fill(&x, TEST_RANDOM, 5);
    return x;
}

static void run_square(void *instance, const shape *s) {
    int64_t n = s->n;
    test_operand a = make_filled(s, n, n), x = make(s, n, n), other = make(s, n, n), third = make(s, n, n);
    test_operand b = make_filled(s, n, s->k), y = make(s, n, s->k), b_right = make_filled(s, s->k, n);
    test_operand y_right = make(s, s->k, n), info = make_other(s, BP_I32, 1), pivots = make_other(s, BP_I32, n);
    test_operand value_of = make_other(s, s->dtype, 1), real = make_other(s, test_real_of(s->dtype), 1);
    test_operand factored = make_other(s, BP_I32, n);
    for (int64_t i = 0; i < 2 * n; i++) {
        test_set(&pivots, i / n, i % n, 0, (long double)(i % n + 1));
    }
    run(instance, (test_call){.op = BP_OP_INV, .operand = {&a, &x, &info}});
    run(instance, (test_call){.op = BP_OP_LU, .operand = {&a, &x, &other, &third}});
    run(instance, (test_call){.op = BP_OP_DET, .operand = {&a, &value_of}});
    run(instance, (test_call){.op = BP_OP_SLOGDET, .operand = {&a, &value_of, &real}});
    for (int mode = BP_NORM_FRO; mode <= BP_NORM_P; mode++) {
        const bp_linalg_problem fields = {.mode = (uint8_t)mode, .order = 2};
        run(instance, (test_call){.op = BP_OP_COND, .fields = fields, .operand = {&a, &real}});
    }
    for (int way = 0; way < 8; way++) {
        const bp_linalg_problem fields = {
            .upper = (uint8_t)(way & 1), .a_on_left = (uint8_t)(way >> 1 & 1), .adjoint = (uint8_t)(way >> 2)};
        test_operand *right = fields.a_on_left ? &b : &b_right, *solution = fields.a_on_left ? &y : &y_right;
        run(instance, (test_call){.op = BP_OP_CHOLESKY, .fields = fields, .operand = {&a, &x, &info}});
        run(instance, (test_call){.op = BP_OP_CHOLESKY_INVERSE, .fields = fields, .operand = {&a, &x, &info}});
        run(instance, (test_call){.op = BP_OP_CHOLESKY_SOLVE, .fields = fields, .operand = {&b, &a, &y}});
        run(instance, (test_call){.op = BP_OP_SOLVE_TRIANGULAR, .fields = fields, .operand = {&a, right, solution}});
        run(instance, (test_call){.op = BP_OP_SOLVE, .fields = fields, .operand = {&a, right, solution, &info}});
        const bp_linalg_problem turned = {.hermitian = (uint8_t)(way & 1)};
        run(instance, (test_call){.op = BP_OP_LDL_FACTOR, .fields = turned, .operand = {&a, &x, &factored, &info}});
        run(instance, (test_call){.op = BP_OP_LDL_SOLVE, .fields = turned, .operand = {&a, &pivots, &b, &y}});
        run(instance, (test_call){.op = BP_OP_LU_SOLVE, .fields = fields, .operand = {&a, &pivots, right, solution}});
    }
    test_drop(&a), test_drop(&x), test_drop(&other), test_drop(&third), test_drop(&b), test_drop(&y);
    test_drop(&b_right), test_drop(&y_right), test_drop(&info), test_drop(&pivots), test_drop(&value_of);
    test_drop(&real), test_drop(&factored);
}

static void run_spectra(void *instance, const shape *s) {
    int64_t n = s->n;
    const bp_dtype wide = s->dtype == BP_F32 ? BP_C64 : s->dtype == BP_F64 ? BP_C128 : s->dtype;
    test_operand a = make_filled(s, n, n), v = make(s, n, n), w = make_other(s, test_real_of(s->dtype), n);
    test_operand roots = make_other(s, wide, n), columns = test_make(wide, n, n, 2, false, s->layout);
    test_operand rank = make_other(s, BP_I64, 1);
    for (uint8_t upper = 0; upper < 2; upper++) {
        const bp_linalg_problem fields = {.upper = upper, .hermitian = 1, .rtol = 1e-3};
        run(instance, (test_call){.op = BP_OP_EIGH, .fields = fields, .operand = {&a, &w, &v}});
        run(instance, (test_call){.op = BP_OP_EIGH, .fields = fields, .operand = {&a, &w}});
        run(instance, (test_call){.op = BP_OP_PINV, .fields = fields, .operand = {&a, &v}});
        run(instance, (test_call){.op = BP_OP_MATRIX_RANK, .fields = fields, .operand = {&a, &rank}});
    }
    run(instance, (test_call){.op = BP_OP_EIG, .operand = {&a, &roots, &columns}});
    run(instance, (test_call){.op = BP_OP_EIG, .operand = {&a, &roots}});
    test_drop(&a), test_drop(&v), test_drop(&w), test_drop(&roots), test_drop(&columns), test_drop(&rank);
}

static void run_values(void *instance, const shape *s, test_operand *a) {
    int64_t m = s->m, n = s->n, least = m < n ? m : n;
    test_operand values = make_other(s, test_real_of(s->dtype), least), rank = make_other(s, BP_I64, 1);
    test_operand norm = make_other(s, test_real_of(s->dtype), 1), inverse = make(s, n, m);
    run(instance, (test_call){.op = BP_OP_SVD, .operand = {a, NULL, &values}});
    run(instance, (test_call){.op = BP_OP_PINV, .fields.rtol = 1e-3, .operand = {a, &inverse}});
    run(instance, (test_call){.op = BP_OP_MATRIX_RANK, .fields.rtol = 1e-3, .operand = {a, &rank}});
    static const double orders[] = {1, -1, INFINITY, -INFINITY};
    run(instance, (test_call){.op = BP_OP_MATRIX_NORM, .fields.mode = BP_NORM_NUC, .operand = {a, &norm}});
    run(instance, (test_call){.op = BP_OP_MATRIX_NORM, .fields.mode = BP_NORM_FRO, .operand = {a, &norm}});
    for (int i = 0; i < 4; i++) {
        const bp_linalg_problem fields = {.mode = BP_NORM_P, .order = orders[i]};
        run(instance, (test_call){.op = BP_OP_MATRIX_NORM, .fields = fields, .operand = {a, &norm}});
    }
    for (int full = 0; full < 2; full++) {
        test_operand u = make(s, m, full ? m : least), vh = make(s, full ? n : least, n);
        const bp_linalg_problem fields = {.mode = full ? BP_SVD_FULL : BP_SVD_REDUCED};
        run(instance, (test_call){.op = BP_OP_SVD, .fields = fields, .operand = {a, &u, &values, &vh}});
        test_drop(&u), test_drop(&vh);
    }
    test_drop(&values), test_drop(&rank), test_drop(&norm), test_drop(&inverse);
}

static void run_rectangles(void *instance, const shape *s) {
    int64_t m = s->m, n = s->n, least = m < n ? m : n;
    test_operand a = make_filled(s, m, n), lu = make(s, m, n), pivots = make_other(s, BP_I32, least);
    test_operand info = make_other(s, BP_I32, 1), b = make_filled(s, m, s->k), x = make(s, n, s->k);
    test_operand residuals = make_other(s, test_real_of(s->dtype), s->k), rank = make_other(s, BP_I64, 1);
    test_operand values = make_other(s, test_real_of(s->dtype), least);
    run(instance, (test_call){.op = BP_OP_LU_FACTOR, .operand = {&a, &lu, &pivots, &info}});
    for (int mode = BP_QR_REDUCED; mode <= BP_QR_R; mode++) {
        test_operand q = make(s, m, mode == BP_QR_COMPLETE ? m : least);
        test_operand r = make(s, mode == BP_QR_COMPLETE ? m : least, n);
        test_operand *vectors = mode == BP_QR_R ? NULL : &q;
        run(instance, (test_call){.op = BP_OP_QR, .fields.mode = (uint8_t)mode, .operand = {&a, vectors, &r}});
        test_drop(&q), test_drop(&r);
    }
    for (int mode = BP_LSTSQ_GELSY; mode <= BP_LSTSQ_GELSS; mode++) {
        bool of_values = mode == BP_LSTSQ_GELSD || mode == BP_LSTSQ_GELSS;
        const bp_linalg_problem fields = {.mode = (uint8_t)mode, .rtol = 1e-3};
        run(instance, (test_call){.op = BP_OP_LSTSQ,
                                  .fields = fields,
                                  .operand = {&a, &b, &x, &residuals, mode == BP_LSTSQ_GELS ? NULL : &rank,
                                              of_values ? &values : NULL}});
    }
    run_values(instance, s, &a);
    test_drop(&a), test_drop(&lu), test_drop(&pivots), test_drop(&info), test_drop(&b), test_drop(&x);
    test_drop(&residuals), test_drop(&rank), test_drop(&values);
}

static const int64_t sizes_of_tests[][3] = {{1, 1, 1}, {6, 5, 2},  {5, 5, 3},  {17, 17, 1}, {7, 3, 2},
                                            {3, 7, 9}, {40, 2, 1}, {2, 40, 4}, {60, 57, 3}, {57, 60, 2}};

static void each_shape(void (*check)(void *instance, const shape *s)) {
    for (int bits = 32; bits <= 64; bits += 32) {
        void *instance = test_open_fake(bits);
        for (size_t i = 0; i < sizeof sizes_of_tests / sizeof *sizes_of_tests; i++) {
            for (int way = 0; way < 4 * MATRIX_LAYOUTS; way++) {
                const int64_t *size = sizes_of_tests[i];
                check(instance, &(shape){test_dtypes[way % 4], size[0], size[1], size[2], (matrix_layout)(way / 4)});
            }
        }
        bp_provider_lapack.close(instance);
    }
}

static void test_square(void **state) {
    (void)state;
    each_shape(run_square);
}

static void test_spectra(void **state) {
    (void)state;
    each_shape(run_spectra);
}

static void test_rectangles(void **state) {
    (void)state;
    each_shape(run_rectangles);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_square), cmocka_unit_test(test_spectra),
                                       cmocka_unit_test(test_rectangles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
