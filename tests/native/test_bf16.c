/* test_bf16.c - tests products of bf16 numbers: the model of VDPBF16PS, the errors of f32 operands that are rounded,
 * and what permits and refuses the algorithm "bf16". The linker replaces the function that selects its kernels, so that
 * bp_matmul() runs with the model.
 */
#include "backplane.h"
#include "native.h"
#include "providers/native/gemm/gemm.h"
#include "support/arrays.h"
#include "wide/vdpbf16ps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define ALLOWED "mkldnn.matmul.fp32_precision=bf16"
#define ONLY ALLOWED ",blas.preferred=native:bf16,dispatch.fallback=strict"

extern const bp__native_set bp__native_bf16_model;
static enum { MODEL, PROCESSOR, NONE } kernels_from;

const bp__native_set *__real_bp__native_bf16_set(const bp_host *host, const bp_problem *problem, const char **why);
const bp__native_set *__wrap_bp__native_bf16_set(const bp_host *host, const bp_problem *problem, const char **why);

const bp__native_set *__wrap_bp__native_bf16_set(const bp_host *host, const bp_problem *problem, const char **why) {
    *why = "the test has no kernels";
    return kernels_from == NONE    ? NULL
           : kernels_from == MODEL ? &bp__native_bf16_model
                                   : __real_bp__native_bf16_set(host, problem, why);
}

/* ---- The model ---- */

/* Returns a pair of bf16 numbers; only the upper 16 bits of the arguments remain. */
static uint32_t pair(float even, float odd) {
    return model_bits(even) >> 16 | (model_bits(odd) & 0xffff0000u);
}

static void check_model(float sum, uint32_t v, uint32_t s, uint32_t expected) {
    const uint32_t got = model_vdpbf16ps(model_bits(sum), v, s);
    if (got != expected) {
        fail_msg("%a, pairs %08x and %08x: %08x and not %08x", (double)sum, v, s, got, expected);
    }
}

static void model_follows_the_manual(void **state) {
    (void)state;
    const uint32_t one = pair(1, 1), nan = 0x7fc1u, other = 0x7fc2u, signalling = 0x7f81u;
    check_model(0.5f, pair(2, 3), pair(5, 7), model_bits(31.5f));
    /* The odd product is added first: 2^24 + 1 + 1 stays 2^24, and 1 + 1 + 2^24 does not. */
    check_model(0x1p24f, one, one, model_bits(0x1p24f));
    check_model(1, pair(0x1p24f, 1), one, model_bits(0x1p24f + 2));
    check_model(1, pair(1, 0x1p24f), one, model_bits(0x1p24f));
    /* To nearest even, without a rounding of the product. */
    check_model(0x1p24f, pair(0, 3), pair(0, 1), model_bits(0x1p24f + 4));
    check_model(-0x1.fffffep127f, pair(0, 0x1p64f), pair(0, 0x1p64f), model_bits(0x1p104f));
    check_model(0, pair(0, 0x1p64f), pair(0, 0x1p64f), model_bits(INFINITY));
    /* Denormal inputs are 0 of their sign, and infinity times one of them is invalid. */
    check_model(0x1p-127f, pair(0, 0), pair(0, 0), 0);
    check_model(0, pair(0x1p-127f, 0x1p-133f), pair(0x1p100f, 0x1p100f), 0);
    check_model(-0x1p-149f, pair(-0.0f, -0.0f), one, 0x80000000u);
    check_model(0, pair(0, 0x1p-127f), pair(0, INFINITY), 0xffc00000u);
    /* Denormal results are 0 of their sign. Which results are denormal is decided after rounding to 24 bits. */
    check_model(0, pair(0, 0x1p-64f), pair(0, 0x1p-64f), 0);
    check_model(0, pair(-0.0f, -0x1p-64f), pair(0, 0x1p-64f), 0x80000000u);
    check_model(0x1p-126f, pair(0, -0x1p-75f), pair(0, 0x1p-76f), model_bits(0x1p-126f));
    check_model(0x1p-126f, pair(0, -0x1p-75f), pair(0, 0x1.8p-76f), 0);
    check_model(0x1p-126f, pair(0, -0x1p-64f), pair(0, 0x1p-65f), 0);
    check_model(0x1.8p-126f, pair(0, -0x1p-63f), pair(0, 0x1p-63f), 0);
    /* The intermediate sum is flushed too. */
    check_model(0, pair(0x1p-64f, 0x1p-64f), pair(0x1p-63f, 0x1p-64f), 0);
    /* NaN: an even element's comes before an odd one's, V's before S's, and the sum's last. */
    check_model(NAN, nan, one, 0x7fc10000u);
    check_model(0, nan | nan << 16, other | other << 16, 0x7fc10000u);
    check_model(0, 0x3f80u | nan << 16, other | 0x3f800000u, 0x7fc20000u);
    check_model(0, signalling << 16, one, 0x7fc10000u);
    check_model(INFINITY, pair(0, -INFINITY), one, 0xffc00000u);
    check_model(model_float(0x7fa00001u), one, one, 0x7fe00001u);
}

