/* test_products.c - tests products of CLBlast on a device against the reference: types, layouts, factors, batches; that
 * a run does not wait; and what is refused. */
#include "opencl/support_opencl.h"

#include "registry/internal.h"
#include "support/arrays.h"
#include "support/offers.h"
#include "support/results.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

extern const bp_provider bp_provider_clblast;

static void *instance;
static test_queue queue;

static int setup(void **state) {
    test_cl_setup(state);
    const bp_library_info *library = test_cl_devices[0] ? bp__library_lookup("clblast") : NULL;
    if (!library || library->state != BP_LIBRARY_OK) {
        print_message("no CLBlast is installed, or no device: the tests of its products are skipped\n");
        return 0;
    }
    assert_int_equal(bp_provider_clblast.open(&test_cl_host, library, &instance), BP_OK);
    queue = test_queue_new(0, 0);
    return 0;
}

static int teardown(void **state) {
    if (instance) {
        test_queue_free(&queue);
        bp_provider_clblast.close(instance);
    }
    return test_cl_teardown(state);
}

static void need_library(void) {
    if (!instance) {
        print_message("skipped: no CLBlast\n");
        skip();
    }
}

/* ---- One product ---- */

typedef struct test_case {
    uint32_t dtype;
    int64_t m, n, k;
    bool transpose_a, transpose_b, transpose_c; /* columns are contiguous */
    bool conjugate_a, conjugate_b;
    int64_t gap; /* added to leading dimensions */
    bp_scalar alpha, beta;
    int batch_ndim;
    int64_t batch[2];
    bool same_b; /* B is broadcast over the batch */
    bool nan_in_c;
} test_case;

static bp_factor factor(bp_scalar x) {
    return x.im == 0 && x.re == 0 ? BP_FACTOR_ZERO : x.im == 0 && x.re == 1 ? BP_FACTOR_ONE : BP_FACTOR_ANY;
}

/* Sets strides, and returns the elements of one item. */
static int64_t lay_out(int64_t rows, int64_t columns, bool transpose, int64_t gap, int64_t *row, int64_t *column) {
    int64_t ld = (transpose ? rows : columns) + gap;
    *row = rows > 1 ? transpose ? 1 : ld : 0;
    *column = columns > 1 ? transpose ? ld : 1 : 0;
    return ld * (transpose ? columns : rows);
}

static bp_problem problem_of(const test_case *c) {
    bp_problem problem = {.struct_size = sizeof problem, .op = BP_OP_GEMM, .dtype = c->dtype};
    bp_gemm_problem *g = &problem.of.gemm;
    g->m = c->m;
    g->n = c->n;
    g->k = c->k;
    g->conjugate_a = c->conjugate_a;
    g->conjugate_b = c->conjugate_b;
    g->alpha = (uint8_t)factor(c->alpha);
    g->beta = (uint8_t)factor(c->beta);
    int64_t a = lay_out(c->m, c->k, c->transpose_a, c->gap, &g->a_row, &g->a_column);
    int64_t b = lay_out(c->k, c->n, c->transpose_b, c->gap, &g->b_row, &g->b_column);
    int64_t out = lay_out(c->m, c->n, c->transpose_c, c->gap, &g->c_row, &g->c_column);
    g->batch = 1;
    g->batch_ndim = c->batch_ndim;
    for (int d = c->batch_ndim - 1; d >= 0; d--) {
        g->batch_shape[d] = c->batch[d];
        g->batch_a[d] = a * g->batch + d; /* no plain nesting */
        g->batch_b[d] = c->same_b ? 0 : b * g->batch;
        g->batch_c[d] = out * g->batch;
        g->batch *= c->batch[d];
    }
    return problem;
}

/* A product with its operands, and the reference of the result. */
typedef struct trial {
    bp_problem problem;
    test_array operands[3];
    reference_results made;
} trial;

static void make_operand(test_array *x, const test_case *c, int64_t rows, int64_t columns, int64_t row, int64_t column,
                         const int64_t *steps) {
    int64_t shape[4], strides[4];
    for (int d = 0; d < c->batch_ndim; d++) {
        shape[d] = c->batch[d];
        strides[d] = steps[d];
    }
    shape[c->batch_ndim] = rows;
    strides[c->batch_ndim] = row;
    shape[c->batch_ndim + 1] = columns;
    strides[c->batch_ndim + 1] = column;
    test_array_make_strided(x, (bp_dtype)c->dtype, c->batch_ndim + 2, shape, strides, 0);
    test_array_fill(x, 1);
}

