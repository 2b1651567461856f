/* test_precision.c - fp32_precision permits but never forces rounding; disabled backends; warn_only; simulated tensor
 * cores. */
#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>
#include <pthread.h>

/* Expects the library for a 2x2 product of this type under these settings; "": no candidate. */
static void assert_chosen(bp_dtype dtype, const char *settings, const char *library) {
    static double memory[3][4];
    bp_view a, b, c;
    bp_scope *scope;
    bp_explanation *e;
    const int64_t shape[] = {2, 2};
    assert_int_equal(bp_view_init(&a, memory[0], dtype, 2, shape, NULL), BP_OK);
    assert_int_equal(bp_view_init(&b, memory[1], dtype, 2, shape, NULL), BP_OK);
    assert_int_equal(bp_view_init(&c, memory[2], dtype, 2, shape, NULL), BP_OK);
    assert_int_equal(bp_scope_enter(&scope, settings), BP_OK);
    assert_int_equal(bp_matmul_explain(&e, NULL, &a.tensor, &b.tensor, &c.tensor), BP_OK);
    bp_candidate_info info = {.struct_size = sizeof info};
    const char *chosen = "";
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        chosen = info.chosen ? info.library : chosen;
    }
    if (strcmp(chosen, library) != 0) {
        fail_msg("%s: '%s' is chosen instead of '%s'\n%s", settings, chosen, library, bp_explanation_text(e));
    }
    bp_explanation_release(e);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
}

#define OTHERS "dispatch.exclude=\"unplannable, starving, cheap, dear, scaling, failing\""

static void precision_permits_rounding(void **state) {
    (void)state;
    assert_chosen(BP_F32, OTHERS, "native");
    assert_chosen(BP_F32, OTHERS ", fp32_precision=ieee", "native");
    assert_chosen(BP_F32, OTHERS ", fp32_precision=tf32", "tensor-core");
    assert_chosen(BP_F32, OTHERS ", fp32_precision=bf16", "half-width");
    assert_chosen(BP_F32, OTHERS ", mkldnn.fp32_precision=tf32", "tensor-core");
    assert_chosen(BP_F32, OTHERS ", mkldnn.matmul.fp32_precision=bf16", "half-width");
    assert_chosen(BP_F32, OTHERS ", fp32_precision=bf16, mkldnn.matmul.fp32_precision=ieee", "native");
    assert_chosen(BP_F32, OTHERS ", float32_matmul_precision=medium", "half-width");
    assert_chosen(BP_F32, OTHERS ", float32_matmul_precision=high", "tensor-core");
    assert_chosen(BP_F32, OTHERS ", cudnn.fp32_precision=tf32", "native"); /* a setting of another device */
    assert_chosen(BP_F64, OTHERS ", fp32_precision=bf16", "native");
    /* Permission does not force rounding: if only exact candidates are left, one of them runs. */
    assert_chosen(BP_F32, "dispatch.exclude=\"tensor-core, half-width\", fp32_precision=bf16", "native");
}

static void the_reason_names_precision(void **state) {
    (void)state;
    static float memory[3];
    const int64_t shape[] = {1, 1};
    bp_view a, b, c;
    bp_explanation *e;
    bp_view_init(&a, &memory[0], BP_F32, 2, shape, NULL);
    bp_view_init(&b, &memory[1], BP_F32, 2, shape, NULL);
    bp_view_init(&c, &memory[2], BP_F32, 2, shape, NULL);
    bp_options *options;
    assert_int_equal(bp_options_new(&options, "fp32_precision=tf32"), BP_OK);
    assert_int_equal(bp_matmul_explain(&e, options, &a.tensor, &b.tensor, &c.tensor), BP_OK);
    bp_candidate_info info = {.struct_size = sizeof info};
    int refused = 0;
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        refused += strcmp(info.library, "half-width") == 0 && info.reason == BP_REASON_PRECISION;
    }
    assert_int_equal(refused, 1);
    assert_non_null(strstr(bp_explanation_text(e), "mkldnn.matmul.fp32_precision = tf32 (from fp32_precision; "));
    assert_non_null(strstr(bp_explanation_json(e), "\"node\":\"fp32_precision\""));
    bp_explanation_release(e);
    bp_options_release(options);
}

/* ---- deterministic_algorithms ---- */

