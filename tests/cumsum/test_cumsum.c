/* test_cumsum.c - cumulative sums of random shapes, axes and layouts against the reference and against their
 * definition; rows of all lengths around the blocks; unusual values; the gradient; refused calls; and that neither
 * threads, instruction sets, layouts nor places change a bit. */
#include "backplane.h"

#include "support/arrays.h"
#include "support/modes.h"
#include "support/pool.h"
#include "support/results.h"
#include "support/options.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})
#define assert_ok(call) assert_int_equal(call, BP_OK)

enum { CASES = 3000, TYPES = 7 };

static const char *const settings[] = {"", "cpu.capability=default", "cpu.capability=avx2", "num_threads=2",
                                       "num_threads=7"};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* Of the input and the output. */
static const bp_dtype types[TYPES][2] = {{BP_F32, BP_F32}, {BP_F64, BP_F64}, {BP_F16, BP_F16}, {BP_BF16, BP_BF16},
                                         {BP_I32, BP_I32}, {BP_I64, BP_I64}, {BP_I32, BP_I64}};

/* ---- Cases ---- */

typedef struct sums {
    test_array x, y;
    bp_cumsum_call call;
    char text[160];
} sums;

static bool floating(bp_dtype dtype) {
    return dtype <= BP_F64;
}

static void fill(test_array *x) {
    for (int64_t i = 0; i < test_array_count(x); i++) {
        if (floating(x->dtype)) {
            test_array_set(x, i, 1 + 10 * test_array_uniform());
        } else {
            const int64_t any = test_array_between(0, 1) ? test_array_between(-5, 5) : (int64_t)test_array_random;
            test_array_set_i64(x, i, x->dtype == BP_I32 ? (int32_t)any : any);
        }
    }
}

static void begin(sums *c, int type, int ndim, const int64_t *shape, int axis, unsigned flags) {
    memset(c, 0, sizeof *c);
    test_array_make(&c->x, types[type][0], ndim, shape, (test_layout)test_array_between(0, TEST_LAYOUTS - 1));
    test_array_make(&c->y, types[type][1], ndim, shape, (test_layout)test_array_between(0, TEST_LAYOUTS - 1));
    fill(&c->x);
    c->call = (bp_cumsum_call){.struct_size = sizeof c->call,
                               .axis = axis,
                               .exclusive = flags & 1,
                               .reverse = flags >> 1 & 1,
                               .input = &c->x.view.tensor,
                               .output = &c->y.view.tensor};
    int length = snprintf(c->text, sizeof c->text, "%s to %s, axis %d, exclusive %d, reverse %d, sizes",
                          bp_dtype_name(types[type][0]), bp_dtype_name(types[type][1]), axis, c->call.exclusive,
                          c->call.reverse);
    for (int d = 0; d < ndim && length < (int)sizeof c->text; d++) {
        length += snprintf(c->text + length, sizeof c->text - (size_t)length, " %d", (int)shape[d]);
    }
}

static void end(sums *c) {
    test_array_free(&c->x);
    test_array_free(&c->y);
}

