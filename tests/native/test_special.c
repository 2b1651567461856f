/* test_special.c - tests NaN, infinity and denormals, empty sizes, factors of zero, refusals, and failing allocations.
 */
#include "native.h"

#include "machine/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const bp_provider bp_provider_native;

static const bp_dtype dtypes[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_C64, BP_C128};
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
#define EACH_SET(set)                                                                                                  \
    for (kernels set = KERNELS_DEFAULT; set < KERNELS_SETS; set++)                                                     \
        if (!runs_here(set)) {                                                                                         \
            print_message("skipped on this processor: %s\n", kernels_name(set));                                       \
        } else

/* One shape for each path. */
static const int64_t shapes[][3] = {{2, 2, 3},   {1, 1, 40},    {9, 10, 1},     {40, 1, 12},
                                    {30, 31, 9}, {5, 150, 200}, {125, 130, 128}};

static product make(bp_dtype dtype, const int64_t *shape, kernels set) {
    return (product){.dtype = dtype,
                     .m = shape[0],
                     .n = shape[1],
                     .k = shape[2],
                     .batch = 1,
                     .alpha = {1, 0},
                     .set = set,
                     .threads = 1};
}

static void set_all(operands *o, const product *p, int operand, double value) {
    const int64_t rows = operand == 1 ? p->k : p->m, columns = operand == 0 ? p->k : p->n;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            for (int part = 0; part < parts_of(p->dtype); part++) {
                set_part(p->dtype, element(o, operand, 0, i, j), part, part == 0 ? value : 0);
            }
        }
    }
}

static double result(const operands *o, const product *p, int64_t i, int64_t j) {
    return get_part(p->dtype, element(o, 2, 0, i, j), 0);
}

/* Tests that NaN in A reaches its whole row and no other row, even with zeros in B; that Inf * 0 is NaN; and that Inf -
 * Inf is NaN. */
static void test_non_finite(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int at = 0; at < COUNT(dtypes) * COUNT(shapes); at++) {
            product p = make(dtypes[at % COUNT(dtypes)], shapes[at / COUNT(dtypes)], set);
            for (int how = 0; how < 3; how++) {
                operands o;
                make_operands(&o, &p);
                set_all(&o, &p, 0, 1);
                set_all(&o, &p, 1, how == 2 ? 1 : 0);
                set_part(p.dtype, element(&o, 0, 0, p.m - 1, p.k / 2), 0, how == 0 ? NAN : INFINITY);
                if (how == 2 && p.k > 1) {
                    set_part(p.dtype, element(&o, 0, 0, p.m - 1, p.k - 1), 0, -INFINITY);
                }
                assert_int_equal(run_product(&o, &p, NULL), BP_OK);
                for (int64_t i = 0; i < p.m; i++) {
                    for (int64_t j = 0; j < p.n; j++) {
                        double x = result(&o, &p, i, j), clean = how == 2 ? (double)p.k : 0;
                        if (i < p.m - 1) {
                            assert_true(x == clean);
                        } else if (how == 2 && p.k == 1 && parts_of(p.dtype) == 1) {
                            assert_true(isinf(x));
                        } else {
                            assert_true(isnan(x) || parts_of(p.dtype) == 2);
                        }
                    }
                }
                free_operands(&o);
            }
        }
    }
}

/* Tests that a beta of 0 leaves C unread, so that NaN there has no effect; that an alpha of 0 leaves A and B unread;
 * and that 1 * Inf does not make the imaginary part NaN. */
static void test_unread_operands(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int at = 0; at < COUNT(dtypes) * COUNT(shapes) * 2; at++) {
            product p = make(dtypes[at % COUNT(dtypes)], shapes[at / 2 / COUNT(dtypes) % COUNT(shapes)], set);
            p.any_factors = at / COUNT(dtypes) % 2 == 1;
            operands o;
            make_operands(&o, &p);
            set_all(&o, &p, 0, 1);
            set_all(&o, &p, 1, 1);
            set_all(&o, &p, 2, NAN);
            assert_int_equal(run_product(&o, &p, NULL), BP_OK);
            assert_true(result(&o, &p, p.m - 1, p.n - 1) == (double)p.k);
            p.alpha = (bp_scalar){0, 0};
            p.beta = (bp_scalar){2, 0};
            p.any_factors = true;
            free_operands(&o);
            make_operands(&o, &p);
            set_all(&o, &p, 0, NAN);
            set_all(&o, &p, 1, INFINITY);
            set_all(&o, &p, 2, 3);
            assert_int_equal(run_product(&o, &p, NULL), BP_OK);
            assert_true(result(&o, &p, 0, 0) == 6 && result(&o, &p, p.m - 1, p.n - 1) == 6);
            p.beta = (bp_scalar){0, 0};
            set_all(&o, &p, 2, NAN);
            assert_int_equal(run_product(&o, &p, NULL), BP_OK);
            assert_true(result(&o, &p, 0, 0) == 0 && result(&o, &p, p.m - 1, p.n - 1) == 0);
            free_operands(&o);
        }
    }
}

