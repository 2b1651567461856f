/* test_reduce.c - reductions and softmax on an OpenCL device, against definitions in long double. */
#include "device_array.h"

#include "device/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NDIM = 4 };

typedef struct shapes {
    int64_t size[NDIM];
    int axes; /* bits */
} shapes;

static const shapes some_shapes[] = {
    {{1, 1, 1, 1}, 15},    {{3, 5, 7, 19}, 8},    {{3, 5, 7, 19}, 1},  {{3, 5, 7, 19}, 6},
    {{2, 17, 3, 40}, 10},  {{3000, 1, 1, 20}, 8}, {{3, 5, 7, 19}, 15}, {{4, 3, 2, 5}, 0},
    {{1, 1, 2, 70000}, 8}, {{1, 9000, 1, 33}, 2}, {{0, 4, 1, 3}, 8},
};
enum { SHAPES = sizeof some_shapes / sizeof *some_shapes };

static bool is_truth(bp_reduce_kind kind) {
    return kind == BP_REDUCE_ANY || kind == BP_REDUCE_ALL;
}

static bp_dtype type_of_result(bp_reduce_kind kind, bp_dtype dtype) {
    return is_truth(kind) ? BP_BOOL : kind >= BP_REDUCE_ARGMAX ? BP_I64 : dtype;
}

static bool is_floating(bp_dtype dtype) {
    return dtype >= BP_F16 && dtype <= BP_F64;
}

/* ---- Reductions ---- */

static void fill(device_array *t, bp_reduce_kind kind, bool special) {
    const bp_dtype dtype = t->host.dtype;
    for (int64_t i = 0; i < test_array_count(&t->host); i++) {
        static const double specials[] = {NAN, INFINITY, -INFINITY};
        double value = is_floating(dtype) ? test_array_uniform() : (double)test_array_between(-30000, 30000);
        if (is_truth(kind)) { /* one in 60 may decide; the least denormal number is not 0, and -0 is */
            const bool other = (test_array_between(0, 60) == 0) == (kind == BP_REDUCE_ANY);
            const double tiny = dtype == BP_F64 ? 0x1p-1074 : dtype == BP_F16 ? 0x1p-24 : 0x1p-133;
            value = other ? (is_floating(dtype) && i % 2 ? tiny : 1) : is_floating(dtype) && i % 3 ? -0.0 : 0;
        } else if (kind >= BP_REDUCE_MAX) {
            value = (double)test_array_between(-3, 3); /* many are equal */
        }
        if (kind == BP_REDUCE_PROD && is_floating(dtype)) {
            value = (test_array_between(0, 1) ? 1 : -1) * (1 + value * 1e-3);
        }
        if (special && is_floating(dtype) && test_array_between(0, 40) == 0) {
            value = specials[test_array_between(0, 2)];
        }
        if (is_floating(dtype)) {
            test_array_set(&t->host, i, value);
        } else {
            test_array_set_i64(&t->host, i, (int64_t)value);
        }
    }
    device_array_send(t);
}

/* The elements that are joined to one result: an index for each, in row-major order of the axes. */
typedef struct group {
    int64_t count;
    int64_t *index;
} group;

static group group_of(const shapes *s, int64_t result) {
    int64_t at[NDIM] = {0};
    group g = {1, NULL};
    for (int d = NDIM - 1; d >= 0; d--) {
        if (s->axes >> d & 1) {
            g.count *= s->size[d];
        } else {
            at[d] = result % s->size[d];
            result /= s->size[d];
        }
    }
    g.index = calloc((size_t)g.count + 1, sizeof *g.index);
    for (int64_t i = 0; i < g.count; i++) {
        int64_t rest = i, index = 0, factor = 1;
        for (int d = NDIM - 1; d >= 0; d--) {
            int64_t place = at[d];
            if (s->axes >> d & 1) {
                place = rest % s->size[d];
                rest /= s->size[d];
            }
            index += place * factor;
            factor *= s->size[d];
        }
        g.index[i] = index;
    }
    return g;
}

static bool exceeds(double x, double y, bool least) {
    return isnan(x) ? !isnan(y) : !isnan(y) && (least ? x < y : x > y);
}