static void run(const sums *c, const char *setting) {
    bp_options *options = test_options(setting);
    if (bp_cumsum_run(options, &c->call) != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    bp_options_release(options);
}

static void compare(const sums *c) {
    reference_results made;
    assert_ok(reference_of_cumsum(&made, &c->call));
    const int64_t all = test_array_count(&c->y); /* those near the largest number of f16 may be infinite or not */
    assert_true(made.of[0].values.count >= (c->y.dtype == BP_F16 ? all - all / 100 : all));
    test_check_results(&made, c->text);
    test_array_check_gaps(&c->y, c->text);
}

static void random_cases(void **state) {
    (void)state;
    test_array_random = 21;
    for (int i = 0; i < CASES; i++) {
        int64_t shape[5];
        const int ndim = test_array_shape(shape, false);
        sums c;
        const int axis = ndim > 0 ? (int)test_array_between(-ndim, ndim - 1) : (int)test_array_between(-1, 0);
        begin(&c, i % TYPES, ndim, shape, axis, (unsigned)test_array_between(0, 3));
        run(&c, settings[i % SETTINGS]);
        compare(&c);
        end(&c);
    }
}

/* Rows that end at all places of eights, chunks and blocks, and those whose blocks are longer. */
static void long_rows(void **state) {
    (void)state;
    static const int64_t lengths[] = {7, 8, 9, 31, 32, 511, 512, 513, 4095, 4096, 4097, 8192, 8193, 70001};
    test_array_random = 22;
    for (int i = 0; i < (int)(sizeof lengths / sizeof *lengths) * 12; i++) {
        const int64_t n = lengths[i / 12];
        const int64_t shapes[][2] = {{n, 1}, {3, n}, {n, n < 9000 ? 67 : 9}};
        sums c;
        begin(&c, i % TYPES, 2, shapes[i % 3], i % 3 == 1, (unsigned)i / 3 % 4);
        run(&c, settings[i % SETTINGS]);
        compare(&c);
        end(&c);
    }
    for (int i = 0; i < 4; i++) {
        const int64_t n = (INT64_C(1) << 21) + 5;
        sums c;
        begin(&c, i % 2 ? 1 : 6, 1, &n, 0, (unsigned)i);
        run(&c, settings[i % 2 ? 3 : 0]);
        compare(&c);
        end(&c);
    }
}

/* The definition, with numbers whose sums are exact. */
static void definition(void **state) {
    (void)state;
    enum { N = 40 };
    double x[N], y[N];
    bp_view in, out;
    assert_ok(bp_view_init(&in, x, BP_F64, 1, I64(N), NULL));
    assert_ok(bp_view_init(&out, y, BP_F64, 1, I64(N), NULL));
    for (int i = 0; i < N; i++) {
        x[i] = i * i - 7;
    }
    for (int flags = 0; flags < 4; flags++) {
        const int exclusive = flags & 1, reverse = flags >> 1;
        assert_ok(bp_cumsum_run(
            NULL, &(const bp_cumsum_call){sizeof(bp_cumsum_call), 0, exclusive, reverse, &in.tensor, &out.tensor}));
        for (int i = 0; i < N; i++) {
            double want = 0;
            for (int j = 0; j < N; j++) {
                want += (reverse ? j >= i + exclusive : j <= i - exclusive) ? x[j] : 0;
            }
            assert_true(y[i] == want);
        }
    }
}

/* The sum of g cumsum(x) is the sum of x cumsum(g) with the other direction. */
static void gradient(void **state) {
    (void)state;
    static const int64_t shape[] = {5, 13, 11};
    test_array_random = 23;
    for (int i = 0; i < 12; i++) {
        sums x, g;
        double one = 0, other = 0;
        begin(&x, 1, 3, shape, i % 3, (unsigned)i % 4);
        begin(&g, 1, 3, shape, i % 3, (unsigned)i % 4 ^ 2);
        for (int64_t j = 0; j < 5 * 13 * 11; j++) {
            test_array_set(&x.x, j, (double)test_array_between(-9, 9));
            test_array_set(&g.x, j, (double)test_array_between(-9, 9));
        }
        run(&x, "");
        run(&g, "");
        for (int64_t j = 0; j < 5 * 13 * 11; j++) {
            one += test_array_get(&g.x, j) * test_array_get(&x.y, j);
            other += test_array_get(&x.x, j) * test_array_get(&g.y, j);
        }
        assert_true(one == other);
        end(&x);
        end(&g);
    }
}

/* ---- Bits ---- */

/* Runs a case, and returns its results in row-major order, as bytes for free(). */
static char *bytes_of(const sums *c, const char *setting) {
    const size_t size = bp_dtype_size(c->y.dtype);
    const int64_t count = test_array_count(&c->y);
    char *bytes = malloc((size_t)count * size);
    assert_non_null(bytes);
    run(c, setting);
    for (int64_t i = 0; i < count; i++) {
        memcpy(bytes + (size_t)i * size, test_array_at(&c->y, i), size);
    }
    return bytes;
}

/* The same elements in other layouts, on other threads and instruction sets; and a row at another place. */
static void nothing_changes_bits(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{300000, 1, 1}, {3, 20000, 2}, {20000, 9, 1}, {40, 300, 5}, {7, 20, 300}};
    test_array_random = 24;
    for (int i = 0; i < 5 * 3 * 4; i++) {
        const int axis = i % 3, type = i / 3 % TYPES;
        const int64_t *shape = shapes[i % 5];
        sums first;
        begin(&first, type, 3, shape, axis, (unsigned)i / 5 % 4);
        const size_t size = (size_t)test_array_count(&first.y) * bp_dtype_size(first.y.dtype);
        char *want = bytes_of(&first, "num_threads=1");
        for (int j = 0; j < SETTINGS; j++) {
            if (test_leaves_out(i + j, 2)) {
                continue;
            }
            sums again;
            begin(&again, type, 3, shape, axis, (unsigned)i / 5 % 4);
            for (int64_t k = 0; k < test_array_count(&first.x); k++) {
                memcpy(test_array_at(&again.x, k), test_array_at(&first.x, k), bp_dtype_size(first.x.dtype));
            }
            char *got = bytes_of(&again, settings[j]);
            if (memcmp(got, want, size) != 0) {
                fail_msg("%s: %s changes bits", again.text, settings[j]);
            }
            free(got);
            end(&again);
        }
        free(want);
        end(&first);
    }
}