static void test_infinite_real_part_only(void **state) {
    (void)state;
    EACH_SET(set) {
        product p = make(BP_C128, shapes[4], set);
        p.beta = (bp_scalar){1, 0};
        operands o;
        make_operands(&o, &p);
        set_all(&o, &p, 0, 0);
        set_all(&o, &p, 2, INFINITY);
        assert_int_equal(run_product(&o, &p, NULL), BP_OK);
        assert_true(isinf(result(&o, &p, 3, 3)));
        assert_true(get_part(p.dtype, element(&o, 2, 0, 3, 3), 1) == 0);
        free_operands(&o);
    }
}

/* Tests that denormal inputs and results are not flushed to zero: adds the smallest number k times. Products of bf16
 * numbers flush them. */
static void test_denormals(void **state) {
    (void)state;
    static const double smallest[] = {0x1p-24, 0x1p-133, 0x1p-149, 0x1p-1074, 0x1p-149, 0x1p-1074};
    EACH_SET(set) {
        for (int at = 0; at < COUNT(dtypes) * COUNT(shapes); at++) {
            product p = make(dtypes[at % COUNT(dtypes)], shapes[at / COUNT(dtypes)], set);
            operands o;
            make_operands(&o, &p);
            set_all(&o, &p, 0, smallest[at % COUNT(dtypes)]);
            set_all(&o, &p, 1, 1);
            assert_int_equal(run_product(&o, &p, NULL), BP_OK);
            assert_true(result(&o, &p, p.m - 1, 0) ==
                        (rounds_to_bf16(&p) ? 0 : (double)p.k * smallest[at % COUNT(dtypes)]));
            free_operands(&o);
        }
    }
}

/* Tests that 16-bit results are rounded once, to nearest even: at ties, near infinity, and below the smallest normal
 * number. */
static void test_rounding(void **state) {
    (void)state;
    static const struct {
        bp_dtype dtype;
        double x, y, expected; /* x * 1 + y * 1 */
    } cases[] = {
        {BP_F16, 2048, 1, 2048},
        {BP_F16, 2050, 1, 2052},
        {BP_F16, 65504, 8, 65504},
        {BP_F16, 65504, 16, INFINITY},
        {BP_F16, -65504, -16, -INFINITY},
        {BP_F16, 0x1p-24, 0x1p-24, 0x1p-23},
        {BP_F16, 0x1p-14, -0x1p-24, 0x1p-14 - 0x1p-24},
        {BP_BF16, 256, 1, 256},
        {BP_BF16, 258, 1, 260},
        {BP_BF16, 0x1.fep127, 0x1p119, INFINITY},
        {BP_BF16, 0x1p-133, 0x1p-133, 0x1p-132},
    };
    EACH_SET(set) {
        for (int i = 0; i < COUNT(cases); i++) {
            product p = make(cases[i].dtype, (const int64_t[]){3, 17, 2}, set);
            operands o;
            make_operands(&o, &p);
            set_all(&o, &p, 1, 1);
            for (int64_t row = 0; row < p.m; row++) {
                set_part(p.dtype, element(&o, 0, 0, row, 0), 0, cases[i].x);
                set_part(p.dtype, element(&o, 0, 0, row, 1), 0, cases[i].y);
            }
            assert_int_equal(run_product(&o, &p, NULL), BP_OK);
            const double expected = rounds_to_bf16(&p) && fabs(cases[i].expected) < 0x1p-126 ? 0 : cases[i].expected;
            assert_true(result(&o, &p, 0, 0) == expected);
            assert_true(result(&o, &p, 2, 16) == expected);
            free_operands(&o);
        }
    }
}

static void test_empty(void **state) {
    (void)state;
    static const int64_t empty[][3] = {{0, 5, 5}, {5, 0, 5}, {0, 0, 0}, {5, 5, 0}, {1, 1, 0}, {0, 1, 3}};
    for (int at = 0; at < COUNT(dtypes) * COUNT(empty); at++) {
        product p = make(dtypes[at % COUNT(dtypes)], empty[at / COUNT(dtypes)], KERNELS_DEFAULT);
        p.threads = 4;
        for (int beta = 0; beta < 3; beta++) {
            p.beta = (bp_scalar){beta, 0};
            check_product(&p);
            p.batch = 3;
            check_product(&p);
            p.batch = 0;
            check_product(&p);
            p.batch = 1;
        }
    }
}

