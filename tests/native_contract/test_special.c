/* test_special.c - tests sizes of 0, results in place, addresses with the smallest alignment, NaN, infinity, signed
 * zeros, denormals, overflow, types that are not offered, and failing allocations. */
#include "contract.h"

#include "machine/internal.h"
#include "support/pool.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ij,ij->ij with contiguous operands. */
static task matrix(bp_dtype dtype, int64_t rows, int64_t columns, bool has_b, kernels set) {
    return (task){.dtype = dtype,
                  .ndim = 2,
                  .output_ndim = 2,
                  .size = {rows, columns},
                  .step = {{columns, 1}, {has_b ? columns : 0, has_b ? 1 : 0}, {columns, 1}},
                  .has_b = has_b,
                  .set = set,
                  .seed = (unsigned)(rows + columns)};
}

static task sum_of(bp_dtype dtype, int64_t elements, int64_t summed, bool has_b, bool across, kernels set) {
    task t = matrix(dtype, elements, summed, has_b, set);
    t.output_ndim = 1;
    t.step[C][0] = 1;
    t.step[C][1] = 0;
    for (int side = A; side <= B && across; side++) {
        t.step[side][0] = side == B && !has_b ? 0 : 1;
        t.step[side][1] = side == B && !has_b ? 0 : elements;
    }
    return t;
}

static void test_empty(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int at = 0; at < 24; at++) {
            const bp_dtype dtype = (bp_dtype)(BP_F16 + at % 6);
            task t = sum_of(dtype, 0, 5, at / 6 % 2, at / 12, set);
            check_task(&t); /* nothing to write */
            t = sum_of(dtype, 37, 0, at / 6 % 2, at / 12, set);
            check_task(&t); /* zeros */
            t = sum_of(dtype, 0, 0, at / 6 % 2, at / 12, set);
            check_task(&t);
            t = matrix(dtype, 0, 5, at / 6 % 2, set);
            check_task(&t);
            t = matrix(dtype, 5, 0, at / 6 % 2, set);
            check_task(&t);
            /* Zeros in a strided C. */
            t = sum_of(dtype, 9, 0, at / 6 % 2, at / 12, set);
            t.step[C][0] = 3;
            check_task(&t);
        }
    }
}

/* Tests products that overwrite A, in layouts with and without a contiguous direction, and with negative strides. */
static void test_in_place(void **state) {
    (void)state;
    static const int64_t layouts[][2] = {{61, 1}, {1, 70}, {130, 2}, {-61, 1}, {-61, -1}, {3, 220}};
    EACH_SET(set) {
        EACH_DTYPE(dtype) {
            for (int i = 0; i < COUNT(layouts) * 8; i++) {
                task t = matrix(dtype, 66, 61, true, set);
                t.in_place = true;
                memcpy(t.step[A], layouts[i / 8], sizeof layouts[0]);
                t.step[B][0] = i & 1 ? 61 : i & 2 ? 1 : 0;
                t.step[B][1] = i & 1 ? 1 : i & 2 ? 66 : i & 4 ? 1 : 0;
                if (t.step[A][0] * t.step[A][0] < t.step[A][1] * t.step[A][1]) { /* the largest stride in C first */
                    const task s = t;
                    for (int side = A; side <= B; side++) {
                        t.step[side][0] = s.step[side][1];
                        t.step[side][1] = s.step[side][0];
                    }
                    t.size[0] = s.size[1];
                    t.size[1] = s.size[0];
                }
                check_task(&t);
            }
            task t = matrix(dtype, 5, 6, false, set);
            t.in_place = true;
            check_task(&t);
        }
    }
}

static void test_unaligned_addresses(void **state) {
    (void)state;
    EACH_SET(set) {
        EACH_DTYPE(dtype) {
            for (int i = 0; i < 12; i++) {
                task t = i < 4 ? matrix(dtype, 33, 41, i % 2, set) : sum_of(dtype, 33, 41, i % 2, i / 2 % 2, set);
                t.misaligned = true;
                check_task(&t);
            }
        }
    }
}

/* ---- Values ---- */

static long double part_of(wide x, int part) {
    return part ? cimagl(x) : creall(x);
}