static void places_do_not_change_bits(void **state) {
    (void)state;
    enum { ROWS = 70, N = 9000 };
    static float x[ROWS][N], y[ROWS][N], one[N];
    bp_view in, out;
    test_array_random = 25;
    for (int j = 0; j < N; j++) {
        const float value = (float)test_array_uniform();
        for (int i = 0; i < ROWS; i++) {
            x[i][j] = value;
        }
    }
    assert_ok(bp_view_init(&in, x[0], BP_F32, 1, I64(N), NULL));
    assert_ok(bp_view_init(&out, one, BP_F32, 1, I64(N), NULL));
    bp_cumsum_call call = {.struct_size = sizeof call, .input = &in.tensor, .output = &out.tensor};
    assert_ok(bp_cumsum_run(NULL, &call));
    assert_ok(bp_view_init(&in, x, BP_F32, 2, I64(ROWS, N), NULL));
    assert_ok(bp_view_init(&out, y, BP_F32, 2, I64(ROWS, N), NULL));
    call.axis = 1;
    assert_ok(bp_cumsum_run(NULL, &call));
    for (int i = 0; i < ROWS; i++) {
        assert_memory_equal(y[i], one, sizeof one);
    }
}

/* ---- Layouts ---- */

static void broadcast(void **state) {
    (void)state;
    float x[3] = {1, 2, 4}, y[4][3];
    bp_view in, out;
    assert_ok(bp_view_init(&in, x, BP_F32, 2, I64(4, 3), I64(0, 1)));
    assert_ok(bp_view_init(&out, y, BP_F32, 2, I64(4, 3), NULL));
    bp_cumsum_call call = {.struct_size = sizeof call, .input = &in.tensor, .output = &out.tensor};
    assert_ok(bp_cumsum_run(NULL, &call));
    assert_true(y[0][2] == 4 && y[3][0] == 4 && y[3][2] == 16);
    call.axis = 1;
    assert_ok(bp_cumsum_run(NULL, &call));
    assert_true(y[0][2] == 7 && y[3][0] == 1 && y[3][1] == 3);
}

static void in_place(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{20000, 1}, {9000, 40}, {40, 9000}, {500, 3}};
    test_array_random = 26;
    for (int i = 0; i < 4 * 6 * 2; i++) {
        sums c;
        begin(&c, i % 6, 2, shapes[i % 4], i / 24, (unsigned)i / 4 % 4);
        const size_t size = (size_t)test_array_count(&c.y) * bp_dtype_size(c.y.dtype);
        char *want = bytes_of(&c, "");
        c.call.output = &c.x.view.tensor;
        run(&c, settings[i % SETTINGS]);
        for (size_t j = 0; j < size / bp_dtype_size(c.x.dtype); j++) {
            const size_t element = bp_dtype_size(c.x.dtype);
            if (memcmp(test_array_at(&c.x, (int64_t)j), want + j * element, element) != 0) {
                fail_msg("%s: element %d differs in place", c.text, (int)j);
            }
        }
        test_array_check_gaps(&c.x, c.text);
        free(want);
        end(&c);
    }
}

