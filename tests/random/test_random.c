/* test_random.c - random numbers against the reference: all kinds and types, strides,
 * instruction sets, threads, plans, refused calls; and what their distributions must be. */
#include "backplane.h"
#include "providers/native/philox.h"
#include "support/options.h"
#include "support/results.h"
#include "support/philox.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})
#define SEED UINT64_C(0x123456789abcdef0)
#define assert_ok(call) assert_int_equal(call, BP_OK)

static void assert_refused(bp_status got, bp_status want, const char *text) {
    assert_int_equal(got, want);
    if (!strstr(bp_last_error(), text)) {
        fail_msg("message '%s' lacks '%s'", bp_last_error(), text);
    }
}

/* ---- Philox ---- */

static void known_answers(void **state) {
    (void)state;
    for (int i = 0; i < TEST_PHILOX_ANSWERS; i++) {
        const struct test_philox *known = &test_philox_answers[i];
        uint32_t got[4];
        bp__philox(known->key, known->low, known->high, got);
        assert_memory_equal(got, known->result, sizeof got);
    }
}

static bp_random_call call_of(bp_random_kind kind, uint64_t offset, bp_view *output) {
    return (bp_random_call){
        .struct_size = sizeof(bp_random_call), .kind = kind, .seed = SEED, .offset = offset, .output = &output->tensor};
}

static void fill(const char *settings, bp_random_kind kind, uint64_t offset, bp_view *output) {
    bp_options *options = test_options(settings);
    const bp_random_call call = call_of(kind, offset, output);
    assert_ok(bp_random_run(options, &call));
    bp_options_release(options);
}

/* Compares what fill() has written with the reference. */
static void compare(bp_random_kind kind, uint64_t offset, bp_view *output, const char *text) {
    reference_results made;
    const bp_random_call call = call_of(kind, offset, output);
    assert_ok(reference_of_random(&made, &call));
    test_check_results(&made, text);
}

/* ---- Numbers ---- */

static const struct {
    bp_random_kind kind;
    bp_dtype dtype;
} kinds[] = {
    {BP_RANDOM_UNIFORM, BP_F16}, {BP_RANDOM_UNIFORM, BP_BF16}, {BP_RANDOM_UNIFORM, BP_F32}, {BP_RANDOM_UNIFORM, BP_F64},
    {BP_RANDOM_NORMAL, BP_F16},  {BP_RANDOM_NORMAL, BP_BF16},  {BP_RANDOM_NORMAL, BP_F32},  {BP_RANDOM_NORMAL, BP_F64},
    {BP_RANDOM_BITS, BP_I8},     {BP_RANDOM_BITS, BP_U8},      {BP_RANDOM_BITS, BP_I16},    {BP_RANDOM_BITS, BP_U16},
    {BP_RANDOM_BITS, BP_I32},    {BP_RANDOM_BITS, BP_U32},     {BP_RANDOM_BITS, BP_I64},    {BP_RANDOM_BITS, BP_U64},
};
enum { KINDS = sizeof kinds / sizeof *kinds, MOST = 4099 };
static const char *const sets[] = {"cpu.capability=default", "cpu.capability=avx2", "cpu.capability=avx512"};

/* Each element is the reference's, with every instruction set, and nothing behind the last one is written. */
static void numbers_follow_the_description(void **state) {
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 63, 1023, 1024, 1025, MOST};
    static const uint64_t offsets[] = {0, 7, UINT64_C(0xffffffff), UINT64_MAX - 3};
    static char data[(MOST + 1) * 8];
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        const size_t size = bp_dtype_size(kinds[k].dtype);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            bp_view output;
            const uint64_t offset = offsets[s % 4];
            assert_ok(bp_view_init(&output, data, kinds[k].dtype, 1, &sizes[s], NULL));
            memset(data, 0x5a, sizeof data);
            fill(sets[s % 3], kinds[k].kind, offset, &output);
            compare(kinds[k].kind, offset, &output, bp_dtype_name(kinds[k].dtype));
            assert_true(data[(size_t)sizes[s] * size] == 0x5a);
        }
    }
}