/* Compares with the C library's fmaf() where neither operands nor results are denormal. */
static void model_matches_fused_operations(void **state) {
    (void)state;
    test_array_random = 0x9e3779b97f4a7c15u;
    int compared = 0;
    for (int i = 0; i < 2000000; i++) {
        const uint64_t bits = test_array_next(), more = test_array_next();
        const uint32_t a = (uint32_t)bits & 0xffff0000u, b = (uint32_t)(bits >> 32) & 0xffff0000u;
        /* Half of the sums are near the product. */
        const float near = model_float(a) * model_float(b) * (1 + (float)(more >> 40 & 0xff) * 0x1p-8f);
        const float c =
            i % 2 ? model_float((uint32_t)more) : model_float(model_bits(near) ^ (uint32_t)(more & 0x80000fffu));
        const float expected = fmaf(model_float(a), model_float(b), c);
        const bool normal = isnormal(model_float(a)) && isnormal(model_float(b)) && isnormal(c) && isfinite(expected) &&
                            fabsf(expected) >= 0x1p-125f;
        if (normal) {
            assert_int_equal(model_multiply_add(a, b, model_bits(c)), model_bits(expected));
            compared++;
        }
    }
    assert_true(compared > 500000);
}

/* ---- The instruction ---- */

static uint32_t special(void) {
    static const uint32_t values[] = {0,       0x8000u, 0x7f80u, 0xff80u, 0x7fc0u, 1,
                                      0x807fu, 0x0080u, 0x8081u, 0x7f7fu, 0x3f80u, 0xbf80u};
    const uint64_t bits = test_array_next();
    return bits % 3 == 0 ? values[bits / 3 % COUNT(values)] : (uint32_t)(bits >> 40 & 0xffffu);
}

/* Multiplies special values, with sums that begin with 0, in the processor's tile and in the model's. */
static void instruction_matches_model(void **state) {
    (void)state;
    enum { M = 48, N = 8, K = 6, ROUNDS = 400 };
    kernels_from = PROCESSOR; /* for runs_here() too */
    const bool here = runs_here(KERNELS_BF16);
    kernels_from = MODEL;
    if (!here) {
        print_message("skipped: this processor does not have AVX512_BF16, so only the model has run\n");
        skip();
    }
    test_array_random = 4711;
    float a[M * K], b[K * N], c[2][M * N];
    const int64_t shape[3][2] = {{M, K}, {K, N}, {M, N}};
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < M * K; i++) {
            a[i] = model_float(special() << 16);
        }
        for (int i = 0; i < K * N; i++) {
            b[i] = model_float(special() << 16);
        }
        for (int which = 0; which < 2; which++) {
            bp_view x, y, z;
            bp_options *options;
            bp_view_init(&x, a, BP_F32, 2, shape[0], NULL);
            bp_view_init(&y, b, BP_F32, 2, shape[1], NULL);
            bp_view_init(&z, c[which], BP_F32, 2, shape[2], NULL);
            kernels_from = which ? PROCESSOR : MODEL;
            assert_int_equal(bp_options_new(&options, which ? ONLY ",num_threads=1" : ONLY ",num_threads=2"), BP_OK);
            assert_int_equal(bp_matmul_run(options, &x.tensor, &y.tensor, &z.tensor), BP_OK);
            bp_options_release(options);
        }
        for (int i = 0; i < M * N; i++) { /* the bits of NaN are not guaranteed */
            assert_true((isnan(c[0][i]) && isnan(c[1][i])) || model_bits(c[0][i]) == model_bits(c[1][i]));
        }
    }
    kernels_from = MODEL;
}