/* ---- Values ---- */

static void add_up(int64_t n, const double *x, int exclusive, double *y) {
    bp_view in, out;
    assert_ok(bp_view_init(&in, (void *)(uintptr_t)x, BP_F64, 1, &n, NULL));
    assert_ok(bp_view_init(&out, y, BP_F64, 1, &n, NULL));
    assert_ok(
        bp_cumsum_run(NULL, &(const bp_cumsum_call){sizeof(bp_cumsum_call), 0, exclusive, 0, &in.tensor, &out.tensor}));
}

static void values(void **state) {
    (void)state;
    double y[5];
    add_up(2, (const double[]){-0.0, -0.0}, 0, y);
    assert_true(y[0] == 0 && !signbit(y[0]) && !signbit(y[1]));
    add_up(2, (const double[]){-0.0, 3}, 1, y);
    assert_true(y[0] == 0 && !signbit(y[0]) && y[1] == 0 && !signbit(y[1]));
    add_up(5, (const double[]){1, INFINITY, 2, -INFINITY, 3}, 0, y);
    assert_true(y[0] == 1 && y[1] == INFINITY && y[2] == INFINITY && isnan(y[3]) && isnan(y[4]));
    add_up(4, (const double[]){1, NAN, 2, 3}, 1, y);
    assert_true(y[0] == 0 && y[1] == 1 && isnan(y[2]) && isnan(y[3]));
    add_up(3, (const double[]){0x1p-1074, 0x1p-1074, 0x1p-1074}, 0, y);
    assert_true(y[0] == 0x1p-1074 && y[2] == 3 * 0x1p-1074);
    add_up(2, (const double[]){0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023}, 0, y);
    assert_true(y[0] == 0x1.fffffffffffffp1023 && y[1] == INFINITY);
}

/* A NaN in a later block or column leaves all others as they are. */
static void nan_stays(void **state) {
    (void)state;
    enum { N = 9000 };
    static float x[N][9], y[N][9];
    bp_view in, out;
    for (int i = 0; i < N * 9; i++) {
        x[i / 9][i % 9] = 1;
    }
    x[5000][4] = NAN;
    assert_ok(bp_view_init(&in, x, BP_F32, 2, I64(N, 9), NULL));
    assert_ok(bp_view_init(&out, y, BP_F32, 2, I64(N, 9), NULL));
    const bp_cumsum_call call = {.struct_size = sizeof call, .input = &in.tensor, .output = &out.tensor};
    assert_ok(bp_cumsum_run(NULL, &call));
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < 9; j++) {
            assert_true(j == 4 && i >= 5000 ? isnan(y[i][j]) : y[i][j] == (float)(i + 1));
        }
    }
}

/* Sums of f32 lose nothing before they are rounded, and integers wrap around. */
static void wide_sums(void **state) {
    (void)state;
    float x[3] = {0x1p24f, 1, 1}, y[3];
    int32_t whole[2] = {INT32_MAX, 1}, narrow[2];
    int64_t longer[2];
    bp_view in, out;
    assert_ok(bp_view_init(&in, x, BP_F32, 1, I64(3), NULL));
    assert_ok(bp_view_init(&out, y, BP_F32, 1, I64(3), NULL));
    bp_cumsum_call call = {.struct_size = sizeof call, .input = &in.tensor, .output = &out.tensor};
    assert_ok(bp_cumsum_run(NULL, &call));
    assert_true(y[1] == 0x1p24f && y[2] == 0x1p24f + 2);
    assert_ok(bp_view_init(&in, whole, BP_I32, 1, I64(2), NULL));
    assert_ok(bp_view_init(&out, narrow, BP_I32, 1, I64(2), NULL));
    assert_ok(bp_cumsum_run(NULL, &call));
    assert_true(narrow[0] == INT32_MAX && narrow[1] == INT32_MIN);
    assert_ok(bp_view_init(&out, longer, BP_I64, 1, I64(2), NULL));
    assert_ok(bp_cumsum_run(NULL, &call));
    assert_true(longer[1] == INT64_C(1) << 31);
}

