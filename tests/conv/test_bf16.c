/* test_bf16.c - tests native's algorithm "bf16", which rounds f32 operands: with a model of the instruction VDPBF16PS
 * in place of the processor's, so that it runs everywhere. The linker replaces the function that selects the kernels.
 */
#include "conv/cases.h"
#include "providers/native/gemm/gemm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 90 };

#define ALLOWED "mkldnn.conv.fp32_precision=bf16"
#define ONLY ALLOWED ",conv.preferred=native:bf16,dispatch.fallback=strict"

extern const bp__native_set bp__native_bf16_model;
static bool absent;

const bp__native_set *__real_bp__native_bf16_set(const bp_host *host, const bp_problem *problem, const char **why);
const bp__native_set *__wrap_bp__native_bf16_set(const bp_host *host, const bp_problem *problem, const char **why);

const bp__native_set *__wrap_bp__native_bf16_set(const bp_host *host, const bp_problem *problem, const char **why) {
    (void)host, (void)problem;
    *why = "the test has no kernels";
    return absent ? NULL : &bp__native_bf16_model;
}

static void run(const conv_case *c, const char *settings) {
    bp_options *options;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    if (bp_conv_run(options, &c->call) != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    bp_options_release(options);
}

/* Runs the convolution with a weight that was packed beforehand. */
static void run_packed(const conv_case *c, const char *settings) {
    enum { WEIGHT = 1 };
    bp_options *options;
    bp_plan *plan;
    bp_packed *packed;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(bp_conv_plan(&plan, options, &c->call), BP_OK);
    bp_options_release(options);
    const bool input = c->call.pass == BP_CONV_INPUT;
    const DLTensor *const tensors[] = {input ? c->call.output_gradient : c->call.input, c->call.weight, c->call.bias,
                                       input ? c->call.input_gradient : c->call.output};
    bp_operand operands[4] = {{0}};
    for (int i = 0; i < 4; i++) {
        if (tensors[i]) {
            operands[i] = (bp_operand){tensors[i]->data, tensors[i]->byte_offset};
        }
    }
    assert_int_equal(bp_plan_pack(&packed, plan, WEIGHT, &operands[WEIGHT]), BP_OK);
    const bp_packed *const list[4] = {NULL, packed};
    const bp_exec exec = {.struct_size = sizeof exec, .packed = list, .operand_count = 4};
    operands[WEIGHT] = (bp_operand){NULL, 0};
    assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
    bp_packed_release(packed);
    bp_plan_release(plan);
}

static conv_limits limits_of(int i, int most_channels) {
    return (conv_limits){.dtype = i % 2 ? BP_F32 : BP_BF16,
                         .pass = i / 2 % 2 ? BP_CONV_INPUT : BP_CONV_FORWARD,
                         .most_channels = most_channels,
                         .most_size = 11,
                         .plain = i / 4 % 3 == 0};
}

/* Small integers are bf16 numbers, and their sums are exact. */
static void integers_are_exact(void **state) {
    (void)state;
    test_array_random = 271828;
    for (int i = 0; i < 4 * CASES; i++) {
        const conv_limits limits = limits_of(i, i % 2 ? 20 : 3);
        conv_case c;
        conv_make(&c, &limits, true);
        double *expected = conv_reference(&c, NULL);
        run(&c, i % 3 ? ONLY ",num_threads=2" : ONLY ",num_threads=1");
        conv_compare(&c, expected, NULL, 0);
        if (c.input.view.tensor.shape[0] > 0) {
            run_packed(&c, ONLY ",num_threads=2,dispatch.packed=second");
            conv_compare(&c, expected, NULL, 0);
        }
        free(expected);
        conv_free(&c);
    }
}

/* Each f32 operand is rounded with a relative error of at most 2^-8; the sums have as many rounding errors of 2^-24 as
 * terms, fewer than 40 channels of 64 taps; results of bf16 are rounded once more. The bound is relative to the sum of
 * the products' absolute values, to which the bias belongs. */
static void errors_are_bounded(void **state) {
    (void)state;
    test_array_random = 31415;
    const double sums = 40 * 64 * 0x1p-24, f32 = 0x1p-7 + 0x1p-16 + sums, bf16 = 0x1p-8 + sums;
    for (int i = 0; i < CASES; i++) {
        const conv_limits limits = limits_of(i, 40);
        conv_case c;
        double *sizes;
        conv_make(&c, &limits, false);
        double *expected = conv_reference(&c, &sizes);
        run(&c, ONLY ",num_threads=2");
        conv_compare(&c, expected, sizes, limits.dtype == BP_F32 ? f32 : bf16);
        free(expected);
        free(sizes);
        conv_free(&c);
    }
}

/* The results are as with operands that were rounded before, and differ from the results of f32 operands. */
static void operands_are_rounded(void **state) {
    (void)state;
    test_array_random = 161803;
    int differ = 0;
    for (int i = 0; i < CASES; i++) {
        conv_limits limits = limits_of(2 * i + 1, 30);
        conv_case c;
        double *sizes;
        conv_make(&c, &limits, false);
        double *exact = conv_reference(&c, NULL);
        run(&c, ONLY ",num_threads=2");
        const bool input = limits.pass == BP_CONV_INPUT;
        test_array *const read[] = {input ? &c.output : &c.input, &c.weight};
        for (int t = 0; t < 2; t++) {
            for (int64_t e = 0; e < test_array_count(read[t]); e++) {
                test_array_set(read[t], e, test_array_rounded(BP_BF16, test_array_get(read[t], e)));
            }
        }
        double *expected = conv_reference(&c, &sizes);
        conv_compare(&c, expected, sizes, 40 * 64 * 0x1p-24);
        test_array *written[2];
        conv_written(&c, written);
        for (int64_t e = 0; e < test_array_count(written[0]); e++) {
            differ += fabs(exact[e] - expected[e]) > 1e-4 * sizes[e];
        }
        free(exact);
        free(expected);
        free(sizes);
        conv_free(&c);
    }
    assert_true(differ > CASES);
}

/* Every number of threads gives equal bits. */
static void bits_do_not_depend_on_threads(void **state) {
    (void)state;
    static const char *const settings[] = {ONLY ",deterministic=threads,num_threads=2",
                                           ONLY ",deterministic=threads,num_threads=3",
                                           ONLY ",deterministic=threads,num_threads=7"};
    test_array_random = 57721;
    for (int i = 0; i < CASES; i++) {
        const conv_limits limits = limits_of(i, 50);
        conv_case c;
        test_array first, *written[2];
        conv_make(&c, &limits, false);
        conv_written(&c, written);
        run(&c, ONLY ",deterministic=threads,num_threads=1");
        test_array_copy(&first, written[0]);
        for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
            run(&c, settings[s]);
            if (memcmp(first.memory, written[0]->memory, first.bytes) != 0) {
                fail_msg("%s: %s gives other bits", c.text, settings[s]);
            }
        }
        test_array_free(&first);
        conv_free(&c);
    }
}

