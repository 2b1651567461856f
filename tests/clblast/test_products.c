/* test_products.c - tests products of CLBlast on a device against sums in f64: types, layouts, factors, batches; that a
 * run does not wait; and what is refused. */
#include "opencl/support_opencl.h"

#include "registry/internal.h"
#include "support/offers.h"

#include <complex.h>
#include <math.h>
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

/* ---- Operands ---- */

static bool is_double(uint32_t dtype) {
    return dtype == BP_F64 || dtype == BP_C128;
}

static bool is_complex(uint32_t dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

static size_t item_of(uint32_t dtype) {
    return (is_double(dtype) ? 8u : 4u) * (is_complex(dtype) ? 2u : 1u);
}

static double complex get(const void *memory, uint32_t dtype, int64_t i) {
    switch (dtype) {
    case BP_F32:
        return ((const float *)memory)[i];
    case BP_F64:
        return ((const double *)memory)[i];
    case BP_C64:
        return ((const float *)memory)[2 * i] + I * ((const float *)memory)[2 * i + 1];
    default:
        return ((const double *)memory)[2 * i] + I * ((const double *)memory)[2 * i + 1];
    }
}

static void put(void *memory, uint32_t dtype, int64_t i, double re, double im) {
    int64_t parts = is_complex(dtype) ? 2 : 1;
    for (int64_t part = 0; part < parts; part++) {
        double value = part ? im : re;
        if (is_double(dtype)) {
            ((double *)memory)[parts * i + part] = value;
        } else {
            ((float *)memory)[parts * i + part] = (float)value;
        }
    }
}

static uint64_t seed = 7;
static double number(void) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (double)(int64_t)(seed >> 11) / 9007199254740992.0 * 2 - 1;
}

enum { ELEMENTS = 1 << 17, START = 13 };

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

static double complex sum_of(const test_case *c, const bp_gemm_problem *g, const char *a, const char *b,
                             const char *before, const int64_t at[3], int64_t i, int64_t j, double *size) {
    double complex sum = 0;
    *size = 0;
    for (int64_t l = 0; l < g->k; l++) {
        double complex x = get(a, c->dtype, at[0] + i * g->a_row + l * g->a_column);
        double complex y = get(b, c->dtype, at[1] + l * g->b_row + j * g->b_column);
        x = c->conjugate_a ? conj(x) : x;
        y = c->conjugate_b ? conj(y) : y;
        sum += x * y;
        *size += cabs(x) * cabs(y);
    }
    double complex alpha = c->alpha.re + I * c->alpha.im, beta = c->beta.re + I * c->beta.im;
    *size = *size * cabs(alpha) + 1;
    return alpha * sum + (beta == 0 ? 0 : beta * get(before, c->dtype, at[2] + i * g->c_row + j * g->c_column));
}

static char *a, *b, *c_before, *c_after, *touched;

static void check_item(const test_case *c, const bp_gemm_problem *g, const int64_t at[3]) {
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) {
            double size;
            double complex expected = sum_of(c, g, a, b, c_before, at, i, j, &size);
            int64_t place = at[2] + i * g->c_row + j * g->c_column;
            double eps = is_double(c->dtype) ? 0x1p-53 : 0x1p-24;
            double error = cabs(get(c_after, c->dtype, place) - expected);
            touched[place] = 1;
            if (!(error <= 4 * (double)(g->k + 4) * eps * size)) {
                fail_msg("type %d, %dx%dx%d: error %g at %d, %d", (int)c->dtype, (int)g->m, (int)g->n, (int)g->k, error,
                         (int)i, (int)j);
            }
        }
    }
}

static void check_result(const test_case *c, const bp_gemm_problem *g) {
    size_t item = item_of(c->dtype);
    memset(touched, 0, ELEMENTS);
    for (int64_t n = 0; n < g->batch; n++) {
        int64_t at[3] = {START, START, START}, rest = n;
        for (int d = g->batch_ndim - 1; d >= 0; d--) {
            int64_t index = rest % g->batch_shape[d];
            rest /= g->batch_shape[d];
            at[0] += index * g->batch_a[d];
            at[1] += index * g->batch_b[d];
            at[2] += index * g->batch_c[d];
        }
        check_item(c, g, at);
    }
    for (size_t i = 0; i < ELEMENTS; i++) { /* nothing else was written */
        assert_true(touched[i] || memcmp(c_before + i * item, c_after + i * item, item) == 0);
    }
}

static void fill(const test_case *c) {
    for (int64_t i = 0; i < ELEMENTS; i++) {
        put(a, c->dtype, i, number(), number());
        put(b, c->dtype, i, number(), number());
        put(c_before, c->dtype, i, c->nan_in_c ? NAN : number(), number());
    }
}

