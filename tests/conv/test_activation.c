/* test_activation.c - functions of the results of convolutions: bitwise equal to functions of elements of the plain
 * results, for all types, layouts and algorithms; and the candidates that refuse them. */
#include "support/arrays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct geometry {
    int64_t batch, groups, in, out, size[2], kernel, stride; /* in, out: channels of a group */
    bool transposed;
} geometry;

/* The last ones have more terms than a block of products, more than a tile keeps, and positions without terms. */
static const geometry geometries[] = {{1, 1, 3, 5, {1, 1}, 1, 1, false},    {2, 1, 17, 50, {9, 7}, 1, 1, false},
                                      {3, 1, 8, 8, {12, 11}, 3, 1, false},  {2, 24, 1, 1, {10, 9}, 3, 1, false},
                                      {1, 2, 6, 33, {8, 8}, 3, 2, false},   {1, 1, 4, 5, {5, 4}, 3, 1, true},
                                      {2, 1, 800, 70, {5, 3}, 1, 1, false}, {1, 1, 2300, 9, {3, 1}, 1, 1, false},
                                      {2, 1, 7, 49, {4, 5}, 1, 3, true},    {1, 1, 384, 130, {70, 1}, 1, 1, false}};

static const char *const settings[] = {"conv.enabled=native,conv.preferred=native:implicit,num_threads=1",
                                       "conv.enabled=native,conv.preferred=native:implicit,num_threads=3",
                                       "conv.enabled=native,conv.preferred=native:direct",
                                       "conv.enabled=native,conv.preferred=native:winograd",
                                       "conv.enabled=native,conv.preferred=native:fft",
                                       "conv.enabled=native,conv.preferred=native:bf16,conv.fp32_precision=bf16"};

static const bp_dtype types[] = {BP_F16, BP_BF16, BP_F32, BP_F64};

static const test_layout layouts[] = {TEST_COMPACT, TEST_CHANNELS_LAST, TEST_GAPS};

static DLTensor *make(test_array *t, bp_dtype type, int ndim, const int64_t *shape, test_layout layout) {
    test_array_make(t, type, ndim, shape, layout);
    test_array_fill(t, 1);
    return &t->view.tensor;
}

static bp_plan *plan_of(const bp_options *options, bp_conv_call *call, bp_unary_kind activation) {
    bp_plan *plan = NULL;
    call->activation = activation;
    assert_int_equal(bp_conv_plan(&plan, options, call), BP_OK);
    return plan;
}

static void run_plan(const bp_plan *plan, const bp_conv_call *call, bool pack) {
    const bp_operand operands[] = {{call->input->data, 0},
                                   {call->weight->data, 0},
                                   {call->bias ? call->bias->data : NULL, 0},
                                   {call->output->data, 0}};
    bp_plan_info info = {.struct_size = sizeof info};
    bp_packed *weight = NULL;
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    if (pack && info.packs & 2) {
        assert_int_equal(bp_plan_pack(&weight, plan, 1, &operands[1]), BP_OK);
    }
    const bp_packed *const packed[] = {NULL, weight, NULL, NULL};
    const bp_exec exec = {.struct_size = sizeof exec, .packed = packed};
    assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
    bp_packed_release(weight);
}