static int warnings(const char *needle) {
    char text[1024];
    int found = 0;
    for (int i = 0; bp_warning_at(i, text, sizeof text); i++) {
        found += strstr(text, needle) != NULL;
    }
    return found;
}

#define NO_GUARANTEE "dispatch.exclude=\"unplannable, starving, dear, scaling, native, failing\""

static bp_status multiply(const char *settings) {
    static double memory[3];
    const int64_t shape[] = {1, 1};
    bp_view a, b, c;
    bp_scope *scope;
    bp_view_init(&a, &memory[0], BP_F64, 2, shape, NULL);
    bp_view_init(&b, &memory[1], BP_F64, 2, shape, NULL);
    bp_view_init(&c, &memory[2], BP_F64, 2, shape, NULL);
    assert_int_equal(bp_scope_enter(&scope, settings), BP_OK);
    bp_status status = bp_matmul(&a.tensor, &b.tensor, &c.tensor);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    return status;
}

static void deterministic_algorithms_refuse_or_warn(void **state) {
    (void)state;
    assert_chosen(BP_F64, "dispatch.exclude=\"unplannable, starving\", deterministic_algorithms=true", "dear");
    assert_chosen(BP_F64, NO_GUARANTEE ", deterministic_algorithms=true", "");
    assert_int_equal(multiply(NO_GUARANTEE ", deterministic_algorithms=true"), BP_E_NO_CANDIDATE);
    assert_int_equal(warnings("warn_only"), 0);
    assert_chosen(BP_F64, NO_GUARANTEE ", deterministic_debug_mode=warn", "cheap");
    assert_int_equal(multiply(NO_GUARANTEE ", deterministic_debug_mode=warn"), BP_OK);
    assert_int_equal(warnings("guarantees reproducible results; 'cheap' runs anyway"), 1);
    /* Backplane's own setting has no warn_only. */
    assert_int_equal(multiply(NO_GUARANTEE ", deterministic=run, deterministic_debug_mode=warn"), BP_E_NO_CANDIDATE);
}

/* ---- Simulation ---- */

static float from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t to_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Returns x * 1 on the native provider, which is the rounded x. */
static uint32_t rounded(uint32_t x, const char *settings) {
    float a = from_bits(x), b = 1.0f, c = 0.0f;
    const int64_t shape[] = {1, 1};
    bp_view va, vb, vc;
    bp_scope *scope;
    bp_view_init(&va, &a, BP_F32, 2, shape, NULL);
    bp_view_init(&vb, &b, BP_F32, 2, shape, NULL);
    bp_view_init(&vc, &c, BP_F32, 2, shape, NULL);
    assert_int_equal(bp_scope_enter(&scope, settings), BP_OK);
    assert_int_equal(bp_matmul(&va.tensor, &vb.tensor, &vc.tensor), BP_OK);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_int_equal(to_bits(a), x); /* the caller's memory is only read */
    return to_bits(c);
}