/* ---- Errors and plans ---- */

static void refused(void **state) {
    (void)state;
    float x[12] = {1}, y[12] = {7};
    int64_t whole[12];
    bp_view in, out, bad;
    assert_ok(bp_view_init(&in, x, BP_F32, 2, I64(3, 4), NULL));
    assert_ok(bp_view_init(&out, y, BP_F32, 2, I64(3, 4), NULL));
    const bp_cumsum_call good = {.struct_size = sizeof good, .input = &in.tensor, .output = &out.tensor};
    bp_cumsum_call call = good;
    assert_int_equal(bp_cumsum_run(NULL, NULL), BP_E_ARGUMENT);
    call.axis = 2;
    assert_int_equal(bp_cumsum_run(NULL, &call), BP_E_ARGUMENT);
    call.axis = -3;
    assert_int_equal(bp_cumsum_run(NULL, &call), BP_E_ARGUMENT);
    call = good;
    call.input = NULL;
    assert_int_equal(bp_cumsum_run(NULL, &call), BP_E_ARGUMENT);
    call = good;
    call.output = NULL;
    assert_int_equal(bp_cumsum_run(NULL, &call), BP_E_ARGUMENT);
    call.output = &bad.tensor;
    assert_ok(bp_view_init(&bad, y, BP_F32, 2, I64(4, 3), NULL));
    assert_int_equal(bp_cumsum_run(NULL, &call), BP_E_SHAPE);
    assert_ok(bp_view_init(&bad, y, BP_F32, 1, I64(12), NULL));
    assert_int_equal(bp_cumsum_run(NULL, &call), BP_E_SHAPE);
    assert_ok(bp_view_init(&bad, whole, BP_I64, 2, I64(3, 4), NULL));
    assert_int_equal(bp_cumsum_run(NULL, &call), BP_E_DTYPE);
    assert_ok(bp_view_init(&bad, x + 1, BP_F32, 2, I64(3, 2), I64(4, 1)));
    assert_ok(bp_view_init(&in, x, BP_F32, 2, I64(3, 2), I64(4, 1)));
    assert_int_equal(bp_cumsum_run(NULL, &call), BP_E_OVERLAP);
    assert_ok(bp_view_init(&bad, y, BP_F32, 2, I64(3, 2), I64(0, 1)));
    assert_int_equal(bp_cumsum_run(NULL, &call), BP_E_OVERLAP);
    assert_ok(bp_view_init(&in, x, BP_BOOL, 2, I64(3, 4), NULL));
    assert_int_equal(bp_cumsum_run(NULL, &good), BP_E_DTYPE);
    assert_true(y[0] == 7); /* nothing was written */
    /* In place with other strides. */
    assert_ok(bp_view_init(&in, x, BP_F32, 2, I64(3, 3), I64(3, 1)));
    assert_ok(bp_view_init(&out, x, BP_F32, 2, I64(3, 3), I64(1, 3)));
    assert_int_equal(bp_cumsum_run(NULL, &good), BP_E_OVERLAP);
}

static void shapes(void **state) {
    (void)state;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    bp_view in, out;
    assert_ok(bp_view_init(&in, NULL, BP_I32, 2, I64(3, 4), NULL));
    assert_ok(bp_view_init(&out, NULL, BP_I32, 2, I64(3, 4), NULL));
    bp_cumsum_call call = {.struct_size = sizeof call, .axis = -1, .input = &in.tensor};
    assert_ok(bp_cumsum_shape(&call, &dtype, &ndim, shape));
    assert_true(dtype == BP_I64 && ndim == 2 && shape[0] == 3 && shape[1] == 4);
    call.output = &out.tensor;
    assert_ok(bp_cumsum_shape(&call, &dtype, &ndim, shape));
    assert_int_equal(dtype, BP_I32);
    call.axis = 2;
    assert_int_equal(bp_cumsum_shape(&call, &dtype, &ndim, shape), BP_E_ARGUMENT);
    assert_int_equal(bp_cumsum_shape(&call, NULL, &ndim, shape), BP_E_ARGUMENT);
    assert_ok(bp_view_init(&in, NULL, BP_C64, 2, I64(3, 4), NULL));
    call.axis = 0;
    assert_int_equal(bp_cumsum_shape(&call, &dtype, &ndim, shape), BP_E_DTYPE);
}