static void instruction_sets_and_threads_change_no_bit(void **state) {
    enum { COUNT = 1 << 20 };
    static const char *const settings[] = {"cpu.capability=default,num_threads=1", "cpu.capability=avx2,num_threads=1",
                                           "num_threads=2", "num_threads=3", "num_threads=7"};
    char *one = malloc(COUNT * 8), *other = malloc(COUNT * 8);
    const int64_t shape[] = {COUNT - 3};
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        const size_t bytes = (COUNT - 3) * bp_dtype_size(kinds[k].dtype);
        bp_view output;
        assert_ok(bp_view_init(&output, one, kinds[k].dtype, 1, shape, NULL));
        fill("num_threads=1", kinds[k].kind, 1, &output);
        for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
            assert_ok(bp_view_init(&output, other, kinds[k].dtype, 1, shape, NULL));
            fill(settings[s], kinds[k].kind, 1, &output);
            if (memcmp(one, other, bytes) != 0) {
                fail_msg("%s kind %d differs with %s", bp_dtype_name(kinds[k].dtype), (int)kinds[k].kind, settings[s]);
            }
        }
    }
    free(one);
    free(other);
}

/* The index decides, not the address. */
static void strides_do_not_matter(void **state) {
    static const struct {
        int ndim;
        int64_t shape[4], strides[4], first;
    } layouts[] = {
        {2, {13, 17}, {1, 13}, 0},             /* column-major */
        {2, {13, 17}, {40, 2}, 0},             /* with gaps */
        {2, {13, 17}, {-17, -1}, 13 * 17 - 1}, /* reversed */
        {3, {5, 1, 31}, {62, 7, 2}, 0},        /* a dimension of size 1 */
        {4, {3, 4, 5, 6}, {6, 18, 72, 1}, 0},  /* permuted */
        {0, {0}, {0}, 5},                      /* one element */
        {3, {300, 2, 3}, {6, 3, 1}, 0},        /* compact in three dimensions */
    };
    static char data[4096 * 8];
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        const size_t size = bp_dtype_size(kinds[k].dtype);
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
            bp_view output;
            char *at = data + (size_t)layouts[l].first * size;
            assert_ok(bp_view_init(&output, at, kinds[k].dtype, layouts[l].ndim, layouts[l].shape, layouts[l].strides));
            fill("", kinds[k].kind, 9, &output);
            compare(kinds[k].kind, 9, &output, bp_dtype_name(kinds[k].dtype));
        }
    }
}

static void an_offset_continues_the_sequence(void **state) {
    uint32_t whole[64], parts[64];
    bp_view output;
    (void)state;
    assert_ok(bp_view_init(&output, whole, BP_U32, 1, I64(64), NULL));
    fill("", BP_RANDOM_BITS, 0, &output);
    assert_ok(bp_view_init(&output, parts, BP_U32, 1, I64(28), NULL));
    fill("", BP_RANDOM_BITS, 0, &output);
    assert_ok(bp_view_init(&output, parts + 28, BP_U32, 1, I64(36), NULL));
    fill("", BP_RANDOM_BITS, 7, &output);
    assert_memory_equal(whole, parts, sizeof whole);
}

/* Mean and the next three moments, of 10^6 numbers, within five standard errors; extremes are possible ones. */
static void moments_are_those_of_the_distribution(void **state) {
    enum { COUNT = 1000000 };
    static double x[COUNT];
    bp_view output;
    (void)state;
    assert_ok(bp_view_init(&output, x, BP_F64, 1, I64(COUNT), NULL));
    for (int k = 0; k < 2; k++) {
        double sum[5] = {0}, most = 0;
        fill("", k ? BP_RANDOM_NORMAL : BP_RANDOM_UNIFORM, 0, &output);
        for (int i = 0; i < COUNT; i++) {
            const double y = k ? x[i] : 2 * x[i] - 1;
            assert_true(k || (x[i] >= 0 && x[i] < 1));
            most = fmax(most, fabs(y));
            for (int p = 1; p < 5; p++) {
                sum[p] += pow(y, p) / COUNT;
            }
        }
        const double second = k ? 1 : 1. / 3, fourth = k ? 3 : 1. / 5;
        assert_true(fabs(sum[1]) < 5e-3 && fabs(sum[3]) < (k ? 2e-2 : 5e-3));
        assert_true(fabs(sum[2] - second) < (k ? 8e-3 : 2e-3) && fabs(sum[4] - fourth) < (k ? 5e-2 : 2e-3));
        assert_true(k ? most > 4.4 && most < 8.6 : most > 0.9999);
    }
}