static void tf32_is_rounded_as_by_tensor_cores(void **state) {
    (void)state;
    static const uint32_t cases[][2] = {
        {0x3F800000, 0x3F800000},                           /* 1 */
        {0x3F800FFF, 0x3F800000},                           /* just below the midpoint */
        {0x3F801000, 0x3F802000},                           /* a tie rounds away from zero, from an even neighbour ...
                                                             */
        {0x3F803000, 0x3F804000},                           /* ... and from an odd one */
        {0xBF801000, 0xBF802000},                           /* also below zero */
        {0x3F801001, 0x3F802000}, {0x3FFFFFFF, 0x40000000}, /* a carry into the exponent */
        {0x00000001, 0x00000000},                           /* denormals are rounded like other numbers */
        {0x00001000, 0x00002000}, {0x00000FFF, 0x00000000}, {0x007FFFFF, 0x00800000}, {0x80001000, 0x80002000},
        {0x7F7FEFFF, 0x7F7FE000}, {0x7F7FFFFF, 0x7F800000}, /* overflow becomes infinity */
        {0xFF7FFFFF, 0xFF800000}, {0x7F800000, 0x7F800000}, {0xFF800000, 0xFF800000}, {0x80000000, 0x80000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t got = rounded(cases[i][0], "blas.preferred=native, simulate.tf32=true");
        if (got != cases[i][1] && !(got << 1 == 0 && cases[i][1] << 1 == 0)) { /* a sum that starts with 0 has no -0 */
            fail_msg("%08x is rounded to %08x, not %08x", cases[i][0], got, cases[i][1]);
        }
    }
    assert_true(isnan(from_bits(rounded(0x7F800001, "blas.preferred=native, simulate.tf32=true"))));
    assert_int_equal(rounded(0x3F800FFF, "blas.preferred=native"), 0x3F800FFF);
}

static void bf16_is_rounded_to_even(void **state) {
    (void)state;
    static const uint32_t cases[][2] = {
        {0x3F800000, 0x3F800000}, {0x3F807FFF, 0x3F800000}, {0x3F808000, 0x3F800000}, {0x3F818000, 0x3F820000},
        {0x3F808001, 0x3F810000}, {0xBF818000, 0xBF820000}, {0x3FFF8000, 0x40000000}, {0x00008000, 0x00000000},
        {0x00008001, 0x00010000}, {0x007FFFFF, 0x00800000}, {0x7F7F7FFF, 0x7F7F0000}, {0x7F7FFFFF, 0x7F800000},
        {0x7F800000, 0x7F800000}, {0xFF800000, 0xFF800000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t got = rounded(cases[i][0], "blas.preferred=native, simulate.bf16=true");
        if (got != cases[i][1]) {
            fail_msg("%08x is rounded to %08x, not %08x", cases[i][0], got, cases[i][1]);
        }
    }
    assert_true(isnan(from_bits(rounded(0x7F800001, "blas.preferred=native, simulate.bf16=true"))));
    assert_true(isnan(from_bits(rounded(0xFFFFFFFF, "blas.preferred=native, simulate.bf16=true"))));
    /* Uses the coarser rounding of the two. */
    assert_int_equal(rounded(0x3F818000, "blas.preferred=native, simulate.bf16=true, simulate.tf32=true"), 0x3F820000);
}

static float tf32(float x) {
    return from_bits((to_bits(x) + 0x1000) & ~0x1FFFu);
}

/* Any layout, batches and broadcasting: results bitwise equal to the product of operands rounded by the test. */
static void simulation_takes_any_layout(void **state) {
    (void)state;
    enum { BATCH = 3, M = 5, K = 7, N = 4 };
    static float a[BATCH * M * K * 2], b[K * N], ra[BATCH * M * K * 2], rb[K * N], c[BATCH * M * N], rc[BATCH * M * N];
    unsigned seed = 7;
    for (size_t i = 0; i < sizeof a / sizeof a[0]; i++) {
        a[i] = (float)rand_r(&seed) / (float)RAND_MAX - 0.5f;
        ra[i] = tf32(a[i]);
    }
    for (size_t i = 0; i < sizeof b / sizeof b[0]; i++) {
        b[i] = (float)rand_r(&seed) / (float)RAND_MAX - 0.5f;
        rb[i] = tf32(b[i]);
    }
    const int64_t shape_a[] = {BATCH, M, K}, shape_b[] = {K, N}, shape_c[] = {BATCH, M, N};
    const int64_t every_other[] = {2 * M * K, 2, -2 * M}, turned[] = {1, K};
    bp_view va, vb, vc, wa, wb, wc;
    float *end = a + 2 * M * (K - 1), *rend = ra + 2 * M * (K - 1);
    bp_view_init(&va, end, BP_F32, 3, shape_a, every_other);
    bp_view_init(&vb, b, BP_F32, 2, shape_b, turned);
    bp_view_init(&vc, c, BP_F32, 3, shape_c, NULL);
    bp_view_init(&wa, rend, BP_F32, 3, shape_a, every_other);
    bp_view_init(&wb, rb, BP_F32, 2, shape_b, turned);
    bp_view_init(&wc, rc, BP_F32, 3, shape_c, NULL);
    bp_scope *scope;
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_scope_enter(&scope, "blas.preferred=native, simulate.tf32=true"), BP_OK);
    assert_int_equal(bp_matmul(&va.tensor, &vb.tensor, &vc.tensor), BP_OK);
    assert_int_equal(bp_matmul(&va.tensor, &vb.tensor, &vc.tensor), BP_OK); /* from the thread cache */
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_true(info.properties & BP_PROPERTY_INPUTS_TF32);
    assert_non_null(strstr(info.reason, "inputs are rounded to TF32 (simulate.tf32) first"));
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_int_equal(bp_scope_enter(&scope, "blas.preferred=native"), BP_OK);
    assert_int_equal(bp_matmul(&wa.tensor, &wb.tensor, &wc.tensor), BP_OK);
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_false(info.properties & BP_PROPERTY_INPUTS_TF32);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_memory_equal(c, rc, sizeof c); /* native: the same sums for any layout */
}

/* ---- Threads, each with its own scope ---- */

typedef struct case_of_thread {
    const char *settings, *library;
    uint32_t properties, absent;
    int wrong;
} case_of_thread;

static void *call_often(void *opaque) {
    case_of_thread *t = opaque;
    float memory[3][16] = {{1}};
    bp_view a, b, c;
    bp_scope *scope = NULL;
    bp_view_matrix(&a, memory[0], BP_F32, 4, 4);
    bp_view_matrix(&b, memory[1], BP_F32, 4, 4);
    bp_view_matrix(&c, memory[2], BP_F32, 4, 4);
    for (int i = 0; i < 300; i++) {
        bp_plan_info info = {.struct_size = sizeof info};
        bool ok = (i % 10 != 0 || (bp_scope_leave(&scope) == BP_OK && bp_scope_enter(&scope, t->settings) == BP_OK)) &&
                  bp_matmul(&a.tensor, &b.tensor, &c.tensor) == BP_OK && bp_last_plan(&info) == BP_OK;
        t->wrong += !ok || strcmp(info.library, t->library) != 0 ||
                    (info.properties & t->properties) != t->properties || (info.properties & t->absent) != 0;
    }
    bp_scope_leave(&scope);
    return NULL;
}

static void each_thread_has_its_own_scope(void **state) {
    (void)state;
    case_of_thread cases[] = {
        {OTHERS ", fp32_precision=ieee", "native", 0, BP_PROPERTY_INPUTS_TF32 | BP_PROPERTY_ROUNDS_BELOW_TF32, 0},
        {OTHERS ", fp32_precision=tf32", "tensor-core", BP_PROPERTY_INPUTS_TF32, BP_PROPERTY_ROUNDS_BELOW_TF32, 0},
        {OTHERS ", float32_matmul_precision=medium", "half-width", BP_PROPERTY_ROUNDS_BELOW_TF32,
         BP_PROPERTY_INPUTS_TF32, 0},
        {OTHERS ", fp32_precision=bf16, deterministic_algorithms=true", "native", BP_PROPERTY_THREAD_INVARIANT,
         BP_PROPERTY_ROUNDS_BELOW_TF32, 0},
    };
    enum { COUNT = sizeof cases / sizeof cases[0] };
    pthread_t threads[COUNT];
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &cases[i]), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        pthread_join(threads[i], NULL);
        if (cases[i].wrong) {
            fail_msg("%d calls under '%s' did not run as set", cases[i].wrong, cases[i].settings);
        }
    }
}