static void plans(void **state) {
    (void)state;
    float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {0};
    bp_view in, out;
    bp_plan *plan;
    bp_explanation *explanation;
    assert_ok(bp_view_init(&in, NULL, BP_F32, 2, I64(2, 3), NULL));
    assert_ok(bp_view_init(&out, NULL, BP_F32, 2, I64(2, 3), NULL));
    const bp_cumsum_call call = {.struct_size = sizeof call,
                                 .axis = 1,
                                 .exclusive = 1,
                                 .reverse = 1,
                                 .input = &in.tensor,
                                 .output = &out.tensor};
    assert_ok(bp_cumsum_plan(&plan, NULL, &call));
    assert_ok(bp_execute(plan, (bp_operand[]){{x, 0}, {y, 0}}, NULL));
    assert_true(y[0] == 5 && y[1] == 3 && y[2] == 0 && y[3] == 11 && y[5] == 0);
    assert_ok(bp_execute(plan, (bp_operand[]){{x, 0}, {x, 0}}, NULL)); /* in place */
    assert_memory_equal(x, y, sizeof x);
    bp_plan_release(plan);
    assert_ok(bp_cumsum_explain(&explanation, NULL, &call));
    assert_non_null(strstr(bp_explanation_text(explanation), "f32 cumsum of 2 x 3 elements, exclusive, reverse"));
    bp_explanation_release(explanation);
    /* A plan of an empty output. */
    assert_ok(bp_view_init(&in, NULL, BP_F32, 2, I64(0, 3), I64(5, -7)));
    assert_ok(bp_view_init(&out, NULL, BP_F32, 2, I64(0, 3), NULL));
    assert_ok(bp_cumsum_plan(&plan, NULL, &call));
    assert_ok(bp_execute(plan, (bp_operand[]){{NULL, 0}, {NULL, 0}}, NULL));
    bp_plan_release(plan);
}

static int stop(void *asked) {
    return ++*(int *)asked > 1;
}

/* A long row stops, on one thread and on several. */
static void interrupted(void **state) {
    (void)state;
    enum { N = 1 << 27 };
    static const char *const threads[] = {"num_threads=1", "num_threads=2"};
    signed char *y = malloc((size_t)N * 2);
    uint16_t x = 0;
    bp_view in, out;
    assert_non_null(y);
    assert_ok(bp_view_init(&in, &x, BP_F16, 1, I64(N), I64(0)));
    assert_ok(bp_view_init(&out, y, BP_F16, 1, I64(N), NULL));
    for (int i = 0; i < 2; i++) {
        bp_options *options;
        int asked = 0;
        assert_ok(bp_options_new(&options, threads[i]));
        bp_set_interrupt_check(stop, &asked, NULL);
        const bp_cumsum_call call = {.struct_size = sizeof call, .input = &in.tensor, .output = &out.tensor};
        assert_int_equal(bp_cumsum_run(options, &call), BP_E_CANCELLED);
        bp_set_interrupt_check(NULL, NULL, NULL);
        bp_options_release(options);
    }
    free(y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_cases),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(definition),
        cmocka_unit_test(gradient),
        cmocka_unit_test(nothing_changes_bits),
        cmocka_unit_test(places_do_not_change_bits),
        cmocka_unit_test(broadcast),
        cmocka_unit_test(in_place),
        cmocka_unit_test(values),
        cmocka_unit_test(nan_stays),
        cmocka_unit_test(wide_sums),
        cmocka_unit_test(refused),
        cmocka_unit_test(shapes),
        cmocka_unit_test(plans),
        cmocka_unit_test(interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