/* A layer of one channel and five positions, with one tap. */
typedef struct layer {
    float x[5], w[1], y[5];
    bp_view in, weight, out;
    bp_conv_call call;
} layer;

static void make_layer(layer *l) {
    static const int64_t shape[] = {1, 1, 5}, one[] = {1, 1, 1};
    bp_view_init(&l->in, l->x, BP_F32, 3, shape, NULL);
    bp_view_init(&l->weight, l->w, BP_F32, 3, one, NULL);
    bp_view_init(&l->out, l->y, BP_F32, 3, shape, NULL);
    l->call = (bp_conv_call){.struct_size = sizeof l->call,
                             .ndim = 1,
                             .input = &l->in.tensor,
                             .weight = &l->weight.tensor,
                             .output = &l->out.tensor};
}

/* NaN and infinity stay; a number that rounds beyond the range of bf16 becomes infinity; denormal numbers are 0. */
static void special_values(void **state) {
    (void)state;
    layer l = {.x = {NAN, INFINITY, 0x1.ffp127f, 0x1p-127f, -3}, .w = {1}};
    bp_options *options;
    make_layer(&l);
    assert_int_equal(bp_options_new(&options, ONLY), BP_OK);
    assert_int_equal(bp_conv_run(options, &l.call), BP_OK);
    assert_true(isnan(l.y[0]) && isinf(l.y[1]) && isinf(l.y[2]) && l.y[3] == 0 && l.y[4] == -3);
    l.w[0] = 0;
    assert_int_equal(bp_conv_run(options, &l.call), BP_OK);
    assert_true(isnan(l.y[0]) && isnan(l.y[1]) && isnan(l.y[2]) && l.y[3] == 0 && l.y[4] == 0);
    bp_options_release(options);
}