/* The setting does not affect f64. */
static void other_types_are_left_alone(void **state) {
    (void)state;
    double a = 1.0 + 0x1p-40, b = 1, c = 0;
    const int64_t shape[] = {1, 1};
    bp_view va, vb, vc;
    bp_scope *scope;
    bp_view_init(&va, &a, BP_F64, 2, shape, NULL);
    bp_view_init(&vb, &b, BP_F64, 2, shape, NULL);
    bp_view_init(&vc, &c, BP_F64, 2, shape, NULL);
    assert_int_equal(bp_scope_enter(&scope, "blas.preferred=native, simulate.bf16=true"), BP_OK);
    assert_int_equal(bp_matmul(&va.tensor, &vb.tensor, &vc.tensor), BP_OK);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_true(c == a);
}

int main(void) {
    setenv("BACKPLANE_PROVIDER_PATH", BP_TEST_BUILD_DIR "/tests/dispatch-fakes", 1);
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(precision_permits_rounding),
        cmocka_unit_test(the_reason_names_precision),
        cmocka_unit_test(deterministic_algorithms_refuse_or_warn),
        cmocka_unit_test(tf32_is_rounded_as_by_tensor_cores),
        cmocka_unit_test(bf16_is_rounded_to_even),
        cmocka_unit_test(simulation_takes_any_layout),
        cmocka_unit_test(other_types_are_left_alone),
        cmocka_unit_test(each_thread_has_its_own_scope),
    };
    return cmocka_run_group_tests_name("precision", tests, NULL, NULL);
}