/* ---- Products with bp_matmul() ---- */

typedef struct call {
    int64_t m, n, k;
    bool transposed_a, transposed_b;
    double scale;
} call;

static float *numbers(int64_t count, double scale) {
    float *to = malloc(sizeof *to * (size_t)(count + 1));
    assert_non_null(to);
    for (int64_t i = 0; i < count; i++) {
        to[i] = (float)(test_array_uniform() * scale);
    }
    return to;
}

static bp_status multiply(const char *settings, bp_view *a, bp_view *b, bp_view *c) {
    bp_options *options;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    const bp_status status = bp_matmul_run(options, &a->tensor, &b->tensor, &c->tensor);
    bp_options_release(options);
    return status;
}

/* The bound of docs/explanation/guarantees.md. */
static void check_errors(const call *p) {
    float *a = numbers(p->m * p->k, p->scale), *b = numbers(p->k * p->n, p->scale < 1e-30 ? 1e20 : 1);
    float *c = numbers(p->m * p->n, 1);
    const int64_t a_shape[] = {p->m, p->k}, b_shape[] = {p->k, p->n}, c_shape[] = {p->m, p->n};
    const int64_t a_row = p->transposed_a ? 1 : p->k, a_column = p->transposed_a ? p->m : 1;
    const int64_t b_row = p->transposed_b ? 1 : p->n, b_column = p->transposed_b ? p->k : 1;
    bp_view x, y, z;
    bp_view_init(&x, a, BP_F32, 2, a_shape, (int64_t[]){a_row, a_column});
    bp_view_init(&y, b, BP_F32, 2, b_shape, (int64_t[]){b_row, b_column});
    bp_view_init(&z, c, BP_F32, 2, c_shape, NULL);
    assert_int_equal(multiply(ONLY, &x, &y, &z), BP_OK);
    double largest = 0;
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0, size = 0, moduli = 0;
            for (int64_t l = 0; l < p->k; l++) {
                const double left = (double)a[i * a_row + l * a_column], right = (double)b[l * b_row + j * b_column];
                sum += left * right, size += fabs(left * right), moduli += fabs(left) + fabs(right) + 1;
            }
            const double relative = 0x1p-7 + 0x1p-16 + (double)p->k * 0x1p-23;
            const double error = fabs((double)c[i * p->n + j] - sum), floor = 0x1p-126 * moduli;
            if (!(error <= relative * size + floor)) {
                fail_msg("%ldx%ldx%ld: (%ld, %ld) is %a and not %a", (long)p->m, (long)p->k, (long)p->n, (long)i,
                         (long)j, (double)c[i * p->n + j], sum);
            }
            largest = fmax(largest, size > 0 ? error / size : 0);
        }
    }
    /* Rounding to bf16 is visible, so the algorithm did run. */
    assert_true(largest > 1e-6 || p->m * p->n * p->k < 100 || p->scale < 1e-30);
    free(a);
    free(b);
    free(c);
}