/* Tests rows and dot products in which one term is NaN or infinity, or infinity times zero. */
static void test_nan_and_infinity(void **state) {
    (void)state;
    static const int64_t positions[] = {0, 3, 15, 16, 40, 41, 42};
    EACH_SET(set) {
        for (int at = 0; at < 6 * 8 * COUNT(positions); at++) {
            const bp_dtype dtype = (bp_dtype)(BP_F16 + at % 6);
            const bool has_b = at / 6 & 1, across = at / 6 & 2, infinite = at / 6 & 4;
            const int64_t position = positions[at / 48];
            task t = sum_of(dtype, 43, 43, has_b, across, set);
            operands o;
            make_operands(&o, &t);
            int64_t index[BP_MAX_CONTRACT_NDIM] = {position, 42 - position};
            put(&o, A, index, infinite ? (wide)INFINITY : (wide)NAN);
            if (has_b) {
                put(&o, B, index, infinite && position == 3 ? 0 : 1);
            }
            assert_int_equal(run_task(&o), BP_OK);
            assert_true(o.verdict.properties & BP_PROPERTY_PROPAGATES_NAN);
            for (index[0] = 0; index[0] < 43; index[0]++) {
                const long double re = part_of(get(&o, C, index), 0);
                const bool is_nan = !infinite || (has_b && position == 3);
                assert_true(index[0] != position ? isfinite(re) : is_nan ? isnan(re) : isinf(re) && re > 0);
            }
            free_operands(&o);
        }
    }
}

/* Tests that a copy keeps every bit, whatever the value, and that elementwise products keep the sign of zero. */
static void test_copies_keep_every_bit(void **state) {
    (void)state;
    EACH_SET(set) {
        EACH_DTYPE(dtype) {
            for (int transposed = 0; transposed < 2; transposed++) {
                task t = matrix(dtype, 67, 83, false, set);
                if (transposed) {
                    t.step[A][0] = 1;
                    t.step[A][1] = 67;
                }
                operands o;
                make_operands(&o, &t);
                for (size_t i = 0; i < bytes_of(&o, A); i++) {
                    o.array[A].memory[i] = (char)draw(256);
                }
                assert_int_equal(run_task(&o), BP_OK);
                int64_t index[BP_MAX_CONTRACT_NDIM] = {0};
                do {
                    assert_memory_equal(element(&o, C, index), element(&o, A, index), bp_dtype_size(dtype));
                } while (advance(&t, 0, 2, index));
                free_operands(&o);
            }
        }
    }
}

static void test_signed_zeros(void **state) {
    (void)state;
    EACH_SET(set) {
        for (bp_dtype dtype = BP_F16; dtype <= BP_F64; dtype++) {
            task t = matrix(dtype, 3, 21, true, set);
            operands o;
            make_operands(&o, &t);
            int64_t index[BP_MAX_CONTRACT_NDIM] = {0};
            do {
                put(&o, A, index, (index[0] + index[1]) % 2 ? -0.0L : 0.0L);
                put(&o, B, index, index[1] % 3 ? -1 : 1);
            } while (advance(&t, 0, 2, index));
            assert_int_equal(run_task(&o), BP_OK);
            do {
                const bool negative = ((index[0] + index[1]) % 2 == 0) == (index[1] % 3 != 0);
                assert_true(creall(get(&o, C, index)) == 0);
                assert_int_equal(signbit(creall(get(&o, C, index))) != 0, negative);
            } while (advance(&t, 0, 2, index));
            free_operands(&o);
        }
    }
}

static const struct {
    bp_dtype dtype;
    long double tiny, huge;
} limits[] = {{BP_F16, 0x1p-24L, 65504},       {BP_BF16, 0x1p-133L, 0x1.FEp127L}, {BP_F32, FLT_TRUE_MIN, FLT_MAX},
              {BP_F64, DBL_TRUE_MIN, DBL_MAX}, {BP_C64, FLT_TRUE_MIN, FLT_MAX},   {BP_C128, DBL_TRUE_MIN, DBL_MAX}};

/* Tests that denormals are not flushed and that overflow gives infinity. f16 is summed in f32, which can represent
 * three times its largest number and the difference. */
