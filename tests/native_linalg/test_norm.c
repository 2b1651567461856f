/* test_norm.c - tests norms that are sums of elements, for any size and layout, against the reference. Also tests
 * the limits of the range, NaN and infinity, and that results are bitwise the same on any number of threads. */
#include "linalg.h"

#include "backplane.h"
#include "support/linalg.h"
#include "support/pool.h"
#include "support/results.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0 means the Frobenius norm. */
static const double orders[] = {0, 1, -1, INFINITY, -INFINITY};

static task make(bp_dtype dtype, int64_t m, int64_t n, double order, kernels set) {
    return (task){.op = BP_OP_MATRIX_NORM,
                  .dtype = dtype,
                  .m = m,
                  .n = n,
                  .batch = 1,
                  .mode = order == 0 ? BP_NORM_FRO : BP_NORM_P,
                  .order = order,
                  .set = set,
                  .seed = 7 + (unsigned)(m + n)};
}

static long double norm_of(const operands *o, int64_t item) {
    return creall(get(o, 1, item, 0, 0));
}

static long double least_of(bp_dtype dtype) {
    return real_of(dtype) == BP_F64 ? (long double)DBL_TRUE_MIN : (long double)FLT_TRUE_MIN;
}

static long double most_of(bp_dtype dtype) {
    return real_of(dtype) == BP_F64 ? (long double)DBL_MAX : (long double)FLT_MAX;
}

/* Runs a task and checks its norms. Sums are in double precision, in chains and splits, so that few roundings add up. A
 * modulus has three roundings, the result one more. Moduli below the normal numbers have an error below the smallest
 * one. */
static void check(operands *o) {
    const int64_t elements = o->t.m * o->t.n;
    const long double unit = unit_roundoff(o->t.dtype), sums = (long double)(elements / 16 + 40) * 0x1p-53L;
    char text[128];
    test_linalg of;
    reference_results made;
    test_linalg_make(&of, &o->problem, o->first);
    test_linalg_values(&made, &of.call, (double)((unit + sums) / unit));
    made.of[0].values.tiny = (double)((long double)(o->t.m + o->t.n) * least_of(o->t.dtype));
    assert_int_equal(run_task(o), BP_OK);
    assert_true(o->verdict.properties & BP_PROPERTY_PROPAGATES_NAN);
    snprintf(text, sizeof text, "%s, %dx%d, layout %d, order %g, set %d", bp_dtype_name(o->t.dtype), (int)o->t.m,
             (int)o->t.n, o->t.in, o->t.order, o->t.set);
    test_check_results(&made, text);
    check_surroundings(o);
}

static void test_sizes(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{1, 1},   {1, 7},   {7, 1},    {2, 2},   {3, 5},     {4, 4},     {16, 16},
                                       {17, 33}, {33, 17}, {40, 700}, {600, 5}, {3, 17000}, {17000, 2}, {1, 40000}};
    EACH_SET(set) {
        for (int at = 0; at < COUNT(sizes) * COUNT(dtypes); at++) {
            for (int way = 0; way < COUNT(orders) * LAYOUTS; way++) {
                const int64_t *size = sizes[at / COUNT(dtypes)];
                if (size[0] * size[1] > 10000 && (at + way) % 7 != 0) {
                    continue; /* the reference is slow */
                }
                task t = make(dtypes[at % COUNT(dtypes)], size[0], size[1], orders[way / LAYOUTS], set);
                t.batch = size[0] * size[1] > 1000 ? 1 : 1 + (at + way) % 4;
                t.nested = t.batch == 4;
                t.in = (layout)(way % LAYOUTS);
                t.threads = 1 + way % 3;
                operands o;
                make_operands(&o, &t);
                check(&o);
                free_operands(&o);
            }
        }
    }
}

/* Tests elements whose squares exceed the range of the type, and elements near the largest and smallest numbers. */
static void test_range(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int at = 0; at < COUNT(dtypes) * COUNT(orders) * LAYOUTS; at++) {
            const bp_dtype dtype = dtypes[at % COUNT(dtypes)];
            const long double huge = most_of(dtype) / 1024, tiny = least_of(dtype) * 4096;
            const long double values[] = {huge, tiny, tiny * 1e6L, sqrtl(huge), sqrtl(tiny), 1 / huge, 0};
            for (int v = 0; v < COUNT(values); v++) {
                task t = make(dtype, 19, 21, orders[at / COUNT(dtypes) % COUNT(orders)], set);
                t.in = (layout)(at / COUNT(dtypes) / COUNT(orders));
                operands o;
                make_operands(&o, &t);
                for (int64_t i = 0; i < t.m * t.n; i++) {
                    put(&o, 0, 0, i / t.n, i % t.n, values[v] * get(&o, 0, 0, i / t.n, i % t.n));
                }
                check(&o);
                free_operands(&o);
            }
        }
    }
}

static long double norm_of_four(bp_dtype dtype, double order, kernels set, const long double *values) {
    const task t = make(dtype, 2, 2, order, set);
    operands o;
    make_operands(&o, &t);
    for (int i = 0; i < 4; i++) {
        put(&o, 0, 0, i / 2, i % 2, values[i]);
    }
    assert_int_equal(run_task(&o), BP_OK);
    const long double norm = norm_of(&o, 0);
    free_operands(&o);
    return norm;
}