static void make_trial(trial *t, const test_case *c) {
    t->problem = problem_of(c);
    const bp_gemm_problem *g = &t->problem.of.gemm;
    make_operand(&t->operands[0], c, c->m, c->k, g->a_row, g->a_column, g->batch_a);
    make_operand(&t->operands[1], c, c->k, c->n, g->b_row, g->b_column, g->batch_b);
    make_operand(&t->operands[2], c, c->m, c->n, g->c_row, g->c_column, g->batch_c);
    for (int64_t i = 0; c->nan_in_c && i < test_array_count(&t->operands[2]); i++) {
        test_array_set(&t->operands[2], i, NAN);
    }
    assert_int_equal(reference_of_gemm(&t->made, c->conjugate_a ? BP_CONJUGATE : BP_AS_IS,
                                       c->conjugate_b ? BP_CONJUGATE : BP_AS_IS, &c->alpha, &t->operands[0].view.tensor,
                                       &t->operands[1].view.tensor, &c->beta, &t->operands[2].view.tensor),
                     BP_OK);
}

/* Makes memory on the device with the block of an array. */
static bp_operand on_device(const test_array *x) {
    test_array_open(x);
    return (bp_operand){test_cl_memory(&queue, x->block, x->bytes),
                        (size_t)((const char *)x->view.tensor.data - x->block)};
}

/* Reads C, checks it and the memory around, and frees the operands. */
static void check_result(trial *t, const test_case *c, bp_operand *operands) {
    char text[128];
    snprintf(text, sizeof text, "%s, %dx%dx%d", bp_dtype_name((bp_dtype)c->dtype), (int)c->m, (int)c->n, (int)c->k);
    test_cl_read(&queue, operands[2].base, t->operands[2].block, t->operands[2].bytes);
    test_check_results(&t->made, text);
    test_array_check_gaps(&t->operands[2], text);
    for (int i = 0; i < 3; i++) {
        bp_runtime_opencl.release(test_cl_devices[0], operands[i].base);
        test_array_free(&t->operands[i]);
    }
}

/* Plans and runs it. With a workspace of the plan's size, or none. */
static void check(const test_case *c, bool with_workspace) {
    trial t;
    bp_prepared *prepared;
    const bool f64 = c->dtype == BP_F64 || c->dtype == BP_C128;
    if (f64 && !(test_cl_devices[0]->facts.can & BP_DEVICE_CAN_F64)) {
        return;
    }
    make_trial(&t, c);
    assert_int_equal(test_plan_first(&bp_provider_clblast, instance, &t.problem, &prepared), BP_OK);
    bp_operand operands[] = {on_device(&t.operands[0]), on_device(&t.operands[1]), on_device(&t.operands[2])};
    const bp_scalar scalars[] = {c->alpha, c->beta};
    bp_exec exec = {.struct_size = sizeof exec, .queue = test_queue_handle(&queue), .scalars = scalars};
    if (with_workspace && prepared->workspace > 0) {
        exec.workspace.base = test_cl_memory(&queue, NULL, prepared->workspace);
        exec.workspace_size = prepared->workspace;
    }
    assert_int_equal(prepared->enqueue(prepared, operands, &exec), BP_OK);
    assert_int_equal(test_cl_wait(queue.event), 0);
    check_result(&t, c, operands);
    prepared->destroy(prepared);
    if (exec.workspace.base) {
        bp_runtime_opencl.release(test_cl_devices[0], exec.workspace.base);
    }
}

/* ---- Products ---- */

static const uint32_t types[] = {BP_F32, BP_F64, BP_C64, BP_C128};