/* ---- Calls ---- */

static void a_plan_serves_all_seeds(void **state) {
    uint32_t got[10], want[10];
    bp_plan *plan;
    bp_view output, other;
    uint64_t seed[] = {1, 2};
    (void)state;
    assert_ok(bp_view_init(&output, NULL, BP_U32, 1, I64(10), NULL));
    assert_ok(bp_view_init(&other, want, BP_U32, 1, I64(10), NULL));
    bp_random_call call = call_of(BP_RANDOM_BITS, 0, &output);
    assert_ok(bp_random_plan(&plan, NULL, &call));
    const bp_operand operands[] = {{seed, 0}, {got, 0}};
    for (seed[0] = 1; seed[0] < 4; seed[0]++) {
        assert_ok(bp_execute(plan, operands, &(bp_exec){.struct_size = sizeof(bp_exec), .operand_count = 2}));
        call = (bp_random_call){sizeof call, BP_RANDOM_BITS, seed[0], seed[1], &other.tensor};
        assert_ok(bp_random_run(NULL, &call));
        assert_memory_equal(got, want, sizeof got);
    }
    bp_plan_release(plan);
}

static void an_explanation_describes_the_call(void **state) {
    bp_explanation *explanation;
    bp_view output;
    (void)state;
    assert_ok(bp_view_init(&output, NULL, BP_F32, 2, I64(100, 30), NULL));
    const bp_random_call call = call_of(BP_RANDOM_NORMAL, 0, &output);
    assert_ok(bp_random_explain(&explanation, NULL, &call));
    assert_non_null(strstr(bp_explanation_text(explanation), "f32 normal numbers, 3000"));
    assert_non_null(strstr(bp_explanation_text(explanation), "philox"));
    bp_explanation_release(explanation);
}

static void wrong_calls_are_refused(void **state) {
    float data[16] = {0};
    bp_view output;
    bp_random_call call;
    (void)state;
    for (int round = 0; round < 2; round++) {
        assert_refused(bp_random_run(NULL, NULL), BP_E_ARGUMENT, "call");
        assert_ok(bp_view_init(&output, data, BP_F32, 1, I64(16), NULL));
        call = call_of(BP_RANDOM_KINDS, 0, &output);
        assert_refused(bp_random_run(NULL, &call), BP_E_ARGUMENT, "kind");
        call = call_of(BP_RANDOM_BITS, 0, &output);
        assert_refused(bp_random_run(NULL, &call), BP_E_DTYPE, "an integer type");
        call.output = NULL;
        assert_refused(bp_random_run(NULL, &call), BP_E_ARGUMENT, "output");
        assert_ok(bp_view_init(&output, data, BP_I32, 1, I64(16), NULL));
        call = call_of(BP_RANDOM_NORMAL, 0, &output);
        assert_refused(bp_random_run(NULL, &call), BP_E_DTYPE, "f16, bf16, f32 or f64");
        assert_ok(bp_view_init(&output, data, BP_F32, 2, I64(4, 4), I64(0, 1)));
        call = call_of(BP_RANDOM_NORMAL, 0, &output);
        assert_refused(bp_random_run(NULL, &call), BP_E_OVERLAP, "output");
        assert_ok(bp_view_init(&output, (char *)data + 2, BP_F32, 1, I64(4), NULL));
        call = call_of(BP_RANDOM_NORMAL, 0, &output);
        assert_refused(bp_random_run(NULL, &call), BP_E_LAYOUT, "output");
        assert_ok(bp_view_init(&output, data, BP_F32, 2, I64(4, 0), NULL));
        call = call_of(BP_RANDOM_NORMAL, 0, &output);
        assert_ok(bp_random_run(NULL, &call));
    }
    for (int i = 0; i < 16; i++) {
        assert_true(data[i] == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(numbers_follow_the_description),
        cmocka_unit_test(instruction_sets_and_threads_change_no_bit),
        cmocka_unit_test(strides_do_not_matter),
        cmocka_unit_test(an_offset_continues_the_sequence),
        cmocka_unit_test(moments_are_those_of_the_distribution),
        cmocka_unit_test(a_plan_serves_all_seeds),
        cmocka_unit_test(an_explanation_describes_the_call),
        cmocka_unit_test(wrong_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