static void errors_are_bounded(void **state) {
    (void)state;
    static const call calls[] = {
        {1, 1, 1, false, false, 1},       {1, 1, 3001, false, false, 1},      {3, 200, 17, true, false, 1},
        {200, 3, 16, false, true, 1},     {1, 130, 769, false, false, 1},     {130, 1, 768, true, true, 1},
        {49, 9, 767, false, false, 1},    {97, 65, 1537, true, true, 1},      {64, 64, 64, false, true, 0x1p120},
        {64, 64, 64, true, false, 1e-37}, {33, 31, 127, false, false, 1e-38}, {128, 128, 128, false, false, 1},
    };
    test_array_random = 1618033988749895u;
    for (size_t i = 0; i < COUNT(calls); i++) {
        check_errors(&calls[i]);
    }
}

/* NaN and infinity reach every result of their row, also times 0; a number that rounds beyond the range of bf16 becomes
 * infinity; denormal numbers are 0. */
static void special_values(void **state) {
    (void)state;
    enum { M = 5, K = 3, N = 2 };
    float a[M][K] = {{1, NAN, 1}, {INFINITY, 1, 1}, {0x1.fffffep127f, 1, 1}, {0x1p-127f, 0x1p-149f, 0}, {1, 2, 3}};
    float b[K][N] = {{1, 0}, {1, 0}, {1, 0}}, c[M][N];
    bp_view x, y, z;
    bp_view_init(&x, a, BP_F32, 2, (int64_t[]){M, K}, NULL);
    bp_view_init(&y, b, BP_F32, 2, (int64_t[]){K, N}, NULL);
    bp_view_init(&z, c, BP_F32, 2, (int64_t[]){M, N}, NULL);
    assert_int_equal(multiply(ONLY, &x, &y, &z), BP_OK);
    assert_true(isnan(c[0][0]) && isnan(c[0][1]));
    assert_true(isinf(c[1][0]) && isnan(c[1][1]));
    assert_true(isinf(c[2][0]) && isnan(c[2][1]));
    assert_true(c[3][0] == 0 && c[3][1] == 0);
    assert_true(c[4][0] == 6 && c[4][1] == 0);
}

/* Without a product there is nothing to round: another algorithm writes the zeros. */
static void empty_products(void **state) {
    (void)state;
    float a[1] = {NAN}, c[6] = {1, 1, 1, 1, 1, 1};
    bp_view x, y, z;
    bp_view_init(&x, a, BP_F32, 2, (int64_t[]){2, 0}, NULL);
    bp_view_init(&y, a, BP_F32, 2, (int64_t[]){0, 3}, NULL);
    bp_view_init(&z, c, BP_F32, 2, (int64_t[]){2, 3}, NULL);
    assert_int_equal(multiply(ALLOWED, &x, &y, &z), BP_OK);
    for (int i = 0; i < 6; i++) {
        assert_true(c[i] == 0);
    }
}

/* ---- What permits and refuses it ---- */

typedef struct verdict {
    bool listed, accepted, chosen;
    bp_reason reason;
    uint32_t properties;
    char text[256];
} verdict;

static verdict explain(const char *settings, bp_dtype dtype, int64_t size) {
    verdict found = {0};
    bp_options *options;
    bp_explanation *explanation;
    bp_view x, y, z;
    const int64_t shape[] = {size, size};
    bp_view_init(&x, NULL, dtype, 2, shape, NULL);
    bp_view_init(&y, NULL, dtype, 2, shape, NULL);
    bp_view_init(&z, NULL, dtype, 2, shape, NULL);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(bp_matmul_explain(&explanation, options, &x.tensor, &y.tensor, &z.tensor), BP_OK);
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    for (int n = 0; bp_explanation_at(explanation, n, &candidate); n++) {
        if (strcmp(candidate.library, "native") == 0 && strcmp(candidate.algorithm, "bf16") == 0) {
            found = (verdict){.listed = true,
                              .accepted = candidate.accepted,
                              .chosen = candidate.chosen,
                              .reason = candidate.reason,
                              .properties = candidate.properties};
            snprintf(found.text, sizeof found.text, "%s", candidate.text);
        }
    }
    bp_explanation_release(explanation);
    bp_options_release(options);
    return found;
}

