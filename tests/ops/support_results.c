/* support_results.c - implements linalg_results.h. */
#include "ops/linalg_results.h"

#include "support/linalg.h"
#include "support/results.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

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

static void index_of(const DLTensor *t, int core, int64_t item, int64_t i, int64_t j, int64_t index[3]) {
    const int batch = t->ndim - core;
    index[0] = t->shape[0] > 1 ? item : 0;
    index[batch] = i;
    index[batch + (core > 1)] = core > 1 ? j : core > 0 ? i : index[batch];
}

long double complex test_element(test_call *c, int operand, int core, int64_t item, int64_t i, int64_t j) {
    int64_t index[4];
    index_of(test_operand(c, operand), core, item, i, j, index);
    return test_get(test_operand(c, operand), index);
}

static void set_element(test_call *c, int operand, int64_t item, int64_t i, int64_t j, long double complex value) {
    int64_t index[4];
    index_of(test_operand(c, operand), 2, item, i, j, index);
    test_set(test_operand(c, operand), index, value);
}

static int64_t size_of(test_call *c, int operand, int from_the_end) {
    const DLTensor *t = test_operand(c, operand);
    return t->shape[t->ndim - from_the_end];
}

static void shape_input(test_call *c, int operand, test_kind k, bp_dtype dtype) {
    const int64_t m = size_of(c, operand, 2), n = size_of(c, operand, 1);
    const double huge = test_single(dtype) ? 1e15 : 1e120;
    for (int64_t at = 0; at < 2 * m * n; at++) {
        const int64_t item = at / m / n, i = at / n % m, j = at % n;
        const long double complex x = test_element(c, operand, 2, item, i, j);
        long double complex made = x + (i == j ? 2 : 0); /* well-conditioned */
        switch (k) {
        case TEST_GRADED:
            made = x * powl(10.0L, (long double)-(i + j) / 4.0L);
            break;
        case TEST_DEFICIENT: /* rank 2 */
            made = i < 2 ? x : test_element(c, operand, 2, item, i % 2, j) * (i + 1);
            break;
        case TEST_HILBERT:
            made = 1.0L / (long double)(i + j + 1);
            break;
        case TEST_HUGE:
            made *= huge;
            break;
        case TEST_TINY:
            made /= huge;
            break;
        case TEST_DEFECTIVE:
            made = i == j ? 2 : j == i + 1 ? 1 : 0;
            break;
        case TEST_CLUSTERED:
            made = (i == j ? 1 : 0) + x * 1e-4L;
            break;
        case TEST_ZERO:
            made = 0;
            break;
        default:
            break;
        }
        set_element(c, operand, item, i, j, made);
    }
}

/* M + M^H, or M M^H + I. */
void test_make_hermitian(test_call *c, int operand, bool definite) {
    enum { MOST = 16 };
    const int64_t n = size_of(c, operand, 1);
    long double complex made[MOST][MOST];
    assert_true(n <= MOST);
    for (int64_t item = 0; item < 2; item++) {
        for (int64_t at = 0; at < n * n; at++) {
            const int64_t i = at / n, j = at % n;
            made[i][j] = definite
                             ? (i == j)
                             : test_element(c, operand, 2, item, i, j) + conjl(test_element(c, operand, 2, item, j, i));
            for (int64_t l = 0; l < n && definite; l++) {
                made[i][j] += test_element(c, operand, 2, item, i, l) * conjl(test_element(c, operand, 2, item, j, l));
            }
        }
        for (int64_t at = 0; at < n * n; at++) {
            set_element(c, operand, item, at / n, at % n, made[at / n][at % n]);
        }
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

void test_triangular(test_call *c, int operand, bool upper) {
    const int64_t m = size_of(c, operand, 2), n = size_of(c, operand, 1);
    for (int64_t at = 0; at < 2 * m * n; at++) {
        const int64_t i = at / n % m, j = at % n;
        assert_true((upper ? i <= j : i >= j) || test_element(c, operand, 2, at / m / n, i, j) == 0);
    }
}

void test_current(const test_call *c) {
    current = c;
}

/* The errors of norms and condition numbers are below the bound of the reference. */
static double part_of(const bp_linalg_call *call) {
    const int64_t *shape = call->input[0]->shape + call->input[0]->ndim - 2;
    const double m = (double)shape[0], n = (double)shape[1];
    const double most = call->op == BP_OP_MATRIX_NORM ? m + n + 4 : n + 4;
    return call->op == BP_OP_MATRIX_NORM || call->op == BP_OP_COND ? fmin(1, most / 3 / fmax(m, n)) : 1;
}

static void check_results(const test_call *c, test_kind k) {
    char text[768];
    bp_plan_info info = {.struct_size = sizeof info};
    bp_last_plan(&info);
    snprintf(text, sizeof text, "%s of %s matrix, %s, on %s (%s)", bp_op_name(c->call.op), kind_names[k],
             bp_dtype_name(bp_dtype_from_dlpack(c->call.input[0]->dtype)), setting, info.library);
    if (reference_linalg_equations(&c->call) || reference_linalg_is_spectrum(&c->call)) {
        test_check_equations(&c->call, 1, text);
    } else if (test_regular(k) || (c->call.op != BP_OP_DET && c->call.op != BP_OP_SLOGDET)) {
        reference_results made;
        test_linalg_values(&made, &c->call, 0);
        test_check_results_within(&made, part_of(&c->call), text);
    }
}

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
        if (c->made[i]) {
            test_tensor_check_guards(&c->tensor[i]);
        }
    }
    check_results(c, k);
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
    shape_input(c, 0, k, dtype);
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