static void check_extreme(const char *text, bp_reduce_kind kind, const group *g, const device_array *x,
                          const device_array *y, int64_t result) {
    const bool least = kind == BP_REDUCE_MIN || kind == BP_REDUCE_ARGMIN;
    int64_t best = 0;
    for (int64_t i = 1; i < g->count; i++) {
        if (exceeds(test_array_get(&x->host, g->index[i]), test_array_get(&x->host, g->index[best]), least)) {
            best = i;
        }
    }
    if (kind >= BP_REDUCE_ARGMAX) {
        const int64_t got = test_array_get_i64(&y->host, result);
        if (got != best) {
            fail_msg("%s: result %" PRId64 " is %" PRId64 " instead of %" PRId64, text, result, got, best);
        }
    } else {
        assert_close(text, result, test_array_get(&y->host, result), test_array_get(&x->host, g->index[best]), 0);
    }
}

static void check_truth(const char *text, bp_reduce_kind kind, const group *g, const device_array *x,
                        const device_array *y, int64_t result) {
    int64_t count = 0;
    for (int64_t i = 0; i < g->count; i++) {
        count += is_floating(x->host.dtype) ? test_array_get(&x->host, g->index[i]) != 0
                                            : test_array_get_i64(&x->host, g->index[i]) != 0;
    }
    const bool got = test_array_get_i64(&y->host, result), want = kind == BP_REDUCE_ANY ? count > 0 : count == g->count;
    if (got != want) {
        fail_msg("%s: result %" PRId64 " is %d instead of %d", text, result, got, want);
    }
}

static void check_whole_sum(const char *text, bp_reduce_kind kind, const group *g, const device_array *x,
                            const device_array *y, int64_t result) {
    uint64_t sum = kind == BP_REDUCE_PROD;
    for (int64_t i = 0; i < g->count; i++) {
        const uint64_t value = (uint64_t)test_array_get_i64(&x->host, g->index[i]);
        sum = kind == BP_REDUCE_PROD ? sum * value : sum + value;
    }
    const int64_t want = y->host.dtype == BP_I32 ? (int32_t)(uint32_t)sum : (int64_t)sum;
    const int64_t got = test_array_get_i64(&y->host, result);
    if (got != want) {
        fail_msg("%s: result %" PRId64 " is %" PRId64 " instead of %" PRId64, text, result, got, want);
    }
}

/* The bound of reduce.h; of a contiguous row with 200 + n / 8192 in place of n. */
static void check_sum(const char *text, bp_reduce_kind kind, const group *g, const device_array *x,
                      const device_array *y, int64_t result, bool row) {
    long double sum = kind == BP_REDUCE_PROD, size = 0;
    const bp_dtype dtype = y->host.dtype;
    const double n = (double)g->count;
    for (int64_t i = 0; i < g->count; i++) {
        const long double value = test_array_get(&x->host, g->index[i]);
        sum = kind == BP_REDUCE_PROD ? sum * value : sum + value;
        size += fabsl(value);
    }
    const long double want = kind == BP_REDUCE_MEAN ? (g->count ? sum / (long double)n : (long double)NAN) : sum;
    const double roundings = row && 200 + n / 8192 < n ? 200 + n / 8192 : n;
    const double error = kind == BP_REDUCE_PROD ? n * (double)fabsl(want) : roundings * (double)size;
    const double scale = kind == BP_REDUCE_MEAN ? n : 1;
    assert_close(text, result, test_array_get(&y->host, result), (double)want,
                 error * (test_without_f64 ? 0x1p-44 : 0x1p-53) / scale +
                     2.01 * device_eps(dtype) * (double)fabsl(want) + 2 * device_tiny(dtype));
}

