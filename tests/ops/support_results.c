/* support_results.c - implements linalg_results.h. */
#include "ops/linalg_results.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char setting[512]; /* selects the choice under test */
static bool some_lapack;  /* a library with all operations exists */
static bool must_run;     /* and any library may be chosen */
static int ran, passed_over;

static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_C64, BP_C128};

bool test_single(bp_dtype dtype) {
    return dtype == BP_F32 || dtype == BP_C64;
}

/* ---- Matrices ---- */

static const char *const kind_names[] = {"random", "graded",    "deficient", "hilbert", "huge",
                                         "tiny",   "defective", "clustered", "zero"};

bool test_regular(test_kind k) {
    return k == TEST_RANDOM || k == TEST_GRADED || k == TEST_HUGE || k == TEST_TINY || k == TEST_DEFECTIVE ||
           k == TEST_CLUSTERED;
}

static void shape_matrix(dense *m, test_kind k, bp_dtype dtype) {
    double huge = test_single(dtype) ? 1e15 : 1e120;
    for (int i = 0; i < m->rows; i++) {
        for (int j = 0; j < m->columns; j++) {
            long double complex *x = &m->at[i][j];
            *x = k == TEST_GRADED      ? *x * powl(10.0L, -(i + j) / 4.0L)
                 : k == TEST_DEFICIENT ? (i < 2 ? *x : m->at[i % 2][j] * (i + 1)) /* rank 2 */
                 : k == TEST_HILBERT   ? 1.0L / (i + j + 1)
                 : k == TEST_HUGE      ? (*x + (i == j ? 2 : 0)) * huge
                 : k == TEST_TINY      ? (*x + (i == j ? 2 : 0)) / huge
                 : k == TEST_DEFECTIVE ? (i == j       ? 2
                                          : j == i + 1 ? 1
                                                       : 0)
                 : k == TEST_CLUSTERED ? (i == j ? 1 : 0) + *x * 1e-4L
                 : k == TEST_ZERO      ? 0
                                       : *x + (i == j ? 2 : 0); /* well-conditioned */
        }
    }
}

static void shape_input(test_call *c, int index, test_kind k) {
    DLTensor *t = test_operand(c, index);
    int64_t items = t->ndim > 2 ? t->shape[0] : 1;
    for (int64_t item = 0; item < items; item++) {
        dense m;
        dense_load(&m, t, 2, item);
        shape_matrix(&m, k, bp_dtype_from_dlpack(t->dtype));
        dense_store(&m, t, 2, item);
    }
}

/* M + M^H, or M M^H + I. */
void test_make_hermitian(test_call *c, int index, bool definite) {
    DLTensor *t = test_operand(c, index);
    int64_t items = t->ndim > 2 ? t->shape[0] : 1;
    for (int64_t item = 0; item < items; item++) {
        dense m, h;
        dense_load(&m, t, 2, item);
        dense_adjoint(&h, &m);
        if (definite) {
            dense_product(&m, &m, &h);
        }
        for (int i = 0; i < m.rows; i++) {
            for (int j = 0; j < m.rows; j++) {
                m.at[i][j] += definite ? (i == j) : h.at[i][j];
            }
        }
        dense_store(&m, t, 2, item);
    }
}

/* ---- Checks ---- */

static const test_call *current;
static test_kind current_kind;

/* Fails unless `error` is at most the error of a backward-stable algorithm: epsilon times the size of the numbers times
 * n, times the factor. */
void test_at_most(const char *what, long double error, long double size, int n, bp_dtype dtype, double factor) {
    long double epsilon = test_single(dtype) ? (long double)FLT_EPSILON : (long double)DBL_EPSILON;
    long double bound = factor * (n + 4) * epsilon * size;
    if (!(error <= bound)) {
        bp_plan_info info = {.struct_size = sizeof info};
        bp_last_plan(&info);
        fail_msg("%s of %s matrix, %s, on %s (%s): %s is off by %Lg where %Lg is allowed", bp_op_name(current->call.op),
                 kind_names[current_kind], bp_dtype_name(dtype), setting, info.library, what, error, bound);
    }
}