static void test_refusals(void **state) {
    (void)state;
    product p = make(BP_F64, shapes[0], KERNELS_DEFAULT);
    operands o;
    make_operands(&o, &p);
    void *instance = (void *)(uintptr_t)test_plain_host();
    o.problem.dtype = BP_I32;
    bp_verdict verdict = test_verdict(&bp_provider_native, instance, &o.problem);
    assert_int_equal(verdict.reason, BP_REASON_DTYPE);
    assert_true(strlen(verdict.text) > 0);
    o.problem.dtype = BP_F64;
    o.problem.op = 999;
    verdict = test_verdict(&bp_provider_native, instance, &o.problem);
    assert_int_equal(verdict.reason, BP_REASON_OP);
    free_operands(&o);
}

static void test_properties(void **state) {
    (void)state;
    for (int d = 0; d < COUNT(dtypes); d++) {
        product p = make(dtypes[d], shapes[6], KERNELS_DEFAULT);
        operands o;
        make_operands(&o, &p);
        bp_verdict verdict = test_verdict(&bp_provider_native, (void *)(uintptr_t)test_plain_host(), &o.problem);
        const uint32_t always = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN;
        const uint32_t sums =
            p.dtype == BP_F64 || p.dtype == BP_C128 ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32;
        assert_int_equal(verdict.properties & (always | sums), always | sums);
        assert_string_equal(verdict.algorithm, "packed default");
        free_operands(&o);
    }
}

/* Tests that a capability above the hardware's is lowered, and that other instruction sets mean the default kernels. */
static void test_capability(void **state) {
    (void)state;
    product p = make(BP_F32, shapes[6], KERNELS_DEFAULT);
    operands o;
    make_operands(&o, &p);
    bp_host host = *test_plain_host();
    for (int hardware = 0; hardware <= BP_CAPABILITY_SVE256; hardware++) {
        for (int wanted = 0; wanted <= BP_CAPABILITY_SVE256; wanted++) {
            host.hardware = (bp_capability)hardware;
            o.problem.policy.capability = (uint8_t)wanted;
            bp_verdict verdict = test_verdict(&bp_provider_native, &host, &o.problem);
            const char *expected = "packed default";
#if defined(__x86_64__)
            int lower = hardware < wanted ? hardware : wanted;
            if (hardware <= BP_CAPABILITY_AVX512 && wanted <= BP_CAPABILITY_AVX512 && lower > 0) {
                expected = lower == BP_CAPABILITY_AVX2 ? "packed avx2" : "packed avx512";
            }
#endif
            assert_string_equal(verdict.algorithm, expected);
        }
    }
    free_operands(&o);
}

static void *no_memory(size_t size) {
    (void)size;
    return NULL;
}

static bp_status status_only(bp_status status, const char *format, ...) {
    (void)format;
    return status;
}

/* Tests that planning fails without memory, and that a run needs no memory except its workspace. */
static void test_no_memory(void **state) {
    (void)state;
    for (int at = 0; at < COUNT(dtypes) * COUNT(shapes) * 2; at++) {
        product p = make(dtypes[at % COUNT(dtypes)], shapes[at / 2 / COUNT(dtypes)], KERNELS_DEFAULT);
        p.batch = at / COUNT(dtypes) % 2 == 1 ? 3 : 1;
        p.a = p.b = COLUMNS;
        operands o;
        make_operands(&o, &p);
        bp_host host = *test_plain_host();
        host.fail = status_only;
        bp_prepared *prepared = NULL;
        host.allocate = no_memory;
        assert_int_equal(test_plan_first(&bp_provider_native, &host, &o.problem, &prepared), BP_E_NO_MEMORY);
        assert_null(prepared);
        host.allocate = test_plain_host()->allocate;
        assert_int_equal(test_plan_first(&bp_provider_native, &host, &o.problem, &prepared), BP_OK);
        host.scratch = no_memory;
        host.allocate = no_memory;
        const bp_scalar factors[2] = {p.alpha, p.beta};
        assert_int_equal(test_enqueue(prepared, (void *[]){o.first[0], o.first[1], o.first[2]}, 3, factors), BP_OK);
        host.allocate = test_plain_host()->allocate;
        prepared->destroy(prepared);
        free_operands(&o);
    }
}

static int stop_pool(void **state) {
    (void)state;
    bp__pool_stop();
    assert_int_equal(bp__live_blocks(), 0);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_non_finite),
        cmocka_unit_test(test_unread_operands),
        cmocka_unit_test(test_infinite_real_part_only),
        cmocka_unit_test(test_denormals),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_capability),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, stop_pool);
}