static void check_reduction(bp_reduce_kind kind, bp_dtype dtype, bp_dtype output, const shapes *s, int number) {
    char text[160];
    int64_t shape[NDIM], reduced = 1;
    int axes[NDIM], axis_count = 0;
    int ndim = 0;
    device_array x, y;
    for (int d = 0; d < NDIM; d++) {
        if (s->axes >> d & 1) {
            axes[axis_count++] = d;
            reduced *= s->size[d];
        } else {
            shape[ndim++] = s->size[d];
        }
    }
    if (reduced == 0 && kind >= BP_REDUCE_MAX && !is_truth(kind)) {
        return;
    }
    snprintf(text, sizeof text, "kind %d of %s, shape number %d, layout %d", (int)kind, bp_dtype_name(dtype),
             (int)(s - some_shapes), number % TEST_LAYOUTS);
    const test_layout layout = (test_layout)(number % TEST_LAYOUTS);
    device_array_make(&x, dtype, NDIM, s->size, layout, number % 7 == 6 ? 2 : 0);
    device_array_make(&y, output, ndim, shape, (test_layout)(number / 4 % TEST_LAYOUTS), 0);
    fill(&x, kind, number % 5 == 4 && kind != BP_REDUCE_PROD);
    device_array_send(&y);
    assert_ok(bp_reduce_run(NULL, kind, &x.tensor, axis_count, axes, 0, &y.tensor));
    device_array_fetch(&y, text);
    const int64_t results = test_array_count(&y.host);
    if (results > 0) {
        assert_on_device(text);
    }
    for (int64_t i = 0; i < results; i++) {
        group g = group_of(s, i);
        if (is_truth(kind)) {
            check_truth(text, kind, &g, &x, &y, i);
        } else if (kind >= BP_REDUCE_MAX) {
            check_extreme(text, kind, &g, &x, &y, i);
        } else if (is_floating(dtype)) {
            check_sum(text, kind, &g, &x, &y, i, s->axes == 8 && layout == TEST_COMPACT && number % 7 != 6);
        } else {
            check_whole_sum(text, kind, &g, &x, &y, i);
        }
        free(g.index);
    }
    device_array_free(&x);
    device_array_free(&y);
}

static bool refused(bp_dtype dtype, int kind) {
    return test_without_f64 && (dtype == BP_F64 || (is_floating(dtype) && kind == BP_REDUCE_PROD));
}

/* Without f64, only sums are computed in another way. */
static bool leaves_kind(int kind) {
    return test_device_leaves_out(test_without_f64 && kind >= BP_REDUCE_MAX);
}

static void test_reductions(void **state) {
    static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16, BP_I32, BP_I64, BP_BOOL};
    int number = 0;
    (void)state;
    test_device_need();
    for (int i = 0; i < 7; i++) {
        for (int kind = i < 6 ? 0 : BP_REDUCE_ANY; kind <= BP_REDUCE_ALL; kind++) {
            const bool some = is_truth((bp_reduce_kind)kind) ? (kind + i) % 2 : kind % 6 == i;
            if (test_device_leaves_out(!some && !(kind == BP_REDUCE_SUM && i >= 4)) || leaves_kind(kind)) {
                continue;
            }
            for (int s = 0; s < SHAPES && !(i >= 4 && kind == BP_REDUCE_MEAN) && !refused(types[i], kind); s++) {
                const bool longer = types[i] == BP_I32 && kind <= BP_REDUCE_PROD && s % 2;
                const bp_dtype output = longer ? BP_I64 : type_of_result((bp_reduce_kind)kind, types[i]);
                check_reduction((bp_reduce_kind)kind, types[i], output, &some_shapes[s], number++);
            }
        }
    }
}

/* Rows and columns that are longer than one part, and more short rows than a device has work items at once. */
static void test_long(void **state) {
    static const shapes longer[] = {{{1, 1, 1, 1000003}, 8}, {{1, 1, 300000, 3}, 4}, {{1, 1, 200003, 2}, 8}};
    (void)state;
    test_device_need();
    for (int i = 0; i < 3; i++) {
        for (int kind = 0; kind <= BP_REDUCE_ALL; kind++) {
            const shapes s = longer[i];
            if (refused(BP_F32, kind) || leaves_kind(kind)) {
                continue;
            }
            check_reduction((bp_reduce_kind)kind, BP_F32, type_of_result((bp_reduce_kind)kind, BP_F32), &s, 0);
        }
    }
}

/* ---- Variances ---- */