/* Compares all memory of the output, gaps included. */
static void check(const geometry *g, bp_dtype type, test_layout layout, const char *setting, bp_unary_kind kind) {
    const int64_t size[] = {g->size[0], g->size[1]}, channels = g->groups * g->out, one = g->stride;
    const int64_t stride[] = {one, one};
    const int64_t input[] = {g->batch, g->groups * g->in, size[0], size[1]};
    const int64_t weight[] = {g->transposed ? g->in * g->groups : channels, g->transposed ? g->out : g->in, g->kernel,
                              size[1] == 1 ? 1 : g->kernel};
    test_array t[4], wanted;
    bp_options *options = NULL;
    assert_int_equal(bp_options_new(&options, setting), BP_OK);
    test_array_random = 1;
    bp_conv_call call = {.struct_size = sizeof call,
                         .ndim = 2,
                         .transposed = g->transposed,
                         .groups = g->groups,
                         .stride = stride,
                         .input = make(&t[0], type, 4, input, layout),
                         .weight =
                             make(&t[1], type, 4, weight, layout == TEST_GAPS ? TEST_CHANNELS_LAST : TEST_COMPACT),
                         .bias = make(&t[2], type, 1, &channels, layout)};
    call.bias = kind % 3 == 0 ? NULL : call.bias;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    assert_int_equal(bp_conv_shape(&call, &dtype, &ndim, shape), BP_OK);
    call.output = make(&t[3], type, ndim, shape, layout);
    bp_plan *whole = plan_of(options, &call, kind);
    bp_plan_info a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};
    assert_int_equal(bp_plan_describe(whole, &b), BP_OK);
    /* If no candidate follows the preference, the chosen one may depend on the function. */
    char same[128];
    bp_options *same_options = NULL;
    const char *rest = strchr(strstr(setting, "conv.preferred"), ',');
    snprintf(same, sizeof same, "conv.enabled=native,conv.preferred=native:%.*s%s", (int)strcspn(b.algorithm, " "),
             b.algorithm, rest ? rest : "");
    assert_int_equal(bp_options_new(&same_options, same), BP_OK);
    bp_plan *plain = plan_of(same_options, &call, BP_UNARY_COPY);
    bp_options_release(same_options);
    assert_int_equal(bp_plan_describe(plain, &a), BP_OK);
    assert_string_equal(a.algorithm, b.algorithm);
    for (int pack = 0; pack < 2; pack++) {
        run_plan(plain, &call, pack);
        assert_int_equal(bp_unary_run(options, kind, call.output, call.output), BP_OK);
        test_array_copy(&wanted, &t[3]);
        run_plan(whole, &call, pack);
        if (memcmp(wanted.memory, t[3].memory, (size_t)wanted.all * bp_dtype_size(type)) != 0) {
            fail_msg("geometry %d, type %s, layout %d, %s, function %d, %s: other bits", (int)(g - geometries),
                     bp_dtype_name(type), (int)layout, setting, (int)kind, b.algorithm);
        }
        test_array_free(&wanted);
    }
    bp_plan_release(plain);
    bp_plan_release(whole);
    bp_options_release(options);
    for (int i = 0; i < 4; i++) {
        test_array_free(&t[i]);
    }
}

static void all_algorithms(void **state) {
    (void)state;
    int kind = BP_UNARY_COPY;
    for (size_t g = 0; g < sizeof geometries / sizeof *geometries; g++) {
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            for (int layout = 0; layout < 3; layout++) {
                for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
                    kind = kind % (BP_ACTIVATION_KINDS - 1) + 1;
                    check(&geometries[g], types[t], layouts[layout], settings[s], (bp_unary_kind)kind);
                }
            }
        }
    }
}

static void all_functions(void **state) {
    (void)state;
    for (int kind = BP_UNARY_COPY; kind < BP_ACTIVATION_KINDS; kind++) {
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            check(&geometries[1], types[t], TEST_CHANNELS_LAST, settings[0], (bp_unary_kind)kind);
        }
    }
}

/* One-shot calls, whose key has the function. */
static void one_shot_calls(void **state) {
    (void)state;
    float x[4] = {1, -2, 3, -4}, w[4] = {1, 0, 0, 1}, y[4];
    bp_view in, weight, out;
    assert_int_equal(bp_view_matrix(&in, x, BP_F32, 2, 2), BP_OK);
    assert_int_equal(bp_view_matrix(&weight, w, BP_F32, 2, 2), BP_OK);
    assert_int_equal(bp_view_matrix(&out, y, BP_F32, 2, 2), BP_OK);
    bp_linear_call call = {
        .struct_size = sizeof call, .input = &in.tensor, .weight = &weight.tensor, .output = &out.tensor};
    static const struct {
        bp_unary_kind kind;
        float wanted[4];
    } cases[] = {{BP_UNARY_COPY, {1, -2, 3, -4}},
                 {BP_UNARY_ABS, {1, 2, 3, 4}},
                 {BP_UNARY_RELU, {1, 0, 3, 0}},
                 {BP_UNARY_NEGATIVE, {-1, 2, -3, 4}}};
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            call.activation = cases[i].kind;
            assert_int_equal(bp_linear_run(NULL, &call), BP_OK);
            assert_memory_equal(y, cases[i].wanted, sizeof y);
        }
    }
    bp_explanation *explanation = NULL;
    call.activation = BP_UNARY_GELU;
    assert_int_equal(bp_linear_explain(&explanation, NULL, &call), BP_OK);
    assert_non_null(strstr(bp_explanation_text(explanation), ", gelu"));
    bp_explanation_release(explanation);
    call.activation = BP_UNARY_ISNAN;
    assert_int_equal(bp_linear_run(NULL, &call), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "a function whose results are numbers"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_algorithms),
        cmocka_unit_test(all_functions),
        cmocka_unit_test(one_shot_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