/* Finds native's candidate "bf16". Returns false if it is not listed. */
static bool explained(const layer *l, const char *settings, bp_candidate_info *found, char *detail, size_t size) {
    bp_options *options;
    bp_explanation *explanation;
    bool listed = false;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(bp_conv_explain(&explanation, options, &l->call), BP_OK);
    bp_options_release(options);
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    for (int n = 0; !listed && bp_explanation_at(explanation, n, &candidate); n++) {
        if (strcmp(candidate.algorithm, "bf16") == 0 && strcmp(candidate.library, "native") == 0) {
            *found = candidate;
            snprintf(detail, size, "%s", candidate.text);
            listed = true;
        }
    }
    bp_explanation_release(explanation);
    return listed;
}

static void must_be_permitted(void **state) {
    (void)state;
    static const char *const refused[] = {"", "mkldnn.conv.fp32_precision=ieee", "mkldnn.conv.fp32_precision=tf32",
                                          "mkldnn.matmul.fp32_precision=bf16"};
    layer l = {.w = {1}};
    bp_candidate_info candidate;
    char text[256];
    make_layer(&l);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_true(explained(&l, refused[i], &candidate, text, sizeof text));
        assert_false(candidate.accepted);
        assert_int_equal(candidate.reason, BP_REASON_PRECISION);
        assert_non_null(
            strstr(text, *refused[i] && i < 3 ? " mkldnn.conv.fp32_precision allows" : " conv.fp32_precision allows"));
        assert_non_null(strstr(text, "rounds its inputs to lower precision than "));
    }
    static const char *const permitted[] = {ALLOWED, "fp32_precision=bf16", "mkldnn.fp32_precision=bf16"};
    for (size_t i = 0; i < sizeof permitted / sizeof *permitted; i++) {
        assert_true(explained(&l, permitted[i], &candidate, text, sizeof text));
        assert_true(candidate.accepted);
        assert_true(candidate.properties & BP_PROPERTY_ROUNDS_BELOW_TF32);
        assert_true(candidate.properties & BP_PROPERTY_THREAD_INVARIANT);
    }
}

/* Without the instruction it is refused where it is permitted, and not mentioned elsewhere. */
static void needs_the_instruction(void **state) {
    (void)state;
    layer l = {.w = {1}};
    bp_candidate_info candidate;
    char text[256];
    make_layer(&l);
    absent = true;
    assert_true(explained(&l, ALLOWED, &candidate, text, sizeof text));
    assert_false(candidate.accepted);
    assert_int_equal(candidate.reason, BP_REASON_CAPABILITY);
    assert_non_null(strstr(text, "the test has no kernels"));
    assert_false(explained(&l, "", &candidate, text, sizeof text));
    absent = false;
}

/* The library's own answer: kernels, or a reason that names the instructions. */
static void the_processor_answers(void **state) {
    (void)state;
    const char *why = NULL;
    bp_problem problem = {0};
    bp_host host = {.hardware = BP_CAPABILITY_AVX2};
    assert_null(__real_bp__native_bf16_set(&host, &problem, &why));
    assert_non_null(strstr(why, "AVX512_BF16"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_exact),    cmocka_unit_test(errors_are_bounded),
        cmocka_unit_test(operands_are_rounded),  cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(special_values),        cmocka_unit_test(must_be_permitted),
        cmocka_unit_test(needs_the_instruction), cmocka_unit_test(the_processor_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