static void test_range_limits(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int at = 0; at < COUNT(limits) * 4; at++) {
            const bp_dtype dtype = limits[at / 4].dtype;
            const long double values[] = {limits[at / 4].tiny, limits[at / 4].huge};
            task t = sum_of(dtype, 2, 3, at & 1, at & 2, set);
            operands o;
            make_operands(&o, &t);
            int64_t index[BP_MAX_CONTRACT_NDIM] = {0};
            do {
                const bool falls = index[1] == 1 && index[0] == 1;
                put(&o, A, index, falls ? -values[1] : values[index[0]]);
                if (t.has_b) {
                    put(&o, B, index, 1);
                }
            } while (advance(&t, 0, 2, index));
            assert_int_equal(run_task(&o), BP_OK);
            index[0] = 0;
            assert_true(get(&o, C, index) == 3 * values[0]);
            index[0] = 1;
            assert_true(cabsl(get(&o, C, index) - values[1]) <= 4 * roundoff(dtype) * values[1]);
            free_operands(&o);
        }
    }
}

static void test_overflow_and_rounding_of_halves(void **state) {
    (void)state;
    EACH_SET(set) {
        for (bp_dtype dtype = BP_F16; dtype <= BP_BF16; dtype++) {
            const long double huge = dtype == BP_F16 ? 65504 : 0x1.FEp127L, unit = 2 * roundoff(dtype);
            task t = matrix(dtype, 1, 35, true, set);
            operands o;
            make_operands(&o, &t);
            int64_t index[BP_MAX_CONTRACT_NDIM] = {0};
            do {
                put(&o, A, index, index[1] % 2 ? 1 + unit : huge);
                put(&o, B, index, index[1] % 2 ? 1.5L : 2);
            } while (advance(&t, 0, 2, index));
            assert_int_equal(run_task(&o), BP_OK);
            do { /* 1.5 + 1.5 units is a tie; it is rounded to the even neighbour */
                const long double got = creall(get(&o, C, index));
                assert_true(index[1] % 2 ? got == 1.5L + 2 * unit : isinf(got) && got > 0);
            } while (advance(&t, 0, 2, index));
            free_operands(&o);
        }
    }
}

/* ---- Refusals and failures ---- */

extern const bp_provider bp_provider_native;

static void test_types(void **state) {
    (void)state;
    void *instance;
    assert_int_equal(bp_provider_native.open(test_plain_host(), NULL, &instance), BP_OK);
    static const bp_dtype others[] = {BP_I32, BP_I64};
    for (int i = 0; i < COUNT(others); i++) {
        bp_problem problem = {.op = BP_OP_CONTRACT, .dtype = (uint32_t)others[i], .policy = {.threads = 1}};
        bp_verdict verdict = test_verdict(&bp_provider_native, instance, &problem);
        assert_int_equal(verdict.reason, BP_REASON_DTYPE);
        assert_true(verdict.text[0] != 0);
    }
}

static bool failing;

static void *fail_to_allocate(size_t size) {
    return failing ? NULL : bp__alloc_aligned(size);
}

static void *fail_to_scratch(size_t size) {
    return failing ? NULL : bp__scratch(size);
}

static void test_no_memory(void **state) {
    (void)state;
    bp_host host = *test_plain_host();
    host.allocate = fail_to_allocate;
    host.scratch = fail_to_scratch;
    void *instance;
    assert_int_equal(bp_provider_native.open(&host, NULL, &instance), BP_OK);
    const task t = sum_of(BP_F32, 9, 10, true, false, KERNELS_DEFAULT);
    operands o;
    make_operands(&o, &t);
    bp_prepared *plan = NULL;
    failing = true;
    assert_int_equal(test_plan_first(&bp_provider_native, instance, &o.problem, &plan), BP_E_NO_MEMORY);
    failing = false;
    assert_int_equal(test_plan_first(&bp_provider_native, instance, &o.problem, &plan), BP_OK);
    failing = true; /* a run needs no memory except its workspace */
    assert_int_equal(test_enqueue(plan, (void *const *)o.first, 3, NULL), BP_OK);
    failing = false;
    test_array_copy(&o.before[A], &o.array[A]);
    test_array_copy(&o.before[B], &o.array[B]);
    check_results(&o, 0);
    plan->destroy(plan);
    free_operands(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_unaligned_addresses),
        cmocka_unit_test(test_nan_and_infinity),
        cmocka_unit_test(test_copies_keep_every_bit),
        cmocka_unit_test(test_signed_zeros),
        cmocka_unit_test(test_range_limits),
        cmocka_unit_test(test_overflow_and_rounding_of_halves),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