/* Plans and runs it. With a workspace of the plan's size, or none. */
static void check(const test_case *c, bool with_workspace) {
    size_t item = item_of(c->dtype), all = ELEMENTS * item;
    bp_problem problem = problem_of(c);
    bp_prepared *prepared;
    if (is_double(c->dtype) && !(test_cl_devices[0]->facts.can & BP_DEVICE_CAN_F64)) {
        return;
    }
    fill(c);
    assert_int_equal(test_plan_first(&bp_provider_clblast, instance, &problem, &prepared), BP_OK);
    bp_operand operands[] = {{test_cl_memory(&queue, a, all), START * item},
                             {test_cl_memory(&queue, b, all), START * item},
                             {test_cl_memory(&queue, c_before, all), START * item}};
    const bp_scalar scalars[] = {c->alpha, c->beta};
    bp_exec exec = {.struct_size = sizeof exec, .queue = test_queue_handle(&queue), .scalars = scalars};
    if (with_workspace && prepared->workspace > 0) {
        exec.workspace.base = test_cl_memory(&queue, NULL, prepared->workspace);
        exec.workspace_size = prepared->workspace;
    }
    assert_int_equal(prepared->enqueue(prepared, operands, &exec), BP_OK);
    assert_int_equal(test_cl_wait(queue.event), 0);
    test_cl_read(&queue, operands[2].base, c_after, all);
    check_result(c, &problem.of.gemm);
    prepared->destroy(prepared);
    for (int i = 0; i < 3; i++) {
        bp_runtime_opencl.release(test_cl_devices[0], operands[i].base);
    }
    if (exec.workspace.base) {
        bp_runtime_opencl.release(test_cl_devices[0], exec.workspace.base);
    }
}

static void take_memory(void) {
    char **all[] = {&a, &b, &c_before, &c_after, &touched};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        *all[i] = *all[i] ? *all[i] : malloc(ELEMENTS * 16);
        assert_non_null(*all[i]);
    }
}

/* ---- Products ---- */

static const uint32_t types[] = {BP_F32, BP_F64, BP_C64, BP_C128};

static void test_layouts(void **state) {
    (void)state;
    need_library();
    take_memory();
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
    take_memory();
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
    take_memory();
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
    take_memory();
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
    take_memory();
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
    take_memory();
    for (int kind = 0; kind < 3; kind++) { /* small, large with temporary memory, batch */
        const test_case c = {.dtype = BP_F32,
                             .m = kind == 1 ? 200 : 8,
                             .n = kind == 1 ? 200 : 8,
                             .k = kind == 1 ? 200 : 8,
                             .alpha = {1, 0},
                             .batch_ndim = kind == 2,
                             .batch = {4}};
        bp_problem problem = problem_of(&c);
        bp_prepared *prepared;
        cl_int code;
        int64_t failure;
        size_t all = ELEMENTS * sizeof(float);
        fill(&c);
        assert_int_equal(test_plan_first(&bp_provider_clblast, instance, &problem, &prepared), BP_OK);
        bp_operand operands[] = {{test_cl_memory(&queue, c_before, all), START * sizeof(float)},
                                 {test_cl_memory(&queue, b, all), START * sizeof(float)},
                                 {test_cl_memory(&queue, c_before, all), START * sizeof(float)}};
        void *waited, *written, *gate = bp__cl_loaded.CreateUserEvent(test_cl_devices[0]->context, &code);
        alarm(240); /* a run that waits would wait for ever */
        assert_int_equal(bp_runtime_opencl.wait(queue.queue, 1, &gate, &waited), BP_OK);
        bp_transfer transfer = {.kind = BP_TRANSFER_WRITE, .dst = {operands[0].base, 0}, .src = {a, 0}, .run = all};
        assert_int_equal(bp_runtime_opencl.copy(queue.queue, &transfer, &written), BP_OK);
        bp_exec exec = {.struct_size = sizeof exec, .queue = test_queue_handle(&queue)};
        assert_int_equal(prepared->enqueue(prepared, operands, &exec), BP_OK);
        assert_int_equal(bp_runtime_opencl.event_state(queue.event, &failure), BP_EVENT_PENDING);
        bp__cl_loaded.SetUserEventStatus(gate, 0);
        assert_int_equal(test_cl_wait(queue.event), 0);
        alarm(0);
        test_cl_read(&queue, operands[2].base, c_after, all);
        check_result(&c, &problem.of.gemm);
        void *events[] = {gate, waited, written};
        for (int i = 0; i < 3; i++) {
            bp_runtime_opencl.event_release(events[i]);
            bp_runtime_opencl.release(test_cl_devices[0], operands[i].base);
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
    int failures = cmocka_run_group_tests_name("products", tests, setup, teardown);
    char *all[] = {a, b, c_before, c_after, touched};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
    return failures;
}