/* The bound of reduce.h. */
static void check_variance(bp_variance_kind kind, double correction, bp_dtype dtype, const shapes *s, double mean,
                           int number) {
    char text[160];
    int64_t shape[NDIM];
    int axes[NDIM], axis_count = 0, ndim = 0;
    device_array x, y;
    for (int d = 0; d < NDIM; d++) {
        if (s->axes >> d & 1) {
            axes[axis_count++] = d;
        } else {
            shape[ndim++] = s->size[d];
        }
    }
    snprintf(text, sizeof text, "%s of %s, mean %g, correction %g, case %d", kind == BP_VAR ? "var" : "std",
             bp_dtype_name(dtype), mean, correction, number);
    device_array_make(&x, dtype, NDIM, s->size, (test_layout)(number % TEST_LAYOUTS), number % 7 == 6 ? 2 : 0);
    device_array_make(&y, dtype, ndim, shape, (test_layout)(number / 4 % TEST_LAYOUTS), 0);
    for (int64_t i = 0; i < test_array_count(&x.host); i++) {
        test_array_set(&x.host, i, mean + (i % 1000 == 17 ? 500 : 1) * test_array_uniform());
    }
    device_array_send(&x);
    device_array_send(&y);
    assert_ok(bp_variance_run(NULL, kind, &x.tensor, axis_count, axes, correction, 0, &y.tensor));
    device_array_fetch(&y, text);
    for (int64_t i = 0; i < test_array_count(&y.host); i++) {
        group g = group_of(s, i);
        long double average = 0, square = 0;
        const long double n = (long double)g.count;
        const long double first = g.count > 0 ? (long double)test_array_get(&x.host, g.index[0]) : 0;
        for (int64_t j = 0; j < g.count; j++) {
            average += ((long double)test_array_get(&x.host, g.index[j]) - first) / n;
        }
        for (int64_t j = 0; j < g.count; j++) {
            const long double d = ((long double)test_array_get(&x.host, g.index[j]) - first) - average;
            square += d * d;
        }
        const long double variance = square / fmaxl(n - (long double)correction, 0);
        const double want = (double)(kind == BP_STD ? sqrtl(variance) : variance);
        const double unit =
            test_without_f64 ? (2 * (double)n + 32) * 0x1p-44 + 0x1p-20 : (2 * (double)n + 32) * 0x1p-53;
        const double error = (unit + 2.01 * device_eps(dtype)) * fabs(want) + 2 * device_tiny(dtype);
        assert_close(text, i, test_array_get(&y.host, i), want, isfinite(error) ? error : 0);
        free(g.index);
    }
    device_array_free(&x);
    device_array_free(&y);
}

static void test_variances(void **state) {
    static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
    static const double corrections[] = {1, 0, 2.5, -1};
    static const shapes longer[] = {{{1, 1, 1, 300007}, 8}, {{1, 1, 90001, 3}, 4}, {{1, 1, 2000, 70}, 8}};
    int number = 0;
    (void)state;
    test_device_need();
    for (int i = 0; i < 4; i++) {
        for (int s = 0; s < SHAPES && !refused(types[i], BP_REDUCE_SUM); s++, number++) {
            if (!test_device_leaves_out((s + i) % 2)) {
                check_variance((bp_variance_kind)(number % 2), corrections[number % 4], types[i], &some_shapes[s],
                               i < 2 && s % 3 == 0 ? 1e6 : 2, number);
            }
        }
    }
    for (int s = 0; s < 3; s++) {
        check_variance(BP_VAR, 1, BP_F32, &longer[s], s == 1 ? 0 : 1e4, 4 * s);
    }
}

/* ---- Softmax ---- */

/* Compares a row: `length` elements from `first` on, `step` apart. */
static void check_row(const char *text, bp_softmax_kind kind, const device_array *y, const double *x, int64_t first,
                      int64_t step, int64_t length) {
    const bp_dtype dtype = y->host.dtype;
    const double compute = device_compute_eps(dtype), out = device_eps(dtype);
    const double least = kind == BP_SOFTMAX ? (dtype == BP_F64 ? 0x1p-1022 : 0x1p-126) : 0; /* below it is 0 */
    double most = -INFINITY;
    long double sum = 0;
    for (int64_t l = 0; l < length; l++) {
        const double value = x[first + l * step];
        most = isnan(value) || value > most ? value : most;
    }
    for (int64_t l = 0; l < length; l++) {
        sum += expl((long double)x[first + l * step] - most);
    }
    for (int64_t l = 0; l < length; l++) {
        const int64_t i = first + l * step;
        const long double distance = (long double)x[i] - most;
        const long double want = kind == BP_SOFTMAX ? expl(distance) / sum : distance - logl(sum);
        const double far = fmin((double)fabsl(distance), 1e5), size = (double)fabsl(want);
        const double bound = kind == BP_SOFTMAX ? size * (compute * (10 + far) + out)
                                                : 4 * compute * (far + (double)fabsl(logl(sum)) + 2) + out * size;
        assert_close(text, i, test_array_get(&y->host, i), (double)want, bound + 2 * device_tiny(dtype) + least);
    }
}