/* Tests that norms of the smallest numbers are exact, and that the largest number has a finite norm. */
static void test_range_limits(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int d = 0; d < COUNT(dtypes); d++) {
            const long double least = least_of(dtypes[d]), most = most_of(dtypes[d]);
            const long double small[] = {0, 3 * least, 4 * least, 0}, one[] = {-most, 0, 0, 0};
            const long double all[] = {most, most, most, most};
            assert_true(norm_of_four(dtypes[d], 0, set, small) == 5 * least);
            for (int i = 0; i < COUNT(orders); i++) {
                assert_true(norm_of_four(dtypes[d], orders[i], set, one) == (orders[i] < 0 ? 0 : most));
                assert_true(isinf(norm_of_four(dtypes[d], orders[i], set, all)));
            }
        }
    }
}

/* Tests that NaN and infinity reach the norm, whatever the other elements are. */
static void test_nan_and_infinity_propagate(void **state) {
    (void)state;
    static const int64_t positions[] = {0, 1, 30, 400};
    EACH_SET(set) {
        for (int at = 0; at < COUNT(dtypes) * COUNT(orders) * COUNT(positions) * 2; at++) {
            const double order = orders[at / COUNT(dtypes) % COUNT(orders)];
            task t = make(dtypes[at % COUNT(dtypes)], 23, 29, order, set);
            t.in = at / COUNT(dtypes) / COUNT(orders) % 2 ? COLUMNS : ROWS;
            const int64_t position = positions[at / COUNT(dtypes) / COUNT(orders) / 2];
            for (int with_nan = 0; with_nan < 2; with_nan++) {
                operands o;
                make_operands(&o, &t);
                put(&o, 0, 0, 22, 28, -INFINITY);
                if (with_nan) {
                    put(&o, 0, 0, position / t.n, position % t.n, NAN);
                }
                assert_int_equal(run_task(&o), BP_OK);
                const long double norm = norm_of(&o, 0);
                assert_true(with_nan ? isnan(norm) : order < 0 ? isfinite(norm) : isinf(norm));
                free_operands(&o);
            }
        }
    }
}

/* Tests that a number with an infinite part is infinite even if the other part is NaN, as for C's cabs. */
static void test_infinite_parts(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int at = 0; at < 8; at++) {
            task t = make(at % 2 ? BP_C64 : BP_C128, 23, 29, at / 2 % 2 ? 1 : INFINITY, set);
            t.in = at / 4 ? COLUMNS : ROWS;
            operands o;
            make_operands(&o, &t);
            const double wide_parts[] = {NAN, -INFINITY};
            const float parts[] = {NAN, -INFINITY};
            memcpy(element(&o, 0, 0, 3, 5), at % 2 ? (const void *)parts : wide_parts, at % 2 ? 8 : 16);
            assert_int_equal(run_task(&o), BP_OK);
            assert_true(isinf(norm_of(&o, 0)));
            free_operands(&o);
        }
    }
}

/* Tests several threads, which share the items or each item. */
static void test_threads(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{4, 5, 10000}, {700, 1500, 1}, {300, 5000, 2}, {900000, 2, 1}, {1, 2000000, 1}};
    static const int threads[] = {2, 3, 7};
    int used = 0;
    EACH_SET(set) {
        for (int at = 0; at < COUNT(sizes) * COUNT(orders); at++) {
            const int64_t *size = sizes[at % COUNT(sizes)];
            task t = make(dtypes[at % COUNT(dtypes)], size[0], size[1], orders[at / COUNT(sizes)], set);
            t.batch = size[2];
            operands o;
            make_operands(&o, &t);
            assert_int_equal(run_task(&o), BP_OK);
            test_array one;
            test_array_copy(&one, &o.array[1]);
            for (int i = 0; i < COUNT(threads); i++) {
                o.problem.policy.threads = threads[i];
                test_array_fill(&o.array[1], 1);
                assert_int_equal(run_task(&o), BP_OK);
                used |= 1 << o.verdict.threads;
                test_array_check_unchanged(&o.array[1], &one, "several threads");
            }
            test_array_free(&one);
            free_operands(&o);
        }
    }
    assert_true((used & 1 << 2) && (used & 1 << 3) && (used & 1 << 7));
}

/* Two of three columns: the lines are columns, since each short row would need a sum of its own. */
static void test_short_rows_need_little_memory(void **state) {
    (void)state;
    enum { LINES = 100000 };
    float *data = calloc(3 * LINES, sizeof *data), norm = 0;
    bp_view a, out;
    bp_options *options;
    assert_non_null(data);
    for (int i = 0; i < 3 * LINES; i++) {
        data[i] = i % 3 == 2 ? 1000 : 1;
    }
    bp_view_init(&a, data, BP_F32, 2, (const int64_t[]){LINES, 2}, (const int64_t[]){3, 1});
    bp_view_init(&out, &norm, BP_F32, 0, NULL, NULL);
    assert_int_equal(bp_options_new(&options, "linalg.preferred=native, num_threads=1"), BP_OK);
    for (double order = 0; order <= 3; order++) {
        bp_linalg_call call = {.struct_size = sizeof call, .op = BP_OP_VECTOR_NORM, .mode = BP_NORM_P, .order = order};
        call.input[0] = &a.tensor;
        call.output[0] = &out.tensor;
        bp_plan *plan;
        bp_plan_info info = {.struct_size = sizeof info};
        assert_int_equal(bp_linalg_plan(&plan, options, &call), BP_OK);
        assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
        assert_true(info.workspace <= 4096);
        assert_int_equal(bp_execute(plan, (const bp_operand[]){{data, 0}, {&norm, 0}}, NULL), BP_OK);
        const double right = pow(2.0 * LINES, order == 0 ? 1 : 1 / order);
        assert_true(fabs((double)norm - right) <= 1e-6 * right);
        bp_plan_release(plan);
    }
    bp_options_release(options);
    free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_range_limits),
        cmocka_unit_test(test_nan_and_infinity_propagate),
        cmocka_unit_test(test_infinite_parts),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_short_rows_need_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