static void must_be_permitted(void **state) {
    (void)state;
    static const char *const refused[] = {"", "fp32_precision=ieee", "mkldnn.matmul.fp32_precision=tf32",
                                          "mkldnn.conv.fp32_precision=bf16"};
    static const char *const permitted[] = {ALLOWED, "fp32_precision=bf16", "mkldnn.fp32_precision=bf16",
                                            "float32_matmul_precision=medium", ALLOWED ",deterministic=threads"};
    for (size_t i = 0; i < COUNT(refused); i++) {
        const verdict v = explain(refused[i], BP_F32, 100);
        assert_true(v.listed && !v.accepted);
        assert_int_equal(v.reason, BP_REASON_PRECISION);
        assert_non_null(strstr(v.text, i == 1 ? "lower precision than fp32_precision allows"
                                              : "lower precision than mkldnn.matmul.fp32_precision allows"));
    }
    for (size_t i = 0; i < COUNT(permitted); i++) {
        const verdict v = explain(permitted[i], BP_F32, 100);
        const uint32_t expected = BP_PROPERTY_ROUNDS_BELOW_TF32 | BP_PROPERTY_THREAD_INVARIANT |
                                  BP_PROPERTY_PROPAGATES_NAN | BP_PROPERTY_ACCUMULATES_F32;
        assert_true(v.accepted && (v.properties & expected) == expected);
    }
    /* Operands of bf16 are not rounded, so they need no permission. */
    const verdict v = explain("fp32_precision=ieee", BP_BF16, 100);
    assert_true(v.accepted && !(v.properties & BP_PROPERTY_ROUNDS_BELOW_TF32));
    assert_false(explain(ALLOWED, BP_F64, 100).listed);
    /* It is worth its packing for a large product, and not for a tiny one. */
    assert_true(explain(ALLOWED ",num_threads=1", BP_F32, 1024).chosen);
    assert_false(explain(ALLOWED ",num_threads=1", BP_F32, 4).chosen);
}

static void needs_the_instruction(void **state) {
    (void)state;
    kernels_from = NONE;
    const verdict f32 = explain(ALLOWED, BP_F32, 100), bf16 = explain("", BP_BF16, 100),
                  other = explain("", BP_F32, 100);
    assert_true(f32.listed && !f32.accepted && f32.reason == BP_REASON_CAPABILITY);
    assert_string_equal(f32.text, "the test has no kernels");
    assert_true(bf16.listed && !bf16.accepted && bf16.reason == BP_REASON_CAPABILITY);
    assert_false(other.listed);
    kernels_from = MODEL;
}

/* The library's own selection: by the processor, and by cpu.capability. */
static void the_processor_decides(void **state) {
    (void)state;
    bp_host host = *test_plain_host();
    bp_problem problem = {0};
    const char *why = "";
    problem.policy.capability = BP_CAPABILITY_AVX512;
    const bp__native_set *set = __real_bp__native_bf16_set(&host, &problem, &why);
    print_message("this processor: %s\n", set ? "has AVX512_BF16" : why);
    assert_true(set != NULL || strstr(why, "AVX512_BF16"));
    host.hardware = BP_CAPABILITY_AVX2;
    assert_null(__real_bp__native_bf16_set(&host, &problem, &why));
    assert_non_null(strstr(why, "AVX512_BF16"));
    problem.policy.capability = BP_CAPABILITY_AVX2;
    assert_null(__real_bp__native_bf16_set(test_plain_host(), &problem, &why));
    assert_non_null(strstr(why, set ? "cpu.capability" : "AVX512_BF16"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_follows_the_manual),
        cmocka_unit_test(model_matches_fused_operations),
        cmocka_unit_test(instruction_matches_model),
        cmocka_unit_test(errors_are_bounded),
        cmocka_unit_test(special_values),
        cmocka_unit_test(empty_products),
        cmocka_unit_test(must_be_permitted),
        cmocka_unit_test(needs_the_instruction),
        cmocka_unit_test(the_processor_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