static void check_softmax(bp_softmax_kind kind, bp_dtype dtype, const shapes *s, int number) {
    char text[160];
    device_array x, y;
    const bool in_place = number % 3 == 2;
    int axis = 0;
    while (s->axes >> (axis + 1)) {
        axis++;
    }
    const int64_t length = s->size[axis];
    snprintf(text, sizeof text, "softmax %d of %s, axis %d, shape number %d, layout %d", (int)kind,
             bp_dtype_name(dtype), axis, (int)(s - some_shapes), number % TEST_LAYOUTS);
    device_array_make(&x, dtype, NDIM, s->size, (test_layout)(number % TEST_LAYOUTS), 0);
    device_array_make(&y, dtype, NDIM, s->size, (test_layout)(number / 4 % TEST_LAYOUTS), 0);
    for (int64_t i = 0; i < test_array_count(&x.host); i++) {
        static const double specials[] = {-INFINITY, -300, 80, NAN, INFINITY};
        const bool special = test_array_between(0, 60) == 0;
        test_array_set(&x.host, i,
                       special ? specials[test_array_between(0, number % 4 == 3 ? 4 : 2)] : 4 * test_array_uniform());
    }
    device_array_send(&x);
    device_array_send(&y);
    assert_ok(bp_softmax_run(NULL, kind, &x.tensor, axis, in_place ? &x.tensor : &y.tensor));
    device_array *const result = in_place ? &x : &y;
    double *before = calloc((size_t)test_array_count(&x.host) + 1, sizeof *before);
    for (int64_t i = 0; i < test_array_count(&x.host); i++) {
        before[i] = test_array_get(&x.host, i);
    }
    device_array_fetch(result, text);
    int64_t inner = 1;
    for (int d = axis + 1; d < NDIM; d++) {
        inner *= s->size[d];
    }
    for (int64_t row = 0; row < test_array_count(&x.host) / length; row++) {
        check_row(text, kind, result, before, row / inner * inner * length + row % inner, inner, length);
    }
    free(before);
    device_array_free(&x);
    device_array_free(&y);
}

static void test_softmax(void **state) {
    static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
    static const shapes further[] = {{{1, 1, 2, 70000}, 8}, {{1, 20000, 1, 3}, 2}};
    int number = 0;
    (void)state;
    test_device_need();
    for (int i = 0; i < 4; i++) {
        for (int kind = 0; kind <= BP_LOG_SOFTMAX && !refused(types[i], BP_REDUCE_SUM); kind++) {
            if (test_device_leaves_out((i + kind) % 2)) {
                continue;
            }
            for (int s = 0; s < 6; s++) {
                check_softmax((bp_softmax_kind)kind, types[i], &some_shapes[s], number++);
            }
        }
    }
    for (int i = 0; i < 2; i++) {
        check_softmax((bp_softmax_kind)i, BP_F32, &further[i], 0);
    }
}

/* Groups of fewer work items than the kernels take if they can. */
static void test_small_groups(void **state) {
    static const bp_reduce_kind kinds[] = {BP_REDUCE_SUM, BP_REDUCE_ARGMAX};
    (void)state;
    test_device_need();
    if (!test_as_gpu || test_device_leaves_out(test_without_f64)) {
        skip();
    }
    const bp_device_info before = *bp__device_facts(test_device);
    test_device_set_limits(48, 16384); /* no power of two */
    for (int i = 0; i < SHAPES; i++) {
        for (int k = 0; k < 2; k++) {
            check_reduction(kinds[k], BP_F32, k ? BP_I64 : BP_F32, &some_shapes[i], 2 * i + k);
        }
        check_variance(BP_VAR, 1, BP_F32, &some_shapes[i], 3, i);
        if (some_shapes[i].axes == 8 && some_shapes[i].size[0] > 0) {
            check_softmax(BP_SOFTMAX, BP_F32, &some_shapes[i], i);
        }
    }
    test_device_set_limits(before.group_items, before.local_memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reductions), cmocka_unit_test(test_long),
                                       cmocka_unit_test(test_variances), cmocka_unit_test(test_softmax),
                                       cmocka_unit_test(test_small_groups)};
    return cmocka_run_group_tests(tests, test_device_setup, NULL);
}