void test_same(const char *what, const dense *got, const dense *want, long double size, bp_dtype dtype) {
    int n = got->rows > got->columns ? got->rows : got->columns;
    test_at_most(what, dense_distance(got, want), size, n, dtype, 30);
}

void test_unitary(const char *what, const dense *q, bp_dtype dtype) {
    dense h, product, identity;
    dense_adjoint(&h, q);
    dense_product(&product, &h, q);
    dense_identity(&identity, q->columns);
    test_same(what, &product, &identity, 1 + q->columns, dtype);
}

bool test_triangular(const dense *m, bool upper) {
    dense cleared = *m;
    dense_triangle(&cleared, upper, false);
    return dense_distance(m, &cleared) == 0;
}

void test_current(const test_call *c) {
    current = c;
}

/* Runs a call. Returns false if the library under test does not offer it. */
bool test_run_call(test_call *c, test_kind k) {
    test_current(c);
    current_kind = k;
    bp_status status = bp_linalg_run(NULL, &c->call);
    if (!must_run && (status == BP_E_FALLBACK || status == BP_E_NO_CANDIDATE)) {
        passed_over++;
        return false;
    }
    if (status != BP_OK) {
        fail_msg("%s of %s matrix on %s: %s (%s)", bp_op_name(c->call.op), kind_names[k], setting, bp_last_error(),
                 bp_status_name(status));
    }
    ran++;
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        assert_true(!c->made[i] || test_tensor_guards_hold(&c->tensor[i]));
    }
    return true;
}

static int orders_given;

test_order test_next_order(void) {
    return (test_order)(orders_given++ % ORDERS);
}

/* Starts a call with an A of the kind, and B if there are right-hand sides (negative: none). */
void test_start(test_call *c, bp_op op, bp_dtype dtype, test_kind k, int64_t m, int64_t n, int64_t sides) {
    test_call_start(c, op);
    test_call_input(c, 0, dtype, TEST_SHAPE(2, m, n), test_next_order());
    shape_input(c, 0, k);
    if (sides >= 0) {
        test_call_input(c, 1, dtype, TEST_SHAPE(m, sides), test_next_order()); /* the same B for both items */
    }
}

static void (*operations)(bp_dtype dtype, int64_t n);

static void on_a_choice(void **state) {
    const char *name = *state;
    bp_scope *scope;
    if (*name) {
        snprintf(setting, sizeof setting, "linalg.preferred=%s, dispatch.fallback=strict", name);
    } else {
        snprintf(setting, sizeof setting, "dispatch.fallback=strict");
    }
    must_run = !*name && some_lapack;
    ran = passed_over = orders_given = 0;
    test_call_seed(1); /* every library gets the same matrices */
    assert_int_equal(bp_scope_enter(&scope, setting), BP_OK);
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        operations(dtypes[d], 3);
        operations(dtypes[d], 12);
    }
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    print_message("%s: %d calls, %d passed over\n", *name ? name : "the default", ran, passed_over);
    assert_true(ran > 0 || !must_run);
}

int test_every_library(void (*all_operations)(bp_dtype dtype, int64_t n)) {
    enum { MOST = 32 };
    static char names[MOST][128] = {"", "native"};
    struct CMUnitTest tests[MOST];
    size_t count = 2;
    bp_library_info row = {.struct_size = sizeof row};
    operations = all_operations;
    for (int i = 0; count < MOST && bp_library_at(i, &row); i++) {
        if (row.kinds & BP_LIB_LAPACK && row.state == BP_LIBRARY_OK) {
            some_lapack = true;
            snprintf(names[count++], sizeof names[0], "%s", row.id);
        }
    }
    for (size_t i = 0; i < count; i++) {
        tests[i] = (struct CMUnitTest){*names[i] ? names[i] : "default", on_a_choice, NULL, NULL, names[i]};
    }
    return _cmocka_run_group_tests("on every library", tests, count, NULL, NULL);
}