static void test_layouts(void **state) {
    (void)state;
    need_library();
    for (int t = 0; t < 4; t++) {
        for (int bits = 0; bits < 8; bits++) {
            const test_case c = {.dtype = types[t],
                                 .m = 23,
                                 .n = 17,
                                 .k = 31,
                                 .transpose_a = bits & 1,
                                 .transpose_b = bits & 2,
                                 .transpose_c = bits & 4,
                                 .gap = bits % 3 * 5,
                                 .alpha = {0.5, t > 1 ? 0.25 : 0},
                                 .beta = {-1.5, t > 1 ? 0.5 : 0}};
            check(&c, bits & 1);
        }
    }
}

static void test_sizes(void **state) {
    (void)state;
    need_library();
    static const int64_t sizes[][3] = {{1, 1, 1},    {1, 40, 7},     {40, 1, 7},     {9, 8, 1},
                                       {64, 64, 64}, {129, 67, 255}, {200, 200, 200}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int t = 0; t < 4; t += 1 + (i > 4)) {
            test_case c = {.dtype = types[t], .m = sizes[i][0], .n = sizes[i][1], .k = sizes[i][2], .alpha = {1, 0}};
            check(&c, true);
            c.beta.re = 1;
            check(&c, false);
        }
    }
}

/* In the small and the large kernel: C is not read if beta is 0. */
static void test_nan_in_c(void **state) {
    (void)state;
    need_library();
    for (int large = 0; large < 2; large++) {
        const test_case c = {.dtype = BP_F32,
                             .m = large ? 200 : 20,
                             .n = large ? 200 : 20,
                             .k = large ? 200 : 20,
                             .alpha = {1, 0},
                             .nan_in_c = true};
        check(&c, true);
    }
}

static void test_conjugates(void **state) {
    (void)state;
    need_library();
    for (int bits = 1; bits < 4; bits++) {
        const test_case c = {.dtype = BP_C64,
                             .m = 12,
                             .n = 13,
                             .k = 14,
                             .transpose_a = true,
                             .transpose_b = true,
                             .conjugate_a = bits & 1,
                             .conjugate_b = bits & 2,
                             .alpha = {1, 0}};
        check(&c, true);
    }
}

static void test_batches(void **state) {
    (void)state;
    need_library();
    for (int t = 0; t < 4; t += 3) { /* each type takes seconds, until its kernels are compiled */
        for (int ndim = 1; ndim <= 2; ndim++) {
            for (int same = 0; same < 2; same++) {
                const test_case c = {.dtype = types[t],
                                     .m = 8,
                                     .n = 9,
                                     .k = 10,
                                     .alpha = {2, 0},
                                     .beta = {same, 0},
                                     .batch_ndim = ndim,
                                     .batch = {3, 5},
                                     .same_b = same,
                                     .transpose_b = same};
                check(&c, false);
            }
        }
    }
}

/* ---- Order ---- */

/* A run behind a closed gate returns at once, and reads its inputs only afterwards. */
static void test_gate(void **state) {
    (void)state;
    need_library();
    for (int kind = 0; kind < 3; kind++) { /* small, large with temporary memory, batch */
        const test_case c = {.dtype = BP_F32,
                             .m = kind == 1 ? 200 : 8,
                             .n = kind == 1 ? 200 : 8,
                             .k = kind == 1 ? 200 : 8,
                             .alpha = {1, 0},
                             .batch_ndim = kind == 2,
                             .batch = {4}};
        trial t;
        test_array other; /* what A has until the gate opens */
        bp_prepared *prepared;
        cl_int code;
        int64_t failure;
        make_trial(&t, &c);
        test_array_copy(&other, &t.operands[0]);
        test_array_fill(&other, 1);
        test_array_open(&t.operands[0]);
        assert_int_equal(test_plan_first(&bp_provider_clblast, instance, &t.problem, &prepared), BP_OK);
        bp_operand operands[] = {on_device(&other), on_device(&t.operands[1]), on_device(&t.operands[2])};
        void *waited, *written, *gate = bp__cl_loaded.CreateUserEvent(test_cl_devices[0]->context, &code);
        alarm(240); /* a run that waits would wait for ever */
        assert_int_equal(bp_runtime_opencl.wait(queue.queue, 1, &gate, &waited), BP_OK);
        const bp_transfer transfer = {.kind = BP_TRANSFER_WRITE,
                                      .dst = {operands[0].base, 0},
                                      .src = {t.operands[0].block, 0},
                                      .run = t.operands[0].bytes};
        assert_int_equal(bp_runtime_opencl.copy(queue.queue, &transfer, &written), BP_OK);
        bp_exec exec = {.struct_size = sizeof exec, .queue = test_queue_handle(&queue)};
        assert_int_equal(prepared->enqueue(prepared, operands, &exec), BP_OK);
        assert_int_equal(bp_runtime_opencl.event_state(queue.event, &failure), BP_EVENT_PENDING);
        bp__cl_loaded.SetUserEventStatus(gate, 0);
        assert_int_equal(test_cl_wait(queue.event), 0);
        alarm(0);
        check_result(&t, &c, operands);
        test_array_free(&other);
        void *events[] = {gate, waited, written};
        for (int i = 0; i < 3; i++) {
            bp_runtime_opencl.event_release(events[i]);
        }
        prepared->destroy(prepared);
    }
}

/* ---- Refusals ---- */

static void assert_refused(const bp_problem *problem, bp_reason reason, const char *part) {
    bp_verdict verdict = test_verdict(&bp_provider_clblast, instance, problem);
    assert_int_equal(verdict.reason, reason);
    assert_contains(verdict.text, part);
}

static void test_refusals(void **state) {
    (void)state;
    need_library();
    const test_case plain = {.dtype = BP_F32, .m = 4, .n = 5, .k = 6, .alpha = {1, 0}};
    test_case c = plain;
    bp_problem problem = problem_of(&c);
    assert_int_equal(test_verdict(&bp_provider_clblast, instance, &problem).reason, BP_REASON_ACCEPTED);
    problem.op = BP_OP_FFT;
    assert_refused(&problem, BP_REASON_OP, "only matrix products");
    problem = problem_of(&c);
    problem.place = 99;
    assert_refused(&problem, BP_REASON_DEVICE, "no such device");
    c.dtype = BP_F16;
    problem = problem_of(&c);
    assert_refused(&problem, BP_REASON_DTYPE, "f16");
    c.dtype = BP_I8;
    problem = problem_of(&c);
    assert_refused(&problem, BP_REASON_DTYPE, "only f32");
    c.dtype = BP_F64;
    problem = problem_of(&c);
    uint32_t can = test_cl_devices[0]->facts.can;
    test_cl_devices[0]->facts.can &= ~BP_DEVICE_CAN_F64;
    assert_refused(&problem, BP_REASON_DTYPE, "no f64");
    test_cl_devices[0]->facts.can = can;
    c = plain;
    c.k = 0;
    problem = problem_of(&c);
    assert_refused(&problem, BP_REASON_SIZE, "empty");
    c = plain;
    c.alpha.re = 0;
    problem = problem_of(&c);
    assert_refused(&problem, BP_REASON_OTHER, "alpha is 0");
    problem = problem_of(&plain);
    problem.of.gemm.a_column = 2;
    problem.of.gemm.a_row = 20;
    assert_refused(&problem, BP_REASON_LAYOUT, "contiguous");
    problem = problem_of(&plain);
    problem.of.gemm.b_row = -5;
    assert_refused(&problem, BP_REASON_LAYOUT, "negative");
    problem = problem_of(&plain);
    problem.of.gemm.a_row = 3; /* rows overlap */
    assert_refused(&problem, BP_REASON_LAYOUT, "contiguous");
    problem = problem_of(&plain);
    problem.of.gemm.c_row = INT64_C(1) << 40;
    assert_refused(&problem, BP_REASON_LAYOUT, "32-bit");
    c = plain;
    c.dtype = BP_C64;
    c.conjugate_a = true;
    problem = problem_of(&c);
    assert_refused(&problem, BP_REASON_LAYOUT, "conjugated");
    c = plain;
    c.batch_ndim = 2;
    c.batch[0] = 65;
    c.batch[1] = 2;
    problem = problem_of(&c);
    assert_refused(&problem, BP_REASON_LAYOUT, "more than 64 calls");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),    cmocka_unit_test(test_sizes),   cmocka_unit_test(test_nan_in_c),
        cmocka_unit_test(test_conjugates), cmocka_unit_test(test_batches), cmocka_unit_test(test_gate),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("products", tests, setup, teardown);
}
